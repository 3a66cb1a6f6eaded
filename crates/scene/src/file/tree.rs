//! A scene file as a tree in which every key and value knows where it was written.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::diagnostics::{Diagnostic, Origin};

/// Tables and lists within one another that a scene may have. Shapes take two levels each.
pub(crate) const MAX_DEPTH: usize = 64;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Number(f64),
    Flag(bool),
    Date(String),
    List(Vec<Node>),
    Table(Table),
}

/// Keys in the order they were written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_origin: Origin,
    pub(crate) node: Node,
}

impl Table {
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        let found = self.entries.iter_mut().find(|entry| entry.key == key);
        found.map(|entry| &mut entry.node)
    }
}

/// Makes origins: a place in the file, or in the text of an override.
pub(crate) type Place<'a> = &'a dyn Fn(Range<usize>) -> Origin;

/// Converts a parsed table, reporting what cannot be held.
pub(crate) fn table(
    source: &DeTable<'_>,
    path: &str,
    depth: usize,
    place: Place<'_>,
    found: &mut Vec<Diagnostic>,
) -> Table {
    let mut out = Table::default();
    for (key, value) in source.iter() {
        let name = key.get_ref().to_string();
        let path = join(path, &name);
        let node = node(value, &path, depth + 1, place, found);
        out.entries.push(Entry {
            key: name,
            key_origin: place(key.span()),
            node,
        });
    }
    out
}

/// Converts a parsed value, reporting what cannot be held.
pub(crate) fn node(
    source: &Spanned<DeValue<'_>>,
    path: &str,
    depth: usize,
    place: Place<'_>,
    found: &mut Vec<Diagnostic>,
) -> Node {
    let origin = place(source.span());
    if depth > MAX_DEPTH {
        let message = format!("nested more than {MAX_DEPTH} levels deep");
        found.push(
            Diagnostic::error(origin.clone(), shortened(path), message)
                .help("lists of shapes (`union = [...]`) need no further nesting"),
        );
        return Node {
            value: Value::Flag(false),
            origin,
        };
    }
    let value = match source.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Integer(digits) => {
            let value = i64::from_str_radix(digits.as_str(), digits.radix());
            Value::Integer(value.unwrap_or_else(|_| {
                let message = "this whole number is too large";
                found.push(Diagnostic::error(origin.clone(), path, message));
                0
            }))
        }
        DeValue::Float(digits) => Value::Number(digits.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Array(items) => Value::List(list(items, path, depth, place, found)),
        DeValue::Table(inner) => Value::Table(table(inner, path, depth, place, found)),
    };
    Node { value, origin }
}

fn list(
    items: &DeArray<'_>,
    path: &str,
    depth: usize,
    place: Place<'_>,
    found: &mut Vec<Diagnostic>,
) -> Vec<Node> {
    let numbered = items.iter().enumerate();
    numbered
        .map(|(i, item)| node(item, &join(path, &i.to_string()), depth + 1, place, found))
        .collect()
}

/// `path.key`, or `key` at the top.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

fn shortened(path: &str) -> String {
    let start: String = path.chars().take(60).collect();
    if start.len() < path.len() {
        start + "…"
    } else {
        start
    }
}

impl Node {
    /// The same as a plain TOML value, for writing.
    pub(crate) fn to_toml(&self) -> toml::Value {
        match &self.value {
            Value::Text(text) | Value::Date(text) => toml::Value::String(text.clone()),
            Value::Integer(value) => toml::Value::Integer(*value),
            Value::Number(value) => toml::Value::Float(*value),
            Value::Flag(value) => toml::Value::Boolean(*value),
            Value::List(items) => toml::Value::Array(items.iter().map(Node::to_toml).collect()),
            Value::Table(table) => toml::Value::Table(table.to_toml()),
        }
    }
}

impl Table {
    /// The same as a plain TOML table, for writing.
    pub(crate) fn to_toml(&self) -> toml::Table {
        let entries = self.entries.iter();
        entries
            .map(|entry| (entry.key.clone(), entry.node.to_toml()))
            .collect()
    }
}
