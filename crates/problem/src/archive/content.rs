//! Members of an archive as streams that are checked to their end.

use std::io::{BufReader, ErrorKind, Read};

use crc32fast::Hasher;
use flate2::bufread::DeflateDecoder;

use super::{Archive, DEFLATED, LOCAL, LOCAL_SIZE, Member, ReadAt, STORED, broken, u16_at, u32_at};
use crate::error::{Fault, ReadError};

/// Deflate cannot expand by more than this, so a larger claim is a lie.
const MOST_EXPANSION: u64 = 1032;

/// Packed bytes read at a time.
const PACKED: usize = 1 << 16;

/// The content of a member, from where it has been read to. Only after
/// [`finish`](Content::finish) is it known to be what was written.
pub(crate) struct Content<'a> {
    name: &'a str,
    bytes: Bytes<'a>,
    left: u64,
    crc: u32,
    hasher: Hasher,
}

/// The bytes of a member.
enum Bytes<'a> {
    Plain(Section<'a>),
    Deflated(Box<DeflateDecoder<BufReader<Section<'a>>>>),
}

/// A part of an archive.
struct Section<'a> {
    archive: &'a dyn ReadAt,
    at: u64,
    end: u64,
}

impl Read for Section<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let most = (self.end - self.at).min(into.len() as u64) as usize;
        let read = self.archive.read_at(self.at, &mut into[..most])?;
        self.at += read as u64;
        Ok(read)
    }
}

impl<'a> Content<'a> {
    pub(super) fn open(archive: &'a Archive<'_>, member: &'a Member) -> Result<Self, ReadError> {
        let head = archive.bytes(member.header_at, LOCAL_SIZE)?;
        if u32_at(&head, 0) != LOCAL {
            return Err(broken("a member is not where the directory says").into());
        }
        let names = u64::from(u16_at(&head, 26)) + u64::from(u16_at(&head, 28));
        let at = member.header_at + LOCAL_SIZE + names;
        let end = at.checked_add(member.packed);
        let end = end.filter(|&end| end <= archive.len);
        let section = Section {
            archive,
            at,
            end: end.ok_or_else(super::cut_off)?,
        };
        Ok(Content {
            name: &member.name,
            bytes: Bytes::of(section, member)?,
            left: member.size,
            crc: member.crc,
            hasher: Hasher::new(),
        })
    }

    /// Bytes not read yet.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// Reads as many bytes as there is room for; there must be as many left.
    pub(crate) fn fill(&mut self, into: &mut [u8]) -> Result<(), ReadError> {
        if into.len() as u64 > self.left {
            return Err(self.damaged().into());
        }
        let mut rest = &mut *into;
        while !rest.is_empty() {
            match self.bytes.read(rest)? {
                0 => return Err(self.damaged().into()),
                read => rest = &mut rest[read..],
            }
        }
        self.hasher.update(into);
        self.left -= into.len() as u64;
        Ok(())
    }

    /// Reads what is left and checks that all of it is what was written.
    pub(crate) fn finish(mut self) -> Result<(), ReadError> {
        let mut buffer = vec![0; self.left.min(PACKED as u64) as usize];
        while self.left > 0 {
            let next = buffer.len().min(self.left as usize);
            self.fill(&mut buffer[..next])?;
        }
        let is_over = self.bytes.read(&mut [0])? == 0;
        if is_over && self.hasher.clone().finalize() == self.crc {
            Ok(())
        } else {
            Err(self.damaged().into())
        }
    }

    fn damaged(&self) -> Fault {
        damaged(self.name)
    }
}

fn damaged(name: &str) -> Fault {
    broken(&format!("{name} is damaged"))
}

impl<'a> Bytes<'a> {
    fn of(section: Section<'a>, member: &Member) -> Result<Self, Fault> {
        match member.method {
            STORED if member.size != member.packed => Err(damaged(&member.name)),
            STORED => Ok(Bytes::Plain(section)),
            DEFLATED if member.size / MOST_EXPANSION > member.packed + 64 => {
                Err(broken("a member claims an impossible size"))
            }
            DEFLATED => {
                let packed = BufReader::with_capacity(PACKED, section);
                Ok(Bytes::Deflated(Box::new(DeflateDecoder::new(packed))))
            }
            other => Err(broken(&format!(
                "{} is compressed by method {other}, which NumPy does not use",
                member.name
            ))),
        }
    }

    fn read(&mut self, into: &mut [u8]) -> Result<usize, ReadError> {
        match self {
            Bytes::Plain(section) => Ok(section.read(into)?),
            Bytes::Deflated(decoder) => decoder.read(into).map_err(|error| match error.kind() {
                ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof => {
                    broken("compressed data are damaged").into()
                }
                _ => ReadError::Io(error),
            }),
        }
    }
}
