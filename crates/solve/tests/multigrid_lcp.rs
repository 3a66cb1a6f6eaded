//! The multigrid methods for complementarity problems, against each other and against the
//! conditions that define a solution.

mod common;

use common::lattice::{Lattice, Tank};
use plash_solve::galerkin::{Boundary, Interpolation, Options};
use plash_solve::lcp::{FasMg, FasOptions, Fmg, FmgOptions, PeMg, PiMg, Tnnmg};
use plash_solve::{NullSpace, Operator, Policy, Problem, Solution, SolveError, Status, Tolerance};

type Solve<'a> = dyn FnMut(&Problem<'_>, &mut Policy, &mut [f64], &Tolerance) -> Result<Solution, SolveError>
    + 'a;

/// The methods that must converge on everything here.
fn methods() -> Vec<(&'static str, Box<Solve<'static>>)> {
    let (mut fas, mut pi, mut pe) = (FasMg::default(), PiMg::default(), PeMg::default());
    let (mut tnnmg, mut fmg) = (Tnnmg::default(), Fmg::default());
    vec![
        ("fas-mg", Box::new(move |p, s, x, t| fas.solve(p, s, x, t))),
        ("pi-mg", Box::new(move |p, s, x, t| pi.solve(p, s, x, t))),
        ("pe-mg", Box::new(move |p, s, x, t| pe.solve(p, s, x, t))),
        ("tnnmg", Box::new(move |p, s, x, t| tnnmg.solve(p, s, x, t))),
        ("fmg", Box::new(move |p, s, x, t| fmg.solve(p, s, x, t))),
    ]
}

fn cold(
    solve: &mut Solve<'_>,
    lattice: &Lattice,
    tolerance: &Tolerance,
) -> (Solution, Vec<f64>, Policy) {
    let null_space = NullSpace::none();
    let (mut x, mut policy) = (vec![0.0; lattice.b.len()], Policy::default());
    let solution = solve(
        &lattice.problem(&null_space),
        &mut policy,
        &mut x,
        tolerance,
    )
    .expect("no error");
    (solution, x, policy)
}

fn count(solve: &mut Solve<'_>, tank: Tank) -> usize {
    let (solution, ..) = cold(solve, &tank.build(), &Tolerance::default());
    assert!(solution.converged(), "{solution:?}");
    solution.iterations
}

fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |m, v| f64::max(m, v.abs()))
}

/// Asserts the conditions of a solution, unknown by unknown.
fn assert_complementary(lattice: &Lattice, x: &[f64], slack: f64, name: &str) {
    let mut y = vec![0.0; x.len()];
    lattice.a.apply(x, &mut y);
    for i in 0..x.len() {
        let y = y[i] - lattice.b[i];
        let scaled = lattice.a.diagonal(i) * x[i];
        if lattice.constrained[i] {
            assert!(scaled >= -slack && y >= -slack, "{name}: {scaled} {y}");
            assert!(scaled.min(y) <= slack, "{name}: {scaled} ⟂ {y}");
        } else {
            assert!(y.abs() <= slack, "{name}: {y}");
        }
    }
}

#[test]
fn all_methods_find_the_one_solution() {
    for tank in [
        Tank::half_ball(2, 48),
        Tank::half_ball(2, 40).with_plate(3),
        Tank::half_ball(3, 20).with_plate(2),
    ] {
        let lattice = tank.build();
        let tolerance = Tolerance {
            relative: 1e-9,
            max_iterations: 100,
            ..Tolerance::default()
        };
        let slack = tolerance.relative * largest(&lattice.b);
        let mut first: Option<Vec<f64>> = None;
        for (name, mut solve) in methods() {
            let (solution, x, policy) = cold(&mut *solve, &lattice, &tolerance);
            assert!(solution.converged(), "{name}: {solution:?}");
            assert!(solution.residual <= slack, "{name}");
            assert_complementary(&lattice, &x, slack, name);
            let separated = policy.separated.iter().filter(|&&s| s).count();
            assert_eq!(separated, solution.separated, "{name}");
            assert!(separated * 20 > lattice.walls(), "{name}: nothing let go");
            let reference = first.get_or_insert_with(|| x.clone());
            let apart = x.iter().zip(reference.iter()).map(|(a, b)| (a - b).abs());
            let apart = apart.fold(0.0, f64::max);
            assert!(apart <= 1e-6 * largest(&x), "{name}: {apart:e}");
        }
    }
}

#[test]
fn truncated_cycles_do_not_depend_on_the_mesh() {
    let (mut tnnmg, mut pi) = (Tnnmg::default(), PiMg::default());
    for plate in [None, Some(0), Some(1)] {
        let tank = |dimensions, cells| {
            let tank = Tank::half_ball(dimensions, cells);
            plate.map_or(tank, |above| tank.with_plate(above))
        };
        for (dimensions, small, large) in [(2, 32, 128), (3, 24, 48)] {
            let counts = |solve: &mut Solve<'_>| {
                [small, large].map(|cells| count(solve, tank(dimensions, cells)))
            };
            let found = counts(&mut |p, s, x, t| tnnmg.solve(p, s, x, t));
            assert!(found[1] <= found[0] + 2 && found[1] <= 11, "{found:?}");
            let found = counts(&mut |p, s, x, t| pi.solve(p, s, x, t));
            assert!(found[1] <= found[0] + 4 && found[1] <= 13, "{found:?}");
        }
    }
}

