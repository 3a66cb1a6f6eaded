//! Run folders: everything a simulation leaves on the disk, and how it goes on from there.
//!
//! ```text
//! run.json                          what the folder holds, with checksums
//! scene.toml                        the scene as run
//! stats.jsonl                       one line per substep
//! frames/particles.0001.ply         particles of frame 1, which shows the time 1/fps
//! frames/cache.0001.plash           the same, compact
//! frames/surface.0001.ply           the liquid's surface (3D)
//! checkpoints/checkpoint.0001.plash the full state after frame 1
//! images/                           pictures
//! ```
//! Files are written beside their place and renamed, so a killed run leaves whole files
//! only. A resumed run equals the unbroken one byte for byte, except for the seconds in
//! `stats.jsonl`. One process at a time writes into a folder.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use plash_scene::file::{self, Overrides};
//! use plash_scene::run::{self, Event, Existing, Outcome, ResumeFrom, RunFolder, RunSpec};
//!
//! let text = "
//!     size = [1, 1]
//!     resolution = 16
//!     frames = 2
//!     [[liquid]]
//!     box = { min = [0, 0], max = [0.4, 0.6] }
//! ";
//! let scene = file::parse("dam.toml", text, &Overrides::default()).expect("a valid scene");
//! let folder = tempfile::tempdir()?;
//! let mut writers = run::frame_writers(&scene.output);
//! // Set by Ctrl-C: the run then finishes its substep and takes a checkpoint.
//! let stop = AtomicBool::new(false);
//! let mut progress = |event: Event<'_>| {
//!     if let Event::Frame(moment) = event {
//!         assert!(moment.frame <= moment.frames);
//!     }
//! };
//! let spec = RunSpec::of_scene(&scene, vec![]);
//! let existing = Existing::Resume(ResumeFrom::Latest);
//! let summary = run::run(folder.path(), spec, existing, &mut writers, &stop, &mut progress)?;
//! assert_eq!(summary.outcome, Outcome::Complete);
//!
//! let run = RunFolder::open(folder.path())?;
//! assert!(run.verify()?.is_good());
//! assert_eq!(run.read_frame(2)?.meta.frame, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod advance;
mod any;
mod atomic;
mod cache;
mod checkpoint;
mod clock;
mod container;
mod convergence;
mod error;
mod folder;
mod info;
mod lock;
mod manifest;
mod ply;
mod prepare;
mod runner;
#[cfg(test)]
mod samples;
mod spec;
mod stats;
mod store;
mod surface;
mod writer;

pub use advance::{NotTaken, Taken, left_of_frame, step_or_halve};
pub use any::{AnySimulation, AnyState, Steps, View};
pub use atomic::{FileRecord, sha256_hex};
pub use cache::{CacheMeta, FrameData, decode_cache, encode_cache};
pub use checkpoint::{Checkpoint, CheckpointMeta, Place, encode_checkpoint};
pub use convergence::{Convergence, Solves};
pub use error::{Damage, RunError};
pub use folder::{Additions, BadFile, RunFolder, RunInfo, Verification};
pub use info::{FileContent, FileInfo, file_info};
pub use lock::RunLock;
pub use manifest::{GridInfo, MANIFEST_NAME, Manifest, Status};
pub use ply::{PlyElement, PlyInfo, encode_particles_ply, ply_info};
pub use prepare::{Existing, SCENE_NAME};
pub use runner::{Event, Moment, Outcome, Progress, Runner, Summary, run};
pub use spec::RunSpec;
pub use stats::{STATS_NAME, Seconds, read_stats};
pub use store::{CHECKPOINTS, ResumeFrom};
pub use surface::{SurfacePly, frame_writers, reconstructor};
pub use writer::{
    FRAMES, Frame, FrameFile, FrameFiles, FrameWriter, IMAGES, ParticlesCache, ParticlesPly,
    Schedule, WriterError, frame_file, frame_of,
};
