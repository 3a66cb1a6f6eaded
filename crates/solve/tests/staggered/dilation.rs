//! A pressure in cells does work on their dilation and on nothing else, and by a pressure that answers
//! it the dilation of any body dies out.

use crate::common::{Formula, at_most, ball, noise_at, solver, to};
use plash_solve::staggered::{Body, Fill, ViscousOptions, ViscousSolver};

/// Balls that are free, soft and stiff in places, around an obstacle, and in the corner of a box.
fn bodies<const D: usize>(n: usize) -> [Formula<D>; 4] {
    let free = || Formula::full([n; D], 30.0).below(ball(n));
    let quarter = move |x: [f64; D]| x.map(|x| x * x).iter().sum::<f64>().sqrt() - 0.7 * n as f64;
    let in_middle = move |x: [f64; D]| {
        let squares = x.map(|x| (x - 0.4 * n as f64).powi(2));
        squares.iter().sum::<f64>().sqrt() - 0.15 * n as f64
    };
    [
        free(),
        free().varied(move |cell| 30.0 * 10f64.powf(noise_at(3, 1, cell))),
        free().around(move |_, x| in_middle(x)),
        Formula::full([n; D], 30.0).below(quarter),
    ]
}

fn cells<const D: usize>(n: usize) -> impl Iterator<Item = [i32; D]> {
    (0..n.pow(D as u32)).map(move |k| std::array::from_fn(|a| (k / n.pow(a as u32) % n) as i32))
}

fn number<const D: usize>(cell: [i32; D], n: usize) -> Option<usize> {
    let is_inside = cell.iter().all(|&i| i >= 0 && i < n as i32);
    let number = || cell.iter().rev().fold(0, |k, &i| k * n + i as usize);
    is_inside.then(number)
}

/// The velocity of free faces.
fn free_value<const D: usize>(solver: &ViscousSolver<D>, axis: usize, face: [i32; D]) -> f64 {
    solver.value(axis, face).unwrap_or(0.0)
}

fn pressure_is_adjoint_to_dilation<const D: usize>(n: usize) {
    for body in bodies::<D>(n) {
        let mut solver = solver(&body, ViscousOptions::default());
        let pressure = |cell: [i32; D]| match number(cell, n) {
            Some(_) => noise_at(5, 2, cell),
            None => 0.0,
        };
        // With everything at rest the right-hand side is what the pressure does.
        solver.load_under_pressure(|_, _| 0.0, |_, _| 0.0, pressure);
        let (_, push, numbers) = solver.system().expect("a system");
        let largest = push.iter().fold(0.0, |m: f64, b| m.max(b.abs()));
        assert_eq!([solver.norm(), solver.size()], [largest; 2]);
        solver.load_under_pressure(|axis, face| noise_at(6, axis, face), |_, _| 0.0, |_| 0.0);
        let of_faces: f64 = numbers
            .iter()
            .zip(&push)
            .map(|((axis, index), b)| {
                b * free_value(&solver, axis, solver.face(index).expect("a face"))
            })
            .sum();
        let of_cells: f64 = cells(n)
            .map(|cell| {
                let moved = |axis: usize| {
                    let mut high = cell;
                    high[axis] += 1;
                    free_value(&solver, axis, high) - free_value(&solver, axis, cell)
                };
                pressure(cell) * (0..D).map(moved).sum::<f64>()
            })
            .sum();
        at_most(
            &format!("{D}D work of a pressure, by faces and by cells"),
            (of_faces - of_cells).abs() / of_cells.abs(),
            1e-12,
        );
        // And cells say the same of their dilation.
        for cell in cells(n) {
            let Some(found) = solver.cell(cell) else {
                continue;
            };
            let summed: f64 = (0..D)
                .map(|axis| {
                    let mut high = cell;
                    high[axis] += 1;
                    free_value(&solver, axis, high) - free_value(&solver, axis, cell)
                })
                .sum();
            assert!((found.dilation - summed).abs() < 1e-12 && found.weight > 0.0);
        }
    }
}

#[test]
fn pressure_is_adjoint_to_dilation_2d() {
    pressure_is_adjoint_to_dilation::<2>(24);
}

#[test]
fn pressure_is_adjoint_to_dilation_3d() {
    pressure_is_adjoint_to_dilation::<3>(11);
}

/// A cell counts if all of its samples have weight: none does in the air, and in the open it weighs `2 κ`.
#[test]
fn only_whole_cells_count() {
    let n = 24;
    let body = &bodies::<2>(n)[0];
    let solver = solver(body, ViscousOptions::default());
    let weight = |cell| solver.cell(cell).map(|found| found.weight);
    let (mut open, mut part) = (0, 0);
    for cell in cells(n) {
        match (body.fill(cell), weight(cell)) {
            (Fill::Full, Some(found)) => {
                assert_eq!(found, 60.0);
                open += 1;
            }
            (Fill::Part(_), found) => {
                assert!(
                    found.is_none_or(|w| w > 0.0 && w < 60.0),
                    "{cell:?} {found:?}"
                );
                part += usize::from(found.is_some());
            }
            (fill, found) => assert!(found.is_none(), "{cell:?} {fill:?} {found:?}"),
        }
    }
    assert!(open > 150 && part > 20, "{open} {part}");
    for outside in [[-1, 11], [11, 24], [24, 11]] {
        assert_eq!(weight(outside), None);
    }
}

/// What dilates in a body that is pushed by noise, in the norm of its weights, before and after each of
/// so many corrections `d ← d − (1/D) Σ_a δ_a u_a` of the pressure `w d`.
fn dilations<const D: usize>(body: &impl Body<D>, n: usize, passes: usize) -> Vec<f64> {
    let mut solver = solver(body, ViscousOptions::default());
    let mut d = vec![0.0; n.pow(D as u32)];
    let mut norms = Vec::new();
    for _ in 0..=passes {
        let weights: Vec<f64> = cells(n)
            .map(|cell| solver.cell(cell).map_or(0.0, |found| found.weight))
            .collect();
        let pressure = |cell| number(cell, n).map_or(0.0, |k| weights[k] * d[k]);
        solver.load_under_pressure(|axis, face| noise_at(8, axis, face), |_, _| 0.0, pressure);
        let outcome = solver.solve(&to(1e-9)).expect("a solve");
        assert!(outcome.converged(), "{outcome:?}");
        let mut sum = 0.0;
        for (k, cell) in cells(n).enumerate() {
            if let Some(found) = solver.cell(cell) {
                sum += found.weight * found.dilation * found.dilation;
                d[k] -= found.dilation / D as f64;
            }
        }
        norms.push(sum.sqrt());
    }
    norms
}

fn dilation_dies_out<const D: usize>(n: usize) {
    for (k, body) in bodies::<D>(n).iter().enumerate() {
        let norms = dilations(body, n, 12);
        let growth = norms.windows(2).map(|pair| pair[1] / pair[0]);
        let what = format!("{D}D body {k}, dilation");
        at_most(
            &format!("{what} after a correction over before"),
            growth.fold(0.0, f64::max),
            1.0,
        );
        at_most(
            &format!("{what} left after twelve"),
            norms[12] / norms[0],
            0.25,
        );
    }
}

#[test]
fn dilation_dies_out_2d() {
    dilation_dies_out::<2>(24);
}

#[test]
fn dilation_dies_out_3d() {
    dilation_dies_out::<3>(11);
}
