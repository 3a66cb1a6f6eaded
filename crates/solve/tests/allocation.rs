//! A second solve of the same size allocates nothing.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::{noise, sealed_box};
use plash_solve::staggered::{Sine, ViscousOptions, ViscousSolver};
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

/// Of a viscous solver: of a second solve for what was loaded last, and of rounds of assembling, loading
/// and solving, the first ones left out.
fn allocations_of_a_viscous_solver<const D: usize>(side: usize, threads: usize) -> [usize; 3] {
    let body = Sine::<D>::new(side);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("a pool").install(|| {
        let mut solver = ViscousSolver::<D>::new(ViscousOptions::default());
        let solve = |solver: &mut ViscousSolver<D>| {
            let outcome = solver.solve(&Tolerance::default()).expect("solved");
            assert!(outcome.converged(), "{outcome:?}");
        };
        let round = |solver: &mut ViscousSolver<D>| {
            let before = ALLOCATIONS.with(Cell::get);
            solver.assemble(&body);
            solver.load(|axis, face| f64::from((face[0] + face[1]) % 3) + 0.1 * axis as f64);
            solve(solver);
            ALLOCATIONS.with(Cell::get) - before
        };
        round(&mut solver);
        solve(&mut solver);
        let before = ALLOCATIONS.with(Cell::get);
        solve(&mut solver);
        let again = ALLOCATIONS.with(Cell::get) - before;
        let rounds = [(); 4].map(|()| round(&mut solver));
        [again, rounds[1], rounds[3]]
    })
}

#[test]
fn a_second_viscous_solve_allocates_nothing() {
    for threads in [1, 2] {
        assert_eq!(allocations_of_a_viscous_solver::<2>(64, threads)[0], 0);
        assert_eq!(allocations_of_a_viscous_solver::<3>(40, threads)[0], 0);
    }
}

#[test]
fn another_viscous_step_allocates_so_much_per_plane_and_no_more() {
    let side = 40;
    let [_, early, late] = allocations_of_a_viscous_solver::<3>(side, 1);
    assert_eq!(early, late);
    let most = PER_PLANE * side;
    assert!(early <= most, "{early} allocations for {side} planes");
}

/// What assembling takes for each plane of the finest level: lists of segments and rows for each
/// component, of samples and of parts of cells, which grow as they are filled, and as much on the coarse
/// levels.
const PER_PLANE: usize = 220;
