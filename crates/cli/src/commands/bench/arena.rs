//! One simulation, and every method on every system of it.

use std::time::{Duration, Instant};

use plash_liquid::{Observer, Stage, StepReport, ViscosityProblem};
use plash_scene::Scene;
use plash_scene::run::{AnySimulation, Steps, Taken, left_of_frame, step_or_halve};
use plash_solve::Problem;
use rayon::ThreadPool;

use super::course::{Census, Course, Findings};
use super::dump::Lattice;
use super::row::Row;
use crate::args::{Changes, Period};
use crate::console::{Console, plural};
use crate::failure::{Failure, Outcome, chain};
use crate::source;

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
    /// The substep; one that fails and is repeated with half its length counts as two.
    pub substep: u64,
}

/// The methods that solve the systems of one kind.
pub trait Entrants {
    /// Solves a pressure system; how many unknowns it has, `None` if it is not of this kind.
    fn pressure(&mut self, at: Moment, problem: &Problem<'_>) -> Outcome<Option<usize>> {
        let _ = (at, problem);
        Ok(None)
    }

    /// The same for a viscosity system.
    fn viscosity(&mut self, at: Moment, problem: &dyn ViscosityProblem) -> Outcome<Option<usize>> {
        let _ = (at, problem);
        Ok(None)
    }

    /// Counts what is known of a system only when its step is done.
    fn count(&self, report: &StepReport, systems: &mut Census) {
        let _ = (report, systems);
    }

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
    ///
    /// # Errors
    /// If nothing could be measured.
    pub fn run<E: Entrants>(
        &self,
        pool: &ThreadPool,
        console: Console,
        entrants: impl Fn(&Scene) -> Outcome<E> + Sync,
        tell: impl Fn(&Course),
    ) -> Outcome<Findings> {
        let mut findings = Findings::default();
        for &resolution in &self.sizes {
            let ended = self.scene(resolution, console).and_then(|scene| {
                pool.install(|| {
                    let mut entrants = entrants(&scene)?;
                    simulate(scene, self.systems, &mut entrants, console)
                })
            });
            findings.add(ended, &tell)?;
            if findings.failure.is_some() {
                break;
            }
        }
        Ok(findings)
    }

    fn scene(&self, resolution: Option<u64>, console: Console) -> Outcome<Scene> {
        let changes = Changes {
            frames: None,
            resolution,
            set: Vec::new(),
            force: self.force,
        };
        source::load(&self.case, &changes, console)
    }
}

