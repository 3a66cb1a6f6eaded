//! Linear and complementarity problems on disk.
//!
//! A [`Stored`] problem is a symmetric sparse matrix `A`, a right-hand side, the set `S` of
//! unknowns that may not be negative, and, if known, where the unknowns lie:
//!
//! ```text
//! (A x − rhs)_i = 0            for i outside S,
//! 0 ≤ x_i ⊥ (A x − rhs)_i ≥ 0  for i in S.
//! ```
//!
//! It is read from and written to NumPy archives (`.npz`) and MatrixMarket files (`.mtx`); the
//! formats are described in `docs/problem-files.md`. Readers check sizes before they take memory
//! and name the file, the array and the cure when something is wrong; writers leave a whole file
//! or none. Matrices too large to be held are read row by row from an [`Opened`] file.
//!
//! ```
//! use plash_problem::Stored;
//! use plash_solve::{Csr, Policy, Solver, Tolerance};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("two.npz");
//! let matrix = Csr::new(vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0, -1.0, -1.0, 2.0])?;
//! Stored::new(matrix, vec![-5.0, 1.0], vec![0, 1]).write(&path)?;
//!
//! let stored = Stored::read(&path)?;
//! let converted = stored.convert();
//! let mut x = [0.0; 2];
//! let problem = stored.problem(&converted);
//! let mut solver = Solver::new(Default::default(), Default::default());
//! let solved = solver.solve(&problem, &mut Policy::default(), &mut x, &Tolerance::default())?;
//! assert!(solved.solution.converged() && x[0] == 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod archive;
mod convert;
mod error;
mod file;
mod frame;
mod market;
mod members;
mod npy;
mod npz;
mod opened;
mod stored;

pub use convert::{Converted, lattice, null_space};
pub use error::ProblemError;
pub use file::{Format, read_solution, write_solution};
pub use frame::{Frame, Kind};
pub use opened::{FileRows, MatrixFile, Opened};
pub use stored::{SYMMETRY, Stored};

/// The readers on bytes in memory, for fuzzing and for files that come from elsewhere.
pub mod bytes {
    pub use crate::market::read_market_text as read_mtx;
    pub use crate::npz::read_problem as read_npz;
}
