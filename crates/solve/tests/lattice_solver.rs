//! The lattice solver against the general ones, on tanks, plates, spray and mazes.

mod common;

use common::lattice::{Lattice, Tank};
use common::{from_rows, noise};
use plash_solve::lattice::LatticeSolver;
use plash_solve::{
    Csr, Mic0, Mic0Options, NullSpace, Pcg, Places, Policy, Problem, Solution, Tolerance,
};

fn solver<const D: usize>(problem: &Lattice) -> LatticeSolver<D> {
    let mut solver = LatticeSolver::default();
    assert!(solver.convert(&problem.a, problem.places(), &problem.constrained));
    solver
}

fn linear<const D: usize>(problem: &Lattice, relative: f64) -> (Solution, Vec<f64>) {
    let mut x = vec![0.0; problem.b.len()];
    let tol = Tolerance {
        relative,
        ..Tolerance::default()
    };
    let mut solver = solver::<D>(problem);
    let null_space = solver.matrix().null_space();
    let solved = solver
        .solve_linear(&null_space, &problem.b, &mut x, &tol)
        .expect("a solve");
    (solved, x)
}

fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |m, x| m.max(x.abs()))
}

fn difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

fn agrees_with_incomplete_cholesky<const D: usize>(tank: Tank) {
    let problem = tank.build();
    let (solved, x) = linear::<D>(&problem, 1e-10);
    assert!(solved.converged(), "{solved:?}");
    let none = NullSpace::none();
    let mut y = vec![0.0; x.len()];
    let residual = Problem::linear(&problem.a, &problem.b, &none).residual(&x, &mut y);
    assert!(residual <= 1.01e-10 * largest(&problem.b), "{residual:e}");

    let mut exact = vec![0.0; x.len()];
    let tol = Tolerance {
        relative: 1e-11,
        ..Tolerance::default()
    };
    let mut mic = Mic0::new(&problem.a, Mic0Options::default());
    let reference = Pcg::new()
        .solve(&problem.a, &mut mic, &none, &problem.b, &mut exact, &tol)
        .expect("a solve");
    assert!(reference.converged());
    assert!(difference(&x, &exact) < 1e-7 * largest(&exact));
}

#[test]
fn agrees_with_incomplete_cholesky_2d() {
    agrees_with_incomplete_cholesky::<2>(Tank::half_ball(2, 64));
    agrees_with_incomplete_cholesky::<2>(Tank::half_ball(2, 50).with_plate(1));
}

#[test]
fn agrees_with_incomplete_cholesky_3d() {
    agrees_with_incomplete_cholesky::<3>(Tank::half_ball(3, 32));
    agrees_with_incomplete_cholesky::<3>(Tank::half_ball(3, 27).with_plate(0));
}

fn the_cycle_is_symmetric_and_positive<const D: usize>(tank: Tank) {
    let problem = tank.build();
    let mut solver = solver::<D>(&problem);
    solver.prepare();
    let index = solver.index().to_vec();
    let mut apply = |v: &[f64]| -> Vec<f64> {
        let hierarchy = solver.hierarchy();
        for (&i, &v) in index.iter().zip(v) {
            hierarchy.right_hand_side()[i as usize] = v as f32;
        }
        hierarchy.cycle();
        let x = hierarchy.correction();
        index.iter().map(|&i| f64::from(x[i as usize])).collect()
    };
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    for seed in 0..3 {
        let (u, v) = (
            noise(problem.b.len(), seed),
            noise(problem.b.len(), seed + 9),
        );
        let (mu, mv) = (apply(&u), apply(&v));
        let (left, right) = (dot(&mu, &v), dot(&u, &mv));
        let size = (dot(&mu, &u) * dot(&mv, &v)).sqrt();
        // Single precision: the entries carry 6e-8, their sum over the lattice less.
        assert!((left - right).abs() < 1e-6 * size, "{left} {right} {size}");
        assert!(dot(&mu, &u) > 0.0);
    }
}

#[test]
fn the_cycle_is_symmetric_and_positive_2d() {
    the_cycle_is_symmetric_and_positive::<2>(Tank::half_ball(2, 64));
    the_cycle_is_symmetric_and_positive::<2>(Tank::half_ball(2, 61).with_plate(1));
}

