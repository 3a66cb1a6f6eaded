//! The minimum-map Newton method.

use crate::krylov::{BiCgStab, Cr, Gmres};
use crate::lcp::policy::{self, Masked, Restricted, RestrictedMic, Separation, Ties};
use crate::lcp::start::{Begun, Start};
use crate::method::SubSolver;
use crate::operator::Operator;
use crate::outcome::{Outcome, SolveError, Status, Tolerance, finite};
use crate::pcg::Pcg;
use crate::precond::Preconditioner;
use crate::problem::{Policy, Problem, Solution};
use crate::vector;

/// The settings of [`Newton`]; the defaults are those of Andersen et al. 2017, section 6, but
/// for the limit on Newton iterations (10 there, not enough on large grids).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewtonOptions {
    /// What solves for the Newton direction.
    pub sub_solver: SubSolver,
    /// The share `γ` of `max|H|` to which it is solved (theorem 3.2).
    pub forcing: f64,
    /// The share `α` of the predicted decrease that a step must achieve (eq. 31).
    pub sufficient_decrease: f64,
    /// The factor `β` by which a step is shortened (eq. 32).
    pub step_reduction: f64,
    /// The most reductions of a step.
    pub max_reductions: usize,
    /// The most Newton iterations.
    pub max_newton: usize,
    /// Stop when the merit changes by less than this share of itself (eq. 34).
    pub relative_change: f64,
    /// Stop when no unknown changes by more than this share of the largest (eq. 35, which is in
    /// the units of the unknowns).
    pub stagnation: f64,
}

impl Default for NewtonOptions {
    fn default() -> NewtonOptions {
        NewtonOptions {
            sub_solver: SubSolver::Pcg,
            forcing: 0.01,
            sufficient_decrease: 1e-3,
            step_reduction: 0.5,
            max_reductions: 100,
            max_newton: 100,
            relative_change: 1e-5,
            stagnation: 1e-14,
        }
    }
}

/// Solving to a little less than the tolerance keeps the next residual within it.
const MARGIN: f64 = 0.9;

/// Newton's method on `H(x) = 0`, `H_i = min(y_i, A_ii x_i)` where constrained and `y_i`
/// elsewhere, `y = A x − b` (Andersen, Niebe and Erleben 2017).
///
/// ```text
/// F ← { i constrained : y_i ≥ A_ii x_i },  A ← all others
/// Δx_F ← −x_F,   solve A_AA Δx_A = A_AF x_F − y_A          (eq. 30)
/// x ← max(0, x + τ Δx), on the constrained unknowns, with the largest τ = β^h, h = 0, 1, … for
///     which the merit θ = ½HᵀH falls enough                  (algorithm 1)
/// ```
///
/// What differs from the paper as printed: constraints belong to the wall unknowns and not to
/// all others (eq. 48 has it inverted); both branches of the minimum are in the units of `y`; the
/// operator of eq. 40 is linear here, without the term in `H`; the preconditioner is rebuilt on
/// `A_AA` and symmetric; the new iterate is the projected one that the line search accepted; and
/// convergence is judged by `max|H|` relative to `max|b|` instead of by `θ < 10⁻⁵`. With full
/// steps the method is [policy iteration](crate::lcp::PiPcg), and nearly all steps are.
///
/// [`Solution::iterations`] counts the iterations of the sub-solver,
/// [`Solution::outer_iterations`] Newton's.
#[derive(Clone, Debug, Default)]
pub struct Newton<P = RestrictedMic> {
    options: NewtonOptions,
    preconditioner: P,
    krylov: Krylov,
    start: Start,
    work: Work,
}

#[derive(Clone, Debug, Default)]
struct Work {
    separation: Separation,
    x: Vec<f64>,
    /// `A x − b`.
    y: Vec<f64>,
    /// The Newton direction `Δx`.
    step: Vec<f64>,
    /// The right-hand side for it, then `A Δx`.
    rhs: Vec<f64>,
    /// The iterate the line search looks at, and its `A x − b`.
    trial: Vec<f64>,
    trial_y: Vec<f64>,
}

impl<P> Newton<P> {
    /// Newton's method with a preconditioner of choice.
    pub fn new(options: NewtonOptions, preconditioner: P) -> Newton<P> {
        Newton {
            options,
            preconditioner,
            krylov: Krylov::new(options.sub_solver),
            start: Start::default(),
            work: Work::default(),
        }
    }

