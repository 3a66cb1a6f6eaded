//! The ends of every scale: each is solved or refused in words, and nothing is NaN.

use crate::common::{Formula, at_most, ball, faces, masses, noise_at, solver, to, way};
use plash_solve::SolveError;
use plash_solve::staggered::{
    Coarsening, Fill, Smoother, ViscousMethod, ViscousOptions, ViscousSolver,
};

const WAYS: [ViscousOptions; 4] = [
    ViscousOptions {
        method: ViscousMethod::Mgpcg,
        smoother: Smoother::Chebyshev,
        coarsening: Coarsening::Fractions,
    },
    ViscousOptions {
        method: ViscousMethod::Mgpcg,
        smoother: Smoother::Box,
        coarsening: Coarsening::Fractions,
    },
    ViscousOptions {
        method: ViscousMethod::PcgIc,
        smoother: Smoother::Chebyshev,
        coarsening: Coarsening::Fractions,
    },
    ViscousOptions {
        method: ViscousMethod::PcgJacobi,
        smoother: Smoother::Chebyshev,
        coarsening: Coarsening::Fractions,
    },
];

/// `κ` of water-like density in cells of a centimetre, for a step of 1/24 s.
fn stiffness(viscosity: f64) -> f64 {
    viscosity / (24.0 * 1000.0 * 1e-4)
}

const VISCOSITIES: [f64; 5] = [0.0, 1e-6, 1e-3, 1.0, 1e6];

/// How many free faces there are; insists that their values are finite.
fn finite_values<const D: usize>(solver: &ViscousSolver<D>, cells: [usize; D]) -> usize {
    let free = faces(cells).filter_map(|(axis, face)| solver.value(axis, face));
    free.inspect(|v| assert!(v.is_finite(), "a value is not finite"))
        .count()
}

/// Twice the kinetic energy, `Σ m u²`.
fn energy<const D: usize>(
    masses: &[(usize, [i32; D], f64)],
    velocity: impl Fn(usize, [i32; D]) -> f64,
) -> f64 {
    let of = |&(axis, face, mass): &(usize, [i32; D], f64)| mass * velocity(axis, face).powi(2);
    masses.iter().map(of).sum()
}

/// The energy of a solution may exceed that of its start by this much: the tolerance's doing.
const SLACK: f64 = 1e-4;

/// Solves from noise of size one: the result is finite and has lost energy, not gained it.
fn noise_calms_down<const D: usize>(what: &str, body: &Formula<D>, viscosity: f64) {
    for options in WAYS {
        let mut solver = solver(body, options);
        let masses = masses(&mut solver);
        let free: std::collections::HashSet<_> = masses.iter().map(|m| (m.0, m.1)).collect();
        solver.load(|axis, face| {
            if free.contains(&(axis, face)) {
                noise_at(1, axis, face)
            } else {
                0.0
            }
        });
        let outcome = solver.solve(&to(1e-6));
        let outcome =
            outcome.unwrap_or_else(|e| panic!("{what}, {viscosity} Pa·s, {options:?}: {e}"));
        assert!(
            outcome.converged(),
            "{what}, {viscosity} Pa·s, {options:?}: {outcome:?}"
        );
        assert_eq!(finite_values(&solver, body.cells), solver.unknowns());
        let before = energy(&masses, |axis, face| noise_at(1, axis, face));
        let after = energy(&masses, |axis, face| {
            solver.value(axis, face).expect("a free face")
        });
        assert!(
            after <= (1.0 + SLACK) * before,
            "{what}, {viscosity} Pa·s, {options:?}: energy {before} → {after}"
        );
        if viscosity == 0.0 {
            for (axis, face) in faces(body.cells) {
                if let Some(u) = solver.value(axis, face) {
                    assert!(
                        (u - noise_at(1, axis, face)).abs() < 1e-5,
                        "{what}: {options:?}"
                    );
                }
            }
        }
    }
}

