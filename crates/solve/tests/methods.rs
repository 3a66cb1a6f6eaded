//! All methods by name on the same problems.

mod common;

use common::from_rows;
use common::lattice::{Lattice, Tank};
use plash_solve::{
    Csr, Method, MethodOptions, NullSpace, Places, Policy, Problem, SolveError, Solved, Solver,
    Status, SubSolver, Tolerance,
};

fn tolerance(relative: f64) -> Tolerance {
    Tolerance {
        relative,
        max_iterations: 50_000,
        ..Tolerance::default()
    }
}

/// The methods that see constraints.
fn separating() -> impl Iterator<Item = Method> {
    Method::ALL.into_iter().filter(|method| !method.is_linear())
}

/// One cold solve; the solution comes with how it ended.
fn solve(method: Method, problem: &Problem<'_>, relative: f64) -> (Solved, Vec<f64>, Policy) {
    let mut solver = Solver::new(method, MethodOptions::default());
    let (mut x, mut policy) = (vec![0.0; problem.b.len()], Policy::default());
    let solved = solver.solve(problem, &mut policy, &mut x, &tolerance(relative));
    let solved = solved.unwrap_or_else(|error| panic!("{method}: {error}"));
    (solved, x, policy)
}

fn size(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |m, v| f64::max(m, v.abs()))
}

/// Asserts the conditions of the problem, unknown by unknown.
fn assert_solves(method: Method, problem: &Problem<'_>, x: &[f64], relative: f64) {
    let mut y = vec![0.0; x.len()];
    problem.residual(x, &mut y);
    let bound = 1.0001 * relative * size(problem.b);
    for i in 0..x.len() {
        let pushed = problem.a.get(i, i) * x[i];
        if problem.is_constrained(i) {
            let fits = pushed >= -bound && y[i] >= -bound && pushed.min(y[i]) <= bound;
            assert!(fits, "{method}: unknown {i} with {pushed} and {}", y[i]);
        } else {
            assert!(y[i].abs() <= bound, "{method}: residual {i} is {}", y[i]);
        }
    }
}

fn agree_on(name: &str, lattice: &Lattice, skip: &[Method]) {
    let regular = NullSpace::none();
    let problem = lattice.problem(&regular);
    let (truth, reference, policy) = solve(Method::PiPcg, &problem, 1e-13);
    assert!(truth.solution.converged(), "{name}: {truth:?}");
    let (separated, walls) = (truth.solution.separated, lattice.walls());
    let share = separated as f64 / walls as f64;
    assert!(
        (0.1..0.9).contains(&share),
        "{name}: {separated} of {walls}"
    );
    let tol = 1e-8;
    for method in separating().filter(|method| !skip.contains(method)) {
        let (solved, x, found) = solve(method, &problem, tol);
        assert!(solved.solution.converged(), "{name}, {method}: {solved:?}");
        assert!(!solved.fell_back, "{name}, {method}: {solved:?}");
        assert_solves(method, &problem, &x, tol);
        let error = x.iter().zip(&reference).map(|(x, r)| (x - r).abs());
        let error = error.fold(0.0, f64::max) / size(&reference);
        assert!(error < 10.0 * tol, "{name}, {method}: off by {error:e}");
        let other = found.separated.iter().zip(&policy.separated);
        let other = other.filter(|(a, b)| a != b).count();
        assert!(
            other <= walls / 50,
            "{name}, {method}: {other} policies differ"
        );
    }
}

// Full multigrid with a clamping smoother is the baseline that may stall; it makes no promise on
// curved walls, and neither does the full approximation scheme at thin plates.

#[test]
fn all_methods_agree_on_a_splash_in_a_disc() {
    agree_on("disc", &Tank::half_ball(2, 32).build(), &[Method::Fmg]);
}

#[test]
fn all_methods_agree_on_a_splash_in_a_ball() {
    agree_on("ball", &Tank::half_ball(3, 16).build(), &[Method::Fmg]);
}

#[test]
fn all_safe_methods_agree_on_either_side_of_a_thin_plate() {
    let unsafe_ones = [Method::FasMg, Method::Fmg];
    for above in [2, 3] {
        let tank = Tank::half_ball(2, 32).with_plate(above).build();
        agree_on("plate", &tank, &unsafe_ones);
    }
}

