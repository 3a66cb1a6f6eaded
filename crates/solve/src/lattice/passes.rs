//! The passes of conjugate gradients over one plane: residual and iterate in double precision,
//! search direction in single.

use super::kernel::dispatch;
use super::level::{Level, UNIFORM};
use super::matrix::{BlockRows, LatticeMatrix};
use super::shape::{BLOCK, slots};
#[cfg(target_arch = "x86_64")]
use super::simd::Avx2;
use super::simd::{Portable, Simd};

/// A vector that passes read as double precision, whatever it is stored in.
trait Source: Copy {
    /// Eight values at an index.
    unsafe fn at<S: Simd>(self, index: usize) -> S::Double;
}

impl Source for *const f32 {
    #[inline(always)]
    unsafe fn at<S: Simd>(self, index: usize) -> S::Double {
        // SAFETY: the caller's promise.
        unsafe { S::widen(S::load(self.add(index))) }
    }
}

impl Source for *const f64 {
    #[inline(always)]
    unsafe fn at<S: Simd>(self, index: usize) -> S::Double {
        // SAFETY: the caller's promise.
        unsafe { S::load_wide(self.add(index)) }
    }
}

/// `A x` of one block.
///
/// # Safety
/// The block lies on the lattice; `x` is a vector of it.
#[inline(always)]
unsafe fn product<S: Simd, const D: usize, X: Source>(
    a: &LatticeMatrix<D>,
    x: X,
    index: usize,
    rows: Option<&BlockRows<D>>,
) -> S::Double {
    // SAFETY: the block's neighbours are in memory.
    unsafe {
        let own = x.at::<S>(index);
        let Some(rows) = rows else {
            let mut sum = S::splat_wide(0.0);
            for axis in slots::<D>() {
                let stride = a.shape.strides[axis];
                let pair = S::add_wide(x.at::<S>(index - stride), x.at::<S>(index + stride));
                sum = S::add_wide(sum, pair);
            }
            let diagonal = S::mul_wide(S::splat_wide((2 * D) as f64), own);
            return S::mul_wide(S::splat_wide(a.weight), S::sub_wide(diagonal, sum));
        };
        let mut out = S::mul_wide(S::load_wide(rows.diagonal.as_ptr()), own);
        for (k, axis) in slots::<D>().into_iter().enumerate() {
            let stride = a.shape.strides[axis];
            let (low, high) = (rows.low[k].as_ptr(), rows.high[k].as_ptr());
            let low = S::mul_wide(S::load_wide(low), x.at::<S>(index - stride));
            let high = S::mul_wide(S::load_wide(high), x.at::<S>(index + stride));
            out = S::sub_wide(out, S::add_wide(low, high));
        }
        out
    }
}

/// The lanes that are part of the problem, zero in the others. Uniform blocks are whole.
///
/// # Safety
/// As for all of [`Simd`].
#[inline(always)]
unsafe fn taking_part<S: Simd, const D: usize>(
    level: &Level<D>,
    rows: Option<&BlockRows<D>>,
    place: usize,
    v: S::Single,
) -> S::Single {
    match rows {
        None => v,
        // SAFETY: the caller's promise.
        Some(_) => unsafe { S::where_set(level.present[place], v) },
    }
}

/// Runs a body for every block of a plane, with its index, its rows unless they are uniform, and
/// its place in the stream. A macro, because a closure would not be compiled for AVX2.
macro_rules! for_blocks {
    ($a:expr, $plane:expr, |$index:ident, $rows:ident, $place:ident| $body:block) => {
        for segment in $a.plane($plane) {
            let start = segment.index as usize;
            if segment.stream == UNIFORM {
                for k in 0..segment.blocks as usize {
                    let ($index, $rows, $place) = (start + k * BLOCK, None, 0);
                    $body
                }
            } else {
                for k in 0..segment.blocks as usize {
                    let $place = segment.stream as usize + k;
                    let ($index, $rows) = (start + k * BLOCK, Some(&$a.rows[$place]));
                    $body
                }
            }
        }
    };
}

