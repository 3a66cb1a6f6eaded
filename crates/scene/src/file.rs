//! Scene files: text in, a tree with places out, overrides applied.
//!
//! Reading has two steps. [`SceneFile`] is what the user wrote: TOML with the place of every
//! key, after the overrides of the command line. [`Scene`] is what it means: checked, with
//! defaults filled in, ready to simulate ([`SceneFile::resolve`]). [`load`] does both.
//!
//! ```
//! use plash_scene::file::{self, Overrides};
//! let text = "
//!     size = [1, 1]
//!     resolution = 32
//!     [[liquid]]
//!     box = { min = [0, 0], max = [0.4, 0.6] }
//! ";
//! let scene = file::parse("drop.toml", text, &Overrides::default()).expect("a valid scene");
//! assert_eq!((scene.name.as_str(), scene.estimate.cells), ("drop", 1024));
//!
//! let report = file::parse("drop.toml", "size = [1, 1]\nresolutoin = 32", &Overrides::default())
//!     .expect_err("a misspelt key");
//! let error = &report.records()[0];
//! assert_eq!((error.line, error.column, error.key.as_str()), (2, 1, "resolutoin"));
//! assert_eq!(error.help.as_deref(), Some("did you mean `resolution`?"));
//! ```

mod gallery;
mod overrides;
pub(crate) mod reader;
pub(crate) mod tree;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use toml::de::DeTable;

pub use gallery::{GalleryScene, gallery, template};
pub use overrides::Overrides;

use crate::diagnostics::{Diagnostic, Origin, Report};
use crate::resolve::Scene;
use tree::Table;

/// Bytes a scene file may have.
pub const MAX_BYTES: usize = 1 << 20;

/// A scene as written, with the overrides of the command line.
#[derive(Clone, Debug)]
pub struct SceneFile {
    pub(crate) file: String,
    pub(crate) text: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) root: Table,
    /// The name if the file gives none: its own, without folder and ending.
    pub(crate) stem: String,
    pub(crate) force: bool,
    overridden: bool,
}

/// Reads, parses and resolves a scene file.
pub fn load(path: &Path, overrides: &Overrides) -> Result<Scene, Report> {
    SceneFile::read(path, overrides)?.resolve()
}

/// Parses and resolves the text of a scene file; `file` is its name in messages.
pub fn parse(file: &str, text: &str, overrides: &Overrides) -> Result<Scene, Report> {
    SceneFile::parse(file, text, overrides)?.resolve()
}

impl SceneFile {
    /// Reads and parses a file.
    pub fn read(path: &Path, overrides: &Overrides) -> Result<Self, Report> {
        let file = path.display().to_string();
        let bytes = read_limited(path).map_err(|error| {
            unreadable(&file, "", format!("cannot read the scene: {error}"), None)
        })?;
        Self::from_bytes(&file, &bytes, overrides)
    }

    /// Parses bytes that should be UTF-8.
    pub fn from_bytes(file: &str, bytes: &[u8], overrides: &Overrides) -> Result<Self, Report> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::parse(file, text, overrides),
            Err(error) => {
                let valid = error.valid_up_to();
                let text = String::from_utf8_lossy(&bytes[..valid]);
                let message = format!("byte {valid} is not UTF-8 text");
                let report = unreadable(file, &text, message, Some(valid));
                Err(report)
            }
        }
    }

    /// Parses text.
    pub fn parse(file: &str, text: &str, overrides: &Overrides) -> Result<Self, Report> {
        if text.len() > MAX_BYTES {
            let message = format!(
                "the scene has {} bytes, more than the {MAX_BYTES} a scene may have",
                text.len()
            );
            return Err(unreadable(file, "", message, None));
        }
        let (parsed, errors) = DeTable::parse_recoverable(text);
        let mut found: Vec<Diagnostic> = errors
            .iter()
            .map(|error| {
                let span = error.span().unwrap_or(0..0);
                Diagnostic::error(
                    Origin::File(span),
                    "",
                    format!("not TOML: {}", error.message()),
                )
            })
            .collect();
        let mut root = Table::default();
        if found.is_empty() {
            root = tree::table(parsed.get_ref(), "", 0, &Origin::File, &mut found);
            overrides.apply(&mut root, &mut found);
        }
        let arguments = overrides.arguments();
        if !found.is_empty() {
            return Err(Report::new(file, text, arguments, found));
        }
        let stem = Path::new(file)
            .file_stem()
            .map(|stem| stem.to_string_lossy());
        Ok(Self {
            file: file.to_owned(),
            text: text.to_owned(),
            arguments,
            root,
            stem: stem.map_or_else(|| "scene".to_owned(), |stem| stem.into_owned()),
            force: overrides.force,
            overridden: !overrides.is_empty(),
        })
    }

    /// Checks everything and fills in defaults.
    pub fn resolve(&self) -> Result<Scene, Report> {
        crate::resolve::resolve(self)
    }

    /// The scene as run: the text itself, or, under overrides, the text that says the same.
    pub fn as_run(&self) -> String {
        if !self.overridden {
            return self.text.clone();
        }
        // A comment is one line without control characters.
        let title = format!("{} with {}", self.file, self.arguments.join(" "));
        let mut out = format!("# {}\n", title.replace(char::is_control, " "));
        let table = self.root.to_toml();
        // A tree that came from TOML can be written as TOML.
        out.push_str(&toml::to_string(&table).unwrap_or_default());
        out
    }

    pub(crate) fn report(&self, found: Vec<Diagnostic>) -> Report {
        Report::new(&self.file, &self.text, self.arguments.clone(), found)
    }
}

/// At most one byte more than a scene may have, so that a huge file is refused, not read. So is
/// what is no regular file: opening a pipe waits until somebody writes.
fn read_limited(path: &Path) -> std::io::Result<Vec<u8>> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?
        .take(MAX_BYTES as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unreadable(file: &str, text: &str, message: String, at: Option<usize>) -> Report {
    let origin = at.map_or(Origin::Whole, |at| Origin::File(at..at));
    Report::new(
        file,
        text,
        Vec::new(),
        vec![Diagnostic::error(origin, "", message)],
    )
}
