//! The file format that checkpoints and frame caches share.
//!
//! ```text
//! magic     8 bytes   says the kind of file
//! version   u32       of the content
//! meta_len  u32       bytes of metadata
//! raw_len   u64       bytes of the body before compression
//! body_len  u64       bytes of the body in the file
//! meta      meta_len  postcard
//! body      body_len  zstd
//! sha256    32 bytes  of all that comes before
//! ```
//! Integers are little-endian. The same content always gives the same bytes.

use std::io::Read;

use bytemuck::{AnyBitPattern, NoUninit};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::error::Damage;

// Blocks of numbers are copied as they lie in memory.
const _: () = assert!(
    cfg!(target_endian = "little"),
    "plash files are little-endian"
);

const HEADER: usize = 8 + 4 + 4 + 8 + 8;
const CHECKSUM: usize = 32;
/// Fast: particle data hardly gets smaller at higher levels.
const COMPRESSION_LEVEL: i32 = 1;

/// A kind of file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// For people.
    pub name: &'static str,
    pub magic: [u8; 8],
    pub version: u32,
}

/// The bytes of a file with this content.
pub(crate) fn encode(kind: Kind, meta: &impl Serialize, raw: &[u8]) -> Result<Vec<u8>, Damage> {
    let failed = |what: String| Damage::Malformed(what);
    let meta = postcard::to_stdvec(meta).map_err(|e| failed(e.to_string()))?;
    let body = zstd::bulk::compress(raw, COMPRESSION_LEVEL).map_err(|e| failed(e.to_string()))?;
    let meta_len = u32::try_from(meta.len()).map_err(|e| failed(e.to_string()))?;
    let mut file = Vec::with_capacity(HEADER + meta.len() + body.len() + CHECKSUM);
    file.extend_from_slice(&kind.magic);
    file.extend_from_slice(&kind.version.to_le_bytes());
    file.extend_from_slice(&meta_len.to_le_bytes());
    file.extend_from_slice(&(raw.len() as u64).to_le_bytes());
    file.extend_from_slice(&(body.len() as u64).to_le_bytes());
    file.extend_from_slice(&meta);
    file.extend_from_slice(&body);
    let checksum = Sha256::digest(&file);
    file.extend_from_slice(&checksum);
    Ok(file)
}

/// Whether a file starts like one of this kind.
pub(crate) fn is_of_kind(kind: Kind, file: &[u8]) -> bool {
    file.starts_with(&kind.magic)
}

/// The metadata and body of a file whose checksum matches.
pub(crate) fn decode<M: DeserializeOwned>(kind: Kind, file: &[u8]) -> Result<(M, Vec<u8>), Damage> {
    if !is_of_kind(kind, file) {
        return Err(Damage::WrongKind {
            expected: kind.name,
        });
    }
    let mut header = Blocks::new(&file[8..]);
    let [version, meta_len] = header.array::<u32, 2>()?;
    let [raw_len, body_len] = header.array::<u64, 2>()?;
    if version != kind.version {
        return Err(Damage::Version {
            found: version,
            supported: kind.version,
        });
    }
    let expected = (HEADER as u64 + CHECKSUM as u64)
        .saturating_add(meta_len.into())
        .saturating_add(body_len);
    if expected != file.len() as u64 {
        return Err(Damage::Length {
            expected,
            found: file.len() as u64,
        });
    }
    let (content, checksum) = file.split_at(file.len() - CHECKSUM);
    if Sha256::digest(content).as_slice() != checksum {
        return Err(Damage::Checksum);
    }
    let (meta, body) = content[HEADER..].split_at(meta_len as usize);
    let meta = postcard::from_bytes(meta).map_err(|e| Damage::malformed(e.to_string()))?;
    Ok((meta, decompress(body, raw_len)?))
}

