//! What an array says of itself, and what its entries are.

use super::MAGIC;
use crate::archive::Content;
use crate::error::{Fault, ReadError};

/// What the entries of an array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Signed,
    Unsigned,
    Float,
    /// UTF-32.
    Text,
    Bytes,
}

/// What the header of an array says.
#[derive(Debug)]
pub(super) struct Header {
    pub class: Class,
    /// Bytes an entry.
    pub width: usize,
    pub big_endian: bool,
    pub shape: Vec<usize>,
    pub column_major: bool,
}

impl Header {
    /// Reads the header of an array called `name`.
    pub(super) fn read(name: &str, content: &mut Content<'_>) -> Result<Header, ReadError> {
        let not_npy = || Fault::new(name, "not a NumPy array; write it with numpy.savez");
        let mut next = |len: usize| -> Result<Vec<u8>, ReadError> {
            if len as u64 > content.left() {
                return Err(not_npy().into());
            }
            let mut bytes = vec![0; len];
            content.fill(&mut bytes)?;
            Ok(bytes)
        };
        let start = next(MAGIC.len() + 2)?;
        let version = start.strip_prefix(MAGIC).ok_or_else(not_npy)?[0];
        let len = match version {
            1 => next(2)?,
            2 | 3 => next(4)?,
            _ => return Err(not_npy().into()),
        };
        let len = len
            .iter()
            .rev()
            .fold(0, |len, &byte| len << 8 | usize::from(byte));
        let header = next(len)?;
        let header = std::str::from_utf8(&header).map_err(|_| not_npy())?;
        Ok(Header::parse(name, header, content.left())?)
    }

    /// Reads the text of a header that so many bytes follow.
    fn parse(name: &str, header: &str, left: u64) -> Result<Header, Fault> {
        let not_npy = || Fault::new(name, "not a NumPy array; write it with numpy.savez");
        let descr = quoted(value_of(header, "descr").ok_or_else(not_npy)?)
            .ok_or_else(|| Fault::new(name, "structured arrays are not read; use a plain dtype"))?;
        let (class, width, big_endian) = dtype(descr).ok_or_else(|| {
            let message = format!("dtype {descr} is not read; use float64, int32 or int64");
            Fault::new(name, message)
        })?;
        let order = value_of(header, "fortran_order").ok_or_else(not_npy)?;
        let shape = value_of(header, "shape")
            .and_then(tuple)
            .ok_or_else(not_npy)?;
        let entries = shape
            .iter()
            .try_fold(1_usize, |n, &side| n.checked_mul(side));
        let needed = entries.and_then(|n| n.checked_mul(width));
        if needed.map(|needed| needed as u64) != Some(left) {
            return Err(Fault::new(
                name,
                format!("shape {shape:?} does not fit its {left} bytes"),
            ));
        }
        Ok(Header {
            class,
            width,
            big_endian,
            shape,
            column_major: order.starts_with("True"),
        })
    }

    /// The bits of an entry of up to eight bytes.
    fn bits(&self, entry: &[u8]) -> u64 {
        let push = |bits: u64, byte: &u8| bits << 8 | u64::from(*byte);
        if self.big_endian {
            entry.iter().fold(0, push)
        } else {
            entry.iter().rev().fold(0, push)
        }
    }

    /// An entry as a whole number, if it is not too large.
    pub(super) fn whole(&self, entry: &[u8]) -> Option<i64> {
        let bits = self.bits(entry);
        if self.class == Class::Signed {
            let unused = 64 - 8 * self.width as u32;
            Some((bits << unused) as i64 >> unused)
        } else {
            i64::try_from(bits).ok()
        }
    }

    /// An entry of a floating-point array.
    pub(super) fn float(&self, entry: &[u8]) -> f64 {
        match self.width {
            8 => f64::from_bits(self.bits(entry)),
            _ => f64::from(f32::from_bits(self.bits(entry) as u32)),
        }
    }

    /// An entry of an array of strings.
    pub(super) fn text(&self, entry: &[u8]) -> Option<String> {
        match self.class {
            Class::Bytes => Some(entry.iter().map(|&b| char::from(b)).collect()),
            Class::Text => entry
                .chunks_exact(4)
                .map(|c| char::from_u32(self.bits(c) as u32))
                .collect(),
            _ => None,
        }
    }
}

/// The text after `'key':` in a header.
fn value_of<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let quoted = [format!("'{key}'"), format!("\"{key}\"")];
    let after = quoted
        .iter()
        .find_map(|key| header.split_once(key.as_str()))?
        .1;
    Some(after.trim_start().strip_prefix(':')?.trim_start())
}

/// The string that a value begins with.
fn quoted(value: &str) -> Option<&str> {
    let quote = value.chars().next().filter(|c| ['\'', '"'].contains(c))?;
    value[1..].split_once(quote).map(|(text, _)| text)
}

/// The tuple of sizes that a value begins with.
fn tuple(value: &str) -> Option<Vec<usize>> {
    let (inside, _) = value.strip_prefix('(')?.split_once(')')?;
    let numbers = inside.split(',').map(str::trim);
    let numbers = numbers.filter(|number| !number.is_empty());
    let sizes: Option<Vec<usize>> = numbers
        .map(|number| number.trim_end_matches('L').parse().ok())
        .collect();
    sizes.filter(|sizes| sizes.len() <= 8)
}

/// Class, bytes an entry, whether big-endian.
fn dtype(descr: &str) -> Option<(Class, usize, bool)> {
    let big_endian = descr.starts_with('>');
    let rest = descr.trim_start_matches(['<', '>', '=', '|']);
    let kind = rest.chars().next()?;
    let width: usize = rest.get(kind.len_utf8()..)?.parse().ok()?;
    let number = [1, 2, 4, 8].contains(&width);
    let text = (1..=1000).contains(&width);
    Some(match kind {
        'i' if number => (Class::Signed, width, big_endian),
        'u' | 'b' if number => (Class::Unsigned, width, big_endian),
        'f' if [4, 8].contains(&width) => (Class::Float, width, big_endian),
        'U' if text => (Class::Text, 4 * width, big_endian),
        'S' if text => (Class::Bytes, width, big_endian),
        _ => return None,
    })
}
