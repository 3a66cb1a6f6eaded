//! Policy iteration over multigrid.

use super::ladder::Truncated;
use super::pi_pcg::{PiOptions, PiPcg};
use crate::galerkin::Options;
use crate::outcome::{SolveError, Tolerance};
use crate::problem::{Policy, Problem, Solution};

/// Policy iteration whose linear systems are solved by conjugate gradients with a multigrid
/// V-cycle (Lai et al. 2021, section 4.1).
///
/// For each policy the basis functions of all coarse levels are truncated to the unknowns that
/// are not separated, and the coarse matrices are computed again where that changed them. Using
/// the hierarchy of the whole matrix instead would lose independence of the mesh.
///
/// [`Solution::iterations`] counts V-cycles, [`Solution::outer_iterations`] policies.
#[derive(Clone, Debug)]
pub struct PiMg {
    options: Options,
    inner: PiPcg<Truncated>,
}

impl Default for PiMg {
    fn default() -> PiMg {
        PiMg::new(PiOptions::default(), Options::default())
    }
}

impl PiMg {
    /// Policy iteration with the given inner accuracy and hierarchy.
    pub fn new(options: PiOptions, hierarchy: Options) -> PiMg {
        PiMg {
            options: hierarchy,
            inner: PiPcg::new(options, Truncated::default()),
        }
    }

    /// Builds the hierarchy for the matrix and places of `problem`, unless it is there already.
    ///
    /// # Errors
    /// [`SolveError::NeedsPlaces`], or as for [`Hierarchy::new`](crate::galerkin::Hierarchy::new).
    pub fn prepare(&mut self, problem: &Problem<'_>) -> Result<(), SolveError> {
        let truncated = self.inner.preconditioner_mut();
        truncated.prepare(problem, self.options, "pi-mg")
    }

    /// Solves `problem` from the guess in `x` and, if it is of the right size, from `policy`.
    ///
    /// # Errors
    /// As for [`prepare`](Self::prepare) and [`PiPcg::solve`]; `x` and `policy` are then left
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
