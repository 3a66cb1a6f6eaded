//! What the liquid must do, as facts with figures: exact identities, closed-form solutions,
//! experiments. One crate, so that the generic code is compiled once for all of them; one
//! module per subject. `cargo test --test validation -- --nocapture` prints every figure
//! beside its target.

mod common;
mod dam_break;
mod determinism;
mod free_fall;
mod hydrostatics;
mod methods;
mod moving_solids;
mod operators;
mod poisson;
mod sloshing;
mod sources;
mod torricelli;
mod transfers;
mod volume;
