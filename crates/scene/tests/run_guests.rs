//! What belongs to a run folder and what does not: other people's files, damaged files, and
//! runs that are asked to become shorter.

mod common;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use common::*;
use plash_scene::run::*;

#[test]
fn a_folder_with_other_things_in_it_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("thesis.tex"), "precious").unwrap();
    for existing in [Existing::Refuse, Existing::Replace, RESUME] {
        let error = run_all(folder.path(), spec(FLAT), existing).unwrap_err();
        assert!(matches!(&error, RunError::NotARun { found, .. } if found == "thesis.tex"));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_run_json_of_another_program_does_not_make_a_folder_ours() {
    for text in [
        r#"{"format":"marathon","version":1}"#,
        r#"{"distance":42}"#,
        "-",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path(FRAMES)).unwrap();
        std::fs::write(path(MANIFEST_NAME), text).unwrap();
        std::fs::write(path("frames/cache.0001.plash"), "precious").unwrap();
        for existing in [Existing::Refuse, Existing::Replace, RESUME] {
            let error = run_all(folder.path(), spec(FLAT), existing).unwrap_err();
            assert!(
                matches!(&error, RunError::NotARun { found, .. } if found == MANIFEST_NAME),
                "{error}"
            );
            assert!(error.is_bad_input());
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        assert_eq!(
            std::fs::read(path("frames/cache.0001.plash")).unwrap(),
            b"precious"
        );
        assert_eq!(std::fs::read(path(MANIFEST_NAME)).unwrap(), text.as_bytes());
    }
}

/// What a user might put beside the files of a run.
const GUESTS: [&str; 5] = [
    "frames/notes.txt",
    "frames/holiday.0007.png",
    "frames/cache.0001.plash.bak",
    "images/poster.png",
    "checkpoints/checkpoint.7.plash",
];

fn put_guests(folder: &Path) {
    for guest in GUESTS {
        std::fs::write(folder.join(guest), guest).unwrap();
    }
}

fn assert_guests_untouched(folder: &Path) {
    for guest in GUESTS {
        assert_eq!(std::fs::read_to_string(folder.join(guest)).unwrap(), guest);
    }
    let mut unlisted = RunFolder::open(folder).unwrap().verify().unwrap().unlisted;
    unlisted.sort();
    let mut guests = GUESTS.to_vec();
    guests.sort_unstable();
    assert_eq!(unlisted, guests);
}

#[test]
fn replacing_deletes_files_of_the_run_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    run_all(folder.path(), spec(FLAT), Existing::Refuse).unwrap();
    let mut additions = Additions::open(folder.path()).unwrap();
    additions.put_image("tiny.mp4", b"listed").unwrap();
    additions.finish().unwrap();
    put_guests(folder.path());
    // Left by a killed run: not listed, but of a name that only plash gives.
    let left = folder.path().join("images/still.0009.png");
    std::fs::write(&left, "left").unwrap();
    let short = RunSpec {
        frames: 2,
        ..spec(FLAT)
    };
    run_all(folder.path(), short, Existing::Replace).unwrap();
    assert!(!left.exists() && !folder.path().join("images/tiny.mp4").exists());
    assert!(!folder.path().join("frames/cache.0003.plash").exists());
    assert_guests_untouched(folder.path());
    assert!(
        RunFolder::open(folder.path())
            .unwrap()
            .verify()
            .unwrap()
            .is_good()
    );
}

#[test]
fn a_run_whose_manifest_is_spoilt_can_be_replaced_and_guests_stay() {
    let folder = tempfile::tempdir().unwrap();
    run_all(folder.path(), spec(FLAT), Existing::Refuse).unwrap();
    put_guests(folder.path());
    let spoilt = r#"{"format":"plash-run","version":1}"#;
    std::fs::write(folder.path().join(MANIFEST_NAME), spoilt).unwrap();
    let error = run_all(folder.path(), spec(FLAT), RESUME).unwrap_err();
    assert!(matches!(error, RunError::Damaged { .. }), "{error}");
    run_all(folder.path(), spec(FLAT), Existing::Replace).unwrap();
    assert_guests_untouched(folder.path());
}

