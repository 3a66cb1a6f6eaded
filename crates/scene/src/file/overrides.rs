//! Values from the command line that replace those of the file.

use std::ops::Range;

use toml::de::DeValue;

use super::tree::{self, Entry, Node, Table, Value};
use crate::diagnostics::{Diagnostic, Origin};

/// What the command line changes in a scene before it is resolved.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// `key=value` pairs, keys dotted from the top of the file with list items by number:
    /// `pressure.method=mg`, `liquid.0.velocity=[0, 1, 0]`. Values are TOML; a bare word is
    /// text. Applied in order.
    pub set: Vec<String>,
    /// Frames to simulate (`-f`), over `frames`.
    pub frames: Option<u64>,
    /// Cells along the longest side (`-r`), over `resolution`.
    pub resolution: Option<u64>,
    /// Whether a scene too large for this machine is accepted (`--force`).
    pub force: bool,
}

impl Overrides {
    /// The arguments as typed, numbered as [`Origin::Override`] numbers them.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let sets = self.set.iter().map(|pair| format!("--set {pair}"));
        let frames = self.frames.map(|value| format!("-f {value}"));
        let resolution = self.resolution.map(|value| format!("-r {value}"));
        sets.chain(frames).chain(resolution).collect()
    }

    /// Whether anything is changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.frames.is_none() && self.resolution.is_none()
    }

    /// Applies every override to the tree.
    pub(crate) fn apply(&self, root: &mut Table, found: &mut Vec<Diagnostic>) {
        for (number, pair) in self.set.iter().enumerate() {
            let offset = "--set ".len();
            if let Err(diagnostic) = set(root, number, offset, pair, found) {
                found.push(diagnostic);
            }
        }
        let mut number = self.set.len();
        for (key, value) in [("frames", self.frames), ("resolution", self.resolution)] {
            let Some(value) = value else { continue };
            let origin = Origin::Override(number, 3..3 + value.to_string().len());
            let value = Value::Integer(i64::try_from(value).unwrap_or(i64::MAX));
            put(root, key, Node { value, origin });
            number += 1;
        }
    }
}

/// Applies one `key=value`.
fn set(
    root: &mut Table,
    number: usize,
    offset: usize,
    pair: &str,
    found: &mut Vec<Diagnostic>,
) -> Result<(), Diagnostic> {
    let at =
        |range: Range<usize>| Origin::Override(number, offset + range.start..offset + range.end);
    let Some((key, text)) = pair.split_once('=') else {
        let message = "an override is written `key=value`";
        return Err(Diagnostic::error(at(0..pair.len()), pair, message)
            .help("for example `--set pressure.method=mg`"));
    };
    let value_start = key.len() + 1;
    let place = |range: Range<usize>| at(value_start + range.start..value_start + range.end);
    let parts: Vec<&str> = key.split('.').map(str::trim).collect();
    if parts.iter().any(|part| part.is_empty()) || parts.len() > tree::MAX_DEPTH {
        let message = format!("`{key}` is not a dotted key");
        return Err(Diagnostic::error(at(0..key.len()), key, message)
            .help("write keys as in `pressure.method` or `liquid.0.velocity`"));
    }
    let node = parse_value(text, key, &place, found)?;
    let (last, way) = parts.split_last().unwrap_or((&"", &[]));
    let table = descend(root, way, key, &at)?;
    match table {
        Spot::Table(table) => put(table, last, node),
        Spot::List(items) => {
            let slot = index(items, last, key, &at)?;
            items[slot] = node;
        }
    }
    Ok(())
}

/// What a key's last part names an entry of.
enum Spot<'a> {
    Table(&'a mut Table),
    List(&'a mut Vec<Node>),
}

/// Walks down to where the last part of a key lives, making tables that are not there yet.
fn descend<'a>(
    root: &'a mut Table,
    way: &[&str],
    key: &str,
    at: &dyn Fn(Range<usize>) -> Origin,
) -> Result<Spot<'a>, Diagnostic> {
    let mut spot = Spot::Table(root);
    for part in way {
        let node = match spot {
            Spot::Table(table) => {
                if table.get_mut(part).is_none() {
                    let value = Value::Table(Table::default());
                    put(
                        table,
                        part,
                        Node {
                            value,
                            origin: at(0..key.len()),
                        },
                    );
                }
                match table.get_mut(part) {
                    Some(node) => node,
                    None => return Err(no_such(key, part, at)),
                }
            }
            Spot::List(items) => {
                let slot = index(items, part, key, at)?;
                &mut items[slot]
            }
        };
        spot = match &mut node.value {
            Value::Table(table) => Spot::Table(table),
            Value::List(items) => Spot::List(items),
            _ => return Err(no_such(key, part, at)),
        };
    }
    Ok(spot)
}

fn no_such(key: &str, part: &str, at: &dyn Fn(Range<usize>) -> Origin) -> Diagnostic {
    let message = format!("`{part}` is a plain value, so there is no `{key}` in it");
    Diagnostic::error(at(0..key.len()), key, message)
}

fn index(
    items: &[Node],
    part: &str,
    key: &str,
    at: &dyn Fn(Range<usize>) -> Origin,
) -> Result<usize, Diagnostic> {
    let slot = part.parse().ok().filter(|&slot: &usize| slot < items.len());
    slot.ok_or_else(|| {
        let message = format!("`{part}` in `{key}` is not the number of an item");
        let help = match items.len() {
            0 => "the list is empty".to_owned(),
            count => format!("the list has {count}, numbered 0 to {}", count - 1),
        };
        Diagnostic::error(at(0..key.len()), key, message).help(help)
    })
}

fn put(table: &mut Table, key: &str, node: Node) {
    match table.entries.iter_mut().find(|entry| entry.key == key) {
        Some(entry) => {
            entry.key_origin = node.origin.clone();
            entry.node = node;
        }
        None => table.entries.push(Entry {
            key: key.to_owned(),
            key_origin: node.origin.clone(),
            node,
        }),
    }
}

/// TOML if it is TOML; a bare word otherwise.
fn parse_value(
    text: &str,
    key: &str,
    place: tree::Place<'_>,
    found: &mut Vec<Diagnostic>,
) -> Result<Node, Diagnostic> {
    if text.len() > super::MAX_BYTES {
        let message = "the value is too long";
        return Err(Diagnostic::error(place(0..0), key, message));
    }
    let lead = text.len() - text.trim_start().len();
    let place = &|range: Range<usize>| place(lead + range.start..lead + range.end);
    let text = text.trim();
    match DeValue::parse(text) {
        Ok(value) => Ok(tree::node(&value, key, 1, place, found)),
        Err(_) if is_bare_word(text) => Ok(Node {
            value: Value::Text(text.to_owned()),
            origin: place(0..text.len()),
        }),
        Err(error) => {
            let span = error.span().unwrap_or(0..text.len());
            Err(Diagnostic::error(place(span), key, error.message())
                .help("values are TOML: `0.5`, `[0, 1, 0]`, `\"text\"`, `true`"))
        }
    }
}

fn is_bare_word(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(char::is_alphabetic)
        && letters.all(|c| c.is_alphanumeric() || "-_+.".contains(c))
}
