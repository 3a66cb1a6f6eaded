//! Eight lanes of arithmetic, as AVX2 registers or as plain arrays.
//!
//! Kernels are written once over [`Simd`] and compiled for both; which one runs is decided where
//! a pass begins ([`dispatch`](super::kernel)). The compiler does not turn loops over eight lanes
//! with every other one left alone into vector code by itself. No lane operation fuses a product
//! with a sum, so both kinds round alike and the bits do not depend on the machine.

use super::shape::BLOCK;

/// Eight `f32` or eight `f64` at a time.
///
/// # Safety
/// Methods may be called only where the processor has what the implementor needs, and pointers
/// must be valid for eight values (four for [`load_pairs`](Simd::load_pairs) and
/// [`add_pairs`](Simd::add_pairs)).
#[allow(clippy::missing_safety_doc)] // said once, above
pub trait Simd: Copy {
    /// Eight `f32`.
    type Single: Copy;
    /// Eight `f64`.
    type Double: Copy;

    /// Reads.
    unsafe fn load(p: *const f32) -> Self::Single;
    /// Writes.
    unsafe fn store(p: *mut f32, v: Self::Single);
    /// The same in all lanes.
    unsafe fn splat(v: f32) -> Self::Single;
    /// Sum.
    unsafe fn add(a: Self::Single, b: Self::Single) -> Self::Single;
    /// Difference.
    unsafe fn sub(a: Self::Single, b: Self::Single) -> Self::Single;
    /// Product.
    unsafe fn mul(a: Self::Single, b: Self::Single) -> Self::Single;
    /// `new` in the odd (or even) lanes, `old` in the others.
    unsafe fn blend<const ODD: bool>(old: Self::Single, new: Self::Single) -> Self::Single;
    /// `v` where `key` is positive, zero elsewhere.
    unsafe fn where_positive(key: Self::Single, v: Self::Single) -> Self::Single;
    /// `v` in the lanes whose bit is set, zero elsewhere.
    unsafe fn where_set(bits: u8, v: Self::Single) -> Self::Single;
    /// Quotient.
    unsafe fn div(a: Self::Single, b: Self::Single) -> Self::Single;
    /// Reads the upper halves of eight `f32`.
    unsafe fn load_half(p: *const u16) -> Self::Single;
    /// Four values, each in two neighbouring lanes.
    unsafe fn load_pairs(p: *const f32) -> Self::Single;
    /// Adds the sums of neighbouring lanes to four values.
    unsafe fn add_pairs(p: *mut f32, v: Self::Single);
    /// Sixteen values, every other one from the first and from the second on.
    unsafe fn load_apart(p: *const f32) -> [Self::Single; 2];
    /// The lanes with these numbers.
    unsafe fn permute(v: Self::Single, lanes: [i32; BLOCK]) -> Self::Single;

    /// Reads.
    unsafe fn load_wide(p: *const f64) -> Self::Double;
    /// Writes.
    unsafe fn store_wide(p: *mut f64, v: Self::Double);
    /// The same in all lanes.
    unsafe fn splat_wide(v: f64) -> Self::Double;
    /// To double precision.
    unsafe fn widen(v: Self::Single) -> Self::Double;
    /// To single precision.
    unsafe fn narrow(v: Self::Double) -> Self::Single;
    /// Sum.
    unsafe fn add_wide(a: Self::Double, b: Self::Double) -> Self::Double;
    /// Difference.
    unsafe fn sub_wide(a: Self::Double, b: Self::Double) -> Self::Double;
    /// Product.
    unsafe fn mul_wide(a: Self::Double, b: Self::Double) -> Self::Double;
    /// The larger of a size and the absolute value of `v`; a NaN in `v` is lost.
    unsafe fn max_abs(size: Self::Double, v: Self::Double) -> Self::Double;
    /// The lanes.
    unsafe fn lanes(v: Self::Double) -> [f64; BLOCK];
}

