//! The full approximation scheme.

use super::ladder::{Best, Watch, prepared};
use super::policy;
use super::start::Start;
use crate::galerkin::{Hierarchy, Level, Options, Sweep, VCycle};
use crate::operator::Operator;
use crate::outcome::{SolveError, Tolerance};
use crate::problem::{Policy, Problem, Solution};
use crate::vector;

/// How the full approximation scheme goes about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FasOptions {
    /// The hierarchy.
    pub hierarchy: Options,
    /// Projected Gauss-Seidel sweeps before a coarse correction, and as many after.
    pub sweeps: usize,
    /// After this many cycles, one that does not halve the residual ends the solve as
    /// [`Status::Stagnated`](crate::Status::Stagnated): another method will do better.
    pub patience: usize,
}

impl Default for FasOptions {
    fn default() -> FasOptions {
        FasOptions {
            hierarchy: Options::default(),
            sweeps: 2,
            patience: 20,
        }
    }
}

/// Multigrid for the complementarity problem itself: the full approximation scheme (Lai et al.
/// 2021, algorithm 3).
///
/// Every level `l` has the equation `N(x) = f` with
///
/// ```text
/// N(x)_i = min((A x − b)_i, A_ii x_i)   if any fine unknown below i is constrained,
/// N(x)_i = (A x − b)_i                  otherwise;
/// f = 0 on the finest level,   f_H = N_H(x_H) + R (f − N(x)) below,
/// ```
///
/// where `x_H` is `R x`, or the least constrained value below a constrained unknown. The paper's
/// `min((A x − b)_i, x_i)` mixes units, and fails where `A_ii` is far from 1. The method is fast
/// but not safe: it may stagnate, and says so.
///
/// [`Solution::iterations`] counts V-cycles.
#[derive(Clone, Debug, Default)]
pub struct FasMg {
    options: FasOptions,
    cycle: Option<VCycle>,
    start: Start,
    grids: Vec<Grid>,
    best: Best,
    scratch: Vec<f64>,
}

/// The vectors of one level.
#[derive(Clone, Debug, Default)]
struct Grid {
    constrained: Vec<bool>,
    x: Vec<f64>,
    b: Vec<f64>,
    f: Vec<f64>,
    /// `f + b`, the right-hand side of the linear branch.
    g: Vec<f64>,
    /// `f_i/A_ii` where constrained, the least value of the other branch; −∞ elsewhere.
    floor: Vec<f64>,
    /// What `x` was when it came down from the finer level.
    before: Vec<f64>,
    /// Scratch: residuals and corrections.
    t: Vec<f64>,
}

/// Sweeps over a coarsest level at most, and the reduction that is enough.
const BOTTOM_SWEEPS: usize = 100;
const BOTTOM_REDUCTION: f64 = 1e-3;

impl FasMg {
    /// The scheme with other options.
    pub fn new(options: FasOptions) -> FasMg {
        FasMg {
            options,
            ..FasMg::default()
        }
    }

    /// Builds the hierarchy for the matrix and places of `problem`, unless it is there already.
    ///
    /// # Errors
    /// [`SolveError::NeedsPlaces`], or as for [`Hierarchy::new`].
    pub fn prepare(&mut self, problem: &Problem<'_>) -> Result<(), SolveError> {
        let FasOptions {
            hierarchy, sweeps, ..
        } = self.options;
        prepared(&mut self.cycle, problem, hierarchy, sweeps, "fas-mg").map(|_| ())
    }

