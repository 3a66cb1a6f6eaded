//! The exported surface holds the liquid's volume through a splash.

use plash_scene::AnySetup;
use plash_scene::file::{Overrides, gallery, parse};
use plash_scene::run::reconstructor;

/// The headline scene at a low resolution: over 48 frames the volume of the mesh stays within
/// 5 % of what was poured in.
#[test]
fn the_mesh_of_a_dam_break_keeps_its_volume_for_48_frames() {
    let entry = gallery()
        .iter()
        .find(|entry| entry.name == "dam-break")
        .expect("in the gallery");
    let overrides = Overrides {
        resolution: Some(24),
        ..Overrides::default()
    };
    let scene = parse("dam-break.toml", entry.text, &overrides).expect("a valid scene");
    let AnySetup::D3(setup) = scene.setup else {
        panic!("the dam break is in 3D")
    };
    let reconstructor = reconstructor(&setup, plash_render::ReconstructionOptions::default())
        .expect("a reconstructor");
    let mut simulation = plash_liquid::Simulation::new(setup);
    let mut worst: f64 = 0.0;
    for frame in 1..=48 {
        let end = frame as f64 / 24.0;
        while simulation.state().time < end {
            let dt = simulation.suggest_dt(end - simulation.state().time);
            let _ = simulation.step(dt, &mut ()).expect("a step");
        }
        let volume = simulation.setup().particle_volume();
        let mesh = reconstructor
            .surface(&simulation.state().particles.position, volume)
            .expect("a surface");
        assert!(mesh.is_closed());
        let expected = simulation.state().volume_expected;
        worst = worst.max((mesh.volume() / expected - 1.0).abs());
    }
    assert!(worst < 0.05, "the mesh is off by {worst}");
}
