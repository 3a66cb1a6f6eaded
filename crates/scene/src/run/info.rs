//! What a single file of a run holds.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::atomic::{read, sha256_hex};
use super::cache::{self, CacheMeta, decode_cache};
use super::checkpoint::{self, Checkpoint, CheckpointMeta};
use super::container::is_of_kind;
use super::error::{Damage, RunError};
use super::ply::{PlyInfo, ply_info};

/// What a single file of a run holds.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct FileInfo {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// SHA-256 of its content, in hexadecimal.
    pub sha256: String,
    /// What is in it.
    #[serde(flatten)]
    pub content: FileContent,
}

/// What is in a file.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FileContent {
    /// A checkpoint.
    Checkpoint(CheckpointMeta),
    /// A frame cache.
    Cache(CacheMeta),
    /// A PLY file.
    Ply(PlyInfo),
}

/// Reads a checkpoint, frame cache or PLY file and verifies it as far as its format allows.
pub fn file_info(path: &Path) -> Result<FileInfo, RunError> {
    let file = read(path)?;
    let content = content_of(&file).map_err(RunError::damaged(path))?;
    Ok(FileInfo {
        path: path.into(),
        bytes: file.len() as u64,
        sha256: sha256_hex(&file),
        content,
    })
}

fn content_of(file: &[u8]) -> Result<FileContent, Damage> {
    if is_of_kind(checkpoint::KIND, file) {
        Ok(FileContent::Checkpoint(Checkpoint::parse(file)?.meta))
    } else if is_of_kind(cache::KIND, file) {
        Ok(FileContent::Cache(decode_cache(file)?.meta))
    } else if file.starts_with(b"ply\n") {
        Ok(FileContent::Ply(ply_info(file)?))
    } else {
        Err(Damage::WrongKind {
            expected: "plash checkpoint, frame cache or PLY file",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{View, encode_cache, encode_particles_ply, samples};

    #[test]
    fn every_kind_is_told_from_its_bytes() {
        let setup = samples::setup2();
        let state = samples::state2(&setup, 5, false);
        let view = View::D2(&setup, &state);
        let cache = encode_cache(view, 3).unwrap();
        assert!(matches!(content_of(&cache), Ok(FileContent::Cache(meta)) if meta.frame == 3));
        let ply = encode_particles_ply(view, 3).unwrap();
        assert!(matches!(content_of(&ply), Ok(FileContent::Ply(_))));
        assert!(matches!(
            content_of(b"hello"),
            Err(Damage::WrongKind { .. })
        ));
        assert!(content_of(&cache[..cache.len() - 1]).is_err());
    }
}
