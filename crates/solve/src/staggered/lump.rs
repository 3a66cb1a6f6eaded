//! Masses of coarse faces: what the finer level's faces give them.
//!
//! A coarse face is free if a free face of the finer level takes from it, so that motions of the
//! whole, translations and rotations, go from level to level unchanged up to the surface. Its mass
//! is what is restricted of theirs, so that such motions weigh the same on all levels; and what ties a
//! face of the finest level to walls counts as mass, for it holds such motions back alike. Stiff
//! bodies have little else to tell a motion of the whole from any other: with the masses of coarse
//! cells, walls that hold coarse faces, and coarse faces only where there is something, a stiff body
//! with limbs takes five times as many iterations, or never ends.

use rayon::prelude::*;

use super::around::Around;
use super::coarsened::{Coarsened, LEAST};
use super::component::{Anchors, INTERIOR, NONE, ROWS};
use super::level::Level;
use super::samples::{Place, Weight, pair_of};
use super::shape::{Shape, moved};
use super::sieve::{Sieve, Sifted};
use super::transfer::restrict_eight;
use crate::lattice::BLOCK;

/// What a face without mass counts for: it is there.
const NEXT_TO_NOTHING: f32 = 1e-6;

/// What a wall's hold on a coarse face is at most, in stiffnesses. However firmly it holds the fine
/// faces beside it, it is half a coarse cell away from this one. So bounded, the hold of a flat wall is
/// right on every level: twice the stiffness beside it, of which restricting makes three.
const FIRMEST: f32 = 6.0;

/// The masses of a coarse level's faces, and what ties them to walls.
pub struct Masses<const D: usize> {
    shape: Shape<D>,
    /// Zero where they are not free.
    mass: [Vec<f32>; D],
    spring: [Vec<f32>; D],
}

impl<const D: usize> Masses<D> {
    /// Takes those of the finer level.
    pub fn new(shape: &Shape<D>, sieve: &Sieve<D>, ground: &Coarsened<D>, fine: &Level<D>) -> Self {
        let mut masses = Masses {
            shape: *shape,
            mass: std::array::from_fn(|_| vec![0.0; shape.len]),
            spring: std::array::from_fn(|_| vec![0.0; shape.len]),
        };
        let lanes = masses.mass.iter_mut().zip(&mut masses.spring).enumerate();
        for (axis, (mass, spring)) in lanes {
            let plane = shape.strides[D - 1];
            let planes = mass[shape.origin..].par_chunks_mut(plane);
            let planes = planes.zip(spring[shape.origin..].par_chunks_mut(plane));
            let planes = planes.take(shape.planes()).enumerate();
            planes.for_each(|(z, (mass, spring))| {
                let mut take = |at: [i32; D]| {
                    let mut sifted = sieve.faces(axis, at);
                    sifted.faces &= within(shape, axis, at);
                    if let Some(found) = block(sifted, ground, fine, axis, at) {
                        let first = shape.index(at) - shape.origin - z * plane;
                        mass[first..][..BLOCK].copy_from_slice(&found.mass);
                        spring[first..][..BLOCK].copy_from_slice(&found.spring);
                    }
                };
                for r in 0..shape.plane_rows() {
                    sieve.each_block(axis, shape.row_at(z, r), &mut take);
                }
            });
        }
        masses
    }

    /// The mass of a face, which may lie one beyond the lattice.
    #[inline]
    fn at(&self, axis: usize, face: [i32; D]) -> f32 {
        self.mass[axis][self.shape.index(face)]
    }

