//! Reading typed values out of the tree, with an error for whatever does not fit.
//!
//! A [`Fields`] remembers which keys it was asked for, so that [`Fields::finish`] knows which
//! of the user's keys mean nothing, and what they might have meant. Readers return `None` after
//! reporting an error; the caller goes on with a default, so that one pass finds all errors.

use std::cell::RefCell;
use std::ops::RangeInclusive;

use super::tree::{Entry, Node, Table, Value, join};
use crate::diagnostics::{Diagnostic, Origin, Severity};
use crate::schema;

/// No length, time or speed in a scene may be larger: beyond, squares overflow to nonsense.
const MAX_MAGNITUDE: f64 = 1e12;

/// What must be above zero may not be smaller: below, squares vanish.
const MIN_POSITIVE: f64 = 1e-12;

/// Collects what is found wrong.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    found: RefCell<Vec<Diagnostic>>,
}

impl Sink {
    pub(crate) fn push(&self, diagnostic: Diagnostic) {
        self.found.borrow_mut().push(diagnostic);
    }

    pub(crate) fn has_errors(&self) -> bool {
        let found = self.found.borrow();
        found.iter().any(|d| d.severity == Severity::Error)
    }

    pub(crate) fn into_inner(self) -> Vec<Diagnostic> {
        self.found.into_inner()
    }
}

