//! The complementarity methods, one by one, against the truth.

mod common;

use common::{from_rows, noise, random_dominant};
use plash_solve::lcp::{
    Mprgp, Newton, NewtonOptions, PePcg, PiOptions, PiPcg, Psor, RestrictedMic,
};
use plash_solve::{
    Csr, Jacobi, NullSpace, Operator, Policy, Problem, Solution, SolveError, Status, SubSolver,
    Tolerance,
};

/// A method of this file as a function of the problem, the guess and the tolerance.
type Run<A> =
    fn(&Problem<'_, A>, &mut Policy, &mut [f64], &Tolerance) -> Result<Solution, SolveError>;

fn newton(sub_solver: SubSolver) -> Newton {
    let options = NewtonOptions {
        sub_solver,
        ..NewtonOptions::default()
    };
    Newton::new(options, RestrictedMic::default())
}

/// All methods for stored matrices.
const STORED: [(&str, Run<Csr>); 10] = [
    ("pi-pcg", |p, q, x, t| {
        PiPcg::<RestrictedMic>::default().solve(p, q, x, t)
    }),
    ("pi-pcg exact", |p, q, x, t| {
        let exact = PiOptions {
            inner_tolerance: 0.0,
        };
        PiPcg::new(exact, RestrictedMic::default()).solve(p, q, x, t)
    }),
    ("pe-pcg", |p, q, x, t| {
        PePcg::<RestrictedMic>::default().solve(p, q, x, t)
    }),
    ("newton", |p, q, x, t| {
        newton(SubSolver::Pcg).solve(p, q, x, t)
    }),
    ("newton gmres", |p, q, x, t| {
        newton(SubSolver::Gmres).solve(p, q, x, t)
    }),
    ("newton bicgstab", |p, q, x, t| {
        newton(SubSolver::BiCgStab).solve(p, q, x, t)
    }),
    ("newton cr", |p, q, x, t| {
        newton(SubSolver::Cr).solve(p, q, x, t)
    }),
    ("mprgp", |p, q, x, t| Mprgp::new().solve(p, q, x, t)),
    ("psor", |p, q, x, t| Psor::new(1.5).solve(p, q, x, t)),
    ("gauss-seidel", |p, q, x, t| {
        Psor::new(1.0).solve(p, q, x, t)
    }),
];

/// Those that ask for products alone.
fn matrix_free<A: Operator>() -> [(&'static str, Run<A>); 4] {
    [
        ("pi-pcg", |p, q, x, t| {
            PiPcg::<Jacobi>::default().solve(p, q, x, t)
        }),
        ("pe-pcg", |p, q, x, t| {
            PePcg::<Jacobi>::default().solve(p, q, x, t)
        }),
        ("newton", |p, q, x, t| {
            Newton::<Jacobi>::default().solve(p, q, x, t)
        }),
        ("mprgp", |p, q, x, t| Mprgp::new().solve(p, q, x, t)),
    ]
}

fn tight(relative: f64) -> Tolerance {
    Tolerance {
        relative,
        max_iterations: 100_000,
        ..Tolerance::default()
    }
}

/// Solves the dense system of the unknowns in `keep`, the others zero, by Gaussian elimination.
fn dense_solve(a: &Csr, b: &[f64], keep: &[usize]) -> Vec<f64> {
    let n = keep.len();
    let mut m: Vec<Vec<f64>> = keep
        .iter()
        .map(|&i| keep.iter().map(|&j| a.get(i, j)).chain([b[i]]).collect())
        .collect();
    for k in 0..n {
        let pivot_row = m[k].clone();
        for row in m.iter_mut().skip(k + 1) {
            let factor = row[k] / pivot_row[k];
            for (value, above) in row.iter_mut().zip(&pivot_row) {
                *value -= factor * above;
            }
        }
    }
    let mut x = vec![0.0; b.len()];
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|j| m[k][j] * x[keep[j]]).sum();
        x[keep[k]] = (m[k][n] - known) / m[k][k];
    }
    x
}

