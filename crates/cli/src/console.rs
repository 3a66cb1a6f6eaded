//! Where words go: results to standard output, messages to standard error.

use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::sync::OnceLock;

use serde::Serialize;

/// The two streams, and whether standard output speaks JSON.
///
/// A reader that goes away (`plash scenes | head -1`) is no error. Any other result that could
/// not be written, as on a full disk, is remembered ([`Console::lost`]), so that the work goes on
/// and the program's end can tell.
#[derive(Clone, Copy, Debug)]
pub struct Console {
    json: bool,
    lost: &'static OnceLock<io::Error>,
}

impl Console {
    /// A console that prints JSON documents or text for people.
    pub fn new(json: bool) -> Self {
        // A program has one or two consoles, for as long as it lives.
        let lost = Box::leak(Box::new(OnceLock::new()));
        Console { json, lost }
    }

    /// Whether results are JSON.
    pub fn is_json(self) -> bool {
        self.json
    }

    /// Whether somebody watches standard error on a terminal.
    pub fn is_watched(self) -> bool {
        !self.json && io::stderr().is_terminal()
    }

    /// A line of results for people; nothing in JSON mode.
    pub fn say(self, text: impl Display) {
        if !self.json {
            self.print(&text);
        }
    }

    /// The one document of a command; nothing in text mode.
    pub fn document(self, value: &impl Serialize) {
        if let (true, Ok(text)) = (self.json, serde_json::to_string_pretty(value)) {
            self.print(&text);
        }
    }

    /// One event of a command that takes a while, as a line of JSON; nothing in text mode.
    pub fn event(self, value: &impl Serialize) {
        if let (true, Ok(text)) = (self.json, serde_json::to_string(value)) {
            self.print(&text);
        }
    }

    /// Why results were lost on their way out, if they were.
    pub fn lost(self) -> Option<&'static io::Error> {
        self.lost.get()
    }

    fn print(self, text: &dyn Display) {
        let mut out = io::stdout().lock();
        self.remember(writeln!(out, "{text}").and_then(|()| out.flush()));
    }

    /// Takes note of how a write of results ended; the first loss is the one that counts.
    pub fn remember(self, written: io::Result<()>) {
        if let Err(error) = written
            && error.kind() != ErrorKind::BrokenPipe
        {
            // Already set: an earlier loss is known.
            let _ = self.lost.set(error);
        }
    }

    /// A message for people on standard error, in both modes.
    pub fn note(self, text: impl Display) {
        let _ = writeln!(io::stderr().lock(), "{text}");
    }
}

/// A number of things: `1 frame`, `2 frames`.
pub fn plural(number: u64, thing: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{s}")
}

/// A path as a shell wants it typed: in quotes if it must be.
pub fn typed(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+,:@%=".contains(c);
    // What starts with a dash would be taken for an option.
    let text = match text.strip_prefix('-') {
        Some(_) => format!("./{text}"),
        None => text,
    };
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A count for people: `1 234 567`.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A number with four digits at most, and no zeros behind.
pub fn short(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// A length of time for people: `42.1 s`, `3 min 5 s`, `2 h 10 min`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    match whole {
        0..60 => format!("{seconds:.1} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_for_people() {
        assert_eq!(count(1_234_567), "1 234 567");
        assert_eq!(count(42), "42");
        assert_eq!(short(0.031_25).to_string(), "0.03125");
        assert_eq!(short(1.0 / 3.0).to_string(), "0.3333");
        assert_eq!(short(2.0).to_string(), "2");
        assert_eq!(duration(0.25), "0.2 s");
        assert_eq!(duration(185.0), "3 min 5 s");
        assert_eq!(duration(7800.0), "2 h 10 min");
        assert_eq!(plural(1, "frame"), "1 frame");
        assert_eq!(plural(0, "frame"), "0 frames");
    }

    #[test]
    fn suggested_commands_can_be_pasted() {
        let typed = |path: &str| typed(Path::new(path));
        assert_eq!(typed("runs/a-1.b"), "runs/a-1.b");
        assert_eq!(typed("my runs/a"), "'my runs/a'");
        assert_eq!(typed("it's"), r"'it'\''s'");
        assert_eq!(typed("-o"), "./-o");
    }

    #[test]
    fn only_a_reader_that_went_away_is_forgiven() {
        let console = Console::new(false);
        console.remember(Err(ErrorKind::BrokenPipe.into()));
        assert!(console.lost().is_none());
        console.remember(Err(ErrorKind::StorageFull.into()));
        assert!(console.lost().is_some());
    }
}
