//! One row of the operator, from what surrounds a face.

use super::ground::Ground;
use super::samples::{Samples, Weight, mean, pair_of};
use super::shape::{moved, others};

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

/// The row of a face; all zero if it is held, or far from everything.
pub fn row<const D: usize>(
    ground: &impl Ground<D>,
    samples: &Samples<D>,
    axis: usize,
    face: [i32; D],
) -> Row {
    let mut row = Row::default();
    if ground.has_walls_near(face) && ground.is_held(axis, face) {
        return row;
    }
    let mut bound = 0.0;
    let mut add = |into: &mut f32, weight: Weight| {
        *into = weight.weight;
        bound += weight.weight * f32::from(weight.free);
    };
    for side in 0..2 {
        if let Some(place) = samples.at(moved(face, axis, side - 1)) {
            add(&mut row.cell[side as usize], place.cell[axis]);
        }
    }
    for (k, &b) in others::<D>(axis)[..D - 1].iter().enumerate() {
        for side in 0..2 {
            if let Some(place) = samples.at(moved(face, b, side)) {
                add(
                    &mut row.edge[k][side as usize],
                    place.edge[pair_of(axis, b)],
                );
            }
        }
    }
    row.mass = if samples.at(face).is_some_and(|place| place.is_full) {
        1.0
    } else {
        let (fill, _) = mean(ground, face, &[axis]);
        // Coarse faces that samples hold have mass even where there is nothing: otherwise those of a
        // single sample slide at no energy, and what is restricted to them sends them anywhere.
        let has_samples = bound > 0.0;
        if fill > 0.0 || has_samples {
            fill.max(ground.least())
        } else {
            0.0
        }
    };
    row.bound = bound + row.mass;
    row
}
