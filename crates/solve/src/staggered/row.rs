//! One row of the operator, from what surrounds a face.

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
