//! Where words go: results to standard output, messages to standard error.

use std::fmt::Display;
use std::io::{IsTerminal, Write};

use serde::Serialize;

/// The two streams, and whether standard output speaks JSON.
///
/// A reader that goes away (`plash scenes | head -1`) is no error, so failed writes are
/// let go.
#[derive(Clone, Copy, Debug)]
pub struct Console {
    json: bool,
}

impl Console {
    /// A console that prints JSON documents or text for people.
    pub fn new(json: bool) -> Self {
        Console { json }
    }

    /// Whether results are JSON.
    pub fn is_json(self) -> bool {
        self.json
    }

    /// Whether somebody watches standard error on a terminal.
    pub fn is_watched(self) -> bool {
        !self.json && std::io::stderr().is_terminal()
    }

    /// A line of results for people; nothing in JSON mode.
    pub fn say(self, text: impl Display) {
        if !self.json {
            let _ = writeln!(std::io::stdout().lock(), "{text}");
        }
    }

    /// The one document of a command; nothing in text mode.
    pub fn document(self, value: &impl Serialize) {
        if let (true, Ok(text)) = (self.json, serde_json::to_string_pretty(value)) {
            let _ = writeln!(std::io::stdout().lock(), "{text}");
        }
    }

    /// One event of a command that takes a while, as a line of JSON; nothing in text mode.
    pub fn event(self, value: &impl Serialize) {
        if let (true, Ok(text)) = (self.json, serde_json::to_string(value)) {
            let mut out = std::io::stdout().lock();
            let _ = writeln!(out, "{text}").and_then(|()| out.flush());
        }
    }

    /// A message for people on standard error, in both modes.
    pub fn note(self, text: impl Display) {
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }
}

/// A number of bytes for people: `1.2 GB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "kB", "MB", "GB", "TB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = if unit == 0 || value >= 99.5 { 0 } else { 1 };
    format!("{value:.digits$} {}", UNITS[unit])
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
        assert_eq!(bytes(12), "12 bytes");
        assert_eq!(bytes(1_500), "1.5 kB");
        assert_eq!(bytes(123_456_789), "123 MB");
        assert_eq!(bytes(999_999), "1.0 MB");
        assert_eq!(count(1_234_567), "1 234 567");
        assert_eq!(count(42), "42");
        assert_eq!(short(0.031_25).to_string(), "0.03125");
        assert_eq!(short(1.0 / 3.0).to_string(), "0.3333");
        assert_eq!(short(2.0).to_string(), "2");
        assert_eq!(duration(0.25), "0.2 s");
        assert_eq!(duration(185.0), "3 min 5 s");
        assert_eq!(duration(7800.0), "2 h 10 min");
    }
}
