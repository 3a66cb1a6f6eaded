//! Problems as NumPy archives.

use std::io::Cursor;

use plash_solve::MatrixError;

use crate::archive::{Archive, ArchiveWriter, Source};
use crate::error::{Fault, ReadError};
use crate::frame::{Frame, Kind};
use crate::members::MatrixMembers;
use crate::npy::{self, Array};
use crate::stored::Stored;

/// Reads a problem from the bytes of a `.npz` file.
///
/// # Errors
/// What is wrong, and in which array.
pub fn read_problem(bytes: &[u8]) -> Result<Stored, Fault> {
    let read = || {
        let (frame, matrix) = open(Box::new(Cursor::new(bytes)))?;
        whole(frame, &matrix)
    };
    read().map_err(ReadError::into_fault)
}

/// Reads all but the entries of the matrix.
pub(crate) fn open<'s>(
    source: Box<dyn Source + 's>,
) -> Result<(Frame, MatrixMembers<'s>), ReadError> {
    let archive = Archive::open(source)?;
    let (starts, nonzeros) = starts(&archive)?;
    let frame = frame(&archive, starts.len() - 1)?;
    let matrix = MatrixMembers {
        archive,
        starts,
        nonzeros,
    };
    Ok((frame, matrix))
}

/// Reads the entries too.
pub(crate) fn whole(frame: Frame, matrix: &MatrixMembers<'_>) -> Result<Stored, ReadError> {
    let stored = Stored::of(matrix.read()?, frame);
    Ok(stored.check()?)
}

/// All that is not the matrix, which has so many rows.
fn frame(archive: &Archive<'_>, rows: usize) -> Result<Frame, ReadError> {
    let rhs = with(archive, "rhs", |array| {
        fits(array, array.len()?, rows)?;
        array.floats()
    })?;
    let walls = optional(archive, "S", |array| {
        let inside = |v| u32::try_from(v).ok().filter(|&i| (i as usize) < rows);
        array.integers(&format!("an unknown below {rows}"), inside)
    })?;
    let mut frame = Frame::new(rhs, &walls.unwrap_or_default());
    frame.coords = optional(archive, "coords", |array| {
        let &[n, dimensions @ (2 | 3)] = array.shape() else {
            let message = format!("shape {:?} is neither [n, 2] nor [n, 3]", array.shape());
            return Err(array.fault(message).into());
        };
        fits(array, n, rows)?;
        Ok((dimensions, array.floats()?))
    })?;
    let kind = optional(archive, "kind", |array| {
        let text = array.text()?;
        let kind = Kind::parse(&text);
        kind.ok_or_else(|| {
            let message = format!("`{text}` is neither \"pressure\" nor \"viscosity\"");
            array.fault(message).into()
        })
    })?;
    let components = optional(archive, "comp", |array| {
        fits(array, array.len()?, rows)?;
        let small = |v| i8::try_from(v).ok().filter(|c| (0..3).contains(c));
        array.integers("a component 0, 1 or 2", small)
    })?;
    // Without components there is no lattice of velocities, but still a matrix.
    frame.kind = kind.unwrap_or_default();
    frame.components = components.unwrap_or_default();
    Ok(frame)
}

/// The solution stored in a `.npz` file.
pub(crate) fn read_solution(source: Box<dyn Source + '_>) -> Result<Vec<f64>, ReadError> {
    with(&Archive::open(source)?, "x", |array| {
        array.len()?;
        array.floats()
    })
}

/// Where rows begin, and how many entries there are.
fn starts(archive: &Archive<'_>) -> Result<(Vec<u32>, usize), ReadError> {
    let starts = with(archive, "indptr", |array| array.integers(INDEX, index))?;
    let columns = needed(archive, "indices")?.len()?;
    let values = needed(archive, "data")?.len()?;
    if columns != values {
        let message = format!("{values} entries, but indices has {columns}");
        return Err(Fault::new("data", message).into());
    }
    let misplaced = |pair: &&[u32]| pair[1] as usize > columns || pair[0] > pair[1];
    if let Some(pair) = starts.windows(2).find(misplaced) {
        let message = format!("points to entry {} of {columns}", pair[1]);
        return Err(Fault::new("indptr", message).into());
    }
    let misplaced = match (starts.first(), starts.last()) {
        (Some(0), Some(&last)) if last as usize == columns => return Ok((starts, columns)),
        (Some(0), Some(_)) => starts.len() - 1,
        _ => 0,
    };
    Err(of_matrix(&MatrixError::RowStarts { row: misplaced }).into())
}

/// What indices may be.
pub(crate) const INDEX: &str = "an index below 2³² − 1";

pub(crate) fn index(value: i64) -> Option<u32> {
    u32::try_from(value).ok().filter(|&v| v < u32::MAX)
}

