//! Conjugate gradients on a lattice, and policy iteration for walls that may be let go of.

use super::cycle::Hierarchy;
use super::level::{Level, UNIFORM};
use super::matrix::{BlockRows, LatticeMatrix};
use super::passes::{self, Iterate, Kept};
use super::shape::{BLOCK, Shape, slots};
use super::wave::Shared;
use crate::csr::Csr;
use crate::null_space::NullSpace;
use crate::outcome::{SolveError, Status, Tolerance};
use crate::problem::{Places, Policy, Solution};
use crate::vector;

/// The inner solve of a policy goes this far below the residual at hand: less wastes policies,
/// more wastes iterations on a policy that is about to change.
const INNER: f64 = 0.1;

/// The recurrence of the residual, kept in single precision, says nothing more about the true one
/// this far below where it began: time to compute it afresh.
const FLOOR: f64 = 2e-7;

/// Policies tried before giving up. They change by fewer cells each time and end by themselves.
const MAX_POLICIES: usize = 60;

/// Multigrid-preconditioned conjugate gradients for a [`LatticeMatrix`], with all their memory.
///
/// The preconditioner is a V-cycle in single precision; the residual is kept, and in the end
/// recomputed, in double.
#[derive(Clone, Debug)]
pub struct LatticeSolver<const D: usize> {
    matrix: LatticeMatrix<D>,
    hierarchy: Hierarchy<D>,
    /// Memory index of each unknown.
    index: Vec<u32>,
    /// Unknowns that may be constrained, and those that are in the problem at hand.
    candidates: Vec<WallCell>,
    walls: Vec<WallCell>,
    /// Per block of the stream, the lanes that are separated.
    separated: Vec<u8>,
    /// The same as the finest level of the hierarchy has it.
    masked: Vec<u8>,
    /// Whether the hierarchy is that of the matrix with `masked` left out.
    built: bool,
    b: Vec<f64>,
    x: Vec<f64>,
    p: Vec<f32>,
    /// `A p` in the blocks of the stream.
    kept: Vec<Kept>,
    sums: Vec<f64>,
    scale: f64,
}

/// A constrained unknown.
#[derive(Clone, Copy, Debug)]
struct WallCell {
    /// Memory index.
    index: u32,
    /// Number of the unknown.
    unknown: u32,
    /// Place of its block in the stream.
    place: u32,
    /// Its lane there.
    lane: u8,
}

impl WallCell {
    /// Memory index, place and lane.
    fn split(&self) -> (usize, usize, usize) {
        (self.index as usize, self.place as usize, self.lane as usize)
    }
}

/// Finds the number of an unknown by its memory index.
struct Numbers<'a> {
    index: &'a [u32],
    /// Numbers by memory index, if that is not their order already.
    order: Option<Vec<u32>>,
}

impl<'a> Numbers<'a> {
    fn new(index: &'a [u32]) -> Self {
        let order = (!index.is_sorted()).then(|| {
            let mut order: Vec<u32> = (0..index.len() as u32).collect();
            order.sort_unstable_by_key(|&k| index[k as usize]);
            order
        });
        Numbers { index, order }
    }

    /// The unknown at a memory index that holds one.
    fn of(&self, index: u32) -> u32 {
        match &self.order {
            None => self.index.partition_point(|&i| i < index) as u32,
            Some(order) => order[order.partition_point(|&k| self.index[k as usize] < index)],
        }
    }
}

/// How conjugate gradients ended.
struct Run {
    iterations: usize,
    residual: f64,
}

impl<const D: usize> Default for LatticeSolver<D> {
    fn default() -> Self {
        let matrix = LatticeMatrix::empty();
        LatticeSolver {
            hierarchy: Hierarchy::new(Level::empty(matrix.shape, 1.0)),
            matrix,
            index: Vec::new(),
            candidates: Vec::new(),
            walls: Vec::new(),
            separated: Vec::new(),
            masked: Vec::new(),
            built: false,
            b: Vec::new(),
            x: Vec::new(),
            p: Vec::new(),
            kept: Vec::new(),
            sums: Vec::new(),
            scale: 1.0,
        }
    }
}

