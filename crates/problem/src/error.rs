//! What may be wrong with a problem file.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a problem or solution could not be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// The file cannot be read or written.
    #[error("cannot {doing} {}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The name tells of no format that is known.
    #[error("{} is neither .npz nor .mtx", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// The content is not what it should be.
    #[error("{}: {fault}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: Fault,
    },
}

impl ProblemError {
    /// Whether the input is at fault, and not the disk.
    pub fn is_bad_input(&self) -> bool {
        use std::io::ErrorKind::{InvalidFilename, IsADirectory, NotADirectory, NotFound};
        match self {
            ProblemError::Io { source, .. } => matches!(
                source.kind(),
                NotFound | NotADirectory | IsADirectory | InvalidFilename
            ),
            ProblemError::UnknownFormat { .. } | ProblemError::Content { .. } => true,
        }
    }

    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| ProblemError::Io {
            doing,
            path,
            source,
        }
    }
}

/// What is wrong inside a file: where, what, and what would be right.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{place}: {message}")]
pub struct Fault {
    /// The array, or the line.
    place: String,
    /// What is wrong and what would be right.
    message: String,
}

impl Fault {
    pub(crate) fn new(place: impl Into<String>, message: impl Into<String>) -> Fault {
        Fault {
            place: place.into(),
            message: message.into(),
        }
    }

    /// The same, known to be in a file.
    pub(crate) fn in_file(self, path: &Path) -> ProblemError {
        ProblemError::Content {
            path: path.to_owned(),
            fault: self,
        }
    }
}

/// Why reading stopped: what was read is wrong, or cannot be read.
#[derive(Debug)]
pub(crate) enum ReadError {
    Fault(Fault),
    Io(std::io::Error),
}

impl From<Fault> for ReadError {
    fn from(fault: Fault) -> Self {
        ReadError::Fault(fault)
    }
}

impl From<std::io::Error> for ReadError {
    fn from(error: std::io::Error) -> Self {
        ReadError::Io(error)
    }
}

impl ReadError {
    /// The same, known to be in a file.
    pub(crate) fn in_file(self, path: &Path) -> ProblemError {
        match self {
            ReadError::Fault(fault) => fault.in_file(path),
            ReadError::Io(error) => ProblemError::io("read", path)(error),
        }
    }

    /// The same of bytes in memory, where nothing but the content can be at fault.
    pub(crate) fn into_fault(self) -> Fault {
        match self {
            ReadError::Fault(fault) => fault,
            ReadError::Io(error) => Fault::new("archive", error.to_string()),
        }
    }
}
