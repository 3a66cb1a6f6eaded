//! Runs of a tiny scene: what they leave, how they stop, how they go on.

mod common;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use common::*;
use plash_liquid::{Observer, StepError, StepReport};
use plash_scene::run::*;

/// Runs until `substeps` substeps are done in this process.
fn run_until(folder: &Path, spec: RunSpec, existing: Existing, substeps: u64) -> Summary {
    let stop = AtomicBool::new(substeps == 0);
    let mut done = 0;
    let mut progress = |event: Event<'_>| {
        if let Event::Substep(..) = event {
            done += 1;
            stop.store(done >= substeps, Ordering::Relaxed);
        }
    };
    run(folder, spec, existing, &mut writers(), &stop, &mut progress).unwrap()
}

fn a_run_holds_what_it_promises(text: &str) {
    let folder = tempfile::tempdir().unwrap();
    let spec = spec(text);
    let summary = run_all(folder.path(), spec.clone(), Existing::Refuse).unwrap();
    assert_eq!(summary.outcome, Outcome::Complete);
    assert_eq!(summary.frames_done, spec.frames);
    assert!(summary.substeps >= spec.frames && summary.particles > 0);

    let run = RunFolder::open(folder.path()).unwrap();
    assert_eq!(run.status(), Status::Complete);
    assert_eq!(run.frames().unwrap(), (1..=spec.frames).collect::<Vec<_>>());
    assert_eq!(
        run.frames_with("particles", "ply").unwrap().len() as u64,
        spec.frames
    );
    for number in run.frames().unwrap() {
        let frame = run.read_frame(number).unwrap();
        assert!((frame.meta.time - number as f64 / spec.fps).abs() < 1e-12);
        assert_eq!(frame.positions.len(), frame.ids.len());
        assert!(
            frame
                .positions
                .iter()
                .flatten()
                .all(|x| (-1e-6..=1.0 + 1e-6).contains(x))
        );
    }
    let verification = run.verify().unwrap();
    assert!(
        verification.is_good() && verification.unlisted.is_empty(),
        "{verification:?}"
    );
    let info = run.info().unwrap();
    assert_eq!(info.checkpoints.len(), 2);
    assert!(!info.at_work);
    serde_json::to_string(&info).unwrap();
    assert_eq!(run.scene_text().unwrap(), spec.scene_text);
}

#[test]
fn a_run_holds_what_it_promises_2d() {
    a_run_holds_what_it_promises(FLAT);
}

#[test]
fn a_run_holds_what_it_promises_3d() {
    a_run_holds_what_it_promises(SOLID);
}

#[test]
fn every_substep_has_a_line_with_the_promised_names() {
    let folder = tempfile::tempdir().unwrap();
    let summary = run_all(folder.path(), spec(FLAT), Existing::Refuse).unwrap();
    let lines = read_stats(folder.path()).unwrap();
    assert_eq!(lines.len() as u64, summary.substeps);
    for (i, line) in lines.iter().enumerate() {
        for name in [
            "step",
            "frame",
            "time",
            "dt",
            "volume",
            "volume_expected",
            "particles",
            "max_speed",
            "kinetic_energy",
            "momentum",
            "pressure",
            "seconds",
            "density_rms",
        ] {
            assert!(line.get(name).is_some(), "{name}");
        }
        for name in [
            "method",
            "iterations",
            "outer_iterations",
            "residual",
            "status",
            "wall_cells",
            "separated_cells",
        ] {
            assert!(line["pressure"].get(name).is_some(), "pressure.{name}");
        }
        assert_eq!(line["step"], i as u64 + 1);
        let seconds = line["seconds"].as_object().unwrap();
        let stages: f64 = seconds
            .iter()
            .filter(|(n, _)| *n != "total")
            .map(|(_, s)| s.as_f64().unwrap())
            .sum();
        assert!(stages <= seconds["total"].as_f64().unwrap() && seconds.contains_key("pressure"));
    }
    assert_eq!(lines.last().unwrap()["frame"], 8);
}

