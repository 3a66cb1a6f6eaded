//! Fitting the surface to the occupancy, so that thin sheets and small drops keep their volume.
//!
//! Where liquid is thinner than the kernel its occupancy stays below one, and the level ½ encloses
//! too little of it, or nothing. What should agree with the occupancy `F` is the same smoothing of
//! the region that the mesh encloses: `K ∗ χ(G > ½) = F`. Van Cittert's iteration
//! `G ← G + (F − K ∗ χ(G))`, started from `G = F`, moves the level set of `G` towards that; a flat
//! surface satisfies it from the start and stays where it is.

use rayon::prelude::*;

use crate::field::{ISO, Occupancy};
use crate::lattice::{EMPTY, Lattice, SIDE, box_points};
use crate::open::{Openness, convolve};

/// Values beyond this say no more about where the surface lies.
const RANGE: [f32; 2] = [-0.5, 1.5];

/// A few iterations of the fit; the field of `F` in, the fitted field `G` out.
pub(crate) fn fit<const D: usize>(field: &Occupancy<'_, D>, passes: usize) -> Vec<f32> {
    let nodes = Lattice::<D>::block_nodes();
    let occupancy: Vec<f32> = field.occupancy.iter().map(|f| f.min(1.0)).collect();
    let mut fitted = occupancy.clone();
    let weights = field.frame.kernel_weights();
    for _ in 0..passes {
        let enclosed = enclosed_fractions(field, &fitted);
        let blocks = fitted
            .par_chunks_mut(nodes)
            .zip(occupancy.par_chunks(nodes));
        blocks.enumerate().for_each(|(slot, (values, occupancy))| {
            if occupancy.iter().all(|f| *f <= 0.0) {
                return;
            }
            let Some(smoothed) = smoothed_block(field, &enclosed, slot, &weights) else {
                return;
            };
            for ((value, occupancy), smoothed) in values.iter_mut().zip(occupancy).zip(smoothed) {
                let lack = beyond_noise(occupancy - smoothed);
                // Disorder makes the occupancy dip deep inside; that must not open holes, so
                // an excess counts only as far as the region itself has an edge nearby.
                let edge = (2.0 * (1.0 - smoothed)).clamp(0.0, 1.0);
                let share = if lack < 0.0 { edge } else { 1.0 };
                *value = (*value + share * lack).clamp(RANGE[0], RANGE[1]);
            }
        });
    }
    fitted
}

/// What of a difference is more than the disorder of particles explains. Fitting that too would
/// roughen still water and gain nothing: it averages out over a surface.
fn beyond_noise(lack: f32) -> f32 {
    const NOISE: f32 = 0.05;
    lack - lack.clamp(-NOISE, NOISE)
}

/// The fraction of each node's cell that is inside and open.
fn enclosed_fractions<const D: usize>(field: &Occupancy<'_, D>, values: &[f32]) -> Vec<f32> {
    let nodes = Lattice::<D>::block_nodes();
    let step = field.frame.lattice.step as f32;
    let mut fractions = vec![0.0; values.len()];
    fractions
        .par_chunks_mut(nodes)
        .enumerate()
        .for_each(|(slot, fractions)| {
            let block = field.blocks[slot] as usize;
            if matches!(field.frame.open[block], Openness::Closed) {
                return;
            }
            let around = Halo::<D>::new(field, values, slot, 1);
            if around.values.iter().all(|x| *x <= ISO) {
                return;
            }
            for (fraction, (here, local)) in fractions.iter_mut().zip(around.inner().zip(0..)) {
                let distance = field.frame.distance(block, local);
                let open = if distance > step {
                    1.0
                } else {
                    (0.5 + distance / step).clamp(0.0, 1.0)
                };
                *fraction = open * around.inside_length(here);
            }
        });
    fractions
}

