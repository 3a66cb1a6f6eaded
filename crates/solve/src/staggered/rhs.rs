//! The right-hand side of a system.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rayon::prelude::*;

use super::cycle::each_plane;
use super::field::{self, Vector};
use super::level::Level;
use super::shape::moved;
use crate::lattice::BLOCK;
use crate::lattice::wave::Shared;
use crate::vector;

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

    /// Sets the guess `x` and the right-hand side at all free faces of a level, of which
    /// `of(axis, lattice point, mass)` tells both, the right-hand side in two parts. Once doubles were
    /// needed it is doubles.
    pub fn load(
        &mut self,
        level: &Level<D>,
        x: &mut Vector<f64, D>,
        of: impl Fn(usize, [i32; D], f32) -> Loaded + Sync,
    ) -> Largest {
        if let Rhs::Single(values) = self {
            let is_exact = AtomicBool::new(true);
            let largest = load(level, x, values, |axis, at, mass| {
                let loaded = of(axis, at, mass);
                let value = loaded.rhs();
                let single = value as f32;
                if f64::from(single) != value {
                    is_exact.store(false, Relaxed);
                }
                (loaded, single)
            });
            if is_exact.into_inner() {
                return largest;
            }
            // What is dropped first is not held beside what takes its place.
            *self = Rhs::default();
            *self = Rhs::Double(field::zeros(level.shape.len, 1));
        }
        let Rhs::Double(values) = self else {
            unreachable!("singles that are not exact have become doubles")
        };
        load(level, x, values, |axis, at, mass| {
            let loaded = of(axis, at, mass);
            (loaded, loaded.rhs())
        })
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

/// What a face is given.
#[derive(Clone, Copy, Debug, Default)]
pub struct Loaded {
    /// The value to begin with.
    pub guess: f64,
    /// The right-hand side: mass times velocity,
    pub momentum: f64,
    /// and what pushes it besides.
    pub push: f64,
}

impl Loaded {
    fn rhs(self) -> f64 {
        self.momentum + self.push
    }
}

/// The largest that was loaded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Largest {
    /// Of right-hand sides away from held faces.
    pub away: f64,
    /// Of those beside held faces.
    pub beside: f64,
    /// Of momenta.
    pub momentum: f64,
}

impl Largest {
    fn of(loaded: Loaded, is_beside: bool) -> Self {
        let rhs = loaded.rhs().abs();
        let (away, beside) = if is_beside { (0.0, rhs) } else { (rhs, 0.0) };
        Largest {
            away,
            beside,
            momentum: loaded.momentum.abs(),
        }
    }

    /// The larger of each, or what is not a number.
    fn or(self, other: Self) -> Self {
        Largest {
            away: vector::max_or_nan(other.away, self.away),
            beside: vector::max_or_nan(other.beside, self.beside),
            momentum: vector::max_or_nan(other.momentum, self.momentum),
        }
    }
}

/// Sets the guess and the right-hand side.
fn load<T: Copy + Send, const D: usize>(
    level: &Level<D>,
    x: &mut Vector<f64, D>,
    b: &mut Vector<T, D>,
    of: impl Fn(usize, [i32; D], f32) -> (Loaded, T) + Sync,
) -> Largest {
    let x = x.each_mut().map(|v| Shared(v.as_mut_ptr()));
    let b = b.each_mut().map(|v| Shared(v.as_mut_ptr()));
    let of_plane = |k: usize| {
        let (axis, mut largest) = (k % D, Largest::default());
        let component = &level.components[axis];
        let mut set = |at: [i32; D], index: usize, mass: f32, is_beside: bool| {
            let (loaded, value) = of(axis, at, mass);
            // SAFETY: free faces are in memory, and a plane is written by one call.
            unsafe {
                *x[axis].get().add(index) = loaded.guess;
                *b[axis].get().add(index) = value;
            }
            largest = largest.or(Largest::of(loaded, is_beside));
        };
        for segment in component.in_plane(k / D) {
            let first = level.shape.point(segment.index as usize);
            for (k, index) in segment.each_block().enumerate() {
                let at = moved(first, 0, (k * BLOCK) as i32);
                let face = |lane: usize| (moved(at, 0, lane as i32), index + lane);
                let Some(packed) = component.packed(index / BLOCK) else {
                    (0..BLOCK)
                        .map(face)
                        .for_each(|(at, i)| set(at, i, 1.0, false));
                    continue;
                };
                let beside = component.beside_held(index);
                for lane in (0..BLOCK).filter(|&lane| packed.is_free(lane)) {
                    let (at, i) = face(lane);
                    set(at, i, packed.mass[lane], beside >> lane & 1 == 1);
                }
            }
        }
        largest
    };
    let planes = (0..level.shape.planes() * D).into_par_iter();
    let largest = planes.with_min_len(8).map(of_plane);
    largest.reduce(Largest::default, Largest::or)
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
