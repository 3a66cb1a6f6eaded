//! Velocities of a staggered lattice, recovered from their matrix.

use plash_solve::staggered::{
    Assembled, Body, Faces, Fill, Sine, Smoother, StoredSolver, ViscousMethod, ViscousOptions,
    ViscousSolver,
};
use plash_solve::{Csr, Operator, SolveError, Status, Tolerance};

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
        Stored::of_body(body, |axis, face| body.load(axis, face), cells)
    }

    fn of_body<const D: usize>(
        body: &impl Body<D>,
        load: impl Fn(usize, [i32; D]) -> f64 + Sync,
        cells: f64,
    ) -> Self {
        let mut solver = ViscousSolver::<D>::new(options(ViscousMethod::PcgJacobi));
        solver.assemble(body);
        solver.load_rhs(load);
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

    /// Faces of the first axis, of which the first two are coupled.
    fn row_of_faces(places: &[[i32; 2]]) -> Self {
        let n = places.len() as u32;
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..n {
            let row = if i < 2 { 0..2 } else { i..i + 1 };
            values.extend(row.clone().map(|j| if i == j { 2.0 } else { -1.0 }));
            columns.extend(row);
            starts.push(columns.len() as u32);
        }
        Stored {
            a: Csr::new(starts, columns, values).expect("a matrix"),
            b: vec![1.0; places.len()],
            dimensions: 2,
            coords: places.iter().flatten().map(|&x| f64::from(x)).collect(),
            components: vec![0; places.len()],
        }
    }

    fn solver(&self) -> Result<StoredSolver, SolveError> {
        self.solver_with(ViscousOptions::default())
    }

    fn solver_with(&self, options: ViscousOptions) -> Result<StoredSolver, SolveError> {
        let faces = Faces {
            dimensions: self.dimensions,
            coords: self.coords.clone(),
            components: self.components.clone(),
        };
        StoredSolver::of(&self.a, faces, options)
    }

    /// The solution by a method, and the iterations it took.
    fn solve(&self, method: ViscousMethod, relative: f64) -> (Vec<f64>, usize) {
        let (mut x, tol) = (vec![0.0; self.b.len()], tolerance(relative));
        let outcome = match method {
            ViscousMethod::Mgpcg => {
                let mut solver = self.solver().expect("a lattice");
                solver.solve(&self.b, &mut x, &tol)
            }
            _ => Assembled::new(&self.a, method).solve(&self.a, &self.b, &mut x, &tol),
        };
        let outcome = outcome.expect("a solve");
        assert!(outcome.converged(), "{outcome:?}");
        assert!(
            (outcome.residual - self.defect(&x)).abs() <= 1e-12 * self.size(),
            "a residual of {} is told, and it is {}",
            outcome.residual,
            self.defect(&x)
        );
        (x, outcome.iterations)
    }

    /// `max|b|`.
    fn size(&self) -> f64 {
        self.b.iter().fold(0.0, |m: f64, b| m.max(b.abs()))
    }

    /// `max|b − A x|`.
    fn defect(&self, x: &[f64]) -> f64 {
        let mut y = vec![0.0; x.len()];
        self.a.apply(x, &mut y);
        let defects = self.b.iter().zip(&y).map(|(b, y)| (b - y).abs());
        defects.fold(0.0, f64::max)
    }

    /// Why the lattice is not found.
    fn refused(&self) -> &'static str {
        match self.solver().map(|_| ()) {
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
fn units_beyond_single_precision_change_nothing() {
    let (plain, iterations) =
        Stored::of(&Sine::<2>::new(48), 48.0).solve(ViscousMethod::Mgpcg, 1e-8);
    for scale in [1e-50, 1e-39, 1e39, 1e50] {
        let mut scaled = Stored::of(&Sine::<2>::new(48), 48.0).mapped(|_, _, value| scale * value);
        scaled.b.iter_mut().for_each(|b| *b *= scale);
        let (x, others) = scaled.solve(ViscousMethod::Mgpcg, 1e-8);
        let size = plain.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        for (x, y) in x.iter().zip(&plain) {
            assert!(
                (x - y).abs() < 1e-6 * size,
                "{scale}: {x} for {y} of {size}"
            );
        }
        assert!(others <= 2 * iterations + 4, "{others} and {iterations}");
    }
}

#[test]
fn a_guess_is_taken_and_one_of_no_numbers_is_refused() {
    let stored = Stored::of(&Sine::<2>::new(32), 32.0);
    let (mut x, _) = stored.solve(ViscousMethod::Mgpcg, 1e-9);
    let mut solver = stored.solver().expect("a lattice");
    let outcome = solver.solve(&stored.b, &mut x, &tolerance(1e-6));
    assert_eq!(outcome.expect("a solve").iterations, 0);
    x[5] = f64::NAN;
    assert!(solver.solve(&stored.b, &mut x, &tolerance(1e-6)).is_err());
    assert!(x[5].is_nan());
}

#[test]
fn the_residual_is_true_whatever_smooths() {
    let stored = Stored::of(&Sine::<3>::new(20), 20.0).mapped(|_, _, value| 1.1 * value);
    for &smoother in Smoother::ALL {
        let options = ViscousOptions {
            smoother,
            ..ViscousOptions::default()
        };
        let mut solver = stored.solver_with(options).expect("a lattice");
        // Not all of them get there; none may say that it did.
        for relative in [1e-3, 1e-9] {
            let mut x = vec![0.0; stored.b.len()];
            let outcome = solver.solve(&stored.b, &mut x, &tolerance(relative));
            let outcome = outcome.expect("a solve");
            let error = (outcome.residual - stored.defect(&x)).abs();
            assert!(error <= 1e-12 * stored.size(), "{smoother}: {outcome:?}");
        }
    }
}

#[test]
fn what_is_not_symmetric_is_seen() {
    let stored = || Stored::of(&Sine::<2>::new(16), 16.0);
    let asymmetry = |stored: Stored| stored.solver().expect("a lattice").asymmetry();
    assert_eq!(asymmetry(stored()), 0.0);
    let columns = stored().a.row(40).0.to_vec();
    let other = columns.into_iter().find(|&j| j > 40).expect("a coupling") as usize;
    let lopsided = stored().mapped(|i, j, value| {
        if (i, j) == (40, other) {
            value * (1.0 + 1e-7)
        } else {
            value
        }
    });
    assert!((1e-9..1e-6).contains(&asymmetry(lopsided)));
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
    let mut nowhere = stored();
    nowhere.coords[7] = f64::NAN;
    assert_eq!(nowhere.refused(), "a coordinate is not finite");
    let mut flat = stored();
    flat.dimensions = 1;
    assert_eq!(flat.refused(), "it has neither two nor three dimensions");
    let (coords, components) = (stored().coords, stored().components);
    // Neighbours along their own axis, which nothing but their cell ties together.
    let is_cell = |i: usize, j: usize| {
        let across = 1 - components[i] as usize;
        i != j && components[i] == components[j] && coords[2 * i + across] == coords[2 * j + across]
    };
    let pushed = stored().mapped(|i, j, value| if is_cell(i, j) { -value } else { value });
    assert_eq!(pushed.refused(), "an entry has the wrong sign");
}

#[test]
fn a_lattice_that_is_empty_or_hardly_filled_is_refused() {
    let cases = [
        (Stored::row_of_faces(&[]), "there are no unknowns"),
        (
            Stored::row_of_faces(&[[0, 0], [1, 0], [500_000, 500_000]]),
            "the lattice is too large",
        ),
        (
            Stored::row_of_faces(&[[0, 0], [1, 0], [300_000, 0]]),
            "the unknowns are strewn too far apart",
        ),
    ];
    for (stored, reason) in cases {
        assert_eq!(stored.refused(), reason);
    }
}

#[test]
fn a_lattice_that_its_margins_make_too_large_is_refused_again_and_again() {
    let mut places: Vec<[i32; 2]> = (0..1100).map(|x| [x, 0]).collect();
    places.push([200_000, 0]);
    let stored = Stored::row_of_faces(&places);
    let mut solver = stored.solver().expect("it just fits");
    let refused = |found: Result<(), SolveError>| match found {
        Err(SolveError::NotStaggered { reason }) => reason,
        other => panic!("{other:?}"),
    };
    let reason = "the unknowns are strewn too far apart";
    assert_eq!(refused(solver.convert()), reason);
    assert_eq!(refused(solver.prepare()), reason);
    let mut x = vec![1.0; stored.b.len()];
    let solved = solver.solve(&stored.b, &mut x, &tolerance(1e-6));
    assert_eq!(refused(solved.map(|_| ())), reason);
    assert!(x.iter().all(|&x| x == 1.0) && solver.levels() == 0);
    let mut another = stored.solver().expect("it just fits");
    assert_eq!(refused(another.prepare()), reason);
}

#[test]
fn levels_are_built_once_if_not_before() {
    let stored = Stored::of(&Sine::<2>::new(24), 24.0);
    let (expected, _) = stored.solve(ViscousMethod::Mgpcg, 1e-8);
    let mut solver = stored.solver().expect("a lattice");
    assert_eq!(solver.levels(), 0);
    solver.convert().expect("cells");
    solver.convert().expect("cells still");
    assert_eq!(solver.levels(), 0);
    solver.prepare().expect("levels");
    assert!(solver.levels() > 1);
    solver.prepare().expect("levels still");
    solver.convert().expect("no way back");
    let mut x = vec![0.0; stored.b.len()];
    let outcome = solver.solve(&stored.b, &mut x, &tolerance(1e-8));
    assert!(outcome.expect("a solve").converged() && x == expected);
}

#[test]
fn vectors_that_do_not_fit_are_errors() {
    let stored = Stored::of(&Sine::<2>::new(16), 16.0);
    let mut solver = stored.solver().expect("a lattice");
    let mut x = vec![0.0; 3];
    let solved = solver.solve(&stored.b, &mut x, &tolerance(1e-6));
    assert!(matches!(solved, Err(SolveError::Shape { found: 3, .. })));
}

/// A square of liquid in the air: nothing holds it, and turning it bends nothing.
struct Square {
    cells: i32,
    stiffness: f64,
}

impl Body<2> for Square {
    fn cells(&self) -> [usize; 2] {
        [self.cells as usize + 2; 2]
    }

    fn fill(&self, cell: [i32; 2]) -> Fill {
        if cell.iter().all(|i| (1..=self.cells).contains(i)) {
            Fill::Full
        } else {
            Fill::Empty
        }
    }

    fn uniform_stiffness(&self) -> Option<f64> {
        Some(self.stiffness)
    }

    fn stiffness(&self, _: [i32; 2]) -> f64 {
        self.stiffness
    }

    fn is_open(&self, _: usize, _: usize) -> bool {
        true
    }

    fn is_near_obstacle(&self, _: [i32; 2]) -> bool {
        false
    }

    fn distance(&self, _: usize, _: [i32; 2]) -> f64 {
        f64::INFINITY
    }

    fn lets_go(&self, _: [i32; 2]) -> bool {
        false
    }
}

/// The matrix of a stiff body whose entries between components are a little smaller than those
/// within them tell: turning, which costs hardly anything, is tied to that.
fn twisted(stiffness: f64, by: f64) -> Stored {
    let square = Square {
        cells: 12,
        stiffness,
    };
    let stored = Stored::of_body(
        &square,
        |axis, [i, j]| [f64::from(j) - 5.0, 7.0 - f64::from(i)][axis],
        1.0,
    );
    let components = stored.components.clone();
    stored.mapped(|i, j, value| {
        if components[i] == components[j] {
            value
        } else {
            value * (1.0 - by)
        }
    })
}

#[test]
fn a_correction_that_makes_it_worse_is_taken_back() {
    let stored = twisted(1e9, 1e-7);
    let (exact, _) = stored.solve(ViscousMethod::PcgIc, 1e-4);
    let mut solver = stored.solver().expect("a lattice");
    for share in [0.0, 0.5] {
        let guess: Vec<f64> = exact.iter().map(|x| share * x).collect();
        let mut x = guess.clone();
        let outcome = solver.solve(&stored.b, &mut x, &tolerance(1e-4));
        let outcome = outcome.expect("a solve");
        assert_eq!(outcome.status, Status::Stagnated);
        assert!(outcome.iterations > 0, "{outcome:?}");
        assert!(x == guess, "the guess of {share} was changed");
        assert_eq!(outcome.residual, outcome.initial_residual);
        let error = (outcome.residual - stored.defect(&x)).abs();
        assert!(error <= 1e-6 * stored.size(), "{outcome:?}");
    }
}

#[test]
fn what_rounding_forbids_ends_with_the_best_that_was_found() {
    for (stiffness, by) in [(1e-2, 1e-9), (1e2, 1e-8), (1e6, 1e-12), (1e10, 0.0)] {
        let stored = twisted(stiffness, by);
        let mut solver = stored.solver().expect("a lattice");
        let mut x = vec![0.0; stored.b.len()];
        let outcome = solver.solve(&stored.b, &mut x, &tolerance(1e-16));
        let outcome = outcome.expect("a solve");
        assert_eq!(
            outcome.status,
            Status::Stagnated,
            "{stiffness}: {outcome:?}"
        );
        // The rounding of the largest entry.
        let rounding = f64::EPSILON * (1.0 + stiffness) * stored.size();
        let [told, found] = [outcome.residual, stored.defect(&x)];
        assert!(told <= 30.0 * rounding, "{stiffness}: {told} of {rounding}");
        assert!(found <= told + 30.0 * rounding, "{stiffness}: {found}");
    }
}

#[test]
fn an_error_leaves_the_guess_alone() {
    let plain = || twisted(100.0, 0.0);
    // Finite until it is divided by the mass.
    let mut light = plain().mapped(|_, _, value| 1e-250 * value);
    light.b.iter_mut().for_each(|b| *b *= 1e100);
    // A defect that is not, told even if nothing is to be done.
    let far = |limit| (plain(), 1e308, limit);
    for (stored, guess, limit) in [far(0), far(100), (light, 1.0, 100)] {
        let mut solver = stored.solver().expect("a lattice");
        let mut x = vec![guess; stored.b.len()];
        let tol = Tolerance {
            max_iterations: limit,
            ..tolerance(1e-6)
        };
        let solved = solver.solve(&stored.b, &mut x, &tol);
        let is_it = matches!(solved, Err(SolveError::NotFinite { iteration: 0, .. }));
        assert!(is_it, "{solved:?}");
        assert!(x.iter().all(|&x| x == guess));
    }
}