/// A table being read.
pub(crate) struct Fields<'a> {
    table: &'a Table,
    path: String,
    origin: Origin,
    sink: &'a Sink,
    asked: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(table: &'a Table, path: &str, origin: Origin, sink: &'a Sink) -> Self {
        Self {
            table,
            path: path.to_owned(),
            origin,
            sink,
            asked: Vec::new(),
        }
    }

    pub(crate) fn origin(&self) -> Origin {
        self.origin.clone()
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = (&'a str, Origin)> {
        let entries = self.table.entries.iter();
        entries.map(|entry| (entry.key.as_str(), entry.key_origin.clone()))
    }

    /// The value of a key, if it is there.
    pub(crate) fn get(&mut self, key: &'static str) -> Option<Item<'a>> {
        self.asked.push(key);
        let entry = self.table.entries.iter().find(|entry| entry.key == key)?;
        Some(self.item(entry))
    }

    fn item(&self, entry: &'a Entry) -> Item<'a> {
        Item {
            node: &entry.node,
            key: join(&self.path, &entry.key),
            key_origin: entry.key_origin.clone(),
            sink: self.sink,
        }
    }

    /// The value of a key that must be there.
    pub(crate) fn require(&mut self, key: &'static str, example: &str) -> Option<Item<'a>> {
        let item = self.get(key);
        if item.is_none() {
            let place = match self.path.as_str() {
                "" => "the scene".to_owned(),
                path => format!("`{path}`"),
            };
            let message = format!("{place} has no `{key}`");
            let help = format!("add `{key} = {example}`");
            let key = join(&self.path, key);
            let diagnostic = Diagnostic::error(self.origin.clone(), key, message);
            self.sink.push(diagnostic.help(help));
        }
        item
    }

    /// Reports every key that was not asked for.
    pub(crate) fn finish(self) {
        for entry in &self.table.entries {
            if !self.asked.contains(&entry.key.as_str()) {
                let help = schema::suggest(&entry.key, &self.asked, &self.path);
                let message = format!("unknown key `{}`", entry.key);
                let key = join(&self.path, &entry.key);
                let diagnostic = Diagnostic::error(entry.key_origin.clone(), key, message);
                self.sink.push(diagnostic.help(help));
            }
        }
    }
}

/// A value being read, with the key it belongs to.
#[derive(Clone)]
pub(crate) struct Item<'a> {
    node: &'a Node,
    key: String,
    key_origin: Origin,
    sink: &'a Sink,
}

impl<'a> Item<'a> {
    pub(crate) fn origin(&self) -> Origin {
        self.node.origin.clone()
    }

    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Where the key itself stands.
    pub(crate) fn key_origin(&self) -> Origin {
        self.key_origin.clone()
    }

    /// Reports an error at this value and gives nothing.
    pub(crate) fn fail<T>(&self, message: impl Into<String>, help: impl Into<String>) -> Option<T> {
        let diagnostic = Diagnostic::error(self.origin(), &self.key, message);
        self.sink.push(diagnostic.help(help));
        None
    }

    fn wrong_type<T>(&self, expected: &str) -> Option<T> {
        let help = match &self.node.value {
            Value::Text(text)
                if text.parse::<f64>().is_ok() || text == "true" || text == "false" =>
            {
                format!("write it without quotes: {text}")
            }
            _ => format!("write `{}` as {expected}", last_part(&self.key)),
        };
        let found = describe(&self.node.value);
        self.fail(format!("expected {expected}, found {found}"), help)
    }

    /// Any finite number.
    pub(crate) fn number(&self) -> Option<f64> {
        let value = match self.node.value {
            Value::Integer(value) => value as f64,
            Value::Number(value) => value,
            _ => return self.wrong_type("a number"),
        };
        if !value.is_finite() {
            return self.fail(
                format!("{value} is not a finite number"),
                "use a finite number",
            );
        }
        if value.abs() > MAX_MAGNITUDE {
            let message = format!("{value:e} is too large");
            return self.fail(message, format!("numbers go up to {MAX_MAGNITUDE:e}"));
        }
        Some(value)
    }

    /// A number above zero, and not hardly so.
    pub(crate) fn positive(&self) -> Option<f64> {
        let value = self.number()?;
        let key = last_part(&self.key);
        if value <= 0.0 {
            let message = format!("{} is not above zero", readable(value));
            return self.fail(message, format!("`{key}` must be positive"));
        }
        if value < MIN_POSITIVE {
            let message = format!("{} is too close to zero", readable(value));
            return self.fail(message, format!("`{key}` must be {MIN_POSITIVE:e} or more"));
        }
        Some(value)
    }

    /// A number of zero or above.
    pub(crate) fn non_negative(&self) -> Option<f64> {
        let value = self.number()?;
        if value < 0.0 {
            let message = format!("{} is below zero", readable(value));
            let help = format!("`{}` must be zero or positive", last_part(&self.key));
            return self.fail(message, help);
        }
        Some(value)
    }

    /// A number in a closed range.
    pub(crate) fn number_in(&self, range: RangeInclusive<f64>) -> Option<f64> {
        let value = self.number()?;
        if !range.contains(&value) {
            let message = format!("{} is out of range", readable(value));
            let [low, high] = [range.start(), range.end()].map(|v| readable(*v));
            return self.fail(message, format!("use {low} to {high}"));
        }
        Some(value)
    }

    /// Whether a number stands here, of any kind.
    pub(crate) fn is_number(&self) -> bool {
        matches!(self.node.value, Value::Integer(_) | Value::Number(_))
    }

    /// A whole number in a closed range.
    pub(crate) fn whole(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let value = match self.node.value {
            Value::Integer(value) => value,
            Value::Number(value) if value.is_finite() => {
                let message = format!("expected a whole number, found {}", readable(value));
                return self.fail(message, format!("for example {}", readable(value.round())));
            }
            _ => return self.wrong_type("a whole number"),
        };
        let within = u64::try_from(value)
            .ok()
            .filter(|value| range.contains(value));
        if within.is_none() {
            let message = format!("{value} is out of range");
            let help = format!("use {} to {}", range.start(), range.end());
            return self.fail(message, help);
        }
        within
    }

    /// `true` or `false`.
    pub(crate) fn flag(&self) -> Option<bool> {
        match self.node.value {
            Value::Flag(value) => Some(value),
            _ => self.wrong_type("true or false"),
        }
    }

    /// Text.
    pub(crate) fn text(&self) -> Option<&'a str> {
        match &self.node.value {
            Value::Text(text) => Some(text),
            _ => self.wrong_type("text in quotes"),
        }
    }

    /// One of some names. `planned` names get a message of their own.
    pub(crate) fn choice<T: Copy>(&self, names: &[(&str, T)], planned: &[&str]) -> Option<T> {
        let text = self.text()?;
        if let Some((_, value)) = names.iter().find(|(name, _)| *name == text) {
            return Some(*value);
        }
        let known: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        let all = format!("choose from {}", schema::quoted_list(&known));
        if planned.contains(&text) {
            return self.fail(format!("`{text}` is not available yet"), all);
        }
        let help = match schema::nearest(text, &known) {
            Some(name) => format!("did you mean \"{name}\"? {all}"),
            None => all,
        };
        let message = format!("`{text}` is not a known {}", last_part(&self.key));
        self.fail(message, help)
    }

    /// Whether this is a list.
    pub(crate) fn is_list(&self) -> bool {
        matches!(self.node.value, Value::List(_))
    }

    /// Whether this is a table.
    pub(crate) fn is_table(&self) -> bool {
        matches!(self.node.value, Value::Table(_))
    }

    /// The items of a list.
    pub(crate) fn list(&self, of: &str) -> Option<Vec<Item<'a>>> {
        let Value::List(items) = &self.node.value else {
            return self.wrong_type(of);
        };
        let numbered = items.iter().enumerate();
        let items = numbered.map(|(i, node)| Item {
            node,
            key: join(&self.key, &i.to_string()),
            key_origin: node.origin.clone(),
            sink: self.sink,
        });
        Some(items.collect())
    }

    /// A vector of D numbers.
    pub(crate) fn vector<const D: usize>(&self) -> Option<[f64; D]> {
        let axes = if D == 2 { "[x, y]" } else { "[x, y, z]" };
        let items = self.list(&format!("{D} numbers {axes}"))?;
        if items.len() != D {
            let message = format!("expected {D} numbers {axes}, found {}", items.len());
            let help = format!("the scene has {D} dimensions");
            return self.fail(message, help);
        }
        // Every component is read, so that every bad one is reported.
        let numbers: Vec<Option<f64>> = items.iter().map(Item::number).collect();
        let numbers: Option<Vec<f64>> = numbers.into_iter().collect();
        numbers?.try_into().ok()
    }

    /// A vector of which some component is not zero.
    pub(crate) fn direction<const D: usize>(&self) -> Option<[f64; D]> {
        let v = self.vector::<D>()?;
        if v.iter().all(|c| c.abs() < 1e-12) {
            return self.fail("a direction cannot be zero", "for example [0, 1, 0]");
        }
        Some(v)
    }

    /// How many items a list has.
    pub(crate) fn list_length(&self) -> Option<usize> {
        match &self.node.value {
            Value::List(items) => Some(items.len()),
            _ => None,
        }
    }

    /// The fields of a table.
    pub(crate) fn fields(&self, expected: &str) -> Option<Fields<'a>> {
        let Value::Table(table) = &self.node.value else {
            return self.wrong_type(expected);
        };
        Some(Fields::new(table, &self.key, self.origin(), self.sink))
    }
}

