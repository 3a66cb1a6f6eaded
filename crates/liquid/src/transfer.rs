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

#[cfg(test)]
mod tests {
    use super::*;
    use plash_grid::{Cell, Side};

    fn grid() -> Grid<2> {
        Grid::new([6, 6], 0.5, [0.0; 2]).unwrap()
    }

    fn scattered(particles: &mut Particles<2>) -> [FaceField<f64, 2>; 2] {
        let grid = grid();
        let mut bins = Bins::new(&grid);
        bins.sort(&grid, particles);
        let [mut u, mut weight] = std::array::from_fn(|_| FaceField::new(&grid));
        let mut known = FaceField::new(&grid);
        let runs = Runs::all(grid.layout());
        to_grid(
            &grid,
            &runs,
            &bins,
            particles,
            &mut weight,
            &mut u,
            &mut known,
        );
        for axis in axes::<2>() {
            for face in grid.faces(axis) {
                assert_eq!(known[face] == 1, weight[face] > SMALLEST_WEIGHT);
            }
        }
        [u, weight]
    }

    #[test]
    fn a_particle_on_a_face_gives_it_all_its_velocity() {
        let face = Cell([2, 3]).face(Axis::X, Side::Hi);
        let mut particles = Particles::default();
        particles.push(face.position(&grid()), [1.5, -4.0], 0, false);
        let [u, weight] = scattered(&mut particles);
        assert_eq!((u[face], weight[face]), (1.5, 1.0));
        assert_eq!(weight.along(Axis::X).as_slice().iter().sum::<f64>(), 1.0);
        // Half a cell off both lattice lines of the other axis: a quarter each.
        let corner = Cell([2, 3]).face(Axis::Y, Side::Lo);
        assert_eq!((u[corner], weight[corner]), (-4.0, 0.25));
    }

    #[test]
    fn an_affine_particle_gives_each_face_its_own_value() {
        let x = [1.2, 1.4];
        let mut particles = Particles::default();
        particles.push(x, [1.0, 0.0], 0, true);
        particles.affine[0] = [[2.0, -3.0], [0.0, 0.0]];
        let [u, weight] = scattered(&mut particles);
        let grid = grid();
        let mut reached = 0;
        for face in grid.faces(Axis::X).filter(|&f| weight[f] > SMALLEST_WEIGHT) {
            let at = face.position(&grid);
            let exact = 1.0 + 2.0 * (at[0] - x[0]) - 3.0 * (at[1] - x[1]);
            assert!((u[face] - exact).abs() < 1e-14);
            reached += 1;
        }
        assert_eq!(reached, 4);
    }

    #[test]
    fn flip_without_a_change_keeps_every_bit_and_all_pic_is_pic() {
        let grid = grid();
        let mut u = FaceField::<f64, 2>::new(&grid);
        for axis in axes::<2>() {
            for face in grid.faces(axis) {
                let [x, y] = face.position(&grid);
                u[face] = (1.3 * x).sin() + 0.7 * y * y;
            }
        }
        let mut particles = Particles::default();
        for i in 0..20 {
            let x = [0.1 + 0.14 * i as f64, 2.9 - 0.13 * i as f64];
            particles.push(x, [0.1 * i as f64, -0.3], i, false);
        }
        let before = particles.clone();
        to_particles(
            &grid,
            Transfer::Flip { pic_blend: 0.0 },
            &u,
            &u,
            &mut particles,
        );
        assert_eq!(particles, before);
        let still = FaceField::new(&grid);
        to_particles(
            &grid,
            Transfer::Flip { pic_blend: 1.0 },
            &still,
            &u,
            &mut particles,
        );
        let mut pic = before;
        to_particles(&grid, Transfer::Pic, &still, &u, &mut pic);
        assert_eq!(particles, pic);
    }
}
