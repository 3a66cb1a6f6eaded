//! Facts about conjugate gradients.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use common::{
    dense_cholesky, dirichlet_square, from_rows, half_filled_disc, noise, random_dominant,
    residual, sealed_box,
};
use plash_solve::{
    Csr, Identity, Jacobi, Mic0, Mic0Options, NullSpace, Operator, Outcome, Pcg, Preconditioner,
    SolveError, Status, Tolerance, vector::max_norm,
};

const IC: Mic0Options = Mic0Options {
    tau: 0.0,
    sigma: 0.25,
};

fn tolerance(relative: f64) -> Tolerance {
    Tolerance {
        relative,
        ..Tolerance::default()
    }
}

fn mic(a: &Csr) -> Mic0 {
    Mic0::new(a, Mic0Options::default())
}

/// Solves from zero; the outcome and the solution.
fn solve(a: &Csr, m: &mut dyn Preconditioner, b: &[f64], relative: f64) -> (Outcome, Vec<f64>) {
    let mut x = vec![0.0; b.len()];
    let outcome = Pcg::new()
        .solve(a, m, &NullSpace::none(), b, &mut x, &tolerance(relative))
        .expect("a positive definite matrix");
    (outcome, x)
}

#[test]
fn solutions_agree_with_dense_cholesky() {
    for seed in 0..20 {
        for (density, m_matrix) in [(0.05, true), (0.3, true), (0.1, false)] {
            let a = random_dominant(70, density, m_matrix, seed);
            assert!(a.is_symmetric(0.0));
            let b = noise(70, seed + 77);
            let truth = dense_cholesky(&a, &b);
            let size = max_norm(&truth);
            let (mut jacobi, mut mic) = (Jacobi::new(&a), mic(&a));
            for m in [
                &mut Identity as &mut dyn Preconditioner,
                &mut jacobi,
                &mut mic,
            ] {
                let (outcome, x) = solve(&a, m, &b, 1e-12);
                assert_eq!(outcome.status, Status::Converged);
                assert_eq!(outcome.residual, residual(&a, &b, &x));
                assert!(
                    x.iter()
                        .zip(&truth)
                        .all(|(x, t)| (x - t).abs() <= 1e-9 * size)
                );
            }
        }
    }
}

#[test]
fn iterations_on_the_half_filled_disc_grow_as_they_should() {
    let count = |n: usize| {
        let (a, b) = half_filled_disc(n);
        [
            &mut Jacobi::new(&a) as &mut dyn Preconditioner,
            &mut Mic0::new(&a, IC),
            &mut mic(&a),
        ]
        .map(|m| solve(&a, m, &b, 1e-6).0.iterations)
    };
    let counts = [32, 64, 128, 256].map(count);
    for [jacobi, ic, mic] in counts {
        assert!(mic < ic && ic < jacobi, "{counts:?}");
    }
    for pair in counts.windows(2) {
        let growth = |k: usize| pair[1][k] as f64 / pair[0][k] as f64;
        assert!((1.7..2.3).contains(&growth(0)), "{counts:?}");
        assert!((1.6..2.2).contains(&growth(1)), "{counts:?}");
        assert!((1.2..2.0).contains(&growth(2)), "{counts:?}");
    }
    // 41 is the count of an independent prototype on the same domain; N = 128.
    assert!((31..=51).contains(&counts[2][2]), "{counts:?}");
}

#[test]
fn a_sealed_box_is_solved_with_mean_zero() {
    let a = sealed_box(40);
    let n = a.rows();
    // Neither the right-hand side nor the guess respects the null space.
    let b: Vec<f64> = noise(n, 1).iter().map(|v| v + 0.3).collect();
    let mut x: Vec<f64> = noise(n, 2).iter().map(|v| v + 7.0).collect();
    let null_space = NullSpace::constants(n);
    let outcome = Pcg::new()
        .solve(&a, &mut mic(&a), &null_space, &b, &mut x, &tolerance(1e-10))
        .expect("semidefinite is enough");
    assert_eq!(outcome.status, Status::Converged);
    assert!(x.iter().sum::<f64>().abs() <= 1e-10 * n as f64 * max_norm(&x));
    let mut projected = b.clone();
    null_space.project(&mut projected);
    assert!(residual(&a, &projected, &x) <= 2e-10 * max_norm(&projected));
}

