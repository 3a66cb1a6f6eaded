//! Which walls let go, and how fast: kinds per solid and side, separation velocities, and a
//! block that falls from a ceiling for good.

use crate::common::{G, at_cells, at_faces, project, run, still, unit_grid, within};
use plash_grid::{Axis, Cell, Side};
use plash_liquid::shape::Shape;
use plash_liquid::solids::Solids;
use plash_liquid::{Method, PressureMethod, Setup, Simulation, Solid, Wall};

fn up<const D: usize>(speed: f64) -> [f64; D] {
    std::array::from_fn(|a| if a == 1 { speed } else { 0.0 })
}

/// Everything above (`sign` 1) or below (−1) a height.
fn half_space<const D: usize>(height: f64, sign: f64) -> Shape<D> {
    Shape::Plane {
        point: up(height),
        normal: up(-sign),
    }
}

fn mean_height<const D: usize>(simulation: &Simulation<D>) -> f64 {
    let position = &simulation.state().particles.position;
    position.iter().map(|x| x[1]).sum::<f64>() / position.len() as f64
}

/// The block falls by the discrete law: after `k` steps its gap to the ceiling is
/// `g Δt² k (k + 1)/2`, which is `½ g t² + ½ g t Δt`.
fn a_gap_opens_as_in_free_fall<const D: usize>(n: usize) {
    let mut setup = Setup::new(unit_grid::<D>(n));
    // The correction moves particles that were seeded a little too close.
    setup.scheme.density_correction = false;
    setup.scheme.reseed = false;
    setup.liquids.push(still(half_space(0.6, 1.0)));
    let mut simulation = Simulation::new(setup);
    let top = |s: &Simulation<D>| {
        let heights = s.state().particles.position.iter().map(|x| x[1]);
        heights.fold(0.0f64, f64::max)
    };
    let start = top(&simulation);
    let dt = 2e-3;
    for k in 1..=60 {
        let report = simulation.step(dt, &mut ()).expect("a step");
        assert_eq!(report.pressure.status, "converged");
        let gap = start - top(&simulation);
        let exact = 0.5 * G * dt * dt * f64::from(k * (k + 1));
        assert!((gap - exact).abs() < 1e-10, "step {k}: {gap}, not {exact}");
    }
}

#[test]
fn a_gap_opens_as_in_free_fall_2d() {
    a_gap_opens_as_in_free_fall::<2>(24);
}

#[test]
fn a_gap_opens_as_in_free_fall_3d() {
    a_gap_opens_as_in_free_fall::<3>(10);
}

/// With everything at its default, too, all of the block leaves the ceiling.
fn nothing_stays_on_the_ceiling<const D: usize>(n: usize) {
    let mut setup = Setup::new(unit_grid::<D>(n));
    setup.liquids.push(still(half_space(0.7, 1.0)));
    let mut simulation = Simulation::new(setup);
    let start = mean_height(&simulation);
    let (mut speed, mut fallen) = (0.0, 0.0);
    run(&mut simulation, 0.25, |_, report| {
        speed += G * report.dt;
        fallen += speed * report.dt;
    });
    let error = (start - mean_height(&simulation)) / fallen - 1.0;
    within(&format!("{D}D fall from a ceiling"), error, 0.02);
    let positions = &simulation.state().particles.position;
    let high = |x: &&[f64; D]| x[1] > 1.0 - 0.9 * fallen;
    assert_eq!(positions.iter().filter(high).count(), 0, "left behind");
}

#[test]
fn nothing_stays_on_the_ceiling_2d() {
    nothing_stays_on_the_ceiling::<2>(32);
}

#[test]
fn nothing_stays_on_the_ceiling_3d() {
    nothing_stays_on_the_ceiling::<3>(12);
}

/// A box from one place along x to another, and from one height to another.
fn between<const D: usize>(x: [f64; 2], y: [f64; 2]) -> Shape<D> {
    let corner = |side: usize, far: f64| {
        std::array::from_fn(|a| match a {
            0 => x[side],
            1 => y[side],
            _ => far,
        })
    };
    Shape::Box {
        min: corner(0, -1.0),
        max: corner(1, 2.0),
    }
}

