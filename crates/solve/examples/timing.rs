//! Times conjugate gradients with MIC(0) on the 7-point Poisson problem, part by part:
//! `cargo run --release -p plash-solve --example timing -- 64 2` (cells per side, threads).
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::time::Instant;

use plash_solve::{
    Csr, Mic0, Mic0Options, NullSpace, Operator, Pcg, Preconditioner, Tolerance, vector,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let side: usize = arguments.next().as_deref().unwrap_or("64").parse()?;
    let threads: usize = arguments.next().as_deref().unwrap_or("1").parse()?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()?;
    pool.install(|| run(side).map_err(|error| error.to_string()))?;
    Ok(())
}

fn run(side: usize) -> Result<(), Box<dyn Error>> {
    let (starts, columns, values) = poisson_in_a_cube(side);
    let unknowns = starts.len() - 1;
    let per_unknown = |name: &str, times: usize, work: &mut dyn FnMut()| {
        let best = (0..times)
            .map(|_| {
                let start = Instant::now();
                work();
                start.elapsed().as_secs_f64()
            })
            .fold(f64::INFINITY, f64::min);
        println!(
            "{name:>24} {:8.2} ns per unknown",
            best * 1e9 / unknowns as f64
        );
        best
    };

    let mut parts = Some((starts, columns, values));
    let mut built = None;
    per_unknown("matrix check", 5, &mut || {
        let (starts, columns, values) = match built.take() {
            Some(Ok(a)) => Csr::into_parts(a),
            _ => parts.take().unwrap_or_default(),
        };
        built = Some(Csr::new(starts, columns, values));
    });
    let a = built.ok_or("no matrix was built")??;
    let mut m = Mic0::new(&a, Mic0Options::default());
    per_unknown("factor", 20, &mut || m.refactor(&a));

    let b: Vec<f64> = (0..unknowns).map(|i| (i as f64 * 0.731).sin()).collect();
    let (mut x, mut y) = (vec![0.0; unknowns], vec![0.0; unknowns]);
    per_unknown("product", 100, &mut || a.apply(&b, &mut y));
    per_unknown("product and dot", 100, &mut || {
        a.apply_dot(&b, &mut y);
    });
    per_unknown("preconditioner", 100, &mut || m.apply(&b, &mut y));
    per_unknown("axpy", 100, &mut || vector::axpy(0.5, &b, &mut y));
    per_unknown("dot", 100, &mut || {
        std::hint::black_box(vector::dot(&b, &y));
    });

    let mut pcg = Pcg::new();
    let tolerance = Tolerance::default();
    let mut outcome = None;
    let seconds = per_unknown("solve", 12, &mut || {
        x.fill(0.0);
        outcome = Some(pcg.solve(&a, &mut m, &NullSpace::none(), &b, &mut x, &tolerance));
    });
    let outcome = outcome.ok_or("nothing was solved")??;
    let per_iteration = seconds * 1e9 / (unknowns * outcome.iterations) as f64;
    println!(
        "{unknowns} unknowns, {} after {} iterations, residual {:.1e}: {:.1} ms, \
         {per_iteration:.2} ns per unknown and iteration",
        outcome.status,
        outcome.iterations,
        outcome.residual,
        seconds * 1e3,
    );
    Ok(())
}

/// The 7-point Laplacian on `side³` points with zero values all around.
fn poisson_in_a_cube(side: usize) -> (Vec<u32>, Vec<u32>, Vec<f64>) {
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    let strides = [side * side, side, 1];
    for i in 0..side * side * side {
        let place = |stride: usize| i / stride % side;
        let below = strides
            .iter()
            .filter(|&&s| place(s) > 0)
            .map(|s| (i - s, -1.0));
        let above = strides
            .iter()
            .rev()
            .filter(|&&s| place(s) + 1 < side)
            .map(|s| (i + s, -1.0));
        for (column, value) in below.chain([(i, 6.0)]).chain(above) {
            columns.push(column as u32);
            values.push(value);
        }
        starts.push(columns.len() as u32);
    }
    (starts, columns, values)
}