/// Grows with what is really there: a crafted length must not exhaust memory.
fn decompress(body: &[u8], raw_len: u64) -> Result<Vec<u8>, Damage> {
    let failed = |e: std::io::Error| Damage::malformed(format!("cannot decompress: {e}"));
    let decoder = zstd::stream::read::Decoder::with_buffer(body).map_err(failed)?;
    let mut raw = Vec::with_capacity(raw_len.min(1 << 24) as usize);
    decoder
        .take(raw_len.saturating_add(1))
        .read_to_end(&mut raw)
        .map_err(failed)?;
    if raw.len() as u64 != raw_len {
        return Err(Damage::Length {
            expected: raw_len,
            found: raw.len() as u64,
        });
    }
    Ok(raw)
}

/// Reads blocks of numbers one after the other.
pub(crate) struct Blocks<'a> {
    rest: &'a [u8],
}

impl<'a> Blocks<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Blocks { rest: bytes }
    }

    /// The next `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Damage> {
        let (block, rest) = self.rest.split_at_checked(count).ok_or(Damage::Length {
            expected: count as u64,
            found: self.rest.len() as u64,
        })?;
        self.rest = rest;
        Ok(block)
    }

    /// The next `count` values.
    pub fn values<T: NoUninit + AnyBitPattern>(&mut self, count: usize) -> Result<Vec<T>, Damage> {
        let bytes = count.checked_mul(size_of::<T>());
        let bytes = bytes.ok_or_else(|| Damage::malformed("impossible size"))?;
        Ok(bytemuck::pod_collect_to_vec(self.bytes(bytes)?))
    }

    /// The next `N` values.
    pub fn array<T: NoUninit + AnyBitPattern, const N: usize>(&mut self) -> Result<[T; N], Damage> {
        let values = self.values::<T>(N)?;
        values
            .try_into()
            .map_err(|_| Damage::malformed("impossible size"))
    }

    /// Nothing may be left.
    pub fn finish(self) -> Result<(), Damage> {
        match self.rest.len() {
            0 => Ok(()),
            left => Err(Damage::malformed(format!("{left} bytes too many"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind {
        name: "test file",
        magic: *b"PLASHTST",
        version: 3,
    };

    fn sample() -> Vec<u8> {
        let raw: Vec<u8> = (0..2000_u32).flat_map(|i| (i * i).to_le_bytes()).collect();
        encode(KIND, &(7_u64, "seven".to_string()), &raw).unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        let (meta, raw) = decode::<(u64, String)>(KIND, &sample()).unwrap();
        assert_eq!(meta, (7, "seven".into()));
        assert_eq!(raw.len(), 8000);
        assert_eq!(raw[4..8], 1_u32.to_le_bytes());
    }

    #[test]
    fn any_truncation_and_any_flipped_bit_is_found() {
        let file = sample();
        for length in 0..file.len() {
            assert!(
                decode::<(u64, String)>(KIND, &file[..length]).is_err(),
                "{length}"
            );
        }
        for at in 0..file.len() {
            let mut bad = file.clone();
            bad[at] ^= 1 << (at % 8);
            assert!(decode::<(u64, String)>(KIND, &bad).is_err(), "{at}");
        }
    }

    #[test]
    fn lies_with_a_right_checksum_are_found() {
        let mut file = sample();
        let resign = |file: &mut Vec<u8>| {
            let end = file.len() - CHECKSUM;
            let sum = Sha256::digest(&file[..end]);
            file[end..].copy_from_slice(&sum);
        };
        // A body that claims to be enormous.
        file[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
        resign(&mut file);
        assert!(matches!(
            decode::<(u64, String)>(KIND, &file),
            Err(Damage::Length {
                expected: u64::MAX,
                ..
            })
        ));
        file[24..32].copy_from_slice(&u64::MAX.to_le_bytes());
        resign(&mut file);
        assert!(decode::<(u64, String)>(KIND, &file).is_err());
    }

    #[test]
    fn a_later_version_is_named() {
        let later = Kind { version: 4, ..KIND };
        let file = encode(later, &(), &[]).unwrap();
        assert_eq!(
            decode::<()>(KIND, &file).unwrap_err(),
            Damage::Version {
                found: 4,
                supported: 3
            }
        );
    }
}
