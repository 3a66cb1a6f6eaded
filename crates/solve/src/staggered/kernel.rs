//! Passes over one plane of one component, in blocks of eight faces.

use super::component::{Packed, Segment};
use super::level::Level;
use super::rhs::Address;
use super::shape::others;
use crate::lattice::BLOCK;
use crate::lattice::kernel::dispatch;
#[cfg(target_arch = "x86_64")]
use crate::lattice::simd::Avx2;
use crate::lattice::simd::{Portable, Simd};

/// No Jacobi step is longer than this over a row's [bound](super::row::Row::bound): at two the
/// highest modes would not be damped any more, and beyond it a cycle is not positive definite. In
/// the interior ⅔ of the plain step is just within, but not on every odd body.
const MOST_JACOBI: f32 = 1.98;

/// Eight values in one precision.
#[allow(clippy::missing_safety_doc)] // as for `Simd`
trait Lanes<S: Simd> {
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
struct Single;
/// Double precision: true residuals.
struct Double;

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
trait Visit<S: Simd, L: Lanes<S>> {
    /// Takes the memory index of a block, `A u` there, and scales of its rows.
    unsafe fn visit(&mut self, i: usize, product: L::Eight, scales: Scales<S::Single>);
}

/// What a pass may scale residuals by; what it does not read is not computed.
struct Scales<T> {
    /// One over the bound.
    inverse: T,
    /// The diagonal.
    diagonal: T,
}

/// Visits every block of a plane of a component.
///
/// # Safety
/// `u` are arrays of the level's shape.
#[inline(always)]
unsafe fn each_block<S: Simd, L: Lanes<S>, const D: usize>(
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
                    let row = component.rows.get_unchecked(place as usize);
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

/// Three vectors of a level: where a pass reads and writes.
#[derive(Clone, Copy)]
pub struct Three<const D: usize> {
    /// Read around each face.
    pub x: [*const f32; D],
    /// Read and written at each face.
    pub y: [*mut f32; D],
    /// Read at each face.
    pub b: [*const f32; D],
}

// SAFETY: plain addresses; who writes where is said at each use.
unsafe impl<const D: usize> Sync for Three<D> {}
// SAFETY: as above.
unsafe impl<const D: usize> Send for Three<D> {}

/// A pass over three vectors with its constants.
struct Pass<T, const D: usize> {
    axis: usize,
    v: Three<D>,
    with: T,
}

struct Residual;
struct FirstStep<V> {
    beta: V,
}
struct Step<V> {
    alpha: V,
    beta: V,
    has_last: bool,
}
struct JacobiStep<V> {
    omega: V,
    most: V,
}
struct Apply<V> {
    sum: V,
}

impl<S: Simd, const D: usize> Visit<S, Single> for Pass<Residual, D> {
    #[inline(always)]
    unsafe fn visit(&mut self, i: usize, product: S::Single, _: Scales<S::Single>) {
        // SAFETY: the caller's promise is passed on.
        unsafe {
            let r = S::sub(S::load(self.v.b[self.axis].add(i)), product);
            S::store(self.v.y[self.axis].add(i), r);
        }
    }
}

impl<S: Simd, const D: usize> Visit<S, Single> for Pass<FirstStep<S::Single>, D> {
    #[inline(always)]
    unsafe fn visit(&mut self, i: usize, _: S::Single, scales: Scales<S::Single>) {
        // SAFETY: the caller's promise is passed on.
        unsafe {
            let b = S::load(self.v.b[self.axis].add(i));
            let step = S::mul(S::mul(self.with.beta, scales.inverse), b);
            S::store(self.v.y[self.axis].add(i), step);
        }
    }
}

impl<S: Simd, const D: usize> Visit<S, Single> for Pass<Step<S::Single>, D> {
    #[inline(always)]
    unsafe fn visit(&mut self, i: usize, product: S::Single, scales: Scales<S::Single>) {
        // SAFETY: the caller's promise is passed on.
        unsafe {
            let Step {
                alpha,
                beta,
                has_last,
            } = self.with;
            let r = S::sub(S::load(self.v.b[self.axis].add(i)), product);
            let x = S::load(self.v.x[self.axis].add(i));
            let new = S::add(x, S::mul(S::mul(beta, scales.inverse), r));
            let y = self.v.y[self.axis].add(i);
            let change = if has_last { S::sub(x, S::load(y)) } else { x };
            S::store(y, S::add(new, S::mul(alpha, change)));
        }
    }
}

impl<S: Simd, const D: usize> Visit<S, Single> for Pass<JacobiStep<S::Single>, D> {
    #[inline(always)]
    unsafe fn visit(&mut self, i: usize, product: S::Single, scales: Scales<S::Single>) {
        // SAFETY: the caller's promise is passed on.
        unsafe {
            let r = S::sub(S::load(self.v.b[self.axis].add(i)), product);
            let plain = S::div(self.with.omega, scales.diagonal);
            // The lesser of the two.
            let excess = S::sub(plain, S::mul(self.with.most, scales.inverse));
            let factor = S::sub(plain, S::where_positive(excess, excess));
            let step = S::mul(factor, r);
            // Rows without an unknown have no diagonal either.
            let step = S::where_positive(scales.diagonal, step);
            let x = S::load(self.v.x[self.axis].add(i));
            S::store(self.v.y[self.axis].add(i), S::add(x, step));
        }
    }
}

impl<S: Simd, const D: usize> Visit<S, Single> for Pass<Apply<S::Double>, D> {
    #[inline(always)]
    unsafe fn visit(&mut self, i: usize, product: S::Single, _: Scales<S::Single>) {
        // SAFETY: the caller's promise is passed on.
        unsafe {
            S::store(self.v.y[self.axis].add(i), product);
            let x = S::widen(S::load(self.v.x[self.axis].add(i)));
            self.with.sum = S::add_wide(self.with.sum, S::mul_wide(x, S::widen(product)));
        }
    }
}

#[inline(always)]
unsafe fn residual_body<S: Simd, const D: usize>(
    level: &Level<D>,
    axis: usize,
    z: usize,
    v: Three<D>,
) {
    let with = Residual;
    let mut pass = Pass { axis, v, with };
    // SAFETY: the caller's promise is passed on.
    unsafe { each_block::<S, Single, D>(level, axis, z, v.x, false, &mut pass) }
}

#[inline(always)]
unsafe fn first_step_body<S: Simd, const D: usize>(
    level: &Level<D>,
    axis: usize,
    z: usize,
    v: Three<D>,
    beta: f32,
) {
    // SAFETY: the caller's promise is passed on.
    unsafe {
        let with = FirstStep {
            beta: S::splat(beta),
        };
        let mut pass = Pass { axis, v, with };
        each_block::<S, Single, D>(level, axis, z, v.x, false, &mut pass);
    }
}

#[inline(always)]
unsafe fn step_body<S: Simd, const D: usize>(
    level: &Level<D>,
    axis: usize,
    z: usize,
    v: Three<D>,
    [alpha, beta]: [f32; 2],
    has_last: bool,
) {
    // SAFETY: the caller's promise is passed on.
    unsafe {
        let with = Step {
            alpha: S::splat(alpha),
            beta: S::splat(beta),
            has_last,
        };
        let mut pass = Pass { axis, v, with };
        each_block::<S, Single, D>(level, axis, z, v.x, false, &mut pass);
    }
}

#[inline(always)]
unsafe fn jacobi_body<S: Simd, const D: usize>(
    level: &Level<D>,
    axis: usize,
    z: usize,
    v: Three<D>,
    omega: f32,
    band_only: bool,
) {
    // SAFETY: the caller's promise is passed on.
    unsafe {
        let with = JacobiStep {
            omega: S::splat(omega),
            most: S::splat(MOST_JACOBI),
        };
        let mut pass = Pass { axis, v, with };
        each_block::<S, Single, D>(level, axis, z, v.x, band_only, &mut pass);
    }
}

#[inline(always)]
unsafe fn apply_body<S: Simd, const D: usize>(
    level: &Level<D>,
    axis: usize,
    z: usize,
    v: Three<D>,
) -> f64 {
    // SAFETY: the caller's promise is passed on.
    unsafe {
        let with = Apply {
            sum: S::splat_wide(0.0),
        };
        let mut pass = Pass { axis, v, with };
        each_block::<S, Single, D>(level, axis, z, v.x, false, &mut pass);
        S::lanes(pass.with.sum).iter().sum()
    }
}

/// The vectors of the outer iteration.
#[derive(Clone, Copy)]
pub struct Outer<const D: usize> {
    /// The solution.
    pub x: [*mut f64; D],
    /// The right-hand side.
    pub b: Address<D>,
    /// The residual, scaled.
    pub r: [*mut f32; D],
    /// The scale.
    pub scale: f64,
}

// SAFETY: as for `Three`.
unsafe impl<const D: usize> Sync for Outer<D> {}
// SAFETY: as for `Three`.
unsafe impl<const D: usize> Send for Outer<D> {}

struct TrueResidual<V, const D: usize> {
    axis: usize,
    v: Outer<D>,
    scale: V,
    largest: V,
    sum: V,
}

impl<S: Simd, const D: usize> Visit<S, Double> for TrueResidual<S::Double, D> {
    #[inline(always)]
    unsafe fn visit(&mut self, i: usize, product: S::Double, _: Scales<S::Single>) {
        // SAFETY: the caller's promise is passed on.
        unsafe {
            let b = match self.v.b {
                Address::Single(b) => S::widen(S::load(b[self.axis].add(i))),
                Address::Double(b) => S::load_wide(b[self.axis].add(i)),
            };
            let r = S::sub_wide(b, product);
            self.largest = S::max_abs(self.largest, r);
            self.sum = S::add_wide(self.sum, r);
            let scaled = S::narrow(S::mul_wide(self.scale, r));
            S::store(self.v.r[self.axis].add(i), scaled);
        }
    }
}

#[inline(always)]
unsafe fn true_residual_body<S: Simd, const D: usize>(
    level: &Level<D>,
    axis: usize,
    z: usize,
    v: Outer<D>,
) -> f64 {
    // SAFETY: the caller's promise is passed on.
    unsafe {
        let mut pass = TrueResidual {
            axis,
            v,
            scale: S::splat_wide(v.scale),
            largest: S::splat_wide(0.0),
            sum: S::splat_wide(0.0),
        };
        let x = v.x.map(|x| x.cast_const());
        each_block::<S, Double, D>(level, axis, z, x, false, &mut pass);
        norm_or_nan(S::lanes(pass.largest), S::lanes(pass.sum))
    }
}

/// The largest, unless the sum tells that a NaN was lost on the way.
#[inline(always)]
fn norm_or_nan(largest: [f64; BLOCK], sum: [f64; BLOCK]) -> f64 {
    if sum.iter().any(|s| s.is_nan()) {
        return f64::NAN;
    }
    largest.iter().fold(0.0, |m, &v| m.max(v))
}

/// `x ← x + α p`, `r ← r − s α q`; the max norm of `r`.
#[inline(always)]
unsafe fn advance_body<S: Simd, const D: usize>(
    level: &Level<D>,
    axis: usize,
    z: usize,
    v: Outer<D>,
    p: [*const f32; D],
    q: [*const f32; D],
    alpha: f64,
) -> f64 {
    // SAFETY: the caller's promise is passed on.
    unsafe {
        let mut largest = S::splat_wide(0.0);
        let mut sum = S::splat_wide(0.0);
        let wide = S::splat_wide(alpha / v.scale);
        let single = S::splat(alpha as f32);
        for segment in level.components[axis].in_plane(z) {
            for k in 0..segment.blocks as usize {
                let i = segment.index as usize + k * BLOCK;
                let x = v.x[axis].add(i);
                let step = S::mul_wide(wide, S::widen(S::load(p[axis].add(i))));
                S::store_wide(x, S::add_wide(S::load_wide(x), step));
                let r = v.r[axis].add(i);
                let new = S::sub(S::load(r), S::mul(single, S::load(q[axis].add(i))));
                S::store(r, new);
                let new = S::widen(new);
                largest = S::max_abs(largest, new);
                sum = S::add_wide(sum, new);
            }
        }
        norm_or_nan(S::lanes(largest), S::lanes(sum))
    }
}

/// `Σ x b` over a plane of a component.
#[inline(always)]
unsafe fn dot_body<S: Simd, const D: usize>(
    level: &Level<D>,
    axis: usize,
    z: usize,
    v: Three<D>,
) -> f64 {
    // SAFETY: the caller's promise is passed on.
    unsafe {
        let mut sum = S::splat_wide(0.0);
        for segment in level.components[axis].in_plane(z) {
            for k in 0..segment.blocks as usize {
                let i = segment.index as usize + k * BLOCK;
                let (x, b) = (S::load(v.x[axis].add(i)), S::load(v.b[axis].add(i)));
                sum = S::add_wide(sum, S::mul_wide(S::widen(x), S::widen(b)));
            }
        }
        S::lanes(sum).iter().sum()
    }
}

/// `y ← x + β y`.
#[inline(always)]
unsafe fn direct_body<S: Simd, const D: usize>(
    level: &Level<D>,
    axis: usize,
    z: usize,
    v: Three<D>,
    beta: f32,
) {
    // SAFETY: the caller's promise is passed on.
    unsafe {
        let is_first = beta == 0.0;
        let beta = S::splat(beta);
        for segment in level.components[axis].in_plane(z) {
            for k in 0..segment.blocks as usize {
                let i = segment.index as usize + k * BLOCK;
                let y = v.y[axis].add(i);
                let mut new = S::load(v.x[axis].add(i));
                // What was there before is not read for nothing, be it not a number.
                if !is_first {
                    new = S::add(new, S::mul(beta, S::load(y)));
                }
                S::store(y, new);
            }
        }
    }
}

dispatch! {
    /// `y ← b − A x` on a plane of a component.
    ///
    /// # Safety
    /// The vectors have the level's shape; nobody writes `x` or reads `y` on this plane meanwhile.
    pub unsafe fn residual<D>(level: &Level<D>, axis: usize, z: usize, v: Three<D>) = residual_body
}
dispatch! {
    /// `y ← β S⁻¹ b`: a step from zero.
    ///
    /// # Safety
    /// As [`residual`].
    pub unsafe fn first_step<D>(level: &Level<D>, axis: usize, z: usize, v: Three<D>, beta: f32) = first_step_body
}
dispatch! {
    /// `y ← x + α (x − y) + β S⁻¹ (b − A x)`, with zero for the `y` read unless it `has_last`.
    ///
    /// # Safety
    /// As [`residual`].
    pub unsafe fn step<D>(level: &Level<D>, axis: usize, z: usize, v: Three<D>, factors: [f32; 2], has_last: bool) = step_body
}
dispatch! {
    /// `y ← x + ω D⁻¹ (b − A x)`, or less where that is too much, everywhere or only where rows are
    /// read and not computed.
    ///
    /// # Safety
    /// As [`residual`].
    pub unsafe fn jacobi<D>(level: &Level<D>, axis: usize, z: usize, v: Three<D>, omega: f32, band_only: bool) = jacobi_body
}
dispatch! {
    /// `y ← A x`, and `x·y` on the plane.
    ///
    /// # Safety
    /// As [`residual`].
    pub unsafe fn apply<D>(level: &Level<D>, axis: usize, z: usize, v: Three<D>) -> f64 = apply_body
}
dispatch! {
    /// `r ← s (b − A x)` and the max norm of `b − A x`, in double precision.
    ///
    /// # Safety
    /// As [`residual`].
    pub unsafe fn true_residual<D>(level: &Level<D>, axis: usize, z: usize, v: Outer<D>) -> f64 = true_residual_body
}
dispatch! {
    /// `x ← x + α p / s`, `r ← r − α q`; the max norm of `r`.
    ///
    /// # Safety
    /// As [`residual`].
    pub unsafe fn advance<D>(level: &Level<D>, axis: usize, z: usize, v: Outer<D>, p: [*const f32; D], q: [*const f32; D], alpha: f64) -> f64 = advance_body
}
dispatch! {
    /// `x·b` on a plane.
    ///
    /// # Safety
    /// As [`residual`].
    pub unsafe fn dot<D>(level: &Level<D>, axis: usize, z: usize, v: Three<D>) -> f64 = dot_body
}
dispatch! {
    /// `y ← x + β y`.
    ///
    /// # Safety
    /// As [`residual`].
    pub unsafe fn direct<D>(level: &Level<D>, axis: usize, z: usize, v: Three<D>, beta: f32) = direct_body
}
