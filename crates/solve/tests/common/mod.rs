//! Matrices and vectors that the tests share.
#![allow(dead_code)] // each test file uses a part of it

pub mod lattice;

use plash_solve::{Csr, Operator};

/// Numbers in [−½, ½), the same on every machine.
pub fn noise(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..n)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        })
        .collect()
}

/// A matrix from its rows of (column, value), in any order.
pub fn from_rows(rows: Vec<Vec<(usize, f64)>>) -> Csr {
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for mut row in rows {
        row.sort_by_key(|&(column, _)| column);
        for (column, value) in row {
            columns.push(column as u32);
            values.push(value);
        }
        starts.push(columns.len() as u32);
    }
    Csr::new(starts, columns, values).expect("rows of a matrix")
}

/// What lies in a cell of a two-dimensional domain.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    /// An unknown.
    Liquid,
    /// The value zero.
    Air,
    /// No flux.
    Solid,
}

/// The 5-point Laplacian on the liquid cells of an `n × n` square, and the divergence of a
/// uniform downward velocity that stops at solids. Outside the square all is solid.
pub fn laplacian_2d(n: usize, kind: impl Fn(usize, usize) -> Kind) -> (Csr, Vec<f64>) {
    let at = |i: usize, j: usize| {
        if i < n && j < n {
            kind(i, j)
        } else {
            Kind::Solid
        }
    };
    let mut number = vec![usize::MAX; n * n];
    let liquid = (0..n * n).filter(|c| at(c % n, c / n) == Kind::Liquid);
    liquid.enumerate().for_each(|(k, c)| number[c] = k);
    let (mut rows, mut b) = (Vec::new(), Vec::new());
    for c in (0..n * n).filter(|&c| number[c] != usize::MAX) {
        let (i, j) = (c % n, c / n);
        let sides = [
            (i.wrapping_sub(1), j, 0.0),
            (i + 1, j, 0.0),
            (i, j.wrapping_sub(1), 1.0),
            (i, j + 1, -1.0),
        ];
        let (mut row, mut diagonal, mut divergence) = (Vec::new(), 0.0, 0.0);
        for (i, j, outflow) in sides {
            match at(i, j) {
                Kind::Solid => continue,
                Kind::Air => {}
                Kind::Liquid => row.push((number[j * n + i], -1.0)),
            }
            diagonal += 1.0;
            divergence += outflow;
        }
        row.push((number[c], diagonal));
        rows.push(row);
        b.push(-divergence);
    }
    (from_rows(rows), b)
}

/// A disc of radius 0.4 in the unit square, its left half liquid, the right half air.
pub fn half_filled_disc(n: usize) -> (Csr, Vec<f64>) {
    laplacian_2d(n, |i, j| {
        let [x, y] = [i, j].map(|k| (k as f64 + 0.5) / n as f64);
        if (x - 0.5).hypot(y - 0.5) >= 0.4 {
            Kind::Solid
        } else if x < 0.5 {
            Kind::Liquid
        } else {
            Kind::Air
        }
    })
}

/// A closed box full of liquid: singular.
pub fn sealed_box(n: usize) -> Csr {
    laplacian_2d(n, |_, _| Kind::Liquid).0
}

/// The square with zero values all around.
pub fn dirichlet_square(n: usize) -> Csr {
    let inside = |i: usize| (1..=n).contains(&i);
    laplacian_2d(n + 2, |i, j| {
        if inside(i) && inside(j) {
            Kind::Liquid
        } else {
            Kind::Air
        }
    })
    .0
}

/// A random symmetric matrix, strictly diagonally dominant, with off-diagonals of both signs
/// (or none positive) and about `density · n` of them a row.
pub fn random_dominant(n: usize, density: f64, m_matrix: bool, seed: u64) -> Csr {
    let mut rows = vec![Vec::new(); n];
    let mut sums = vec![0.1; n];
    let chance = noise(n * n, seed);
    let value = noise(n * n, seed + 1000);
    for i in 0..n {
        for j in 0..i {
            if chance[i * n + j] + 0.5 < density {
                let v = if m_matrix {
                    -value[i * n + j].abs()
                } else {
                    value[i * n + j]
                };
                rows[i].push((j, v));
                rows[j].push((i, v));
                sums[i] += v.abs();
                sums[j] += v.abs();
            }
        }
    }
    for (i, row) in rows.iter_mut().enumerate() {
        row.push((i, sums[i]));
    }
    from_rows(rows)
}

/// Solves `A x = b` by a dense Cholesky factorisation, for the truth.
pub fn dense_cholesky(a: &Csr, b: &[f64]) -> Vec<f64> {
    let n = a.rows();
    let mut l = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| l[i][k] * l[j][k]).sum();
            let rest = a.get(i, j) - sum;
            l[i][j] = if i == j { rest.sqrt() } else { rest / l[j][j] };
        }
    }
    let mut x = b.to_vec();
    for i in 0..n {
        let sum: f64 = (0..i).map(|k| l[i][k] * x[k]).sum();
        x[i] = (x[i] - sum) / l[i][i];
    }
    for i in (0..n).rev() {
        let sum: f64 = (i + 1..n).map(|k| l[k][i] * x[k]).sum();
        x[i] = (x[i] - sum) / l[i][i];
    }
    x
}

/// `max|b − A x|`.
pub fn residual(a: &Csr, b: &[f64], x: &[f64]) -> f64 {
    let mut y = vec![0.0; b.len()];
    a.apply(x, &mut y);
    b.iter()
        .zip(&y)
        .fold(0.0, |m, (b, y)| f64::max(m, (b - y).abs()))
}
