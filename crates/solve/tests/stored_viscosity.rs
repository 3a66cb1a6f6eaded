//! Velocities of a staggered lattice, recovered from their matrix.

use plash_solve::staggered::{
    Faces, Sine, StoredSolver, ViscousMethod, ViscousOptions, ViscousSolver,
};
use plash_solve::{Csr, SolveError, Tolerance};

/// A system as a file would hold it.
struct Stored {
    a: Csr,
    b: Vec<f64>,
    dimensions: usize,
    coords: Vec<f64>,
    components: Vec<i8>,
}

impl Stored {
    fn of<const D: usize>(body: &Sine<D>, cells: f64) -> Self {
        let mut solver = ViscousSolver::<D>::new(options(ViscousMethod::PcgJacobi));
        solver.assemble(body);
        solver.load_rhs(|axis, face| body.load(axis, face));
        let (a, b, numbers) = solver.system().expect("a system");
        let mut coords = Vec::new();
        for (axis, index) in numbers.iter() {
            let face = solver.face(index).expect("a face");
            let half = |a: usize| if a == axis { 0.0 } else { 0.5 };
            coords.extend((0..D).map(|a| 3.0 + (f64::from(face[a]) + half(a)) / cells));
        }
        let components = numbers.iter().map(|(axis, _)| axis as i8).collect();
        Stored {
            a,
            b,
            dimensions: D,
            coords,
            components,
        }
    }

    fn faces(&self) -> Faces<'_> {
        Faces {
            dimensions: self.dimensions,
            coords: &self.coords,
            components: &self.components,
        }
    }

    /// The solution by a method, and the iterations it took.
    fn solve(&self, method: ViscousMethod, relative: f64) -> (Vec<f64>, usize) {
        let mut solver = StoredSolver::new(options(method));
        solver.convert(&self.a, Some(self.faces())).expect("faces");
        let mut x = vec![0.0; self.b.len()];
        let outcome = solver.solve(&self.a, &self.b, &mut x, &tolerance(relative));
        let outcome = outcome.expect("a solve");
        assert!(outcome.converged(), "{outcome:?}");
        (x, outcome.iterations)
    }

    /// Why the lattice is not found.
    fn refused(&self) -> &'static str {
        let mut solver = StoredSolver::new(options(ViscousMethod::Mgpcg));
        match solver.convert(&self.a, Some(self.faces())) {
            Err(SolveError::NotStaggered { reason }) => reason,
            other => panic!("{other:?}"),
        }
    }

    /// The same with every entry changed.
    fn mapped(mut self, change: impl Fn(usize, usize, f64) -> f64) -> Self {
        let rows: Vec<(Vec<u32>, Vec<f64>)> = (0..self.a.rows())
            .map(|i| (self.a.row(i).0.to_vec(), self.a.row(i).1.to_vec()))
            .collect();
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for (i, (of_row, entries)) in rows.into_iter().enumerate() {
            let entries = of_row.iter().zip(entries);
            values.extend(entries.map(|(&j, value)| change(i, j as usize, value)));
            columns.extend(of_row);
            starts.push(columns.len() as u32);
        }
        self.a = Csr::new(starts, columns, values).expect("a matrix");
        self
    }
}

fn options(method: ViscousMethod) -> ViscousOptions {
    ViscousOptions {
        method,
        ..ViscousOptions::default()
    }
}

fn tolerance(relative: f64) -> Tolerance {
    Tolerance {
        relative,
        max_iterations: 5000,
        ..Tolerance::default()
    }
}

/// Iterations of the solver that knows the body.
fn native<const D: usize>(body: &Sine<D>, relative: f64) -> usize {
    let mut solver = ViscousSolver::<D>::new(ViscousOptions::default());
    solver.assemble(body);
    solver.load_rhs(|axis, face| body.load(axis, face));
    solver
        .solve(&tolerance(relative))
        .expect("a solve")
        .iterations
}

