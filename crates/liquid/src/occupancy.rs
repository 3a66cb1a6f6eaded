//! How full each cell is, and from that the liquid's volume.
//!
//! A particle stands for the volume `V_p = Δx^D / 2^D`. The occupancy of a cell is
//! `ρ_c = Σ_p V_p N_c(x_p) / ∫_open N_c`, with the multilinear hat `N_c` around the cell
//! centre: 1 in liquid at rest, also beside walls, since the kernel is normalised by the
//! part of it that is open.
//!
//! **Volume.** A plane surface at signed height `t` cells above a cell centre gives
//! `ρ(t) = 1 − (1−t)²/2` for `0 ≤ t ≤ 1` and `(1+t)²/2` for `−1 ≤ t ≤ 0`. Inverted, `ρ`
//! says where the surface is, and the cell's fill is `½ + t` between 0 and 1: exact for
//! level surfaces at any height. Cells near the bulk (within one cell of `ρ ≥ ½`) count
//! with that fill, so stretched liquid counts more than its particles and crushed liquid
//! less. In all other cells, spray, each particle counts `V_p`: a lone droplet is neither
//! lost nor inflated.

use plash_grid::{Cell, CellField, Grid, NodeField, Runs, Stencil, corners, scatter_slabs};

use crate::bins::Bins;
use crate::particles::Particles;
use crate::solids::{Solids, open_samples};

/// Cells whose kernel is less open than this have no meaningful density.
const SMALLEST_KERNEL: f64 = 0.1;

/// Fill of a cell at and above which it is bulk liquid.
const BULK: f64 = 0.5;

/// Per-cell occupancy of a particle liquid.
#[derive(Clone, Debug)]
pub struct Occupancy<const D: usize> {
    /// `1 / ∫_open N_c` in units of a cell, over the particles per cell; 0 if hardly open.
    scale: CellField<f64, D>,
    density: CellField<f64, D>,
}

impl<const D: usize> Occupancy<D> {
    /// Prepares the kernel normalisation for these solids.
    pub fn new(grid: &Grid<D>, solids: &Solids<D>) -> Self {
        let mut kernel = CellField::<f64, D>::new(grid);
        deposit_open_space(grid, solids.phi(), &mut kernel);
        let full = (1 << D) as f64;
        kernel.for_each_row(|_, values| {
            for v in values {
                *v = if *v > SMALLEST_KERNEL {
                    1.0 / (*v * full)
                } else {
                    0.0
                };
            }
        });
        Occupancy {
            scale: kernel,
            density: CellField::new(grid),
        }
    }

    /// The density of each cell relative to liquid at rest; 0 where the kernel is closed.
    pub fn density(&self) -> &CellField<f64, D> {
        &self.density
    }

    /// Whether the density of the cell with this memory index means anything.
    pub fn is_meaningful(&self, index: usize) -> bool {
        self.scale.as_slice()[index] > 0.0
    }

    /// The height of the surface above the centre of the cell with this memory index, in
    /// cells, if the surface is level there; between −1 and 1.
    pub fn height(&self, index: usize) -> f64 {
        height(self.density.as_slice()[index])
    }

    /// Whether the cell with this memory index, or one around it, is bulk liquid.
    #[inline]
    pub(crate) fn is_near_bulk(&self, index: usize, offsets: &[isize]) -> bool {
        let density = self.density.as_slice();
        offsets
            .iter()
            .any(|&o| density[index.wrapping_add_signed(o)] >= BULK)
    }

    /// Recomputes the density in `runs` from sorted particles.
    pub fn update(
        &mut self,
        grid: &Grid<D>,
        stale: &Runs<D>,
        runs: &Runs<D>,
        bins: &Bins<D>,
        particles: &Particles<D>,
    ) {
        let strides = grid.layout().strides();
        let extent = grid.cells();
        self.density.fill_runs(stale, 0.0);
        self.density.fill_runs(runs, 0.0);
        scatter_slabs(
            grid.layout(),
            [self.density.as_mut_slice()],
            |layers, [sum], offset| {
                for p in bins.in_layers(layers) {
                    let s = Stencil::new(grid, particles.position[p], [0.5; D], extent);
                    for corner in corners::<D>() {
                        let shift: usize = (0..D).map(|a| corner[a] as usize * strides[a]).sum();
                        sum[s.base - offset + shift] += s.weight(corner);
                    }
                }
            },
        );
        let scale = &self.scale;
        self.density.for_each_row(|row, values| {
            let scale = scale.row(row);
            for run in runs.in_row(row) {
                for i in run.cells(values.len()) {
                    values[i] *= scale[i];
                }
            }
        });
    }

    /// The liquid's volume: see the module's page.
    pub fn volume(
        &self,
        grid: &Grid<D>,
        solids: &Solids<D>,
        runs: &Runs<D>,
        bins: &Bins<D>,
    ) -> f64 {
        let rows: Vec<_> = runs.iter().collect();
        let particle = 1.0 / (1 << D) as f64;
        let offsets = neighbourhood(grid);
        let density = self.density.as_slice();
        let cells = plash_grid::ordered_sum(rows.len(), |r| {
            let (row, list) = rows[r];
            let mut sum = 0.0;
            for run in list {
                for i in run.cells(grid.cells()[0]) {
                    let index = row.start + i;
                    let near_bulk = self.is_near_bulk(index, &offsets);
                    sum += if near_bulk {
                        solids.volume().as_slice()[index] * fill(density[index])
                    } else {
                        bins.count(index) as f64 * particle
                    };
                }
            }
            sum
        });
        cells * grid.cell_volume()
    }
}

