//! `stats.jsonl`: one line of JSON per substep.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use plash_liquid::StepReport;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde::{Deserialize, Serialize as DeriveSerialize};
use sha2::{Digest, Sha256};

use super::atomic::{FileRecord, hex, read};
use super::error::{Damage, RunError};

/// The statistics' name in a run folder.
pub const STATS_NAME: &str = "stats.jsonl";

/// One line: what the step said, in which frame it was, and how long it took.
#[derive(DeriveSerialize)]
pub(crate) struct StatsLine<'a> {
    pub frame: u64,
    #[serde(flatten)]
    pub report: &'a StepReport,
    /// How often the step was shortened before it worked.
    pub retries: u32,
    pub seconds: &'a Seconds,
}

/// Clock time by stage, in the order stages were first entered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seconds {
    /// Name of a stage and its seconds.
    pub stages: Vec<(&'static str, f64)>,
    /// Of the whole substep.
    pub total: f64,
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.stages.len() + 1))?;
        for (name, seconds) in &self.stages {
            map.serialize_entry(name, seconds)?;
        }
        map.serialize_entry("total", &self.total)?;
        map.end()
    }
}

/// Appends to the statistics of a run.
#[derive(Debug)]
pub(crate) struct StatsWriter {
    path: PathBuf,
    file: File,
    /// Of all that is in the file.
    hasher: Sha256,
    bytes: u64,
}

impl StatsWriter {
    /// Opens the file, making it if need be, to go on after the lines of the first `steps`
    /// steps. Says whether any of these are missing. [`cut`](Self::cut) must follow.
    pub fn open(folder: &Path, steps: u64) -> Result<(Self, bool), RunError> {
        let path = folder.join(STATS_NAME);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(RunError::io("open", &path))?;
        let content = read(&path)?;
        let (keep, last) = lines_up_to(&content, steps);
        let hasher = Sha256::new_with_prefix(&content[..keep]);
        Ok((
            StatsWriter {
                path,
                file,
                hasher,
                bytes: keep as u64,
            },
            last < steps,
        ))
    }

    /// Removes the lines of later steps, and a torn last line.
    pub fn cut(&mut self) -> Result<(), RunError> {
        self.file
            .set_len(self.bytes)
            .map_err(RunError::io("cut", &self.path))?;
        self.file
            .seek(SeekFrom::End(0))
            .map_err(RunError::io("write", &self.path))?;
        Ok(())
    }

    /// Appends a line.
    pub fn append(&mut self, line: &StatsLine<'_>) -> Result<(), RunError> {
        let mut text = serde_json::to_vec(line)
            .map_err(|e| RunError::damaged(&self.path)(Damage::malformed(e.to_string())))?;
        text.push(b'\n');
        // One call per line: a reader at work sees whole lines as a rule.
        self.file
            .write_all(&text)
            .map_err(RunError::io("write", &self.path))?;
        self.hasher.update(&text);
        self.bytes += text.len() as u64;
        Ok(())
    }

    /// Puts all lines on the disk.
    pub fn sync(&self) -> Result<(), RunError> {
        self.file
            .sync_data()
            .map_err(RunError::io("sync", &self.path))
    }

    /// The file as it is now.
    pub fn record(&self) -> FileRecord {
        FileRecord {
            path: STATS_NAME.into(),
            bytes: self.bytes,
            sha256: hex(&self.hasher.clone().finalize()),
        }
    }
}

/// Bytes of the whole lines of steps up to `steps`, and the last such step.
fn lines_up_to(content: &[u8], steps: u64) -> (usize, u64) {
    #[derive(Deserialize)]
    struct Step {
        step: u64,
    }
    let mut keep = 0;
    let mut last = 0;
    for line in content.split_inclusive(|&b| b == b'\n') {
        let step = serde_json::from_slice::<Step>(line)
            .ok()
            .filter(|_| line.ends_with(b"\n"));
        match step {
            Some(Step { step }) if step <= steps => last = step,
            _ => break,
        }
        keep += line.len();
    }
    (keep, last)
}

/// The statistics of a run, one object per substep. A torn last line is left out.
pub fn read_stats(folder: &Path) -> Result<Vec<serde_json::Value>, RunError> {
    let path = folder.join(STATS_NAME);
    let content = read(&path)?;
    let mut lines = Vec::new();
    for line in content
        .split_inclusive(|&b| b == b'\n')
        .filter(|line| line.ends_with(b"\n"))
    {
        let value = serde_json::from_slice(line)
            .map_err(|e| RunError::damaged(&path)(Damage::malformed(e.to_string())))?;
        lines.push(value);
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "{\"step\":1,\"x\":1}\n{\"step\":2}\n{\"step\":3}\n{\"ste";

    fn first_lines(count: usize) -> String {
        LINES.split_inclusive('\n').take(count).collect()
    }

    #[test]
    fn a_resumed_run_keeps_the_lines_of_its_past_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(STATS_NAME);
        for (steps, kept, missing) in [(0, 0, false), (2, 2, false), (3, 3, false), (9, 3, true)] {
            std::fs::write(&path, LINES).unwrap();
            let (mut stats, short) = StatsWriter::open(folder.path(), steps).unwrap();
            stats.cut().unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(text, first_lines(kept));
            assert_eq!(short, missing);
            assert_eq!(
                stats.record().sha256,
                super::super::atomic::sha256_hex(text.as_bytes())
            );
        }
    }

    #[test]
    fn a_torn_last_line_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(STATS_NAME), LINES).unwrap();
        assert_eq!(read_stats(folder.path()).unwrap().len(), 3);
    }

    #[test]
    fn rubbish_is_cut_off_not_believed() {
        assert_eq!(lines_up_to(b"\xff\xfe\n{\"step\":1}\n", 5), (0, 0));
        assert_eq!(lines_up_to(b"{\"step\":1}\n[]\n", 5), (11, 1));
    }
}
