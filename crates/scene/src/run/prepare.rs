//! From a folder and a wish to a run that can be written.

use std::fs;
use std::path::{Path, PathBuf};

use super::any::{AnyState, View};
use super::atomic::{
    FileRecord, is_part, names_in, read, remove, remove_parts, sha256_hex, sync_folder, write_whole,
};
use super::checkpoint::{Place, encode_checkpoint};
use super::error::{Damage, RunError};
use super::lock::{LOCK_NAME, RunLock};
use super::manifest::{MANIFEST_NAME, Manifest, Status};
use super::spec::RunSpec;
use super::stats::{STATS_NAME, StatsWriter};
use super::store::{self, CHECKPOINTS, ResumeFrom};
use super::writer::{FRAMES, IMAGES, frame_of, is_own_path};

/// The scene's name in a run folder.
pub const SCENE_NAME: &str = "scene.toml";

/// What to do with a run that is already in the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Leave it alone and fail.
    Refuse,
    /// Delete it, but no files of others that lie among its own.
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

/// What was in the folder before.
enum Past {
    /// Nothing, or what a run left that never got to list its files.
    Unknown,
    /// A run whose files go.
    Replaced(Manifest),
    /// The run that goes on.
    Resumed(Manifest),
}

impl Past {
    /// Whether plash has made this file: the manifest lists it, or its name is one that
    /// plash gives. Others may keep files beside ours; they are neither listed nor deleted.
    fn made(&self, path: &str) -> bool {
        let listed = match self {
            Past::Unknown => false,
            Past::Replaced(old) | Past::Resumed(old) => old.file(path).is_some(),
        };
        listed || is_own_path(path)
    }

    /// The manifest to go on with.
    fn resumed(&self) -> Option<&Manifest> {
        match self {
            Past::Resumed(old) => Some(old),
            Past::Unknown | Past::Replaced(_) => None,
        }
    }
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
        // A spoilt manifest of ours: who replaces the run does not need it.
        Err(RunError::Damaged { .. }) if existing == Existing::Replace => None,
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
    let past = match old {
        Some(old) if existing == Existing::Replace => Past::Replaced(old),
        Some(old) => Past::Resumed(old),
        None => Past::Unknown,
    };
    let run = settle(root, spec, lock, past, &mut start)?;
    Ok((run, start))
}

/// A folder with anything but a run in it is not ours to write into.
fn refuse_foreign(root: &Path) -> Result<(), RunError> {
    let names = names_in(root)?;
    if names.iter().any(|name| name == MANIFEST_NAME) {
        return refuse_foreign_manifest(root);
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

/// Other programs, too, may call a file `run.json`.
fn refuse_foreign_manifest(root: &Path) -> Result<(), RunError> {
    match Manifest::read(root) {
        Err(RunError::Damaged {
            damage: Damage::WrongKind { .. },
            ..
        }) => Err(RunError::NotARun {
            path: root.into(),
            found: MANIFEST_NAME.into(),
        }),
        // Whatever else is wrong with it is for those to judge who hold the lock.
        _ => Ok(()),
    }
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
    refuse_fewer_frames(root, spec, from, old, start.place)
}

/// A run cannot have more frames than it is to have. Only who goes back to a frame wants to
/// lose those after it.
fn refuse_fewer_frames(
    root: &Path,
    spec: &RunSpec,
    from: ResumeFrom,
    old: &Manifest,
    place: Place,
) -> Result<(), RunError> {
    let frames_done = match from {
        // A killed run may have a checkpoint that its manifest has not heard of.
        ResumeFrom::Latest => old.frames_done.max(place.frame),
        ResumeFrom::Frame(_) => place.frame,
    };
    if frames_done > spec.frames {
        return Err(RunError::FewerFrames {
            path: root.into(),
            frames_done,
            frames: spec.frames,
        });
    }
    Ok(())
}

/// Makes the folder look as it did at the start's place. Files of later frames go: they are
/// made again. The manifest comes first, so that it never lists a file that is gone.
fn settle(
    root: &Path,
    spec: &RunSpec,
    lock: RunLock,
    mut past: Past,
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
    let old = match &mut past {
        Past::Resumed(old) => Some(old),
        Past::Unknown | Past::Replaced(_) => None,
    };
    manifest.put(write_scene(root, spec, old)?);
    let mut stale = settle_frames(root, &past, &mut manifest, &mut start.notes)?;
    stale.extend(settle_checkpoints(root, &past, &mut manifest, start)?);
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

/// Lists the files of frames that stay; returns those that go.
fn settle_frames(
    root: &Path,
    past: &Past,
    manifest: &mut Manifest,
    notes: &mut Vec<String>,
) -> Result<Vec<String>, RunError> {
    let mut stale = Vec::new();
    for path in files_of_frames(root)? {
        if !past.made(&path) {
            continue;
        }
        let later = frame_of(&path).is_some_and(|frame| frame > manifest.frames_done);
        match past.resumed() {
            Some(old) if !later => {
                // Only its length is compared: to read all frames could take minutes.
                manifest.put(record_of(root, path, old, Look::Length, notes)?);
            }
            _ => stale.push(path),
        }
    }
    if let Some(old) = past.resumed() {
        notes.extend(missing(old, manifest, &stale));
    }
    Ok(stale)
}

/// Lists the checkpoints that stay; returns those that go.
fn settle_checkpoints(
    root: &Path,
    past: &Past,
    manifest: &mut Manifest,
    start: &mut Start,
) -> Result<Vec<String>, RunError> {
    let (keep, drop) = split_checkpoints(root, start.place)?;
    let Some(old) = past.resumed() else {
        // A checkpoint of a replaced scene must never lie beside the new manifest.
        for path in keep.iter().chain(&drop) {
            remove(&root.join(path))?;
        }
        sync_folder(&root.join(CHECKPOINTS))?;
        return Ok(Vec::new());
    };
    for path in keep {
        manifest.put(record_of(root, path, old, Look::Content, &mut start.notes)?);
    }
    Ok(drop)
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

/// How closely a file is compared with its record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Length,
    Content,
}

/// The record of a file that stays. One that the manifest has is taken over as it is, even
/// if the file does not match it: a damaged file must not pass for good from now on.
fn record_of(
    root: &Path,
    path: String,
    old: &Manifest,
    look: Look,
    notes: &mut Vec<String>,
) -> Result<FileRecord, RunError> {
    let full = root.join(&path);
    let Some(listed) = old.file(&path) else {
        let content = read(&full)?;
        return Ok(FileRecord {
            path,
            bytes: content.len() as u64,
            sha256: sha256_hex(&content),
        });
    };
    let bytes = fs::metadata(&full)
        .map_err(RunError::io("read", &full))?
        .len();
    if bytes != listed.bytes {
        notes.push(format!(
            "{path} is damaged ({bytes} bytes instead of {}) and will not be made again",
            listed.bytes
        ));
    } else if look == Look::Content && sha256_hex(&read(&full)?) != listed.sha256 {
        notes.push(format!(
            "{path} is damaged (the checksum does not match) and will not be made again"
        ));
    }
    Ok(listed.clone())
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
