//! The program in a folder of its own.

// Every test program uses its own part of this.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A small flat dam break: 12 × 12 cells, 3 frames, in a fraction of a second.
pub const TINY: &str = "\
name = \"tiny\"
size = [1, 1]
resolution = 12
frames = 3

[[liquid]]
box = { min = [0, 0], max = [0.4, 0.6] }

[output]
images = false
";

/// A few cells of honey.
pub const TINY_THICK: &str = "\
name = \"thick\"
size = [1, 1]
resolution = 12
frames = 1

[viscosity]
value = 10

[[liquid]]
box = { min = [0, 0], max = [0.4, 0.6] }
";

/// The same in space.
pub const TINY_3D: &str = "\
name = \"tiny-3d\"
size = [1, 1, 0.5]
resolution = 10
frames = 2

[[liquid]]
box = { min = [0, 0, 0], max = [0.4, 0.6, 0.5] }

[[solid]]
sphere = { center = [0.7, 0.1, 0.25], radius = 0.15 }

[output]
images = false
";

/// An empty folder to work in.
pub struct Place(tempfile::TempDir);

/// How the program ended.
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Place {
    pub fn new() -> Self {
        Place(tempfile::tempdir().expect("a temporary folder"))
    }

    /// A folder with these files in it.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let place = Place::new();
        for (name, text) in files {
            std::fs::write(place.path(name), text).expect("a scene file");
        }
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plash"));
        command.args(args).current_dir(self.folder());
        command
    }

    /// Runs `plash ARGS` to its end.
    pub fn plash(&self, args: &[&str]) -> Ended {
        Ended::from(self.command(args).output().expect("plash starts"))
    }

    /// Runs `plash ARGS`, which must succeed.
    pub fn succeed(&self, args: &[&str]) -> Ended {
        let ended = self.plash(args);
        assert_eq!(
            ended.code, 0,
            "plash {args:?}\n{}\n{}",
            ended.stdout, ended.stderr
        );
        ended
    }

    /// The names in a folder, sorted.
    pub fn list(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(folder)).expect("a folder");
        let mut names: Vec<String> = entries
            .map(|e| e.expect("an entry").file_name().to_string_lossy().into())
            .collect();
        names.sort();
        names
    }

    pub fn bytes(&self, file: &str) -> Vec<u8> {
        std::fs::read(self.path(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        Ended {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl Ended {
    /// Standard output as one document.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}", self.stdout))
    }

    /// Standard output as one document per line.
    pub fn events(&self) -> Vec<Value> {
        let parse =
            |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        self.stdout.lines().map(parse).collect()
    }
}
