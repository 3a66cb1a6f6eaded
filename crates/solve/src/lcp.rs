//! Methods for mixed complementarity problems `0 ≤ x ⊥ A x − b ≥ 0`.
//!
//! Every method is a struct that owns its memory and solves a [`Problem`](crate::Problem); they
//! differ in what they ask of the matrix and in what an iteration costs. The dispatcher
//! [`Solver`](crate::Solver) knows them all by name.

mod active_set;
mod fas_mg;
mod fmg;
mod ladder;
mod mprgp;
mod newton;
mod pe_mg;
mod pe_pcg;
mod pi_mg;
mod pi_pcg;
mod pockets;
mod policy;
mod psor;
mod start;
mod tnnmg;

pub use fas_mg::{FasMg, FasOptions};
pub use fmg::{Clamp, Fmg, FmgOptions};
pub use mprgp::Mprgp;
pub use newton::{Newton, NewtonOptions};
pub use pe_mg::PeMg;
pub use pe_pcg::PePcg;
pub use pi_mg::PiMg;
pub use pi_pcg::{PiOptions, PiPcg};
pub(crate) use pockets::Pockets;
pub use policy::{Restricted, RestrictedMic};
pub use psor::{Psor, Rows};
pub use tnnmg::Tnnmg;
