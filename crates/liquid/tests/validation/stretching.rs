//! A body of thick liquid that hangs from a ceiling stretches by its weight. It is slender, so its
//! cross-section `A` and speed `w` obey Trouton's law with inertia,
//!
//! ```text
//! ρ A Dw/Dt = ρ g A + ∂z(η A ∂z w),      η = 4μ for a sheet, 3μ for a thread
//! ```
//!
//! It takes pressure and viscosity in step: one after the other they give 2μ for both.

use crate::common::{G, run, within};
use plash_grid::Grid;
use plash_liquid::shape::Shape;
use plash_liquid::{LiquidVolume, Setup, Simulation, Viscosity, Wall};

/// Of honey, Pa·s and kg/m³.
const VISCOSITY: f64 = 20.0;
const DENSITY: f64 = 1400.0;

/// What hangs, m: its length and, across, half of its width.
const LENGTH: f64 = 0.06;
const HALF: f64 = 0.007;

/// How long, s.
const TIME: f64 = 0.1;

/// By how much the tip sinks, by the law with `η/ρ = factor ν`: segments of equal mass, stepped
/// implicitly until neither more of them nor more steps change the third digit.
fn sunk(factor: f64) -> f64 {
    let (segments, steps) = (120, 2000);
    let (dz, dt) = (LENGTH / f64::from(segments), TIME / f64::from(steps));
    let segments = segments as usize;
    let nu = factor * VISCOSITY / DENSITY;
    // By segment, how often it is as long as it was; by its lower end, the speed.
    let (mut stretch, mut speed) = (vec![1.0; segments], vec![0.0; segments]);
    for _ in 0..steps {
        let tie: Vec<f64> = stretch.iter().map(|s| dt * nu / (s * s * dz)).collect();
        let mass = |i: usize| if i + 1 == segments { 0.5 * dz } else { dz };
        let next = |i: usize| tie.get(i + 1).copied().unwrap_or(0.0);
        // Elimination from the top, whose end is held.
        let (mut pivot, mut rhs) = (vec![0.0; segments], vec![0.0; segments]);
        for i in 0..segments {
            pivot[i] = mass(i) + tie[i] + next(i);
            rhs[i] = mass(i) * (speed[i] + G * dt);
            if i > 0 {
                let share = tie[i] / pivot[i - 1];
                pivot[i] -= share * tie[i];
                rhs[i] += share * rhs[i - 1];
            }
        }
        for i in (0..segments).rev() {
            let below = speed.get(i + 1).map_or(0.0, |below| next(i) * below);
            speed[i] = (rhs[i] + below) / pivot[i];
        }
        for i in 0..segments {
            let above = if i > 0 { speed[i - 1] } else { 0.0 };
            stretch[i] += dt * (speed[i] - above) / dz;
        }
    }
    stretch.iter().map(|s| (s - 1.0) * dz).sum()
}

#[test]
fn the_law_is_integrated_well() {
    // Without viscosity it falls freely but for what is held.
    let free = 0.5 * G * TIME * TIME;
    within(
        "law without viscosity, free fall",
        sunk(1e-9) / free - 1.0,
        1e-3,
    );
    // Found with 400 segments and 6700 steps by other code.
    within("law for a sheet, m", sunk(4.0) - 0.0287, 5e-5);
}

/// Sinks a sheet, or a thread, of so many cells across the box; the error of its tip's way.
fn error<const D: usize>(cells: usize, cfl: f64) -> f64 {
    let dx = 0.12 / cells as f64;
    let across = (0.035 / dx).round() as usize;
    let extent = std::array::from_fn(|a| if a == 1 { cells } else { across });
    let grid = Grid::new(extent, dx, [0.0; D]).expect("a grid");
    let mut setup = Setup::new(grid);
    setup.density = DENSITY;
    setup.scheme.cfl = cfl;
    setup.walls = [[Wall::Slip; 2]; D];
    let middle = 0.5 * dx * across as f64;
    let end = |y: f64| std::array::from_fn(|a| if a == 1 { y } else { middle });
    let shape = if D == 2 {
        let corner = |side: f64, y: f64| {
            std::array::from_fn(|a| if a == 1 { y } else { middle + side * HALF })
        };
        Shape::Box {
            min: corner(-1.0, 0.12 - LENGTH),
            max: corner(1.0, 0.13),
        }
    } else {
        Shape::Cylinder {
            from: end(0.12 - LENGTH),
            to: end(0.13),
            radius: HALF,
        }
    };
    setup.liquids.push(LiquidVolume {
        viscosity: Viscosity::Constant(VISCOSITY),
        ..LiquidVolume::new(shape)
    });
    let mut simulation = Simulation::new(setup);
    let tip = |s: &Simulation<D>| {
        let heights = s.state().particles.position.iter().map(|x| x[1]);
        heights.fold(f64::INFINITY, f64::min)
    };
    let start = tip(&simulation);
    run(&mut simulation, TIME, |_, _| {});
    let factor = if D == 2 { 4.0 } else { 3.0 };
    (start - tip(&simulation)) / sunk(factor) - 1.0
}

#[test]
fn a_sheet_stretches_by_trouton_s_law() {
    within("sheet, way of its tip, CFL 1", error::<2>(96, 1.0), 0.12);
    within(
        "sheet, way of its tip, CFL 0.25",
        error::<2>(96, 0.25),
        0.05,
    );
}

#[test]
fn a_thread_stretches_by_trouton_s_law() {
    within("thread, way of its tip, CFL 1", error::<3>(64, 1.0), 0.1);
    within(
        "thread, way of its tip, CFL 0.25",
        error::<3>(64, 0.25),
        0.05,
    );
}