#[test]
fn the_cycle_is_symmetric_and_positive_3d() {
    the_cycle_is_symmetric_and_positive::<3>(Tank::half_ball(3, 24));
    the_cycle_is_symmetric_and_positive::<3>(Tank::half_ball(3, 24).with_plate(1));
}

fn iterations<const D: usize>(tank: Tank) -> usize {
    let (solved, _) = linear::<D>(&tank.build(), 1e-6);
    assert!(solved.converged());
    solved.iterations
}

#[test]
fn iterations_hardly_grow_with_size() {
    let plane = [64, 512].map(|n| iterations::<2>(Tank::half_ball(2, n)));
    assert!(plane[1] <= plane[0] + 3 && plane[1] <= 10, "{plane:?}");
    let space = [16, 64].map(|n| iterations::<3>(Tank::half_ball(3, n)));
    assert!(space[1] <= space[0] + 3 && space[1] <= 10, "{space:?}");
}

#[test]
fn thin_plates_at_even_and_odd_places_cost_little() {
    let plain = iterations::<2>(Tank::half_ball(2, 128));
    let space = iterations::<3>(Tank::half_ball(3, 48));
    for above in 0..4 {
        let plate = iterations::<2>(Tank::half_ball(2, 128).with_plate(above));
        assert!(2 * plate <= 3 * plain, "2D, {above}: {plate} for {plain}");
        let plate = iterations::<3>(Tank::half_ball(3, 48).with_plate(above));
        assert!(2 * plate <= 3 * space, "3D, {above}: {plate} for {space}");
    }
}

/// Cells of a square or cube kept with some chance, faces between them shut with another; what
/// has no neighbour is air. Spray if little is kept, a maze of thin plates if much is shut.
fn strewn(dimensions: usize, n: i32, kept: f64, shut: f64) -> Lattice {
    let depth = if dimensions == 3 { n } else { 1 };
    let count = (n * n * depth) as usize;
    let chance = noise(count * 4, 5);
    let cell = |at: [i32; 3]| {
        let inside =
            (0..n).contains(&at[0]) && (0..n).contains(&at[1]) && (0..depth).contains(&at[2]);
        inside.then_some(((at[2] * n + at[1]) * n + at[0]) as usize)
    };
    let is_kept = |c: usize| chance[4 * c] + 0.5 < kept;
    let mut number = vec![usize::MAX; count];
    let mut at = Vec::new();
    for z in 0..depth {
        for y in 0..n {
            for x in 0..n {
                let c = cell([x, y, z]).expect("inside");
                if is_kept(c) {
                    number[c] = at.len();
                    at.push([x, y, z]);
                }
            }
        }
    }
    let mut rows = Vec::new();
    for (i, &here) in at.iter().enumerate() {
        let (mut row, mut diagonal) = (Vec::new(), 0.0);
        for axis in 0..dimensions {
            for side in [-1, 1] {
                let mut there = here;
                there[axis] += side;
                // The outer walls are closed but for the bottom, where it is air.
                let Some(other) = cell(there) else {
                    diagonal += if axis == 1 && side < 0 { 1.0 } else { 0.0 };
                    continue;
                };
                let face = if side < 0 {
                    cell(here).expect("inside")
                } else {
                    other
                };
                let open = chance[4 * face + 1 + axis] + 0.5 >= shut;
                if is_kept(other) && open {
                    row.push((number[other], -1.0));
                    diagonal += 1.0;
                } else if !is_kept(other) {
                    diagonal += 1.3;
                }
            }
        }
        row.push((i, f64::max(diagonal, 1e-3)));
        rows.push(row);
    }
    Lattice {
        a: from_rows(rows),
        b: noise(at.len(), 3),
        constrained: vec![false; at.len()],
        dimensions,
        at,
    }
}

#[test]
fn spray_and_mazes_are_solved() {
    for (kept, shut, most) in [(0.05, 0.0, 4), (0.3, 0.0, 5), (0.9, 0.0, 9), (1.0, 0.3, 20)] {
        let plane = linear::<2>(&strewn(2, 100, kept, shut), 1e-6).0;
        let space = linear::<3>(&strewn(3, 30, kept, shut), 1e-6).0;
        for solved in [plane, space] {
            assert!(solved.converged(), "{kept} {shut}: {solved:?}");
            assert!(solved.iterations <= most, "{kept} {shut}: {solved:?}");
        }
    }
}