/// The solution, found by trying every active set.
fn by_brute_force(problem: &Problem<'_>) -> Vec<f64> {
    let walls: Vec<usize> = (0..problem.b.len())
        .filter(|&i| problem.is_constrained(i))
        .collect();
    assert!(walls.len() <= 12, "too many sets to try");
    for set in 0..1_u32 << walls.len() {
        let held = |i: usize| {
            let at = walls.iter().position(|&w| w == i);
            at.is_some_and(|k| set >> k & 1 == 1)
        };
        let keep: Vec<usize> = (0..problem.b.len()).filter(|&i| !held(i)).collect();
        let x = dense_solve(problem.a, problem.b, &keep);
        let mut y = vec![0.0; x.len()];
        problem.residual(&x, &mut y);
        if walls.iter().all(|&i| x[i] >= -1e-13 && y[i] >= -1e-13) {
            return x;
        }
    }
    panic!("a positive definite problem has a solution");
}

fn some(n: usize, share: f64, most: usize, seed: u64) -> Vec<bool> {
    let mut left = most;
    noise(n, seed)
        .into_iter()
        .map(|v| {
            let chosen = v + 0.5 < share && left > 0;
            left -= usize::from(chosen);
            chosen
        })
        .collect()
}

/// Asserts the conditions of the problem, unknown by unknown.
fn assert_solves<A: Operator>(name: &str, problem: &Problem<'_, A>, x: &[f64], relative: f64) {
    let mut y = vec![0.0; x.len()];
    problem.residual(x, &mut y);
    let size = problem.b.iter().fold(0.0, |m, b| f64::max(m, b.abs()));
    let bound = 1.0001 * relative * size;
    for i in 0..x.len() {
        let pushed = problem.a.diagonal(i) * x[i];
        if problem.is_constrained(i) {
            assert!(pushed >= -bound, "{name}: unknown {i} is {pushed}");
            assert!(y[i] >= -bound, "{name}: residual {i} is {}", y[i]);
            assert!(
                pushed.min(y[i]) <= bound,
                "{name}: {i} is not complementary: {pushed}, {}",
                y[i]
            );
        } else {
            assert!(y[i].abs() <= bound, "{name}: residual {i} is {}", y[i]);
        }
    }
}

#[test]
fn every_method_finds_the_solution_that_trying_all_active_sets_finds() {
    for seed in 0..6 {
        let n = 10 + 3 * seed as usize;
        let a = random_dominant(n, 0.3, true, seed);
        let b: Vec<f64> = noise(n, seed + 50).iter().map(|v| 20.0 * v - 1.0).collect();
        let regular = NullSpace::none();
        let problem = Problem {
            constrained: &some(n, 0.6, 12, seed + 9),
            ..Problem::linear(&a, &b, &regular)
        };
        let truth = by_brute_force(&problem);
        let at_zero = (0..n).filter(|&i| problem.is_constrained(i) && truth[i] == 0.0);
        let at_zero = at_zero.count();
        assert!(at_zero > 0, "seed {seed} touches no constraint");
        for (name, run) in STORED.into_iter().chain(matrix_free()) {
            let (mut x, mut policy) = (vec![0.0; n], Policy::default());
            let solution = run(&problem, &mut policy, &mut x, &tight(1e-13))
                .unwrap_or_else(|error| panic!("{name}, seed {seed}: {error}"));
            assert!(solution.converged(), "{name}, seed {seed}: {solution:?}");
            assert_eq!(solution.separated, at_zero, "{name}, seed {seed}");
            let error = x.iter().zip(&truth);
            let error = error.fold(0.0, |m, (x, t)| f64::max(m, (x - t).abs()));
            assert!(error < 1e-10, "{name}, seed {seed}: off by {error}");
            assert_solves(name, &problem, &x, 1e-13);
        }
    }
}

/// A taut string of `n` beads over the floor, known by what it does; no matrix.
struct Taut {
    beads: usize,
    stiffness: f64,
}

impl Operator for Taut {
    fn rows(&self) -> usize {
        self.beads
    }
    fn apply(&self, x: &[f64], y: &mut [f64]) {
        for i in 0..x.len() {
            let left = if i > 0 { x[i - 1] } else { 0.0 };
            let right = x.get(i + 1).copied().unwrap_or(0.0);
            y[i] = self.stiffness * (2.0 * x[i] - left - right);
        }
    }
    fn diagonal(&self, _: usize) -> f64 {
        2.0 * self.stiffness
    }
}

