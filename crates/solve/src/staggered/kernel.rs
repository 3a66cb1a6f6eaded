//! Passes over one plane of one component, in blocks of eight faces.

use super::level::Level;
use super::rhs::Address;
use super::stencil::{Double, Scales, Single, Visit, each_block};
use crate::lattice::BLOCK;
use crate::lattice::kernel::dispatch;
#[cfg(target_arch = "x86_64")]
use crate::lattice::simd::Avx2;
use crate::lattice::simd::{Portable, Simd};

/// No Jacobi step is longer than this over a row's [bound](super::row::Row::bound): at two the
/// highest modes would not be damped any more, and beyond it a cycle is not positive definite. In
/// the interior ⅔ of the plain step is just within, but not on every odd body.
const MOST_JACOBI: f32 = 1.98;

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

/// Runs a pass over one plane of one component; what it leaves in its constants.
#[inline(always)]
unsafe fn over<S: Simd, T, const D: usize>(
    level: &Level<D>,
    axis: usize,
    z: usize,
    v: Three<D>,
    with: T,
    band_only: bool,
) -> T
where
    Pass<T, D>: Visit<S, Single>,
{
    let mut pass = Pass { axis, v, with };
    // SAFETY: the caller's promise is passed on.
    unsafe { each_block::<S, Single, D>(level, axis, z, v.x, band_only, &mut pass) };
    pass.with
}

#[inline(always)]
unsafe fn residual_body<S: Simd, const D: usize>(
    level: &Level<D>,
    axis: usize,
    z: usize,
    v: Three<D>,
) {
    // SAFETY: the caller's promise is passed on.
    unsafe { over::<S, _, D>(level, axis, z, v, Residual, false) };
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
        let beta = S::splat(beta);
        over::<S, _, D>(level, axis, z, v, FirstStep { beta }, false);
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
        over::<S, _, D>(level, axis, z, v, with, false);
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
        over::<S, _, D>(level, axis, z, v, with, band_only);
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
        let sum = S::splat_wide(0.0);
        let Apply { sum } = over::<S, _, D>(level, axis, z, v, Apply { sum }, false);
        S::lanes(sum).iter().sum()
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