/// Simulates a scene and has its systems solved: what they took, and what ended it early.
fn simulate(
    scene: Scene,
    wanted: Wanted,
    entrants: &mut dyn Entrants,
    console: Console,
) -> Outcome<(Course, Option<Failure>)> {
    let size = Lattice::of(&scene.setup).size;
    let frames = wanted.frames.unwrap_or(scene.frames);
    let mut simulation = AnySimulation::new(scene.setup);
    let mut arena = Arena::new(entrants, wanted);
    let mut told = Instant::now();
    let ended = arena.frames(&mut simulation, frames, scene.fps, |frame, systems| {
        if told.elapsed() >= TELL {
            told = Instant::now();
            let (name, so_far) = (&scene.name, plural(systems, "system"));
            console.note(format!(
                "{name} {size}: frame {frame} of {frames}, {so_far}"
            ));
        }
    });
    let systems = arena.systems;
    let failure = ended.err();
    match failure {
        Some(failure) if systems.count == 0 => Err(failure),
        failure => Ok((
            Course {
                rows: entrants.rows(&scene.name, size),
                case: scene.name,
                size,
                systems,
            },
            failure,
        )),
    }
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

impl<'a> Arena<'a> {
    fn new(entrants: &'a mut dyn Entrants, wanted: Wanted) -> Self {
        Arena {
            entrants,
            wanted,
            systems: Census::default(),
            at: Moment {
                frame: 0,
                substep: 0,
            },
            is_last_frame: false,
            failure: None,
        }
    }

    /// Takes the steps of so many frames, or until the methods have had the systems they were to
    /// get. `tell` hears of each frame, and how many systems there were.
    fn frames(
        &mut self,
        simulation: &mut dyn Steps,
        frames: u64,
        fps: f64,
        mut tell: impl FnMut(u64, u64),
    ) -> Outcome {
        for frame in 1..=frames {
            self.at = Moment { frame, substep: 0 };
            self.is_last_frame = frame == frames;
            self.frame(simulation, fps)?;
            if self.is_enough() {
                break;
            }
            tell(frame, self.systems.count);
        }
        Ok(())
    }

    /// Takes the steps of a frame, or as many as are needed.
    fn frame(&mut self, simulation: &mut dyn Steps, fps: f64) -> Outcome {
        loop {
            let time = simulation.view().time();
            let remaining = left_of_frame(self.at.frame, fps, time);
            if remaining == 0.0 || self.is_enough() {
                return Ok(());
            }
            self.step(simulation, remaining)?;
        }
    }

    fn step(&mut self, simulation: &mut dyn Steps, remaining: f64) -> Outcome {
        let was_wanted = self.is_wanted();
        let taken = step_or_halve(simulation, remaining, self);
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        match taken {
            Ok(Taken { report, .. }) if was_wanted => {
                self.entrants.count(&report, &mut self.systems);
            }
            // What is not needed any more may fail.
            Err(error) if !self.is_enough() => {
                return Err(Failure::failed(chain(&error)).help(
                    "the comparison needs a simulation that runs; what was measured before counts",
                ));
            }
            _ => {}
        }
        Ok(())
    }

    /// Counts a system that the methods have had. A failure is remembered until the step is over:
    /// an observer cannot end it.
    fn keep(&mut self, met: Outcome<Option<usize>>) {
        match met {
            Ok(Some(unknowns)) => self.systems.add(unknowns),
            Ok(None) => {}
            Err(failure) => {
                self.failure.get_or_insert(failure);
            }
        }
    }

    fn is_wanted(&self) -> bool {
        (!self.wanted.only_last || self.is_last_frame) && !self.is_enough()
    }

    fn is_enough(&self) -> bool {
        let most = match self.wanted.only_last {
            true => Some(1),
            false => self.wanted.steps,
        };
        most.is_some_and(|most| self.systems.count >= most)
    }
}

impl Observer for Arena<'_> {
    fn enter(&mut self, stage: Stage) {
        // Every try of a step begins with this.
        if stage == Stage::ToGrid {
            self.at.substep += 1;
        }
    }

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

#[cfg(test)]
mod tests {
    use plash_liquid::StepError;
    use plash_scene::file::{Overrides, parse};
    use plash_scene::run::View;

    use super::*;

    const THICK: &str = "
        size = [1, 1]
        resolution = 8
        [viscosity]
        value = 10
        [[liquid]]
        box = { min = [0, 0], max = [0.5, 0.5] }
    ";

    /// Takes note of the systems it is given.
    #[derive(Default)]
    struct Witness(Vec<(u64, u64)>);

    impl Entrants for Witness {
        fn viscosity(&mut self, at: Moment, _: &dyn ViscosityProblem) -> Outcome<Option<usize>> {
            self.0.push((at.frame, at.substep));
            Ok(Some(10))
        }

        fn rows(&self, _: &str, _: u64) -> Vec<Row> {
            Vec::new()
        }
    }

    /// Loses steps that are longer than a limit, from some time on.
    struct Faulty {
        inner: AnySimulation,
        from: f64,
        longest: f64,
    }

    impl Steps for Faulty {
        fn view(&self) -> View<'_> {
            self.inner.view()
        }

        fn suggest_dt(&self, remaining: f64) -> f64 {
            remaining
        }

        fn step(&mut self, dt: f64, observer: &mut dyn Observer) -> Result<StepReport, StepError> {
            let time = self.view().time();
            if time < self.from || dt <= self.longest {
                return self.inner.step(dt, observer);
            }
            let scene = parse("thick.toml", THICK, &Overrides::default()).expect("a scene");
            // Its methods see the system before it fails.
            AnySimulation::new(scene.setup).step(dt, observer)?;
            Err(StepError::Viscosity {
                time,
                step: 0,
                reason: "of a test".into(),
            })
        }
    }

    /// The systems of three frames of a quarter of a second, and how it ended.
    fn run(wanted: Wanted, from: f64, longest: f64) -> (Vec<(u64, u64)>, Census, Outcome) {
        let scene = parse("thick.toml", THICK, &Overrides::default()).expect("a scene");
        let mut faulty = Faulty {
            inner: AnySimulation::new(scene.setup),
            from,
            longest,
        };
        let mut witness = Witness::default();
        let mut arena = Arena::new(&mut witness, wanted);
        let ended = arena.frames(&mut faulty, wanted.frames.unwrap_or(3), 4.0, |_, _| {});
        let systems = arena.systems;
        (witness.0, systems, ended)
    }

    const ALL: Wanted = Wanted {
        frames: None,
        only_last: false,
        steps: None,
    };

    #[test]
    fn a_step_that_fails_is_halved_and_every_try_is_a_system() {
        let (seen, systems, ended) = run(ALL, 0.5, 0.125);
        ended.expect("a simulation that runs");
        assert_eq!(seen, [(1, 1), (2, 1), (3, 1), (3, 2), (3, 3)]);
        assert_eq!((systems.count, systems.unknowns()), (5, 10.0));
    }

    #[test]
    fn what_was_measured_before_a_failure_is_kept() {
        let (seen, systems, ended) = run(ALL, 0.25, 0.0);
        let failure = ended.expect_err("no step is short enough");
        assert!(failure.message.contains("of a test"), "{failure}");
        assert!(failure.message.contains("shorter steps"), "{failure}");
        // A step, and one with its six halves.
        assert_eq!((seen.len(), systems.count), (8, 8));
    }

    #[test]
    fn what_is_not_needed_any_more_may_fail() {
        let (seen, _, ended) = run(Wanted::first_of(2), 0.25, 0.0);
        ended.expect("its system was seen");
        assert_eq!(seen, [(2, 1)]);
        let two = Wanted {
            steps: Some(2),
            ..ALL
        };
        let (seen, _, ended) = run(two, 0.25, 0.0);
        ended.expect("its systems were seen");
        assert_eq!(seen, [(1, 1), (2, 1)]);
    }
}