/// The fill of a cell with this density under a level surface.
fn fill(density: f64) -> f64 {
    (0.5 + height(density)).clamp(0.0, 1.0)
}

/// The height of a level surface above the centre of a cell with this density, in cells,
/// between −1 and 1.
fn height(density: f64) -> f64 {
    if density >= 0.5 {
        1.0 - (2.0 * (1.0 - density)).max(0.0).sqrt()
    } else {
        (2.0 * density).sqrt() - 1.0
    }
}

/// Memory offsets of a cell and its `3^D − 1` neighbours.
pub(crate) fn neighbourhood<const D: usize>(grid: &Grid<D>) -> Vec<isize> {
    let strides = grid.layout().strides();
    (0..3usize.pow(D as u32))
        .map(|n| {
            (0..D)
                .map(|a| ((n / 3usize.pow(a as u32) % 3) as isize - 1) * strides[a] as isize)
                .sum()
        })
        .collect()
}

/// Deposits the open space as if it were full of evenly spread particles.
fn deposit_open_space<const D: usize>(
    grid: &Grid<D>,
    phi: &NodeField<f64, D>,
    kernel: &mut CellField<f64, D>,
) {
    let strides = grid.layout().strides();
    let layout = *grid.layout();
    let share = 1.0 / 4f64.powi(D as i32);
    scatter_slabs(&layout, [kernel.as_mut_slice()], |layers, [sum], offset| {
        for row in layout
            .rows(grid.cells())
            .filter(|row| layers.contains(&row.at[D - 1]))
        {
            for i in 0..grid.cells()[0] {
                for x in open_samples(grid, phi, Cell(row.point(i))) {
                    let s = Stencil::new(grid, x, [0.5; D], grid.cells());
                    for corner in corners::<D>() {
                        let shift: usize = (0..D).map(|a| corner[a] as usize * strides[a]).sum();
                        sum[s.base - offset + shift] += share * s.weight(corner);
                    }
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::{Setup, Solid};
    use crate::shape::Shape;

    #[test]
    fn fill_inverts_the_density_of_a_level_surface() {
        for step in -20..=20 {
            let t = step as f64 / 20.0;
            let density = if t >= 0.0 {
                1.0 - (1.0 - t) * (1.0 - t) / 2.0
            } else {
                (1.0 + t) * (1.0 + t) / 2.0
            };
            assert!(
                (fill(density) - (0.5 + t).clamp(0.0, 1.0)).abs() < 1e-7,
                "{t}"
            );
        }
        assert_eq!((fill(0.0), fill(1.0), fill(1.7)), (0.0, 1.0, 1.0));
    }

    /// A box with regular particles up to `rows` half cells, and what is measured of it.
    fn pool<const D: usize>(n: usize, rows: usize) -> (Grid<D>, Occupancy<D>, f64) {
        let grid = Grid::new([n; D], 1.0 / n as f64, [0.0; D]).unwrap();
        let solids = Solids::new(&Setup::new(grid));
        let mut particles = Particles::default();
        for cell in grid.all_cells() {
            for corner in corners::<D>() {
                if ((2 * cell.0[1] + corner[1]) as usize) < rows {
                    let fraction = corner.map(|c| 0.25 + 0.5 * c as f64);
                    particles.push(grid.position(cell.0, fraction), [0.0; D], 0, false);
                }
            }
        }
        let mut bins = Bins::new(&grid);
        bins.sort(&grid, &mut particles);
        let runs = Runs::all(grid.layout());
        let mut occupancy = Occupancy::new(&grid, &solids);
        occupancy.update(&grid, &runs, &runs, &bins, &particles);
        let volume = occupancy.volume(&grid, &solids, &runs, &bins);
        (grid, occupancy, volume)
    }

    fn level_pools_have_exact_density_and_volume<const D: usize>() {
        for rows in 4..10 {
            let (grid, occupancy, volume) = pool::<D>(8, rows);
            let exact = rows as f64 / 16.0;
            assert!((volume - exact).abs() < 1e-12, "{volume} {exact}");
            for cell in grid.all_cells() {
                let below = (2 * cell.0[1] + 3) as usize <= rows;
                if below {
                    let density = occupancy.density()[cell];
                    assert!((density - 1.0).abs() < 1e-12, "{cell:?} {density}");
                }
            }
        }
    }

    #[test]
    fn level_pools_have_exact_density_and_volume_2d() {
        level_pools_have_exact_density_and_volume::<2>();
    }

    #[test]
    fn level_pools_have_exact_density_and_volume_3d() {
        level_pools_have_exact_density_and_volume::<3>();
    }

    #[test]
    fn a_cell_inside_a_solid_has_no_density() {
        let grid = Grid::new([16, 16], 1.0 / 16.0, [0.0; 2]).unwrap();
        let mut setup = Setup::new(grid);
        setup.solids.push(Solid::new(Shape::Sphere {
            center: [0.5; 2],
            radius: 0.3,
        }));
        let occupancy = Occupancy::new(&grid, &Solids::new(&setup));
        let meaningful = |at| occupancy.is_meaningful(grid.layout().index(at));
        assert!(!meaningful([8, 8]) && meaningful([1, 1]));
    }
}
