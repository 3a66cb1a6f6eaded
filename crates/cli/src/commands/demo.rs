//! `plash demo`: a splash in a closed glass ball, walls that hold beside walls that let go.

mod film;

use std::path::Path;
use std::time::Instant;

use plash_scene::Scene;
use plash_scene::run::{Existing, IMAGES, ResumeFrom, RunFolder, RunSpec};
use serde_json::json;

use super::run::{Job, simulate};
use crate::args::{Changes, Demo};
use crate::console::{Console, duration, typed};
use crate::failure::{Exit, Failure, Outcome};
use crate::meter::percent;
use crate::{interrupt, pool, source};
use film::Film;

/// The scene it shows.
const SCENE: &str = "splash";
/// The walls it is shown with, from left to right; also the names of the two run folders.
const WALLS: [&str; 2] = ["slip", "separating"];
/// The video's name in the demo's folder. It is written last, so it marks a demo that is done.
const VIDEO: &str = "demo.mp4";

/// Simulates twice, draws, and says where everything is.
pub fn demo(args: &Demo, console: Console) -> Outcome {
    let start = Instant::now();
    let jobs = jobs(args, console)?;
    let pool = pool::pool(args.threads.count)?;
    let stop = interrupt::stop_flag()?;
    let work = || {
        for job in jobs {
            simulate(job, console, &stop)?;
        }
        film::shoot(&args.output, console, &stop)
    };
    let film = pool
        .install(work)
        .map_err(|failure| goes_on(failure, args))?;
    let seconds = start.elapsed().as_secs_f64();
    report(&args.output, &film, seconds, console);
    Ok(())
}

/// The two runs. What an interrupted demo has left is gone on with; a demo that is done is
/// replaced; somebody's work is neither.
fn jobs(args: &Demo, console: Console) -> Outcome<Vec<Job>> {
    let folder = &args.output;
    refuse_foreign(folder)?;
    let mut jobs = Vec::new();
    for walls in WALLS {
        let scene = source::load(SCENE, &changes(args, walls), console)?;
        let folder = folder.join(walls);
        jobs.push(Job {
            existing: existing(&folder, &scene),
            scene,
            folder,
            overrides: Vec::new(),
        });
    }
    let video = folder.join(VIDEO);
    let ours = |job: &Job| job.existing != Existing::Refuse;
    if video.is_file() && jobs.iter().all(ours) {
        // From here on it would not be the video of what lies beside it.
        std::fs::remove_file(&video).map_err(|error| Failure::file("remove", &video, &error))?;
        for job in &mut jobs {
            job.existing = Existing::Replace;
        }
    }
    Ok(jobs)
}

/// The scene with one kind of walls, named so that its run is known as a demo's.
fn changes(args: &Demo, walls: &str) -> Changes {
    Changes {
        frames: args.frames,
        resolution: args.resolution,
        set: vec![
            format!("name=demo-{walls}"),
            format!("walls={walls}"),
            // The pictures come afterwards, in pairs.
            "output.images=false".into(),
        ],
        ..Changes::default()
    }
}

/// A folder that holds other things than a demo is not ours to write into.
fn refuse_foreign(folder: &Path) -> Outcome {
    let entries = match std::fs::read_dir(folder) {
        Ok(mut entries) => entries.next(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(Failure::file("read", folder, &error)),
    };
    if entries.is_none() || folder.join(WALLS[0]).is_dir() {
        return Ok(());
    }
    let shown = folder.display();
    Err(
        Failure::bad_input(format!("{shown} holds other things than a demo"))
            .help("-o DIR writes elsewhere"),
    )
}

/// What to do with a half that is there.
fn existing(folder: &Path, scene: &Scene) -> Existing {
    let Ok(run) = RunFolder::open(folder) else {
        return Existing::Refuse;
    };
    let manifest = run.manifest();
    let spec = RunSpec::of_scene(scene, Vec::new());
    if manifest.name != scene.name {
        Existing::Refuse
    } else if manifest.frames == spec.frames && manifest.scene_hash == spec.scene_hash() {
        Existing::Resume(ResumeFrom::Latest)
    } else {
        Existing::Replace
    }
}

/// An interruption anywhere in the demo is resumed by the same command.
fn goes_on(failure: Failure, args: &Demo) -> Failure {
    if failure.exit != Exit::Interrupted {
        return failure;
    }
    let mut command = format!("plash demo -o {}", typed(&args.output));
    for (option, value) in [("-r", args.resolution), ("-f", args.frames)] {
        if let Some(value) = value {
            command += &format!(" {option} {value}");
        }
    }
    failure.help(format!("`{command}` goes on"))
}

fn report(folder: &Path, film: &Film, seconds: f64, console: Console) {
    let [held, let_go] = film.clinging.map(|share| format!("{:.1} %", 100.0 * share));
    let frames = film.images.len();
    let particles = film.particles;
    let dir = folder.display();
    console.say(format!(
        "A ball of water burst on the ceiling of a glass ball, twice: {frames} frames, {particles} \
         particles, {time} in all.\n\
         At the end {held} of it hang on the upper wall that holds (slip), {let_go} on the one\n\
         that lets go (separating). Volumes stayed within {drift} of what was poured in.\n\n  \
         video       {video}\n  \
         stills      {images}\n  \
         surfaces    {dir}/{{slip,separating}}/frames/surface.*.ply    for Blender or MeshLab\n  \
         particles   {dir}/{{slip,separating}}/frames/particles.*.ply\n  \
         statistics  {dir}/{{slip,separating}}/stats.jsonl\n\n\
         Next: `plash new pond` writes a scene file of your own; `plash scenes` lists more.",
        time = duration(seconds),
        drift = percent(film.volume_drift).trim_start_matches('+'),
        video = film.video.display(),
        images = folder.join(IMAGES).join("still.*.png").display(),
    ));
    console.event(&json!({
        "event": "done",
        "folder": folder,
        "runs": WALLS.map(|walls| folder.join(walls)),
        "frames": frames,
        "seconds": seconds,
        "volume_drift": film.volume_drift,
        "clinging": { "slip": film.clinging[0], "separating": film.clinging[1] },
        "images": film.images,
        "video": film.video,
    }));
}
