//! Values by cell, x fastest, without padding.

use rayon::prelude::*;

use super::shape::{Shape, row_start};
use super::spans::{Spans, in_row};

/// Values by cell, times a factor, where a shape has its cells; they are zero outside the spans.
pub fn spread<const D: usize>(
    shape: &Shape<D>,
    dense: &[f32],
    spans: Option<&Spans<D>>,
    factor: f32,
) -> Vec<f32> {
    let mut values = vec![0.0; shape.len];
    let cells: usize = shape.cells[..D - 1].iter().product();
    values[shape.origin..]
        .par_chunks_mut(shape.strides[D - 1])
        .zip(dense.par_chunks(cells))
        .enumerate()
        .for_each(|(z, (values, dense))| {
            let rows = values.chunks_mut(shape.row());
            for (y, (values, dense)) in rows.zip(dense.chunks(shape.cells[0])).enumerate() {
                let range = in_row(spans, shape.cells, shape.row_at(z, y));
                for (value, dense) in values[range.clone()].iter_mut().zip(&dense[range]) {
                    *value = dense * factor;
                }
            }
        });
    values
}

/// The place of a cell in a dense array without padding.
#[inline]
pub fn linear<const D: usize>(cells: [usize; D], at: [i32; D]) -> usize {
    let mut index = 0;
    for a in (0..D).rev() {
        index = index * cells[a] + at[a] as usize;
    }
    index
}

/// An array of `f` over all cells within the spans, and nothing elsewhere.
pub fn gather<T: Copy + Default + Send, const D: usize>(
    cells: [usize; D],
    spans: Option<&Spans<D>>,
    f: impl Fn([i32; D]) -> T + Sync,
) -> Vec<T> {
    let mut values = vec![T::default(); cells.iter().product()];
    values
        .par_chunks_mut(cells[0])
        .with_min_len(64)
        .enumerate()
        .for_each(|(r, row)| {
            let mut at = row_start(cells, r);
            for x in in_row(spans, cells, at) {
                at[0] = x as i32;
                row[x] = f(at);
            }
        });
    values
}
