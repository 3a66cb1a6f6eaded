//! Single projections beside separating walls: every consequence of
//! `0 ≤ p ⊥ (u − u_wall)·n ≥ 0` that can be written down (Batty et al. 2007).

use crate::common::{
    G, around, at_cells, at_faces, below, noise, project, project_by, unit_grid, within,
};
use plash_grid::{Axis, Cell, CellField, Face, FaceField, Grid, Runs, Side, axes};
use plash_liquid::extrapolate::{Layers, WallConstraint, constrain_at_solids, into_air};
use plash_liquid::pressure::{Domain, System, theta};
use plash_liquid::shape::Shape;
use plash_liquid::solids::Solids;
use plash_liquid::{Method, PressureMethod, Setup, Solid, Wall};
use plash_solve::Operator;

const DT: f64 = 0.01;

fn up<const D: usize>(speed: f64) -> [f64; D] {
    std::array::from_fn(|a| if a == 1 { speed } else { 0.0 })
}

fn slip<const D: usize>(mut setup: Setup<D>) -> Setup<D> {
    setup.walls = [[Wall::Slip; 2]; D];
    setup
        .solids
        .iter_mut()
        .for_each(|solid| solid.wall = Wall::Slip);
    setup
}

/// A block of half the box's height, hanging at its ceiling from wall to wall or not.
fn hanging<const D: usize>(grid: &Grid<D>, margin: f64) -> CellField<f64, D> {
    let hi = std::array::from_fn(|a| if a == 1 { 2.0 } else { 1.0 - margin });
    let lo = std::array::from_fn(|a| if a == 1 { 0.5 } else { margin });
    at_cells(grid, |x| Shape::Box { min: lo, max: hi }.distance(x))
}

fn a_hanging_block_falls_freely<const D: usize>(n: usize) {
    let grid = unit_grid::<D>(n);
    let solids = Solids::new(&Setup::new(grid));
    for margin in [-1.0, 0.25] {
        let phi = hanging(&grid, margin);
        let mut after = project(&solids, &phi, at_faces(&grid, |_| up(-G * DT)), &grid);
        let walls = after.report.separated_cells;
        assert!(walls > 0 && walls <= after.report.wall_cells);
        assert!(
            after
                .q
                .as_slice()
                .iter()
                .all(|&q| q.abs() <= 1e-12 * G * DT)
        );
        let runs = Runs::all(grid.layout());
        into_air(&grid, &runs, Layers(2), &mut after.known, &mut after.u);
        let contact = WallConstraint::Contact(&after.q);
        constrain_at_solids(&grid, &runs, &solids, contact, &mut after.u);
        for cell in grid.all_cells().filter(|&c| after.wet[c] == 1) {
            for side in Side::BOTH {
                let v = after.u[cell.face(Axis::Y, side)];
                assert!((v + G * DT).abs() <= 1e-12 * G * DT, "{cell:?}: {v}");
            }
        }
    }
}

#[test]
fn a_block_at_a_ceiling_falls_freely_2d() {
    a_hanging_block_falls_freely::<2>(16);
}

#[test]
fn a_block_at_a_ceiling_falls_freely_3d() {
    a_hanging_block_falls_freely::<3>(8);
}

fn slip_walls_hold_a_hanging_block<const D: usize>(n: usize) {
    let grid = unit_grid::<D>(n);
    let solids = Solids::new(&slip(Setup::new(grid)));
    let phi = hanging(&grid, -1.0);
    let after = project(&solids, &phi, at_faces(&grid, |_| up(-G * DT)), &grid);
    assert_eq!(after.report.separated_cells, 0);
    let height = 0.5 - 0.5 * grid.dx();
    for cell in grid.all_cells().filter(|c| c.0[1] as usize == n - 1) {
        // p Δt/ρ at the centre of the topmost cell: −g h Δt.
        let q = after.q[cell] / (G * DT);
        assert!((q + height).abs() < 1e-9, "{cell:?}: {q}");
    }
    for face in grid.faces(Axis::Y).filter(|&f| after.known[f] == 1) {
        assert!(after.u[face].abs() < 1e-9 * G * DT, "{face:?}");
    }
}

