//! Every scene of the gallery runs: two frames, coarse, with the volume held within 3 % (12 %
//! where sources have only begun to pour) and no NaN.

mod support;

use serde_json::Value;
use support::Place;

/// Cells along the longest side: few, but threads and slots must be a few of them wide.
fn low_resolution(name: &str, is_flat: bool) -> &'static str {
    match (name, is_flat) {
        ("coil" | "chocolate", _) => "48",
        ("honey" | "honey-2d", _) => "40",
        ("cake-topping", _) => "32",
        ("variable-block", _) | (_, true) => "24",
        (_, false) => "16",
    }
}

/// How far the measured volume may be from the expected one, as a share of it.
const DRIFT: f64 = 0.03;
/// The same with sources: after two frames a jet is a few cells of liquid, nearly all of them
/// at its surface, where the volume is measured worst.
const DRIFT_OF_JETS: f64 = 0.12;

#[test]
fn every_scene_of_the_gallery_runs() {
    let place = Place::new();
    let list = place.succeed(&["scenes", "--json"]).json();
    let scenes = list["scenes"].as_array().expect("a list");
    assert!(!scenes.is_empty());
    for scene in scenes {
        let name = scene["name"].as_str().expect("a name");
        let flat = scene["dimension"] == 2;
        let resolution = low_resolution(name, flat);
        let args = [
            "run",
            name,
            "-r",
            resolution,
            "-f",
            "2",
            "--set",
            "output.images=false",
        ];
        place.succeed(&args);
        check_statistics(&place, name);
        place.succeed(&["info", &format!("runs/{name}")]);
    }
}

/// Every number is finite, every solve ended well, and the volume is what it should be.
fn check_statistics(place: &Place, name: &str) {
    let stats = String::from_utf8(place.bytes(&format!("runs/{name}/stats.jsonl"))).expect("UTF-8");
    assert!(stats.lines().count() >= 2, "{name} took steps");
    let scene = String::from_utf8(place.bytes(&format!("runs/{name}/scene.toml"))).expect("UTF-8");
    let drift = if scene.contains("[[source]]") {
        DRIFT_OF_JETS
    } else {
        DRIFT
    };
    for line in stats.lines() {
        let step: Value = serde_json::from_str(line).expect("JSON");
        for key in [
            "time",
            "dt",
            "volume",
            "volume_expected",
            "max_speed",
            "kinetic_energy",
        ] {
            assert!(
                step[key].as_f64().is_some_and(f64::is_finite),
                "{name}: {key} in {line}"
            );
        }
        let [volume, expected] =
            ["volume", "volume_expected"].map(|key| step[key].as_f64().unwrap_or(f64::NAN));
        assert!(
            (volume - expected).abs() <= drift * expected,
            "{name}: the volume in {line}"
        );
        // Coarse as this is, nothing may run away.
        assert!(
            step["max_speed"].as_f64().is_some_and(|v| v < 50.0),
            "{name}: {line}"
        );
        assert!(step["pressure"]["status"].is_string(), "{name}: {line}");
        if !step["viscosity"].is_null() {
            assert_eq!(step["viscosity"]["status"], "converged", "{name}: {line}");
        }
    }
}

#[test]
fn every_scene_file_is_in_the_gallery() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes");
    let list = Place::new().succeed(&["scenes", "--json"]).json();
    let known: Vec<&str> = list["scenes"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|s| s["name"].as_str())
        .collect();
    for entry in std::fs::read_dir(folder).expect("the scenes folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|ext| ext == "toml") {
            let name = path
                .file_stem()
                .and_then(|stem| stem.to_str())
                .expect("a name");
            assert!(known.contains(&name), "{name} is not in the gallery");
        }
    }
}

/// Thick liquid that hangs over an edge has tips and films without end; the coarse levels of the
/// viscous solver see little of them.
#[test]
fn a_topping_slumps_over_its_cake_in_few_iterations() {
    let place = Place::new();
    place.succeed(&["run", "cake-topping", "-r", "24", "-f", "40"]);
    let stats = String::from_utf8(place.bytes("runs/cake-topping/stats.jsonl")).expect("UTF-8");
    let steps = stats.lines().map(serde_json::from_str::<Value>);
    let steps: Vec<Value> = steps.map(|step| step.expect("JSON")).collect();
    let iterations = |step: &Value| step["viscosity"]["iterations"].as_u64().expect("a count");
    let mean = steps.iter().map(iterations).sum::<u64>() as f64 / steps.len() as f64;
    // It is 9, and was 17 when faces that hang by a thread were unknowns.
    assert!(mean < 12.0, "{mean} iterations on average");
    assert!(steps.len() < 130, "{} substeps", steps.len());
}
