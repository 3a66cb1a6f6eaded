//! Files that are either whole or not there.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::RunError;

/// Unfinished files start like this, so that they can be told from whole ones.
const PART_PREFIX: &str = ".plash-part-";

/// A file of a run as the manifest lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Path from the run folder, with `/` between folders.
    pub path: String,
    /// Size.
    pub bytes: u64,
    /// SHA-256 of the content, in hexadecimal.
    pub sha256: String,
}

/// SHA-256 in hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Writes a file beside its final place, syncs it to the disk and renames it. Whoever looks
/// sees the old content, or the new, or none; never a part. The new name itself is on the
/// disk after [`sync_folder`].
pub(crate) fn write_whole(path: &Path, content: &[u8]) -> Result<(), RunError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(PART_PREFIX);
    // Temporary files are private by default; results are as open as the user's umask says.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder
        .tempfile_in(folder)
        .map_err(RunError::io("write into", folder))?;
    file.write_all(content)
        .map_err(RunError::io("write", path))?;
    file.as_file()
        .sync_all()
        .map_err(RunError::io("sync", path))?;
    file.persist(path)
        .map_err(|e| RunError::io("rename to", path)(e.error))?;
    Ok(())
}

/// Makes renames and deletions in a folder last through a power failure.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), RunError> {
    // Only Unix can open a folder to sync it.
    if cfg!(unix) {
        File::open(folder)
            .and_then(|f| f.sync_all())
            .map_err(RunError::io("sync", folder))?;
    }
    Ok(())
}

/// Whether this is the name of an unfinished file.
pub(crate) fn is_part(name: &str) -> bool {
    name.starts_with(PART_PREFIX)
}

/// Removes what killed writers have left in a folder. Needs the run's lock.
pub(crate) fn remove_parts(folder: &Path) -> Result<(), RunError> {
    for name in names_in(folder)?.iter().filter(|name| is_part(name)) {
        remove(&folder.join(name))?;
    }
    Ok(())
}

/// Removes a file if it is there.
pub(crate) fn remove(path: &Path) -> Result<(), RunError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(RunError::io("remove", path)(e)),
        _ => Ok(()),
    }
}

/// The names in a folder, sorted; none if there is no such folder. Names that are not
/// Unicode are shown as best they can.
pub(crate) fn names_in(folder: &Path) -> Result<Vec<String>, RunError> {
    let entries = match fs::read_dir(folder) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(RunError::io("read", folder))?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(RunError::io("read", folder))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// The whole content of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, RunError> {
    fs::read(path).map_err(RunError::io("read", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_replaces_the_old_and_leaves_no_parts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        write_whole(&path, b"one").unwrap();
        write_whole(&path, b"two").unwrap();
        assert_eq!(read(&path).unwrap(), b"two");
        assert_eq!(names_in(folder.path()).unwrap(), ["a.bin"]);
    }

    #[cfg(unix)]
    #[test]
    fn results_are_readable_by_others_as_far_as_the_umask_allows() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        write_whole(&path, b"one").unwrap();
        let plain = folder.path().join("plain");
        fs::write(&plain, b"one").unwrap();
        let mode = |p: &Path| fs::metadata(p).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&plain));
    }

    #[test]
    fn leftovers_are_removed_and_results_kept() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(".plash-part-Ab12"), b"half").unwrap();
        fs::write(folder.path().join("whole"), b"whole").unwrap();
        remove_parts(folder.path()).unwrap();
        assert_eq!(names_in(folder.path()).unwrap(), ["whole"]);
    }

    #[test]
    fn the_digest_is_the_standard_one() {
        assert_eq!(
            sha256_hex(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
