//! All methods for stored matrices on one complementarity problem, compared.
//!
//! The problem is a string of beads between two pegs over a floor: some beads are lifted, some
//! weighed down until they lie on the floor. The matrix is stored in compressed sparse rows, and
//! the dispatcher picks each method by name.
//!
//! Run with `cargo run --release -p plash-solve --example csr_lcp`.
#![allow(clippy::print_stdout)]

use plash_solve::{
    Csr, Method, MethodOptions, NullSpace, Policy, Problem, Solver, SubSolver, Tolerance,
};

const BEADS: usize = 200;

/// The stiffness matrix `tridiag(−1, 2, −1)`.
fn string() -> Result<Csr, plash_solve::MatrixError> {
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..BEADS {
        for j in i.saturating_sub(1)..=(i + 1).min(BEADS - 1) {
            columns.push(j as u32);
            values.push(if i == j { 2.0 } else { -1.0 });
        }
        starts.push(columns.len() as u32);
    }
    Csr::new(starts, columns, values)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let a = string()?;
    let b: Vec<f64> = (0..BEADS).map(|i| (0.1 * i as f64).sin() - 0.2).collect();
    let regular = NullSpace::none();
    let problem = Problem {
        constrained: &[true; BEADS],
        ..Problem::linear(&a, &b, &regular)
    };
    let tolerance = Tolerance {
        relative: 1e-9,
        max_iterations: 100_000,
        ..Tolerance::default()
    };
    println!("method          status       iterations  outer  on the floor  residual");
    let methods = Method::ALL.into_iter();
    let methods = methods.filter(|method| !method.needs_places() && !method.is_linear());
    let runs = methods.flat_map(|method| {
        // Newton comes with a choice of sub-solvers.
        let choices = if method == Method::Newton { 4 } else { 1 };
        SubSolver::ALL[..choices].iter().map(move |s| (method, *s))
    });
    for (method, sub_solver) in runs {
        let options = MethodOptions {
            sub_solver,
            ..MethodOptions::default()
        };
        let (mut x, mut policy) = (vec![0.0; BEADS], Policy::default());
        let mut solver = Solver::new(method, options);
        let solution = solver
            .solve(&problem, &mut policy, &mut x, &tolerance)?
            .solution;
        let name = match method {
            Method::Newton => format!("{method} {sub_solver}"),
            _ => method.to_string(),
        };
        println!(
            "{name:15} {:12} {:10} {:6} {:13}  {:.1e}",
            solution.status.to_string(),
            solution.iterations,
            solution.outer_iterations,
            solution.separated,
            solution.residual
        );
    }
    Ok(())
}
