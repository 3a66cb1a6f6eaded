//! The demo: two runs, one film, and nobody's work lost.

mod support;

use support::{Place, TINY};

/// As little of the demo as shows both halves.
const SMALL: [&str; 7] = ["demo", "-o", "out", "-r", "12", "-f", "2"];

#[test]
fn the_demo_runs_both_walls_and_films_them_side_by_side() {
    let place = Place::new();
    let events = place.succeed(&[&SMALL[..], &["--json"]].concat()).events();
    let kinds: Vec<&str> = events.iter().filter_map(|e| e["event"].as_str()).collect();
    let half = ["start", "frame", "frame"];
    assert_eq!(
        kinds,
        [&half[..], &half, &["image", "image", "done"]].concat()
    );
    let done = events.last().expect("an event");
    for walls in ["slip", "separating"] {
        let share = done["clinging"][walls].as_f64();
        assert!(share.is_some_and(|s| (0.0..=1.0).contains(&s)), "{done}");
        let run = format!("out/{walls}");
        let scene = String::from_utf8(place.bytes(&format!("{run}/scene.toml"))).expect("UTF-8");
        assert!(scene.contains(&format!("walls = \"{walls}\"")), "{scene}");
        assert!(
            place
                .path(&format!("{run}/frames/surface.0002.ply"))
                .exists()
        );
        place.succeed(&["info", &run]);
    }
    assert_eq!(
        place.list("out"),
        ["demo.mp4", "images", "separating", "slip"]
    );
    assert_eq!(
        place.list("out/images"),
        ["still.0001.png", "still.0002.png"]
    );
    assert_eq!(&place.bytes("out/demo.mp4")[4..8], b"ftyp");
    let png = place.bytes("out/images/still.0001.png");
    let side = |at: usize| u32::from_be_bytes([png[at], png[at + 1], png[at + 2], png[at + 3]]);
    assert!(
        2 * side(16) > 3 * side(20),
        "two pictures beside each other"
    );
}

#[test]
fn what_is_there_of_a_demo_is_used_and_a_finished_one_is_replaced() {
    let place = Place::new();
    let ended = place.succeed(&SMALL);
    assert!(ended.stdout.contains("out/demo.mp4"), "{}", ended.stdout);
    assert!(ended.stdout.contains("lets go"), "{}", ended.stdout);
    let video = place.bytes("out/demo.mp4");

    // As a demo that was stopped while it drew.
    std::fs::remove_file(place.path("out/demo.mp4")).expect("removed");
    let again = place.succeed(&SMALL);
    assert_eq!(
        again.stderr.matches("nothing to do").count(),
        2,
        "{}",
        again.stderr
    );
    assert!(place.bytes("out/demo.mp4") == video);

    // Now it is finished, so it is made anew; a shorter one leaves no still of the longer.
    let fresh = place.succeed(&["demo", "-o", "out", "-r", "12", "-f", "1"]);
    assert!(!fresh.stderr.contains("nothing to do"), "{}", fresh.stderr);
    assert_eq!(place.list("out/images"), ["still.0001.png"]);
    assert_eq!(
        place.list("out/slip/frames").len(),
        place.list("out/separating/frames").len()
    );
}

#[test]
fn the_demo_leaves_the_work_of_others_alone() {
    let place = Place::with(&[("tiny.toml", TINY)]);
    std::fs::create_dir(place.path("mine")).expect("a folder");
    std::fs::write(place.path("mine/notes.txt"), "mine").expect("written");
    let ended = place.plash(&["demo", "-o", "mine", "-r", "12", "-f", "1"]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains("-o DIR"), "{}", ended.stderr);
    assert_eq!(place.list("mine"), ["notes.txt"]);

    // A run that happens to lie where the demo's would.
    place.succeed(&["run", "tiny.toml", "-o", "other/slip"]);
    std::fs::write(place.path("other/demo.mp4"), "mine").expect("written");
    let before = place.bytes("other/slip/run.json");
    let ended = place.plash(&["demo", "-o", "other", "-r", "12", "-f", "1"]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(before == place.bytes("other/slip/run.json"));
    assert_eq!(place.bytes("other/demo.mp4"), b"mine");
}

#[cfg(unix)]
#[test]
fn an_interrupted_demo_is_gone_on_with_by_the_same_command() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    let place = Place::new();
    // Runs until a frame is there, then presses Ctrl-C; gives the exit code and what was said.
    let interrupted = || {
        let mut child = place
            .command(&["demo", "-o", "out", "-r", "16", "-f", "500"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("plash starts");
        let id = child.id().to_string();
        let mut said = String::new();
        let mut pressed = false;
        for line in BufReader::new(child.stderr.take().expect("a pipe")).lines() {
            let line = line.expect("text");
            // Once: the second would end the program at once.
            if line.starts_with("frame ") && !pressed {
                pressed = true;
                let sent = Command::new("kill").args(["-INT", &id]).status();
                assert!(sent.expect("kill runs").success());
            }
            said += &format!("{line}\n");
            if line.contains("help:") {
                break;
            }
        }
        (child.wait().expect("it ends").code(), said)
    };
    let (code, said) = interrupted();
    assert_eq!(code, Some(3), "{said}");
    assert!(
        said.contains("`plash demo -o out -r 16 -f 500` goes on"),
        "{said}"
    );
    let (code, said) = interrupted();
    assert_eq!(code, Some(3), "{said}");
    assert!(!said.contains("frames 1 to 500"), "{said}");
}