/// Two blocks hang under two slabs that cut through cells, one slip and one separating. All
/// else is slip: a separating side wall would let air in beside the block that is held.
fn each_solid_has_its_own_kind<const D: usize>(n: usize) {
    let grid = unit_grid::<D>(n);
    let mut setup = Setup::new(grid);
    setup.walls = [[Wall::Slip; 2]; D];
    let slip = |shape| Solid {
        wall: Wall::Slip,
        ..Solid::new(shape)
    };
    setup.solids.push(slip(between([-1.0, 0.5], [0.77, 2.0])));
    setup
        .solids
        .push(Solid::new(between([0.5, 2.0], [0.77, 2.0])));
    setup.solids.push(slip(between([0.39, 0.61], [-1.0, 2.0])));
    let phi = at_cells(&grid, |x| 0.5 - x[1]);
    let u = at_faces(&grid, |_| up(-0.1));
    let after = project(&Solids::new(&setup), &phi, u, &grid);
    let speed = |x: f64| {
        let mut at = [0.4; D];
        (at[0], at[1]) = (x, 0.6);
        after.u[grid.cell_at(at).face(Axis::Y, Side::Lo)]
    };
    within(&format!("{D}D under the slip slab"), speed(0.2), 1e-9);
    // In the corner cells the slip wall is nearer and holds a little.
    let free = speed(0.8) / -0.1 - 1.0;
    within(&format!("{D}D under the separating slab"), free, 0.01);
}

#[test]
fn each_solid_has_its_own_kind_2d_and_3d() {
    each_solid_has_its_own_kind::<2>(32);
    each_solid_has_its_own_kind::<3>(16);
}

#[test]
fn each_side_of_the_domain_has_its_own_kind() {
    let grid = unit_grid::<2>(8);
    let mut setup = Setup::new(grid);
    setup.walls[1][0] = Wall::Slip;
    let solids = Solids::new(&setup);
    let wall = |x, y| solids.wall_at_cell(grid.layout().index([x, y]));
    assert_eq!(wall(3, 0), Some(Wall::Slip));
    assert_eq!(wall(3, 7), Some(Wall::Separating));
    assert_eq!(wall(0, 3), Some(Wall::Separating));
    assert_eq!(wall(3, 3), None);
    // Two walls equally near: liquid in a corner is free to leave.
    assert_eq!(wall(0, 0), Some(Wall::Separating));
}

#[test]
fn with_a_linear_method_all_walls_hold() {
    let grid = unit_grid::<2>(8);
    let mut setup = Setup::new(grid);
    setup.scheme.pressure.method = PressureMethod::Solver(Method::PcgMic);
    setup.solids.push(Solid::new(half_space(0.2, -1.0)));
    let solids = Solids::new(&setup);
    let mut touching = 0;
    for cell in grid.all_cells() {
        let wall = solids.wall_at_cell(grid.layout().index(cell.0));
        assert_ne!(wall, Some(Wall::Separating), "{cell:?}");
        touching += usize::from(wall.is_some());
    }
    assert!(touching > 0);
}

/// Liquid on a floor that sends it away at `γ` moves off at `γ`, also if gravity pulls it
/// down; thrown up faster, it keeps its speed.
fn liquid_leaves_a_wall_at_its_separation_velocity<const D: usize>(n: usize, floor: f64) {
    let grid = unit_grid::<D>(n);
    let mut setup = Setup::new(grid);
    setup.solids.push(Solid {
        separation_velocity: 0.3,
        ..Solid::new(half_space(floor, -1.0))
    });
    let solids = Solids::new(&setup);
    let phi = at_cells(&grid, |x| x[1] - 0.7);
    for (start, end) in [(0.0, 0.3), (-0.2, 0.3), (0.8, 0.8)] {
        let after = project(&solids, &phi, at_faces(&grid, |_| up(start)), &grid);
        let above = |f: &plash_grid::Face<D>| f.position(&grid)[1] > floor;
        let faces = grid.faces(Axis::Y).filter(above);
        let moved = faces.filter(|&f| after.known[f] == 1);
        let mut count = 0;
        for face in moved {
            count += 1;
            let v = after.u[face];
            assert!((v - end).abs() < 1e-9, "from {start}: {v} at {face:?}");
        }
        assert!(count > n / 4);
    }
}

