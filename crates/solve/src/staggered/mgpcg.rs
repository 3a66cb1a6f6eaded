//! Conjugate gradients preconditioned by a V-cycle.

use super::cycle::{Hierarchy, each_plane};
use super::field::{self, Vector};
use super::kernel::{self, Outer, Three};
use super::level::Level;
use super::rhs::Values;
use crate::lattice::wave::Shared;
use crate::outcome::{Outcome, SolveError, Status, Tolerance};
use crate::vector;

/// The recurrence of the residual, kept in single precision, says nothing more about the true one
/// this far below where it began: time to compute it afresh.
const FLOOR: f64 = 1e-6;

/// Iterations in which the residual must halve at least once.
const PATIENCE: usize = 60;

/// Vectors and sums of the iteration.
#[derive(Clone, Debug)]
pub struct Mgpcg<const D: usize> {
    p: Vector<f32, D>,
    /// Whether `p` is of another system.
    is_new: bool,
    sums: Vec<f64>,
    scale: f64,
}

impl<const D: usize> Default for Mgpcg<D> {
    fn default() -> Self {
        Mgpcg {
            p: field::empty(),
            is_new: true,
            sums: Vec::new(),
            scale: 1.0,
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
    /// Solves; the residual lives in the finest level's right-hand side.
    pub fn solve(
        &mut self,
        hierarchy: &mut Hierarchy<D>,
        task: &mut Task<'_, D>,
        tol: &Tolerance,
    ) -> Result<Outcome, SolveError> {
        self.adopt(&hierarchy.floors[0].level, task.norm);
        let target = tol.target(task.norm);
        let initial = finite(self.true_residual(hierarchy, task), 0)?;
        let (mut residual, mut last, mut iterations) = (initial, f64::INFINITY, 0);
        let status = loop {
            if residual <= target {
                break Status::Converged;
            }
            if iterations >= tol.max_iterations {
                break Status::IterationLimit;
            }
            if residual > 0.5 * last {
                break Status::Stagnated;
            }
            last = residual;
            self.rescale(hierarchy, task, residual);
            let inner = (0.9 * target).max(FLOOR * residual);
            let limit = tol.max_iterations - iterations;
            iterations += match self.conjugate(hierarchy, task, inner, limit) {
                Ok(spent) => spent,
                // It went well before, so these are rounding errors too.
                Err(error) if iterations > 0 && is_indefinite(&error) => {
                    break Status::Stagnated;
                }
                Err(error) => return Err(error),
            };
            residual = finite(self.true_residual(hierarchy, task), iterations)?;
        };
        Ok(Outcome {
            status,
            iterations,
            residual,
            initial_residual: initial,
        })
    }

    /// Forgets a system: the next one may have unknowns elsewhere, and what is not one is zero.
    pub fn forget(&mut self) {
        self.is_new = true;
    }

    fn adopt(&mut self, level: &Level<D>, norm: f64) {
        if std::mem::take(&mut self.is_new) {
            field::clear(&mut self.p, level.shape.len, 3);
        }
        self.sums.clear();
        self.sums.resize(level.shape.planes() * D, 0.0);
        self.scale = power_of_two_near(norm);
    }

    /// Brings the residual near one, so that single precision has room on both sides.
    fn rescale(&mut self, hierarchy: &mut Hierarchy<D>, task: &mut Task<'_, D>, residual: f64) {
        let scale = power_of_two_near(residual);
        if scale != self.scale {
            self.scale = scale;
            let _ = self.true_residual(hierarchy, task);
        }
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

    /// Iterates from the residual at hand until its norm is within `target`; how often.
    fn conjugate(
        &mut self,
        hierarchy: &mut Hierarchy<D>,
        task: &mut Task<'_, D>,
        target: f64,
        limit: usize,
    ) -> Result<usize, SolveError> {
        let (mut rho, mut residual) = (1.0, f64::INFINITY);
        let (mut milestone, mut since) = (f64::INFINITY, 0);
        let mut iteration = 0;
        while residual > target && iteration < limit && since <= PATIENCE {
            hierarchy.cycle();
            let product = finite(self.product(hierarchy), iteration)?;
            // Faces with hardly any mass make products of large numbers that cancel, of which
            // single precision leaves nothing in the end. The true residual tells how far things
            // have got by then.
            if product == 0.0 || product < 0.0 && iteration > 0 {
                break;
            }
            if product < 0.0 {
                return Err(SolveError::PreconditionerNotPositiveDefinite { iteration, product });
            }
            let beta = if iteration == 0 { 0.0 } else { product / rho };
            rho = product;
            let curvature = finite(self.direct(hierarchy, beta as f32), iteration)?;
            if curvature <= 0.0 && iteration > 0 {
                break;
            }
            if curvature <= 0.0 {
                return Err(SolveError::NotPositiveDefinite {
                    iteration,
                    curvature,
                });
            }
            residual = finite(self.advance(hierarchy, task, rho / curvature), iteration)?;
            iteration += 1;
            (milestone, since) = if residual < 0.5 * milestone {
                (residual, 0)
            } else {
                (milestone, since + 1)
            };
        }
        Ok(iteration)
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

fn is_indefinite(error: &SolveError) -> bool {
    matches!(
        error,
        SolveError::NotPositiveDefinite { .. }
            | SolveError::PreconditionerNotPositiveDefinite { .. }
    )
}

/// A power of two that brings a norm near one, so that scaling rounds nothing.
fn power_of_two_near(norm: f64) -> f64 {
    if norm > 0.0 && norm.is_finite() {
        (-norm.log2().round()).clamp(-900.0, 900.0).exp2()
    } else {
        1.0
    }
}

fn finite(value: f64, iteration: usize) -> Result<f64, SolveError> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(SolveError::NotFinite {
            quantity: "residual",
            iteration,
        })
    }
}
