//! The operator at a block of eight faces, in single or double precision, and every block of a plane.

use super::component::{Packed, ROWS, Segment};
use super::level::Level;
use super::shape::others;
use crate::lattice::BLOCK;
use crate::lattice::simd::Simd;

/// Eight values in one precision.
#[allow(clippy::missing_safety_doc)] // as for `Simd`
pub trait Lanes<S: Simd> {
    type Value;
    type Eight: Copy;
    unsafe fn load(p: *const Self::Value) -> Self::Eight;
    unsafe fn add(a: Self::Eight, b: Self::Eight) -> Self::Eight;
    unsafe fn sub(a: Self::Eight, b: Self::Eight) -> Self::Eight;
    unsafe fn mul(a: Self::Eight, b: Self::Eight) -> Self::Eight;
    /// A weight, which is single always.
    unsafe fn weight(w: S::Single) -> Self::Eight;
}

/// Single precision: smoothers and directions.
pub struct Single;
/// Double precision: true residuals.
pub struct Double;

// SAFETY of both: the caller's promise is passed on.
#[allow(clippy::undocumented_unsafe_blocks)]
impl<S: Simd> Lanes<S> for Single {
    type Value = f32;
    type Eight = S::Single;
    #[inline(always)]
    unsafe fn load(p: *const f32) -> S::Single {
        unsafe { S::load(p) }
    }
    #[inline(always)]
    unsafe fn add(a: S::Single, b: S::Single) -> S::Single {
        unsafe { S::add(a, b) }
    }
    #[inline(always)]
    unsafe fn sub(a: S::Single, b: S::Single) -> S::Single {
        unsafe { S::sub(a, b) }
    }
    #[inline(always)]
    unsafe fn mul(a: S::Single, b: S::Single) -> S::Single {
        unsafe { S::mul(a, b) }
    }
    #[inline(always)]
    unsafe fn weight(w: S::Single) -> S::Single {
        w
    }
}

#[allow(clippy::undocumented_unsafe_blocks)]
impl<S: Simd> Lanes<S> for Double {
    type Value = f64;
    type Eight = S::Double;
    #[inline(always)]
    unsafe fn load(p: *const f64) -> S::Double {
        unsafe { S::load_wide(p) }
    }
    #[inline(always)]
    unsafe fn add(a: S::Double, b: S::Double) -> S::Double {
        unsafe { S::add_wide(a, b) }
    }
    #[inline(always)]
    unsafe fn sub(a: S::Double, b: S::Double) -> S::Double {
        unsafe { S::sub_wide(a, b) }
    }
    #[inline(always)]
    unsafe fn mul(a: S::Double, b: S::Double) -> S::Double {
        unsafe { S::mul_wide(a, b) }
    }
    #[inline(always)]
    unsafe fn weight(w: S::Single) -> S::Double {
        unsafe { S::widen(w) }
    }
}

/// Eight rows of the operator as registers.
struct Weights<T> {
    mass: T,
    cell: [T; 2],
    edge: [[T; 2]; 2],
}

/// A field around a block: its own component and the others, with the strides of their axes.
struct Around<T> {
    own: *const T,
    other: [*const T; 2],
    along: usize,
    across: [usize; 2],
}

impl<T> Around<T> {
    fn new<const D: usize>(u: [*const T; D], axis: usize, strides: [usize; D]) -> Self {
        let [b, c] = others::<D>(axis);
        Around {
            own: u[axis],
            other: [u[b], u[c]],
            along: strides[axis],
            across: [strides[b], strides[c]],
        }
    }

