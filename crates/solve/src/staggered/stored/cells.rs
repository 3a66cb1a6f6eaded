//! What a matrix says of the cells between its faces.

use super::convert::Weighed;
use super::walls::{Held, WALL};
use crate::staggered::ground::Fine;
use crate::staggered::shape::Shape;

/// Cells behind the first of a wall that count as wall too.
const THICKNESS: usize = 8;

/// Shares and stiffnesses of cells, for coarsening.
pub struct Cells<const D: usize> {
    cells: [usize; D],
    open: [[bool; 2]; D],
    share: Vec<f32>,
    /// Stiffness by cell, if it varies.
    stiffness: Option<Vec<f32>>,
}

impl<const D: usize> Cells<D> {
    /// Judges all cells by their faces, given the usual stiffness if there is one.
    pub fn new(
        weighed: &Weighed<'_, D>,
        held: &Held<D>,
        open: [[bool; 2]; D],
        usual: Option<f32>,
    ) -> Self {
        let shape = &weighed.lattice.shape;
        let count = shape.cells.iter().product();
        let mut share = Vec::with_capacity(count);
        let mut stiffness = Vec::with_capacity(if usual.is_some() { 0 } else { count });
        for k in 0..count {
            let cell = Cell::new(weighed, held, shape.cell_index(k));
            let filled = cell.share(usual);
            share.push(filled);
            if usual.is_none() {
                let kappa = 0.5 * cell.weight / filled.max(f32::MIN_POSITIVE);
                stiffness.push(if filled > 0.0 { kappa } else { 0.0 });
            }
        }
        thicken(shape.cells, &mut share);
        Cells {
            cells: shape.cells,
            open,
            share,
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

/// Makes walls as thick as they may be: a matrix tells no more of them than the cells beside its
/// unknowns, which coarser levels would lose.
fn thicken<const D: usize>(cells: [usize; D], share: &mut [f32]) {
    let walls: Vec<usize> = (0..share.len()).filter(|&k| share[k] < 0.0).collect();
    let known = share.to_vec();
    let mut stride = 1;
    for n in cells {
        for &wall in &walls {
            let at = wall / stride % n;
            let mut extrude = |before: usize, beyond: &mut dyn Iterator<Item = usize>| {
                if known[before] > 0.0 {
                    let empty = beyond.take(THICKNESS).take_while(|&k| known[k] == 0.0);
                    empty.for_each(|k| share[k] = -1.0);
                }
            };
            if at > 0 {
                extrude(wall - stride, &mut (1..n - at).map(|k| wall + k * stride));
            }
            if at + 1 < n {
                extrude(wall + stride, &mut (1..=at).map(|k| wall - k * stride));
            }
        }
        stride *= n;
    }
}

/// What is known of a cell.
struct Cell<const D: usize> {
    /// Faces that walls hold.
    held: usize,
    /// Faces that are unknowns.
    free: usize,
    /// The largest of its weights along the axes, or an edge's at its faces where it has none.
    weight: f32,
    /// Whether two of its faces make a sample with weight.
    is_sampled: bool,
    /// Whether a wall lies beside one of its free faces.
    is_at_wall: bool,
    /// The mean of its free faces' masses.
    mass: f32,
}

impl<const D: usize> Cell<D> {
    fn new(weighed: &Weighed<'_, D>, held: &Held<D>, index: usize) -> Self {
        let lattice = weighed.lattice;
        let mut cell = Cell {
            held: 0,
            free: 0,
            weight: 0.0,
            is_sampled: false,
            is_at_wall: false,
            mass: 0.0,
        };
        let mut edge = 0.0f32;
        for axis in 0..D {
            let faces = [index, index + lattice.shape.strides[axis]];
            for (side, face) in faces.into_iter().enumerate() {
                cell.held += usize::from(held.contains((axis, face)));
                let Some(number) = lattice.number((axis, face)) else {
                    continue;
                };
                let row = weighed.row_of(number);
                cell.weight = cell.weight.max(row.cell[1 - side]);
                edge = row.edge.iter().flatten().fold(edge, |m, &w| m.max(w));
                cell.is_at_wall |= row.mass > WALL;
                cell.mass += row.mass.min(1.0);
                cell.free += 1;
            }
        }
        cell.mass /= cell.free.max(1) as f32;
        cell.is_sampled = cell.weight > 0.0;
        if !cell.is_sampled {
            cell.weight = 2.0 * edge;
        }
        cell
    }

    /// The share that is filled, negative if the cell is solid.
    fn share(&self, usual: Option<f32>) -> f32 {
        match (self.is_sampled, usual) {
            (true, Some(usual)) => (0.5 * self.weight / usual).min(1.0),
            // Full cells of any stiffness have faces of full mass.
            (true, None) => self.mass.clamp(0.01, 1.0),
            // What the matrix does not tell of a cell at a wall is in the wall.
            (false, _) if self.held > 0 && self.free < D => -1.0,
            // Between walls along every axis, as in the corners of a box.
            (false, _) if self.held == D && self.is_at_wall => 1.0,
            _ => 0.0,
        }
    }
}

impl<const D: usize> Fine<D> for Cells<D> {
    fn cells(&self) -> [usize; D] {
        self.cells
    }

    fn is_open(&self, axis: usize, side: usize) -> bool {
        self.open[axis][side]
    }

    fn share(&self, cell: [i32; D]) -> f32 {
        self.share[self.linear(cell)]
    }

    fn relative_stiffness(&self, cell: [i32; D]) -> f32 {
        let stiffness = self.stiffness.as_ref();
        stiffness.map_or(1.0, |values| values[self.linear(cell)])
    }
}
