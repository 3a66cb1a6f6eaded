//! From arguments to what is run of the paper's test.

use plash_scene::memory::total_ram;
use plash_solve::Tolerance;
use plash_solve::staggered::Coarsening;

use super::need::{Need, fits};
use super::published::Published;
use crate::args::{BenchViscosity, Period};
use crate::commands::bench::{chosen, no_twins};
use crate::failure::{Failure, Outcome};
use crate::viscous::Choice;

/// Compared unless others are named.
const DEFAULT_METHODS: [&str; 7] = [
    "chebyshev",
    "box",
    "jacobi",
    "gauss-seidel",
    "vanka",
    "pcg-ic",
    "pcg-jacobi",
];

/// Below this the source of the right-hand side lies in a wall.
const SMALLEST: u64 = 8;

/// The test in two or three dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// `sine2d`.
    Sine2d,
    /// `sine3d`.
    Sine3d,
}

impl Case {
    /// Both.
    pub const ALL: [Case; 2] = [Case::Sine2d, Case::Sine3d];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Case::Sine2d => "sine2d",
            Case::Sine3d => "sine3d",
        }
    }

    /// The case of a name; any other names a scene.
    pub fn named(name: &str) -> Option<Case> {
        Case::ALL.into_iter().find(|case| case.name() == name)
    }

    /// 2 or 3.
    pub fn dimensions(self) -> usize {
        match self {
            Case::Sine2d => 2,
            Case::Sine3d => 3,
        }
    }

    fn default_size(self) -> u64 {
        match self {
            Case::Sine2d => 256,
            Case::Sine3d => 64,
        }
    }

    /// The largest size whose faces 32 bits can count.
    fn largest(self) -> u64 {
        match self {
            Case::Sine2d => 32_768,
            Case::Sine3d => 1024,
        }
    }

    /// About how many unknowns there are.
    pub fn unknowns(self, size: u64) -> f64 {
        match self {
            Case::Sine2d => 0.88 * (size as f64).powi(2),
            Case::Sine3d => 1.45 * (size as f64).powi(3),
        }
    }
}

/// What is run.
pub struct Plan {
    /// The test.
    pub case: Case,
    /// Cells along each side.
    pub sizes: Vec<u64>,
    /// What is compared.
    pub choices: Vec<Choice>,
    /// Largest over smallest viscosity.
    pub contrast: f64,
    /// When a solve is done.
    pub tolerance: Tolerance,
    /// The table to print.
    pub table: Option<&'static Published>,
    /// Sizes of the table that do not fit into memory.
    pub left_out: Vec<LeftOut>,
}

/// A size that is not run.
#[derive(Clone, Copy, Debug)]
pub struct LeftOut {
    /// Cells along each side.
    pub size: u64,
    /// What it would need.
    pub bytes: f64,
}

impl Plan {
    /// Completes the arguments by those of the table, or by defaults.
    pub fn new(args: &BenchViscosity) -> Outcome<Plan> {
        let table = args.table.and_then(Published::find);
        let case = table.map(|table| table.case);
        let case = case.or(Case::named(&args.case)).unwrap_or(Case::Sine3d);
        check_period(case, args.period)?;
        let choices = choices(args, table)?;
        let ram = total_ram();
        let ram = ram.filter(|_| !args.common.force);
        let need = Need::new(&choices, args.dump.is_some());
        let (sizes, left_out) = match (args.sizes.as_slice(), table) {
            ([], Some(table)) => fitting(table, need, ram),
            ([], None) => (vec![case.default_size()], Vec::new()),
            (sizes, _) => (sizes.to_vec(), Vec::new()),
        };
        no_twins(&sizes)?;
        for &size in &sizes {
            check_size(case, size)?;
            if !fits(need.bytes(case, size), ram) {
                return Err(need.too_large(case, size, ram));
            }
        }
        Ok(Plan {
            case,
            sizes,
            choices,
            contrast: args.contrast.unwrap_or(1.0),
            tolerance: args.common.tolerance(),
            table,
            left_out,
        })
    }

    /// The name of the file for the system of a size.
    pub fn file_name(&self, size: u64) -> String {
        let contrast = match self.contrast {
            1.0 => String::new(),
            contrast => format!("-c{contrast}"),
        };
        format!("{}-{size}{contrast}.npz", self.case.name())
    }
}

/// The methods that are named, or those of the table, or the usual ones.
pub fn choices(args: &BenchViscosity, table: Option<&Published>) -> Outcome<Vec<Choice>> {
    let names: Vec<&str> = match (args.methods.as_slice(), table) {
        ([], Some(table)) => table.methods().collect(),
        ([], None) => DEFAULT_METHODS.to_vec(),
        (names, _) => names.iter().map(|name| name.trim()).collect(),
    };
    let mut choices = chosen(&names, Choice::parse)?;
    for choice in &mut choices {
        choice.options.coarsening = args.coarsening;
    }
    if coarsening(&choices).is_none() && args.coarsening != Coarsening::default() {
        let message = format!(
            "--coarsening {}: none of the methods has coarse levels",
            args.coarsening
        );
        return Err(Failure::bad_input(message)
            .help("leave --coarsening out, or name a smoother of mgpcg, such as chebyshev"));
    }
    Ok(choices)
}

