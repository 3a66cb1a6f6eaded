//! Every surface and every transfer can carry a splash.

use crate::common::{below, still, unit_grid};
use plash_liquid::shape::Shape;
use plash_liquid::{LiquidVolume, Setup, Simulation, SurfaceMethod, Transfer};

/// A drop that is about to hit a pool.
fn drop_over_pool<const D: usize>(n: usize) -> Setup<D> {
    let mut setup = Setup::new(unit_grid::<D>(n));
    let mut top = [1.0; D];
    top[1] = 0.3;
    setup.liquids.push(still(Shape::Box {
        min: [0.0; D],
        max: top,
    }));
    let mut velocity = [0.0; D];
    velocity[1] = -3.0;
    setup.liquids.push(LiquidVolume {
        velocity,
        ..LiquidVolume::new(Shape::Sphere {
            center: [0.5; D],
            radius: 0.14,
        })
    });
    setup
}

fn twenty_steps<const D: usize>(n: usize, surface: SurfaceMethod, transfer: Transfer) {
    let mut setup = drop_over_pool::<D>(n);
    setup.scheme.surface = surface;
    setup.scheme.transfer = transfer;
    let mut simulation = Simulation::new(setup);
    let mut worst: f64 = 0.0;
    for _ in 0..20 {
        let dt = simulation.suggest_dt(1.0);
        let report = simulation.step(dt, &mut ()).expect("a step");
        assert_eq!(report.pressure.status, "converged");
        assert!(report.max_speed.is_finite() && report.max_speed < 10.0);
        worst = worst.max((report.volume / report.volume_expected - 1.0).abs());
    }
    let particles = &simulation.state().particles;
    let numbers = particles.position.iter().chain(&particles.velocity);
    assert!(numbers.flatten().all(|v| v.is_finite()));
    below(
        &format!("{D}D drop, {surface:?}, {transfer:?}: volume error"),
        worst,
        0.03,
    );
}

fn every_transfer(surface: SurfaceMethod) {
    for transfer in [
        Transfer::Pic,
        Transfer::Flip { pic_blend: 0.03 },
        Transfer::Apic,
    ] {
        twenty_steps::<2>(32, surface, transfer);
        twenty_steps::<3>(16, surface, transfer);
    }
}

#[test]
fn a_drop_falls_into_a_pool_with_union() {
    every_transfer(SurfaceMethod::Union);
}

#[test]
fn a_drop_falls_into_a_pool_with_zhu_bridson() {
    every_transfer(SurfaceMethod::ZhuBridson);
}

#[test]
fn a_drop_falls_into_a_pool_with_marker() {
    every_transfer(SurfaceMethod::Marker);
}
