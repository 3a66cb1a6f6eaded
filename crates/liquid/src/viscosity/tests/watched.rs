//! What an observer is shown is what is solved.

use plash_grid::{Axis, Face, FaceField, Grid};
use plash_solve::Tolerance;
use plash_solve::staggered::{ViscousMethod, ViscousOptions};

use super::{Sample, ball};
use crate::shape::Shape;
use crate::viscosity::{FaceSystem, ViscosityProblem};
use crate::{LiquidVolume, Observer, Setup, Simulation, Stage, Viscosity};

/// Solves what it is shown by a method of its own.
struct Rival {
    method: ViscousMethod,
    /// The system before and after, once for each problem.
    seen: Vec<[FaceSystem; 2]>,
    /// What residuals of the last one are relative to.
    size: f64,
}

impl Rival {
    fn new(method: ViscousMethod) -> Self {
        Rival {
            method,
            seen: Vec::new(),
            size: 0.0,
        }
    }
}

impl Observer for Rival {
    fn enter(&mut self, _: Stage) {}

    fn viscosity(&mut self, problem: &dyn ViscosityProblem) {
        let mut task = problem.set_up(ViscousOptions {
            method: self.method,
            ..ViscousOptions::default()
        });
        task.load();
        let before = task.system().unwrap();
        task.prepare().unwrap();
        let tolerance = Tolerance {
            relative: 1e-9,
            max_iterations: 10_000,
            ..Tolerance::default()
        };
        let solved = task.solve(&tolerance).unwrap();
        assert!(solved.converged() && solved.iterations > 0, "{solved:?}");
        assert!(solved.residual <= 1e-9 * task.size());
        self.size = task.size();
        assert_eq!(task.unknowns(), before.rhs.len());
        let has_levels = self.method == ViscousMethod::Mgpcg;
        assert_eq!(task.levels() > 0, has_levels);
        self.seen.push([before, task.system().unwrap()]);
    }
}

/// The velocity at every unknown of a system.
fn at_unknowns<const D: usize>(u: &FaceField<f64, D>, system: &FaceSystem) -> Vec<f64> {
    assert_eq!(system.dimensions, D);
    let faces = system.at.iter().zip(&system.components);
    let value = |(at, &axis): (&[i32; 3], &i8)| {
        u[Face {
            axis: Axis(axis as usize),
            at: std::array::from_fn(|a| at[a]),
        }]
    };
    faces.map(value).collect()
}

fn every_method_finds_what_the_liquid_does<const D: usize>(n: usize) {
    let obstacle = Shape::Sphere {
        center: [0.4; D],
        radius: 0.15,
    };
    let sample = Sample::<D>::new(n, Some(obstacle), |x| ball(x, 0.4));
    let wave = |x: [f64; D]| std::array::from_fn(|a| (5.0 * x[(a + 1) % D] + a as f64).sin());
    for method in ViscousMethod::ALL {
        let mut rival = Rival::new(*method);
        let mut u = sample.at_faces(wave);
        let before = u.clone();
        sample.diffuse_watched(0.3, &mut u, &mut rival);
        let [[loaded, found]] = &rival.seen[..] else {
            panic!("one problem");
        };
        assert!(loaded.rhs.len() > 100);
        let largest = loaded.rhs.iter().fold(0.0, |m: f64, b| m.max(b.abs()));
        assert!((rival.size / largest - 1.0).abs() < 1e-12);
        assert_eq!(loaded.velocity, at_unknowns(&before, loaded));
        for (x, u) in found.velocity.iter().zip(at_unknowns(&u, found)) {
            assert!((x - u).abs() < 1e-6, "{x} {u} by {method:?}");
        }
    }
}

#[test]
fn every_method_finds_what_the_liquid_does_2d() {
    every_method_finds_what_the_liquid_does::<2>(24);
}

#[test]
fn every_method_finds_what_the_liquid_does_3d() {
    every_method_finds_what_the_liquid_does::<3>(10);
}

#[test]
fn a_run_that_is_watched_gives_the_same_bits() {
    let grid = Grid::new([16; 2], 1.0 / 16.0, [0.0; 2]).unwrap();
    let mut setup = Setup::new(grid);
    setup.liquids.push(LiquidVolume {
        viscosity: Viscosity::Constant(20.0),
        ..LiquidVolume::new(Shape::Box {
            min: [0.0; 2],
            max: [0.4, 0.7],
        })
    });
    let end = |observer: &mut dyn Observer| {
        let mut simulation = Simulation::new(setup.clone());
        for _ in 0..3 {
            let report = simulation.step(0.01, observer).unwrap();
            assert_eq!(report.viscosity.unwrap().status, "converged");
        }
        simulation.state().particles.clone()
    };
    let mut rival = Rival::new(ViscousMethod::PcgIc);
    assert_eq!(end(&mut rival), end(&mut ()));
    assert_eq!(rival.seen.len(), 3);
}
