//! Velocity between particles and grid.
//!
//! To the grid: `u_f = Σ_p N_f(x_p)(u_p + c_p·(x_f − x_p)) / Σ_p N_f(x_p)` with multilinear
//! `N`; `c = 0` but for APIC. Back: FLIP adds the grid's change,
//! `u_p ← (1−α)(u_p + lerp(u − u_old)) + α lerp(u)`; APIC takes `lerp(u)` and
//! `c_p^a = Σ_f ∇N_f(x_p) u_f`.

use plash_grid::{
    Axis, FaceField, Grid, Runs, Stencil, axes, lerp_gradient, sample_faces, scatter_slabs,
};
use rayon::prelude::*;

use crate::bins::Bins;
use crate::particles::Particles;
use crate::setup::Transfer;

/// Faces with less weight than this have no velocity of their own.
const SMALLEST_WEIGHT: f64 = 1e-6;

/// Particles per task in loops over particles.
pub(crate) const PARTICLE_GRAIN: usize = 2048;

/// Writes the particles' velocity to the faces; `known` becomes 1 where there is one and 0
/// elsewhere. `weight` is scratch.
pub fn to_grid<const D: usize>(
    grid: &Grid<D>,
    runs: &Runs<D>,
    bins: &Bins<D>,
    particles: &Particles<D>,
    weight: &mut FaceField<f64, D>,
    u: &mut FaceField<f64, D>,
    known: &mut FaceField<u8, D>,
) {
    for axis in axes::<D>() {
        let sum = u.along_mut(axis);
        let total = weight.along_mut(axis);
        sum.fill_runs(runs, 0.0);
        total.fill_runs(runs, 0.0);
        scatter_slabs(
            grid.layout(),
            [sum.as_mut_slice(), total.as_mut_slice()],
            |layers, [sum, total], offset| {
                scatter_axis(
                    grid,
                    axis,
                    bins.in_layers(layers),
                    particles,
                    sum,
                    total,
                    offset,
                );
            },
        );
        let total = weight.along(axis);
        known.along_mut(axis).for_each_row(|row, values| {
            let total = total.row(row);
            for run in runs.in_row(row) {
                for i in run.range(values.len()) {
                    values[i] = u8::from(total[i] > SMALLEST_WEIGHT);
                }
            }
        });
        u.along_mut(axis).for_each_row(|row, values| {
            let total = total.row(row);
            for run in runs.in_row(row) {
                for i in run.range(values.len()) {
                    values[i] = if total[i] > SMALLEST_WEIGHT {
                        values[i] / total[i]
                    } else {
                        0.0
                    };
                }
            }
        });
    }
}

fn scatter_axis<const D: usize>(
    grid: &Grid<D>,
    axis: Axis,
    range: std::ops::Range<usize>,
    particles: &Particles<D>,
    sum: &mut [f64],
    total: &mut [f64],
    offset: usize,
) {
    let strides = grid.layout().strides();
    let lattice_offset = Grid::<D>::face_offset(axis);
    let extent = grid.face_extent(axis);
    for p in range {
        let x = particles.position[p];
        let s = Stencil::new(grid, x, lattice_offset, extent);
        // u_p + c·(x_f − x_p) = (u_p + c·(x_0 − x_p)) + c·(corner) dx, x_0 the lowest corner.
        let mut value = particles.velocity[p][axis.0];
        let mut slope = [0.0; D];
        if let Some(affine) = particles.affine.get(p) {
            let low = grid.position(grid.layout().at(s.base), lattice_offset);
            for a in 0..D {
                value += affine[axis.0][a] * (low[a] - x[a]);
                slope[a] = affine[axis.0][a] * grid.dx();
            }
        }
        for bits in 0..1usize << D {
            let mut index = s.base - offset;
            let mut w = 1.0;
            let mut v = value;
            for a in 0..D {
                let hi = (bits >> a) & 1;
                index += hi * strides[a];
                w *= if hi == 1 {
                    s.fraction[a]
                } else {
                    1.0 - s.fraction[a]
                };
                v += hi as f64 * slope[a];
            }
            sum[index] += w * v;
            total[index] += w;
        }
    }
}

/// Gives the particles their new velocity from the grid's old and new one.
pub fn to_particles<const D: usize>(
    grid: &Grid<D>,
    transfer: Transfer,
    u_old: &FaceField<f64, D>,
    u: &FaceField<f64, D>,
    particles: &mut Particles<D>,
) {
    let Particles {
        position,
        velocity,
        affine,
        ..
    } = particles;
    match transfer {
        Transfer::Pic => velocity
            .par_iter_mut()
            .zip(position)
            .with_min_len(PARTICLE_GRAIN)
            .for_each(|(v, x)| *v = sample_faces(grid, u, *x)),
        Transfer::Flip { pic_blend } => velocity
            .par_iter_mut()
            .zip(position)
            .with_min_len(PARTICLE_GRAIN)
            .for_each(|(v, x)| {
                let new = sample_faces(grid, u, *x);
                let old = sample_faces(grid, u_old, *x);
                for a in 0..D {
                    let flip = v[a] + (new[a] - old[a]);
                    v[a] = (1.0 - pic_blend) * flip + pic_blend * new[a];
                }
            }),
        Transfer::Apic => {
            let strides = grid.layout().strides();
            velocity
                .par_iter_mut()
                .zip(affine)
                .zip(position)
                .with_min_len(PARTICLE_GRAIN)
                .for_each(|((v, c), x)| {
                    for axis in axes::<D>() {
                        let field = u.along(axis);
                        let offset = Grid::<D>::face_offset(axis);
                        let s = Stencil::new(grid, *x, offset, field.extent());
                        let (value, slope) = lerp_gradient(field.as_slice(), strides, &s);
                        v[axis.0] = value;
                        c[axis.0] = slope.map(|s| s / grid.dx());
                    }
                });
        }
    }
}
