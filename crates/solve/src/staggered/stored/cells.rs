//! What a matrix says of the cells between its faces.

use rayon::prelude::*;

use super::convert::Weighed;
use crate::staggered::dense::{gather, linear, spread};
use crate::staggered::ground::Fine;
use crate::staggered::shape::Shape;

/// Cells that are worth a thread.
const CHUNK: usize = 1 << 12;

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
        let count: usize = shape.cells.iter().product();
        let (mut share, mut whole) = (Vec::new(), Vec::new());
        let cells = (0..count).into_par_iter().with_min_len(CHUNK);
        cells
            .map(|k| {
                let cell = Cell::new(weighed, shape.cell_index(k));
                (cell.share(usual), cell.free == 2 * D)
            })
            .unzip_into_vecs(&mut share, &mut whole);
        let stiffness =
            |at| Cell::new(weighed, shape.index(at)).stiffness(share[linear(shape.cells, at)]);
        Cells {
            cells: shape.cells,
            stiffness: usual
                .is_none()
                .then(|| gather(shape.cells, None, stiffness)),
            share,
            whole,
        }
    }

    /// The stiffness of cells by memory index, if it varies.
    pub fn graded(&self, shape: &Shape<D>) -> Option<Vec<f32>> {
        let stiffness = self.stiffness.as_ref()?;
        Some(spread(shape, stiffness, None, 1.0))
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

    /// The stiffness of one of which this share is filled, where it varies.
    fn stiffness(&self, share: f32) -> f32 {
        if share > 0.0 {
            0.5 * self.weight / share.max(f32::MIN_POSITIVE)
        } else {
            0.0
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
        self.share[linear(self.cells, cell)]
    }

    fn is_plain(&self, cell: [i32; D]) -> bool {
        let k = linear(self.cells, cell);
        self.share[k] == 1.0 && self.whole[k]
    }

    fn relative_stiffness(&self, cell: [i32; D]) -> f32 {
        let stiffness = self.stiffness.as_ref();
        stiffness.map_or(1.0, |values| values[linear(self.cells, cell)])
    }
}
