//! Single NumPy arrays: the `.npy` format, versions 1 to 3.

mod header;

use self::header::{Class, Header};
use crate::archive::Content;
use crate::error::{Fault, ReadError};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// An array that is read from its first entry to its last.
pub(crate) struct Array<'a> {
    name: &'a str,
    header: Header,
    content: Content<'a>,
    /// Entries read so far.
    read: usize,
    buffer: Vec<u8>,
}

/// Bytes read at a time; entries of all widths that numbers have fit exactly.
const AT_A_TIME: usize = 1 << 18;

impl<'a> Array<'a> {
    /// Reads the header of an array called `name`, and checks the size of what follows.
    pub(crate) fn open(name: &'a str, mut content: Content<'a>) -> Result<Array<'a>, ReadError> {
        match Header::read(name, &mut content) {
            Ok(header) => Ok(Array {
                name,
                header,
                content,
                read: 0,
                buffer: Vec::new(),
            }),
            Err(error) => Err(content.finish().err().unwrap_or(error)),
        }
    }

    /// The sides of the array.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.header.shape
    }

    /// The length of an array of one dimension.
    pub(crate) fn len(&self) -> Result<usize, Fault> {
        match self.header.shape[..] {
            [len] => Ok(len),
            _ => Err(self.fault(format!(
                "must have one dimension, not shape {:?}",
                self.header.shape
            ))),
        }
    }

    /// A fault in this array.
    pub(crate) fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::new(self.name, message)
    }

    /// Checks what was read and what was not.
    pub(crate) fn finish(self) -> Result<(), ReadError> {
        self.content.finish()
    }

    /// What is to blame for an error in what was read: damage, if there is any, explains it.
    pub(crate) fn blame(self, error: ReadError) -> ReadError {
        self.finish().err().unwrap_or(error)
    }

    /// The entries of one dimension, each made from a whole number by `make`, which says no to
    /// numbers out of range.
    pub(crate) fn integers<T>(
        &mut self,
        allowed: &str,
        make: impl Fn(i64) -> Option<T>,
    ) -> Result<Vec<T>, ReadError> {
        let len = self.len()?;
        let mut entries = Vec::with_capacity(len);
        self.some_integers(len, &mut entries, allowed, make)?;
        Ok(entries)
    }

    /// Appends the next `count` entries; as [`integers`](Self::integers) does.
    pub(crate) fn some_integers<T>(
        &mut self,
        count: usize,
        into: &mut Vec<T>,
        allowed: &str,
        make: impl Fn(i64) -> Option<T>,
    ) -> Result<(), ReadError> {
        let Header { class, width, .. } = self.header;
        if ![Class::Signed, Class::Unsigned].contains(&class) {
            let message = "must hold whole numbers; use int32 or int64";
            return Err(self.fault(message).into());
        }
        self.each_part(count, |header, bytes| {
            let entries = bytes.chunks_exact(width);
            // The usual kinds by name, so that they are read at the speed of memory.
            let refused = match (class, width, header.big_endian) {
                (Class::Signed, 4, false) => append(entries, into, |e| {
                    make(i64::from(i32::from_le_bytes(*e.first_chunk()?)))
                }),
                (Class::Signed, 8, false) => append(entries, into, |e| {
                    make(i64::from_le_bytes(*e.first_chunk()?))
                }),
                _ => append(entries, into, |e| header.whole(e).and_then(&make)),
            };
            refused.map_err(|at| {
                let value = header.whole(&bytes[at * width..][..width]);
                let value = value.map_or("too large".into(), |v| v.to_string());
                (at, format!("is {value}, not {allowed}"))
            })
        })
    }

    /// The entries as floating-point numbers, row by row.
    pub(crate) fn floats(&mut self) -> Result<Vec<f64>, ReadError> {
        let len = self.header.shape.iter().product();
        let mut values = Vec::with_capacity(len);
        self.some_floats(len, &mut values)?;
        Ok(match self.header.shape[..] {
            [rows, columns] if self.header.column_major => (0..rows * columns)
                .map(|k| values[k % columns * rows + k / columns])
                .collect(),
            _ => values,
        })
    }

    /// Appends the next `count` entries as they are stored.
    pub(crate) fn some_floats(
        &mut self,
        count: usize,
        into: &mut Vec<f64>,
    ) -> Result<(), ReadError> {
        let Header { class, width, .. } = self.header;
        if class != Class::Float {
            let message = "must hold floating-point numbers; use float64";
            return Err(self.fault(message).into());
        }
        let finite = |value: f64| value.is_finite().then_some(value);
        self.each_part(count, |header, bytes| {
            let entries = bytes.chunks_exact(width);
            let refused = match (width, header.big_endian) {
                (8, false) => append(entries, into, |e| {
                    finite(f64::from_le_bytes(*e.first_chunk()?))
                }),
                _ => append(entries, into, |e| finite(header.float(e))),
            };
            refused.map_err(|at| {
                let value = header.float(&bytes[at * width..][..width]);
                (at, format!("is {value}, not a finite number"))
            })
        })
    }

    /// Reads the next `count` entries, some at a time. `take` appends the entries of its bytes, or
    /// says what is wrong with the first that it cannot take.
    fn each_part(
        &mut self,
        count: usize,
        mut take: impl FnMut(&Header, &[u8]) -> Result<(), (usize, String)>,
    ) -> Result<(), ReadError> {
        let width = self.header.width;
        let mut left = count;
        while left > 0 {
            let part = left.min(AT_A_TIME / width);
            self.buffer.resize(part * width, 0);
            self.content.fill(&mut self.buffer)?;
            if let Err((at, message)) = take(&self.header, &self.buffer) {
                return Err(self
                    .fault(format!("entry {} {message}", self.read + at))
                    .into());
            }
            self.read += part;
            left -= part;
        }
        Ok(())
    }

    /// The single string of an array of strings.
    pub(crate) fn text(&mut self) -> Result<String, ReadError> {
        let single = self.header.shape.iter().product::<usize>() == 1;
        let mut text = None;
        if single {
            let mut bytes = vec![0; self.header.width];
            self.content.fill(&mut bytes)?;
            text = self.header.text(&bytes);
        }
        let text = text.map(|text| text.trim_end_matches('\0').to_owned());
        text.ok_or_else(|| self.fault("must be one string").into())
    }
}

