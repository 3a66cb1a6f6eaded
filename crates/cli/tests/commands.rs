//! Every command on its happy path, for people and for programs.

mod support;

use support::{Place, TINY, TINY_3D, TINY_THICK};

#[test]
fn plash_alone_prints_help_with_every_command_and_the_exit_codes() {
    let ended = Place::new().plash(&[]);
    let help = ended.stdout + &ended.stderr;
    for command in ["demo", "new", "scenes", "check", "run", "info", "render"] {
        let line = help
            .lines()
            .find(|line| line.trim_start().starts_with(command));
        assert!(
            line.is_some_and(|line| line.len() > 20),
            "{command} in\n{help}"
        );
    }
    assert!(help.contains("3 interrupted and resumable"), "{help}");
}

#[test]
fn every_command_has_help_that_fits_a_terminal() {
    let place = Place::new();
    for command in ["demo", "new", "scenes", "check", "run", "info", "render"] {
        let help = place.succeed(&[command, "--help"]).stdout;
        assert!(help.contains("--json"), "{help}");
        assert!(
            help.lines().all(|line| line.chars().count() <= 100),
            "{help}"
        );
    }
}

#[test]
fn the_options_of_run_are_those_of_the_manual() {
    let help = Place::new().succeed(&["run", "--help"]).stdout;
    for option in [
        "-o",
        "-f",
        "-r",
        "-t",
        "--set",
        "--resume[=<FRAME>]",
        "--force",
        "--replace",
    ] {
        assert!(help.contains(option), "{option} in\n{help}");
    }
}

#[test]
fn scenes_lists_the_gallery_with_descriptions() {
    let place = Place::new();
    assert!(place.succeed(&["scenes"]).stdout.contains("dam-break"));
    let list = place.succeed(&["scenes", "--json"]).json();
    let scenes = list["scenes"].as_array().expect("a list");
    let described = |s: &serde_json::Value| s["description"].as_str().is_some_and(|d| d.len() > 10);
    assert!(scenes.len() >= 10 && scenes.iter().all(described), "{list}");
    assert!(
        scenes
            .iter()
            .all(|s| s["dimension"] == 2 || s["dimension"] == 3),
        "{list}"
    );
}

#[test]
fn new_writes_a_scene_that_checks_and_never_overwrites() {
    let place = Place::new();
    place.succeed(&["new", "pond"]);
    let report = place.succeed(&["check", "pond.toml", "--json"]).json();
    assert_eq!(report["name"], "pond");
    std::fs::write(place.path("pond.toml"), "mine").expect("written");
    let again = place.plash(&["new", "pond"]);
    assert_eq!(again.code, 2, "{}", again.stderr);
    assert!(again.stderr.contains("left alone"), "{}", again.stderr);
    assert_eq!(place.bytes("pond.toml"), b"mine");
}

#[test]
fn new_starts_from_the_gallery_or_from_a_file() {
    let place = Place::with(&[("own.toml", TINY)]);
    place.succeed(&["new", "a", "--like", "drop-2d"]);
    let document = place
        .succeed(&["new", "b.toml", "--like", "own.toml", "--json"])
        .json();
    assert_eq!(document["file"], "b.toml");
    for (file, name) in [("a.toml", "a"), ("b.toml", "b")] {
        assert_eq!(
            place.succeed(&["check", file, "--json"]).json()["name"],
            name
        );
    }
}