impl<const D: usize> LatticeSolver<D> {
    /// Takes over a sparse matrix. False if it is not one for a lattice.
    pub fn convert(&mut self, a: &Csr, places: Places<'_>, constrained: &[bool]) -> bool {
        let fits = self.matrix.convert(a, places, constrained, &mut self.index);
        if fits {
            self.adopt();
        }
        fits
    }

    /// Builds the matrix block by block (see [`LatticeMatrix::assemble`]). Unknowns are numbered
    /// by memory index.
    pub fn assemble(
        &mut self,
        shape: Shape,
        weight: f64,
        fill: impl Fn([usize; D], &mut BlockRows<D>) -> bool + Sync,
    ) {
        self.matrix.assemble(shape, weight, fill);
        self.index.clear();
        for segment in &self.matrix.segments {
            for k in 0..segment.blocks as usize {
                let lanes = match segment.stream {
                    UNIFORM => u8::MAX,
                    first => self.matrix.rows[first as usize + k].unknown,
                };
                let start = segment.index as usize + k * BLOCK;
                let there = (0..BLOCK).filter(|lane| lanes >> lane & 1 == 1);
                self.index.extend(there.map(|lane| (start + lane) as u32));
            }
        }
        self.adopt();
    }

    /// Readies walls and vectors for a new matrix.
    fn adopt(&mut self) {
        let matrix = &self.matrix;
        self.candidates.clear();
        self.walls.clear();
        let numbers = Numbers::new(&self.index);
        for segment in matrix.segments.iter().filter(|s| s.stream != UNIFORM) {
            for k in 0..segment.blocks {
                let bits = matrix.rows[(segment.stream + k) as usize].constrained;
                for lane in (0..BLOCK as u8).filter(|lane| bits >> lane & 1 == 1) {
                    let index = segment.index + k * BLOCK as u32 + u32::from(lane);
                    self.candidates.push(WallCell {
                        index,
                        unknown: numbers.of(index),
                        place: segment.stream + k,
                        lane,
                    });
                }
            }
        }
        self.separated.clear();
        self.separated.resize(matrix.rows.len(), 0);
        self.masked.clone_from(&self.separated);
        let len = matrix.shape.len;
        clear(&mut self.b, len);
        clear(&mut self.x, len);
        clear(&mut self.p, len);
        self.kept.clear();
        self.kept.resize(matrix.rows.len(), [0.0; BLOCK]);
        if self.hierarchy.levels[0].shape != matrix.shape {
            self.hierarchy = Hierarchy::new(Level::empty(matrix.shape, 1.0));
        }
        matrix.finest(&mut self.hierarchy.levels[0]);
        self.sums.clear();
        self.sums.resize(matrix.shape.cells[2], 0.0);
        self.built = false;
    }

    /// The matrix.
    pub fn matrix(&self) -> &LatticeMatrix<D> {
        &self.matrix
    }

    /// Unknowns.
    pub fn unknowns(&self) -> usize {
        self.index.len()
    }

    /// Memory index of each unknown.
    pub fn index(&self) -> &[u32] {
        &self.index
    }

    /// Whether every one of these unknowns was among the constrained when the matrix was built.
    pub fn covers(&self, constrained: &[bool]) -> bool {
        let held = |wall: &&WallCell| constrained.get(wall.unknown as usize) == Some(&true);
        self.candidates.iter().filter(held).count() == constrained.iter().filter(|&&c| c).count()
    }

    /// The hierarchy, for tests and measurements.
    pub fn hierarchy(&mut self) -> &mut Hierarchy<D> {
        &mut self.hierarchy
    }

    /// Builds the hierarchy of the linear problem, so that the next linear solve need not.
    pub fn prepare(&mut self) {
        self.separated.fill(0);
        self.refresh();
    }

