//! How a solve ended.

use std::fmt;

use thiserror::Error;

use crate::vector;

/// When to stop: `max|r| ≤ max(relative · max|b|, absolute)`, or after `max_iterations`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Residual relative to the right-hand side, both in the max norm.
    pub relative: f64,
    /// Residual in the units of the right-hand side; enough by itself.
    pub absolute: f64,
    /// The most iterations to spend.
    pub max_iterations: usize,
}

impl Default for Tolerance {
    fn default() -> Tolerance {
        Tolerance {
            relative: 1e-6,
            absolute: 0.0,
            max_iterations: 1000,
        }
    }
}

impl Tolerance {
    /// The residual that suffices for a right-hand side of the given max norm.
    pub fn target(&self, b_norm: f64) -> f64 {
        (self.relative * b_norm).max(self.absolute)
    }
}

/// Why a solver stopped without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// The true residual is within tolerance.
    Converged,
    /// `max_iterations` were spent first.
    IterationLimit,
    /// Rounding errors forbid a smaller residual.
    Stagnated,
}

impl Status {
    /// The name used in reports: `converged`, `iteration-limit`, `stagnated`.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Converged => "converged",
            Status::IterationLimit => "iteration-limit",
            Status::Stagnated => "stagnated",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The end of a solve that kept its footing. Not converging is a status; breaking is a
/// [`SolveError`].
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Why the solver stopped.
    pub status: Status,
    /// Iterations spent.
    pub iterations: usize,
    /// `max|b − A x|` of the solution returned, computed afresh and not by recurrence.
    pub residual: f64,
    /// `max|b − A x|` of the initial guess.
    pub initial_residual: f64,
}

impl Outcome {
    /// The outcome for a right-hand side of zero: nothing to do.
    pub(crate) fn of_zero() -> Outcome {
        let status = Status::Converged;
        Outcome {
            status,
            iterations: 0,
            residual: 0.0,
            initial_residual: 0.0,
        }
    }

    /// Whether the tolerance was met.
    pub fn converged(&self) -> bool {
        self.status == Status::Converged
    }
}

/// A solve that cannot go on. The vector of unknowns is left as it was given.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum SolveError {
    /// `pᵀA p ≤ 0` along a search direction `p`.
    #[error(
        "the matrix is not positive definite: curvature {curvature:e} in iteration {iteration}"
    )]
    NotPositiveDefinite {
        /// The iteration, from 0.
        iteration: usize,
        /// `pᵀA p`.
        curvature: f64,
    },
    /// `rᵀM⁻¹r < 0` for a residual `r`.
    #[error(
        "the preconditioner is not positive definite: product {product:e} in iteration {iteration}"
    )]
    PreconditionerNotPositiveDefinite {
        /// The iteration, from 0.
        iteration: usize,
        /// `rᵀM⁻¹r`.
        product: f64,
    },
    /// A number is infinite or NaN.
    #[error("the {quantity} is not finite in iteration {iteration}")]
    NotFinite {
        /// What was found bad.
        quantity: &'static str,
        /// The iteration, from 0; bad input is found in iteration 0.
        iteration: usize,
    },
    /// There are more of something than 32 bits can count.
    #[error("the {quantity} is too large: 32 bits cannot count it; take a coarser resolution")]
    TooLarge {
        /// What is too large.
        quantity: &'static str,
    },
    /// A geometric method was asked to solve a problem without places.
    #[error(
        "{method} needs to know where the unknowns lie on a lattice; without places use pi-pcg, \
         newton, mprgp or pcg-mic"
    )]
    NeedsPlaces {
        /// The name of the method.
        method: &'static str,
    },
    /// The matrix couples other than next neighbours on the lattice, or with the wrong sign.
    #[error(
        "the matrix does not couple next neighbours on a lattice alone; use pi-mg, tnnmg or pi-pcg"
    )]
    NotOnLattice,
    /// The matrix is not one of velocities on a staggered lattice.
    #[error(
        "the unknowns are not velocities on a staggered lattice: {reason}; use pcg-ic or pcg-jacobi"
    )]
    NotStaggered {
        /// What does not fit.
        reason: &'static str,
    },
    /// Vectors, matrix, preconditioner and null space do not fit.
    #[error("the {quantity} has {found} entries, the matrix {expected} rows")]
    Shape {
        /// What does not fit the matrix.
        quantity: &'static str,
        /// The number of rows of the matrix.
        expected: usize,
        /// The number of entries found.
        found: usize,
    },
}

impl SolveError {
    /// Checks that there are as many of a `quantity` as the matrix has rows.
    ///
    /// # Errors
    /// [`SolveError::Shape`].
    pub fn check_count(
        quantity: &'static str,
        expected: usize,
        found: usize,
    ) -> Result<(), SolveError> {
        if found == expected {
            return Ok(());
        }
        Err(SolveError::Shape {
            quantity,
            expected,
            found,
        })
    }

    /// Checks that a vector a solve begins with is made of numbers.
    ///
    /// # Errors
    /// [`SolveError::NotFinite`].
    pub fn check_finite(quantity: &'static str, values: &[f64]) -> Result<(), SolveError> {
        finite(vector::max_norm(values), quantity, 0).map(|_| ())
    }
}

/// A `value` of some `quantity`, if it is a number.
pub(crate) fn finite(
    value: f64,
    quantity: &'static str,
    iteration: usize,
) -> Result<f64, SolveError> {
    if value.is_finite() {
        return Ok(value);
    }
    Err(SolveError::NotFinite {
        quantity,
        iteration,
    })
}

/// The same of a residual.
pub(crate) fn finite_residual(value: f64, iteration: usize) -> Result<f64, SolveError> {
    finite(value, "residual", iteration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_tolerance_suffices() {
        let tolerance = Tolerance {
            relative: 1e-3,
            absolute: 0.5,
            ..Tolerance::default()
        };
        assert_eq!(tolerance.target(100.0), 0.5);
        assert_eq!(tolerance.target(1000.0), 1.0);
    }

    #[test]
    fn names_are_kebab_case() {
        assert_eq!(Status::IterationLimit.to_string(), "iteration-limit");
    }
}
