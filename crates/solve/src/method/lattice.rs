//! The lattice solver as a method for matrices in general form.

use crate::lattice::LatticeSolver;
use crate::method::engine::{Engine, Mgpcg, NEEDS_PLACES};
use crate::outcome::{SolveError, Tolerance};
use crate::problem::{Policy, Problem, Solution};

/// A lattice solver of either dimension, with the matrix last converted, if any.
#[derive(Default)]
enum AnyLattice {
    #[default]
    None,
    Plane(Box<LatticeSolver<2>>),
    Space(Box<LatticeSolver<3>>),
}

impl AnyLattice {
    /// Takes over the matrix of a problem; false if it is not one for a lattice.
    fn convert(&mut self, problem: &Problem<'_>) -> Result<bool, SolveError> {
        let places = problem.places.ok_or(NEEDS_PLACES)?;
        SolveError::check_count("list of places", problem.a.rows(), places.at.len())?;
        match (&*self, places.dimensions) {
            (AnyLattice::Plane(_), 2) | (AnyLattice::Space(_), 3) => {}
            (_, 2) => *self = AnyLattice::Plane(Box::default()),
            (_, 3) => *self = AnyLattice::Space(Box::default()),
            _ => return Ok(false),
        }
        let fits = match self {
            AnyLattice::Plane(solver) => solver.convert(problem.a, places, problem.constrained),
            AnyLattice::Space(solver) => solver.convert(problem.a, places, problem.constrained),
            AnyLattice::None => false,
        };
        if !fits {
            *self = AnyLattice::None;
        }
        Ok(fits)
    }
}

/// Conjugate gradients on a lattice, or by `other` where there is none; blind to constraints.
pub(super) struct LatticeMgpcg {
    lattice: AnyLattice,
    other: Mgpcg,
}

impl LatticeMgpcg {
    pub(super) fn new(other: Mgpcg) -> Self {
        LatticeMgpcg {
            lattice: AnyLattice::None,
            other,
        }
    }
}

impl Engine for LatticeMgpcg {
    fn convert(&mut self, problem: &Problem<'_>) -> Result<(), SolveError> {
        // Blocks with constrained unknowns could not be uniform.
        let linear = Problem {
            constrained: &[],
            ..*problem
        };
        self.lattice.convert(&linear).map(|_| ())
    }

    fn prepare(&mut self, problem: &Problem<'_>) -> Result<(), SolveError> {
        match &mut self.lattice {
            AnyLattice::None => return self.other.prepare(problem),
            AnyLattice::Plane(solver) => solver.prepare(),
            AnyLattice::Space(solver) => solver.prepare(),
        }
        Ok(())
    }

    fn solve(
        &mut self,
        problem: &Problem<'_>,
        policy: &mut Policy,
        x: &mut [f64],
        tol: &Tolerance,
    ) -> Result<Solution, SolveError> {
        let Problem { b, null_space, .. } = *problem;
        let solution = match &mut self.lattice {
            AnyLattice::None => return self.other.solve(problem, policy, x, tol),
            AnyLattice::Plane(solver) => solver.solve_linear(null_space, b, x, tol)?,
            AnyLattice::Space(solver) => solver.solve_linear(null_space, b, x, tol)?,
        };
        policy.separated.clear();
        policy.separated.resize(x.len(), false);
        Ok(solution)
    }
}

/// Policy iteration on a lattice.
#[derive(Default)]
pub(super) struct PiMgpcg {
    lattice: AnyLattice,
}

impl Engine for PiMgpcg {
    fn anchors(&self) -> bool {
        true
    }

    fn convert(&mut self, problem: &Problem<'_>) -> Result<(), SolveError> {
        if self.lattice.convert(problem)? {
            Ok(())
        } else {
            Err(SolveError::NotOnLattice)
        }
    }

    fn prepare(&mut self, _problem: &Problem<'_>) -> Result<(), SolveError> {
        // The hierarchy depends on the policy.
        Ok(())
    }

    fn solve(
        &mut self,
        problem: &Problem<'_>,
        policy: &mut Policy,
        x: &mut [f64],
        tol: &Tolerance,
    ) -> Result<Solution, SolveError> {
        let covered = match &self.lattice {
            AnyLattice::None => return Err(SolveError::NotOnLattice),
            AnyLattice::Plane(solver) => solver.covers(problem.constrained),
            AnyLattice::Space(solver) => solver.covers(problem.constrained),
        };
        if !covered {
            self.convert(problem)?;
        }
        match &mut self.lattice {
            AnyLattice::None => Err(SolveError::NotOnLattice),
            AnyLattice::Plane(solver) => iterate(solver, problem, policy, x, tol),
            AnyLattice::Space(solver) => iterate(solver, problem, policy, x, tol),
        }
    }
}

fn iterate<const D: usize>(
    solver: &mut LatticeSolver<D>,
    problem: &Problem<'_>,
    policy: &mut Policy,
    x: &mut [f64],
    tol: &Tolerance,
) -> Result<Solution, SolveError> {
    let Problem {
        b,
        null_space,
        constrained,
        ..
    } = *problem;
    if problem.is_linear() {
        let solution = solver.solve_linear(null_space, b, x, tol)?;
        policy.separated.clear();
        policy.separated.resize(x.len(), false);
        return Ok(solution);
    }
    solver.solve_lcp(null_space, Some(constrained), b, policy, x, tol)
}
