//! One simulation, and every method on every system of it.

use std::time::{Duration, Instant};

use plash_liquid::{Observer, Stage, StepReport, ViscosityProblem};
use plash_scene::Scene;
use plash_scene::run::{AnySimulation, Steps};
use plash_solve::Problem;
use rayon::ThreadPool;

use super::course::{Census, Course};
use super::dump::Lattice;
use super::row::Row;
use crate::args::{Changes, Period};
use crate::console::{Console, plural};
use crate::failure::{Failure, Outcome, chain};
use crate::source;

/// A frame ends this early, in frames, so that rounding makes no sliver of a step.
const FRAME_SLACK: f64 = 1e-9;

/// How often people are told how far it is.
const TELL: Duration = Duration::from_secs(2);

/// What is simulated.
pub struct Program {
    /// The scene, as named.
    pub case: String,
    /// Cells along its longest side; `None` as the scene says.
    pub sizes: Vec<Option<u64>>,
    /// Which systems the methods get.
    pub systems: Wanted,
    /// Whether it may need more memory than this machine should give.
    pub force: bool,
}

/// Which systems the methods get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Frames to simulate; `None` as the scene says.
    pub frames: Option<u64>,
    /// Only the first system of the last frame.
    pub only_last: bool,
    /// The most systems.
    pub steps: Option<u64>,
}

impl Wanted {
    /// As asked for.
    pub fn of(period: Period) -> Wanted {
        match period.frame {
            Some(frame) => Wanted::first_of(frame),
            None => Wanted {
                frames: period.frames,
                only_last: false,
                steps: period.steps,
            },
        }
    }

    /// The first system of a frame.
    pub fn first_of(frame: u64) -> Wanted {
        Wanted {
            frames: Some(frame),
            only_last: true,
            steps: None,
        }
    }
}

/// Which substep of which frame, both from 1.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The frame.
    pub frame: u64,
    /// The substep.
    pub substep: u64,
}

/// The methods that solve the systems of one kind.
pub trait Entrants {
    /// A pressure system.
    fn pressure(&mut self, at: Moment, problem: &Problem<'_>) -> Outcome {
        let _ = (at, problem);
        Ok(())
    }

    /// A viscosity system.
    fn viscosity(&mut self, at: Moment, problem: &dyn ViscosityProblem) -> Outcome {
        let _ = (at, problem);
        Ok(())
    }

    /// Counts the system of a step.
    fn count(&self, report: &StepReport, systems: &mut Census);

    /// What each method took.
    fn rows(&self, case: &str, size: u64) -> Vec<Row>;
}

impl Program {
    /// The sizes that are named, or the scene's own.
    pub fn sizes(named: &[u64]) -> Vec<Option<u64>> {
        match named {
            [] => vec![None],
            named => named.iter().copied().map(Some).collect(),
        }
    }

    /// Simulates the scene at every size in the pool. `entrants` names who solves the systems of
    /// a scene, `tell` hears of each size when it is done.
    pub fn run<E: Entrants>(
        &self,
        pool: &ThreadPool,
        console: Console,
        entrants: impl Fn(&Scene) -> Outcome<E> + Sync,
        tell: impl Fn(&Course),
    ) -> Outcome<Vec<Course>> {
        let mut courses = Vec::new();
        for &resolution in &self.sizes {
            let changes = Changes {
                frames: None,
                resolution,
                set: Vec::new(),
                force: self.force,
            };
            let scene = source::load(&self.case, &changes, console)?;
            let course = pool.install(|| {
                let mut entrants = entrants(&scene)?;
                simulate(scene, self.systems, &mut entrants, console)
            })?;
            tell(&course);
            courses.push(course);
        }
        Ok(courses)
    }
}

/// Simulates a scene and has its systems solved.
fn simulate(
    scene: Scene,
    wanted: Wanted,
    entrants: &mut dyn Entrants,
    console: Console,
) -> Outcome<Course> {
    let size = Lattice::of(&scene.setup).size;
    let frames = wanted.frames.unwrap_or(scene.frames);
    let mut simulation = AnySimulation::new(scene.setup);
    let mut arena = Arena {
        entrants,
        wanted,
        systems: Census::default(),
        at: Moment {
            frame: 0,
            substep: 0,
        },
        is_last_frame: false,
        failure: None,
    };
    let mut told = Instant::now();
    for frame in 1..=frames {
        arena.at = Moment { frame, substep: 0 };
        arena.is_last_frame = frame == frames;
        if arena.is_enough_after(&mut simulation, scene.fps)? {
            break;
        }
        if told.elapsed() >= TELL {
            told = Instant::now();
            let so_far = plural(arena.systems.count, "system");
            let name = &scene.name;
            console.note(format!(
                "{name} {size}: frame {frame} of {frames}, {so_far}"
            ));
        }
    }
    let systems = arena.systems;
    Ok(Course {
        rows: entrants.rows(&scene.name, size),
        case: scene.name,
        size,
        systems,
    })
}

/// Where the methods meet the systems: it watches the simulation.
struct Arena<'a> {
    entrants: &'a mut dyn Entrants,
    wanted: Wanted,
    systems: Census,
    at: Moment,
    is_last_frame: bool,
    failure: Option<Failure>,
}

impl Arena<'_> {
    /// Takes the steps of a frame; whether the methods have had the systems they were to get.
    fn is_enough_after(&mut self, simulation: &mut AnySimulation, fps: f64) -> Outcome<bool> {
        let end = self.at.frame as f64 / fps;
        loop {
            let remaining = end - simulation.view().time();
            if remaining <= FRAME_SLACK / fps {
                return Ok(false);
            }
            self.at.substep += 1;
            let report = self.step(simulation, remaining)?;
            if self.is_wanted() {
                self.entrants.count(&report, &mut self.systems);
            }
            if self.is_enough() {
                return Ok(true);
            }
        }
    }

    fn step(&mut self, simulation: &mut AnySimulation, remaining: f64) -> Outcome<StepReport> {
        let dt = simulation.suggest_dt(remaining).min(remaining);
        let report = simulation.step(dt, self);
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        report.map_err(|error| {
            Failure::failed(chain(&error)).help("the comparison needs a simulation that runs")
        })
    }

    /// Remembers the first failure until the step is over: an observer cannot end it.
    fn keep(&mut self, met: Outcome) {
        if let Err(failure) = met {
            self.failure.get_or_insert(failure);
        }
    }

    fn is_wanted(&self) -> bool {
        !self.wanted.only_last || self.is_last_frame
    }

    fn is_enough(&self) -> bool {
        let most = self.wanted.steps;
        (self.wanted.only_last && self.is_last_frame)
            || most.is_some_and(|most| self.systems.count >= most)
    }
}

impl Observer for Arena<'_> {
    fn enter(&mut self, _: Stage) {}

    fn pressure(&mut self, problem: &Problem<'_>) {
        if self.is_wanted() {
            let met = self.entrants.pressure(self.at, problem);
            self.keep(met);
        }
    }

    fn viscosity(&mut self, problem: &dyn ViscosityProblem) {
        if self.is_wanted() {
            let met = self.entrants.viscosity(self.at, problem);
            self.keep(met);
        }
    }
}