    /// Rebuilds the hierarchy for the policy in `separated`, if it is not that already.
    fn refresh(&mut self) {
        if self.built && self.masked == self.separated {
            return;
        }
        let level = &mut self.hierarchy.levels[0];
        let masked = self.separated.iter().any(|&bits| bits != 0);
        level.held.clear();
        if masked {
            level.held.resize(self.matrix.shape.blocks(), false);
        }
        let mut left_out = 0;
        let mut last = u32::MAX;
        for wall in &self.candidates {
            let bits = self.separated[wall.place as usize];
            if wall.place != last && bits != self.masked[wall.place as usize] {
                last = wall.place;
                let (block, zeros) =
                    self.matrix.rows[wall.place as usize].single(self.matrix.weight, bits);
                level.replace(wall.place as usize, block, zeros);
            }
            if bits >> wall.lane & 1 == 1 {
                left_out += 1;
                hold_neighbours::<D>(&self.matrix.shape, wall.index as usize, &mut level.held);
            }
        }
        level.unknowns = self.matrix.unknowns - left_out;
        self.masked.clone_from(&self.separated);
        self.hierarchy.rebuild();
        self.built = true;
    }

    /// Puts a problem on the lattice: right-hand side and guess by unknown.
    fn set(&mut self, b: &[f64], x: &[f64]) -> f64 {
        for (k, &index) in self.index.iter().enumerate() {
            self.b[index as usize] = b[k];
            self.x[index as usize] = x[k];
        }
        let norm = vector::max_norm(b);
        // A power of two, so that scaling rounds nothing.
        self.scale = if norm > 0.0 {
            (-norm.log2().round()).clamp(-900.0, 900.0).exp2()
        } else {
            1.0
        };
        norm
    }