    /// Solves `problem` from the guess in `x`.
    ///
    /// `x` and `policy` receive the solution; on an error both are left alone. The guess decides
    /// the first active set, so the policy is not asked. Components named in the null space that
    /// hold constrained unknowns keep at least one of them separated.
    ///
    /// # Errors
    /// [`SolveError`] as for [`Pcg::solve`].
    pub fn solve<A: Operator + ?Sized>(
        &mut self,
        problem: &Problem<'_, A>,
        policy: &mut Policy,
        x: &mut [f64],
        tol: &Tolerance,
    ) -> Result<Solution, SolveError>
    where
        P: Restricted<A>,
    {
        let begun = self.start.begin(problem, x)?;
        if begun.b_norm == 0.0 {
            x.fill(0.0);
            policy::record_none(x.len(), policy);
            return Ok(Solution::of_zero());
        }
        let Work {
            x: iterate,
            y,
            step,
            rhs,
            trial,
            trial_y,
            ..
        } = &mut self.work;
        for v in [&mut *iterate, y, step, rhs, trial, trial_y] {
            v.resize(x.len(), 0.0);
        }
        iterate.copy_from_slice(x);
        let mut search = Search {
            options: &self.options,
            preconditioner: &mut self.preconditioner,
            krylov: &mut self.krylov,
            work: &mut self.work,
            target: tol.target(begun.b_norm),
            begun,
        };
        let mut solution = search.run(tol.max_iterations)?;
        let Search { begun, work, .. } = search;
        solution.separated = policy::record(&begun.problem, &work.x, &work.y, policy);
        x.copy_from_slice(&work.x);
        Ok(solution)
    }
}

/// One solve under way.
struct Search<'a, A: ?Sized, P> {
    options: &'a NewtonOptions,
    preconditioner: &'a mut P,
    krylov: &'a mut Krylov,
    work: &'a mut Work,
    begun: Begun<'a, A>,
    target: f64,
}

impl<A: Operator + ?Sized, P: Restricted<A>> Search<'_, A, P> {
    fn run(&mut self, max_iterations: usize) -> Result<Solution, SolveError> {
        let Work { x, y, .. } = &mut *self.work;
        let mut residual = finite(self.begun.problem.residual(x, y), "residual", 0)?;
        let initial_residual = residual;
        let problem = &self.begun.problem;
        self.work.separation.adopt(problem, &Policy::default());
        let (mut iterations, mut outer_iterations) = (0, 0);
        let status = loop {
            if residual <= self.target {
                break Status::Converged;
            } else if iterations >= max_iterations || outer_iterations >= self.options.max_newton {
                break Status::IterationLimit;
            }
            self.choose(outer_iterations == 0);
            let outcome = self.direction(residual, max_iterations - iterations)?;
            iterations += outcome.iterations;
            outer_iterations += 1;
            let moved = self.line_search(iterations)?;
            let Work { x, y, .. } = &mut *self.work;
            residual = finite(self.begun.problem.residual(x, y), "residual", iterations)?;
            if !moved && residual > self.target && outcome.status != Status::IterationLimit {
                break Status::Stagnated;
            }
        };
        Ok(Solution {
            status,
            iterations,
            outer_iterations,
            residual,
            initial_residual,
            separated: 0,
        })
    }

    /// The sets `F` and `A` of the iterate, and the preconditioner for them.
    fn choose(&mut self, first: bool) {
        let problem = &self.begun.problem;
        let Work {
            separation, x, y, ..
        } = &mut *self.work;
        let changed = separation.follow(problem, x, y, Ties::Separate);
        let anchored = separation.anchor(problem, self.begun.floating, x, y);
        if changed || anchored || first {
            self.preconditioner
                .restrict(problem.a, separation.flags(), None);
        }
    }

    /// Solves for the Newton direction (eq. 30).
    fn direction(&mut self, residual: f64, budget: usize) -> Result<Outcome, SolveError> {
        let Problem { a, null_space, .. } = self.begun.problem;
        let Work {
            separation,
            x,
            y,
            step,
            rhs,
            trial,
            ..
        } = &mut *self.work;
        // rhs ← a⊗(A (f⊗x) − y), eq. 39
        separation.keep(x, trial);
        a.apply(trial, rhs);
        vector::axpy(-1.0, y, rhs);
        separation.clear(rhs);
        step.fill(0.0);
        let tol = Tolerance {
            relative: 0.0,
            absolute: (self.options.forcing * residual).max(MARGIN * self.target),
            max_iterations: budget,
        };
        let masked = separation.mask(a);
        let system = Reduced {
            a: &masked,
            null_space,
            rhs,
        };
        let outcome = self
            .krylov
            .solve(&system, self.preconditioner, step, &tol)?;
        vector::axpy(-1.0, trial, step);
        Ok(outcome)
    }

    /// Takes the longest projected step that lowers the merit enough; whether the iterate moved.
    fn line_search(&mut self, iteration: usize) -> Result<bool, SolveError> {
        let problem = &self.begun.problem;
        let Work {
            separation,
            x,
            y,
            step,
            rhs,
            trial,
            trial_y,
        } = &mut *self.work;
        problem.a.apply(step, rhs);
        let (merit, slope) = merit_and_slope(problem, separation, [x, y], [step, rhs]);
        let mut tau = 1.0;
        for _ in 0..=self.options.max_reductions {
            for i in 0..x.len() {
                trial[i] = x[i] + tau * step[i];
                if problem.is_constrained(i) {
                    trial[i] = trial[i].max(0.0);
                }
            }
            problem.residual(trial, trial_y);
            let reached = merit_of(problem, trial, trial_y);
            finite(reached, "merit", iteration)?;
            if reached <= merit + self.options.sufficient_decrease * tau * slope {
                let change = (merit - reached).abs() >= self.options.relative_change * merit;
                let motion = x
                    .iter()
                    .zip(&*trial)
                    .fold(0.0, |m, (x, t)| f64::max(m, (x - t).abs()));
                let moved = motion > self.options.stagnation * vector::max_norm(trial);
                x.copy_from_slice(trial);
                return Ok(change && moved);
            }
            tau *= self.options.step_reduction;
        }
        Ok(false)
    }
}

