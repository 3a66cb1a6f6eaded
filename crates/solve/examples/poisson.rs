//! A Poisson problem on a graph, with no grid in sight: the electric potential in a network of
//! unit resistors, a random web of points in the plane, with a battery between two of them.
//!
//! `cargo run --release -p plash-solve --example poisson`
#![allow(clippy::print_stdout)]

use std::error::Error;

use plash_solve::{Csr, Mic0, Mic0Options, NullSpace, Operator, Pcg, Tolerance};

const POINTS: usize = 4000;
const REACH: f64 = 0.04;

fn main() -> Result<(), Box<dyn Error>> {
    // Points along a spiral: evenly spread, numbered outwards.
    let points: Vec<[f64; 2]> = (0..POINTS)
        .map(|k| {
            let (radius, angle) = (
                (k as f64 / POINTS as f64).sqrt(),
                2.399_963_229_7 * k as f64,
            );
            [radius * angle.cos(), radius * angle.sin()]
        })
        .collect();
    let a = laplacian_of_neighbours(&points)?;

    // One ampere in at the centre, out at the rim. Currents sum to zero, as they must where no
    // point is earthed; the potential is then known up to a constant.
    let mut current = vec![0.0; POINTS];
    (current[0], current[POINTS - 1]) = (1.0, -1.0);

    let mut potential = vec![0.0; POINTS];
    let outcome = Pcg::new().solve(
        &a,
        &mut Mic0::new(&a, Mic0Options::default()),
        &NullSpace::constants(POINTS),
        &current,
        &mut potential,
        &Tolerance {
            relative: 1e-10,
            ..Tolerance::default()
        },
    )?;

    let resistance = potential[0] - potential[POINTS - 1];
    println!(
        "{} points, {} resistors",
        POINTS,
        (a.nonzeros() - POINTS) / 2
    );
    println!(
        "{} after {} iterations, residual {:.1e} A",
        outcome.status, outcome.iterations, outcome.residual
    );
    println!("centre to rim: {resistance:.4} ohm");

    // The power the battery gives is the power the resistors take: uᵀA u = uᵀ i.
    let mut i = vec![0.0; POINTS];
    let power = a.apply_dot(&potential, &mut i);
    println!("power spent: {power:.4} W");
    Ok(())
}

/// The graph Laplacian of all pairs of points closer than [`REACH`].
fn laplacian_of_neighbours(points: &[[f64; 2]]) -> Result<Csr, Box<dyn Error>> {
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for (i, p) in points.iter().enumerate() {
        let near = |q: &[f64; 2]| (p[0] - q[0]).hypot(p[1] - q[1]) < REACH;
        let row: Vec<usize> = (0..points.len()).filter(|&j| near(&points[j])).collect();
        let degree = (row.len() - 1) as f64;
        columns.extend(row.iter().map(|&j| j as u32));
        values.extend(row.iter().map(|&j| if j == i { degree } else { -1.0 }));
        starts.push(columns.len() as u32);
    }
    Ok(Csr::new(starts, columns, values)?)
}