#[test]
fn the_full_approximation_scheme_needs_few_cycles_in_three_dimensions() {
    for plate in [None, Some(1)] {
        let tank = Tank::half_ball(3, 32);
        let tank = plate.map_or(tank, |above| tank.with_plate(above));
        let mut fas = FasMg::default();
        let found = count(&mut |p, s, x, t| fas.solve(p, s, x, t), tank);
        assert!(found <= 12, "{found}");
    }
}

#[test]
fn crude_interpolation_costs_many_cycles() {
    let lattice = Tank::half_ball(3, 24).build();
    let run = |interpolation| {
        let mut fas = FasMg::new(FasOptions {
            hierarchy: Options {
                interpolation,
                ..Options::default()
            },
            patience: usize::MAX,
            ..FasOptions::default()
        });
        cold(
            &mut |p, s, x, t| fas.solve(p, s, x, t),
            &lattice,
            &Tolerance::default(),
        )
        .0
        .iterations
    };
    let barycentric = run(Interpolation::Barycentric);
    assert!(run(Interpolation::Trilinear) <= barycentric + 2);
    assert!(run(Interpolation::Constant) > 2 * barycentric);
}

#[test]
fn a_scheme_that_stagnates_says_so_and_returns_its_best() {
    let lattice = Tank::half_ball(2, 64).build();
    let mut fas = FasMg::new(FasOptions {
        hierarchy: Options {
            interpolation: Interpolation::Constant,
            ..Options::default()
        },
        patience: 4,
        ..FasOptions::default()
    });
    let (solution, x, _) = cold(
        &mut |p, s, x, t| fas.solve(p, s, x, t),
        &lattice,
        &Tolerance::default(),
    );
    assert_eq!(solution.status, Status::Stagnated);
    assert!(solution.residual < solution.initial_residual);
    assert!(x.iter().all(|x| x.is_finite()) && largest(&x) > 0.0);
}

#[test]
fn scaling_the_problem_changes_no_count() {
    let lattice = Tank::half_ball(2, 40).build();
    let (starts, columns, values) = lattice.a.clone().into_parts();
    let scaled = Lattice {
        a: plash_solve::Csr::new(starts, columns, values.iter().map(|v| v * 1024.0).collect())
            .expect("a matrix"),
        b: lattice.b.iter().map(|b| b / 4096.0).collect(),
        constrained: lattice.constrained.clone(),
        dimensions: lattice.dimensions,
        at: lattice.at.clone(),
    };
    for (name, mut solve) in methods() {
        let (plain, ..) = cold(&mut *solve, &lattice, &Tolerance::default());
        let (other, ..) = cold(&mut *solve, &scaled, &Tolerance::default());
        assert_eq!(plain.iterations, other.iterations, "{name}");
        assert_eq!(plain.separated, other.separated, "{name}");
    }
}

#[test]
fn a_solution_is_recognised_and_a_policy_saves_work() {
    let lattice = Tank::half_ball(2, 64).build();
    let null_space = NullSpace::none();
    let problem = lattice.problem(&null_space);
    for (name, mut solve) in methods() {
        let (solution, mut x, mut policy) = cold(&mut *solve, &lattice, &Tolerance::default());
        let again = solve(&problem, &mut policy, &mut x, &Tolerance::default()).expect("no error");
        assert_eq!(again.iterations, 0, "{name}");
        assert_eq!(again.separated, solution.separated, "{name}");
    }
    let mut pi = PiMg::default();
    let (cold_start, _, mut policy) = cold(
        &mut |p, s, x, t| pi.solve(p, s, x, t),
        &lattice,
        &Tolerance::default(),
    );
    let mut x = vec![0.0; lattice.b.len()];
    let warm = pi
        .solve(&problem, &mut policy, &mut x, &Tolerance::default())
        .expect("no error");
    assert!(warm.converged() && warm.outer_iterations < cold_start.outer_iterations);
}

#[test]
fn a_changed_matrix_is_noticed_without_being_told() {
    let (one, two) = (
        Tank::half_ball(2, 40).build(),
        Tank::half_ball(2, 40).with_plate(2).build(),
    );
    for (name, mut solve) in methods() {
        let (before, ..) = cold(&mut *solve, &one, &Tolerance::default());
        assert!(before.converged(), "{name}: {before:?}");
        let (after, x, _) = cold(&mut *solve, &two, &Tolerance::default());
        assert!(after.converged(), "{name}: {after:?}");
        assert_complementary(&two, &x, 1e-6 * largest(&two.b), name);
    }
}

