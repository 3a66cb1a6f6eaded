//! Whatever bytes a scene file holds, reading it ends in a scene or in a report that can be
//! shown. Nothing is simulated, so no memory is taken for cells.
//!
//! Bytes after the first zero byte, if any, are a `--set` override.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plash_scene::file::{self, Overrides, SceneFile};

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let text = parts.next().unwrap_or_default();
    let set = parts.next().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let overrides = Overrides { set: set.into_iter().collect(), ..Overrides::default() };
    let read = SceneFile::from_bytes("fuzz.toml", text, &overrides).and_then(|f| f.resolve());
    match read {
        Ok(scene) => {
            // What was accepted under overrides is accepted without them, as it was run.
            let again = file::parse("fuzz.toml", &scene.text, &Overrides::default());
            let again = again.expect("the scene as run is a scene");
            assert_eq!((scene.name, scene.frames), (again.name, again.frames));
            assert_eq!(scene.estimate, again.estimate);
            show(&scene.warnings);
        }
        Err(report) => {
            assert!(report.has_errors());
            show(&report);
        }
    }
});

fn show(report: &plash_scene::diagnostics::Report) {
    assert_eq!(report.records().len(), report.diagnostics().len());
    let _ = (report.render(80, true), report.to_string());
}