#[test]
fn slip_walls_hold_a_block_at_a_ceiling() {
    slip_walls_hold_a_hanging_block::<2>(16);
    slip_walls_hold_a_hanging_block::<3>(8);
}

/// A tank that is accelerated downwards at `a`, filled to one half: the pressure on the floor
/// over `ρ h`, and the acceleration of the liquid, both m/s².
fn accelerated_tank<const D: usize>(n: usize, a: f64) -> (f64, f64) {
    let grid = unit_grid::<D>(n);
    let mut solids = Solids::new(&Setup::new(grid));
    for face in grid.faces(Axis::Y) {
        solids.velocity_mut()[face] = -a * DT;
    }
    let phi = at_cells(&grid, |x| x[1] - 0.5);
    let after = project(&solids, &phi, at_faces(&grid, |_| up(-G * DT)), &grid);
    let floor = Cell([n as i32 / 2; D].map(|_| 0));
    let (low, next) = (after.q[floor], after.q[floor.neighbour(Axis::Y, Side::Hi)]);
    let pressure = (1.5 * low - 0.5 * next) / DT / 0.5;
    (pressure, -after.u[floor.face(Axis::Y, Side::Hi)] / DT)
}

fn a_tank_that_falls_faster_leaves_its_liquid_behind<const D: usize>(n: usize) {
    for a in [0.0, 3.0, 9.0] {
        let (pressure, acceleration) = accelerated_tank::<D>(n, a);
        within(
            &format!("{D}D tank at {a}, floor"),
            pressure - (G - a),
            1e-6,
        );
        within(&format!("{D}D tank at {a}, liquid"), acceleration - a, 1e-6);
    }
    for a in [10.0, 15.0] {
        let (pressure, acceleration) = accelerated_tank::<D>(n, a);
        assert_eq!(pressure, 0.0);
        within(&format!("{D}D tank at {a}, liquid"), acceleration - G, 1e-9);
    }
}

#[test]
fn a_tank_that_falls_faster_than_g_leaves_its_liquid_behind() {
    a_tank_that_falls_faster_leaves_its_liquid_behind::<2>(16);
    a_tank_that_falls_faster_leaves_its_liquid_behind::<3>(8);
}

/// The top of a loop, in the frame of the bucket: its bottom is up, gravity pulls the water
/// out of it, the centrifugal acceleration `ω² r` holds it in; the pivot is `1 m` below the
/// centre of the water. The sides are slip walls: near the switch the lower half of the water
/// hangs from the upper, and separating sides would let it go.
fn stays_in_the_bucket<const D: usize>(n: usize, omega: f64) -> bool {
    let grid = unit_grid::<D>(n);
    let mut setup = slip(Setup::new(grid));
    setup.walls[1][1] = Wall::Separating;
    let solids = Solids::new(&setup);
    let phi = at_cells(&grid, |x| 0.5 - x[1]);
    let u = at_faces(&grid, |x| {
        let radius = 1.0 + x[1] - 0.75;
        up((omega * omega * radius - G) * DT)
    });
    let after = project(&solids, &phi, u, &grid);
    let mut top = [n as i32 / 2; D];
    top[1] = n as i32 - 1;
    after.q[Cell(top)] > 0.0
}

#[test]
fn a_bucket_in_a_loop_keeps_its_water_if_it_is_fast_enough() {
    fn switch<const D: usize>(n: usize) {
        let (mut out, mut stays) = (1.0, 9.0);
        assert!(!stays_in_the_bucket::<D>(n, out) && stays_in_the_bucket::<D>(n, stays));
        while stays - out > 1e-4 {
            let middle = 0.5 * (out + stays);
            if stays_in_the_bucket::<D>(n, middle) {
                stays = middle;
            } else {
                out = middle;
            }
        }
        within(
            &format!("{D}D bucket, error of the speed"),
            stays / G.sqrt() - 1.0,
            0.01,
        );
    }
    switch::<2>(32);
    switch::<3>(16);
}

