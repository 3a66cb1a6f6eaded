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

/// What came of a method.
type Tried = Result<Run, SolveError>;

/// Solves by a method, or by multigrid and, where that does not get there, by another.
pub fn solve(
    args: &Solve,
    problem: Problem,
    choice: Option<Choice>,
    tolerance: &Tolerance,
    console: Console,
) -> Outcome<Run> {
    let first = choice.unwrap_or_default();
    let ((problem, tried), lost) = timed(|| match problem {
        Problem::Opened(opened) if !first.is_assembled() && opened.frame().coords().is_some() => {
            (None, by_rows(*opened, first, tolerance))
        }
        other => (Some(other), Ok(None)),
    });
    let tried = match tried? {
        Some(Ok(run)) if choice.is_some() || !is_stuck(&run) => return Ok(run),
        other => other,
    };
    // Only the whole matrix tells what is wrong with it, and other methods need it.
    let (stored, read) = timed(|| match problem {
        Some(problem) => problem.whole(),
        None => Stored::read(&args.problem),
    });
    let stored = stored.map_err(refused)?;
    let by_matrix = |choice| {
        let mut run = by_matrix(choice, &stored, tolerance)?;
        run.0.seconds.read = lost + read;
        Ok(run)
    };
    let (tried, lost) = timed(|| tried.unwrap_or_else(|| by_matrix(first)));
    let ended = match doubt(first, &tried) {
        Some(why) if choice.is_none() => {
            let safe = Choice::assembled(ViscousMethod::PcgIc);
            console.note(format!("note: {why}; solving by {}", safe.name));
            better(tried, by_matrix(safe).map(|run| fallen_back(run, lost)))
        }
        _ => tried,
    };
    ended.map_err(|error| unsolvable(args, &error))
}

/// Multigrid on what the rows of a file tell, which are not held; none if they must be checked first.
fn by_rows(opened: Opened, choice: Choice, tolerance: &Tolerance) -> Outcome<Option<Tried>> {
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
        Ok(_) => return Ok(None),
        Err(RecoverError::NotStaggered { reason }) => {
            return Ok(Some(Err(SolveError::NotStaggered { reason })));
        }
        Err(RecoverError::Source(error)) => return Err(refused(error)),
    };
    let nonzeros = matrix.nonzeros();
    drop(matrix);
    let mut x = at_rest(frame.rhs());
    let solved = by_multigrid(solver, choice, frame.rhs(), &mut x, tolerance);
    Ok(Some(solved.map(|mut solved| {
        solved.seconds.read = read;
        let facts = Facts::new(&frame, nonzeros, &solved.solution);
        (solved, facts, x)
    })))
}

/// Whether a method has got as far as it can, and not far enough.
fn is_stuck((solved, ..): &Run) -> bool {
    solved.solution.status == Status::Stagnated
}

/// Why another method should follow this one, if one should.
fn doubt(choice: Choice, tried: &Tried) -> Option<String> {
    let method = choice.options.method;
    match tried {
        Ok(run) if is_stuck(run) => Some(format!("{method} {}", run.0.solution.status)),
        Ok(_) => None,
        Err(SolveError::NotStaggered { reason }) => {
            Some(format!("there is no lattice for {method}: {reason}"))
        }
        Err(error) => Some(format!("{method} failed: {error}")),
    }
}

/// The run of a second method, before which so many seconds were lost.
fn fallen_back((mut solved, facts, x): Run, lost: f64) -> Run {
    solved.fell_back = true;
    solved.seconds.convert += lost;
    (solved, facts, x)
}

/// The better of two methods; if the second breaks down there is something wrong with the matrix.
fn better(first: Tried, second: Tried) -> Tried {
    let residual = |run: &Run| run.0.solution.residual;
    match (first, second) {
        (Ok(one), Ok(other)) if residual(&one) <= residual(&other) => Ok(one),
        (_, second) => second,
    }
}

/// A guess of zero in memory that has been written on, which the compiler must not see through: the pages
/// of a vector of new zeros, read as a guess and then written as a solution, would be met twice within the
/// solve, for a tenth of its seconds.
fn at_rest(rhs: &[f64]) -> Vec<f64> {
    let mut x = std::hint::black_box(rhs.to_vec());
    x.fill(0.0);
    x
}

/// A method, given the whole matrix.
fn by_matrix(choice: Choice, stored: &Stored, tolerance: &Tolerance) -> Tried {
    let mut x = at_rest(stored.rhs());
    let solved = if choice.is_assembled() {
        assembled(choice, stored, &mut x, tolerance)
    } else {
        recovered(choice, stored, &mut x, tolerance)
    }?;
    let nonzeros = stored.matrix().nonzeros();
    let facts = Facts::new(stored.frame(), nonzeros, &solved.solution);
    Ok((solved, facts, x))
}

/// A method that needs nothing else.
fn assembled(
    choice: Choice,
    stored: &Stored,
    x: &mut [f64],
    tolerance: &Tolerance,
) -> Result<Solved, SolveError> {
    let a = stored.matrix();
    let (mut solver, setup) = timed(|| Assembled::new(a, choice.options.method));
    let (ended, solve) = timed(|| solver.solve(a, stored.rhs(), x, tolerance));
    Ok(solved(choice, &ended?, [0.0, setup, solve]))
}

/// Multigrid, for which the lattice is recovered.
fn recovered(
    choice: Choice,
    stored: &Stored,
    x: &mut [f64],
    tolerance: &Tolerance,
) -> Result<Solved, SolveError> {
    let missing = SolveError::NotStaggered {
        reason: "coordinates or components are missing",
    };
    let (dimensions, coords) = stored.coords().ok_or(missing)?;
    let faces = Faces {
        dimensions,
        coords: coords.to_vec(),
        components: stored.components().to_vec(),
    };
    let (found, recover) = timed(|| StoredSolver::of(stored.matrix(), faces, choice.options));
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
