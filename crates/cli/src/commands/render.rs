//! `plash render DIR`: stills and a video from a run.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use plash_render::Video;
use plash_scene::run::{Additions, FRAMES, IMAGES, RunFolder, frame_file};
use serde_json::json;

use super::run::stored_scene;
use crate::args::{Changes, Frames, Render, Size};
use crate::console::{Console, duration, plural, typed};
use crate::failure::{Failure, Outcome};
use crate::pictures::{self, Painter, STILL};
use crate::{beside, interrupt, meter, pool};

/// What to draw of a run.
#[derive(Debug, Default)]
pub struct Album {
    /// Size of pictures, or the scene's.
    pub size: Option<Size>,
    /// Frames, or all.
    pub frames: Frames,
    /// Where the video goes, or beside the stills.
    pub video: Option<PathBuf>,
}

/// What was drawn.
#[derive(Debug)]
pub struct Drawn {
    /// The stills, in order.
    pub images: Vec<PathBuf>,
    /// The video.
    pub video: PathBuf,
}

/// Draws a run.
pub fn render(args: &Render, console: Console) -> Outcome {
    let pool = pool::pool(args.threads.count)?;
    let stop = interrupt::stop_flag()?;
    let album = Album {
        size: args.size,
        frames: args.frames.unwrap_or_default(),
        video: args.video.clone(),
    };
    let start = Instant::now();
    let drawn = pool.install(|| draw(&args.dir, &album, console, &stop))?;
    let seconds = start.elapsed().as_secs_f64();
    console.say(format!(
        "drew {} in {} into {}\nvideo: {}",
        plural(drawn.images.len() as u64, "still"),
        duration(seconds),
        args.dir.join(IMAGES).display(),
        drawn.video.display()
    ));
    console.event(&json!({
        "event": "done",
        "folder": args.dir,
        "images": drawn.images,
        "video": drawn.video,
        "seconds": seconds,
    }));
    Ok(())
}

/// Draws stills and a video from the cached frames of a run, in the current thread pool.
pub fn draw(dir: &Path, album: &Album, console: Console, stop: &AtomicBool) -> Outcome<Drawn> {
    let run = RunFolder::open(dir)?;
    if let Some(path) = &album.video {
        beside::check(path)?;
    }
    // Drawing needs little memory, so a scene made on a larger machine can be drawn here.
    let scene = stored_scene(
        &run,
        &Changes {
            force: true,
            ..Changes::default()
        },
    )?;
    let frames = wanted(&run, album.frames)?;
    let size = pictures::size(&scene, album.size);
    let painter = Painter::new(&scene, size)?;
    let mut additions = Additions::open(dir)?;
    let mut video = Video::create(size, scene.fps).map_err(pictures::failure)?;
    let bar = meter::counter(console, frames.len() as u64, "drawing");
    let mut images = Vec::new();
    for frame in &frames {
        if stop.load(Ordering::Relaxed) {
            additions.finish()?;
            return Err(interrupted(dir, images.len(), frames.len()));
        }
        let image = painter
            .paint_cached(&run.read_frame(*frame)?)
            .map_err(pictures::failure)?;
        let png = image.to_png().map_err(pictures::failure)?;
        let path = additions.put_image(&frame_file(STILL, *frame, "png"), &png)?;
        video.push(&image).map_err(pictures::failure)?;
        bar.inc(1);
        console.event(&json!({ "event": "image", "frame": frame, "file": path }));
        images.push(path);
    }
    bar.finish_and_clear();
    let mp4 = video.finish().map_err(pictures::failure)?;
    let video = match &album.video {
        None => additions.put_image(&format!("{}.mp4", scene.name), &mp4)?,
        Some(path) => {
            beside::write(path, &mp4)?;
            path.clone()
        }
    };
    additions.finish()?;
    Ok(Drawn { images, video })
}

/// The cached frames that are asked for; none is an error that says what there is.
fn wanted(run: &RunFolder, range: Frames) -> Outcome<Vec<u64>> {
    let cached = run.frames()?;
    let root = run.root().display();
    let (Some(first), Some(last)) = (cached.first(), cached.last()) else {
        return Err(
            Failure::bad_input(format!("{root} holds no cached frames to draw")).help(format!(
                "frames are drawn from {FRAMES}/cache.*.plash; run with output.cache = true"
            )),
        );
    };
    let frames: Vec<u64> = cached
        .iter()
        .copied()
        .filter(|frame| range.contains(*frame))
        .collect();
    if frames.is_empty() {
        return Err(
            Failure::bad_input(format!("{root} holds none of the frames asked for"))
                .help(format!("it holds frames {first} to {last}")),
        );
    }
    Ok(frames)
}

fn interrupted(dir: &Path, done: usize, all: usize) -> Failure {
    let mut failure = Failure::interrupted(format!(
        "stopped after {done} of {}, before the video",
        plural(all as u64, "still")
    ))
    .help(format!("`plash render {}` draws them all", typed(dir)));
    failure.details = vec![("folder", json!(dir)), ("images", json!(done))];
    failure
}
