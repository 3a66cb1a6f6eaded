//! Keeping the particles' density, and so the liquid's volume, at rest density.
//!
//! Particles follow a velocity free of divergence only on the grid's scale and only to the
//! order of the time step, so they slowly crowd and thin out. Each step therefore solves one
//! more Poisson problem on the pressure system at hand for a displacement whose divergence
//! is the excess `ρ − 1` of every liquid cell, and moves the particles along it: crowded
//! cells expand, thin ones contract, and no velocity changes (after Kugelstadt et al. 2019).
//! Near the free surface a cell is not full by right, so only crowding counts there; and so
//! beside a wall that the liquid is not pressed against, where a void may have opened.

use plash_grid::{CellField, FaceField, Grid};
use plash_solve::SolveError;

use crate::occupancy::{Occupancy, neighbourhood};
use crate::pressure::{Domain, Projection, System};
use crate::report::SolveReport;

/// Largest excess or lack that is corrected in one step.
const LARGEST_EXCESS: f64 = 0.5;

/// Relative tolerance of the displacement solve: what is left is corrected next time.
const TOLERANCE: f64 = 1e-3;

/// Statistics of density over interior cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DensityStats {
    /// Mean, 1 at rest.
    pub mean: f64,
    /// Root mean square deviation from 1.
    pub rms: f64,
    /// Interior cells.
    pub cells: usize,
}

/// Fields of the density correction.
pub struct DensityCorrection<const D: usize> {
    /// By how much each liquid cell should expand.
    expansion: Vec<f64>,
    potential: CellField<f64, D>,
    /// How far to move, m, at faces.
    pub displacement: FaceField<f64, D>,
    /// Faces where it is given.
    pub known: FaceField<u8, D>,
}

impl<const D: usize> DensityCorrection<D> {
    /// Memory for a grid.
    pub fn new(grid: &Grid<D>) -> Self {
        DensityCorrection {
            expansion: Vec::new(),
            potential: CellField::new(grid),
            displacement: FaceField::new(grid),
            known: FaceField::new(grid),
        }
    }

    /// Solves for the displacement that evens out the density. `pressure` is that of the last
    /// projection.
    pub fn solve(
        &mut self,
        domain: &Domain<'_, D>,
        occupancy: &Occupancy<D>,
        pressure: &CellField<f64, D>,
        projection: &mut Projection<D>,
    ) -> Result<SolveReport, SolveError> {
        let offsets = neighbourhood(domain.grid);
        let density = occupancy.density().as_slice();
        let open = domain.solids.volume().as_slice();
        let system = projection.system();
        let excess = |&cell: &u32| {
            let index = cell as usize;
            if !occupancy.is_meaningful(index) {
                return 0.0;
            }
            let excess = (density[index] - 1.0).clamp(-LARGEST_EXCESS, LARGEST_EXCESS);
            if excess < 0.0 && !is_deep(domain, system, pressure, &offsets, index) {
                0.0
            } else {
                excess * open[index]
            }
        };
        self.expansion.clear();
        self.expansion.extend(system.cells().iter().map(excess));
        let Self {
            expansion,
            potential,
            displacement,
            known,
        } = self;
        projection.displace(domain, expansion, TOLERANCE, potential, displacement, known)
    }
}

/// Whether neither air nor a wall that the liquid is not pressed against is within a cell.
fn is_deep<const D: usize>(
    domain: &Domain<'_, D>,
    system: &System<D>,
    pressure: &CellField<f64, D>,
    offsets: &[isize],
    index: usize,
) -> bool {
    offsets.iter().all(|&o| {
        let other = index.wrapping_add_signed(o);
        domain.phi.as_slice()[other] < 0.0 && !system.is_loose(pressure, other)
    })
}

/// Density over cells that are wholly open and more than a cell away from the surface and from
/// walls that the liquid is not pressed against.
pub fn statistics<const D: usize>(
    domain: &Domain<'_, D>,
    occupancy: &Occupancy<D>,
    pressure: &CellField<f64, D>,
    system: &System<D>,
) -> DensityStats {
    let offsets = neighbourhood(domain.grid);
    let density = occupancy.density().as_slice();
    let open = domain.solids.volume().as_slice();
    let (mut count, mut sum, mut squares) = (0usize, 0.0, 0.0);
    for &cell in system.cells() {
        let index = cell as usize;
        if open[index] >= 1.0 && is_deep(domain, system, pressure, &offsets, index) {
            count += 1;
            sum += density[index];
            squares += (density[index] - 1.0) * (density[index] - 1.0);
        }
    }
    if count == 0 {
        return DensityStats {
            mean: 1.0,
            rms: 0.0,
            cells: 0,
        };
    }
    let n = count as f64;
    DensityStats {
        mean: sum / n,
        rms: (squares / n).sqrt(),
        cells: count,
    }
}
