//! Problems of viscosity: by multigrid without ever holding the matrix, if that can be.

use plash_problem::{Opened, SYMMETRY, Stored};
use plash_solve::staggered::{Assembled, Faces, RecoverError, StoredSolver, ViscousMethod};
use plash_solve::{Outcome as Ended, Solution, SolveError, Status, Tolerance};

use super::{Facts, Problem, Run, Seconds, Solved, refused, unsolvable};
use crate::args::Solve;
use crate::console::Console;
use crate::failure::Outcome;
use crate::stopwatch::timed;
use crate::viscous::Choice;

/// Solves by a method, or by the first that can.
pub fn solve(
    args: &Solve,
    problem: Problem,
    choice: Option<Choice>,
    tolerance: &Tolerance,
    console: Console,
) -> Outcome<Run> {
    let first = choice.unwrap_or_default();
    let ((problem, run), lost) = timed(|| match problem {
        Problem::Opened(opened) if !first.is_assembled() && opened.frame().coords().is_some() => {
            (None, by_rows(args, *opened, first, tolerance))
        }
        other => (Some(other), Ok(None)),
    });
    let tried = match run? {
        Some(run) if choice.is_some() || !is_stuck(&run.0) => return Ok(run),
        other => other,
    };
    // Only the whole matrix tells what is wrong with it, and other methods need it.
    let (stored, read) = timed(|| match problem {
        Some(problem) => problem.whole(),
        None => Stored::read(&args.problem),
    });
    let stored = stored.map_err(refused)?;
    let mut x = vec![0.0; stored.unknowns()];
    let solved = match (choice, &tried) {
        (Some(choice), _) => by_matrix(choice, &stored, &mut x, tolerance),
        (None, None) => by_some_method(&stored, &mut x, tolerance, console),
        (None, Some(run)) => by_second_method(&stored, &mut x, tolerance, &run.0, console),
    };
    let mut solved = solved.map_err(|error| unsolvable(args, &error))?;
    if let Some(run) = tried.filter(|run| run.0.solution.residual <= solved.solution.residual) {
        return Ok(run);
    }
    solved.seconds.read = lost + read;
    let nonzeros = stored.matrix().nonzeros();
    let facts = Facts::new(stored.frame(), nonzeros, &solved.solution);
    Ok((solved, facts, x))
}

/// Multigrid on what the rows of a file tell, which are not held; none if they tell of no lattice.
fn by_rows(
    args: &Solve,
    opened: Opened,
    choice: Choice,
    tolerance: &Tolerance,
) -> Outcome<Option<Run>> {
    let (mut frame, matrix) = opened.into_parts();
    let Some((dimensions, coords, components)) = frame.take_places() else {
        return Ok(None);
    };
    let faces = Faces {
        dimensions,
        coords,
        components,
    };
    let (found, read) = timed(|| StoredSolver::read(&mut matrix.rows(), faces, choice.options));
    let solver = match found {
        Ok(solver) if solver.asymmetry() <= SYMMETRY => solver,
        Ok(_) | Err(RecoverError::NotStaggered { .. }) => return Ok(None),
        Err(RecoverError::Source(error)) => return Err(refused(error)),
    };
    let nonzeros = matrix.nonzeros();
    drop(matrix);
    let mut x = vec![0.0; frame.unknowns()];
    // Another method may do where this one breaks down, unless it was asked for.
    let mut solved = match by_multigrid(solver, choice, frame.rhs(), &mut x, tolerance) {
        Err(SolveError::NotStaggered { .. }) => return Ok(None),
        Err(_) if args.method.as_deref().is_none_or(|name| name == "auto") => return Ok(None),
        other => other.map_err(|error| unsolvable(args, &error))?,
    };
    solved.seconds.read = read;
    let facts = Facts::new(&frame, nonzeros, &solved.solution);
    Ok(Some((solved, facts, x)))
}

/// Whether a method has got as far as it can, and not far enough.
fn is_stuck(solved: &Solved) -> bool {
    solved.solution.status == Status::Stagnated
}