/// A broken rule of matrices, as the fault of an array.
pub(crate) fn of_matrix(error: &MatrixError) -> Fault {
    let array = match error {
        MatrixError::RowStarts { .. } => "indptr",
        MatrixError::Lengths { .. } | MatrixError::NotFinite { .. } => "data",
        _ => "indices",
    };
    Fault::new(array, error.to_string())
}

/// Reads an array that must be there.
fn with<T>(
    archive: &Archive<'_>,
    name: &str,
    read: impl FnOnce(&mut Array<'_>) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    checked(needed(archive, name)?, read)
}

/// Reads an array that may be there.
fn optional<T>(
    archive: &Archive<'_>,
    name: &str,
    read: impl FnOnce(&mut Array<'_>) -> Result<T, ReadError>,
) -> Result<Option<T>, ReadError> {
    match archive.member(&format!("{name}.npy"))? {
        Some(content) => checked(Array::open(name, content)?, read).map(Some),
        None => Ok(None),
    }
}

/// Reads an array and checks that it is whole.
fn checked<T>(
    mut array: Array<'_>,
    read: impl FnOnce(&mut Array<'_>) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    match read(&mut array) {
        Ok(found) => array.finish().map(|()| found),
        Err(error) => Err(array.blame(error)),
    }
}

/// Opens an array that must be there.
pub(crate) fn needed<'a>(archive: &'a Archive<'_>, name: &'a str) -> Result<Array<'a>, ReadError> {
    let Some(content) = archive.member(&format!("{name}.npy"))? else {
        let known: Vec<&str> = archive.names().take(20).collect();
        let held = known.join(", ").replace(".npy", "");
        return Err(Fault::new(name, format!("missing; the archive holds: {held}")).into());
    };
    Array::open(name, content)
}

fn fits(array: &Array<'_>, found: usize, rows: usize) -> Result<(), Fault> {
    if found == rows {
        Ok(())
    } else {
        Err(array.fault(format!("{found} entries for a matrix of {rows} rows")))
    }
}

/// A problem as the bytes of a `.npz` file.
pub(crate) fn write_problem(stored: &Stored) -> Result<Vec<u8>, Fault> {
    let (matrix, n) = (stored.matrix(), stored.unknowns());
    let row = |i: usize| matrix.row(i);
    let nnz = matrix.nonzeros();
    let starts = (0..n).scan(0_i64, |end, i| {
        *end += row(i).0.len() as i64;
        Some(*end)
    });
    let starts = std::iter::once(0).chain(starts);
    let columns = (0..n).flat_map(|i| row(i).0.iter().map(|&j| j as i32));
    let values = (0..n).flat_map(|i| row(i).1.iter());
    let walls: Vec<i32> = stored.walls().map(|i| i as i32).collect();

    let mut archive = ArchiveWriter::default();
    let mut add = |name: &str, array: Vec<u8>| archive.add(&format!("{name}.npy"), &array);
    add(
        "indptr",
        npy::write("<i8", &[n + 1], starts.flat_map(i64::to_le_bytes)),
    )?;
    add(
        "indices",
        npy::write("<i4", &[nnz], columns.flat_map(i32::to_le_bytes)),
    )?;
    add(
        "data",
        npy::write("<f8", &[nnz], values.flat_map(|v| v.to_le_bytes())),
    )?;
    add("rhs", floats(&[n], stored.rhs()))?;
    let listed = walls.iter().flat_map(|i| i.to_le_bytes());
    add("S", npy::write("<i4", &[walls.len()], listed))?;
    if let Some((dimensions, coords)) = stored.coords() {
        add("coords", floats(&[n, dimensions], coords))?;
    }
    let components = stored.components();
    let zeros = vec![0; if components.is_empty() { n } else { 0 }];
    if stored.kind() == Kind::Pressure || !components.is_empty() {
        let components = components.iter().chain(&zeros).map(|&c| c as u8);
        add("comp", npy::write("|i1", &[n], components))?;
    }
    let kind = stored.kind().as_str();
    let wide = kind.chars().flat_map(|c| (c as u32).to_le_bytes());
    add("kind", npy::write(&format!("<U{}", kind.len()), &[], wide))?;
    archive.finish()
}

/// A solution as the bytes of a `.npz` file.
pub(crate) fn write_solution(x: &[f64]) -> Result<Vec<u8>, Fault> {
    let mut archive = ArchiveWriter::default();
    archive.add("x.npy", &floats(&[x.len()], x))?;
    archive.finish()
}

fn floats(shape: &[usize], values: &[f64]) -> Vec<u8> {
    npy::write("<f8", shape, values.iter().flat_map(|v| v.to_le_bytes()))
}
