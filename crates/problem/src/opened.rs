//! Problems whose matrices are read row by row.

use std::path::{Path, PathBuf};

use plash_solve::{RowSource, Rows, Wanted};

use crate::error::ProblemError;
use crate::file::source;
use crate::frame::Frame;
use crate::members::{MatrixMembers, MemberRows};
use crate::npz;
use crate::stored::Stored;

/// A problem in a `.npz` file that has been read but for the entries of its matrix.
pub struct Opened {
    frame: Frame,
    matrix: MatrixFile,
}

/// A matrix in a file, to be read row by row.
pub struct MatrixFile {
    path: PathBuf,
    members: MatrixMembers<'static>,
}

impl Opened {
    /// Opens a `.npz` file, and reads and checks all arrays that are not the matrix.
    ///
    /// # Errors
    /// [`ProblemError`], naming the file, the array and what is wrong with it.
    pub fn open(path: &Path) -> Result<Opened, ProblemError> {
        let opened = npz::open(source(path)?);
        let (frame, members) = opened.map_err(|error| error.in_file(path))?;
        Ok(Opened {
            frame,
            matrix: MatrixFile {
                path: path.to_owned(),
                members,
            },
        })
    }

    /// What has been read.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// What has been read, and what has not.
    pub fn into_parts(self) -> (Frame, MatrixFile) {
        (self.frame, self.matrix)
    }

    /// Reads the rest.
    ///
    /// # Errors
    /// [`ProblemError`], naming the file, the array and what is wrong with it.
    pub fn read(self) -> Result<Stored, ProblemError> {
        let stored = npz::whole(self.frame, &self.matrix.members);
        stored.map_err(|error| error.in_file(&self.matrix.path))
    }
}

impl MatrixFile {
    /// The number of stored entries.
    pub fn nonzeros(&self) -> usize {
        self.members.nonzeros
    }

    /// The rows, from the first. They are checked one by one, and against damage of the file; that
    /// the matrix is symmetric is not.
    pub fn rows(&self) -> FileRows<'_> {
        FileRows {
            path: &self.path,
            rows: self.members.rows(),
        }
    }
}

/// The rows of a [`MatrixFile`].
pub struct FileRows<'a> {
    path: &'a Path,
    rows: MemberRows<'a, 'static>,
}

impl RowSource for FileRows<'_> {
    type Error = ProblemError;

    fn rows(&self) -> usize {
        self.rows.rows()
    }

    fn begin(&mut self, wanted: Wanted) -> Result<(), ProblemError> {
        let begun = self.rows.begin(wanted);
        begun.map_err(|error| error.in_file(self.path))
    }

    fn next_rows(&mut self) -> Result<Option<Rows<'_>>, ProblemError> {
        let rows = self.rows.next_rows();
        rows.map_err(|error| error.in_file(self.path))
    }
}