/// Appends what `make` makes of entries; the place of the first that it refuses, if any.
fn append<'a, T>(
    entries: impl Iterator<Item = &'a [u8]>,
    into: &mut Vec<T>,
    make: impl Fn(&[u8]) -> Option<T>,
) -> Result<(), usize> {
    for (at, entry) in entries.enumerate() {
        into.push(make(entry).ok_or(at)?);
    }
    Ok(())
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
    use std::io::Cursor;

    use super::*;
    use crate::archive::{Archive, ArchiveWriter};

    /// Reads from the array of these bytes.
    fn read<T>(
        name: &str,
        bytes: &[u8],
        read: impl FnOnce(&mut Array<'_>) -> Result<T, ReadError>,
    ) -> Result<T, Fault> {
        let mut writer = ArchiveWriter::default();
        writer.add(name, bytes).unwrap();
        let bytes = writer.finish().unwrap();
        let archive = Archive::open(Box::new(Cursor::new(bytes))).unwrap();
        let content = archive.member(name).unwrap().unwrap();
        let read = Array::open(name, content).and_then(|mut array| {
            let found = read(&mut array)?;
            array.finish()?;
            Ok(found)
        });
        read.map_err(ReadError::into_fault)
    }

    #[test]
    fn arrays_come_back_as_they_went_in() {
        let values = [1.5_f64, -2.0, 1e300, 0.0, 7.0, 8.0];
        let bytes = write("<f8", &[3, 2], values.iter().flat_map(|v| v.to_le_bytes()));
        assert_eq!((bytes.len() - 48) % 64, 0);
        let found = read("a", &bytes, |array| {
            assert_eq!(array.shape(), [3, 2]);
            assert!(array.len().is_err());
            array.floats()
        });
        assert_eq!(found.unwrap(), values);
        let numbers = [-1_i32, 5, i32::MIN];
        let bytes = write("<i4", &[3], numbers.iter().flat_map(|v| v.to_le_bytes()));
        let found = read("a", &bytes, |array| {
            array.integers("a number", |v| i32::try_from(v).ok())
        });
        assert_eq!(found.unwrap(), numbers);
    }

    #[test]
    fn columns_first_and_big_endian_are_understood() {
        let values = [1.0_f64, 4.0, 2.0, 5.0, 3.0, 6.0];
        let mut bytes = write(">f8", &[2, 3], values.iter().flat_map(|v| v.to_be_bytes()));
        let at = bytes.windows(5).position(|w| w == b"False").unwrap();
        bytes[at..at + 5].copy_from_slice(b"True ");
        let found = read("a", &bytes, |array| array.floats()).unwrap();
        assert_eq!(found, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }

    #[test]
    fn a_string_is_read_in_both_encodings() {
        let wide = "flow".chars().flat_map(|c| (c as u32).to_le_bytes());
        let bytes = write("<U4", &[], wide);
        assert_eq!(read("k", &bytes, |array| array.text()).unwrap(), "flow");
        let bytes = write("|S6", &[1], b"flow\0\0".iter().copied());
        assert_eq!(read("k", &bytes, |array| array.text()).unwrap(), "flow");
    }

    #[test]
    fn lies_about_size_and_type_are_refused_by_name() {
        let bytes = write("<f8", &[1 << 40], [0; 16].into_iter());
        let refuse = |bytes: &[u8]| {
            read("rhs", bytes, |array| array.floats())
                .unwrap_err()
                .to_string()
        };
        let fault = refuse(&bytes);
        assert!(fault.starts_with("rhs: shape"), "{fault}");
        let bytes = write("<c16", &[1], [0; 16].into_iter());
        assert!(refuse(&bytes).contains("<c16"));
        let bytes = write("<f8", &[1], f64::NAN.to_le_bytes().into_iter());
        let fault = refuse(&bytes);
        assert!(fault.contains("entry 0 is NaN"), "{fault}");
        for cut in [&b""[..], b"\x93NUMPY\x01\x00\xff\xff"] {
            assert!(refuse(cut).contains("not a NumPy array"));
        }
    }

    #[test]
    fn what_is_read_in_parts_is_numbered_throughout() {
        let mut values = vec![0.5_f64; 2 * AT_A_TIME / 8 + 3];
        let last = values.len() - 1;
        values[last] = f64::INFINITY;
        let bytes = write(
            "<f8",
            &[values.len()],
            values.iter().flat_map(|v| v.to_le_bytes()),
        );
        let read = read("a", &bytes, |array| {
            let mut found = Vec::new();
            array.some_floats(5, &mut found)?;
            array.some_floats(last - 5, &mut found)?;
            assert_eq!(found, values[..last]);
            array.some_floats(1, &mut found)
        });
        let fault = read.unwrap_err().to_string();
        assert!(fault.contains(&format!("entry {last} is inf")), "{fault}");
    }
}
