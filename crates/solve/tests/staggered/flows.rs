//! Textbook flows against `viscous_exact.csv`: solver-level stepping, with pressure gradients as
//! forces. The ends of a channel are held to the exact flow at the middles of their own faces,
//! by an obstacle that is at no distance there, so that nothing but the channel is tested.

use std::f64::consts::PI;

use crate::common::{
    Formula, at_least, at_most, face_middle, faces, solve_for, solver, table, way, within,
};
use plash_solve::staggered::{ViscousOptions, ViscousSolver};

/// Steps long enough that few of them are a steady flow.
const LONG: f64 = 1e3;

/// Whether a face belongs to the frame of faces that is held to exact values: the outermost cells
/// along some axes.
fn in_frame<const D: usize>(cells: [usize; D], axes: &[usize], axis: usize, x: [f64; D]) -> bool {
    axes.iter().any(|&a| {
        let reach = if a == axis { 1.01 } else { 0.51 };
        x[a] < reach || x[a] > cells[a] as f64 - reach
    })
}

/// The distance of a face from such a frame: whoever is not in it is a whole cell from it.
fn frame<const D: usize>(
    cells: [usize; D],
    axes: &'static [usize],
) -> impl Fn(usize, [f64; D]) -> f64 + Sync + Copy {
    move |axis, x| {
        if in_frame(cells, axes, axis, x) {
            -1e-12
        } else {
            1.0
        }
    }
}

/// A plane channel along x of height 1, `n` cells high and three times as long.
struct Channel {
    n: usize,
    cells: [usize; 2],
    solver: ViscousSolver<2>,
}

impl Channel {
    /// Filled up to `height` cells.
    fn new(n: usize, rows: usize, height: f64, stiffness: f64) -> Self {
        let cells = [3 * n, rows];
        let body = Formula::full(cells, stiffness)
            .below(move |x| x[1] - height)
            .around(frame(cells, &[0]));
        Channel {
            n,
            cells,
            solver: solver(&body, ViscousOptions::default()),
        }
    }

    /// The velocity in the middle of the channel, row by row.
    fn profile(&self) -> Vec<f64> {
        let column = 3 * self.n as i32 / 2;
        let rows = (0..self.cells[1] as i32).map_while(|y| self.solver.value(0, [column, y]));
        rows.collect()
    }

    /// Takes a step under a force along x that adds `push` to the velocity. Walls move at
    /// `plates`, ends as `exact` says.
    fn step(&mut self, push: f64, plates: [f64; 2], exact: impl Fn(f64) -> f64 + Sync) {
        let mut u = vec![vec![0.0; self.cells[1]]; self.cells[0] + 1];
        let mut v = vec![vec![0.0; self.cells[1] + 1]; self.cells[0]];
        for (x, column) in u.iter_mut().enumerate() {
            for (y, u) in column.iter_mut().enumerate() {
                *u = self.solver.value(0, [x as i32, y as i32]).unwrap_or(0.0);
            }
        }
        for (x, column) in v.iter_mut().enumerate() {
            for (y, v) in column.iter_mut().enumerate() {
                *v = self.solver.value(1, [x as i32, y as i32]).unwrap_or(0.0);
            }
        }
        let (n, cells) = (self.n as f64, self.cells);
        solve_for(&mut self.solver, 1e-9, |axis, face| {
            let at = face_middle(axis, face);
            let [x, y] = face;
            if axis == 1 {
                let inside = x >= 0 && x < cells[0] as i32 && y >= 0 && y <= cells[1] as i32;
                if inside {
                    v[x as usize][y as usize]
                } else {
                    0.0
                }
            } else if at[1] < 0.0 {
                plates[0]
            } else if at[1] > cells[1] as f64 {
                plates[1]
            } else if in_frame(cells, &[0], axis, at) {
                exact(at[1] / n)
            } else {
                u[x as usize][y as usize] + push
            }
        });
    }
}

