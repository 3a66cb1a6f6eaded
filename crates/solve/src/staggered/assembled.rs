//! Conjugate gradients on the assembled matrix, for comparison and for matrices from elsewhere.

use super::method::ViscousMethod;
use crate::csr::Csr;
use crate::mic::{Mic0, Mic0Options};
use crate::null_space::NullSpace;
use crate::outcome::{Outcome, SolveError, Tolerance};
use crate::pcg::Pcg;
use crate::precond::{Jacobi, Preconditioner};

/// A preconditioner made from a matrix, and the memory of the iteration.
pub struct Assembled {
    preconditioner: Box<dyn Preconditioner + Send + Sync>,
    pcg: Pcg,
}

impl Assembled {
    /// Prepares for a matrix: an incomplete Cholesky factorisation for
    /// [`ViscousMethod::PcgIc`], the diagonal for the others.
    pub fn new(a: &Csr, method: ViscousMethod) -> Self {
        // No modification: it assumes the signs of an M-matrix, which velocities do not have.
        let plain = Mic0Options {
            tau: 0.0,
            ..Mic0Options::default()
        };
        Assembled {
            preconditioner: match method {
                ViscousMethod::PcgIc => Box::new(Mic0::new(a, plain)),
                ViscousMethod::Mgpcg | ViscousMethod::PcgJacobi => Box::new(Jacobi::new(a)),
            },
            pcg: Pcg::new(),
        }
    }

    /// Solves `A x = b` for the matrix it was prepared for, from the guess in `x`, which is left there if
    /// nothing better was found.
    ///
    /// # Errors
    /// As [`Pcg::solve`](crate::Pcg::solve).
    pub fn solve(
        &mut self,
        a: &Csr,
        b: &[f64],
        x: &mut [f64],
        tol: &Tolerance,
    ) -> Result<Outcome, SolveError> {
        let none = NullSpace::none();
        // The usual guess for a matrix from elsewhere is nothing, which need not be kept.
        let guess = x.iter().any(|&x| x != 0.0).then(|| x.to_vec());
        let solved = self
            .pcg
            .solve(a, &mut self.preconditioner, &none, b, x, tol);
        solved.map(|mut outcome| {
            if outcome.residual > outcome.initial_residual {
                match &guess {
                    Some(guess) => x.copy_from_slice(guess),
                    None => x.fill(0.0),
                }
                outcome.residual = outcome.initial_residual;
            }
            outcome
        })
    }
}
