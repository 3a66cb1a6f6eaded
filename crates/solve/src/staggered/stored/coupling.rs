//! Which faces share a sample, and with which sign.

use crate::staggered::shape::{Shape, others};

/// Samples of a face: its low and high cell, then the low and high edge along each other axis.
pub const SAMPLES: usize = 6;

/// An entry of a row: the sample that makes it couples the row's face with another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coupling {
    /// The component of the other face.
    pub component: usize,
    /// How far it is in memory.
    pub offset: isize,
    /// The sample, as the row's face counts them.
    pub sample: usize,
    /// The same, as the other face does.
    pub mirrored: usize,
    /// The entry is the sample's weight times this.
    pub sign: f64,
}

impl Coupling {
    /// The memory index of the other face.
    #[inline]
    pub fn other(&self, index: usize) -> usize {
        index.wrapping_add_signed(self.offset)
    }
}

/// All couplings of faces of an axis, in the order of samples.
pub fn couplings<const D: usize>(shape: &Shape<D>, axis: usize) -> Vec<Coupling> {
    let along = shape.strides[axis] as isize;
    let mut all = vec![own(axis, -along, [0, 1]), own(axis, along, [1, 0])];
    for (k, &b) in others::<D>(axis)[..D - 1].iter().enumerate() {
        let across = shape.strides[b] as isize;
        let [low, high] = [2 + 2 * k, 3 + 2 * k];
        // The place of this axis among the others of `b`.
        let k = usize::from(others::<D>(b)[0] != axis);
        let [low_there, high_there] = [2 + 2 * k, 3 + 2 * k];
        let cross = |offset: isize, sample: usize, mirrored: usize| Coupling {
            component: b,
            offset,
            sample,
            mirrored,
            sign: if (sample == low) == (mirrored == low_there) {
                1.0
            } else {
                -1.0
            },
        };
        all.extend([
            own(axis, -across, [low, high]),
            cross(0, low, low_there),
            cross(-along, low, high_there),
            own(axis, across, [high, low]),
            cross(across, high, low_there),
            cross(across - along, high, high_there),
        ]);
    }
    all
}

/// A coupling of faces of one component.
fn own(axis: usize, offset: isize, [sample, mirrored]: [usize; 2]) -> Coupling {
    Coupling {
        component: axis,
        offset,
        sample,
        mirrored,
        sign: -1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn the_other_face_sees_the_same_sample<const D: usize>(cells: [usize; D]) {
        let shape = Shape::new(cells).expect("a small lattice");
        for axis in 0..D {
            for coupling in couplings(&shape, axis) {
                let back = Coupling {
                    component: axis,
                    offset: -coupling.offset,
                    sample: coupling.mirrored,
                    mirrored: coupling.sample,
                    sign: coupling.sign,
                };
                assert!(couplings(&shape, coupling.component).contains(&back));
            }
        }
    }

    #[test]
    fn the_other_face_sees_the_same_sample_2d() {
        the_other_face_sees_the_same_sample([5, 4]);
    }

    #[test]
    fn the_other_face_sees_the_same_sample_3d() {
        the_other_face_sees_the_same_sample([4, 3, 5]);
    }
}
