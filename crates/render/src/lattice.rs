//! A lattice of nodes in blocks of 8 per axis, the frame every field here lives on.

use crate::error::{RenderError, positive};

/// Nodes of a block along one axis.
pub(crate) const SIDE: usize = 8;
/// Marks a block that holds no data.
pub(crate) const EMPTY: u32 = u32::MAX;
/// Layers of nodes beyond the box on every side, so that a surface against a wall closes.
const MARGIN: f64 = 2.0;
/// Most nodes of the box that blocks tile; blocks are sparse, their table is not.
const NODE_LIMIT: f64 = 1e11;

/// Equally spaced nodes covering a box with a margin.
///
/// Node `i` of an axis sits at `origin + i·step`. The box walls fall half way between nodes, so
/// that a surface on a wall crosses lattice edges in their middle and makes no slivers.
#[derive(Clone, Debug)]
pub(crate) struct Lattice<const D: usize> {
    pub origin: [f64; D],
    pub step: f64,
    pub blocks: [usize; D],
}

impl<const D: usize> Lattice<D> {
    /// The lattice of spacing `step` over `[lo, hi]`.
    pub fn new(bounds: [[f64; D]; 2], step: f64) -> Result<Self, RenderError> {
        positive("lattice spacing", step)?;
        let [lo, hi] = bounds;
        let mut nodes = 1.0;
        let mut blocks = [0; D];
        for axis in 0..D {
            positive("domain extent", hi[axis] - lo[axis])?;
            let along = ((hi[axis] - lo[axis]) / step).ceil() + 2.0 * MARGIN;
            nodes *= along;
            if nodes > NODE_LIMIT {
                return Err(RenderError::TooFine {
                    nodes,
                    limit: NODE_LIMIT,
                });
            }
            blocks[axis] = (along as usize).div_ceil(SIDE);
        }
        let origin = lo.map(|x| x - (MARGIN - 0.5) * step);
        Ok(Self {
            origin,
            step,
            blocks,
        })
    }

    /// Nodes in one block.
    pub const fn block_nodes() -> usize {
        SIDE.pow(D as u32)
    }

    /// Number of blocks.
    pub fn block_count(&self) -> usize {
        self.blocks.iter().product()
    }

    /// Nodes along an axis.
    pub fn nodes(&self, axis: usize) -> usize {
        self.blocks[axis] * SIDE
    }

    /// Linear index of a block, x fastest.
    pub fn block_index(&self, block: [usize; D]) -> usize {
        (0..D)
            .rev()
            .fold(0, |sum, a| sum * self.blocks[a] + block[a])
    }

    /// Coordinates of a block from its linear index.
    pub fn block_at(&self, mut index: usize) -> [usize; D] {
        std::array::from_fn(|a| {
            let i = index % self.blocks[a];
            index /= self.blocks[a];
            i
        })
    }

    /// The block that holds a node, and the node's place inside it.
    pub fn split(&self, node: [usize; D]) -> (usize, usize) {
        let local = (0..D).rev().fold(0, |sum, a| sum * SIDE + node[a] % SIDE);
        (self.block_index(node.map(|i| i / SIDE)), local)
    }

    /// Position of a node.
    pub fn position(&self, node: [usize; D]) -> [f64; D] {
        std::array::from_fn(|a| self.origin[a] + node[a] as f64 * self.step)
    }

    /// A point in units of nodes.
    pub fn to_lattice(&self, point: [f64; D]) -> [f64; D] {
        std::array::from_fn(|a| (point[a] - self.origin[a]) / self.step)
    }
}

/// Coordinates within a block of a local index, x fastest.
pub(crate) fn local_at<const D: usize>(mut local: usize) -> [usize; D] {
    std::array::from_fn(|_| {
        let i = local % SIDE;
        local /= SIDE;
        i
    })
}

/// Every integer point of `lo..hi` (exclusive), x fastest.
pub(crate) fn box_points<const D: usize>(
    lo: [usize; D],
    hi: [usize; D],
) -> impl Iterator<Item = [usize; D]> {
    let sizes: [usize; D] = std::array::from_fn(|a| hi[a].saturating_sub(lo[a]));
    let count: usize = sizes.iter().product();
    (0..count).map(move |mut index| {
        std::array::from_fn(|a| {
            let i = index % sizes[a];
            index /= sizes[a];
            lo[a] + i
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walls_fall_half_way_between_nodes() {
        let lattice = Lattice::new([[0.0, 1.0], [1.0, 3.0]], 0.125).unwrap();
        let below = lattice.position([1, 1]);
        let above = lattice.position([2, 2]);
        assert!((below[0] + above[0]).abs() < 1e-12);
        assert!((0.5 * (below[1] + above[1]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn block_coordinates_invert_their_index() {
        let lattice = Lattice::new([[0.0; 3], [1.0, 2.0, 3.0]], 0.05).unwrap();
        for index in 0..lattice.block_count() {
            assert_eq!(lattice.block_index(lattice.block_at(index)), index);
        }
    }

    #[test]
    fn absurd_resolutions_are_errors() {
        assert!(Lattice::new([[0.0; 3], [1.0; 3]], 1e-6).is_err());
        assert!(Lattice::new([[0.0; 3], [1.0; 3]], f64::NAN).is_err());
        assert!(Lattice::new([[0.0; 3], [-1.0; 3]], 0.1).is_err());
    }
}
