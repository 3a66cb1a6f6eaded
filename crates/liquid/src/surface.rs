//! The liquid surface from particles: `φ` at cell centres, negative in the liquid.

mod marker;
mod sweep;

pub use sweep::fast_sweep;

use plash_grid::{Cell, CellField, Grid, Runs, scatter_slabs};

use crate::bins::Bins;
use crate::occupancy::{Occupancy, neighbourhood};
use crate::particles::Particles;
use crate::setup::SurfaceMethod;
use crate::solids::Solids;

/// `φ` beyond the reach of all particles, in cells.
const FAR: f64 = 3.0;

/// Cells a particle reaches along each axis.
const REACH: i32 = 2;

/// Scratch for building `φ`.
#[derive(Clone, Debug)]
pub struct SurfaceWork<const D: usize> {
    /// Zhu-Bridson sums: weight, then weighted offset from the cell centre.
    sums: Option<CellField<[f64; 4], D>>,
}

impl<const D: usize> SurfaceWork<D> {
    /// Scratch for a method.
    pub fn new(grid: &Grid<D>, method: SurfaceMethod) -> Self {
        let sums = (method == SurfaceMethod::ZhuBridson).then(|| CellField::new(grid));
        SurfaceWork { sums }
    }
}

/// The radius of a particle's sphere: just more than half a cell diagonal, so that the cell
/// a particle lies in is always liquid.
pub fn particle_radius<const D: usize>(grid: &Grid<D>) -> f64 {
    let safety = if D == 2 { 1.02 } else { 1.01 };
    safety * 0.5 * (D as f64).sqrt() * grid.dx()
}

/// Builds `φ` in `runs`; elsewhere it must already be far from liquid, as
/// [`clear`] leaves it.
#[allow(clippy::too_many_arguments)]
pub fn from_particles<const D: usize>(
    grid: &Grid<D>,
    method: SurfaceMethod,
    runs: &Runs<D>,
    bins: &Bins<D>,
    particles: &Particles<D>,
    occupancy: &Occupancy<D>,
    solids: &Solids<D>,
    work: &mut SurfaceWork<D>,
    phi: &mut CellField<f64, D>,
) {
    match method {
        SurfaceMethod::Union => {
            union(grid, runs, bins, particles, phi);
            lower_to_occupancy(grid, runs, occupancy, phi);
        }
        SurfaceMethod::ZhuBridson => {
            union(grid, runs, bins, particles, phi);
            if let Some(sums) = &mut work.sums {
                zhu_bridson(grid, runs, bins, particles, sums, phi);
            }
            lower_to_occupancy(grid, runs, occupancy, phi);
        }
        SurfaceMethod::Marker => marker::marker(grid, bins, solids, phi),
    }
    extend_into_solids(grid, runs, solids, phi);
}

/// Sets `φ` to its value far from any liquid at every cell. Ghosts count as liquid for good:
/// whoever asks whether a cell has air around it must not take a wall for air.
pub fn clear<const D: usize>(grid: &Grid<D>, phi: &mut CellField<f64, D>) {
    let far = FAR * grid.dx();
    phi.as_mut_slice().fill(-grid.dx());
    phi.for_each_row(|_, values| values.fill(far));
}

/// Sets `φ` to its value far from any liquid in runs that are no longer active.
pub fn forget<const D: usize>(grid: &Grid<D>, stale: &Runs<D>, phi: &mut CellField<f64, D>) {
    phi.fill_runs(stale, FAR * grid.dx());
}

/// Puts the surface of bulk liquid where its occupancy says it is. Spheres that keep every
/// particle's cell liquid reach about 0.6 cells above the topmost particles; waves then are
/// too slow by 0.3 kΔx. Where the bulk is near (`ρ ≥ ½` within a cell), the height that the
/// occupancy of a level surface gives is right, and `φ` is minus that. Lone droplets keep
/// their spheres.
fn lower_to_occupancy<const D: usize>(
    grid: &Grid<D>,
    runs: &Runs<D>,
    occupancy: &Occupancy<D>,
    phi: &mut CellField<f64, D>,
) {
    let offsets = neighbourhood(grid);
    phi.for_each_row(|row, values| {
        for run in runs.in_row(row) {
            for i in run.cells(values.len()) {
                let index = row.start + i;
                if occupancy.is_meaningful(index) && occupancy.is_near_bulk(index, &offsets) {
                    values[i] = -occupancy.height(index) * grid.dx();
                }
            }
        }
    });
}

/// `φ = min_p |x − x_p| − r`.
fn union<const D: usize>(
    grid: &Grid<D>,
    runs: &Runs<D>,
    bins: &Bins<D>,
    particles: &Particles<D>,
    phi: &mut CellField<f64, D>,
) {
    let dx = grid.dx();
    let radius = particle_radius(grid);
    let far = FAR * dx;
    // Squared distances in cells until the root is taken at the end.
    let far_squared = (far + radius) / dx * ((far + radius) / dx);
    phi.fill_runs(runs, far_squared);
    scatter_slabs(
        grid.layout(),
        [phi.as_mut_slice()],
        |layers, [phi], offset| {
            for p in bins.in_layers(layers) {
                visit_rows(grid, particles.position[p], |row, along_x, off_row| {
                    let row = &mut phi[row - offset..][..along_x.len()];
                    for (value, dx) in row.iter_mut().zip(along_x) {
                        let squared = dx * dx + off_row;
                        *value = if squared < *value { squared } else { *value };
                    }
                });
            }
        },
    );
    phi.for_each_row(|row, values| {
        for run in runs.in_row(row) {
            for value in &mut values[run.cells(grid.cells()[0])] {
                *value = value.sqrt() * dx - radius;
            }
        }
    });
}