/// The sum of eight lanes, always in this order.
#[inline(always)]
unsafe fn add_up<S: Simd>(sums: S::Double) -> f64 {
    // SAFETY: the caller's promise.
    let s = unsafe { S::lanes(sums) };
    ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
}

#[inline(always)]
unsafe fn dot_body<S: Simd, const D: usize>(
    a: &LatticeMatrix<D>,
    r: *const f32,
    z: *const f32,
    plane: usize,
) -> f64 {
    // SAFETY: segments lie on the lattice.
    unsafe {
        let mut sums = S::splat_wide(0.0);
        for segment in a.plane(plane) {
            for k in 0..segment.blocks as usize {
                let index = segment.index as usize + k * BLOCK;
                let product = S::mul_wide(r.at::<S>(index), z.at::<S>(index));
                sums = S::add_wide(sums, product);
            }
        }
        add_up::<S>(sums)
    }
}

dispatch! {
    /// `r · z` over a plane.
    ///
    /// # Safety
    /// Both are vectors of the lattice.
    pub unsafe fn dot<D>(a: &LatticeMatrix<D>, r: *const f32, z: *const f32, plane: usize) -> f64 = dot_body
}

#[inline(always)]
unsafe fn direct_body<S: Simd, const D: usize>(
    a: &LatticeMatrix<D>,
    z: *const f32,
    beta: f32,
    p: *mut f32,
    plane: usize,
) {
    // SAFETY: segments lie on the lattice; the caller owns the plane of `p`.
    unsafe {
        let beta = S::splat(beta);
        for segment in a.plane(plane) {
            for k in 0..segment.blocks as usize {
                let index = segment.index as usize + k * BLOCK;
                let old = S::mul(beta, S::load(p.add(index)));
                S::store(p.add(index), S::add(S::load(z.add(index)), old));
            }
        }
    }
}

dispatch! {
    /// `p ← z + β p` on a plane.
    ///
    /// # Safety
    /// Both are vectors of the lattice; nobody else touches this plane of `p`.
    pub unsafe fn direct<D>(a: &LatticeMatrix<D>, z: *const f32, beta: f32, p: *mut f32, plane: usize) = direct_body
}

/// `A p` where it is not worth computing twice: by place in the stream.
pub type Kept = [f64; BLOCK];

#[inline(always)]
unsafe fn curvature_body<S: Simd, const D: usize>(
    a: &LatticeMatrix<D>,
    p: *const f32,
    kept: *mut Kept,
    plane: usize,
) -> f64 {
    // SAFETY: segments lie on the lattice; each block of the stream belongs to one plane.
    unsafe {
        let mut sums = S::splat_wide(0.0);
        for_blocks!(a, plane, |index, rows, place| {
            let q = product::<S, D, _>(a, p, index, rows);
            if rows.is_some() {
                S::store_wide(kept.add(place).cast(), q);
            }
            // Where nothing takes part, `p` is zero.
            sums = S::add_wide(sums, S::mul_wide(p.at::<S>(index), q));
        });
        add_up::<S>(sums)
    }
}

dispatch! {
    /// `p · A p` over a plane, keeping the product where the matrix had to be read for it.
    ///
    /// # Safety
    /// `p` is a vector of the lattice, zero where nothing takes part; `kept` has room for the
    /// stream, and nobody else touches what belongs to this plane.
    pub unsafe fn curvature<D>(a: &LatticeMatrix<D>, p: *const f32, kept: *mut Kept, plane: usize) -> f64 = curvature_body
}

/// Where [`advance`] and [`residual`] write.
#[derive(Clone, Copy)]
pub struct Iterate {
    /// The solution.
    pub x: *mut f64,
    /// The residual times `scale`: the right-hand side of the next cycle.
    pub r: *mut f32,
    /// What brings residuals near one.
    pub scale: f64,
}

// SAFETY: plain addresses; every use says which part of the memory it touches.
unsafe impl Sync for Iterate {}
// SAFETY: as above.
unsafe impl Send for Iterate {}

/// The largest entry of a residual, or NaN if any entry is not finite.
#[derive(Clone, Copy)]
struct Size<S: Simd> {
    largest: S::Double,
    /// `0·r` is zero for finite `r`: a comparison alone would lose a NaN.
    poison: S::Double,
}

