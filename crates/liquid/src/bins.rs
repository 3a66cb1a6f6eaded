//! Particles sorted by the cell they lie in.

use std::ops::Range;

use plash_grid::{Cell, Grid, Layout};
use rayon::prelude::*;

use crate::particles::Particles;

/// Which particles lie in which cell, once they are sorted.
#[derive(Clone, Debug)]
pub struct Bins<const D: usize> {
    layout: Layout<D>,
    /// Particles `start[i]..start[i + 1]` lie in the cell with memory index `i`.
    start: Vec<u32>,
    cell_of: Vec<u32>,
    order: Vec<u32>,
    scratch: Particles<D>,
}

impl<const D: usize> Bins<D> {
    /// No particles.
    pub fn new(grid: &Grid<D>) -> Self {
        Bins {
            layout: *grid.layout(),
            start: vec![0; grid.layout().len() + 1],
            cell_of: Vec::new(),
            order: Vec::new(),
            scratch: Particles::default(),
        }
    }

    /// Sorts the particles by cell, in memory order of cells. The sort is stable, so the
    /// order, and with it every sum over particles, depends on the particles alone.
    pub fn sort(&mut self, grid: &Grid<D>, particles: &mut Particles<D>) {
        let n = particles.len();
        self.cell_of.resize(n, 0);
        self.order.resize(n, 0);
        self.cell_of
            .par_iter_mut()
            .zip(&particles.position)
            .with_min_len(4096)
            .for_each(|(cell, &x)| *cell = self.layout.index(grid.cell_at(x).0) as u32);
        self.start.fill(0);
        for &cell in &self.cell_of {
            self.start[cell as usize + 1] += 1;
        }
        let mut sum = 0;
        for s in &mut self.start {
            sum += *s;
            *s = sum;
        }
        // Place, using start[cell] as the running position, then shift it back.
        for (i, &cell) in self.cell_of.iter().enumerate() {
            let place = &mut self.start[cell as usize];
            self.order[*place as usize] = i as u32;
            *place += 1;
        }
        let len = self.start.len();
        self.start.copy_within(0..len - 1, 1);
        self.start[0] = 0;
        gather(
            &self.order,
            &mut particles.position,
            &mut self.scratch.position,
        );
        gather(
            &self.order,
            &mut particles.velocity,
            &mut self.scratch.velocity,
        );
        gather(&self.order, &mut particles.id, &mut self.scratch.id);
        if !particles.affine.is_empty() {
            gather(&self.order, &mut particles.affine, &mut self.scratch.affine);
        }
        if !particles.viscosity.is_empty() {
            gather(
                &self.order,
                &mut particles.viscosity,
                &mut self.scratch.viscosity,
            );
        }
    }

    /// The particles in a cell.
    pub fn in_cell(&self, cell: Cell<D>) -> Range<usize> {
        let i = self.layout.index(cell.0);
        self.start[i] as usize..self.start[i + 1] as usize
    }

    /// How many particles lie in the cell with this memory index.
    #[inline]
    pub fn count(&self, index: usize) -> usize {
        (self.start[index + 1] - self.start[index]) as usize
    }

    /// The particles in these layers of the slowest axis.
    pub fn in_layers(&self, layers: Range<i32>) -> Range<usize> {
        let begin = |layer: i32| {
            let mut at = [0; D];
            at[D - 1] = layer;
            self.start[self.layout.index(at)] as usize
        };
        begin(layers.start)..begin(layers.end)
    }
}

fn gather<T: Copy + Send + Sync>(order: &[u32], values: &mut Vec<T>, scratch: &mut Vec<T>) {
    scratch.clear();
    scratch.par_extend(
        order
            .par_iter()
            .with_min_len(4096)
            .map(|&i| values[i as usize]),
    );
    std::mem::swap(values, scratch);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting_bins_every_particle_once_and_twice_is_as_once() {
        let grid = Grid::new([7, 5, 6], 0.1, [0.0; 3]).unwrap();
        let mut particles = Particles::<3>::default();
        for i in 0..500u64 {
            let x = std::array::from_fn(|a| ((i * (17 + 4 * a as u64)) % 97) as f64 / 97.0 * 0.6);
            particles.push_viscous(x, [i as f64, 0.0, 0.0], i, true, i as f32);
        }
        let mut bins = Bins::new(&grid);
        bins.sort(&grid, &mut particles);
        let mut seen = 0;
        for cell in grid.all_cells() {
            for i in bins.in_cell(cell) {
                assert_eq!(grid.cell_at(particles.position[i]), cell);
                assert_eq!(particles.velocity[i][0], particles.id[i] as f64);
                assert_eq!(particles.viscosity[i], particles.id[i] as f32);
                seen += 1;
            }
        }
        assert_eq!(seen, 500);
        assert_eq!(bins.in_layers(0..6), 0..500);
        let once = particles.clone();
        bins.sort(&grid, &mut particles);
        assert_eq!(once, particles);
    }
}
