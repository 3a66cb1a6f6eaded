//! Full multigrid with projection in the smoother.

use super::ladder::{Best, Watch, prepared};
use super::policy;
use super::start::Start;
use crate::galerkin::{
    Boundary, Coarse, Hierarchy, Interpolation, Level, Options, Sweep, VCycle, residual,
};
use crate::outcome::{SolveError, Tolerance};
use crate::problem::{Policy, Problem, Solution};

/// Sweeps before and after a coarse correction.
const SWEEPS: usize = 4;

/// Sweeps over the coarsest level, to and as many fro.
const BOTTOM_SWEEPS: usize = 20;

/// How far the smoother of a coarse level lets a constrained unknown fall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Clamp {
    /// As far as the least of the constrained unknowns below it can: no correction is ever cut.
    #[default]
    Least,
    /// As far as they can on average: some are pushed through the constraint and clamped on the
    /// finest level, where the next cycle finds the same again.
    Mean,
}

/// How full cycles go about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FmgOptions {
    /// The hierarchy.
    pub hierarchy: Options,
    /// The clamp of coarse levels.
    pub clamp: Clamp,
}

impl Default for FmgOptions {
    fn default() -> FmgOptions {
        FmgOptions {
            hierarchy: Options {
                interpolation: Interpolation::Trilinear,
                coarse: Coarse::Direct,
                ..Options::default()
            },
            clamp: Clamp::Least,
        }
    }
}

impl FmgOptions {
    /// Everything averaged, boundaries included: the baseline as Lai et al. 2021 describe it.
    /// It takes tens to hundreds of cycles where it does not stall.
    pub fn published() -> FmgOptions {
        let mut options = FmgOptions::default();
        options.hierarchy.boundary = Boundary::Simple;
        options.clamp = Clamp::Mean;
        options
    }
}

/// Full multigrid with a clamp in the smoother (Chentanez and Müller 2012, as Lai et al. 2021
/// describe it): linear cycles on rediscretised levels, four sweeps before and four after.
///
/// A full cycle restricts the residual to all levels, and from the coarsest up takes each
/// interpolated correction as the guess of a V-cycle. Coarse levels solve for corrections, so
/// they are clamped by a distance and not at zero: see [`Clamp`]. Residuals that a constraint
/// takes up are not restricted, so that a solution stays one.
///
/// [`Solution::iterations`] counts full cycles, each several times the cost of a V-cycle.
#[derive(Clone, Debug, Default)]
pub struct Fmg {
    options: FmgOptions,
    cycle: Option<VCycle>,
    start: Start,
    grids: Vec<Grid>,
    y: Vec<f64>,
    best: Best,
    scratch: Vec<f64>,
}

/// The vectors of one level.
#[derive(Clone, Debug, Default)]
struct Grid {
    constrained: Vec<bool>,
    x: Vec<f64>,
    g: Vec<f64>,
    /// The least value of each unknown, −∞ where it is not constrained.
    floor: Vec<f64>,
    /// The restricted residual of the finest level, kept while `g` serves V-cycles from above.
    kept: Vec<f64>,
    /// The floor that goes with it.
    kept_floor: Vec<f64>,
    t: Vec<f64>,
}

impl Fmg {
    /// A solver that has not met a problem yet.
    pub fn new(options: FmgOptions) -> Fmg {
        Fmg {
            options,
            ..Fmg::default()
        }
    }

