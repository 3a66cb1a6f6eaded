//! Single NumPy arrays: the `.npy` format, versions 1 to 3.

use crate::error::Fault;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// What the entries of an array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Signed,
    Unsigned,
    Float,
    /// UTF-32.
    Text,
    Bytes,
}

/// An array, not yet read into numbers.
#[derive(Debug)]
pub(crate) struct Array<'a> {
    name: &'a str,
    class: Class,
    /// Bytes an entry.
    width: usize,
    big_endian: bool,
    shape: Vec<usize>,
    column_major: bool,
    data: &'a [u8],
}

impl<'a> Array<'a> {
    /// Reads the header of an array called `name`, and checks the size of what follows.
    pub(crate) fn parse(name: &'a str, bytes: &'a [u8]) -> Result<Array<'a>, Fault> {
        let not_npy = || Fault::new(name, "not a NumPy array; write it with numpy.savez");
        let version = bytes
            .strip_prefix(MAGIC)
            .and_then(|rest| rest.first().copied())
            .ok_or_else(not_npy)?;
        let (len, start) = match version {
            1 => {
                let len = bytes.get(8..10).ok_or_else(not_npy)?;
                (usize::from(u16::from_le_bytes([len[0], len[1]])), 10)
            }
            2 | 3 => {
                let len = bytes.get(8..12).ok_or_else(not_npy)?;
                (
                    u32::from_le_bytes([len[0], len[1], len[2], len[3]]) as usize,
                    12,
                )
            }
            _ => return Err(not_npy()),
        };
        let header = bytes.get(start..start + len).ok_or_else(not_npy)?;
        let header = std::str::from_utf8(header).map_err(|_| not_npy())?;
        let data = &bytes[start + len..];
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
        if needed != Some(data.len()) {
            return Err(Fault::new(
                name,
                format!("shape {shape:?} does not fit its {} bytes", data.len()),
            ));
        }
        Ok(Array {
            name,
            class,
            width,
            big_endian,
            shape,
            column_major: order.starts_with("True"),
            data,
        })
    }

    /// The sides of the array.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The length of an array of one dimension.
    pub(crate) fn len(&self) -> Result<usize, Fault> {
        match self.shape[..] {
            [len] => Ok(len),
            _ => Err(self.fault(format!(
                "must have one dimension, not shape {:?}",
                self.shape
            ))),
        }
    }

    /// A fault in this array.
    pub(crate) fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::new(self.name, message)
    }

    /// The entries of one dimension, each made from a whole number by `make`, which says no to
    /// numbers out of range.
    pub(crate) fn integers<T>(
        &self,
        allowed: &str,
        make: impl Fn(i64) -> Option<T>,
    ) -> Result<Vec<T>, Fault> {
        self.len()?;
        let signed = match self.class {
            Class::Signed => true,
            Class::Unsigned => false,
            _ => return Err(self.fault("must hold whole numbers; use int32 or int64")),
        };
        let whole = |entry: &[u8]| {
            let bits = self.bits(entry);
            let unused = 64 - 8 * self.width as u32;
            if signed {
                Some((bits << unused) as i64 >> unused)
            } else {
                i64::try_from(bits).ok()
            }
        };
        let entries = self.data.chunks_exact(self.width).enumerate();
        entries
            .map(|(at, entry)| {
                whole(entry).and_then(&make).ok_or_else(|| {
                    let value = whole(entry).map_or("too large".into(), |v| v.to_string());
                    self.fault(format!("entry {at} is {value}, not {allowed}"))
                })
            })
            .collect()
    }

    /// The entries as floating-point numbers, row by row.
    pub(crate) fn floats(&self) -> Result<Vec<f64>, Fault> {
        let entries = self.data.chunks_exact(self.width);
        let values: Vec<f64> = match (self.class, self.width) {
            (Class::Float, 8) => entries.map(|e| f64::from_bits(self.bits(e))).collect(),
            (Class::Float, 4) => entries
                .map(|e| f64::from(f32::from_bits(self.bits(e) as u32)))
                .collect(),
            _ => return Err(self.fault("must hold floating-point numbers; use float64")),
        };
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            return Err(self.fault(format!("entry {at} is {}, not a finite number", values[at])));
        }
        Ok(match self.shape[..] {
            [rows, columns] if self.column_major => (0..rows * columns)
                .map(|k| values[k % columns * rows + k / columns])
                .collect(),
            _ => values,
        })
    }

    /// The single string of an array of strings.
    pub(crate) fn text(&self) -> Result<String, Fault> {
        let text: Option<String> = match self.class {
            Class::Bytes => Some(self.data.iter().map(|&b| char::from(b)).collect()),
            Class::Text => self
                .data
                .chunks_exact(4)
                .map(|c| char::from_u32(self.bits(c) as u32))
                .collect(),
            _ => None,
        };
        let single = self.shape.iter().product::<usize>() == 1;
        text.filter(|_| single)
            .map(|text| text.trim_end_matches('\0').to_owned())
            .ok_or_else(|| self.fault("must be one string"))
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

/// An array as bytes: header, then the entries one after the other.
pub(crate) fn write(descr: &str, shape: &[usize], entries: impl Iterator<Item = u8>) -> Vec<u8> {
    let sides: String = shape.iter().map(|side| format!("{side},")).collect();
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sides}), }}");
    // Data begin at a multiple of 64 bytes, behind a newline.
    let unpadded = MAGIC.len() + 4 + header.len() + 1;
    header.extend(std::iter::repeat_n(
        ' ',
        unpadded.next_multiple_of(64) - unpadded,
    ));
    header.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(entries);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_come_back_as_they_went_in() {
        let values = [1.5_f64, -2.0, 1e300, 0.0, 7.0, 8.0];
        let bytes = write("<f8", &[3, 2], values.iter().flat_map(|v| v.to_le_bytes()));
        assert_eq!((bytes.len() - 48) % 64, 0);
        let array = Array::parse("a", &bytes).unwrap();
        assert_eq!(array.shape(), [3, 2]);
        assert_eq!(array.floats().unwrap(), values);
        assert!(array.len().is_err());
        let numbers = [-1_i32, 5, i32::MIN];
        let bytes = write("<i4", &[3], numbers.iter().flat_map(|v| v.to_le_bytes()));
        let array = Array::parse("a", &bytes).unwrap();
        let read = array.integers("a number", |v| i32::try_from(v).ok());
        assert_eq!(read.unwrap(), numbers);
    }

    #[test]
    fn columns_first_and_big_endian_are_understood() {
        let values = [1.0_f64, 4.0, 2.0, 5.0, 3.0, 6.0];
        let mut bytes = write(">f8", &[2, 3], values.iter().flat_map(|v| v.to_be_bytes()));
        let at = bytes.windows(5).position(|w| w == b"False").unwrap();
        bytes[at..at + 5].copy_from_slice(b"True ");
        let array = Array::parse("a", &bytes).unwrap();
        assert_eq!(array.floats().unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }

    #[test]
    fn a_string_is_read_in_both_encodings() {
        let wide = "flow".chars().flat_map(|c| (c as u32).to_le_bytes());
        let bytes = write("<U4", &[], wide);
        assert_eq!(Array::parse("k", &bytes).unwrap().text().unwrap(), "flow");
        let bytes = write("|S6", &[1], b"flow\0\0".iter().copied());
        assert_eq!(Array::parse("k", &bytes).unwrap().text().unwrap(), "flow");
    }

    #[test]
    fn lies_about_size_and_type_are_refused_by_name() {
        let bytes = write("<f8", &[1 << 40], [0; 16].into_iter());
        let fault = Array::parse("rhs", &bytes).unwrap_err().to_string();
        assert!(fault.starts_with("rhs: shape"), "{fault}");
        let bytes = write("<c16", &[1], [0; 16].into_iter());
        assert!(
            Array::parse("rhs", &bytes)
                .unwrap_err()
                .to_string()
                .contains("<c16")
        );
        let bytes = write("<f8", &[1], f64::NAN.to_le_bytes().into_iter());
        let fault = Array::parse("rhs", &bytes).unwrap().floats().unwrap_err();
        assert!(fault.to_string().contains("entry 0 is NaN"), "{fault}");
        assert!(Array::parse("rhs", b"").is_err());
        assert!(Array::parse("rhs", b"\x93NUMPY\x01\x00\xff\xff").is_err());
    }
}
