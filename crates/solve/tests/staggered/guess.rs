//! No solve leaves anything worse than the guess it began with, nor than nothing.

use crate::common::{Formula, ball, faces, noise_at};
use plash_solve::staggered::{ViscousMethod, ViscousOptions, ViscousSolver};
use plash_solve::{Operator, Tolerance};

/// The residual of what is in a solver, by its matrix.
fn residual<const D: usize>(solver: &ViscousSolver<D>) -> f64 {
    let (a, b, numbers) = solver.system().expect("a system");
    let values = numbers.iter().map(|(axis, index)| {
        let face = solver.face(index).expect("a face");
        solver.value(axis, face).expect("a free face")
    });
    let x: Vec<f64> = values.collect();
    let mut product = vec![0.0; x.len()];
    a.apply(&x, &mut product);
    let residuals = b.iter().zip(&product).map(|(b, p)| (b - p).abs());
    residuals.fold(0.0, f64::max)
}

/// Solves that end early, from guesses that are nearly right; how many of them leave the guess.
fn nothing_gets_worse<const D: usize>(n: usize) {
    let methods = [
        ViscousMethod::Mgpcg,
        ViscousMethod::PcgIc,
        ViscousMethod::PcgJacobi,
    ];
    let mut left = 0;
    for method in methods {
        let options = ViscousOptions {
            method,
            ..ViscousOptions::default()
        };
        for stiffness in [1.0, 1e3, 1e6] {
            // Soft at one end, where the guess is not quite right.
            let of_cell = move |cell: [i32; D]| match (cell[0] as usize) < n / 2 {
                true => 1.0,
                false => stiffness,
            };
            let body = Formula::full([n; D], 1.0).below(ball(n)).varied(of_cell);
            let start = |axis: usize, face: [i32; D]| {
                let is_off = (face[0] as usize) < n / 2 - 2;
                let rest = if is_off {
                    1e-3 * noise_at(11, axis, face)
                } else {
                    0.0
                };
                1.0 + axis as f64 + rest
            };
            let mut solver = ViscousSolver::new(options);
            solver.assemble(&body);
            for limit in 1..9 {
                solver.load(start);
                let tol = Tolerance {
                    relative: 1e-12,
                    max_iterations: limit,
                    ..Tolerance::default()
                };
                let outcome = solver.solve(&tol).expect("a solve");
                let least = outcome.initial_residual.min(solver.norm());
                assert!(
                    outcome.residual <= (1.0 + 1e-9) * least,
                    "{method}, κ {stiffness}, {limit} iterations: {outcome:?}"
                );
                // What is reported is what is there, but for roundings.
                let apart = (residual(&solver) - outcome.residual).abs();
                assert!(apart <= 1e-14 * stiffness, "{apart:e} of {outcome:?}");
                let mut values = faces(body.cells).filter_map(|(axis, face)| {
                    Some(solver.value(axis, face)? == start(axis, face))
                });
                left += usize::from(values.all(|is_same| is_same));
            }
        }
    }
    assert!(left > 0, "no solve left its guess");
}

#[test]
fn nothing_gets_worse_2d() {
    nothing_gets_worse::<2>(24);
}

#[test]
fn nothing_gets_worse_3d() {
    nothing_gets_worse::<3>(10);
}
