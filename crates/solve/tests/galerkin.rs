//! The Galerkin hierarchy as a preconditioner: symmetric, independent of the mesh, tight at thin
//! solids, at home in closed pockets.

mod common;

use common::lattice::{Lattice, Tank};
use common::noise;
use plash_solve::galerkin::{Boundary, Coarse, Hierarchy, Holding, Interpolation, Options, VCycle};
use plash_solve::{
    Csr, NullSpace, Outcome, Pcg, Places, Preconditioner, SolveError, Tolerance, vector,
};

fn cycle(lattice: &Lattice, options: Options) -> VCycle {
    let hierarchy = Hierarchy::new(&lattice.a, lattice.places(), options);
    VCycle::new(hierarchy.expect("a hierarchy"))
}

fn solve(lattice: &Lattice, options: Options, null_space: &NullSpace, b: &[f64]) -> Outcome {
    let mut x = vec![0.0; b.len()];
    let tolerance = Tolerance {
        relative: 1e-8,
        ..Tolerance::default()
    };
    Pcg::new()
        .solve(
            &lattice.a,
            &mut cycle(lattice, options),
            null_space,
            b,
            &mut x,
            &tolerance,
        )
        .expect("a solvable system")
}

fn iterations(tank: Tank) -> usize {
    let lattice = tank.build();
    let outcome = solve(&lattice, Options::default(), &NullSpace::none(), &lattice.b);
    assert!(outcome.converged(), "{outcome:?}");
    outcome.iterations
}

fn all_options() -> Vec<Options> {
    let mut all = Vec::new();
    for interpolation in [
        Interpolation::Barycentric,
        Interpolation::Trilinear,
        Interpolation::Constant,
    ] {
        for boundary in [Boundary::OneSided, Boundary::Simple] {
            for coarse in [Coarse::Galerkin, Coarse::Direct] {
                all.push(Options {
                    interpolation,
                    boundary,
                    coarse,
                    smallest: 50,
                });
            }
        }
    }
    all
}

/// `|⟨Bx, y⟩ − ⟨x, By⟩|` relative to the sizes of the vectors.
fn asymmetry(b: &mut VCycle, n: usize) -> f64 {
    let (x, y) = (noise(n, 1), noise(n, 2));
    let (mut bx, mut by) = (vec![0.0; n], vec![0.0; n]);
    b.apply(&x, &mut bx);
    b.apply(&y, &mut by);
    let norm = |v: &[f64]| vector::dot(v, v).sqrt();
    (vector::dot(&bx, &y) - vector::dot(&x, &by)).abs() / (norm(&bx) * norm(&y))
}

#[test]
fn every_kind_of_cycle_is_symmetric() {
    for dimensions in [2, 3] {
        let lattice = Tank::half_ball(dimensions, 24).with_plate(1).build();
        for options in all_options() {
            let found = asymmetry(&mut cycle(&lattice, options), lattice.b.len());
            assert!(found < 1e-10, "{options:?}: {found:e}");
        }
    }
}

#[test]
fn a_truncated_cycle_is_symmetric_and_leaves_held_unknowns_at_zero() {
    let lattice = Tank::half_ball(2, 48).build();
    let n = lattice.b.len();
    let mut hierarchy =
        Hierarchy::new(&lattice.a, lattice.places(), Options::default()).expect("a hierarchy");
    let held: Vec<bool> = (0..n)
        .map(|i| lattice.constrained[i] && i % 3 != 0)
        .collect();
    hierarchy.hold(&held, Holding::Zero);
    let mut b = VCycle::new(hierarchy);
    assert!(asymmetry(&mut b, n) < 1e-10);
    let mut z = vec![f64::NAN; n];
    b.apply(&noise(n, 3), &mut z);
    assert!((0..n).all(|i| z[i].is_finite() && (z[i] == 0.0) == held[i]));
}

#[test]
fn holding_in_steps_equals_holding_at_once() {
    let lattice = Tank::half_ball(3, 20).with_plate(3).build();
    let n = lattice.b.len();
    let set = |k: usize| -> Vec<bool> {
        (0..n)
            .map(|i| lattice.constrained[i] && (i + k).is_multiple_of(k + 2))
            .collect()
    };
    for holding in [Holding::Zero, Holding::Penalised(1e7)] {
        let build = || {
            Hierarchy::new(&lattice.a, lattice.places(), Options::default()).expect("a hierarchy")
        };
        let (mut stepwise, mut at_once) = (build(), build());
        for k in [5, 1, 3] {
            stepwise.hold(&set(k), holding);
        }
        at_once.hold(&set(3), holding);
        let (r, mut z, mut w) = (noise(n, 4), vec![0.0; n], vec![0.0; n]);
        VCycle::new(stepwise).apply(&r, &mut z);
        VCycle::new(at_once).apply(&r, &mut w);
        assert_eq!(z, w);
    }
}

