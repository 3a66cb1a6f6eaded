//! How a command ends when it does not end well: an exit code, a paragraph, and advice.

use std::error::Error;
use std::fmt;
use std::path::Path;

use plash_liquid::StepError;
use plash_scene::run::{Damage, RunError};
use plash_solve::Status;
use serde_json::{Value, json};

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is done.
    Done = 0,
    /// Something failed that was not the user's input: a solve, a disk.
    Failed = 1,
    /// The input is wrong: arguments, a scene, a file that is not what it should be.
    BadInput = 2,
    /// Stopped by the user; `--resume` goes on.
    Interrupted = 3,
}

impl Exit {
    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Exit::Done => "done",
            Exit::Failed => "failed",
            Exit::BadInput => "bad-input",
            Exit::Interrupted => "interrupted",
        }
    }
}

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub struct Failure {
    /// How the program ends.
    pub exit: Exit,
    /// What went wrong, in a sentence or a short paragraph.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Text that is already laid out for a terminal, shown instead of `message`.
    pub rendered: Option<String>,
    /// More for programs: merged into the JSON error object.
    pub details: Vec<(&'static str, Value)>,
    /// What the command found all the same; in JSON the error stands in this document.
    pub document: Option<Box<Value>>,
}

/// What every command gives back.
pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// The input is wrong.
    pub fn bad_input(message: impl fmt::Display) -> Self {
        Self::new(Exit::BadInput, message)
    }

    /// Something failed.
    pub fn failed(message: impl fmt::Display) -> Self {
        Self::new(Exit::Failed, message)
    }

    /// A file or folder could not be read or written.
    pub fn file(doing: &str, path: &Path, error: &std::io::Error) -> Self {
        let exit = if no_such_place(error) {
            Exit::BadInput
        } else {
            Exit::Failed
        };
        Self::new(exit, format!("cannot {doing} {}: {error}", path.display()))
    }

    /// The user stopped it.
    pub fn interrupted(message: impl fmt::Display) -> Self {
        Self::new(Exit::Interrupted, message)
    }

    fn new(exit: Exit, message: impl fmt::Display) -> Self {
        let message = message.to_string();
        Failure {
            exit,
            message,
            help: None,
            rendered: None,
            details: Vec::new(),
            document: None,
        }
    }

    /// The same with advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// What `--json` says: an object with `error` (and what was found all the same), or the event of an interruption, which is
    /// no error.
    pub fn to_json(&self) -> Value {
        if self.exit == Exit::Interrupted {
            let mut event = json!({ "event": "interrupted" });
            for (key, value) in &self.details {
                event[key] = value.clone();
            }
            return event;
        }
        let mut object = json!({
            "kind": self.exit.name(),
            "exit_code": self.exit as u8,
            "message": self.message,
            "help": self.help,
        });
        for (key, value) in &self.details {
            object[key] = value.clone();
        }
        let mut document = self.document.as_deref().cloned().unwrap_or(json!({}));
        document["error"] = object;
        document
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.rendered {
            Some(rendered) => write!(f, "{}", rendered.trim_end())?,
            None => write!(f, "plash: {}", self.message)?,
        }
        match &self.help {
            Some(help) => write!(f, "\n  help: {help}"),
            None => Ok(()),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let not_found = matches!(&error, RunError::Io { source, .. } if no_such_place(source));
        let wrong_kind = matches!(
            &error,
            RunError::Damaged {
                damage: Damage::WrongKind { .. },
                ..
            }
        );
        let failure = if error.is_bad_input() || not_found || wrong_kind {
            Failure::bad_input(chain(&error))
        } else {
            Failure::failed(chain(&error))
        };
        match advice(&error) {
            Some(help) => failure.help(help),
            None => failure,
        }
    }
}

/// Whether the path itself is at fault: it leads nowhere, through a file, or cannot exist.
fn no_such_place(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{InvalidFilename, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | InvalidFilename)
}

/// What to do about a run that cannot start, go on or be read.
fn advice(error: &RunError) -> Option<String> {
    if let RunError::Step { source, .. } = error {
        return Some(step_advice(&source.source));
    }
    lasting_advice(error).map(str::to_owned)
}

/// What to do about a step that fails.
fn step_advice(error: &StepError) -> String {
    // Of two methods that failed the reason names the one that got farther; the other may have run out
    // of iterations all the same.
    let ends = [Status::IterationLimit, Status::Stagnated].map(Status::as_str);
    let has_ended = |reason: &str| ends.iter().any(|end| reason.contains(end));
    let key = match error {
        StepError::Viscosity { reason, .. } if has_ended(reason) => "viscosity",
        StepError::Pressure { reason, .. } if has_ended(reason) => "pressure",
        _ => "",
    };
    let more = match key {
        "" => String::new(),
        key => format!("a larger `{key}.max-iterations`, another `{key}.method`, "),
    };
    format!(
        "look at stats.jsonl for what led there; {more}smaller steps \
         (--set simulation.cfl=0.5) or another resolution may help"
    )
}

/// What to do about the others, which is always the same.
fn lasting_advice(error: &RunError) -> Option<&'static str> {
    Some(match error {
        RunError::RunExists { .. } => {
            "--resume goes on with it, --replace deletes it and starts again, -o DIR writes elsewhere"
        }
        RunError::OtherScene { .. } => {
            "-o DIR writes elsewhere; `plash run DIR --resume` goes on with the scene of the folder; \
             --replace starts again"
        }
        RunError::NotARun { .. } => "-o DIR chooses the folder",
        RunError::NoRun { .. } => "run folders are made by `plash run`; they hold a run.json",
        RunError::Locked { .. } => "wait for it, stop it, or write elsewhere with -o DIR",
        RunError::AllDamaged { .. } => "--replace starts again",
        _ => return None,
    })
}

/// An error and its causes as one sentence: `a: b: c`, without saying the same twice.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_reads_as_a_paragraph_with_advice() {
        let failure = Failure::bad_input("no such scene").help("try `plash scenes`");
        assert_eq!(
            failure.to_string(),
            "plash: no such scene\n  help: try `plash scenes`"
        );
        assert_eq!(failure.to_json()["error"]["exit_code"], 2);
    }

    #[test]
    fn a_solve_that_ran_out_of_iterations_is_told_where_there_are_more() {
        let failed = |reason: &str| StepError::Viscosity {
            time: 0.0,
            step: 3,
            reason: reason.into(),
        };
        let limited = step_advice(&failed(
            "pcg-ic ended with iteration-limit after 5 iterations",
        ));
        assert!(limited.contains("`viscosity.max-iterations`"), "{limited}");
        assert!(limited.contains("simulation.cfl"), "{limited}");
        let stuck = step_advice(&failed("mgpcg ended with stagnated after 1251 iterations"));
        assert!(stuck.contains("`viscosity.max-iterations`"), "{stuck}");
        assert!(stuck.contains("`viscosity.method`"), "{stuck}");
        let broken = step_advice(&failed("the matrix is not positive definite"));
        assert!(!broken.contains("max-iterations"), "{broken}");
    }

    #[test]
    fn causes_are_said_once() {
        #[derive(Debug)]
        struct Outer(std::io::Error);
        impl fmt::Display for Outer {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "cannot read a.toml: {}", self.0)
            }
        }
        impl Error for Outer {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                Some(&self.0)
            }
        }
        assert_eq!(
            chain(&Outer(std::io::Error::other("torn"))),
            "cannot read a.toml: torn"
        );
    }
}
