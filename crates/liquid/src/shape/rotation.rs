//! Rotations as orthogonal matrices.

use super::vector::{dot, unit};

/// A proper rotation: an orthogonal matrix of determinant one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rotation<const D: usize> {
    rows: [[f64; D]; D],
}

impl Rotation<2> {
    /// Counter-clockwise by an angle in degrees.
    pub fn degrees(angle: f64) -> Self {
        let [sin, cos] = sin_cos_degrees(angle);
        Self {
            rows: [[cos, -sin], [sin, cos]],
        }
    }
}

impl Rotation<3> {
    /// About an axis of any length but zero, by an angle in degrees, counter-clockwise as seen
    /// from the tip of the axis: `R = cos·I + (1 − cos)·a aᵀ + sin·[a]ₓ`.
    pub fn axis_degrees(axis: [f64; 3], angle: f64) -> Self {
        let [sin, cos] = sin_cos_degrees(angle);
        let a = unit(axis);
        let cross = [[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]];
        Self {
            rows: std::array::from_fn(|i| {
                std::array::from_fn(|j| {
                    let identity = if i == j { cos } else { 0.0 };
                    identity + (1.0 - cos) * a[i] * a[j] + sin * cross[i][j]
                })
            }),
        }
    }
}

impl<const D: usize> Rotation<D> {
    /// The rotated vector, `R v`.
    pub fn apply(&self, v: [f64; D]) -> [f64; D] {
        self.rows.map(|row| dot(row, v))
    }

    /// The vector before rotation, `Rᵀ v`.
    pub fn undo(&self, v: [f64; D]) -> [f64; D] {
        std::array::from_fn(|j| (0..D).map(|i| self.rows[i][j] * v[i]).sum())
    }

    /// This rotation followed by another: `next R`.
    #[must_use]
    pub fn then(&self, next: &Self) -> Self {
        Self {
            rows: next.rows.map(|row| self.undo(row)),
        }
    }

    /// Entries by row.
    pub fn rows(&self) -> [[f64; D]; D] {
        self.rows
    }
}

/// Sine and cosine of an angle in degrees, exact at multiples of 90 so that a quarter turn maps
/// axes onto axes.
fn sin_cos_degrees(angle: f64) -> [f64; 2] {
    let quarter = (angle / 90.0).round();
    let (sin, cos) = (angle - 90.0 * quarter).to_radians().sin_cos();
    match quarter.rem_euclid(4.0) {
        1.0 => [cos, -sin],
        2.0 => [-sin, -cos],
        3.0 => [-cos, sin],
        _ => [sin, cos],
    }
}
