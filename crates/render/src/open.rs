//! The part of space that liquid may fill: inside the domain box and outside solids.

use rayon::prelude::*;

use crate::kernel::Kernel;
use crate::lattice::{Lattice, SIDE, box_points};

/// Signed distance to a solid, positive in the open.
pub type Solid<'a, const D: usize> = &'a (dyn Fn([f64; D]) -> f64 + Sync);

/// How one block of nodes lies to the walls.
#[derive(Clone, Debug)]
pub(crate) enum Openness {
    /// Every kernel centred in the block is wholly in the open.
    Open,
    /// No node of the block is near the open.
    Closed,
    /// Node values of [`Mixed`].
    Mixed(Box<Mixed>),
}

/// Values at the nodes of a block near a wall.
#[derive(Clone, Debug)]
pub(crate) struct Mixed {
    /// Distance to the nearest wall or solid, positive in the open.
    pub distance: Vec<f32>,
    /// The integral of the kernel over the open, in [0, 1].
    pub fraction: Vec<f32>,
}

/// Distance into the open of a box with solids inside it.
pub(crate) fn open_distance<const D: usize>(
    bounds: &[[f64; D]; 2],
    solid: Solid<'_, D>,
    x: [f64; D],
) -> f64 {
    let walls = (0..D).map(|a| (x[a] - bounds[0][a]).min(bounds[1][a] - x[a]));
    walls.fold(finite(solid(x)), f64::min)
}

/// A distance that is no number is no obstacle.
fn finite(distance: f64) -> f64 {
    if distance.is_finite() {
        distance
    } else {
        f64::MAX
    }
}

/// Classify and fill every block of `lattice`.
pub(crate) fn survey<const D: usize>(
    lattice: &Lattice<D>,
    bounds: &[[f64; D]; 2],
    solid: Solid<'_, D>,
    kernel: &Kernel,
) -> Vec<Openness> {
    let weights = kernel.cell_weights();
    let halo = weights.len() / 2;
    let reach = ((SIDE + 2 * halo) as f64 * 0.5 + 1.0) * lattice.step * (D as f64).sqrt();
    let survey_block = |index: usize| {
        let low = lattice.block_at(index).map(|b| b * SIDE);
        let corner = lattice.position(low);
        let far = corner.map(|x| x + (SIDE - 1) as f64 * lattice.step);
        let room = (halo as f64 + 1.0) * lattice.step;
        let clear = |a: usize| corner[a] - room > bounds[0][a] && far[a] + room < bounds[1][a];
        let beyond = |a: usize| far[a] < bounds[0][a] || corner[a] > bounds[1][a];
        let from_solid = finite(solid(std::array::from_fn(|a| 0.5 * (corner[a] + far[a]))));
        if (0..D).any(beyond) || from_solid < -reach {
            Openness::Closed
        } else if (0..D).all(clear) && from_solid > reach {
            Openness::Open
        } else {
            mixed_block(lattice.step, corner, halo, &weights, |x| {
                open_distance(bounds, solid, x)
            })
        }
    };
    (0..lattice.block_count())
        .into_par_iter()
        .map(survey_block)
        .collect()
}

/// Evaluate the distance on a block with a halo and convolve its open indicator with the kernel.
fn mixed_block<const D: usize>(
    step: f64,
    corner: [f64; D],
    halo: usize,
    weights: &[f32],
    distance: impl Fn([f64; D]) -> f64,
) -> Openness {
    let side = SIDE + 2 * halo;
    let place =
        |i: [usize; D]| std::array::from_fn(|a| corner[a] + (i[a] as f64 - halo as f64) * step);
    let distances: Vec<f64> = box_points([0; D], [side; D])
        .map(|i| distance(place(i)))
        .collect();
    // The fraction of the cell around a node that is open, taking the wall as flat and aligned.
    let open: Vec<f32> = distances
        .iter()
        .map(|s| (0.5 + s / step).clamp(0.0, 1.0) as f32)
        .collect();
    let mut sides = [side; D];
    let fraction = (0..D).rev().fold(open, |field, axis| {
        convolve(&field, &mut sides, axis, weights)
    });
    let distance = box_points([halo; D], [halo + SIDE; D])
        .map(|i| distances[(0..D).rev().fold(0, |sum, a| sum * side + i[a])] as f32)
        .collect();
    let mixed = Mixed { distance, fraction };
    if mixed.distance.iter().all(|s| *s < 0.0) {
        Openness::Closed
    } else if mixed.fraction.iter().all(|f| *f > 1.0 - 1e-6)
        && mixed.distance.iter().all(|s| *s > step as f32)
    {
        Openness::Open
    } else {
        Openness::Mixed(Box::new(mixed))
    }
}

/// One pass of a separable convolution, keeping the places that all weights reach; `sides` of the
/// patch shrink accordingly.
pub(crate) fn convolve<const D: usize>(
    field: &[f32],
    sides: &mut [usize; D],
    axis: usize,
    weights: &[f32],
) -> Vec<f32> {
    let stride: usize = sides[..axis].iter().product();
    let (old, new) = (sides[axis], sides[axis] + 1 - weights.len());
    sides[axis] = new;
    let mut out = vec![0.0; field.len() / old * new];
    for (from, to) in field
        .chunks_exact(stride * old)
        .zip(out.chunks_exact_mut(stride * new))
    {
        for (k, weight) in weights.iter().enumerate() {
            for (sum, value) in to.iter_mut().zip(&from[k * stride..]) {
                *sum += weight * value;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Open fractions of a lattice with one wall, the plane x = 0.
    fn fraction_at<const D: usize>(distance: f64) -> f32 {
        let kernel = Kernel {
            radius: 0.25,
            step: 0.1,
        };
        let weights = kernel.cell_weights();
        let corner = std::array::from_fn(|a| if a == 0 { distance } else { 0.0 });
        match mixed_block::<D>(0.1, corner, weights.len() / 2, &weights, |x| x[0]) {
            Openness::Mixed(mixed) => mixed.fraction[0],
            Openness::Open => 1.0,
            Openness::Closed => 0.0,
        }
    }

    #[test]
    fn half_the_kernel_is_open_on_a_wall() {
        assert!((fraction_at::<2>(0.0) - 0.5).abs() < 0.01);
        assert!((fraction_at::<3>(0.0) - 0.5).abs() < 0.01);
    }

    #[test]
    fn the_kernel_is_open_its_radius_away_from_a_wall() {
        assert!(fraction_at::<3>(0.31) > 0.999);
        assert!(fraction_at::<3>(-0.4) < 0.001);
    }

    #[test]
    fn blocks_in_solids_are_closed_and_in_air_open() {
        let lattice = Lattice::new([[0.0; 2], [4.0; 2]], 0.1).unwrap();
        let kernel = Kernel {
            radius: 0.25,
            step: 0.1,
        };
        let blocks = survey(&lattice, &[[0.0; 2], [4.0; 2]], &|x| x[0] - 2.0, &kernel);
        let kind = |x: usize, y: usize| &blocks[lattice.block_index([x, y])];
        assert!(matches!(kind(1, 2), Openness::Closed));
        assert!(matches!(kind(2, 2), Openness::Mixed(_)));
        assert!(matches!(kind(4, 2), Openness::Open));
        assert!(matches!(kind(4, 0), Openness::Mixed(_)));
    }
}
