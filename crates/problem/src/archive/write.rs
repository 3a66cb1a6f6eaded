//! Writing archives.

use super::{CENTRAL, END, LOCAL, STORED};
use crate::error::Fault;

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
