//! Which faces are in the interior, which near something, found by bits.

use rayon::prelude::*;

use super::ground::{Contents, mirrored};
use super::samples::{Place, Samples};
use super::shape::{moved, row_start};

/// Bits by cell, rows in whole words with an empty word on either side.
struct Bits<const D: usize> {
    cells: [usize; D],
    words: usize,
    bits: Vec<u64>,
}

impl<const D: usize> Bits<D> {
    fn none(cells: [usize; D]) -> Self {
        let words = cells[0].div_ceil(64) + 2;
        let rows: usize = cells[1..].iter().product();
        Bits {
            cells,
            words,
            bits: vec![0; words * rows],
        }
    }

    /// One cell more on every side, in which it is as in the cells at that side, or where that is
    /// open not set.
    fn mirrored(&self, open: &[[bool; 2]; D]) -> Self {
        let mut wider = Bits::none(self.cells.map(|n| n + 2));
        let n = self.cells[0];
        let rows = wider.bits.chunks_mut(wider.words).enumerate();
        for (r, row) in rows {
            // Which row this is, or is the image of; what lies beyond its ends comes later.
            let mut at = row_start(wider.cells, r).map(|x| x - 1);
            at[0] = 0;
            let Some((at, _)) = mirrored(at, self.cells, open) else {
                continue;
            };
            for w in 0..wider.words - 2 {
                let [before, own] = [-1, 0].map(|by| self.word(at, w as i32 + by));
                row[1 + w] = own << 1 | before >> 63;
            }
            let end = |x: usize, is_open: bool| {
                u64::from(!is_open && self.is_set(moved(at, 0, x as i32)))
            };
            row[1] |= end(0, open[0][0]);
            row[1 + (n + 1) / 64] |= end(n - 1, open[0][1]) << ((n + 1) % 64);
        }
        wider
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

    /// The bits of cells `64 w ..` of a row; none are set beyond the lattice.
    fn word(&self, at: [i32; D], w: i32) -> u64 {
        let (first, cells) = (64 * w, self.cells[0] as i32);
        if first < 0 || first >= cells {
            return 0;
        }
        let bits = self.row(at).map_or(0, |row| row[w as usize + 1]);
        match cells - first {
            count @ 1..64 => bits & ((1 << count) - 1),
            _ => bits,
        }
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
    /// Looks at all cells of a lattice with these open sides.
    pub fn new(cells: [usize; D], open: [[bool; 2]; D], ground: &impl Contents<D>) -> Self {
        let [mut there, mut full, mut plain] = [(); 3].map(|()| Bits::none(cells));
        let words = there.words;
        let rows = there.bits.par_chunks_mut(words).with_min_len(16);
        let rows = rows.zip(full.bits.par_chunks_mut(words));
        let rows = rows.zip(plain.bits.par_chunks_mut(words)).enumerate();
        rows.for_each(|(r, ((there, full), plain))| {
            let mut at = row_start(cells, r);
            for x in 0..cells[0] {
                at[0] = x as i32;
                let kind = ground.kind(at);
                let (word, bit) = (1 + x / 64, x % 64);
                there[word] |= u64::from(kind.is_there) << bit;
                full[word] |= u64::from(kind.is_full) << bit;
                plain[word] |= u64::from(kind.is_plain) << bit;
            }
            // Walls hold faces of the cells beside them.
            let is_beside = |a: usize| {
                (at[a] == 0 && !open[a][0]) || (at[a] + 1 == cells[a] as i32 && !open[a][1])
            };
            if (1..D).any(is_beside) {
                plain.fill(0);
            }
            if !open[0][0] {
                plain[1] &= !1;
            }
            if !open[0][1] {
                plain[1 + (cells[0] - 1) / 64] &= !(1 << ((cells[0] - 1) % 64));
            }
        });
        Sieve {
            deep: plain.spread(true),
            near: there.spread(false),
            full: full.mirrored(&open).spread(true),
        }
    }

    /// The samples of faces that are neither in the interior nor far from everything: `place` says
    /// what those of a place are, given whether all around it is full.
    pub fn samples(
        &self,
        cells: [usize; D],
        place: impl Fn([i32; D], bool) -> Place + Sync,
    ) -> Samples<D> {
        let deeper = self.deep.spread(true);
        let near = |at: [i32; D], w: usize| self.near.word(at, w as i32);
        let wanted = |at: [i32; D], w: usize| {
            let own = near(at, w);
            let mut wanted = own | own << 1 | self.near.word(at, w as i32 - 1) >> 63;
            for a in 1..D {
                wanted |= near(moved(at, a, -1), w);
            }
            wanted & !deeper.word(at, w as i32)
        };
        Samples::new(cells, wanted, |at| {
            place(at, self.full.is_set(at.map(|x| x + 1)))
        })
    }

    /// Visits the blocks of a row, by the first face of each, in which some may be free.
    #[inline]
    pub fn each_block(&self, axis: usize, row: [i32; D], mut visit: impl FnMut([i32; D])) {
        let faces = self.near.cells[0] + 1;
        for w in 0..faces.div_ceil(64) {
            let near = |at: [i32; D], w: usize| self.near.word(at, w as i32);
            let own = near(row, w);
            // A face is beside its cells and beside what its edges touch.
            let mut faces = own | own << 1 | self.near.word(row, w as i32 - 1) >> 63;
            if axis > 0 {
                faces |= near(moved(row, axis, -1), w);
            }
            for byte in 0..8 {
                if faces >> (8 * byte) & 0xff != 0 {
                    visit(moved(row, 0, (64 * w + 8 * byte) as i32));
                }
            }
        }
    }

    /// What is known of the eight faces from `at`.
    #[inline]
    pub fn faces(&self, axis: usize, at: [i32; D]) -> Sifted {
        let x = at[0] as usize;
        // The cells on both sides of each face, from one before.
        let both = |bits: &Bits<D>| {
            let own = bits.around(at, x);
            let low = match axis {
                0 => own << 1,
                _ => bits.around(moved(at, axis, -1), x),
            };
            [own, low]
        };
        // A face is beside its cells and beside what its edges touch.
        let [own, low] = both(&self.near);
        let faces = (own | low | own << 1) >> 1 & 0xff;
        if faces == 0 {
            return Sifted { faces, interior: 0 };
        }
        let [own, low] = both(&self.deep);
        let interior = (own & low) >> 1 & 0xff;
        Sifted { faces, interior }
    }
}

/// Which of eight faces are worth a look, a bit each.
#[derive(Clone, Copy)]
pub struct Sifted {
    /// Those that may be free.
    pub faces: u64,
    /// Those in the interior.
    pub interior: u64,
}
