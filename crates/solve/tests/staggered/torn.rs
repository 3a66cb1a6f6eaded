//! Liquid torn to lumps that hang by a thread.

use crate::common::{Formula, at_most, faces, noise, noise_at, solve_for, solver, way};
use plash_solve::staggered::{ViscousMethod, ViscousOptions};

/// A pool with small balls strewn above it, many of which touch it or each other only just.
fn torn<const D: usize>(cells: usize, stiffness: f64, balls: u64) -> Formula<D> {
    let size = cells as f64;
    let centres: Vec<([f64; D], f64)> = (0..balls)
        .map(|k| {
            let mut x: [f64; D] =
                std::array::from_fn(|a| size * (0.5 + 0.45 * noise(97 * k + a as u64)));
            x[1] = 0.4 * size + 1.6 + 1.2 * noise(31 * k + 7);
            (x, 0.9 + 0.5 * noise(53 * k + 3))
        })
        .collect();
    Formula::full([cells; D], stiffness).below(move |x: [f64; D]| {
        let pool = x[1] - 0.4 * size;
        let near = centres.iter().map(|(c, r)| way(x, *c) - r);
        near.fold(pool, f64::min)
    })
}

/// Solves from noise, by fewer iterations than `most` and to what the factored matrix gives.
fn lumps_cost_few_iterations<const D: usize>(body: &Formula<D>, most: usize) {
    let velocity = |axis: usize, face: [i32; D]| noise_at(5, axis, face);
    let mut fast = solver(body, ViscousOptions::default());
    // Walls are noise too, and next to what they do to stiff liquid the rest is little.
    fast.load(velocity);
    let share = fast.norm() / fast.size();
    let iterations = solve_for(&mut fast, 1e-6 * share, velocity);
    at_most("iterations", iterations as f64, most as f64);
    solve_for(&mut fast, 1e-11 * share, velocity);
    let options = ViscousOptions {
        method: ViscousMethod::PcgIc,
        ..ViscousOptions::default()
    };
    let mut sure = solver(body, options);
    solve_for(&mut sure, 1e-11 * share, velocity);
    let differences = faces(body.cells).filter_map(|(axis, face)| {
        let [one, other] = [&fast, &sure].map(|solver| solver.value(axis, face));
        assert_eq!(one.is_some(), other.is_some());
        Some((one? - other?).abs())
    });
    at_most("difference", differences.fold(0.0, f64::max), 1e-6);
}

#[test]
fn lumps_cost_few_iterations_2d() {
    // 25 if lumps are left to the smoother.
    lumps_cost_few_iterations(&torn::<2>(192, 1e3, 120), 17);
}

#[test]
fn lumps_cost_few_iterations_3d() {
    // 38 if lumps are left to the smoother.
    lumps_cost_few_iterations(&torn::<3>(32, 1e3, 120), 24);
}

#[test]
fn lumps_give_the_same_bits_on_any_number_of_threads() {
    let body = torn::<3>(32, 1e3, 120);
    let bits = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("a pool").install(|| {
            let mut solver = solver(&body, ViscousOptions::default());
            let iterations = solve_for(&mut solver, 1e-6, |axis, face| noise_at(5, axis, face));
            let values = faces(body.cells).filter_map(|(axis, face)| solver.value(axis, face));
            (iterations, values.map(f64::to_bits).collect::<Vec<_>>())
        })
    };
    assert!(bits(1) == bits(2));
}

#[test]
fn a_second_solve_does_not_remember_the_lumps_of_the_first() {
    let body = torn::<2>(192, 1e3, 120);
    let mut solver = solver(&body, ViscousOptions::default());
    let [first, second] =
        [(); 2].map(|()| solve_for(&mut solver, 1e-6, |axis, face| noise_at(5, axis, face)));
    assert_eq!(first, second);
}
