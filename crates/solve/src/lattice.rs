//! Fast solvers for 5-point and 7-point matrices on a lattice.
//!
//! A [`LatticeMatrix`] keeps its unknowns on a dense lattice in rows of blocks of eight cells.
//! Blocks in the uniform interior store no coefficients; the others read theirs from one stream.
//! A [`LatticeSolver`] runs conjugate gradients in double precision on it, preconditioned by a
//! V-cycle in single precision whose coarse levels are aggregates of cells that know thin solids
//! (`coarsen.rs`), and policy iteration for complementarity problems with the hierarchy rebuilt
//! for every policy.

mod blocks;
mod bottom;
mod coarsen;
mod components;
mod convert;
mod cycle;
pub(crate) mod kernel;
mod level;
mod matrix;
mod passes;
mod policy;
mod shape;
pub(crate) mod simd;
mod solver;
pub(crate) mod wave;

pub use matrix::{BlockRows, LatticeMatrix};
pub use shape::{BLOCK, Shape};
pub use solver::LatticeSolver;
