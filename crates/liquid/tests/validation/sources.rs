//! Liquid comes and goes as sources, drains and open sides say.

use crate::common::{below, run, still, unit_grid, within};
use plash_liquid::shape::Shape;
use plash_liquid::{DomainSide, Drain, LiquidVolume, Setup, Simulation, Source, Viscosity};

/// A nozzle at the wall, `side` wide and high, blowing along x.
fn nozzle<const D: usize>(side: f64, speed: f64, end: f64) -> Source<D> {
    let mut max = [0.5 + 0.5 * side; D];
    let mut min = [0.5 - 0.5 * side; D];
    (min[0], max[0]) = (0.125, 0.25);
    let mut velocity = [0.0; D];
    velocity[0] = speed;
    Source {
        velocity,
        end,
        ..Source::new(Shape::Box { min, max })
    }
}

/// What a source gives in a second is its speed times its cross-section.
fn a_source_gives_speed_times_area<const D: usize>(n: usize, speed: f64) {
    let mut setup = Setup::new(unit_grid::<D>(n));
    setup.gravity = [0.0; D];
    setup.sides[0][1] = DomainSide::Open;
    let side: f64 = 0.25;
    setup.sources.push(nozzle(side, speed, 1.0));
    let volume = setup.particle_volume();
    let mut simulation = Simulation::new(setup);
    let (mut emitted, mut removed) = (0, 0);
    let mut first = None;
    run(&mut simulation, 0.9, |s, report| {
        // The first tenth fills the nozzle.
        if report.time > 0.1 {
            first.get_or_insert(report.time);
            emitted += report.emitted;
        }
        removed += report.removed;
        let kept = s.state().particles.len() as f64 * volume;
        assert!((report.volume_expected - kept).abs() < 1e-12);
    });
    let seconds = 0.9 - first.expect("a first instant");
    let rate = emitted as f64 * volume / seconds;
    let exact = speed * side.powi(D as i32 - 1);
    assert!(removed > 0, "nothing reached the open side");
    let error = rate / exact - 1.0;
    within(
        &format!("{D}D source at {speed} m/s, rate error"),
        error,
        0.05,
    );
}

#[test]
fn a_source_gives_speed_times_area_2d() {
    a_source_gives_speed_times_area::<2>(32, 2.0);
}

#[test]
fn a_source_gives_speed_times_area_3d() {
    a_source_gives_speed_times_area::<3>(16, 2.0);
}

#[test]
fn a_source_ends_when_its_time_is_over() {
    let mut setup = Setup::new(unit_grid::<2>(16));
    setup.sources.push(nozzle(0.25, 1.0, 0.1));
    let mut simulation = Simulation::new(setup);
    run(&mut simulation, 0.3, |_, report| {
        assert!(report.emitted == 0 || report.time < 0.1);
    });
    assert!(simulation.state().volume_expected > 0.0);
}

#[test]
fn a_source_in_a_closed_tank_fills_it_by_what_it_gives() {
    let mut setup = Setup::new(unit_grid::<2>(32));
    setup.liquids.push(still(Shape::Box {
        min: [0.0; 2],
        max: [1.0, 0.3],
    }));
    setup.sources.push(nozzle(0.125, 1.0, f64::INFINITY));
    let mut simulation = Simulation::new(setup);
    let mut worst: f64 = 0.0;
    run(&mut simulation, 1.5, |_, report| {
        worst = worst.max((report.volume / report.volume_expected - 1.0).abs());
    });
    let gained = simulation.state().volume_expected - 0.3;
    assert!(gained > 0.15, "gained {gained}");
    below("2D tank being filled, worst volume error", worst, 0.02);
}

fn a_drain_empties_a_tank<const D: usize>(n: usize) {
    let mut setup = Setup::new(unit_grid::<D>(n));
    let mut top = [1.0; D];
    top[1] = 0.25;
    setup.liquids.push(still(Shape::Box {
        min: [0.0; D],
        max: top,
    }));
    setup.drains.push(Drain {
        shape: Shape::Sphere {
            center: std::array::from_fn(|a| if a == 1 { 0.0 } else { 0.5 }),
            radius: 0.2,
        },
        start: 0.1,
        end: f64::INFINITY,
    });
    let mut simulation = Simulation::new(setup);
    let start = simulation.state().volume_expected;
    let share = simulation.setup().particle_volume();
    let mut removed = 0;
    run(&mut simulation, 4.0, |_, report| {
        assert!(report.removed == 0 || report.time >= 0.1);
        removed += report.removed;
        let left = start - removed as f64 * share;
        assert!((report.volume_expected - left).abs() < 1e-12);
    });
    let left = simulation.state().volume_expected / start;
    below(
        &format!("{D}D drained tank, share left after 4 s"),
        left,
        0.1,
    );
}

#[test]
fn a_drain_empties_a_tank_2d() {
    a_drain_empties_a_tank::<2>(32);
}

#[test]
fn a_drain_empties_a_tank_3d() {
    a_drain_empties_a_tank::<3>(16);
}

fn an_open_side_lets_everything_out<const D: usize>(n: usize) {
    for axis in 0..D {
        for side in 0..2 {
            let mut setup = Setup::new(unit_grid::<D>(n));
            setup.gravity = [0.0; D];
            setup.sides[axis][side] = DomainSide::Open;
            let mut velocity = [0.0; D];
            velocity[axis] = 2.0 * side as f64 - 1.0;
            setup.liquids.push(LiquidVolume {
                velocity,
                ..LiquidVolume::new(Shape::Sphere {
                    center: [0.5; D],
                    radius: 0.2,
                })
            });
            let mut simulation = Simulation::new(setup);
            assert!(!simulation.state().particles.is_empty());
            run(&mut simulation, 0.9, |_, _| ());
            let state = simulation.state();
            assert!(state.particles.is_empty(), "axis {axis} side {side}");
            assert!(state.volume_expected.abs() < 1e-12);
            assert_eq!(simulation.volume(), 0.0);
        }
    }
}

