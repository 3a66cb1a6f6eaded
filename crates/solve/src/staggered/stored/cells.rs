//! What a matrix says of the cells between its faces.

use super::convert::Weighed;
use crate::staggered::ground::Fine;
use crate::staggered::shape::Shape;

/// Shares and stiffnesses of cells, for coarsening.
pub struct Cells<const D: usize> {
    cells: [usize; D],
    share: Vec<f32>,
    /// Whether all faces of cells are unknowns.
    whole: Vec<bool>,
    /// Stiffness by cell, if it varies.
    stiffness: Option<Vec<f32>>,
}

impl<const D: usize> Cells<D> {
    /// Judges all cells by their faces, given the usual stiffness if there is one.
    pub fn new(weighed: &Weighed<'_, D>, usual: Option<f32>) -> Self {
        let shape = &weighed.lattice.shape;
        let count = shape.cells.iter().product();
        let mut share = Vec::with_capacity(count);
        let mut whole = Vec::with_capacity(count);
        let mut stiffness = Vec::with_capacity(if usual.is_some() { 0 } else { count });
        for k in 0..count {
            let cell = Cell::new(weighed, shape.cell_index(k));
            let filled = cell.share(usual);
            share.push(filled);
            whole.push(cell.free == 2 * D);
            if usual.is_none() {
                let kappa = 0.5 * cell.weight / filled.max(f32::MIN_POSITIVE);
                stiffness.push(if filled > 0.0 { kappa } else { 0.0 });
            }
        }
        Cells {
            cells: shape.cells,
            share,
            whole,
            stiffness: usual.is_none().then_some(stiffness),
        }
    }

    /// The stiffness of cells by memory index, if it varies.
    pub fn graded(&self, shape: &Shape<D>) -> Option<Vec<f32>> {
        let stiffness = self.stiffness.as_ref()?;
        let mut values = vec![0.0; shape.len];
        for (k, &value) in stiffness.iter().enumerate() {
            values[shape.cell_index(k)] = value;
        }
        Some(values)
    }

    fn linear(&self, cell: [i32; D]) -> usize {
        let axes = cell.iter().zip(&self.cells).rev();
        axes.fold(0, |index, (&at, &n)| index * n + at as usize)
    }
}

/// What is known of a cell.
struct Cell {
    /// The largest of its weights along the axes: none in a wall, nor where all its pairs of faces
    /// have one that is held.
    weight: f32,
    /// The mean of its free faces' masses, which full ones at most have.
    mass: f32,
    /// How many of its faces are unknowns.
    free: usize,
}

impl Cell {
    fn new<const D: usize>(weighed: &Weighed<'_, D>, index: usize) -> Self {
        let lattice = weighed.lattice;
        let mut cell = Cell {
            weight: 0.0,
            mass: 0.0,
            free: 0,
        };
        for axis in 0..D {
            let faces = [index, index + lattice.shape.strides[axis]];
            for (side, face) in faces.into_iter().enumerate() {
                if let Some(number) = lattice.number((axis, face)) {
                    let row = weighed.row_of(number);
                    cell.weight = cell.weight.max(row.cell[1 - side]);
                    cell.mass += row.mass.min(1.0);
                    cell.free += 1;
                }
            }
        }
        cell.mass /= cell.free.max(1) as f32;
        cell
    }

    /// The share that is filled.
    fn share(&self, usual: Option<f32>) -> f32 {
        match usual {
            _ if self.weight <= 0.0 => 0.0,
            Some(usual) => (0.5 * self.weight / usual).min(1.0),
            // Full cells of any stiffness have faces of full mass.
            None => self.mass.clamp(0.01, 1.0),
        }
    }
}

impl<const D: usize> Fine<D> for Cells<D> {
    fn cells(&self) -> [usize; D] {
        self.cells
    }

    fn open(&self) -> [[bool; 2]; D] {
        [[true; 2]; D]
    }

    fn is_solid(&self, _: [i32; D]) -> bool {
        false
    }

    fn share(&self, cell: [i32; D]) -> f32 {
        self.share[self.linear(cell)]
    }

    fn is_plain(&self, cell: [i32; D]) -> bool {
        let k = self.linear(cell);
        self.share[k] == 1.0 && self.whole[k]
    }

    fn relative_stiffness(&self, cell: [i32; D]) -> f32 {
        let stiffness = self.stiffness.as_ref();
        stiffness.map_or(1.0, |values| values[self.linear(cell)])
    }
}