#[test]
fn linear_methods_solve_the_sticking_problem() {
    let lattice = Tank::half_ball(2, 32).build();
    let regular = NullSpace::none();
    let problem = lattice.problem(&regular);
    let linear = Problem {
        constrained: &[],
        ..problem
    };
    let (_, reference, _) = solve(Method::PcgMic, &linear, 1e-13);
    for method in Method::ALL {
        let given = if method.is_linear() { problem } else { linear };
        let (solved, x, policy) = solve(method, &given, 1e-9);
        assert!(solved.solution.converged(), "{method}: {solved:?}");
        assert_eq!(solved.solution.separated, 0, "{method}");
        assert_eq!(policy.separated, vec![false; x.len()], "{method}");
        assert_solves(method, &linear, &x, 1e-9);
        let error = x.iter().zip(&reference).map(|(x, r)| (x - r).abs());
        let error = error.fold(0.0, f64::max) / size(&reference);
        assert!(error < 1e-8, "{method}: {error}");
    }
}

#[test]
fn methods_on_a_lattice_ask_for_places_by_name() {
    let lattice = Tank::half_ball(2, 12).build();
    let regular = NullSpace::none();
    let nowhere = Problem {
        places: None,
        ..lattice.problem(&regular)
    };
    for method in Method::ALL {
        let mut solver = Solver::new(method, MethodOptions::default());
        let mut x = vec![0.5; lattice.b.len()];
        let mut policy = Policy::default();
        let solved = solver.solve(&nowhere, &mut policy, &mut x, &tolerance(1e-8));
        if method.needs_places() {
            let method = method.as_str();
            assert_eq!(solved, Err(SolveError::NeedsPlaces { method }));
            assert!(x.iter().all(|&x| x == 0.5), "{method}");
            assert!(solver.prepare(&nowhere).is_err(), "{method}");
        } else {
            assert!(solved.expect("a solution").solution.converged(), "{method}");
        }
    }
}

#[test]
fn automatic_choice_is_fast_and_says_what_it_chose() {
    let lattice = Tank::half_ball(2, 48).build();
    let regular = NullSpace::none();
    let problem = lattice.problem(&regular);
    let (solved, ..) = solve(Method::Auto, &problem, 1e-6);
    assert!(solved.solution.iterations < 30, "{solved:?}");
    let nowhere = Problem {
        places: None,
        ..problem
    };
    let (solved, ..) = solve(Method::Auto, &nowhere, 1e-6);
    assert_eq!((solved.method, solved.fell_back), ("pi-pcg", false));
}

#[test]
fn automatic_choice_returns_the_best_of_what_it_tried() {
    let lattice = Tank::half_ball(2, 32).build();
    let regular = NullSpace::none();
    let problem = lattice.problem(&regular);
    let impossible = Tolerance {
        relative: 1e-30,
        absolute: 0.0,
        max_iterations: 200,
    };
    let mut solver = Solver::new(Method::Auto, MethodOptions::default());
    let (mut x, mut policy) = (vec![0.0; problem.b.len()], Policy::default());
    let solved = solver
        .solve(&problem, &mut policy, &mut x, &impossible)
        .expect("no error");
    assert_ne!(solved.solution.status, Status::Converged);
    let mut y = vec![0.0; x.len()];
    // Methods may sum a row in another order than the matrix does.
    let difference = problem.residual(&x, &mut y) - solved.solution.residual;
    assert!(difference.abs() < 1e-12 * size(problem.b), "{solved:?}");
    assert!(
        solved.solution.residual < 1e-10 * size(problem.b),
        "{solved:?}"
    );
}

#[test]
fn every_sub_solver_of_newton_works_and_few_iterations_do() {
    let lattice = Tank::half_ball(2, 32).build();
    let regular = NullSpace::none();
    let problem = lattice.problem(&regular);
    for sub_solver in SubSolver::ALL {
        let options = MethodOptions {
            sub_solver,
            ..MethodOptions::default()
        };
        let mut solver = Solver::new(Method::Newton, options);
        let mut x = vec![0.0; problem.b.len()];
        let mut policy = Policy::default();
        let solved = solver.solve(&problem, &mut policy, &mut x, &tolerance(1e-6));
        let solution = solved.expect("a solution").solution;
        assert!(solution.converged(), "{sub_solver}: {solution:?}");
        assert!(
            solution.outer_iterations <= 10,
            "{sub_solver}: {solution:?}"
        );
        assert!(solution.iterations <= 200, "{sub_solver}: {solution:?}");
        assert_solves(Method::Newton, &problem, &x, 1e-6);
    }
}

