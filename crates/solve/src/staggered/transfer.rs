//! Residuals to coarser levels, corrections to finer ones.
//!
//! Along a face's own axis the restriction is `(1, 2, 1)/4`, across it `(1, 3, 3, 1)/8`
//! (Aanjaneya et al. 2019, eqs. 12 and 13); the prolongation is `2^D` times its transpose, which is
//! multilinear interpolation. Faces that are not free give and receive nothing.

use super::component::{Component, Segment};
use super::level::Level;
use super::shape::Shape;
use crate::lattice::BLOCK;
use crate::lattice::kernel::dispatch;
#[cfg(target_arch = "x86_64")]
use crate::lattice::simd::Avx2;
use crate::lattice::simd::{Portable, Simd};

/// Rows across x that a transfer combines, with their weights: at most four by four.
struct Taps {
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

impl Taps {
    /// The rows of `source` that the row at `at` of another level combines.
    fn new<const D: usize>(
        source: &Shape<D>,
        axis: usize,
        at: [i32; D],
        line: fn(i32, bool) -> Line,
    ) -> Self {
        let mut taps = Taps {
            rows: [(0, 0.0); 16],
            count: 0,
        };
        let last = |a: usize| source.cells[a] as i32;
        let outer = if D == 3 {
            line(at[D - 1], axis == D - 1)
        } else {
            Line {
                points: [(0, 1.0); 4],
                count: 1,
            }
        };
        let inner = line(at[1], axis == 1);
        for &(z, weight_z) in &outer.points[..outer.count] {
            for &(y, weight_y) in &inner.points[..inner.count] {
                let mut row = [0; D];
                row[1] = y;
                if D == 3 {
                    row[D - 1] = z;
                }
                if (1..D).any(|a| row[a] < 0 || row[a] > last(a)) {
                    continue;
                }
                taps.rows[taps.count] = (source.index(row), weight_y * weight_z);
                taps.count += 1;
            }
        }
        taps
    }

    /// `out[k] = Σ weight · values[row + first − 1 + k]`: from one point before.
    #[inline(always)]
    fn combine(&self, values: &[f32], first: usize, out: &mut [f32]) {
        out.fill(0.0);
        for &(row, weight) in &self.rows[..self.count] {
            let row = &values[row + first - 1..][..out.len()];
            for (out, value) in out.iter_mut().zip(row) {
                *out += weight * value;
            }
        }
    }
}

/// The rows of a plane of a component that have segments.
struct Rows<'a, const D: usize> {
    shape: &'a Shape<D>,
    z: usize,
    r: usize,
    rest: &'a [Segment],
}

/// One of them: its first point, and the range along x that its segments cover.
struct RowOf<'a, const D: usize> {
    at: [i32; D],
    first: usize,
    end: usize,
    segments: &'a [Segment],
}

impl<'a, const D: usize> Rows<'a, D> {
    fn new(level: &'a Level<D>, axis: usize, z: usize) -> Self {
        Rows {
            shape: &level.shape,
            z,
            r: 0,
            rest: level.components[axis].in_plane(z),
        }
    }
}

impl<'a, const D: usize> Iterator for Rows<'a, D> {
    type Item = RowOf<'a, D>;

    #[inline(always)]
    fn next(&mut self) -> Option<RowOf<'a, D>> {
        while self.r < self.shape.plane_rows() {
            let at = self.shape.row_at(self.z, self.r);
            self.r += 1;
            let start = self.shape.index(at);
            let end = (start + self.shape.row()) as u32;
            let mut count = 0;
            while self.rest.get(count).is_some_and(|s| s.index < end) {
                count += 1;
            }
            let (segments, rest) = self.rest.split_at(count);
            self.rest = rest;
            if let (Some(first), Some(last)) = (segments.first(), segments.last()) {
                return Some(RowOf {
                    at,
                    first: first.index as usize - start,
                    end: last.index as usize + last.blocks as usize * BLOCK - start,
                    segments,
                });
            }
        }
        None
    }
}

/// How much scratch memory a plane of a level needs, be it the finer or the coarser of a transfer.
pub fn scratch_len<const D: usize>(shape: &Shape<D>) -> usize {
    2 * shape.row() + 4
}

/// Fine points along x that eight coarse ones take from, beginning with one before the first.
const TAKEN: usize = 2 * BLOCK + 2;