    /// Solves `problem` from the guess in `x`; `policy` receives what the solution implies.
    ///
    /// # Errors
    /// As for [`prepare`](Self::prepare), and if the input is not finite; `x` and `policy` are
    /// then left alone.
    pub fn solve(
        &mut self,
        problem: &Problem<'_>,
        policy: &mut Policy,
        x: &mut [f64],
        tol: &Tolerance,
    ) -> Result<Solution, SolveError> {
        problem.check(x)?;
        let FasOptions {
            hierarchy,
            sweeps,
            patience,
        } = self.options;
        let cycle = prepared(&mut self.cycle, problem, hierarchy, sweeps, "fas-mg")?;
        let begun = self.start.begin(problem, x)?;
        if begun.b_norm == 0.0 {
            x.fill(0.0);
            policy::record_none(x.len(), policy);
            return Ok(Solution::of_zero());
        }
        let mut scheme = Scheme {
            hierarchy: cycle.hierarchy(),
            sweeps: sweeps.max(1),
            grids: &mut self.grids,
            scratch: &mut self.scratch,
        };
        scheme.begin(&begun.problem, x);
        let mut residual = self.best.begin(x, scheme.residual())?;
        let mut watch = Watch::new(tol.target(begun.b_norm), tol, patience, residual);
        let mut iterations = 0;
        let status = loop {
            if let Some(status) = watch.verdict(residual, iterations) {
                break status;
            }
            scheme.cycle();
            iterations += 1;
            residual = scheme.residual();
            self.best.offer(&scheme.grids[0].x, residual);
        };
        let ended = (status, iterations);
        Ok(self
            .best
            .finish(&begun.problem, ended, policy, x, &mut self.grids[0].t))
    }
}

/// A solve under way.
struct Scheme<'a> {
    hierarchy: &'a Hierarchy,
    sweeps: usize,
    grids: &'a mut Vec<Grid>,
    scratch: &'a mut Vec<f64>,
}

impl Scheme<'_> {
    /// Readies the vectors of all levels.
    fn begin(&mut self, problem: &Problem<'_>, x: &[f64]) {
        let levels = self.hierarchy.levels();
        self.grids.resize_with(levels.len(), Grid::default);
        for (level, grid) in levels.iter().zip(self.grids.iter_mut()) {
            let rows = level.a.rows();
            grid.constrained.clear();
            grid.constrained.resize(rows, false);
            for v in [
                &mut grid.x,
                &mut grid.b,
                &mut grid.f,
                &mut grid.g,
                &mut grid.floor,
                &mut grid.before,
                &mut grid.t,
            ] {
                v.clear();
                v.resize(rows, 0.0);
            }
        }
        self.grids[0].x.copy_from_slice(x);
        self.grids[0].b.copy_from_slice(problem.b);
        for i in 0..x.len() {
            self.grids[0].constrained[i] = problem.is_constrained(i);
        }
        for l in 1..levels.len() {
            let Some(transfer) = &levels[l - 1].transfer else {
                break;
            };
            let (fine, coarse) = pair(self.grids, l - 1);
            transfer.r.apply(&fine.b, &mut coarse.b);
            // Any child that is constrained constrains its parent: with half of them, or all,
            // the scheme degrades or fails.
            for (i, &parent) in transfer.parent.iter().enumerate() {
                if fine.constrained[i] && (parent as usize) < coarse.constrained.len() {
                    coarse.constrained[parent as usize] = true;
                }
            }
        }
    }

    /// The max norm of `f − N(x)` on the finest level.
    fn residual(&mut self) -> f64 {
        let grid = &mut self.grids[0];
        defect(&self.hierarchy.levels()[0], grid);
        vector::max_norm(&grid.t)
    }

    /// One V-cycle.
    fn cycle(&mut self) {
        let bottom = self.grids.len() - 1;
        for l in 0..bottom {
            split_branches(&self.hierarchy.levels()[l], &mut self.grids[l]);
            self.smooth(l);
            self.descend(l);
        }
        self.solve_bottom();
        for l in (0..bottom).rev() {
            self.ascend(l);
            self.smooth(l);
        }
    }

    /// Sweeps forward, before a coarse correction and after: nothing asks for symmetry here, and
    /// it costs a cycle or two.
    fn smooth(&mut self, l: usize) {
        for _ in 0..self.sweeps {
            self.sweep(l, Sweep::Forward);
        }
    }

    fn sweep(&mut self, l: usize, way: Sweep) {
        let Level { a, smoother, .. } = &self.hierarchy.levels()[l];
        let Grid { x, g, floor, .. } = &mut self.grids[l];
        smoother.sweep(a, g, Some(floor), x, way, self.scratch);
    }

    /// Poses the problem of level `l + 1`.
    fn descend(&mut self, l: usize) {
        let levels = self.hierarchy.levels();
        let Some(transfer) = &levels[l].transfer else {
            return;
        };
        let (fine, coarse) = pair(self.grids, l);
        defect(&levels[l], fine);
        transfer.r.apply(&fine.x, &mut coarse.x);
        least_of_children(&transfer.parent, fine, coarse);
        coarse.before.copy_from_slice(&coarse.x);
        // f_H = N_H(x_H) + R (f − N(x)); the defect with f = 0 is −N_H.
        coarse.f.fill(0.0);
        defect(&levels[l + 1], coarse);
        transfer.r.apply(&fine.t, &mut coarse.f);
        vector::axpy(-1.0, &coarse.t, &mut coarse.f);
    }

    /// `x ← x + P (x_H' − x_H)`, back onto the constraints.
    fn ascend(&mut self, l: usize) {
        let Some(transfer) = &self.hierarchy.levels()[l].transfer else {
            return;
        };
        let (fine, coarse) = pair(self.grids, l);
        coarse.t.copy_from_slice(&coarse.x);
        vector::axpy(-1.0, &coarse.before, &mut coarse.t);
        transfer.p.add(&coarse.t, &[], &mut fine.x);
        for (x, &floor) in fine.x.iter_mut().zip(&fine.floor) {
            *x = x.max(floor);
        }
    }

    /// Sweeps to and fro until the coarsest level is solved well enough.
    fn solve_bottom(&mut self) {
        let l = self.grids.len() - 1;
        let level = &self.hierarchy.levels()[l];
        split_branches(level, &mut self.grids[l]);
        defect(level, &mut self.grids[l]);
        let enough = BOTTOM_REDUCTION * vector::max_norm(&self.grids[l].t);
        // Large coarsest levels are those of unknowns that are not coupled at all.
        let sweeps = if self.hierarchy.has_exact_bottom() {
            BOTTOM_SWEEPS
        } else {
            self.sweeps
        };
        for _ in 0..sweeps.div_ceil(2) {
            self.sweep(l, Sweep::Forward);
            self.sweep(l, Sweep::Backward);
            defect(level, &mut self.grids[l]);
            if vector::max_norm(&self.grids[l].t) <= enough {
                break;
            }
        }
    }
}

