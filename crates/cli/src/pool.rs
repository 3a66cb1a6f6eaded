//! The threads that work. The program owns them; the libraries use whatever pool they are in.

use std::num::NonZeroUsize;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::failure::{Failure, Outcome};

/// More threads than any machine this runs on has cores.
const MAX_THREADS: usize = 4096;

/// A pool of `count` threads, or of one per core.
pub fn pool(count: Option<NonZeroUsize>) -> Outcome<ThreadPool> {
    let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let count = count.map_or_else(cores, NonZeroUsize::get);
    if count > MAX_THREADS {
        return Err(Failure::bad_input(format!(
            "-t {count} asks for more than {MAX_THREADS} threads"
        ))
        .help("leave -t out to use every core"));
    }
    ThreadPoolBuilder::new()
        .num_threads(count)
        .thread_name(|index| format!("plash-{index}"))
        .build()
        .map_err(|error| Failure::failed(format!("cannot start {count} threads: {error}")))
}
