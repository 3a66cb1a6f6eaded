//! How much memory a piece of work takes: an allocator that counts.
//!
//! What the system reports is the whole process, pages that were freed and kept included; the
//! comparison of methods wants the bytes that one of them asks for. Counting costs two additions
//! per allocation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[global_allocator]
static COUNTED: Counted = Counted;

static CURRENT: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, counted.
struct Counted;

fn grew(bytes: usize) {
    let now = CURRENT.fetch_add(bytes, Relaxed).wrapping_add(bytes);
    PEAK.fetch_max(now, Relaxed);
}

fn shrank(bytes: usize) {
    CURRENT.fetch_sub(bytes, Relaxed);
}

// SAFETY: every call goes to the system's allocator unchanged; counting touches no memory but
// its own and cannot unwind.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are passed on.
        let place = unsafe { System.alloc(layout) };
        if !place.is_null() {
            grew(layout.size());
        }
        place
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are passed on. Zeroed pages stay untouched this way.
        let place = unsafe { System.alloc_zeroed(layout) };
        if !place.is_null() {
            grew(layout.size());
        }
        place
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(place, layout) };
        shrank(layout.size());
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promises are passed on.
        let place = unsafe { System.realloc(place, layout, size) };
        if !place.is_null() {
            grew(size);
            shrank(layout.size());
        }
        place
    }
}

/// The memory of something that works now and then, and keeps some of it in between.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    kept: isize,
    peak: usize,
}

impl Memory {
    /// Does a piece of work that is meant to be counted. Nothing else may allocate meanwhile.
    pub fn count<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let before = CURRENT.load(Relaxed);
        PEAK.store(before, Relaxed);
        let result = work();
        let peak = PEAK.load(Relaxed).saturating_sub(before);
        self.peak = self.peak.max(peak.saturating_add_signed(self.kept));
        self.kept += CURRENT.load(Relaxed) as isize - before as isize;
        result
    }

    /// The most bytes held at once.
    pub fn peak(&self) -> usize {
        self.peak
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Other tests allocate at the same time, so that figures are only roughly known here.
    const LARGE: usize = 1 << 30;

    #[test]
    fn what_is_kept_between_pieces_of_work_counts() {
        let mut memory = Memory::default();
        let kept = memory.count(|| Vec::<u8>::with_capacity(LARGE));
        memory.count(|| drop(Vec::<u8>::with_capacity(LARGE)));
        let size = LARGE as f64;
        assert!(
            (memory.peak() as f64 / size - 2.0).abs() < 0.2,
            "{memory:?}"
        );
        drop(kept);
    }
}
