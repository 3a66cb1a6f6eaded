//! A heap of thick liquid spreads over a floor: Huppert (1982, J. Fluid Mech. 121, 43). A volume
//! of `q` per unit width on either side reaches `x = 1.4112 (g q³/3ν)^(1/5) t^(1/5)`, once it is
//! much wider than high.

use crate::common::within;
use plash_grid::{Cell, Grid};
use plash_liquid::shape::Shape;
use plash_liquid::{LiquidVolume, Setup, Simulation, Viscosity};

/// Kinematic viscosity where `q = 1 m²` and `g = 1 m/s²`: inertia plays no part after the start.
const NU: f64 = 0.3;

fn front(gravity: f64, q: f64, nu: f64, time: f64) -> f64 {
    1.4112 * (gravity * q.powi(3) / (3.0 * nu) * time).powf(0.2)
}

/// A block, 2 m wide and 1 m high, on the floor of a box that it will not reach the sides of.
fn heap(cells_per_metre: usize, reach: f64) -> Simulation<2> {
    let half = ((reach + 0.3) * cells_per_metre as f64).ceil() as usize;
    let dx = 1.0 / cells_per_metre as f64;
    let cells = [2 * half, cells_per_metre + 6];
    let grid = Grid::new(cells, dx, [-(half as f64) * dx, 0.0]).expect("a grid");
    let mut setup = Setup::new(grid);
    setup.gravity = [0.0, -1.0];
    setup.liquids.push(LiquidVolume {
        viscosity: Viscosity::Constant(NU * setup.density),
        ..LiquidVolume::new(Shape::Box {
            min: [-1.0, 0.0],
            max: [1.0, 1.0],
        })
    });
    Simulation::new(setup)
}

/// The depth of the liquid, in cells, column by column.
fn depths(simulation: &Simulation<2>) -> Vec<f64> {
    let [columns, rows] = simulation.setup().grid.cells();
    let density = simulation.occupancy().density();
    let depth = |i: usize| (0..rows).map(|j| density[Cell([i as i32, j as i32])]).sum();
    (0..columns).map(depth).collect()
}

/// Half the width over which the liquid is a cell deep or more.
fn reach(depths: &[f64], dx: f64) -> f64 {
    // From the outside to where the depth passes one, between columns.
    let edge = |depths: &mut dyn Iterator<Item = &f64>| {
        let mut before = 0.0;
        for (i, &depth) in depths.enumerate() {
            if depth >= 1.0 {
                return i as f64 - (depth - 1.0) / (depth - before);
            }
            before = depth;
        }
        f64::NAN
    };
    let out = edge(&mut depths.iter()) + edge(&mut depths.iter().rev());
    0.5 * dx * (depths.len() as f64 - 1.0 - out)
}

/// Slope and mean of a straight line through points.
fn line(points: &[[f64; 2]]) -> (f64, [f64; 2]) {
    let count = points.len() as f64;
    let mean = [0, 1].map(|k| points.iter().map(|p| p[k]).sum::<f64>() / count);
    let sum = |f: &dyn Fn([f64; 2]) -> f64| -> f64 {
        points
            .iter()
            .map(|p| f([p[0] - mean[0], p[1] - mean[1]]))
            .sum()
    };
    (sum(&|[x, y]| x * y) / sum(&|[x, _]| x * x), mean)
}

#[test]
fn a_heap_of_thick_liquid_spreads_as_huppert_says() {
    assert!(
        (front(9.81, 0.25, 0.1, 1.0) / 1.23389 - 1.0).abs() < 1e-4,
        "the reference"
    );
    let end = 3.6;
    let mut simulation = heap(20, end);
    let dx = simulation.setup().grid.dx();
    let mut points = Vec::new();
    loop {
        let dt = simulation.suggest_dt(1e9);
        simulation.step(dt, &mut ()).expect("a step");
        let time = simulation.state().time;
        assert!(time < 2.0 * 110.0, "the heap does not get there");
        let depths = depths(&simulation);
        let x = reach(&depths, dx);
        if x > end {
            break;
        }
        // Thin enough for the theory.
        if dx * depths[depths.len() / 2] < 0.2 * x {
            points.push([time.ln(), (x / front(1.0, 1.0, NU, time)).ln()]);
        }
    }
    let span = points[points.len() - 1][0] - points[0][0];
    assert!(span > 5f64.ln(), "too short a time: {span}");
    let (slope, mean) = line(&points);
    within("Huppert's current, exponent less 1/5", slope, 0.01);
    within("Huppert's current, prefactor", mean[1].exp() - 1.0, 0.08);
}
