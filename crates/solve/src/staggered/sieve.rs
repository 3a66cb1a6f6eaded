//! Which faces are in the interior, which near something, found by bits.

use rayon::prelude::*;

use super::ground::{Fine, Ground};
use super::samples::{Place, Samples};
use super::shape::{moved, row_start};

/// Bits by cell, rows in whole words with an empty word on either side.
struct Bits<const D: usize> {
    cells: [usize; D],
    words: usize,
    bits: Vec<u64>,
}

impl<const D: usize> Bits<D> {
    fn new(cells: [usize; D], is_set: impl Fn([i32; D]) -> bool + Sync) -> Self {
        let words = cells[0].div_ceil(64) + 2;
        let rows: usize = cells[1..].iter().product();
        let mut bits = vec![0u64; words * rows];
        let rows = bits.par_chunks_mut(words).with_min_len(16).enumerate();
        rows.for_each(|(r, row)| {
            let mut at = row_start(cells, r);
            for x in 0..cells[0] {
                at[0] = x as i32;
                row[1 + x / 64] |= u64::from(is_set(at)) << (x % 64);
            }
        });
        Bits { cells, words, bits }
    }

    /// The words of a row, if it is in the lattice.
    fn row(&self, at: [i32; D]) -> Option<&[u64]> {
        let mut r = 0;
        for a in (1..D).rev() {
            if at[a] < 0 || at[a] >= self.cells[a] as i32 {
                return None;
            }
            r = r * self.cells[a] + at[a] as usize;
        }
        Some(&self.bits[r * self.words..][..self.words])
    }

    fn is_set(&self, at: [i32; D]) -> bool {
        if at[0] < 0 || at[0] >= self.cells[0] as i32 {
            return false;
        }
        let x = at[0] as usize;
        self.row(at)
            .is_some_and(|row| row[1 + x / 64] >> (x % 64) & 1 == 1)
    }

    /// The bits of cells `x − 1 ..= x + 8` of a row that block borders cut at `x`, lowest first.
    fn around(&self, at: [i32; D], x: usize) -> u64 {
        let Some(row) = self.row(at) else { return 0 };
        let (word, bit) = (1 + x / 64, x % 64);
        if word >= row.len() {
            return 0;
        }
        let below = if bit == 0 {
            row[word - 1] >> 63
        } else {
            row[word] >> (bit - 1) & 1
        };
        let above = if bit + 8 < 64 {
            row[word] >> (bit + 8) & 1
        } else if word + 1 < row.len() {
            row[word + 1] & 1
        } else {
            0
        };
        below | (row[word] >> bit & 0xff) << 1 | above << 9
    }

    /// Cells whose neighbours, corners included, are all set, or any of them is.
    fn spread(&self, all: bool) -> Bits<D> {
        let mut bits = vec![0u64; self.bits.len()];
        let join = |a: u64, b: u64| if all { a & b } else { a | b };
        let rows = bits.par_chunks_mut(self.words).with_min_len(16).enumerate();
        rows.for_each(|(r, out)| {
            let at = row_start(self.cells, r);
            for w in 1..self.words - 1 {
                let mut joined = if all { u64::MAX } else { 0 };
                for k in 0..3usize.pow(D as u32 - 1) {
                    let mut beside = at;
                    beside[1] += (k % 3) as i32 - 1;
                    if D == 3 {
                        beside[D - 1] += (k / 3) as i32 - 1;
                    }
                    let Some(row) = self.row(beside) else {
                        joined = join(joined, 0);
                        continue;
                    };
                    let left = row[w] << 1 | row[w - 1] >> 63;
                    let right = row[w] >> 1 | row[w + 1] << 63;
                    joined = join(joined, join(row[w], join(left, right)));
                }
                out[w] = joined;
            }
        });
        Bits {
            cells: self.cells,
            words: self.words,
            bits,
        }
    }
}

/// Which faces are worth a look.
pub struct Sieve<const D: usize> {
    /// Cells whose surroundings are full and free.
    deep: Bits<D>,
    /// Cells beside something.
    near: Bits<D>,
    /// Cells all around which is full, mirror images beyond walls included. From one cell before
    /// the lattice to one after.
    full: Bits<D>,
}

impl<const D: usize> Sieve<D> {
    /// Looks at all cells.
    pub fn new(cells: [usize; D], ground: &(impl Ground<D> + Fine<D>)) -> Self {
        Sieve {
            deep: Bits::new(cells, |at| ground.is_plain(at)).spread(true),
            near: Bits::new(cells, |at| ground.is_there(at)).spread(false),
            full: Bits::new(cells.map(|n| n + 2), |at| ground.is_full(at.map(|x| x - 1)))
                .spread(true),
        }
    }

    /// The samples of faces that are neither in the interior nor far from everything. `uniform` is
    /// the stiffness if it is the same everywhere.
    pub fn samples(
        &self,
        cells: [usize; D],
        ground: &impl Ground<D>,
        uniform: Option<f32>,
    ) -> Samples<D> {
        let deeper = self.deep.spread(true);
        Samples::new(cells, |at| {
            let near = self.near.is_set(at) || (0..D).any(|a| self.near.is_set(moved(at, a, -1)));
            let is_full = || self.full.is_set(at.map(|x| x + 1));
            (near && !deeper.is_set(at)).then(|| Place::new(ground, at, is_full(), uniform))
        })
    }

    /// Which of the eight faces from `at` are in the interior.
    pub fn interior(&self, axis: usize, at: [i32; D]) -> u64 {
        let x = at[0] as usize;
        let own = self.deep.around(at, x);
        let low = if axis == 0 {
            own << 1
        } else {
            self.deep.around(moved(at, axis, -1), x)
        };
        (own & low) >> 1 & 0xff
    }

    /// The faces of the eight from `at` that may be free.
    pub fn candidates(&self, axis: usize, at: [i32; D]) -> u64 {
        let x = at[0] as usize;
        let own = self.near.around(at, x);
        // A face is beside its cells and beside what its edges touch.
        let low = if axis == 0 {
            own << 1
        } else {
            self.near.around(moved(at, axis, -1), x)
        };
        ((own | low | own << 1) >> 1) & 0xff
    }
}
