//! Vector operations whose result does not depend on the number of threads.
//!
//! A vector is cut into chunks of [`CHUNK`] entries. Chunks are halved like a binary tree whose
//! shape depends on the length alone, every leaf sums its own chunk, and every branch adds left
//! and right: the threads only decide who does the work, never the order of the additions.
//! Nothing is allocated. Vectors shorter than [`SERIAL_BELOW`] stay on the calling thread, over
//! the same tree.
//!
//! The parallel operations use the rayon pool they are called in; call them from inside one
//! (`pool.install(..)`), since entering a pool from outside costs a hand-over per call.

use std::ops::Range;

/// Entries per leaf of the summation tree.
pub const CHUNK: usize = 4096;

/// Vectors shorter than this are not worth waking another thread.
pub const SERIAL_BELOW: usize = 16_384;

/// Independent running sums within a chunk, so that the compiler may use vector registers.
const LANES: usize = 8;

/// `Σ xᵢ yᵢ`.
///
/// # Panics
/// If the lengths differ.
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    assert_eq!(x.len(), y.len(), "dot of vectors of unequal length");
    fold((x, y), &|(x, y)| chunk_dot(x, y), &|a, b| a + b)
}

/// `Σ xᵢ`.
pub fn sum(x: &[f64]) -> f64 {
    fold(x, &chunk_sum, &|a, b| a + b)
}

/// `max |xᵢ|`, or NaN if any entry is infinite or NaN. Zero for an empty vector.
pub fn max_norm(x: &[f64]) -> f64 {
    fold(x, &chunk_max_norm, &max_or_nan)
}

/// `y ← y + a x`.
///
/// # Panics
/// If the lengths differ.
pub fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    assert_eq!(x.len(), y.len(), "axpy of vectors of unequal length");
    let leaf = |(x, y): (&[f64], &mut [f64])| {
        for (y, x) in y.iter_mut().zip(x) {
            *y += a * x;
        }
    };
    fold((x, y), &leaf, &|(), ()| ());
}

/// `x ← x + a`.
pub(crate) fn shift(a: f64, x: &mut [f64]) {
    let leaf = |x: &mut [f64]| x.iter_mut().for_each(|x| *x += a);
    fold(x, &leaf, &|(), ()| ());
}

/// `p ← z + beta p`, the new search direction of conjugate gradients.
pub(crate) fn direct(z: &[f64], beta: f64, p: &mut [f64]) {
    let leaf = |(z, p): (&[f64], &mut [f64])| {
        for (p, z) in p.iter_mut().zip(z) {
            *p = z + beta * *p;
        }
    };
    fold((z, p), &leaf, &|(), ()| ());
}

/// `x ← x + alpha p`, `r ← r − alpha q`, returning `max |rᵢ|` (or NaN), in one pass.
pub(crate) fn advance(alpha: f64, p: &[f64], q: &[f64], x: &mut [f64], r: &mut [f64]) -> f64 {
    let leaf = |((p, q), (x, r)): Advance<'_>| {
        for (x, p) in x.iter_mut().zip(p) {
            *x += alpha * p;
        }
        for (r, q) in r.iter_mut().zip(q) {
            *r -= alpha * q;
        }
        chunk_max_norm(r)
    };
    fold(((p, q), (x, r)), &leaf, &max_or_nan)
}

type Advance<'a> = ((&'a [f64], &'a [f64]), (&'a mut [f64], &'a mut [f64]));

/// `r ← b − r`, returning `max |rᵢ|` (or NaN).
pub(crate) fn subtract_from(b: &[f64], r: &mut [f64]) -> f64 {
    let leaf = |(b, r): (&[f64], &mut [f64])| {
        for (r, b) in r.iter_mut().zip(b) {
            *r = b - *r;
        }
        chunk_max_norm(r)
    };
    fold((b, r), &leaf, &max_or_nan)
}

/// Something that can be cut in two, entry by entry, as slices can.
pub(crate) trait Split: Send + Sized {
    fn len(&self) -> usize;
    fn split(self, at: usize) -> (Self, Self);
}

impl Split for &[f64] {
    fn len(&self) -> usize {
        <[f64]>::len(self)
    }
    fn split(self, at: usize) -> (Self, Self) {
        self.split_at(at)
    }
}

impl Split for &mut [f64] {
    fn len(&self) -> usize {
        <[f64]>::len(self)
    }
    fn split(self, at: usize) -> (Self, Self) {
        self.split_at_mut(at)
    }
}

impl Split for Range<usize> {
    fn len(&self) -> usize {
        ExactSizeIterator::len(self)
    }
    fn split(self, at: usize) -> (Self, Self) {
        let middle = self.start + at;
        (self.start..middle, middle..self.end)
    }
}

impl<A: Split, B: Split> Split for (A, B) {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn split(self, at: usize) -> (Self, Self) {
        let (a, a_rest) = self.0.split(at);
        let (b, b_rest) = self.1.split(at);
        ((a, b), (a_rest, b_rest))
    }
}

/// Folds `leaf` over the chunks of `part` along the fixed tree, in parallel when long enough.
pub(crate) fn fold<P, R, L, C>(part: P, leaf: &L, combine: &C) -> R
where
    P: Split,
    R: Send,
    L: Fn(P) -> R + Sync,
    C: Fn(R, R) -> R + Sync,
{
    let parallel = part.len() >= SERIAL_BELOW && rayon::current_num_threads() > 1;
    fold_tree(part, leaf, combine, parallel)
}

