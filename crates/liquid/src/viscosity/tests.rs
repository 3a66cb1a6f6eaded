//! The liquid as the solver sees it, and what viscosity does to it.

mod dilation;
mod watched;

use plash_grid::{Axis, Cell, CellField, FaceField, Grid, Runs, axes};
use plash_solve::staggered::{Body, Fill, ViscousMethod};
use plash_solve::{Outcome, SolveError, Status};

use super::body::{LiquidBody, Stiffness};
use super::{Diffusion, Marks, Material, Thickness, Tried, better, of_both};
use crate::pressure::Domain;
use crate::report::{Observer, ViscosityReport};
use crate::setup::{Setup, Solid, ViscosityConfig};
use crate::shape::Shape;
use crate::solids::Solids;

/// A liquid in a unit box by its φ, with solids.
struct Sample<const D: usize> {
    grid: Grid<D>,
    runs: Runs<D>,
    solids: Solids<D>,
    phi: CellField<f64, D>,
    separated: CellField<u8, D>,
    known: FaceField<u8, D>,
    dilation: CellField<f32, D>,
}

/// Every face matters.
fn everywhere<const D: usize>(grid: &Grid<D>) -> FaceField<u8, D> {
    let mut known = FaceField::new(grid);
    for axis in axes::<D>() {
        known.along_mut(axis).as_mut_slice().fill(1);
    }
    known
}

impl<const D: usize> Sample<D> {
    fn new(n: usize, solid: Option<Shape<D>>, phi: impl Fn([f64; D]) -> f64) -> Self {
        let grid = Grid::new([n; D], 1.0 / n as f64, [0.0; D]).unwrap();
        let mut setup = Setup::new(grid);
        setup.solids.extend(solid.map(Solid::new));
        let mut field = CellField::<f64, D>::new(&grid);
        for cell in grid.all_cells() {
            field[cell] = phi(cell.center(&grid));
        }
        let runs = Runs::all(grid.layout());
        let solids = Solids::new(&setup);
        crate::surface::extend_into_solids(&grid, &runs, &solids, &mut field);
        Sample {
            runs,
            solids,
            phi: field,
            separated: CellField::new(&grid),
            known: everywhere(&grid),
            dilation: CellField::new(&grid),
            grid,
        }
    }

    fn domain(&self) -> Domain<'_, D> {
        Domain {
            grid: &self.grid,
            runs: &self.runs,
            solids: &self.solids,
            phi: &self.phi,
            driven: None,
        }
    }

    fn marks(&self) -> Marks<'_, D> {
        Marks {
            separated: &self.separated,
            known: &self.known,
            gravity: [0.0; D],
            dilation: &self.dilation,
        }
    }

    fn body<T>(&self, look: impl Fn(&LiquidBody<'_, D>) -> T) -> T {
        look(&LiquidBody::new(
            &self.domain(),
            Stiffness::Uniform(1.0),
            self.marks(),
        ))
    }

    /// The share of a cell that is liquid.
    fn share(&self, cell: Cell<D>) -> f64 {
        self.body(|body| match body.fill(cell.0) {
            Fill::Empty => 0.0,
            Fill::Full => 1.0,
            Fill::Part(octants) => {
                let sum: f32 = octants[..1 << D].iter().sum();
                f64::from(sum) / (1 << D) as f64
            }
        })
    }

    fn at_faces(&self, f: impl Fn([f64; D]) -> [f64; D]) -> FaceField<f64, D> {
        let mut u = FaceField::new(&self.grid);
        for axis in axes::<D>() {
            for face in self.grid.faces(axis) {
                u[face] = f(face.position(&self.grid))[axis.0];
            }
        }
        u
    }

    /// Lets a viscosity of `nu` act on `u` for a second, solved well.
    fn diffuse(&self, nu: f64, u: &mut FaceField<f64, D>) {
        self.diffuse_watched(nu, u, &mut ());
    }

    fn diffuse_watched(&self, nu: f64, u: &mut FaceField<f64, D>, observer: &mut dyn Observer) {
        let mut diffusion = Diffusion::new(
            &self.grid,
            ViscosityConfig {
                tolerance: 1e-8,
                max_iterations: 10_000,
                ..ViscosityConfig::default()
            },
        );
        let material = Material {
            density: 1.0,
            viscosity: Thickness::Uniform(nu),
        };
        let report = diffusion.diffuse(&self.domain(), material, self.marks(), u, 1.0, observer);
        assert_eq!(report.unwrap().status, "converged");
    }
}

