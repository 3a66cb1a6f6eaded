//! A solver for matrices that come from elsewhere.

mod cells;
mod convert;
mod coupling;
mod exact;
mod lattice;
mod places;
mod read;
mod refine;
mod sample;

#[cfg(test)]
mod tests;

use thiserror::Error;

use self::exact::Exact;
use self::lattice::Lattice;

pub use self::places::Faces;
use self::refine::Refinement;
use super::method::ViscousOptions;
use crate::csr::Csr;
use crate::outcome::{Outcome, SolveError, Tolerance};
use crate::rows::{CsrRows, RowSource};

/// Solves `A u = b` for the velocities of a staggered lattice, given only the matrix and where
/// its unknowns lie, by [`ViscousMethod::Mgpcg`](super::ViscousMethod::Mgpcg).
///
/// The lattice is recovered, and works in single precision; the residual that counts is that of
/// the matrix itself, in double precision. The matrix is read row by row and kept in a form that
/// loses nothing and takes a small part of its memory.
pub struct StoredSolver {
    system: Box<dyn System>,
}

/// Why a matrix was not taken over.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum RecoverError<E> {
    /// It is not one of velocities on a staggered lattice.
    #[error("no staggered lattice: {reason}")]
    NotStaggered {
        /// What does not fit.
        reason: &'static str,
    },
    /// Its rows do not come.
    #[error(transparent)]
    Source(E),
}

/// A matrix and the places of its unknowns.
struct Recovered<const D: usize> {
    lattice: Lattice<D>,
    exact: Exact,
    asymmetry: f64,
}

/// A system in two or three dimensions.
trait System: Send {
    fn rows(&self) -> usize;
    fn asymmetry(&self) -> f64;
    fn levels(&self) -> usize;
    fn convert(&mut self) -> Result<(), &'static str>;
    fn prepare(&mut self) -> Result<(), &'static str>;
    fn solve(&mut self, b: &[f64], x: &mut [f64], tol: &Tolerance) -> Result<Outcome, SolveError>;
}

impl StoredSolver {
    /// Reads a matrix, whose unknowns lie at faces, row by row.
    ///
    /// # Errors
    /// [`RecoverError::NotStaggered`] if there is no lattice, or the fault of the source.
    pub fn read<S: RowSource>(
        source: &mut S,
        faces: Faces,
        options: ViscousOptions,
    ) -> Result<Self, RecoverError<S::Error>> {
        let system: Box<dyn System> = match faces.dimensions {
            2 => Box::new(Refinement::<2>::new(
                Recovered::read(source, faces)?,
                options,
            )),
            3 => Box::new(Refinement::<3>::new(
                Recovered::read(source, faces)?,
                options,
            )),
            _ => {
                return Err(RecoverError::NotStaggered {
                    reason: "it has neither two nor three dimensions",
                });
            }
        };
        Ok(StoredSolver { system })
    }

    /// Takes over a matrix in memory.
    ///
    /// # Errors
    /// [`SolveError::NotStaggered`] if there is no lattice.
    pub fn of(a: &Csr, faces: Faces, options: ViscousOptions) -> Result<Self, SolveError> {
        let read = StoredSolver::read(&mut CsrRows::from(a), faces, options);
        read.map_err(|error| match error {
            RecoverError::NotStaggered { reason } => SolveError::NotStaggered { reason },
            RecoverError::Source(never) => match never {},
        })
    }

    /// By how much `Aᵢⱼ` and `Aⱼᵢ` differ at the most, relative to the largest entry: no less than
    /// the truth.
    pub fn asymmetry(&self) -> f64 {
        self.system.asymmetry()
    }

    /// Finds cells.
    ///
    /// # Errors
    /// [`SolveError::NotStaggered`] if the lattice gets too large with them.
    pub fn convert(&mut self) -> Result<(), SolveError> {
        let converted = self.system.convert();
        converted.map_err(|reason| SolveError::NotStaggered { reason })
    }

    /// Builds the levels.
    ///
    /// # Errors
    /// As [`convert`](Self::convert), if that was not called before.
    pub fn prepare(&mut self) -> Result<(), SolveError> {
        let prepared = self.system.prepare();
        prepared.map_err(|reason| SolveError::NotStaggered { reason })
    }

    /// Levels of the hierarchy; 0 before it is built.
    pub fn levels(&self) -> usize {
        self.system.levels()
    }

    /// Solves for a right-hand side from the guess in `x`.
    ///
    /// # Errors
    /// As [`Pcg::solve`](crate::Pcg::solve).
    pub fn solve(
        &mut self,
        b: &[f64],
        x: &mut [f64],
        tol: &Tolerance,
    ) -> Result<Outcome, SolveError> {
        for (quantity, v) in [("right-hand side", b), ("vector of unknowns", x)] {
            SolveError::check_count(quantity, self.system.rows(), v.len())?;
            SolveError::check_finite(quantity, v)?;
        }
        self.system.solve(b, x, tol)
    }
}
