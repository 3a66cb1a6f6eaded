//! The liquid keeps its volume.

use crate::common::{below, mean_surface_height, noise, run, state_of, still, unit_grid, within};
use plash_grid::Grid;
use plash_liquid::shape::Shape;
use plash_liquid::{Setup, Simulation, Solid};

/// A column that falls onto a ball.
fn dam_with_ball<const D: usize>(n: usize) -> Setup<D> {
    let mut cells = [n / 2; D];
    cells[0] = n;
    let grid = Grid::new(cells, 2.0 / n as f64, [0.0; D]).expect("a grid");
    let mut setup = Setup::new(grid);
    let mut top = [1.0; D];
    (top[0], top[1]) = (0.5, 0.75);
    setup.liquids.push(still(Shape::Box {
        min: [0.0; D],
        max: top,
    }));
    let mut center = [0.5; D];
    (center[0], center[1]) = (1.2, 0.2);
    setup.solids.push(Solid::new(Shape::Sphere {
        center,
        radius: 0.2,
    }));
    setup
}

/// The worst of all substeps: volume, mean density and its scatter, each relative.
fn worst_of_dam_with_ball<const D: usize>(n: usize, end: f64) -> [f64; 3] {
    let mut simulation = Simulation::new(dam_with_ball::<D>(n));
    let mut worst = [0.0f64; 3];
    run(&mut simulation, end, |_, report| {
        let errors = [
            (report.volume / report.volume_expected - 1.0).abs(),
            (report.density_mean - 1.0).abs(),
            report.density_rms,
        ];
        for (worst, error) in worst.iter_mut().zip(errors) {
            *worst = worst.max(error);
        }
    });
    worst
}

#[test]
fn volume_stays_in_every_substep_2d() {
    let [volume, mean, scatter] = worst_of_dam_with_ball::<2>(64, 2.0);
    below("2D dam break with disc, worst volume error", volume, 0.02);
    below(
        "2D dam break with disc, worst mean density error",
        mean,
        0.05,
    );
    below(
        "2D dam break with disc, worst density scatter",
        scatter,
        0.2,
    );
}

#[test]
fn volume_stays_in_every_substep_3d() {
    let [volume, mean, scatter] = worst_of_dam_with_ball::<3>(32, 2.0);
    below("3D dam break with ball, worst volume error", volume, 0.02);
    below(
        "3D dam break with ball, worst mean density error",
        mean,
        0.05,
    );
    below(
        "3D dam break with ball, worst density scatter",
        scatter,
        0.2,
    );
}

/// Half the floor, half the height: settles to a quarter. Waves run through for much longer,
/// so depth is the mean surface height over a second (twice the mean height of the liquid
/// would count the waves' own energy as depth).
fn settled_depth_error<const D: usize>(n: usize, end: f64) -> f64 {
    let mut setup = Setup::new(unit_grid::<D>(n));
    let mut top = [1.0; D];
    (top[0], top[1]) = (0.5, 0.5);
    setup.liquids.push(still(Shape::Box {
        min: [0.0; D],
        max: top,
    }));
    let mut simulation = Simulation::new(setup);
    let (mut sum, mut count) = (0.0, 0.0);
    run(&mut simulation, end, |s, report| {
        if report.time > end - 1.0 {
            sum += mean_surface_height(s);
            count += 1.0;
        }
    });
    sum / count / 0.25 - 1.0
}

#[test]
fn a_dam_break_settles_at_its_depth_2d() {
    let error = settled_depth_error::<2>(64, 10.0);
    within("2D settled depth after 10 s at 64, error", error, 0.01);
}

#[test]
fn a_dam_break_settles_at_its_depth_3d() {
    let error = settled_depth_error::<3>(24, 8.0);
    within("3D settled depth after 8 s at 24, error", error, 0.01);
}

fn lone_droplets_count_their_own_volume<const D: usize>() {
    let setup = Setup::new(unit_grid::<D>(16));
    let droplets = (0..5).map(|i| {
        let x = std::array::from_fn(|a| 0.11 + 0.19 * ((i + a) % 5) as f64);
        (x, [0.0; D])
    });
    let state = state_of(&setup, droplets);
    let exact = 5.0 * setup.particle_volume();
    let simulation = Simulation::resume(setup, state);
    assert!((simulation.volume() / exact - 1.0).abs() < 1e-14);
}

#[test]
fn lone_droplets_count_their_own_volume_each() {
    lone_droplets_count_their_own_volume::<2>();
    lone_droplets_count_their_own_volume::<3>();
}

fn still_liquid_measures_its_volume<const D: usize>(n: usize) {
    for tenths in 0..10 {
        let height = 0.4 + tenths as f64 / (10 * n) as f64;
        let mut setup = Setup::new(unit_grid::<D>(n));
        let mut top = [1.0; D];
        top[1] = height;
        setup.liquids.push(still(Shape::Box {
            min: [0.0; D],
            max: top,
        }));
        let simulation = Simulation::new(setup);
        let error = simulation.volume() / simulation.state().volume_expected - 1.0;
        below(
            &format!("{D}D volume of a pool {height:.3} deep, error"),
            error.abs(),
            0.02,
        );
    }
}

#[test]
fn still_liquid_measures_its_volume_at_any_depth() {
    still_liquid_measures_its_volume::<2>(32);
    still_liquid_measures_its_volume::<3>(16);
}

/// More particles than reseeding allows in every cell at the walls, corners included: the
/// surplus goes, and the measure of what is deep must not look beyond the grid.
fn crowded_corners_are_thinned<const D: usize>() {
    let n = 8;
    let setup = Setup::new(unit_grid::<D>(n));
    let crowd = 2 * (1 << D) + 3;
    let particles: Vec<_> = setup
        .grid
        .all_cells()
        .flat_map(|cell| {
            let at_wall = cell.0.iter().any(|&i| i == 0 || i as usize == n - 1);
            let count = if at_wall { crowd } else { 1 << D };
            (0..count).map(move |k| {
                let spread = std::array::from_fn(|a| 0.5 + 0.3 * noise(k as u64 * 7 + a as u64));
                (cell, spread)
            })
        })
        .map(|(cell, spread)| (setup.grid.position(cell.0, spread), [0.0; D]))
        .collect();
    let state = state_of(&setup, particles);
    let before = state.particles.len();
    let mut simulation = Simulation::resume(setup, state);
    simulation.step(0.001, &mut ()).expect("a step");
    assert!(simulation.state().particles.len() < before);
}

#[test]
fn crowded_corners_are_thinned_2d() {
    crowded_corners_are_thinned::<2>();
}

#[test]
fn crowded_corners_are_thinned_3d() {
    crowded_corners_are_thinned::<3>();
}
