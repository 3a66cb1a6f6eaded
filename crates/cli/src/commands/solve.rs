//! `plash solve PROBLEM`: one stored problem, one method, and what it took.

mod viscosity;

use std::fmt::Display;

use plash_problem::{Format, Frame, Kind, Opened, ProblemError, Stored, write_solution};
use plash_scene::memory::human_bytes;
use plash_solve::{
    Method, MethodOptions, Policy, Solution, SolveError, Solver, Tolerance, UnknownName,
};
use serde_json::{Value, json};

use crate::args::Solve;
use crate::console::{Console, count, plural};
use crate::failure::{Failure, Outcome, chain};
use crate::pool::pool;
use crate::stopwatch::timed;
use crate::viscous::Choice;

/// What a solve took, stage by stage, in seconds.
#[derive(Clone, Copy, Debug)]
struct Seconds {
    read: f64,
    convert: f64,
    setup: f64,
    solve: f64,
}

/// A problem solved by a method of its kind.
struct Solved {
    /// The method that gave the solution.
    method: &'static str,
    /// What smoothed in it; viscosity only.
    smoother: Option<&'static str>,
    /// Whether another was tried before.
    fell_back: bool,
    solution: Solution,
    seconds: Seconds,
}

/// What was solved, for reports.
struct Facts {
    kind: Kind,
    unknowns: usize,
    nonzeros: usize,
    walls: usize,
    /// Of the solution, as problem files count it.
    relative_residual: f64,
}

impl Facts {
    fn new(frame: &Frame, nonzeros: usize, solution: &Solution) -> Facts {
        Facts {
            kind: frame.kind(),
            unknowns: frame.unknowns(),
            nonzeros,
            walls: frame.walls().count(),
            relative_residual: frame.relative_residual(solution.residual),
        }
    }
}

/// What a run gives: how it went, of what, and the solution.
type Run = (Solved, Facts, Vec<f64>);

/// A problem that was read as far as its format allows without its matrix.
enum Problem {
    Opened(Box<Opened>),
    Stored(Box<Stored>),
}

impl Problem {
    fn open(args: &Solve) -> Result<Problem, ProblemError> {
        Ok(match Format::of(&args.problem)? {
            Format::Npz => Problem::Opened(Box::new(Opened::open(&args.problem)?)),
            Format::MatrixMarket => Problem::Stored(Box::new(Stored::read(&args.problem)?)),
        })
    }

    fn kind(&self) -> Kind {
        match self {
            Problem::Opened(opened) => opened.frame().kind(),
            Problem::Stored(stored) => stored.kind(),
        }
    }

    /// The problem with its matrix.
    fn whole(self) -> Result<Stored, ProblemError> {
        match self {
            Problem::Opened(opened) => opened.read(),
            Problem::Stored(stored) => Ok(*stored),
        }
    }
}

/// Solves the problem and prints how it went.
pub fn solve(args: &Solve, console: Console) -> Outcome {
    if let Some(output) = &args.output {
        Format::of(output).map_err(refused)?; // before the work, not after
    }
    let pool = pool(args.threads.count)?;
    let (solved, facts, x) = pool.install(|| run(args, console))?;
    if let Some(output) = &args.output {
        write_solution(output, &x).map_err(refused)?;
    }
    let document = document(&solved, &facts, pool.current_num_threads());
    console.say(table(&solved, facts.kind, &document));
    if !solved.solution.converged() {
        let mut failure = Failure::failed(format!(
            "{} did not reach the tolerance: {} after {}",
            solved.method,
            solved.solution.status,
            plural(solved.solution.iterations as u64, "iteration"),
        ))
        .help("try another --method, a larger --tol or more --max-iterations");
        failure.document = Some(Box::new(document));
        return Err(failure);
    }
    console.document(&document);
    Ok(())
}

/// Reads, converts, sets up and solves.
fn run(args: &Solve, console: Console) -> Outcome<Run> {
    let (problem, open) = timed(|| Problem::open(args));
    let problem = problem.map_err(refused)?;
    let tolerance = Tolerance {
        relative: args.tol,
        absolute: 0.0,
        max_iterations: args.max_iterations,
    };
    match problem.kind() {
        Kind::Pressure => {
            let method = pressure_method(args)?;
            let (stored, read) = timed(|| problem.whole());
            let stored = stored.map_err(refused)?;
            let mut x = vec![0.0; stored.unknowns()];
            let mut solved = pressure(method, args, &stored, &mut x, &tolerance)
                .map_err(|error| unsolvable(args, &error))?;
            solved.seconds.read = open + read;
            let nonzeros = stored.matrix().nonzeros();
            let facts = Facts::new(stored.frame(), nonzeros, &solved.solution);
            Ok((solved, facts, x))
        }
        Kind::Viscosity => {
            let choice = viscous_method(args)?;
            let (mut solved, facts, x) =
                viscosity::solve(args, problem, choice, &tolerance, console)?;
            solved.seconds.read += open;
            Ok((solved, facts, x))
        }
    }
}

/// The method that was named, or the default.
fn pressure_method(args: &Solve) -> Outcome<Method> {
    let Some(name) = &args.method else {
        return Ok(Method::default());
    };
    name.parse()
        .map_err(|error: UnknownName| unknown(name, &error))
}