#[test]
fn interrupted_and_resumed_equals_unbroken_byte_for_byte() {
    let whole = tempfile::tempdir().unwrap();
    let unbroken = run_all(whole.path(), spec(FLAT), Existing::Refuse).unwrap();
    // Stops at every substep, so in the middle and at the end of frames.
    let broken = tempfile::tempdir().unwrap();
    let mut existing = Existing::Refuse;
    for _ in 0..unbroken.substeps - 1 {
        let summary = run_until(broken.path(), spec(FLAT), existing, 1);
        assert_eq!(summary.outcome, Outcome::Interrupted);
        assert_eq!(
            RunFolder::open(broken.path()).unwrap().status(),
            Status::Interrupted
        );
        assert_whole(broken.path());
        existing = RESUME;
    }
    let summary = run_until(broken.path(), spec(FLAT), existing, 1);
    assert_eq!(summary.outcome, Outcome::Complete);
    assert_same_runs(whole.path(), broken.path());
    // Going on with a finished run changes nothing.
    assert_eq!(
        run_all(broken.path(), spec(FLAT), RESUME).unwrap().substeps,
        0
    );
    assert_same_runs(whole.path(), broken.path());
}

#[test]
fn interrupted_and_resumed_equals_unbroken_byte_for_byte_3d() {
    let whole = tempfile::tempdir().unwrap();
    run_all(whole.path(), spec(SOLID), Existing::Refuse).unwrap();
    let broken = tempfile::tempdir().unwrap();
    run_until(broken.path(), spec(SOLID), Existing::Refuse, 3);
    run_all(broken.path(), spec(SOLID), RESUME).unwrap();
    assert_same_runs(whole.path(), broken.path());
}

#[test]
fn interrupted_and_resumed_equals_unbroken_byte_for_byte_with_viscosities() {
    let whole = tempfile::tempdir().unwrap();
    let unbroken = run_all(whole.path(), spec(THICK), Existing::Refuse).unwrap();
    let broken = tempfile::tempdir().unwrap();
    let mut existing = Existing::Refuse;
    for _ in 0..unbroken.substeps / 3 {
        run_until(broken.path(), spec(THICK), existing, 3);
        existing = RESUME;
    }
    run_all(broken.path(), spec(THICK), RESUME).unwrap();
    assert_same_runs(whole.path(), broken.path());

    let run = RunFolder::open(whole.path()).unwrap();
    let frame = run.read_frame(4).unwrap();
    let among = |low: f32, high: f32| {
        let found = frame
            .viscosities
            .iter()
            .filter(|&&mu| low < mu && mu < high);
        found.count()
    };
    assert_eq!(frame.viscosities.len(), frame.ids.len());
    assert!(among(-0.1, 0.05) > 20 && among(0.2, 20.0) > 20 && among(29.0, 31.0) > 100);
    for line in read_stats(whole.path()).unwrap() {
        let viscosity = &line["viscosity"];
        for name in [
            "method",
            "smoother",
            "iterations",
            "residual",
            "status",
            "unknowns",
        ] {
            assert!(viscosity.get(name).is_some(), "viscosity.{name}");
        }
        assert_eq!(viscosity["status"], "converged");
        assert!(line["seconds"]["viscosity"].as_f64().unwrap() > 0.0);
    }
    let settings = &run.manifest().settings;
    assert_eq!(settings["viscosity"]["method"], "mgpcg");
    assert_eq!(settings["transfer"], "apic");
}

#[test]
fn a_run_can_be_made_longer() {
    let whole = tempfile::tempdir().unwrap();
    run_all(whole.path(), spec(FLAT), Existing::Refuse).unwrap();
    let grown = tempfile::tempdir().unwrap();
    let short = RunSpec {
        frames: 3,
        scene_text: "frames = 3".into(),
        ..spec(FLAT)
    };
    run_all(grown.path(), short, Existing::Refuse).unwrap();
    run_all(grown.path(), spec(FLAT), RESUME).unwrap();
    assert_same_runs(whole.path(), grown.path());
}