    /// `A u` at a block with these weights.
    #[inline(always)]
    unsafe fn product<S: Simd, L: Lanes<S, Value = T>, const D: usize>(
        &self,
        i: usize,
        w: &Weights<S::Single>,
    ) -> L::Eight {
        // SAFETY: every neighbour of a face is in memory.
        unsafe {
            let (own, s) = (self.own.add(i), self.along);
            let u = L::load(own);
            let mut sum = L::mul(L::weight(w.mass), u);
            let low = L::sub(u, L::load(own.sub(s)));
            let high = L::sub(u, L::load(own.add(s)));
            sum = L::add(sum, L::mul(L::weight(w.cell[0]), low));
            sum = L::add(sum, L::mul(L::weight(w.cell[1]), high));
            for k in 0..D - 1 {
                let (v, t) = (self.other[k].add(i), self.across[k]);
                let low = L::add(
                    L::sub(u, L::load(own.sub(t))),
                    L::sub(L::load(v), L::load(v.sub(s))),
                );
                let high = L::add(
                    L::sub(L::load(own.add(t)), u),
                    L::sub(L::load(v.add(t)), L::load(v.add(t).sub(s))),
                );
                sum = L::add(sum, L::mul(L::weight(w.edge[k][0]), low));
                sum = L::sub(sum, L::mul(L::weight(w.edge[k][1]), high));
            }
            sum
        }
    }

    /// `A u` at an interior block of uniform stiffness: `u + κ q`, with `q` from differences, which
    /// are exact for liquid that moves as a whole however stiff it is.
    #[inline(always)]
    unsafe fn uniform<S: Simd, L: Lanes<S, Value = T>, const D: usize>(
        &self,
        i: usize,
        stiffness: L::Eight,
    ) -> L::Eight {
        // SAFETY: every neighbour of a face is in memory.
        unsafe {
            let (own, s) = (self.own.add(i), self.along);
            let u = L::load(own);
            let low = L::sub(u, L::load(own.sub(s)));
            let ends = L::add(low, L::sub(u, L::load(own.add(s))));
            let mut q = L::add(ends, ends);
            for k in 0..D - 1 {
                let (v, t) = (self.other[k].add(i), self.across[k]);
                let low = L::sub(u, L::load(own.sub(t)));
                let sides = L::add(low, L::sub(u, L::load(own.add(t))));
                let low = L::sub(L::load(v), L::load(v.sub(s)));
                let high = L::sub(L::load(v.add(t)), L::load(v.add(t).sub(s)));
                q = L::add(q, L::add(sides, L::sub(low, high)));
            }
            L::add(u, L::mul(stiffness, q))
        }
    }
}

#[inline(always)]
unsafe fn packed<S: Simd>(p: &Packed) -> Weights<S::Single> {
    // SAFETY: arrays of eight.
    unsafe {
        Weights {
            mass: S::load(p.mass.as_ptr()),
            cell: [S::load(p.cell[0].as_ptr()), S::load(p.cell[1].as_ptr())],
            edge: [
                [
                    S::load(p.edge[0][0].as_ptr()),
                    S::load(p.edge[0][1].as_ptr()),
                ],
                [
                    S::load(p.edge[1][0].as_ptr()),
                    S::load(p.edge[1][1].as_ptr()),
                ],
            ],
        }
    }
}

/// Rows of an interior block whose stiffness varies, from that of the cells around.
#[inline(always)]
unsafe fn graded<S: Simd, const D: usize>(
    stiffness: *const f32,
    s: usize,
    across: [usize; 2],
) -> Weights<S::Single> {
    // SAFETY: every neighbour of a face is in memory.
    unsafe {
        let (low, high) = (S::load(stiffness.sub(s)), S::load(stiffness));
        let quarter = S::splat(0.25);
        let mut weights = Weights {
            mass: S::splat(1.0),
            cell: [S::add(low, low), S::add(high, high)],
            edge: [[low; 2]; 2],
        };
        for k in 0..D - 1 {
            let t = across[k];
            // In the same order as `row.rs` and `level.rs`, so that rows agree to the last bit.
            let (below, above) = (stiffness.sub(t), stiffness.add(t));
            let first = S::add(high, S::load(below.sub(s)));
            let second = S::add(low, S::load(below));
            weights.edge[k][0] = S::mul(quarter, S::add(first, second));
            let first = S::add(S::load(above), low);
            let second = S::add(S::load(above.sub(s)), high);
            weights.edge[k][1] = S::mul(quarter, S::add(first, second));
        }
        weights
    }
}