fn ball<const D: usize>(x: [f64; D], radius: f64) -> f64 {
    x.iter().map(|x| (x - 0.5) * (x - 0.5)).sum::<f64>().sqrt() - radius
}

fn the_volume_of_a_ball_converges_at_second_order<const D: usize>(sizes: [usize; 3]) {
    let pi = std::f64::consts::PI;
    let radius: f64 = 0.313;
    let exact = if D == 2 {
        pi * radius.powi(2)
    } else {
        4.0 / 3.0 * pi * radius.powi(3)
    };
    let errors = sizes.map(|n| {
        let sample = Sample::<D>::new(n, None, |x| ball(x, radius));
        let sum: f64 = sample.grid.all_cells().map(|c| sample.share(c)).sum();
        (sum * sample.grid.cell_volume() / exact - 1.0).abs()
    });
    for pair in errors.windows(2) {
        assert!(pair[0] / pair[1] > 3.0, "{errors:?}");
    }
    assert!(errors[2] < 3e-3, "{errors:?}");
}

#[test]
fn the_volume_of_a_ball_converges_at_second_order_2d() {
    the_volume_of_a_ball_converges_at_second_order::<2>([16, 32, 64]);
}

#[test]
fn the_volume_of_a_ball_converges_at_second_order_3d() {
    the_volume_of_a_ball_converges_at_second_order::<3>([12, 24, 48]);
}

/// A level surface is where φ at cell centres says, not half a cell off.
fn a_level_surface_is_at_its_height<const D: usize>() {
    for height in [0.31, 0.4999, 0.5, 0.62] {
        let sample = Sample::<D>::new(16, None, |x| x[1] - height);
        for x in [0, 7, 15] {
            let column = (0..16).map(|y| {
                let mut cell = [x; D];
                cell[1] = y;
                sample.share(Cell(cell))
            });
            let found = column.sum::<f64>() / 16.0;
            assert!((found - height).abs() < 1e-6, "{found} {height}");
        }
    }
}

#[test]
fn a_level_surface_is_at_its_height_2d() {
    a_level_surface_is_at_its_height::<2>();
}

#[test]
fn a_level_surface_is_at_its_height_3d() {
    a_level_surface_is_at_its_height::<3>();
}

#[test]
fn an_obstacle_is_near_wherever_a_face_within_two_cells_is_held() {
    let solid = Shape::Sphere {
        center: [0.52, 0.47, 0.5],
        radius: 0.11,
    };
    let sample = Sample::<3>::new(16, Some(solid), |x| x[1] - 0.5);
    sample.body(|body| {
        let held: Vec<[i32; 3]> = (sample.grid.faces(Axis::X))
            .filter(|f| (1..16).contains(&f.at[0]) && body.distance(0, f.at) <= 0.0)
            .map(|f| f.at)
            .collect();
        assert!(held.len() > 10);
        let (mut near, mut far) = (0, 0);
        for cell in sample.grid.all_cells() {
            let close = |f: &[i32; 3]| (0..3).all(|a| (f[a] - cell.0[a]).abs() <= 2);
            if held.iter().any(close) {
                assert!(body.is_near_obstacle(cell.0));
                near += 1;
            }
            far += usize::from(!body.is_near_obstacle(cell.0));
        }
        assert!(near > 100 && far > 500, "{near} {far}");
    });
}

/// Liquid that moves as a whole does not know that it is viscous.
fn a_free_ball_keeps_turning<const D: usize>(n: usize) {
    let sample = Sample::<D>::new(n, None, |x| ball(x, 0.3));
    let motion = |x: [f64; D]| {
        let mut u = [0.3; D];
        u[0] -= 2.0 * (x[1] - 0.5);
        u[1] += 2.0 * (x[0] - 0.5);
        u
    };
    let before = sample.at_faces(motion);
    let mut u = before.clone();
    sample.diffuse(10.0, &mut u);
    for axis in axes::<D>() {
        for face in sample.grid.faces(axis) {
            assert!((u[face] - before[face]).abs() < 1e-6, "{face:?}");
        }
    }
}

