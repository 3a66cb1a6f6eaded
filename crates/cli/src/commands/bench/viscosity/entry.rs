//! A method in the comparison, and what it has taken so far.

use plash_liquid::ViscosityProblem;
use plash_solve::staggered::ViscousOptions;
use plash_solve::{Outcome as Solved, SolveError, Tolerance};

use crate::commands::bench::memory::Memory;
use crate::commands::bench::row::{Detail, Row, Tally};
use crate::stopwatch::timed;
use crate::viscous::Choice;

/// A method at work.
pub struct Entry {
    choice: Choice,
    memory: Memory,
    tally: Tally,
    detail: Option<Detail>,
}

/// A method that met its system.
struct Attempt {
    /// Of set-up and of solving.
    seconds: [f64; 2],
    unknowns: usize,
    levels: usize,
    size: f64,
    solved: Result<Solved, SolveError>,
}

impl Entry {
    /// A method that has met no system yet.
    pub fn new(choice: Choice) -> Entry {
        Entry {
            choice,
            memory: Memory::default(),
            tally: Tally::default(),
            detail: None,
        }
    }

    /// Solves a system from the guess that comes with it; how many unknowns it has.
    pub fn solve(&mut self, problem: &dyn ViscosityProblem, tolerance: &Tolerance) -> usize {
        let options = self.choice.options;
        let attempt = self.memory.count(|| attempt(problem, options, tolerance));
        self.tally.add_system(attempt.seconds);
        let (residual, status) = match &attempt.solved {
            Ok(solved) => {
                self.tally
                    .add_solution([solved.iterations, 1], solved.converged());
                let residual = relative(solved.residual, attempt.size);
                (residual, solved.status.as_str())
            }
            Err(error) => {
                self.tally.add_error(error.to_string());
                (f64::NAN, "failed")
            }
        };
        let detail = Detail {
            unknowns: attempt.unknowns,
            levels: attempt.levels,
            residual,
            status,
        };
        self.detail = Some(self.detail.map_or(detail, |others| others.with(detail)));
        attempt.unknowns
    }

    /// What it took.
    pub fn row(&self, case: &str, size: u64) -> Row {
        Row {
            case: case.to_owned(),
            size,
            method: self.choice.name.to_owned(),
            tally: self.tally.clone(),
            peak_memory_bytes: self.memory.peak(),
            detail: self.detail,
        }
    }
}

/// Sets up and solves. The velocities belong to the problem: loading them is not timed.
fn attempt(
    problem: &dyn ViscosityProblem,
    options: ViscousOptions,
    tolerance: &Tolerance,
) -> Attempt {
    let (mut task, rows_and_levels) = timed(|| problem.set_up(options));
    task.load();
    let (prepared, matrix) = timed(|| task.prepare());
    let (solved, solve) = timed(|| prepared.and_then(|()| task.solve(tolerance)));
    Attempt {
        seconds: [rows_and_levels + matrix, solve],
        unknowns: task.unknowns(),
        levels: task.levels(),
        size: task.size(),
        solved,
    }
}

/// A residual relative to the size of what was loaded; itself where that is zero.
fn relative(residual: f64, size: f64) -> f64 {
    if size > 0.0 {
        residual / size
    } else {
        residual
    }
}
