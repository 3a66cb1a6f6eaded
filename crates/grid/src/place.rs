//! Typed places on the grid: cells, faces, nodes and how they relate.

use crate::Grid;

/// A coordinate axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Axis(pub usize);

impl Axis {
    /// The first axis.
    pub const X: Axis = Axis(0);
    /// The second axis.
    pub const Y: Axis = Axis(1);
    /// The third axis, in three dimensions only.
    pub const Z: Axis = Axis(2);
}

/// The axes of a `D`-dimensional grid in order.
pub fn axes<const D: usize>() -> impl DoubleEndedIterator<Item = Axis> + Clone {
    (0..D).map(Axis)
}

/// The `2^D` corners of a unit cube, x fastest, each coordinate 0 or 1.
pub fn corners<const D: usize>() -> impl Iterator<Item = [i32; D]> + Clone {
    (0..1usize << D).map(|bits| std::array::from_fn(|a| ((bits >> a) & 1) as i32))
}

/// The low or the high end along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Towards smaller coordinates.
    Lo,
    /// Towards larger coordinates.
    Hi,
}

impl Side {
    /// Both sides, low first.
    pub const BOTH: [Side; 2] = [Side::Lo, Side::Hi];

    /// −1 for low, +1 for high: the sign of the outward normal.
    pub fn sign(self) -> f64 {
        match self {
            Side::Lo => -1.0,
            Side::Hi => 1.0,
        }
    }

    /// 0 for low, 1 for high.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// A kind of place that a [`Field`](crate::Field) has values at.
pub trait Site<const D: usize>: Copy + Send + Sync + 'static {
    /// Lattice coordinates of the place.
    fn at(self) -> [i32; D];
}

/// The cell whose low corner is the node with the same coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell<const D: usize>(pub [i32; D]);

/// A cell corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node<const D: usize>(pub [i32; D]);

/// The low face along `axis` of the cell with the same coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Face<const D: usize> {
    /// The axis the face is normal to.
    pub axis: Axis,
    /// Coordinates of the cell on the high side.
    pub at: [i32; D],
}

fn shifted<const D: usize>(mut at: [i32; D], axis: Axis, by: i32) -> [i32; D] {
    at[axis.0] += by;
    at
}

impl<const D: usize> Cell<D> {
    /// The next cell along `axis` on `side`.
    pub fn neighbour(self, axis: Axis, side: Side) -> Cell<D> {
        Cell(shifted(self.0, axis, 2 * side.index() as i32 - 1))
    }

    /// The face of this cell normal to `axis` on `side`.
    pub fn face(self, axis: Axis, side: Side) -> Face<D> {
        Face {
            axis,
            at: shifted(self.0, axis, side.index() as i32),
        }
    }

    /// The `2^D` corner nodes, x fastest.
    pub fn nodes(self) -> impl Iterator<Item = Node<D>> {
        corners::<D>().map(move |c| Node(std::array::from_fn(|a| self.0[a] + c[a])))
    }

    /// The cell centre in space.
    pub fn center(self, grid: &Grid<D>) -> [f64; D] {
        grid.position(self.0, [0.5; D])
    }
}

impl<const D: usize> Node<D> {
    /// The node in space.
    pub fn position(self, grid: &Grid<D>) -> [f64; D] {
        grid.position(self.0, [0.0; D])
    }
}

impl<const D: usize> Face<D> {
    /// The cells on the low and on the high side.
    pub fn cells(self) -> [Cell<D>; 2] {
        [Cell(shifted(self.at, self.axis, -1)), Cell(self.at)]
    }

    /// The corner nodes, `2^(D−1)` of them, lower axes fastest.
    pub fn nodes(self) -> impl Iterator<Item = Node<D>> {
        corners::<D>()
            .filter(move |c| c[self.axis.0] == 0)
            .map(move |c| Node(std::array::from_fn(|a| self.at[a] + c[a])))
    }

    /// The middle of the face in space.
    pub fn position(self, grid: &Grid<D>) -> [f64; D] {
        grid.position(self.at, Grid::<D>::face_offset(self.axis))
    }
}

impl<const D: usize> Site<D> for Cell<D> {
    fn at(self) -> [i32; D] {
        self.0
    }
}

impl<const D: usize> Site<D> for Node<D> {
    fn at(self) -> [i32; D] {
        self.0
    }
}

impl<const D: usize> Site<D> for Face<D> {
    fn at(self) -> [i32; D] {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_face_lies_between_its_cells() {
        let cell = Cell([3, 4, 5]);
        for axis in axes::<3>() {
            assert_eq!(
                cell.face(axis, Side::Hi).cells(),
                [cell, cell.neighbour(axis, Side::Hi)]
            );
            assert_eq!(
                cell.face(axis, Side::Lo).cells(),
                [cell.neighbour(axis, Side::Lo), cell]
            );
        }
    }

    #[test]
    fn face_nodes_are_shared_by_both_cells() {
        let face = Face {
            axis: Axis::Y,
            at: [2, 3, 1],
        };
        let [lo, hi] = face.cells();
        assert_eq!(face.nodes().count(), 4);
        for node in face.nodes() {
            assert!(lo.nodes().any(|n| n == node) && hi.nodes().any(|n| n == node));
        }
    }
}
