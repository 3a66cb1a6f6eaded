//! `run.json`: what a run folder holds.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::atomic::{FileRecord, read, write_whole};
use super::error::{Damage, RunError};
use super::spec::RunSpec;

/// The manifest's name in a run folder.
pub const MANIFEST_NAME: &str = "run.json";
const FORMAT: &str = "plash-run";
const VERSION: u32 = 1;

/// What a run folder holds. It has no clock times, so that equal runs have equal manifests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Always `plash-run`.
    pub format: String,
    /// Version of the folder's format.
    pub version: u32,
    /// Version of the program that wrote it last.
    pub plash: String,
    /// Name of the run.
    pub name: String,
    /// See [`RunSpec::scene_hash`].
    pub scene_hash: String,
    /// How far the run has got.
    pub status: Status,
    /// Why it stopped, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// 2 or 3.
    pub dimension: usize,
    /// The grid.
    pub grid: GridInfo,
    /// Frames the run is to have.
    pub frames: u64,
    /// Frames it has.
    pub frames_done: u64,
    /// Frames per second of simulated time.
    pub fps: f64,
    /// Which axis points up.
    pub up: String,
    /// Overrides given beside the scene file.
    pub overrides: Vec<String>,
    /// The methods used.
    pub settings: serde_json::Value,
    /// Every file, by path.
    pub files: Vec<FileRecord>,
}

/// How far a run has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// At work, or killed: the lock tells which.
    Running,
    /// Stopped on request; can be resumed.
    Interrupted,
    /// Stopped by an error.
    Failed,
    /// All frames are there.
    Complete,
}

/// A grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GridInfo {
    /// Cells along each axis.
    pub cells: Vec<usize>,
    /// Cell side, m.
    pub dx: f64,
    /// Lowest corner, m.
    pub origin: Vec<f64>,
}

impl Manifest {
    /// The manifest of a run that begins.
    pub(crate) fn new(spec: &RunSpec) -> Self {
        let grid = spec.grid();
        Manifest {
            format: FORMAT.into(),
            version: VERSION,
            plash: env!("CARGO_PKG_VERSION").into(),
            name: spec.name.clone(),
            scene_hash: spec.scene_hash(),
            status: Status::Running,
            message: None,
            dimension: grid.cells.len(),
            grid,
            frames: spec.frames,
            frames_done: 0,
            fps: spec.fps,
            up: spec.up.clone(),
            overrides: spec.overrides.clone(),
            settings: spec.settings(),
            files: Vec::new(),
        }
    }

    /// Reads the manifest of a run folder.
    pub fn read(folder: &Path) -> Result<Manifest, RunError> {
        let path = folder.join(MANIFEST_NAME);
        if !path.exists() {
            return Err(RunError::NoRun {
                path: folder.into(),
            });
        }
        Manifest::parse(&read(&path)?).map_err(RunError::damaged(&path))
    }

    fn parse(text: &[u8]) -> Result<Manifest, Damage> {
        /// As much as every version has.
        #[derive(Deserialize)]
        struct Head {
            format: String,
            version: u32,
        }
        const WRONG: Damage = Damage::WrongKind {
            expected: "plash run manifest",
        };
        let head: Head = serde_json::from_slice(text).map_err(|_| WRONG)?;
        if head.format != FORMAT {
            return Err(WRONG);
        }
        if head.version != VERSION {
            return Err(Damage::Version {
                found: head.version,
                supported: VERSION,
            });
        }
        serde_json::from_slice(text).map_err(|e| Damage::malformed(e.to_string()))
    }

    /// Writes the manifest.
    pub(crate) fn write(&mut self, folder: &Path) -> Result<(), RunError> {
        let path = folder.join(MANIFEST_NAME);
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
        let mut text = serde_json::to_vec_pretty(self)
            .map_err(|e| RunError::damaged(&path)(Damage::malformed(e.to_string())))?;
        text.push(b'\n');
        write_whole(&path, &text)
    }

    /// The record of a file.
    pub fn file(&self, path: &str) -> Option<&FileRecord> {
        self.files.iter().find(|record| record.path == path)
    }

    /// Lists a file, in place of an older record of it.
    pub(crate) fn put(&mut self, record: FileRecord) {
        match self.files.iter_mut().find(|old| old.path == record.path) {
            Some(old) => *old = record,
            None => self.files.push(record),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AnySetup;
    use crate::run::samples;

    fn manifest() -> Manifest {
        Manifest::new(&RunSpec::new(
            "drop",
            AnySetup::D3(samples::setup3()),
            10,
            23.976,
        ))
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut manifest = manifest();
        for path in ["frames/b", "frames/a", "frames/b"] {
            manifest.put(FileRecord {
                path: path.into(),
                bytes: 3,
                sha256: "00".into(),
            });
        }
        manifest.write(folder.path()).unwrap();
        let back = Manifest::read(folder.path()).unwrap();
        assert_eq!(back, manifest);
        assert_eq!(back.files.len(), 2);
        assert_eq!(back.files[0].path, "frames/a");
        assert_eq!(back.dimension, 3);
    }

    #[test]
    fn other_files_and_later_versions_are_refused_by_name() {
        let wrong = |text: &str| Manifest::parse(text.as_bytes()).unwrap_err();
        assert!(matches!(wrong("not json"), Damage::WrongKind { .. }));
        assert!(matches!(
            wrong(r#"{"format":"x","version":1}"#),
            Damage::WrongKind { .. }
        ));
        assert!(matches!(
            wrong(r#"{"format":"plash-run","version":9}"#),
            Damage::Version { found: 9, .. }
        ));
        assert!(matches!(
            wrong(r#"{"format":"plash-run","version":1}"#),
            Damage::Malformed(_)
        ));
    }
}
