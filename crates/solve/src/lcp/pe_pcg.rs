//! Penalty iteration over preconditioned conjugate gradients.

use crate::lcp::active_set::{ActiveSet, Hold};
use crate::lcp::pi_pcg::PiOptions;
use crate::lcp::policy::{Restricted, RestrictedMic};
use crate::operator::Operator;
use crate::outcome::{SolveError, Tolerance};
use crate::problem::{Policy, Problem, Solution};
use crate::vector;

/// A constraint violated by `y_i/(c A_ii)` leaves the natural residual `y_i/c`; this share of
/// the tolerance is left to it.
const SHARE: f64 = 0.1;

/// Penalties beyond this would be lost in the rounding of `A x`.
const LARGEST: f64 = 1e14;

/// The penalty method (Lai et al. 2021, section 4.3) for
///
/// ```text
/// A x − b = ρ max(0, −x)   on the constrained unknowns, with ρ_i = c A_ii,
/// ```
///
/// whose solution violates the constraints by `y_i/(c A_ii)`. The active-set iteration is that
/// of [`PiPcg`](crate::lcp::PiPcg), with `(A + ρΠ) x = b` in place of `x_F = 0`.
///
/// The paper's fixed `ρ = 10³/tol` is in the units of `1/A` and mis-scales with cell size and
/// time step. In units of the diagonal, `c = 10/tol` gives one tenth of the relative tolerance at
/// every scale. Where residuals are much larger than `b` and this does not suffice, `c` grows.
#[derive(Clone, Debug, Default)]
pub struct PePcg<P = RestrictedMic> {
    options: PiOptions,
    active_set: ActiveSet<P>,
}

impl<P> PePcg<P> {
    /// Penalty iteration with a preconditioner of choice.
    pub fn new(options: PiOptions, preconditioner: P) -> PePcg<P> {
        PePcg {
            options,
            active_set: ActiveSet::new(preconditioner),
        }
    }

    /// The preconditioner, to be prepared for a matrix.
    pub fn preconditioner_mut(&mut self) -> &mut P {
        self.active_set.preconditioner_mut()
    }

    /// Solves `problem`; as [`PiPcg::solve`](crate::lcp::PiPcg::solve).
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
        let b_norm = vector::max_norm(problem.b);
        let relative = tol.target(b_norm) / b_norm;
        // Not `min`: a zero tolerance or right-hand side gives no number here.
        let weight = 1.0 / (SHARE * relative);
        let weight = if weight < LARGEST { weight } else { LARGEST };
        let hold = Hold::ByPenalty { weight };
        self.active_set.solve(problem, policy, x, tol, share, hold)
    }
}
