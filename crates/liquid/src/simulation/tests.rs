//! What viscosity does to whole steps, and how sources move.

use plash_grid::Grid;

use crate::shape::Shape;
use crate::{
    LiquidVolume, Setup, Simulation, Source, StepError, StepReport, Transfer, Viscosity, Waypoint,
};

const G: f64 = 9.81;

fn thick<const D: usize>(n: usize, shape: Shape<D>, viscosity: f64) -> Setup<D> {
    let grid = Grid::new([n; D], 1.0 / n as f64, [0.0; D]).unwrap();
    let mut setup = Setup::new(grid);
    setup.scheme.transfer = Transfer::Apic;
    setup.liquids.push(LiquidVolume {
        viscosity: Viscosity::Constant(viscosity),
        ..LiquidVolume::new(shape)
    });
    setup
}

fn run<const D: usize>(simulation: &mut Simulation<D>, end: f64) -> StepReport {
    loop {
        let left = end - simulation.state().time;
        let report = simulation
            .step(simulation.suggest_dt(left), &mut ())
            .unwrap();
        if end - report.time < 1e-9 {
            return report;
        }
    }
}

fn a_thick_drop_falls_as_any<const D: usize>(n: usize) {
    let drop = Shape::Sphere {
        center: [0.6; D],
        radius: 0.2,
    };
    let mut simulation = Simulation::new(thick(n, drop, 1e4));
    let report = run(&mut simulation, 0.1);
    let solve = report.viscosity.expect("a viscosity solve");
    assert_eq!((solve.method, solve.status), ("mgpcg", "converged"));
    for v in &simulation.state().particles.velocity {
        assert!((v[1] + 0.1 * G).abs() < 1e-3 && v[0].abs() < 1e-3, "{v:?}");
    }
}

#[test]
fn a_thick_drop_falls_as_any_2d() {
    a_thick_drop_falls_as_any::<2>(24);
}

#[test]
fn a_thick_drop_falls_as_any_3d() {
    a_thick_drop_falls_as_any::<3>(12);
}

/// How far a column a quarter wide and three quarters high has run along the floor.
fn front(viscosity: f64) -> f64 {
    let column = Shape::Box {
        min: [0.0; 2],
        max: [0.25, 0.75],
    };
    let mut simulation = Simulation::new(thick(32, column, viscosity));
    let report = run(&mut simulation, 0.3);
    let drift = report.volume / report.volume_expected - 1.0;
    assert!(drift.abs() < 0.02, "{drift} at {viscosity} Pa·s");
    let particles = &simulation.state().particles;
    assert!(
        particles.viscosity.is_empty(),
        "one viscosity needs no list"
    );
    particles.position.iter().fold(0.0, |m, x| m.max(x[0]))
}

#[test]
fn thicker_columns_collapse_more_slowly() {
    let fronts = [0.0, 100.0, 1e3, 1e5].map(front);
    assert!(fronts[0] > 0.8, "{fronts:?}");
    assert!(fronts.windows(2).all(|f| f[1] < f[0]), "{fronts:?}");
    assert!(fronts[3] < 0.25 + 1.0 / 32.0, "{fronts:?}");
}

/// The pressure that a viscous step leaves is the whole one: at rest the weight of what is above.
#[test]
fn thick_liquid_at_rest_is_under_its_own_weight() {
    let pool = Shape::Box {
        min: [0.0; 2],
        max: [1.0, 0.5],
    };
    let mut simulation = Simulation::new(thick(32, pool, 50.0));
    let dt = 0.01;
    for _ in 0..5 {
        let report = simulation.step(dt, &mut ()).unwrap();
        assert!(report.max_speed < 0.02, "{}", report.max_speed);
    }
    let q = simulation.state().pressure[plash_grid::Cell([16, 0])];
    let expected = G * (0.5 - 0.5 / 32.0) * dt;
    assert!((q / expected - 1.0).abs() < 0.05, "{q} {expected}");
    assert!(
        simulation
            .state()
            .separated
            .as_slice()
            .iter()
            .all(|&s| s == 0)
    );
}

