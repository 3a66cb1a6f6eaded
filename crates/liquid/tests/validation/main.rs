//! What the liquid must do, as facts with figures: exact identities, closed-form solutions,
//! experiments. One crate, so that the generic code is compiled once for all of them; one
//! module per subject. `cargo test --test validation -- --nocapture` prints every figure
//! beside its target.

mod common;
mod dam_break;
mod determinism;
mod film;
mod free_fall;
mod gravity_current;
mod hydrostatics;
mod jet_buckling;
mod letting_go;
mod levelling;
mod methods;
mod moving_solids;
mod operators;
mod poisson;
mod separation;
mod sloshing;
mod sources;
mod stretching;
mod thick;
mod throw;
mod torricelli;
mod transfers;
mod two_liquids;
mod volume;
