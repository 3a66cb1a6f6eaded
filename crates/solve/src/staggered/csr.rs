//! The operator as a sparse matrix, for the methods that need one and for those who compare.

use super::level::Level;
use super::shape::others;
use crate::csr::Csr;
use crate::outcome::SolveError;

/// Numbers of unknowns: components one after the other, each in memory order.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    /// Component and memory index of each unknown.
    pub faces: Vec<(u8, u32)>,
    /// The number of the unknown at each face, by component and memory index.
    number: Vec<Vec<u32>>,
}

/// No unknown here.
const HELD: u32 = u32::MAX;

impl Numbers {
    /// Numbers the free faces of a level.
    pub fn new<const D: usize>(level: &Level<D>) -> Self {
        let mut numbers = Numbers::default();
        for axis in 0..D {
            let mut number = vec![HELD; level.shape.len];
            for index in level.free_faces(axis) {
                number[index] = numbers.faces.len() as u32;
                numbers.faces.push((axis as u8, index as u32));
            }
            numbers.number.push(number);
        }
        numbers
    }

    /// The component and memory index of every unknown.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let faces = self.faces.iter();
        faces.map(|&(axis, index)| (axis as usize, index as usize))
    }

    /// Unknowns in all.
    pub fn count(&self) -> usize {
        self.faces.len()
    }

    fn of(&self, axis: usize, index: usize) -> Option<u32> {
        let number = self.number[axis][index];
        (number != HELD).then_some(number)
    }
}

/// Every face that the face of an axis at a memory index couples with, itself first.
#[inline]
pub fn neighbours<const D: usize>(
    strides: [usize; D],
    axis: usize,
    index: usize,
    mut visit: impl FnMut(usize, usize),
) {
    let s = strides[axis];
    visit(axis, index);
    visit(axis, index - s);
    visit(axis, index + s);
    for &b in &others::<D>(axis)[..D - 1] {
        let t = strides[b];
        visit(axis, index - t);
        visit(axis, index + t);
        visit(b, index);
        visit(b, index - s);
        visit(b, index + t);
        visit(b, index + t - s);
    }
}

/// The same with the entries of the matrix; those that are held are among them.
#[inline]
pub fn couplings<const D: usize>(
    level: &Level<D>,
    axis: usize,
    index: usize,
    mut visit: impl FnMut(usize, usize, f64),
) {
    let row = level.row(axis, index);
    let mut values = [0.0; 15];
    values[0] = row.diagonal();
    let [low, high] = row.cell.map(f64::from);
    (values[1], values[2]) = (-low, -high);
    for k in 0..D - 1 {
        let [low, high] = row.edge[k].map(f64::from);
        values[3 + 6 * k..][..6].copy_from_slice(&[-low, -high, low, -low, -high, high]);
    }
    let mut number = 0;
    neighbours(level.shape.strides, axis, index, |a, i| {
        visit(a, i, values[number]);
        number += 1;
    });
}

/// The matrix of a level over its unknowns.
///
/// # Errors
/// If there are too many entries, or some that are not finite.
pub fn matrix<const D: usize>(level: &Level<D>, numbers: &Numbers) -> Result<Csr, SolveError> {
    let mut starts = Vec::with_capacity(numbers.count() + 1);
    starts.push(0);
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    let mut entries: Vec<(u32, f64)> = Vec::with_capacity(15);
    for (axis, index) in numbers.iter() {
        entries.clear();
        couplings(level, axis, index, |a, i, value| {
            if let Some(number) = numbers.of(a, i).filter(|_| value != 0.0) {
                entries.push((number, value));
            }
        });
        entries.sort_unstable_by_key(|e| e.0);
        columns.extend(entries.iter().map(|e| e.0));
        values.extend(entries.iter().map(|e| e.1));
        starts.push(index_of(columns.len())?);
    }
    Csr::new(starts, columns, values).map_err(|_| SolveError::NotFinite {
        quantity: "matrix",
        iteration: 0,
    })
}

/// The number of an entry, if 32 bits can hold it.
fn index_of(entry: usize) -> Result<u32, SolveError> {
    u32::try_from(entry).map_err(|_| SolveError::TooLarge { quantity: "matrix" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_entries_than_can_be_counted_are_an_error() {
        assert_eq!(index_of(7), Ok(7));
        let most = u32::MAX as usize;
        assert_eq!(index_of(most), Ok(u32::MAX));
        let error = index_of(most + 1).expect_err("too many");
        assert!(error.to_string().contains("matrix is too large"));
    }
}
