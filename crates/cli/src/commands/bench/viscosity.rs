//! `plash bench viscosity`: every method on the paper's test of viscosity.

mod entry;
mod need;
mod plan;
mod published;
mod sine;
mod text;

pub use sine::compare as viscosity;