    /// Builds the hierarchy for the matrix and places of `problem`, unless it is there already.
    ///
    /// # Errors
    /// [`SolveError::NeedsPlaces`], or as for [`Hierarchy::new`].
    pub fn prepare(&mut self, problem: &Problem<'_>) -> Result<(), SolveError> {
        prepared(
            &mut self.cycle,
            problem,
            self.options.hierarchy,
            SWEEPS,
            "fmg",
        )
        .map(|_| ())
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
        let cycle = prepared(
            &mut self.cycle,
            problem,
            self.options.hierarchy,
            SWEEPS,
            "fmg",
        )?;
        let begun = self.start.begin(problem, x)?;
        if begun.b_norm == 0.0 {
            x.fill(0.0);
            policy::record_none(x.len(), policy);
            return Ok(Solution::of_zero());
        }
        let problem = begun.problem;
        self.y.resize(x.len(), 0.0);
        let mut scheme = Scheme {
            hierarchy: cycle.hierarchy(),
            clamp: self.options.clamp,
            problem: &problem,
            y: &mut self.y,
            grids: &mut self.grids,
            scratch: &mut self.scratch,
        };
        scheme.begin(x);
        let mut residual = self.best.begin(x, scheme.residual())?;
        let target = tol.target(begun.b_norm);
        let mut watch = Watch::new(target, tol, usize::MAX, residual);
        let mut iterations = 0;
        let status = loop {
            if let Some(status) = watch.verdict(residual, iterations) {
                break status;
            }
            scheme.full_cycle();
            iterations += 1;
            residual = scheme.residual();
            self.best.offer(&scheme.grids[0].x, residual);
        };
        let ended = (status, iterations);
        Ok(self.best.finish(&problem, ended, policy, x, &mut self.y))
    }
}

/// A solve under way.
struct Scheme<'a> {
    hierarchy: &'a Hierarchy,
    clamp: Clamp,
    problem: &'a Problem<'a>,
    y: &'a mut [f64],
    grids: &'a mut Vec<Grid>,
    scratch: &'a mut Vec<f64>,
}