impl<S: Simd> Size<S> {
    #[inline(always)]
    unsafe fn new() -> Self {
        // SAFETY: the caller's promise.
        let zero = unsafe { S::splat_wide(0.0) };
        Size {
            largest: zero,
            poison: zero,
        }
    }

    #[inline(always)]
    unsafe fn note(&mut self, r: S::Double) {
        // SAFETY: the caller's promise.
        unsafe {
            self.largest = S::max_abs(self.largest, r);
            let nothing = S::mul_wide(S::splat_wide(0.0), r);
            self.poison = S::add_wide(self.poison, nothing);
        }
    }

    #[inline(always)]
    unsafe fn get(self) -> f64 {
        // SAFETY: the caller's promise.
        let (largest, poison) = unsafe { (S::lanes(self.largest), S::lanes(self.poison)) };
        let mut size: f64 = 0.0;
        for l in 0..BLOCK {
            size = size.max(largest[l]);
        }
        size + poison.iter().sum::<f64>()
    }
}

#[inline(always)]
unsafe fn advance_body<S: Simd, const D: usize>(
    a: &LatticeMatrix<D>,
    level: &Level<D>,
    alpha: f64,
    p: *const f32,
    kept: *const Kept,
    to: Iterate,
    plane: usize,
) -> f64 {
    // SAFETY: segments lie on the lattice; the caller owns the plane of `x` and `r`.
    unsafe {
        let (step, fall) = (S::splat_wide(alpha), S::splat_wide(alpha * to.scale));
        let mut size = Size::<S>::new();
        for_blocks!(a, plane, |index, rows, place| {
            let q = match rows {
                None => product::<S, D, _>(a, p, index, rows),
                Some(_) => S::load_wide(kept.add(place).cast()),
            };
            let x = S::load_wide(to.x.add(index));
            let change = S::mul_wide(step, p.at::<S>(index));
            S::store_wide(to.x.add(index), S::add_wide(x, change));
            let r = to.r.cast_const().at::<S>(index);
            let r = S::narrow(S::sub_wide(r, S::mul_wide(fall, q)));
            let r = taking_part::<S, D>(level, rows, place, r);
            S::store(to.r.add(index), r);
            size.note(S::widen(r));
        });
        size.get() / to.scale
    }
}

dispatch! {
    /// `x ← x + α p`, `r ← r − α A p` on a plane, returning `max|r|`. `kept` is what
    /// [`curvature`] kept.
    ///
    /// # Safety
    /// All are vectors of the lattice; nobody else touches this plane of `to`.
    pub unsafe fn advance<D>(a: &LatticeMatrix<D>, level: &Level<D>, alpha: f64, p: *const f32, kept: *const Kept, to: Iterate, plane: usize) -> f64 = advance_body
}

#[inline(always)]
unsafe fn residual_body<S: Simd, const D: usize>(
    a: &LatticeMatrix<D>,
    level: &Level<D>,
    b: *const f64,
    to: Iterate,
    plane: usize,
) -> f64 {
    // SAFETY: segments lie on the lattice; the caller owns the plane of `r`.
    unsafe {
        let (scale, back) = (S::splat_wide(to.scale), S::splat_wide(1.0 / to.scale));
        let mut size = Size::<S>::new();
        for_blocks!(a, plane, |index, rows, place| {
            let q = product::<S, D, _>(a, to.x.cast_const(), index, rows);
            let r = S::sub_wide(S::load_wide(b.add(index)), q);
            let r = S::narrow(S::mul_wide(scale, r));
            let r = taking_part::<S, D>(level, rows, place, r);
            S::store(to.r.add(index), r);
            size.note(S::mul_wide(back, S::widen(r)));
        });
        size.get()
    }
}

dispatch! {
    /// `r ← b − A x` on a plane, returning `max|r|`.
    ///
    /// # Safety
    /// All are vectors of the lattice; nobody else touches this plane of `to.r`.
    pub unsafe fn residual<D>(a: &LatticeMatrix<D>, level: &Level<D>, b: *const f64, to: Iterate, plane: usize) -> f64 = residual_body
}
