//! What a run writes for its frames.

use std::path::Path;

use super::any::View;
use super::atomic::{FileRecord, sha256_hex, write_whole};
use super::cache::encode_cache;
use super::error::RunError;
use super::ply::encode_particles_ply;

/// The frames' folder in a run folder.
pub const FRAMES: &str = "frames";
/// The pictures' folder in a run folder.
pub const IMAGES: &str = "images";

/// What a frame writer may fail with.
pub type WriterError = Box<dyn std::error::Error + Send + Sync>;

/// Which frames a writer wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Every frame.
    EveryFrame,
    /// Every so many frames: frames `n`, `2n`, …
    Every(u64),
}

impl Schedule {
    /// Whether frame `frame` is wanted.
    pub fn wants(self, frame: u64) -> bool {
        match self {
            Schedule::EveryFrame => true,
            Schedule::Every(n) => n > 0 && frame.is_multiple_of(n),
        }
    }
}

/// Makes files out of finished frames. It sees a run and cannot change it. What it writes
/// may depend on the frame only, not on frames it saw before: a resumed run has not seen
/// them.
pub trait FrameWriter {
    /// What it makes, for messages.
    fn name(&self) -> &str;

    /// Which frames it wants.
    fn schedule(&self) -> Schedule {
        Schedule::EveryFrame
    }

    /// Makes the files of a frame.
    fn write(&mut self, frame: &Frame<'_>, files: &mut FrameFiles<'_>) -> Result<(), WriterError>;
}

/// A finished frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Its number, from 1.
    pub number: u64,
    /// Frames per second.
    pub fps: f64,
    /// The simulation.
    pub view: View<'a>,
}

/// Where a writer puts the files of a frame.
#[derive(Debug)]
pub struct FrameFiles<'a> {
    root: &'a Path,
    frame: u64,
    pub(crate) records: Vec<FileRecord>,
}

impl<'a> FrameFiles<'a> {
    pub(crate) fn new(root: &'a Path, frame: u64) -> Self {
        FrameFiles {
            root,
            frame,
            records: Vec::new(),
        }
    }

    /// Writes `frames/NAME.0001.EXT`.
    pub fn put(&mut self, name: &str, extension: &str, content: &[u8]) -> Result<(), RunError> {
        self.put_in(FRAMES, name, extension, content)
    }

    /// Writes `images/NAME.0001.EXT`.
    pub fn put_image(&mut self, name: &str, ext: &str, content: &[u8]) -> Result<(), RunError> {
        self.put_in(IMAGES, name, ext, content)
    }

    fn put_in(
        &mut self,
        folder: &str,
        name: &str,
        ext: &str,
        content: &[u8],
    ) -> Result<(), RunError> {
        let path = format!("{folder}/{}", frame_file(name, self.frame, ext));
        write_whole(&self.root.join(&path), content)?;
        self.records.push(FileRecord {
            path,
            bytes: content.len() as u64,
            sha256: sha256_hex(content),
        });
        Ok(())
    }
}

/// `NAME.0001.EXT`.
pub fn frame_file(name: &str, frame: u64, extension: &str) -> String {
    format!("{name}.{frame:04}.{extension}")
}

/// The frame in a name made by [`frame_file`].
pub fn frame_of(file: &str) -> Option<u64> {
    let mut parts = file.rsplitn(3, '.');
    let number = parts.nth(1)?;
    parts.next().filter(|name| !name.is_empty())?;
    (number.len() >= 4).then(|| number.parse().ok())?
}

/// Whether plash itself gives such names, for any frame: nobody else's files are called so.
/// The path is one from the run folder.
pub(crate) fn is_own_path(path: &str) -> bool {
    const SERIES: [(&str, &str, &str); 4] = [
        (FRAMES, "particles", "ply"),
        (FRAMES, "cache", "plash"),
        (FRAMES, "surface", "ply"),
        (IMAGES, "still", "png"),
    ];
    let Some((folder, file)) = path.split_once('/') else {
        return false;
    };
    frame_of(file).is_some_and(|frame| {
        SERIES
            .iter()
            .any(|(own, name, ext)| folder == *own && file == frame_file(name, frame, ext))
    })
}