impl Scheme<'_> {
    fn begin(&mut self, x: &[f64]) {
        let levels = self.hierarchy.levels();
        self.grids.resize_with(levels.len(), Grid::default);
        for (level, grid) in levels.iter().zip(self.grids.iter_mut()) {
            let rows = level.a.rows();
            grid.constrained.clear();
            grid.constrained.resize(rows, false);
            for v in [
                &mut grid.x,
                &mut grid.g,
                &mut grid.floor,
                &mut grid.kept,
                &mut grid.kept_floor,
                &mut grid.t,
            ] {
                v.clear();
                v.resize(rows, 0.0);
            }
        }
        let finest = &mut self.grids[0];
        finest.x.copy_from_slice(x);
        finest.g.copy_from_slice(self.problem.b);
        for i in 0..x.len() {
            finest.constrained[i] = self.problem.is_constrained(i);
            if !finest.constrained[i] {
                finest.floor[i] = f64::NEG_INFINITY;
            }
        }
        for (l, level) in levels.iter().enumerate() {
            if let Some(transfer) = &level.transfer {
                let (fine, coarse) = pair(self.grids, l);
                for (&constrained, &parent) in fine.constrained.iter().zip(&transfer.parent) {
                    if constrained && let Some(c) = coarse.constrained.get_mut(parent as usize) {
                        *c = true;
                    }
                }
            }
        }
    }

    /// The natural residual of the iterate.
    fn residual(&mut self) -> f64 {
        self.problem.residual(&self.grids[0].x, self.y)
    }

    fn full_cycle(&mut self) {
        let bottom = self.grids.len() - 1;
        self.defect(0);
        for l in 0..bottom {
            self.descend(l);
            let coarse = &mut self.grids[l + 1];
            coarse.kept.copy_from_slice(&coarse.g);
            coarse.kept_floor.copy_from_slice(&coarse.floor);
            coarse.t.copy_from_slice(&coarse.g);
        }
        for l in (0..=bottom).rev() {
            if l > 0 {
                let grid = &mut self.grids[l];
                grid.g.copy_from_slice(&grid.kept);
                grid.floor.copy_from_slice(&grid.kept_floor);
                grid.x.fill(0.0);
            }
            if l < bottom {
                self.ascend(l);
            }
            self.v_cycle(l);
        }
    }

    /// A V-cycle from level `top` down and up again.
    fn v_cycle(&mut self, top: usize) {
        let bottom = self.grids.len() - 1;
        for l in top..bottom {
            self.smooth(l, Sweep::Forward, SWEEPS);
            self.defect(l);
            self.descend(l);
        }
        self.smooth(bottom, Sweep::Forward, BOTTOM_SWEEPS);
        self.smooth(bottom, Sweep::Backward, BOTTOM_SWEEPS);
        for l in (top..bottom).rev() {
            self.ascend(l);
            self.smooth(l, Sweep::Backward, SWEEPS);
        }
    }

    fn smooth(&mut self, l: usize, way: Sweep, sweeps: usize) {
        let Level { a, smoother, .. } = &self.hierarchy.levels()[l];
        let Grid { x, g, floor, .. } = &mut self.grids[l];
        for _ in 0..sweeps {
            smoother.sweep(a, g, Some(floor), x, way, self.scratch);
        }
    }

    /// `t ← g − A x`, but nothing where the constraint takes up the residual.
    fn defect(&mut self, l: usize) {
        let Level { a, smoother, .. } = &self.hierarchy.levels()[l];
        let grid = &mut self.grids[l];
        residual(a, &grid.g, &grid.x, &mut grid.t);
        for i in 0..grid.t.len() {
            let inverse = smoother.inverse(i);
            if grid.constrained[i] && inverse > 0.0 {
                let slack = (grid.x[i] - grid.floor[i]) / inverse;
                grid.t[i] = grid.t[i].max(-slack);
            }
        }
    }

    /// Poses the problem of level `l + 1`: the defect, and how far each unknown may fall.
    fn descend(&mut self, l: usize) {
        let Some(transfer) = &self.hierarchy.levels()[l].transfer else {
            return;
        };
        let (fine, coarse) = pair(self.grids, l);
        transfer.r.apply(&fine.t, &mut coarse.g);
        coarse.x.fill(0.0);
        match self.clamp {
            Clamp::Least => least_floor(&transfer.parent, fine, coarse),
            Clamp::Mean => mean_floor(&transfer.parent, fine, coarse),
        }
    }

    fn ascend(&mut self, l: usize) {
        if let Some(transfer) = &self.hierarchy.levels()[l].transfer {
            let (fine, coarse) = pair(self.grids, l);
            transfer.p.add(&coarse.x, &[], &mut fine.x);
        }
    }
}

/// The grids of level `l` and of the next.
fn pair(grids: &mut [Grid], l: usize) -> (&mut Grid, &mut Grid) {
    let (above, below) = grids.split_at_mut(l + 1);
    (&mut above[l], &mut below[0])
}

/// How far the least of the constrained children can fall.
fn least_floor(parent: &[u32], fine: &Grid, coarse: &mut Grid) {
    coarse.floor.fill(f64::NEG_INFINITY);
    for (i, &parent) in parent.iter().enumerate() {
        if fine.constrained[i]
            && let Some(floor) = coarse.floor.get_mut(parent as usize)
        {
            *floor = floor.max(fine.floor[i] - fine.x[i]);
        }
    }
}

/// How far the constrained children can fall on average.
fn mean_floor(parent: &[u32], fine: &Grid, coarse: &mut Grid) {
    // The defect has been restricted already, so its memory can hold the counts.
    let Grid {
        floor, t: count, ..
    } = coarse;
    floor.fill(0.0);
    count.fill(0.0);
    for (i, &parent) in parent.iter().enumerate() {
        if fine.constrained[i]
            && let Some(floor) = floor.get_mut(parent as usize)
        {
            *floor += fine.floor[i] - fine.x[i];
            count[parent as usize] += 1.0;
        }
    }
    for (floor, &count) in floor.iter_mut().zip(&*count) {
        *floor = if count > 0.0 {
            *floor / count
        } else {
            f64::NEG_INFINITY
        };
    }
}