/// Lifted in the left half, pressed down in the right one.
fn load(n: usize) -> Vec<f64> {
    let sign = |i: usize| if i < n / 2 { 1.0 } else { -1.0 };
    (0..n).map(|i| sign(i) * (1.0 + 0.1 * i as f64)).collect()
}

#[test]
fn products_alone_suffice_and_agree_with_the_stored_matrix() {
    let n = 60;
    let string = Taut {
        beads: n,
        stiffness: 7.0,
    };
    let rows = (0..n).map(|i| {
        let near = [(i.wrapping_sub(1), -7.0), (i, 14.0), (i + 1, -7.0)];
        near.into_iter().filter(|&(j, _)| j < n).collect()
    });
    let stored = from_rows(rows.collect());
    let (b, regular) = (load(n), NullSpace::none());
    let constrained = vec![true; n];
    let on_products = Problem {
        constrained: &constrained,
        ..Problem::linear(&string, &b, &regular)
    };
    let on_entries = Problem {
        constrained: &constrained,
        ..Problem::linear(&stored, &b, &regular)
    };
    for ((name, free), (_, full)) in matrix_free().into_iter().zip(matrix_free()) {
        let (mut x, mut z) = (vec![0.0; n], vec![0.0; n]);
        let mut policy = Policy::default();
        let tol = tight(1e-10);
        let on_products = free(&on_products, &mut policy, &mut x, &tol).expect(name);
        let on_entries = full(&on_entries, &mut Policy::default(), &mut z, &tol).expect(name);
        assert!(
            on_products.converged() && on_products.separated > 0,
            "{name}"
        );
        assert_eq!(on_products.separated, on_entries.separated, "{name}");
        let difference = x
            .iter()
            .zip(&z)
            .fold(0.0, |m, (x, z)| f64::max(m, (x - z).abs()));
        assert!(difference < 1e-7, "{name}: {difference}");
    }
}

/// A problem of medium size with a good share of touched constraints.
fn medium(scale_a: f64, scale_b: f64) -> (Csr, Vec<f64>, Vec<bool>) {
    let a = common::dirichlet_square(20);
    let n = a.rows();
    let (starts, columns, values) = a.into_parts();
    let values = values.iter().map(|v| scale_a * v).collect();
    let a = Csr::new(starts, columns, values).expect("a matrix");
    let b = (0..n)
        .map(|i| scale_b * ((i % 20) as f64 * 0.5).sin() * ((i / 20) as f64 * 0.3).cos())
        .collect();
    (a, b, (0..n).map(|i| i % 3 != 1).collect())
}

#[test]
fn scaling_matrix_or_load_changes_no_iteration_count() {
    let regular = NullSpace::none();
    for (name, run) in STORED {
        let counts = [(1.0, 1.0), (1000.0, 1.0), (1.0, 1000.0), (1e-3, 1e3)].map(|(a, b)| {
            let (a, b, constrained) = medium(a, b);
            let problem = Problem {
                constrained: &constrained,
                ..Problem::linear(&a, &b, &regular)
            };
            let mut x = vec![0.0; b.len()];
            let solution = run(&problem, &mut Policy::default(), &mut x, &tight(1e-7)).expect(name);
            assert!(solution.converged(), "{name}: {solution:?}");
            assert_solves(name, &problem, &x, 1e-7);
            (
                solution.iterations,
                solution.outer_iterations,
                solution.separated,
            )
        });
        assert!(counts.iter().all(|c| *c == counts[0]), "{name}: {counts:?}");
    }
}

