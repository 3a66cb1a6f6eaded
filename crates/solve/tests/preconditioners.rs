//! Facts about the preconditioners alone.

mod common;

use common::{dirichlet_square, from_rows, half_filled_disc, noise, random_dominant, sealed_box};
use plash_solve::{
    Csr, Identity, Jacobi, Mic0, Mic0Options, Operator, Preconditioner, vector::dot,
};

const IC: Mic0Options = Mic0Options {
    tau: 0.0,
    sigma: 0.25,
};

fn all_for(a: &Csr) -> Vec<(&'static str, Box<dyn Preconditioner>)> {
    vec![
        ("identity", Box::new(Identity)),
        ("jacobi", Box::new(Jacobi::new(a))),
        ("ic", Box::new(Mic0::new(a, IC))),
        ("mic", Box::new(Mic0::new(a, Mic0Options::default()))),
    ]
}

fn samples() -> Vec<(&'static str, Csr)> {
    vec![
        ("square", dirichlet_square(24)),
        ("disc", half_filled_disc(40).0),
        ("sealed", sealed_box(17)),
        ("dense rows", random_dominant(60, 0.3, true, 5)),
        ("both signs", random_dominant(60, 0.1, false, 6)),
        (
            "diagonal",
            from_rows((0..9).map(|i| vec![(i, 1.0 + i as f64)]).collect()),
        ),
        ("one row", from_rows(vec![vec![(0, 4.0)]])),
    ]
}

#[test]
fn every_preconditioner_is_symmetric_and_positive() {
    for (matrix, a) in samples() {
        let n = a.rows();
        let (x, y) = (noise(n, 1), noise(n, 2));
        let (mut mx, mut my) = (vec![f64::NAN; n], vec![f64::NAN; n]);
        for (name, mut m) in all_for(&a) {
            m.apply(&x, &mut mx);
            m.apply(&y, &mut my);
            let (left, right) = (dot(&mx, &y), dot(&x, &my));
            let size = (dot(&mx, &mx) * dot(&y, &y)).sqrt();
            assert!(
                (left - right).abs() <= 1e-12 * size,
                "{name} on {matrix}: {left} {right}"
            );
            assert!(dot(&mx, &x) > 0.0, "{name} on {matrix}");
        }
    }
}

#[test]
fn the_fused_product_is_the_product() {
    for (matrix, a) in samples() {
        let r = noise(a.rows(), 3);
        let (mut z, mut fused_z) = (vec![0.0; r.len()], vec![0.0; r.len()]);
        for (name, mut m) in all_for(&a) {
            m.apply(&r, &mut z);
            let product = m.apply_dot(&r, &mut fused_z);
            assert_eq!(z, fused_z, "{name} on {matrix}");
            let plain = dot(&r, &z);
            assert!(
                (product - plain).abs() <= 1e-12 * plain.abs(),
                "{name} on {matrix}"
            );
        }
    }
}

/// `z = M⁻¹ r` by the definition: pivots by the triple sum, then two dense triangular solves.
fn mic_by_definition(a: &Csr, options: Mic0Options, r: &[f64]) -> Vec<f64> {
    let n = a.rows();
    let mut e = vec![0.0; n];
    for i in 0..n {
        e[i] = a.get(i, i);
        for k in 0..i {
            let fill: f64 = (k + 1..n).filter(|&j| j != i).map(|j| a.get(k, j)).sum();
            e[i] -= a.get(i, k).powi(2) / e[k] + options.tau * a.get(i, k) * fill / e[k];
        }
        if e[i] < options.sigma * a.get(i, i) {
            e[i] = a.get(i, i);
        }
    }
    let mut z = r.to_vec();
    for i in 0..n {
        let sum: f64 = (0..i).map(|k| a.get(i, k) * z[k]).sum();
        z[i] = (z[i] - sum) / e[i];
    }
    for i in (0..n).rev() {
        let sum: f64 = (i + 1..n).map(|k| a.get(i, k) * z[k]).sum();
        z[i] -= sum / e[i];
    }
    z
}

#[test]
fn mic_is_what_its_definition_says_up_to_single_precision() {
    for (matrix, a) in samples() {
        let r = noise(a.rows(), 4);
        for options in [
            Mic0Options::default(),
            IC,
            Mic0Options {
                tau: 0.9,
                sigma: 0.6,
            },
        ] {
            let truth = mic_by_definition(&a, options, &r);
            let mut z = vec![0.0; r.len()];
            Mic0::new(&a, options).apply(&r, &mut z);
            let size = truth.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            let error = z
                .iter()
                .zip(&truth)
                .fold(0.0_f64, |m, (z, t)| m.max((z - t).abs()));
            assert!(
                error <= 2e-5 * size,
                "{matrix} {options:?}: {error} of {size}"
            );
        }
    }
}

#[test]
fn incomplete_factors_of_a_chain_are_complete() {
    let n = 50;
    let chain = from_rows(
        (0..n)
            .map(|i: usize| {
                let ends = [i.checked_sub(1), Some(i + 1).filter(|&j| j < n)];
                let links = ends.into_iter().flatten().map(|j| (j, -1.0));
                links.chain([(i, 2.5)]).collect()
            })
            .collect(),
    );
    let x = noise(n, 7);
    let (mut r, mut z) = (vec![0.0; n], vec![0.0; n]);
    chain.apply(&x, &mut r);
    Mic0::new(&chain, IC).apply(&r, &mut z);
    assert!(z.iter().zip(&x).all(|(z, x)| (z - x).abs() < 1e-6));
}

#[test]
fn refactoring_equals_factoring_whatever_was_there_before() {
    let mut m = Mic0::new(&random_dominant(60, 0.3, true, 5), Mic0Options::default());
    for (matrix, a) in samples() {
        m.refactor(&a);
        let r = noise(a.rows(), 8);
        let (mut z, mut fresh) = (vec![0.0; r.len()], vec![0.0; r.len()]);
        m.apply(&r, &mut z);
        Mic0::new(&a, Mic0Options::default()).apply(&r, &mut fresh);
        assert_eq!(z, fresh, "{matrix}");
    }
}

#[test]
fn rows_without_a_diagonal_give_finite_numbers() {
    let a = from_rows(vec![
        vec![(1, -1.0)],
        vec![(0, -1.0)],
        vec![],
        vec![(3, -2.0)],
    ]);
    for (name, mut m) in all_for(&a) {
        let mut z = vec![0.0; 4];
        m.apply(&[1.0, 2.0, 3.0, 4.0], &mut z);
        assert!(z.iter().all(|z| z.is_finite()), "{name}: {z:?}");
    }
}
