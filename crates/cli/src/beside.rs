//! Files that the user asks for anywhere: written beside their place, then renamed, so that
//! they are whole or not there.

use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::{Failure, Outcome};

/// Whether a file can be written here; for asking before hours of work go into it.
pub fn check(path: &Path) -> Outcome {
    if path.is_dir() || path.file_name().is_none() {
        let shown = path.display();
        return Err(
            Failure::bad_input(format!("cannot write {shown}: it is a folder"))
                .help("name a file in it"),
        );
    }
    if !is_special(path) {
        part(path)?;
    }
    Ok(())
}

/// Writes a whole file, in place of one that is there.
pub fn write(path: &Path, content: &[u8]) -> Outcome {
    let failure = |error: &std::io::Error| Failure::file("write", path, error);
    if is_special(path) {
        return std::fs::write(path, content).map_err(|error| failure(&error));
    }
    let (mut file, target) = part(path)?;
    file.write_all(content)
        .and_then(|()| file.as_file().sync_all())
        .map_err(|error| failure(&error))?;
    file.persist(target)
        .map_err(|error| failure(&error.error))?;
    Ok(())
}

/// A device or a pipe takes what is written, but must not be renamed over.
fn is_special(path: &Path) -> bool {
    path.exists() && !path.is_file()
}

/// An empty file in the folder of `path`, and the path that a link leads to.
fn part(path: &Path) -> Outcome<(NamedTempFile, PathBuf)> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".plash-part-");
    // Temporary files are private by default; results are as open as the user's umask says.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    match builder.tempfile_in(folder) {
        Ok(file) => Ok((file, target)),
        Err(error) => Err(Failure::file("write into", folder, &error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Exit;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.mp4");
        for content in [b"one", b"two"] {
            check(&path).expect("a place");
            write(&path, content).expect("written");
            assert_eq!(std::fs::read(&path).expect("read"), content);
        }
        let names = std::fs::read_dir(folder.path()).expect("a folder");
        assert_eq!(names.count(), 1);
    }

    #[test]
    fn a_place_that_is_not_there_is_bad_input() {
        let folder = tempfile::tempdir().expect("a folder");
        for path in [folder.path().join("no/a.mp4"), folder.path().into()] {
            let failure = check(&path).expect_err("no place");
            assert_eq!(failure.exit, Exit::BadInput, "{failure}");
        }
    }
}
