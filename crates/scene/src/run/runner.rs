//! Drives a simulation frame by frame into a run folder.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use plash_liquid::{Stage, StepReport};
use serde::Serialize;

use super::advance::{Taken, left_of_frame, step_or_halve};
use super::any::{AnySimulation, Steps};
use super::atomic::sync_folder;
use super::checkpoint::Place;
use super::clock::{StageClock, cpu_seconds};
use super::convergence::Solves;
use super::error::RunError;
use super::manifest::Status;
use super::prepare::{Existing, OpenRun, Start, open_run};
use super::spec::RunSpec;
use super::stats::{Seconds, StatsLine};
use super::writer::{Frame, FrameFiles, FrameWriter, IMAGES};

/// Substeps of one frame after which the motion is taken to be out of hand.
const MAX_SUBSTEPS: u64 = 10_000;

/// A run that is ready to go: its folder is open and locked.
pub struct Runner {
    folder: OpenRun,
    place: Place,
    notes: Vec<String>,
    fps: f64,
    frames: u64,
    checkpoint_every: u64,
}

/// Where a run is.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct Moment {
    /// The frame being computed, or just finished.
    pub frame: u64,
    /// Frames the run is to have.
    pub frames: u64,
    /// The substep of that frame being computed or just finished, from 1.
    pub substep: u64,
    /// The stage of that substep, while it is being computed.
    pub stage: Option<&'static str>,
    /// Simulated time, s.
    pub time: f64,
    /// Share of the whole run that is done, 0 to 1.
    pub fraction: f64,
    /// `(volume − expected) / expected` after the last substep; 0 before the first.
    pub volume_drift: f64,
    /// Seconds since this process began to work on the run.
    pub wall_seconds: f64,
}