#[test]
fn iterations_do_not_grow_with_the_mesh_in_two_dimensions() {
    let counts = [64, 512].map(|n| iterations(Tank::half_ball(2, n)));
    assert!(counts[0] <= 8 && counts[1] <= counts[0] + 2, "{counts:?}");
}

#[test]
fn iterations_do_not_grow_with_the_mesh_in_three_dimensions() {
    let counts = [16, 64].map(|n| iterations(Tank::half_ball(3, n)));
    assert!(counts[0] <= 8 && counts[1] <= counts[0] + 2, "{counts:?}");
}

#[test]
fn thin_plates_at_even_and_odd_heights_cost_at_most_one_iteration() {
    for (dimensions, cells) in [(2, 128), (3, 32)] {
        let plain = iterations(Tank::half_ball(dimensions, cells));
        for above in 0..4 {
            let count = iterations(Tank::half_ball(dimensions, cells).with_plate(above));
            assert!(count <= plain + 1, "{count} against {plain}");
        }
    }
}

#[test]
fn simple_boundaries_leak_through_thin_plates() {
    let lattice = Tank::half_ball(2, 128).with_plate(1).build();
    let count = |boundary| {
        let options = Options {
            boundary,
            ..Options::default()
        };
        solve(&lattice, options, &NullSpace::none(), &lattice.b).iterations
    };
    assert!(count(Boundary::Simple) > count(Boundary::OneSided) + 3);
}

#[test]
fn a_closed_pocket_is_solved_up_to_its_constant() {
    for (dimensions, cells) in [(2, 96), (3, 24)] {
        let lattice = Tank::full_ball(dimensions, cells).build();
        let n = lattice.b.len();
        let null_space = NullSpace::constants(n);
        let mut b = noise(n, 5);
        null_space.project(&mut b);
        let outcome = solve(&lattice, Options::default(), &null_space, &b);
        assert!(
            outcome.converged() && outcome.iterations <= 9,
            "{outcome:?}"
        );
    }
}

/// Scatters copies of a pool of `2 × 2` cells, and single cells, over a wide lattice.
fn spray(drops: i32) -> (Csr, Vec<[i32; 3]>) {
    let (mut rows, mut at) = (Vec::new(), Vec::<[i32; 3]>::new());
    for drop in 0..drops {
        let corner = [37 * drop, 1000 - 101 * drop, 0];
        let first = at.len();
        if drop % 3 == 0 {
            rows.push(vec![(first, 4.0)]);
            at.push(corner);
            continue;
        }
        for k in 0..4 {
            let mut row = vec![(first + k, 4.0)];
            row.extend([k ^ 1, k ^ 2].map(|other| (first + other, -1.0)));
            rows.push(row);
            at.push([corner[0] + k as i32 % 2, corner[1] + k as i32 / 2, 0]);
        }
    }
    (common::from_rows(rows), at)
}

#[test]
fn spray_ends_in_an_exact_solve_instead_of_an_endless_hierarchy() {
    let (a, at) = spray(600);
    let places = Places {
        dimensions: 2,
        at: &at,
    };
    let hierarchy = Hierarchy::new(&a, places, Options::default()).expect("a hierarchy");
    assert!(hierarchy.sizes().len() <= 7, "{:?}", hierarchy.sizes());
    let (b, mut x) = (noise(at.len(), 6), vec![0.0; at.len()]);
    let outcome = Pcg::new()
        .solve(
            &a,
            &mut VCycle::new(hierarchy),
            &NullSpace::none(),
            &b,
            &mut x,
            &Tolerance::default(),
        )
        .expect("a solvable system");
    assert!(
        outcome.converged() && outcome.iterations <= 6,
        "{outcome:?}"
    );
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let lattice = Tank::half_ball(3, 40).build();
    let r = noise(lattice.b.len(), 7);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("a pool").install(|| {
            let mut z = vec![0.0; r.len()];
            cycle(&lattice, Options::default()).apply(&r, &mut z);
            z
        })
    };
    assert_eq!(run(1), run(2));
}

#[test]
fn places_that_do_not_fit_are_an_error() {
    let lattice = Tank::half_ball(2, 16).build();
    let build = |dimensions, at| {
        let places = Places { dimensions, at };
        Hierarchy::new(&lattice.a, places, Options::default()).expect_err("should be refused")
    };
    assert!(matches!(
        build(2, &lattice.at[1..]),
        SolveError::Shape { .. }
    ));
    assert!(matches!(build(4, &lattice.at), SolveError::Shape { .. }));
}
