//! Liquid so thick that it moves as one: at rest, in free fall, and turning.

use crate::common::{G, below, run, still, unit_grid, within};
use plash_liquid::shape::Shape;
use plash_liquid::{LiquidVolume, Setup, Simulation, Transfer, Viscosity, ViscousMethod};

fn block<const D: usize>(min: [f64; D], max: [f64; D], viscosity: f64) -> LiquidVolume<D> {
    LiquidVolume {
        viscosity: Viscosity::Constant(viscosity),
        ..still(Shape::Box { min, max })
    }
}

/// A block as hard as rock stands in a corner, with an edge and a corner of its own, where no share
/// of liquid determines the faces that hang on to it. None of its particles may stir.
fn rock_stands_still<const D: usize>(n: usize) {
    for method in [ViscousMethod::Mgpcg, ViscousMethod::PcgIc] {
        let mut setup = Setup::new(unit_grid::<D>(n));
        setup.scheme.viscosity.method = method;
        setup.liquids.push(block([0.0; D], [0.5; D], 1e9));
        let mut simulation = Simulation::new(setup);
        let mut fastest: f64 = 0.0;
        for _ in 0..4 {
            let report = simulation.step(0.02, &mut ()).expect("a step");
            fastest = fastest.max(report.max_speed);
        }
        below(&format!("{D}D rock in a corner, {method}"), fastest, 1e-5);
    }
}

#[test]
fn rock_stands_still_2d() {
    rock_stands_still::<2>(16);
}

#[test]
fn rock_stands_still_3d() {
    rock_stands_still::<3>(10);
}

/// Separating walls let go of thick liquid as they do of water: a block that hangs from the ceiling, or
/// just below it by a gap in cell sides, clear of all other walls, falls freely, and nothing stays behind.
fn thick_liquid_falls_from_the_ceiling<const D: usize>(n: usize, viscosity: f64, gap: f64) {
    let mut setup = Setup::new(unit_grid::<D>(n));
    let (mut min, mut max) = ([0.3; D], [0.7; D]);
    (min[1], max[1]) = (0.7, 1.0 - gap / n as f64);
    setup.liquids.push(block(min, max, viscosity));
    let mut simulation = Simulation::new(setup);
    let mean = |s: &Simulation<D>| {
        let position = &s.state().particles.position;
        position.iter().map(|x| x[1]).sum::<f64>() / position.len() as f64
    };
    let start = mean(&simulation);
    let (mut speed, mut fallen) = (0.0, 0.0);
    run(&mut simulation, 0.25, |_, report| {
        speed += G * report.dt;
        fallen += speed * report.dt;
    });
    let error = (start - mean(&simulation)) / fallen - 1.0;
    let what = format!("{D}D {viscosity:e} Pa s fall from {gap} cells below a ceiling");
    within(&what, error, 0.02);
    let positions = &simulation.state().particles.position;
    let high = |x: &&[f64; D]| x[1] > 1.0 - 0.9 * fallen;
    assert_eq!(positions.iter().filter(high).count(), 0, "left behind");
}

#[test]
fn thick_liquid_falls_from_the_ceiling_2d() {
    for viscosity in [10.0, 1e4, 1e6] {
        for gap in [0.0, 0.5, 0.8] {
            thick_liquid_falls_from_the_ceiling::<2>(32, viscosity, gap);
        }
    }
}

#[test]
fn thick_liquid_falls_from_the_ceiling_3d() {
    for viscosity in [10.0, 1e6] {
        for gap in [0.0, 0.6] {
            thick_liquid_falls_from_the_ceiling::<3>(16, viscosity, gap);
        }
    }
}

/// Angular momentum about the middle, and the second moments across and along.
fn turning(simulation: &Simulation<2>) -> (f64, f64) {
    let particles = &simulation.state().particles;
    let (mut momentum, mut inertia, mut moments) = (0.0, 0.0, [0.0; 3]);
    for (x, u) in particles.position.iter().zip(&particles.velocity) {
        let r = x.map(|x| x - 0.5);
        momentum += r[0] * u[1] - r[1] * u[0];
        inertia += r[0] * r[0] + r[1] * r[1];
        moments[0] += r[0] * r[0];
        moments[1] += r[1] * r[1];
        moments[2] += r[0] * r[1];
    }
    let [xx, yy, xy] = moments;
    let apart = f64::hypot(xx - yy, 2.0 * xy) / inertia;
    (momentum / inertia, apart)
}

/// A disc that turns in empty space, `ν T/R² = 10`: after a revolution it turns as fast as before and
/// is as round. Short steps, since advection and projection in turn slow rotation in proportion to
/// the step, viscous or not; affine transfers, since those of FLIP gain or lose as much at the rim.
#[test]
fn a_thick_disc_keeps_turning_and_stays_round() {
    let (omega, radius) = (2.0 * std::f64::consts::PI, 0.3);
    let mut setup = Setup::new(unit_grid::<2>(64));
    setup.gravity = [0.0; 2];
    setup.scheme.cfl = 0.1;
    setup.scheme.transfer = Transfer::Apic;
    let disc = Shape::Sphere {
        center: [0.5; 2],
        radius,
    };
    setup.liquids.push(LiquidVolume {
        viscosity: Viscosity::Constant(10.0 * radius * radius * setup.density),
        ..still(disc)
    });
    let mut simulation = Simulation::new(setup);
    let mut state = simulation.state().clone();
    for (x, u) in (state.particles.position.iter()).zip(&mut state.particles.velocity) {
        *u = [-omega * (x[1] - 0.5), omega * (x[0] - 0.5)];
    }
    simulation = Simulation::resume(simulation.setup().clone(), state);
    run(&mut simulation, 1.0, |_, _| {});
    let (found, apart) = turning(&simulation);
    within("thick disc, speed of turning", found / omega - 1.0, 0.02);
    below("thick disc, second moments apart", apart, 0.02);
}