#[test]
fn a_free_ball_keeps_turning_2d() {
    a_free_ball_keeps_turning::<2>(24);
}

#[test]
fn a_free_ball_keeps_turning_3d() {
    a_free_ball_keeps_turning::<3>(12);
}

/// Liquid that fills the box up to `0.5`, moving along x all alike, is stopped by the floor and
/// the walls; where it has let go of them it is not.
fn liquid_sticks_to_what_holds_it<const D: usize>(n: usize) {
    let mut sample = Sample::<D>::new(n, None, |x| x[1] - 0.5);
    let along_x = |_: [f64; D]| {
        let mut u = [0.0; D];
        u[0] = 1.0;
        u
    };
    let middle = |sample: &Sample<D>| {
        let mut u = sample.at_faces(along_x);
        sample.diffuse(100.0, &mut u);
        let mut at = [n as i32 / 2; D];
        at[1] = n as i32 / 4;
        u.along(Axis::X)[plash_grid::Face { axis: Axis::X, at }]
    };
    assert!(middle(&sample).abs() < 1e-2, "{}", middle(&sample));
    sample.separated.as_mut_slice().fill(1);
    assert!(middle(&sample) > 0.99, "{}", middle(&sample));
}

#[test]
fn liquid_sticks_to_what_holds_it_2d() {
    liquid_sticks_to_what_holds_it::<2>(16);
}

#[test]
fn liquid_sticks_to_what_holds_it_3d() {
    liquid_sticks_to_what_holds_it::<3>(10);
}

/// A lump on a plate that slides goes with it, if it is thick enough.
fn a_plate_carries_what_sticks_to_it<const D: usize>(n: usize) {
    let mut normal = [0.0; D];
    normal[1] = 1.0;
    let plate = Shape::Plane {
        point: [0.37; D],
        normal,
    };
    let mut sample = Sample::<D>::new(n, Some(plate), |x| ball(x, 0.3));
    let sliding = sample.at_faces(|_| std::array::from_fn(|a| f64::from(u8::from(a == 0))));
    *sample.solids.velocity_mut() = sliding;
    let mut u = FaceField::new(&sample.grid);
    sample.diffuse(1e4, &mut u);
    let mut count = 0;
    for face in sample.grid.faces(Axis::X) {
        let x = face.position(&sample.grid);
        if ball(x, 0.3) < 0.0 && x[1] > 0.37 {
            assert!((u[face] - 1.0).abs() < 1e-3, "{face:?}: {}", u[face]);
            count += 1;
        }
    }
    assert!(count > 30, "{count} faces");
}

#[test]
fn a_plate_carries_what_sticks_to_it_2d() {
    a_plate_carries_what_sticks_to_it::<2>(24);
}

#[test]
fn a_plate_carries_what_sticks_to_it_3d() {
    a_plate_carries_what_sticks_to_it::<3>(16);
}

/// A plane wall that lies between faces holds those behind it that are open in part, too.
#[test]
fn faces_that_are_open_in_part_are_slowed_down_with_the_rest() {
    let floor = Shape::Plane {
        point: [0.0, 0.28],
        normal: [0.0, 1.0],
    };
    let sample = Sample::<2>::new(16, Some(floor), |x| x[1] - 0.6);
    let mut u = sample.at_faces(|_| [1.0, 0.0]);
    // The floor is at 4.48 cells: the x faces at 4.5 are free, and none of their row is held.
    let closed = Axis::X;
    let face = |y: i32| plash_grid::Face {
        axis: closed,
        at: [8, y],
    };
    sample.diffuse(50.0, &mut u);
    for y in 4..9 {
        assert!(u[face(y)].abs() < 0.05, "{y}: {}", u[face(y)]);
    }
    let tilted = Shape::Plane {
        point: [0.5, 0.3],
        normal: [0.3, 1.0],
    };
    let sample = Sample::<2>::new(16, Some(tilted), |x| x[1] - 0.7);
    let partly = |f: &plash_grid::Face<2>| {
        let open = sample.solids.open()[*f];
        let held = sample.body(|body| body.distance(f.axis.0, f.at) <= 0.0);
        open > 0.0 && held && (1..16).contains(&f.at[0])
    };
    let faces: Vec<_> = sample.grid.faces(closed).filter(partly).collect();
    assert!(!faces.is_empty());
    for (nu, most, least) in [(50.0, 0.05, 0.0), (1e-9, 1.0, 0.999)] {
        let mut u = sample.at_faces(|_| [1.0, 0.0]);
        sample.diffuse(nu, &mut u);
        for &f in &faces {
            assert!((least..=most).contains(&u[f]), "{f:?}: {} at {nu}", u[f]);
        }
    }
}