#[test]
fn sealed_pockets_beside_open_liquid_are_solved_each_on_its_own() {
    // A sealed box of 100 cells, an open square of 64, a sealed lone cell.
    let (pocket, open) = (sealed_box(10), dirichlet_square(8));
    let rows = |a: &Csr, shift: usize| -> Vec<Vec<(usize, f64)>> {
        let entry = |(&j, &v): (&u32, &f64)| (j as usize + shift, v);
        (0..a.rows())
            .map(|i| a.row(i).0.iter().zip(a.row(i).1).map(entry).collect())
            .collect()
    };
    let a = from_rows([rows(&pocket, 0), rows(&open, 100), vec![vec![]]].concat());
    let b = noise(165, 3);
    let null_space = NullSpace::new(vec![(0..100).collect(), vec![164]]);
    let mut x = noise(165, 4);
    let outcome = Pcg::new()
        .solve(&a, &mut mic(&a), &null_space, &b, &mut x, &tolerance(1e-10))
        .expect("semidefinite is enough");
    assert!(outcome.converged());
    assert!(x[..100].iter().sum::<f64>().abs() < 1e-10);
    assert_eq!(x[164], 0.0);
    let truth = dense_cholesky(&open, &b[100..164]);
    assert!(
        x[100..164]
            .iter()
            .zip(&truth)
            .all(|(x, t)| (x - t).abs() < 1e-8)
    );
}

#[test]
fn a_right_hand_side_in_the_null_space_gives_zero() {
    let a = sealed_box(12);
    let mut x = noise(144, 5);
    let outcome = Pcg::new()
        .solve(
            &a,
            &mut mic(&a),
            &NullSpace::constants(144),
            &[0.1; 144],
            &mut x,
            &tolerance(1e-6),
        )
        .expect("nothing to solve");
    assert_eq!((outcome.status, outcome.iterations), (Status::Converged, 0));
    assert_eq!(x, [0.0; 144]);
}

#[test]
fn zero_in_zero_out() {
    let a = dirichlet_square(6);
    let mut x = noise(36, 6);
    let outcome = Pcg::new()
        .solve(
            &a,
            &mut mic(&a),
            &NullSpace::none(),
            &[0.0; 36],
            &mut x,
            &tolerance(1e-6),
        )
        .expect("nothing to solve");
    assert_eq!((outcome.iterations, outcome.residual), (0, 0.0));
    assert_eq!(x, [0.0; 36]);
}

#[test]
fn an_indefinite_operator_is_an_error_not_a_nan() {
    let rows = |d: f64| {
        (0..10)
            .map(|i| vec![(i, if i == 4 { d } else { 1.0 })])
            .collect()
    };
    for d in [-3.0, 0.0] {
        let a = from_rows(rows(d));
        let mut b = vec![0.0; 10];
        b[4] = 1.0;
        let mut x = vec![0.25; 10];
        let error = Pcg::new()
            .solve(
                &a,
                &mut mic(&a),
                &NullSpace::none(),
                &b,
                &mut x,
                &tolerance(1e-6),
            )
            .expect_err("not positive definite");
        assert!(
            matches!(error, SolveError::NotPositiveDefinite { .. }),
            "{error}"
        );
        assert_eq!(x, [0.25; 10], "the guess is left alone");
    }
}

#[test]
fn an_indefinite_preconditioner_is_an_error() {
    struct Negative;
    impl Preconditioner for Negative {
        fn apply(&mut self, r: &[f64], z: &mut [f64]) {
            z.iter_mut().zip(r).for_each(|(z, r)| *z = -r);
        }
    }
    let a = dirichlet_square(4);
    let error = Pcg::new()
        .solve(
            &a,
            &mut Negative,
            &NullSpace::none(),
            &[1.0; 16],
            &mut [0.0; 16],
            &tolerance(1e-6),
        )
        .expect_err("not positive definite");
    assert!(matches!(
        error,
        SolveError::PreconditionerNotPositiveDefinite { iteration: 0, product } if product == -16.0
    ));
}

