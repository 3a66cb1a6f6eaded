//! A solver that has met other bodies gives the bits of one that has not, and what a body tells of its
//! rows changes none.

use std::ops::Range;

use crate::common::{Formula, ball, faces, noise_at, to, way};
use plash_solve::staggered::{
    Body, Coarsening, Fill, Smoother, ViscousMethod, ViscousOptions, ViscousSolver,
};

/// A body that tells where in its rows there is anything.
struct Told<const D: usize>(Formula<D>);

impl<const D: usize> Body<D> for Told<D> {
    fn cells(&self) -> [usize; D] {
        self.0.cells()
    }

    fn row(&self, mut cell: [i32; D]) -> Range<i32> {
        let mut there = (0..self.0.cells[0] as i32).filter(|&x| {
            cell[0] = x;
            self.0.fill(cell) != Fill::Empty
        });
        match there.next() {
            Some(first) => first..there.last().unwrap_or(first) + 1,
            None => 5..5,
        }
    }

    fn fill(&self, cell: [i32; D]) -> Fill {
        self.0.fill(cell)
    }

    fn uniform_stiffness(&self) -> Option<f64> {
        self.0.uniform_stiffness()
    }

    fn stiffness(&self, cell: [i32; D]) -> f64 {
        self.0.stiffness(cell)
    }

    fn is_open(&self, axis: usize, side: usize) -> bool {
        self.0.is_open(axis, side)
    }

    fn is_near_obstacle(&self, cell: [i32; D]) -> bool {
        self.0.is_near_obstacle(cell)
    }

    fn distance(&self, axis: usize, face: [i32; D]) -> f64 {
        self.0.distance(axis, face)
    }

    fn lets_go(&self, cell: [i32; D]) -> bool {
        self.0.lets_go(cell)
    }
}

/// Two drops in opposite corners, of which one lies on a wall.
fn drops<const D: usize>(n: usize) -> Formula<D> {
    let size = n as f64;
    Formula::full([n; D], 40.0).below(move |x| {
        let [low, high] = [[4.2; D], [size - 5.3; D]].map(|middle| way(x, middle) - 4.6);
        low.min(high)
    })
}

/// The bits of the solution, if it converges or not.
fn bits<const D: usize>(
    solver: &mut ViscousSolver<D>,
    body: &impl Body<D>,
    load: impl Fn(&mut ViscousSolver<D>),
) -> Vec<u64> {
    solver.assemble(body);
    load(solver);
    let outcome = solver.solve(&to(1e-6)).expect("a solve");
    assert!(outcome.residual <= outcome.initial_residual.max(solver.norm()));
    let values = faces(body.cells()).filter_map(|(axis, face)| solver.value(axis, face));
    values.map(f64::to_bits).collect()
}

/// In turn: what single precision does not hold, what it does, and what nobody moves.
fn loads<const D: usize>() -> [impl Fn(&mut ViscousSolver<D>); 3] {
    let eighths = |axis: usize, at: [i32; D]| (noise_at(5, axis, at) * 64.0).round() / 8.0;
    let noise = |axis: usize, at: [i32; D]| noise_at(7, axis, at);
    [0, 1, 2].map(|kind| {
        move |solver: &mut ViscousSolver<D>| match kind {
            // Walls move too.
            0 => solver.load(noise),
            1 => solver.load_apart(eighths, |_, _| 0.0),
            _ => solver.load_rhs(noise),
        }
    })
}

fn options() -> impl Iterator<Item = ViscousOptions> {
    let default = ViscousOptions::default();
    let smoothers = [Smoother::Chebyshev, Smoother::Jacobi, Smoother::Vanka];
    let by_smoother = smoothers.into_iter().map(move |smoother| ViscousOptions {
        smoother,
        ..default
    });
    by_smoother.chain([
        ViscousOptions {
            coarsening: Coarsening::Labels,
            ..default
        },
        ViscousOptions {
            method: ViscousMethod::PcgIc,
            ..default
        },
        ViscousOptions {
            method: ViscousMethod::PcgJacobi,
            ..default
        },
    ])
}

fn a_solver_forgets_other_bodies<const D: usize>(n: usize) {
    let graded = move |at: [i32; D]| 30.0 + f64::from(at[1] % 7);
    let post = move |_: usize, x: [f64; D]| (x[0] - 4.1).hypot(x[1] - 3.9) - 2.2;
    let bodies = [
        drops::<D>(n),
        Formula::full([n / 2; D], 1e3).below(ball(n / 2)),
        drops::<D>(n).around(post),
        drops::<D>(n + 5).varied(graded),
        Formula::full([n / 3; D], 5.0),
    ]
    .map(Told);
    for options in options() {
        let mut solver = ViscousSolver::new(options);
        // The first ones again when all memory is there.
        for k in 0..2 * bodies.len() - 1 {
            let (body, loads) = (&bodies[k % bodies.len()], loads());
            let load = &loads[k % loads.len()];
            let again = bits(&mut solver, body, load);
            let fresh = bits(&mut ViscousSolver::new(options), body, load);
            let untold = bits(&mut ViscousSolver::new(options), &body.0, load);
            assert!(!fresh.is_empty());
            assert!(again == fresh, "{options:?}: body {k} after others");
            assert!(untold == fresh, "{options:?}: body {k} by rows");
        }
    }
}

#[test]
fn a_solver_forgets_other_bodies_2d() {
    a_solver_forgets_other_bodies::<2>(48);
}

#[test]
fn a_solver_forgets_other_bodies_3d() {
    a_solver_forgets_other_bodies::<3>(20);
}

/// Loads of all kinds on one body, one after the other.
fn a_solver_forgets_other_loads<const D: usize>(n: usize) {
    let body = drops::<D>(n);
    for options in options() {
        let mut solver = ViscousSolver::new(options);
        solver.assemble(&body);
        for k in [0, 2, 1, 0, 1, 2] {
            let load = &loads()[k];
            load(&mut solver);
            let solved = solver.solve(&to(1e-6));
            assert!(solved.is_ok(), "{solved:?}");
            let values = faces(body.cells).filter_map(|(axis, face)| solver.value(axis, face));
            let again: Vec<u64> = values.map(f64::to_bits).collect();
            let fresh = bits(&mut ViscousSolver::new(options), &body, load);
            assert!(again == fresh, "{options:?}: load {k} after others");
        }
    }
}

#[test]
fn a_solver_forgets_other_loads_2d() {
    a_solver_forgets_other_loads::<2>(40);
}

#[test]
fn a_solver_forgets_other_loads_3d() {
    a_solver_forgets_other_loads::<3>(14);
}
