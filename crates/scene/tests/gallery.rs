//! The scenes that come with plash: all valid, all listed, all run.

use std::path::Path;

use plash_liquid::{Setup, Simulation};
use plash_scene::file::{self, Overrides, gallery, template};
use plash_scene::resolve::AnySetup;
use plash_scene::schema;

fn none() -> Overrides {
    Overrides::default()
}

#[test]
fn every_scene_of_the_gallery_is_clean() {
    for item in gallery() {
        let file = format!("{}.toml", item.name);
        let scene = file::parse(&file, item.text, &none());
        let scene = scene.unwrap_or_else(|report| panic!("{report}"));
        assert!(
            scene.warnings.is_empty(),
            "{}: {}",
            item.name,
            scene.warnings
        );
        assert_eq!(scene.name, item.name);
        assert!(item.description().len() > 20, "{}", item.name);
        assert!(
            item.text.contains("# Look for:"),
            "{} says what to see",
            item.name
        );
        assert!(scene.estimate.particles > 0, "{}", item.name);
    }
}

#[test]
fn the_gallery_holds_every_file_of_the_folder() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenes");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder of scenes")
        .filter_map(|entry| entry.expect("an entry").file_name().into_string().ok())
        .filter(|name| name.ends_with(".toml"))
        .collect();
    files.sort();
    let mut names: Vec<String> = gallery()
        .iter()
        .map(|s| format!("{}.toml", s.name))
        .collect();
    names.sort();
    assert_eq!(files, names);
}

#[test]
fn the_gallery_uses_every_shape_and_both_dimensions() {
    for shape in schema::SHAPES {
        let used = gallery()
            .iter()
            .any(|scene| scene.text.contains(&format!("{shape} = ")));
        assert!(used, "no scene shows `{shape}`");
    }
    let dimensions: Vec<usize> = gallery()
        .iter()
        .filter_map(|s| {
            Some(
                file::parse("s.toml", s.text, &none())
                    .ok()?
                    .setup
                    .dimension(),
            )
        })
        .collect();
    assert!(dimensions.contains(&2) && dimensions.contains(&3));
}

#[test]
fn templates_are_valid_scenes_under_the_new_name() {
    let likes = gallery().iter().map(|scene| Some(scene.name));
    for like in likes.chain([None]) {
        let text = template("my-scene", like).expect("a known scene");
        let scene = file::parse("x.toml", &text, &none()).unwrap_or_else(|r| panic!("{r}"));
        assert_eq!(scene.name, "my-scene");
        assert!(scene.warnings.is_empty(), "{}", scene.warnings);
    }
    assert_eq!(template("x", Some("no-such-scene")), None);
}

/// Cells along the longest side: few, but threads and slots must be a few of them wide.
fn low_resolution(name: &str) -> u64 {
    match name {
        "coil" | "chocolate" => 48,
        "honey" | "honey-2d" => 40,
        "cake-topping" => 32,
        _ => 24,
    }
}

/// Runs two frames and checks what must hold of any scene.
fn run<const D: usize>(name: &str, setup: Setup<D>, fps: f64) {
    let (low, high) = (setup.grid.origin(), setup.grid.end());
    // A jet that has just begun is a few cells wide and mostly surface, where the volume of
    // liquid is known least.
    let tolerance = if setup.sources.is_empty() { 0.02 } else { 0.15 };
    let mut simulation = Simulation::new(setup);
    for frame in 1..=2 {
        let end = f64::from(frame) / fps;
        while end - simulation.state().time > 1e-9 / fps {
            let dt = simulation.suggest_dt(end - simulation.state().time);
            let step = simulation.step(dt, &mut ());
            let step = step.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_ne!(
                step.pressure.status, "iteration-limit",
                "{name}: {:?}",
                step.pressure
            );
            if let Some(viscosity) = &step.viscosity {
                assert_eq!(viscosity.status, "converged", "{name}: {viscosity:?}");
            }
            let drift = step.volume - step.volume_expected;
            assert!(
                drift.abs() <= tolerance * step.volume_expected,
                "{name}: volume {} of {}",
                step.volume,
                step.volume_expected
            );
        }
        for x in &simulation.state().particles.position {
            let inside = (0..D).all(|a| low[a] <= x[a] && x[a] <= high[a]);
            assert!(inside, "{name}: a particle at {x:?}");
        }
    }
    assert!(
        !simulation.state().particles.is_empty(),
        "{name}: no particles"
    );
}

#[test]
fn every_scene_runs_two_frames_at_low_resolution() {
    for item in gallery() {
        let overrides = Overrides {
            resolution: Some(low_resolution(item.name)),
            ..none()
        };
        let scene = file::parse(item.name, item.text, &overrides);
        let scene = scene.unwrap_or_else(|report| panic!("{report}"));
        match scene.setup {
            AnySetup::D2(setup) => run(item.name, setup, scene.fps),
            AnySetup::D3(setup) => run(item.name, setup, scene.fps),
        }
    }
}

#[test]
fn a_new_scene_runs_thin_and_with_its_lines_on_viscosity_uncommented() {
    let thin = template("pond", None).expect("the new scene");
    let thick = thin.replace("# [viscosity]\n# value", "[viscosity]\nvalue");
    assert_ne!(thin, thick);
    for (text, viscosity) in [(thin, 0.0), (thick, 10.0)] {
        let overrides = Overrides {
            resolution: Some(24),
            ..none()
        };
        let scene = file::parse("pond.toml", &text, &overrides);
        let scene = scene.unwrap_or_else(|report| panic!("{report}"));
        assert!(scene.warnings.is_empty(), "{}", scene.warnings);
        let AnySetup::D3(setup) = scene.setup else {
            panic!("a new scene is in space");
        };
        assert_eq!(setup.uniform_viscosity(), Some(viscosity));
        run("pond", setup, scene.fps);
    }
}
