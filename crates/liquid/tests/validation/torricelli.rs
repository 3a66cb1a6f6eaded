//! Liquid that leaves a tank through a slit is as fast as if it had fallen from the surface.

use crate::common::{G, run, still, unit_grid, within};
use plash_liquid::shape::Shape;
use plash_liquid::{DomainSide, Setup, Simulation, Solid};

const WALL: f64 = 0.55;
const FLOOR: f64 = 0.125;

fn slab(min: [f64; 2], max: [f64; 2]) -> Solid<2> {
    Solid::new(Shape::Box { min, max })
}

/// A tank on the left with a slit in its right wall; beyond, the jet falls freely and leaves
/// through the open bottom and right side.
fn tank(n: usize) -> Setup<2> {
    let mut setup = Setup::new(unit_grid::<2>(n));
    setup.sides = [
        [DomainSide::Closed, DomainSide::Open],
        [DomainSide::Open, DomainSide::Closed],
    ];
    let thick = WALL + 3.0 / 64.0;
    setup.solids.push(slab([-1.0, -1.0], [thick, FLOOR]));
    setup.solids.push(slab([WALL, -1.0], [thick, 0.3125]));
    setup.solids.push(slab([WALL, 0.40625], [thick, 2.0]));
    setup.liquids.push(still(Shape::Box {
        min: [0.0, FLOOR],
        max: [WALL, 0.9],
    }));
    setup
}

/// The level in the tank, from the volume of its particles.
fn level(simulation: &Simulation<2>) -> f64 {
    let inside = simulation.state().particles.position.iter();
    let count = inside.filter(|x| x[0] < WALL).count() as f64;
    FLOOR + count * simulation.setup().particle_volume() / WALL
}

/// Bernoulli along the jet, wherever it is: `½ v² = g (level − y)` on a path from the surface,
/// where the liquid hardly moves, to a free jet at the same pressure. Half the usual steps:
/// pressure acts once per step on a velocity that lags behind the path's turns, which takes
/// energy in proportion to the step, and streamlines turn sharply into the slit.
#[test]
fn a_jet_has_the_speed_of_free_fall_from_the_surface() {
    let mut simulation = Simulation::new(tank(64));
    let (mut ratio, mut count) = (0.0, 0.0);
    run(&mut simulation, 0.6, |s, report| {
        if report.time < 0.25 {
            return;
        }
        let level = level(s);
        let particles = &s.state().particles;
        for (x, v) in particles.position.iter().zip(&particles.velocity) {
            if x[0] > 0.68 && x[0] < 0.95 && x[1] > 0.05 {
                ratio += v[0].hypot(v[1]) / (2.0 * G * (level - x[1])).sqrt();
                count += 1.0;
            }
        }
    });
    assert!(count > 1000.0, "hardly any jet: {count}");
    let error = ratio / count - 1.0;
    within("Torricelli, relative error of the speed", error, 0.05);
}