fn every_viscosity_is_solved<const D: usize>(n: usize) {
    for viscosity in VISCOSITIES {
        let kappa = stiffness(viscosity);
        let whole = || Formula::full([n; D], kappa);
        noise_calms_down("a ball", &whole().below(ball(n)), viscosity);
        noise_calms_down("a full box", &whole(), viscosity);
        let mut one = whole();
        one.fill = Box::new(|cell| {
            if cell == [3; D] {
                Fill::Full
            } else {
                Fill::Empty
            }
        });
        noise_calms_down("one cell", &one, viscosity);
        let mut corner = whole();
        corner.fill = Box::new(|cell| {
            if cell == [0; D] {
                Fill::Full
            } else {
                Fill::Empty
            }
        });
        noise_calms_down("one cell in a corner", &corner, viscosity);
        let around = whole().around(move |_, x| way(x, [0.6 * n as f64; D]) - 0.2 * n as f64);
        noise_calms_down("around a ball", &around, viscosity);
        let mut open = whole();
        open.open = [[true; 2]; D];
        noise_calms_down("a full box with no walls", &open, viscosity);
        noise_calms_down(
            "a lattice of one cell",
            &Formula::full([1; D], kappa),
            viscosity,
        );
    }
}

#[test]
fn every_viscosity_is_solved_2d() {
    every_viscosity_is_solved::<2>(20);
}

#[test]
fn every_viscosity_is_solved_3d() {
    every_viscosity_is_solved::<3>(9);
}

/// A viscosity that jumps by twelve orders of magnitude in the middle of a ball: too much for
/// some methods, which then say so; the safe one copes.
#[allow(clippy::print_stdout)]
fn a_jump_in_viscosity_is_solved_or_reported<const D: usize>(n: usize) {
    let body = Formula::full([n; D], 0.0)
        .below(ball(n))
        .varied(move |cell| {
            stiffness(if (cell[0] as usize) < n / 2 {
                1e-6
            } else {
                1e6
            })
        });
    for options in WAYS {
        let mut solver = solver(&body, options);
        solver.load(|axis, face| noise_at(2, axis, face));
        let outcome = solver.solve(&to(1e-6)).expect("a solve");
        println!("{D}D jump by 10¹², {options:?}: {outcome:?}");
        assert!(outcome.residual.is_finite());
        finite_values(&solver, [n; D]);
        let safe = options.method != ViscousMethod::Mgpcg;
        assert!(outcome.converged() || !safe, "{options:?}: {outcome:?}");
    }
}

#[test]
fn a_jump_in_viscosity_is_solved_or_reported_2d() {
    a_jump_in_viscosity_is_solved_or_reported::<2>(32);
}

#[test]
fn a_jump_in_viscosity_is_solved_or_reported_3d() {
    a_jump_in_viscosity_is_solved_or_reported::<3>(12);
}

/// Liquid at rest between plates that move, sides of the lattice or obstacles: very thick liquid
/// takes over their motion at once, though its own right-hand side is zero.
fn plates_drag_liquid_at_rest_along<const D: usize>(n: usize) {
    let kappa = stiffness(1e6);
    let height = n as f64;
    let obstacles = move |_: usize, x: [f64; D]| (x[1] - 2.3).min(height - 2.3 - x[1]);
    let boxes = [
        Formula::full([n; D], kappa),
        Formula::full([n; D], kappa).around(obstacles),
    ];
    for (body, cells) in boxes.iter().zip([[n; D]; 2]) {
        for options in WAYS {
            let mut solver = solver(body, options);
            // Everything that is held moves along z or x alike, the liquid is at rest.
            let moving = |axis: usize| if axis == 0 { 1.0 } else { 0.0 };
            solver.load(|_, _| 0.0);
            let free: std::collections::HashSet<_> = faces(cells)
                .filter(|&(axis, face)| solver.value(axis, face).is_some())
                .collect();
            assert!(free.len() > n * n / 4);
            solver.load(|axis, face| {
                if free.contains(&(axis, face)) {
                    0.0
                } else {
                    moving(axis)
                }
            });
            let outcome = solver.solve(&to(1e-8)).expect("a solve");
            assert!(outcome.converged(), "{options:?}: {outcome:?}");
            let apart = free.iter().map(|&(axis, face)| {
                (solver.value(axis, face).expect("a free face") - moving(axis)).abs()
            });
            let worst = apart.fold(0.0, f64::max);
            at_most(
                &format!("{D}D {options:?}, speed apart from the plates'"),
                worst,
                0.01,
            );
        }
    }
}

