//! From a folder and a wish to a run that can be written.

use std::fs;
use std::path::{Path, PathBuf};

use super::any::{AnyState, View};
use super::atomic::{
    FileRecord, is_part, names_in, read, remove, remove_parts, sha256_hex, sync_folder, write_whole,
};
use super::checkpoint::{Place, encode_checkpoint};
use super::error::RunError;
use super::lock::{LOCK_NAME, RunLock};
use super::manifest::{MANIFEST_NAME, Manifest, Status};
use super::spec::RunSpec;
use super::stats::{STATS_NAME, StatsWriter};
use super::store::{self, CHECKPOINTS, ResumeFrom};
use super::writer::{FRAMES, IMAGES, frame_of};

/// The scene's name in a run folder.
pub const SCENE_NAME: &str = "scene.toml";

/// What to do with a run that is already in the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Leave it alone and fail.
    Refuse,
    /// Delete it.
    Replace,
    /// Go on with it; begin if there is none.
    Resume(ResumeFrom),
}

/// A run folder that this process may write.
#[derive(Debug)]
pub(crate) struct OpenRun {
    pub root: PathBuf,
    pub manifest: Manifest,
    pub stats: StatsWriter,
    _lock: RunLock,
}

/// Where a run starts.
#[derive(Debug)]
pub(crate) struct Start {
    pub place: Place,
    /// `None` at the beginning.
    pub state: Option<AnyState>,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Makes or opens the folder of a run, and finds where to start.
pub(crate) fn open_run(
    root: &Path,
    spec: &RunSpec,
    existing: Existing,
) -> Result<(OpenRun, Start), RunError> {
    spec.check()?;
    refuse_foreign(root)?;
    fs::create_dir_all(root).map_err(RunError::io("create", root))?;
    let lock = RunLock::take(root)?;
    let old = match Manifest::read(root) {
        Ok(manifest) => Some(manifest),
        Err(RunError::NoRun { .. }) => None,
        Err(_) if existing == Existing::Replace => None,
        Err(other) => return Err(other),
    };
    let mut start = Start {
        place: Place {
            frame: 0,
            substep: 0,
        },
        state: None,
        notes: Vec::new(),
    };
    match (existing, &old) {
        (Existing::Refuse, Some(old)) => {
            return Err(RunError::RunExists {
                path: root.into(),
                name: old.name.clone(),
                frames_done: old.frames_done,
                frames: old.frames,
            });
        }
        (Existing::Resume(from), Some(old)) => find_start(root, spec, from, old, &mut start)?,
        (Existing::Resume(_), None) => {
            start
                .notes
                .push("no run to resume: starting from the beginning".into());
        }
        (Existing::Refuse | Existing::Replace, _) => {}
    }
    for folder in [FRAMES, CHECKPOINTS, IMAGES] {
        let folder = root.join(folder);
        fs::create_dir_all(&folder).map_err(RunError::io("create", &folder))?;
    }
    let old = old.filter(|_| existing != Existing::Replace);
    let run = settle(root, spec, lock, old, &mut start)?;
    Ok((run, start))
}

/// A folder with anything but a run in it is not ours to write into.
fn refuse_foreign(root: &Path) -> Result<(), RunError> {
    let names = names_in(root)?;
    if names.iter().any(|name| name == MANIFEST_NAME) {
        return Ok(());
    }
    // A run killed before its manifest was written leaves no more than this.
    let ours = |name: &str| {
        [
            LOCK_NAME,
            FRAMES,
            CHECKPOINTS,
            IMAGES,
            STATS_NAME,
            SCENE_NAME,
        ]
        .contains(&name)
            || is_part(name)
    };
    let only_ours = names.iter().all(|name| ours(name)) && names.iter().any(|n| n == LOCK_NAME);
    if names.is_empty() || only_ours {
        return Ok(());
    }
    let found = names
        .iter()
        .find(|name| !ours(name))
        .unwrap_or(&names[0])
        .clone();
    Err(RunError::NotARun {
        path: root.into(),
        found,
    })
}

fn find_start(
    root: &Path,
    spec: &RunSpec,
    from: ResumeFrom,
    old: &Manifest,
    start: &mut Start,
) -> Result<(), RunError> {
    let hash = spec.scene_hash();
    if old.scene_hash != hash {
        return Err(RunError::OtherScene {
            path: root.into(),
            expected: hash,
            found: old.scene_hash.clone(),
        });
    }
    if old.plash != env!("CARGO_PKG_VERSION") {
        start.notes.push(format!(
            "the run was begun by plash {} and goes on with {}: later frames may differ",
            old.plash,
            env!("CARGO_PKG_VERSION")
        ));
    }
    match store::find(root, from, &spec.setup, &hash, &mut start.notes)? {
        Some(found) => {
            start.place = found.place;
            start.state = Some(found.state);
        }
        None => start.notes.push("starting from the beginning".into()),
    }
    Ok(())
}

/// Makes the folder look as it did at the start's place. Files of later frames go: they are
/// made again. The manifest comes first, so that it never lists a file that is gone.
fn settle(
    root: &Path,
    spec: &RunSpec,
    lock: RunLock,
    mut old: Option<Manifest>,
    start: &mut Start,
) -> Result<OpenRun, RunError> {
    for folder in [
        root.to_path_buf(),
        root.join(FRAMES),
        root.join(CHECKPOINTS),
        root.join(IMAGES),
    ] {
        remove_parts(&folder)?;
    }
    let mut manifest = Manifest::new(spec);
    manifest.frames_done = start.place.frame;
    manifest.put(write_scene(root, spec, old.as_mut())?);
    let mut stale = Vec::new();
    for path in files_of_frames(root)? {
        let name = path.rsplit('/').next().unwrap_or_default();
        if frame_of(name).is_some_and(|frame| frame > start.place.frame) || old.is_none() {
            stale.push(path);
        } else {
            manifest.put(record_of(root, path, old.as_ref())?);
        }
    }
    if let Some(old) = &old {
        start.notes.extend(missing(old, &manifest, &stale));
    }
    let (keep, drop) = split_checkpoints(root, start.place)?;
    for path in keep {
        manifest.put(record_of(root, path, None)?);
    }
    if old.is_none() {
        // A checkpoint of a replaced scene must never lie beside the new manifest.
        for path in &drop {
            remove(&root.join(path))?;
        }
        sync_folder(&root.join(CHECKPOINTS))?;
    }
    stale.extend(drop);
    let (mut stats, short) = StatsWriter::open(root, start_step(start))?;
    if short {
        start
            .notes
            .push(format!("{STATS_NAME} lacks lines of earlier substeps"));
    }
    manifest.put(stats.record());
    manifest.write(root)?;
    sync_folder(root)?;
    stats.cut()?;
    for path in stale {
        remove(&root.join(path))?;
    }
    Ok(OpenRun {
        root: root.into(),
        manifest,
        stats,
        _lock: lock,
    })
}

/// Writes the scene, which may differ from the old one in its comments, outputs and number
/// of frames. If so, the old manifest first stops to vouch for it.
fn write_scene(
    root: &Path,
    spec: &RunSpec,
    old: Option<&mut Manifest>,
) -> Result<FileRecord, RunError> {
    let content = spec.scene_text.as_bytes();
    let record = FileRecord {
        path: SCENE_NAME.into(),
        bytes: content.len() as u64,
        sha256: sha256_hex(content),
    };
    if let Some(old) = old
        && old.file(SCENE_NAME) != Some(&record)
    {
        old.files.retain(|old| old.path != SCENE_NAME);
        old.write(root)?;
    }
    write_whole(&root.join(SCENE_NAME), content)?;
    Ok(record)
}

fn start_step(start: &Start) -> u64 {
    match &start.state {
        Some(AnyState::D2(state)) => state.step,
        Some(AnyState::D3(state)) => state.step,
        None => 0,
    }
}

/// Files under `frames` and `images`, as paths from the root.
fn files_of_frames(root: &Path) -> Result<Vec<String>, RunError> {
    let mut paths = Vec::new();
    for folder in [FRAMES, IMAGES] {
        let names = names_in(&root.join(folder))?;
        paths.extend(names.into_iter().map(|name| format!("{folder}/{name}")));
    }
    paths.retain(|path| root.join(path).is_file());
    Ok(paths)
}

/// The record of a file, taken over if the manifest has one that can be right.
fn record_of(root: &Path, path: String, old: Option<&Manifest>) -> Result<FileRecord, RunError> {
    let full = root.join(&path);
    let bytes = fs::metadata(&full)
        .map_err(RunError::io("read", &full))?
        .len();
    match old
        .and_then(|old| old.file(&path))
        .filter(|record| record.bytes == bytes)
    {
        Some(record) => Ok(record.clone()),
        None => Ok(FileRecord {
            path,
            bytes,
            sha256: sha256_hex(&read(&full)?),
        }),
    }
}

/// Notes on files of earlier frames that were listed and are gone.
fn missing(old: &Manifest, now: &Manifest, stale: &[String]) -> Vec<String> {
    let listed = old.files.iter().map(|record| &record.path);
    listed
        .filter(|path| path.starts_with(FRAMES) || path.starts_with(IMAGES))
        .filter(|path| now.file(path).is_none() && !stale.contains(path))
        .filter(|path| frame_of(path).is_none_or(|frame| frame <= now.frames_done))
        .map(|path| format!("{path} is missing and will not be made again"))
        .collect()
}

/// Checkpoints to keep and to drop, as paths from the root, when the run starts at `place`.
fn split_checkpoints(root: &Path, place: Place) -> Result<(Vec<String>, Vec<String>), RunError> {
    let places: Vec<Place> = store::list(root)?
        .into_iter()
        .map(|(place, _)| place)
        .collect();
    let past: Vec<Place> = places.iter().copied().filter(|&p| p <= place).collect();
    let kept = store::kept(&past);
    let path = |place: &Place| format!("{CHECKPOINTS}/{}", store::checkpoint_name(*place));
    let keep = kept.iter().map(path).collect();
    let drop = places
        .iter()
        .filter(|p| !kept.contains(p))
        .map(path)
        .collect();
    Ok((keep, drop))
}

impl OpenRun {
    /// Writes a checkpoint and the manifest, and lets go of checkpoints not kept any more.
    pub fn checkpoint(&mut self, view: View<'_>, place: Place) -> Result<(), RunError> {
        // What comes before the checkpoint must be on the disk before it.
        self.stats.sync()?;
        sync_folder(&self.root.join(FRAMES))?;
        let path = format!("{CHECKPOINTS}/{}", store::checkpoint_name(place));
        let full = self.root.join(&path);
        let content = encode_checkpoint(view, &self.manifest.scene_hash, place)
            .map_err(RunError::damaged(&full))?;
        write_whole(&full, &content)?;
        sync_folder(&self.root.join(CHECKPOINTS))?;
        let (_, drop) = split_checkpoints(&self.root, place)?;
        self.manifest.put(FileRecord {
            path,
            bytes: content.len() as u64,
            sha256: sha256_hex(&content),
        });
        self.manifest
            .files
            .retain(|record| !drop.contains(&record.path));
        self.save(Status::Running, None)?;
        for path in drop {
            remove(&self.root.join(path))?;
        }
        Ok(())
    }

    /// Writes the manifest.
    pub fn save(&mut self, status: Status, message: Option<String>) -> Result<(), RunError> {
        self.manifest.status = status;
        self.manifest.message = message;
        self.manifest.put(self.stats.record());
        self.manifest.write(&self.root)?;
        sync_folder(&self.root)
    }
}