/// Multigrid if there is a lattice for it and it gets there, and otherwise a method that needs none.
fn by_some_method(
    stored: &Stored,
    x: &mut [f64],
    tolerance: &Tolerance,
    console: Console,
) -> Result<Solved, SolveError> {
    let first = Choice::default();
    let (tried, lost) = timed(|| by_matrix(first, stored, x, tolerance));
    let mut solved = match tried {
        Err(SolveError::NotStaggered { reason }) => {
            let method = first.options.method;
            let why = format!("there is no lattice for {method}: {reason}");
            by_safe_method(stored, x, tolerance, &why, console)?
        }
        Err(error) => {
            let why = format!("{} failed: {error}", first.options.method);
            by_safe_method(stored, x, tolerance, &why, console)?
        }
        Ok(solved) if is_stuck(&solved) => {
            let mut other = vec![0.0; x.len()];
            let second = by_second_method(stored, &mut other, tolerance, &solved, console)?;
            if solved.solution.residual <= second.solution.residual {
                return Ok(solved);
            }
            x.copy_from_slice(&other);
            second
        }
        Ok(solved) => return Ok(solved),
    };
    solved.seconds.convert += lost;
    Ok(solved)
}

/// What follows a method that is stuck.
fn by_second_method(
    stored: &Stored,
    x: &mut [f64],
    tolerance: &Tolerance,
    first: &Solved,
    console: Console,
) -> Result<Solved, SolveError> {
    let solution = &first.solution;
    let why = format!("{} {}", first.method, solution.status);
    by_safe_method(stored, x, tolerance, &why, console)
}

/// The method that needs nothing but the matrix, and a note why it is taken.
fn by_safe_method(
    stored: &Stored,
    x: &mut [f64],
    tolerance: &Tolerance,
    why: &str,
    console: Console,
) -> Result<Solved, SolveError> {
    let safe = Choice::assembled(ViscousMethod::PcgIc);
    console.note(format!("note: {why}; solving by {}", safe.options.method));
    let mut solved = by_matrix(safe, stored, x, tolerance)?;
    solved.fell_back = true;
    Ok(solved)
}

/// A method, given the whole matrix.
fn by_matrix(
    choice: Choice,
    stored: &Stored,
    x: &mut [f64],
    tolerance: &Tolerance,
) -> Result<Solved, SolveError> {
    let a = stored.matrix();
    if choice.is_assembled() {
        let (mut solver, setup) = timed(|| Assembled::new(a, choice.options.method));
        let (ended, solve) = timed(|| solver.solve(a, stored.rhs(), x, tolerance));
        return Ok(solved(choice, &ended?, [0.0, setup, solve]));
    }
    let missing = SolveError::NotStaggered {
        reason: "coordinates or components are missing",
    };
    let (dimensions, coords) = stored.coords().ok_or(missing)?;
    let faces = Faces {
        dimensions,
        coords: coords.to_vec(),
        components: stored.components().to_vec(),
    };
    let (found, recover) = timed(|| StoredSolver::of(a, faces, choice.options));
    let mut solved = by_multigrid(found?, choice, stored.rhs(), x, tolerance)?;
    solved.seconds.convert += recover;
    Ok(solved)
}

/// Multigrid on a lattice that was recovered.
fn by_multigrid(
    mut solver: StoredSolver,
    choice: Choice,
    b: &[f64],
    x: &mut [f64],
    tolerance: &Tolerance,
) -> Result<Solved, SolveError> {
    let (converted, convert) = timed(|| solver.convert());
    converted?;
    let (prepared, setup) = timed(|| solver.prepare());
    prepared?;
    let (ended, solve) = timed(|| solver.solve(b, x, tolerance));
    Ok(solved(choice, &ended?, [convert, setup, solve]))
}

fn solved(choice: Choice, ended: &Ended, [convert, setup, solve]: [f64; 3]) -> Solved {
    Solved {
        method: choice.options.method.as_str(),
        smoother: choice.smoother(),
        fell_back: false,
        solution: Solution {
            status: ended.status,
            iterations: ended.iterations,
            outer_iterations: 1,
            residual: ended.residual,
            initial_residual: ended.initial_residual,
            separated: 0,
        },
        seconds: Seconds {
            read: 0.0,
            convert,
            setup,
            solve,
        },
    }
}
