//! What the multigrid methods share: a hierarchy that follows the matrix, and watching an
//! iteration that may fail.

use super::policy::{self, Restricted};
use crate::csr::Csr;
use crate::galerkin::{Hierarchy, Holding, Options, VCycle};
use crate::outcome::{SolveError, Status, Tolerance};
use crate::precond::Preconditioner;
use crate::problem::{Policy, Problem, Solution};
use crate::vector;

/// The cycle for the matrix and places of `problem`: the one kept in `slot` if it fits them, or
/// else a new one.
pub(super) fn prepared<'a>(
    slot: &'a mut Option<VCycle>,
    problem: &Problem<'_>,
    options: Options,
    sweeps: usize,
    method: &'static str,
) -> Result<&'a mut VCycle, SolveError> {
    let places = problem.places.ok_or(SolveError::NeedsPlaces { method })?;
    if let Some(mut cycle) = slot.take() {
        cycle.hierarchy_mut().restore_diagonal();
        if cycle.hierarchy().fits(problem.a, places, options) {
            return Ok(slot.insert(cycle));
        }
    }
    let hierarchy = Hierarchy::new(problem.a, places, options)?;
    Ok(slot.insert(VCycle::with_sweeps(hierarchy, sweeps)))
}

/// A V-cycle on the unknowns that are not separated, or on all with the separated ones penalised.
///
/// Either way the coarse levels know the others alone: the basis functions are truncated, and a
/// large diagonal never reaches a coarse matrix.
#[derive(Clone, Debug, Default)]
pub(super) struct Truncated {
    cycle: Option<VCycle>,
}

impl Truncated {
    /// Makes ready for the matrix and places of `problem`.
    pub fn prepare(
        &mut self,
        problem: &Problem<'_>,
        options: Options,
        method: &'static str,
    ) -> Result<(), SolveError> {
        prepared(&mut self.cycle, problem, options, VCycle::SWEEPS, method).map(|_| ())
    }
}

impl Preconditioner for Truncated {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        match &mut self.cycle {
            Some(cycle) => cycle.apply(r, z),
            None => z.copy_from_slice(r),
        }
    }

    fn rows(&self) -> Option<usize> {
        self.cycle.as_ref().and_then(Preconditioner::rows)
    }
}

impl Restricted<Csr> for Truncated {
    fn restrict(&mut self, _a: &Csr, separated: &[bool], penalty: Option<f64>) {
        let holding = penalty.map_or(Holding::Zero, Holding::Penalised);
        if let Some(cycle) = &mut self.cycle {
            cycle.hierarchy_mut().hold(separated, holding);
        }
    }
}

/// The iterate with the smallest residual so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Best {
    x: Vec<f64>,
    residual: f64,
    initial_residual: f64,
}

impl Best {
    /// Begins with the guess.
    ///
    /// # Errors
    /// [`SolveError::NotFinite`] if even the first residual is not finite.
    pub fn begin(&mut self, x: &[f64], residual: f64) -> Result<f64, SolveError> {
        if !residual.is_finite() {
            return Err(SolveError::NotFinite {
                quantity: "residual",
                iteration: 0,
            });
        }
        self.keep(x, residual);
        self.initial_residual = residual;
        Ok(residual)
    }

    fn keep(&mut self, x: &[f64], residual: f64) {
        self.x.clear();
        self.x.extend_from_slice(x);
        self.residual = residual;
    }

    /// Takes note of an iterate, which may be anything.
    pub fn offer(&mut self, x: &[f64], residual: f64) {
        if residual < self.residual && vector::max_norm(x).is_finite() {
            self.keep(x, residual);
        }
    }

    /// Hands out the best iterate and what there is to say of it; `y` is memory.
    pub fn finish(
        &mut self,
        problem: &Problem<'_>,
        (status, iterations): (Status, usize),
        policy: &mut Policy,
        x: &mut [f64],
        y: &mut [f64],
    ) -> Solution {
        problem.null_space.project(&mut self.x);
        let residual = problem.residual(&self.x, y);
        let separated = policy::record(problem, &self.x, y, policy);
        x.copy_from_slice(&self.x);
        Solution {
            status,
            iterations,
            outer_iterations: 1,
            residual,
            initial_residual: self.initial_residual,
            separated,
        }
    }
}

/// When cycles that may not converge are stopped.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    target: f64,
    max_iterations: usize,
    /// Cycles that may be slow before it matters.
    patience: usize,
    initial: f64,
    last: f64,
}

/// A residual that grew by this factor will not come back.
const DIVERGED: f64 = 1e4;

impl Watch {
    pub fn new(target: f64, tol: &Tolerance, patience: usize, residual: f64) -> Watch {
        Watch {
            target,
            max_iterations: tol.max_iterations,
            patience,
            initial: residual,
            last: residual,
        }
    }

    /// Whether the residual after so many cycles ends the iteration. Beyond the patience every
    /// cycle must at least halve it.
    pub fn verdict(&mut self, residual: f64, iterations: usize) -> Option<Status> {
        let slow = iterations >= self.patience && residual > 0.5 * self.last;
        self.last = residual;
        if residual <= self.target {
            Some(Status::Converged)
        } else if residual.is_nan() || residual > DIVERGED * self.initial || slow {
            Some(Status::Stagnated)
        } else if iterations >= self.max_iterations {
            Some(Status::IterationLimit)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_cycles_are_stopped_only_when_patience_is_out() {
        let tol = Tolerance {
            max_iterations: 50,
            ..Tolerance::default()
        };
        let mut watch = Watch::new(1e-3, &tol, 3, 1.0);
        assert_eq!(watch.verdict(0.9, 1), None);
        assert_eq!(watch.verdict(0.8, 2), None);
        assert_eq!(watch.verdict(0.3, 3), None);
        assert_eq!(watch.verdict(0.2, 4), Some(Status::Stagnated));
        assert_eq!(watch.verdict(0.05, 50), Some(Status::IterationLimit));
        assert_eq!(watch.verdict(1e-3, 60), Some(Status::Converged));
    }

    #[test]
    fn divergence_ends_an_iteration_at_once() {
        let mut watch = Watch::new(1e-3, &Tolerance::default(), 20, 1.0);
        assert_eq!(watch.verdict(1e5, 1), Some(Status::Stagnated));
        assert_eq!(watch.verdict(f64::NAN, 1), Some(Status::Stagnated));
    }

    #[test]
    fn the_best_iterate_is_kept_and_nothing_that_is_not_finite() {
        let mut best = Best::default();
        assert!(best.begin(&[1.0], f64::INFINITY).is_err());
        assert_eq!(best.begin(&[1.0], 4.0), Ok(4.0));
        best.offer(&[2.0], 3.0);
        best.offer(&[3.0], 3.5);
        best.offer(&[4.0], f64::NAN);
        best.offer(&[f64::INFINITY], 1.0);
        assert_eq!((best.x.as_slice(), best.residual), (&[2.0][..], 3.0));
    }
}