/// What the coarse levels of these methods are made of, if any has some.
pub fn coarsening(choices: &[Choice]) -> Option<Coarsening> {
    let multigrid = choices.iter().find(|choice| !choice.is_assembled());
    multigrid.map(|choice| choice.options.coarsening)
}

/// The test is no simulation.
fn check_period(case: Case, period: Period) -> Outcome {
    let Period {
        frames,
        frame,
        steps,
    } = period;
    let options = [("frames", frames), ("frame", frame), ("steps", steps)];
    let mut named = options.into_iter().filter_map(|(name, n)| Some((name, n?)));
    match named.next() {
        None => Ok(()),
        Some((name, number)) => Err(Failure::bad_input(format!(
            "--{name} {number}: {} is one system, not a simulation",
            case.name()
        ))
        .help(format!(
            "leave --{name} out, or name a scene with viscous liquid, such as --case honey"
        ))),
    }
}

/// The sizes of a table that fit into memory, and those that do not.
fn fitting(table: &Published, need: Need, ram: Option<u64>) -> (Vec<u64>, Vec<LeftOut>) {
    let all = table.sizes().map(|size| LeftOut {
        size,
        bytes: need.bytes(table.case, size),
    });
    let (fitting, left_out): (Vec<_>, Vec<_>) = all.partition(|size| fits(size.bytes, ram));
    (fitting.iter().map(|size| size.size).collect(), left_out)
}

fn check_size(case: Case, size: u64) -> Outcome {
    let (name, largest) = (case.name(), case.largest());
    if (SMALLEST..=largest).contains(&size) {
        return Ok(());
    }
    Err(
        Failure::bad_input(format!("--size {size}: {name} cannot be that size")).help(format!(
            "take {SMALLEST} to {largest} cells along each side"
        )),
    )
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::args::{Bench, Cli, Command};
    use clap::Parser;

    /// The arguments that follow `plash bench viscosity`.
    pub fn arguments(line: &str) -> BenchViscosity {
        let words = ["plash", "bench", "viscosity"].into_iter();
        let cli = Cli::try_parse_from(words.chain(line.split_whitespace())).expect("arguments");
        match cli.command {
            Command::Bench(Bench::Viscosity(args)) => args,
            other => panic!("{other:?}"),
        }
    }

    fn plan(line: &str) -> Outcome<Plan> {
        Plan::new(&arguments(line))
    }

    #[test]
    fn a_table_fixes_what_is_not_said() {
        let found = plan("--table 1 --force").expect("a plan");
        assert_eq!(found.case, Case::Sine2d);
        assert_eq!(found.sizes, [256, 512, 1024, 2048]);
        let methods: Vec<&str> = found.choices.iter().map(|choice| choice.name).collect();
        assert!(methods.contains(&"jacobi-naive") && methods.contains(&"chebyshev"));
        let found = plan("--table 2 --size 16 --methods box").expect("a plan");
        assert_eq!((found.sizes, found.choices.len()), (vec![16], 1));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = plan("--size 1024").err().expect("too large");
        assert!(refused.help.expect("advice").contains("--force"));
    }

    #[test]
    fn what_does_not_fit_is_left_out_of_tables_by_name() {
        let table = Published::find(2).expect("table 2");
        let choices = [Choice::parse("pcg-ic").expect("a method")];
        let need = Need::new(&choices, false);
        let (sizes, left_out) = fitting(table, need, Some(1 << 33));
        assert_eq!(sizes, [128]);
        let names: Vec<u64> = left_out.iter().map(|left| left.size).collect();
        assert_eq!(names, [256, 512]);
        assert!(left_out[0].bytes > 9e9, "{left_out:?}");
        assert_eq!(fitting(table, need, None).0, [128, 256, 512]);
    }

    #[test]
    fn cases_sizes_and_methods_that_are_not_there_are_refused() {
        let refused = |line: &str| plan(line).err().expect(line).message;
        assert!(refused("--size 0").contains("--size 0"));
        assert!(refused("--size 2000 --force").contains("2000"));
        assert!(refused("--methods gmres").contains("gauss-seidel"));
        assert!(refused("--methods box,box").contains("twice"));
        assert!(refused("--methods mgpcg,chebyshev").contains("twice: mgpcg is the same"));
        assert!(refused("--methods chebychev").contains("did you mean"));
        assert!(refused("--size 16,16").contains("names 16 twice"));
    }

    #[test]
    fn the_test_has_no_frames() {
        for line in ["--frames 3", "--frame 2", "--case sine2d --steps 1"] {
            let refused = plan(line).err().expect(line);
            assert!(refused.message.contains("one system"), "{refused}");
            assert!(refused.help.expect("advice").contains("--case honey"));
        }
    }
}
