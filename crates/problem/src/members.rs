//! The matrix of an archive, read row by row.

use plash_solve::{Csr, RowSource, Rows, Wanted, check_row};

use crate::archive::Archive;
use crate::error::ReadError;
use crate::npy::Array;
use crate::npz::{INDEX, index, needed, of_matrix};

/// Entries read at a time, unless a row has more.
const AT_A_TIME: usize = 1 << 18;

/// The members of an archive that hold a matrix: where rows begin is known, the rest is not read.
pub(crate) struct MatrixMembers<'s> {
    pub(crate) archive: Archive<'s>,
    /// Rising from zero to the number of entries.
    pub(crate) starts: Vec<u32>,
    pub(crate) nonzeros: usize,
}

impl<'s> MatrixMembers<'s> {
    /// Its rows.
    pub(crate) fn rows(&self) -> MemberRows<'_, 's> {
        MemberRows {
            matrix: self,
            indices: None,
            data: None,
            next: 0,
            columns: Vec::new(),
            values: Vec::new(),
        }
    }

    /// All of it.
    pub(crate) fn read(&self) -> Result<Csr, ReadError> {
        let mut columns = Vec::with_capacity(self.nonzeros);
        let mut values = Vec::with_capacity(self.nonzeros);
        let mut source = self.rows();
        source.begin(Wanted::Entries)?;
        while let Some(rows) = source.next_rows()? {
            columns.extend_from_slice(rows.columns);
            values.extend_from_slice(rows.values);
        }
        let matrix = Csr::new(self.starts.clone(), columns, values);
        Ok(matrix.map_err(|error| of_matrix(&error))?)
    }
}

/// The rows of a matrix in an archive.
pub(crate) struct MemberRows<'a, 's> {
    matrix: &'a MatrixMembers<'s>,
    indices: Option<Array<'a>>,
    data: Option<Array<'a>>,
    /// The next row.
    next: usize,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl RowSource for MemberRows<'_, '_> {
    type Error = ReadError;

    fn rows(&self) -> usize {
        self.matrix.starts.len() - 1
    }

    fn begin(&mut self, wanted: Wanted) -> Result<(), ReadError> {
        let data = (wanted == Wanted::Entries).then(|| needed(&self.matrix.archive, "data"));
        self.indices = Some(needed(&self.matrix.archive, "indices")?);
        self.data = data.transpose()?;
        self.next = 0;
        Ok(())
    }

    fn next_rows(&mut self) -> Result<Option<Rows<'_>>, ReadError> {
        let first = self.next;
        self.next = self.end_of(first);
        let read = if first < self.next {
            self.read_rows(first)
        } else {
            self.finish()
        };
        if let Err(error) = read {
            return Err(self.blame(error));
        }
        Ok((first < self.next).then(|| Rows {
            first,
            starts: &self.matrix.starts[first..=self.next],
            columns: &self.columns,
            values: &self.values,
        }))
    }
}

impl MemberRows<'_, '_> {
    /// Where rows end that are read together from a first one.
    fn end_of(&self, first: usize) -> usize {
        let starts = &self.matrix.starts[first..];
        let most = (starts[0] as usize).saturating_add(AT_A_TIME);
        let fitting = starts.partition_point(|&start| start as usize <= most);
        // The start of the first row after them fits too.
        (first + fitting - 1).max(first + 1).min(self.rows())
    }

    /// Reads the rows from a first one to the next and checks them.
    fn read_rows(&mut self, first: usize) -> Result<(), ReadError> {
        let starts = &self.matrix.starts[first..=self.next];
        let count = (starts[starts.len() - 1] - starts[0]) as usize;
        self.columns.clear();
        self.values.clear();
        if let Some(indices) = &mut self.indices {
            indices.some_integers(count, &mut self.columns, INDEX, index)?;
        }
        if let Some(data) = &mut self.data {
            data.some_floats(count, &mut self.values)?;
        }
        let rows = self.matrix.starts.len() - 1;
        for (row, pair) in (first..).zip(starts.windows(2)) {
            let range = (pair[0] - starts[0]) as usize..(pair[1] - starts[0]) as usize;
            let columns = &mut self.columns[range.clone()];
            // There are none unless they are wanted.
            let values = self.values.get_mut(range).unwrap_or_default();
            sort(columns, values);
            check_row(row, rows, columns, values).map_err(|error| of_matrix(&error))?;
        }
        Ok(())
    }

    /// Checks that the arrays are whole.
    fn finish(&mut self) -> Result<(), ReadError> {
        let arrays = [self.indices.take(), self.data.take()];
        arrays.into_iter().flatten().try_for_each(Array::finish)
    }

    /// What is to blame for an error: damage, if there is any, explains it.
    fn blame(&mut self, error: ReadError) -> ReadError {
        self.finish().err().unwrap_or(error)
    }
}

/// Sorts the columns of a row, and its values, if any, with them; other writers do not always.
fn sort(columns: &mut [u32], values: &mut [f64]) {
    if columns.is_sorted() {
        return;
    }
    if values.is_empty() {
        columns.sort_unstable();
        return;
    }
    let entries = columns.iter().copied().zip(values.iter().copied());
    let mut entries: Vec<(u32, f64)> = entries.collect();
    entries.sort_by_key(|&(column, _)| column);
    for (k, (column, value)) in entries.into_iter().enumerate() {
        (columns[k], values[k]) = (column, value);
    }
}
