//! `cargo xtask peers`: plash beside PETSc and Eigen on the same pressure and viscosity systems.
//!
//! This part installs and builds what is needed and has plash dump the systems; the programs
//! under `benchsuite/peers` run everything, judge the solutions and write the figures.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::packages::{self, Package};
use crate::succeed;

/// Debian's Python, for which its PETSc is built; another `python3` may come first in the path.
const PYTHON: &str = "/usr/bin/python3";

const NEEDED: &[Package] = &[
    Package::Debian("python3-numpy"),
    Package::Debian("python3-scipy"),
    Package::Debian("python3-petsc4py"),
    Package::Debian("libeigen3-dev"),
    Package::Debian("g++"),
];

/// What systems are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Pressure,
    Viscosity,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Pressure => "pressure",
            Kind::Viscosity => "viscosity",
        }
    }

    /// A fast method.
    fn method(self) -> &'static str {
        match self {
            Kind::Pressure => "auto",
            Kind::Viscosity => "chebyshev",
        }
    }
}

/// A scene, or the test of viscosity, and which of its systems are meant.
#[derive(Debug, PartialEq, Eq)]
struct Case {
    name: String,
    kind: Kind,
}

impl Case {
    fn new(name: &str, kind: Kind) -> Case {
        Case {
            name: name.to_owned(),
            kind,
        }
    }

    /// A case by its name alone: the tests of viscosity have no pressure.
    fn usual(name: &str) -> Case {
        let kind = if is_test(name) {
            Kind::Viscosity
        } else {
            Kind::Pressure
        };
        Case::new(name, kind)
    }
}

/// Whether a case is one system and no simulation.
fn is_test(name: &str) -> bool {
    matches!(name, "sine2d" | "sine3d")
}

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    cases: Vec<Case>,
    sizes: Vec<String>,
    frame: String,
    problems: Option<PathBuf>,
    balls: Vec<String>,
    output: Option<PathBuf>,
}

/// `cargo xtask peers [--size N]... [--case C]... [--viscosity SCENE]... [--frame K]
/// [--problems DIR] [--ball N]... [--output DIR]`.
pub fn run(args: &[String]) -> Result<(), String> {
    let options = parse(args)?;
    packages::ensure_packages(NEEDED)?;
    let work = crate::root().join("target/peers");
    fs::create_dir_all(&work)
        .map_err(|error| format!("cannot make {}: {error}", work.display()))?;
    let plash = build_plash()?;
    let eigen = build_eigen(&work)?;
    let problems = match &options.problems {
        Some(folder) => stored(folder)?,
        None => dump(&plash, &options, &work)?,
    };
    let mut compare = Command::new(PYTHON);
    compare.arg(crate::root().join("benchsuite/peers/compare.py"));
    compare
        .arg("--plash")
        .arg(&plash)
        .arg("--eigen")
        .arg(&eigen);
    compare
        .arg("--work")
        .arg(&work)
        .args(["--commit", &commit()]);
    compare
        .arg("--runs")
        .arg(crate::root().join("benchsuite/runs"));
    if let Some(output) = &options.output {
        compare.arg("--output").arg(output);
    }
    for cells in &options.balls {
        compare.args(["--ball", cells]);
    }
    // Python would leave its compiled files beside the sources.
    compare.args(problems).env("PYTHONDONTWRITEBYTECODE", "1");
    succeed(&mut compare, "the comparison")
}

fn parse(args: &[String]) -> Result<Options, String> {
    let mut options = Options {
        cases: Vec::new(),
        sizes: Vec::new(),
        // When sphere3d is let go, a third of its wall unknowns separate, whatever the size.
        frame: "1".into(),
        problems: None,
        balls: Vec::new(),
        output: None,
    };
    let mut args = args.iter();
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("{name} wants a value"))?;
        match name.as_str() {
            "--case" => options.cases.push(Case::usual(value)),
            "--viscosity" => options.cases.push(Case::new(value, Kind::Viscosity)),
            "--size" => options.sizes.push(number(name, value)?),
            "--frame" => options.frame = number(name, value)?,
            "--ball" => options.balls.push(number(name, value)?),
            "--problems" => options.problems = Some(value.into()),
            "--output" => options.output = Some(value.into()),
            _ => {
                return Err(format!(
                    "peers has no option {name}; it takes --size N, --case C, \
                     --viscosity SCENE, --frame K, --problems DIR, --ball N and --output DIR"
                ));
            }
        }
    }
    if options.sizes.is_empty() && options.balls.is_empty() {
        options.sizes = vec!["64".into(), "128".into()];
    }
    if options.cases.is_empty() {
        options.cases = ["sphere3d", "sine3d"].map(Case::usual).into();
    }
    Ok(options)
}