#[test]
fn numbers_that_are_not_finite_are_errors_and_leave_the_guess_alone() {
    let a = dirichlet_square(5);
    let good = noise(25, 9);
    for bad in [f64::NAN, f64::INFINITY] {
        let mut b = good.clone();
        b[13] = bad;
        let mut x = good.clone();
        let error = Pcg::new()
            .solve(
                &a,
                &mut mic(&a),
                &NullSpace::none(),
                &b,
                &mut x,
                &tolerance(1e-6),
            )
            .expect_err("bad right-hand side");
        assert!(matches!(error, SolveError::NotFinite { iteration: 0, .. }));
        assert_eq!(x, good);
        let error = Pcg::new()
            .solve(
                &a,
                &mut mic(&a),
                &NullSpace::none(),
                &good,
                &mut b,
                &tolerance(1e-6),
            )
            .expect_err("bad guess");
        assert!(matches!(error, SolveError::NotFinite { iteration: 0, .. }));
    }
}

#[test]
fn a_solver_recovers_from_a_failed_solve() {
    struct Broken;
    impl Preconditioner for Broken {
        fn apply(&mut self, _: &[f64], z: &mut [f64]) {
            z.fill(f64::NAN);
        }
    }
    let a = dirichlet_square(5);
    let (b, mut x) = (noise(25, 9), vec![0.0; 25]);
    let (none, tolerance) = (NullSpace::none(), tolerance(1e-9));
    let mut pcg = Pcg::new();
    assert!(
        pcg.solve(&a, &mut Broken, &none, &b, &mut x, &tolerance)
            .is_err()
    );
    let outcome = pcg
        .solve(&a, &mut mic(&a), &none, &b, &mut x, &tolerance)
        .expect("solved");
    assert!(outcome.converged());
}

#[test]
fn pieces_that_do_not_fit_are_named() {
    let a = dirichlet_square(3);
    let (none, tolerance) = (NullSpace::none(), tolerance(1e-6));
    let run = |m: &mut dyn Preconditioner, null: &NullSpace, b: usize, x: usize| {
        let error = Pcg::new()
            .solve(&a, m, null, &vec![1.0; b], &mut vec![0.0; x], &tolerance)
            .expect_err("wrong shape");
        match error {
            SolveError::Shape {
                quantity,
                expected: 9,
                ..
            } => quantity,
            other => panic!("{other}"),
        }
    };
    assert_eq!(run(&mut Identity, &none, 8, 9), "right-hand side");
    assert_eq!(run(&mut Identity, &none, 9, 10), "vector of unknowns");
    assert_eq!(
        run(&mut mic(&dirichlet_square(2)), &none, 9, 9),
        "preconditioner"
    );
    assert_eq!(
        run(&mut Identity, &NullSpace::new(vec![vec![9]]), 9, 9),
        "null space"
    );
}

#[test]
fn bits_are_equal_for_one_and_two_threads() {
    let a = sealed_box(180); // 32,400 unknowns: several chunks, and above the serial limit
    let b = noise(a.rows(), 10);
    let run = |threads: usize, null_space: &NullSpace| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("a pool");
        pool.install(|| {
            let mut x = vec![0.0; b.len()];
            let outcome = Pcg::new()
                .solve(&a, &mut mic(&a), null_space, &b, &mut x, &tolerance(1e-8))
                .expect("solved");
            (outcome, x.iter().map(|v| v.to_bits()).collect::<Vec<_>>())
        })
    };
    let null_space = NullSpace::constants(b.len());
    assert_eq!(run(1, &null_space), run(2, &null_space));
    assert_eq!(run(1, &null_space), run(3, &null_space));
}

/// Counts what is asked of a matrix.
struct Counting<'a> {
    a: &'a Csr,
    applications: AtomicUsize,
}

impl Operator for Counting<'_> {
    fn rows(&self) -> usize {
        self.a.rows()
    }
    fn apply(&self, x: &[f64], y: &mut [f64]) {
        self.applications.fetch_add(1, Relaxed);
        self.a.apply(x, y);
    }
    fn diagonal(&self, i: usize) -> f64 {
        self.a.diagonal(i)
    }
}

