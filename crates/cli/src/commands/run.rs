//! `plash run SCENE`: simulate into a run folder.

mod doubts;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use plash_scene::resolve::Up;
use plash_scene::run::{
    Existing, FrameFile, FrameWriter, Outcome as Ending, ParticlesCache, ParticlesPly, ResumeFrom,
    RunFolder, RunSpec, Runner, Summary, View,
};
use plash_scene::{AnySetup, Scene, file};
use serde_json::json;

use crate::args::{Changes, Run};
use crate::console::{Console, duration, plural, typed};
use crate::failure::{Failure, Outcome};
use crate::meter::{Meter, percent};
use crate::pictures::{self, Painter};
use crate::{interrupt, pool, source, surfaces};

/// A scene, where it goes, and what to do with what is there.
pub struct Job {
    /// What to simulate.
    pub scene: Scene,
    /// The run folder.
    pub folder: PathBuf,
    /// What to do with a run that is there.
    pub existing: Existing,
    /// What the command line changed, for the record.
    pub overrides: Vec<String>,
}

/// Simulates a scene, or goes on with a run.
pub fn run(args: &Run, console: Console) -> Outcome {
    let job = resolve(args, console)?;
    let pool = pool::pool(args.threads.count)?;
    let stop = interrupt::stop_flag()?;
    let summary = pool.install(|| simulate(job, console, &stop))?;
    report(&summary, console);
    Ok(())
}

/// From arguments to a job.
fn resolve(args: &Run, console: Console) -> Outcome<Job> {
    let existing = match (args.resume, args.replace) {
        (Some(None), _) => Existing::Resume(ResumeFrom::Latest),
        (Some(Some(frame)), _) => Existing::Resume(ResumeFrom::Frame(frame)),
        (None, true) => Existing::Replace,
        (None, false) => Existing::Refuse,
    };
    let dir = Path::new(&args.scene);
    // A folder that merely has the name of a gallery scene is not what is meant.
    let is_run =
        dir.is_dir() && (source::in_gallery(&args.scene).is_none() || RunFolder::open(dir).is_ok());
    let (scene, folder) = if is_run && args.resume.is_some() {
        (
            stored_scene(&RunFolder::open(dir)?, &args.changes)?,
            Some(dir.to_path_buf()),
        )
    } else {
        (source::load(&args.scene, &args.changes, console)?, None)
    };
    let folder = args.output.clone().or(folder);
    let folder = folder.unwrap_or_else(|| Path::new("runs").join(&scene.name));
    Ok(Job {
        scene,
        folder,
        existing,
        overrides: overrides(&args.changes),
    })
}

/// The scene that a run folder was made from.
pub fn stored_scene(folder: &RunFolder, changes: &Changes) -> Outcome<Scene> {
    let name = folder.root().join(plash_scene::run::SCENE_NAME);
    let text = folder.scene_text()?;
    file::parse(
        &name.display().to_string(),
        &text,
        &source::overrides(changes),
    )
    .map_err(|report| source::refuse(&report))
}

/// What the command line changed, as `key=value`.
fn overrides(changes: &Changes) -> Vec<String> {
    let frames = changes.frames.map(|frames| format!("frames={frames}"));
    let resolution = changes
        .resolution
        .map(|cells| format!("resolution={cells}"));
    changes
        .set
        .iter()
        .cloned()
        .chain(frames)
        .chain(resolution)
        .collect()
}

/// Runs a job in the current thread pool until it is done or `stop` becomes true.
pub fn simulate(job: Job, console: Console, stop: &AtomicBool) -> Outcome<Summary> {
    let Job {
        scene,
        folder,
        existing,
        overrides,
    } = job;
    let mut writers = writers(&scene)?;
    let (runner, mut simulation) = Runner::open(&folder, spec(&scene, overrides), existing)?;
    let first = runner.first_frame();
    console.event(&json!({
        "event": "start",
        "name": scene.name,
        "folder": folder,
        "frames": scene.frames,
        "first_frame": first + 1,
        "threads": rayon::current_num_threads(),
    }));
    if !console.is_json() {
        console.note(format!(
            "{} into {}: {}, {}",
            scene.name,
            folder.display(),
            ahead(first, scene.frames),
            plural(rayon::current_num_threads() as u64, "thread"),
        ));
    }
    let mut meter = Meter::new(console, scene.frames, first);
    let summary = runner.run(&mut simulation, &mut writers, stop, &mut meter)?;
    drop(meter);
    if let Some(line) = doubts::doubts(&summary.solves, &summary.folder) {
        console.note(line);
    }
    match summary.outcome {
        Ending::Complete => Ok(summary),
        Ending::Interrupted => Err(interrupted(&summary)),
    }
}

