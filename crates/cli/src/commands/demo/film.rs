//! The pictures of a demo: two runs side by side, with captions.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use plash_liquid::Setup;
use plash_render::{Image, RenderError, Video};
use plash_scene::run::{IMAGES, RunFolder, frame_file, frame_of};
use plash_scene::{AnySetup, Scene};
use serde_json::{Value, json};

use super::super::run::stored_scene;
use super::{VIDEO, WALLS};
use crate::args::Changes;
use crate::console::{Console, plural};
use crate::failure::{Failure, Outcome};
use crate::pictures::{self, Painter, STILL};
use crate::{beside, meter, surfaces};

/// The video is slower than life by this factor: a splash is over too soon to be seen.
const SLOWER: f64 = 2.5;
/// Liquid closer than this many cells to a wall counts as being on it.
const CLOSE: f64 = 2.0;
/// Colour, size and place of captions.
const INK: [u8; 3] = [24, 48, 82];
const SCALE: usize = 2;
const MARGIN: usize = 16;
const LINE: usize = 22;

/// What was drawn, and what was measured on the way.
pub struct Film {
    /// The stills, in order.
    pub images: Vec<PathBuf>,
    /// The video.
    pub video: PathBuf,
    /// Share of the liquid on the upper wall at the end, in the order of [`WALLS`].
    pub clinging: [f64; 2],
    /// Particles in each half.
    pub particles: usize,
    /// Largest difference between the measured and the expected volume, as a share of it.
    pub volume_drift: f64,
}

/// One run, ready to be drawn.
struct Half {
    walls: &'static str,
    run: RunFolder,
    scene: Scene,
    painter: Painter,
}

/// One half of a still.
struct Picture {
    image: Image,
    /// Share of the liquid on the upper wall.
    clinging: f64,
    particles: usize,
}

/// Draws the two runs of a demo, frame by frame, in the current thread pool.
pub fn shoot(folder: &Path, console: Console, stop: &AtomicBool) -> Outcome<Film> {
    let halves = [open(folder, WALLS[0])?, open(folder, WALLS[1])?];
    let stills = folder.join(IMAGES);
    clear(&stills)?;
    let frames = halves[0].scene.frames;
    let bar = meter::counter(console, frames, "drawing");
    let mut film = Film {
        images: Vec::new(),
        video: folder.join(VIDEO),
        clinging: [0.0; 2],
        particles: 0,
        volume_drift: f64::max(halves[0].volume_drift()?, halves[1].volume_drift()?),
    };
    let mut video = None;
    for frame in 1..=frames {
        if stop.load(Ordering::Relaxed) {
            return Err(interrupted(folder, film.images.len(), frames));
        }
        let [left, right] = [halves[0].paint(frame)?, halves[1].paint(frame)?];
        film.clinging = [left.clinging, right.clinging];
        film.particles = left.particles.max(right.particles);
        let pair = Image::side_by_side(&[left.image, right.image]).map_err(pictures::failure)?;
        let path = stills.join(frame_file(STILL, frame, "png"));
        beside::write(&path, &pair.to_png().map_err(pictures::failure)?)?;
        push(&mut video, &pair, halves[0].scene.fps / SLOWER).map_err(pictures::failure)?;
        bar.inc(1);
        console.event(&json!({ "event": "image", "frame": frame, "file": path }));
        film.images.push(path);
    }
    bar.finish_and_clear();
    if let Some(video) = video {
        beside::write(&film.video, &video.finish().map_err(pictures::failure)?)?;
    }
    Ok(film)
}

/// Adds a picture to a video, which begins with the first.
fn push(video: &mut Option<Video>, image: &Image, fps: f64) -> Result<(), RenderError> {
    let video = match video {
        Some(video) => video,
        none => none.insert(Video::create([image.width(), image.height()], fps)?),
    };
    video.push(image)
}

/// Opens one run of a demo.
fn open(folder: &Path, walls: &'static str) -> Outcome<Half> {
    let run = RunFolder::open(&folder.join(walls))?;
    let scene = stored_scene(&run, &Changes::default())?;
    let painter = Painter::new(&scene, pictures::size(&scene, None))?;
    Ok(Half {
        walls,
        run,
        scene,
        painter,
    })
}

