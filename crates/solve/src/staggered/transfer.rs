//! Residuals to coarser levels, corrections to finer ones.
//!
//! Along a face's own axis the restriction is `(1, 2, 1)/4`, across it `(1, 3, 3, 1)/8`
//! (Aanjaneya et al. 2019, eqs. 12 and 13); the prolongation is `2^D` times its transpose, which is
//! multilinear interpolation. Faces that are not free give and receive nothing.

use super::component::{Component, Packed, Segment};
use super::level::Level;
use super::shape::Shape;
use crate::lattice::BLOCK;
use crate::lattice::kernel::dispatch;
#[cfg(target_arch = "x86_64")]
use crate::lattice::simd::Avx2;
use crate::lattice::simd::{Portable, Simd};

/// Rows across x that a transfer combines, with their weights: at most four by four.
struct Taps<'a, const D: usize> {
    source: &'a Shape<D>,
    axis: usize,
    line: fn(i32, bool) -> Line,
    /// Across planes.
    outer: Line,
    /// The row at hand.
    row: i32,
    rows: [(usize, f32); 16],
    count: usize,
}

/// The points a coarse one takes from along one axis, or a fine one from the coarse, with weights.
#[derive(Clone, Copy)]
struct Line {
    points: [(i32, f32); 4],
    count: usize,
}

fn coarse_line(at: i32, own: bool) -> Line {
    let at = 2 * at;
    if own {
        let points = [(at - 1, 0.25), (at, 0.5), (at + 1, 0.25), (at, 0.0)];
        Line { points, count: 3 }
    } else {
        let points = [
            (at - 1, 0.125),
            (at, 0.375),
            (at + 1, 0.375),
            (at + 2, 0.125),
        ];
        Line { points, count: 4 }
    }
}

fn fine_line(at: i32, own: bool) -> Line {
    let half = at.div_euclid(2);
    let odd = at.rem_euclid(2) == 1;
    let none = (half, 0.0);
    match (own, odd) {
        (true, false) => Line {
            points: [(half, 1.0), none, none, none],
            count: 1,
        },
        (true, true) => Line {
            points: [(half, 0.5), (half + 1, 0.5), none, none],
            count: 2,
        },
        (false, odd) => Line {
            points: [
                (half, 0.75),
                (if odd { half + 1 } else { half - 1 }, 0.25),
                none,
                none,
            ],
            count: 2,
        },
    }
}

impl<'a, const D: usize> Taps<'a, D> {
    /// For rows of plane `z` of another level, none of which is chosen yet.
    #[inline(always)]
    fn new(source: &'a Shape<D>, axis: usize, z: i32, line: fn(i32, bool) -> Line) -> Self {
        let outer = match D {
            3 => line(z, axis == D - 1),
            _ => Line {
                points: [(0, 1.0); 4],
                count: 1,
            },
        };
        Taps {
            source,
            axis,
            line,
            outer,
            row: i32::MIN,
            rows: [(0, 0.0); 16],
            count: 0,
        }
    }

    /// Turns to the row with this coordinate along y.
    #[inline(always)]
    fn turn_to(&mut self, y: i32) {
        if self.row == y {
            return;
        }
        self.row = y;
        self.count = 0;
        let inner = (self.line)(y, self.axis == 1);
        for &(z, weight_z) in &self.outer.points[..self.outer.count] {
            for &(y, weight_y) in &inner.points[..inner.count] {
                let mut row = [0; D];
                row[1] = y;
                if D == 3 {
                    row[D - 1] = z;
                }
                let last = |a: usize| self.source.cells[a] as i32;
                if (1..D).any(|a| row[a] < 0 || row[a] > last(a)) {
                    continue;
                }
                self.rows[self.count] = (self.source.index(row), weight_y * weight_z);
                self.count += 1;
            }
        }
    }

    /// The rows and their weights.
    #[inline(always)]
    fn rows(&self) -> &[(usize, f32)] {
        &self.rows[..self.count]
    }
}