/// The frames still to be made after the first `done`.
fn ahead(done: u64, frames: u64) -> String {
    match frames.saturating_sub(done) {
        0 => "nothing to do".into(),
        1 => format!("frame {frames}"),
        _ => format!("frames {} to {frames}", done + 1),
    }
}

fn interrupted(summary: &Summary) -> Failure {
    let Summary {
        frames_done,
        frames,
        ..
    } = summary;
    let folder = summary.folder.display();
    let mut failure = Failure::interrupted(format!(
        "stopped after {frames_done} of {}; a checkpoint is in {folder}",
        plural(*frames, "frame")
    ))
    .help(format!(
        "`plash run {} --resume` goes on",
        typed(&summary.folder)
    ));
    failure.details = vec![
        ("folder", json!(summary.folder)),
        ("frame", json!(frames_done)),
        ("frames", json!(frames)),
        ("solves", json!(summary.solves)),
    ];
    failure
}

fn report(summary: &Summary, console: Console) {
    let Summary {
        frames,
        substeps,
        wall_seconds,
        ..
    } = *summary;
    let folder = summary.folder.display();
    let new_frames = frames.saturating_sub(summary.first_frame);
    let done = match new_frames {
        0 => format!("nothing to do: {} done before", plural(frames, "frame")),
        _ => format!(
            "done: {}, {} in {}; volume within {} of the expected",
            plural(new_frames, "frame"),
            plural(substeps, "substep"),
            duration(wall_seconds),
            percent(summary.max_volume_drift).trim_start_matches('+'),
        ),
    };
    console.say(format!(
        "{done}\n{folder} holds the frames; `plash render {}` draws them",
        typed(&summary.folder)
    ));
    console.event(&json!({
        "event": "done",
        "folder": summary.folder,
        "frames": frames,
        "substeps": substeps,
        "seconds": wall_seconds,
        "cpu_seconds": summary.cpu_seconds,
        "volume_drift": summary.max_volume_drift,
        "solves": summary.solves,
    }));
}

fn spec(scene: &Scene, overrides: Vec<String>) -> RunSpec {
    let up = match scene.up {
        Up::Y => "y",
        Up::Z => "z",
    };
    RunSpec {
        scene_text: scene.text.clone(),
        overrides,
        up: up.into(),
        ..RunSpec::new(&scene.name, scene.setup.clone(), scene.frames, scene.fps)
    }
}

/// What the scene asks to be written for every frame.
fn writers(scene: &Scene) -> Outcome<Vec<Box<dyn FrameWriter>>> {
    let mut writers: Vec<Box<dyn FrameWriter>> = Vec::new();
    if scene.output.particles {
        writers.push(Box::new(ParticlesPly));
    }
    if scene.output.cache {
        writers.push(Box::new(ParticlesCache));
    }
    if let (true, AnySetup::D3(setup)) = (scene.output.surface, &scene.setup) {
        let surface = surfaces::reconstructor(setup).map_err(pictures::failure)?;
        let volume = setup.particle_volume();
        writers.push(Box::new(FrameFile::new(
            "surface",
            "ply",
            move |frame| match frame.view {
                View::D3(_, state) => {
                    Ok(surface.surface(&state.particles.position, volume)?.to_ply())
                }
                View::D2(..) => Err("a flat frame has no surface mesh".into()),
            },
        )));
    }
    if scene.output.images {
        let painter = Painter::new(scene, pictures::size(scene, None))?;
        writers.push(Box::new(FrameFile::image(
            pictures::STILL,
            "png",
            move |frame| Ok(painter.paint_view(frame.view)?.to_png()?),
        )));
    }
    Ok(writers)
}
