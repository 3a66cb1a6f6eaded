//! The checkpoints of a run: which there are, which is good, which may go.

use std::path::{Path, PathBuf};

use super::any::AnyState;
use super::atomic::{self, names_in};
use super::checkpoint::{Checkpoint, Place};
use super::error::{Damage, RunError};
use crate::AnySetup;

/// The checkpoints' folder in a run folder.
pub const CHECKPOINTS: &str = "checkpoints";
const PREFIX: &str = "checkpoint.";
const SUFFIX: &str = ".plash";

/// From where to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumeFrom {
    /// The newest checkpoint.
    Latest,
    /// The newest checkpoint at or before the end of this frame; 0 is the beginning.
    Frame(u64),
}

/// `checkpoint.0012.plash` after frame 12, `checkpoint.0012+0003.plash` three substeps on.
pub(crate) fn checkpoint_name(place: Place) -> String {
    match place.substep {
        0 => format!("{PREFIX}{:04}{SUFFIX}", place.frame),
        substep => format!("{PREFIX}{:04}+{substep:04}{SUFFIX}", place.frame),
    }
}

/// The place in a name made by [`checkpoint_name`], to the letter: similar names are not
/// ours.
fn parse_name(name: &str) -> Option<Place> {
    let place = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    let (frame, substep) = place.split_once('+').unwrap_or((place, "0"));
    let place = Place {
        frame: frame.parse().ok()?,
        substep: substep.parse().ok()?,
    };
    (checkpoint_name(place) == name).then_some(place)
}

/// The checkpoints of a run folder, oldest first.
pub(crate) fn list(folder: &Path) -> Result<Vec<(Place, PathBuf)>, RunError> {
    let folder = folder.join(CHECKPOINTS);
    let mut found: Vec<_> = names_in(&folder)?
        .iter()
        .filter_map(|name| Some((parse_name(name)?, folder.join(name))))
        .collect();
    found.sort();
    Ok(found)
}

/// Those of `places` (sorted) that a run keeps: the two newest ends of frames, or the newest
/// of these and one in the middle of the frame after it. An interrupted and resumed run thus
/// ends with the same checkpoints as an unbroken one.
pub(crate) fn kept(places: &[Place]) -> Vec<Place> {
    let ends: Vec<Place> = places.iter().copied().filter(|p| p.substep == 0).collect();
    match places.last() {
        Some(&newest) if newest.substep > 0 => {
            ends.last().copied().into_iter().chain([newest]).collect()
        }
        _ => ends[ends.len().saturating_sub(2)..].to_vec(),
    }
}

/// A state to go on from.
#[derive(Debug)]
pub(crate) struct Found {
    pub place: Place,
    pub state: AnyState,
}

/// The newest good checkpoint of this scene, or `None` for the beginning. Damaged ones are
/// passed over with a note.
pub(crate) fn find(
    folder: &Path,
    from: ResumeFrom,
    setup: &AnySetup,
    scene_hash: &str,
    notes: &mut Vec<String>,
) -> Result<Option<Found>, RunError> {
    let all = list(folder)?;
    let limit = match from {
        ResumeFrom::Frame(0) => return Ok(None),
        ResumeFrom::Frame(frame) => Place { frame, substep: 0 },
        ResumeFrom::Latest => Place {
            frame: u64::MAX,
            substep: u64::MAX,
        },
    };
    let mut damaged = Vec::new();
    for (place, path) in all.iter().rev().filter(|(place, _)| *place <= limit) {
        let file = atomic::read(path)?;
        let checkpoint = Checkpoint::parse(&file);
        if let Ok(Checkpoint { meta, .. }) = &checkpoint
            && meta.scene_hash != scene_hash
        {
            return Err(RunError::OtherScene {
                path: path.clone(),
                expected: scene_hash.into(),
                found: meta.scene_hash.clone(),
            });
        }
        match checkpoint.and_then(|checkpoint| state_at(&checkpoint, *place, setup)) {
            Ok(state) => {
                let next = format!("going back to the one at frame {}", place.frame);
                notes.extend(damaged.into_iter().map(|what| format!("{what}: {next}")));
                return Ok(Some(Found {
                    place: *place,
                    state,
                }));
            }
            Err(damage) => damaged.push(format!("{} is damaged ({damage})", path.display())),
        }
    }
    match from {
        _ if !damaged.is_empty() => Err(RunError::AllDamaged { notes: damaged }),
        ResumeFrom::Frame(frame) => {
            // Those at ends of frames: one in the middle of a frame is only ever the latest.
            let ends = all.iter().filter(|(place, _)| place.substep == 0);
            let available = ends.map(|(place, _)| place.frame).collect();
            Err(RunError::NoCheckpoint { frame, available })
        }
        ResumeFrom::Latest => Ok(None),
    }
}