/// A block of a plane of a component that has free faces.
struct Block<'a> {
    /// The coordinate of its row along y.
    y: i32,
    /// Where it begins in its row, and in memory.
    first: usize,
    index: usize,
    /// Its rows, if they are not those of the interior.
    rows: Option<&'a Packed>,
}

/// All of them, in order.
struct Blocks<'a, const D: usize> {
    component: &'a Component,
    segments: std::slice::Iter<'a, Segment>,
    /// The first face of the plane, and the length of its rows.
    plane: usize,
    row: usize,
    z: i32,
    /// The next of the segment at hand, and its end.
    next: Block<'a>,
    end: usize,
}

impl<'a, const D: usize> Blocks<'a, D> {
    fn new(level: &'a Level<D>, axis: usize, z: usize) -> Self {
        let (shape, component) = (&level.shape, &level.components[axis]);
        Blocks {
            component,
            segments: component.in_plane(z).iter(),
            plane: shape.index(shape.row_at(z, 0)),
            row: shape.row(),
            z: z as i32,
            next: Block {
                y: 0,
                first: 0,
                index: 0,
                rows: None,
            },
            end: 0,
        }
    }
}

impl<'a, const D: usize> Iterator for Blocks<'a, D> {
    type Item = Block<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Block<'a>> {
        if self.next.index == self.end {
            let segment = self.segments.next()?;
            let index = segment.index as usize;
            let from = index - self.plane;
            let y = if D == 3 {
                (from / self.row) as i32
            } else {
                self.z
            };
            let first = from % self.row;
            let rows = None;
            self.next = Block {
                y,
                first,
                index,
                rows,
            };
            self.end = index + segment.blocks as usize * BLOCK;
        }
        let Block {
            y, first, index, ..
        } = self.next;
        self.next.first += BLOCK;
        self.next.index += BLOCK;
        Some(Block {
            y,
            first,
            index,
            rows: self.component.packed(index / BLOCK),
        })
    }
}

/// Fine points along x that eight coarse ones take from, beginning with one before the first.
const TAKEN: usize = 2 * BLOCK + 2;

/// The restriction to the eight coarse faces from `at` of something that is known by rows: `add`
/// adds it, from a memory index on and times a weight, to as many sums as it is given.
pub fn restrict_eight<const D: usize>(
    fine: &Shape<D>,
    axis: usize,
    at: [i32; D],
    add: impl Fn(usize, f32, &mut [f32]),
) -> [f32; BLOCK] {
    let mut sums = [0.0; TAKEN];
    // Beyond the row all is zero.
    let low = 2 * at[0] as usize;
    let inside = TAKEN.min(fine.row() + 1 - low);
    let mut taps = Taps::new(fine, axis, at[D - 1], coarse_line);
    taps.turn_to(at[1]);
    for &(row, weight) in taps.rows() {
        add(row + low - 1, weight, &mut sums[..inside]);
    }
    // SAFETY: the sums are as many as are read.
    unsafe { along_x::<Portable>(axis, sums.as_ptr()) }
}

#[inline(always)]
unsafe fn restrict_body<S: Simd, const D: usize>(
    fine: &Shape<D>,
    r: &[f32],
    coarse: &Level<D>,
    axis: usize,
    z: usize,
    b: *mut f32,
) {
    let mut taps = Taps::new(fine, axis, z as i32, coarse_line);
    for block in Blocks::new(coarse, axis, z) {
        taps.turn_to(block.y);
        // From the fine point before the first; beyond its row all is zero.
        let low = 2 * block.first;
        let inside = fine.row() + 1 - low;
        let mut sums = [0.0f32; 3 * BLOCK];
        // SAFETY: what is read lies in its row; the rest is the caller's promise.
        unsafe {
            if inside < sums.len() {
                for &(row, weight) in taps.rows() {
                    let row = &r[row + low - 1..][..inside];
                    sums.iter_mut().zip(row).for_each(|(s, r)| *s += weight * r);
                }
            } else {
                let mut three = [S::splat(0.0); 3];
                for &(row, weight) in taps.rows() {
                    let (row, weight) = (r.as_ptr().add(row + low - 1), S::splat(weight));
                    for k in 0..3 {
                        let value = S::load(row.add(k * BLOCK));
                        three[k] = S::add(three[k], S::mul(weight, value));
                    }
                }
                for k in 0..3 {
                    S::store(sums.as_mut_ptr().add(k * BLOCK), three[k]);
                }
            }
            let eight = along_x::<S>(axis, sums.as_ptr());
            S::store(b.add(block.index), masked::<S>(&block, eight));
        }
    }
}

