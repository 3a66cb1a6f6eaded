//! A second solve of the same size allocates nothing.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::{noise, sealed_box};
use plash_solve::{Mic0, Mic0Options, NullSpace, Pcg, Tolerance};

struct Counter;

thread_local! {
    /// Per thread, so that the test harness and the pool's own threads do not disturb the count.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator unchanged; counting touches only a
// thread-local cell that needs no allocation and no destructor.
unsafe impl GlobalAlloc for Counter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTER: Counter = Counter;

fn allocations_of_a_second_solve(side: usize, threads: usize) -> usize {
    let a = sealed_box(side);
    let b = noise(a.rows(), 1);
    let null_space = NullSpace::constants(a.rows());
    let mut m = Mic0::new(&a, Mic0Options::default());
    let mut pcg = Pcg::new();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("a pool");
    pool.install(|| {
        let mut x = vec![0.0; a.rows()];
        let mut solve = |guess: f64| {
            x.fill(guess);
            m.refactor(&a);
            let outcome = pcg
                .solve(&a, &mut m, &null_space, &b, &mut x, &Tolerance::default())
                .expect("solved");
            assert!(outcome.converged());
        };
        solve(0.0);
        let before = ALLOCATIONS.with(Cell::get);
        solve(1.0);
        ALLOCATIONS.with(Cell::get) - before
    })
}

#[test]
fn a_second_small_solve_allocates_nothing() {
    assert_eq!(allocations_of_a_second_solve(40, 1), 0);
}

#[test]
fn a_second_parallel_solve_allocates_nothing() {
    assert_eq!(allocations_of_a_second_solve(150, 2), 0);
}