#[test]
fn one_product_an_iteration_one_to_check_and_one_for_a_guess() {
    let (a, b) = half_filled_disc(48);
    let counting = Counting {
        a: &a,
        applications: AtomicUsize::new(0),
    };
    let run = |x: &mut [f64]| {
        let before = counting.applications.load(Relaxed);
        let outcome = Pcg::new()
            .solve(
                &counting,
                &mut mic(&a),
                &NullSpace::none(),
                &b,
                x,
                &tolerance(1e-6),
            )
            .expect("solved");
        assert!(outcome.converged());
        (
            outcome.iterations,
            counting.applications.load(Relaxed) - before,
        )
    };
    let mut x = vec![0.0; b.len()];
    let (iterations, applications) = run(&mut x);
    assert_eq!(applications, iterations + 1);

    // A solution is its own best guess: one product shows it.
    assert_eq!(run(&mut x), (0, 1));

    x.iter_mut().for_each(|x| *x *= 0.9);
    let (iterations, applications) = run(&mut x);
    assert_eq!(applications, iterations + 2);
}

#[test]
fn a_good_guess_saves_iterations() {
    let (a, b) = half_filled_disc(64);
    let (cold, mut x) = solve(&a, &mut mic(&a), &b, 1e-6);
    x.iter_mut()
        .zip(noise(b.len(), 11))
        .for_each(|(x, e)| *x *= 1.0 + 1e-4 * e);
    let warm = Pcg::new()
        .solve(
            &a,
            &mut mic(&a),
            &NullSpace::none(),
            &b,
            &mut x,
            &tolerance(1e-6),
        )
        .expect("solved");
    assert!(warm.initial_residual < cold.initial_residual);
    assert!(warm.iterations < cold.iterations, "{warm:?} {cold:?}");
}

#[test]
fn the_iteration_limit_is_a_status_with_a_true_residual() {
    let (a, b) = half_filled_disc(64);
    let mut x = vec![0.0; b.len()];
    let tolerance = Tolerance {
        relative: 1e-10,
        absolute: 0.0,
        max_iterations: 5,
    };
    let outcome = Pcg::new()
        .solve(&a, &mut mic(&a), &NullSpace::none(), &b, &mut x, &tolerance)
        .expect("no error");
    assert_eq!(
        (outcome.status, outcome.iterations),
        (Status::IterationLimit, 5)
    );
    assert_eq!(outcome.residual, residual(&a, &b, &x));
}

#[test]
fn asking_for_more_than_rounding_allows_stagnates_and_ends() {
    let (a, b) = half_filled_disc(64);
    for relative in [0.0, 1e-18] {
        let (outcome, x) = solve(&a, &mut mic(&a), &b, relative);
        assert_eq!(outcome.status, Status::Stagnated, "{outcome:?}");
        assert_eq!(outcome.residual, residual(&a, &b, &x));
        assert!(outcome.residual < 1e-11 * max_norm(&b), "{outcome:?}");
    }
}

#[test]
fn scaling_the_system_changes_nothing_but_the_scale() {
    let (a, b) = half_filled_disc(48);
    let (plain, x) = solve(&a, &mut mic(&a), &b, 1e-6);
    for factor in [2.0_f64.powi(80), 2.0_f64.powi(-80)] {
        let (starts, columns, values) = a.clone().into_parts();
        let values = values.iter().map(|v| v * factor).collect();
        let scaled = Csr::new(starts, columns, values).expect("a matrix");
        let (outcome, y) = solve(&scaled, &mut mic(&scaled), &b, 1e-6);
        assert_eq!(outcome.iterations, plain.iterations);
        assert!(x.iter().zip(&y).all(|(x, y)| *x == y * factor));
    }
}

#[test]
fn a_system_without_unknowns_is_solved() {
    let a = from_rows(vec![]);
    let (outcome, x) = solve(&a, &mut mic(&a), &[], 1e-6);
    assert!(outcome.converged() && x.is_empty());
}
