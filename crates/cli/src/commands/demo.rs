//! `plash demo`: a dam break, from nothing to a video.

use std::path::Path;
use std::time::Instant;

use plash_scene::run::{Existing, IMAGES, RunFolder};
use serde_json::json;

use super::render::{Album, draw};
use super::run::{Job, simulate};
use crate::args::{Changes, Demo, Size};
use crate::console::{Console, duration};
use crate::failure::Outcome;
use crate::meter::percent;
use crate::{interrupt, pool, source};

/// The scene it shows.
const SCENE: &str = "dam-break";
/// The run's name, which also marks folders that the next demo may replace.
const NAME: &str = "demo";
/// Cells along the longest side: fine enough to please, coarse enough not to be waited for.
const RESOLUTION: u64 = 48;
const SIZE: Size = Size {
    width: 640,
    height: 360,
};

/// Simulates, draws and says where everything is.
pub fn demo(args: &Demo, console: Console) -> Outcome {
    let start = Instant::now();
    let changes = Changes {
        resolution: Some(RESOLUTION),
        // The pictures come afterwards, in one go, with a bar of their own.
        set: vec![format!("name={NAME}"), "output.images=false".into()],
        ..Changes::default()
    };
    let job = Job {
        scene: source::load(SCENE, &changes, console)?,
        folder: args.output.clone(),
        existing: existing(&args.output),
        overrides: Vec::new(),
    };
    let pool = pool::pool(args.threads.count)?;
    let stop = interrupt::stop_flag()?;
    let summary = pool.install(|| simulate(job, console, &stop))?;
    let album = Album {
        size: Some(SIZE),
        ..Album::default()
    };
    let drawn = pool.install(|| draw(&args.output, &album, console, &stop))?;

    let seconds = start.elapsed().as_secs_f64();
    let dir = args.output.display();
    console.say(format!(
        "A dam broke over a ball: {frames} frames, {particles} particles, {time} in all.\n\
         The liquid's volume stayed within {drift} of what was poured in.\n\n  \
         video       {video}\n  \
         stills      {images}\n  \
         surfaces    {dir}/frames/surface.*.ply    open them in Blender or MeshLab\n  \
         particles   {dir}/frames/particles.*.ply\n  \
         statistics  {dir}/stats.jsonl\n\n\
         Next: `plash new pond` writes a scene file of your own; `plash scenes` lists more.",
        frames = summary.frames,
        particles = summary.particles,
        time = duration(seconds),
        drift = percent(summary.max_volume_drift).trim_start_matches('+'),
        video = drawn.video.display(),
        images = args.output.join(IMAGES).join("still.*.png").display(),
    ));
    console.event(&json!({
        "event": "done",
        "folder": args.output,
        "frames": summary.frames,
        "seconds": seconds,
        "volume_drift": summary.max_volume_drift,
        "images": drawn.images,
        "video": drawn.video,
    }));
    Ok(())
}

/// An older demo may be replaced; somebody's work may not.
fn existing(folder: &Path) -> Existing {
    match RunFolder::open(folder) {
        Ok(run) if run.manifest().name == NAME => Existing::Replace,
        _ => Existing::Refuse,
    }
}
