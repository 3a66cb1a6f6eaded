//! Files: which format, whole or not at all.

use std::fs::File;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use crate::archive::Source;
use crate::error::{Fault, ProblemError};
use crate::opened::Opened;
use crate::stored::Stored;
use crate::{market, npz};

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A NumPy archive, `.npz`.
    Npz,
    /// MatrixMarket text, `.mtx`.
    MatrixMarket,
}

impl Format {
    /// The format that a file name tells.
    ///
    /// # Errors
    /// [`ProblemError::UnknownFormat`].
    pub fn of(path: &Path) -> Result<Format, ProblemError> {
        match path.extension().and_then(|ext| ext.to_str()) {
            Some("npz") => Ok(Format::Npz),
            Some("mtx") => Ok(Format::MatrixMarket),
            _ => Err(ProblemError::UnknownFormat {
                path: path.to_owned(),
            }),
        }
    }
}

/// What the files beside `NAME.mtx` are called: `NAME_b.mtx`, `NAME_S.mtx`, `NAME_coord.mtx`.
const BESIDE: [&str; 3] = ["_b", "_S", "_coord"];

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}{suffix}.mtx"))
}

pub(crate) fn read_problem(path: &Path) -> Result<Stored, ProblemError> {
    match Format::of(path)? {
        Format::Npz => Opened::open(path)?.read(),
        Format::MatrixMarket => {
            let paths = BESIDE.map(|suffix| beside(path, suffix));
            let paths = [path.to_owned()].into_iter().chain(paths);
            let paths: Vec<PathBuf> = paths.collect();
            let mut texts = [None, None, None, None];
            for (text, path) in texts.iter_mut().zip(&paths) {
                if path == &paths[0] || path.exists() {
                    *text = Some(read_text(path)?);
                }
            }
            let texts = texts.each_ref().map(|text| text.as_deref());
            market::read_market_text(texts).map_err(|(at, fault)| fault.in_file(&paths[at]))
        }
    }
}

pub(crate) fn write_problem(path: &Path, stored: &Stored) -> Result<(), ProblemError> {
    match Format::of(path)? {
        Format::Npz => {
            let bytes = npz::write_problem(stored).map_err(|fault| fault.in_file(path))?;
            write_whole(path, &bytes)
        }
        Format::MatrixMarket => {
            let n = stored.unknowns();
            let rhs = market::write_array(n, 1, stored.rhs().iter().copied());
            write_whole(&beside(path, BESIDE[0]), rhs.as_bytes())?;
            let walls: Vec<f64> = stored.walls().map(|i| i as f64 + 1.0).collect();
            let walls = market::write_array(walls.len(), 1, walls.into_iter());
            write_whole(&beside(path, BESIDE[1]), walls.as_bytes())?;
            if let Some((dimensions, coords)) = stored.coords() {
                let by_column = (0..n * dimensions).map(|k| coords[k % n * dimensions + k / n]);
                let coords = market::write_array(n, dimensions, by_column);
                write_whole(&beside(path, BESIDE[2]), coords.as_bytes())?;
            }
            // Last, so that whoever finds the matrix finds the rest.
            write_whole(path, market::write_matrix(stored.matrix()).as_bytes())
        }
    }
}

/// Reads a solution: the array `x` of a `.npz` file, or the vector of a `.mtx` file.
///
/// # Errors
/// [`ProblemError`], naming the file and what is wrong with it.
pub fn read_solution(path: &Path) -> Result<Vec<f64>, ProblemError> {
    match Format::of(path)? {
        Format::Npz => {
            let read = npz::read_solution(source(path)?);
            read.map_err(|error| error.in_file(path))
        }
        Format::MatrixMarket => {
            let read = market::column(&read_text(path)?, None);
            read.map_err(|fault| fault.in_file(path))
        }
    }
}

/// Writes a solution, whole or not at all.
///
/// # Errors
/// [`ProblemError`] if the file cannot be written.
pub fn write_solution(path: &Path, x: &[f64]) -> Result<(), ProblemError> {
    let bytes = match Format::of(path)? {
        Format::Npz => npz::write_solution(x).map_err(|fault| fault.in_file(path))?,
        Format::MatrixMarket => market::write_array(x.len(), 1, x.iter().copied()).into_bytes(),
    };
    write_whole(path, &bytes)
}

/// A file to read from here and there.
pub(crate) fn source(path: &Path) -> Result<Box<dyn Source>, ProblemError> {
    let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
    let (about, file) = opened.map_err(ProblemError::io("read", path))?;
    if about.is_file() {
        return Ok(Box::new(file));
    }
    // Pipes cannot go back.
    Ok(Box::new(Cursor::new(read(path)?)))
}

fn read(path: &Path) -> Result<Vec<u8>, ProblemError> {
    std::fs::read(path).map_err(ProblemError::io("read", path))
}

fn read_text(path: &Path) -> Result<String, ProblemError> {
    String::from_utf8(read(path)?)
        .map_err(|_| Fault::new("text", "not UTF-8; is it MatrixMarket?").in_file(path))
}

/// Writes a file beside its place and renames it: whoever looks sees the old content or the new.
fn write_whole(path: &Path, content: &[u8]) -> Result<(), ProblemError> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".plash-part-");
    // Temporary files are private by default; results are as open as the user's umask says.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder
        .tempfile_in(folder)
        .map_err(ProblemError::io("write into", folder))?;
    file.write_all(content)
        .and_then(|()| file.as_file().sync_all())
        .map_err(ProblemError::io("write", path))?;
    file.persist(path)
        .map_err(|error| ProblemError::io("write", path)(error.error))?;
    Ok(())
}
