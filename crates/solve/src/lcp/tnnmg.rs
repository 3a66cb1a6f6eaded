//! Truncated nonsmooth Newton multigrid.

use super::ladder::{Best, Watch, prepared};
use super::policy;
use super::start::Start;
use crate::galerkin::{Holding, Options, Sweep, VCycle};
use crate::operator::Operator;
use crate::outcome::{SolveError, Tolerance};
use crate::precond::Preconditioner;
use crate::problem::{Policy, Problem, Solution};
use crate::vector;

/// Projected Gauss-Seidel sweeps before each linear correction.
const SWEEPS: usize = 2;

/// Truncated nonsmooth Newton multigrid (Gräser and Kornhuber 2009): globally convergent, and
/// as independent of the mesh as a linear cycle.
///
/// ```text
/// until max|min(A x − b, diag(A) x)| is small enough:
///     two sweeps of projected Gauss-Seidel on x
///     c ← one V-cycle for the residual, basis functions truncated where x_i = 0
///     d ← (x + c projected onto x ≥ 0) − x
///     x ← x + α d, with the α that minimises ½xᵀA x − bᵀx and stays feasible
/// ```
///
/// The sweeps alone converge and the rest never raises the energy, so nothing can go wrong.
///
/// [`Solution::iterations`] counts V-cycles.
#[derive(Clone, Debug, Default)]
pub struct Tnnmg {
    options: Options,
    cycle: Option<VCycle>,
    start: Start,
    best: Best,
    work: Work,
}

#[derive(Clone, Debug, Default)]
struct Work {
    x: Vec<f64>,
    /// `A x − b`.
    y: Vec<f64>,
    /// The residual off the active set.
    r: Vec<f64>,
    /// The correction, then the direction.
    d: Vec<f64>,
    floor: Vec<f64>,
    /// Of the diagonal, zero where that is.
    inverse: Vec<f64>,
    active: Vec<bool>,
    scratch: Vec<f64>,
}

impl Tnnmg {
    /// The method on another hierarchy.
    pub fn new(options: Options) -> Tnnmg {
        Tnnmg {
            options,
            ..Tnnmg::default()
        }
    }

    /// Builds the hierarchy for the matrix and places of `problem`, unless it is there already.
    ///
    /// # Errors
    /// [`SolveError::NeedsPlaces`], or as for [`Hierarchy::new`](crate::galerkin::Hierarchy::new).
    pub fn prepare(&mut self, problem: &Problem<'_>) -> Result<(), SolveError> {
        prepared(
            &mut self.cycle,
            problem,
            self.options,
            VCycle::SWEEPS,
            "tnnmg",
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
        self.prepare(problem)?;
        let Some(cycle) = &mut self.cycle else {
            return Err(SolveError::NeedsPlaces { method: "tnnmg" });
        };
        let begun = self.start.begin(problem, x)?;
        if begun.b_norm == 0.0 {
            x.fill(0.0);
            policy::record_none(x.len(), policy);
            return Ok(Solution::of_zero());
        }
        let problem = begun.problem;
        let work = &mut self.work;
        work.begin(&problem, cycle.hierarchy().diagonal(), x);
        let mut residual = self
            .best
            .begin(&work.x, problem.residual(&work.x, &mut work.y))?;
        let target = tol.target(begun.b_norm);
        let mut watch = Watch::new(target, tol, usize::MAX, residual);
        let mut iterations = 0;
        let status = loop {
            if let Some(status) = watch.verdict(residual, iterations) {
                break status;
            }
            work.sweep(&problem, cycle);
            work.correct(&problem, cycle);
            iterations += 1;
            residual = problem.residual(&work.x, &mut work.y);
            self.best.offer(&work.x, residual);
        };
        let ended = (status, iterations);
        Ok(self.best.finish(&problem, ended, policy, x, &mut work.y))
    }
}

impl Work {
    fn begin(&mut self, problem: &Problem<'_>, diagonal: &[f64], x: &[f64]) {
        let invert = |&d: &f64| if d > 0.0 { 1.0 / d } else { 0.0 };
        self.inverse.clear();
        self.inverse.extend(diagonal.iter().map(invert));
        self.x.clear();
        self.x.extend_from_slice(x);
        for v in [&mut self.y, &mut self.r, &mut self.d] {
            v.resize(x.len(), 0.0);
        }
        self.active.resize(x.len(), false);
        self.floor.clear();
        self.floor.extend((0..x.len()).map(|i| {
            if problem.is_constrained(i) {
                0.0
            } else {
                f64::NEG_INFINITY
            }
        }));
        // Energy falls along feasible points alone.
        for (x, &floor) in self.x.iter_mut().zip(&self.floor) {
            *x = x.max(floor);
        }
    }

    /// Projected Gauss-Seidel on the whole matrix, and the residual that it leaves.
    fn sweep(&mut self, problem: &Problem<'_>, cycle: &VCycle) {
        // With its own inverse: the smoother's is zero where the last correction held unknowns.
        let smoother = &cycle.hierarchy().levels()[0].smoother;
        let Work { inverse, floor, .. } = self;
        for _ in 0..SWEEPS {
            smoother.relax_colours(
                problem.a,
                &mut self.x,
                Sweep::Forward,
                &mut self.scratch,
                |i, dot, x| (x + inverse[i] * (problem.b[i] - dot)).max(floor[i]),
            );
        }
        problem.a.apply(&self.x, &mut self.y);
        vector::axpy(-1.0, problem.b, &mut self.y);
    }

    /// The linear correction, projected and scaled.
    fn correct(&mut self, problem: &Problem<'_>, cycle: &mut VCycle) {
        for i in 0..self.x.len() {
            self.active[i] = self.x[i] <= self.floor[i];
            self.r[i] = if self.active[i] { 0.0 } else { -self.y[i] };
        }
        cycle.hierarchy_mut().hold(&self.active, Holding::Zero);
        cycle.apply(&self.r, &mut self.d);
        problem.null_space.project(&mut self.d);
        for i in 0..self.x.len() {
            self.d[i] = self.d[i].max(self.floor[i] - self.x[i]);
        }
        // The energy along d is α·(y·d) + ½α²·(dᵀA d).
        let curvature = problem.a.apply_dot(&self.d, &mut self.r);
        let descent = -vector::dot(&self.y, &self.d);
        let mut alpha = descent / curvature;
        if descent <= 0.0 || curvature <= 0.0 || !alpha.is_finite() {
            return;
        }
        for i in 0..self.x.len() {
            if self.d[i] < 0.0 && self.x[i] + alpha * self.d[i] < self.floor[i] {
                alpha = (self.floor[i] - self.x[i]) / self.d[i];
            }
        }
        for i in 0..self.x.len() {
            self.x[i] = (self.x[i] + alpha * self.d[i]).max(self.floor[i]);
        }
    }
}