/// The grids of level `l` and of the next.
fn pair(grids: &mut [Grid], l: usize) -> (&mut Grid, &mut Grid) {
    let (above, below) = grids.split_at_mut(l + 1);
    (&mut above[l], &mut below[0])
}

/// The coarse value of a constrained unknown is the least of its constrained children: how far
/// they can fall together. The average would let coarse levels push some of them through the
/// constraint, which in two dimensions costs twice the cycles or stagnates.
fn least_of_children(parent: &[u32], fine: &Grid, coarse: &mut Grid) {
    for (x, &constrained) in coarse.x.iter_mut().zip(&coarse.constrained) {
        if constrained {
            *x = f64::INFINITY;
        }
    }
    for (i, &parent) in parent.iter().enumerate() {
        if fine.constrained[i]
            && let Some(x) = coarse.x.get_mut(parent as usize)
        {
            *x = x.min(fine.x[i]);
        }
    }
}

/// Writes the two branches of `N(x) = f` as a linear system with a lower bound:
/// `A x = f + b` and `x_i ≥ f_i/A_ii`.
fn split_branches(level: &Level, grid: &mut Grid) {
    for i in 0..grid.x.len() {
        grid.g[i] = grid.f[i] + grid.b[i];
        grid.floor[i] = if grid.constrained[i] {
            grid.f[i] * level.smoother.inverse(i)
        } else {
            f64::NEG_INFINITY
        };
    }
}

/// `t ← f − N(x)`.
fn defect(level: &Level, grid: &mut Grid) {
    level.a.apply(&grid.x, &mut grid.t);
    for i in 0..grid.t.len() {
        let mut value = grid.t[i] - grid.b[i];
        if grid.constrained[i] {
            let inverse = level.smoother.inverse(i);
            let scaled = if inverse > 0.0 {
                grid.x[i] / inverse
            } else {
                0.0
            };
            value = value.min(scaled);
        }
        grid.t[i] = grid.f[i] - value;
    }
}
