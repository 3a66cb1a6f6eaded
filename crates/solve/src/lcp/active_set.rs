//! The iteration that policy and penalty methods share: choose which unknowns are separated,
//! hold them, solve for the others.

use crate::lcp::policy::{self, Restricted, Separation, Ties};
use crate::lcp::start::{Begun, Start};
use crate::operator::Operator;
use crate::outcome::{Outcome, SolveError, Status, Tolerance};
use crate::pcg::Pcg;
use crate::problem::{Policy, Problem, Solution};

/// Solving to a little less than the tolerance keeps the next residual, which is summed in
/// another order, within it.
const MARGIN: f64 = 0.9;

/// Outer iterations without a smaller residual before systems are solved more exactly, first to
/// the tolerance and then by a further digit each time. Exact policies of an M-matrix cannot
/// cycle; inexact ones can, and so can those whose linear residual is only just below the
/// tolerance.
const PATIENCE: usize = 8;
const MOST_DIGITS: i32 = 6;

/// Outer iterations without a smaller residual, systems solved as exactly as they can be, before
/// giving up.
const EXACT_PATIENCE: usize = 100;

/// A penalty that proves too weak is multiplied by `STRONGER`, up to `STRONGEST`.
const STRONGER: f64 = 100.0;
const STRONGEST: f64 = 1e15;

/// How separated unknowns are kept at zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Hold {
    /// Exactly: their rows and columns leave the system.
    AtZero,
    /// By adding `weight · A_ii` to their diagonal entries.
    ByPenalty { weight: f64 },
}

/// An active-set method with its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct ActiveSet<P> {
    preconditioner: P,
    pcg: Pcg,
    start: Start,
    work: Work,
}

#[derive(Clone, Debug, Default)]
struct Work {
    separation: Separation,
    x: Vec<f64>,
    /// `A x − b`.
    y: Vec<f64>,
    /// `b` on the active set.
    rhs: Vec<f64>,
}

impl<P> ActiveSet<P> {
    pub(crate) fn new(preconditioner: P) -> ActiveSet<P> {
        ActiveSet {
            preconditioner,
            pcg: Pcg::new(),
            start: Start::default(),
            work: Work::default(),
        }
    }

    /// The preconditioner, to be prepared for a matrix.
    pub(crate) fn preconditioner_mut(&mut self) -> &mut P {
        &mut self.preconditioner
    }

    /// Solves `problem`, each linear system to `share` of the residual before it.
    pub(crate) fn solve<A: Operator + ?Sized>(
        &mut self,
        problem: &Problem<'_, A>,
        policy: &mut Policy,
        x: &mut [f64],
        tol: &Tolerance,
        share: f64,
        hold: Hold,
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
        self.work.x.clear();
        self.work.x.extend_from_slice(x);
        let mut iteration = Iteration {
            share,
            hold,
            preconditioner: &mut self.preconditioner,
            pcg: &mut self.pcg,
            work: &mut self.work,
            target: tol.target(begun.b_norm),
            max_iterations: tol.max_iterations,
            begun,
        };
        let mut solution = iteration.run(policy)?;
        let Iteration { begun, work, .. } = iteration;
        solution.separated = policy::record(&begun.problem, &work.x, &work.y, policy);
        x.copy_from_slice(&work.x);
        Ok(solution)
    }
}

/// One solve under way.
struct Iteration<'a, A: ?Sized, P> {
    share: f64,
    hold: Hold,
    preconditioner: &'a mut P,
    pcg: &'a mut Pcg,
    work: &'a mut Work,
    begun: Begun<'a, A>,
    target: f64,
    max_iterations: usize,
}

