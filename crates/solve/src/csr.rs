//! Compressed sparse rows.

use std::ops::Range;

use thiserror::Error;

use crate::operator::Operator;
use crate::rows::Rows;
use crate::vector;

/// A square sparse matrix stored row by row, both triangles present.
///
/// Row `i` owns the entries `row_starts[i] .. row_starts[i + 1]` of `columns` and `values`;
/// its columns strictly increase. The solvers of this crate expect `A = Aᵀ`, which the
/// constructor does not check (it would cost as much as several products): see
/// [`is_symmetric`](Csr::is_symmetric) for tests.
///
/// ```
/// use plash_solve::{Csr, Operator};
///
/// // [ 2 −1 ]
/// // [−1  2 ]
/// let a = Csr::new(vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0, -1.0, -1.0, 2.0])?;
/// let mut y = [0.0; 2];
/// a.apply(&[1.0, 3.0], &mut y);
/// assert_eq!(y, [-1.0, 5.0]);
/// # Ok::<(), plash_solve::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    row_starts: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

/// The arrays of a matrix: row starts, columns, values.
pub(crate) type Parts = (Vec<u32>, Vec<u32>, Vec<f64>);

/// Why three arrays are not a matrix.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum MatrixError {
    /// `row_starts` must begin with 0, never decrease and end with the number of entries.
    #[error("row starts must rise from 0 to the number of entries; at row {row} they do not")]
    RowStarts {
        /// The row at which the rule is broken.
        row: usize,
    },
    /// `columns` and `values` must be of one length.
    #[error("{columns} column indices but {values} values")]
    Lengths {
        /// Length of the column array.
        columns: usize,
        /// Length of the value array.
        values: usize,
    },
    /// A column index lies outside the square.
    #[error("row {row} has an entry in column {column} of a matrix with {rows} rows")]
    ColumnOutOfRange {
        /// The row of the entry.
        row: usize,
        /// Its column.
        column: u32,
        /// The size of the matrix.
        rows: usize,
    },
    /// Columns must strictly increase within a row.
    #[error("the columns of row {row} are not strictly increasing")]
    ColumnOrder {
        /// The row at fault.
        row: usize,
    },
    /// An entry is infinite or NaN.
    #[error("row {row} has the value {value} in column {column}")]
    NotFinite {
        /// The row of the entry.
        row: usize,
        /// Its column.
        column: u32,
        /// Its value.
        value: f64,
    },
}

impl Csr {
    /// Takes over the three arrays after checking that they are a square matrix: shape, column
    /// order and range, finite values.
    ///
    /// # Errors
    /// The first rule broken, and where.
    pub fn new(
        row_starts: Vec<u32>,
        columns: Vec<u32>,
        values: Vec<f64>,
    ) -> Result<Csr, MatrixError> {
        check_shape(&row_starts, &columns, &values)?;
        let rows = row_starts.len() - 1;
        for (row, start_end) in row_starts.windows(2).enumerate() {
            let range = start_end[0] as usize..start_end[1] as usize;
            check_row(row, rows, &columns[range.clone()], &values[range])?;
        }
        Ok(Csr {
            row_starts,
            columns,
            values,
        })
    }

    /// The number of rows, which is the number of columns.
    pub fn rows(&self) -> usize {
        self.row_starts.len() - 1
    }

    /// The number of stored entries.
    pub fn nonzeros(&self) -> usize {
        self.values.len()
    }

