//! Which faces are in the interior, which near something, found by bits.

use rayon::prelude::*;

use super::ground::{Contents, mirrored};
use super::samples::{Place, Samples};
use super::shape::{moved, row_start};
use super::spans::in_row;

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

    /// The number of a row, if it is in the lattice.
    fn row_number(&self, at: [i32; D]) -> Option<usize> {
        let mut r = 0;
        for a in (1..D).rev() {
            if at[a] < 0 || at[a] >= self.cells[a] as i32 {
                return None;
            }
            r = r * self.cells[a] + at[a] as usize;
        }
        Some(r)
    }

    /// The words of a row, if it is in the lattice.
    fn row(&self, at: [i32; D]) -> Option<&[u64]> {
        let r = self.row_number(at)?;
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
        // Most rows of a large lattice may be empty.
        let is_set = self.bits.par_chunks(self.words).with_min_len(64);
        let is_set: Vec<bool> = is_set.map(|row| row.iter().any(|&w| w != 0)).collect();
        let join = |a: u64, b: u64| if all { a & b } else { a | b };
        let rows = bits.par_chunks_mut(self.words).with_min_len(16).enumerate();
        rows.for_each(|(r, out)| {
            let at = row_start(self.cells, r);
            let mut beside: [&[u64]; 9] = [&[]; 9];
            let (mut count, mut is_all) = (0, true);
            for k in 0..3usize.pow(D as u32 - 1) {
                let mut at = at;
                at[1] += (k % 3) as i32 - 1;
                if D == 3 {
                    at[D - 1] += (k / 3) as i32 - 1;
                }
                match self.row_number(at).filter(|&r| is_set[r]) {
                    Some(r) => {
                        beside[count] = &self.bits[r * self.words..][..self.words];
                        count += 1;
                    }
                    None => is_all = false,
                }
            }
            if all && !is_all {
                return;
            }
            for w in 1..self.words - 1 {
                let mut joined = if all { u64::MAX } else { 0 };
                for row in &beside[..count] {
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
            for x in in_row(ground.spans(), cells, at) {
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

#[cfg(test)]
mod tests {
    use super::super::ground::{Kind, Octants};
    use super::*;
    use crate::lattice::BLOCK;
    use std::collections::HashSet;

    /// Cells at random: empty, there, full, or full and plain.
    struct Speckled {
        seed: u64,
    }

    impl<const D: usize> Contents<D> for Speckled {
        fn octants(&self, _: [i32; D]) -> Octants {
            unreachable!("a sieve asks for no octants")
        }

        fn kind(&self, cell: [i32; D]) -> Kind {
            let number = cell.iter().fold(self.seed, |h, &x| {
                (h ^ x as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ h >> 29
            });
            // Mostly empty, so that many blocks are passed over.
            let kind = (number >> 40) % 24;
            Kind {
                is_there: kind < 3,
                is_full: kind < 2,
                is_plain: kind < 1,
            }
        }
    }

    /// Every face of the lattice beside something is in a block that is visited, each block once and
    /// in order; how many there are.
    fn no_block_with_faces_is_passed_over<const D: usize>(cells: [usize; D], seed: u64) -> usize {
        let ground = Speckled { seed };
        let sieve = Sieve::new(cells, [[true; 2]; D], &ground);
        let is_there = |cell: [i32; D]| {
            let inside = (0..D).all(|a| cell[a] >= 0 && (cell[a] as usize) < cells[a]);
            inside && ground.kind(cell).is_there
        };
        // A face is worth a look if there is something among the cells around its two.
        let is_beside = |axis: usize, face: [i32; D]| {
            (0..2 * 3usize.pow(D as u32)).any(|k| {
                let side = moved(face, axis, -((k % 2) as i32));
                let by = |a: usize| (k / 2 / 3usize.pow(a as u32) % 3) as i32 - 1;
                let cell: [i32; D] = std::array::from_fn(|a| side[a] + by(a));
                // Only faces that have a cell of the lattice are looked at from it.
                let own_is_inside = (0..D).all(|a| side[a] >= 0 && (side[a] as usize) < cells[a]);
                own_is_inside && is_there(cell)
            })
        };
        let mut found = 0;
        for axis in 0..D {
            let extent: [usize; D] = std::array::from_fn(|a| cells[a] + usize::from(a == axis));
            for r in 0..extent[1..].iter().product() {
                let row = row_start(extent, r);
                let mut visited = Vec::new();
                sieve.each_block(axis, row, |at| visited.push(at[0]));
                assert!(visited.is_sorted_by(|a, b| a < b), "{visited:?}");
                let blocks: HashSet<i32> = visited.into_iter().collect();
                for x in 0..extent[0] {
                    let face = moved(row, 0, x as i32);
                    let block = (x / BLOCK * BLOCK) as i32;
                    let of_block = sieve.faces(axis, moved(row, 0, block)).faces;
                    let is_worth = of_block >> (x % BLOCK) & 1 == 1;
                    assert!(
                        is_worth || !is_beside(axis, face),
                        "{cells:?}, axis {axis}, {face:?} is overlooked"
                    );
                    if is_worth {
                        assert!(
                            blocks.contains(&block),
                            "{cells:?}, axis {axis}: the block of {face:?} is passed over"
                        );
                        found += 1;
                    }
                }
            }
        }
        found
    }

    #[test]
    fn no_block_with_faces_is_passed_over_2d() {
        for width in [1, 7, 8, 63, 64, 65, 72, 127, 128, 129] {
            let found = (0..4).map(|seed| no_block_with_faces_is_passed_over([width, 9], seed));
            assert!(found.sum::<usize>() > 20, "{width}");
        }
    }

    #[test]
    fn no_block_with_faces_is_passed_over_3d() {
        for width in [5, 63, 64, 65, 128] {
            let found = (0..3).map(|seed| no_block_with_faces_is_passed_over([width, 4, 5], seed));
            assert!(found.sum::<usize>() > 20, "{width}");
        }
    }
}
