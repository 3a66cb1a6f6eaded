//! Vector-valued elliptic problems on a staggered lattice: variational viscosity.
//!
//! Each face of a lattice of cubic cells has an unknown, the component of a vector field normal
//! to it. With mass `m` at faces and stiffness `κ` in space the solution minimises
//!
//! ```text
//! ½ Σ_faces m u²  +  ½ Σ_cells Σ_a 2 κ V_c (δ_a u_a)²  +  ½ Σ_edges κ V_e (δ_b u_a + δ_a u_b)²  −  b·u
//! ```
//!
//! where `δ` are differences of neighbours and `V` the share of the box around a cell or an edge
//! (a node in two dimensions) that is filled: the discrete strain energy of Batty and Bridson
//! (2008), in the form of Aanjaneya et al. (2019, eq. 10). Where there is nothing, there is no
//! energy, so that surfaces carry no traction by themselves. A [`Body`] says what is where.

mod around;
mod assembled;
mod body;
mod coarsened;
mod component;
mod csr;
mod cycle;
mod dense;
mod field;
mod ground;
mod kernel;
mod labels;
mod level;
mod lump;
mod method;
mod mgpcg;
mod patches;
mod peel;
mod pieces;
mod rhs;
mod row;
mod samples;
mod schwarz;
mod shape;
mod sieve;
mod sine;
mod solver;
mod spans;
mod stencil;
mod stored;
mod transfer;
mod walls;

#[cfg(test)]
mod tests;

pub use assembled::Assembled;
pub use body::{Body, Fill};
pub use csr::Numbers;
pub use method::{Coarsening, Smoother, ViscousMethod, ViscousOptions};
pub use sine::{Sine, share_below};
pub use solver::{CellSamples, FaceRow, ViscousSolver};
pub use stored::{Faces, RecoverError, StoredSolver};