/// Writes `frames/particles.0001.ply`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ParticlesPly;

impl FrameWriter for ParticlesPly {
    fn name(&self) -> &str {
        "particles"
    }

    fn write(&mut self, frame: &Frame<'_>, files: &mut FrameFiles<'_>) -> Result<(), WriterError> {
        let content = encode_particles_ply(frame.view, frame.number)?;
        Ok(files.put("particles", "ply", &content)?)
    }
}

/// Writes `frames/cache.0001.plash`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ParticlesCache;

impl FrameWriter for ParticlesCache {
    fn name(&self) -> &str {
        "cache"
    }

    fn write(&mut self, frame: &Frame<'_>, files: &mut FrameFiles<'_>) -> Result<(), WriterError> {
        let content = encode_cache(frame.view, frame.number)?;
        Ok(files.put("cache", "plash", &content)?)
    }
}

/// A writer made of a function from a frame to the bytes of its file: the seam for surface
/// meshes and pictures.
pub struct FrameFile<F> {
    name: &'static str,
    extension: &'static str,
    folder: &'static str,
    content: F,
}

impl<F: FnMut(&Frame<'_>) -> Result<Vec<u8>, WriterError>> FrameFile<F> {
    /// Writes `frames/NAME.0001.EXT`.
    pub fn new(name: &'static str, extension: &'static str, content: F) -> Self {
        FrameFile {
            name,
            extension,
            folder: FRAMES,
            content,
        }
    }

    /// Writes `images/NAME.0001.EXT`.
    pub fn image(name: &'static str, extension: &'static str, content: F) -> Self {
        FrameFile {
            name,
            extension,
            folder: IMAGES,
            content,
        }
    }
}

impl<F: FnMut(&Frame<'_>) -> Result<Vec<u8>, WriterError>> FrameWriter for FrameFile<F> {
    fn name(&self) -> &str {
        self.name
    }

    fn write(&mut self, frame: &Frame<'_>, files: &mut FrameFiles<'_>) -> Result<(), WriterError> {
        let content = (self.content)(frame)?;
        Ok(files.put_in(self.folder, self.name, self.extension, &content)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_numbers_are_read_back_from_names() {
        assert_eq!(frame_of(&frame_file("cache", 1, "plash")), Some(1));
        assert_eq!(
            frame_of(&frame_file("my.cache", 123_456, "plash")),
            Some(123_456)
        );
        for other in [
            "video.mp4",
            "cache.12.plash",
            ".0001.png",
            "0001.png",
            "a.00x1.png",
        ] {
            assert_eq!(frame_of(other), None, "{other}");
        }
    }

    #[test]
    fn own_names_are_told_from_those_of_others() {
        for own in [
            "frames/particles.0001.ply",
            "frames/cache.123456.plash",
            "frames/surface.0012.ply",
            "images/still.0003.png",
        ] {
            assert!(is_own_path(own), "{own}");
        }
        for other in [
            "frames/still.0003.png",
            "images/cache.0001.plash",
            "frames/cache.00001.plash",
            "frames/cache.0001.ply",
            "frames/old/cache.0001.plash",
            "frames/my.cache.0001.plash",
            "cache.0001.plash",
            "images/poster.png",
        ] {
            assert!(!is_own_path(other), "{other}");
        }
    }

    #[test]
    fn schedules_count_from_frame_1() {
        let wanted: Vec<u64> = (1..=6).filter(|&f| Schedule::Every(3).wants(f)).collect();
        assert_eq!(wanted, [3, 6]);
        assert!(!Schedule::Every(0).wants(1));
    }
}