/// Around a drop in the air there are faces that no share of liquid determines. It drags them along,
/// be it that some of it has let go of a wall, which has nothing to do with them.
fn tips_follow_what_has_let_go<const D: usize>(n: usize) {
    let mut sample = Sample::<D>::new(n, None, |x| ball(x, 0.3));
    let motion = |x: [f64; D]| {
        let mut u = [1.0; D];
        u[0] -= x[1];
        u
    };
    let diffused = |sample: &Sample<D>| {
        let mut u = sample.at_faces(motion);
        // What is beyond the drop is wrong until it follows.
        for axis in axes::<D>() {
            for face in sample.grid.faces(axis) {
                if ball(face.position(&sample.grid), 0.3) > 1.0 / n as f64 {
                    u[face] = 100.0;
                }
            }
        }
        sample.diffuse(1.0, &mut u);
        u
    };
    let held = diffused(&sample);
    sample.separated.as_mut_slice().fill(1);
    let let_go = diffused(&sample);
    let mut followed = 0;
    for axis in axes::<D>() {
        assert_eq!(held.slice(axis.0), let_go.slice(axis.0));
        let value = |u: &FaceField<f64, D>| u.slice(axis.0).iter().filter(|u| **u > 50.0).count();
        followed += value(&sample.at_faces(|_| [100.0; D])) - value(&let_go);
    }
    assert!(followed > 0);
}

#[test]
fn tips_follow_what_has_let_go_2d() {
    tips_follow_what_has_let_go::<2>(24);
}

#[test]
fn tips_follow_what_has_let_go_3d() {
    tips_follow_what_has_let_go::<3>(14);
}

#[test]
fn slivers_are_nothing() {
    // The surface is so many cells above the bottom of the ninth row.
    let fill = |above: f64| {
        let sample = Sample::<2>::new(16, None, move |x| x[1] - (8.0 + above) / 16.0);
        sample.body(|body| body.fill([5, 8]))
    };
    assert_eq!(fill(0.004), Fill::Empty);
    let Fill::Part(shares) = fill(0.02) else {
        panic!("neither empty nor full");
    };
    assert!((shares[0] - 0.04).abs() < 1e-3 && shares[2] == 0.0);
}

/// Diffuses a whirl in a ball.
fn whirl(config: ViscosityConfig, viscosity: f64) -> ViscosityReport {
    whirl_by(&mut whirler(config), viscosity)
}

fn whirler(config: ViscosityConfig) -> Diffusion<2> {
    let grid = Grid::new([24; 2], 1.0 / 24.0, [0.0; 2]).unwrap();
    Diffusion::new(&grid, config)
}

fn whirl_by(diffusion: &mut Diffusion<2>, viscosity: f64) -> ViscosityReport {
    let sample = Sample::<2>::new(24, None, |x| ball(x, 0.4));
    let mut u = sample.at_faces(|x| [(9.0 * x[1]).sin(), (7.0 * x[0]).cos()]);
    let before = u.clone();
    let material = Material {
        density: 1.0,
        viscosity: Thickness::Uniform(viscosity),
    };
    let report = diffusion
        .diffuse(
            &sample.domain(),
            material,
            sample.marks(),
            &mut u,
            1.0,
            &mut (),
        )
        .unwrap();
    assert!(u != before && report.unknowns > 500);
    report
}

#[test]
fn a_method_that_fails_is_followed_by_one_that_does_not() {
    let config = |method, max_iterations| ViscosityConfig {
        method,
        max_iterations,
        tolerance: 1e-10,
        ..ViscosityConfig::default()
    };
    let alone = whirl(config(ViscousMethod::PcgJacobi, 500), 1.0);
    let second = whirl(config(ViscousMethod::PcgIc, 500), 1.0);
    assert_eq!((alone.status, second.status), ("converged", "converged"));
    assert!(second.iterations < alone.iterations, "{second:?}");
    assert_eq!((alone.first_status, second.first_status), (None, None));
    let report = whirl(config(ViscousMethod::PcgJacobi, second.iterations), 1.0);
    assert_eq!((report.method, report.status), ("pcg-ic", "fallback"));
    assert_eq!(report.first_status, Some("iteration-limit"));
    assert_eq!(report.iterations, 2 * second.iterations);
    assert_eq!(report.residual, second.residual);
    assert!(report.converged() && report.smoother.is_none());
}

