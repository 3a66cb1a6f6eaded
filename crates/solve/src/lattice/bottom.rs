//! The coarsest level, solved exactly.

use super::level::{EMPTY, Level, UNIFORM};
use super::shape::BLOCK;

/// More unknowns than this are swept instead of factored.
const DENSE: usize = 700;

/// Sweeps, in order and then reversed, where factoring would cost too much.
const SWEEPS: usize = 12;

/// A pivot that cancellation reduced to this share of its diagonal belongs to a component that
/// nothing ties to zero: it is pinned.
const SMALLEST_PIVOT: f64 = 1e-6;

/// Cholesky factors of the coarsest operator.
#[derive(Clone, Debug, Default)]
pub struct Bottom {
    unknowns: Vec<u32>,
    /// Lower triangle by rows, dense.
    factor: Vec<f64>,
    values: Vec<f64>,
    /// Rows for sweeps: diagonal and couplings by position.
    rows: Vec<(f32, Vec<(u32, f32)>)>,
}

impl Bottom {
    /// Factors the operator of a level.
    pub fn prepare<const D: usize>(&mut self, level: &Level<D>) {
        list_unknowns(level, &mut self.unknowns);
        let n = self.unknowns.len();
        self.values.clear();
        self.values.resize(n, 0.0);
        self.rows.clear();
        for &u in &self.unknowns {
            let mut row = Vec::new();
            let mut diagonal = 0.0;
            let zero = level.live_couplings(u, |other, weight| {
                diagonal += weight;
                row.push((other, weight));
            });
            for entry in &mut row {
                let place = self.unknowns.binary_search(&entry.0);
                entry.0 = place.expect("unknowns couple to unknowns") as u32;
            }
            self.rows.push((diagonal + zero, row));
        }
        self.factor.clear();
        if n <= DENSE {
            self.factor_dense(n);
        }
    }

    fn factor_dense(&mut self, n: usize) {
        self.factor.resize(n * n, 0.0);
        for (i, (diagonal, row)) in self.rows.iter().enumerate() {
            self.factor[i * n + i] = f64::from(*diagonal);
            for &(j, weight) in row {
                self.factor[i * n + j as usize] -= f64::from(weight);
            }
        }
        let l = &mut self.factor;
        for i in 0..n {
            for j in 0..=i {
                let dot: f64 = (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum();
                let rest = l[i * n + j] - dot;
                l[i * n + j] = if j < i {
                    rest / l[j * n + j]
                } else if rest > SMALLEST_PIVOT * f64::from(self.rows[i].0) {
                    rest.sqrt()
                } else {
                    f64::INFINITY
                };
            }
        }
    }

    /// `x ← A⁻¹ b` on the level.
    pub fn solve<const D: usize>(&mut self, level: &mut Level<D>) {
        if self.factor.is_empty() {
            self.sweep(level);
            return;
        }
        let n = self.unknowns.len();
        let (l, v) = (&self.factor, &mut self.values);
        for i in 0..n {
            let dot: f64 = (0..i).map(|k| l[i * n + k] * v[k]).sum();
            v[i] = (f64::from(level.b[self.unknowns[i] as usize]) - dot) / l[i * n + i];
        }
        for i in (0..n).rev() {
            let dot: f64 = (i + 1..n).map(|k| l[k * n + i] * v[k]).sum();
            v[i] = (v[i] - dot) / l[i * n + i];
        }
        for (&u, &v) in self.unknowns.iter().zip(v.iter()) {
            level.x[u as usize] = v as f32;
        }
    }

    /// Symmetric Gauss-Seidel from zero.
    fn sweep<const D: usize>(&mut self, level: &mut Level<D>) {
        let v = &mut self.values;
        v.fill(0.0);
        let mut relax = |i: usize| {
            let (diagonal, row) = &self.rows[i];
            if *diagonal > 0.0 {
                let sum: f64 = row
                    .iter()
                    .map(|&(j, weight)| f64::from(weight) * v[j as usize])
                    .sum();
                let b = f64::from(level.b[self.unknowns[i] as usize]);
                v[i] = (b + sum) / f64::from(*diagonal);
            }
        };
        for _ in 0..SWEEPS {
            (0..self.rows.len()).for_each(&mut relax);
            (0..self.rows.len()).rev().for_each(&mut relax);
        }
        for (&u, &v) in self.unknowns.iter().zip(v.iter()) {
            level.x[u as usize] = v as f32;
        }
    }
}

/// The unknowns of a level, ascending.
fn list_unknowns<const D: usize>(level: &Level<D>, unknowns: &mut Vec<u32>) {
    unknowns.clear();
    for segment in &level.segments {
        for k in 0..segment.blocks as usize {
            for lane in 0..BLOCK {
                let there = match segment.stream {
                    UNIFORM => true,
                    EMPTY => false,
                    first => level.stream[first as usize + k].diagonal[lane] > 0.0,
                };
                if there {
                    unknowns.push(segment.index + (k * BLOCK + lane) as u32);
                }
            }
        }
    }
    unknowns.extend((0..level.tails.len()).map(|t| (level.shape.len + t) as u32));
}