/// The same for viscosity, where smoothers are names too; none if there is a choice.
fn viscous_method(args: &Solve) -> Outcome<Option<Choice>> {
    if let Some(sub_solver) = args.sub_solver {
        let message = format!(
            "--sub-solver {sub_solver}: {} is a problem of viscosity, whose methods have none",
            args.problem.display()
        );
        return Err(Failure::bad_input(message).help("leave it out; newton, for pressure, has one"));
    }
    match args.method.as_deref() {
        None | Some("auto") => Ok(None),
        Some(name) => Choice::parse(name)
            .map(Some)
            .map_err(|why| unknown(name, &why)),
    }
}

fn unknown(name: &str, why: &dyn Display) -> Failure {
    Failure::bad_input(format!("--method {name}: {why}"))
        .help("each kind of problem, pressure or viscosity, has its own methods")
}

fn pressure(
    method: Method,
    args: &Solve,
    stored: &Stored,
    x: &mut [f64],
    tolerance: &Tolerance,
) -> Result<Solved, SolveError> {
    let (converted, convert) = timed(|| stored.convert());
    let problem = stored.problem(&converted);
    let options = MethodOptions {
        sub_solver: args.sub_solver.unwrap_or_default(),
        ..MethodOptions::default()
    };
    let mut solver = Solver::new(method, options);
    let (brought, bring) = timed(|| solver.convert(&problem));
    brought?;
    let (prepared, setup) = timed(|| solver.prepare(&problem));
    prepared?;
    let mut policy = Policy::default();
    let (solved, solve) = timed(|| solver.solve(&problem, &mut policy, x, tolerance));
    let solved = solved?;
    Ok(Solved {
        method: solved.method,
        smoother: None,
        fell_back: solved.fell_back,
        solution: solved.solution,
        seconds: Seconds {
            read: 0.0,
            convert: convert + bring,
            setup,
            solve,
        },
    })
}

/// The document of `--json`.
fn document(solved: &Solved, facts: &Facts, threads: usize) -> Value {
    let Solved {
        solution, seconds, ..
    } = solved;
    let mut document = json!({
        "method": solved.method,
        "fell_back": solved.fell_back,
        "status": solution.status.as_str(),
        "iterations": solution.iterations,
        "outer_iterations": solution.outer_iterations,
        "residual": facts.relative_residual,
        "read_seconds": seconds.read,
        "convert_seconds": seconds.convert,
        "setup_seconds": seconds.setup,
        "solve_seconds": seconds.solve,
        "threads": threads,
        "unknowns": facts.unknowns,
        "nonzeros": facts.nonzeros,
        "wall_unknowns": facts.walls,
        "separated": solution.separated,
        "peak_memory_bytes": peak_memory_bytes(),
    });
    if facts.kind == Kind::Viscosity {
        document["smoother"] = json!(solved.smoother);
    }
    document
}

/// The same for people.
fn table(solved: &Solved, kind: Kind, document: &Value) -> String {
    let seconds = solved.seconds;
    let number = |key: &str| count(document[key].as_u64().unwrap_or(0));
    let memory = document["peak_memory_bytes"].as_u64();
    let memory = memory.map_or("unknown".to_owned(), human_bytes);
    let fell_back = if solved.fell_back { " (fallback)" } else { "" };
    let smoother = solved.smoother.map(|name| format!(" with {name}"));
    // Viscosity knows no walls that let go, and nothing around its iterations.
    let (walls, outer) = match kind {
        Kind::Pressure => (
            format!(
                "; {} at walls, {} separated",
                number("wall_unknowns"),
                number("separated")
            ),
            format!(", outer {}", number("outer_iterations")),
        ),
        Kind::Viscosity => (String::new(), String::new()),
    };
    format!(
        "{status} by {method}{smoother}{fell_back}\n  \
         unknowns    {unknowns}, {entries} entries{walls}\n  \
         iterations  {iterations}{outer}\n  \
         residual    {residual:.2e} of the right-hand side\n  \
         seconds     read {read:.3}, convert {convert:.3}, setup {setup:.3}, solve {solve:.3}\n  \
         memory      {memory} at most",
        status = solved.solution.status,
        method = solved.method,
        smoother = smoother.unwrap_or_default(),
        unknowns = number("unknowns"),
        entries = number("nonzeros"),
        iterations = number("iterations"),
        residual = document["residual"].as_f64().unwrap_or(f64::NAN),
        read = seconds.read,
        convert = seconds.convert,
        setup = seconds.setup,
        solve = seconds.solve,
    )
}

/// The most memory this process has had at once, where the system tells.
fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// A file that cannot be read or written.
fn refused(error: ProblemError) -> Failure {
    let failure = if error.is_bad_input() {
        Failure::bad_input(chain(&error))
    } else {
        Failure::failed(chain(&error))
    };
    match error {
        ProblemError::UnknownFormat { .. } => failure
            .help("problems are .npz (NumPy) or .mtx (MatrixMarket); see docs/problem-files.md"),
        _ => failure,
    }
}

/// A problem that breaks the method.
fn unsolvable(args: &Solve, error: &SolveError) -> Failure {
    let failure = Failure::bad_input(format!("{}: {}", args.problem.display(), chain(error)));
    match error {
        SolveError::NeedsPlaces { .. } => {
            failure.help("store coords that lie on a lattice, or choose a --method that needs none")
        }
        SolveError::NotStaggered { .. } => failure.help(
            "mgpcg needs coords of face centres and comp; pcg-ic and pcg-jacobi need neither",
        ),
        SolveError::NotPositiveDefinite { .. } => {
            failure.help("the matrix must be symmetric positive (semi)definite")
        }
        _ => failure,
    }
}
