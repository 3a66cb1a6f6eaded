//! One row of the operator, from what surrounds a face.

use super::ground::Ground;
use super::samples::{Samples, mean, pair_of};
use super::shape::{moved, others};
use crate::lattice::BLOCK;

/// The samples around a face of axis `a`: with `c±` the cells on its high and low side and
/// `e±_b` the edges on its high and low side along each other axis `b`,
///
/// ```text
/// (A u)_f = m u_f + Σ± c± (u_f − u_{f±a}) + Σ_b (e−_b τ−_b − e+_b τ+_b),
/// τ_b = u_f − u_{f−b} + v_b − v_{b−a}       at the low edge, and likewise at the high one.
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row {
    /// Mass.
    pub mass: f32,
    /// Weights of the low and the high cell.
    pub cell: [f32; 2],
    /// Weights of the low and the high edge along the other axes, in order.
    pub edge: [[f32; 2]; 2],
    /// Mass, and every other weight times the number of free faces in its sample. The operator is
    /// at most this diagonal, since `g gᵀ ≤ |supp g| diag(g²)`; in the interior no smaller
    /// multiple of the true diagonal would do.
    pub bound: f32,
}

impl Row {
    /// Whether the face is an unknown.
    pub fn is_free(&self) -> bool {
        self.bound > 0.0
    }

    /// The diagonal of the operator.
    pub fn diagonal(&self) -> f64 {
        let pairs = [self.cell, self.edge[0], self.edge[1]];
        let sum: f64 = pairs.iter().flatten().map(|&w| f64::from(w)).sum();
        f64::from(self.mass) + sum
    }
}

/// The rows of those of the eight faces from `at` whose bits are set; all zero if a face is held,
/// or far from everything.
pub fn rows<const D: usize>(
    ground: &impl Ground<D>,
    samples: &Samples<D>,
    axis: usize,
    at: [i32; D],
    faces: u64,
) -> [Row; BLOCK] {
    let mut rows = [Row::default(); BLOCK];
    let face = |lane: usize| moved(at, 0, lane as i32);
    let is_free = |&lane: &usize| faces >> lane & 1 == 1 && !ground.is_held(axis, face(lane));
    let free = (0..BLOCK).filter(is_free).fold(0, |bits, k| bits | 1 << k);
    if free == 0 {
        return rows;
    }
    // Bounds are summed in this order: cells, edges, mass.
    for side in 0..2 {
        let run = samples.run(moved(at, axis, side - 1));
        run.each(free, |lane, place| {
            rows[lane].cell[side as usize] = place.cell[axis].weight;
            rows[lane].bound += place.cell[axis].bound();
        });
    }
    for (k, &b) in others::<D>(axis)[..D - 1].iter().enumerate() {
        for side in 0..2 {
            let run = samples.run(moved(at, b, side));
            run.each(free, |lane, place| {
                let edge = place.edge[pair_of(axis, b)];
                rows[lane].edge[k][side as usize] = edge.weight;
                rows[lane].bound += edge.bound();
            });
        }
    }
    let mut full = 0u64;
    samples.run(at).each(free, |lane, place| {
        full |= u64::from(place.is_full) << lane;
    });
    for lane in (0..BLOCK).filter(|lane| free >> lane & 1 == 1) {
        let row = &mut rows[lane];
        row.mass = if full >> lane & 1 == 1 {
            1.0
        } else {
            // Coarse faces that samples hold have mass even where there is nothing: otherwise those
            // of a single sample slide at no energy, and what is restricted to them sends them
            // anywhere.
            let (fill, _) = mean(ground, face(lane), &[axis]);
            if fill > 0.0 || row.bound > 0.0 {
                fill.max(ground.least())
            } else {
                0.0
            }
        };
        row.bound += row.mass;
    }
    rows
}
