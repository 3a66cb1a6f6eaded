//! Bad input is exit code 2 with a reason and a cure; failures are 1; nothing ever panics.

mod support;

use support::{Ended, Place, TINY};

/// Bad input: exit code 2, one readable message.
fn refused(ended: &Ended) -> &str {
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    readable(&ended.stderr);
    &ended.stderr
}

fn readable(message: &str) {
    assert!(!message.trim().is_empty());
    for word in [
        "panicked",
        "unwrap",
        "RUST_BACKTRACE",
        "Error {",
        "Some(",
        "Os {",
    ] {
        assert!(!message.contains(word), "{word} in {message}");
    }
}

#[test]
fn a_misspelt_key_is_shown_with_file_line_key_and_suggestion() {
    let text = TINY.replace("resolution", "resolutoin");
    let place = Place::with(&[("bad.toml", &text)]);
    for command in ["check", "run"] {
        let ended = place.plash(&[command, "bad.toml"]);
        let message = refused(&ended);
        assert!(message.contains("bad.toml:3:1"), "{message}");
        assert!(
            message.contains("resolutoin") && message.contains("`resolution`"),
            "{message}"
        );
    }
    let ended = place.plash(&["check", "bad.toml", "--json"]);
    assert_eq!(ended.code, 2);
    let error = &ended.json()["error"];
    assert_eq!(
        (&error["kind"], &error["exit_code"]),
        (&"bad-input".into(), &2.into())
    );
    let found = &error["diagnostics"][0];
    assert_eq!(
        (&found["line"], &found["key"]),
        (&3.into(), &"resolutoin".into()),
        "{error}"
    );
}

#[test]
fn absurd_values_are_refused_before_memory_is_taken() {
    let place = Place::with(&[("tiny.toml", TINY)]);
    for change in [
        "resolution=0",
        "resolution=4000000000",
        "fps=nan",
        "size=[-1, 1]",
        "nonsense",
    ] {
        refused(&place.plash(&["check", "tiny.toml", "--set", change]));
    }
    refused(&place.plash(&["run", "tiny.toml", "-r", "1000000"]));
    assert!(!place.path("runs").exists());
}

#[test]
fn a_scene_that_is_not_there_is_refused_with_the_nearest_name() {
    let place = Place::new();
    let ended = place.plash(&["run", "dam-brake"]);
    assert!(refused(&ended).contains("`dam-break`"));
    refused(&place.plash(&["check", "nowhere/x.toml"]));
    refused(&place.plash(&["check", "."]));
    refused(&place.plash(&["new", "a", "--like", "nothing-like-it"]));
    refused(&place.plash(&["check", ""]));
    refused(&place.plash(&["new", "a b"]));
    refused(&place.plash(&["new", "nowhere/a"]));
    refused(&place.plash(&["new", &"a".repeat(300)]));
}

#[test]
fn bad_arguments_are_refused_also_in_json() {
    let place = Place::with(&[("tiny.toml", TINY)]);
    refused(&place.plash(&["rnu", "tiny.toml"]));
    refused(&place.plash(&["run"]));
    refused(&place.plash(&["run", "tiny.toml", "-t", "0"]));
    refused(&place.plash(&["run", "tiny.toml", "-t", "1000000"]));
    refused(&place.plash(&["run", "tiny.toml", "-f", "many"]));
    refused(&place.plash(&["run", "tiny.toml", "--resume", "--replace"]));
    refused(&place.plash(&["render", "x", "--size", "3x3"]));
    refused(&place.plash(&["render", "x", "--frames", "9..1"]));
    let ended = place.plash(&["run", "tiny.toml", "-f", "many", "--json"]);
    assert_eq!(ended.json()["error"]["exit_code"], 2);
}

#[test]
fn a_second_run_into_the_folder_is_refused_but_may_replace() {
    let place = Place::with(&[("tiny.toml", TINY)]);
    place.succeed(&["run", "tiny.toml", "-f", "1"]);
    let ended = place.plash(&["run", "tiny.toml"]);
    assert!(refused(&ended).contains("--resume"), "{}", ended.stderr);
    // Another scene cannot go on with it, nor is a folder of other things touched.
    let other = ["run", "tiny.toml", "--resume", "--set", "gravity=1.6"];
    refused(&place.plash(&other));
    refused(&place.plash(&["run", "tiny.toml", "-o", "."]));
    place.succeed(&[
        "run",
        "tiny.toml",
        "-f",
        "1",
        "--replace",
        "--set",
        "gravity=1.6",
    ]);
}

