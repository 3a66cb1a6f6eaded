//! A membrane that sags onto an obstacle, with no matrix in sight.
//!
//! The membrane `u` over the unit square is fixed at its rim, loaded downwards, and cannot pass
//! the obstacle `ψ` below it. Its height above the obstacle, `x = u − ψ ≥ 0`, solves
//!
//! ```text
//! 0 ≤ x ⊥ A x − b ≥ 0,   A = −Δ,   b = f − A ψ,
//! ```
//!
//! where the residual `A x − b` is the force with which the obstacle pushes back. The operator is
//! a few lines of code; policy iteration and MPRGP ask for nothing else.
//!
//! Run with `cargo run --release -p plash-solve --example obstacle`.
#![allow(clippy::print_stdout)]

use plash_solve::lcp::{Mprgp, PiOptions, PiPcg};
use plash_solve::{Jacobi, NullSpace, Operator, Policy, Problem, Solution, Tolerance};

/// Points along a side, the rim not counted.
const SIDE: usize = 63;

/// The 5-point Laplacian with zero values around.
struct Membrane;

impl Operator for Membrane {
    fn rows(&self) -> usize {
        SIDE * SIDE
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        let at = |i: usize, j: usize| {
            let inside = i < SIDE && j < SIDE;
            if inside { x[j * SIDE + i] } else { 0.0 }
        };
        for j in 0..SIDE {
            for i in 0..SIDE {
                let around = at(i.wrapping_sub(1), j)
                    + at(i + 1, j)
                    + at(i, j.wrapping_sub(1))
                    + at(i, j + 1);
                y[j * SIDE + i] = stiffness() * (4.0 * at(i, j) - around);
            }
        }
    }

    fn diagonal(&self, _: usize) -> f64 {
        4.0 * stiffness()
    }
}

/// `1/h²`.
fn stiffness() -> f64 {
    ((SIDE + 1) * (SIDE + 1)) as f64
}

/// A hill below the membrane: its height at a point of the unit square.
fn hill([x, y]: [f64; 2]) -> f64 {
    -0.03 - ((x - 0.4).powi(2) + (y - 0.5).powi(2))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let point = |k: usize| [k % SIDE, k / SIDE].map(|i| (i + 1) as f64 / (SIDE + 1) as f64);
    let obstacle: Vec<f64> = (0..SIDE * SIDE).map(|k| hill(point(k))).collect();
    // b = f − A ψ. The rim of x is −ψ, and not zero as the operator has it: its share goes here.
    let mut b = vec![0.0; SIDE * SIDE];
    for (k, b) in b.iter_mut().enumerate() {
        let [x, y] = point(k);
        let h = 1.0 / (SIDE + 1) as f64;
        let mut laplacian = 4.0 * hill([x, y]);
        for (x, y) in [(x - h, y), (x + h, y), (x, y - h), (x, y + h)] {
            let rim = [x, y].iter().any(|&c| c < 0.5 * h || c > 1.0 - 0.5 * h);
            laplacian -= if rim { 0.0 } else { hill([x, y]) };
        }
        *b = -2.0 - stiffness() * laplacian;
    }
    let regular = NullSpace::none();
    let problem = Problem {
        constrained: &[true; SIDE * SIDE],
        ..Problem::linear(&Membrane, &b, &regular)
    };
    let tolerance = Tolerance {
        relative: 1e-8,
        ..Tolerance::default()
    };

    let mut x = vec![0.0; SIDE * SIDE];
    let mut policies = PiPcg::new(PiOptions::default(), Jacobi::default());
    let solution = policies.solve(&problem, &mut Policy::default(), &mut x, &tolerance)?;
    report("policy iteration", &solution);
    let mut z = vec![0.0; SIDE * SIDE];
    let solution = Mprgp::new().solve(&problem, &mut Policy::default(), &mut z, &tolerance)?;
    report("MPRGP", &solution);
    let apart = x
        .iter()
        .zip(&z)
        .fold(0.0, |m, (x, z)| f64::max(m, (x - z).abs()));
    println!("the two differ by {apart:.1e}\n");

    // Every third row: # rests on the hill, . hangs free.
    for j in (0..SIDE).rev().step_by(3) {
        let row = (0..SIDE).map(|i| if x[j * SIDE + i] > 1e-9 { '.' } else { '#' });
        println!("{}", row.collect::<String>());
    }
    let deepest = x
        .iter()
        .zip(&obstacle)
        .map(|(x, o)| x + o)
        .fold(0.0, f64::min);
    println!("\nlowest point of the membrane: {deepest:.4}");
    Ok(())
}

fn report(name: &str, solution: &Solution) {
    println!(
        "{name}: {}, {} iterations, {} points of contact, residual {:.1e}",
        solution.status, solution.iterations, solution.separated, solution.residual
    );
}