#[test]
fn of_two_methods_that_fail_the_better_one_is_taken() {
    let config = ViscosityConfig {
        max_iterations: 2,
        tolerance: 1e-10,
        ..ViscosityConfig::default()
    };
    let safe = ViscosityConfig {
        method: ViscousMethod::PcgIc,
        ..config
    };
    // Thick liquid is hard for the second method.
    let (both, second) = (whirl(config, 10.0), whirl(safe, 10.0));
    assert_eq!((both.method, both.status), ("mgpcg", "iteration-limit"));
    assert_eq!(both.first_status, Some("iteration-limit"));
    assert_eq!(both.iterations, 4);
    assert!(both.residual < second.residual, "{both:?} and {second:?}");
}

#[test]
fn of_two_methods_one_that_breaks_down_is_never_taken() {
    use ViscousMethod::{Mgpcg, PcgIc};
    let ended = |status, residual| -> Tried {
        Ok(Outcome {
            status,
            iterations: 7,
            residual,
            initial_residual: 1.0,
        })
    };
    let broken = |iteration| -> Tried {
        Err(SolveError::NotFinite {
            quantity: "residual",
            iteration,
        })
    };
    let good = || ended(Status::Converged, 0.1);
    let [near, far] = [0.2, 0.3].map(|residual| move || ended(Status::Stagnated, residual));
    for (first, second, expected, status, first_status, iterations) in [
        (far(), good(), PcgIc, "fallback", "stagnated", 14),
        (far(), near(), PcgIc, "stagnated", "stagnated", 14),
        (near(), near(), PcgIc, "stagnated", "stagnated", 14),
        (near(), far(), Mgpcg, "stagnated", "stagnated", 14),
        (near(), broken(1), Mgpcg, "stagnated", "stagnated", 7),
        (broken(0), good(), PcgIc, "fallback", "failed", 7),
        (broken(0), far(), PcgIc, "stagnated", "failed", 7),
    ] {
        let (method, outcome) = better((Mgpcg, &first), (PcgIc, &second)).unwrap();
        assert_eq!(method, expected, "{first:?} and {second:?}");
        let alone = ViscosityReport {
            method: method.as_str(),
            smoother: None,
            iterations: outcome.iterations,
            residual: outcome.residual,
            status: outcome.status.as_str(),
            first_status: None,
            unknowns: 5,
        };
        let both = of_both(alone, &first, &second);
        assert_eq!((both.method, both.unknowns), (expected.as_str(), 5));
        assert_eq!(
            (both.status, both.first_status),
            (status, Some(first_status))
        );
        assert_eq!(
            (both.iterations, both.residual),
            (iterations, outcome.residual)
        );
    }
    let lost = better((Mgpcg, &broken(0)), (PcgIc, &broken(1)));
    assert_eq!(lost.unwrap_err(), broken(1).unwrap_err());
}

#[test]
fn a_system_too_large_for_a_matrix_has_one_method_only() {
    let config = ViscosityConfig {
        max_iterations: 2,
        tolerance: 1e-10,
        ..ViscosityConfig::default()
    };
    let mut diffusion = whirler(config);
    let both = whirl_by(&mut diffusion, 10.0);
    assert_eq!(
        (both.first_status, both.iterations),
        (Some("iteration-limit"), 4)
    );
    diffusion.max_fallback_unknowns = both.unknowns;
    assert_eq!(whirl_by(&mut diffusion, 10.0).iterations, 4);
    diffusion.max_fallback_unknowns = both.unknowns - 1;
    let alone = whirl_by(&mut diffusion, 10.0);
    assert_eq!((alone.method, alone.status), ("mgpcg", "iteration-limit"));
    assert_eq!((alone.first_status, alone.iterations), (None, 2));
    assert!(!alone.converged() && alone.residual == both.residual);
}
