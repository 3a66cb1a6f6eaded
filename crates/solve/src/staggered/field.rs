//! The vectors that passes run along.

use std::ops::{Deref, DerefMut};

use rayon::prelude::*;

use super::cycle::each_plane;
use super::level::Level;
use crate::lattice::BLOCK;
use crate::lattice::wave::Shared;

/// Bytes of a page: a load waits for a store shortly before that has the same place in its page.
const PAGE: usize = 4096;

/// Bytes between the places in their pages of one field and the next, in whole cache lines; a
/// dozen fields fit.
const TURN: usize = 320;

/// Values that begin on a cache line, in a place in its page of their own.
///
/// Memory that is given up is all zero: who wrote to it knows where, and the rest may be pages that
/// nobody has touched, which cost neither memory nor time as long as that is so.
#[derive(Clone, Debug, Default)]
pub struct Field<T> {
    values: Vec<T>,
    start: usize,
    len: usize,
}

impl<T: Copy + Default + Send> Field<T> {
    fn zeros(len: usize, turn: usize) -> Self {
        let size = size_of::<T>();
        let values = vec![T::default(); len + PAGE / size];
        let place = turn * TURN % PAGE;
        let start = (place + PAGE - values.as_ptr() as usize % PAGE) % PAGE / size;
        Field { values, start, len }
    }

    /// Takes so many zeroes: those of the memory that is there if it is enough, or else of new memory.
    fn adopt(&mut self, len: usize, turn: usize) {
        if self.values.len() < self.start + len {
            // What is dropped first is not held beside what takes its place.
            self.values = Vec::new();
            *self = Field::zeros(len, turn);
        }
        self.len = len;
    }
}

impl<T> Deref for Field<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.values[self.start..self.start + self.len]
    }
}

impl<T> DerefMut for Field<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values[self.start..self.start + self.len]
    }
}

/// One field per axis.
pub type Vector<T, const D: usize> = [Field<T>; D];

/// A vector of zeroes.
pub fn zeros<T: Copy + Default + Send, const D: usize>(len: usize, turn: usize) -> Vector<T, D> {
    let mut vector = empty();
    adopt(&mut vector, len, turn);
    vector
}

/// A vector without memory.
pub fn empty<T: Default, const D: usize>() -> Vector<T, D> {
    std::array::from_fn(|_| Field::default())
}

/// Makes a vector that is zero, memory beyond its end included, one of zeroes of this length. Vectors
/// that passes use together have different `turn`s, of which there are four.
pub fn adopt<T: Copy + Default + Send, const D: usize>(
    vector: &mut Vector<T, D>,
    len: usize,
    turn: usize,
) {
    for (axis, field) in vector.iter_mut().enumerate() {
        // A dozen fields have places of their own.
        field.adopt(len, turn % 4 + 4 * axis);
    }
}

/// The same for a vector that was written to anywhere.
pub fn clear<T: Copy + Default + Send, const D: usize>(
    vector: &mut Vector<T, D>,
    len: usize,
    turn: usize,
) {
    for field in vector.iter_mut() {
        let parts = field.par_chunks_mut(1 << 16);
        parts.for_each(|part| part.fill(T::default()));
    }
    adopt(vector, len, turn);
}

/// Sets the blocks of a level's faces to zero: all that passes write to.
pub fn wipe<T: Copy + Default + Send, const D: usize>(level: &Level<D>, vector: &mut Vector<T, D>) {
    each_value(level, vector, |_, _, value| *value = T::default());
}

/// Calls `visit(axis, memory index, value)` for every value of the blocks of a level's faces.
pub fn each_value<T: Send, const D: usize>(
    level: &Level<D>,
    vector: &mut Vector<T, D>,
    visit: impl Fn(usize, usize, &mut T) + Sync,
) {
    let values = vector.each_mut().map(|v| Shared(v.as_mut_ptr()));
    each_plane(level, &|axis, z| {
        for segment in level.components[axis].in_plane(z) {
            let count = segment.blocks as usize * BLOCK;
            for i in (segment.index as usize..).take(count) {
                // SAFETY: segments lie in the vectors, and a plane is written by one call.
                visit(axis, i, unsafe { &mut *values[axis].get().add(i) });
            }
        }
    });
}