/// `G H²/8ν = 1.25` in the middle.
#[test]
fn plane_poiseuille_flow_has_its_maximum() {
    let (force, nu) = (1.0, 0.1);
    let exact = |y: f64| force / (2.0 * nu) * y * (1.0 - y);
    let sizes = [7, 15, 31, 63];
    let mut errors = Vec::new();
    let mut maximum = 0.0;
    for n in sizes {
        let mut channel = Channel::new(n, n, 2.0 * n as f64, nu * LONG * (n * n) as f64);
        for _ in 0..4 {
            channel.step(force * LONG, [0.0; 2], exact);
        }
        let profile = channel.profile();
        let error = |(y, u): (usize, &f64)| (u - exact((y as f64 + 0.5) / n as f64)).abs();
        errors.push(profile.iter().enumerate().map(error).fold(0.0, f64::max));
        maximum = profile[n / 2];
    }
    let orders = table("plane Poiseuille, largest error", &sizes, &errors);
    within(
        "plane Poiseuille, error of the maximum at 63",
        maximum / 1.25 - 1.0,
        0.01,
    );
    at_least("plane Poiseuille, order", orders[2], 1.9);
}

/// `u = U y/H`, and the way there.
fn couette(y: f64, time: f64) -> f64 {
    let term = |k: i32| {
        let k = PI * f64::from(k);
        2.0 / k * k.cos() * (k * y).sin() * (-k * k * time).exp()
    };
    y + (1..60).map(term).sum::<f64>()
}

#[test]
fn couette_flow_starts_and_settles() {
    assert!(
        (couette(0.5, 0.05) - 0.113_844).abs() < 1e-6,
        "the reference"
    );
    let sizes = [9, 17, 33];
    let mut errors = Vec::new();
    for n in sizes {
        let steps = n * n / 2;
        let dt = 0.05 / steps as f64;
        let mut channel = Channel::new(n, n, 2.0 * n as f64, dt * (n * n) as f64);
        for k in 1..=steps {
            let time = dt * k as f64;
            channel.step(0.0, [0.0, 1.0], |y| couette(y, time));
        }
        errors.push((channel.profile()[n / 2] / 0.113_844 - 1.0).abs());
    }
    table(
        "Couette start-up at y = ½, νt = 0.05, relative error",
        &sizes,
        &errors,
    );
    within("Couette start-up, 33 cells", errors[2], 0.01);

    let n = 17;
    let mut channel = Channel::new(n, n, 2.0 * n as f64, LONG * (n * n) as f64);
    for _ in 0..4 {
        channel.step(0.0, [0.0, 1.0], |y| y);
    }
    for (y, u) in channel.profile().iter().enumerate() {
        let exact = (y as f64 + 0.5) / n as f64;
        assert!((u - exact).abs() < 1e-6, "row {y}: {u} for {exact}");
    }
    within(
        "Couette, settled, y = ½",
        channel.profile()[n / 2] / 0.5 - 1.0,
        0.01,
    );
}

/// `u_s = g h²/2ν = 1` and `Q = g h³/3ν = ⅔`, wherever in a cell the surface lies.
#[test]
fn a_nusselt_film_runs_down_as_fast_as_it_should() {
    let (force, nu) = (1.0, 0.5);
    let exact = |y: f64| {
        let y = y.min(1.0);
        force / nu * (y - 0.5 * y * y)
    };
    let mut worst = [0.0f64; 2];
    for rows in [8, 16] {
        for offset in [0.0, 0.02, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.98] {
            // The film is `height` cells deep, which is a length of one.
            let height = rows as f64 + offset;
            let scale = height / rows as f64;
            let stiffness = nu * LONG * height * height;
            let mut film = Channel::new(rows, rows + 3, height, stiffness);
            for _ in 0..5 {
                film.step(force * LONG, [0.0; 2], |y| exact(y / scale));
            }
            let profile = film.profile();
            let share = |y: usize| (height - y as f64).clamp(0.0, 1.0);
            let flux: f64 = profile.iter().enumerate().map(|(y, u)| share(y) * u).sum();
            let surface = profile[height.ceil() as usize - 1];
            // Where the last face lies above the surface, it moves as the surface does.
            let at = (height.ceil() - 0.5).min(height) / height;
            let errors = [surface / exact(at) - 1.0, flux / height * 1.5 - 1.0];
            for (worst, error) in worst.iter_mut().zip(errors) {
                *worst = worst.max(error.abs() * ((rows * rows) as f64 / 64.0));
            }
            if rows == 16 {
                within(
                    &format!("Nusselt film, {height} cells, speed below the surface"),
                    errors[0],
                    0.01,
                );
                within(
                    &format!("Nusselt film, {height} cells, flux"),
                    errors[1],
                    0.01,
                );
            }
        }
    }
    at_most(
        "Nusselt film, worst speed error × (cells/8)²",
        worst[0],
        0.03,
    );
    at_most(
        "Nusselt film, worst flux error × (cells/8)²",
        worst[1],
        0.03,
    );
}

