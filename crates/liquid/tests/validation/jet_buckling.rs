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

/// How far the centre line is from the axis, at most, where the jet is still a jet: in slices of its
/// width's height that are less than two widths full. To the right it is positive.
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
    jet.fold(
        0.0,
        |most: f64, (_, at)| {
            if at.abs() > most.abs() { at } else { most }
        },
    )
}

/// This far to a side, in widths, is a fold, if the next one is on the other side.
const FOLD: f64 = 0.2;

/// How often the jet changes sides in four times the time it takes to fall from the source, at two
/// lengths of the step. A jet that merely leans to a side, as fast ones do, has no folds.
fn folds(factor: f64) -> [u32; 2] {
    [1.0, 0.25].map(|cfl| {
        let mut setup = jet(factor * critical(f64::from(FALL))).setup().clone();
        setup.scheme.cfl = cfl;
        let mut simulation = Simulation::new(setup);
        let (mut side, mut folds) = (0.0, 0);
        run(&mut simulation, 4.0 * f64::from(FALL), |s, _| {
            let found = deflection(s);
            if found.abs() > FOLD && found.signum() != side {
                folds += u32::from(side != 0.0);
                side = found.signum();
            }
        });
        folds
    })
}

#[test]
fn a_slow_jet_buckles() {
    assert!((critical(12.0) - 0.419_758).abs() < 1e-4, "the reference");
    for (found, cfl) in folds(0.7).into_iter().zip(["1", "0.25"]) {
        let what = format!("jet at 0.7 of the critical Re, CFL {cfl}, folds");
        above(&what, f64::from(found), 4.0);
    }
}

#[test]
fn a_faster_jet_does_not_buckle() {
    for (found, cfl) in folds(1.4).into_iter().zip(["1", "0.25"]) {
        let what = format!("jet at 1.4 of the critical Re, CFL {cfl}, folds");
        below(&what, f64::from(found), 1.0);
    }
}
