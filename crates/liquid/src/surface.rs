//! The liquid surface from particles: `φ` at cell centres, negative in the liquid.

mod marker;
mod sweep;

pub use sweep::fast_sweep;

use plash_grid::{Cell, CellField, Grid, Runs, scatter_slabs};

use crate::bins::Bins;
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
    solids: &Solids<D>,
    work: &mut SurfaceWork<D>,
    phi: &mut CellField<f64, D>,
) {
    match method {
        SurfaceMethod::Union => union(grid, runs, bins, particles, phi),
        SurfaceMethod::ZhuBridson => {
            union(grid, runs, bins, particles, phi);
            if let Some(sums) = &mut work.sums {
                zhu_bridson(grid, runs, bins, particles, sums, phi);
            }
        }
        SurfaceMethod::Marker => marker::marker(grid, bins, solids, phi),
    }
    extend_into_solids(grid, runs, solids, phi);
}

/// Sets `φ` to its value far from any liquid, everywhere.
pub fn clear<const D: usize>(grid: &Grid<D>, phi: &mut CellField<f64, D>) {
    let far = FAR * grid.dx();
    phi.as_mut_slice().fill(far);
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
    let far_squared = (far + radius) / dx * ((far + radius) / dx);
    phi.fill_runs(runs, far_squared);
    scatter_slabs(
        grid.layout(),
        [phi.as_mut_slice()],
        |layers, [phi], offset| {
            for p in bins.in_layers(layers) {
                visit_near(grid, particles.position[p], |index, squared, _| {
                    let value = &mut phi[index - offset];
                    *value = value.min(squared);
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
                visit_near(grid, particles.position[p], |index, squared, away| {
                    let s2 = squared / D as f64;
                    if s2 < 1.0 {
                        let w = (1.0 - s2) * (1.0 - s2) * (1.0 - s2);
                        let sum = &mut sums[index - offset];
                        sum[0] += w;
                        for a in 0..D {
                            sum[a + 1] += w * away[a];
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

/// Calls `f(index, squared distance, offset)` for the cell centres around `x` within reach,
/// distances in cells.
#[inline(always)]
fn visit_near<const D: usize>(
    grid: &Grid<D>,
    x: [f64; D],
    mut f: impl FnMut(usize, f64, [f64; D]),
) {
    let cell = grid.cell_at(x);
    let local = grid.lattice(x, [0.5; D]);
    let cells = grid.cells();
    let lo: [i32; D] = std::array::from_fn(|a| (cell.0[a] - REACH).max(0));
    let hi: [i32; D] = std::array::from_fn(|a| (cell.0[a] + REACH).min(cells[a] as i32 - 1));
    let (klo, khi) = if D == 3 {
        (lo[D - 1], hi[D - 1])
    } else {
        (0, 0)
    };
    for k in klo..=khi {
        let dz = if D == 3 { local[D - 1] - k as f64 } else { 0.0 };
        for j in lo[1]..=hi[1] {
            let dy = local[1] - j as f64;
            let off_row = dy * dy + dz * dz;
            if off_row > reach_squared::<D>() {
                continue;
            }
            let mut at = lo;
            at[1] = j;
            if D == 3 {
                at[D - 1] = k;
            }
            let row = grid.layout().index(at);
            for i in lo[0]..=hi[0] {
                let dx = local[0] - i as f64;
                let mut offset = [0.0; D];
                offset[0] = dx;
                offset[1] = dy;
                if D == 3 {
                    offset[D - 1] = dz;
                }
                f(row + (i - lo[0]) as usize, dx * dx + off_row, offset);
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
