//! Reading a run folder back.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::atomic::{FileRecord, is_part, names_in, read, sha256_hex, sync_folder, write_whole};
use super::cache::{FrameData, decode_cache};
use super::checkpoint::Place;
use super::error::RunError;
use super::lock::RunLock;
use super::manifest::{Manifest, Status};
use super::prepare::SCENE_NAME;
use super::stats::{STATS_NAME, read_stats};
use super::store::{self, CHECKPOINTS};
use super::writer::{FRAMES, IMAGES, frame_file, frame_of};

/// A run folder to look at.
#[derive(Clone, Debug)]
pub struct RunFolder {
    root: PathBuf,
    manifest: Manifest,
}

/// What a run folder holds, for people and programs.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RunInfo {
    /// The folder.
    pub folder: PathBuf,
    /// Whether a process is at work in it.
    pub at_work: bool,
    /// Frames with a cache, in order.
    pub cached_frames: Vec<u64>,
    /// Frames that can be resumed from.
    pub checkpoints: Vec<Place>,
    /// Bytes of all listed files.
    pub bytes: u64,
    /// The manifest.
    pub manifest: Manifest,
}

/// The result of looking at every file.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Verification {
    /// Files that are as the manifest says.
    pub good: usize,
    /// Files that are not, and why.
    pub bad: Vec<BadFile>,
    /// Files that the manifest does not list: a killed run may leave the files of its last
    /// frame.
    pub unlisted: Vec<String>,
}

/// A file that is not as the manifest says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BadFile {
    /// Path from the run folder.
    pub path: String,
    /// What is wrong.
    pub problem: String,
}

impl Verification {
    /// Whether every listed file is as the manifest says.
    pub fn is_good(&self) -> bool {
        self.bad.is_empty()
    }
}