    /// Solves `A x = b`, constraints left aside.
    ///
    /// # Errors
    /// As [`Pcg::solve`](crate::Pcg::solve).
    pub fn solve_linear(
        &mut self,
        null_space: &NullSpace,
        b: &[f64],
        x: &mut [f64],
        tol: &Tolerance,
    ) -> Result<Solution, SolveError> {
        let projected = project(null_space, b);
        let b = projected.as_deref().unwrap_or(b);
        let norm = self.set(b, x);
        if norm == 0.0 {
            x.fill(0.0);
            return Ok(solved(Status::Converged, 0, 1, 0.0, 0.0, 0));
        }
        self.prepare();
        let target = tol.target(norm);
        let initial = self.true_residual();
        let (mut iterations, mut residual, mut last) = (0, finite(initial, 0)?, f64::INFINITY);
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
            let floor = FLOOR * residual;
            let inner = (0.95 * target).max(floor);
            let run = self.conjugate(null_space, inner, tol.max_iterations - iterations)?;
            iterations += run.iterations;
            residual = finite(self.true_residual(), iterations)?;
        };
        self.get(x);
        null_space.project(x);
        Ok(solved(status, iterations, 1, residual, initial, 0))
    }

    /// Solves the mixed complementarity problem by policy iteration: unknowns in the policy are
    /// held at zero and the rest is solved for; the policy then lets go where the residual
    /// pulls away more than the value presses, `y_i > A_ii x_i`, and takes hold elsewhere.
    /// Rows left out are coupled to nothing, so every inner problem is symmetric.
    ///
    /// Constrained are the unknowns that the matrix says may be, or those of them in
    /// `constrained`.
    ///
    /// # Errors
    /// As [`Pcg::solve`](crate::Pcg::solve).
    pub fn solve_lcp(
        &mut self,
        null_space: &NullSpace,
        constrained: Option<&[bool]>,
        b: &[f64],
        policy: &mut Policy,
        x: &mut [f64],
        tol: &Tolerance,
    ) -> Result<Solution, SolveError> {
        let norm = self.set(b, x);
        let target = tol.target(norm);
        self.walls.clear();
        let held = |wall: &&WallCell| constrained.is_none_or(|c| c[wall.unknown as usize]);
        self.walls.extend(self.candidates.iter().filter(held));
        self.start_policy(policy);
        self.refresh();
        let initial = finite(self.true_residual(), 0)?;
        let mut residual = initial;
        let (mut iterations, mut outer) = (0, 0);
        let mut best = f64::INFINITY;
        let mut initial_natural = f64::INFINITY;
        let status = loop {
            // On entry `r` is the residual of the rows not left out, `residual` its norm.
            let (mut natural, changes) = self.judge(residual);
            initial_natural = initial_natural.min(natural);
            if natural <= target {
                // The residual came by recurrence: make sure.
                residual = finite(self.true_residual(), iterations)?;
                natural = self.judge(residual).0;
                if natural <= target {
                    residual = natural;
                    break Status::Converged;
                }
            }
            if iterations >= tol.max_iterations || outer >= MAX_POLICIES {
                residual = natural;
                break Status::IterationLimit;
            }
            best = natural.min(best);
            if !changes.is_empty() {
                self.apply(&changes);
                self.refresh();
            }
            outer += 1;
            let inner = (INNER * natural).max(0.95 * target);
            let run = self.conjugate(null_space, inner, tol.max_iterations - iterations)?;
            iterations += run.iterations;
            residual = run.residual;
        };
        self.get(x);
        let count = self.write_policy(policy);
        Ok(solved(
            status,
            iterations,
            outer.max(1),
            residual,
            initial_natural,
            count,
        ))
    }

    /// The policy to begin with: the given one, or nothing separated.
    fn start_policy(&mut self, policy: &Policy) {
        self.separated.fill(0);
        if policy.separated.len() == self.index.len() {
            for wall in &self.walls {
                if policy.separated[wall.unknown as usize] {
                    self.separated[wall.place as usize] |= 1 << wall.lane;
                    self.x[wall.index as usize] = 0.0;
                }
            }
        }
    }

    /// Writes the policy by unknown, returning how many are separated.
    fn write_policy(&self, policy: &mut Policy) -> usize {
        policy.separated.clear();
        policy.separated.resize(self.index.len(), false);
        let mut count = 0;
        for wall in &self.walls {
            if self.separated[wall.place as usize] >> wall.lane & 1 == 1 {
                policy.separated[wall.unknown as usize] = true;
                count += 1;
            }
        }
        count
    }

    /// The norm of the natural residual, and the walls whose policy should change.
    fn judge(&self, residual: f64) -> (f64, Vec<WallCell>) {
        let mut natural: f64 = 0.0;
        let mut on_walls: f64 = 0.0;
        let mut changes = Vec::new();
        for wall in &self.walls {
            let (index, place, lane) = wall.split();
            let y = self.matrix.row_dot(place, index, lane, &self.x) - self.b[index];
            let pressing = self.matrix.rows[place].diagonal[lane] * self.x[index];
            natural = natural.max(y.min(pressing).abs());
            let is_separated = self.separated[place] >> lane & 1 == 1;
            if !is_separated {
                on_walls = on_walls.max(y.abs());
            }
            if (y > pressing) != is_separated {
                changes.push(*wall);
            }
        }
        // Rows without a constraint are measured by their residual; if the largest one belongs
        // to a wall it has been judged above.
        if residual > on_walls || self.walls.is_empty() {
            natural = natural.max(residual);
        } else {
            natural = natural.max(self.free_residual());
        }
        (natural, changes)
    }

    /// The largest residual of the unconstrained rows.
    fn free_residual(&self) -> f64 {
        let r = self.hierarchy.residual();
        let mut largest: f32 = 0.0;
        for segment in &self.matrix.segments {
            for k in 0..segment.blocks as usize {
                let walls = match segment.stream {
                    UNIFORM => 0,
                    first => self.matrix.rows[first as usize + k].constrained,
                };
                let start = segment.index as usize + k * BLOCK;
                for lane in (0..BLOCK).filter(|lane| walls >> lane & 1 == 0) {
                    largest = largest.max(r[start + lane].abs());
                }
            }
        }
        f64::from(largest) / self.scale
    }

    /// Changes the policy, keeping the residual that of the new problem.
    fn apply(&mut self, changes: &[WallCell]) {
        let r = self.hierarchy.right_hand_side();
        for wall in changes {
            let (index, place, lane) = wall.split();
            self.separated[place] ^= 1 << lane;
            if self.separated[place] >> lane & 1 == 1 {
                let value = self.scale * std::mem::take(&mut self.x[index]);
                let rows = &self.matrix.rows[place];
                for (a, axis) in slots::<D>().into_iter().enumerate() {
                    let stride = self.matrix.shape.strides[axis];
                    r[index - stride] -= (rows.low[a][lane] * value) as f32;
                    r[index + stride] -= (rows.high[a][lane] * value) as f32;
                }
            }
        }
        // Every wall row afresh: held ones have no residual, others may have a neighbour changed.
        for wall in &self.walls {
            let (index, place, lane) = wall.split();
            r[index] = if self.separated[place] >> lane & 1 == 1 {
                0.0
            } else {
                let y = self.matrix.row_dot(place, index, lane, &self.x);
                (self.scale * (self.b[index] - y)) as f32
            };
        }
    }

    /// Reads the solution.
    fn get(&self, x: &mut [f64]) {
        for (x, &index) in x.iter_mut().zip(&self.index) {
            *x = self.x[index as usize];
        }
    }

    /// `r ← b − A x` on the rows not left out, returning its max norm.
    fn true_residual(&mut self) -> f64 {
        let b = Shared(self.b.as_mut_ptr());
        let to = self.iterate();
        let (a, level) = (&self.matrix, &self.hierarchy.levels[0]);
        let sums = Shared(self.sums.as_mut_ptr());
        self.hierarchy.slabs().each(a.shape.cells[2], |z| {
            // SAFETY: each plane is written by one call; `sums` has an entry per plane.
            unsafe { *sums.get().add(z) = passes::residual(a, level, b.get(), to, z) }
        });
        self.sums.iter().copied().fold(0.0, vector::max_or_nan)
    }

    fn iterate(&mut self) -> Iterate {
        Iterate {
            x: self.x.as_mut_ptr(),
            r: self.hierarchy.right_hand_side().as_mut_ptr(),
            scale: self.scale,
        }
    }

    /// Conjugate gradients from the residual at hand until its norm is within `target`.
    fn conjugate(
        &mut self,
        null_space: &NullSpace,
        target: f64,
        limit: usize,
    ) -> Result<Run, SolveError> {
        let mut rho = 1.0;
        let mut run = Run {
            iterations: 0,
            residual: f64::INFINITY,
        };
        while run.residual > target && run.iterations < limit {
            self.hierarchy.cycle();
            self.project_correction(null_space);
            let product = finite(self.product(), run.iterations)?;
            if product < 0.0 {
                return Err(SolveError::PreconditionerNotPositiveDefinite {
                    iteration: run.iterations,
                    product,
                });
            }
            if product == 0.0 {
                run.residual = 0.0;
                break;
            }
            let beta = if run.iterations == 0 {
                0.0
            } else {
                product / rho
            };
            rho = product;
            let curvature = finite(self.direct(beta as f32), run.iterations)?;
            if curvature <= 0.0 {
                return Err(SolveError::NotPositiveDefinite {
                    iteration: run.iterations,
                    curvature,
                });
            }
            // Residual and direction carry the scale, the solution does not.
            let alpha = rho / curvature / self.scale;
            run.residual = finite(self.advance(alpha), run.iterations)?;
            run.iterations += 1;
        }
        Ok(run)
    }

    /// Takes the null space out of the preconditioned residual.
    fn project_correction(&mut self, null_space: &NullSpace) {
        if null_space.is_none() {
            return;
        }
        let z = &mut self.hierarchy.levels[0].x;
        let mut values: Vec<f64> = self
            .index
            .iter()
            .map(|&i| f64::from(z[i as usize]))
            .collect();
        null_space.project(&mut values);
        for (&i, value) in self.index.iter().zip(values) {
            z[i as usize] = value as f32;
        }
    }

    /// `r · z`.
    fn product(&mut self) -> f64 {
        let (a, level) = (&self.matrix, &self.hierarchy.levels[0]);
        let (r, z) = (level.b.as_ptr().cast_mut(), level.x.as_ptr().cast_mut());
        let (r, z) = (Shared(r), Shared(z));
        let sums = Shared(self.sums.as_mut_ptr());
        self.hierarchy.slabs().each(a.shape.cells[2], |plane| {
            // SAFETY: vectors are only read; `sums` has an entry per plane.
            unsafe { *sums.get().add(plane) = passes::dot(a, r.get(), z.get(), plane) }
        });
        self.sums.iter().sum()
    }

    /// `p ← z + β p`, returning `p · A p`.
    fn direct(&mut self, beta: f32) -> f64 {
        let (a, level) = (&self.matrix, &self.hierarchy.levels[0]);
        let z = Shared(level.x.as_ptr().cast_mut());
        let (p, sums) = (Shared(self.p.as_mut_ptr()), Shared(self.sums.as_mut_ptr()));
        let kept = Shared(self.kept.as_mut_ptr());
        self.hierarchy.slabs().wave(2, |m, plane| {
            // SAFETY: each plane of `p` is written by one call, and read after the planes
            // around it are; `sums` has an entry per plane.
            unsafe {
                match m {
                    0 => passes::direct(a, z.get(), beta, p.get(), plane),
                    _ => {
                        let sum = passes::curvature(a, p.get(), kept.get(), plane);
                        *sums.get().add(plane) = sum;
                    }
                }
            }
        });
        self.sums.iter().sum()
    }

    fn advance(&mut self, alpha: f64) -> f64 {
        let to = self.iterate();
        let (a, level) = (&self.matrix, &self.hierarchy.levels[0]);
        let (p, sums) = (Shared(self.p.as_mut_ptr()), Shared(self.sums.as_mut_ptr()));
        let kept = Shared(self.kept.as_mut_ptr());
        self.hierarchy.slabs().each(a.shape.cells[2], |z| {
            // SAFETY: each plane of the iterate is written by one call.
            unsafe {
                let size = passes::advance(a, level, alpha, p.get(), kept.get(), to, z);
                *sums.get().add(z) = size;
            }
        });
        self.sums.iter().copied().fold(0.0, vector::max_or_nan)
    }
}

