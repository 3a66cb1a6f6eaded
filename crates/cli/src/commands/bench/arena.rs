//! One simulation, and every method on every system of it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use plash_grid::Grid;
use plash_liquid::{Observer, Stage, StepReport};
use plash_problem::Stored;
use plash_scene::run::{AnySimulation, Steps};
use plash_scene::{AnySetup, Scene};
use plash_solve::Problem;
use serde_json::{Value, json};

use super::entry::{Carry, Entry};
use super::plan::{Plan, Wanted};
use super::row::{Contest, Row};
use crate::console::{Console, plural};
use crate::failure::{Failure, Outcome, chain};

/// A frame ends this early, in frames, so that rounding makes no sliver of a step.
const FRAME_SLACK: f64 = 1e-9;

/// How often people are told how far it is.
const TELL: Duration = Duration::from_secs(2);

/// What the methods took on a case of one size.
pub struct Course {
    /// The scene.
    pub case: String,
    /// Cells along its longest side.
    pub size: u64,
    /// The systems.
    pub systems: Census,
    /// One row per method.
    pub rows: Vec<Row>,
}

/// Sums over systems.
#[derive(Clone, Copy, Debug, Default)]
pub struct Census {
    /// How many there were.
    pub count: u64,
    unknowns: u64,
    wall_unknowns: u64,
    separated: u64,
}

impl Census {
    fn add(&mut self, report: &StepReport) {
        self.count += 1;
        self.unknowns += report.pressure.unknowns as u64;
        self.wall_unknowns += report.pressure.wall_cells as u64;
        self.separated += report.pressure.separated_cells as u64;
    }

    /// Unknowns per system.
    pub fn unknowns(&self) -> f64 {
        self.unknowns as f64 / self.count.max(1) as f64
    }

    /// Unknowns beside walls per system.
    pub fn wall_unknowns(&self) -> f64 {
        self.wall_unknowns as f64 / self.count.max(1) as f64
    }

    /// The share of them that let go.
    pub fn separated_share(&self) -> f64 {
        self.separated as f64 / self.wall_unknowns.max(1) as f64
    }
}

impl Course {
    /// The rows, as drawings take them.
    pub fn contest(&self) -> Contest<'_> {
        Contest {
            case: &self.case,
            size: self.size,
            rows: &self.rows,
        }
    }

    /// The systems, for programs.
    pub fn to_json(&self) -> Value {
        json!({
            "case": self.case,
            "size": self.size,
            "systems": self.systems.count,
            "average_unknowns": self.systems.unknowns(),
            "average_wall_unknowns": self.systems.wall_unknowns(),
            "separated_share": self.systems.separated_share(),
        })
    }
}

/// Simulates the scene in the current thread pool and has every method solve its systems.
pub fn run(plan: &Plan, scene: Scene, dump: Option<&Path>, console: Console) -> Outcome<Course> {
    let lattice = Lattice::of(&scene.setup);
    let mut arena = Arena {
        entries: plan.choices.iter().cloned().map(Entry::new).collect(),
        carry: Carry::default(),
        plan,
        dump: dump.map(|folder| Dump {
            stem: folder.join(format!("{}-{}", scene.name, lattice.size)),
            lattice,
        }),
        frame: 1,
        substep: 0,
        is_wanted: true,
        failure: None,
    };
    let mut simulation = AnySimulation::new(scene.setup);
    let frames = plan.systems.frames.unwrap_or(scene.frames);
    let mut systems = Census::default();
    let mut told = Instant::now();
    'frames: for frame in 1..=frames {
        arena.frame = frame;
        arena.substep = 0;
        let end = frame as f64 / scene.fps;
        loop {
            let remaining = end - simulation.view().time();
            if remaining <= FRAME_SLACK / scene.fps {
                break;
            }
            arena.substep += 1;
            arena.is_wanted = !plan.systems.only_last || frame == frames;
            let report = arena.step(&mut simulation, remaining)?;
            if arena.is_wanted {
                systems.add(&report);
            }
            if is_enough(plan.systems, frame == frames, systems.count) {
                break 'frames;
            }
        }
        if told.elapsed() >= TELL {
            told = Instant::now();
            let name = format!("{} {}", scene.name, lattice.size);
            let so_far = plural(systems.count, "system");
            console.note(format!("{name}: frame {frame} of {frames}, {so_far}"));
        }
    }
    let row = |entry: &Entry| entry.row(&scene.name, lattice.size);
    Ok(Course {
        rows: arena.entries.iter().map(row).collect(),
        case: scene.name.clone(),
        size: lattice.size,
        systems,
    })
}

/// Whether the methods have had the systems they were to get.
fn is_enough(wanted: Wanted, is_last_frame: bool, systems: u64) -> bool {
    (wanted.only_last && is_last_frame) || wanted.steps.is_some_and(|steps| systems >= steps)
}

/// The methods, where they meet the systems: it watches the simulation.
struct Arena<'a> {
    entries: Vec<Entry>,
    carry: Carry,
    plan: &'a Plan,
    dump: Option<Dump>,
    frame: u64,
    substep: u64,
    is_wanted: bool,
    failure: Option<Failure>,
}

impl Arena<'_> {
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
}

impl Observer for Arena<'_> {
    fn enter(&mut self, _: Stage) {}

    fn pressure(&mut self, problem: &Problem<'_>) {
        if !self.is_wanted {
            return;
        }
        let dump = self.dump.as_ref();
        if let Some(Err(failure)) = dump.map(|dump| dump.save(self.frame, self.substep, problem)) {
            self.failure = Some(failure);
            return;
        }
        let warm = (!self.plan.cold).then(|| {
            self.carry.meet(problem);
            &self.carry
        });
        for entry in &mut self.entries {
            entry.solve(problem, warm, &self.plan.tolerance);
        }
    }
}

/// Where systems are saved.
struct Dump {
    /// Folder, case and size.
    stem: PathBuf,
    lattice: Lattice,
}

impl Dump {
    fn save(&self, frame: u64, substep: u64, problem: &Problem<'_>) -> Outcome {
        let path = format!("{}-f{frame:04}-s{substep:02}.npz", self.stem.display());
        let walls = (0..problem.b.len() as u32).filter(|&i| problem.is_constrained(i as usize));
        let mut stored = Stored::new(problem.a.clone(), problem.b.to_vec(), walls.collect());
        if let Some(places) = problem.places {
            let coords = places.at.iter().flat_map(|at| self.lattice.centre(at));
            stored = stored.with_coords(places.dimensions, coords.collect());
        }
        stored
            .write(Path::new(&path))
            .map_err(|error| Failure::failed(chain(&error)))
    }
}

/// Where cells lie.
#[derive(Clone, Copy)]
struct Lattice {
    dimension: usize,
    size: u64,
    dx: f64,
    origin: [f64; 3],
}

impl Lattice {
    fn of(setup: &AnySetup) -> Lattice {
        fn lattice<const D: usize>(grid: &Grid<D>) -> Lattice {
            let mut origin = [0.0; 3];
            origin[..D].copy_from_slice(&grid.origin());
            Lattice {
                dimension: D,
                size: grid.cells().iter().max().map_or(0, |&n| n as u64),
                dx: grid.dx(),
                origin,
            }
        }
        match setup {
            AnySetup::D2(setup) => lattice(&setup.grid),
            AnySetup::D3(setup) => lattice(&setup.grid),
        }
    }

    fn centre(self, at: &[i32; 3]) -> impl Iterator<Item = f64> + use<> {
        let at = *at;
        (0..self.dimension).map(move |a| self.origin[a] + (f64::from(at[a]) + 0.5) * self.dx)
    }
}