/// The state, if the checkpoint is of the place its name says.
fn state_at(checkpoint: &Checkpoint, place: Place, setup: &AnySetup) -> Result<AnyState, Damage> {
    let at = checkpoint.meta.place();
    if at != place {
        let what = format!("it is of frame {}, substep {}", at.frame, at.substep);
        return Err(Damage::malformed(what));
    }
    checkpoint.state(setup)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::checkpoint::encode_checkpoint;
    use crate::run::samples;

    fn place(frame: u64, substep: u64) -> Place {
        Place { frame, substep }
    }

    #[test]
    fn names_are_parsed_back() {
        for p in [place(1, 0), place(12, 3), place(123_456, 0)] {
            assert_eq!(parse_name(&checkpoint_name(p)), Some(p));
        }
        for bad in [
            "checkpoint.plash",
            "checkpoint.x.plash",
            "checkpoint.7.plash",
            "checkpoint.0007+0000.plash",
            ".plash-part-1",
            "frame.0001.plash",
        ] {
            assert_eq!(parse_name(bad), None);
        }
    }

    #[test]
    fn two_ends_of_frames_are_kept_or_one_and_a_middle() {
        let ends = [place(3, 0), place(4, 0), place(5, 0)];
        assert_eq!(kept(&ends), ends[1..]);
        assert_eq!(kept(&ends[..1]), ends[..1]);
        let middle = [place(4, 0), place(5, 0), place(5, 2), place(5, 4)];
        assert_eq!(kept(&middle), [place(5, 0), place(5, 4)]);
        // The end of the frame makes its middle superfluous.
        assert_eq!(
            kept(&[place(5, 0), place(5, 4), place(6, 0)]),
            [place(5, 0), place(6, 0)]
        );
        assert_eq!(kept(&[place(0, 2)]), [place(0, 2)]);
        assert!(kept(&[]).is_empty());
    }

    struct Sample {
        folder: tempfile::TempDir,
        setup: AnySetup,
    }

    impl Sample {
        /// Checkpoints after frames 4 and 5.
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir(folder.path().join(CHECKPOINTS)).unwrap();
            let setup = samples::setup2();
            let state = AnyState::D2(samples::state2(&setup, 50, false));
            let setup = AnySetup::D2(setup);
            let sample = Sample { folder, setup };
            for frame in [4, 5] {
                let place = place(frame, 0);
                let view = samples::view(&sample.setup, &state);
                let file = encode_checkpoint(view, "hash", place).unwrap();
                std::fs::write(sample.path(frame), file).unwrap();
            }
            sample
        }

        fn path(&self, frame: u64) -> PathBuf {
            self.folder
                .path()
                .join(CHECKPOINTS)
                .join(checkpoint_name(place(frame, 0)))
        }

        fn damage(&self, frame: u64) {
            let mut file = std::fs::read(self.path(frame)).unwrap();
            let middle = file.len() / 2;
            file[middle] ^= 4;
            std::fs::write(self.path(frame), file).unwrap();
        }

        fn find(&self, from: ResumeFrom) -> Result<(Option<u64>, Vec<String>), RunError> {
            let mut notes = Vec::new();
            let found = find(self.folder.path(), from, &self.setup, "hash", &mut notes)?;
            Ok((found.map(|f| f.place.frame), notes))
        }
    }

    #[test]
    fn the_newest_is_found_or_the_one_asked_for() {
        let sample = Sample::new();
        assert_eq!(sample.find(ResumeFrom::Latest).unwrap(), (Some(5), vec![]));
        assert_eq!(sample.find(ResumeFrom::Frame(4)).unwrap().0, Some(4));
        assert_eq!(sample.find(ResumeFrom::Frame(100)).unwrap().0, Some(5));
        assert_eq!(sample.find(ResumeFrom::Frame(0)).unwrap().0, None);
        match sample.find(ResumeFrom::Frame(3)).unwrap_err() {
            RunError::NoCheckpoint { available, .. } => assert_eq!(available, [4, 5]),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_damaged_one_falls_back_with_a_note() {
        let sample = Sample::new();
        sample.damage(5);
        let (frame, notes) = sample.find(ResumeFrom::Latest).unwrap();
        assert_eq!(frame, Some(4));
        assert!(
            notes[0].contains("checkpoint.0005.plash is damaged"),
            "{notes:?}"
        );
        assert!(notes[0].contains("frame 4"), "{notes:?}");
    }

    #[test]
    fn two_damaged_ones_are_an_error_that_names_both() {
        let sample = Sample::new();
        sample.damage(4);
        std::fs::write(sample.path(5), b"PLASHCKP").unwrap();
        let error = sample.find(ResumeFrom::Latest).unwrap_err().to_string();
        assert!(error.contains("checkpoint.0004.plash"), "{error}");
        assert!(error.contains("checkpoint.0005.plash"), "{error}");
    }

    #[test]
    fn a_renamed_one_is_not_believed() {
        let sample = Sample::new();
        std::fs::copy(sample.path(4), sample.path(6)).unwrap();
        let (frame, notes) = sample.find(ResumeFrom::Latest).unwrap();
        assert_eq!(frame, Some(5));
        assert!(notes[0].contains("it is of frame 4"), "{notes:?}");
    }

    #[test]
    fn another_scene_is_refused() {
        let sample = Sample::new();
        let result = find(
            sample.folder.path(),
            ResumeFrom::Latest,
            &sample.setup,
            "other",
            &mut vec![],
        );
        assert!(matches!(result, Err(RunError::OtherScene { .. })));
    }
}
