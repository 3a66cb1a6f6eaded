//! Zip archives, as far as NumPy uses them: stored or deflated members, found by the central
//! directory at the end of the file.

use std::io::Read;

use flate2::read::DeflateDecoder;

use crate::error::Fault;

const END: u32 = 0x0605_4b50;
const END_64_LOCATOR: u32 = 0x0706_4b50;
const END_64: u32 = 0x0606_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const LOCAL: u32 = 0x0403_4b50;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// Deflate cannot expand by more than this, so a larger claim is a lie.
const MOST_EXPANSION: u64 = 1032;

/// More members than any problem has.
const MOST_MEMBERS: u64 = 1000;

/// A member as the central directory tells of it.
#[derive(Debug)]
pub(crate) struct Member {
    pub name: String,
    method: u16,
    crc: u32,
    packed: u64,
    size: u64,
    header_at: u64,
}

/// An archive in memory.
pub(crate) struct Archive<'a> {
    bytes: &'a [u8],
    members: Vec<Member>,
}

fn broken(what: &str) -> Fault {
    Fault::new(
        "archive",
        format!("{what}; write it again with numpy.savez or plash"),
    )
}

/// Little-endian numbers at a place that may not be there.
#[derive(Clone, Copy)]
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn slice(self, at: u64, len: u64) -> Result<&'a [u8], Fault> {
        let start = usize::try_from(at).ok();
        let end = at
            .checked_add(len)
            .and_then(|end| usize::try_from(end).ok());
        let range = start.zip(end);
        range
            .and_then(|(start, end)| self.0.get(start..end))
            .ok_or_else(|| broken("it is cut off or its directory is wrong"))
    }

    fn array<const N: usize>(self, at: u64) -> Result<[u8; N], Fault> {
        let mut array = [0; N];
        array.copy_from_slice(self.slice(at, N as u64)?);
        Ok(array)
    }

    fn u16(self, at: u64) -> Result<u16, Fault> {
        self.array(at).map(u16::from_le_bytes)
    }

    fn u32(self, at: u64) -> Result<u32, Fault> {
        self.array(at).map(u32::from_le_bytes)
    }

    fn u64(self, at: u64) -> Result<u64, Fault> {
        self.array(at).map(u64::from_le_bytes)
    }
}

impl<'a> Archive<'a> {
    /// Reads the directory of an archive.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Archive<'a>, Fault> {
        let file = Bytes(bytes);
        let (count, mut at) = directory(file)?;
        if count > MOST_MEMBERS {
            return Err(broken("it lists thousands of members"));
        }
        let mut members = Vec::new();
        for _ in 0..count {
            let (member, next) = entry(file, at)?;
            members.push(member);
            at = next;
        }
        Ok(Archive { bytes, members })
    }

    /// The names of all members.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| member.name.as_str())
    }

    /// The content of the member of that name, if there is one; two of one name are refused.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Fault> {
        let mut found = self.members.iter().filter(|member| member.name == name);
        let Some(member) = found.next() else {
            return Ok(None);
        };
        if found.next().is_some() {
            return Err(broken(&format!("it holds {name} twice")));
        }
        self.content(member).map(Some)
    }

    fn content(&self, member: &Member) -> Result<Vec<u8>, Fault> {
        let file = Bytes(self.bytes);
        let head = member.header_at;
        if file.u32(head)? != LOCAL {
            return Err(broken("a member is not where the directory says"));
        }
        let after = |at: u64| file.u16(head.saturating_add(at)).map(u64::from);
        let start = head + 30 + after(26)? + after(28)?;
        let packed = file.slice(start, member.packed)?;
        let content = match member.method {
            STORED => packed.to_vec(),
            DEFLATED => inflate(packed, member.size)?,
            other => {
                return Err(broken(&format!(
                    "{} is compressed by method {other}, which NumPy does not use",
                    member.name
                )));
            }
        };
        if content.len() as u64 != member.size || crc32fast::hash(&content) != member.crc {
            return Err(broken(&format!("{} is damaged", member.name)));
        }
        Ok(content)
    }
}

/// The number of members and where the central directory begins.
fn directory(file: Bytes<'_>) -> Result<(u64, u64), Fault> {
    let len = file.0.len() as u64;
    // The end record is 22 bytes and a comment of up to 64 KiB.
    let latest = len
        .checked_sub(22)
        .ok_or_else(|| broken("it is too short"))?;
    let earliest = latest.saturating_sub(65_535);
    let end = (earliest..=latest)
        .rev()
        .find(|&at| file.u32(at) == Ok(END))
        .ok_or_else(|| broken("it is not a zip archive, or cut off"))?;
    let located = end.checked_sub(20);
    let located = located.filter(|&at| file.u32(at) == Ok(END_64_LOCATOR));
    if let Some(locator) = located {
        let end_64 = file.u64(locator + 8)?;
        if file.u32(end_64)? != END_64 {
            return Err(broken("its directory is not where it says"));
        }
        let at = |offset| file.u64(end_64.saturating_add(offset));
        return Ok((at(32)?, at(48)?));
    }
    Ok((
        u64::from(file.u16(end + 10)?),
        u64::from(file.u32(end + 16)?),
    ))
}

