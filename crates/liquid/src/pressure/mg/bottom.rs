//! The coarsest level: small enough to solve outright.

use plash_grid::axes;

use super::level::Level;

/// More unknowns than this are swept, not factored.
const DIRECT_LIMIT: usize = 300;

/// Sweeps of a coarsest level too large to factor. It is that large only if the next level
/// has no liquid left, that is where air is near everywhere and sweeps do well.
const SWEEPS: usize = 40;

/// A pivot this small beside its diagonal entry is zero but for rounding.
const ZERO_PIVOT: f64 = 1e-10;

/// A dense Cholesky factor of the coarsest matrix, `A = L Lᵀ`.
#[derive(Default)]
pub(super) struct Bottom {
    /// Memory index of each unknown.
    cells: Vec<usize>,
    /// Rows of `L`, each up to its diagonal; a zero there marks an unknown held at zero.
    factor: Vec<f64>,
    x: Vec<f64>,
}

/// Where row `i` of a packed lower triangle starts.
fn start(i: usize) -> usize {
    i * (i + 1) / 2
}

impl Bottom {
    /// Factors the matrix of a level, unless it is too large.
    pub fn prepare<const D: usize>(&mut self, level: &Level<D>) {
        self.cells.clear();
        self.factor.clear();
        if level.unknowns > DIRECT_LIMIT {
            return;
        }
        self.cells.extend(level.unknown_cells());
        self.factor.resize(start(self.cells.len()), 0.0);
        let strides = level.grid.layout().strides();
        for (i, &cell) in self.cells.iter().enumerate() {
            let row = &mut self.factor[start(i)..start(i + 1)];
            row[i] = level.diagonal.as_slice()[cell];
            for axis in axes::<D>() {
                let w = level.coupling_below(axis, cell);
                if w > 0.0
                    && let Ok(j) = self.cells.binary_search(&(cell - strides[axis.0]))
                {
                    row[j] = -w;
                }
            }
        }
        self.factorise();
    }

    /// A body without air has a singular matrix, and the last of its pivots is zero. That
    /// unknown is held at zero: any constant will do.
    fn factorise(&mut self) {
        for i in 0..self.cells.len() {
            let (above, row) = self.factor.split_at_mut(start(i));
            let row = &mut row[..=i];
            for j in 0..i {
                let other = &above[start(j)..=start(j) + j];
                let sum: f64 = row[..j].iter().zip(other).map(|(a, b)| a * b).sum();
                row[j] = if other[j] > 0.0 {
                    (row[j] - sum) / other[j]
                } else {
                    0.0
                };
            }
            let squares: f64 = row[..i].iter().map(|a| a * a).sum();
            let pivot = row[i] - squares;
            row[i] = if pivot > ZERO_PIVOT * row[i] {
                pivot.sqrt()
            } else {
                0.0
            };
        }
    }

    /// Solves on the coarsest level.
    pub fn solve<const D: usize>(&mut self, level: &mut Level<D>) {
        if self.cells.is_empty() {
            level.sweep(SWEEPS);
            return;
        }
        let n = self.cells.len();
        let rhs = level.rhs.as_slice();
        self.x.clear();
        self.x.extend(self.cells.iter().map(|&cell| rhs[cell]));
        for i in 0..n {
            let row = &self.factor[start(i)..=start(i) + i];
            let sum: f64 = row[..i].iter().zip(&self.x).map(|(l, x)| l * x).sum();
            self.x[i] = divide(self.x[i] - sum, row[i]);
        }
        for i in (0..n).rev() {
            let row = &self.factor[start(i)..=start(i) + i];
            let x = divide(self.x[i], row[i]);
            self.x[i] = x;
            for (value, l) in self.x[..i].iter_mut().zip(row) {
                *value -= l * x;
            }
        }
        for (&cell, &x) in self.cells.iter().zip(&self.x) {
            level.set_value(cell, x);
        }
    }
}

/// `a / pivot`, zero for the zero pivot of an unknown that is held.
fn divide(a: f64, pivot: f64) -> f64 {
    if pivot > 0.0 { a / pivot } else { 0.0 }
}
