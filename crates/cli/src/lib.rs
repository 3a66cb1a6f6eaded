//! The command line of plash: arguments, the run loop's face, pictures and exit codes.
//!
//! The work is done by the crates below; [`main`] parses ([`Cli`]), sets up
//! threads and Ctrl-C, calls one command, and turns its outcome into words and an exit code.

mod args;
mod beside;
mod commands;
mod console;
mod failure;
mod interrupt;
mod meter;
mod pictures;
mod pool;
mod source;
mod stopwatch;
mod surfaces;
mod viscous;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

pub use args::Cli;
use args::{Bench, Command};
use console::Console;
use failure::{Exit, Outcome};

/// The README's examples are documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The whole program.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(refuse_arguments(&error) as u8),
    };
    let console = Console::new(cli.json);
    let exit = match dispatch(&cli.command, console) {
        Ok(()) => Exit::Done,
        Err(failure) => {
            console.note(&failure);
            console.event(&failure.to_json());
            failure.exit
        }
    };
    ExitCode::from(delivered(exit, console) as u8)
}

/// Nothing is done whose results did not get out.
fn delivered(exit: Exit, console: Console) -> Exit {
    match console.lost() {
        Some(error) if exit == Exit::Done => {
            let message = format!("cannot write to standard output: {error}");
            console.note(failure::Failure::failed(message));
            Exit::Failed
        }
        _ => exit,
    }
}

fn dispatch(command: &Command, console: Console) -> Outcome {
    match command {
        Command::Demo(args) => commands::demo::demo(args, console),
        Command::New(args) => commands::new::new(args, console),
        Command::Scenes => commands::scenes::scenes(console),
        Command::Check(args) => commands::check::check(args, console),
        Command::Run(args) => commands::run::run(args, console),
        Command::Info(args) => commands::info::info(args, console),
        Command::Render(args) => commands::render::render(args, console),
        Command::Solve(args) => commands::solve::solve(args, console),
        Command::Bench(Bench::Pressure(args)) => commands::bench::pressure(args, console),
        Command::Bench(Bench::Viscosity(args)) => commands::bench::viscosity(args, console),
    }
}

/// Help and version are answers; everything else clap says is about bad input.
fn refuse_arguments(error: &clap::Error) -> Exit {
    let console = Console::new(false);
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        console.say(error.render().to_string().trim_end());
        return delivered(Exit::Done, console);
    }
    console.remember(error.print());
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => delivered(Exit::Done, console),
        _ => {
            // The arguments could not be parsed, so look for the flag by hand.
            let json = std::env::args_os().any(|arg| arg == "--json");
            let first_line = error.to_string();
            let message = first_line.lines().next().unwrap_or_default();
            let message = message.trim_start_matches("error: ").to_owned();
            Console::new(json).event(&failure::Failure::bad_input(message).to_json());
            Exit::BadInput
        }
    }
}
