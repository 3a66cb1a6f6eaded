//! Runs of active blocks: where on the grid there is work to do.

use std::ops::Range;

use rayon::prelude::*;

use crate::{BLOCK, CellField, Layout, Row};

/// A stretch of active cells in one row, whole blocks: `start` and `end` are multiples of
/// [`BLOCK`] (the end may lie in the row's padding).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// First cell.
    pub start: u32,
    /// One after the last cell.
    pub end: u32,
}

impl Run {
    /// The points of a row of this length that the run covers, and one more at its end, so
    /// that the high faces and nodes of its last cell are included.
    pub fn range(&self, row_length: usize) -> Range<usize> {
        self.start as usize..(self.end as usize + 1).min(row_length)
    }

    /// The cells of a row of this length that the run covers.
    pub fn cells(&self, row_length: usize) -> Range<usize> {
        self.start as usize..(self.end as usize).min(row_length)
    }
}

/// The active runs of a grid, by row. A row of faces or nodes just beyond the last cell row
/// has the runs of that last row.
#[derive(Clone, Debug, PartialEq)]
pub struct Runs<const D: usize> {
    layout: Layout<D>,
    /// One bit per block, rows padded to whole words, in memory-row order.
    bits: Vec<u64>,
    words: usize,
    runs: Vec<Run>,
    /// `runs[first[r]..first[r + 1]]` belong to memory row `r`.
    first: Vec<u32>,
}

impl<const D: usize> Runs<D> {
    /// No active block.
    pub fn none(layout: &Layout<D>) -> Self {
        let words = layout.cells()[0].div_ceil(BLOCK).div_ceil(64);
        let rows = layout.memory_rows();
        Runs {
            layout: *layout,
            bits: vec![0; rows * words],
            words,
            runs: Vec::new(),
            first: vec![0; rows + 1],
        }
    }

    /// Every block active.
    pub fn all(layout: &Layout<D>) -> Self {
        let mut runs = Self::none(layout);
        let blocks = layout.cells()[0].div_ceil(BLOCK);
        runs.fill_rows(|_, bits| (0..blocks).for_each(|b| set(bits, b)));
        runs
    }

    /// The blocks with a cell that satisfies `active`.
    pub fn of_cells<T: Sync>(field: &CellField<T, D>, active: impl Fn(&T) -> bool + Sync) -> Self {
        let mut runs = Self::none(field.layout());
        runs.fill_rows(|row, bits| {
            for (b, block) in field.row(row).chunks(BLOCK).enumerate() {
                if block.iter().any(&active) {
                    set(bits, b);
                }
            }
        });
        runs
    }

    /// The blocks for which `active(index)` holds, `index` the memory index of a block's
    /// first cell.
    pub fn of_blocks(layout: &Layout<D>, active: impl Fn(usize) -> bool + Sync) -> Self {
        let mut runs = Self::none(layout);
        let blocks = layout.cells()[0].div_ceil(BLOCK);
        runs.fill_rows(|row, bits| {
            (0..blocks)
                .filter(|b| active(row.start + b * BLOCK))
                .for_each(|b| set(bits, b));
        });
        runs
    }

    /// These runs grown by `layers` cells along every axis (whole blocks along x).
    pub fn dilated(&self, layers: usize) -> Self {
        let mut grown = Self::none(&self.layout);
        let blocks = self.layout.cells()[0].div_ceil(BLOCK);
        let reach = layers.div_ceil(BLOCK);
        let cells = self.layout.cells();
        // Along the slower axes first: the union over the square (2D: the line) of rows.
        grown.fill_rows(|row, bits| {
            let range = |a: usize| {
                (row.at[a] - layers as i32).max(0)
                    ..=(row.at[a] + layers as i32).min(cells[a] as i32 - 1)
            };
            let planes = if D == 3 { range(2) } else { 0..=0 };
            for k in planes {
                for j in range(1) {
                    let mut at = row.at;
                    at[1] = j;
                    if D == 3 {
                        at[2] = k;
                    }
                    for (mine, theirs) in bits.iter_mut().zip(self.row_bits(self.memory_row(at))) {
                        *mine |= theirs;
                    }
                }
            }
            let flat: Vec<usize> = (0..blocks).filter(|&b| get(bits, b)).collect();
            for b in flat {
                (b.saturating_sub(reach)..=(b + reach).min(blocks - 1)).for_each(|b| set(bits, b));
            }
        });
        grown
    }

    /// The runs of a row of cells, faces or nodes.
    pub fn in_row(&self, row: Row<D>) -> &[Run] {
        let mut at = row.at;
        let cells = self.layout.cells();
        for a in 1..D {
            at[a] = at[a].min(cells[a] as i32 - 1);
        }
        let r = self.memory_row(at);
        &self.runs[self.first[r] as usize..self.first[r + 1] as usize]
    }

    /// All rows of cells that have runs, with them, in memory order.
    pub fn iter(&self) -> impl Iterator<Item = (Row<D>, &[Run])> {
        self.layout
            .rows(self.layout.cells())
            .map(|row| (row, self.in_row(row)))
            .filter(|(_, runs)| !runs.is_empty())
    }