#[test]
fn methods_without_an_order_do_not_see_a_permutation() {
    let (a, b, constrained) = medium(1.0, 1.0);
    let n = b.len();
    let to = |i: usize| (i * 7 + 3) % n;
    let mut rows = vec![Vec::new(); n];
    for i in 0..n {
        let (columns, values) = a.row(i);
        let entries = columns.iter().zip(values);
        rows[to(i)] = entries.map(|(&j, &v)| (to(j as usize), v)).collect();
    }
    let permuted = from_rows(rows);
    let (mut c, mut walls) = (vec![0.0; n], vec![false; n]);
    for i in 0..n {
        c[to(i)] = b[i];
        walls[to(i)] = constrained[i];
    }
    let regular = NullSpace::none();
    let here = Problem {
        constrained: &constrained,
        ..Problem::linear(&a, &b, &regular)
    };
    let there = Problem {
        constrained: &walls,
        ..Problem::linear(&permuted, &c, &regular)
    };
    for (name, run) in matrix_free() {
        let (mut x, mut z) = (vec![0.0; n], vec![0.0; n]);
        let one = run(&here, &mut Policy::default(), &mut x, &tight(1e-9)).expect(name);
        let two = run(&there, &mut Policy::default(), &mut z, &tight(1e-9)).expect(name);
        assert_eq!(one.iterations, two.iterations, "{name}");
        assert_eq!(one.outer_iterations, two.outer_iterations, "{name}");
        for i in 0..n {
            assert!((x[i] - z[to(i)]).abs() < 1e-7, "{name}: unknown {i}");
        }
    }
}

#[test]
fn nothing_constrained_and_everything_constrained_are_ordinary() {
    let (a, b, _) = medium(1.0, 1.0);
    let regular = NullSpace::none();
    let truth = common::dense_cholesky(&a, &b);
    let everything = vec![true; b.len()];
    let nothing = vec![false; b.len()];
    for (name, run) in STORED {
        for constrained in [&[][..], &nothing] {
            let problem = Problem {
                constrained,
                ..Problem::linear(&a, &b, &regular)
            };
            let (mut x, mut policy) = (vec![0.0; b.len()], Policy::default());
            let solution = run(&problem, &mut policy, &mut x, &tight(1e-10)).expect(name);
            assert!(solution.converged() && solution.separated == 0, "{name}");
            assert_eq!(policy.separated, nothing, "{name}");
            let error = x.iter().zip(&truth).map(|(x, t)| (x - t).abs());
            assert!(error.fold(0.0, f64::max) < 1e-8, "{name}");
        }
        let problem = Problem {
            constrained: &everything,
            ..Problem::linear(&a, &b, &regular)
        };
        let mut x = vec![0.0; b.len()];
        let solution = run(&problem, &mut Policy::default(), &mut x, &tight(1e-9)).expect(name);
        assert!(
            solution.converged() && solution.separated > 50,
            "{name}: {solution:?}"
        );
        assert_solves(name, &problem, &x, 1e-9);
    }
}

#[test]
fn a_zero_load_has_the_zero_solution_whatever_the_guess() {
    let (a, b, constrained) = medium(1.0, 0.0);
    let regular = NullSpace::none();
    let problem = Problem {
        constrained: &constrained,
        ..Problem::linear(&a, &b, &regular)
    };
    for (name, run) in STORED {
        let mut x = noise(b.len(), 3);
        let solution = run(&problem, &mut Policy::default(), &mut x, &tight(1e-9)).expect(name);
        assert_eq!(
            (solution.status, solution.iterations),
            (Status::Converged, 0),
            "{name}"
        );
        assert!(x.iter().all(|&x| x == 0.0), "{name}");
    }
}

#[test]
fn a_solution_given_as_the_guess_costs_nothing() {
    let (a, b, constrained) = medium(1.0, 1.0);
    let regular = NullSpace::none();
    let problem = Problem {
        constrained: &constrained,
        ..Problem::linear(&a, &b, &regular)
    };
    for (name, run) in STORED {
        let (mut x, mut policy) = (vec![0.0; b.len()], Policy::default());
        let first = run(&problem, &mut policy, &mut x, &tight(1e-9)).expect(name);
        assert!(first.iterations > 1, "{name}");
        let before = x.clone();
        let again = run(&problem, &mut policy, &mut x, &tight(1.1e-9)).expect(name);
        // MPRGP cuts infeasible guesses and needs a gradient before it can tell.
        assert!(
            again.converged() && again.iterations <= 1,
            "{name}: {again:?}"
        );
        let moved = x.iter().zip(&before).map(|(x, z)| (x - z).abs());
        assert!(moved.fold(0.0, f64::max) < 1e-8, "{name}");
    }
}