/// One over the bound of interior rows.
#[inline(always)]
unsafe fn interior_inverse<S: Simd, const D: usize>(w: &Weights<S::Single>) -> S::Single {
    // SAFETY: the caller's promise is passed on.
    unsafe {
        let cells = S::add(w.cell[0], w.cell[1]);
        let mut bound = S::add(w.mass, S::add(cells, cells));
        let four = S::splat(4.0);
        for k in 0..D - 1 {
            bound = S::add(bound, S::mul(four, S::add(w.edge[k][0], w.edge[k][1])));
        }
        S::div(S::splat(1.0), bound)
    }
}

/// What a pass does with a block. (Closures would not be compiled for the processor at hand.)
pub trait Visit<S: Simd, L: Lanes<S>> {
    /// Takes the memory index of a block, `A u` there, and scales of its rows.
    unsafe fn visit(&mut self, i: usize, product: L::Eight, scales: Scales<S::Single>);
}

/// What a pass may scale residuals by; what it does not read is not computed.
pub struct Scales<T> {
    /// One over the bound.
    pub inverse: T,
    /// The diagonal.
    pub diagonal: T,
}

/// Visits every block of a plane of a component.
///
/// # Safety
/// `u` are arrays of the level's shape.
#[inline(always)]
pub unsafe fn each_block<S: Simd, L: Lanes<S>, const D: usize>(
    level: &Level<D>,
    axis: usize,
    z: usize,
    u: [*const L::Value; D],
    band_only: bool,
    pass: &mut impl Visit<S, L>,
) {
    let component = &level.components[axis];
    let around = Around::new(u, axis, level.shape.strides);
    for &Segment {
        index,
        blocks,
        is_interior,
    } in component.in_plane(z)
    {
        let (first, blocks) = (index as usize, blocks as usize);
        // SAFETY: segments lie in the shape, and the neighbours of their faces too; the table of
        // blocks has the place of the rows of all that are not in the interior.
        unsafe {
            if !is_interior {
                let places = &component.blocks[level.shape.block(first)..][..blocks];
                for (k, &place) in places.iter().enumerate() {
                    let i = first + k * BLOCK;
                    let row = component.rows.get_unchecked((place - ROWS) as usize);
                    let w = packed::<S>(row);
                    let product = around.product::<S, L, D>(i, &w);
                    let scales = Scales {
                        inverse: S::load(row.inverse.as_ptr()),
                        diagonal: diagonal::<S, D>(&w),
                    };
                    pass.visit(i, product, scales);
                }
            } else if band_only {
            } else if let Some(stiffness) = &level.graded {
                for k in 0..blocks {
                    let i = first + k * BLOCK;
                    let cell = stiffness.as_ptr().add(i);
                    let w = graded::<S, D>(cell, around.along, around.across);
                    let product = around.product::<S, L, D>(i, &w);
                    let scales = Scales {
                        inverse: interior_inverse::<S, D>(&w),
                        diagonal: diagonal::<S, D>(&w),
                    };
                    pass.visit(i, product, scales);
                }
            } else {
                let weights = uniform_weights::<S>(level.stiffness);
                let inverse = interior_inverse::<S, D>(&weights);
                let diagonal = diagonal::<S, D>(&weights);
                let stiffness = L::weight(S::splat(level.stiffness));
                for k in 0..blocks {
                    let i = first + k * BLOCK;
                    let product = around.uniform::<S, L, D>(i, stiffness);
                    pass.visit(i, product, Scales { inverse, diagonal });
                }
            }
        }
    }
}

/// The diagonal of rows.
#[inline(always)]
unsafe fn diagonal<S: Simd, const D: usize>(w: &Weights<S::Single>) -> S::Single {
    // SAFETY: the caller's promise is passed on.
    unsafe {
        let mut sum = S::add(w.mass, S::add(w.cell[0], w.cell[1]));
        for k in 0..D - 1 {
            sum = S::add(sum, S::add(w.edge[k][0], w.edge[k][1]));
        }
        sum
    }
}

#[inline(always)]
unsafe fn uniform_weights<S: Simd>(stiffness: f32) -> Weights<S::Single> {
    // SAFETY: the caller's promise is passed on.
    unsafe {
        let (one, two) = (S::splat(stiffness), S::splat(2.0 * stiffness));
        Weights {
            mass: S::splat(1.0),
            cell: [two; 2],
            edge: [[one; 2]; 2],
        }
    }
}
