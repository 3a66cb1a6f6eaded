//! The configured method behind one door, with another to fall back on.

use plash_grid::Grid;
use plash_solve::{
    Method, Outcome, Policy, Problem, Solution, SolveError, Solved, Solver, Tolerance,
};

use super::{Domain, Mg, System};
use crate::setup::{MgOptions, PressureConfig, PressureMethod};

/// Solves the pressure system by the configured method, and by a safe one if that fails.
pub(super) struct Engine<const D: usize> {
    first: Chosen<D>,
    /// What is fallen back on, once it has been needed.
    rescue: Option<Solver>,
    config: PressureConfig,
}

/// The configured method with its memory.
enum Chosen<const D: usize> {
    Solver(Solver),
    Mg(Box<Mg<D>>, MgOptions),
}

impl<const D: usize> Engine<D> {
    pub(super) fn new(grid: &Grid<D>, config: PressureConfig) -> Self {
        let first = match &config.method {
            PressureMethod::Solver(method) => Chosen::Solver(Solver::new(*method, config.options)),
            PressureMethod::Mg(options) => Chosen::Mg(Box::new(Mg::new(grid)), options.clone()),
        };
        Engine {
            first,
            rescue: None,
            config,
        }
    }

    /// Solves from the guess in `x` and the policy of the last solve. The system is a new one
    /// each time.
    pub(super) fn solve(
        &mut self,
        domain: &Domain<'_, D>,
        system: &System<D>,
        rhs: &[f64],
        policy: &mut Policy,
        x: &mut [f64],
    ) -> Result<Solved, SolveError> {
        let problem = system.problem(rhs);
        let tolerance = Tolerance {
            relative: self.config.tolerance,
            max_iterations: self.config.max_iterations,
            ..Tolerance::default()
        };
        let first = self.try_first(domain, system, &problem, policy, x, &tolerance);
        let safe = if problem.is_linear() {
            Method::PcgMic
        } else {
            Method::PiPcg
        };
        let is_safe = self.config.method == PressureMethod::Solver(safe);
        let solved = first.as_ref().is_ok_and(|s| s.solution.converged());
        if solved || is_safe {
            return first;
        }
        let rescue = self
            .rescue
            .get_or_insert_with(|| Solver::new(safe, self.config.options));
        if rescue.method() != safe {
            *rescue = Solver::new(safe, self.config.options);
        }
        rescue.prepare(&problem)?;
        let mut solved = rescue.solve(&problem, policy, x, &tolerance)?;
        solved.fell_back = true;
        if let Ok(first) = first {
            solved.solution.iterations += first.solution.iterations;
            solved.solution.outer_iterations += first.solution.outer_iterations;
        }
        Ok(solved)
    }

    /// One try by the configured method: the only place that knows which it is.
    fn try_first(
        &mut self,
        domain: &Domain<'_, D>,
        system: &System<D>,
        problem: &Problem<'_>,
        policy: &mut Policy,
        x: &mut [f64],
        tolerance: &Tolerance,
    ) -> Result<Solved, SolveError> {
        match &mut self.first {
            Chosen::Solver(solver) => {
                solver.prepare(problem)?;
                solver.solve(problem, policy, x, tolerance)
            }
            Chosen::Mg(mg, options) => {
                mg.prepare(domain, system);
                let outcome = mg.solve(system, options, problem.b, x, tolerance)?;
                Ok(linear("mg", outcome))
            }
        }
    }
}

/// The outcome of a linear solve in the words of a separating one.
pub(super) fn linear(method: &'static str, outcome: Outcome) -> Solved {
    Solved {
        solution: Solution {
            status: outcome.status,
            iterations: outcome.iterations,
            outer_iterations: 1,
            residual: outcome.residual,
            initial_residual: outcome.initial_residual,
            separated: 0,
        },
        method,
        fell_back: false,
    }
}