fn solved(
    status: Status,
    iterations: usize,
    outer_iterations: usize,
    residual: f64,
    initial_residual: f64,
    separated: usize,
) -> Solution {
    Solution {
        status,
        iterations,
        outer_iterations,
        residual,
        initial_residual,
        separated,
    }
}

/// The projection of `b` off the null space, if there is one.
fn project(null_space: &NullSpace, b: &[f64]) -> Option<Vec<f64>> {
    (!null_space.is_none()).then(|| {
        let mut b = b.to_vec();
        null_space.project(&mut b);
        b
    })
}

fn finite(value: f64, iteration: usize) -> Result<f64, SolveError> {
    value
        .is_finite()
        .then_some(value)
        .ok_or(SolveError::NotFinite {
            quantity: "residual",
            iteration,
        })
}

/// Zeroes a vector of another size; pages never written stay free.
fn clear<T: Copy + Default>(v: &mut Vec<T>, len: usize) {
    if v.len() == len {
        v.fill(T::default());
    } else {
        *v = vec![T::default(); len];
    }
}

/// Marks the blocks with a neighbour of a separated cell.
fn hold_neighbours<const D: usize>(shape: &Shape, index: usize, held: &mut [bool]) {
    let at = shape.at(index);
    held[shape.block_of(at)] = true;
    for axis in slots::<D>() {
        for other in [at[axis].wrapping_sub(1), at[axis] + 1] {
            if other < shape.cells[axis] {
                let mut to = at;
                to[axis] = other;
                held[shape.block_of(to)] = true;
            }
        }
    }
}
