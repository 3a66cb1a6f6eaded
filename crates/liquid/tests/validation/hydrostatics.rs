//! Liquid at rest stays at rest.

use crate::common::{G, around, at_cells, at_faces, below, project, run, still, unit_grid};
use plash_grid::{Grid, axes};
use plash_liquid::shape::{Rotation, Shape};
use plash_liquid::solids::Solids;
use plash_liquid::{Setup, Simulation, Solid};

/// The largest speed, over `√(g h)`, that one projection of `u = g Δt` leaves on faces with
/// liquid, for a level surface at height `h`.
fn speed_left<const D: usize>(grid: Grid<D>, container: Option<Solid<D>>, h: f64) -> f64 {
    let mut setup = Setup::new(grid);
    setup.solids.extend(container);
    let solids = Solids::new(&setup);
    let phi = at_cells(&grid, |x| x[1] - h);
    let dt = 0.01;
    let u = at_faces(&grid, |_| setup.gravity.map(|g| g * dt));
    let after = project(&solids, &phi, u, &grid);
    assert_eq!(after.report.status, "converged");
    assert!(after.report.unknowns > 50);
    let mut fastest: f64 = 0.0;
    for axis in axes::<D>() {
        for face in grid.faces(axis) {
            if after.known[face] == 1 && solids.open()[face] > 0.0 {
                fastest = fastest.max(after.u[face].abs());
            }
        }
    }
    fastest / (G * h).sqrt()
}

/// Surface heights at several places between cell centres, none nearer to one than the
/// solver resolves (a hundredth of a cell).
fn heights(dx: f64) -> impl Iterator<Item = f64> {
    [0.02, 0.1, 0.27, 0.5, 0.61, 0.83, 0.97]
        .into_iter()
        .map(move |offset| ((0.45 / dx).round() + 0.5 + offset) * dx)
}

fn a_level_surface_stays_at_rest<const D: usize>(n: usize, container: Option<Solid<D>>) {
    let grid = unit_grid::<D>(n);
    let speeds = heights(grid.dx()).map(|h| speed_left(grid, container.clone(), h));
    let fastest = speeds.fold(0.0, f64::max);
    let cut = if container.is_some() {
        "cut cells"
    } else {
        "a tank"
    };
    below(
        &format!("{D}D hydrostatics in {cut}, speed / √(g h)"),
        fastest,
        1e-8,
    );
}

fn tilted<const D: usize>(rotation: Rotation<D>) -> Solid<D> {
    around(Shape::Rotate {
        shape: Box::new(Shape::Box {
            min: [0.2; D],
            max: [0.8; D],
        }),
        rotation,
        about: [0.5; D],
    })
}

fn bowl<const D: usize>() -> Solid<D> {
    around(Shape::Sphere {
        center: [0.5; D],
        radius: 0.43,
    })
}

#[test]
fn a_tank_stays_at_rest_2d() {
    a_level_surface_stays_at_rest::<2>(32, None);
}

#[test]
fn a_tank_stays_at_rest_3d() {
    a_level_surface_stays_at_rest::<3>(12, None);
}

#[test]
fn a_tilted_box_stays_at_rest_2d() {
    a_level_surface_stays_at_rest(32, Some(tilted(Rotation::<2>::degrees(23.0))));
}

#[test]
fn a_tilted_box_stays_at_rest_3d() {
    let turn = Rotation::axis_degrees([1.0, 0.3, 0.5], 31.0);
    a_level_surface_stays_at_rest(14, Some(tilted::<3>(turn)));
}

#[test]
fn a_bowl_stays_at_rest_2d() {
    a_level_surface_stays_at_rest(32, Some(bowl::<2>()));
}

#[test]
fn a_bowl_stays_at_rest_3d() {
    a_level_surface_stays_at_rest(14, Some(bowl::<3>()));
}

fn mean_height<const D: usize>(simulation: &Simulation<D>) -> f64 {
    let position = &simulation.state().particles.position;
    position.iter().map(|x| x[1]).sum::<f64>() / position.len() as f64
}

/// Particles start at jittered places and settle; the energy this frees must decay, and the
/// depth (twice the mean height) must stay.
#[test]
fn a_flip_tank_at_rest_keeps_its_depth_and_calms_down() {
    let n = 32;
    let mut setup = Setup::new(unit_grid::<2>(n));
    setup.liquids.push(still(Shape::Box {
        min: [0.0, 0.0],
        max: [1.0, 0.5],
    }));
    let mut simulation = Simulation::new(setup);
    let depth = 2.0 * mean_height(&simulation);
    let (mut early, mut late, mut drift) = (0.0f64, 0.0f64, 0.0f64);
    run(&mut simulation, 10.0, |s, report| {
        let half = if report.time < 2.0 {
            &mut early
        } else {
            &mut late
        };
        if report.time < 2.0 || report.time > 8.0 {
            *half = half.max(report.kinetic_energy);
        }
        drift = drift.max((2.0 * mean_height(s) - depth).abs());
    });
    below(
        "FLIP tank at rest, depth drift in cells",
        drift * n as f64,
        0.5,
    );
    below(
        "FLIP tank at rest, largest energy late / early",
        late / early,
        0.5,
    );
}

fn a_sealed_full_tank_solves<const D: usize>(n: usize) {
    let mut setup = Setup::new(unit_grid::<D>(n));
    setup.liquids.push(still(Shape::Box {
        min: [-1.0; D],
        max: [2.0; D],
    }));
    let mut simulation = Simulation::new(setup);
    for _ in 0..5 {
        let dt = simulation.suggest_dt(0.04);
        let report = simulation.step(dt, &mut ()).expect("a step");
        assert_eq!(report.pressure.status, "converged");
        assert_eq!(report.pressure.pockets, 1);
        assert!(report.max_speed < 1e-4, "speed {}", report.max_speed);
        assert!((report.volume / report.volume_expected - 1.0).abs() < 0.02);
    }
}

#[test]
fn a_sealed_full_tank_solves_2d() {
    a_sealed_full_tank_solves::<2>(16);
}

#[test]
fn a_sealed_full_tank_solves_3d() {
    a_sealed_full_tank_solves::<3>(8);
}

fn nothing_to_simulate_is_fine<const D: usize>(solid: bool) {
    let mut setup = Setup::new(unit_grid::<D>(12));
    if solid {
        let everything = Shape::Box {
            min: [-1.0; D],
            max: [2.0; D],
        };
        setup.liquids.push(still(everything.clone()));
        setup.solids.push(Solid::new(everything));
    }
    let mut simulation = Simulation::new(setup);
    for _ in 0..3 {
        let dt = simulation.suggest_dt(1.0 / 24.0);
        let report = simulation.step(dt, &mut ()).expect("a step");
        assert_eq!((report.particles, report.volume), (0, 0.0));
        assert_eq!(report.volume_expected, 0.0);
        assert_eq!((report.kinetic_energy, report.max_speed), (0.0, 0.0));
        assert_eq!(report.pressure.unknowns, 0);
    }
    assert!(simulation.state().time > 0.0);
    assert!(simulation.state().particles.is_empty());
}

#[test]
fn all_air_steps_and_stays_empty() {
    nothing_to_simulate_is_fine::<2>(false);
    nothing_to_simulate_is_fine::<3>(false);
}

#[test]
fn all_solid_steps_and_stays_empty() {
    nothing_to_simulate_is_fine::<2>(true);
    nothing_to_simulate_is_fine::<3>(true);
}
