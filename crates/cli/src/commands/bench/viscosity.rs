//! `plash bench viscosity`: every method on the viscosity systems of a scene, or on the paper's
//! test of viscosity.

mod entry;
mod need;
mod plan;
mod published;
mod scene;
mod sine;
mod text;

use crate::args::BenchViscosity;
use crate::console::Console;
use crate::failure::Outcome;
use plan::Case;

/// Runs the comparison and prints its tables.
pub fn viscosity(args: &BenchViscosity, console: Console) -> Outcome {
    // A table brings its own case, which is not a scene.
    if args.table.is_some() || Case::named(&args.case).is_some() {
        sine::compare(args, console)
    } else {
        scene::compare(args, console)
    }
}
