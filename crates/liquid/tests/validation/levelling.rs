//! Waves on deep, thick liquid creep back to level as `e^(−g t / 2 ν k)`, without inertia (Lamb 1932,
//! art. 349): the weight of crests against the stress of a flow that stretches here and squeezes there.

use crate::common::{G, run, state_of, within};
use plash_grid::Grid;
use plash_liquid::shape::Shape;
use plash_liquid::{LiquidVolume, Setup, Simulation, Viscosity};
use std::f64::consts::TAU;

/// Wave length and depth, m, and `ν`, m²/s: `ν k² / √(g k)` is 16.
const LENGTH: f64 = 0.1;
const NU: f64 = 0.1;

/// How many waves there are between the walls, which liquid sticks to and which are felt from afar; the two
/// in the middle count.
const WAVES: usize = 14;

/// Waves with an amplitude of a fortieth of their length.
fn waves(cells: usize, cfl: f64) -> Simulation<2> {
    let dx = LENGTH / cells as f64;
    let grid = Grid::new([WAVES * cells, cells + cells / 4], dx, [0.0; 2]).expect("a grid");
    let mut setup = Setup::new(grid);
    setup.scheme.cfl = cfl;
    // What is simulated is the state below; this says how thick it is.
    setup.liquids.push(LiquidVolume {
        viscosity: Viscosity::Constant(NU * setup.density),
        ..LiquidVolume::new(Shape::Plane {
            point: [0.0, LENGTH],
            normal: [0.0, 1.0],
        })
    });
    let columns = 2 * WAVES * cells;
    let rows = 2 * cells;
    let liquid = (0..columns * rows).map(|i| {
        let x = (0.5 + (i % columns) as f64) * 0.5 * dx;
        let share = (0.5 + (i / columns) as f64) / rows as f64;
        let height = LENGTH + LENGTH / 40.0 * (TAU * x / LENGTH).cos();
        ([x, share * height], [0.0; 2])
    });
    let state = state_of(&setup, liquid);
    Simulation::resume(setup, state)
}

/// The amplitude of the waves in the middle.
fn amplitude(simulation: &Simulation<2>) -> f64 {
    let middle = 0.5 * WAVES as f64 * LENGTH;
    let position = &simulation.state().particles.position;
    let inside = position.iter().filter(|x| (x[0] - middle).abs() < LENGTH);
    let sum: f64 = inside.map(|x| (TAU * x[0] / LENGTH).cos()).sum();
    sum * simulation.setup().particle_volume() / LENGTH
}

fn rate(cells: usize, cfl: f64) -> f64 {
    let mut simulation = waves(cells, cfl);
    let k = TAU / LENGTH;
    let expected = G / (2.0 * NU * k);
    let (mut start, mut end) = ([0.0; 2], [0.0; 2]);
    run(&mut simulation, 1.5 / expected, |s, report| {
        end = [report.time, amplitude(s)];
        if start[0] == 0.0 && report.time > 0.2 / expected {
            start = end;
        }
    });
    (start[1] / end[1]).ln() / (end[0] - start[0]) / expected
}

#[test]
fn thick_waves_creep_back_to_level() {
    for cfl in [1.0, 0.25] {
        let what = format!("waves on thick liquid, CFL {cfl}, rate of decay");
        within(&what, rate(32, cfl) - 1.0, 0.02);
    }
}
