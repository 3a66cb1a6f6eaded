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