/// Makes the folder of stills, without those of an earlier demo.
fn clear(stills: &Path) -> Outcome {
    fs::create_dir_all(stills).map_err(|error| Failure::file("create", stills, &error))?;
    let entries = fs::read_dir(stills).map_err(|error| Failure::file("read", stills, &error))?;
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let own = frame_of(&name).is_some_and(|frame| name == frame_file(STILL, frame, "png"));
        if own {
            let path = entry.path();
            fs::remove_file(&path).map_err(|error| Failure::file("remove", &path, &error))?;
        }
    }
    Ok(())
}

impl Half {
    /// A frame with its caption.
    fn paint(&self, frame: u64) -> Outcome<Picture> {
        let frame = self.run.read_frame(frame)?;
        let up = self.scene.up.axis();
        let share = match &self.scene.setup {
            AnySetup::D2(setup) => clinging(setup, &frame.positions, up),
            AnySetup::D3(setup) => clinging(setup, &frame.positions, up),
        };
        let mut image = self
            .painter
            .paint_cached(&frame)
            .map_err(pictures::failure)?;
        let lines = [
            format!("{} walls", self.walls),
            format!("on the ceiling: {:.0} %", 100.0 * share),
        ];
        // Below the ball: what matters is at its top.
        let bottom = image.height().saturating_sub(MARGIN);
        for (line, text) in lines.iter().rev().enumerate() {
            let top = bottom.saturating_sub((line + 1) * LINE);
            image.draw_text(text, [MARGIN, top], SCALE, INK);
        }
        Ok(Picture {
            image,
            clinging: share,
            particles: frame.positions.len(),
        })
    }

    /// Largest difference between the measured and the expected volume in any substep, those of
    /// before an interruption included.
    fn volume_drift(&self) -> Outcome<f64> {
        let drift = |step: &Value| {
            let [volume, expected] = ["volume", "volume_expected"].map(|key| step[key].as_f64());
            Some((volume? / expected? - 1.0).abs())
        };
        let stats = self.run.stats()?;
        Ok(stats.iter().filter_map(drift).fold(0.0, f64::max))
    }
}

/// The share of the liquid that is close to a solid in the upper half of the domain.
fn clinging<const D: usize>(setup: &Setup<D>, particles: &[[f32; 3]], up: usize) -> f64 {
    let [low, high] = surfaces::bounds(setup);
    let middle = 0.5 * (low[up] + high[up]);
    let distance = surfaces::solid_distance(setup);
    let reach = CLOSE * setup.grid.dx();
    let clings = |x: &&[f32; 3]| {
        let x = std::array::from_fn(|a| f64::from(x[a]));
        x[up] > middle && distance(x) < reach
    };
    let count = particles.iter().filter(clings).count();
    count as f64 / particles.len().max(1) as f64
}

fn interrupted(folder: &Path, done: usize, frames: u64) -> Failure {
    let mut failure = Failure::interrupted(format!(
        "stopped after {done} of {}, before the video",
        plural(frames, "still")
    ));
    failure.details = vec![("folder", json!(folder)), ("images", json!(done))];
    failure
}

#[cfg(test)]
mod tests {
    use super::*;
    use plash_scene::file::{Overrides, parse};

    #[test]
    fn liquid_clings_where_it_is_above_the_middle_and_close_to_a_solid() {
        let text = "size = [1, 1]\nresolution = 10\n\
                    [[solid]]\nbox = { min = [0, 0.9], max = [1, 1] }\n\
                    [[solid]]\nbox = { min = [0, 0], max = [1, 0.1] }\n\
                    [[liquid]]\nbox = { min = [0, 0.1], max = [1, 0.3] }";
        let scene = parse("room.toml", text, &Overrides::default()).expect("a scene");
        let AnySetup::D2(setup) = scene.setup else {
            panic!("the scene is flat");
        };
        // Within two cells of the ceiling, twice; farther below; on the floor.
        let places = [0.85, 0.75, 0.65, 0.15].map(|y| [0.5, y, 0.0]);
        assert_eq!(clinging(&setup, &places, 1), 0.5);
        assert_eq!(clinging(&setup, &[], 1), 0.0);
    }
}