/// Particles keep their viscosity; a liquid of two has a list.
#[test]
fn liquids_of_two_viscosities_keep_theirs() {
    let half = |min: [f64; 2], max: [f64; 2]| Shape::Box { min, max };
    let mut setup = thick(24, half([0.0, 0.0], [0.5, 0.4]), 1e4);
    setup
        .liquids
        .push(LiquidVolume::new(half([0.5, 0.0], [1.0, 0.8])));
    let mut simulation = Simulation::new(setup);
    let start = simulation.state().particles.clone();
    run(&mut simulation, 0.2);
    let end = &simulation.state().particles;
    let of = |id: u64| start.viscosity[start.id.iter().position(|&i| i == id).unwrap()];
    assert_eq!(end.viscosity.len(), end.len());
    let kept = end
        .id
        .iter()
        .zip(&end.viscosity)
        .filter(|&(&id, _)| id < start.id.len() as u64);
    let kept: Vec<_> = kept.collect();
    assert!(kept.len() > 1000 && kept.iter().all(|&(&id, &mu)| mu == of(id)));
    // The thin half runs down, the thick half hardly moves.
    let speed = |thick: bool| {
        let mine = (0..end.len()).filter(|&i| (end.viscosity[i] > 1.0) == thick);
        let (sum, count) = mine.fold((0.0, 0), |(s, n), i| {
            (s + end.velocity[i][0].hypot(end.velocity[i][1]), n + 1)
        });
        sum / f64::from(count)
    };
    assert!(
        speed(false) > 3.0 * speed(true),
        "{} {}",
        speed(false),
        speed(true)
    );
}

#[test]
fn a_viscosity_that_cannot_be_solved_is_an_error_of_its_own() {
    let drop = Shape::Sphere {
        center: [0.5; 2],
        radius: 0.3,
    };
    let mut setup = thick(32, drop, 1e6);
    setup.liquids[0].velocity = [f64::NAN, 0.0];
    setup.scheme.density_correction = false;
    let mut simulation = Simulation::new(setup.clone());
    // The pressure is the first to meet what is no number.
    assert!(simulation.step(0.01, &mut ()).is_err());
    setup.liquids[0].velocity = [0.0; 2];
    setup.liquids[0].viscosity = Viscosity::Constant(f64::INFINITY);
    let mut simulation = Simulation::new(setup);
    let before = simulation.state().particles.clone();
    let error = simulation.step(0.01, &mut ()).unwrap_err();
    assert!(
        matches!(error, StepError::Viscosity { step: 0, .. }),
        "{error}"
    );
    assert_eq!(simulation.state().particles, before);
}

/// A source that moves carries its liquid along: it is filled once, and what it gives later is
/// what leaves it.
fn a_moving_source_carries_its_liquid_along<const D: usize>(n: usize) {
    let grid = Grid::new([n; D], 1.0 / n as f64, [0.0; D]).unwrap();
    let mut setup = Setup::new(grid);
    setup.gravity = [0.0; D];
    let mut offset = [0.0; D];
    offset[0] = 0.5;
    let mut source = Source::new(Shape::Box {
        min: [0.125; D],
        max: [0.375; D],
    });
    source.path = vec![
        Waypoint {
            time: 0.0,
            offset: [0.0; D],
        },
        Waypoint { time: 1.0, offset },
    ];
    setup.sources.push(source);
    let mut simulation = Simulation::new(setup);
    let first = simulation.state().particles.len() as f64;
    let exact = (n as f64 / 4.0 * 2.0).powi(D as i32);
    assert!((first / exact - 1.0).abs() < 1e-9, "{first} {exact}");
    let report = run(&mut simulation, 0.5);
    let particles = &simulation.state().particles;
    let mean = particles.position.iter().map(|x| x[0]).sum::<f64>() / particles.len() as f64;
    assert!((mean - 0.5).abs() < 0.03, "{mean}");
    assert!(
        (report.max_speed - 0.5).abs() < 0.05,
        "{}",
        report.max_speed
    );
    let grown = particles.len() as f64 / first;
    assert!(grown < 1.2, "{grown}");
}

#[test]
fn a_moving_source_carries_its_liquid_along_2d() {
    a_moving_source_carries_its_liquid_along::<2>(32);
}

#[test]
fn a_moving_source_carries_its_liquid_along_3d() {
    a_moving_source_carries_its_liquid_along::<3>(16);
}
