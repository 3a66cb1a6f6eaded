//! Sparse rectangular matrices stored by rows: interpolation and restriction.

use std::ops::Range;

use crate::vector;

/// Row `i` holds the entries `starts[i] .. starts[i + 1]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rows {
    starts: Vec<u32>,
    columns: Vec<u32>,
    weights: Vec<f64>,
}

impl Rows {
    pub(super) fn with_capacity(rows: usize, entries: usize) -> Rows {
        let mut starts = Vec::with_capacity(rows + 1);
        starts.push(0);
        Rows {
            starts,
            columns: Vec::with_capacity(entries),
            weights: Vec::with_capacity(entries),
        }
    }

    /// Appends a row.
    pub(super) fn push(&mut self, entries: &[(u32, f64)]) {
        for &(column, weight) in entries {
            self.columns.push(column);
            self.weights.push(weight);
        }
        self.starts.push(self.columns.len() as u32);
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Columns and weights of row `i`.
    #[inline]
    pub(crate) fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.starts[i] as usize..self.starts[i + 1] as usize;
        (&self.columns[range.clone()], &self.weights[range])
    }

    /// `scale` times the transpose, which has `rows` rows.
    pub(super) fn transposed(&self, rows: usize, scale: f64) -> Rows {
        let mut starts = vec![0_u32; rows + 1];
        for &column in &self.columns {
            starts[column as usize + 1] += 1;
        }
        for i in 0..rows {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut columns = vec![0; self.columns.len()];
        let mut weights = vec![0.0; self.columns.len()];
        for i in 0..self.len() {
            let (row_columns, row_weights) = self.row(i);
            for (&column, &weight) in row_columns.iter().zip(row_weights) {
                let slot = &mut next[column as usize];
                columns[*slot as usize] = i as u32;
                weights[*slot as usize] = scale * weight;
                *slot += 1;
            }
        }
        Rows {
            starts,
            columns,
            weights,
        }
    }

    #[inline]
    fn dot(&self, i: usize, x: &[f64]) -> f64 {
        let (columns, weights) = self.row(i);
        let entries = columns.iter().zip(weights);
        entries.map(|(&j, weight)| weight * x[j as usize]).sum()
    }

    /// `y ← M x`.
    pub(crate) fn apply(&self, x: &[f64], y: &mut [f64]) {
        let leaf = |(rows, y): (Range<usize>, &mut [f64])| {
            for (i, y) in rows.zip(y) {
                *y = self.dot(i, x);
            }
        };
        vector::fold((0..self.len(), y), &leaf, &|(), ()| ());
    }

    /// `y ← y + M x`, leaving alone the entries where `held` (if not empty) is set.
    pub(crate) fn add(&self, x: &[f64], held: &[bool], y: &mut [f64]) {
        let leaf = |(rows, y): (Range<usize>, &mut [f64])| {
            for (i, y) in rows.zip(y) {
                if held.is_empty() || !held[i] {
                    *y += self.dot(i, x);
                }
            }
        };
        vector::fold((0..self.len(), y), &leaf, &|(), ()| ());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transpose_is_adjoint_up_to_its_scale() {
        let mut p = Rows::with_capacity(3, 4);
        p.push(&[(0, 0.5), (1, 0.5)]);
        p.push(&[]);
        p.push(&[(1, 2.0)]);
        let r = p.transposed(2, 0.25);
        let (x, y) = ([3.0, -1.0], [1.0, 5.0, 7.0]);
        let (mut px, mut ry) = ([0.0; 3], [0.0; 2]);
        p.apply(&x, &mut px);
        r.apply(&y, &mut ry);
        assert_eq!(px, [1.0, 0.0, -2.0]);
        assert_eq!(vector::dot(&px, &y) * 0.25, vector::dot(&x, &ry));
        p.add(&x, &[true, false, false], &mut px);
        assert_eq!(px, [1.0, 0.0, -4.0]);
    }
}
