//! Linear problems and mixed complementarity problems, stated once for every method.

use crate::csr::Csr;
use crate::null_space::NullSpace;
use crate::operator::Operator;
use crate::outcome::{SolveError, Status};
use crate::vector;

/// Find `x` such that, with the residual `y = A x − b`,
///
/// ```text
/// y_i = 0                      where i is free,
/// 0 ≤ x_i ⊥ y_i ≥ 0            where i is constrained.
/// ```
///
/// With nothing constrained this is the linear system `A x = b`. `A` is symmetric and positive
/// (semi)definite; `null_space` names the constants it cannot see.
pub struct Problem<'a, A: ?Sized = Csr> {
    /// The matrix.
    pub a: &'a A,
    /// The right-hand side.
    pub b: &'a [f64],
    /// Which unknowns may not be negative; empty if none is constrained.
    pub constrained: &'a [bool],
    /// Constants on components where `A` is singular.
    pub null_space: &'a NullSpace,
    /// Where the unknowns lie on a lattice, for the methods that ask.
    pub places: Option<Places<'a>>,
}

// By hand, since a problem is as easily copied whether or not its matrix is.
impl<A: ?Sized> Clone for Problem<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: ?Sized> Copy for Problem<'_, A> {}

/// Where unknowns lie: integer coordinates on a regular lattice of two or three dimensions.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// 2 or 3.
    pub dimensions: usize,
    /// Coordinates of each unknown, unused ones zero. No two unknowns share a place.
    pub at: &'a [[i32; 3]],
}

impl<'a, A: Operator + ?Sized> Problem<'a, A> {
    /// The linear problem `A x = b`.
    pub fn linear(a: &'a A, b: &'a [f64], null_space: &'a NullSpace) -> Self {
        Problem {
            a,
            b,
            constrained: &[],
            null_space,
            places: None,
        }
    }

    /// Whether unknown `i` may not be negative.
    #[inline]
    pub fn is_constrained(&self, i: usize) -> bool {
        self.constrained.get(i).copied().unwrap_or(false)
    }

    /// Whether any unknown is constrained.
    pub fn is_linear(&self) -> bool {
        !self.constrained.iter().any(|&c| c)
    }

    /// Checks that the pieces fit and are finite.
    ///
    /// # Errors
    /// [`SolveError::Shape`] and [`SolveError::NotFinite`].
    pub fn check(&self, x: &[f64]) -> Result<(), SolveError> {
        let expected = self.a.rows();
        let fits = |quantity, found| SolveError::check_count(quantity, expected, found);
        fits("right-hand side", self.b.len())?;
        fits("vector of unknowns", x.len())?;
        if !self.constrained.is_empty() {
            fits("set of constraints", self.constrained.len())?;
        }
        if let Some(places) = self.places {
            fits("list of places", places.at.len())?;
        }
        fits("null space", self.null_space.bound().max(expected))?;
        SolveError::check_finite("right-hand side", self.b)?;
        SolveError::check_finite("initial guess", x)
    }

    /// The natural residual of unknown `i`, given `y = (A x − b)_i`: `min(y, A_ii x_i)` where
    /// constrained, `y` elsewhere. Scaling by the diagonal gives both branches one unit.
    #[inline]
    pub fn natural(&self, i: usize, x: f64, y: f64) -> f64 {
        if self.is_constrained(i) {
            y.min(self.a.diagonal(i) * x)
        } else {
            y
        }
    }

    /// The max norm of the natural residual at `x`, computed afresh; `y` receives `A x − b`.
    pub fn residual(&self, x: &[f64], y: &mut [f64]) -> f64 {
        self.a.apply(x, y);
        let mut largest = 0.0;
        for i in 0..y.len() {
            y[i] -= self.b[i];
            largest = vector::max_or_nan(self.natural(i, x[i], y[i]).abs(), largest);
        }
        largest
    }
}

/// How a solve of a [`Problem`] ended.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solution {
    /// Why the solver stopped.
    pub status: Status,
    /// Inner iterations, sweeps or cycles in all: the unit in which methods are compared.
    pub iterations: usize,
    /// Outer iterations: policies, Newton steps; 1 for methods without any.
    pub outer_iterations: usize,
    /// Max norm of the natural residual of the solution returned, computed afresh.
    pub residual: f64,
    /// The same of the initial guess.
    pub initial_residual: f64,
    /// Constrained unknowns that ended at zero with a positive residual: walls let go of.
    pub separated: usize,
}

impl Solution {
    /// The solution `x = 0` of a problem whose right-hand side is zero: nothing to do.
    pub(crate) fn of_zero() -> Solution {
        Solution {
            status: Status::Converged,
            iterations: 0,
            outer_iterations: 0,
            residual: 0.0,
            initial_residual: 0.0,
            separated: 0,
        }
    }

    /// Whether the tolerance was met.
    pub fn converged(&self) -> bool {
        self.status == Status::Converged
    }
}

/// What one solve leaves for the next: the policy, which constrained unknowns are separated.
/// The other half of a warm start is the guess in `x`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// One flag per unknown; empty if nothing is known yet, and the guess then decides.
    pub separated: Vec<bool>,
}