impl<A: Operator + ?Sized, P: Restricted<A>> Iteration<'_, A, P> {
    fn run(&mut self, policy: &Policy) -> Result<Solution, SolveError> {
        self.work.y.resize(self.work.x.len(), 0.0);
        let initial_residual = self.residual(0)?;
        let mut residual = initial_residual;
        let mut watch = Watch::new(residual);
        let (mut iterations, mut outer_iterations) = (0, 0);
        let mut changed = true;
        self.first_policy(policy);
        let status = loop {
            if residual <= self.target {
                break Status::Converged;
            } else if iterations >= self.max_iterations {
                break Status::IterationLimit;
            }
            if changed {
                outer_iterations += 1;
                self.precondition();
            }
            let digits = watch.digits();
            let exact = !changed || digits > 0;
            let share = if exact { 0.0 } else { self.share };
            let goal = (MARGIN * 0.1_f64.powi(digits) * self.target).max(share * residual);
            let outcome = self.solve_active(goal, self.max_iterations - iterations)?;
            iterations += outcome.iterations;
            residual = self.residual(iterations)?;
            changed = self.next_policy();
            if residual <= self.target || outcome.status == Status::IterationLimit {
                continue;
            }
            // An exactly solved system that implies its own policy is a solution, but for
            // rounding and for the penalty.
            if !changed && exact {
                changed = self.strengthen();
                if !changed {
                    break Status::Stagnated;
                }
            }
            if watch.gives_up(residual) {
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

    /// The policy to begin with: the one given, or what the guess implies.
    fn first_policy(&mut self, policy: &Policy) {
        let problem = &self.begun.problem;
        let Work {
            separation, x, y, ..
        } = &mut *self.work;
        if !separation.adopt(problem, policy) {
            separation.follow(problem, x, y, Ties::Solve);
        }
        separation.anchor(problem, self.begun.floating, x, y);
    }

    /// The policy that the iterate implies; whether it is another one.
    fn next_policy(&mut self) -> bool {
        let problem = &self.begun.problem;
        let Work {
            separation, x, y, ..
        } = &mut *self.work;
        let changed = separation.follow(problem, x, y, Ties::Solve);
        separation.anchor(problem, self.begun.floating, x, y) || changed
    }

    /// Rebuilds the preconditioner for the policy.
    fn precondition(&mut self) {
        let separated = self.work.separation.flags();
        let weight = match self.hold {
            Hold::AtZero => None,
            Hold::ByPenalty { weight } => Some(weight),
        };
        self.preconditioner
            .restrict(self.begun.problem.a, separated, weight);
    }

    /// Makes a penalty stronger; whether that was possible.
    fn strengthen(&mut self) -> bool {
        match &mut self.hold {
            Hold::ByPenalty { weight } if *weight < STRONGEST => {
                *weight *= STRONGER;
                true
            }
            _ => false,
        }
    }

    /// Solves for the policy from the current `x`, to a residual of `goal`.
    fn solve_active(&mut self, goal: f64, max_iterations: usize) -> Result<Outcome, SolveError> {
        let Problem {
            a, b, null_space, ..
        } = self.begun.problem;
        let Work {
            separation, x, rhs, ..
        } = &mut *self.work;
        let tol = Tolerance {
            relative: 0.0,
            absolute: goal,
            max_iterations,
        };
        let m = &mut *self.preconditioner;
        match self.hold {
            Hold::AtZero => {
                rhs.clear();
                rhs.extend_from_slice(b);
                separation.clear(rhs);
                separation.clear(x);
                self.pcg
                    .solve(&separation.mask(a), m, null_space, rhs, x, &tol)
            }
            Hold::ByPenalty { weight } => {
                let penalised = separation.penalise(a, weight);
                self.pcg.solve(&penalised, m, null_space, b, x, &tol)
            }
        }
    }

    /// `y ← A x − b`, returning the natural residual.
    fn residual(&mut self, iteration: usize) -> Result<f64, SolveError> {
        let Work { x, y, .. } = &mut *self.work;
        let residual = self.begun.problem.residual(x, y);
        if residual.is_finite() {
            return Ok(residual);
        }
        Err(SolveError::NotFinite {
            quantity: "residual",
            iteration,
        })
    }
}

/// Watches whether the residual still falls.
struct Watch {
    best: f64,
    since_best: usize,
    digits: i32,
}

impl Watch {
    fn new(residual: f64) -> Watch {
        Watch {
            best: residual,
            since_best: 0,
            digits: 0,
        }
    }

    /// How much more exactly than to the tolerance systems are to be solved; none while loose
    /// ones will do.
    fn digits(&mut self) -> i32 {
        if self.since_best > PATIENCE && self.digits < MOST_DIGITS {
            self.digits += 1;
            self.since_best = 0;
        }
        self.digits
    }

    /// Takes note of a residual; whether even exact systems lead nowhere.
    fn gives_up(&mut self, residual: f64) -> bool {
        if residual < self.best {
            self.best = residual;
            self.since_best = 0;
        } else {
            self.since_best += 1;
        }
        self.digits >= MOST_DIGITS && self.since_best > EXACT_PATIENCE
    }
}
