//! Multigrid by itself: red-black Gauss-Seidel, rediscretised levels (Karlsson 2014).
//!
//! A baseline, with the slips of the original mended: the right-hand side is divided by the
//! diagonal in a sweep (eq. 54), a restricted residual is four times the children's mean
//! (eq. 56), the post-smoother sees the right-hand side and not the residual (alg. 9), and
//! a full cycle restricts the residual to all levels before it climbs (alg. 10). One
//! V-cycle on level `l`:
//!
//! 1. sweep `A x = b`; 2. `r ← b − A x`; 3. `b_{l+1} ← 4 mean r`, `x_{l+1} ← 0`;
//! 4. V-cycle on `l + 1`, a direct solve on the last; 5. `x ← x + P x_{l+1}`; 6. sweep.
//!
//! A full cycle restricts the residual to every level, solves the last, and on the way up
//! takes each level's interpolated solution as the first guess of a V-cycle.
//!
//! Coarse levels do not know on which side of a thin wall they are, nor of bubbles smaller
//! than their cells, so convergence is not certain: the outcome says, and the caller has
//! another method.

mod bottom;
mod level;
mod transfer;

#[cfg(test)]
mod tests;

use plash_grid::Grid;
use plash_solve::{Outcome, SolveError, Status, Tolerance, vector};

use self::bottom::Bottom;
use self::level::Level;
use self::transfer::{coarse_grid, coarsen, prolong, restrict};
use super::{Domain, System};
use crate::setup::{Cycle, MgOptions};

/// Levels end when no axis has more cells than this.
const COARSEST: usize = 4;

/// A right-hand side that the projection reduces by this factor was in the null space but
/// for rounding errors.
const NULL_SPACE_NOISE: f64 = 16.0 * f64::EPSILON;

/// The hierarchy and its memory, kept from step to step.
pub struct Mg<const D: usize> {
    /// Finest first.
    levels: Vec<Level<D>>,
    /// Levels in use: those that have unknowns.
    depth: usize,
    bottom: Bottom,
    /// The right-hand side off the null space.
    rhs: Vec<f64>,
    residual: Vec<f64>,
    /// The iterate of smallest residual, the one returned.
    best: Vec<f64>,
}

impl<const D: usize> Mg<D> {
    /// A hierarchy of empty levels.
    pub fn new(grid: &Grid<D>) -> Self {
        let mut levels = vec![Level::new(*grid)];
        let mut last = *grid;
        while last.cells().iter().any(|&n| n > COARSEST)
            && let Some(next) = coarse_grid(&last)
        {
            levels.push(Level::new(next));
            last = next;
        }
        Mg {
            levels,
            depth: 1,
            bottom: Bottom::default(),
            rhs: Vec::new(),
            residual: Vec::new(),
            best: Vec::new(),
        }
    }

    /// Builds all levels for the system assembled on `domain`.
    pub fn prepare(&mut self, domain: &Domain<'_, D>, system: &System<D>) {
        self.levels[0].take_system(system);
        self.depth = 1;
        for l in 1..self.levels.len() {
            let (fine, coarse) = self.levels.split_at_mut(l);
            let (fine, coarse) = (&fine[l - 1], &mut coarse[0]);
            if l == 1 {
                coarsen(domain.grid, domain.phi, domain.solids.open(), coarse);
            } else {
                coarsen(&fine.grid, &fine.phi, &fine.open, coarse);
            }
            coarse.discretise();
            if coarse.unknowns == 0 {
                break;
            }
            self.depth = l + 1;
        }
        self.bottom.prepare(&self.levels[self.depth - 1]);
    }

    /// Solves `A x = rhs` from the guess in `x`, both numbered as in the `system` last
    /// [prepared](Self::prepare). If the status is not [`Status::Converged`], `x` is the
    /// best iterate met, at worst the guess; [`Status::Stagnated`] if two cycles did not
    /// halve the residual. Iterations are cycles.
    ///
    /// # Errors
    /// [`SolveError::NotFinite`] if `rhs` or the guess is not finite,
    /// [`SolveError::Shape`] if they do not fit the system. `x` keeps the guess.
    pub fn solve(
        &mut self,
        system: &System<D>,
        options: &MgOptions,
        rhs: &[f64],
        x: &mut [f64],
        tolerance: &Tolerance,
    ) -> Result<Outcome, SolveError> {
        self.check(system, rhs, x)?;
        let raw_norm = vector::max_norm(rhs);
        self.rhs.clear();
        self.rhs.extend_from_slice(rhs);
        system.null_space().project(&mut self.rhs);
        let norm = vector::max_norm(&self.rhs);
        if norm <= NULL_SPACE_NOISE * raw_norm {
            x.fill(0.0);
            return Ok(Outcome {
                status: Status::Converged,
                iterations: 0,
                residual: 0.0,
                initial_residual: 0.0,
            });
        }
        self.best.clear();
        self.best.extend_from_slice(x);
        system.null_space().project(&mut self.best);
        self.load(system);
        let outcome = self.iterate(system, options, tolerance.target(norm), tolerance);
        system.null_space().project(&mut self.best);
        x.copy_from_slice(&self.best);
        Ok(outcome)
    }

