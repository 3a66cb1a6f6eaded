//! Iterative solvers for large sparse symmetric systems, knowing no grid and no fluid.
//!
//! # The parts
//!
//! A problem is a matrix, a right-hand side and a guess. The matrix is an [`Operator`]: something
//! that maps `x` to `A x` and can tell its diagonal. [`Csr`] is the stored kind; a caller with a
//! regular stencil may well do better by computing. A [`Preconditioner`] maps a residual to an
//! approximate correction: [`Identity`], [`Jacobi`], and [`Mic0`], the modified incomplete
//! Cholesky factors that make Poisson problems of some 10⁵ unknowns cheap. [`Pcg`] brings the two
//! together, and a [`NullSpace`] tells it which constants the matrix cannot see.
//!
//! ```
//! use plash_solve::{Csr, Mic0, Mic0Options, NullSpace, Pcg, Tolerance};
//!
//! // A string of five beads under a unit load, fixed at both ends: −u″ = 1.
//! let a = Csr::new(
//!     vec![0, 2, 5, 8, 11, 13],
//!     vec![0, 1, 0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4],
//!     vec![2., -1., -1., 2., -1., -1., 2., -1., -1., 2., -1., -1., 2.],
//! )?;
//! let mut m = Mic0::new(&a, Mic0Options::default());
//! let mut u = [0.0; 5];
//! let tolerance = Tolerance { relative: 1e-12, ..Tolerance::default() };
//! let outcome = Pcg::new().solve(&a, &mut m, &NullSpace::none(), &[1.0; 5], &mut u, &tolerance)?;
//!
//! assert!(outcome.converged());
//! let parabola = [2.5, 4.0, 4.5, 4.0, 2.5];
//! assert!(u.iter().zip(parabola).all(|(u, exact)| (u - exact).abs() < 1e-10));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Complementarity
//!
//! A [`Problem`] may also say that some unknowns cannot be negative, and that where they are zero
//! their equation need only hold in one direction: `0 ≤ x ⊥ A x − b ≥ 0`. The methods for such
//! problems are in [`lcp`]; each is a struct that owns its memory. [`Solver`] knows all methods,
//! linear ones too, by name ([`Method`]), sorts out singular components, and with
//! [`Method::Auto`] falls back from one to the next. The other Krylov methods are in [`krylov`].
//!
//! # What they promise
//!
//! * **The residual is true.** [`Outcome::residual`] is `max|b − A x|` of the vector returned,
//!   computed afresh, and [`Status::Converged`] means that it is within [`Tolerance`].
//! * **Not converging is a status, breaking is an error.** A solver that runs out of iterations
//!   returns the best it has. One that meets an indefinite matrix or a number that is not finite
//!   returns a [`SolveError`] and leaves the guess alone; no NaN gets out.
//! * **Same bits on any number of threads.** Sums run along a tree that depends on the length of
//!   the vector alone ([`vector`]). Threads come from the rayon pool of the caller.
//! * **No allocation after the first solve.** Solvers own their memory and keep it; [`Mic0`] and
//!   [`Jacobi`] are refactored in place, and [`Csr::into_parts`] gives a matrix's memory back.
//!
//! # How the parts extend
//!
//! Every solver is generic over [`Operator`] and [`Preconditioner`], and both are object safe:
//! `Pcg` takes a `Mic0` as readily as a `Box<dyn Preconditioner>` chosen at run time. A multigrid
//! cycle is one more `Preconditioner`; a complementarity solver is one more caller of `Pcg` with
//! an `Operator` that masks its active set.

mod csr;
pub mod galerkin;
pub mod krylov;
pub mod lattice;
pub mod lcp;
mod method;
mod mic;
mod null_space;
mod operator;
mod outcome;
mod pcg;
mod precond;
mod problem;
mod rows;
pub mod staggered;
mod triangular;
pub mod vector;

pub use csr::{Csr, MatrixError, check_row};
pub use method::{Method, MethodOptions, Solved, Solver, SubSolver, UnknownName};
pub use mic::{Mic0, Mic0Options};
pub use null_space::NullSpace;
pub use operator::Operator;
pub use outcome::{Outcome, SolveError, Status, Tolerance};
pub use pcg::Pcg;
pub use precond::{Identity, Jacobi, Preconditioner};
pub use problem::{Places, Policy, Problem, Solution};
pub use rows::{CsrRows, RowSource, Rows, Wanted};
