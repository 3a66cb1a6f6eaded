//! The operator as a sparse matrix, for the methods that need one and for those who compare.

use std::ops::Range;

use rayon::prelude::*;

use super::level::Level;
use super::shape::others;
use crate::csr::Csr;
use crate::outcome::SolveError;

/// Numbers of unknowns: components one after the other, each in memory order.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    /// The memory index of each unknown.
    faces: Vec<u32>,
    /// Where each component ends among them.
    ends: Vec<usize>,
}

impl Numbers {
    /// Numbers the free faces of a level.
    pub fn new<const D: usize>(level: &Level<D>) -> Self {
        let mut numbers = Numbers {
            faces: Vec::with_capacity(level.unknowns),
            ends: Vec::with_capacity(D),
        };
        for axis in 0..D {
            let free = level.free_faces(axis);
            numbers.faces.extend(free.map(|index| index as u32));
            numbers.ends.push(numbers.faces.len());
        }
        numbers
    }

    /// The component and memory index of every unknown.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.ends.len()).flat_map(|axis| {
            let faces = self.faces[self.range(axis)].iter();
            faces.map(move |&index| (axis, index as usize))
        })
    }

    /// Unknowns in all.
    pub fn count(&self) -> usize {
        self.faces.len()
    }

    /// The numbers of a component.
    fn range(&self, axis: usize) -> Range<usize> {
        let start = if axis == 0 { 0 } else { self.ends[axis - 1] };
        start..self.ends[axis]
    }
}

/// No unknown here.
const HELD: u32 = u32::MAX;

/// The number of the unknown at each face, by component and memory index. As long as the level is
/// large, and only needed to make the matrix.
struct Table<'a, const D: usize> {
    level: &'a Level<D>,
    number: [Vec<u32>; D],
}

impl<'a, const D: usize> Table<'a, D> {
    fn new(level: &'a Level<D>, numbers: &Numbers) -> Self {
        let number = std::array::from_fn(|axis| {
            let mut number = vec![HELD; level.shape.len];
            for k in numbers.range(axis) {
                number[numbers.faces[k] as usize] = k as u32;
            }
            number
        });
        Table { level, number }
    }

    /// Visits the entries of a row, by column and in no order.
    fn row(&self, axis: usize, index: usize, mut visit: impl FnMut(u32, f64)) {
        couplings(self.level, axis, index, |a, i, value| {
            let number = self.number[a][i];
            if number != HELD && value != 0.0 {
                visit(number, value);
            }
        });
    }

    /// Where rows start among all entries, and where the last ends.
    fn starts(&self, numbers: &Numbers) -> Result<Vec<u32>, SolveError> {
        let mut starts = Vec::with_capacity(numbers.count() + 1);
        starts.push(0);
        let mut end = 0;
        for axis in 0..D {
            let count = |&index: &u32| {
                let mut entries = 0u8;
                self.row(axis, index as usize, |_, _| entries += 1);
                entries
            };
            let faces = numbers.faces[numbers.range(axis)].par_iter();
            let counts: Vec<u8> = faces.with_min_len(1 << 12).map(count).collect();
            for count in counts {
                end += usize::from(count);
                starts.push(index_of(end)?);
            }
        }
        Ok(starts)
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
    let table = Table::new(level, numbers);
    // Counted first: vectors that grow would take up to three times the memory for a while.
    let starts = table.starts(numbers)?;
    let count = starts[numbers.count()] as usize;
    let (mut columns, mut values) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let mut entries: Vec<(u32, f64)> = Vec::with_capacity(15);
    for (axis, index) in numbers.iter() {
        entries.clear();
        table.row(axis, index, |number, value| entries.push((number, value)));
        entries.sort_unstable_by_key(|e| e.0);
        columns.extend(entries.iter().map(|e| e.0));
        values.extend(entries.iter().map(|e| e.1));
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
    use super::super::solver::ViscousSolver;
    use super::super::{Sine, ViscousMethod, ViscousOptions};
    use super::*;

    #[test]
    fn a_matrix_takes_the_memory_of_its_entries() {
        let mut solver = ViscousSolver::<3>::new(ViscousOptions {
            method: ViscousMethod::PcgJacobi,
            ..ViscousOptions::default()
        });
        solver.assemble(&Sine::new(8));
        let (a, rhs, numbers) = solver.system().expect("a system");
        assert_eq!((rhs.len(), rhs.capacity()), (a.rows(), a.rows()));
        assert_eq!(numbers.faces.capacity(), a.rows());
        let (starts, columns, values) = a.into_parts();
        assert_eq!(starts.capacity(), starts.len());
        assert_eq!(columns.capacity(), columns.len());
        assert_eq!(values.capacity(), values.len());
    }

    #[test]
    fn more_entries_than_can_be_counted_are_an_error() {
        assert_eq!(index_of(7), Ok(7));
        let most = u32::MAX as usize;
        assert_eq!(index_of(most), Ok(u32::MAX));
        let error = index_of(most + 1).expect_err("too many");
        assert!(error.to_string().contains("matrix is too large"));
    }
}