#[test]
fn an_open_side_lets_everything_out_2d() {
    an_open_side_lets_everything_out::<2>(24);
}

#[test]
fn an_open_side_lets_everything_out_3d() {
    an_open_side_lets_everything_out::<3>(12);
}

/// Two sources in one place pour no more than one.
#[test]
fn overlapping_sources_pour_once() {
    let poured = |sources: usize| {
        let grid = plash_grid::Grid::<2>::new([16, 16], 1.0 / 16.0, [0.0; 2]).unwrap();
        let mut setup = plash_liquid::Setup::new(grid);
        let shape = plash_liquid::shape::Shape::Box {
            min: [0.25, 0.5],
            max: [0.5, 0.75],
        };
        for _ in 0..sources {
            setup.sources.push(plash_liquid::Source {
                velocity: [1.0, 0.0],
                ..plash_liquid::Source::new(shape.clone())
            });
        }
        let mut simulation = plash_liquid::Simulation::new(setup);
        for _ in 0..8 {
            let _ = simulation.step(0.01, &mut ()).unwrap();
        }
        simulation.state().particles.len()
    };
    assert!(poured(1) > 0);
    assert_eq!(poured(1), poured(2));
}

/// Stiff liquid pushed out of a nozzle over a void hangs from it as a rod: it comes at the speed that
/// the source says and no faster, whatever its weight and the length of the step.
fn a_source_holds_what_hangs_from_it<const D: usize>(n: usize, cfl: f64) {
    let speed = 0.5;
    let mut setup = Setup::new(unit_grid::<D>(n));
    setup.scheme.cfl = cfl;
    let (mut min, mut max) = ([0.375; D], [0.625; D]);
    (min[1], max[1]) = (0.75, 0.875);
    let mut velocity = [0.0; D];
    velocity[1] = -speed;
    setup.sources.push(Source {
        velocity,
        viscosity: Viscosity::Constant(1e7),
        ..Source::new(Shape::Box { min, max })
    });
    let volume = setup.particle_volume();
    let mut simulation = Simulation::new(setup);
    let lowest = |simulation: &Simulation<D>| {
        let heights = simulation.state().particles.position.iter().map(|x| x[1]);
        heights.fold(1.0, f64::min)
    };
    // The first part of the way makes the rod.
    run(&mut simulation, 0.3, |_, _| {});
    let (start, mut emitted) = (lowest(&simulation), 0);
    run(&mut simulation, 0.9, |_, report| emitted += report.emitted);
    let fallen = (start - lowest(&simulation)) / (0.6 * speed);
    within(
        &format!("{D}D rod at CFL {cfl}, its speed"),
        fallen - 1.0,
        0.01,
    );
    let rate = emitted as f64 * volume / (0.6 * speed * 0.25f64.powi(D as i32 - 1));
    within(
        &format!("{D}D rod at CFL {cfl}, its rate"),
        rate - 1.0,
        0.05,
    );
}

#[test]
fn a_source_holds_what_hangs_from_it_2d() {
    a_source_holds_what_hangs_from_it::<2>(32, 1.0);
    a_source_holds_what_hangs_from_it::<2>(32, 0.25);
}

#[test]
fn a_source_holds_what_hangs_from_it_3d() {
    a_source_holds_what_hangs_from_it::<3>(16, 1.0);
}

/// A nozzle in a pool drives it along and adds most of what it gives: it is closed behind. Particles within
/// half a cell of its rim are slowed down by what rests beside it, and what crowds before it is evened out
/// into it, all of which comes to a fifth for a nozzle of four or eight cells.
fn a_source_in_a_pool_adds_most_of_what_it_gives<const D: usize>(n: usize) {
    let mut setup = Setup::new(unit_grid::<D>(n));
    let mut max = [1.0; D];
    max[1] = 0.5;
    setup.liquids.push(still(Shape::Box { min: [0.0; D], max }));
    let (mut min, mut max) = ([0.375; D], [0.625; D]);
    (min[1], max[1]) = (0.125, 0.25);
    let mut velocity = [0.0; D];
    velocity[1] = 0.5;
    setup.sources.push(Source {
        velocity,
        ..Source::new(Shape::Box { min, max })
    });
    let volume = setup.particle_volume();
    let mut simulation = Simulation::new(setup);
    run(&mut simulation, 0.25, |_, _| {});
    let mut emitted = 0;
    run(&mut simulation, 1.0, |_, report| emitted += report.emitted);
    let rate = emitted as f64 * volume / (0.75 * 0.5 * 0.25f64.powi(D as i32 - 1));
    within(
        &format!("{D}D source in a pool, its rate"),
        rate - 1.0,
        0.25,
    );
}

#[test]
fn a_source_in_a_pool_adds_most_of_what_it_gives_2d() {
    a_source_in_a_pool_adds_most_of_what_it_gives::<2>(32);
}

#[test]
fn a_source_in_a_pool_adds_most_of_what_it_gives_3d() {
    a_source_in_a_pool_adds_most_of_what_it_gives::<3>(16);
}
