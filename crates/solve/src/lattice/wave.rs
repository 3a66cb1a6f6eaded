//! Several passes over the planes at once.
//!
//! A pass that reads planes `z ± 1` as the pass before left them can follow it at a distance of
//! one plane, while what it reads is still in the cache: a wave front. Threads get slabs of
//! planes. The even slabs go first; each pass stops one plane earlier on either side than the one
//! before, since it must not read what lies beyond the slab. The odd slabs then fill the gaps,
//! each pass reaching one plane farther. Every plane sees the passes in order, whatever the
//! number of threads.

use rayon::prelude::*;

/// A pointer that threads share; who may write where is said at each use.
#[derive(Clone, Copy)]
pub struct Shared<T>(pub *mut T);

// SAFETY: a plain address; every use says which part of the memory it touches.
unsafe impl<T> Sync for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Send for Shared<T> {}

impl<T> Shared<T> {
    /// The address. (A method, so that closures capture the whole and not the bare pointer.)
    #[inline(always)]
    pub fn get(&self) -> *mut T {
        self.0
    }
}

/// The most passes in a wave.
pub const MOST_PASSES: usize = 6;

/// Slabs are at least this thick, so that odd slabs never meet across an even one.
const THICKNESS: usize = 2 * MOST_PASSES + 2;

/// Pieces into which passes are cut whose planes do not depend on one another.
const PIECES: usize = 32;

/// Fewer blocks than this stay on the calling thread.
const PARALLEL_BLOCKS: usize = 3000;

/// How the planes of a lattice are shared out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slabs {
    /// Borders, from 0 to the number of planes.
    borders: Vec<usize>,
    /// Whether there is enough to do for more than one thread.
    parallel: bool,
}

impl Slabs {
    /// Slabs of about equal work, given that of each plane in blocks.
    pub fn new(work: impl Iterator<Item = usize>) -> Self {
        let work: Vec<usize> = work.collect();
        let (planes, total) = (work.len(), work.iter().sum::<usize>());
        let threads = rayon::current_num_threads();
        let parallel = total >= PARALLEL_BLOCKS && threads > 1;
        // An even and an odd slab for each thread; more would only cost overlap.
        let count = (2 * threads).min(planes / THICKNESS).max(1);
        let (mut borders, mut sum) = (vec![0], 0);
        for z in 0..planes {
            sum += work[z];
            let last = borders[borders.len() - 1];
            let full = sum * count >= total * borders.len();
            let fits = z + 1 >= last + THICKNESS && z + 1 + THICKNESS <= planes;
            if parallel && full && fits {
                borders.push(z + 1);
            }
        }
        borders.push(planes);
        Slabs { borders, parallel }
    }

    /// Runs `passes` passes over all planes as a wave: `pass(m, z)` is pass `m` on plane `z`.
    /// It is called after pass `m − 1` on planes `z − 1`, `z` and `z + 1`, and before pass
    /// `m + 1` on any of them. Pass 0 must not look at other planes.
    ///
    /// Two calls at a time are at least three planes apart, or are calls of one slab in turn.
    pub fn wave(&self, passes: usize, pass: impl Fn(usize, usize) + Sync) {
        debug_assert!(passes <= MOST_PASSES);
        let slabs = self.borders.len() - 1;
        let planes = self.borders[slabs];
        let run = |s: usize| {
            let (first, end) = (self.borders[s], self.borders[s + 1]);
            let (at_start, at_end) = (first == 0, end == planes);
            // The planes on which the slab runs pass `m`.
            let range = |m: usize| match s % 2 {
                0 => {
                    let inset = |is_border: bool| if is_border { 0 } else { m };
                    first + inset(at_start)..end - inset(at_end)
                }
                _ => first - m..if at_end { end } else { end + m },
            };
            for step in first..end + 2 * passes {
                for m in 0..passes.min(step + 1) {
                    if range(m).contains(&(step - m)) {
                        pass(m, step - m);
                    }
                }
            }
        };
        for parity in 0..2 {
            let of_parity = (slabs + 1 - parity) / 2;
            if of_parity > 1 {
                (0..of_parity)
                    .into_par_iter()
                    .for_each(|s| run(2 * s + parity));
            } else if of_parity == 1 {
                run(parity);
            }
        }
    }

    /// Runs a pass whose planes do not depend on one another.
    pub fn each(&self, planes: usize, pass: impl Fn(usize) + Sync) {
        if self.parallel {
            let grain = planes.div_ceil(PIECES).max(1);
            (0..planes)
                .into_par_iter()
                .with_min_len(grain)
                .for_each(&pass);
        } else {
            (0..planes).for_each(pass);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn every_plane_sees_the_passes_in_order(work: Vec<usize>, passes: usize, threads: usize) {
        let planes = work.len();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("a small pool");
        let slabs = pool.install(|| Slabs::new(work.into_iter()));
        let done: Vec<AtomicUsize> = (0..planes).map(|_| AtomicUsize::new(0)).collect();
        let of = |z: usize| done[z].load(Ordering::SeqCst);
        pool.install(|| {
            slabs.wave(passes, |m, z| {
                assert_eq!(of(z), m, "pass {m} on plane {z}");
                if m > 0 {
                    for other in [z.wrapping_sub(1), z + 1] {
                        // The one before is done, the one after is not.
                        assert!(other >= planes || (m..=m + 1).contains(&of(other)));
                    }
                }
                done[z].store(m + 1, Ordering::SeqCst);
            });
        });
        assert!((0..planes).all(|z| of(z) == passes));
    }

    #[test]
    fn waves_keep_the_order_of_passes() {
        for threads in [1, 4] {
            for passes in 1..=MOST_PASSES {
                every_plane_sees_the_passes_in_order(vec![1; 3], passes, threads);
                every_plane_sees_the_passes_in_order(vec![1000; 90], passes, threads);
                every_plane_sees_the_passes_in_order(vec![1000; 401], passes, threads);
                let uneven = (0..200).map(|z| if z < 20 { 5000 } else { 3 });
                every_plane_sees_the_passes_in_order(uneven.collect(), passes, threads);
            }
        }
    }
}
