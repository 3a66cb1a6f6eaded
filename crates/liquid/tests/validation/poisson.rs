//! Manufactured pressures: the order of the cut-cell, ghost-fluid Poisson solve.

use crate::common::{above, at_cells, at_faces, project, unit_grid};
use plash_liquid::shape::Shape;
use plash_liquid::solids::Solids;
use plash_liquid::{Setup, Solid};

/// Liquid between a solid ball and a free surface around it.
const INNER: f64 = 0.17;
const OUTER: f64 = 0.41;

/// The centre of both, a little elsewhere for each `place`: errors depend on how cells are
/// cut, so orders are taken from averages over several places.
fn center<const D: usize>(place: usize) -> [f64; D] {
    let along = 0.0037 * place as f64;
    std::array::from_fn(|a| 0.5 + [0.013, -0.007, 0.011][a] + along * [1.0, 0.7, -0.6][a])
}

/// `ψ = (R² − |x − c|²) e^y cos 2x`, zero on the free surface, and its gradient.
fn potential<const D: usize>(center: [f64; D], x: [f64; D]) -> (f64, [f64; D]) {
    let d: [f64; D] = std::array::from_fn(|a| x[a] - center[a]);
    let shell = OUTER * OUTER - d.iter().map(|d| d * d).sum::<f64>();
    let factor = x[1].exp() * (2.0 * x[0]).cos();
    let mut gradient: [f64; D] = std::array::from_fn(|a| -2.0 * d[a] * factor);
    gradient[0] -= shell * 2.0 * x[1].exp() * (2.0 * x[0]).sin();
    gradient[1] += shell * factor;
    (shell * factor, gradient)
}

/// Pressure errors on `n^D` cells: root mean square and largest.
#[derive(Clone, Copy)]
struct Errors {
    rms: f64,
    max: f64,
}

/// Projects `∇ψ + v`, with `v` a translation that the solid shares: what must be left is
/// `v`, and the pressure must be `ψ`, since `∂q/∂n = ∂ψ/∂n` on the ball.
fn solve<const D: usize>(n: usize, place: usize) -> Errors {
    let grid = unit_grid::<D>(n);
    let center = center(place);
    let ball = |radius| Shape::Sphere { center, radius };
    let mut setup = Setup::new(grid);
    setup.solids.push(Solid::new(ball(INNER)));
    let mut solids = Solids::new(&setup);
    let drift: [f64; D] = std::array::from_fn(|a| [0.3, -0.2, 0.1][a]);
    *solids.velocity_mut() = at_faces(&grid, |_| drift);
    let phi = at_cells(&grid, |x| ball(OUTER).distance(x));
    let u = at_faces(&grid, |x| {
        let (_, gradient) = potential(center, x);
        std::array::from_fn(|a| gradient[a] + drift[a])
    });
    let after = project(&solids, &phi, u, &grid);
    assert_eq!(after.report.status, "converged");
    let (mut max, mut squares, mut count) = (0.0f64, 0.0, 0.0);
    for cell in grid.all_cells().filter(|&c| after.wet[c] == 1) {
        let error = (after.q[cell] - potential(center, cell.center(&grid)).0).abs();
        max = max.max(error);
        squares += error * error;
        count += 1.0;
    }
    Errors {
        rms: f64::sqrt(squares / count),
        max,
    }
}

/// The mean of the rms errors and the largest error over several places.
fn errors<const D: usize>(n: usize, places: usize) -> Errors {
    let all: Vec<Errors> = (0..places).map(|place| solve::<D>(n, place)).collect();
    Errors {
        rms: all.iter().map(|e| e.rms).sum::<f64>() / places as f64,
        max: all.iter().fold(0.0, |m, e| m.max(e.max)),
    }
}

/// Order 2 in the mean. At single cells the floor under θ (a hundredth of a cell) leaves an
/// error of first order with a small factor, so the largest error falls a little slower.
fn pressure_is_of_second_order<const D: usize>(n: usize, places: usize) {
    let (coarse, fine) = (errors::<D>(n, places), errors::<D>(4 * n, places));
    let order = |coarse: f64, fine: f64| (coarse / fine).log2() / 2.0;
    let name = |what: &str| format!("{D}D Poisson {n}..{}, order of {what} error", 4 * n);
    above(&name("rms"), order(coarse.rms, fine.rms), 1.9);
    above(&name("largest"), order(coarse.max, fine.max), 1.7);
}

#[test]
fn pressure_is_of_second_order_2d() {
    pressure_is_of_second_order::<2>(32, 6);
}

#[test]
fn pressure_is_of_second_order_3d() {
    pressure_is_of_second_order::<3>(12, 3);
}
