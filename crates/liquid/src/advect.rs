//! Moving particles through the grid's velocity.

use plash_grid::{FaceField, Grid, sample_faces};
use rayon::prelude::*;

use crate::solids::Solids;
use crate::transfer::PARTICLE_GRAIN;

/// Clearance from solids that particles are pushed out to, in cells.
pub const CLEARANCE: f64 = 0.1;

/// Moves particles by `displacement`, if there is one, then through `u` for `dt`, then out
/// of solids.
pub fn particles<const D: usize>(
    grid: &Grid<D>,
    solids: &Solids<D>,
    u: &FaceField<f64, D>,
    displacement: Option<&FaceField<f64, D>>,
    position: &mut [[f64; D]],
    dt: f64,
) {
    let clearance = CLEARANCE * grid.dx();
    position
        .par_iter_mut()
        .with_min_len(PARTICLE_GRAIN)
        .for_each(|x| {
            if let Some(d) = displacement {
                let d = sample_faces(grid, d, *x);
                for a in 0..D {
                    x[a] += d[a];
                }
                solids.push_out(x, clearance);
            }
            *x = ralston(|x| sample_faces(grid, u, x), *x, dt);
            solids.push_out(x, clearance);
        });
}

/// One step of Ralston's third-order Runge-Kutta method for `dx/dt = u(x)`.
#[inline(always)]
pub fn ralston<const D: usize>(u: impl Fn([f64; D]) -> [f64; D], x: [f64; D], dt: f64) -> [f64; D] {
    let shifted = |k: &[f64; D], by: f64| {
        let mut y = x;
        for a in 0..D {
            y[a] += by * dt * k[a];
        }
        y
    };
    let k1 = u(x);
    let k2 = u(shifted(&k1, 0.5));
    let k3 = u(shifted(&k2, 0.75));
    let mut end = x;
    for a in 0..D {
        end[a] += dt / 9.0 * (2.0 * k1[a] + 3.0 * k2[a] + 4.0 * k3[a]);
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ralston_is_third_order_in_rigid_rotation() {
        let error = |steps: usize| {
            let dt = 2.0 / steps as f64;
            let mut x = [1.0, 0.0];
            for _ in 0..steps {
                x = ralston(|x: [f64; 2]| [-x[1], x[0]], x, dt);
            }
            (x[0] - 2f64.cos()).hypot(x[1] - 2f64.sin())
        };
        for n in [16, 32, 64] {
            let order = (error(n) / error(2 * n)).log2();
            assert!(order > 2.9, "order {order} at {n} steps");
        }
    }
}