#[test]
fn a_changed_matrix_is_prepared_for() {
    let [small, large] = [16, 32].map(|n| Tank::half_ball(2, n).build());
    let regular = NullSpace::none();
    let slow = [Method::Psor, Method::Fmg];
    for method in separating().filter(|method| !slow.contains(method)) {
        let mut solver = Solver::new(method, MethodOptions::default());
        for lattice in [&small, &large, &small] {
            let problem = lattice.problem(&regular);
            solver.prepare(&problem).expect("prepared");
            let mut x = vec![0.0; problem.b.len()];
            // A policy of another size is no policy.
            let mut policy = Policy {
                separated: vec![true; 7],
            };
            let solved = solver.solve(&problem, &mut policy, &mut x, &tolerance(1e-7));
            assert!(solved.expect("a solution").solution.converged(), "{method}");
            assert_solves(method, &problem, &x, 1e-7);
        }
    }
}

#[test]
fn same_bits_on_one_thread_and_two() {
    let lattice = Tank::half_ball(2, 300).build();
    let regular = NullSpace::none();
    let problem = lattice.problem(&regular);
    assert!(problem.b.len() > plash_solve::vector::SERIAL_BELOW);
    for method in Method::ALL {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.expect("a pool").install(|| {
                let mut solver = Solver::new(method, MethodOptions::default());
                let mut x = vec![0.0; problem.b.len()];
                let mut policy = Policy::default();
                let short = Tolerance {
                    max_iterations: 15,
                    ..Tolerance::default()
                };
                let solved = solver.solve(&problem, &mut policy, &mut x, &short);
                let bits: Vec<u64> = x.iter().map(|x| x.to_bits()).collect();
                (solved.expect("no error"), bits, policy)
            })
        };
        assert!(
            run(1) == run(2),
            "{method} depends on the number of threads"
        );
    }
}

/// A closed row of cells that sees nothing else, all but the third with walls.
fn pocket(n: usize) -> (Csr, Vec<bool>, NullSpace) {
    let rows = (0..n).map(|i| {
        let near: Vec<usize> = [i.wrapping_sub(1), i + 1]
            .into_iter()
            .filter(|&j| j < n)
            .collect();
        let diagonal = (i, near.len() as f64);
        near.iter().map(|&j| (j, -1.0)).chain([diagonal]).collect()
    });
    let walls = (0..n).map(|i| i != 2).collect();
    (from_rows(rows.collect()), walls, NullSpace::constants(n))
}

fn places(n: i32) -> Vec<[i32; 3]> {
    (0..n).map(|i| [i, 0, 0]).collect()
}

/// Solves the pocket by every method and hands over what came out.
fn in_pocket(b: &[f64], look: impl Fn(Method, &[f64], &Solved)) {
    let (a, walls, null_space) = pocket(b.len());
    let at = places(b.len() as i32);
    let problem = Problem {
        constrained: &walls,
        places: Some(plash_solve::Places {
            dimensions: 2,
            at: &at,
        }),
        ..Problem::linear(&a, b, &null_space)
    };
    for method in separating() {
        let (solved, x, _) = solve(method, &problem, 1e-11);
        assert!(solved.solution.converged(), "{method}: {solved:?}");
        look(method, &x, &solved);
    }
}

#[test]
fn an_expanding_pocket_is_resolved_by_separation() {
    let b = [1.0, -0.5, 0.3, -2.0, 0.2, 0.0, -1.0, 0.4];
    let (a, walls, _) = pocket(b.len());
    let regular = NullSpace::none();
    let problem = Problem {
        constrained: &walls,
        ..Problem::linear(&a, &b, &regular)
    };
    in_pocket(&b, |method, x, solved| {
        assert!(solved.solution.separated > 0, "{method}");
        assert_solves(method, &problem, x, 1e-11);
    });
}

