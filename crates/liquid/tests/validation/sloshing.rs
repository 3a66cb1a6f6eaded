//! Standing waves in a tank, against linear theory: `ω² = g k tanh(k h)`.

use crate::common::{G, run, state_of, unit_grid, within};
use plash_liquid::{Setup, Simulation, Transfer};
use std::f64::consts::PI;

/// A box 1 m wide with 0.5 m of water.
const DEPTH: f64 = 0.5;

/// Water with a level surface that moves as mode `n` does when it passes through level,
/// `φ = A (ω/k) cos kx cosh ky / sinh kh`, so that it will rise by `A`.
fn wave(cells: usize, mode: usize, amplitude: f64) -> Simulation<2> {
    let mut setup = Setup::new(unit_grid::<2>(cells));
    setup.scheme.transfer = Transfer::Flip { pic_blend: 0.0 };
    let k = mode as f64 * PI;
    let omega = (G * k * (k * DEPTH).tanh()).sqrt();
    let spacing = 0.5 / cells as f64;
    let rows = (DEPTH / spacing).round() as usize;
    let water = (0..2 * cells * rows).map(|i| {
        let [x, y] = [i % (2 * cells), i / (2 * cells)].map(|l| (l as f64 + 0.5) * spacing);
        let scale = amplitude * omega / (k * DEPTH).sinh();
        let u = -scale * (k * x).sin() * (k * y).cosh();
        let v = scale * (k * x).cos() * (k * y).sinh();
        ([x, y], [u, v])
    });
    let state = state_of(&setup, water);
    Simulation::resume(setup, state)
}

/// The amplitude of mode `n`: `2 ∬ cos kx dx dy` over the liquid, of which each particle is
/// an equal share.
fn amplitude(simulation: &Simulation<2>, mode: usize) -> f64 {
    let k = mode as f64 * PI;
    let position = &simulation.state().particles.position;
    let sum: f64 = position.iter().map(|x| (k * x[0]).cos()).sum();
    2.0 * simulation.setup().particle_volume() * sum
}

/// The mean period over `periods` of them, from zero crossings of the amplitude.
fn period(mode: usize, expected: f64, periods: f64) -> f64 {
    let mut simulation = wave(64, mode, 0.02);
    let mut crossings = Vec::new();
    let (mut t, mut a) = (0.0, 0.0);
    run(&mut simulation, (periods + 0.3) * expected, |s, report| {
        let now = amplitude(s, mode);
        // The start is a crossing too, but no wave yet: leave it out.
        if a * now < 0.0 {
            crossings.push(t + (report.time - t) * a / (a - now));
        }
        (t, a) = (report.time, now);
    });
    let count = crossings.len() - 1;
    assert!(count as f64 >= 2.0 * periods - 2.0, "{count} half periods");
    2.0 * (crossings[count] - crossings[0]) / count as f64
}

/// Periods of the first three modes, s (Lamb 1932, art. 228).
const PERIODS: [f64; 3] = [1.18182, 0.801801, 0.653499];

fn a_mode_has_its_period(mode: usize) {
    let exact = PERIODS[mode - 1];
    let error = period(mode, exact, 4.0) / exact - 1.0;
    within(
        &format!("sloshing mode {mode}, error of the period"),
        error,
        0.02,
    );
}

#[test]
fn the_first_sloshing_mode_has_its_period() {
    a_mode_has_its_period(1);
}

#[test]
fn the_second_sloshing_mode_has_its_period() {
    a_mode_has_its_period(2);
}

#[test]
fn the_third_sloshing_mode_has_its_period() {
    a_mode_has_its_period(3);
}
