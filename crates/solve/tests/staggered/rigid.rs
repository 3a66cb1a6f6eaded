//! Liquid that moves as a whole does not know that it is viscous, and viscosity inside a free
//! body changes neither its momentum nor its angular momentum: `rotating_blob.csv`.

use crate::common::{
    Formula, at_most, ball, cell_middle, face_middle, faces, masses, noise_at, solver, to, way,
};
use plash_solve::staggered::{Smoother, ViscousMethod, ViscousOptions, ViscousSolver};

/// A free ball of partly filled cells in a box it does not touch.
fn blob<const D: usize>(n: usize, stiffness: f64, varied: bool) -> Formula<D> {
    let body = Formula::full([n; D], stiffness).below(ball(n));
    if !varied {
        return body;
    }
    body.varied(move |cell| {
        let waves = cell_middle(cell).map(|x| (40.0 * x / n as f64).sin());
        stiffness * 100f64.powf(waves.iter().sum::<f64>() / D as f64)
    })
}

/// Translation and rotation about a point off the grid and, in 3D, an axis askew to it.
fn rigid<const D: usize>(n: usize, axis: usize, face: [i32; D]) -> f64 {
    let x = face_middle(axis, face).map(|x| x / n as f64);
    let mut u = [0.31, -0.17, 0.23][axis];
    let about = [0.41, 0.53, 0.37];
    let r = |a: usize| x[a] - about[a];
    // Angular velocity in the plane of each pair of axes.
    for (a, b, omega) in [(0, 1, 1.9), (0, 2, -0.7), (1, 2, 1.1)] {
        if b < D && axis == a {
            u -= omega * r(b);
        } else if b < D && axis == b {
            u += omega * r(a);
        }
    }
    u
}

const STIFFNESSES: [f64; 4] = [1e-6, 1e-2, 1.0, 1e4];

/// Solves to 10⁻¹², or as far as rounding allows. A residual is the difference of terms as large as
/// stiffness times velocity, here up to 10⁷, of which double precision leaves a few 10⁻⁹. What must
/// hold to 10⁻⁹ is what is compared: velocities and momenta.
fn solve<const D: usize>(
    solver: &mut ViscousSolver<D>,
    velocity: impl Fn(usize, [i32; D]) -> f64 + Sync,
) -> usize {
    solver.load(velocity);
    let outcome = solver.solve(&to(1e-12)).expect("a solve");
    assert!(outcome.residual < 1e-8, "{outcome:?}");
    outcome.iterations
}

fn rigid_motion_is_left_alone<const D: usize>(n: usize) {
    let mut worst: f64 = 0.0;
    for varied in [false, true] {
        for stiffness in STIFFNESSES {
            let mut solver = solver(&blob::<D>(n, stiffness, varied), ViscousOptions::default());
            let free = masses(&mut solver);
            solve(&mut solver, |axis, face| rigid(n, axis, face));
            for &(axis, face, _) in &free {
                let u = solver.value(axis, face).expect("a free face");
                worst = worst.max((u - rigid(n, axis, face)).abs());
            }
        }
    }
    at_most(&format!("{D}D rigid motion, largest change"), worst, 1e-9);
}

#[test]
fn rigid_motion_is_left_alone_2d() {
    rigid_motion_is_left_alone::<2>(40);
}

#[test]
fn rigid_motion_is_left_alone_3d() {
    rigid_motion_is_left_alone::<3>(18);
}

/// To the tolerance of a step, whatever the stiffness, there is nothing to do: the residual of what
/// moves as a whole is rounding, and stays far below.
fn stiff_liquid_that_moves_as_a_whole_needs_no_iteration<const D: usize>(n: usize) {
    for varied in [false, true] {
        for stiffness in [1e4, 1e6, 1e7] {
            let mut solver = solver(&blob::<D>(n, stiffness, varied), ViscousOptions::default());
            let free = masses(&mut solver);
            solver.load(|axis, face| rigid(n, axis, face));
            let outcome = solver.solve(&to(1e-6)).expect("a solve");
            assert_eq!(
                outcome.iterations, 0,
                "{stiffness:e}, {varied}: {outcome:?}"
            );
            for (axis, face, _) in free {
                let u = solver.value(axis, face);
                assert_eq!(u, Some(rigid(n, axis, face)));
            }
        }
    }
}

#[test]
fn stiff_liquid_that_moves_as_a_whole_needs_no_iteration_2d() {
    stiff_liquid_that_moves_as_a_whole_needs_no_iteration::<2>(40);
}

#[test]
fn stiff_liquid_that_moves_as_a_whole_needs_no_iteration_3d() {
    stiff_liquid_that_moves_as_a_whole_needs_no_iteration::<3>(18);
}

