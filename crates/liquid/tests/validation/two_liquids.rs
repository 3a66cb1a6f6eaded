//! Water breaks over a mound half a million times as thick, and is torn to films and drops around it.

use crate::common::below;
use plash_grid::Grid;
use plash_liquid::shape::Shape;
use plash_liquid::{LiquidVolume, Setup, Simulation, Viscosity};

fn thick(shape: Shape<2>, viscosity: f64) -> LiquidVolume<2> {
    LiquidVolume {
        viscosity: Viscosity::Constant(viscosity),
        ..LiquidVolume::new(shape)
    }
}

#[test]
fn torn_water_around_a_stiff_mound_costs_few_iterations() {
    let grid = Grid::new([96, 48], 0.4 / 96.0, [0.0; 2]).expect("a grid");
    let mut setup = Setup::new(grid);
    let dam = Shape::Box {
        min: [0.0; 2],
        max: [0.08, 0.16],
    };
    let mound = Shape::Sphere {
        center: [0.24, 0.03],
        radius: 0.06,
    };
    setup.liquids = vec![thick(dam, 1e-3), thick(mound, 500.0)];
    let mut simulation = Simulation::new(setup);
    let (mut iterations, mut steps, mut largest) = (0, 0, 0.0f32);
    while simulation.state().time < 1.0 {
        let dt = simulation.suggest_dt(1.0 - simulation.state().time);
        let report = simulation.step(dt, &mut ()).expect("a step");
        let viscosity = report.viscosity.expect("the liquid is viscous");
        assert_eq!(viscosity.status, "converged");
        iterations += viscosity.iterations;
        steps += 1;
        let kept = simulation.state().dilation.iter();
        let kept = kept.flat_map(|cells| cells.as_slice());
        largest = kept.fold(largest, |most, d| most.max(d.abs()));
    }
    // With coarse faces that slide at no energy it was sixty.
    below(
        "iterations of the viscous solve",
        iterations as f64 / steps as f64,
        20.0,
    );
    // Of the water, which the mound drags along, none is to be kept: where it grew in every step it came
    // to 1.8 m/s, and what flowed along the mound shook it.
    let what = "dilation that water keeps beside a mound, m/s";
    below(what, f64::from(largest), 0.1);
}