#[test]
fn liquid_leaves_a_wall_at_its_separation_velocity_2d_and_3d() {
    for floor in [0.25, 0.27] {
        liquid_leaves_a_wall_at_its_separation_velocity::<2>(16, floor);
        liquid_leaves_a_wall_at_its_separation_velocity::<3>(8, floor);
    }
}

/// Without gravity, a pool on such a floor drifts off it at `γ` and goes on.
#[test]
fn a_pool_drifts_off_a_wall_that_sends_it_away() {
    let mut setup = Setup::new(unit_grid::<2>(24));
    setup.gravity = [0.0; 2];
    setup.solids.push(Solid {
        separation_velocity: 0.5,
        ..Solid::new(half_space(0.27, -1.0))
    });
    setup.liquids.push(still(half_space(0.6, -1.0)));
    let mut simulation = Simulation::new(setup);
    let start = mean_height(&simulation);
    for _ in 0..20 {
        simulation.step(0.01, &mut ()).expect("a step");
    }
    let rise = mean_height(&simulation) - start;
    let velocities = &simulation.state().particles.velocity;
    let speed = velocities.iter().map(|v| v[1]).sum::<f64>() / velocities.len() as f64;
    within(
        "2D pool sent off at 0.5 m/s, speed",
        speed / 0.5 - 1.0,
        0.02,
    );
    within("2D pool sent off at 0.5 m/s, rise", rise / 0.1 - 1.0, 0.05);
}

/// In the frame of a tank that is accelerated down, gravity is `g − a`.
fn a_pool_leaves_a_tank_that_falls_faster<const D: usize>(n: usize) {
    let (dt, steps) = (2e-3, 100);
    for a in [5.0, 15.0] {
        let mut setup = Setup::new(unit_grid::<D>(n));
        setup.gravity = up(a - G);
        // Off, so that a pool in flight follows the discrete law to the last digits.
        setup.scheme.density_correction = false;
        setup.scheme.reseed = false;
        setup.liquids.push(still(half_space(0.4, -1.0)));
        let mut simulation = Simulation::new(setup);
        let start = mean_height(&simulation);
        for _ in 0..steps {
            simulation.step(dt, &mut ()).expect("a step");
        }
        let moved = mean_height(&simulation) - start;
        let pressed = simulation.state().pressure[Cell([0; D])] > 0.0;
        assert_eq!(pressed, a < G);
        if a < G {
            within(&format!("{D}D pool in a tank at {a}, rise"), moved, 1e-3);
        } else {
            let law = 0.5 * (a - G) * dt * dt * f64::from(steps * (steps + 1));
            within(
                &format!("{D}D pool in a tank at {a}, rise"),
                moved / law - 1.0,
                1e-9,
            );
        }
    }
}

#[test]
fn a_pool_leaves_a_tank_that_falls_faster_2d_and_3d() {
    a_pool_leaves_a_tank_that_falls_faster::<2>(24);
    a_pool_leaves_a_tank_that_falls_faster::<3>(10);
}

/// Every separating method by name, in the simulation, over a few steps of a thrown pool.
#[test]
fn every_separating_method_throws_a_pool() {
    for method in Method::ALL.into_iter().filter(|m| !m.is_linear()) {
        let mut setup = Setup::new(unit_grid::<2>(24));
        setup.scheme.pressure.method = PressureMethod::Solver(method);
        setup.scheme.pressure.max_iterations = 20_000;
        let mut pool = still(half_space(0.4, -1.0));
        pool.velocity = [0.4, 2.0];
        setup.liquids.push(pool);
        let mut simulation = Simulation::new(setup);
        for _ in 0..6 {
            let dt = simulation.suggest_dt(1.0);
            let report = simulation.step(dt, &mut ()).expect("a step");
            let pressure = &report.pressure;
            let good = ["converged", "fallback"].contains(&pressure.status);
            assert!(good && pressure.residual < 1e-5, "{method}: {pressure:?}");
        }
        let floor = simulation.setup().grid.dx();
        let positions = &simulation.state().particles.position;
        let left = positions.iter().filter(|x| x[1] < floor).count();
        assert_eq!(left, 0, "{method} leaves particles on the floor");
    }
}
