//! The coarsest level, solved exactly.

use crate::csr::Csr;

/// A pivot below this share of its diagonal entry is zero but for rounding.
const SINGULAR: f64 = 1e-11;

/// A dense Cholesky factorisation `A = L Lᵀ` that fixes at zero one unknown of each component on
/// which `A` is singular. That is a symmetric generalised inverse, exact for every right-hand
/// side that has a solution.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cholesky {
    rows: usize,
    /// `L` by rows, with the inverses of its diagonal on the diagonal.
    l: Vec<f64>,
}

impl Cholesky {
    /// Factors `a` without the rows and columns that are `held`.
    pub fn factor(&mut self, a: &Csr, held: &[bool]) {
        let n = a.rows();
        self.rows = n;
        self.l.clear();
        self.l.resize(n * n, 0.0);
        let is_held = |i: usize| !held.is_empty() && held[i];
        for i in (0..n).filter(|&i| !is_held(i)) {
            let (columns, values) = a.row(i);
            for (&j, &value) in columns.iter().zip(values) {
                if j as usize <= i && !is_held(j as usize) {
                    self.l[i * n + j as usize] = value;
                }
            }
        }
        for i in 0..n {
            let diagonal = self.l[i * n + i];
            for j in 0..=i {
                let (above, below) = self.l.split_at(i * n);
                let row_i = &below[..j];
                let row_j = if j < i {
                    &above[j * n..j * n + j]
                } else {
                    row_i
                };
                let sum: f64 = row_i.iter().zip(row_j).map(|(a, b)| a * b).sum();
                let rest = below[j] - sum;
                self.l[i * n + j] = if j < i {
                    rest * above[j * n + j]
                } else if rest > SINGULAR * diagonal {
                    1.0 / rest.sqrt()
                } else {
                    0.0
                };
            }
        }
    }

    /// `x ← A⁻¹ b`.
    pub fn solve(&self, b: &[f64], x: &mut [f64]) {
        let n = self.rows;
        for i in 0..n {
            let row = &self.l[i * n..i * n + i];
            let sum: f64 = row.iter().zip(&x[..i]).map(|(l, x)| l * x).sum();
            x[i] = (b[i] - sum) * self.l[i * n + i];
        }
        for i in (0..n).rev() {
            x[i] *= self.l[i * n + i];
            let value = x[i];
            let row = &self.l[i * n..i * n + i];
            for (x, l) in x[..i].iter_mut().zip(row) {
                *x -= l * value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::Operator;

    fn string(open: bool) -> Csr {
        let end = if open { 2.0 } else { 1.0 };
        Csr::new(
            vec![0, 2, 5, 8, 10],
            vec![0, 1, 0, 1, 2, 1, 2, 3, 2, 3],
            vec![end, -1., -1., 2., -1., -1., 2., -1., -1., 1.],
        )
        .expect("a matrix")
    }

    #[test]
    fn regular_systems_are_solved_and_singular_ones_up_to_a_constant() {
        for (open, b) in [
            (true, [1.0, 2.0, -1.0, 4.0]),
            (false, [1.0, 2.0, -1.0, -2.0]),
        ] {
            let a = string(open);
            let mut cholesky = Cholesky::default();
            cholesky.factor(&a, &[]);
            let (mut x, mut y) = ([0.0; 4], [0.0; 4]);
            cholesky.solve(&b, &mut x);
            a.apply(&x, &mut y);
            assert!(y.iter().zip(b).all(|(y, b)| (y - b).abs() < 1e-12), "{y:?}");
        }
    }

    #[test]
    fn held_unknowns_stay_zero_and_the_rest_is_solved_without_them() {
        let mut cholesky = Cholesky::default();
        cholesky.factor(&string(true), &[false, false, true, false]);
        let mut x = [9.0; 4];
        cholesky.solve(&[3.0, 0.0, 7.0, 5.0], &mut x);
        let exact = [2.0, 1.0, 0.0, 5.0];
        assert!(
            x.iter().zip(exact).all(|(x, e)| (x - e).abs() < 1e-12),
            "{x:?}"
        );
    }
}