fn the_lattice_is_found_again<const D: usize>(body: &Sine<D>, cells: f64) {
    let stored = Stored::of(body, cells);
    let (exact, _) = stored.solve(ViscousMethod::PcgJacobi, 1e-12);
    let (found, _) = stored.solve(ViscousMethod::Mgpcg, 1e-10);
    let size = exact.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    for (x, y) in found.iter().zip(&exact) {
        assert!((x - y).abs() < 1e-7 * size, "{x} for {y} of {size}");
    }
    let (_, iterations) = stored.solve(ViscousMethod::Mgpcg, 1e-6);
    let native = native(body, 1e-6);
    assert!(
        iterations <= native + 1,
        "{iterations} iterations, {native} by who knows the body"
    );
}

#[test]
fn the_lattice_is_found_again_2d() {
    for n in [24, 40, 48, 64, 65, 77, 96, 100, 128] {
        the_lattice_is_found_again(&Sine::<2>::new(n), n as f64);
    }
}

#[test]
fn the_lattice_is_found_again_3d() {
    for n in [16, 24, 32, 33] {
        the_lattice_is_found_again(&Sine::<3>::new(n), n as f64);
    }
}

#[test]
fn the_lattice_is_found_again_where_the_stiffness_varies() {
    the_lattice_is_found_again(&Sine::<2>::graded(48, 100.0), 48.0);
    the_lattice_is_found_again(&Sine::<3>::graded(24, 100.0), 24.0);
}

#[test]
fn other_units_change_nothing() {
    let stored = Stored::of(&Sine::<2>::new(48), 48.0);
    let (_, iterations) = stored.solve(ViscousMethod::Mgpcg, 1e-6);
    // No power of two, so that single precision no longer holds the entries.
    let dense = stored.mapped(|_, _, value| 1234.567 * value);
    let (x, others) = dense.solve(ViscousMethod::Mgpcg, 1e-9);
    let (exact, _) = dense.solve(ViscousMethod::PcgIc, 1e-12);
    let size = exact.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    assert!(
        x.iter()
            .zip(&exact)
            .all(|(x, y)| (x - y).abs() < 1e-6 * size)
    );
    assert!(others <= 2 * iterations + 4, "{others} and {iterations}");
}

#[test]
fn what_is_no_lattice_of_velocities_is_refused() {
    let stored = || Stored::of(&Sine::<2>::new(16), 16.0);
    let mut shaken = stored();
    shaken.coords[8] += 0.013;
    assert_eq!(shaken.refused(), "the coordinates lie on no lattice");
    let mut centred = stored();
    centred.components.fill(0);
    assert_eq!(
        centred.refused(),
        "an entry couples faces that are no neighbours"
    );
    let mut turned = stored();
    turned.components[3] = 1 - turned.components[3];
    assert_eq!(turned.refused(), "components do not lie half a cell apart");
    let mut beyond = stored();
    beyond.components[3] = 2;
    assert_eq!(beyond.refused(), "a component is not an axis");
    let mut twice = stored();
    let (first, second) = twice.coords.split_at_mut(2);
    first.copy_from_slice(&second[..2]);
    assert_eq!(twice.refused(), "two unknowns share a face");
    let positive = stored().mapped(|_, _, value| value.abs());
    assert_eq!(positive.refused(), "entries of one edge differ");
    let weak = stored().mapped(|i, j, value| if i == j { 0.5 * value } else { value });
    assert_eq!(
        weak.refused(),
        "a diagonal is smaller than its row's weights"
    );
    let mut missing = stored();
    missing.coords.pop();
    assert_eq!(missing.refused(), "coordinates or components are missing");
}

#[test]
fn vectors_that_do_not_fit_are_errors() {
    let stored = Stored::of(&Sine::<2>::new(16), 16.0);
    let mut solver = StoredSolver::new(options(ViscousMethod::Mgpcg));
    solver
        .convert(&stored.a, Some(stored.faces()))
        .expect("faces");
    let mut x = vec![0.0; 3];
    let solved = solver.solve(&stored.a, &stored.b, &mut x, &tolerance(1e-6));
    assert!(matches!(solved, Err(SolveError::Shape { found: 3, .. })));
}