fn lcp<const D: usize>(problem: &Lattice, relative: f64) -> (Solution, Policy, Vec<f64>) {
    let (mut x, mut policy) = (vec![0.0; problem.b.len()], Policy::default());
    let tol = Tolerance {
        relative,
        ..Tolerance::default()
    };
    let solved = solver::<D>(problem)
        .solve_lcp(
            &NullSpace::none(),
            None,
            &problem.b,
            &mut policy,
            &mut x,
            &tol,
        )
        .expect("a solve");
    (solved, policy, x)
}

fn walls_are_let_go_of<const D: usize>(tank: Tank) {
    let problem = tank.build();
    let (solved, policy, x) = lcp::<D>(&problem, 1e-8);
    assert!(solved.converged(), "{solved:?}");
    let none = NullSpace::none();
    let statement = problem.problem(&none);
    let mut y = vec![0.0; x.len()];
    let size = largest(&problem.b);
    let residual = statement.residual(&x, &mut y);
    assert!(residual <= 1.01e-8 * size);
    assert!((residual - solved.residual).abs() <= 1e-9 * size);
    for i in 0..x.len() {
        if !problem.constrained[i] {
            assert!(y[i].abs() <= 1e-8 * size && !policy.separated[i]);
        } else {
            assert!(x[i] * problem.a.get(i, i) >= -1e-8 * size, "pulls at {i}");
            assert!(y[i] >= -1e-8 * size, "flows into the wall at {i}");
            let held = problem.a.get(i, i) * x[i] <= 1e-8 * size;
            assert!(held || !policy.separated[i], "{i} is pressed and separated");
        }
    }
    let share = solved.separated as f64 / problem.walls() as f64;
    assert!((0.05..0.6).contains(&share), "{share}");
    assert_eq!(
        policy.separated.iter().filter(|&&s| s).count(),
        solved.separated
    );
}

#[test]
fn walls_are_let_go_of_2d() {
    walls_are_let_go_of::<2>(Tank::half_ball(2, 96));
    walls_are_let_go_of::<2>(Tank::half_ball(2, 97).with_plate(1));
}

#[test]
fn walls_are_let_go_of_3d() {
    walls_are_let_go_of::<3>(Tank::half_ball(3, 32));
    walls_are_let_go_of::<3>(Tank::half_ball(3, 30).with_plate(1));
}

#[test]
fn a_solved_problem_is_recognised() {
    let problem = Tank::half_ball(3, 32).build();
    let mut solver = solver::<3>(&problem);
    let (mut x, mut policy) = (vec![0.0; problem.b.len()], Policy::default());
    let none = NullSpace::none();
    let mut solve = |b: &[f64], policy: &mut Policy, x: &mut [f64]| {
        solver
            .solve_lcp(&none, None, b, policy, x, &Tolerance::default())
            .expect("a solve")
    };
    let cold = solve(&problem.b, &mut policy, &mut x);
    let again = solve(&problem.b, &mut policy, &mut x);
    assert!(again.converged() && again.iterations == 0, "{again:?}");
    // A slightly different flow: the old policy is nearly right.
    let b: Vec<f64> = problem.b.iter().map(|b| 1.02 * b + 0.01).collect();
    let warm = solve(&b, &mut policy, &mut x);
    assert!(
        warm.converged() && warm.iterations < cold.iterations,
        "{warm:?} {cold:?}"
    );
}

#[test]
fn twelve_digits_are_within_reach() {
    for tank in [Tank::half_ball(3, 20), Tank::half_ball(3, 21).with_plate(1)] {
        let problem = tank.build();
        let (solved, policy, x) = lcp::<3>(&problem, 1e-12);
        assert!(solved.converged(), "{solved:?}");
        // Started from its own solution but without the policy, it finds the policy again.
        let (mut y, mut again) = (x.clone(), Policy::default());
        let tol = Tolerance {
            relative: 1e-12,
            ..Tolerance::default()
        };
        let repeated = solver::<3>(&problem)
            .solve_lcp(
                &NullSpace::none(),
                None,
                &problem.b,
                &mut again,
                &mut y,
                &tol,
            )
            .expect("a solve");
        assert!(repeated.converged());
        assert_eq!(again, policy);
        assert_eq!(repeated.separated, solved.separated);
    }
}

