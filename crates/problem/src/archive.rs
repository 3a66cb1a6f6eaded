//! Zip archives, as far as NumPy uses them: stored or deflated members, found by the central
//! directory at the end of the file.

mod content;
mod write;

use std::io::{Read, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

pub(crate) use self::content::Content;
pub(crate) use self::write::ArchiveWriter;
use crate::error::{Fault, ReadError};

const END: u32 = 0x0605_4b50;
const END_64_LOCATOR: u32 = 0x0706_4b50;
const END_64: u32 = 0x0606_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const LOCAL: u32 = 0x0403_4b50;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// More members than any problem has.
const MOST_MEMBERS: u64 = 1000;

/// The sizes of records, without what has no fixed size.
const END_SIZE: u64 = 22;
const ENTRY_SIZE: u64 = 46;
const LOCAL_SIZE: u64 = 30;

/// The longest comment at the end of an archive.
const LONGEST_COMMENT: u64 = 65_535;

/// A member as the central directory tells of it.
#[derive(Debug)]
struct Member {
    name: String,
    method: u16,
    crc: u32,
    packed: u64,
    size: u64,
    header_at: u64,
}

/// Something that archives are read from: a file, or bytes in memory.
pub(crate) trait Source: Read + Seek + Send {}

impl<T: Read + Seek + Send> Source for T {}

/// An archive, of which nothing is held but the directory.
pub(crate) struct Archive<'s> {
    source: Mutex<Box<dyn Source + 's>>,
    len: u64,
    members: Vec<Member>,
}

fn broken(what: &str) -> Fault {
    Fault::new(
        "archive",
        format!("{what}; write it again with numpy.savez or plash"),
    )
}

fn cut_off() -> Fault {
    broken("it is cut off or its directory is wrong")
}

/// The little-endian number at a place of a record, which is long enough.
fn u16_at(record: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([record[at], record[at + 1]])
}

fn u32_at(record: &[u8], at: usize) -> u32 {
    u32::from(u16_at(record, at)) | u32::from(u16_at(record, at + 2)) << 16
}

fn u64_at(record: &[u8], at: usize) -> u64 {
    u64::from(u32_at(record, at)) | u64::from(u32_at(record, at + 4)) << 32
}

impl<'s> Archive<'s> {
    /// Reads the directory of an archive.
    pub(crate) fn open(mut source: Box<dyn Source + 's>) -> Result<Archive<'s>, ReadError> {
        let mut archive = Archive {
            len: source.seek(SeekFrom::End(0))?,
            source: Mutex::new(source),
            members: Vec::new(),
        };
        let (count, mut at) = archive.directory()?;
        if count > MOST_MEMBERS {
            return Err(broken("it lists thousands of members").into());
        }
        for _ in 0..count {
            let (member, next) = archive.entry(at)?;
            archive.members.push(member);
            at = next;
        }
        Ok(archive)
    }

    /// The names of all members.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| member.name.as_str())
    }

    /// The content of the member of that name, if there is one; two of one name are refused.
    pub(crate) fn member(&self, name: &str) -> Result<Option<Content<'_>>, ReadError> {
        let mut found = self.members.iter().filter(|member| member.name == name);
        let Some(member) = found.next() else {
            return Ok(None);
        };
        if found.next().is_some() {
            return Err(broken(&format!("it holds {name} twice")).into());
        }
        Content::open(self, member).map(Some)
    }

    /// Some bytes of the archive.
    fn bytes(&self, at: u64, len: u64) -> Result<Vec<u8>, ReadError> {
        if at.checked_add(len).is_none_or(|end| end > self.len) {
            return Err(cut_off().into());
        }
        let mut bytes = vec![0; len as usize];
        self.read_exact_at(at, &mut bytes)?;
        Ok(bytes)
    }

    fn read_exact_at(&self, mut at: u64, mut into: &mut [u8]) -> Result<(), ReadError> {
        while !into.is_empty() {
            match self.read_at(at, into)? {
                // Somebody has shortened the file meanwhile.
                0 => return Err(cut_off().into()),
                read => {
                    at += read as u64;
                    into = &mut into[read..];
                }
            }
        }
        Ok(())
    }

    /// The number of members and where the central directory begins.
    fn directory(&self) -> Result<(u64, u64), ReadError> {
        if self.len < END_SIZE {
            return Err(broken("it is too short").into());
        }
        let tail_len = self.len.min(END_SIZE + LONGEST_COMMENT);
        let tail = self.bytes(self.len - tail_len, tail_len)?;
        let end = (0..=tail.len() - END_SIZE as usize)
            .rev()
            .find(|&at| u32_at(&tail, at) == END)
            .ok_or_else(|| broken("it is not a zip archive, or cut off"))?;
        if let Some(wide) = self.directory_64(self.len - tail_len + end as u64)? {
            return Ok(wide);
        }
        let (count, at) = (u16_at(&tail, end + 10), u32_at(&tail, end + 16));
        Ok((u64::from(count), u64::from(at)))
    }

    /// The same in an archive with 64-bit records, one of which is then before the end record.
    fn directory_64(&self, end: u64) -> Result<Option<(u64, u64)>, ReadError> {
        let Some(at) = end.checked_sub(20) else {
            return Ok(None);
        };
        let locator = self.bytes(at, 20)?;
        if u32_at(&locator, 0) != END_64_LOCATOR {
            return Ok(None);
        }
        let record = self.bytes(u64_at(&locator, 8), 56)?;
        if u32_at(&record, 0) != END_64 {
            return Err(broken("its directory is not where it says").into());
        }
        Ok(Some((u64_at(&record, 32), u64_at(&record, 48))))
    }

    /// One entry of the central directory, and where the next begins.
    fn entry(&self, at: u64) -> Result<(Member, u64), ReadError> {
        let head = self.bytes(at, ENTRY_SIZE)?;
        if u32_at(&head, 0) != CENTRAL {
            return Err(broken("its directory is damaged").into());
        }
        let [name_len, extra_len, comment_len] =
            [28, 30, 32].map(|at| u64::from(u16_at(&head, at)));
        let name = self.bytes(at + ENTRY_SIZE, name_len)?;
        let extra = self.bytes(at + ENTRY_SIZE + name_len, extra_len)?;
        let mut member = Member {
            name: String::from_utf8_lossy(&name).into_owned(),
            method: u16_at(&head, 10),
            crc: u32_at(&head, 16),
            packed: u64::from(u32_at(&head, 20)),
            size: u64::from(u32_at(&head, 24)),
            header_at: u64::from(u32_at(&head, 42)),
        };
        member.widen(&extra)?;
        let next = at + ENTRY_SIZE + name_len + extra_len + comment_len;
        Ok((member, next))
    }
}

