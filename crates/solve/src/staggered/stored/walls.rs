//! Where walls are: what holds the faces that are no unknowns.

use super::convert::Weighed;
use super::lattice::Lattice;
use crate::staggered::row::Row;
use crate::staggered::shape::{Shape, others};

/// A rest of more than this many masses is a wall's doing.
pub const WALL: f32 = 1.5;

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
}

/// Every sample of the face of an axis at a memory index, with its weight.
fn samples<const D: usize>(
    shape: &Shape<D>,
    axis: usize,
    index: usize,
    row: &Row,
    mut visit: impl FnMut(&Sample, f32),
) {
    for side in 0..2 {
        visit(&Sample::cell(shape, axis, index, side), row.cell[side]);
        for (k, &b) in others::<D>(axis)[..D - 1].iter().enumerate() {
            let sample = Sample::edge(shape, [axis, b], index, side);
            visit(&sample, row.edge[k][side]);
        }
    }
}

/// Which faces walls hold, by component and memory index.
pub struct Held<const D: usize>([Vec<bool>; D]);

impl<const D: usize> Held<D> {
    /// Those in a sample that has weight that are no unknowns, and the neighbours that explain a
    /// rest beyond all mass.
    pub fn new(weighed: &Weighed<'_, D>) -> Self {
        let lattice = weighed.lattice;
        let mut held = Held(std::array::from_fn(|_| vec![false; lattice.shape.len]));
        let mut doubtful = Vec::new();
        for i in 0..lattice.faces.len() {
            let ((axis, index), row) = (lattice.face(i), weighed.row_of(i));
            samples(&lattice.shape, axis, index, row, |sample, weight| {
                if weight > 0.0 {
                    held.hold(lattice, sample);
                }
            });
            if row.mass > WALL {
                let alone = alone(lattice, axis, index, row);
                match alone.as_slice() {
                    [only] => held.hold(lattice, only),
                    _ => doubtful.push(alone),
                }
            }
        }
        held.settle(lattice, doubtful);
        held
    }

    /// Decides which of several samples each is at a wall.
    fn settle(&mut self, lattice: &Lattice<D>, mut doubtful: Vec<Vec<Sample>>) {
        // Where a surface meets a wall there may be nothing on other sides too: there it is the
        // wall that goes on.
        loop {
            let goes_on = |sample: &Sample| sample.members().any(|face| self.contains(face));
            let sure: Vec<Vec<Sample>> = doubtful
                .extract_if(.., |alone| alone.iter().any(goes_on))
                .collect();
            let sure: Vec<Sample> = sure.into_iter().flatten().filter(goes_on).collect();
            if sure.is_empty() {
                break;
            }
            sure.iter().for_each(|sample| self.hold(lattice, sample));
        }
        for sample in doubtful.iter().flatten() {
            self.hold(lattice, sample);
        }
    }

    /// Marks the faces of a sample that are no unknowns.
    fn hold(&mut self, lattice: &Lattice<D>, sample: &Sample) {
        for (a, i) in sample.members().filter(|&face| !lattice.is_free(face)) {
            self.0[a][i] = true;
        }
    }

    /// Whether a wall holds a face.
    #[inline]
    pub fn contains(&self, (axis, index): (usize, usize)) -> bool {
        self.0[axis][index]
    }

    /// Which sides of a lattice that just holds the unknowns are open: some face there is free, or
    /// none is held.
    pub fn open_sides(&self, lattice: &Lattice<D>) -> [[bool; 2]; D] {
        std::array::from_fn(|axis| [0, 1].map(|side| self.is_open(lattice, axis, side)))
    }

    fn is_open(&self, lattice: &Lattice<D>, axis: usize, side: usize) -> bool {
        let shape = &lattice.shape;
        let plane = if side == 0 { 0 } else { shape.cells[axis] };
        let (mut any_free, mut any_held) = (false, false);
        let count: usize = shape.cells.iter().product();
        // The cells of the first layer stand for the faces of the plane.
        let stride: usize = shape.cells[..axis].iter().product();
        for k in (0..count).filter(|k| (k / stride).is_multiple_of(shape.cells[axis])) {
            let face = (axis, shape.cell_index(k) + plane * shape.strides[axis]);
            any_free |= lattice.is_free(face);
            any_held |= self.contains(face);
        }
        any_free || !any_held
    }
}

/// The samples of a row that it shares with no other unknown.
fn alone<const D: usize>(
    lattice: &Lattice<D>,
    axis: usize,
    index: usize,
    row: &Row,
) -> Vec<Sample> {
    let mut alone = Vec::new();
    samples(&lattice.shape, axis, index, row, |sample, _| {
        if !sample.members().any(|face| lattice.is_free(face)) {
            alone.push(*sample);
        }
    });
    alone
}
