//! The Krylov methods beside conjugate gradients.

mod common;

use common::{dense_cholesky, from_rows, half_filled_disc, noise, residual, sealed_box};
use plash_solve::krylov::{BiCgStab, Cr, Gmres, GmresOptions};
use plash_solve::{
    Csr, Identity, Mic0, Mic0Options, NullSpace, Outcome, Pcg, Preconditioner, SolveError, Status,
    Tolerance,
};

type Run = fn(
    &Csr,
    &mut dyn Preconditioner,
    &NullSpace,
    &[f64],
    &mut [f64],
    &Tolerance,
) -> Result<Outcome, SolveError>;

const METHODS: [(&str, Run); 4] = [
    ("gmres", |a, m, n, b, x, t| {
        Gmres::default().solve(a, m, n, b, x, t)
    }),
    ("gmres(5)", |a, m, n, b, x, t| {
        Gmres::new(GmresOptions { restart: 5 }).solve(a, m, n, b, x, t)
    }),
    ("bicgstab", |a, m, n, b, x, t| {
        BiCgStab::new().solve(a, m, n, b, x, t)
    }),
    ("cr", |a, m, n, b, x, t| Cr::new().solve(a, m, n, b, x, t)),
];

fn tight(relative: f64) -> Tolerance {
    Tolerance {
        relative,
        ..Tolerance::default()
    }
}

#[test]
fn all_reach_the_true_solution_with_the_residual_they_report() {
    let (a, b) = half_filled_disc(24);
    let truth = dense_cholesky(&a, &b);
    for (name, run) in METHODS {
        let mut mic = Mic0::new(&a, Mic0Options::default());
        let mut x = noise(b.len(), 4);
        let outcome = run(&a, &mut mic, &NullSpace::none(), &b, &mut x, &tight(1e-11));
        let outcome = outcome.expect(name);
        assert!(outcome.converged(), "{name}: {outcome:?}");
        assert_eq!(outcome.residual, residual(&a, &b, &x), "{name}");
        let error = x.iter().zip(&truth).map(|(x, t)| (x - t).abs());
        assert!(error.fold(0.0, f64::max) < 1e-8, "{name}");
    }
}

#[test]
fn with_a_good_preconditioner_all_are_about_as_fast_as_conjugate_gradients() {
    let (a, b) = half_filled_disc(64);
    let tol = tight(1e-6);
    let mut mic = Mic0::new(&a, Mic0Options::default());
    let mut x = vec![0.0; b.len()];
    let pcg = Pcg::new().solve(&a, &mut mic, &NullSpace::none(), &b, &mut x, &tol);
    let pcg = pcg.expect("a solution").iterations;
    for (name, run) in METHODS.into_iter().filter(|(name, _)| *name != "gmres(5)") {
        let mut x = vec![0.0; b.len()];
        let outcome = run(&a, &mut mic, &NullSpace::none(), &b, &mut x, &tol).expect(name);
        // BiCGStab does the work of two iterations in one.
        assert!(
            outcome.iterations <= pcg + 6,
            "{name}: {outcome:?} against {pcg}"
        );
    }
}

#[test]
fn singular_systems_are_solved_off_their_null_space() {
    let a = sealed_box(12);
    let null_space = NullSpace::constants(a.rows());
    let b = noise(a.rows(), 9); // does not sum to zero
    let mut consistent = b.clone();
    null_space.project(&mut consistent);
    for (name, run) in METHODS {
        let mut mic = Mic0::new(&a, Mic0Options::default());
        let mut x = noise(b.len(), 2);
        let outcome = run(&a, &mut mic, &null_space, &b, &mut x, &tight(1e-9)).expect(name);
        assert!(outcome.converged(), "{name}: {outcome:?}");
        assert!(residual(&a, &consistent, &x) < 1e-8, "{name}");
        assert!(x.iter().sum::<f64>().abs() < 1e-9, "{name}");
    }
}

#[test]
fn two_of_them_do_without_symmetry() {
    // Transport to the right, with some spreading.
    let n = 40;
    let row = |i: usize| {
        let entries = [(i.wrapping_sub(1), -2.0), (i, 3.0), (i + 1, -0.5)];
        entries.into_iter().filter(|&(j, _)| j < n).collect()
    };
    let a = from_rows((0..n).map(row).collect());
    let b = noise(n, 8);
    for (name, run) in METHODS.into_iter().filter(|(name, _)| *name != "cr") {
        let mut x = vec![0.0; n];
        let none = NullSpace::none();
        let outcome = run(&a, &mut Identity, &none, &b, &mut x, &tight(1e-10)).expect(name);
        assert!(outcome.converged(), "{name}: {outcome:?}");
        assert!(residual(&a, &b, &x) < 1e-9, "{name}");
    }
}

#[test]
fn zero_loads_bad_data_and_limits_end_as_they_do_for_conjugate_gradients() {
    let (a, b) = half_filled_disc(16);
    let none = NullSpace::none();
    for (name, run) in METHODS {
        let guess = noise(b.len(), 5);
        let mut x = guess.clone();
        let zero = vec![0.0; b.len()];
        let outcome = run(&a, &mut Identity, &none, &zero, &mut x, &tight(1e-6)).expect(name);
        assert_eq!(
            (outcome.iterations, x.iter().any(|&x| x != 0.0)),
            (0, false),
            "{name}"
        );

        let mut x = guess.clone();
        let mut bad = b.clone();
        bad[3] = f64::INFINITY;
        let error = run(&a, &mut Identity, &none, &bad, &mut x, &tight(1e-6));
        assert!(matches!(error, Err(SolveError::NotFinite { .. })), "{name}");
        let error = run(&a, &mut Identity, &none, &b[1..], &mut x, &tight(1e-6));
        assert!(matches!(error, Err(SolveError::Shape { .. })), "{name}");
        assert_eq!(x, guess, "{name}");

        let short = Tolerance {
            max_iterations: 3,
            ..tight(1e-10)
        };
        let outcome = run(&a, &mut Identity, &none, &b, &mut x, &short).expect(name);
        assert_eq!(
            (outcome.status, outcome.iterations),
            (Status::IterationLimit, 3),
            "{name}"
        );
        assert_eq!(outcome.residual, residual(&a, &b, &x), "{name}");
    }
}

#[test]
fn a_tolerance_beyond_rounding_ends_in_stagnation_with_the_best_found() {
    let (a, b) = half_filled_disc(16);
    for (name, run) in METHODS {
        let mut mic = Mic0::new(&a, Mic0Options::default());
        let mut x = vec![0.0; b.len()];
        let outcome = run(&a, &mut mic, &NullSpace::none(), &b, &mut x, &tight(1e-30));
        let outcome = outcome.expect(name);
        assert_eq!(outcome.status, Status::Stagnated, "{name}: {outcome:?}");
        assert!(outcome.residual < 1e-12, "{name}: {outcome:?}");
    }
}