#[test]
fn a_balanced_pocket_is_linear_and_touches_its_walls() {
    let b = [1.0, -0.5, 0.3, -2.0, 0.2, 0.0, 0.6, 0.4];
    let (a, walls, _) = pocket(b.len());
    in_pocket(&b, |method, x, _| {
        let least = (0..b.len()).filter(|&i| walls[i]).map(|i| x[i]);
        assert_eq!(least.fold(f64::INFINITY, f64::min), 0.0, "{method}");
        assert!(common::residual(&a, &b, x) < 1e-10, "{method}");
    });
}

#[test]
fn a_compressed_pocket_loses_its_mean_and_nothing_else() {
    let b = [1.0, -0.5, 0.3, 2.0, 0.2, 0.0, 0.6, 0.4];
    let mean = b.iter().sum::<f64>() / b.len() as f64;
    let (a, walls, _) = pocket(b.len());
    in_pocket(&b, |method, x, _| {
        let least = (0..b.len()).filter(|&i| walls[i]).map(|i| x[i]);
        assert_eq!(least.fold(f64::INFINITY, f64::min), 0.0, "{method}");
        let consistent = b.map(|b| b - mean);
        assert!(common::residual(&a, &consistent, x) < 1e-10, "{method}");
    });
}

#[test]
fn a_balanced_pocket_beside_other_liquid_is_not_forgotten() {
    // Cells 0 to 3 are a closed square; 4 and 5, apart from it, touch air and are pulled.
    let square = |i: usize, j: usize, k: usize| vec![(i, 2.0), (j, -1.0), (k, -1.0)];
    let a = common::from_rows(vec![
        square(0, 1, 2),
        square(1, 0, 3),
        square(2, 0, 3),
        square(3, 1, 2),
        vec![(4, 2.0), (5, -1.0)],
        vec![(4, -1.0), (5, 2.0)],
    ]);
    let at = [
        [0, 0, 0],
        [1, 0, 0],
        [0, 1, 0],
        [1, 1, 0],
        [5, 0, 0],
        [6, 0, 0],
    ];
    let null_space = NullSpace::new(vec![vec![0, 1, 2, 3]]);
    let problem = Problem {
        constrained: &[true; 6],
        places: Some(Places {
            dimensions: 2,
            at: &at,
        }),
        ..Problem::linear(&a, &[1.0, -1.0, 1.0, -1.0, -10.0, -10.0], &null_space)
    };
    for method in [Method::Auto, Method::PiMgpcg, Method::PiPcg] {
        let (solved, x, _) = solve(method, &problem, 1e-8);
        assert!(solved.solution.converged(), "{method}: {solved:?}");
        assert!(
            problem.residual(&x, &mut [0.0; 6]) < 1e-6,
            "{method}: {x:?}"
        );
    }
}

#[test]
fn automatic_choice_takes_matrices_that_are_not_for_a_lattice() {
    // Next neighbours but one are coupled too.
    let a = common::from_rows(vec![
        vec![(0, 3.0), (1, -1.0), (2, -0.5)],
        vec![(0, -1.0), (1, 3.0), (2, -1.0)],
        vec![(0, -0.5), (1, -1.0), (2, 3.0)],
    ]);
    let at = [[0, 0, 0], [1, 0, 0], [2, 0, 0]];
    let regular = NullSpace::none();
    let problem = Problem {
        constrained: &[true; 3],
        places: Some(Places {
            dimensions: 2,
            at: &at,
        }),
        ..Problem::linear(&a, &[1.0, -5.0, 2.0], &regular)
    };
    let mut solver = Solver::new(Method::Auto, MethodOptions::default());
    solver.convert(&problem).expect("nothing to convert");
    solver.prepare(&problem).expect("nothing to prepare");
    let (mut x, mut policy) = ([0.0; 3], Policy::default());
    let tol = Tolerance::default();
    let solved = solver.solve(&problem, &mut policy, &mut x, &tol);
    let solved = solved.expect("a solution");
    assert!(
        solved.solution.converged() && solved.fell_back,
        "{solved:?}"
    );
}
