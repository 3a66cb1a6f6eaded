//! A run holds no more memory than its scene was estimated to.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use common::*;
use plash_scene::file::{self, Overrides};
use plash_scene::run::*;

/// What the estimate has for the program itself, its threads and files, which an allocator does
/// not see.
const BASE: u64 = 64 << 20;

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

/// The peak of a run over its estimate, both without what any program takes.
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
    let estimate = scene.estimate.bytes - BASE;
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
    for (size, resolution) in [("[1, 1]", 160), ("[1, 1, 1]", 28)] {
        for lines in [
            String::new(),
            thick.to_owned(),
            format!("{thick}[viscosity]\nmethod = \"pcg-ic\"\n"),
            format!("{thick}[simulation]\ntransfer = \"flip\"\n"),
            format!("{thick}[viscosity]\nmethod = \"pcg-ic\"\n[simulation]\ntransfer = \"flip\"\n"),
            "viscosity = { axis = \"x\", from = 0.1, to = 10 }\n".to_owned(),
        ] {
            let share = share_of_estimate(size, resolution, &lines);
            assert!((0.5..=1.0).contains(&share), "{size} {lines:?}: {share}");
        }
    }
}
