//! What a solver needs to know of a matrix.

use crate::vector;

/// A symmetric positive (semi)definite matrix `A`, known by what it does to a vector.
///
/// Solvers ask for `y ← A x` and for the diagonal, never for the entries, so a matrix may be
/// stored ([`Csr`](crate::Csr)), computed on the fly, or be a sum of both.
///
/// Implementations must give the same bits for the same input on any number of threads.
pub trait Operator: Sync {
    /// The number of rows, which is the number of columns.
    fn rows(&self) -> usize;

    /// `y ← A x`. Both slices have [`rows`](Self::rows) entries.
    fn apply(&self, x: &[f64], y: &mut [f64]);

    /// `Aᵢᵢ`.
    fn diagonal(&self, i: usize) -> f64;

    /// `y ← A x`, returning `x·y`.
    ///
    /// Override it where the product can be summed while `y` is still in the cache; the sum
    /// must then be that of [`vector::dot`], so that both ways give the same bits.
    fn apply_dot(&self, x: &[f64], y: &mut [f64]) -> f64 {
        self.apply(x, y);
        vector::dot(x, y)
    }
}