fn number(name: &str, value: &str) -> Result<String, String> {
    match value.parse::<u32>() {
        Ok(1..) => Ok(value.to_owned()),
        _ => Err(format!("{name} {value}: write a positive number")),
    }
}

/// Builds the program as users run it, and returns where it is.
fn build_plash() -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--release", "--package", "plash"]);
    succeed(build.current_dir(crate::root()), "building plash")?;
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| crate::root().join("target"), PathBuf::from);
    Ok(target.join("release/plash"))
}

fn build_eigen(work: &Path) -> Result<PathBuf, String> {
    let program = work.join("eigen_solve");
    let mut build = Command::new("g++");
    build.args(["-std=c++17", "-O3", "-march=native", "-fopenmp", "-DNDEBUG"]);
    build.arg("-I/usr/include/eigen3").arg("-o").arg(&program);
    build.arg(crate::root().join("benchsuite/peers/eigen_solve.cpp"));
    succeed(&mut build, "compiling the Eigen program")?;
    Ok(program)
}

/// Has plash dump a system of each case at each size: the first of one frame of a simulation, or
/// the test of viscosity.
fn dump(plash: &Path, options: &Options, work: &Path) -> Result<Vec<PathBuf>, String> {
    let mut problems = Vec::new();
    for case in &options.cases {
        let (name, kind) = (&case.name, case.kind.name());
        for size in &options.sizes {
            let folder = work.join(format!("{name}-{kind}-{size}"));
            // What an earlier run left is of another state of the code.
            let _ = fs::remove_dir_all(&folder);
            let mut bench = Command::new(plash);
            bench.args(bench_arguments(case, &options.frame));
            bench.args(["--size", size, "--dump"]).arg(&folder);
            succeed(&mut bench, &format!("dumping {kind} of {name} at {size}"))?;
            problems.extend(stored(&folder)?);
        }
    }
    Ok(problems)
}

/// The comparison that meets a case, by a fast method.
fn bench_arguments<'a>(case: &'a Case, frame: &'a str) -> Vec<&'a str> {
    let kind = case.kind;
    let mut arguments = vec!["bench", kind.name(), "--methods", kind.method()];
    arguments.extend(["--case", &case.name]);
    if !is_test(&case.name) {
        arguments.extend(["--frame", frame]);
    }
    arguments
}

/// The problem files in a folder, by name.
fn stored(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder)
        .map_err(|error| format!("cannot list {}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ext| ext == "npz"))
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(format!("{} holds no .npz file", folder.display()));
    }
    Ok(files)
}

/// The commit that is measured, marked if files differ from it.
fn commit() -> String {
    let mut describe = Command::new("git");
    describe.args(["describe", "--always", "--dirty", "--abbrev=10"]);
    let output = describe.current_dir(crate::root()).output();
    let text = output.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned());
    match text {
        Ok(text) if !text.is_empty() => text,
        _ => "unknown".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, String> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&args)
    }

    #[test]
    fn sizes_add_up_and_have_a_default() {
        assert_eq!(parsed("--size 32 --size 48").unwrap().sizes, ["32", "48"]);
        assert_eq!(parsed("").unwrap().sizes, ["64", "128"]);
        assert!(parsed("--ball 32").unwrap().sizes.is_empty());
    }

    #[test]
    fn cases_are_of_pressure_unless_viscosity_is_asked_for() {
        let cases = |line: &str| parsed(line).unwrap().cases;
        let (pressure, viscosity) = (Kind::Pressure, Kind::Viscosity);
        let usual = [
            Case::new("sphere3d", pressure),
            Case::new("sine3d", viscosity),
        ];
        assert_eq!(cases(""), usual);
        assert_eq!(cases("--case sine2d"), [Case::new("sine2d", viscosity)]);
        let both = [Case::new("coil", pressure), Case::new("coil", viscosity)];
        assert_eq!(cases("--case coil --viscosity coil"), both);
    }

    #[test]
    fn scenes_have_frames_and_the_tests_of_viscosity_have_none() {
        let arguments = |case: Case| bench_arguments(&case, "3").join(" ");
        let test = arguments(Case::usual("sine3d"));
        assert!(test.starts_with("bench viscosity") && !test.contains("--frame"));
        let scene = arguments(Case::usual("cuboid3d"));
        assert!(scene.starts_with("bench pressure") && scene.ends_with("--frame 3"));
        let thick = arguments(Case::new("cake-topping", Kind::Viscosity));
        let expected = "bench viscosity --methods chebyshev --case cake-topping --frame 3";
        assert_eq!(thick, expected);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        assert!(parsed("--size").is_err());
        assert!(parsed("--size 0").is_err());
        assert!(parsed("--sizes 3").unwrap_err().contains("--size N"));
    }

    #[test]
    fn a_folder_without_problems_is_refused() {
        let folder = crate::root().join("xtask/src");
        assert!(stored(&folder).unwrap_err().contains("no .npz"));
    }
}
