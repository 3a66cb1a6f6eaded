//! What can go wrong with a run folder.

use std::path::{Path, PathBuf};

use super::advance::NotTaken;

/// Why a file of a run cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// It does not start like a file of this kind.
    #[error("not a {expected}")]
    WrongKind {
        /// The kind of file looked for.
        expected: &'static str,
    },
    /// It follows another version of the format.
    #[error("format version {found}, but this plash reads version {supported}")]
    Version {
        /// The version in the file.
        found: u32,
        /// The version known here.
        supported: u32,
    },
    /// It is shorter or longer than it says.
    #[error("the file has {found} bytes where {expected} are needed")]
    Length {
        /// Bytes there should be.
        expected: u64,
        /// Bytes there are.
        found: u64,
    },
    /// Its bytes are not those that were written.
    #[error("the checksum does not match")]
    Checksum,
    /// Its checksum matches, but its content makes no sense.
    #[error("{0}")]
    Malformed(String),
}

impl Damage {
    pub(crate) fn malformed(what: impl Into<String>) -> Self {
        Damage::Malformed(what.into())
    }
}

/// Why a run cannot start, go on or be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The file system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which path.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is damaged or of another kind.
    #[error("{}: {damage}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        damage: Damage,
    },
    /// There is no run here.
    #[error("{} holds no plash run (no run.json)", path.display())]
    NoRun {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds something else.
    #[error(
        "{} is not empty and not a plash run (it holds {found:?}): choose another folder",
        path.display()
    )]
    NotARun {
        /// The folder.
        path: PathBuf,
        /// An entry that is not of a run.
        found: String,
    },
    /// The folder holds a run already.
    #[error(
        "{} already holds a run of \"{name}\" ({frames_done} of {frames} frames): \
         resume it, replace it, or choose another folder",
        path.display()
    )]
    RunExists {
        /// The folder.
        path: PathBuf,
        /// The name of the run in it.
        name: String,
        /// Frames that are there.
        frames_done: u64,
        /// Frames it was to have.
        frames: u64,
    },
    /// Somebody else is at work in this folder.
    #[error("another run is at work in {}{}", path.display(), process_note(*process))]
    Locked {
        /// The folder.
        path: PathBuf,
        /// The process that holds the lock, if it said so.
        process: Option<u32>,
    },
    /// The run in the folder is of another scene.
    #[error(
        "{} was made by another scene (hash {}, this scene has {}): resume with the scene \
         and settings it began with, replace it, or choose another folder",
        path.display(), short(found), short(expected)
    )]
    OtherScene {
        /// The folder or checkpoint.
        path: PathBuf,
        /// The hash of the scene to be run.
        expected: String,
        /// The hash of the scene that was run.
        found: String,
    },
    /// The run is to be resumed to fewer frames than it has.
    #[error(
        "{} already has {frames_done} frames, which is more than the {frames} asked for: \
         resume it with {frames_done} frames or more, replace it, or choose another folder",
        path.display()
    )]
    FewerFrames {
        /// The folder.
        path: PathBuf,
        /// Frames that are there.
        frames_done: u64,
        /// Frames asked for.
        frames: u64,
    },
    /// No stored checkpoint lies at or before the frame asked for.
    #[error(
        "no checkpoint at or before frame {frame} is kept: {}",
        available_note(available)
    )]
    NoCheckpoint {
        /// The frame asked for.
        frame: u64,
        /// The frames that can be resumed from.
        available: Vec<u64>,
    },
    /// Every checkpoint is damaged.
    #[error("no checkpoint can be read; start the run again. {}", .notes.join("; "))]
    AllDamaged {
        /// What is wrong with each.
        notes: Vec<String>,
    },
    /// A substep failed even after it was shortened.
    #[error(
        "frame {frame}: {source}; the run can be resumed from its last checkpoint, if it has one yet"
    )]
    Step {
        /// The frame being computed.
        frame: u64,
        /// What the last try said: stage and cell.
        source: NotTaken,
    },
    /// Substeps have become absurdly short.
    #[error(
        "frame {frame} is not finished after {substeps} substeps (speed {max_speed} m/s): \
         the motion is too fast for the grid; lower speeds or the resolution"
    )]
    TooManySubsteps {
        /// The frame being computed.
        frame: u64,
        /// Substeps taken in it.
        substeps: u64,
        /// Largest particle speed, m/s.
        max_speed: f64,
    },
    /// A writer of frames failed.
    #[error("cannot make {name} of frame {frame}: {source}")]
    Writer {
        /// The writer.
        name: String,
        /// The frame.
        frame: u64,
        /// What it said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A setting of the run makes no sense.
    #[error("{0}")]
    BadSpec(String),
}

impl RunError {
    /// Turns a system error into one that says what was tried on which path.
    pub(crate) fn io(
        action: &'static str,
        path: &Path,
    ) -> impl FnOnce(std::io::Error) -> RunError + use<> {
        let path = path.to_path_buf();
        move |source| RunError::Io {
            action,
            path,
            source,
        }
    }

    pub(crate) fn damaged(path: &Path) -> impl FnOnce(Damage) -> RunError + use<> {
        let path = path.to_path_buf();
        move |damage| RunError::Damaged { path, damage }
    }

    /// Whether the cause is what the user asked for rather than what happened during the
    /// run.
    pub fn is_bad_input(&self) -> bool {
        matches!(
            self,
            RunError::NoRun { .. }
                | RunError::NotARun { .. }
                | RunError::RunExists { .. }
                | RunError::OtherScene { .. }
                | RunError::FewerFrames { .. }
                | RunError::NoCheckpoint { .. }
                | RunError::BadSpec(_)
        )
    }
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

fn process_note(process: Option<u32>) -> String {
    process.map_or(String::new(), |id| format!(" (process {id})"))
}

fn available_note(frames: &[u64]) -> String {
    match frames {
        [] => "there is none at all; frame 0 starts from the beginning".into(),
        _ => {
            let list: Vec<String> = frames.iter().map(u64::to_string).collect();
            format!(
                "the run can be resumed from frame {} (or from 0, the beginning)",
                list.join(" or ")
            )
        }
    }
}
