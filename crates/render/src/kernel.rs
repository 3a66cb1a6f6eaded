//! The smoothing kernel: a product of quadratic B-splines.

use crate::lattice::SIDE;

/// A tensor-product quadratic B-spline of given radius, on a lattice of given step.
///
/// Along each axis `k(x) = w⁻¹ B₂(x/w)` with `w = radius/1.5`; it integrates to one, so the
/// occupancy of a half space is exactly ½ on its boundary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernel {
    /// Half width of the support.
    pub radius: f64,
    /// Lattice spacing.
    pub step: f64,
}

impl Kernel {
    /// The kernel along one axis at distance `x`.
    pub fn along(&self, x: f64) -> f64 {
        let width = self.radius / 1.5;
        let q = x.abs() / width;
        let b = if q < 0.5 {
            0.75 - q * q
        } else if q < 1.5 {
            0.5 * (1.5 - q) * (1.5 - q)
        } else {
            0.0
        };
        b / width
    }

    /// Kernel values at the 8 nodes of a block row whose first node is `first`, for a particle at
    /// `x`, both in lattice units.
    ///
    /// `B₂(q) = ½ max(0, 3/2 − q)² − 3/2 max(0, ½ − q)²`, without branches so that it vectorises.
    pub fn row(&self, x: f64, first: usize) -> [f32; SIDE] {
        let width = self.radius / 1.5;
        let to_q = (self.step / width) as f32;
        let scale = width.recip() as f32;
        let start = (first as f64 - x) as f32;
        std::array::from_fn(|i| {
            let q = ((start + i as f32) * to_q).abs();
            let (outer, inner) = ((1.5 - q).max(0.0), (0.5 - q).max(0.0));
            scale * (0.5 * outer * outer - 1.5 * inner * inner)
        })
    }

    /// The kernel integrated over lattice cells around a node: odd length, summing to one.
    pub fn cell_weights(&self) -> Vec<f32> {
        const SAMPLES: i64 = 32;
        let half = (self.radius / self.step + 0.5).ceil() as i64;
        let integral = |cell: i64| -> f64 {
            (0..SAMPLES)
                .map(|s| {
                    self.along((cell as f64 + (s as f64 + 0.5) / SAMPLES as f64 - 0.5) * self.step)
                })
                .sum()
        };
        let raw: Vec<f64> = (-half..=half).map(integral).collect();
        let total: f64 = raw.iter().sum();
        raw.into_iter().map(|w| (w / total) as f32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_integrates_to_one() {
        let kernel = Kernel {
            radius: 0.3,
            step: 0.1,
        };
        let n = 10_000;
        let sum: f64 = (0..n)
            .map(|i| kernel.along((f64::from(i) / f64::from(n) - 0.5) * 0.8))
            .sum();
        assert!((sum * 0.8 / f64::from(n) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn rows_are_the_kernel_at_the_nodes() {
        let kernel = Kernel {
            radius: 0.3,
            step: 0.1,
        };
        for x in [0.0, 1.3, 4.5, 6.96, 9.0, 100.0] {
            for (i, value) in kernel.row(x, 3).into_iter().enumerate() {
                let exact = kernel.along((3.0 + i as f64 - x) * 0.1);
                assert!((f64::from(value) - exact).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn cell_weights_are_symmetric() {
        let weights = Kernel {
            radius: 0.3,
            step: 0.1,
        }
        .cell_weights();
        for (a, b) in weights.iter().zip(weights.iter().rev()) {
            assert!((a - b).abs() < 1e-6);
        }
    }
}
