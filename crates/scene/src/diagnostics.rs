//! What is wrong with a scene file, and where: for people and for programs.
//!
//! A [`Report`] holds every error and warning found in one pass over a scene. People read
//! [`Report::render`], which shows the line in question; programs read [`Report::records`].

use std::fmt;
use std::ops::Range;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource};
use serde::Serialize;

/// Diagnostics of one kind that are shown before the rest is only counted.
const SHOWN: usize = 20;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The scene cannot be run.
    Error,
    /// The scene runs, but probably not as meant.
    Warning,
}

/// A place in what the user wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A range of bytes in the scene file.
    File(Range<usize>),
    /// A range of bytes in the text of an override, by the override's number.
    Override(usize, Range<usize>),
    /// The scene as a whole, as when a key is missing from it.
    Whole,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Where.
    pub origin: Origin,
    /// The key in question, dotted from the top of the file (`liquid.0.box.min`); empty if
    /// the file cannot be read at all.
    pub key: String,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(origin: Origin, key: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            origin,
            key: key.into(),
            message: message.into(),
            help: None,
        }
    }

    /// A warning at a place.
    pub fn warning(origin: Origin, key: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(origin, key, message)
        }
    }

    /// The same with advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// A diagnostic as a program reads it. Lines and columns count from one; columns count
/// characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Record {
    /// `error` or `warning`.
    pub severity: Severity,
    /// The scene file, or the argument (`--set resolution=0`) that brought the value.
    pub file: String,
    /// Line, from one.
    pub line: usize,
    /// Column in characters, from one.
    pub column: usize,
    /// The dotted key.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

/// Everything found wrong with a scene, with the text to show it in.
#[derive(Clone, Debug, Default)]
pub struct Report {
    file: String,
    text: String,
    overrides: Vec<String>,
    diagnostics: Vec<Diagnostic>,
}

impl Report {
    /// A report on a file with this text and these override arguments.
    pub fn new(
        file: impl Into<String>,
        text: impl Into<String>,
        overrides: Vec<String>,
        diagnostics: Vec<Diagnostic>,
    ) -> Self {
        Self {
            file: file.into(),
            text: text.into(),
            overrides,
            diagnostics,
        }
    }

    /// All diagnostics, in the order they were found.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.diagnostics.is_empty()
    }

    /// Whether any diagnostic is an error.
    pub fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }

    /// How many there are of a severity.
    pub fn count(&self, severity: Severity) -> usize {
        let of_kind = self.diagnostics.iter().filter(|d| d.severity == severity);
        of_kind.count()
    }

    /// The diagnostics as a program reads them.
    pub fn records(&self) -> Vec<Record> {
        self.diagnostics.iter().map(|d| self.record(d)).collect()
    }

    fn record(&self, diagnostic: &Diagnostic) -> Record {
        let (file, text, range) = self.locate(&diagnostic.origin);
        let [line, column] = line_and_column(text, range.start);
        Record {
            severity: diagnostic.severity,
            file: file.to_owned(),
            line,
            column,
            key: diagnostic.key.clone(),
            message: diagnostic.message.clone(),
            help: diagnostic.help.clone(),
        }
    }

    /// The source name, the source text and a range that lies within it.
    fn locate(&self, origin: &Origin) -> (&str, &str, Range<usize>) {
        let (name, text, range) = match origin {
            Origin::File(range) => (&self.file, &self.text, range.clone()),
            Origin::Override(number, range) => match self.overrides.get(*number) {
                Some(argument) => (argument, argument, range.clone()),
                None => (&self.file, &self.text, 0..0),
            },
            Origin::Whole => (&self.file, &self.text, 0..0),
        };
        let end = floor_char(text, range.end);
        (name, text, floor_char(text, range.start).min(end)..end)
    }

    /// The report as text with excerpts of the source, wrapped to `width` columns, with ANSI
    /// colours if `color`. Errors come before warnings.
    pub fn render(&self, width: usize, color: bool) -> String {
        let theme = if color {
            GraphicalTheme::unicode()
        } else {
            GraphicalTheme::unicode_nocolor()
        };
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_width(width.max(40))
            .with_context_lines(1);
        let mut out = String::new();
        for severity in [Severity::Error, Severity::Warning] {
            let of_kind = || self.diagnostics.iter().filter(|d| d.severity == severity);
            for diagnostic in of_kind().take(SHOWN) {
                // Writing to a string cannot fail; were it to, the plain line still appears.
                if handler
                    .render_report(&mut out, &self.shown(diagnostic))
                    .is_err()
                {
                    out.push_str(&diagnostic.message);
                    out.push('\n');
                }
            }
            let rest = of_kind().count().saturating_sub(SHOWN);
            if rest > 0 {
                let kind = match severity {
                    Severity::Error => "errors",
                    Severity::Warning => "warnings",
                };
                out.push_str(&format!("… and {rest} more {kind}\n"));
            }
        }
        out
    }

    fn shown(&self, diagnostic: &Diagnostic) -> Shown {
        let (file, text, range) = self.locate(&diagnostic.origin);
        Shown {
            message: diagnostic.message.clone(),
            severity: diagnostic.severity,
            help: diagnostic.help.clone(),
            label: diagnostic.key.clone(),
            // Without a place there is no excerpt, but the file is still named.
            place: match diagnostic.origin {
                Origin::Whole => None,
                _ => Some((NamedSource::new(file, text.to_owned()), range)),
            },
            file: file.to_owned(),
        }
    }
}

