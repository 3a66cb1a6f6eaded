//! Conjugate gradients preconditioned by a V-cycle.

use super::cycle::{Hierarchy, each_plane};
use super::field::{self, Vector};
use super::kernel::{self, Outer, Three};
use super::level::Level;
use super::rhs::{Values, fill};
use crate::lattice::wave::Shared;
use crate::outcome::{Outcome, SolveError, Status, Tolerance, finite_residual};
use crate::vector;

/// The residual is kept in single precision and by a recurrence, which the true one soon leaves where
/// liquid is stiff. It is computed afresh when it has fallen this far, or after so many iterations;
/// directions stay as they are, so that nothing is lost (van der Vorst and Ye 2000). Starting again
/// instead takes half as many iterations more on a stiff body in the air.
const FALL: f64 = 1e-3;
const STRETCH: usize = 6;

/// So far the residual should fall in that many iterations.
const SLOW: f64 = 1e-2;

/// So many times the target is nearly there.
const NEARLY: f64 = 5.0;

/// Iterations in which the residual must halve at least once.
const PATIENCE: usize = 250;

/// So often in a row the recurrence may fall and the true residual not, each time from new directions:
/// then rounding is all there is.
const DENIALS: usize = 3;

/// A residual of less than this many roundings of its largest part is none: double precision gets no
/// nearer, and more iterations would only do harm.
const ROUNDINGS: f64 = 0.2;

/// A residual in single precision that is to be larger by more than this has lost its least parts.
const MOST_RESCALED: f64 = (1u32 << 24) as f64;

/// Vectors and sums of the iteration.
#[derive(Clone, Debug)]
pub struct Mgpcg<const D: usize> {
    p: Vector<f32, D>,
    /// Whether `p` is of no system yet, and all zero.
    is_new: bool,
    /// The guess, where it is better than nothing and so kept.
    guess: Vector<f64, D>,
    /// Whether that was ever asked of this system.
    has_guess: bool,
    sums: Vec<f64>,
    /// What the residual is multiplied by.
    scale: f64,
    /// What that was multiplied by since the last direction.
    turn: f64,
    /// `r·z` of the last iteration, if its direction counts.
    rho: Option<f64>,
}

/// A guess whose residual is no smaller than that of nothing by more than this need not be kept.
const NO_BETTER: f64 = 1e-12;

/// What is begun with.
struct Start {
    /// The residual of the guess.
    initial: f64,
    /// That of what is begun with.
    residual: f64,
    /// Whether that is the guess, and kept.
    is_kept: bool,
}

/// How far an iteration has got.
struct Way {
    iterations: usize,
    /// The max norm of the residual.
    residual: f64,
    /// Whether that was just computed afresh.
    is_true: bool,
    /// What it was when it was.
    fresh: f64,
    /// Iterations since.
    since: usize,
    /// The last residual that was half the one before it, and when it was.
    milestone: (f64, usize),
    /// How often in a row the recurrence fell and the true residual did not.
    denied: usize,
}

impl Way {
    fn new(residual: f64) -> Self {
        Way {
            iterations: 0,
            residual,
            is_true: true,
            fresh: residual,
            since: 0,
            milestone: (residual, 0),
            denied: 0,
        }
    }

    /// Whether the residual is to be computed afresh.
    fn is_due(&self, target: f64) -> bool {
        let has_fallen = self.residual <= target.max(FALL * self.fresh);
        !self.is_true && (has_fallen || self.since >= STRETCH)
    }

    /// Whether iterations do less than they should.
    fn is_slow(&self) -> bool {
        self.since >= STRETCH && self.residual > SLOW * self.fresh
    }

    fn is_stuck(&self) -> bool {
        self.iterations > self.milestone.1 + PATIENCE || self.denied >= DENIALS
    }

    fn advance(&mut self, residual: f64) {
        self.iterations += 1;
        self.since += 1;
        self.is_true = false;
        self.residual = residual;
    }

    fn refresh(&mut self, residual: f64) {
        let is_denied = residual > 2.0 * self.residual && residual > 0.5 * self.fresh;
        self.denied = if is_denied { self.denied + 1 } else { 0 };
        (self.residual, self.fresh) = (residual, residual);
        (self.is_true, self.since) = (true, 0);
        if residual < 0.5 * self.milestone.0 {
            self.milestone = (residual, self.iterations);
        }
    }
}

