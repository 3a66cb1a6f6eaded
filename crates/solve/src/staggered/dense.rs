//! Values by cell, x fastest, without padding.

use rayon::prelude::*;

use super::shape::{Shape, row_start};

/// Values by cell, times a factor, where a shape has its cells.
pub fn spread<const D: usize>(shape: &Shape<D>, dense: &[f32], factor: f32) -> Vec<f32> {
    let mut values = vec![0.0; shape.len];
    let cells: usize = shape.cells[..D - 1].iter().product();
    values[shape.origin..]
        .par_chunks_mut(shape.strides[D - 1])
        .zip(dense.par_chunks(cells))
        .for_each(|(values, dense)| {
            let rows = values.chunks_mut(shape.row());
            for (values, dense) in rows.zip(dense.chunks(shape.cells[0])) {
                for (value, dense) in values.iter_mut().zip(dense) {
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

/// An array of `f` over all cells.
pub fn gather<T: Copy + Default + Send, const D: usize>(
    cells: [usize; D],
    f: impl Fn([i32; D]) -> T + Sync,
) -> Vec<T> {
    let mut values = vec![T::default(); cells.iter().product()];
    values
        .par_chunks_mut(cells[0])
        .with_min_len(64)
        .enumerate()
        .for_each(|(r, row)| {
            let mut at = row_start(cells, r);
            for (x, value) in row.iter_mut().enumerate() {
                at[0] = x as i32;
                *value = f(at);
            }
        });
    values
}