#[test]
fn going_back_to_a_frame_gives_the_same_run() {
    let whole = tempfile::tempdir().unwrap();
    run_all(whole.path(), spec(FLAT), Existing::Refuse).unwrap();
    for frame in [0, 7] {
        let again = tempfile::tempdir().unwrap();
        run_all(again.path(), spec(FLAT), Existing::Refuse).unwrap();
        let from = Existing::Resume(ResumeFrom::Frame(frame));
        let summary = run_all(again.path(), spec(FLAT), from).unwrap();
        assert_eq!((summary.first_frame, summary.frames_done), (frame, 8));
        assert_same_runs(whole.path(), again.path());
    }
    match run_all(
        whole.path(),
        spec(FLAT),
        Existing::Resume(ResumeFrom::Frame(2)),
    ) {
        Err(error @ RunError::NoCheckpoint { .. }) => {
            assert!(error.to_string().contains("frame 7 or 8"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_damaged_checkpoint_falls_back_and_the_run_ends_the_same() {
    let whole = tempfile::tempdir().unwrap();
    run_all(whole.path(), spec(FLAT), Existing::Refuse).unwrap();
    for cut in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let short = RunSpec {
            frames: 5,
            ..spec(FLAT)
        };
        run_all(folder.path(), short, Existing::Refuse).unwrap();
        let newest = newest_checkpoint(folder.path());
        let mut content = std::fs::read(&newest).unwrap();
        let middle = content.len() / 2;
        if cut {
            content.truncate(middle);
        } else {
            content[middle] ^= 1;
        }
        std::fs::write(&newest, content).unwrap();
        let bad = RunFolder::open(folder.path())
            .unwrap()
            .verify()
            .unwrap()
            .bad;
        assert_eq!(bad[0].path, "checkpoints/checkpoint.0005.plash");
        let (runner, mut simulation) = Runner::open(folder.path(), spec(FLAT), RESUME).unwrap();
        assert_eq!(runner.first_frame(), 4);
        assert!(
            runner.notes()[0].contains("damaged"),
            "{:?}",
            runner.notes()
        );
        let stop = AtomicBool::new(false);
        runner
            .run(&mut simulation, &mut writers(), &stop, &mut |_: Event<
                '_,
            >| {})
            .unwrap();
        assert_same_runs(whole.path(), folder.path());
    }
}

#[test]
fn another_scene_is_refused_and_the_run_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    run_all(folder.path(), spec(FLAT), Existing::Refuse).unwrap();
    let other = spec(&FLAT.replace("0.7", "0.6"));
    let error = run_all(folder.path(), other.clone(), RESUME).unwrap_err();
    assert!(matches!(error, RunError::OtherScene { .. }) && error.is_bad_input());
    let error = run_all(folder.path(), other.clone(), Existing::Refuse).unwrap_err();
    assert!(
        matches!(error, RunError::RunExists { frames_done: 8, .. }),
        "{error}"
    );
    assert_whole(folder.path());
    // Only who says so replaces it.
    run_all(folder.path(), other.clone(), Existing::Replace).unwrap();
    let fresh = tempfile::tempdir().unwrap();
    run_all(fresh.path(), other, Existing::Refuse).unwrap();
    assert_same_runs(folder.path(), fresh.path());
}

#[test]
fn two_runs_in_one_folder_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (runner, _) = Runner::open(folder.path(), spec(FLAT), Existing::Refuse).unwrap();
    for existing in [Existing::Refuse, Existing::Replace, RESUME] {
        let error = run_all(folder.path(), spec(FLAT), existing).unwrap_err();
        assert!(matches!(error, RunError::Locked { .. }), "{error}");
    }
    let run = RunFolder::open(folder.path()).unwrap();
    assert_eq!(run.status(), Status::Running);
    drop(runner);
    assert_eq!(run.status(), Status::Interrupted);
}

/// Fails on purpose.
struct Faulty {
    inner: AnySimulation,
    /// Tries that fail before one works; then it starts again.
    failures: u32,
    left: u32,
}

impl Steps for Faulty {
    fn view(&self) -> View<'_> {
        self.inner.view()
    }

    fn suggest_dt(&self, remaining: f64) -> f64 {
        self.inner.suggest_dt(remaining)
    }

    fn step(&mut self, dt: f64, observer: &mut dyn Observer) -> Result<StepReport, StepError> {
        if self.left > 0 {
            self.left -= 1;
            return Err(StepError::NotFinite {
                stage: "pressure",
                time: 0.0,
                step: 0,
                cell: vec![3, 4],
            });
        }
        self.left = self.failures;
        self.inner.step(dt, observer)
    }
}

fn run_faulty(folder: &Path, failures: u32) -> Result<Summary, RunError> {
    let short = RunSpec {
        frames: 2,
        ..spec(FLAT)
    };
    let (runner, inner) = Runner::open(folder, short, Existing::Refuse).unwrap();
    let mut faulty = Faulty {
        inner,
        failures,
        left: failures,
    };
    let stop = AtomicBool::new(false);
    runner.run(&mut faulty, &mut writers(), &stop, &mut |_: Event<'_>| {})
}

#[test]
fn a_failed_step_is_shortened_and_frames_still_end_on_time() {
    let folder = tempfile::tempdir().unwrap();
    run_faulty(folder.path(), 2).unwrap();
    let lines = read_stats(folder.path()).unwrap();
    assert!(lines.iter().all(|line| line["retries"] == 2));
    let last = lines.last().unwrap()["time"].as_f64().unwrap();
    assert!((last - 2.0 / 30.0).abs() < 1e-10);
}

#[test]
fn a_step_that_never_works_stops_the_run_with_stage_and_cell() {
    let folder = tempfile::tempdir().unwrap();
    let error = run_faulty(folder.path(), 100).unwrap_err().to_string();
    assert!(
        error.contains("pressure") && error.contains("[3, 4]"),
        "{error}"
    );
    let run = RunFolder::open(folder.path()).unwrap();
    assert_eq!(run.status(), Status::Failed);
    assert_eq!(run.manifest().message.as_ref(), Some(&error));
    assert_whole(folder.path());
    // The cause gone, the run goes on.
    let short = RunSpec {
        frames: 2,
        ..spec(FLAT)
    };
    assert_eq!(
        run_all(folder.path(), short, RESUME).unwrap().outcome,
        Outcome::Complete
    );
}

#[test]
fn other_writers_get_their_frames_and_their_files_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let mut count = 0;
    let surface = FrameFile::new("surface", "ply", |frame: &Frame<'_>| {
        count += 1;
        Ok(format!(
            "ply\nformat ascii 1.0\ncomment {}\nend_header\n",
            frame.number
        )
        .into_bytes())
    });
    let mut writers: Vec<Box<dyn FrameWriter + '_>> = vec![Box::new(surface)];
    let stop = AtomicBool::new(false);
    let short = RunSpec {
        frames: 2,
        ..spec(FLAT)
    };
    run(
        folder.path(),
        short,
        Existing::Refuse,
        &mut writers,
        &stop,
        &mut |_: Event<'_>| {},
    )
    .unwrap();
    drop(writers);
    assert_eq!(count, 2);
    let run = RunFolder::open(folder.path()).unwrap();
    assert!(run.manifest().file("frames/surface.0002.ply").is_some());

    let mut additions = Additions::open(folder.path()).unwrap();
    additions.put_image("still.0002.png", b"picture").unwrap();
    additions
        .put_frame("surface.0002.ply", b"ply\nend_header\n")
        .unwrap();
    additions.finish().unwrap();
    let run = RunFolder::open(folder.path()).unwrap();
    assert!(run.manifest().file("images/still.0002.png").is_some());
    assert!(run.verify().unwrap().is_good());
}

