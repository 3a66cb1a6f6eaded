//! Times the viscous solver on the paper's test problem.
//!
//! `cargo run --release -p plash-solve --example viscous -- 128 chebyshev 1e-6 [contrast]`
#![allow(clippy::print_stdout)]

use std::time::Instant;

use plash_solve::Tolerance;
use plash_solve::staggered::{Sine, ViscousOptions, ViscousSolver};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let word = |i: usize, default: &str| args.get(i).map_or(default.to_owned(), Clone::clone);
    let n: usize = word(0, "64").parse().expect("a size");
    let name = word(1, "chebyshev");
    let relative: f64 = word(2, "1e-6").parse().expect("a tolerance");
    let contrast: f64 = word(3, "1").parse().expect("a contrast");
    let mut options = ViscousOptions::default();
    match name.parse() {
        Ok(method) => options.method = method,
        Err(_) => options.smoother = name.parse().expect("a method or a smoother"),
    }
    let tol = Tolerance {
        relative,
        ..Tolerance::default()
    };
    let body = Sine::<3>::graded(n, contrast);
    let mut solver = ViscousSolver::new(options);
    for _ in 0..2 {
        let start = Instant::now();
        solver.assemble(&body);
        let assembled = start.elapsed().as_secs_f64();
        solver.load_rhs(|axis, face| body.load(axis, face));
        let start = Instant::now();
        let outcome = solver.solve(&tol).expect("a solve");
        let solved = start.elapsed().as_secs_f64();
        println!(
            "{name} {n}: {} unknowns, set-up {assembled:.3} s, solve {solved:.3} s, {} iterations, \
             residual {:.2e}, {}",
            solver.unknowns(),
            outcome.iterations,
            outcome.residual,
            outcome.status
        );
    }
}