/// Eight coarse values from fine ones that were combined across x.
#[inline(always)]
fn along_x(axis: usize, fine: &[f32]) -> [f32; BLOCK] {
    let fine = &fine[..TAKEN];
    let mut eight = [0.0; BLOCK];
    for (l, sum) in eight.iter_mut().enumerate() {
        *sum = if axis == 0 {
            0.5 * fine[2 * l + 1] + 0.25 * (fine[2 * l] + fine[2 * l + 2])
        } else {
            0.375 * (fine[2 * l + 1] + fine[2 * l + 2]) + 0.125 * (fine[2 * l] + fine[2 * l + 3])
        };
    }
    eight
}

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
    let mut row = at;
    row[0] = 0;
    let taps = Taps::new(fine, axis, row, coarse_line);
    for &(row, weight) in &taps.rows[..taps.count] {
        add(row + low - 1, weight, &mut sums[..inside]);
    }
    along_x(axis, &sums)
}

#[inline(always)]
unsafe fn restrict_body<S: Simd, const D: usize>(
    fine: &Shape<D>,
    r: &[f32],
    coarse: &Level<D>,
    axis: usize,
    z: usize,
    b: *mut f32,
    scratch: &mut [f32],
) {
    for RowOf {
        at,
        first,
        end,
        segments,
    } in Rows::new(coarse, axis, z)
    {
        // From the fine point before the first to those two after the last; beyond its row all
        // is zero.
        let low = 2 * first;
        let length = 2 * (end - first) + 3;
        let row = &mut scratch[..length];
        let inside = length.min(fine.row() + 1 - low);
        row[inside..].fill(0.0);
        Taps::new(fine, axis, at, coarse_line).combine(r, low, &mut row[..inside]);
        let start = coarse.shape.index(at) + first;
        for segment in segments {
            let from = segment.index as usize - start;
            for k in 0..segment.blocks as usize {
                let mut eight = along_x(axis, &row[2 * (from + k * BLOCK)..]);
                mask(&coarse.components[axis], segment, k, &mut eight);
                // SAFETY: the caller's promise.
                unsafe {
                    let b = b.add(segment.index as usize + k * BLOCK);
                    b.cast::<[f32; BLOCK]>().write(eight);
                }
            }
        }
    }
}

/// Zeroes what is not free in block `k` of a segment.
#[inline(always)]
fn mask(component: &Component, segment: &Segment, k: usize, eight: &mut [f32; BLOCK]) {
    if segment.is_interior {
        return;
    }
    if let Some(rows) = component.packed(segment.index as usize / BLOCK + k) {
        for (value, inverse) in eight.iter_mut().zip(&rows.inverse) {
            *value = if *inverse > 0.0 { *value } else { 0.0 };
        }
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
    scratch: &mut [f32],
) {
    for RowOf {
        at,
        first,
        end,
        segments,
    } in Rows::new(fine, axis, z)
    {
        // From the coarse point before the first to the one after the last.
        let low = first / 2;
        let length = (end - first) / 2 + 2;
        let row = &mut scratch[..length];
        let inside = length.min(coarse.row() + 1 - low);
        row[inside..].fill(0.0);
        Taps::new(coarse, axis, at, fine_line).combine(e, low, &mut row[..inside]);
        let start = fine.shape.index(at) + first;
        for segment in segments {
            let from = segment.index as usize - start;
            for k in 0..segment.blocks as usize {
                let mut eight = [0.0; BLOCK];
                let coarse = &row[(from + k * BLOCK) / 2..][..BLOCK / 2 + 2];
                for l in 0..BLOCK / 2 {
                    let [before, own, after] = [coarse[l], coarse[l + 1], coarse[l + 2]];
                    (eight[2 * l], eight[2 * l + 1]) = if axis == 0 {
                        (own, 0.5 * (own + after))
                    } else {
                        (0.75 * own + 0.25 * before, 0.75 * own + 0.25 * after)
                    };
                }
                mask(&fine.components[axis], segment, k, &mut eight);
                // SAFETY: the caller's promise.
                unsafe {
                    let x = x.add(segment.index as usize + k * BLOCK);
                    let x = &mut *x.cast::<[f32; BLOCK]>();
                    x.iter_mut().zip(eight).for_each(|(x, e)| *x += e);
                }
            }
        }
    }
}

dispatch! {
    /// `b ← R r` on a plane of a coarse component; `scratch` holds [`scratch_len`] values.
    ///
    /// # Safety
    /// `r` has the fine level's shape, `b` the coarse one's; nobody else touches `b` on this plane.
    pub unsafe fn restrict<D>(fine: &Shape<D>, r: &[f32], coarse: &Level<D>, axis: usize, z: usize, b: *mut f32, scratch: &mut [f32]) = restrict_body
}
dispatch! {
    /// `x ← x + P e` on a plane of a fine component; `scratch` holds [`scratch_len`] values.
    ///
    /// # Safety
    /// `e` has the coarse level's shape, `x` the fine one's; nobody else touches `x` on this plane.
    pub unsafe fn prolong<D>(coarse: &Shape<D>, e: &[f32], fine: &Level<D>, axis: usize, z: usize, x: *mut f32, scratch: &mut [f32]) = prolong_body
}
