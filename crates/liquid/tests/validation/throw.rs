//! Liquid thrown against gravity and against walls comes off them.

use crate::common::{G, above, around, below, run, unit_grid};
use plash_liquid::shape::Shape;
use plash_liquid::{LiquidVolume, Setup, Simulation, Wall};

fn mean_height<const D: usize>(simulation: &Simulation<D>) -> f64 {
    let position = &simulation.state().particles.position;
    position.iter().map(|x| x[1]).sum::<f64>() / position.len() as f64
}

/// A pool on the floor of a 1 m box, thrown up at 4 m/s.
fn a_thrown_pool_flies<const D: usize>(n: usize) {
    let grid = unit_grid::<D>(n);
    let mut setup = Setup::new(grid);
    let mut top = [1.0; D];
    top[1] = 0.38;
    let mut velocity = [0.0; D];
    velocity[1] = 4.0;
    setup.liquids.push(LiquidVolume {
        velocity,
        ..LiquidVolume::new(Shape::Box {
            min: [0.0; D],
            max: top,
        })
    });
    let mut simulation = Simulation::new(setup);
    let start = mean_height(&simulation);
    let mut worst: f64 = 0.0;
    // The top of the pool meets the ceiling after 0.208 s.
    run(&mut simulation, 0.2, |s, report| {
        let t = report.time;
        let ballistic = start + 4.0 * t - 0.5 * G * t * t;
        worst = worst.max((mean_height(s) / ballistic - 1.0).abs());
        assert_eq!(report.pressure.status, "converged");
    });
    below(
        &format!("{D}D throw, error of the mean height"),
        worst,
        0.02,
    );
    let low = |x: &&[f64; D]| x[1] < 0.3;
    let positions = &simulation.state().particles.position;
    assert_eq!(positions.iter().filter(low).count(), 0, "left on the floor");
}

#[test]
fn a_thrown_pool_flies_and_leaves_nothing_on_the_floor_2d() {
    a_thrown_pool_flies::<2>(64);
}

#[test]
fn a_thrown_pool_flies_and_leaves_nothing_on_the_floor_3d() {
    a_thrown_pool_flies::<3>(32);
}

/// The share of the liquid within two cells of the upper wall of a closed ball, where it leans
/// over by 30° or more, after the left half, let go, has splashed up on the right and come down.
fn share_at_the_upper_wall<const D: usize>(n: usize, wall: Wall) -> f64 {
    let grid = unit_grid::<D>(n);
    let ball = Shape::Sphere {
        center: [0.5; D],
        radius: 0.4,
    };
    let mut setup = Setup::new(grid);
    let mut container = around(ball.clone());
    container.wall = wall;
    setup.solids.push(container);
    let mut normal = [0.0; D];
    normal[0] = 1.0;
    setup.liquids.push(LiquidVolume::new(Shape::Intersect(vec![
        ball.clone(),
        Shape::Plane {
            point: [0.5; D],
            normal,
        },
    ])));
    let mut simulation = Simulation::new(setup);
    run(&mut simulation, 18.0 / 24.0, |_, report| {
        assert_eq!(report.pressure.status, "converged");
        let error = report.volume / report.volume_expected - 1.0;
        assert!(error.abs() < 0.02, "volume error {error}");
    });
    let positions = &simulation.state().particles.position;
    let at_wall = |x: &&[f64; D]| x[1] > 0.7 && ball.distance(**x) > -2.0 * grid.dx();
    positions.iter().filter(at_wall).count() as f64 / positions.len() as f64
}

fn separating_walls_hold_a_fifth<const D: usize>(n: usize) {
    let [free, held] =
        [Wall::Separating, Wall::Slip].map(|wall| share_at_the_upper_wall::<D>(n, wall));
    above(&format!("{D}D, share held by slip walls"), held, 0.02);
    below(
        &format!("{D}D, share at the upper wall, separating / slip"),
        free / held,
        0.2,
    );
}

#[test]
fn a_splash_in_a_closed_disc_comes_off_its_ceiling() {
    separating_walls_hold_a_fifth::<2>(48);
}

#[test]
fn a_splash_in_a_closed_ball_comes_off_its_ceiling() {
    separating_walls_hold_a_fifth::<3>(24);
}