/// Vortices of side π fade as `exp(−4 ν t)` in energy. Nine of them, held at the outside; only
/// the middle one is measured, which the outside does not reach in the time.
#[test]
fn taylor_green_vortices_fade_at_their_rate() {
    let sizes = [6, 12, 24];
    let mut errors = Vec::new();
    for n in sizes {
        let cells = [3 * n; 2];
        let h = PI / n as f64;
        let steps = n * n;
        let dt = 0.25 / steps as f64;
        let flow = |axis: usize, face: [i32; 2]| {
            let [x, y] = face_middle(axis, face).map(|x| h * x);
            if axis == 0 {
                x.sin() * y.cos()
            } else {
                -x.cos() * y.sin()
            }
        };
        let body = Formula::full(cells, dt / (h * h)).around(frame(cells, &[0, 1]));
        let mut solver = solver(&body, ViscousOptions::default());
        let mut u: Vec<f64> = faces(cells).map(|(axis, face)| flow(axis, face)).collect();
        let middle =
            |(_, face): &(usize, [i32; 2])| face.iter().all(|&i| i >= n as i32 && i < 2 * n as i32);
        let energy = |u: &[f64]| -> f64 {
            let there = faces(cells).zip(u).filter(|(face, _)| middle(face));
            there.map(|(_, u)| u * u).sum()
        };
        let start = energy(&u);
        for k in 1..=steps {
            let faded = (-2.0 * dt * k as f64).exp();
            let side = 3 * n + 3;
            solve_for(&mut solver, 1e-9, |axis, face| {
                if in_frame(cells, &[0, 1], axis, face_middle(axis, face)) {
                    return faded * flow(axis, face);
                }
                let [x, y] = face.map(|i| (i + 1) as usize);
                u[(axis * side + y) * side + x]
            });
            for (u, (axis, face)) in u.iter_mut().zip(faces(cells)) {
                *u = solver.value(axis, face).unwrap_or(faded * flow(axis, face));
            }
        }
        errors.push(energy(&u) / start / 0.367_879 - 1.0);
    }
    let sizes_of = errors.iter().map(|e| e.abs()).collect::<Vec<_>>();
    let orders = table("Taylor-Green energy, relative error", &sizes, &sizes_of);
    within("Taylor-Green energy, 24 cells a vortex", errors[2], 0.01);
    at_least("Taylor-Green energy, order", orders[1], 1.9);
}