fn at_rest_separation_changes_nothing<const D: usize>(n: usize, solid: Option<Solid<D>>) {
    let grid = unit_grid::<D>(n);
    let mut setup = Setup::new(grid);
    setup.solids.extend(solid);
    let phi = at_cells(&grid, |x| x[1] - 0.53);
    let solve = |setup: &Setup<D>| {
        let u = at_faces(&grid, |_| up(-G * DT));
        project(&Solids::new(setup), &phi, u, &grid)
    };
    let (free, held) = (solve(&setup), solve(&slip(setup.clone())));
    let largest = held.q.as_slice().iter().fold(0.0f64, |m, q| m.max(*q));
    let pairs = free.q.as_slice().iter().zip(held.q.as_slice());
    let worst = pairs.fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
    below(
        &format!("{D}D at rest, separating against slip"),
        worst / largest,
        1e-10,
    );
}

#[test]
fn liquid_at_rest_is_the_same_with_separating_and_slip_walls() {
    let bowl = |radius| Shape::Sphere {
        center: [0.5; 2],
        radius,
    };
    at_rest_separation_changes_nothing::<2>(24, None);
    at_rest_separation_changes_nothing(24, Some(around(bowl(0.43))));
    at_rest_separation_changes_nothing::<3>(10, None);
    let bowl = Shape::Sphere {
        center: [0.5; 3],
        radius: 0.43,
    };
    at_rest_separation_changes_nothing(12, Some(around(bowl)));
}

/// A splash in a box with a ball in it: random velocities.
struct Splash<const D: usize> {
    grid: Grid<D>,
    solids: Solids<D>,
    phi: CellField<f64, D>,
    u: FaceField<f64, D>,
}

impl<const D: usize> Splash<D> {
    fn new(n: usize, seed: u64) -> Self {
        let grid = unit_grid::<D>(n);
        let mut setup = Setup::new(grid);
        setup.solids.push(Solid::new(Shape::Sphere {
            center: [0.43; D],
            radius: 0.21,
        }));
        let phi = at_cells(&grid, |x| x[1] - 0.71 - 0.08 * (7.0 * x[0]).sin());
        let mut u = at_faces(&grid, |x| up(0.3 * (3.0 * x[0]).cos()));
        let mut count = 1_000_000 * seed;
        for axis in axes::<D>() {
            for face in grid.faces(axis) {
                count += 1;
                u[face] += noise(count);
            }
        }
        Splash {
            grid,
            solids: Solids::new(&setup),
            phi,
            u,
        }
    }

    fn system(&self) -> (System<D>, Vec<f64>) {
        let runs = Runs::all(self.grid.layout());
        let domain = Domain {
            grid: &self.grid,
            runs: &runs,
            solids: &self.solids,
            phi: &self.phi,
            driven: None,
        };
        let mut system = System::new(&self.grid);
        system.assemble(&domain).expect("a system");
        let mut rhs = Vec::new();
        system.divergence_rhs(&domain, &self.u, &mut rhs);
        (system, rhs)
    }

    /// `Σ w θ u²` over the faces that the projection changes: twice the kinetic energy.
    fn energy(&self, wet: &CellField<u8, D>, u: &FaceField<f64, D>) -> f64 {
        let mut sum = 0.0;
        for axis in axes::<D>() {
            let inside = self
                .grid
                .faces(axis)
                .filter(|f: &Face<D>| f.cells().iter().all(|&c| self.grid.contains(c)));
            for face in inside {
                let [lo, hi] = face.cells();
                let span = match (wet[lo] == 1, wet[hi] == 1) {
                    (true, true) => 1.0,
                    (true, false) => theta(self.phi[lo], self.phi[hi]),
                    (false, true) => theta(self.phi[hi], self.phi[lo]),
                    _ => 0.0,
                };
                sum += self.solids.open()[face] * span * u[face] * u[face];
            }
        }
        sum
    }
}

fn projecting_never_adds_energy<const D: usize>(n: usize) {
    for seed in 0..5 {
        let splash = Splash::<D>::new(n, seed);
        let after = project(&splash.solids, &splash.phi, splash.u.clone(), &splash.grid);
        assert!(after.report.separated_cells > 0);
        let before = splash.energy(&after.wet, &splash.u);
        let left = splash.energy(&after.wet, &after.u);
        assert!(left < before, "{left} of {before}");
    }
}

