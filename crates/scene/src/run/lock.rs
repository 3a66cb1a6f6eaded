//! One run per folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use super::error::RunError;

/// The lock file. It stays in the folder; what counts is whether a process holds it.
pub(crate) const LOCK_NAME: &str = ".lock";

/// The right to write into a run folder. The system takes it back when the process ends,
/// however it ends, so a dead run blocks nobody.
#[derive(Debug)]
pub struct RunLock {
    // Held for its lock only.
    _file: File,
}

impl RunLock {
    /// Takes the lock of a folder that exists.
    pub fn take(folder: &Path) -> Result<RunLock, RunError> {
        let path = folder.join(LOCK_NAME);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(RunError::io("open", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(RunError::Locked {
                    path: folder.into(),
                    process: holder(&mut file),
                });
            }
            Err(TryLockError::Error(e)) => return Err(RunError::io("lock", &path)(e)),
        }
        // The number only helps people to find the process: failing to note it is harmless.
        let _ = file.set_len(0).and_then(|()| file.rewind());
        let _ = writeln!(file, "{}", std::process::id());
        Ok(RunLock { _file: file })
    }

    /// Whether some process holds the lock of this folder.
    pub fn is_held(folder: &Path) -> bool {
        File::open(folder.join(LOCK_NAME))
            .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(20).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_is_refused_by_process_number_until_the_first_ends() {
        let folder = tempfile::tempdir().unwrap();
        let first = RunLock::take(folder.path()).unwrap();
        assert!(RunLock::is_held(folder.path()));
        match RunLock::take(folder.path()) {
            Err(RunError::Locked { process, .. }) => {
                assert_eq!(process, Some(std::process::id()));
            }
            other => panic!("{other:?}"),
        }
        drop(first);
        assert!(!RunLock::is_held(folder.path()));
        RunLock::take(folder.path()).unwrap();
    }

    #[test]
    fn a_lock_file_of_a_dead_process_does_not_block() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(LOCK_NAME), "999999999\n").unwrap();
        RunLock::take(folder.path()).unwrap();
    }
}
