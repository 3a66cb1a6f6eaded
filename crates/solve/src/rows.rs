//! A matrix that comes some rows at a time.

use std::convert::Infallible;

use crate::csr::Csr;

/// Consecutive rows of a matrix.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// The number of the first.
    pub first: usize,
    /// Where each begins among the entries of the whole matrix, and where the last ends.
    pub starts: &'a [u32],
    /// The columns of their entries, increasing within a row.
    pub columns: &'a [u32],
    /// Their values, finite; empty if only columns were asked for.
    pub values: &'a [f64],
}

impl<'a> Rows<'a> {
    /// How many.
    pub fn count(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The columns and values of the `k`-th of them.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, k: usize) -> (&'a [u32], &'a [f64]) {
        let at = |k: usize| (self.starts[k] - self.starts[0]) as usize;
        let range = at(k)..at(k + 1);
        let values = self.values.get(range.clone()).unwrap_or_default();
        (&self.columns[range], values)
    }
}

/// What is asked of a [`RowSource`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Where entries are.
    Columns,
    /// What they are, too.
    Entries,
}

/// Something that gives the rows of a square matrix in order, as often as it is asked to, so that
/// nobody need hold them all: a file, or a [`Csr`].
pub trait RowSource {
    /// Why rows may fail to come.
    type Error;

    /// The number of rows.
    fn rows(&self) -> usize;

    /// Goes to the first row.
    ///
    /// # Errors
    /// If that is not possible.
    fn begin(&mut self, wanted: Wanted) -> Result<(), Self::Error>;

    /// The next rows, at least one, or `None` after the last.
    ///
    /// # Errors
    /// If they cannot be had or are no rows of a matrix: columns out of range or twice in a row,
    /// values that are not finite.
    fn next_rows(&mut self) -> Result<Option<Rows<'_>>, Self::Error>;
}

/// The rows of a matrix in memory.
#[derive(Clone, Debug)]
pub struct CsrRows<'a> {
    matrix: &'a Csr,
    next: usize,
}

/// Rows at a time: enough for every thread, few enough for the cache.
const AT_A_TIME: usize = 1 << 14;

impl<'a> From<&'a Csr> for CsrRows<'a> {
    fn from(matrix: &'a Csr) -> Self {
        CsrRows { matrix, next: 0 }
    }
}

impl RowSource for CsrRows<'_> {
    type Error = Infallible;

    fn rows(&self) -> usize {
        self.matrix.rows()
    }

    fn begin(&mut self, _: Wanted) -> Result<(), Infallible> {
        self.next = 0;
        Ok(())
    }

    fn next_rows(&mut self) -> Result<Option<Rows<'_>>, Infallible> {
        let first = self.next;
        self.next = (first + AT_A_TIME).min(self.matrix.rows());
        Ok((first < self.next).then(|| self.matrix.some_rows(first..self.next)))
    }
}