    /// The columns and values of row `i`.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.row_starts[i] as usize..self.row_starts[i + 1] as usize;
        (&self.columns[range.clone()], &self.values[range])
    }

    /// A range of rows.
    pub(crate) fn some_rows(&self, rows: Range<usize>) -> Rows<'_> {
        let starts = &self.row_starts[rows.start..=rows.end];
        let entries = starts[0] as usize..starts[rows.len()] as usize;
        Rows {
            first: rows.start,
            starts,
            columns: &self.columns[entries.clone()],
            values: &self.values[entries],
        }
    }

    /// The values of row `i`, to be changed in place. They must stay finite.
    pub(crate) fn row_values_mut(&mut self, i: usize) -> &mut [f64] {
        let range = self.row_starts[i] as usize..self.row_starts[i + 1] as usize;
        &mut self.values[range]
    }

    /// `Aᵢⱼ`, zero where nothing is stored.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        let (columns, values) = self.row(i);
        columns
            .binary_search_by(|&column| (column as usize).cmp(&j))
            .map_or(0.0, |k| values[k])
    }

    /// Whether `|Aᵢⱼ − Aⱼᵢ| ≤ tolerance · max|A|` for every stored entry.
    pub fn is_symmetric(&self, tolerance: f64) -> bool {
        let bound = tolerance * vector::max_norm(&self.values);
        (0..self.rows()).all(|i| {
            let (columns, values) = self.row(i);
            columns
                .iter()
                .zip(values)
                .all(|(&j, &value)| (value - self.get(j as usize, i)).abs() <= bound)
        })
    }

    /// The matrix with the rows and columns of `separated` unknowns replaced by their diagonal
    /// entries, written into the memory of `parts`.
    pub(crate) fn principal(&self, separated: &[bool], parts: Parts) -> Csr {
        self.rewritten(parts, |i, j, value| {
            (i == j || !(separated[i] || separated[j])).then_some(value)
        })
    }

    /// The matrix with the diagonal entries of `separated` unknowns multiplied by
    /// `1 + penalty`, written into the memory of `parts`.
    pub(crate) fn penalised(&self, separated: &[bool], penalty: f64, parts: Parts) -> Csr {
        self.rewritten(parts, |i, j, value| {
            Some(if i == j && separated[i] {
                value + penalty * value
            } else {
                value
            })
        })
    }

    /// The matrix of those entries that `entry(row, column, value)` keeps, as it gives them.
    fn rewritten(
        &self,
        (mut row_starts, mut columns, mut values): Parts,
        entry: impl Fn(usize, usize, f64) -> Option<f64>,
    ) -> Csr {
        row_starts.clear();
        columns.clear();
        values.clear();
        row_starts.push(0);
        for i in 0..self.rows() {
            let (row_columns, row_values) = self.row(i);
            for (&j, &value) in row_columns.iter().zip(row_values) {
                if let Some(value) = entry(i, j as usize, value) {
                    columns.push(j);
                    values.push(value);
                }
            }
            row_starts.push(columns.len() as u32);
        }
        Csr {
            row_starts,
            columns,
            values,
        }
    }

    /// Gives back `(row_starts, columns, values)`, so that the next matrix may use their memory.
    pub fn into_parts(self) -> (Vec<u32>, Vec<u32>, Vec<f64>) {
        (self.row_starts, self.columns, self.values)
    }

    /// `y ← (A x)` for a range of rows.
    fn apply_rows(&self, rows: Range<usize>, x: &[f64], y: &mut [f64]) {
        let starts = &self.row_starts[rows.start..=rows.end];
        let entries = starts[0] as usize..starts[rows.len()] as usize;
        let mut columns = &self.columns[entries.clone()];
        let mut values = &self.values[entries];
        for (y, bounds) in y.iter_mut().zip(starts.windows(2)) {
            // Rows are peeled off the front of the streams: one range check a row, none an entry.
            let len = (bounds[1] - bounds[0]) as usize;
            let (row_columns, row_values);
            (row_columns, columns) = columns.split_at(len);
            (row_values, values) = values.split_at(len);
            // The common stencils by name: a loop of known length keeps the rows overlapping.
            *y = match (row_columns.len(), row_columns, row_values) {
                (5, columns, values) => short_dot::<5>(columns, values, x),
                (7, columns, values) => short_dot::<7>(columns, values, x),
                (_, columns, values) => columns
                    .iter()
                    .zip(values)
                    .map(|(&j, value)| value * x[j as usize])
                    .sum(),
            };
        }
    }
}

impl Default for Csr {
    /// The matrix without rows.
    fn default() -> Csr {
        Csr {
            row_starts: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
        }
    }
}

impl Operator for Csr {
    fn rows(&self) -> usize {
        Csr::rows(self)
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        assert_eq!(
            x.len(),
            self.rows(),
            "operand of another size than the matrix"
        );
        assert_eq!(
            y.len(),
            self.rows(),
            "result of another size than the matrix"
        );
        let leaf = |(rows, y): (Range<usize>, &mut [f64])| self.apply_rows(rows, x, y);
        vector::fold((0..self.rows(), y), &leaf, &|(), ()| ());
    }

    fn diagonal(&self, i: usize) -> f64 {
        self.get(i, i)
    }

    fn apply_dot(&self, x: &[f64], y: &mut [f64]) -> f64 {
        assert_eq!(
            x.len(),
            self.rows(),
            "operand of another size than the matrix"
        );
        assert_eq!(
            y.len(),
            self.rows(),
            "result of another size than the matrix"
        );
        let leaf = |(rows, y): (Range<usize>, &mut [f64])| {
            self.apply_rows(rows.clone(), x, y);
            vector::chunk_dot(&x[rows], y)
        };
        vector::fold((0..self.rows(), y), &leaf, &|a, b| a + b)
    }
}

/// `Σ values · x[columns]` over the first `N` entries.
fn short_dot<const N: usize>(columns: &[u32], values: &[f64], x: &[f64]) -> f64 {
    let (Some(columns), Some(values)) = (columns.first_chunk::<N>(), values.first_chunk::<N>())
    else {
        return 0.0;
    };
    let mut sum = 0.0;
    for k in 0..N {
        sum += values[k] * x[columns[k] as usize];
    }
    sum
}

fn check_shape(row_starts: &[u32], columns: &[u32], values: &[f64]) -> Result<(), MatrixError> {
    if columns.len() != values.len() {
        return Err(MatrixError::Lengths {
            columns: columns.len(),
            values: values.len(),
        });
    }
    if row_starts.first() != Some(&0) {
        return Err(MatrixError::RowStarts { row: 0 });
    }
    if let Some(row) = row_starts.windows(2).position(|pair| pair[0] > pair[1]) {
        return Err(MatrixError::RowStarts { row });
    }
    let last = row_starts[row_starts.len() - 1] as usize;
    if last != columns.len() {
        return Err(MatrixError::RowStarts {
            row: row_starts.len() - 1,
        });
    }
    Ok(())
}

