//! Ctrl-C: finish the substep, keep a checkpoint, exit 3; `--resume` goes on to the same bytes.

#![cfg(unix)]

mod support;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use support::{Ended, Place, TINY};

const FRAMES: &str = "60";

/// Sends SIGINT, as Ctrl-C does.
fn interrupt(child: &Child) {
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.expect("kill runs").success());
}

/// Starts a run and interrupts it once its third frame is there.
fn interrupted_run(place: &Place, args: &[&str]) -> Ended {
    let mut command = place.command(args);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("plash starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let mut stderr = String::new();
    for line in lines.by_ref().map_while(Result::ok) {
        stderr += &format!("{line}\n");
        if line.starts_with("frame 3/") {
            interrupt(&child);
            break;
        }
    }
    // Whoever closes the pipe early would make the program talk into nothing.
    for line in lines.map_while(Result::ok) {
        stderr += &format!("{line}\n");
    }
    let mut ended = Ended::from(child.wait_with_output().expect("it ends"));
    ended.stderr = stderr;
    ended
}

#[test]
fn ctrl_c_exits_3_and_resume_gives_the_bytes_of_an_unbroken_run() {
    let place = Place::with(&[("tiny.toml", TINY)]);
    let ended = interrupted_run(&place, &["run", "tiny.toml", "-r", "24", "-f", FRAMES]);
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(ended.stderr.contains("--resume"), "{}", ended.stderr);
    assert!(
        place
            .succeed(&["info", "runs/tiny"])
            .stdout
            .contains("interrupted, resumable")
    );

    place.succeed(&["run", "runs/tiny", "--resume"]);
    place.succeed(&[
        "run",
        "tiny.toml",
        "-r",
        "24",
        "-f",
        FRAMES,
        "-o",
        "unbroken",
    ]);
    for folder in ["frames", "checkpoints"] {
        let [resumed, unbroken] = ["runs/tiny", "unbroken"].map(|run| format!("{run}/{folder}"));
        assert_eq!(place.list(&resumed), place.list(&unbroken));
        for file in place.list(&unbroken) {
            let [a, b] = [&resumed, &unbroken].map(|run| place.bytes(&format!("{run}/{file}")));
            assert!(a == b, "{folder}/{file} differs");
        }
    }
}

#[test]
fn an_interrupted_run_says_so_in_json() {
    let place = Place::with(&[("tiny.toml", TINY)]);
    let args = ["run", "tiny.toml", "-r", "24", "-f", FRAMES, "--json"];
    let ended = interrupted_run(&place, &args);
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    let events = ended.events();
    let last = events.last().expect("an event");
    assert_eq!(last["event"], "interrupted", "{last}");
    assert!(
        last["frame"]
            .as_u64()
            .is_some_and(|frame| (3..60).contains(&frame)),
        "{last}"
    );
}

#[test]
fn resume_at_a_frame_makes_the_later_ones_again_and_a_longer_run_goes_on() {
    let place = Place::with(&[("tiny.toml", TINY)]);
    place.succeed(&["run", "tiny.toml"]);
    let before = place.bytes("runs/tiny/frames/cache.0003.plash");
    place.succeed(&["run", "tiny.toml", "--resume=2"]);
    assert!(before == place.bytes("runs/tiny/frames/cache.0003.plash"));
    place.succeed(&["run", "tiny.toml", "--resume", "-f", "5"]);
    assert!(place.path("runs/tiny/frames/cache.0005.plash").exists());
    let ended = place.plash(&["run", "tiny.toml", "--resume=1"]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("can be resumed from"),
        "{}",
        ended.stderr
    );
}
