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

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    cases: Vec<String>,
    sizes: Vec<String>,
    frame: String,
    problems: Option<PathBuf>,
    balls: Vec<String>,
    output: Option<PathBuf>,
}

/// `cargo xtask peers [--size N]... [--case C]... [--frame K] [--problems DIR] [--ball N]...
/// [--output DIR]`.
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
            "--case" => options.cases.push(value.clone()),
            "--size" => options.sizes.push(number(name, value)?),
            "--frame" => options.frame = number(name, value)?,
            "--ball" => options.balls.push(number(name, value)?),
            "--problems" => options.problems = Some(value.into()),
            "--output" => options.output = Some(value.into()),
            _ => {
                return Err(format!(
                    "peers has no option {name}; it takes --size N, --case C, --frame K, \
                     --problems DIR, --ball N and --output DIR"
                ));
            }
        }
    }
    if options.sizes.is_empty() && options.balls.is_empty() {
        options.sizes = vec!["64".into(), "128".into()];
    }
    if options.cases.is_empty() {
        options.cases = vec!["sphere3d".into(), "sine3d".into()];
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
        for size in &options.sizes {
            let folder = work.join(format!("{case}-{size}"));
            // What an earlier run left is of another state of the code.
            let _ = fs::remove_dir_all(&folder);
            let mut bench = Command::new(plash);
            bench.args(bench_arguments(case, &options.frame));
            bench.args(["--size", size, "--dump"]).arg(&folder);
            succeed(&mut bench, &format!("dumping {case} at {size}"))?;
            problems.extend(stored(&folder)?);
        }
    }
    Ok(problems)
}

/// The comparison that meets a case, by a fast method.
fn bench_arguments<'a>(case: &'a str, frame: &'a str) -> Vec<&'a str> {
    let kind: [&str; 4] = match case {
        "sine2d" | "sine3d" => ["bench", "viscosity", "--methods", "chebyshev"],
        _ => ["bench", "pressure", "--methods", "auto"],
    };
    let mut arguments = kind.to_vec();
    arguments.extend(["--case", case]);
    if kind[1] == "pressure" {
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
        assert_eq!(parsed("").unwrap().cases, ["sphere3d", "sine3d"]);
        assert_eq!(parsed("--case sine2d").unwrap().cases, ["sine2d"]);
    }

    #[test]
    fn cases_of_viscosity_have_no_frames() {
        let arguments = bench_arguments("sine3d", "3").join(" ");
        assert!(arguments.starts_with("bench viscosity") && !arguments.contains("--frame"));
        let arguments = bench_arguments("cuboid3d", "3").join(" ");
        assert!(arguments.starts_with("bench pressure") && arguments.ends_with("--frame 3"));
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