/// What happens during a run.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Something the user should know.
    Note(&'a str),
    /// A substep enters a stage.
    Stage(&'a Moment),
    /// A substep is done.
    Substep(&'a Moment, &'a StepReport, &'a Seconds),
    /// A frame and its files are done.
    Frame(&'a Moment),
}

/// Somebody who is told how a run goes.
pub trait Progress {
    /// Something happened.
    fn event(&mut self, event: Event<'_>);
}

impl<F: FnMut(Event<'_>)> Progress for F {
    fn event(&mut self, event: Event<'_>) {
        self(event);
    }
}

/// How a run ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// All frames are there.
    Complete,
    /// It was asked to stop, and can be resumed.
    Interrupted,
}

/// What a process has done for a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// How it ended.
    pub outcome: Outcome,
    /// The folder.
    pub folder: PathBuf,
    /// Frames that were there already.
    pub first_frame: u64,
    /// Frames that are there now.
    pub frames_done: u64,
    /// Frames the run is to have.
    pub frames: u64,
    /// Substeps taken by this process.
    pub substeps: u64,
    /// Clock time of this process, s.
    pub wall_seconds: f64,
    /// Of it, for checkpoints and the files of frames.
    pub output_seconds: f64,
    /// Processor time of this process on all threads, s.
    pub cpu_seconds: Option<f64>,
    /// Largest `|volume − expected| / expected` of any substep taken by this process.
    pub max_volume_drift: f64,
    /// How the solves of the substeps taken by this process went.
    pub solves: Solves,
    /// Particles at the end.
    pub particles: u64,
}

/// Opens the run folder and runs a scene in it to the end, or until `stop` becomes true:
/// then the current substep is finished and a checkpoint taken.
pub fn run(
    folder: &Path,
    spec: RunSpec,
    existing: Existing,
    writers: &mut [Box<dyn FrameWriter + '_>],
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> Result<Summary, RunError> {
    let (runner, mut simulation) = Runner::open(folder, spec, existing)?;
    runner.run(&mut simulation, writers, stop, progress)
}

impl Runner {
    /// Opens and locks the folder, and makes the simulation at its start or at the
    /// checkpoint to resume from.
    pub fn open(
        folder: &Path,
        spec: RunSpec,
        existing: Existing,
    ) -> Result<(Runner, AnySimulation), RunError> {
        let (folder, start) = open_run(folder, &spec, existing)?;
        let Start {
            place,
            state,
            notes,
        } = start;
        let runner = Runner {
            folder,
            place,
            notes,
            fps: spec.fps,
            frames: spec.frames,
            checkpoint_every: spec.checkpoint_every.max(1),
        };
        let simulation = match state {
            None => AnySimulation::new(spec.setup),
            Some(state) => AnySimulation::resume(spec.setup, state).ok_or_else(|| {
                RunError::BadSpec("the checkpoint is of another dimension".into())
            })?,
        };
        Ok((runner, simulation))
    }

    /// What the user should know about how the run starts.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Frames that are there already.
    pub fn first_frame(&self) -> u64 {
        self.place.frame
    }

    /// Runs to the end, or until `stop` becomes true.
    pub fn run(
        mut self,
        simulation: &mut dyn Steps,
        writers: &mut [Box<dyn FrameWriter + '_>],
        stop: &AtomicBool,
        progress: &mut dyn Progress,
    ) -> Result<Summary, RunError> {
        for note in &self.notes {
            progress.event(Event::Note(note));
        }
        let mut tally = Tally::start(self.place.frame);
        let result = self.frames(simulation, writers, stop, progress, &mut tally);
        // Whatever went wrong, the folder should say so; a second error must not hide it.
        match result {
            Ok(outcome) => {
                let status = match outcome {
                    Outcome::Complete => Status::Complete,
                    Outcome::Interrupted => Status::Interrupted,
                };
                self.folder.save(status, None)?;
                Ok(self.summary(outcome, simulation, tally))
            }
            Err(error) => {
                let _ = self.folder.save(Status::Failed, Some(error.to_string()));
                Err(error)
            }
        }
    }

    fn frames(
        &mut self,
        simulation: &mut dyn Steps,
        writers: &mut [Box<dyn FrameWriter + '_>],
        stop: &AtomicBool,
        progress: &mut dyn Progress,
        tally: &mut Tally,
    ) -> Result<Outcome, RunError> {
        while self.place.frame < self.frames {
            if stop.load(Ordering::Relaxed) {
                self.interrupt(simulation, tally)?;
                return Ok(Outcome::Interrupted);
            }
            self.substep(simulation, progress, tally)?;
            if self.remaining(simulation) == 0.0 {
                self.place = Place {
                    frame: self.place.frame + 1,
                    substep: 0,
                };
                self.finish_frame(simulation, writers, tally)?;
                let moment = self.moment(simulation, None, tally);
                progress.event(Event::Frame(&moment));
            }
        }
        Ok(Outcome::Complete)
    }

    /// A checkpoint where the run is, unless there is one.
    fn interrupt(&mut self, simulation: &dyn Steps, tally: &mut Tally) -> Result<(), RunError> {
        if tally.substeps_since_checkpoint == 0 {
            return Ok(());
        }
        let began = Instant::now();
        self.folder.checkpoint(simulation.view(), self.place)?;
        tally.output_seconds += began.elapsed().as_secs_f64();
        Ok(())
    }

    /// Seconds to the end of the current frame.
    fn remaining(&self, simulation: &dyn Steps) -> f64 {
        left_of_frame(self.place.frame + 1, self.fps, simulation.view().time())
    }

    /// One substep and its line of statistics.
    fn substep(
        &mut self,
        simulation: &mut dyn Steps,
        progress: &mut dyn Progress,
        tally: &mut Tally,
    ) -> Result<(), RunError> {
        self.place.substep += 1;
        let remaining = self.remaining(simulation);
        let mut moment = self.moment(simulation, None, tally);
        let mut on_enter = |stage: Stage| {
            moment.stage = Some(stage.name());
            moment.wall_seconds = tally.start.elapsed().as_secs_f64();
            progress.event(Event::Stage(&moment));
        };
        let mut clock = StageClock::start(&mut on_enter);
        let result = step_or_halve(simulation, remaining, &mut clock);
        let seconds = clock.stop();
        let frame = self.place.frame + 1;
        let Taken { report, retries } =
            result.map_err(|source| RunError::Step { frame, source })?;
        tally.count(&report);
        let line = StatsLine {
            frame,
            report: &report,
            retries,
            seconds: &seconds,
        };
        self.folder.stats.append(&line)?;
        let moment = self.moment(simulation, None, tally);
        progress.event(Event::Substep(&moment, &report, &seconds));
        if self.place.substep >= MAX_SUBSTEPS {
            return Err(RunError::TooManySubsteps {
                frame,
                substeps: self.place.substep,
                max_speed: report.max_speed,
            });
        }
        Ok(())
    }

    /// The files of the frame just finished, a checkpoint if it is time, the manifest.
    fn finish_frame(
        &mut self,
        simulation: &dyn Steps,
        writers: &mut [Box<dyn FrameWriter + '_>],
        tally: &mut Tally,
    ) -> Result<(), RunError> {
        let began = Instant::now();
        let number = self.place.frame;
        let frame = Frame {
            number,
            fps: self.fps,
            view: simulation.view(),
        };
        let mut files = FrameFiles::new(&self.folder.root, number);
        for writer in writers.iter_mut().filter(|w| w.schedule().wants(number)) {
            writer
                .write(&frame, &mut files)
                .map_err(|source| RunError::Writer {
                    name: writer.name().into(),
                    frame: number,
                    source,
                })?;
        }
        let records = files.records;
        if records.iter().any(|record| record.path.starts_with(IMAGES)) {
            sync_folder(&self.folder.root.join(IMAGES))?;
        }
        for record in records {
            self.folder.manifest.put(record);
        }
        self.folder.manifest.frames_done = number;
        if number.is_multiple_of(self.checkpoint_every) || number == self.frames {
            self.folder.checkpoint(simulation.view(), self.place)?;
            tally.substeps_since_checkpoint = 0;
        } else {
            self.folder.save(Status::Running, None)?;
        }
        tally.output_seconds += began.elapsed().as_secs_f64();
        Ok(())
    }

    fn moment(&self, sim: &dyn Steps, stage: Option<&'static str>, tally: &Tally) -> Moment {
        let time = sim.view().time();
        let between = self.place.substep == 0;
        Moment {
            frame: self.place.frame + u64::from(!between),
            frames: self.frames,
            substep: self.place.substep,
            stage,
            time,
            fraction: (time * self.fps / self.frames.max(1) as f64).clamp(0.0, 1.0),
            volume_drift: tally.drift,
            wall_seconds: tally.start.elapsed().as_secs_f64(),
        }
    }

    fn summary(self, outcome: Outcome, simulation: &dyn Steps, tally: Tally) -> Summary {
        Summary {
            outcome,
            folder: self.folder.root,
            first_frame: tally.first_frame,
            frames_done: self.place.frame,
            frames: self.frames,
            substeps: tally.substeps,
            wall_seconds: tally.start.elapsed().as_secs_f64(),
            output_seconds: tally.output_seconds,
            cpu_seconds: tally
                .cpu_start
                .zip(cpu_seconds())
                .map(|(then, now)| now - then),
            max_volume_drift: tally.max_drift,
            solves: tally.solves,
            particles: simulation.view().particles() as u64,
        }
    }
}

/// What is counted along the way.
struct Tally {
    start: Instant,
    cpu_start: Option<f64>,
    first_frame: u64,
    substeps: u64,
    substeps_since_checkpoint: u64,
    output_seconds: f64,
    drift: f64,
    max_drift: f64,
    solves: Solves,
}

impl Tally {
    fn start(first_frame: u64) -> Self {
        Tally {
            start: Instant::now(),
            cpu_start: cpu_seconds(),
            first_frame,
            substeps: 0,
            substeps_since_checkpoint: 0,
            output_seconds: 0.0,
            drift: 0.0,
            max_drift: 0.0,
            solves: Solves::default(),
        }
    }

    fn count(&mut self, report: &StepReport) {
        self.substeps += 1;
        self.substeps_since_checkpoint += 1;
        self.solves.count(report);
        let expected = report.volume_expected;
        self.drift = if expected > 0.0 {
            (report.volume - expected) / expected
        } else {
            0.0
        };
        self.max_drift = self.max_drift.max(self.drift.abs());
    }
}