#[test]
fn projecting_never_adds_energy_2d() {
    projecting_never_adds_energy::<2>(24);
}

#[test]
fn projecting_never_adds_energy_3d() {
    projecting_never_adds_energy::<3>(10);
}

/// In every cell: free ones have no divergence left, pressed ones neither, those that let go
/// have no pressure and a divergence that is not negative.
fn every_cell_is_pressed_or_lets_go<const D: usize>(n: usize, method: Method) {
    let splash = Splash::<D>::new(n, 7);
    let (system, rhs) = splash.system();
    let method = PressureMethod::Solver(method);
    let u = splash.u.clone();
    let after = project_by(method, &splash.solids, &splash.phi, u, &splash.grid);
    let mut q = Vec::new();
    system.gather(&after.q, &mut q);
    let mut y = vec![0.0; q.len()];
    system.matrix().apply(&q, &mut y);
    let tolerance = 1e-9 * rhs.iter().fold(0.0f64, |m, r| m.max(r.abs()));
    let mut separated = 0;
    for (i, &constrained) in system.constrained().iter().enumerate() {
        let (slack, x) = (y[i] - rhs[i], q[i] * system.matrix().diagonal(i));
        if constrained {
            assert!(x >= -tolerance && slack >= -tolerance, "{x} {slack}");
            assert!(x.min(slack) <= tolerance, "{x} {slack}");
            separated += usize::from(slack > tolerance);
            let flag = after.separated.as_slice()[system.cells()[i] as usize];
            assert!(flag == 1 || slack <= tolerance, "let go, but not marked");
            assert!(flag == 0 || x <= tolerance, "marked, but pressed on");
        } else {
            assert!(slack.abs() <= tolerance, "{slack}");
        }
    }
    assert!(separated > system.wall_cells() / 10);
    assert_eq!(after.report.wall_cells, system.wall_cells());
}

#[test]
fn every_cell_is_pressed_or_lets_go_2d() {
    for method in [Method::Auto, Method::PiPcg] {
        every_cell_is_pressed_or_lets_go::<2>(24, method);
    }
}

#[test]
fn every_cell_is_pressed_or_lets_go_3d() {
    for method in [Method::Auto, Method::PiPcg] {
        every_cell_is_pressed_or_lets_go::<3>(10, method);
    }
}

fn a_block_that_hits_the_ceiling_stops<const D: usize>(n: usize) {
    let grid = unit_grid::<D>(n);
    let solids = Solids::new(&Setup::new(grid));
    // From wall to wall it can only stop; free at the sides it spreads.
    for margin in [-1.0, 0.25] {
        let phi = hanging(&grid, margin);
        let mut after = project(&solids, &phi, at_faces(&grid, |_| up(3.0)), &grid);
        let runs = Runs::all(grid.layout());
        into_air(&grid, &runs, Layers(2), &mut after.known, &mut after.u);
        let contact = WallConstraint::Contact(&after.q);
        constrain_at_solids(&grid, &runs, &solids, contact, &mut after.u);
        let mut pressed = 0;
        for cell in grid.all_cells().filter(|&c| after.wet[c] == 1) {
            let at_ceiling = cell.0[1] as usize == n - 1;
            if at_ceiling && after.q[cell] > 0.0 {
                pressed += 1;
                assert_eq!(after.u[cell.face(Axis::Y, Side::Hi)], 0.0);
                let below = after.u[cell.face(Axis::Y, Side::Lo)];
                assert!(below >= -1e-10 * 3.0, "rebounds at {below}");
            }
            if margin < 0.0 {
                let v = after.u[cell.face(Axis::Y, Side::Lo)];
                assert!(v.abs() < 1e-10 * 3.0, "{cell:?}: {v}");
            }
        }
        assert!(pressed > 0);
    }
}

#[test]
fn a_block_that_hits_the_ceiling_stops_and_does_not_rebound() {
    a_block_that_hits_the_ceiling_stops::<2>(16);
    a_block_that_hits_the_ceiling_stops::<3>(8);
}