/// `∫_open K χ / ∫_open K` at the nodes of one block; nothing if that is 1 all over.
fn smoothed_block<const D: usize>(
    field: &Occupancy<'_, D>,
    enclosed: &[f32],
    slot: usize,
    weights: &[f32],
) -> Option<Vec<f32>> {
    let around = Halo::<D>::new(field, enclosed, slot, weights.len() / 2);
    if around.values.iter().all(|x| *x == 0.0) {
        return Some(vec![0.0; Lattice::<D>::block_nodes()]);
    }
    if around.values.iter().all(|x| *x == 1.0) {
        return None;
    }
    let mut sides = [around.side; D];
    let mut smoothed = (0..D).rev().fold(around.values, |field, axis| {
        convolve(&field, &mut sides, axis, weights)
    });
    field
        .frame
        .normalise(field.blocks[slot] as usize, &mut smoothed);
    Some(smoothed)
}

/// A block's values with those of its neighbours around it; zero where there are none.
struct Halo<const D: usize> {
    values: Vec<f32>,
    side: usize,
    width: usize,
}

impl<const D: usize> Halo<D> {
    fn new(field: &Occupancy<'_, D>, values: &[f32], slot: usize, width: usize) -> Self {
        let lattice = &field.frame.lattice;
        let nodes = Lattice::<D>::block_nodes();
        let side = SIDE + 2 * width;
        let mut halo = Self {
            values: vec![0.0; side.pow(D as u32)],
            side,
            width,
        };
        let block = lattice.block_at(field.blocks[slot] as usize);
        // Copy the part of each neighbour that the halo overlaps, row by row.
        for offset in box_points([0; D], [3; D]) {
            let outside =
                |a: usize| block[a] + offset[a] == 0 || block[a] + offset[a] > lattice.blocks[a];
            if (0..D).any(outside) {
                continue;
            }
            let source =
                field.slots[lattice.block_index(std::array::from_fn(|a| block[a] + offset[a] - 1))];
            if source == EMPTY {
                continue;
            }
            let from = offset.map(|o| if o == 0 { SIDE - width } else { 0 });
            let to = offset.map(|o| if o == 2 { width } else { SIDE });
            let source = &values[source as usize * nodes..][..nodes];
            let mut row_end = to;
            row_end[0] = from[0] + 1;
            for i in box_points(from, row_end) {
                let place: [usize; D] =
                    std::array::from_fn(|a| i[a] + offset[a] * SIDE + width - SIDE);
                let length = to[0] - from[0];
                let target = halo.index(place);
                let start = (0..D).rev().fold(0, |sum, a| sum * SIDE + i[a]);
                halo.values[target..][..length].copy_from_slice(&source[start..][..length]);
            }
        }
        halo
    }

    fn index(&self, place: [usize; D]) -> usize {
        (0..D).rev().fold(0, |sum, a| sum * self.side + place[a])
    }

    /// Indices of the block's own nodes, x fastest.
    fn inner(&self) -> impl Iterator<Item = usize> + '_ {
        box_points([self.width; D], [self.width + SIDE; D]).map(|i| self.index(i))
    }

    /// The inside part of a node's cell: along each axis the length of its unit segment that is
    /// inside by linear interpolation, the least of them for a node inside. Exact for slabs across an
    /// axis, and to first order for planes of any direction.
    fn inside_length(&self, here: usize) -> f32 {
        let depth = self.values[here] - ISO;
        let is_inside = depth > 0.0;
        // Length on the node's own side of the surface, within its half of an edge.
        let own = |there: usize| {
            let other = self.values[there] - ISO;
            if (other > 0.0) == is_inside {
                0.5
            } else {
                (depth / (depth - other)).min(0.5)
            }
        };
        let lengths = (0..D).map(|a| {
            let stride = self.side.pow(a as u32);
            own(here - stride) + own(here + stride)
        });
        let least = lengths.fold(1.0, f32::min);
        if is_inside { least } else { 1.0 - least }
    }
}