impl<const D: usize> Default for Mgpcg<D> {
    fn default() -> Self {
        Mgpcg {
            p: field::empty(),
            is_new: true,
            guess: field::empty(),
            has_guess: false,
            sums: Vec::new(),
            scale: 1.0,
            turn: 1.0,
            rho: None,
        }
    }
}

/// What is solved: in double precision, free faces from zero or a guess, held ones as they are.
pub struct Task<'a, const D: usize> {
    /// The right-hand side.
    pub b: Values<'a, D>,
    /// The guess, and then the solution.
    pub x: &'a mut Vector<f64, D>,
    /// The max norm that the tolerance is relative to.
    pub norm: f64,
}

impl<const D: usize> Mgpcg<D> {
    /// Solves; the residual lives in the finest level's right-hand side. What was found for the last
    /// system with these levels helps with this one, unless the hierarchy is to forget it.
    pub fn solve(
        &mut self,
        hierarchy: &mut Hierarchy<D>,
        task: &mut Task<'_, D>,
        tol: &Tolerance,
    ) -> Result<Outcome, SolveError> {
        self.adopt(&hierarchy.floors[0].level, task.norm);
        let target = tol.target(task.norm);
        let Start {
            initial,
            residual: start,
            is_kept,
        } = self.start(hierarchy, task)?;
        let mut way = Way::new(start);
        let mut status = loop {
            let is_slow = way.is_slow();
            if way.is_due(target) {
                self.refresh(hierarchy, task, &mut way)?;
            }
            if way.residual <= target {
                break Status::Converged;
            }
            if way.iterations >= tol.max_iterations {
                break Status::IterationLimit;
            }
            if way.is_stuck() || self.is_rounding(hierarchy, task, &way) {
                break Status::Stagnated;
            }
            // Cycles that have become others need new directions. What is nearly done is left alone.
            if is_slow && way.residual > NEARLY * target && hierarchy.patch(&self.p) {
                self.rho = None;
            }
            match self.step(hierarchy, task, &way)? {
                Some(residual) => way.advance(residual),
                // What rounding has made of the directions is no use any more.
                None if way.is_true => break Status::Stagnated,
                None => {
                    self.refresh(hierarchy, task, &mut way)?;
                    self.rho = None;
                }
            }
        };
        if !way.is_true {
            self.refresh(hierarchy, task, &mut way)?;
        }
        if way.residual <= target {
            status = Status::Converged;
        } else if way.residual > start {
            self.give_up(hierarchy, task, is_kept);
            way.residual = start;
        }
        Ok(Outcome {
            status,
            iterations: way.iterations,
            residual: way.residual,
            initial_residual: initial,
        })
    }

    /// Begins with the guess, or with nothing if that is better: what a wall holds back has, where it is
    /// stiff, a much larger residual than at rest.
    fn start(
        &mut self,
        hierarchy: &mut Hierarchy<D>,
        task: &mut Task<'_, D>,
    ) -> Result<Start, SolveError> {
        let initial = finite_residual(self.true_residual(hierarchy, task), 0)?;
        let is_worse = initial > task.norm;
        if is_worse {
            fill(&hierarchy.floors[0].level, task.x, |_, _, _, _| 0.0);
        }
        let mut start = if is_worse { task.norm } else { initial };
        let (scale, last) = (power_of_two_near(start), self.scale);
        self.scale = scale;
        if is_worse || scale / last > MOST_RESCALED {
            start = finite_residual(self.true_residual(hierarchy, task), 0)?;
        } else if scale != last {
            // By a power of two, so that nothing is rounded.
            let (factor, floor) = ((scale / last) as f32, &mut hierarchy.floors[0]);
            field::each_value(&floor.level, &mut floor.b, |_, _, r| *r *= factor);
        }
        self.rho = None;
        let is_kept = start < (1.0 - NO_BETTER) * task.norm;
        if is_kept {
            self.keep(&hierarchy.floors[0].level, task.x);
        }
        Ok(Start {
            initial,
            residual: start,
            is_kept,
        })
    }

    /// Keeps the guess.
    fn keep(&mut self, level: &Level<D>, x: &Vector<f64, D>) {
        if !std::mem::replace(&mut self.has_guess, true) {
            field::adopt(&mut self.guess, level.shape.len, 2);
        }
        let x = x.each_ref().map(|x| &**x);
        field::each_value(level, &mut self.guess, |axis, i, kept| *kept = x[axis][i]);
    }