/// A number as one would write it: with an exponent in place of many zeros.
pub(crate) fn readable(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) {
        format!("{value:e}")
    } else {
        value.to_string()
    }
}

fn last_part(key: &str) -> &str {
    let named = key.rsplit('.').find(|part| part.parse::<u64>().is_err());
    named.unwrap_or(key)
}

fn describe(value: &Value) -> String {
    match value {
        Value::Text(text) => {
            let start: String = text.chars().take(24).collect();
            let dots = if start.len() < text.len() { "…" } else { "" };
            format!("text \"{start}{dots}\"")
        }
        Value::Integer(value) => format!("the number {value}"),
        Value::Number(value) => format!("the number {}", readable(*value)),
        Value::Flag(value) => value.to_string(),
        Value::Date(value) => format!("the date {value}"),
        Value::List(items) => format!("a list of {}", items.len()),
        Value::Table(_) => "a table".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_without_rows_of_zeros() {
        let expected = [
            (0.0, "0"),
            (-2.5, "-2.5"),
            (1e-4, "0.0001"),
            (1e-300, "1e-300"),
            (-3e-5, "-3e-5"),
            (9_999_999.0, "9999999"),
            (1e12, "1e12"),
        ];
        for (value, text) in expected {
            assert_eq!(readable(value), text);
        }
    }
}