/// `φ = |x − x̄| − r`, with weights `(1 − s²)³`, `s` the distance over the cell diagonal.
/// Between bodies of liquid the average position lies in the empty space and would make
/// liquid there: where the union of spheres says air, it is air.
fn zhu_bridson<const D: usize>(
    grid: &Grid<D>,
    runs: &Runs<D>,
    bins: &Bins<D>,
    particles: &Particles<D>,
    sums: &mut CellField<[f64; 4], D>,
    phi: &mut CellField<f64, D>,
) {
    let dx = grid.dx();
    let radius = particle_radius(grid);
    sums.fill_runs(runs, [0.0; 4]);
    scatter_slabs(
        grid.layout(),
        [sums.as_mut_slice()],
        |layers, [sums], offset| {
            for p in bins.in_layers(layers) {
                let x = grid.lattice(particles.position[p], [0.5; D]);
                visit_rows(grid, particles.position[p], |row, along_x, off_row| {
                    let at = grid.layout().at(row);
                    for (n, dx) in along_x.iter().enumerate() {
                        let s2 = (dx * dx + off_row) / D as f64;
                        if s2 < 1.0 {
                            let w = (1.0 - s2) * (1.0 - s2) * (1.0 - s2);
                            let sum = &mut sums[row + n - offset];
                            sum[0] += w;
                            sum[1] += w * dx;
                            for a in 1..D {
                                sum[a + 1] += w * (x[a] - at[a] as f64);
                            }
                        }
                    }
                });
            }
        },
    );
    let sums = &*sums;
    phi.for_each_row(|row, values| {
        let sums = sums.row(row);
        for run in runs.in_row(row) {
            for i in run.cells(values.len()) {
                let [w, offset @ ..] = sums[i];
                if w > 1e-12 {
                    let mean = offset[..D]
                        .iter()
                        .map(|o| (o / w) * (o / w))
                        .sum::<f64>()
                        .sqrt();
                    values[i] = values[i].max(mean * dx - radius);
                }
            }
        }
    });
}

/// Squared distance, in cells, beyond which a particle does not matter: the farthest that an
/// air cell beside a liquid one can be from the particle that makes it so, `r + Δx`.
fn reach_squared<const D: usize>() -> f64 {
    let reach = 1.02 * 0.5 * (D as f64).sqrt() + 1.0;
    reach * reach
}

/// Calls `f(row, along x, off row)` for the rows of cell centres around `x` within reach: the
/// memory index of the first, the x offsets from each to `x`, and the squared distance of
/// `x` from the row, all in cells.
#[inline(always)]
fn visit_rows<const D: usize>(grid: &Grid<D>, x: [f64; D], mut f: impl FnMut(usize, &[f64], f64)) {
    let local = grid.lattice(x, [0.5; D]);
    let mut lo = grid.cell_at(x).0;
    let mut hi = lo;
    for a in 0..D {
        lo[a] = (lo[a] - REACH).max(0);
        hi[a] = (hi[a] + REACH).min(grid.cells()[a] as i32 - 1);
    }
    let mut along_x = [0.0; 2 * REACH as usize + 1];
    for (n, value) in along_x.iter_mut().enumerate() {
        *value = local[0] - (lo[0] + n as i32) as f64;
    }
    let along_x = &along_x[..(hi[0] - lo[0] + 1) as usize];
    let planes = if D == 3 { lo[D - 1]..=hi[D - 1] } else { 0..=0 };
    for k in planes {
        let dz = if D == 3 { local[D - 1] - k as f64 } else { 0.0 };
        for j in lo[1]..=hi[1] {
            let dy = local[1] - j as f64;
            let off_row = dy * dy + dz * dz;
            if off_row < reach_squared::<D>() {
                let mut at = lo;
                at[D - 1] = k;
                at[1] = j;
                f(grid.layout().index(at), along_x, off_row);
            }
        }
    }
}

/// Liquid at a wall continues into the solid; otherwise the solver would see a free surface
/// between the liquid and its container.
pub fn extend_into_solids<const D: usize>(
    grid: &Grid<D>,
    runs: &Runs<D>,
    solids: &Solids<D>,
    phi: &mut CellField<f64, D>,
) {
    if !solids.has_obstacles() {
        return;
    }
    let half = 0.5 * grid.dx();
    phi.for_each_row(|row, values| {
        for run in runs.in_row(row) {
            for i in run.cells(values.len()) {
                if values[i] < half && solids.phi_at_center(Cell(row.point(i))) < 0.0 {
                    values[i] = -half;
                }
            }
        }
    });
}
