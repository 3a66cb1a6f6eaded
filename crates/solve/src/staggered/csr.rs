//! The operator as a sparse matrix, for the methods that need one and for those who compare.

use super::level::Level;
use super::shape::others;
use crate::csr::{Csr, MatrixError};

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

/// The couplings of the face of an axis at a memory index with others: component, index, value.
/// The face itself comes first; those that are held are among them.
pub fn couplings<const D: usize>(
    level: &Level<D>,
    axis: usize,
    index: usize,
    mut visit: impl FnMut(usize, usize, f64),
) {
    let row = level.row(axis, index);
    let strides = level.shape.strides;
    let s = strides[axis];
    visit(axis, index, row.diagonal());
    let [low, high] = row.cell.map(f64::from);
    visit(axis, index - s, -low);
    visit(axis, index + s, -high);
    for (k, &b) in others::<D>(axis)[..D - 1].iter().enumerate() {
        let t = strides[b];
        let [low, high] = row.edge[k].map(f64::from);
        visit(axis, index - t, -low);
        visit(axis, index + t, -high);
        visit(b, index, low);
        visit(b, index - s, -low);
        visit(b, index + t, -high);
        visit(b, index + t - s, high);
    }
}

/// The matrix of a level over its unknowns.
///
/// # Errors
/// If there are too many entries.
pub fn matrix<const D: usize>(level: &Level<D>, numbers: &Numbers) -> Result<Csr, MatrixError> {
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
        starts.push(columns.len() as u32);
    }
    Csr::new(starts, columns, values)
}
