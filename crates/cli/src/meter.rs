//! How far a run is: a bar on a terminal, a line per frame elsewhere, JSON for programs.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plash_scene::run::{Event, Moment, Progress};
use serde::Serialize;

use crate::console::{Console, plural};

/// Steps of the bar per frame, so that it moves within frames too.
const TICKS: u64 = 1000;

/// What a finished frame says about itself.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct FrameLine {
    /// Always `frame`.
    event: &'static str,
    /// The frame, from 1.
    frame: u64,
    /// Frames of the whole run.
    frames: u64,
    /// Simulated time, s.
    time: f64,
    /// Substeps since the frame before.
    substeps: u64,
    /// Particles there are.
    particles: usize,
    /// Measured volume relative to the expected one, minus one.
    volume_drift: f64,
    /// Wall time since the frame before, s.
    seconds: f64,
}

/// Shows progress in whatever way suits the reader. The run goes on the same without it.
pub struct Meter {
    console: Console,
    bar: Option<ProgressBar>,
    since: Instant,
    substeps: u64,
    particles: usize,
}

impl Meter {
    /// A meter for `frames` frames, of which `done` were done before.
    pub fn new(console: Console, frames: u64, done: u64) -> Self {
        let bar = console.is_watched().then(|| bar(frames, done));
        Meter {
            console,
            bar,
            since: Instant::now(),
            substeps: 0,
            particles: 0,
        }
    }

    fn stage(&self, moment: &Moment) {
        let Some(bar) = &self.bar else { return };
        let Moment {
            frame,
            frames,
            substep,
            fraction,
            volume_drift,
            ..
        } = moment;
        bar.set_position((fraction * (frames * TICKS) as f64) as u64);
        bar.set_prefix(format!("frame {frame}/{frames}"));
        let stage = moment.stage.unwrap_or_default();
        let drift = percent(*volume_drift);
        bar.set_message(format!("substep {substep:<2} {stage:<12} volume {drift}"));
    }

    fn frame(&mut self, moment: &Moment) {
        let line = FrameLine {
            event: "frame",
            frame: moment.frame,
            frames: moment.frames,
            time: moment.time,
            substeps: self.substeps,
            particles: self.particles,
            volume_drift: moment.volume_drift,
            seconds: self.since.elapsed().as_secs_f64(),
        };
        match &self.bar {
            Some(bar) => bar.set_position(line.frame * TICKS),
            None => self.console.note(line.text()),
        }
        self.console.event(&line);
        self.substeps = 0;
        self.since = Instant::now();
    }

    /// A message for people that does not tear the bar.
    fn note(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| self.console.note(text)),
            None => self.console.note(text),
        }
    }
}

impl Progress for Meter {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Note(text) => self.note(&format!("note: {text}")),
            Event::Stage(moment) => self.stage(moment),
            Event::Substep(_, report, _) => {
                self.substeps += 1;
                self.particles = report.particles;
            }
            Event::Frame(moment) => self.frame(moment),
            // Events of later versions are nothing this meter knows how to show.
            _ => {}
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl FrameLine {
    /// The line printed where there is no terminal.
    fn text(&self) -> String {
        let FrameLine {
            frame,
            frames,
            time,
            substeps,
            particles,
            seconds,
            ..
        } = self;
        let drift = percent(self.volume_drift);
        let substeps = plural(*substeps, "substep");
        format!(
            "frame {frame}/{frames}  t {time:.4} s  {substeps}  {particles} particles  \
             volume {drift}  {seconds:.2} s"
        )
    }
}

/// A share as a signed percentage.
pub fn percent(share: f64) -> String {
    format!("{:+.2} %", 100.0 * share)
}

/// A bar on standard error that redraws itself even during a long stage.
fn bar(frames: u64, done: u64) -> ProgressBar {
    let target = ProgressDrawTarget::stderr();
    let bar = ProgressBar::with_draw_target(Some(frames * TICKS), target);
    if let Ok(style) =
        ProgressStyle::with_template("{spinner} {prefix} {wide_bar} {msg}  {elapsed}, {eta} left")
    {
        bar.set_style(style.progress_chars("━╸ "));
    }
    bar.set_position(done * TICKS);
    // What was done before a resume says nothing about the speed now.
    bar.reset_eta();
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// A bar for a plain count of things, such as pictures.
pub fn counter(console: Console, total: u64, what: &'static str) -> ProgressBar {
    if !console.is_watched() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    if let Ok(style) =
        ProgressStyle::with_template("{spinner} {msg} {pos}/{len} {wide_bar} {elapsed}, {eta} left")
    {
        bar.set_style(style.progress_chars("━╸ "));
    }
    bar.set_message(what);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_per_frame_says_what_matters() {
        let line = FrameLine {
            event: "frame",
            frame: 3,
            frames: 48,
            time: 0.125,
            substeps: 5,
            particles: 24000,
            volume_drift: -0.00123,
            seconds: 0.5,
        };
        assert_eq!(
            line.text(),
            "frame 3/48  t 0.1250 s  5 substeps  24000 particles  volume -0.12 %  0.50 s"
        );
    }
}
