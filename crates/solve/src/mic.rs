//! Incomplete Cholesky factors without fill-in, plain and modified.

use crate::csr::Csr;
use crate::precond::Preconditioner;
use crate::triangular::{Far, Triangle};

/// How far to modify an incomplete factorisation, and when to distrust it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mic0Options {
    /// The share of the dropped fill-in that is moved to the diagonal: 0 gives plain IC(0), 1
    /// keeps row sums exactly. A little less than 1 is best for Poisson problems.
    pub tau: f64,
    /// A pivot below `sigma · Aᵢᵢ` is replaced by `Aᵢᵢ`.
    pub sigma: f64,
}

impl Default for Mic0Options {
    fn default() -> Mic0Options {
        Mic0Options {
            tau: 0.97,
            sigma: 0.25,
        }
    }
}

/// The modified incomplete Cholesky preconditioner MIC(0), `M = (E + L) E⁻¹ (E + Lᵀ)`.
///
/// `L` is the strictly lower triangle of `A` itself and `E` a diagonal, row by row
///
/// ```text
/// Eᵢ = Aᵢᵢ − Σₖ Aᵢₖ²/Eₖ − τ Σₖ Aᵢₖ (Σ_{j>k, j≠i} Aₖⱼ)/Eₖ ,   k < i,
/// ```
///
/// or `Eᵢ = Aᵢᵢ` where this falls below `σ Aᵢᵢ`. The first sum makes `M` agree with `A` on its
/// diagonal; the second moves what `M` has and `A` has not (fill-in) onto the diagonal, so that
/// smooth vectors see almost no difference. With it the iterations to solve a Poisson problem
/// grow like the square root of the grid's width instead of the width, up to sizes where `1 − τ`
/// is felt. It is meant for M-matrices (off-diagonals ≤ 0) in natural order.
///
/// Stored is `M = S⁻¹ (I + T)(I + Tᵀ) S⁻¹` with `S = E^{−½}` and `T = S L S`, so that neither
/// triangular solve divides, and `rᵀM⁻¹r` is the square of the vector between the two.
///
/// Rows whose diagonal is not positive get the pivot 1: the preconditioner stays defined, and
/// it is the solver that finds the matrix indefinite.
#[derive(Clone, Debug)]
pub struct Mic0 {
    options: Mic0Options,
    lower: Triangle,
    upper: Triangle,
    scale: Vec<f32>,
    /// `1/Eᵢ` while factoring.
    inverse_pivot: Vec<f64>,
    /// `Σ_{j>i} Aᵢⱼ` while factoring.
    upper_sum: Vec<f64>,
    /// The vector between the two solves, and the slot of zero behind it.
    work: Vec<f64>,
}

impl Mic0 {
    /// Factors `a`.
    pub fn new(a: &Csr, options: Mic0Options) -> Mic0 {
        let mut mic = Mic0 {
            options,
            lower: Triangle::default(),
            upper: Triangle::default(),
            scale: Vec::new(),
            inverse_pivot: Vec::new(),
            upper_sum: Vec::new(),
            work: Vec::new(),
        };
        mic.refactor(a);
        mic
    }

    /// Factors another matrix, of any size, into the same memory.
    pub fn refactor(&mut self, a: &Csr) {
        let [lower, upper] = self.factor(a);
        self.lay_lower(a, lower);
        self.lay_upper(a, upper);
        self.work.clear();
        self.work.resize(a.rows() + 1, 0.0);
    }

    /// The options this preconditioner was made with.
    pub fn options(&self) -> Mic0Options {
        self.options
    }

    /// Computes the pivots; returns the far entries in either triangle.
    fn factor(&mut self, a: &Csr) -> [Far; 2] {
        let Mic0Options { tau, sigma } = self.options;
        self.inverse_pivot.clear();
        self.upper_sum.clear();
        self.scale.clear();
        self.inverse_pivot.reserve(a.rows());
        self.upper_sum.reserve(a.rows());
        self.scale.reserve(a.rows());
        let mut far = [Far::default(); 2];
        for i in 0..a.rows() {
            let row = Row::of(a, i);
            let mut pivot = row.diagonal;
            for (&k, &value) in row.lower.0.iter().zip(row.lower.1) {
                let k = k as usize;
                let fill = tau * (self.upper_sum[k] - value);
                pivot -= value * (value + fill) * self.inverse_pivot[k];
            }
            // Not `pivot < …`: a NaN must be replaced too.
            if !(pivot > 0.0 && pivot >= sigma * row.diagonal) {
                pivot = if row.diagonal > 0.0 {
                    row.diagonal
                } else {
                    1.0
                };
            }
            let inverse = 1.0 / pivot;
            self.inverse_pivot.push(inverse);
            self.upper_sum.push(row.upper.1.iter().sum());
            self.scale.push(scale_of(inverse));
            far[0].add(row.lower.0.len() - usize::from(row.touches_previous(i)));
            far[1].add(row.upper.0.len() - usize::from(row.touches_next(i)));
        }
        far
    }

