//! Karlsson's surface: cells with particles are liquid, the rest by fast sweeping.

use plash_grid::{CellField, Grid, Side, axes};

use super::sweep::fast_sweep;
use crate::bins::Bins;
use crate::solids::Solids;

/// `φ = ∓Δx/2` in interface cells, the swept distance elsewhere. Cells inside solids count
/// as liquid if a neighbour in the open does, so that walls are no free surface.
pub(super) fn marker<const D: usize>(
    grid: &Grid<D>,
    bins: &Bins<D>,
    solids: &Solids<D>,
    phi: &mut CellField<f64, D>,
) {
    let half = 0.5 * grid.dx();
    let mut wet = CellField::<u8, D>::new(grid);
    for cell in grid.all_cells() {
        wet[cell] = u8::from(!bins.in_cell(cell).is_empty());
    }
    if solids.has_obstacles() {
        let open_wet = wet.clone();
        for cell in grid.all_cells() {
            let beside = axes::<D>().any(|a| {
                Side::BOTH
                    .iter()
                    .any(|&s| open_wet[cell.neighbour(a, s)] != 0)
            });
            if beside && solids.phi_at_center(cell) < 0.0 {
                wet[cell] = 1;
            }
        }
    }
    let mut frozen = CellField::<u8, D>::new(grid);
    for cell in grid.all_cells() {
        let interface = axes::<D>().any(|a| {
            Side::BOTH.iter().any(|&s| {
                let other = cell.neighbour(a, s);
                grid.contains(other) && wet[other] != wet[cell]
            })
        });
        frozen[cell] = u8::from(interface);
        phi[cell] = if wet[cell] != 0 { -half } else { half };
    }
    fast_sweep(grid, &frozen, phi);
}