#[test]
fn a_copy_is_a_scene_under_its_new_name_or_is_not_written() {
    let quoted = TINY.replace("name =", "\"name\" =");
    let long = TINY.replace("\"tiny\"", "\"\"\"\nti\\\nny\"\"\"");
    let place = Place::with(&[("quoted.toml", &quoted), ("long.toml", &long)]);
    place.succeed(&["new", "a", "--like", "quoted.toml"]);
    let report = place.succeed(&["check", "a.toml", "--json"]).json();
    assert_eq!(report["name"], "a");
    place.succeed(&["check", "long.toml"]);
    let ended = place.plash(&["new", "b", "--like", "long.toml"]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(!place.path("b.toml").exists());
}

#[test]
fn check_counts_cells_particles_and_bytes() {
    let place = Place::with(&[("tiny.toml", TINY)]);
    let text = place.succeed(&["check", "tiny.toml"]).stdout;
    assert!(text.contains("12 × 12 = 144 cells"), "{text}");
    let report = place
        .succeed(&["check", "tiny.toml", "-r", "20", "-f", "7", "--json"])
        .json();
    assert_eq!(
        (&report["cells"], &report["frames"]),
        (&400.into(), &7.into()),
        "{report}"
    );
    assert!(
        report["memory_bytes"]
            .as_u64()
            .is_some_and(|bytes| bytes > 1000)
    );
    assert!(
        report["particles"]
            .as_u64()
            .is_some_and(|n| (380..390).contains(&n)),
        "{report}"
    );
}

#[test]
fn info_names_what_solved_for_viscosity() {
    let place = Place::with(&[("thick.toml", TINY_THICK), ("tiny.toml", TINY)]);
    let methods = |scene: &str, out: &str, more: &[&str]| {
        place.succeed(&[&["run", scene, "-o", out, "-f", "1"], more].concat());
        place.succeed(&["info", out]).stdout
    };
    let text = methods("thick.toml", "a", &[]);
    assert!(
        text.contains("mgpcg viscosity with chebyshev, apic"),
        "{text}"
    );
    let text = methods("thick.toml", "b", &["--set", "viscosity.method=pcg-ic"]);
    assert!(text.contains(", pcg-ic viscosity, apic"), "{text}");
    let text = methods("tiny.toml", "c", &[]);
    assert!(!text.contains("viscosity"), "{text}");
}

#[test]
fn a_run_says_at_its_end_which_solves_missed_their_tolerance() {
    let place = Place::with(&[("thick.toml", TINY_THICK)]);
    let missed = [
        "--set",
        "viscosity.max-iterations=1",
        "--set",
        "viscosity.tolerance=1e-10",
    ];
    let ended = place.succeed(&[&["run", "thick.toml", "--json"][..], &missed].concat());
    let warnings = |text: &str| text.matches("warning:").count();
    assert_eq!(warnings(&ended.stderr), 1, "{}", ended.stderr);
    for part in [
        "viscosity missed its tolerance",
        "`viscosity.max-iterations`",
        "runs/thick/stats.jsonl",
    ] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    let events = ended.events();
    let found = &events.last().expect("an event")["solves"];
    let stats = String::from_utf8(place.bytes("runs/thick/stats.jsonl")).expect("text");
    let lines = stats
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let lines: Vec<serde_json::Value> = lines.collect();
    let missed = lines
        .iter()
        .filter(|l| l["viscosity"]["status"] == "iteration-limit");
    assert_eq!(found["viscosity"]["substeps"], lines.len());
    assert_eq!(found["viscosity"]["unconverged"], missed.count());
    let worst = &found["viscosity"]["worst_residual"];
    assert!(
        lines.iter().any(|l| l["viscosity"]["residual"] == *worst),
        "{found}"
    );
    assert_eq!(found["pressure"]["unconverged"], 0);

    // Going on counts what is new, and a run that is well says nothing.
    let resumed = place.succeed(&["run", "runs/thick", "--resume", "--json"]);
    assert_eq!(warnings(&resumed.stderr), 0, "{}", resumed.stderr);
    let events = resumed.events();
    assert_eq!(
        events.last().expect("an event")["solves"]["viscosity"]["substeps"],
        0
    );
    let well = place.succeed(&["run", "thick.toml", "-o", "well"]);
    assert_eq!(warnings(&well.stderr), 0, "{}", well.stderr);
}

#[test]
fn run_info_and_render_a_flat_scene() {
    let place = Place::with(&[("tiny.toml", TINY)]);
    let ended = place.succeed(&["run", "tiny.toml"]);
    let lines = ended
        .stderr
        .lines()
        .filter(|line| line.starts_with("frame "))
        .count();
    assert_eq!(lines, 3, "one plain line per frame\n{}", ended.stderr);
    assert!(place.path("runs/tiny/run.json").exists());
    let frames = place.list("runs/tiny/frames");
    assert!(frames.contains(&"cache.0003.plash".into()), "{frames:?}");
    assert!(frames.contains(&"particles.0001.ply".into()), "{frames:?}");

    let info = place.succeed(&["info", "runs/tiny", "--json"]).json();
    assert_eq!(
        (&info["kind"], &info["ok"]),
        (&"run".into(), &true.into()),
        "{info}"
    );
    assert_eq!(info["manifest"]["status"], "complete");
    assert!(
        place
            .succeed(&["info", "runs/tiny"])
            .stdout
            .contains("complete, 3 of 3 frames")
    );
    for file in [
        "frames/cache.0002.plash",
        "frames/particles.0002.ply",
        "checkpoints/checkpoint.0003.plash",
    ] {
        let file = format!("runs/tiny/{file}");
        assert!(place.succeed(&["info", &file]).stdout.contains("right"));
        assert_eq!(place.succeed(&["info", &file, "--json"]).json()["ok"], true);
    }

    let ended = place.succeed(&["render", "runs/tiny", "--size", "64x48", "--json"]);
    let events = ended.events();
    assert_eq!(events.iter().filter(|e| e["event"] == "image").count(), 3);
    let images = place.list("runs/tiny/images");
    assert_eq!(
        images,
        [
            "still.0001.png",
            "still.0002.png",
            "still.0003.png",
            "tiny.mp4"
        ]
    );
    assert!(
        place
            .bytes("runs/tiny/images/still.0001.png")
            .starts_with(b"\x89PNG")
    );
    assert_eq!(&place.bytes("runs/tiny/images/tiny.mp4")[4..8], b"ftyp");
    // Pictures are part of the run and verified with it.
    std::fs::write(place.path("runs/tiny/images/tiny.mp4"), "torn").expect("written");
    let ended = place.plash(&["info", "runs/tiny"]);
    assert_eq!(ended.code, 1);
    assert!(ended.stderr.contains("images/tiny.mp4"), "{}", ended.stderr);
}

#[test]
fn run_and_render_a_scene_in_space_with_surfaces() {
    let place = Place::with(&[("tiny.toml", TINY_3D)]);
    let events = place
        .succeed(&["run", "tiny.toml", "-o", "out", "-t", "2", "--json"])
        .events();
    let kinds: Vec<&str> = events.iter().filter_map(|e| e["event"].as_str()).collect();
    assert_eq!(kinds, ["start", "frame", "frame", "done"]);
    assert_eq!(events[1]["frame"], 1);
    assert!(events[2]["particles"].as_u64().is_some_and(|n| n > 100));
    assert!(
        events[3]["volume_drift"]
            .as_f64()
            .is_some_and(|drift| drift < 0.05),
        "{events:?}"
    );
    assert!(
        place
            .bytes("out/frames/surface.0002.ply")
            .starts_with(b"ply\n")
    );

    let args = [
        "render", "out", "--size", "64x48", "--frames", "2..", "--video", "film.mp4",
    ];
    place.succeed(&args);
    assert_eq!(place.list("out/images"), ["still.0002.png"]);
    assert_eq!(&place.bytes("film.mp4")[4..8], b"ftyp");
}

#[test]
fn a_scene_can_ask_for_stills_as_it_runs() {
    let place = Place::with(&[("tiny.toml", TINY)]);
    let ask = [
        "--set",
        "output.images=true",
        "--set",
        "render.size=[64, 48]",
    ];
    place.succeed(&[&["run", "tiny.toml", "-f", "1"][..], &ask].concat());
    assert_eq!(place.list("runs/tiny/images"), ["still.0001.png"]);
}

#[test]
fn z_up_scenes_run_and_draw() {
    let place = Place::with(&[("tiny.toml", TINY_3D)]);
    place.succeed(&["run", "tiny.toml", "--set", "up=z", "-f", "1"]);
    place.succeed(&["render", "runs/tiny-3d", "--size", "64x48"]);
}

#[test]
fn a_gallery_scene_runs_by_name_unless_a_file_has_it() {
    let place = Place::new();
    let args = [
        "run",
        "dam-break-2d",
        "-r",
        "12",
        "-f",
        "1",
        "--set",
        "output.images=false",
    ];
    place.succeed(&args);
    assert!(
        place
            .path("runs/dam-break-2d/frames/cache.0001.plash")
            .exists()
    );
    // A file of that name comes first.
    std::fs::write(place.path("dam-break-2d"), TINY).expect("written");
    let report = place.succeed(&["check", "dam-break-2d", "--json"]).json();
    assert_eq!(report["name"], "tiny");
    // A folder of that name does not.
    std::fs::create_dir(place.path("drop-2d")).expect("a folder");
    let report = place.succeed(&["check", "drop-2d", "--json"]).json();
    assert_eq!(report["name"], "drop-2d");
}

#[test]
fn a_finished_run_has_nothing_left_to_do() {
    let place = Place::with(&[("tiny.toml", TINY)]);
    let args = ["run", "tiny.toml", "-f", "1", "-t", "1", "-o", "my runs"];
    let ended = place.succeed(&args);
    assert!(
        ended.stderr.contains("frame 1, 1 thread\n"),
        "{}",
        ended.stderr
    );
    assert!(ended.stdout.contains("done: 1 frame,"), "{}", ended.stdout);
    assert!(
        ended.stdout.contains("`plash render 'my runs'`"),
        "{}",
        ended.stdout
    );
    let ended = place.succeed(&[&args[..], &["--resume"]].concat());
    assert!(ended.stderr.contains("nothing to do"), "{}", ended.stderr);
    assert!(ended.stdout.contains("nothing to do"), "{}", ended.stdout);
}

#[test]
fn the_number_of_threads_does_not_change_a_byte() {
    let place = Place::with(&[("tiny.toml", TINY_3D)]);
    place.succeed(&["run", "tiny.toml", "-o", "one", "-t", "1"]);
    place.succeed(&["run", "tiny.toml", "-o", "two", "-t", "2"]);
    for file in place.list("one/frames") {
        let [one, two] = ["one", "two"].map(|run| place.bytes(&format!("{run}/frames/{file}")));
        assert!(one == two, "{file} differs");
    }
}
