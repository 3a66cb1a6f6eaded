//! One system, and every method on it.

use std::path::Path;
use std::time::Instant;

use plash_problem::{Kind, Stored};
use plash_solve::staggered::{Assembled, Sine, ViscousMethod, ViscousOptions, ViscousSolver};
use plash_solve::{Csr, Outcome as Solved, SolveError};

use super::plan::{Case, Plan};
use crate::commands::bench::memory::Memory;
use crate::commands::bench::row::{Contest, Detail, Row, Tally};
use crate::failure::{Failure, Outcome, chain};
use crate::viscous::Choice;

/// What the methods took on the system of one size.
pub struct Trial {
    /// The case.
    pub case: &'static str,
    /// Cells along each side.
    pub size: u64,
    /// One row per method.
    pub rows: Vec<Row>,
}

impl Trial {
    /// Has every method solve the system of a size, in the current thread pool. `tell` hears of
    /// each as soon as it is done.
    pub fn run(plan: &Plan, size: u64, tell: impl Fn(&Row)) -> Trial {
        let row = |choice: &Choice| {
            let row = match plan.case {
                Case::Sine2d => solve::<2>(plan, size, *choice),
                Case::Sine3d => solve::<3>(plan, size, *choice),
            };
            tell(&row);
            row
        };
        Trial {
            case: plan.case.name(),
            size,
            rows: plan.choices.iter().map(row).collect(),
        }
    }

    /// The rows, as drawings take them.
    pub fn contest(&self) -> Contest<'_> {
        Contest {
            case: self.case,
            size: self.size,
            rows: &self.rows,
        }
    }
}

/// A method that met its system.
struct Attempt {
    setup_seconds: f64,
    solve_seconds: f64,
    unknowns: usize,
    levels: usize,
    solved: Result<Solved, SolveError>,
}

fn solve<const D: usize>(plan: &Plan, size: u64, choice: Choice) -> Row {
    let body = Sine::<D>::graded(size as usize, plan.contrast);
    let mut memory = Memory::default();
    let attempt = memory.count(|| attempt(plan, &body, choice));
    let mut tally = Tally::default();
    tally.add_system([attempt.setup_seconds, attempt.solve_seconds]);
    let (residual, status) = match &attempt.solved {
        Ok(solved) => {
            tally.add_solution([solved.iterations, 1], solved.converged());
            // The right-hand side is one where it is not zero.
            (solved.residual, solved.status.as_str())
        }
        Err(error) => {
            tally.add_error(error.to_string());
            (f64::NAN, "failed")
        }
    };
    Row {
        case: plan.case.name().to_owned(),
        size,
        method: choice.name.to_owned(),
        tally,
        peak_memory_bytes: memory.peak(),
        detail: Some(Detail {
            unknowns: attempt.unknowns,
            levels: attempt.levels,
            residual,
            status,
        }),
    }
}

/// Sets up and solves. The right-hand side belongs to the problem: loading it is not timed.
fn attempt<const D: usize>(plan: &Plan, body: &Sine<D>, choice: Choice) -> Attempt {
    let mut solver = ViscousSolver::<D>::new(choice.options);
    let start = Instant::now();
    solver.assemble(body);
    let mut setup_seconds = start.elapsed().as_secs_f64();
    solver.load_rhs(|axis, face| body.load(axis, face));
    let mut solve_seconds = 0.0;
    let solved = if choice.is_assembled() {
        let start = Instant::now();
        prepared(&solver, choice.options.method).and_then(|(a, b, mut assembled)| {
            setup_seconds += start.elapsed().as_secs_f64();
            let start = Instant::now();
            let solved = assembled.solve(&a, &b, &mut vec![0.0; b.len()], &plan.tolerance);
            solve_seconds = start.elapsed().as_secs_f64();
            solved
        })
    } else {
        let start = Instant::now();
        let solved = solver.solve(&plan.tolerance);
        solve_seconds = start.elapsed().as_secs_f64();
        solved
    };
    Attempt {
        setup_seconds,
        solve_seconds,
        unknowns: solver.unknowns(),
        levels: if choice.is_assembled() {
            0
        } else {
            solver.levels()
        },
        solved,
    }
}

/// The matrix, the right-hand side and what the method makes of the matrix.
fn prepared<const D: usize>(
    solver: &ViscousSolver<D>,
    method: ViscousMethod,
) -> Result<(Csr, Vec<f64>, Assembled), SolveError> {
    let (a, b, _) = solver.system()?;
    let assembled = Assembled::new(&a, method);
    Ok((a, b, assembled))
}

/// Saves the system of a size.
pub fn dump(plan: &Plan, size: u64, path: &Path) -> Outcome {
    let stored = match plan.case {
        Case::Sine2d => stored(&Sine::<2>::graded(size as usize, plan.contrast), size),
        Case::Sine3d => stored(&Sine::<3>::graded(size as usize, plan.contrast), size),
    };
    let stored = stored.map_err(|error| Failure::failed(chain(&error)))?;
    stored
        .write(path)
        .map_err(|error| Failure::failed(chain(&error)))
}

/// The system with its faces' centres in the unit box and their components.
fn stored<const D: usize>(body: &Sine<D>, size: u64) -> Result<Stored, SolveError> {
    let mut solver = ViscousSolver::<D>::new(ViscousOptions {
        method: ViscousMethod::PcgJacobi, // no levels above the finest
        ..ViscousOptions::default()
    });
    solver.assemble(body);
    solver.load_rhs(|axis, face| body.load(axis, face));
    let (a, b, numbers) = solver.system()?;
    let mut coords = Vec::with_capacity(D * b.len());
    let mut components = Vec::with_capacity(b.len());
    for (axis, index) in numbers.iter() {
        let face = solver.face(index).unwrap_or([0; D]);
        coords.extend((0..D).map(|a| {
            let middle = if a == axis { 0.0 } else { 0.5 };
            (f64::from(face[a]) + middle) / size as f64
        }));
        components.push(axis as i8);
    }
    Ok(Stored::new(a, b, Vec::new())
        .with_coords(D, coords)
        .with_components(Kind::Viscosity, components))
}