/// Plain arrays.
#[derive(Clone, Copy)]
pub struct Portable;

#[inline(always)]
fn zip<T: Copy>(a: [T; BLOCK], b: [T; BLOCK], f: impl Fn(T, T) -> T) -> [T; BLOCK] {
    let mut out = a;
    for l in 0..BLOCK {
        out[l] = f(a[l], b[l]);
    }
    out
}

impl Simd for Portable {
    type Single = [f32; BLOCK];
    type Double = [f64; BLOCK];

    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self::Single {
        // SAFETY: the caller's promise.
        unsafe { p.cast::<Self::Single>().read() }
    }
    #[inline(always)]
    unsafe fn store(p: *mut f32, v: Self::Single) {
        // SAFETY: the caller's promise.
        unsafe { p.cast::<Self::Single>().write(v) }
    }
    #[inline(always)]
    unsafe fn splat(v: f32) -> Self::Single {
        [v; BLOCK]
    }
    #[inline(always)]
    unsafe fn add(a: Self::Single, b: Self::Single) -> Self::Single {
        zip(a, b, |a, b| a + b)
    }
    #[inline(always)]
    unsafe fn sub(a: Self::Single, b: Self::Single) -> Self::Single {
        zip(a, b, |a, b| a - b)
    }
    #[inline(always)]
    unsafe fn mul(a: Self::Single, b: Self::Single) -> Self::Single {
        zip(a, b, |a, b| a * b)
    }
    #[inline(always)]
    unsafe fn blend<const ODD: bool>(old: Self::Single, new: Self::Single) -> Self::Single {
        let mut out = old;
        for l in (usize::from(ODD)..BLOCK).step_by(2) {
            out[l] = new[l];
        }
        out
    }
    #[inline(always)]
    unsafe fn where_positive(key: Self::Single, v: Self::Single) -> Self::Single {
        zip(key, v, |key, v| if key > 0.0 { v } else { 0.0 })
    }
    #[inline(always)]
    unsafe fn where_set(bits: u8, v: Self::Single) -> Self::Single {
        let mut out = [0.0; BLOCK];
        for l in 0..BLOCK {
            out[l] = if bits >> l & 1 == 1 { v[l] } else { 0.0 };
        }
        out
    }
    #[inline(always)]
    unsafe fn div(a: Self::Single, b: Self::Single) -> Self::Single {
        zip(a, b, |a, b| a / b)
    }
    #[inline(always)]
    unsafe fn load_half(p: *const u16) -> Self::Single {
        // SAFETY: the caller's promise.
        let halves = unsafe { p.cast::<[u16; BLOCK]>().read() };
        halves.map(|half| f32::from_bits(u32::from(half) << 16))
    }
    #[inline(always)]
    unsafe fn load_pairs(p: *const f32) -> Self::Single {
        // SAFETY: the caller's promise.
        let four = unsafe { p.cast::<[f32; 4]>().read() };
        let mut out = [0.0; BLOCK];
        for l in 0..BLOCK {
            out[l] = four[l / 2];
        }
        out
    }
    #[inline(always)]
    unsafe fn add_pairs(p: *mut f32, v: Self::Single) {
        // SAFETY: the caller's promise.
        let four = unsafe { &mut *p.cast::<[f32; 4]>() };
        for l in 0..4 {
            four[l] += v[2 * l] + v[2 * l + 1];
        }
    }
    #[inline(always)]
    unsafe fn load_apart(p: *const f32) -> [Self::Single; 2] {
        // SAFETY: the caller's promise.
        let all = unsafe { p.cast::<[f32; 2 * BLOCK]>().read() };
        [0, 1].map(|odd| std::array::from_fn(|l| all[2 * l + odd]))
    }
    #[inline(always)]
    unsafe fn permute(v: Self::Single, lanes: [i32; BLOCK]) -> Self::Single {
        lanes.map(|lane| v[lane as usize])
    }
    #[inline(always)]
    unsafe fn load_wide(p: *const f64) -> Self::Double {
        // SAFETY: the caller's promise.
        unsafe { p.cast::<Self::Double>().read() }
    }
    #[inline(always)]
    unsafe fn store_wide(p: *mut f64, v: Self::Double) {
        // SAFETY: the caller's promise.
        unsafe { p.cast::<Self::Double>().write(v) }
    }
    #[inline(always)]
    unsafe fn splat_wide(v: f64) -> Self::Double {
        [v; BLOCK]
    }
    #[inline(always)]
    unsafe fn widen(v: Self::Single) -> Self::Double {
        v.map(f64::from)
    }
    #[inline(always)]
    unsafe fn narrow(v: Self::Double) -> Self::Single {
        v.map(|v| v as f32)
    }
    #[inline(always)]
    unsafe fn add_wide(a: Self::Double, b: Self::Double) -> Self::Double {
        zip(a, b, |a, b| a + b)
    }
    #[inline(always)]
    unsafe fn sub_wide(a: Self::Double, b: Self::Double) -> Self::Double {
        zip(a, b, |a, b| a - b)
    }
    #[inline(always)]
    unsafe fn mul_wide(a: Self::Double, b: Self::Double) -> Self::Double {
        zip(a, b, |a, b| a * b)
    }
    #[inline(always)]
    unsafe fn max_abs(size: Self::Double, v: Self::Double) -> Self::Double {
        zip(
            size,
            v,
            |size, v| if v.abs() > size { v.abs() } else { size },
        )
    }
    #[inline(always)]
    unsafe fn lanes(v: Self::Double) -> [f64; BLOCK] {
        v
    }
}