#[test]
fn a_policy_from_before_saves_policies() {
    let (a, mut b, constrained) = medium(1.0, 1.0);
    let regular = NullSpace::none();
    let (mut x, mut policy) = (vec![0.0; b.len()], Policy::default());
    let exact = PiOptions {
        inner_tolerance: 0.0,
    };
    let mut pi = PiPcg::new(exact, RestrictedMic::default());
    let problem = Problem {
        constrained: &constrained,
        ..Problem::linear(&a, &b, &regular)
    };
    let cold = pi
        .solve(&problem, &mut policy, &mut x, &tight(1e-9))
        .expect("cold");
    b.iter_mut().for_each(|b| *b *= 1.01);
    let problem = Problem {
        constrained: &constrained,
        ..Problem::linear(&a, &b, &regular)
    };
    let warm = pi
        .solve(&problem, &mut policy, &mut x, &tight(1e-9))
        .expect("warm");
    assert!(warm.converged() && warm.outer_iterations == 1, "{warm:?}");
    assert!(cold.outer_iterations > 2, "{cold:?}");
}

#[test]
fn bad_data_are_errors_and_leave_guess_and_policy_alone() {
    let (a, b, constrained) = medium(1.0, 1.0);
    let n = b.len();
    let regular = NullSpace::none();
    let good = Problem {
        constrained: &constrained,
        ..Problem::linear(&a, &b, &regular)
    };
    let mut nan = b.clone();
    nan[7] = f64::NAN;
    let indefinite = from_rows(vec![vec![(0, 1.0), (1, 3.0)], vec![(0, 3.0), (1, 1.0)]]);
    let unfit = NullSpace::constants(n + 1);
    for (name, run) in STORED {
        let refuse = |problem: &Problem<'_>, guess: &[f64]| {
            let (mut x, mut policy) = (guess.to_vec(), Policy::default());
            policy.separated = vec![true; 3];
            let error = run(problem, &mut policy, &mut x, &tight(1e-9));
            let error = error.map(|s| panic!("{name}: {s:?}")).unwrap_err();
            let same = x.iter().zip(guess).all(|(x, g)| x.to_bits() == g.to_bits());
            assert!(same, "{name}: {error} after touching the guess");
            assert_eq!(policy.separated, [true; 3], "{name}");
            error
        };
        let guess = noise(n, 1);
        let problem = Problem { b: &nan, ..good };
        assert!(matches!(
            refuse(&problem, &guess),
            SolveError::NotFinite { .. }
        ));
        let mut bad_guess = guess.clone();
        bad_guess[n - 1] = f64::INFINITY;
        assert!(matches!(
            refuse(&good, &bad_guess),
            SolveError::NotFinite { .. }
        ));
        assert!(matches!(
            refuse(&good, &guess[1..]),
            SolveError::Shape { .. }
        ));
        let problem = Problem { b: &b[1..], ..good };
        assert!(matches!(refuse(&problem, &guess), SolveError::Shape { .. }));
        let problem = Problem {
            constrained: &constrained[1..],
            ..good
        };
        assert!(matches!(refuse(&problem, &guess), SolveError::Shape { .. }));
        let problem = Problem {
            null_space: &unfit,
            ..good
        };
        assert!(matches!(refuse(&problem, &guess), SolveError::Shape { .. }));
        let problem = Problem {
            a: &indefinite,
            b: &[1.0, -2.0],
            constrained: &[],
            ..good
        };
        if !name.contains("gmres") && !name.contains("bicgstab") {
            refuse(&problem, &[0.0, 0.0]); // the other two can solve it
        }
    }
}

#[test]
fn running_out_of_iterations_is_a_status() {
    let (a, b, constrained) = medium(1.0, 1.0);
    let regular = NullSpace::none();
    let problem = Problem {
        constrained: &constrained,
        ..Problem::linear(&a, &b, &regular)
    };
    for (name, run) in STORED {
        let tol = Tolerance {
            max_iterations: 3,
            ..tight(1e-12)
        };
        let mut x = vec![0.0; b.len()];
        let solution = run(&problem, &mut Policy::default(), &mut x, &tol).expect(name);
        assert_eq!(solution.status, Status::IterationLimit, "{name}");
        assert!(
            (3..=4).contains(&solution.iterations),
            "{name}: {solution:?}"
        );
        let mut y = vec![0.0; b.len()];
        assert_eq!(problem.residual(&x, &mut y), solution.residual, "{name}");
    }
}
