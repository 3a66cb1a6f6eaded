//! What viscosity leaves of the liquid's divergence, and how the next step takes it.

use plash_grid::{Cell, CellField, FaceField};

use super::{Sample, ball};
use crate::setup::ViscosityConfig;
use crate::shape::Shape;
use crate::viscosity::{Diffusion, Material, Thickness};

impl<const D: usize> Sample<D> {
    /// Lets viscosity act for a second and then has the liquid stay where it is: how much it dilates.
    fn again(&mut self, diffusion: &mut Diffusion<D>, u: &mut FaceField<f64, D>) -> f64 {
        let material = Material {
            density: 1.0,
            viscosity: Thickness::Uniform(10.0),
        };
        let before = self.dilation.clone();
        let report = diffusion.diffuse(&self.domain(), material, self.marks(), u, 1.0, &mut ());
        assert_eq!(report.unwrap().status, "converged");
        let still = FaceField::new(&self.grid);
        let mut after = CellField::new(&self.grid);
        diffusion.carry_dilation(&self.domain(), &still, 1.0, 0.0, &mut after);
        let cells = self.grid.all_cells();
        let sum: f64 = cells.map(|c| f64::from(after[c] - before[c]).powi(2)).sum();
        self.dilation = after;
        sum.sqrt()
    }

    fn diffusion(&self) -> Diffusion<D> {
        let config = ViscosityConfig {
            tolerance: 1e-8,
            max_iterations: 1000,
            ..ViscosityConfig::default()
        };
        Diffusion::new(&self.grid, config)
    }
}

/// A ball that is stretched along an axis and gets thinner along the others, in turn with what viscosity
/// has left of that: in the end it lets the ball get as thin as it must.
fn a_ball_that_is_stretched_gets_thinner<const D: usize>(n: usize) {
    let mut sample = Sample::<D>::new(n, None, |x| ball(x, 0.35));
    // Only the length is given; a liquid without pressure would not care for its width.
    let stretch = sample.at_faces(|x| {
        let mut u = [0.0; D];
        u[1] = x[1] - 0.5;
        u
    });
    let mut diffusion = sample.diffusion();
    let mut u = stretch.clone();
    let first = sample.again(&mut diffusion, &mut u);
    let mut last = first;
    for _ in 0..15 {
        u = stretch.clone();
        let next = sample.again(&mut diffusion, &mut u);
        assert!(next < last * 1.001, "{next} after {last}");
        last = next;
    }
    assert!(last < 0.05 * first, "{last} of {first}");
    // It resists by a pressure below that of the air around, as what is stretched does.
    let middle = Cell([n as i32 / 2; D]);
    assert!(sample.dilation[middle] < 0.0);
}

#[test]
fn a_ball_that_is_stretched_gets_thinner_2d() {
    a_ball_that_is_stretched_gets_thinner::<2>(20);
}

#[test]
fn a_ball_that_is_stretched_gets_thinner_3d() {
    a_ball_that_is_stretched_gets_thinner::<3>(12);
}

/// How much a ball around an obstacle dilates when it is pulled apart along all axes, at first and after
/// fifteen corrections.
fn around_an_obstacle<const D: usize>(n: usize) -> (f64, f64) {
    let obstacle = Shape::Sphere {
        center: [0.45; D],
        radius: 0.12,
    };
    let mut sample = Sample::<D>::new(n, Some(obstacle), |x| ball(x, 0.4));
    let stretch = sample.at_faces(|x| std::array::from_fn(|a| (x[a] - 0.5) * (2.0 - a as f64)));
    let mut diffusion = sample.diffusion();
    let first = sample.again(&mut diffusion, &mut stretch.clone());
    let mut last = first;
    for _ in 0..15 {
        last = sample.again(&mut diffusion, &mut stretch.clone());
    }
    (first, last)
}

#[test]
fn dilation_dies_out_around_an_obstacle_2d() {
    let (first, last) = around_an_obstacle::<2>(24);
    assert!(first > 0.0 && last < 0.2 * first, "{last} of {first}");
}

#[test]
fn dilation_dies_out_around_an_obstacle_3d() {
    let (first, last) = around_an_obstacle::<3>(12);
    assert!(first > 0.0 && last < 0.2 * first, "{last} of {first}");
}

#[test]
fn what_turns_does_not_dilate() {
    let mut sample = Sample::<2>::new(20, None, |x| ball(x, 0.35));
    let mut u = sample.at_faces(|x| [0.5 - x[1], x[0] - 0.5]);
    let mut diffusion = sample.diffusion();
    let dilated = sample.again(&mut diffusion, &mut u);
    assert!(dilated < 1e-6, "{dilated}");
}

#[test]
fn where_walls_let_go_nothing_is_left() {
    let mut sample = Sample::<2>::new(20, None, |x| ball(x, 0.35));
    let let_go = Cell([10, 10]);
    sample.separated[let_go] = 1;
    let mut diffusion = sample.diffusion();
    let mut u = sample.at_faces(|x| [0.0, x[1]]);
    assert!(sample.again(&mut diffusion, &mut u) > 0.0);
    assert_eq!(sample.dilation[let_go], 0.0);
    assert!(sample.dilation[Cell([10, 11])] != 0.0);
}

/// Dilation goes where the liquid goes, and what is written beyond its surface is that of the liquid
/// beside.
fn dilation_is_carried<const D: usize>(n: usize) {
    let mut sample = Sample::<D>::new(n, None, |x| ball(x, 0.3));
    let mut diffusion = sample.diffusion();
    let mut u = sample.at_faces(|x| {
        let mut u = [0.0; D];
        u[1] = (x[1] - 0.5).powi(2);
        u
    });
    sample.again(&mut diffusion, &mut u);
    let dx = sample.grid.dx();
    // A cell and a quarter along x and half a one along y in half a second.
    let moving = sample.at_faces(|_| {
        let mut u = [0.0; D];
        (u[0], u[1]) = (2.5 * dx, dx);
        u
    });
    let mut carried = CellField::new(&sample.grid);
    diffusion.carry_dilation(&sample.domain(), &moving, 0.5, 2.0 * dx, &mut carried);
    let mut compared = 0;
    for cell in sample.grid.all_cells() {
        let (mut sum, mut weights) = (0.0, 0.0);
        for (x, y, weight) in [(1, 0, 0.75), (1, 1, 0.75), (2, 0, 0.25), (2, 1, 0.25)] {
            let mut from = cell;
            (from.0[0], from.0[1]) = (cell.0[0] - x, cell.0[1] - y);
            if from.0[0] >= 0 && from.0[1] >= 0 && sample.phi[from] < 0.0 {
                sum += weight * sample.dilation[from];
                weights += weight;
            }
        }
        let expected = if weights > 0.0 { sum / weights } else { 0.0 };
        if sample.phi[cell] < 2.0 * dx {
            assert!((carried[cell] - expected).abs() < 1e-6, "{cell:?}");
            compared += usize::from(expected != 0.0);
        } else {
            assert_eq!(carried[cell], 0.0);
        }
    }
    assert!(compared > n, "{compared} cells");
    // The next one writes over it.
    sample.runs = plash_grid::Runs::none(sample.grid.layout());
    diffusion.carry_dilation(&sample.domain(), &moving, 0.5, 2.0 * dx, &mut carried);
    assert!(carried.as_slice().iter().all(|&d| d == 0.0));
}

#[test]
fn dilation_is_carried_2d() {
    dilation_is_carried::<2>(20);
}

#[test]
fn dilation_is_carried_3d() {
    dilation_is_carried::<3>(12);
}