impl RunFolder {
    /// Opens a run folder. It may be at work meanwhile.
    pub fn open(root: &Path) -> Result<RunFolder, RunError> {
        Ok(RunFolder {
            root: root.into(),
            manifest: Manifest::read(root)?,
        })
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Its manifest, as it was when the folder was opened.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// How far the run has got. A run that says it is running but holds no lock was killed,
    /// which is an interruption.
    pub fn status(&self) -> Status {
        match self.manifest.status {
            Status::Running if !RunLock::is_held(&self.root) => Status::Interrupted,
            status => status,
        }
    }

    /// The scene as run.
    pub fn scene_text(&self) -> Result<String, RunError> {
        let path = self.root.join(SCENE_NAME);
        std::fs::read_to_string(&path).map_err(RunError::io("read", &path))
    }

    /// Frames with a cache, in order.
    pub fn frames(&self) -> Result<Vec<u64>, RunError> {
        self.frames_with("cache", "plash")
    }

    /// Frames with a file `frames/NAME.0001.EXT`, in order.
    pub fn frames_with(&self, name: &str, extension: &str) -> Result<Vec<u64>, RunError> {
        let names = names_in(&self.root.join(FRAMES))?;
        let mut frames: Vec<u64> = names
            .iter()
            .filter_map(|file| Some((frame_of(file)?, file)))
            .filter(|(frame, file)| **file == frame_file(name, *frame, extension))
            .map(|(frame, _)| frame)
            .collect();
        frames.sort_unstable();
        Ok(frames)
    }

    /// The path of `frames/NAME.0001.EXT`.
    pub fn frame_path(&self, name: &str, frame: u64, extension: &str) -> PathBuf {
        self.root
            .join(FRAMES)
            .join(frame_file(name, frame, extension))
    }

    /// The particles of a frame, from its cache.
    pub fn read_frame(&self, frame: u64) -> Result<FrameData, RunError> {
        let path = self.frame_path("cache", frame, "plash");
        decode_cache(&read(&path)?).map_err(RunError::damaged(&path))
    }

    /// One object per substep.
    pub fn stats(&self) -> Result<Vec<serde_json::Value>, RunError> {
        read_stats(&self.root)
    }

    /// What the folder holds.
    pub fn info(&self) -> Result<RunInfo, RunError> {
        let mut manifest = self.manifest.clone();
        manifest.status = self.status();
        Ok(RunInfo {
            folder: self.root.clone(),
            at_work: RunLock::is_held(&self.root),
            cached_frames: self.frames()?,
            checkpoints: store::list(&self.root)?
                .into_iter()
                .map(|(place, _)| place)
                .collect(),
            bytes: self.manifest.files.iter().map(|record| record.bytes).sum(),
            manifest,
        })
    }

    /// Compares every file with the manifest.
    pub fn verify(&self) -> Result<Verification, RunError> {
        let mut result = Verification::default();
        for record in &self.manifest.files {
            match self.problem(record) {
                None => result.good += 1,
                Some(problem) => result.bad.push(BadFile {
                    path: record.path.clone(),
                    problem,
                }),
            }
        }
        for folder in [FRAMES, CHECKPOINTS, IMAGES] {
            let names = names_in(&self.root.join(folder))?;
            let paths = names
                .iter()
                .filter(|n| !is_part(n))
                .map(|name| format!("{folder}/{name}"));
            result
                .unlisted
                .extend(paths.filter(|path| self.manifest.file(path).is_none()));
        }
        Ok(result)
    }

    fn problem(&self, record: &FileRecord) -> Option<String> {
        let content = match std::fs::read(self.root.join(&record.path)) {
            Ok(content) => content,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Some("missing".into()),
            Err(e) => return Some(e.to_string()),
        };
        let mut content = content.as_slice();
        // Statistics grow between two manifests; what was there must not have changed.
        if record.path == STATS_NAME
            && let Some(past) = content.get(..record.bytes as usize)
        {
            content = past;
        }
        if content.len() as u64 != record.bytes {
            return Some(format!(
                "{} bytes instead of {}",
                content.len(),
                record.bytes
            ));
        }
        (sha256_hex(content) != record.sha256).then(|| "the checksum does not match".into())
    }
}

/// Adds files to a finished or interrupted run, such as pictures made later. Holds the
/// run's lock.
#[derive(Debug)]
pub struct Additions {
    root: PathBuf,
    manifest: Manifest,
    _lock: RunLock,
}

impl Additions {
    /// Opens a run folder that nobody is at work in.
    pub fn open(root: &Path) -> Result<Additions, RunError> {
        Manifest::read(root)?;
        let lock = RunLock::take(root)?;
        Ok(Additions {
            root: root.into(),
            manifest: Manifest::read(root)?,
            _lock: lock,
        })
    }

    /// Writes a file into `frames`.
    pub fn put_frame(&mut self, file: &str, content: &[u8]) -> Result<PathBuf, RunError> {
        self.put(FRAMES, file, content)
    }

    /// Writes a file into `images`.
    pub fn put_image(&mut self, file: &str, content: &[u8]) -> Result<PathBuf, RunError> {
        self.put(IMAGES, file, content)
    }

    fn put(&mut self, folder: &str, file: &str, content: &[u8]) -> Result<PathBuf, RunError> {
        let path = format!("{folder}/{file}");
        let full = self.root.join(&path);
        let folder = self.root.join(folder);
        std::fs::create_dir_all(&folder).map_err(RunError::io("create", &folder))?;
        let (bytes, sha256) = (content.len() as u64, sha256_hex(content));
        if self
            .manifest
            .file(&path)
            .is_some_and(|old| old.sha256 != sha256)
        {
            // The manifest on the disk must not vouch for a file that is being replaced.
            self.manifest.files.retain(|old| old.path != path);
            self.manifest.write(&self.root)?;
        }
        write_whole(&full, content)?;
        self.manifest.put(FileRecord {
            path,
            bytes,
            sha256,
        });
        Ok(full)
    }

    /// Lists the new files in the manifest.
    pub fn finish(mut self) -> Result<(), RunError> {
        sync_folder(&self.root.join(FRAMES))?;
        sync_folder(&self.root.join(IMAGES))?;
        self.manifest.write(&self.root)?;
        sync_folder(&self.root)
    }
}
