//! Ctrl-C as a request to stop at the next good moment.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::{Failure, Outcome};

/// Exit status of a program that a second Ctrl-C ended at once.
const ABORTED: i32 = 130;

/// A flag that the first Ctrl-C (or SIGTERM) sets; the second ends the program at once.
///
/// Whole files survive even that: everything is written beside its place and renamed.
pub fn stop_flag() -> Outcome<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    watch(&stop).map_err(|error| Failure::failed(format!("cannot watch for Ctrl-C: {error}")))?;
    Ok(stop)
}

fn watch(stop: &Arc<AtomicBool>) -> std::io::Result<()> {
    for signal in [SIGINT, SIGTERM] {
        // In this order: the signal that sets the flag must not see it set already.
        flag::register_conditional_shutdown(signal, ABORTED, Arc::clone(stop))?;
        flag::register(signal, Arc::clone(stop))?;
    }
    Ok(())
}