    fn lay_lower(&mut self, a: &Csr, far: Far) {
        let Mic0 { lower, scale, .. } = self;
        lower.begin(a.rows(), far);
        for i in 0..a.rows() {
            let row = Row::of(a, i);
            let (adjacent, (columns, values)) = (row.touches_previous(i), row.lower);
            let entry = |k: usize| scaled(values[k], scale, i, columns[k]);
            let far = columns.len() - usize::from(adjacent);
            let near = if adjacent { entry(far) } else { 0.0 };
            lower.push(near, (0..far).map(|k| (columns[k], entry(k))));
        }
    }

    fn lay_upper(&mut self, a: &Csr, far: Far) {
        let Mic0 { upper, scale, .. } = self;
        upper.begin(a.rows(), far);
        for i in (0..a.rows()).rev() {
            let row = Row::of(a, i);
            let (adjacent, (columns, values)) = (row.touches_next(i), row.upper);
            let entry = |k: usize| scaled(values[k], scale, i, columns[k]);
            let far = usize::from(adjacent)..columns.len();
            let near = if adjacent { entry(0) } else { 0.0 };
            // Farthest first: the entry eliminated last is the one to wait for.
            upper.push(near, far.rev().map(|k| (columns[k], entry(k))));
        }
    }
}

impl Preconditioner for Mic0 {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        self.apply_dot(r, z);
    }

    fn apply_dot(&mut self, r: &[f64], z: &mut [f64]) -> f64 {
        assert_eq!(
            r.len(),
            self.scale.len(),
            "residual of another size than the factors"
        );
        assert_eq!(z.len(), r.len(), "result of another size than the residual");
        let product = self.lower.solve_down(&self.scale, r, &mut self.work);
        self.upper.solve_up(&self.scale, &mut self.work, z);
        product
    }

    fn rows(&self) -> Option<usize> {
        Some(self.scale.len())
    }
}

/// One row, cut at the diagonal.
struct Row<'a> {
    lower: (&'a [u32], &'a [f64]),
    diagonal: f64,
    upper: (&'a [u32], &'a [f64]),
}

impl Row<'_> {
    #[inline]
    fn of(a: &Csr, i: usize) -> Row<'_> {
        let (columns, values) = a.row(i);
        let below = columns.iter().take_while(|&&j| (j as usize) < i).count();
        let stored = columns.get(below).is_some_and(|&j| j as usize == i);
        let above = below + usize::from(stored);
        Row {
            lower: (&columns[..below], &values[..below]),
            diagonal: if stored { values[below] } else { 0.0 },
            upper: (&columns[above..], &values[above..]),
        }
    }

    /// Whether row `i` has an entry just left of the diagonal.
    fn touches_previous(&self, i: usize) -> bool {
        self.lower.0.last().is_some_and(|&j| j as usize + 1 == i)
    }

    /// Whether row `i` has an entry just right of the diagonal.
    fn touches_next(&self, i: usize) -> bool {
        self.upper.0.first().is_some_and(|&j| j as usize == i + 1)
    }
}

/// `E^{−½}` from `E⁻¹`, in single precision, kept away from the ends of its range.
fn scale_of(inverse_pivot: f64) -> f32 {
    inverse_pivot
        .sqrt()
        .clamp(f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX)) as f32
}

/// `Sᵢ Aᵢⱼ Sⱼ`, the same bits for `(i, j)` and `(j, i)`.
#[inline]
fn scaled(value: f64, scale: &[f32], i: usize, j: u32) -> f32 {
    (value * (f64::from(scale[i]) * f64::from(scale[j as usize]))) as f32
}