#[test]
fn linear_problems_and_closed_pockets_are_solved_too() {
    let mut lattice = Tank::full_ball(2, 48).build();
    let null_space = NullSpace::constants(lattice.b.len());
    lattice.constrained.clear();
    null_space.project(&mut lattice.b);
    let problem = lattice.problem(&null_space);
    for (name, mut solve) in methods() {
        let (mut x, mut policy) = (vec![0.0; lattice.b.len()], Policy::default());
        let solution =
            solve(&problem, &mut policy, &mut x, &Tolerance::default()).expect("no error");
        assert!(solution.converged(), "{name}: {solution:?}");
        assert_eq!(solution.separated, 0, "{name}");
        assert!(x.iter().sum::<f64>().abs() < 1e-6 * largest(&x) * x.len() as f64);
    }
}

#[test]
fn an_expanding_pocket_lets_go_of_its_walls() {
    let mut lattice = Tank::full_ball(2, 32).build();
    let n = lattice.b.len();
    let mean = lattice.b.iter().sum::<f64>() / n as f64;
    lattice.b.iter_mut().for_each(|b| *b -= mean + 0.5);
    let floating = NullSpace::constants(n);
    let none = NullSpace::none();
    for (name, mut solve) in methods() {
        // Policies must be told what floats; sweeps find out by themselves.
        let told = matches!(name, "pi-mg" | "pe-mg");
        let problem = lattice.problem(if told { &floating } else { &none });
        let (mut x, mut policy) = (vec![0.0; n], Policy::default());
        let solution =
            solve(&problem, &mut policy, &mut x, &Tolerance::default()).expect("no error");
        assert!(solution.converged(), "{name}: {solution:?}");
        assert!(solution.separated > 0, "{name}");
        assert_complementary(&lattice, &x, 1e-6 * largest(&lattice.b), name);
    }
}

#[test]
fn the_published_full_cycle_reports_what_it_reached() {
    let lattice = Tank::half_ball(2, 128).build();
    let mut fmg = Fmg::new(FmgOptions::published());
    let (solution, x, _) = cold(
        &mut |p, s, x, t| fmg.solve(p, s, x, t),
        &lattice,
        &Tolerance {
            max_iterations: 30,
            ..Tolerance::default()
        },
    );
    let null_space = NullSpace::none();
    let mut y = vec![0.0; x.len()];
    let residual = lattice.problem(&null_space).residual(&x, &mut y);
    assert_eq!(residual, solution.residual);
    assert!(residual < solution.initial_residual);
    assert_eq!(solution.status, Status::IterationLimit);
}

#[test]
fn bad_input_is_an_error_and_leaves_the_guess_alone() {
    let mut lattice = Tank::half_ball(2, 24).build();
    let n = lattice.b.len();
    let null_space = NullSpace::none();
    let mut all = methods();
    for (name, solve) in &mut all {
        let problem = Problem {
            places: None,
            ..lattice.problem(&null_space)
        };
        let (mut x, mut policy) = (vec![1.0; n], Policy::default());
        let tolerance = Tolerance::default();
        let error = solve(&problem, &mut policy, &mut x, &tolerance).expect_err("no places");
        assert_eq!(error, SolveError::NeedsPlaces { method: name });
        assert_eq!((x, policy), (vec![1.0; n], Policy::default()), "{name}");
    }
    lattice.b[3] = f64::NAN;
    for (name, solve) in &mut all {
        let (mut x, mut policy) = (vec![1.0; n], Policy::default());
        let problem = lattice.problem(&null_space);
        let error = solve(&problem, &mut policy, &mut x, &Tolerance::default());
        assert!(matches!(error, Err(SolveError::NotFinite { .. })), "{name}");
        assert_eq!(x, vec![1.0; n], "{name}");
    }
}

#[test]
fn nothing_to_do_takes_no_iteration() {
    let mut lattice = Tank::half_ball(2, 24).build();
    lattice.b.fill(0.0);
    for (name, mut solve) in methods() {
        let (solution, x, _) = cold(&mut *solve, &lattice, &Tolerance::default());
        assert_eq!((solution.iterations, solution.residual), (0, 0.0), "{name}");
        assert!(x.iter().all(|&x| x == 0.0), "{name}");
    }
}

#[test]
fn simple_boundaries_are_no_way_to_treat_a_thin_plate() {
    let lattice = Tank::half_ball(2, 64).with_plate(1).build();
    let run = |boundary| {
        let mut fas = FasMg::new(FasOptions {
            hierarchy: Options {
                boundary,
                ..Options::default()
            },
            patience: usize::MAX,
            ..FasOptions::default()
        });
        let tolerance = Tolerance {
            max_iterations: 60,
            ..Tolerance::default()
        };
        cold(
            &mut |p, s, x, t| fas.solve(p, s, x, t),
            &lattice,
            &tolerance,
        )
        .0
    };
    let (one_sided, simple) = (run(Boundary::OneSided), run(Boundary::Simple));
    assert!(one_sided.converged());
    assert!(simple.iterations >= 2 * one_sided.iterations, "{simple:?}");
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let lattice = Tank::half_ball(3, 36).build();
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("a pool").install(|| {
            methods()
                .into_iter()
                .map(|(_, mut solve)| cold(&mut *solve, &lattice, &Tolerance::default()).1)
                .collect::<Vec<_>>()
        })
    };
    assert_eq!(run(1), run(2));
}