    /// Cycles until the residual is at `target`, or no hope is left.
    fn iterate(
        &mut self,
        system: &System<D>,
        options: &MgOptions,
        target: f64,
        tolerance: &Tolerance,
    ) -> Outcome {
        let initial_residual = self.residual_norm(system);
        // The smallest residual so far, and those after the last two cycles. The guess's
        // own does not count: the first cycle may well trade a small rough residual for a
        // larger one near the boundary, and the next ones bring it down.
        let (mut best, mut last) = (initial_residual, [f64::INFINITY; 2]);
        let mut iterations = 0;
        let status = loop {
            if best <= target {
                break Status::Converged;
            }
            if iterations >= tolerance.max_iterations {
                break Status::IterationLimit;
            }
            if options.cycle == Cycle::Full && iterations < options.full_cycles {
                self.full_cycle(options.sweeps);
            } else {
                self.v_cycle(0, options.sweeps);
            }
            iterations += 1;
            let residual = self.residual_norm(system);
            if residual < best {
                best = residual;
                self.store(system);
            }
            let hopeless = residual.is_nan() || residual > 0.5 * last[0];
            if hopeless && best > target {
                break Status::Stagnated;
            }
            last = [last[1], residual];
        };
        Outcome {
            status,
            iterations,
            residual: best,
            initial_residual,
        }
    }

    /// One V-cycle on the system of level `top`, from the `x` it has.
    fn v_cycle(&mut self, top: usize, sweeps: usize) {
        let last = self.depth - 1;
        for l in top..last {
            let (fine, coarse) = self.pair(l);
            fine.sweep(sweeps);
            fine.find_residual();
            restrict(&fine.residual, coarse);
            coarse.zero_x();
        }
        self.bottom.solve(&mut self.levels[last]);
        for l in (top..last).rev() {
            let (fine, coarse) = self.pair(l);
            prolong(coarse, fine);
            fine.sweep(sweeps);
        }
    }

    /// One full cycle. The equation for the correction has the residual on the right; on
    /// the finest level adding it to `x` and going on with `rhs` comes to the same.
    fn full_cycle(&mut self, sweeps: usize) {
        self.levels[0].find_residual();
        let last = self.depth - 1;
        for l in 0..last {
            let (fine, coarse) = self.pair(l);
            restrict(if l == 0 { &fine.residual } else { &fine.rhs }, coarse);
            coarse.zero_x();
        }
        self.bottom.solve(&mut self.levels[last]);
        for l in (0..last).rev() {
            let (fine, coarse) = self.pair(l);
            prolong(coarse, fine);
            self.v_cycle(l, sweeps);
        }
    }

    /// A level and the next coarser one.
    fn pair(&mut self, l: usize) -> (&mut Level<D>, &mut Level<D>) {
        let (fine, coarse) = self.levels.split_at_mut(l + 1);
        (&mut fine[l], &mut coarse[0])
    }

    /// Writes right-hand side and guess to the finest level.
    fn load(&mut self, system: &System<D>) {
        let level = &mut self.levels[0];
        for ((&cell, &b), &x) in system.cells().iter().zip(&self.rhs).zip(&self.best) {
            level.rhs.as_mut_slice()[cell as usize] = b;
            level.set_value(cell as usize, x);
        }
    }

    /// Keeps the finest level's `x`.
    fn store(&mut self, system: &System<D>) {
        let level = &self.levels[0];
        self.best.clear();
        self.best
            .extend(system.cells().iter().map(|&c| level.value(c as usize)));
    }

    /// `max|rhs − A x|` on the finest level; NaN if any entry is.
    fn residual_norm(&mut self, system: &System<D>) -> f64 {
        self.levels[0].find_residual();
        system.gather(&self.levels[0].residual, &mut self.residual);
        vector::max_norm(&self.residual)
    }

    fn check(&self, system: &System<D>, rhs: &[f64], x: &[f64]) -> Result<(), SolveError> {
        let expected = system.cells().len();
        for (quantity, v) in [("right-hand side", rhs), ("initial guess", x)] {
            SolveError::check_count(quantity, expected, v.len())?;
            SolveError::check_finite(quantity, v)?;
        }
        Ok(())
    }
}