#[test]
fn a_writer_that_fails_stops_the_run_and_harms_nothing() {
    let whole = tempfile::tempdir().unwrap();
    run_all(whole.path(), spec(FLAT), Existing::Refuse).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let broken = FrameFile::new("broken", "ply", |frame: &Frame<'_>| match frame.number {
        3 => Err("no ink".into()),
        _ => Ok(b"ply\nformat ascii 1.0\nend_header\n".to_vec()),
    });
    let mut writers: Vec<Box<dyn FrameWriter>> = writers();
    writers.push(Box::new(broken));
    let stop = AtomicBool::new(false);
    let result = run(
        folder.path(),
        spec(FLAT),
        Existing::Refuse,
        &mut writers,
        &stop,
        &mut |_: Event<'_>| {},
    );
    let error = result.unwrap_err().to_string();
    assert_eq!(error, "cannot make broken of frame 3: no ink");
    assert_whole(folder.path());
    for frame in [1, 2] {
        std::fs::remove_file(folder.path().join(format!("frames/broken.000{frame}.ply"))).unwrap();
    }
    let summary = run_all(folder.path(), spec(FLAT), RESUME).unwrap();
    assert_eq!(summary.first_frame, 2);
    assert_same_runs(whole.path(), folder.path());
}

#[test]
fn fewer_checkpoints_give_the_same_frames() {
    let whole = tempfile::tempdir().unwrap();
    run_all(whole.path(), spec(FLAT), Existing::Refuse).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let seldom = RunSpec {
        checkpoint_every: 3,
        ..spec(FLAT)
    };
    let count = run_all(folder.path(), seldom.clone(), Existing::Refuse)
        .unwrap()
        .substeps;
    let places: Vec<u64> = RunFolder::open(folder.path())
        .unwrap()
        .info()
        .unwrap()
        .checkpoints
        .iter()
        .map(|place| place.frame)
        .collect();
    assert_eq!(places, [6, 8]);
    // From frame 6, the files of 7 and 8 are made again.
    let back = Existing::Resume(ResumeFrom::Frame(7));
    let summary = run_all(folder.path(), seldom, back).unwrap();
    assert!(summary.first_frame == 6 && summary.substeps < count);
    let frames = |folder: &Path| {
        let mut files = contents(folder);
        files.retain(|path, _| path.starts_with(FRAMES));
        files
    };
    assert!(frames(whole.path()) == frames(folder.path()));
}

#[test]
fn one_and_two_threads_give_the_same_bytes() {
    let run_with = |threads: usize| {
        let folder = tempfile::tempdir().unwrap();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| run_all(folder.path(), spec(SOLID), Existing::Refuse))
            .unwrap();
        folder
    };
    assert_same_runs(run_with(1).path(), run_with(2).path());
}

#[test]
fn progress_counts_up_to_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut last = 0.0;
    let mut frames = Vec::new();
    let mut stages = Vec::new();
    let mut progress = |event: Event<'_>| match event {
        Event::Stage(moment) => stages.push(moment.stage.unwrap()),
        Event::Substep(moment, report, _) => {
            assert!(moment.fraction >= last && moment.time == report.time);
            last = moment.fraction;
        }
        Event::Frame(moment) => frames.push(moment.frame),
        _ => {}
    };
    let stop = AtomicBool::new(false);
    run(
        folder.path(),
        spec(SOLID),
        Existing::Refuse,
        &mut writers(),
        &stop,
        &mut progress,
    )
    .unwrap();
    assert_eq!(frames, [1, 2, 3]);
    assert!((last - 1.0).abs() < 1e-9);
    assert!(stages.contains(&"pressure") && stages.contains(&"advect"));
}
