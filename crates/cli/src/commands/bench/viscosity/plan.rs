//! From arguments to what is run.

use plash_scene::memory::{human_bytes, total_ram};
use plash_solve::Tolerance;

use super::choice::{Choice, estimated_bytes};
use super::published::Published;
use crate::args::BenchViscosity;
use crate::console::count;
use crate::failure::{Failure, Outcome};

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

/// How much of the machine's memory a method may take.
const SHARE: f64 = 0.8;

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
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Case::Sine2d => "sine2d",
            Case::Sine3d => "sine3d",
        }
    }

    fn parse(name: &str) -> Outcome<Case> {
        let cases = [Case::Sine2d, Case::Sine3d];
        let found = cases.into_iter().find(|case| case.name() == name);
        found.ok_or_else(|| {
            Failure::bad_input(format!("--case {name}: no case of viscosity"))
                .help("the cases are sine2d and sine3d")
        })
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
}

impl Plan {
    /// Completes the arguments by those of the table, or by defaults.
    pub fn new(args: &BenchViscosity) -> Outcome<Plan> {
        let table = args.table.and_then(Published::find);
        let case = match table {
            Some(table) => table.case,
            None => Case::parse(&args.case)?,
        };
        let choices = choices(args, table)?;
        let ram = total_ram();
        let needs = |size| need(case, size, &choices, args.dump.is_some());
        let sizes = match (args.sizes.as_slice(), table) {
            ([], Some(table)) => {
                let fits = |&size: &u64| args.force || fits(needs(size), ram);
                table.sizes().filter(fits).collect()
            }
            ([], None) => vec![case.default_size()],
            (sizes, _) => sizes.to_vec(),
        };
        for &size in &sizes {
            check_size(case, size)?;
            if !args.force && !fits(needs(size), ram) {
                return Err(too_large(case, size, needs(size), ram));
            }
        }
        Ok(Plan {
            case,
            sizes,
            choices,
            contrast: args.contrast,
            tolerance: Tolerance {
                relative: args.tol,
                absolute: 0.0,
                max_iterations: args.max_iterations,
            },
            table,
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

fn choices(args: &BenchViscosity, table: Option<&Published>) -> Outcome<Vec<Choice>> {
    let names: Vec<&str> = match (args.methods.as_slice(), table) {
        ([], Some(table)) => table.methods().collect(),
        ([], None) => DEFAULT_METHODS.to_vec(),
        (names, _) => names.iter().map(|name| name.trim()).collect(),
    };
    let mut choices = Vec::new();
    for name in names {
        let choice = Choice::parse(name)
            .map_err(|why| Failure::bad_input(format!("--methods {name}: {why}")))?;
        if choices.contains(&choice) {
            return Err(Failure::bad_input(format!("--methods names {name} twice")));
        }
        choices.push(choice);
    }
    Ok(choices)
}

/// Bytes for the method that takes most of them; saving a system takes its matrix.
fn need(case: Case, size: u64, choices: &[Choice], dumps: bool) -> f64 {
    let assembled = dumps || choices.iter().any(Choice::is_assembled);
    estimated_bytes(case.unknowns(size), assembled)
}

/// Whether so many bytes are there to be had. A machine that does not say refuses nothing.
fn fits(bytes: f64, ram: Option<u64>) -> bool {
    ram.is_none_or(|ram| bytes <= SHARE * ram as f64)
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

fn too_large(case: Case, size: u64, bytes: f64, ram: Option<u64>) -> Failure {
    // Conversions from floating point saturate.
    Failure::bad_input(format!(
        "--size {size}: a method would need about {} for {} unknowns, more than 80 % of the {} here",
        human_bytes(bytes as u64),
        count(case.unknowns(size) as u64),
        human_bytes(ram.unwrap_or(0)),
    ))
    .help("take a smaller size or methods without a matrix, such as chebyshev; `--force` runs it all the same")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Bench, Cli, Command};
    use clap::Parser;

    fn plan(line: &str) -> Outcome<Plan> {
        let words = ["plash", "bench", "viscosity"].into_iter();
        let cli = Cli::try_parse_from(words.chain(line.split_whitespace())).expect("arguments");
        match cli.command {
            Command::Bench(Bench::Viscosity(args)) => Plan::new(&args),
            other => panic!("{other:?}"),
        }
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
    fn what_does_not_fit_is_left_out_of_tables_and_refused_otherwise() {
        let choices = [Choice::parse("pcg-ic").expect("a method")];
        let free = [Choice::parse("chebyshev").expect("a method")];
        let (matrix, none) = (
            need(Case::Sine3d, 512, &choices, false),
            need(Case::Sine3d, 512, &free, false),
        );
        assert!(!fits(matrix, Some(1 << 36)) && fits(none, Some(1 << 36)));
        assert!(fits(matrix, None));
        assert_eq!(need(Case::Sine3d, 512, &free, true), matrix);
        let refused = plan("--size 1024").err().expect("too large");
        assert!(refused.help.expect("advice").contains("--force"));
    }

    #[test]
    fn cases_sizes_and_methods_that_are_not_there_are_refused() {
        let refused = |line: &str| plan(line).err().expect(line).message;
        assert!(refused("--case honey").contains("honey"));
        assert!(refused("--size 0").contains("--size 0"));
        assert!(refused("--size 2000 --force").contains("2000"));
        assert!(refused("--methods gmres").contains("gauss-seidel"));
        assert!(refused("--methods box,box").contains("twice"));
    }
}