/// Eight coarse values from the fine ones that follow, of which there are [`TAKEN`].
#[inline(always)]
unsafe fn along_x<S: Simd>(axis: usize, fine: *const f32) -> S::Single {
    // SAFETY: the caller's promise is passed on.
    unsafe {
        let [before, own] = S::load_apart(fine);
        let [after, last] = S::load_apart(fine.add(2));
        if axis == 0 {
            let ends = S::mul(S::splat(0.25), S::add(before, after));
            S::add(S::mul(S::splat(0.5), own), ends)
        } else {
            let ends = S::mul(S::splat(0.125), S::add(before, last));
            S::add(S::mul(S::splat(0.375), S::add(own, after)), ends)
        }
    }
}

/// What is free of the eight values of a block.
#[inline(always)]
unsafe fn masked<S: Simd>(block: &Block<'_>, eight: S::Single) -> S::Single {
    match block.rows {
        // SAFETY: the caller's promise is passed on.
        Some(rows) => unsafe { S::where_positive(S::load(rows.inverse.as_ptr()), eight) },
        None => eight,
    }
}

#[inline(always)]
unsafe fn prolong_body<S: Simd, const D: usize>(
    coarse: &Shape<D>,
    e: &[f32],
    fine: &Level<D>,
    axis: usize,
    z: usize,
    x: *mut f32,
) {
    let mut taps = Taps::new(coarse, axis, z as i32, fine_line);
    for block in Blocks::new(fine, axis, z) {
        taps.turn_to(block.y);
        // SAFETY: coarse points of free faces lie in their row, and what is read after them in memory,
        // for there is more than a block after the last row; the rest is the caller's promise.
        unsafe {
            // From the coarse point before the first.
            let mut six = S::splat(0.0);
            for &(row, weight) in taps.rows() {
                let value = S::load(e.as_ptr().add(row + block.first / 2 - 1));
                six = S::add(six, S::mul(S::splat(weight), value));
            }
            let own = S::permute(six, [1, 1, 2, 2, 3, 3, 4, 4]);
            let eight = if axis == 0 {
                let next = S::permute(six, [1, 2, 2, 3, 3, 4, 4, 5]);
                S::mul(S::splat(0.5), S::add(own, next))
            } else {
                let next = S::permute(six, [0, 2, 1, 3, 2, 4, 3, 5]);
                S::add(S::mul(S::splat(0.75), own), S::mul(S::splat(0.25), next))
            };
            let x = x.add(block.index);
            S::store(x, S::add(S::load(x), masked::<S>(&block, eight)));
        }
    }
}

dispatch! {
    /// `b ← R r` on a plane of a coarse component.
    ///
    /// # Safety
    /// `r` has the fine level's shape, `b` the coarse one's; nobody else touches `b` on this plane.
    pub unsafe fn restrict<D>(fine: &Shape<D>, r: &[f32], coarse: &Level<D>, axis: usize, z: usize, b: *mut f32) = restrict_body
}
dispatch! {
    /// `x ← x + P e` on a plane of a fine component.
    ///
    /// # Safety
    /// `e` has the coarse level's shape, `x` the fine one's; nobody else touches `x` on this plane.
    pub unsafe fn prolong<D>(coarse: &Shape<D>, e: &[f32], fine: &Level<D>, axis: usize, z: usize, x: *mut f32) = prolong_body
}
