//! From arguments to what is run.

use super::entry::Choice;
use super::published::{Published, Systems};
use crate::args::{BenchPressure, Period};
use crate::commands::bench::arena::{Program, Wanted};
use crate::commands::bench::{chosen, no_twins};
use crate::failure::{Failure, Outcome};

/// Compared unless others are named: the default, the linear ones, and the papers' best.
const DEFAULT_METHODS: [&str; 6] = ["auto", "mgpcg", "pcg-mic", "pi-pcg", "pi-mg", "fas-mg"];

/// What is run.
pub struct Plan {
    /// The simulations.
    pub program: Program,
    /// What is compared.
    pub choices: Vec<Choice>,
    /// The table to print.
    pub table: Option<&'static Published>,
}

impl Plan {
    /// Completes the arguments by those of the table, or by defaults.
    pub fn new(args: &BenchPressure) -> Outcome<Plan> {
        let table = args.table.and_then(Published::find);
        let choices = choices(args, table)?;
        no_twins(&args.sizes)?;
        let case = table.map_or(args.case.as_str(), |table| table.case);
        let sizes = match (args.sizes.as_slice(), table) {
            ([], Some(table)) => table.sizes().map(Some).collect(),
            (sizes, _) => Program::sizes(sizes),
        };
        let program = Program {
            case: case.to_owned(),
            sizes,
            systems: wanted(args.period, table),
            force: args.common.force,
        };
        Ok(Plan {
            program,
            choices,
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
        (names, _) => names.iter().map(|name| name.trim()).collect(),
    };
    if let (Some(table), Some(name)) = (table, names.iter().find(|n| !of_table.contains(n))) {
        return Err(Failure::bad_input(format!(
            "--methods {name}: table {} has no such column",
            table.number
        ))
        .help(format!("its methods are {}", of_table.join(", "))));
    }
    chosen(&names, Choice::parse)
}

/// The systems that are asked for, or else those of the table.
fn wanted(period: Period, table: Option<&Published>) -> Wanted {
    let asked = Wanted::of(period);
    if period.frame.or(period.frames).is_some() {
        return asked;
    }
    match table.map(|table| table.systems) {
        // Some systems of the beginning may be asked for, not the one of a late frame.
        Some(Systems::FirstOf(frame)) if period.steps.is_none() => Wanted::first_of(frame),
        Some(Systems::OfFrames(frames)) => Wanted {
            frames: Some(frames),
            ..asked
        },
        _ => asked,
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
        assert_eq!(plan.program.case, "sphere3d");
        assert_eq!(plan.program.sizes, [Some(32), Some(64)]);
        assert_eq!(plan.choices.len(), 7);
        assert!(plan.program.systems.only_last && plan.program.systems.frames == Some(10));
    }

    #[test]
    fn what_is_said_wins_over_the_table() {
        let plan = plan("--table 2 --size 16,24 --methods fas-mg,newton --frames 3 --steps 4");
        let plan = plan.expect("a plan");
        assert_eq!(plan.program.sizes, [Some(16), Some(24)]);
        assert_eq!(plan.choices.len(), 2);
        let expected = Wanted {
            frames: Some(3),
            only_last: false,
            steps: Some(4),
        };
        assert_eq!(plan.program.systems, expected);
    }

    #[test]
    fn methods_outside_a_table_unknown_or_twice_are_refused() {
        let refused = |line: &str| plan(line).err().expect(line);
        assert!(refused("--table 3 --methods fas-mg").help.is_some());
        assert!(refused("--methods cg").message.contains("pcg-mic"));
        assert!(refused("--methods auto,auto").message.contains("twice"));
    }
}
