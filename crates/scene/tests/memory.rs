//! A run holds no more memory than its scene was estimated to.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use common::*;
use plash_scene::file::{self, Overrides};
use plash_scene::run::*;

/// What the estimate has for the program itself and its threads, which an allocator does not see.
/// As much again is there for buffers that are alike at any size.
const PROGRAM: u64 = 32 << 20;

static CURRENT: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counted;

// SAFETY: every call is passed on to the system's allocator unchanged; counting touches only
// numbers of its own.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = CURRENT.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let now = CURRENT.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        CURRENT.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTED: Counted = Counted;

/// The peak of a run over its estimate without the program itself.
#[allow(clippy::print_stdout)]
fn share_of_estimate(size: &str, resolution: u64, lines: &str) -> f64 {
    let zero = if size.matches(',').count() == 1 {
        "[0, 0]"
    } else {
        "[0, 0, 0]"
    };
    let top = size.replacen(", 1", ", 0.9", 1);
    let text = format!(
        "size = {size}\nresolution = {resolution}\nframes = 1\nfps = 240\n\
         [[liquid]]\nbox = {{ min = {zero}, max = {top} }}\n{lines}"
    );
    let scene = file::parse("full.toml", &text, &Overrides::default()).expect("a scene");
    let estimate = scene.estimate.bytes - PROGRAM;
    let folder = tempfile::tempdir().expect("a folder");
    let before = CURRENT.load(Relaxed);
    PEAK.store(before, Relaxed);
    let spec = RunSpec::of_scene(&scene, vec![]);
    run_all(folder.path(), spec, Existing::Refuse).expect("a run");
    let peak = PEAK.load(Relaxed) - before;
    println!("{lines:?}: {peak} of {estimate} bytes");
    peak as f64 / estimate as f64
}

/// Alone in its program, since nothing else may allocate meanwhile.
#[test]
fn a_full_box_holds_no_more_than_was_estimated() {
    let thick = "viscosity = 10\n";
    let mut shares = Vec::new();
    for (size, resolution) in [("[1, 1]", 160), ("[1, 1, 1]", 28)] {
        for lines in [
            thick.to_owned(),
            format!("{thick}[viscosity]\nmethod = \"pcg-ic\"\n[simulation]\ntransfer = \"flip\"\n"),
        ] {
            let share = share_of_estimate(size, resolution, &lines);
            shares.push((format!("{size} {lines:?}"), share));
        }
    }
    for (what, share) in shares {
        assert!((0.5..=1.0).contains(&share), "{what}: {share}");
    }
}
