//! The viscosity of cells whose particles differ in it.

use plash_grid::{Cell, CellField, Grid, Runs};
use rayon::prelude::*;

use crate::bins::Bins;
use crate::particles::Particles;

/// Cells around those with particles that get a viscosity too: a cell with liquid in it, be it in
/// a wall, has a particle no farther away.
const LAYERS: usize = 3;

/// No viscosity is known here.
const NONE: f32 = -1.0;

/// The mean viscosity of each cell's particles; where there are none, of the cells around.
#[derive(Clone, Debug)]
pub(super) struct CellViscosity<const D: usize> {
    values: CellField<f32, D>,
    /// Where there may be any.
    filled: Runs<D>,
}

impl<const D: usize> CellViscosity<D> {
    pub(super) fn new(grid: &Grid<D>) -> Self {
        let mut values = CellField::<f32, D>::new(grid);
        values.as_mut_slice().fill(NONE);
        CellViscosity {
            values,
            filled: Runs::none(grid.layout()),
        }
    }

    /// The viscosity in the cell with this memory index, Pa·s; zero far from all particles.
    #[inline]
    pub(super) fn at(&self, index: usize) -> f64 {
        f64::from(self.values.as_slice()[index].max(0.0))
    }

    /// Takes the viscosities of sorted particles.
    pub(super) fn update(
        &mut self,
        grid: &Grid<D>,
        runs: &Runs<D>,
        bins: &Bins<D>,
        particles: &Particles<D>,
    ) {
        self.values.fill_runs(&self.filled, NONE);
        self.filled.clone_from(runs);
        self.values.for_each_row(|row, values| {
            let length = values.len();
            for i in runs.in_row(row).iter().flat_map(|r| r.cells(length)) {
                let inside = bins.in_cell(Cell(row.point(i)));
                values[i] = mean(particles.viscosity.get(inside).unwrap_or_default());
            }
        });
        let rows: Vec<_> = runs.iter().collect();
        for _ in 0..LAYERS {
            let found = self.next_layer(grid, &rows);
            let values = self.values.as_mut_slice();
            for &(index, value) in found.iter().flatten() {
                values[index as usize] = value;
            }
        }
    }

    /// The unknown cells beside known ones, with the mean of these, one list per row.
    fn next_layer(
        &self,
        grid: &Grid<D>,
        rows: &[(plash_grid::Row<D>, &[plash_grid::Run])],
    ) -> Vec<Vec<(u32, f32)>> {
        let strides = grid.layout().strides();
        let values = self.values.as_slice();
        let length = grid.cells()[0];
        let beside = |index: usize| {
            let known = strides
                .iter()
                .flat_map(|s| [index - s, index + s])
                .map(|other| values[other])
                .filter(|&v| v >= 0.0);
            known.fold((0.0, 0u32), |(sum, n), v| (sum + v, n + 1))
        };
        rows.par_iter()
            .with_min_len(8)
            .map(|(row, runs)| {
                let cells = runs.iter().flat_map(|run| run.cells(length));
                let unknown = cells.map(|i| row.start + i).filter(|&i| values[i] < 0.0);
                let found = unknown.filter_map(|index| {
                    let (sum, n) = beside(index);
                    (n > 0).then(|| (index as u32, sum / n as f32))
                });
                found.collect()
            })
            .collect()
    }
}

fn mean(values: &[f32]) -> f32 {
    if values.is_empty() {
        return NONE;
    }
    let sum: f64 = values.iter().map(|&v| f64::from(v)).sum();
    (sum / values.len() as f64) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_take_the_mean_of_their_particles_or_of_those_around() {
        let grid = Grid::new([24, 9], 1.0, [0.0; 2]).unwrap();
        let mut particles = Particles::<2>::default();
        for (n, (x, mu)) in [(2.2, 1.0), (2.7, 3.0), (6.5, 8.0)].into_iter().enumerate() {
            particles.push_viscous([x, 4.5], [0.0; 2], n as u64, false, mu);
        }
        let mut bins = Bins::new(&grid);
        bins.sort(&grid, &mut particles);
        let mut cells = CellViscosity::new(&grid);
        let runs = Runs::all(grid.layout());
        cells.update(&grid, &runs, &bins, &particles);
        let at = |cells: &CellViscosity<2>, x: i32, y: i32| cells.at(grid.layout().index([x, y]));
        assert_eq!(at(&cells, 2, 4), 2.0);
        assert_eq!(at(&cells, 3, 4), 2.0);
        assert_eq!(at(&cells, 4, 4), 5.0); // half-way between the two
        assert_eq!(at(&cells, 6, 7), 8.0);
        assert_eq!(at(&cells, 6, 8), 0.0); // four cells off
        // Nothing of it is left when the liquid has gone elsewhere.
        particles.position.iter_mut().for_each(|x| x[0] = 20.5);
        bins.sort(&grid, &mut particles);
        cells.update(&grid, &runs, &bins, &particles);
        assert_eq!(at(&cells, 2, 4), 0.0);
        assert_eq!(at(&cells, 20, 4), 4.0);
    }
}