    /// The lowest and the highest active cell along each axis; the highest is below the lowest if
    /// there is none.
    pub fn bounds(&self) -> [[i32; D]; 2] {
        let cells = self.layout.cells();
        let [mut low, mut high] = [cells.map(|n| n as i32), [-1; D]];
        for (row, runs) in self.iter() {
            let first = runs[0].start as i32;
            let last = (runs[runs.len() - 1].end as usize).min(cells[0]) as i32 - 1;
            low[0] = low[0].min(first);
            high[0] = high[0].max(last);
            for a in 1..D {
                low[a] = low[a].min(row.at[a]);
                high[a] = high[a].max(row.at[a]);
            }
        }
        [low, high]
    }

    /// Active blocks.
    pub fn blocks(&self) -> usize {
        self.bits.iter().map(|w| w.count_ones() as usize).sum()
    }

    fn memory_row(&self, at: [i32; D]) -> usize {
        let mut start = at;
        start[0] = 0;
        (self.layout.index(start) - BLOCK) / self.layout.row_stride()
    }

    fn row_bits(&self, memory_row: usize) -> &[u64] {
        &self.bits[memory_row * self.words..][..self.words]
    }

    /// Sets the bits of every cell row in parallel, then lists the runs.
    fn fill_rows(&mut self, f: impl Fn(Row<D>, &mut [u64]) + Sync) {
        let layout = self.layout;
        self.bits
            .par_chunks_mut(self.words)
            .with_min_len(64)
            .enumerate()
            .for_each(|(r, bits)| {
                let row = layout.memory_row(r);
                if row.is_within(layout.cells()) {
                    f(row, bits);
                }
            });
        self.runs.clear();
        let blocks = layout.cells()[0].div_ceil(BLOCK);
        for r in 0..layout.memory_rows() {
            let bits = &self.bits[r * self.words..][..self.words];
            let mut b = 0;
            while b < blocks {
                if bits[b / 64] >> (b % 64) == 0 {
                    b = (b / 64 + 1) * 64;
                } else if !get(bits, b) {
                    b += 1;
                } else {
                    let start = b;
                    while b < blocks && get(bits, b) {
                        b += 1;
                    }
                    self.runs.push(Run {
                        start: (start * BLOCK) as u32,
                        end: (b * BLOCK) as u32,
                    });
                }
            }
            self.first[r + 1] = self.runs.len() as u32;
        }
    }
}

fn set(bits: &mut [u64], block: usize) {
    bits[block / 64] |= 1 << (block % 64);
}

fn get(bits: &[u64], block: usize) -> bool {
    bits[block / 64] >> (block % 64) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cell, Grid};

    fn runs_cover_exactly_the_active_blocks<const D: usize>(cells: [usize; D]) {
        let grid = Grid::new(cells, 1.0, [0.0; D]).unwrap();
        let mut mark = CellField::<u8, D>::new(&grid);
        for (n, cell) in grid.all_cells().enumerate() {
            mark[cell] = u8::from(n * 7919 % 53 == 0);
        }
        let runs = Runs::of_cells(&mark, |&m| m == 1);
        let mut covered = CellField::<u8, D>::new(&grid);
        for (row, list) in runs.iter() {
            for run in list {
                for i in run.cells(cells[0]) {
                    covered[Cell(row.point(i))] = 1;
                }
            }
        }
        for cell in grid.all_cells() {
            let block_start = cell.0[0] / BLOCK as i32 * BLOCK as i32;
            let expected = (block_start..block_start + BLOCK as i32).any(|i| {
                let mut at = cell.0;
                at[0] = i;
                grid.contains(Cell(at)) && mark[Cell(at)] == 1
            });
            assert_eq!(covered[cell] == 1, expected, "{cell:?}");
        }
    }

    #[test]
    fn runs_cover_exactly_the_active_blocks_2d() {
        runs_cover_exactly_the_active_blocks([1100, 5]);
    }

    #[test]
    fn runs_cover_exactly_the_active_blocks_3d() {
        runs_cover_exactly_the_active_blocks([37, 6, 5]);
    }

    #[test]
    fn dilation_reaches_all_cells_within_the_distance() {
        let grid = Grid::new([40, 12, 12], 1.0, [0.0; 3]).unwrap();
        let mut mark = CellField::<u8, 3>::new(&grid);
        mark[Cell([20, 6, 6])] = 1;
        let grown = Runs::of_cells(&mark, |&m| m == 1).dilated(2);
        let rows: Vec<_> = grown
            .iter()
            .map(|(row, _)| (row.at[1], row.at[2]))
            .collect();
        assert_eq!(rows.len(), 25);
        assert!(
            rows.iter()
                .all(|&(j, k)| (j - 6).abs() <= 2 && (k - 6).abs() <= 2)
        );
        assert!(grown.iter().all(|(_, r)| r == [Run { start: 8, end: 32 }]));
        assert_eq!(grown.bounds(), [[8, 4, 4], [31, 8, 8]]);
    }

    #[test]
    fn all_and_none_are_what_they_say() {
        let grid = Grid::new([20, 3], 1.0, [0.0; 2]).unwrap();
        assert_eq!(Runs::<2>::all(grid.layout()).blocks(), 9);
        assert_eq!(Runs::<2>::none(grid.layout()).blocks(), 0);
        assert_eq!(Runs::<2>::all(grid.layout()).bounds(), [[0, 0], [19, 2]]);
        let [low, high] = Runs::<2>::none(grid.layout()).bounds();
        assert!(low[0] > high[0]);
        assert_eq!(Runs::<2>::all(grid.layout()).iter().count(), 3);
    }
}
