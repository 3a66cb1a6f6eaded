//! The penalty method over multigrid.

use super::ladder::Truncated;
use super::pe_pcg::PePcg;
use super::pi_pcg::PiOptions;
use crate::galerkin::Options;
use crate::outcome::{SolveError, Tolerance};
use crate::problem::{Policy, Problem, Solution};

/// The penalty method whose linear systems are solved by conjugate gradients with a multigrid
/// V-cycle (Lai et al. 2021, section 4.2).
///
/// Penalised unknowns are smoothed on the finest level and left out of the coarse ones: in a
/// Galerkin matrix their huge diagonal entries would freeze every coarse unknown near a wall.
///
/// [`Solution::iterations`] counts V-cycles, [`Solution::outer_iterations`] penalised systems.
#[derive(Clone, Debug)]
pub struct PeMg {
    options: Options,
    inner: PePcg<Truncated>,
}

impl Default for PeMg {
    fn default() -> PeMg {
        PeMg::new(PiOptions::default(), Options::default())
    }
}

impl PeMg {
    /// The method with the given inner accuracy and hierarchy.
    pub fn new(options: PiOptions, hierarchy: Options) -> PeMg {
        PeMg {
            options: hierarchy,
            inner: PePcg::new(options, Truncated::default()),
        }
    }

    /// Builds the hierarchy for the matrix and places of `problem`, unless it is there already.
    ///
    /// # Errors
    /// [`SolveError::NeedsPlaces`], or as for [`Hierarchy::new`](crate::galerkin::Hierarchy::new).
    pub fn prepare(&mut self, problem: &Problem<'_>) -> Result<(), SolveError> {
        let truncated = self.inner.preconditioner_mut();
        truncated.prepare(problem, self.options, "pe-mg")
    }

    /// Solves `problem` from the guess in `x` and, if it is of the right size, from `policy`.
    ///
    /// # Errors
    /// As for [`prepare`](Self::prepare) and [`PePcg::solve`]; `x` and `policy` are then left
    /// alone.
    pub fn solve(
        &mut self,
        problem: &Problem<'_>,
        policy: &mut Policy,
        x: &mut [f64],
        tol: &Tolerance,
    ) -> Result<Solution, SolveError> {
        problem.check(x)?;
        self.prepare(problem)?;
        self.inner.solve(problem, policy, x, tol)
    }
}