impl fmt::Display for Report {
    /// One plain line per diagnostic: `file:line:column: key: message`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, record) in self.records().iter().enumerate() {
            let Record {
                file,
                line,
                column,
                key,
                message,
                ..
            } = record;
            let break_ = if i == 0 { "" } else { "\n" };
            write!(f, "{break_}{file}:{line}:{column}: ")?;
            if !key.is_empty() {
                write!(f, "{key}: ")?;
            }
            write!(f, "{message}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Report {}

/// A diagnostic dressed for miette.
#[derive(Debug)]
struct Shown {
    message: String,
    severity: Severity,
    help: Option<String>,
    label: String,
    place: Option<(NamedSource<String>, Range<usize>)>,
    file: String,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_none() {
            write!(f, "{}: ", self.file)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Shown {}

impl miette::Diagnostic for Shown {
    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }

    fn help(&self) -> Option<Box<dyn fmt::Display + '_>> {
        self.help.as_ref().map(|help| Box::new(help) as _)
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.place.as_ref().map(|(source, _)| source as _)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let (_, range) = self.place.as_ref()?;
        let label = (!self.label.is_empty()).then(|| self.label.clone());
        let span = LabeledSpan::new(label, range.start, range.len());
        Some(Box::new(std::iter::once(span)))
    }
}

/// The nearest character boundary at or below `at`.
fn floor_char(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at)
        .rev()
        .find(|&i| text.is_char_boundary(i))
        .unwrap_or(0)
}

fn line_and_column(text: &str, at: usize) -> [usize; 2] {
    let before = &text[..floor_char(text, at)];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    [
        before.matches('\n').count() + 1,
        before[line_start..].chars().count() + 1,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(diagnostics: Vec<Diagnostic>) -> Report {
        Report::new(
            "a.toml",
            "α = 1\nβγ = 2\n",
            vec!["--set x=1".into()],
            diagnostics,
        )
    }

    #[test]
    fn columns_count_characters_and_lines_count_from_one() {
        // "β" starts the second line; "2" stands at its sixth character.
        let at = "α = 1\nβγ = ".len();
        let found = report(vec![Diagnostic::error(
            Origin::File(at..at + 1),
            "βγ",
            "no",
        )]);
        let record = &found.records()[0];
        assert_eq!((record.line, record.column), (2, 6));
        assert_eq!(found.to_string(), "a.toml:2:6: βγ: no");
    }

    #[test]
    fn ranges_outside_the_text_or_inside_a_character_are_drawn_in() {
        for range in [1..1, 1..3, 500..900, 7..1000] {
            let found = report(vec![Diagnostic::error(Origin::File(range), "k", "no")]);
            assert!(found.render(80, false).contains("no"));
        }
    }

    #[test]
    fn an_override_is_shown_as_its_own_source() {
        let found = report(vec![Diagnostic::error(
            Origin::Override(0, 8..9),
            "x",
            "no",
        )]);
        assert_eq!(found.records()[0].file, "--set x=1");
        assert!(found.render(80, false).contains("--set x=1"));
    }

    #[test]
    fn long_reports_are_cut_and_counted() {
        let one = Diagnostic::error(Origin::Whole, "k", "no");
        let text = report(vec![one; 25]).render(80, false);
        assert!(text.contains("… and 5 more errors"), "{text}");
    }
}
