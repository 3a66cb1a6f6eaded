//! Which cells are far from the surface, a bit each.

use plash_grid::{CellField, Grid, Row, Runs};
use rayon::prelude::*;

/// For each cell, whether any of the `3^D` cells around it is liquid, and whether all are. Cells beyond
/// the sides of the domain do not count.
pub(super) struct Wet<const D: usize> {
    cells: [usize; D],
    /// Words per row.
    words: usize,
    any: Vec<u64>,
    all: Vec<u64>,
}

impl<const D: usize> Wet<D> {
    /// Looks at the cells in the runs; there is no liquid elsewhere.
    pub(super) fn new(grid: &Grid<D>, runs: &Runs<D>, phi: &CellField<f64, D>) -> Self {
        let cells = grid.cells();
        let words = cells[0].div_ceil(64);
        let rows: Vec<Row<D>> = grid.layout().rows(cells).collect();
        let mut any = vec![0u64; words * rows.len()];
        let mut all = any.clone();
        let lines = any.par_chunks_mut(words).zip(all.par_chunks_mut(words));
        lines
            .zip(&rows)
            .with_min_len(64)
            .for_each(|((any, all), row)| {
                let phi = phi.row(*row);
                for i in runs.in_row(*row).iter().flat_map(|r| r.cells(cells[0])) {
                    any[i / 64] |= u64::from(phi[i] < 0.0) << (i % 64);
                }
                all.copy_from_slice(any);
                along_row(cells[0], any, all);
            });
        let mut wet = Wet {
            cells,
            words,
            any,
            all,
        };
        let mut stride = 1;
        for n in &cells[1..] {
            wet.any = wet.across(&wet.any, stride, *n, |a, b| a | b);
            wet.all = wet.across(&wet.all, stride, *n, |a, b| a & b);
            stride *= n;
        }
        wet
    }

    /// Joins each row with its neighbours along an axis, which are so many rows apart.
    fn across(
        &self,
        bits: &[u64],
        stride: usize,
        n: usize,
        join: impl Fn(u64, u64) -> u64 + Sync,
    ) -> Vec<u64> {
        let words = self.words;
        let mut joined = bits.to_vec();
        let rows = joined.par_chunks_mut(words).enumerate().with_min_len(64);
        rows.for_each(|(r, row)| {
            let at = r / stride % n;
            let low = (at > 0).then(|| r - stride);
            let high = (at + 1 < n).then(|| r + stride);
            for other in [low, high].into_iter().flatten() {
                let other = &bits[other * words..][..words];
                for (word, &beside) in row.iter_mut().zip(other) {
                    *word = join(*word, beside);
                }
            }
        });
        joined
    }

    /// `Some` of whether a cell is full, if the surface is not near.
    #[inline]
    pub(super) fn is_full(&self, cell: [i32; D]) -> Option<bool> {
        let row = (1..D)
            .rev()
            .fold(0, |row, a| row * self.cells[a] + cell[a] as usize);
        let (word, bit) = (row * self.words + cell[0] as usize / 64, cell[0] % 64);
        let [any, all] = [&self.any, &self.all].map(|bits| bits[word] >> bit & 1 == 1);
        (all || !any).then_some(all)
    }
}

/// Joins each cell of a row with its neighbours in it.
fn along_row(n: usize, any: &mut [u64], all: &mut [u64]) {
    // Cells after the last count as liquid where all must be.
    if !n.is_multiple_of(64) {
        all[n / 64] |= u64::MAX << (n % 64);
    }
    let (mut before_any, mut before_all) = (0, 1);
    for w in 0..any.len() {
        let next = |bits: &[u64], beyond: u64| bits.get(w + 1).map_or(beyond, |b| b & 1);
        let (own_any, own_all) = (any[w], all[w]);
        any[w] |= own_any << 1 | before_any | own_any >> 1 | next(any, 0) << 63;
        all[w] &= (own_all << 1 | before_all) & (own_all >> 1 | next(all, 1) << 63);
        (before_any, before_all) = (own_any >> 63, own_all >> 63);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares all cells of a lattice with a ball in a corner of it; how many are empty, full or
    /// neither.
    fn bits_tell_what_cells_around_do<const D: usize>(cells: [usize; D]) -> [usize; 3] {
        let grid = Grid::new(cells, 1.0, [0.0; D]).unwrap();
        let mut phi = CellField::<f64, D>::new(&grid);
        for cell in grid.all_cells() {
            let x = cell.center(&grid);
            let square = x
                .iter()
                .zip(&cells)
                .map(|(x, &n)| (x - 0.3 * n as f64).powi(2));
            phi[cell] = square.sum::<f64>().sqrt() - 0.5 * cells[0] as f64;
        }
        let wet = Wet::new(&grid, &Runs::all(grid.layout()), &phi);
        let mut counts = [0; 3];
        for cell in grid.all_cells() {
            let around = (0..3usize.pow(D as u32)).map(|k| {
                let by = |a: usize| (k / 3usize.pow(a as u32) % 3) as i32 - 1;
                plash_grid::Cell(std::array::from_fn(|a| cell.0[a] + by(a)))
            });
            let around = around.filter(|&c| grid.contains(c));
            let around: Vec<bool> = around.map(|c| phi[c] < 0.0).collect();
            let expected = match () {
                () if around.iter().all(|&w| w) => Some(true),
                () if !around.iter().any(|&w| w) => Some(false),
                () => None,
            };
            assert_eq!(wet.is_full(cell.0), expected, "{cell:?}");
            counts[expected.map_or(2, usize::from)] += 1;
        }
        counts
    }

    #[test]
    fn bits_tell_what_cells_around_do_2d() {
        for width in [63, 64, 65, 67, 128, 129] {
            let counts = bits_tell_what_cells_around_do([width, 50]);
            assert!(counts.iter().all(|&n| n > 20), "{width}: {counts:?}");
        }
        for width in 1..4 {
            bits_tell_what_cells_around_do([width, 9]);
        }
    }

    #[test]
    fn bits_tell_what_cells_around_do_3d() {
        let counts = bits_tell_what_cells_around_do([11, 10, 9]);
        assert!(counts.iter().all(|&n| n > 20), "{counts:?}");
        bits_tell_what_cells_around_do([1, 4, 6]);
        bits_tell_what_cells_around_do([66, 3, 4]);
    }
}
