//! Operators, transfers and cycles against their definitions.

mod labels;
mod levels;

use super::body::{Body, Fill};
use super::csr::{Numbers, matrix};
use super::cycle::{Floor, Hierarchy, each_plane};
use super::field::{self, Vector};
use super::ground::{Extent, Sampled};
use super::kernel;
use super::level::Level;
use super::method::{Smoother, ViscousMethod, ViscousOptions};
use super::shape::Shape;
use super::sine::Sine;
use super::solver::ViscousSolver;
use crate::operator::Operator;
use crate::outcome::Tolerance;

/// Numbers between −1 and 1 that look random.
fn noise(k: usize) -> f64 {
    let x = (k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((x >> 11) as f64) / (1u64 << 52) as f64 - 1.0
}

fn hierarchy<const D: usize>(body: &impl Body<D>) -> Hierarchy<D> {
    hierarchy_with(body, Smoother::Chebyshev)
}

fn hierarchy_with<const D: usize>(body: &impl Body<D>, smoother: Smoother) -> Hierarchy<D> {
    let options = ViscousOptions {
        smoother,
        ..ViscousOptions::default()
    };
    hierarchy_by(body, options)
}

fn hierarchy_by<const D: usize>(body: &impl Body<D>, options: ViscousOptions) -> Hierarchy<D> {
    let extent = Extent::of(body).expect("a body");
    let shape = Shape::new(extent.cells).expect("a small lattice");
    let ground = Sampled::new(body, extent);
    let graded = ground.graded(&shape);
    let level = Level::new(
        shape,
        ground.open,
        &ground,
        ground.uniform.unwrap_or(1.0),
        graded,
    );
    Hierarchy::new(level, ground, options, Vec::new())
}

fn fill_noise<const D: usize>(floor: &Floor<D>, seed: usize) -> Vector<f32, D> {
    let mut v: Vector<f32, D> = field::zeros(floor.level.shape.len, 0);
    for (axis, v) in v.iter_mut().enumerate() {
        for i in floor.level.free_faces(axis) {
            v[i] = noise(seed + i * D + axis) as f32;
        }
    }
    v
}

fn dot<const D: usize>(a: &Vector<f32, D>, b: &Vector<f32, D>) -> f64 {
    let pairs = a
        .iter()
        .flat_map(|v| v.iter())
        .zip(b.iter().flat_map(|v| v.iter()));
    pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

fn kernels_apply_the_matrix<const D: usize>(body: &impl Body<D>) {
    kernels_apply_the_matrices_of(hierarchy(body));
}

fn kernels_apply_the_matrices_of<const D: usize>(mut hierarchy: Hierarchy<D>) {
    for floor in &mut hierarchy.floors {
        let numbers = Numbers::new(&floor.level);
        assert_eq!(numbers.count(), floor.level.unknowns);
        let a = matrix(&floor.level, &numbers).expect("a matrix");
        assert!(a.is_symmetric(0.0), "not symmetric to the last bit");
        let (starts, columns, values) = a.clone().into_parts();
        assert_eq!(starts[numbers.count()] as usize, columns.len());
        assert!(values.iter().all(|value| *value != 0.0));
        floor.x = fill_noise(floor, 7);
        let x: Vec<f64> = numbers
            .iter()
            .map(|(axis, i)| f64::from(floor.x[axis][i]))
            .collect();
        let mut y = vec![0.0; x.len()];
        a.apply(&x, &mut y);
        let three = floor.three();
        let level = &floor.level;
        // SAFETY: vectors of the level.
        each_plane(level, &|axis, z| unsafe {
            kernel::apply(level, axis, z, three);
        });
        let size = y.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        for (y, (axis, i)) in y.iter().zip(numbers.iter()) {
            let found = f64::from(floor.y[axis][i]);
            assert!((found - y).abs() < 2e-6 * size, "{found} for {y}");
        }
        // No eigenvalue of the scaled operator is above one.
        let bounds = numbers
            .iter()
            .map(|(axis, i)| f64::from(level.row(axis, i).bound));
        let (mut v, bounds): (Vec<f64>, Vec<f64>) = (x, bounds.collect());
        let mut rate = 0.0;
        for _ in 0..40 {
            a.apply(&v, &mut y);
            let energy: f64 = v.iter().zip(&y).map(|(v, y)| v * y).sum();
            let bound: f64 = v.iter().zip(&bounds).map(|(v, bound)| bound * v * v).sum();
            rate = energy / bound;
            for (y, bound) in y.iter_mut().zip(&bounds) {
                *y /= bound;
            }
            let size = y.iter().map(|y| y * y).sum::<f64>().sqrt();
            v.iter_mut().zip(&y).for_each(|(v, y)| *v = y / size);
        }
        assert!(rate <= 1.0 + 1e-6, "{rate}");
    }
}

fn cycles_are_symmetric_and_positive<const D: usize>(body: &impl Body<D>) {
    for &smoother in Smoother::ALL {
        cycle_is_symmetric_and_positive(body, smoother);
    }
}

fn cycle_is_symmetric_and_positive<const D: usize>(body: &impl Body<D>, smoother: Smoother) {
    let mut hierarchy = hierarchy_with(body, smoother);
    let mut results = Vec::new();
    for seed in [1, 1000] {
        let r = fill_noise(&hierarchy.floors[0], seed);
        hierarchy.floors[0].b = r.clone();
        hierarchy.cycle();
        let z = hierarchy.floors[0].x.clone();
        assert!(dot(&r, &z) > 0.0);
        results.push((r, z));
    }
    let (one, other) = (
        dot(&results[0].0, &results[1].1),
        dot(&results[1].0, &results[0].1),
    );
    let size = (dot(&results[0].0, &results[0].1) * dot(&results[1].0, &results[1].1)).sqrt();
    assert!(
        (one - other).abs() < 1e-5 * size,
        "{smoother}: {one} and {other}"
    );
}

/// Columns of what a cycle makes of unit vectors.
fn dense_cycle<const D: usize>(hierarchy: &mut Hierarchy<D>) -> Vec<Vec<f64>> {
    let numbers = Numbers::new(&hierarchy.floors[0].level);
    let faces: Vec<(usize, usize)> = numbers.iter().collect();
    let column = |&(axis, i): &(usize, usize)| {
        let floor = &mut hierarchy.floors[0];
        floor.b = field::zeros(floor.level.shape.len, 0);
        floor.b[axis][i] = 1.0;
        hierarchy.cycle();
        let x = &hierarchy.floors[0].x;
        faces.iter().map(|&(a, k)| f64::from(x[a][k])).collect()
    };
    faces.iter().map(column).collect()
}

/// Whether entries differ from their mirror images by rounding errors of single precision.
fn is_symmetric(columns: &[Vec<f64>]) -> bool {
    let n = columns.len();
    let near = |i: usize, j: usize| {
        let size = (columns[i][i] * columns[j][j]).sqrt();
        (columns[i][j] - columns[j][i]).abs() < 1e-4 * size
    };
    (0..n).all(|i| (0..i).all(|j| near(i, j)))
}

/// All pivots of the symmetric part, scaled by its diagonal, are positive.
fn is_positive_definite(columns: &[Vec<f64>]) -> bool {
    let n = columns.len();
    let scale = |i: usize| 1.0 / columns[i][i].sqrt();
    let entry = |i: usize, j: usize| 0.5 * (columns[i][j] + columns[j][i]) * scale(i) * scale(j);
    let mut l = vec![vec![0.0; n]; n];
    for j in 0..n {
        for i in j..n {
            let dot: f64 = (0..j).map(|k| l[i][k] * l[j][k]).sum();
            let rest = entry(i, j) - dot;
            if i == j && (rest.is_nan() || rest <= 0.0) {
                return false;
            }
            l[i][j] = if i == j { rest.sqrt() } else { rest / l[j][j] };
        }
    }
    true
}

/// The whole preconditioner, column by column, on a body of a few levels.
fn cycles_are_positive_definite<const D: usize>(body: &impl Body<D>) {
    for &smoother in Smoother::ALL {
        let mut hierarchy = hierarchy_with(body, smoother);
        if smoother != Smoother::JacobiNaive {
            assert!(hierarchy.floors.len() > 1);
        }
        let columns = dense_cycle(&mut hierarchy);
        assert!(columns.len() > 400, "{} unknowns", columns.len());
        assert!(is_symmetric(&columns), "{smoother} is not symmetric");
        assert!(is_positive_definite(&columns), "{smoother}");
    }
}

#[test]
fn cycles_are_positive_definite_2d() {
    cycles_are_positive_definite(&Sine::<2>::new(24));
}

#[test]
fn cycles_are_positive_definite_3d() {
    cycles_are_positive_definite(&Sine::<3>::graded(8, 30.0));
}

/// The same with patches at the faces of a corner of the body, which are solved for exactly.
fn patched_cycles_are_positive_definite<const D: usize>(body: &impl Body<D>) {
    let mut hierarchy = hierarchy(body);
    let floor = &hierarchy.floors[0];
    let mut p: Vector<f32, D> = field::zeros(floor.level.shape.len, 0);
    floor
        .level
        .free_faces(0)
        .take(4)
        .for_each(|i| p[0][i] = 1.0);
    assert!(hierarchy.patch(&p), "no patch was made");
    assert!(!hierarchy.patch(&p), "the same patch was made again");
    let columns = dense_cycle(&mut hierarchy);
    assert!(is_symmetric(&columns), "not symmetric");
    assert!(is_positive_definite(&columns));
    hierarchy.unpatch();
    let plain = dense_cycle(&mut hierarchy);
    assert!(plain != columns, "the patch does nothing");
}

#[test]
fn patched_cycles_are_positive_definite_2d() {
    patched_cycles_are_positive_definite(&Sine::<2>::new(24));
}

#[test]
fn patched_cycles_are_positive_definite_3d() {
    patched_cycles_are_positive_definite(&Sine::<3>::new(8));
}

fn transfers_are_adjoint<const D: usize>(body: &impl Body<D>) {
    let mut hierarchy = hierarchy(body);
    assert!(hierarchy.floors.len() > 1);
    let (fine, coarse) = hierarchy.floors.split_at_mut(1);
    let (fine, coarse) = (&mut fine[0], &mut coarse[0]);
    let r = fill_noise(fine, 3);
    let e = fill_noise(coarse, 5);
    fine.y = r.clone();
    super::cycle::restrict(fine, coarse);
    let down = dot(&coarse.b, &e);
    coarse.x = e;
    fine.x.iter_mut().for_each(|x| x.fill(0.0));
    super::cycle::prolong(coarse, fine);
    let up = dot(&fine.x, &r) / (1 << D) as f64;
    assert!(
        (down - up).abs() < 1e-6 * down.abs().max(1.0),
        "{down} and {up}"
    );
}

#[test]
fn kernels_apply_the_matrix_2d() {
    kernels_apply_the_matrix(&Sine::<2>::new(37));
    kernels_apply_the_matrix(&Sine::<2>::graded(32, 100.0));
}

#[test]
fn kernels_apply_the_matrix_3d() {
    kernels_apply_the_matrix(&Sine::<3>::new(19));
    kernels_apply_the_matrix(&Sine::<3>::graded(18, 100.0));
}

#[test]
fn cycles_are_symmetric_and_positive_2d() {
    cycles_are_symmetric_and_positive(&Sine::<2>::new(40));
}

#[test]
fn cycles_are_symmetric_and_positive_3d() {
    cycles_are_symmetric_and_positive(&Sine::<3>::new(20));
    cycles_are_symmetric_and_positive(&Sine::<3>::graded(19, 100.0));
}

/// The solution of the sine problem by one method.
fn solve<const D: usize>(body: &Sine<D>, options: ViscousOptions) -> Vec<f64> {
    let mut solver = ViscousSolver::new(options);
    solver.assemble(body);
    solver.load_rhs(|axis, face| body.load(axis, face));
    let tol = Tolerance {
        relative: 1e-10,
        ..Tolerance::default()
    };
    let outcome = solver.solve(&tol).expect("a solve");
    assert!(outcome.converged(), "{options:?}: {outcome:?}");
    assert!(outcome.residual <= 1e-10, "{options:?}: {outcome:?}");
    let (_, _, numbers) = solver.system().expect("a system");
    let value = |(axis, index)| {
        let face = solver.face(index).expect("a face");
        solver.value(axis, face).expect("a free face")
    };
    numbers.iter().map(value).collect()
}

fn all_methods_agree<const D: usize>(body: &Sine<D>) {
    let exact = solve(
        body,
        ViscousOptions {
            method: ViscousMethod::PcgJacobi,
            ..ViscousOptions::default()
        },
    );
    let size = exact.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let smoothers = Smoother::ALL.iter().map(|&smoother| ViscousOptions {
        method: ViscousMethod::Mgpcg,
        smoother,
        ..ViscousOptions::default()
    });
    let other = ViscousOptions {
        method: ViscousMethod::PcgIc,
        ..ViscousOptions::default()
    };
    for options in smoothers.chain([other]) {
        for (found, exact) in solve(body, options).iter().zip(&exact) {
            let error = (found - exact).abs() / size;
            assert!(error < 1e-7, "{options:?}: {found} for {exact}");
        }
    }
}

#[test]
fn all_methods_agree_2d() {
    all_methods_agree(&Sine::<2>::new(43));
    all_methods_agree(&Sine::<2>::graded(32, 100.0));
}

#[test]
fn all_methods_agree_3d() {
    all_methods_agree(&Sine::<3>::new(20));
    all_methods_agree(&Sine::<3>::graded(17, 100.0));
}

/// Iterations of the default on the sine problem.
fn iterations<const D: usize>(body: &Sine<D>, smoother: Smoother) -> usize {
    let mut solver = ViscousSolver::new(ViscousOptions {
        smoother,
        ..ViscousOptions::default()
    });
    solver.assemble(body);
    solver.load_rhs(|axis, face| body.load(axis, face));
    let outcome = solver.solve(&Tolerance::default()).expect("a solve");
    assert!(outcome.converged());
    outcome.iterations
}

#[test]
fn iterations_do_not_grow_with_the_size() {
    let chebyshev = Smoother::Chebyshev;
    let flat = [32, 256].map(|n| iterations(&Sine::<2>::new(n), chebyshev));
    assert!(flat[1] <= flat[0] + 2 && flat[1] <= 10, "{flat:?}");
    let deep = [16, 48].map(|n| iterations(&Sine::<3>::new(n), chebyshev));
    assert!(deep[1] <= deep[0] + 2 && deep[1] <= 9, "{deep:?}");
    // A viscosity that varies smoothly a thousandfold costs half as many more at the most.
    let graded = iterations(&Sine::<3>::graded(48, 1000.0), chebyshev);
    assert!(
        2 * graded <= 3 * deep[1] + 1,
        "{graded} against {}",
        deep[1]
    );
    let boxes = iterations(&Sine::<3>::new(32), Smoother::Box);
    assert!(boxes <= 5, "{boxes}");
}

#[test]
fn transfers_are_adjoint_2d() {
    transfers_are_adjoint(&Sine::<2>::new(40));
}

#[test]
fn transfers_are_adjoint_3d() {
    transfers_are_adjoint(&Sine::<3>::new(20));
}

#[test]
fn the_smallest_bodies_have_rows() {
    struct One;
    impl Body<2> for One {
        fn cells(&self) -> [usize; 2] {
            [5, 5]
        }
        fn fill(&self, cell: [i32; 2]) -> Fill {
            if cell == [2, 2] {
                Fill::Full
            } else {
                Fill::Empty
            }
        }
        fn uniform_stiffness(&self) -> Option<f64> {
            Some(3.0)
        }
        fn stiffness(&self, _: [i32; 2]) -> f64 {
            3.0
        }
        fn is_open(&self, _: usize, _: usize) -> bool {
            false
        }
        fn is_near_obstacle(&self, _: [i32; 2]) -> bool {
            false
        }
        fn distance(&self, _: usize, _: [i32; 2]) -> f64 {
            9.0
        }
        fn lets_go(&self, _: [i32; 2]) -> bool {
            false
        }
    }
    let hierarchy = hierarchy(&One);
    // The four faces of the cell; the eight more that its corners touch hang by a thread.
    assert_eq!(hierarchy.floors[0].level.unknowns, 4);
}