/// Members are read side by side, each from a place of its own.
trait ReadAt: Sync {
    /// Reads from a place, as [`Read::read`] does.
    fn read_at(&self, at: u64, into: &mut [u8]) -> std::io::Result<usize>;
}

impl ReadAt for Archive<'_> {
    fn read_at(&self, at: u64, into: &mut [u8]) -> std::io::Result<usize> {
        // Whoever panicked while reading left nothing behind: every read seeks first.
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        source.seek(SeekFrom::Start(at))?;
        loop {
            match source.read(into) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

impl Member {
    /// Takes the sizes that do not fit 32 bits from the extra field.
    fn widen(&mut self, mut extra: &[u8]) -> Result<(), Fault> {
        const WIDE: u16 = 1;
        while extra.len() >= 4 {
            let (id, len) = (u16_at(extra, 0), usize::from(u16_at(extra, 2)));
            let mut wide = &extra[4..];
            if id == WIDE {
                for value in [&mut self.size, &mut self.packed, &mut self.header_at] {
                    if *value == u64::from(u32::MAX) {
                        let (first, rest) = wide.split_at_checked(8).ok_or_else(cut_off)?;
                        (*value, wide) = (u64_at(first, 0), rest);
                    }
                }
            }
            extra = extra.get(4 + len..).unwrap_or_default();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;

    use super::*;

    fn archive() -> Vec<u8> {
        let mut writer = ArchiveWriter::default();
        writer.add("a.npy", b"alpha").unwrap();
        writer.add("b.npy", b"").unwrap();
        writer.finish().unwrap()
    }

    /// The same with the first member deflated.
    fn deflated() -> Vec<u8> {
        use std::io::Write;
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(b"alpha").unwrap();
        let packed = encoder.finish().unwrap();
        let mut writer = ArchiveWriter::default();
        writer.add("a.npy", &packed).unwrap();
        let mut bytes = writer.finish().unwrap();
        let entry = bytes.len() - END_SIZE as usize - ENTRY_SIZE as usize - "a.npy".len();
        bytes[entry + 10] = DEFLATED as u8;
        bytes[entry + 16..entry + 20].copy_from_slice(&crc32fast::hash(b"alpha").to_le_bytes());
        bytes[entry + 24] = 5;
        bytes
    }

    fn read(bytes: &[u8], name: &str) -> Result<Option<Vec<u8>>, ReadError> {
        let archive = Archive::open(Box::new(Cursor::new(bytes)))?;
        let Some(mut content) = archive.member(name)? else {
            return Ok(None);
        };
        let mut whole = vec![0; content.left() as usize];
        content.fill(&mut whole)?;
        content.finish()?;
        Ok(Some(whole))
    }

    #[test]
    fn members_come_back_as_they_went_in() {
        let bytes = archive();
        let archive = Archive::open(Box::new(Cursor::new(&bytes))).unwrap();
        assert_eq!(archive.names().collect::<Vec<_>>(), ["a.npy", "b.npy"]);
        let of = |name| read(&bytes, name).unwrap();
        assert_eq!(of("a.npy").as_deref(), Some(&b"alpha"[..]));
        assert_eq!(of("b.npy").as_deref(), Some(&b""[..]));
        assert_eq!(of("c.npy"), None);
        let packed = read(&deflated(), "a.npy").unwrap();
        assert_eq!(packed.as_deref(), Some(&b"alpha"[..]));
    }

    #[test]
    fn every_truncation_and_every_flipped_byte_is_noticed_or_harmless() {
        for whole in [archive(), deflated()] {
            for len in 0..whole.len() {
                assert!(read(&whole[..len], "a.npy").is_err(), "cut at {len}");
            }
            for at in 0..whole.len() {
                for bits in [0x55, 0x01, 0xff] {
                    let mut bytes = whole.clone();
                    bytes[at] ^= bits;
                    if let Ok(Some(content)) = read(&bytes, "a.npy") {
                        assert_eq!(content, b"alpha", "flipped at {at}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_not_read_is_checked_all_the_same() {
        let mut bytes = archive();
        let at = bytes.windows(5).position(|w| w == b"alpha").unwrap();
        bytes[at + 4] ^= 1;
        let archive = Archive::open(Box::new(Cursor::new(&bytes))).unwrap();
        let mut content = archive.member("a.npy").unwrap().unwrap();
        content.fill(&mut [0; 2]).unwrap();
        let error = content.finish().unwrap_err();
        assert!(matches!(error, ReadError::Fault(fault) if fault.to_string().contains("damaged")));
    }
}