/// `θ = ½HᵀH`.
fn merit_of<A: Operator + ?Sized>(problem: &Problem<'_, A>, x: &[f64], y: &[f64]) -> f64 {
    (0..x.len())
        .map(|i| {
            let h = problem.natural(i, x[i], y[i]);
            0.5 * h * h
        })
        .sum()
}

/// `θ` and its derivative `Hᵀ BH(x, Δx)` along the step (eq. 20), given `A Δx`.
fn merit_and_slope<A: Operator + ?Sized>(
    problem: &Problem<'_, A>,
    separation: &Separation,
    [x, y]: [&[f64]; 2],
    [step, a_step]: [&[f64]; 2],
) -> (f64, f64) {
    let (mut merit, mut slope) = (0.0, 0.0);
    for i in 0..x.len() {
        let h = problem.natural(i, x[i], y[i]);
        let derivative = if separation.flags()[i] {
            problem.a.diagonal(i) * step[i]
        } else {
            a_step[i]
        };
        merit += 0.5 * h * h;
        slope += h * derivative;
    }
    (merit, slope)
}

/// The system for the direction.
struct Reduced<'a, A: ?Sized> {
    a: &'a Masked<'a, A>,
    null_space: &'a crate::null_space::NullSpace,
    rhs: &'a [f64],
}

/// The sub-solver with its memory.
#[derive(Clone, Debug)]
enum Krylov {
    Pcg(Pcg),
    Gmres(Gmres),
    BiCgStab(BiCgStab),
    Cr(Cr),
}

impl Default for Krylov {
    fn default() -> Krylov {
        Krylov::Pcg(Pcg::new())
    }
}

impl Krylov {
    fn new(sub_solver: SubSolver) -> Krylov {
        match sub_solver {
            SubSolver::Pcg => Krylov::Pcg(Pcg::new()),
            SubSolver::Gmres => Krylov::Gmres(Gmres::default()),
            SubSolver::BiCgStab => Krylov::BiCgStab(BiCgStab::new()),
            SubSolver::Cr => Krylov::Cr(Cr::new()),
        }
    }

    fn solve<A: Operator + ?Sized, M: Preconditioner>(
        &mut self,
        system: &Reduced<'_, A>,
        m: &mut M,
        x: &mut [f64],
        tol: &Tolerance,
    ) -> Result<Outcome, SolveError> {
        let Reduced { a, null_space, rhs } = *system;
        match self {
            Krylov::Pcg(solver) => solver.solve(a, m, null_space, rhs, x, tol),
            Krylov::Gmres(solver) => solver.solve(a, m, null_space, rhs, x, tol),
            Krylov::BiCgStab(solver) => solver.solve(a, m, null_space, rhs, x, tol),
            Krylov::Cr(solver) => solver.solve(a, m, null_space, rhs, x, tol),
        }
    }
}
