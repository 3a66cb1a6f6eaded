//! Residuals to coarser levels, corrections to finer ones.
//!
//! Along a face's own axis the restriction is `(1, 2, 1)/4`, across it `(1, 3, 3, 1)/8`
//! (Aanjaneya et al. 2019, eqs. 12 and 13); the prolongation is `2^D` times its transpose, which is
//! multilinear interpolation. Faces that are not free give and receive nothing.

use super::level::{INTERIOR, Level};
use super::shape::Shape;
use crate::lattice::BLOCK;

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

/// The range of x that segments of a plane's row cover: calls `f(row's first point, first x, end)`
/// for each row that has any, with its segments.
fn each_row<const D: usize>(
    level: &Level<D>,
    axis: usize,
    z: usize,
    mut f: impl FnMut([i32; D], usize, usize, &[super::level::Segment]),
) {
    let shape = &level.shape;
    let mut rest = level.components[axis].in_plane(z);
    for r in 0..shape.plane_rows() {
        let at = shape.row_at(z, r);
        let start = shape.index(at);
        let end = (start + shape.row()) as u32;
        let count = rest.partition_point(|s| s.index < end);
        let (row, after) = rest.split_at(count);
        rest = after;
        if let (Some(first), Some(last)) = (row.first(), row.last()) {
            let first = first.index as usize - start;
            let end = last.index as usize + last.blocks as usize * BLOCK - start;
            f(at, first, end, row);
        }
    }
}

/// `b ← R r` on a plane of a coarse component; `row` is scratch.
///
/// # Safety
/// `r` has the fine level's shape, `b` the coarse one's; nobody else touches `b` on this plane.
pub unsafe fn restrict<const D: usize>(
    fine: &Shape<D>,
    r: &[f32],
    coarse: &Level<D>,
    axis: usize,
    z: usize,
    b: *mut f32,
    row: &mut Vec<f32>,
) {
    each_row(coarse, axis, z, |at, first, end, segments| {
        let taps = Taps::new(fine, axis, at, coarse_line);
        // From one before the first fine point to two after the last; beyond its end a row is
        // zero, or belongs to the pads and is zero too.
        let low = 2 * first;
        let length = (2 * (end - first) + 3).min(fine.row() + 1 - low);
        row.resize(length, 0.0);
        taps.combine(r, low, row);
        for segment in segments {
            let start = segment.index as usize;
            let x0 = start - coarse.shape.index(at);
            for k in 0..segment.blocks as usize * BLOCK {
                if !is_free(coarse, axis, segment, k) {
                    continue;
                }
                let i = 2 * (x0 + k - first);
                let value = |d: usize| row.get(i + d).copied().unwrap_or(0.0);
                let sum = if axis == 0 {
                    0.5 * value(1) + 0.25 * (value(0) + value(2))
                } else {
                    0.375 * (value(1) + value(2)) + 0.125 * (value(0) + value(3))
                };
                // SAFETY: the caller's promise.
                unsafe { *b.add(start + k) = sum };
            }
        }
    });
}

#[inline(always)]
fn is_free<const D: usize>(
    level: &Level<D>,
    axis: usize,
    segment: &super::level::Segment,
    k: usize,
) -> bool {
    segment.stream == INTERIOR
        || level.components[axis].stream[segment.stream as usize + k / BLOCK].is_free(k % BLOCK)
}

/// `x ← x + P e` on a plane of a fine component; `row` is scratch.
///
/// # Safety
/// `e` has the coarse level's shape, `x` the fine one's; nobody else touches `x` on this plane.
pub unsafe fn prolong<const D: usize>(
    coarse: &Shape<D>,
    e: &[f32],
    fine: &Level<D>,
    axis: usize,
    z: usize,
    x: *mut f32,
    row: &mut Vec<f32>,
) {
    each_row(fine, axis, z, |at, first, end, segments| {
        let taps = Taps::new(coarse, axis, at, fine_line);
        // Coarse points first/2 − 1 to end/2 + 1.
        let low = first / 2;
        let length = ((end - first) / 2 + 3).min(coarse.row() + 1 - low);
        row.resize(length, 0.0);
        taps.combine(e, low, row);
        for segment in segments {
            let start = segment.index as usize;
            let x0 = start - fine.shape.index(at) - first;
            for pair in 0..segment.blocks as usize * BLOCK / 2 {
                let i = x0 / 2 + pair;
                let value = |d: usize| row.get(i + d).copied().unwrap_or(0.0);
                let (even, odd) = if axis == 0 {
                    (value(1), 0.5 * (value(1) + value(2)))
                } else {
                    (
                        0.75 * value(1) + 0.25 * value(0),
                        0.75 * value(1) + 0.25 * value(2),
                    )
                };
                for (k, value) in [(2 * pair, even), (2 * pair + 1, odd)] {
                    if is_free(fine, axis, segment, k) {
                        // SAFETY: the caller's promise.
                        unsafe { *x.add(start + k) += value };
                    }
                }
            }
        }
    });
}