#[test]
fn plates_drag_liquid_at_rest_along_2d() {
    plates_drag_liquid_at_rest_along::<2>(16);
}

#[test]
fn plates_drag_liquid_at_rest_along_3d() {
    plates_drag_liquid_at_rest_along::<3>(9);
}

fn nothing_is_nothing<const D: usize>() {
    for options in WAYS {
        let mut empty = Formula::full([6; D], 1.0);
        empty.fill = Box::new(|_| Fill::Empty);
        let mut solver = solver(&empty, options);
        assert_eq!((solver.unknowns(), solver.levels()), (0, 0));
        solver.load(|_, _| 1.0);
        let outcome = solver.solve(&to(1e-6)).expect("nothing to solve");
        assert!(outcome.converged());
        assert_eq!(outcome.iterations, 0);
        assert_eq!(solver.value(0, [2; D]), None);
        // From something to nothing and back.
        solver.assemble(&Formula::full([6; D], 1.0));
        assert!(solver.unknowns() > 0);
        solver.assemble(&empty);
        assert_eq!(solver.unknowns(), 0);
        assert!(
            solver
                .solve(&to(1e-6))
                .expect("nothing to solve")
                .converged()
        );
    }
}

#[test]
fn nothing_is_nothing_2d() {
    nothing_is_nothing::<2>();
}

#[test]
fn nothing_is_nothing_3d() {
    nothing_is_nothing::<3>();
}

/// What is not a number is an error that says so, wherever it comes in.
fn what_is_not_a_number_is_an_error<const D: usize>(n: usize) {
    let place = [n as i32 / 2; D];
    for poison in [f64::NAN, f64::INFINITY] {
        for options in WAYS {
            let bad = |what: &str, solved: Result<_, SolveError>| {
                let error = solved
                    .err()
                    .unwrap_or_else(|| panic!("{options:?}: {poison} {what}"));
                assert!(
                    matches!(error, SolveError::NotFinite { .. }),
                    "{options:?}: {error}"
                );
            };
            let body = Formula::full([n; D], 1.0).below(ball(n));
            let mut velocity = solver(&body, options);
            velocity.load(|axis, face| {
                if (axis, face) == (1, place) {
                    poison
                } else {
                    1.0
                }
            });
            bad("in the velocity", velocity.solve(&to(1e-6)));

            let mut wall = solver(&Formula::full([n; D], 1.0), options);
            wall.load(|_, face| if face[0] <= 0 { poison } else { 1.0 });
            bad("in a wall's velocity", wall.solve(&to(1e-6)));

            let uniform = Formula::full([n; D], poison).below(ball(n));
            let varied = Formula::full([n; D], 1.0)
                .varied(move |cell| if cell == place { poison } else { 1.0 });
            let negative = Formula::full([n; D], -1.0);
            let mut shares = Formula::full([n; D], 1.0);
            shares.fill = Box::new(move |cell| match cell == place {
                true => Fill::Part([f32::NAN; 8]),
                false => Fill::Full,
            });
            for body in [uniform, varied, negative, shares] {
                let mut stiff = solver(&body, options);
                stiff.load(|axis, face| noise_at(1, axis, face));
                bad("in the stiffness", stiff.solve(&to(1e-6)));
                let system = stiff.system();
                assert!(matches!(system, Err(SolveError::NotFinite { .. })));
            }
        }
    }
}

#[test]
fn what_is_not_a_number_is_an_error_2d() {
    what_is_not_a_number_is_an_error::<2>(12);
}

#[test]
fn what_is_not_a_number_is_an_error_3d() {
    what_is_not_a_number_is_an_error::<3>(7);
}
