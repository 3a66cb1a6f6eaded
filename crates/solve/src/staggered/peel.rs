//! Faces that hang by a thread.
//!
//! A face without mass or load that belongs to a single sample takes the value at which that sample is
//! not strained, whatever its other faces do: the two can be left out, and no other unknown changes. With
//! the sample gone others may hang by a single one, or by none at all. Left in, two such faces of one
//! sample would slide past each other at no energy, and the system would be singular; this happens
//! along every sharp edge of a body.

use rayon::prelude::*;

use super::samples::{Place, Samples, Weight, pair_of};
use super::shape::{moved, others};

/// A sample: where it is, and the axes it is about, twice the same for a cell.
#[derive(Clone, Copy)]
struct Sample<const D: usize> {
    at: [i32; D],
    axes: [usize; 2],
}

impl<const D: usize> Sample<D> {
    fn weight(self, place: &Place) -> Weight {
        match self.axes {
            [a, b] if a == b => place.cell[a],
            [a, b] => place.edge[pair_of(a, b)],
        }
    }

    fn weight_mut(self, place: &mut Place) -> &mut Weight {
        match self.axes {
            [a, b] if a == b => &mut place.cell[a],
            [a, b] => &mut place.edge[pair_of(a, b)],
        }
    }

    /// Its faces: two of a cell, four of an edge.
    fn faces(self) -> impl Iterator<Item = Face<D>> {
        let Sample { at, axes: [a, b] } = self;
        let (beside, count) = if a == b {
            (moved(at, a, 1), 2)
        } else {
            (moved(at, b, -1), 4)
        };
        let faces = [(a, at), (a, beside), (b, at), (b, moved(at, a, -1))];
        let faces = faces.into_iter().take(count);
        faces.map(|(axis, at)| Face { axis, at })
    }
}

#[derive(Clone, Copy)]
struct Face<const D: usize> {
    axis: usize,
    at: [i32; D],
}

impl<const D: usize> Face<D> {
    /// The samples it is part of, given its place: those there, a cell and the edges along all
    /// other axes, and as many elsewhere. Only those with weight.
    fn samples(self, samples: &Samples<D>, place: &Place) -> impl Iterator<Item = Sample<D>> {
        let Face { axis, at } = self;
        let edges = others::<D>(axis).into_iter().take(D - 1);
        let here = std::iter::once(axis)
            .chain(edges.clone())
            .map(move |b| Sample {
                at,
                axes: [axis, b],
            });
        let here = here.filter(|sample| sample.weight(place).weight > 0.0);
        let cell = Sample {
            at: moved(at, axis, -1),
            axes: [axis; 2],
        };
        let there = std::iter::once(cell).chain(edges.map(move |b| Sample {
            at: moved(at, b, 1),
            axes: [axis, b],
        }));
        let there = there.filter(|sample| {
            let place = samples.at(sample.at);
            place.is_some_and(|place| sample.weight(place).weight > 0.0)
        });
        here.chain(there)
    }

    /// The sample that it hangs by, if it has no mass and nothing holds it, given its place.
    fn hangs_by(self, samples: &Samples<D>, place: &Place) -> Option<Sample<D>> {
        if !self.is_light(place) {
            return None;
        }
        let mut found = self.samples(samples, place);
        found.next().filter(|_| found.next().is_none())
    }

    /// Whether it is without mass and free, given its place.
    fn is_light(self, place: &Place) -> bool {
        place.mass[self.axis] <= 0.0 && place.held >> self.axis & 1 == 0
    }
}

/// Takes the weight of all samples by which faces without mass hang.
pub fn peel<const D: usize>(samples: &mut Samples<D>) {
    let planes = (0..samples.planes()).into_par_iter();
    let hanging = |z: usize| {
        let mut found = Vec::new();
        samples.each(z, |at, place| {
            let faces = (0..D).map(|axis| Face { axis, at });
            found.extend(faces.filter(|face| face.hangs_by(samples, place).is_some()));
        });
        found
    };
    let mut rest: Vec<Face<D>> = planes.flat_map_iter(hanging).collect();
    while let Some(face) = rest.pop() {
        // Near anything every place is there.
        let place = samples.at(face.at);
        let Some(sample) = place.and_then(|place| face.hangs_by(samples, place)) else {
            continue;
        };
        if let Some(place) = samples.at_mut(sample.at) {
            *sample.weight_mut(place) = Weight::default();
        }
        rest.extend(sample.faces());
    }
}