fn fold_tree<P, R, L, C>(part: P, leaf: &L, combine: &C, parallel: bool) -> R
where
    P: Split,
    R: Send,
    L: Fn(P) -> R + Sync,
    C: Fn(R, R) -> R + Sync,
{
    let chunks = part.len().div_ceil(CHUNK);
    if chunks <= 1 {
        return leaf(part);
    }
    let (left, right) = part.split(chunks / 2 * CHUNK);
    let (left, right) = if parallel {
        rayon::join(
            || fold_tree(left, leaf, combine, true),
            || fold_tree(right, leaf, combine, true),
        )
    } else {
        (
            fold_tree(left, leaf, combine, false),
            fold_tree(right, leaf, combine, false),
        )
    };
    combine(left, right)
}

/// The greater of two norms; NaN wins over everything.
pub(crate) fn max_or_nan(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

/// `Σ xᵢ yᵢ` of one chunk: the order of additions that every fused product must keep.
pub(crate) fn chunk_dot(x: &[f64], y: &[f64]) -> f64 {
    let (x_lanes, x_rest) = x.as_chunks::<LANES>();
    let (y_lanes, y_rest) = y.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for (x, y) in x_lanes.iter().zip(y_lanes) {
        for k in 0..LANES {
            sums[k] += x[k] * y[k];
        }
    }
    let rest: f64 = x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f64>() + rest
}

fn chunk_sum(x: &[f64]) -> f64 {
    let (lanes, rest) = x.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for x in lanes {
        for k in 0..LANES {
            sums[k] += x[k];
        }
    }
    sums.iter().sum::<f64>() + rest.iter().sum::<f64>()
}

fn chunk_max_norm(x: &[f64]) -> f64 {
    let (lanes, rest) = x.as_chunks::<LANES>();
    let mut largest = [0.0_f64; LANES];
    // `0·x` is zero for finite `x` and NaN otherwise: a comparison alone would lose NaNs.
    let mut poison = [0.0_f64; LANES];
    for x in lanes {
        for k in 0..LANES {
            let size = x[k].abs();
            largest[k] = if size > largest[k] { size } else { largest[k] };
            poison[k] += 0.0 * x[k];
        }
    }
    let mut norm = 0.0_f64;
    for x in largest.iter().chain(rest) {
        norm = norm.max(x.abs());
    }
    let poison = poison.iter().sum::<f64>() + rest.iter().map(|x| 0.0 * x).sum::<f64>();
    norm + poison
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(n: usize, seed: u64) -> Vec<f64> {
        let mut state = seed;
        (0..n)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
            })
            .collect()
    }

    #[test]
    fn sums_agree_with_the_plain_loop() {
        for n in [0, 1, 7, 8, CHUNK, CHUNK + 1, 5 * CHUNK + 3] {
            let (x, y) = (noise(n, 1), noise(n, 2));
            let plain: f64 = x.iter().zip(&y).map(|(a, b)| a * b).sum();
            assert!((dot(&x, &y) - plain).abs() <= 1e-12 * (1.0 + n as f64));
            assert!((sum(&x) - x.iter().sum::<f64>()).abs() <= 1e-12 * (1.0 + n as f64));
            let largest = x.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            assert_eq!(max_norm(&x), largest);
        }
    }

    #[test]
    fn bits_are_equal_for_one_two_and_five_threads() {
        let n = 9 * CHUNK + 17;
        let (x, y) = (noise(n, 3), noise(n, 4));
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .expect("a small pool");
            pool.install(|| {
                let mut v = y.clone();
                axpy(0.3, &x, &mut v);
                (
                    dot(&x, &v).to_bits(),
                    sum(&v).to_bits(),
                    max_norm(&v).to_bits(),
                )
            })
        };
        assert_eq!(run(1), run(2));
        assert_eq!(run(1), run(5));
    }

    #[test]
    fn one_bad_entry_makes_the_norm_nan() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for at in [0, 3, 8 * 511, 3 * CHUNK + 1, 4 * CHUNK + 4] {
                let mut x = noise(4 * CHUNK + 5, 5);
                x[at] = bad;
                assert!(max_norm(&x).is_nan(), "{bad} at {at} was lost");
            }
        }
    }

    #[test]
    fn fused_passes_do_what_they_say() {
        let n = CHUNK + 100;
        let (p, q, b) = (noise(n, 6), noise(n, 7), noise(n, 8));
        let (mut x, mut r) = (noise(n, 9), noise(n, 10));
        let (x0, r0) = (x.clone(), r.clone());
        let norm = advance(0.7, &p, &q, &mut x, &mut r);
        assert_eq!(norm, max_norm(&r));
        for i in 0..n {
            assert_eq!(x[i], x0[i] + 0.7 * p[i]);
            assert_eq!(r[i], r0[i] - 0.7 * q[i]);
        }
        let before = r.clone();
        let norm = subtract_from(&b, &mut r);
        assert_eq!(norm, max_norm(&r));
        assert!((0..n).all(|i| r[i] == b[i] - before[i]));
    }
}
