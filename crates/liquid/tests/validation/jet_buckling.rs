//! A sheet of thick liquid that meets a plate folds if it is slow and slender enough: for
//! `Re = U D/ν` below `√((1 − (8.8 D/H)^2.6)/π)` (Tomé and McKee 1999, a fit to the experiments of
//! Cruickshank and Munson 1981).

use crate::common::{above, below, run};
use plash_grid::{Cell, Grid};
use plash_liquid::shape::Shape;
use plash_liquid::{LiquidVolume, Setup, Simulation, Source, Viscosity};

/// The height of fall over the width of the jet.
const FALL: i32 = 12;

/// Cells across the jet.
const CELLS: i32 = 8;

/// Width of the box over that of the jet.
const WIDTH: i32 = 10;

fn critical(slenderness: f64) -> f64 {
    ((1.0 - (8.8 / slenderness).powf(2.6)) / std::f64::consts::PI).sqrt()
}

/// A jet of width and speed one that has just met the floor, leaning by a hundredth. Gravity
/// takes the heap away, `U²/g D = 3`; it is not in the law.
fn jet(reynolds: f64) -> Simulation<2> {
    let dx = 1.0 / f64::from(CELLS);
    let cells = [(WIDTH * CELLS) as usize, (FALL * CELLS + 4) as usize];
    let grid = Grid::new(cells, dx, [-0.5 * f64::from(WIDTH), 0.0]).expect("a grid");
    let mut setup = Setup::new(grid);
    setup.gravity = [0.0, -0.3];
    let viscosity = Viscosity::Constant(setup.density / reynolds);
    let top = f64::from(FALL);
    setup.sources.push(Source {
        velocity: [0.01, -1.0],
        viscosity,
        ..Source::new(Shape::Box {
            min: [-0.5, top],
            max: [0.5, top + 4.0 * dx],
        })
    });
    setup.liquids.push(LiquidVolume {
        velocity: [0.0, -1.0],
        viscosity,
        ..LiquidVolume::new(Shape::Box {
            min: [-0.5, 0.5],
            max: [0.5, top],
        })
    });
    Simulation::new(setup)
}

/// How far the centre line is from the axis where the jet is still a jet: in slices of its
/// width's height that are less than two widths full.
fn deflection(simulation: &Simulation<2>) -> f64 {
    let density = simulation.occupancy().density();
    let slice = |k: i32| {
        let (mut mass, mut moment) = (0.0, 0.0);
        for j in k * CELLS..(k + 1) * CELLS {
            for i in 0..WIDTH * CELLS {
                let share = density[Cell([i, j])];
                mass += share;
                moment += share * (f64::from(2 * i + 1 - WIDTH * CELLS) / f64::from(2 * CELLS));
            }
        }
        (mass / f64::from(CELLS * CELLS), moment / mass)
    };
    let jet = (0..FALL).map(slice).filter(|s| (0.1..2.0).contains(&s.0));
    jet.fold(0.0, |most, (_, at)| most.max(at.abs()))
}

/// The largest deflection in twice the time it takes to fall from the source.
fn most_deflected(reynolds: f64) -> f64 {
    let mut simulation = jet(reynolds);
    let mut most: f64 = 0.0;
    run(&mut simulation, 2.0 * f64::from(FALL), |s, _| {
        most = most.max(deflection(s));
    });
    most
}

#[test]
fn a_slow_jet_buckles() {
    assert!((critical(12.0) - 0.419_758).abs() < 1e-4, "the reference");
    let found = most_deflected(0.7 * critical(f64::from(FALL)));
    above(
        "jet at 0.7 of the critical Re, deflection over its width",
        found,
        0.35,
    );
}

#[test]
fn a_faster_jet_does_not_buckle() {
    let found = most_deflected(1.4 * critical(f64::from(FALL)));
    below(
        "jet at 1.4 of the critical Re, deflection over its width",
        found,
        0.15,
    );
}