#[test]
fn scale_changes_no_count() {
    let problem = Tank::half_ball(3, 24).build();
    let (first, _, x) = lcp::<3>(&problem, 1e-6);
    let scaled = Lattice {
        b: problem.b.iter().map(|b| 1000.0 * b).collect(),
        ..problem
    };
    let (second, _, y) = lcp::<3>(&scaled, 1e-6);
    assert_eq!(first.iterations, second.iterations);
    assert_eq!(first.outer_iterations, second.outer_iterations);
    let expected: Vec<f64> = x.iter().map(|x| 1000.0 * x).collect();
    assert!(difference(&y, &expected) < 1e-4 * largest(&expected));
}

#[test]
fn bits_do_not_depend_on_threads() {
    let problem = Tank::half_ball(3, 64).with_plate(1).build();
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("a small pool");
        pool.install(|| {
            let (_, x) = linear::<3>(&problem, 1e-6);
            let (_, policy, y) = lcp::<3>(&problem, 1e-6);
            let bits = |v: Vec<f64>| v.into_iter().map(f64::to_bits).collect::<Vec<_>>();
            (bits(x), policy, bits(y))
        })
    };
    let alone = run(1);
    assert!(alone == run(2) && alone == run(3));
}

#[test]
fn the_order_of_unknowns_is_of_no_matter() {
    let problem = Tank::half_ball(3, 20).build();
    let n = problem.b.len();
    // A permutation: multiply by something coprime.
    let step = (n / 3..).find(|s| gcd(*s, n) == 1).expect("a coprime");
    let order: Vec<usize> = (0..n).map(|i| i * step % n).collect();
    let mut place = vec![0; n];
    order.iter().enumerate().for_each(|(k, &i)| place[i] = k);
    let rows = order.iter().map(|&i| {
        let (columns, values) = problem.a.row(i);
        let entries = columns.iter().zip(values);
        entries.map(|(&j, &v)| (place[j as usize], v)).collect()
    });
    let shuffled = Lattice {
        a: from_rows(rows.collect()),
        b: order.iter().map(|&i| problem.b[i]).collect(),
        constrained: order.iter().map(|&i| problem.constrained[i]).collect(),
        dimensions: 3,
        at: order.iter().map(|&i| problem.at[i]).collect(),
    };
    let (first, policy, x) = lcp::<3>(&problem, 1e-6);
    let (second, other_policy, y) = lcp::<3>(&shuffled, 1e-6);
    assert_eq!(first.iterations, second.iterations);
    for (k, &i) in order.iter().enumerate() {
        assert_eq!(x[i].to_bits(), y[k].to_bits());
        assert_eq!(policy.separated[i], other_policy.separated[k]);
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[test]
fn a_full_tank_is_singular_and_solved() {
    let problem = Tank::full_ball(3, 24).build();
    let mut solver = solver::<3>(&problem);
    let null_space = solver.matrix().null_space();
    assert_eq!(null_space.dimension(), 1);
    assert_eq!(null_space.bound(), problem.b.len());
    let mut x = vec![0.0; problem.b.len()];
    let solved = solver
        .solve_linear(&null_space, &problem.b, &mut x, &Tolerance::default())
        .expect("a solve");
    assert!(solved.converged() && solved.iterations <= 15, "{solved:?}");
    assert!(x.iter().sum::<f64>().abs() < 1e-9 * largest(&x) * x.len() as f64);
}

#[test]
fn only_components_without_air_are_in_the_null_space() {
    // A row of three cells, shut between the second and the third; only the first sees air.
    let a = from_rows(vec![
        vec![(0, 3.0), (1, -1.0)],
        vec![(0, -1.0), (1, 1.0)],
        vec![(2, 0.5), (3, -0.5)],
        vec![(2, -0.5), (3, 0.5)],
    ]);
    let at = [[0, 0, 0], [1, 0, 0], [2, 0, 0], [2, 1, 0]];
    let mut solver = LatticeSolver::<2>::default();
    let places = Places {
        dimensions: 2,
        at: &at,
    };
    assert!(solver.convert(&a, places, &[]));
    let expected = NullSpace::new(vec![vec![2, 3]]);
    assert_eq!(solver.matrix().null_space(), expected);
}

#[test]
fn matrices_that_are_not_for_a_lattice_are_refused() {
    let refuse = |a: &Csr, at: &[[i32; 3]]| {
        let places = Places { dimensions: 2, at };
        !LatticeSolver::<2>::default().convert(a, places, &[])
    };
    let pair = from_rows(vec![vec![(0, 2.0), (1, -1.0)], vec![(0, -1.0), (1, 2.0)]]);
    assert!(!refuse(&pair, &[[0, 0, 0], [1, 0, 0]]));
    assert!(refuse(&pair, &[[0, 0, 0], [2, 0, 0]]), "not neighbours");
    assert!(refuse(&pair, &[[0, 0, 0], [1, 1, 0]]), "across a corner");
    assert!(refuse(&pair, &[[5, 5, 0], [5, 5, 0]]), "in one place");
    let attract = from_rows(vec![vec![(0, 2.0), (1, 1.0)], vec![(0, 1.0), (1, 2.0)]]);
    assert!(
        refuse(&attract, &[[0, 0, 0], [1, 0, 0]]),
        "of the wrong sign"
    );
    assert!(refuse(&pair, &[[0, 0, 0], [i32::MAX, 0, 0]]), "far apart");
}

#[test]
fn bad_numbers_are_errors_and_the_guess_is_kept() {
    let problem = Tank::half_ball(2, 32).build();
    let mut solver = solver::<2>(&problem);
    let mut b = problem.b.clone();
    b[7] = f64::NAN;
    let mut x = vec![0.25; b.len()];
    let none = NullSpace::none();
    let tol = Tolerance::default();
    assert!(solver.solve_linear(&none, &b, &mut x, &tol).is_err());
    let mut policy = Policy::default();
    let failed = solver.solve_lcp(&none, None, &b, &mut policy, &mut x, &tol);
    assert!(failed.is_err());
    assert!(x.iter().all(|&x| x == 0.25) && policy.separated.is_empty());
    // And the solver is as good as before.
    let solved = solver.solve_linear(&none, &problem.b, &mut x, &tol);
    assert!(solved.expect("a solve").converged());
}

/// An `n × n` square with walls on three sides, all at them constrained, and air below.
fn room(n: usize, seed: u64) -> Lattice {
    let at: Vec<[i32; 3]> = (0..n * n)
        .map(|c| [(c % n) as i32, (c / n) as i32, 0])
        .collect();
    let rows = at.iter().enumerate().map(|(i, &[x, y, _])| {
        let (x, y) = (x as usize, y as usize);
        let mut row = Vec::new();
        let sides = [
            (x > 0, i.wrapping_sub(1)),
            (x + 1 < n, i + 1),
            (y + 1 < n, i + n),
        ];
        row.extend(sides.iter().filter(|s| s.0).map(|s| (s.1, -1.0)));
        if y > 0 {
            row.push((i - n, -1.0));
        }
        let air = if y == 0 { 1.7 } else { 0.0 };
        let diagonal = row.len() as f64 + air;
        row.push((i, diagonal));
        row
    });
    Lattice {
        a: from_rows(rows.collect()),
        b: noise(n * n, seed),
        constrained: at
            .iter()
            .map(|&[x, y, _]| x == 0 || x as usize + 1 == n || y as usize + 1 == n)
            .collect(),
        dimensions: 2,
        at,
    }
}

#[test]
fn small_problems_change_their_policies_and_converge() {
    for n in 1..=13 {
        for seed in 0..15 {
            let problem = room(n, seed);
            let (solved, _, x) = lcp::<2>(&problem, 1e-9);
            assert!(solved.converged(), "{n} {seed}: {solved:?}");
            let none = NullSpace::none();
            let residual = problem.problem(&none).residual(&x, &mut vec![0.0; n * n]);
            assert!(residual <= 1.01e-9 * largest(&problem.b), "{n} {seed}");
        }
    }
}
