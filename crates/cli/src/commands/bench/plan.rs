//! From arguments to what is run.

use plash_solve::Tolerance;

use super::entry::Choice;
use super::no_twins;
use super::published::{Published, Systems};
use crate::args::BenchPressure;
use crate::failure::{Failure, Outcome};

/// Compared unless others are named: the default, the linear ones, and the papers' best.
const DEFAULT_METHODS: [&str; 6] = ["auto", "mgpcg", "pcg-mic", "pi-pcg", "pi-mg", "fas-mg"];

/// What is run.
pub struct Plan {
    /// The scene, as named.
    pub case: String,
    /// Cells along its longest side; `None` as the scene says.
    pub sizes: Vec<Option<u64>>,
    /// What is compared.
    pub choices: Vec<Choice>,
    /// On which systems.
    pub systems: Wanted,
    /// Whether each solve starts from nothing.
    pub cold: bool,
    /// When a solve is done.
    pub tolerance: Tolerance,
    /// The table to print.
    pub table: Option<&'static Published>,
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

impl Plan {
    /// Completes the arguments by those of the table, or by defaults.
    pub fn new(args: &BenchPressure) -> Outcome<Plan> {
        let table = args.table.and_then(Published::find);
        let choices = choices(args, table)?;
        no_twins(&args.sizes)?;
        let systems = wanted(args, table);
        let case = table.map_or(args.case.as_str(), |table| table.case);
        let sizes = match (args.sizes.as_slice(), table) {
            ([], Some(table)) => table.sizes().map(Some).collect(),
            ([], None) => vec![None],
            (sizes, _) => sizes.iter().copied().map(Some).collect(),
        };
        Ok(Plan {
            case: case.to_owned(),
            sizes,
            choices,
            systems,
            cold: args.cold,
            tolerance: Tolerance {
                relative: args.tol,
                absolute: 0.0,
                max_iterations: args.max_iterations,
            },
            table,
        })
    }
}

fn choices(args: &BenchPressure, table: Option<&Published>) -> Outcome<Vec<Choice>> {
    let of_table: Vec<&str> =
        table.map_or_else(Vec::new, |t| t.columns.iter().map(|c| c.1).collect());
    let names: Vec<&str> = match (args.methods.as_slice(), table) {
        ([], Some(_)) => of_table.clone(),
        ([], None) => DEFAULT_METHODS.to_vec(),
        (names, _) => names.iter().map(String::as_str).collect(),
    };
    if let (Some(table), Some(name)) = (table, names.iter().find(|n| !of_table.contains(n))) {
        return Err(Failure::bad_input(format!(
            "--methods {name}: table {} has no such column",
            table.number
        ))
        .help(format!("its methods are {}", of_table.join(", "))));
    }
    let mut choices = Vec::new();
    for name in names {
        let choice = Choice::parse(name.trim())
            .map_err(|why| Failure::bad_input(format!("--methods {name}: {why}")))?;
        if choices.contains(&choice) {
            return Err(Failure::bad_input(format!("--methods names {name} twice")));
        }
        choices.push(choice);
    }
    Ok(choices)
}

fn wanted(args: &BenchPressure, table: Option<&Published>) -> Wanted {
    let all = |frames| Wanted {
        frames,
        only_last: false,
        steps: args.steps,
    };
    let first_of = |frame| Wanted {
        frames: Some(frame),
        only_last: true,
        steps: None,
    };
    match (args.frame, args.frames, table.map(|table| table.systems)) {
        (Some(frame), _, _) => first_of(frame),
        (None, Some(frames), _) => all(Some(frames)),
        // Some systems of the beginning are asked for, not the one of a late frame.
        (None, None, Some(Systems::FirstOf(frame))) if args.steps.is_none() => first_of(frame),
        (None, None, Some(Systems::OfFrames(frames))) => all(Some(frames)),
        (None, None, _) => all(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Bench, Cli, Command};
    use clap::Parser;

    fn plan(line: &str) -> Outcome<Plan> {
        let words = ["plash", "bench", "pressure"].into_iter();
        let cli = Cli::try_parse_from(words.chain(line.split_whitespace())).expect("arguments");
        match cli.command {
            Command::Bench(Bench::Pressure(args)) => Plan::new(&args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_table_fixes_what_is_not_said() {
        let plan = plan("--table 9").expect("a plan");
        assert_eq!(plan.case, "sphere3d");
        assert_eq!(plan.sizes, [Some(32), Some(64)]);
        assert_eq!(plan.choices.len(), 7);
        assert!(plan.systems.only_last && plan.systems.frames == Some(10));
    }

    #[test]
    fn what_is_said_wins_over_the_table() {
        let plan = plan("--table 2 --size 16,24 --methods fas-mg,newton --frames 3 --steps 4");
        let plan = plan.expect("a plan");
        assert_eq!(plan.sizes, [Some(16), Some(24)]);
        assert_eq!(plan.choices.len(), 2);
        let expected = Wanted {
            frames: Some(3),
            only_last: false,
            steps: Some(4),
        };
        assert_eq!(plan.systems, expected);
    }

    #[test]
    fn methods_outside_a_table_unknown_or_twice_are_refused() {
        let refused = |line: &str| plan(line).err().expect(line);
        assert!(refused("--table 3 --methods fas-mg").help.is_some());
        assert!(refused("--methods cg").message.contains("pcg-mic"));
        assert!(refused("--methods auto,auto").message.contains("twice"));
    }
}
