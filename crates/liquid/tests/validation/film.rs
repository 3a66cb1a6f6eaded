//! A film that runs down an incline: Nusselt (1916), `u = (g sin θ/ν)(h y − y²/2)`.

use crate::common::{run, within};
use plash_grid::Grid;
use plash_liquid::shape::Shape;
use plash_liquid::{LiquidVolume, Setup, Simulation, Viscosity};

const NU: f64 = 1.0;

/// Pull along the incline, which is one of 45°.
const PULL: f64 = 1.0;

/// Where the film is looked at: neither end, `g h²/ν = 1` m/s away at the most, has been heard of.
const WINDOW: std::ops::Range<f64> = 15.0..19.0;

/// A film 1 m thick on a floor of 30 m.
fn film(cells: f64) -> Simulation<2> {
    let extent = [(30.0 * cells) as usize, (1.9 * cells) as usize];
    let grid = Grid::new(extent, 1.0 / cells, [0.0; 2]).expect("a grid");
    let mut setup = Setup::new(grid);
    setup.gravity = [PULL, -PULL];
    setup.liquids.push(LiquidVolume {
        viscosity: Viscosity::Constant(NU * setup.density),
        ..LiquidVolume::new(Shape::Box {
            min: [0.0; 2],
            max: [30.0, 1.0],
        })
    });
    Simulation::new(setup)
}

/// Flux, and the sum of velocities over that of Nusselt's at the same places, for all of the
/// depth and for the uppermost tenth.
fn measure(simulation: &Simulation<2>) -> [f64; 3] {
    let particles = &simulation.state().particles;
    let there = particles.position.iter().zip(&particles.velocity);
    let (mut all, mut top) = ([0.0; 2], [0.0; 2]);
    for (x, u) in there.filter(|(x, _)| WINDOW.contains(&x[0])) {
        let y = x[1].min(1.0);
        let exact = PULL / NU * (y - 0.5 * y * y);
        for sums in [&mut all, &mut top]
            .into_iter()
            .take(if y > 0.9 { 2 } else { 1 })
        {
            sums[0] += u[0];
            sums[1] += exact;
        }
    }
    let length = WINDOW.end - WINDOW.start;
    let flux = simulation.setup().particle_volume() * all[0] / length;
    [flux, all[0] / all[1], top[0] / top[1]]
}

#[test]
fn a_film_runs_down_an_incline_as_nusselt_says() {
    let flux = PULL / (3.0 * NU);
    // The surface on a cell border, in the middle of a cell, and in between.
    for cells in [10.0, 10.5, 12.25] {
        let mut simulation = film(cells);
        run(&mut simulation, 4.5, |_, _| {});
        let [found, speed, surface] = measure(&simulation);
        within(
            &format!("film of {cells} cells, flux"),
            found / flux - 1.0,
            0.01,
        );
        within(&format!("film of {cells} cells, speed"), speed - 1.0, 0.01);
        within(
            &format!("film of {cells} cells, surface speed"),
            surface - 1.0,
            0.01,
        );
    }
}
