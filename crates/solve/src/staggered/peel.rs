//! Faces that hang by a thread.
//!
//! A face without mass or load that belongs to a single sample takes the value at which that sample is
//! not strained, whatever its other faces do: the two can be left out, and no other unknown changes. With
//! the sample gone others may hang by a single one, or by none at all. Left in, two such faces of one
//! sample would slide past each other at no energy, and the system would be singular; this happens
//! along every sharp edge of a body.

use rayon::prelude::*;

use super::ground::Ground;
use super::samples::{Place, Samples, Weight, mean, pair_of};
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
    /// The samples it is part of: two cells, and two edges along every other axis.
    fn samples(self) -> impl Iterator<Item = Sample<D>> {
        let Face { axis, at } = self;
        let cells = [0, -1].map(|by| Sample {
            at: moved(at, axis, by),
            axes: [axis; 2],
        });
        let edges = others::<D>(axis)
            .into_iter()
            .take(D - 1)
            .flat_map(move |b| {
                [0, 1].map(|by| Sample {
                    at: moved(at, b, by),
                    axes: [axis, b],
                })
            });
        cells.into_iter().chain(edges)
    }

    /// The one sample with weight that it is part of.
    fn thread(self, samples: &Samples<D>) -> Option<Sample<D>> {
        let weighs = |sample: &Sample<D>| {
            let place = samples.at(sample.at);
            place.is_some_and(|place| sample.weight(place).weight > 0.0)
        };
        let mut found = self.samples().filter(weighs);
        found.next().filter(|_| found.next().is_none())
    }

    /// The sample that it hangs by, if it has no mass and nothing holds it.
    fn hangs_by(self, samples: &Samples<D>, ground: &impl Ground<D>) -> Option<Sample<D>> {
        // Cheapest first: most faces near a surface are those of a full cell.
        if ground.is_full(self.at) || ground.is_full(moved(self.at, self.axis, -1)) {
            return None;
        }
        let thread = self.thread(samples)?;
        let is_light = mean(ground, self.at, &[self.axis]).0 <= 0.0;
        (is_light && !ground.is_held(self.axis, self.at)).then_some(thread)
    }
}

/// Takes the weight of all samples by which faces without mass hang.
pub fn peel<const D: usize>(samples: &mut Samples<D>, ground: &impl Ground<D>) {
    let planes = (0..samples.planes()).into_par_iter();
    let hanging = |z: usize| {
        let mut found = Vec::new();
        samples.each(z, |at, place| {
            // Near anything every place is there, and stands for its low faces.
            if !place.is_full {
                let faces = (0..D).map(|axis| Face { axis, at });
                found.extend(faces.filter(|face| face.hangs_by(samples, ground).is_some()));
            }
        });
        found
    };
    let mut rest: Vec<Face<D>> = planes.flat_map_iter(hanging).collect();
    while let Some(face) = rest.pop() {
        let Some(sample) = face.hangs_by(samples, ground) else {
            continue;
        };
        if let Some(place) = samples.at_mut(sample.at) {
            *sample.weight_mut(place) = Weight::default();
        }
        rest.extend(sample.faces());
    }
}
