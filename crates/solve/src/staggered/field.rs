//! The vectors that passes run along.

use std::ops::{Deref, DerefMut};

use rayon::prelude::*;

/// Bytes of a page: a load waits for a store shortly before that has the same place in its page.
const PAGE: usize = 4096;

/// Bytes between the places in their pages of one field and the next, in whole cache lines; a
/// dozen fields fit.
const TURN: usize = 320;

/// Values that begin on a cache line, in a place in its page of their own.
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

    /// Sets all to zero.
    fn wipe(&mut self) {
        self.par_chunks_mut(1 << 16)
            .for_each(|part| part.fill(T::default()));
    }

    /// Zeroes of the length asked for, in the memory that is there if it is enough; whether it is
    /// new.
    fn clear(&mut self, len: usize, turn: usize) -> bool {
        let is_new = self.values.len() < self.start + len;
        if is_new {
            // What is dropped first is not held beside what takes its place.
            self.values = Vec::new();
            *self = Field::zeros(len, turn);
        } else {
            self.len = len;
            self.wipe();
        }
        is_new
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
    clear(&mut vector, len, turn);
    vector
}

/// A vector without memory.
pub fn empty<T: Default, const D: usize>() -> Vector<T, D> {
    std::array::from_fn(|_| Field::default())
}

/// Zeroes of the length asked for, in the memory that is there if it is enough. Vectors that passes
/// use together have different `turn`s, of which there are four.
pub fn clear<T: Copy + Default + Send, const D: usize>(
    vector: &mut Vector<T, D>,
    len: usize,
    turn: usize,
) {
    for (axis, field) in vector.iter_mut().enumerate() {
        field.clear(len, place_of(turn, axis));
    }
}

/// The place of a field among the dozen there are.
fn place_of(turn: usize, axis: usize) -> usize {
    turn % 4 + 4 * axis
}

/// The same for a vector that is read before it is written: pages of new memory, which is all zero
/// already, would then cost two faults each, the second of which halts all threads.
pub fn clear_to_read<T: Copy + Default + Send, const D: usize>(
    vector: &mut Vector<T, D>,
    len: usize,
    turn: usize,
) {
    for (axis, field) in vector.iter_mut().enumerate() {
        if field.clear(len, place_of(turn, axis)) {
            field.wipe();
        }
    }
}