/// `u_max = G R²/4ν = 1`; the wall cuts through cells as it likes.
#[test]
fn a_round_pipe_carries_hagen_poiseuille_flow() {
    let (force, nu) = (1.0, 0.25);
    let sizes = [4, 8, 16];
    let (mut errors, mut maxima) = (Vec::new(), Vec::new());
    for n in sizes {
        let radius = n as f64;
        let side = 2 * n + 4;
        let cells = [2 * n, side, side];
        // Off the axis of the lattice.
        let middle = [0.5 * side as f64 + 0.13, 0.5 * side as f64 - 0.21];
        let off = move |x: [f64; 3]| way([x[1], x[2]], middle);
        let ends = frame(cells, &[0]);
        let body = Formula::full(cells, nu * LONG * radius * radius)
            .around(move |axis, x| ends(axis, x).min(radius - off(x)));
        let exact = |x: [f64; 3]| {
            let r = off(x) / radius;
            force / (4.0 * nu) * (1.0 - r * r).max(0.0)
        };
        let mut solver = solver(&body, ViscousOptions::default());
        let mut u: Vec<f64> = vec![0.0; faces(cells).count()];
        let width = cells.map(|n| n + 3);
        for _ in 0..4 {
            solve_for(&mut solver, 1e-9, |axis, face| {
                let x = face_middle(axis, face);
                if off(x) >= radius {
                    return 0.0;
                }
                if in_frame(cells, &[0], axis, x) {
                    return if axis == 0 { exact(x) } else { 0.0 };
                }
                let [i, j, k] = face.map(|i| (i + 1) as usize);
                let push = if axis == 0 { force * LONG } else { 0.0 };
                u[((axis * width[2] + k) * width[1] + j) * width[0] + i] + push
            });
            for (u, (axis, face)) in u.iter_mut().zip(faces(cells)) {
                *u = solver.value(axis, face).unwrap_or(0.0);
            }
        }
        let column = cells[0] as i32 / 2;
        let (mut worst, mut maximum) = (0.0f64, 0.0f64);
        for j in 0..side as i32 {
            for k in 0..side as i32 {
                if let Some(u) = solver.value(0, [column, j, k]) {
                    let x = face_middle(0, [column, j, k]);
                    worst = worst.max((u - exact(x)).abs());
                    maximum = maximum.max(u);
                }
            }
        }
        errors.push(worst);
        maxima.push(maximum);
    }
    let orders = table(
        "Hagen-Poiseuille, cut-cell pipe, largest error",
        &sizes,
        &errors,
    );
    within(
        "Hagen-Poiseuille, maximum, radius of 16 cells",
        maxima[2] - 1.0,
        0.01,
    );
    at_least(
        "Hagen-Poiseuille, order from 4 to 16",
        0.5 * (orders[0] + orders[1]),
        1.0,
    );
}

/// Liquid between a turning cylinder and one at rest: `u = a r + b/r`. Both cut through cells.
#[test]
fn liquid_between_cylinders_turns_as_couette_says() {
    let sizes = [16, 32, 64, 128];
    let mut errors = Vec::new();
    let mut means = Vec::new();
    for n in sizes {
        let size = n as f64;
        let middle = [0.5 * size + 0.17, 0.5 * size - 0.09];
        let (inner, outer) = (0.2 * size, 0.44 * size);
        let omega = 1.0 / inner;
        let body = Formula::full([n; 2], LONG * size * size).around(move |_, x| {
            let r = way(x, middle);
            (r - inner).min(outer - r)
        });
        // Unit speed on the inner cylinder.
        let exact = |r: f64| {
            let (i, o) = (inner, outer);
            omega * i * i / (o * o - i * i) * (o * o / r - r)
        };
        let turned = |axis: usize, x: [f64; 2], speed_over_r: f64| {
            if axis == 0 {
                -speed_over_r * (x[1] - middle[1])
            } else {
                speed_over_r * (x[0] - middle[0])
            }
        };
        let mut solver = solver(&body, ViscousOptions::default());
        // A guess far off, forgotten in one step of this length.
        solve_for(&mut solver, 1e-7, |axis, face| {
            let x = face_middle(axis, face);
            let r = way(x, middle);
            if r <= inner {
                turned(axis, x, omega)
            } else {
                0.0
            }
        });
        let (mut worst, mut square, mut count) = (0.0f64, 0.0, 0.0);
        for (axis, face) in faces([n; 2]) {
            if let Some(u) = solver.value(axis, face) {
                let x = face_middle(axis, face);
                let r = way(x, middle);
                let error = u - turned(axis, x, exact(r) / r);
                worst = worst.max(error.abs());
                square += error * error;
                count += 1.0;
            }
        }
        errors.push(worst);
        means.push(f64::sqrt(square / count));
    }
    table(
        "cylindrical Couette, cut cells, largest error",
        &sizes,
        &errors,
    );
    let orders = table("cylindrical Couette, cut cells, rms error", &sizes, &means);
    within("cylindrical Couette, rms error at 64", means[2], 0.01);
    let order = orders.iter().sum::<f64>() / 3.0;
    at_least(
        "cylindrical Couette, order of the rms error from 16 to 128",
        order,
        1.0,
    );
}
