//! The right-hand side of a system.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::cycle::each_plane;
use super::field::{self, Vector};
use super::level::Level;
use crate::lattice::wave::Shared;

/// A right-hand side at free faces: in single precision if that loses nothing, for it takes half
/// the memory.
#[derive(Debug)]
pub enum Rhs<const D: usize> {
    /// Every value is exact.
    Single(Vector<f32, D>),
    /// Some would not be.
    Double(Vector<f64, D>),
}

impl<const D: usize> Default for Rhs<D> {
    fn default() -> Self {
        Rhs::Single(field::empty())
    }
}

impl<const D: usize> Rhs<D> {
    /// Gives up a level: all is zero again.
    pub fn wipe(&mut self, level: &Level<D>) {
        match self {
            Rhs::Single(values) => field::wipe(level, values),
            Rhs::Double(values) => field::wipe(level, values),
        }
    }

    /// Takes on a level, with zeroes in the memory that is there.
    pub fn adopt(&mut self, level: &Level<D>) {
        match self {
            Rhs::Single(values) => field::adopt(values, level.shape.len, 1),
            Rhs::Double(values) => field::adopt(values, level.shape.len, 1),
        }
    }

    /// Sets `value(axis, lattice point, memory index, mass)` at all free faces of a level. Once
    /// doubles were needed it is doubles.
    pub fn set(
        &mut self,
        level: &Level<D>,
        value: impl Fn(usize, [i32; D], usize, f32) -> f64 + Sync,
    ) {
        let singles = match self {
            Rhs::Double(values) => return fill(level, values, value),
            Rhs::Single(values) => values,
        };
        let is_exact = AtomicBool::new(true);
        fill(level, singles, |axis, at, index, mass| {
            if !is_exact.load(Relaxed) {
                return 0.0;
            }
            let value = value(axis, at, index, mass);
            let single = value as f32;
            if f64::from(single) != value {
                is_exact.store(false, Relaxed);
            }
            single
        });
        if !is_exact.into_inner() {
            *self = Rhs::default();
            let mut values = field::zeros(level.shape.len, 1);
            fill(level, &mut values, value);
            *self = Rhs::Double(values);
        }
    }

    /// The value at a memory index.
    #[inline]
    pub fn at(&self, axis: usize, index: usize) -> f64 {
        match self {
            Rhs::Single(values) => f64::from(values[axis][index]),
            Rhs::Double(values) => values[axis][index],
        }
    }

    /// All values.
    pub fn values(&self) -> Values<'_, D> {
        match self {
            Rhs::Single(values) => Values::Single(values),
            Rhs::Double(values) => Values::Double(values),
        }
    }
}

/// The values of a right-hand side.
#[derive(Clone, Copy)]
pub enum Values<'a, const D: usize> {
    /// In single precision.
    Single(&'a Vector<f32, D>),
    /// In double precision.
    Double(&'a Vector<f64, D>),
}

impl<const D: usize> Values<'_, D> {
    /// Where they are.
    pub fn address(&self) -> Address<D> {
        match self {
            Values::Single(values) => Address::Single(values.each_ref().map(|v| v.as_ptr())),
            Values::Double(values) => Address::Double(values.each_ref().map(|v| v.as_ptr())),
        }
    }
}

/// Where a right-hand side is.
#[derive(Clone, Copy)]
pub enum Address<const D: usize> {
    /// In single precision.
    Single([*const f32; D]),
    /// In double precision.
    Double([*const f64; D]),
}

/// Sets `value(axis, lattice point, memory index, mass)` at all free faces.
pub fn fill<T: Send, const D: usize>(
    level: &Level<D>,
    vectors: &mut Vector<T, D>,
    value: impl Fn(usize, [i32; D], usize, f32) -> T + Sync,
) {
    let vectors = vectors.each_mut().map(|v| Shared(v.as_mut_ptr()));
    each_plane(level, &|axis, z| {
        level.each_free(axis, z, |at, index, mass| {
            // SAFETY: free faces are in memory, and a plane is written by one call.
            unsafe { *vectors[axis].get().add(index) = value(axis, at, index, mass) };
        });
    });
}
