//! Which faces make up a sample.

use crate::staggered::shape::Shape;

/// The faces of a sample of a face, but itself.
#[derive(Clone, Copy)]
pub struct Sample {
    members: [(usize, usize); 3],
    count: usize,
}

impl Sample {
    /// A cell, on a side of the face of an axis at a memory index.
    pub fn cell<const D: usize>(shape: &Shape<D>, axis: usize, index: usize, side: usize) -> Self {
        let s = shape.strides[axis];
        let other = if side == 0 { index - s } else { index + s };
        Sample {
            members: [(axis, other); 3],
            count: 1,
        }
    }

    /// An edge, on a side along another axis `b`.
    pub fn edge<const D: usize>(
        shape: &Shape<D>,
        [axis, b]: [usize; 2],
        index: usize,
        side: usize,
    ) -> Self {
        let (s, t) = (shape.strides[axis], shape.strides[b]);
        let (beside, corner) = if side == 0 {
            (index - t, index)
        } else {
            (index + t, index + t)
        };
        Sample {
            members: [(axis, beside), (b, corner), (b, corner - s)],
            count: 3,
        }
    }

    /// Components and memory indices.
    pub fn members(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.members[..self.count].iter().copied()
    }

    /// The one of the same component.
    pub fn next(&self) -> (usize, usize) {
        self.members[0]
    }
}
