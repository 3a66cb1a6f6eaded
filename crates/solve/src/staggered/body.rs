//! What a staggered operator is made of.

use std::ops::Range;

/// How much of a cell is filled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fill {
    /// Nothing.
    Empty,
    /// All of it.
    Full,
    /// The share of each of the `2^D` octants (quadrants in two dimensions: the first four), x
    /// fastest, between 0 and 1.
    Part([f32; 8]),
}

/// A body on a lattice of cells: what fills it, how stiff it is, and which walls hold it.
///
/// Faces are named by their axis and the cell on their high side. Questions are asked once per
/// build and in any order, from several threads.
pub trait Body<const D: usize>: Sync {
    /// Cells along each axis.
    fn cells(&self) -> [usize; D];

    /// The lowest and the highest cell of a box outside which all is empty; the whole lattice
    /// unless it is known better. The closer, the less memory and time.
    fn bounds(&self) -> [[i32; D]; 2] {
        [[0; D], self.cells().map(|n| n as i32 - 1)]
    }

    /// The cells of the row along x through a cell within the [bounds](Self::bounds) outside which all of
    /// that row is empty; all of them unless it is known better. So that what lies far apart does not
    /// cost what all between does.
    fn row(&self, _cell: [i32; D]) -> Range<i32> {
        0..self.cells()[0] as i32
    }

    /// What fills a cell within the [bounds](Self::bounds).
    fn fill(&self, cell: [i32; D]) -> Fill;

    /// The stiffness if it is the same everywhere.
    fn uniform_stiffness(&self) -> Option<f64>;

    /// The stiffness `κ` in a cell that is not empty: for a liquid, `μ Δt / (ρ Δx²)`.
    fn stiffness(&self, cell: [i32; D]) -> f64;

    /// Whether the lattice ends in the open on the low (0) or high (1) side along an axis, with
    /// nothing beyond. Otherwise there is a wall.
    fn is_open(&self, axis: usize, side: usize) -> bool;

    /// Whether an obstacle may be within two cells of this cell: only then
    /// [`distance`](Self::distance) is asked for.
    fn is_near_obstacle(&self, cell: [i32; D]) -> bool;

    /// Distance from the middle of a face to the nearest obstacle in cell sides, negative inside.
    /// At zero and below the face is held: it moves as the obstacle does. The sides of the
    /// lattice do not count.
    fn distance(&self, axis: usize, face: [i32; D]) -> f64;

    /// Whether the wall or obstacle beside this cell has let go of what fills it.
    fn lets_go(&self, cell: [i32; D]) -> bool;
}
