//! `cargo xtask test`: every check in order, under clear headings, and a total at the end.

use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::{architecture, packages};

/// One thing that must hold.
struct Stage {
    name: &'static str,
    what: &'static str,
    check: Check,
}

/// How it is checked.
enum Check {
    /// A cargo command that succeeds.
    Cargo(&'static [&'static str]),
    /// The same, with rustdoc's warnings as errors.
    Rustdoc(&'static [&'static str]),
    /// A cargo command that runs tests and prints `test result:` lines.
    Tests(&'static [&'static str]),
    /// A function here.
    Function(fn() -> Result<(), String>),
}

const STAGES: &[Stage] = &[
    Stage {
        name: "format",
        what: "formatting",
        check: Check::Cargo(&["fmt", "--all", "--check"]),
    },
    Stage {
        name: "architecture",
        what: "architecture: who may know whom",
        check: Check::Function(|| architecture::check(&crate::root())),
    },
    Stage {
        name: "lint",
        what: "lints",
        check: Check::Cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]),
    },
    Stage {
        name: "unit",
        what: "unit tests",
        check: Check::Tests(&["test", "--workspace", "--no-fail-fast", "--lib", "--bins"]),
    },
    Stage {
        name: "integration",
        what: "integration and scene tests",
        check: Check::Tests(&["test", "--workspace", "--no-fail-fast", "--test", "*"]),
    },
    Stage {
        name: "doctest",
        what: "examples in the documentation",
        check: Check::Tests(&["test", "--workspace", "--no-fail-fast", "--doc"]),
    },
    Stage {
        name: "doc",
        what: "documentation",
        check: Check::Rustdoc(&["doc", "--workspace", "--no-deps"]),
    },
];

/// Tests counted over all stages; a check that is not made of tests counts as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: usize,
    failed: usize,
    ignored: usize,
}

impl Tally {
    /// Adds the figures of a line such as
    /// `test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; …`.
    fn read(&mut self, line: &str) {
        let Some((_, figures)) = line.split_once("test result: ") else {
            return;
        };
        let words: Vec<&str> = figures
            .split([' ', ';', '.'])
            .filter(|w| !w.is_empty())
            .collect();
        for pair in words.windows(2) {
            let Ok(count) = pair[0].parse::<usize>() else {
                continue;
            };
            match pair[1] {
                "passed" => self.passed += count,
                "failed" => self.failed += count,
                "ignored" => self.ignored += count,
                _ => {}
            }
        }
    }
}

/// The stages and what they do, for the help text.
pub fn list() -> String {
    STAGES
        .iter()
        .map(|s| format!("  {:<14}{}\n", s.name, s.what))
        .collect()
}

/// Runs the named stages, or all of them. A failure does not stop the later ones, so that
/// one run shows everything that is wrong.
pub fn run(names: &[String]) -> Result<(), String> {
    if let Some(unknown) = names.iter().find(|n| STAGES.iter().all(|s| s.name != **n)) {
        return Err(format!(
            "there is no stage `{unknown}`; the stages are:\n{}",
            list()
        ));
    }
    packages::ensure_packages(packages::NEEDED_BY_TESTS)?;

    let mut tally = Tally::default();
    let mut failures = Vec::new();
    let start = Instant::now();
    for stage in STAGES {
        if !names.is_empty() && names.iter().all(|n| n != stage.name) {
            continue;
        }
        println!("\n==> {}", stage.what);
        let stage_start = Instant::now();
        let failed_before = tally.failed;
        let outcome = perform(&stage.check, &mut tally);
        let seconds = stage_start.elapsed().as_secs_f64();
        let is_tests = matches!(stage.check, Check::Tests(_));
        match outcome {
            Ok(()) => {
                tally.passed += usize::from(!is_tests);
                println!("    ok ({}, {seconds:.1} s)", stage.name);
            }
            Err(why) => {
                // Tests that do not even build count as one failure.
                tally.failed += usize::from(tally.failed == failed_before);
                println!("    FAILED ({}, {seconds:.1} s): {why}", stage.name);
                failures.push(stage.name);
            }
        }
    }

    let Tally {
        passed,
        failed,
        ignored,
    } = tally;
    println!("\n==> {:.0} s", start.elapsed().as_secs_f64());
    println!("{passed} passed, {failed} failed, {ignored} ignored");
    if failures.is_empty() {
        Ok(())
    } else {
        Err(format!("these stages failed: {}", failures.join(", ")))
    }
}

fn perform(check: &Check, tally: &mut Tally) -> Result<(), String> {
    match check {
        Check::Cargo(args) => finish(cargo(args).status()),
        Check::Rustdoc(args) => finish(cargo(args).env("RUSTDOCFLAGS", "-D warnings").status()),
        Check::Tests(args) => count_tests(&mut cargo(args), tally),
        Check::Function(function) => function(),
    }
}

/// The cargo that runs us, so that `cargo +toolchain xtask` means what it says.
fn cargo(args: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(args).current_dir(crate::root());
    command
}

/// Runs a test command, passes its output on line by line and counts its tests.
fn count_tests(command: &mut Command, tally: &mut Tally) -> Result<(), String> {
    if std::io::stdout().is_terminal() {
        // Output goes through a pipe here, so libtest would think nobody watches.
        command.args(["--", "--color=always"]);
    }
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| e.to_string())?;
    if let Some(stdout) = child.stdout.take() {
        let mut out = std::io::stdout().lock();
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line.map_err(|e| e.to_string())?;
            let text = String::from_utf8_lossy(&line);
            tally.read(&strip_colour(&text));
            writeln!(out, "{text}").map_err(|e| e.to_string())?;
        }
    }
    finish(child.wait())
}

fn finish(status: std::io::Result<std::process::ExitStatus>) -> Result<(), String> {
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(status.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// Text without terminal colour codes (`ESC … m`).
fn strip_colour(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut pieces = text.split('\u{1b}');
    plain.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        plain.push_str(piece.split_once('m').map_or("", |(_, rest)| rest));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_several_test_programs_add_up() {
        let mut tally = Tally::default();
        tally.read("test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out");
        tally.read("running 4 tests");
        tally.read("test result: FAILED. 2 passed; 2 failed; 0 ignored; finished in 0.50s");
        assert_eq!(
            tally,
            Tally {
                passed: 14,
                failed: 2,
                ignored: 1
            }
        );
    }

    #[test]
    fn colour_does_not_hide_a_result() {
        let mut tally = Tally::default();
        tally.read(&strip_colour(
            "test result: \u{1b}[32mok\u{1b}(B\u{1b}[m. 3 passed; 0 failed",
        ));
        assert_eq!(tally.passed, 3);
    }

    #[test]
    fn stage_names_are_distinct() {
        let mut names: Vec<_> = STAGES.iter().map(|s| s.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), STAGES.len());
    }
}
