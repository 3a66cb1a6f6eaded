//! Conjugate gradients on a lattice.

use super::cycle::Hierarchy;
use super::level::{Level, UNIFORM};
use super::matrix::{BlockRows, LatticeMatrix};
use super::passes::{self, Iterate, Kept};
use super::shape::{BLOCK, Shape, slots};
use super::wave::Shared;
use crate::csr::Csr;
use crate::null_space::NullSpace;
use crate::outcome::{SolveError, Status, Tolerance, finite_residual};
use crate::problem::{Places, Solution};
use crate::vector;

/// The recurrence of the residual, kept in single precision, says nothing more about the true one
/// this far below where it began: time to compute it afresh.
pub(super) const FLOOR: f64 = 2e-7;

/// Iterations in which the residual must halve at least once.
const PATIENCE: usize = 60;

/// Multigrid-preconditioned conjugate gradients for a [`LatticeMatrix`], with all their memory.
///
/// The preconditioner is a V-cycle in single precision; the residual is kept, and in the end
/// recomputed, in double.
#[derive(Clone, Debug)]
pub struct LatticeSolver<const D: usize> {
    pub(super) matrix: LatticeMatrix<D>,
    pub(super) hierarchy: Hierarchy<D>,
    /// Memory index of each unknown.
    pub(super) index: Vec<u32>,
    /// Unknowns that may be constrained, and those that are in the problem at hand.
    pub(super) candidates: Vec<WallCell>,
    pub(super) walls: Vec<WallCell>,
    /// Per block of the stream, the lanes of those in the problem at hand.
    pub(super) walled: Vec<u8>,
    /// Per block of the stream, the lanes that are separated.
    pub(super) separated: Vec<u8>,
    /// The same as the finest level of the hierarchy has it.
    pub(super) masked: Vec<u8>,
    /// Whether the hierarchy is that of the matrix with `masked` left out.
    pub(super) built: bool,
    pub(super) b: Vec<f64>,
    pub(super) x: Vec<f64>,
    pub(super) p: Vec<f32>,
    /// `A p` in the blocks of the stream.
    pub(super) kept: Vec<Kept>,
    pub(super) sums: Vec<f64>,
    pub(super) scale: f64,
}

/// A constrained unknown.
#[derive(Clone, Copy, Debug)]
pub(super) struct WallCell {
    /// Memory index.
    pub(super) index: u32,
    /// Number of the unknown.
    pub(super) unknown: u32,
    /// Place of its block in the stream.
    pub(super) place: u32,
    /// Its lane there.
    pub(super) lane: u8,
}

impl WallCell {
    /// Memory index, place and lane.
    pub(super) fn split(&self) -> (usize, usize, usize) {
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
pub(super) struct Run {
    /// Whether it gave up because the residual no longer fell.
    pub(super) stalled: bool,
    pub(super) iterations: usize,
    pub(super) residual: f64,
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
            walled: Vec::new(),
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
    pub(super) fn refresh(&mut self) {
        if self.built && self.masked == self.separated {
            return;
        }
        let level = &mut self.hierarchy.levels[0];
        if !self.built {
            self.matrix.finest(level);
            self.masked.fill(0);
        }
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
                // A cycle that is all bottom writes its own unknowns only.
                level.x[wall.index as usize] = 0.0;
                hold_neighbours::<D>(&self.matrix.shape, wall.index as usize, &mut level.held);
            }
        }
        level.unknowns = self.matrix.unknowns - left_out;
        self.masked.clone_from(&self.separated);
        self.hierarchy.rebuild();
        self.built = true;
    }

    /// Puts a problem on the lattice: right-hand side and guess by unknown.
    pub(super) fn set(&mut self, b: &[f64], x: &[f64]) -> f64 {
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
        let (mut iterations, mut residual, mut last) =
            (0, finite_residual(initial, 0)?, f64::INFINITY);
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
            residual = finite_residual(self.true_residual(), iterations)?;
        };
        self.get(x);
        null_space.project(x);
        Ok(solved(status, iterations, 1, residual, initial, 0))
    }

    /// Reads the solution.
    pub(super) fn get(&self, x: &mut [f64]) {
        for (x, &index) in x.iter_mut().zip(&self.index) {
            *x = self.x[index as usize];
        }
    }

    /// `r ← b − A x` on the rows not left out, returning its max norm.
    pub(super) fn true_residual(&mut self) -> f64 {
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
    pub(super) fn conjugate(
        &mut self,
        null_space: &NullSpace,
        target: f64,
        limit: usize,
    ) -> Result<Run, SolveError> {
        let mut rho = 1.0;
        let (mut milestone, mut since) = (f64::INFINITY, 0);
        let mut run = Run {
            stalled: false,
            iterations: 0,
            residual: f64::INFINITY,
        };
        while run.residual > target && run.iterations < limit {
            self.hierarchy.cycle();
            self.project_correction(null_space);
            let product = finite_residual(self.product(), run.iterations)?;
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
            let curvature = finite_residual(self.direct(beta as f32), run.iterations)?;
            if curvature <= 0.0 {
                return Err(SolveError::NotPositiveDefinite {
                    iteration: run.iterations,
                    curvature,
                });
            }
            // Residual and direction carry the scale, the solution does not.
            let alpha = rho / curvature / self.scale;
            run.residual = finite_residual(self.advance(alpha), run.iterations)?;
            run.iterations += 1;
            (milestone, since) = if run.residual < 0.5 * milestone {
                (run.residual, 0)
            } else {
                (milestone, since + 1)
            };
            if since > PATIENCE {
                run.stalled = true;
                break;
            }
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

pub(super) fn solved(
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
pub(super) fn project(null_space: &NullSpace, b: &[f64]) -> Option<Vec<f64>> {
    (!null_space.is_none()).then(|| {
        let mut b = b.to_vec();
        null_space.project(&mut b);
        b
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