#[cfg(target_arch = "x86_64")]
pub use avx2::Avx2;

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{BLOCK, Simd};
    use std::arch::x86_64::*;

    /// One register of `f32`, two of `f64`.
    #[derive(Clone, Copy)]
    pub struct Avx2;

    /// Eight `f64`.
    #[derive(Clone, Copy)]
    pub struct Pair(__m256d, __m256d);

    // SAFETY of every block below: the trait's contract says that the processor has AVX2 and
    // that the pointers are valid.
    #[allow(clippy::undocumented_unsafe_blocks)]
    impl Simd for Avx2 {
        type Single = __m256;
        type Double = Pair;

        #[inline(always)]
        unsafe fn load(p: *const f32) -> __m256 {
            unsafe { _mm256_loadu_ps(p) }
        }
        #[inline(always)]
        unsafe fn store(p: *mut f32, v: __m256) {
            unsafe { _mm256_storeu_ps(p, v) }
        }
        #[inline(always)]
        unsafe fn splat(v: f32) -> __m256 {
            unsafe { _mm256_set1_ps(v) }
        }
        #[inline(always)]
        unsafe fn add(a: __m256, b: __m256) -> __m256 {
            unsafe { _mm256_add_ps(a, b) }
        }
        #[inline(always)]
        unsafe fn sub(a: __m256, b: __m256) -> __m256 {
            unsafe { _mm256_sub_ps(a, b) }
        }
        #[inline(always)]
        unsafe fn mul(a: __m256, b: __m256) -> __m256 {
            unsafe { _mm256_mul_ps(a, b) }
        }
        #[inline(always)]
        unsafe fn blend<const ODD: bool>(old: __m256, new: __m256) -> __m256 {
            unsafe {
                if ODD {
                    _mm256_blend_ps::<0b1010_1010>(old, new)
                } else {
                    _mm256_blend_ps::<0b0101_0101>(old, new)
                }
            }
        }
        #[inline(always)]
        unsafe fn where_positive(key: __m256, v: __m256) -> __m256 {
            unsafe {
                let positive = _mm256_cmp_ps::<_CMP_GT_OQ>(key, _mm256_setzero_ps());
                _mm256_and_ps(positive, v)
            }
        }
        #[inline(always)]
        unsafe fn where_set(bits: u8, v: __m256) -> __m256 {
            unsafe {
                let lanes = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
                let set = _mm256_and_si256(_mm256_set1_epi32(i32::from(bits)), lanes);
                let set = _mm256_cmpeq_epi32(set, lanes);
                _mm256_and_ps(_mm256_castsi256_ps(set), v)
            }
        }
        #[inline(always)]
        unsafe fn div(a: __m256, b: __m256) -> __m256 {
            unsafe { _mm256_div_ps(a, b) }
        }
        #[inline(always)]
        unsafe fn load_half(p: *const u16) -> __m256 {
            unsafe {
                let halves = _mm256_cvtepu16_epi32(_mm_loadu_si128(p.cast()));
                _mm256_castsi256_ps(_mm256_slli_epi32::<16>(halves))
            }
        }
        #[inline(always)]
        unsafe fn load_pairs(p: *const f32) -> __m256 {
            unsafe {
                let four = _mm256_castps128_ps256(_mm_loadu_ps(p));
                let places = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
                _mm256_permutevar8x32_ps(four, places)
            }
        }
        #[inline(always)]
        unsafe fn add_pairs(p: *mut f32, v: __m256) {
            unsafe {
                let (low, high) = (_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
                let sums = _mm_hadd_ps(low, high);
                _mm_storeu_ps(p, _mm_add_ps(_mm_loadu_ps(p), sums));
            }
        }
        #[inline(always)]
        unsafe fn load_apart(p: *const f32) -> [__m256; 2] {
            unsafe {
                let (low, high) = (_mm256_loadu_ps(p), _mm256_loadu_ps(p.add(BLOCK)));
                // Within halves of registers first, as 0 2 8 10 4 6 12 14, then in order.
                let even = _mm256_shuffle_ps::<0b10_00_10_00>(low, high);
                let odd = _mm256_shuffle_ps::<0b11_01_11_01>(low, high);
                let in_order = _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7);
                [even, odd].map(|v| _mm256_permutevar8x32_ps(v, in_order))
            }
        }
        #[inline(always)]
        unsafe fn permute(v: __m256, lanes: [i32; BLOCK]) -> __m256 {
            unsafe { _mm256_permutevar8x32_ps(v, _mm256_loadu_si256(lanes.as_ptr().cast())) }
        }
        #[inline(always)]
        unsafe fn load_wide(p: *const f64) -> Pair {
            unsafe { Pair(_mm256_loadu_pd(p), _mm256_loadu_pd(p.add(4))) }
        }
        #[inline(always)]
        unsafe fn store_wide(p: *mut f64, v: Pair) {
            unsafe {
                _mm256_storeu_pd(p, v.0);
                _mm256_storeu_pd(p.add(4), v.1);
            }
        }
        #[inline(always)]
        unsafe fn splat_wide(v: f64) -> Pair {
            unsafe { Pair(_mm256_set1_pd(v), _mm256_set1_pd(v)) }
        }
        #[inline(always)]
        unsafe fn widen(v: __m256) -> Pair {
            unsafe {
                let (low, high) = (_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
                Pair(_mm256_cvtps_pd(low), _mm256_cvtps_pd(high))
            }
        }
        #[inline(always)]
        unsafe fn narrow(v: Pair) -> __m256 {
            unsafe { _mm256_set_m128(_mm256_cvtpd_ps(v.1), _mm256_cvtpd_ps(v.0)) }
        }
        #[inline(always)]
        unsafe fn add_wide(a: Pair, b: Pair) -> Pair {
            unsafe { Pair(_mm256_add_pd(a.0, b.0), _mm256_add_pd(a.1, b.1)) }
        }
        #[inline(always)]
        unsafe fn sub_wide(a: Pair, b: Pair) -> Pair {
            unsafe { Pair(_mm256_sub_pd(a.0, b.0), _mm256_sub_pd(a.1, b.1)) }
        }
        #[inline(always)]
        unsafe fn mul_wide(a: Pair, b: Pair) -> Pair {
            unsafe { Pair(_mm256_mul_pd(a.0, b.0), _mm256_mul_pd(a.1, b.1)) }
        }
        #[inline(always)]
        unsafe fn max_abs(size: Pair, v: Pair) -> Pair {
            unsafe {
                let sign = _mm256_set1_pd(-0.0);
                // The second operand wins where the comparison fails, as for a NaN in the first.
                let larger = |v, size| _mm256_max_pd(_mm256_andnot_pd(sign, v), size);
                Pair(larger(v.0, size.0), larger(v.1, size.1))
            }
        }
        #[inline(always)]
        unsafe fn lanes(v: Pair) -> [f64; BLOCK] {
            let mut out = [0.0; BLOCK];
            unsafe { Self::store_wide(out.as_mut_ptr(), v) };
            out
        }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// Runs every operation and returns all bits.
    unsafe fn everything<S: Simd>() -> (Vec<u32>, Vec<u64>) {
        let a: [f32; 8] = [1.5, -2.0, 0.3, f32::MIN_POSITIVE, 0.0, -0.7, 9e7, 3.3];
        let b: [f32; 8] = [0.1, 7.0, -1e-3, 2.0, 5.0, -0.0, 1e-7, 0.5];
        let w: [f64; 8] = [1.0, -3.5, 0.1, 1e-300, -1e10, 0.7, 2.2, -0.0];
        let (mut single, mut double) = (Vec::new(), Vec::new());
        // SAFETY: the caller has the processor for it; arrays have eight entries.
        unsafe {
            let (x, y) = (S::load(a.as_ptr()), S::load(b.as_ptr()));
            let mut keep = |v: S::Single| {
                let mut out = [0.0f32; 8];
                S::store(out.as_mut_ptr(), v);
                single.extend(out.map(f32::to_bits));
            };
            keep(S::add(x, y));
            keep(S::sub(x, y));
            keep(S::mul(x, S::splat(1.1)));
            keep(S::blend::<true>(x, y));
            keep(S::blend::<false>(x, y));
            keep(S::where_positive(y, x));
            keep(S::where_set(0b1010_0111, x));
            keep(S::div(x, S::splat(0.7)));
            let halves = [0x3f80_u16, 0, 0xbf00, 0x4049, 1, 0x7f00, 0x8000, 0x3eaa];
            keep(S::load_half(halves.as_ptr()));
            keep(S::load_pairs(b.as_ptr()));
            let mut four = [0.25f32, 0.5, 1.0, 2.0];
            S::add_pairs(four.as_mut_ptr(), x);
            keep(S::load_pairs(four.as_ptr()));
            let sixteen: [f32; 16] = std::array::from_fn(|k| a[k % 8] + k as f32);
            let [even, odd] = S::load_apart(sixteen.as_ptr());
            keep(even);
            keep(odd);
            keep(S::permute(x, [1, 7, 2, 2, 0, 3, 4, 5]));
            let wide = S::load_wide(w.as_ptr());
            keep(S::narrow(wide));
            let x = S::widen(x);
            let factor = S::splat_wide(0.3);
            let results = [
                S::add_wide(x, wide),
                S::sub_wide(x, wide),
                S::mul_wide(wide, factor),
                S::max_abs(factor, wide),
            ];
            for v in results {
                double.extend(S::lanes(v).map(f64::to_bits));
            }
        }
        (single, double)
    }

    #[test]
    fn both_kinds_give_the_same_bits() {
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: AVX2 is there.
            let (wide, plain) = unsafe { (everything::<Avx2>(), everything::<Portable>()) };
            assert_eq!(wide, plain);
        }
    }
}
