//! `plash new NAME`: a scene file to start from.

use std::io::Write;
use std::path::{Path, PathBuf};

use plash_scene::file;
use serde_json::json;

use crate::args::New;
use crate::console::{Console, typed};
use crate::failure::{Failure, Outcome};
use crate::source::{self, Source};

/// Writes NAME.toml, never over a file that is there.
pub fn new(args: &New, console: Console) -> Outcome {
    let path = PathBuf::from(format!("{}.toml", args.name.trim_end_matches(".toml")));
    let name = scene_name(&path)?;
    let text = match &args.like {
        None => file::template(&name, None),
        Some(like) => match source::find(like)? {
            Source::Gallery(entry) => file::template(&name, Some(entry.name)),
            Source::File(path) => Some(copy_of(path, &name)?),
        },
    };
    let text = text.ok_or_else(|| Failure::failed("the template of new scenes is missing"))?;
    verify(&path, &text, &name)?;
    write_new(&path, &text)?;
    let (shown, typed) = (path.display(), typed(&path));
    console.say(format!(
        "wrote {shown}\n\nEdit it, then:\n  plash check {typed}\n  plash run {typed}"
    ));
    console.document(&json!({ "file": path, "like": args.like }));
    Ok(())
}

/// The scene's name: that of the file, which must do as a name of folders too.
fn scene_name(path: &Path) -> Outcome<String> {
    let stem = path
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or_default();
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if stem.is_empty() || stem.starts_with('.') || !stem.chars().all(fits) {
        return Err(
            Failure::bad_input(format!("`{stem}` will not do as the name of a scene"))
                .help("use letters, digits, `-`, `_` and `.`, as in `plash new my-pond`"),
        );
    }
    Ok(stem.to_owned())
}

/// The text of a scene file under another name.
fn copy_of(path: &Path, name: &str) -> Outcome<String> {
    // Reading it as a scene first refuses what is not one.
    file::load(path, &file::Overrides::default()).map_err(|report| source::refuse(&report))?;
    let text = std::fs::read_to_string(path).map_err(|e| Failure::file("read", path, &e))?;
    let named = format!("name = \"{name}\"");
    let is_name = |line: &str| {
        line.split_once('=')
            .is_some_and(|(key, _)| key.trim().trim_matches(['"', '\'']) == "name")
    };
    let mut lines: Vec<&str> = text.lines().collect();
    // Keys of the scene itself stand before the first table.
    let top = lines
        .iter()
        .position(|line| line.trim_start().starts_with('['));
    match lines[..top.unwrap_or(lines.len())]
        .iter()
        .position(|line| is_name(line))
    {
        Some(at) => lines[at] = &named,
        None => {
            let comment = |line: &&str| line.is_empty() || line.starts_with('#');
            let after = lines.iter().take_while(|line| comment(line)).count();
            lines.insert(after, &named);
        }
    }
    Ok(lines.join("\n") + "\n")
}

/// A new file is a scene of that name: lines are replaced without knowing all of TOML, so a
/// name over several lines, say, would come out torn.
fn verify(path: &Path, text: &str, name: &str) -> Outcome {
    let overrides = file::Overrides {
        force: true,
        ..file::Overrides::default()
    };
    let why = match file::parse(&path.display().to_string(), text, &overrides) {
        Ok(scene) if scene.name == name => return Ok(()),
        Ok(scene) => format!("its name would be `{}`", scene.name),
        Err(report) => report.to_string(),
    };
    Err(
        Failure::bad_input(format!("cannot write a scene named `{name}`: {why}"))
            .help("copy the file and change its `name` by hand, or choose another name"),
    )
}

fn write_new(path: &Path, text: &str) -> Outcome {
    let created = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path);
    let written = created.and_then(|mut file| {
        file.write_all(text.as_bytes()).inspect_err(|_| {
            // Half a scene is none, and would be in the way of the next try.
            let _ = std::fs::remove_file(path);
        })
    });
    written.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Failure::bad_input(format!(
            "{} is there already and was left alone",
            path.display()
        ))
        .help("choose another name, or remove the file first"),
        _ => Failure::file("write", path, &error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_files_and_folders_everywhere() {
        assert_eq!(
            scene_name(Path::new("a/my-pond_2.toml")).ok().as_deref(),
            Some("my-pond_2")
        );
        for bad in ["", ".toml", "a b.toml", "naïve.toml", "..toml"] {
            assert!(scene_name(Path::new(bad)).is_err(), "{bad}");
        }
    }
}