    /// Computes the residual afresh, scaled so that it is near one: single precision then has room on
    /// both sides. Directions are scaled alike when they are next used.
    fn refresh(
        &mut self,
        hierarchy: &mut Hierarchy<D>,
        task: &mut Task<'_, D>,
        way: &mut Way,
    ) -> Result<(), SolveError> {
        if way.residual > 0.0 {
            let scale = power_of_two_near(way.residual);
            self.turn *= scale / self.scale;
            self.scale = scale;
        }
        let residual = self.true_residual(hierarchy, task);
        way.refresh(finite_residual(residual, way.iterations)?);
        if way.denied > 0 {
            self.rho = None;
        }
        Ok(())
    }

    /// Whether the residual is but rounding.
    fn is_rounding(&mut self, hierarchy: &Hierarchy<D>, task: &Task<'_, D>, way: &Way) -> bool {
        // Velocities are hardly ever larger than what drives them, so that the rest is seldom asked.
        let level = &hierarchy.floors[0].level;
        if !way.is_true || way.residual > 1e-12 * task.norm * level.largest_interior_bound() {
            return false;
        }
        let x = task.x.each_ref().map(|x| &**x);
        self.gather(level, |axis, z| {
            let mut largest: f64 = 0.0;
            level.each_free(axis, z, |_, index, _| {
                let bound = f64::from(level.row(axis, index).bound);
                largest = largest.max(bound * x[axis][index].abs());
            });
            largest
        });
        way.residual <= ROUNDINGS * f64::EPSILON * self.largest()
    }

    /// Leaves what was begun with, which is better than what was found.
    fn give_up(&self, hierarchy: &Hierarchy<D>, task: &mut Task<'_, D>, is_kept: bool) {
        let guess = self.guess.each_ref().map(|guess| &**guess);
        let begun = |axis: usize, index: usize| if is_kept { guess[axis][index] } else { 0.0 };
        let level = &hierarchy.floors[0].level;
        fill(level, task.x, |axis, _, index, _| begun(axis, index));
    }

    /// Forgets a system: the next one may have unknowns elsewhere, and what is not one is zero.
    pub fn forget(&mut self, level: &Level<D>) {
        // One that was not solved has left nothing.
        if !std::mem::replace(&mut self.is_new, true) {
            field::wipe(level, &mut self.p);
        }
        if std::mem::take(&mut self.has_guess) {
            field::wipe(level, &mut self.guess);
        }
    }

    fn adopt(&mut self, level: &Level<D>, norm: f64) {
        if std::mem::take(&mut self.is_new) {
            field::adopt(&mut self.p, level.shape.len, 3);
        }
        self.sums.clear();
        self.sums.resize(level.shape.planes() * D, 0.0);
        (self.scale, self.turn) = (power_of_two_near(norm), 1.0);
    }

    /// The addresses a pass needs.
    fn outer(&self, hierarchy: &mut Hierarchy<D>, task: &mut Task<'_, D>) -> Outer<D> {
        Outer {
            x: task.x.each_mut().map(|v| v.as_mut_ptr()),
            b: task.b.address(),
            r: hierarchy.floors[0].b.each_mut().map(|v| v.as_mut_ptr()),
            scale: self.scale,
        }
    }

    /// Sums of `pass(axis, z)`, one per plane and component, in order.
    fn gather(&mut self, level: &Level<D>, pass: impl Fn(usize, usize) -> f64 + Sync) {
        let sums = Shared(self.sums.as_mut_ptr());
        each_plane(level, &|axis, z| {
            // SAFETY: there is an entry for each plane of each component.
            unsafe { *sums.get().add(z * D + axis) = pass(axis, z) }
        });
    }

    /// `r ← s (b − A x)`; the max norm of `b − A x`.
    fn true_residual(&mut self, hierarchy: &mut Hierarchy<D>, task: &mut Task<'_, D>) -> f64 {
        let outer = self.outer(hierarchy, task);
        let level = &hierarchy.floors[0].level;
        // SAFETY: the vectors have the level's shape; a plane is written by one call.
        self.gather(level, |axis, z| unsafe {
            kernel::true_residual(level, axis, z, outer)
        });
        self.largest()
    }

