//! A tiny scene and ways to run and compare it.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use plash_scene::file::{self, Overrides};
use plash_scene::resolve::OutputOptions;
use plash_scene::run::*;

/// A column of water that falls, in a flat box.
pub const FLAT: &str = "
size = [1, 1]
resolution = 16
frames = 8
fps = 30
[[liquid]]
box = { min = [0, 0], max = [0.4, 0.7] }
";

/// The same in space.
pub const SOLID: &str = "
size = [1, 1, 0.5]
resolution = 12
frames = 3
fps = 30
[[liquid]]
box = { min = [0, 0, 0], max = [0.4, 0.7, 0.5] }
";

/// Two liquids of which one is thick and one graded, and a source that moves, in a flat box.
pub const THICK: &str = "
size = [1, 1]
resolution = 16
frames = 4
fps = 30
[[liquid]]
box = { min = [0, 0], max = [0.4, 0.7] }
viscosity = 30
[[liquid]]
sphere = { center = [0.75, 0.3], radius = 0.15 }
viscosity = { axis = \"y\", from = 0.1, to = 100, scale = \"log\" }
[[source]]
sphere = { center = [0.6, 0.8], radius = 0.1 }
velocity = [0, -1]
path = [{ time = 0, offset = [0, 0] }, { time = 0.2, offset = [0.2, 0] }]
";

pub fn spec(text: &str) -> RunSpec {
    let scene = match file::parse("tiny.toml", text, &Overrides::default()) {
        Ok(scene) => scene,
        Err(report) => panic!("{:?}", report.records()),
    };
    RunSpec::of_scene(&scene, vec![])
}

pub fn writers() -> Vec<Box<dyn FrameWriter>> {
    frame_writers(&OutputOptions::default())
}

/// Runs without stopping.
pub fn run_all(folder: &Path, spec: RunSpec, existing: Existing) -> Result<Summary, RunError> {
    run(
        folder,
        spec,
        existing,
        &mut writers(),
        &AtomicBool::new(false),
        &mut |_: Event<'_>| {},
    )
}

pub const RESUME: Existing = Existing::Resume(ResumeFrom::Latest);

/// Every file of a run by path, except those that hold seconds.
pub fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for sub in [FRAMES, CHECKPOINTS, IMAGES] {
        for entry in std::fs::read_dir(folder.join(sub)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{sub}/{}", entry.file_name().to_string_lossy());
            files.insert(path, std::fs::read(entry.path()).unwrap());
        }
    }
    files.insert(
        SCENE_NAME.into(),
        std::fs::read(folder.join(SCENE_NAME)).unwrap(),
    );
    files
}

/// The statistics without their seconds.
pub fn timeless_stats(folder: &Path) -> Vec<serde_json::Value> {
    let mut lines = read_stats(folder).unwrap();
    for line in &mut lines {
        line.as_object_mut().unwrap().remove("seconds").unwrap();
    }
    lines
}

/// The manifest without the digest of the statistics, which hold seconds.
pub fn timeless_manifest(folder: &Path) -> Manifest {
    let mut manifest = Manifest::read(folder).unwrap();
    manifest.files.retain(|record| record.path != STATS_NAME);
    manifest
}

pub fn assert_same_runs(left: &Path, right: &Path) {
    let (a, b) = (contents(left), contents(right));
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&a), names(&b));
    for (path, content) in &a {
        assert!(*content == b[path], "{path} differs");
    }
    assert_eq!(timeless_stats(left), timeless_stats(right));
    assert_eq!(timeless_manifest(left), timeless_manifest(right));
}

/// Every file that has its final name is whole.
pub fn assert_whole(folder: &Path) {
    for sub in [FRAMES, CHECKPOINTS] {
        let Ok(entries) = std::fs::read_dir(folder.join(sub)) else {
            continue;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            if !path.file_name().unwrap().to_string_lossy().starts_with('.') {
                file_info(&path).unwrap();
            }
        }
    }
    match RunFolder::open(folder) {
        Ok(run) => {
            let verification = run.verify().unwrap();
            assert!(verification.is_good(), "{:?}", verification.bad);
        }
        // Killed before it began.
        Err(RunError::NoRun { .. }) => {}
        Err(other) => panic!("{other}"),
    }
}

/// The newest checkpoint of a run folder.
pub fn newest_checkpoint(folder: &Path) -> std::path::PathBuf {
    let mut paths: Vec<_> = std::fs::read_dir(folder.join(CHECKPOINTS))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths.pop().unwrap()
}
