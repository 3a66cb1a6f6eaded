//! Problems as NumPy archives.

use plash_solve::{Csr, MatrixError};

use crate::archive::{Archive, ArchiveWriter};
use crate::error::Fault;
use crate::npy::{self, Array};
use crate::stored::{Kind, Stored};

/// Reads a problem from the bytes of a `.npz` file.
///
/// # Errors
/// What is wrong, and in which array.
pub fn read_problem(bytes: &[u8]) -> Result<Stored, Fault> {
    let archive = Archive::open(bytes)?;
    let matrix = matrix(&archive)?;
    let rows = matrix.rows();
    let rhs = with(&archive, "rhs", |array| {
        fits(array, array.len()?, rows)?;
        array.floats()
    })?;
    let walls = optional(&archive, "S", |array| {
        let inside = |v| u32::try_from(v).ok().filter(|&i| (i as usize) < rows);
        array.integers(&format!("an unknown below {rows}"), inside)
    })?;
    let mut stored = Stored::new(matrix, rhs, walls.unwrap_or_default());
    if let Some((dimensions, coords)) = optional(&archive, "coords", |array| {
        let &[n, dimensions @ (2 | 3)] = array.shape() else {
            let message = format!("shape {:?} is neither [n, 2] nor [n, 3]", array.shape());
            return Err(array.fault(message));
        };
        fits(array, n, rows)?;
        Ok((dimensions, array.floats()?))
    })? {
        stored = stored.with_coords(dimensions, coords);
    }
    let kind = optional(&archive, "kind", |array| {
        let text = array.text()?;
        Kind::parse(&text).ok_or_else(|| {
            array.fault(format!(
                "`{text}` is neither \"pressure\" nor \"viscosity\""
            ))
        })
    })?;
    let components = optional(&archive, "comp", |array| {
        fits(array, array.len()?, rows)?;
        let small = |v| i8::try_from(v).ok().filter(|c| (0..3).contains(c));
        array.integers("a component 0, 1 or 2", small)
    })?;
    if let Some(components) = components {
        stored = stored.with_components(kind.unwrap_or_default(), components);
    } else if kind == Some(Kind::Viscosity) {
        return Err(Fault::new(
            "comp",
            "missing; viscosity needs a component for each unknown",
        ));
    }
    stored.check()
}

/// The solution stored in the bytes of a `.npz` file.
pub(crate) fn read_solution(bytes: &[u8]) -> Result<Vec<f64>, Fault> {
    with(&Archive::open(bytes)?, "x", |array| {
        array.len()?;
        array.floats()
    })
}

fn matrix(archive: &Archive<'_>) -> Result<Csr, Fault> {
    let index = |v: i64| u32::try_from(v).ok().filter(|&v| v < u32::MAX);
    let allowed = "an index below 2³² − 1";
    let indptr = with(archive, "indptr", |array| array.integers(allowed, index))?;
    let indices = with(archive, "indices", |array| array.integers(allowed, index))?;
    let data = with(archive, "data", |array| {
        array.len()?;
        array.floats()
    })?;
    let (indices, data) = sorted(&indptr, indices, data)?;
    Csr::new(indptr, indices, data).map_err(|error| {
        let array = match error {
            MatrixError::RowStarts { .. } => "indptr",
            MatrixError::Lengths { .. } | MatrixError::NotFinite { .. } => "data",
            _ => "indices",
        };
        Fault::new(array, error.to_string())
    })
}

/// Sorts the columns of each row; other writers do not always.
fn sorted(
    indptr: &[u32],
    mut indices: Vec<u32>,
    mut data: Vec<f64>,
) -> Result<(Vec<u32>, Vec<f64>), Fault> {
    if indices.len() != data.len() {
        let message = format!("{} entries, but indices has {}", data.len(), indices.len());
        return Err(Fault::new("data", message));
    }
    let mut row = Vec::new();
    for bounds in indptr.windows(2) {
        let range = bounds[0] as usize..bounds[1] as usize;
        let Some(columns) = indices.get_mut(range.clone()) else {
            let message = format!("points to entry {} of {}", range.end, data.len());
            return Err(Fault::new("indptr", message));
        };
        if columns.is_sorted() {
            continue;
        }
        let values = &mut data[range];
        row.clear();
        row.extend(columns.iter().copied().zip(values.iter().copied()));
        row.sort_by_key(|&(column, _)| column);
        for (k, &(column, value)) in row.iter().enumerate() {
            (columns[k], values[k]) = (column, value);
        }
    }
    Ok((indices, data))
}

/// Reads an array that must be there.
fn with<T>(
    archive: &Archive<'_>,
    name: &str,
    read: impl FnOnce(&Array<'_>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    optional(archive, name, read)?.ok_or_else(|| {
        let known: Vec<&str> = archive.names().take(20).collect();
        let held = known.join(", ").replace(".npy", "");
        Fault::new(name, format!("missing; the archive holds: {held}"))
    })
}

/// Reads an array that may be there.
fn optional<T>(
    archive: &Archive<'_>,
    name: &str,
    read: impl FnOnce(&Array<'_>) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    match archive.read(&format!("{name}.npy"))? {
        Some(bytes) => read(&Array::parse(name, &bytes)?).map(Some),
        None => Ok(None),
    }
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
    let components = components.iter().chain(&zeros).map(|&c| c as u8);
    add("comp", npy::write("|i1", &[n], components))?;
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