    fn largest(&self) -> f64 {
        self.sums.iter().copied().fold(0.0, vector::max_or_nan)
    }

    fn total(&self) -> f64 {
        self.sums.iter().sum()
    }

    /// One iteration; the max norm of the residual, or `None` if rounding does not allow any.
    fn step(
        &mut self,
        hierarchy: &mut Hierarchy<D>,
        task: &mut Task<'_, D>,
        way: &Way,
    ) -> Result<Option<f64>, SolveError> {
        let iteration = way.iterations;
        hierarchy.cycle();
        let product = finite_residual(self.product(hierarchy), iteration)?;
        // Faces with hardly any mass make products of large numbers that cancel, of which single
        // precision leaves nothing in the end.
        if product <= 0.0 && (product == 0.0 || iteration > 0) {
            return Ok(None);
        }
        if product < 0.0 {
            return Err(SolveError::PreconditionerNotPositiveDefinite { iteration, product });
        }
        let turn = std::mem::replace(&mut self.turn, 1.0);
        let beta = self.rho.map_or(0.0, |rho| product / (rho * turn));
        let curvature = finite_residual(self.direct(hierarchy, beta as f32), iteration)?;
        if curvature <= 0.0 && iteration > 0 {
            return Ok(None);
        }
        if curvature <= 0.0 {
            return Err(SolveError::NotPositiveDefinite {
                iteration,
                curvature,
            });
        }
        self.rho = Some(product);
        let residual = self.advance(hierarchy, task, product / curvature);
        finite_residual(residual, iteration).map(Some)
    }

    /// `r·z`.
    fn product(&mut self, hierarchy: &mut Hierarchy<D>) -> f64 {
        let three = hierarchy.floors[0].three();
        let level = &hierarchy.floors[0].level;
        // SAFETY: the vectors have the level's shape and are only read.
        self.gather(level, |axis, z| unsafe {
            kernel::dot(level, axis, z, three)
        });
        self.total()
    }

    /// `p ← z + β p`, `q ← A p`; `p·q`.
    fn direct(&mut self, hierarchy: &mut Hierarchy<D>, beta: f32) -> f64 {
        let floor = &mut hierarchy.floors[0];
        let three = floor.three();
        let p = self.p.each_mut().map(|v| v.as_mut_ptr());
        let step = Three { y: p, ..three };
        let product = Three {
            x: p.map(|p| p.cast_const()),
            ..three
        };
        let level = &floor.level;
        // SAFETY: the vectors have the level's shape; a plane is written by one call.
        each_plane(level, &|axis, z| unsafe {
            kernel::direct(level, axis, z, step, beta);
        });
        // SAFETY: as above.
        self.gather(level, |axis, z| unsafe {
            kernel::apply(level, axis, z, product)
        });
        self.total()
    }

    /// `x ← x + α p`, `r ← r − α q`; the max norm of the residual, unscaled.
    fn advance(&mut self, hierarchy: &mut Hierarchy<D>, task: &mut Task<'_, D>, alpha: f64) -> f64 {
        let outer = self.outer(hierarchy, task);
        let p = Vectors(self.p.each_ref().map(|v| v.as_ptr()));
        let floor = &hierarchy.floors[0];
        let q = Vectors(floor.y.each_ref().map(|v| v.as_ptr()));
        let level = &floor.level;
        // SAFETY: the vectors have the level's shape; a plane is written by one call.
        self.gather(level, |axis, z| unsafe {
            kernel::advance(level, axis, z, outer, p.get(), q.get(), alpha)
        });
        self.largest() / self.scale
    }
}

/// Addresses that are only read.
#[derive(Clone, Copy)]
struct Vectors<const D: usize>([*const f32; D]);

// SAFETY: plain addresses that are only read.
unsafe impl<const D: usize> Sync for Vectors<D> {}

impl<const D: usize> Vectors<D> {
    fn get(&self) -> [*const f32; D] {
        self.0
    }
}

/// A power of two that brings a norm near one, so that scaling rounds nothing.
fn power_of_two_near(norm: f64) -> f64 {
    if norm > 0.0 && norm.is_finite() {
        (-norm.log2().round()).clamp(-900.0, 900.0).exp2()
    } else {
        1.0
    }
}
