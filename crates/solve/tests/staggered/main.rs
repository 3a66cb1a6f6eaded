//! The viscous solver against truth that nobody here wrote: manufactured and closed-form flows,
//! laws of conservation, linear algebra. One crate, so that the solver is compiled once for all
//! of them; one module per subject. `cargo test -p plash-solve --test staggered -- --nocapture`
//! prints every figure beside its target.

mod common;
mod dilation;
mod extremes;
mod flows;
mod guess;
mod manufactured;
mod operator;
mod reuse;
mod rigid;
mod threads;
mod torn;