#[test]
fn resuming_neither_lists_nor_deletes_files_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let short = RunSpec {
        frames: 5,
        ..spec(FLAT)
    };
    run_all(folder.path(), short, Existing::Refuse).unwrap();
    put_guests(folder.path());
    run_all(folder.path(), spec(FLAT), RESUME).unwrap();
    assert_guests_untouched(folder.path());
}

#[test]
fn a_damaged_file_is_still_damaged_after_resuming() {
    let earlier = "checkpoints/checkpoint.0004.plash";
    for (path, cut) in [
        ("frames/cache.0002.plash", true),
        ("frames/cache.0002.plash", false),
        (earlier, true),
        (earlier, false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let short = RunSpec {
            frames: 5,
            ..spec(FLAT)
        };
        run_all(folder.path(), short.clone(), Existing::Refuse).unwrap();
        let full = folder.path().join(path);
        let mut content = std::fs::read(&full).unwrap();
        let middle = content.len() / 2;
        if cut {
            content.truncate(middle);
        } else {
            content[middle] ^= 1;
        }
        std::fs::write(&full, content).unwrap();
        let bad = || {
            let run = RunFolder::open(folder.path()).unwrap();
            run.verify().unwrap().bad
        };
        let before = bad();
        assert_eq!(before.len(), 1);
        assert_eq!(before[0].path, path);

        let mut notes = Vec::new();
        let mut progress = |event: Event<'_>| {
            if let Event::Note(note) = event {
                notes.push(note.to_string());
            }
        };
        let stop = AtomicBool::new(false);
        run(
            folder.path(),
            short,
            RESUME,
            &mut writers(),
            &stop,
            &mut progress,
        )
        .unwrap();
        assert_eq!(bad(), before);
        // Frames of the right length are not read again: that could be the whole disk.
        if cut || path == earlier {
            assert_eq!(notes.len(), 1, "{notes:?}");
            assert!(
                notes[0].contains(path) && notes[0].contains("damaged"),
                "{notes:?}"
            );
        }
    }
}

#[test]
fn a_run_is_not_resumed_to_fewer_frames_than_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let of = |frames: u64| RunSpec {
        frames,
        // The newest checkpoints are of frames 3 and 5.
        checkpoint_every: 3,
        ..spec(FLAT)
    };
    run_all(folder.path(), of(5), Existing::Refuse).unwrap();
    let manifest = Manifest::read(folder.path()).unwrap();
    let to_frame = |frame| Existing::Resume(ResumeFrom::Frame(frame));
    for (frames, existing) in [(3, RESUME), (4, RESUME), (2, to_frame(4)), (4, to_frame(9))] {
        let error = run_all(folder.path(), of(frames), existing).unwrap_err();
        assert!(
            matches!(error, RunError::FewerFrames { .. }) && error.is_bad_input(),
            "{error}"
        );
        let text = error.to_string();
        assert!(
            text.contains("or more") && text.contains("replace"),
            "{text}"
        );
        assert_eq!(Manifest::read(folder.path()).unwrap(), manifest);
        assert_whole(folder.path());
    }
    // Even if the checkpoint at its end is gone, so that an earlier one would do.
    std::fs::remove_file(newest_checkpoint(folder.path())).unwrap();
    let error = run_all(folder.path(), of(3), RESUME).unwrap_err();
    assert!(
        matches!(
            error,
            RunError::FewerFrames {
                frames_done: 5,
                frames: 3,
                ..
            }
        ),
        "{error}"
    );
    // Who goes back to a frame says which ones may go.
    let summary = run_all(folder.path(), of(4), to_frame(3)).unwrap();
    assert_eq!((summary.frames_done, summary.frames), (4, 4));
    assert_whole(folder.path());
}
