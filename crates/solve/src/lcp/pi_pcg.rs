//! Policy iteration over preconditioned conjugate gradients.

use crate::lcp::active_set::{ActiveSet, Hold};
use crate::lcp::policy::{Restricted, RestrictedMic};
use crate::operator::Operator;
use crate::outcome::{SolveError, Tolerance};
use crate::problem::{Policy, Problem, Solution};

/// How exactly policy and penalty iteration solve their linear systems.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PiOptions {
    /// A linear system is solved to this share of the natural residual at which its policy was
    /// chosen, and to the full tolerance once the policy no longer changes. Zero solves every
    /// system to the full tolerance, as in the published counts.
    pub inner_tolerance: f64,
}

impl Default for PiOptions {
    fn default() -> PiOptions {
        PiOptions {
            inner_tolerance: 0.1,
        }
    }
}

/// Policy iteration (Howard's algorithm; Lai et al. 2021, section 4.2).
///
/// ```text
/// until max|min(A x − b, diag(A) x)| is small enough:
///     F ← { i constrained : (A x − b)_i > A_ii x_i }
///     x_F ← 0, solve A_AA x_A = b_A for all others
/// ```
///
/// Rows in `F` read `x_i = 0`, so their columns may be dropped too and every system is symmetric
/// and positive definite. The preconditioner `P` is rebuilt on `A_AA` for each policy:
/// [`RestrictedMic`] for a stored matrix, [`Jacobi`](crate::Jacobi) for any operator.
///
/// [`Solution::iterations`] counts the iterations of conjugate gradients,
/// [`Solution::outer_iterations`] the policies.
#[derive(Clone, Debug, Default)]
pub struct PiPcg<P = RestrictedMic> {
    options: PiOptions,
    active_set: ActiveSet<P>,
}

impl<P> PiPcg<P> {
    /// Policy iteration with a preconditioner of choice.
    pub fn new(options: PiOptions, preconditioner: P) -> PiPcg<P> {
        PiPcg {
            options,
            active_set: ActiveSet::new(preconditioner),
        }
    }

    /// The preconditioner, to be prepared for a matrix.
    pub fn preconditioner_mut(&mut self) -> &mut P {
        self.active_set.preconditioner_mut()
    }

    /// Solves `problem` from the guess in `x` and, if it is of the right size, from `policy`.
    ///
    /// `x` and `policy` receive the solution; on an error both are left alone. Components named
    /// in the null space that hold constrained unknowns keep at least one of them separated;
    /// they must have a solution, `Σb < 0` over each.
    ///
    /// # Errors
    /// [`SolveError`] as for [`Pcg::solve`](crate::Pcg::solve).
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
        let share = self.options.inner_tolerance;
        self.active_set
            .solve(problem, policy, x, tol, share, Hold::AtZero)
    }
}
