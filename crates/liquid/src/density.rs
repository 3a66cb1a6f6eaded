//! Keeping the particles' density, and so the liquid's volume, at rest density.
//!
//! Particles follow a velocity free of divergence only on the grid's scale and only to the
//! order of the time step, so they slowly crowd and thin out. Each step therefore solves one
//! more Poisson problem on the pressure system at hand for a displacement whose divergence
//! is the excess `ρ − 1` of every liquid cell, and moves the particles along it: crowded
//! cells expand, thin ones contract, and no velocity changes (after Kugelstadt et al. 2019).
//! Near the free surface a cell is not full by right, so only crowding counts there.

use plash_grid::{CellField, FaceField, Grid};
use plash_solve::SolveError;

use crate::occupancy::{Occupancy, neighbourhood};
use crate::pressure::{Domain, Projection};
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
            potential: CellField::new(grid),
            displacement: FaceField::new(grid),
            known: FaceField::new(grid),
        }
    }

    /// Solves for the displacement that evens out the density.
    pub fn solve(
        &mut self,
        domain: &Domain<'_, D>,
        occupancy: &Occupancy<D>,
        projection: &mut Projection<D>,
    ) -> Result<SolveReport, SolveError> {
        let offsets = neighbourhood(domain.grid);
        let density = occupancy.density().as_slice();
        let phi = domain.phi.as_slice();
        let open = domain.solids.volume().as_slice();
        let expansion = |index: usize| {
            if !occupancy.is_meaningful(index) {
                return 0.0;
            }
            let excess = (density[index] - 1.0).clamp(-LARGEST_EXCESS, LARGEST_EXCESS);
            let at_surface = excess < 0.0
                && offsets
                    .iter()
                    .any(|&o| phi[index.wrapping_add_signed(o)] >= 0.0);
            if at_surface {
                0.0
            } else {
                excess * open[index]
            }
        };
        let Self {
            potential,
            displacement,
            known,
        } = self;
        projection.displace(domain, expansion, TOLERANCE, potential, displacement, known)
    }
}

/// Density over cells that are wholly open and more than a cell away from the surface.
pub fn statistics<const D: usize>(
    domain: &Domain<'_, D>,
    occupancy: &Occupancy<D>,
    cells: &[u32],
) -> DensityStats {
    let offsets = neighbourhood(domain.grid);
    let density = occupancy.density().as_slice();
    let phi = domain.phi.as_slice();
    let open = domain.solids.volume().as_slice();
    let (mut count, mut sum, mut squares) = (0usize, 0.0, 0.0);
    for &cell in cells {
        let index = cell as usize;
        let deep = open[index] >= 1.0
            && offsets
                .iter()
                .all(|&o| phi[index.wrapping_add_signed(o)] < 0.0);
        if deep {
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