/// Checks one row of a matrix of so many: order and range of its columns, finite values.
///
/// # Errors
/// The first rule broken.
pub fn check_row(
    row: usize,
    rows: usize,
    columns: &[u32],
    values: &[f64],
) -> Result<(), MatrixError> {
    if columns.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(MatrixError::ColumnOrder { row });
    }
    // The columns increase, so the last is the largest.
    if let Some(&column) = columns.last()
        && column as usize >= rows
    {
        return Err(MatrixError::ColumnOutOfRange { row, column, rows });
    }
    if let Some(k) = values.iter().position(|value| !value.is_finite()) {
        return Err(MatrixError::NotFinite {
            row,
            column: columns[k],
            value: values[k],
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_by_two() -> (Vec<u32>, Vec<u32>, Vec<f64>) {
        (vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0, -1.0, -1.0, 2.0])
    }

    #[test]
    fn every_broken_rule_is_named() {
        let (starts, columns, values) = two_by_two();
        let refuse = |s: &[u32], c: &[u32], v: &[f64]| {
            Csr::new(s.to_vec(), c.to_vec(), v.to_vec()).expect_err("should be refused")
        };
        assert!(matches!(
            refuse(&[], &[], &[]),
            MatrixError::RowStarts { row: 0 }
        ));
        assert!(matches!(
            refuse(&[1, 4], &columns, &values),
            MatrixError::RowStarts { row: 0 }
        ));
        assert!(matches!(
            refuse(&[0, 3, 2, 4], &columns, &values),
            MatrixError::RowStarts { row: 1 }
        ));
        assert!(matches!(
            refuse(&[0, 2, 5], &columns, &values),
            MatrixError::RowStarts { row: 2 }
        ));
        assert!(matches!(
            refuse(&starts, &columns, &[1.0]),
            MatrixError::Lengths { .. }
        ));
        assert!(matches!(
            refuse(&starts, &[1, 0, 0, 1], &values),
            MatrixError::ColumnOrder { row: 0 }
        ));
        assert!(matches!(
            refuse(&starts, &[0, 0, 0, 1], &values),
            MatrixError::ColumnOrder { row: 0 }
        ));
        assert!(matches!(
            refuse(&starts, &[0, 1, 0, 2], &values),
            MatrixError::ColumnOutOfRange {
                row: 1,
                column: 2,
                rows: 2
            }
        ));
        assert!(matches!(
            refuse(&starts, &columns, &[2.0, -1.0, f64::NAN, 2.0]),
            MatrixError::NotFinite {
                row: 1,
                column: 0,
                ..
            }
        ));
    }

    #[test]
    fn parts_come_back_as_they_went_in() {
        let (starts, columns, values) = two_by_two();
        let a = Csr::new(starts.clone(), columns.clone(), values.clone()).expect("a matrix");
        assert_eq!(a.into_parts(), (starts, columns, values));
    }

    #[test]
    fn a_matrix_without_rows_is_a_matrix() {
        let a = Csr::new(vec![0], vec![], vec![]).expect("a matrix");
        assert_eq!((a.rows(), a.nonzeros()), (0, 0));
        a.apply(&[], &mut []);
    }

    #[test]
    fn absent_entries_are_zero_and_symmetry_is_seen() {
        let a = Csr::new(vec![0, 1, 2, 2], vec![0, 1], vec![5.0, 4.0]).expect("a matrix");
        assert_eq!((a.diagonal(1), a.diagonal(2), a.get(0, 2)), (4.0, 0.0, 0.0));
        assert!(a.is_symmetric(0.0));
        let (starts, columns, mut values) = two_by_two();
        values[1] = -1.1;
        let b = Csr::new(starts, columns, values).expect("a matrix");
        assert!(!b.is_symmetric(1e-3));
        assert!(b.is_symmetric(0.1));
    }

    #[test]
    fn the_fused_product_has_the_bits_of_the_plain_one() {
        let n: u32 = 20_000;
        let mut starts = vec![0];
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for i in 0..n {
            for j in i.saturating_sub(1)..(i + 2).min(n) {
                columns.push(j);
                values.push(if i == j { 2.5 } else { -1.0 });
            }
            starts.push(columns.len() as u32);
        }
        let a = Csr::new(starts, columns, values).expect("a matrix");
        let x: Vec<f64> = (0..n).map(|i| (f64::from(i) * 0.37).sin()).collect();
        let (mut y, mut z) = (vec![0.0; n as usize], vec![0.0; n as usize]);
        a.apply(&x, &mut y);
        let fused = a.apply_dot(&x, &mut z);
        assert_eq!(y, z);
        assert_eq!(fused.to_bits(), vector::dot(&x, &y).to_bits());
    }
}