#[test]
fn folders_and_files_that_are_no_run_are_refused() {
    let place = Place::with(&[("tiny.toml", TINY)]);
    refused(&place.plash(&["info", "."]));
    refused(&place.plash(&["info", "tiny.toml"]));
    refused(&place.plash(&["info", "nothing"]));
    refused(&place.plash(&["render", "."]));
    refused(&place.plash(&["run", ".", "--resume"]));
}

#[test]
fn render_says_which_frames_there_are() {
    let place = Place::with(&[("tiny.toml", TINY)]);
    place.succeed(&["run", "tiny.toml", "-f", "2"]);
    let ended = place.plash(&["render", "runs/tiny", "--frames", "5..9"]);
    assert!(refused(&ended).contains("frames 1 to 2"));
    place.succeed(&[
        "run",
        "tiny.toml",
        "-f",
        "1",
        "-o",
        "bare",
        "--set",
        "output.cache=false",
    ]);
    assert!(refused(&place.plash(&["render", "bare"])).contains("output.cache"));
}

#[test]
fn damage_is_found_by_info_with_exit_code_1() {
    let place = Place::with(&[("tiny.toml", TINY)]);
    place.succeed(&["run", "tiny.toml", "-f", "2"]);
    let file = "runs/tiny/frames/cache.0001.plash";
    let mut bytes = place.bytes(file);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(place.path(file), bytes).expect("written");
    for path in ["runs/tiny", file] {
        let ended = place.plash(&["info", path]);
        assert_eq!(ended.code, 1, "{}", ended.stderr);
        readable(&ended.stderr);
        assert!(
            ended.stderr.contains("cache.0001.plash"),
            "{}",
            ended.stderr
        );
    }
    let ended = place.plash(&["info", file, "--json"]);
    assert_eq!(ended.json()["error"]["kind"], "failed");
    // One document says what is there and what is wrong with it.
    let ended = place.plash(&["info", "runs/tiny", "--json"]);
    assert_eq!(ended.code, 1);
    let document = ended.json();
    assert_eq!(
        (&document["ok"], &document["error"]["exit_code"]),
        (&false.into(), &1.into())
    );
    assert_eq!(document["verified"]["bad"][0]["path"], &file[10..]);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    use std::process::Stdio;
    let place = Place::new();
    let mut child = place
        .command(&["scenes"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("plash starts");
    drop(child.stdout.take());
    assert!(child.wait().expect("it ends").success());
}

#[cfg(target_os = "linux")]
#[test]
fn results_that_cannot_be_written_are_a_failure() {
    let place = Place::with(&[("tiny.toml", TINY)]);
    for args in [
        &["scenes"][..],
        &["scenes", "--json"],
        &["check", "tiny.toml"],
        &["--help"],
        &[],
    ] {
        let full = std::fs::File::create("/dev/full").expect("a device");
        let output = place.command(args).stdout(full).output();
        let ended = Ended::from(output.expect("plash starts"));
        assert_eq!(ended.code, 1, "{args:?}: {}", ended.stderr);
        readable(&ended.stderr);
    }
}

#[test]
fn a_folder_that_is_a_file_is_refused() {
    let place = Place::with(&[("tiny.toml", TINY)]);
    for folder in ["tiny.toml", "tiny.toml/below"] {
        refused(&place.plash(&["run", "tiny.toml", "-o", folder]));
    }
    assert_eq!(place.bytes("tiny.toml"), TINY.as_bytes());
}

#[test]
fn a_video_without_a_folder_is_refused_before_anything_is_drawn() {
    let place = Place::with(&[("tiny.toml", TINY)]);
    place.succeed(&["run", "tiny.toml", "-f", "1"]);
    for video in ["nowhere/x.mp4", "runs", "tiny.toml/x.mp4"] {
        refused(&place.plash(&["render", "runs/tiny", "--video", video]));
    }
    assert!(place.list("runs/tiny/images").is_empty());
}

/// Waiting for somebody to write into a pipe would look like a program that hangs.
#[cfg(unix)]
#[test]
fn a_pipe_is_refused_at_once() {
    let place = Place::new();
    let made = std::process::Command::new("mkfifo")
        .arg(place.path("pipe"))
        .status();
    assert!(made.expect("mkfifo").success());
    refused(&place.plash(&["check", "pipe"]));
    refused(&place.plash(&["info", "pipe"]));
    refused(&place.plash(&["new", "a", "--like", "pipe"]));
}