/// Momentum along each axis, then angular momentum in each plane.
fn momenta<const D: usize>(
    masses: &[(usize, [i32; D], f64)],
    velocity: impl Fn(usize, [i32; D]) -> f64,
) -> [f64; 6] {
    let mut sums = [0.0; 6];
    for &(axis, face, mass) in masses {
        let x = face_middle(axis, face);
        let p = mass * velocity(axis, face);
        sums[axis] += p;
        for (k, [a, b]) in [[0, 1], [0, 2], [1, 2]].into_iter().enumerate() {
            if b < D && axis == a {
                sums[3 + k] -= x[b] * p;
            } else if b < D && axis == b {
                sums[3 + k] += x[a] * p;
            }
        }
    }
    sums
}

/// Whatever the motion: here noise on top of a rotation, so that there is something to damp.
fn a_free_body_keeps_its_momenta<const D: usize>(n: usize) {
    let mut worst = [0.0f64; 2];
    let motion = |axis, face| rigid(n, axis, face) + noise_at(5, axis, face);
    for varied in [false, true] {
        for stiffness in STIFFNESSES {
            for smoother in [Smoother::Chebyshev, Smoother::Box] {
                let options = ViscousOptions {
                    smoother,
                    ..ViscousOptions::default()
                };
                let mut solver = solver(&blob::<D>(n, stiffness, varied), options);
                let free = masses(&mut solver);
                let before = momenta(&free, motion);
                let iterations = solve(&mut solver, motion);
                assert!(iterations > 0);
                let after = momenta(&free, |axis, face| {
                    solver.value(axis, face).expect("a free face")
                });
                let size = |k: usize| {
                    before[3 * k..][..3]
                        .iter()
                        .fold(0.0f64, |m, p| m.max(p.abs()))
                };
                for k in 0..6 {
                    let change = (after[k] - before[k]).abs() / size(k / 3);
                    worst[k / 3] = worst[k / 3].max(change);
                }
            }
        }
    }
    at_most(
        &format!("{D}D free body, change of momentum"),
        worst[0],
        1e-9,
    );
    at_most(
        &format!("{D}D free body, change of angular momentum"),
        worst[1],
        1e-9,
    );
}

#[test]
fn a_free_body_keeps_its_momenta_2d() {
    a_free_body_keeps_its_momenta::<2>(40);
}

#[test]
fn a_free_body_keeps_its_momenta_3d() {
    a_free_body_keeps_its_momenta::<3>(16);
}

/// A tank of stiff liquid whose walls move, and a ball in the air above it, which knows nothing of
/// that: its motion is as exact as between walls at rest.
fn walls_that_move_do_not_blur_what_is_free_of_them<const D: usize>(n: usize) {
    let size = n as f64;
    let tank = move |x: [f64; D]| x[1] - 0.3 * size;
    let mut middle = [0.5 * size; D];
    middle[1] = 0.7 * size;
    let phi = move |x: [f64; D]| tank(x).min(way(x, middle) - 0.17 * size);
    let is_in_ball = |face: [i32; D]| f64::from(face[1]) > 0.45 * size;
    let falling = |axis: usize, face: [i32; D]| match is_in_ball(face) {
        true => [0.1, -0.3, 0.2][axis] + 0.02 * noise_at(3, axis, face),
        false => 0.0,
    };
    for stiffness in [1e4, 1e6] {
        let body = Formula::full([n; D], stiffness).below(phi);
        for method in [ViscousMethod::Mgpcg, ViscousMethod::PcgIc] {
            let options = ViscousOptions {
                method,
                ..ViscousOptions::default()
            };
            let [still, moving] = [0.0, 1.0].map(|speed| {
                let mut solver = solver(&body, options);
                solver.load_apart(falling, |axis, _| if axis == 0 { speed } else { 0.0 });
                let outcome = solver.solve(&to(1e-4)).expect("a solve");
                assert!(outcome.converged(), "{stiffness}, {method}: {outcome:?}");
                assert!(outcome.residual <= 1e-4 * solver.size());
                at_most(
                    &format!("{D}D {method}, κ {stiffness}, walls at {speed}: iterations"),
                    outcome.iterations as f64,
                    if method == ViscousMethod::Mgpcg {
                        60.0
                    } else {
                        2000.0
                    },
                );
                solver
            });
            let of_ball = faces(body.cells).filter(|&(_, face)| is_in_ball(face));
            let mut worst: f64 = 0.0;
            for (axis, face) in of_ball {
                if let (Some(one), Some(other)) =
                    (still.value(axis, face), moving.value(axis, face))
                {
                    worst = worst.max((one - other).abs());
                }
            }
            at_most(
                &format!("{D}D {method}, κ {stiffness}: the ball beside moving walls"),
                worst,
                2e-4,
            );
        }
    }
}

#[test]
fn walls_that_move_do_not_blur_what_is_free_of_them_2d() {
    walls_that_move_do_not_blur_what_is_free_of_them::<2>(40);
}

#[test]
fn walls_that_move_do_not_blur_what_is_free_of_them_3d() {
    walls_that_move_do_not_blur_what_is_free_of_them::<3>(18);
}