/// One entry of the central directory, and where the next begins.
fn entry(file: Bytes<'_>, at: u64) -> Result<(Member, u64), Fault> {
    if file.u32(at)? != CENTRAL {
        return Err(broken("its directory is damaged"));
    }
    let name_len = u64::from(file.u16(at + 28)?);
    let extra_len = u64::from(file.u16(at + 30)?);
    let comment_len = u64::from(file.u16(at + 32)?);
    let name = file.slice(at + 46, name_len)?;
    let mut member = Member {
        name: String::from_utf8_lossy(name).into_owned(),
        method: file.u16(at + 10)?,
        crc: file.u32(at + 16)?,
        packed: u64::from(file.u32(at + 20)?),
        size: u64::from(file.u32(at + 24)?),
        header_at: u64::from(file.u32(at + 42)?),
    };
    let extra = file.slice(at + 46 + name_len, extra_len)?;
    widen(&mut member, Bytes(extra))?;
    Ok((member, at + 46 + name_len + extra_len + comment_len))
}

/// Takes the sizes that do not fit 32 bits from the extra field.
fn widen(member: &mut Member, extra: Bytes<'_>) -> Result<(), Fault> {
    const WIDE: u16 = 1;
    let mut at = 0;
    while at + 4 <= extra.0.len() as u64 {
        let (id, len) = (extra.u16(at)?, u64::from(extra.u16(at + 2)?));
        if id == WIDE {
            let mut value_at = at + 4;
            for value in [&mut member.size, &mut member.packed, &mut member.header_at] {
                if *value == u64::from(u32::MAX) {
                    *value = extra.u64(value_at)?;
                    value_at += 8;
                }
            }
        }
        at += 4 + len;
    }
    Ok(())
}

fn inflate(packed: &[u8], size: u64) -> Result<Vec<u8>, Fault> {
    if size > (packed.len() as u64 + 64) * MOST_EXPANSION {
        return Err(broken("a member claims an impossible size"));
    }
    let mut content = Vec::new();
    DeflateDecoder::new(packed)
        .take(size + 1)
        .read_to_end(&mut content)
        .map_err(|_| broken("compressed data are damaged"))?;
    Ok(content)
}

/// Writes members one after the other, not compressed: the numbers of a matrix hardly shrink.
#[derive(Default)]
pub(crate) struct ArchiveWriter {
    bytes: Vec<u8>,
    directory: Vec<u8>,
    count: u16,
}

impl ArchiveWriter {
    /// Adds a member.
    pub(crate) fn add(&mut self, name: &str, content: &[u8]) -> Result<(), Fault> {
        let too_large = || {
            Fault::new(
                "archive",
                "the problem needs more than 4 GiB, the most this format is written with; write \
                 MatrixMarket instead",
            )
        };
        let size = u32::try_from(content.len()).map_err(|_| too_large())?;
        let at = u32::try_from(self.bytes.len()).map_err(|_| too_large())?;
        let name_len = name.len() as u16;
        let mut common = Vec::new();
        push16(&mut common, &[20, 0, STORED, 0, 0x21]); // version, flags, method, 1980-01-01
        push32(&mut common, &[crc32fast::hash(content), size, size]);
        push16(&mut common, &[name_len, 0]);

        push32(&mut self.bytes, &[LOCAL]);
        self.bytes.extend_from_slice(&common);
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.extend_from_slice(content);

        push32(&mut self.directory, &[CENTRAL]);
        push16(&mut self.directory, &[20]);
        self.directory.extend_from_slice(&common);
        push16(&mut self.directory, &[0, 0, 0]);
        push32(&mut self.directory, &[0, at]);
        self.directory.extend_from_slice(name.as_bytes());
        self.count += 1;
        Ok(())
    }

    /// The whole archive.
    pub(crate) fn finish(mut self) -> Result<Vec<u8>, Fault> {
        let at = u32::try_from(self.bytes.len());
        let at = at.map_err(|_| Fault::new("archive", "more than 4 GiB; write MatrixMarket"))?;
        self.bytes.extend_from_slice(&self.directory);
        push32(&mut self.bytes, &[END]);
        push16(&mut self.bytes, &[0, 0, self.count, self.count]);
        push32(&mut self.bytes, &[self.directory.len() as u32, at]);
        push16(&mut self.bytes, &[0]);
        Ok(self.bytes)
    }
}

fn push16(bytes: &mut Vec<u8>, values: &[u16]) {
    values.iter().for_each(|v| bytes.extend(v.to_le_bytes()));
}

fn push32(bytes: &mut Vec<u8>, values: &[u32]) {
    values.iter().for_each(|v| bytes.extend(v.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive() -> Vec<u8> {
        let mut writer = ArchiveWriter::default();
        writer.add("a.npy", b"alpha").unwrap();
        writer.add("b.npy", b"").unwrap();
        writer.finish().unwrap()
    }

    #[test]
    fn members_come_back_as_they_went_in() {
        let bytes = archive();
        let archive = Archive::open(&bytes).unwrap();
        assert_eq!(archive.names().collect::<Vec<_>>(), ["a.npy", "b.npy"]);
        assert_eq!(
            archive.read("a.npy").unwrap().as_deref(),
            Some(&b"alpha"[..])
        );
        assert_eq!(archive.read("b.npy").unwrap().as_deref(), Some(&b""[..]));
        assert_eq!(archive.read("c.npy").unwrap(), None);
    }

    #[test]
    fn every_truncation_and_every_flipped_byte_is_noticed_or_harmless() {
        let whole = archive();
        for len in 0..whole.len() {
            assert!(Archive::open(&whole[..len]).is_err(), "cut at {len}");
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            let read = Archive::open(&bytes).and_then(|a| a.read("a.npy"));
            if let Ok(Some(content)) = read {
                assert_eq!(content, b"alpha", "flipped at {at}");
            }
        }
    }
}