    /// The samples of a place, given whether all around it is full and the stiffness if that is the
    /// same everywhere.
    pub fn place(
        &self,
        ground: &Coarsened<D>,
        at: [i32; D],
        is_full: bool,
        uniform: Option<f32>,
    ) -> Place {
        let mut place = match uniform.filter(|_| is_full) {
            Some(stiffness) => Place::full(stiffness),
            None => Place::of(&Around::new(ground, at)),
        };
        let least = LEAST * ground.stiffness_near(at);
        for a in 0..D {
            place.mass[a] = self.at(a, at);
            place.spring[a] = self.spring[a][self.shape.index(at)];
            place.held |= u8::from(place.mass[a] <= 0.0) << a;
            let faces = [(a, at), (a, moved(at, a, 1))];
            place.cell[a] = self.tied(place.cell[a], Weight::of_cell(least), &faces);
            for b in a + 1..D {
                let [left, below] = [moved(at, a, -1), moved(at, b, -1)];
                let faces = [(a, at), (b, at), (a, below), (b, left)];
                let edge = &mut place.edge[pair_of(a, b)];
                *edge = self.tied(*edge, Weight::of_edge(least), &faces);
            }
        }
        place
    }

    /// A sample weighs at least so much if all its faces are free, and nothing otherwise.
    fn tied(&self, sample: Weight, least: Weight, faces: &[(usize, [i32; D])]) -> Weight {
        let is_free = |&(axis, face): &(usize, [i32; D])| self.at(axis, face) > 0.0;
        if !faces.iter().all(is_free) {
            return Weight::default();
        }
        if sample.weight < least.weight {
            least
        } else {
            sample
        }
    }
}

/// Which of eight faces lie in the lattice: on a cell of it along their axis, in one across it.
fn within<const D: usize>(shape: &Shape<D>, axis: usize, at: [i32; D]) -> u64 {
    let count = |a: usize| shape.cells[a] + usize::from(a == axis);
    if (1..D).any(|a| at[a] as usize >= count(a)) {
        return 0;
    }
    match count(0).saturating_sub(at[0] as usize) {
        rest @ 0..BLOCK => (1 << rest) - 1,
        _ => 0xff,
    }
}

/// What eight faces take, if any may be free.
#[inline]
fn block<const D: usize>(
    Sifted { faces, interior }: Sifted,
    ground: &Coarsened<D>,
    fine: &Level<D>,
    axis: usize,
    at: [i32; D],
) -> Option<Anchors> {
    if interior == 0xff {
        return Some(Anchors {
            mass: [1.0; BLOCK],
            spring: [0.0; BLOCK],
        });
    }
    if faces == 0 {
        return None;
    }
    let component = &fine.components[axis];
    let mut found = Anchors {
        mass: restricted(fine, axis, at, 1.0, |place, lane| {
            component.anchors[place].mass[lane].max(NEXT_TO_NOTHING)
        }),
        spring: restricted(fine, axis, at, 0.0, |place, lane| {
            component.anchors[place].spring[lane]
        }),
    };
    for lane in 0..BLOCK {
        let spring = &mut found.spring[lane];
        if faces >> lane & 1 == 0 {
            (found.mass[lane], *spring) = (0.0, 0.0);
        } else if *spring > 0.0 {
            let firmest = FIRMEST * ground.stiffness_near(moved(at, 0, lane as i32));
            *spring /= 1.0 + *spring / firmest.max(f32::MIN_POSITIVE);
        }
    }
    Some(found)
}

/// The restriction to eight coarse faces of what free faces of a level have: those of the interior
/// all the same, others by the place and lane of their row.
#[inline]
fn restricted<const D: usize>(
    fine: &Level<D>,
    axis: usize,
    at: [i32; D],
    interior: f32,
    value: impl Fn(usize, usize) -> f32,
) -> [f32; BLOCK] {
    let component = &fine.components[axis];
    restrict_eight(&fine.shape, axis, at, |index, weight, sums| {
        let mut done = 0;
        while done < sums.len() {
            let (block, lane) = ((index + done) / BLOCK, (index + done) % BLOCK);
            let count = (BLOCK - lane).min(sums.len() - done);
            let sums = &mut sums[done..done + count];
            match component.blocks[block] {
                NONE => {}
                INTERIOR => sums.iter_mut().for_each(|sum| *sum += weight * interior),
                place => {
                    let place = (place - ROWS) as usize;
                    let rows = &component.rows[place];
                    for (k, sum) in sums.iter_mut().enumerate() {
                        if rows.is_free(lane + k) {
                            *sum += weight * value(place, lane + k);
                        }
                    }
                }
            }
            done += count;
        }
    })
}
