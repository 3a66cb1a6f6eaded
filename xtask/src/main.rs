//! Project chores. `cargo xtask` alone lists them.
//!
//! Only the standard library is used, so that the chores themselves build in seconds.

// A tool for the terminal: printing is its job.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod architecture;
mod fuzz;
mod packages;
mod peers;
mod stages;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str = "\
Project chores for plash.

  cargo xtask test [STAGE]...     everything that must hold before a change goes in
  cargo xtask fuzz [SECONDS]      throw random bytes at the scene reader (default 120 s)
  cargo xtask peers [OPTION]...   plash beside PETSc and Eigen on the same systems
  cargo xtask install NAME...     bring a tool here: apt:NAME, pip:NAME or npm:NAME

Stages of `test`, in order; all of them unless some are named:
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rest = args.get(1..).unwrap_or_default();
    let outcome = match args.first().map(String::as_str) {
        Some("test") => stages::run(rest),
        Some("fuzz") => fuzz::run(rest),
        Some("peers") => peers::run(rest),
        Some("install") => packages::install_named(rest),
        None | Some("help" | "-h" | "--help") => {
            print!("{USAGE}{}", stages::list());
            Ok(())
        }
        Some(other) => Err(format!(
            "there is no chore `{other}`; `cargo xtask` lists them"
        )),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("\nxtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The top of the repository.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Runs a command in front of the user; `what` names it if it fails.
fn succeed(command: &mut Command, what: &str) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{what} ended with {status}")),
        Err(error) => Err(format!("{what}: {error}")),
    }
}
