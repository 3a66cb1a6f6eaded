//! From the word on the command line to a scene: a file first, then the gallery.

use std::io::IsTerminal;
use std::path::Path;

use plash_scene::Scene;
use plash_scene::diagnostics::{Report, Severity};
use plash_scene::file::{self, GalleryScene, Overrides};
use serde_json::json;

use crate::args::Changes;
use crate::console::Console;
use crate::failure::{Failure, Outcome};

/// Columns of text where no terminal says how many it has.
const WIDTH: usize = 100;

/// Where a scene comes from.
pub enum Source<'a> {
    /// A file.
    File(&'a Path),
    /// The gallery.
    Gallery(&'static GalleryScene),
}

/// Finds a scene by path or, if there is no such file, by its name in the gallery. Only regular
/// files are scenes: a folder hides nothing of the gallery, and a pipe could be waited for for
/// ever.
pub fn find(scene: &str) -> Outcome<Source<'_>> {
    find_or(scene, &[])
}

/// The same for a command that takes other words too, which are named where nothing is found.
pub fn find_or<'a>(scene: &'a str, others: &[&str]) -> Outcome<Source<'a>> {
    let path = Path::new(scene);
    if scene.is_empty() {
        return Err(Failure::bad_input("the scene has an empty name")
            .help("name a scene file or a scene of the gallery; `plash scenes` lists it"));
    }
    if path.is_file() {
        return Ok(Source::File(path));
    }
    if let Some(found) = in_gallery(scene) {
        return Ok(Source::Gallery(found));
    }
    if path.is_dir() {
        return Err(
            Failure::bad_input(format!("{scene} is a folder, not a scene file")).help(
                "name the scene file; to go on with a run folder, use `plash run DIR --resume`",
            ),
        );
    }
    if path.exists() {
        return Err(
            Failure::bad_input(format!("{scene} is not a regular file, as scenes are"))
                .help("write what comes out of a pipe to a file first"),
        );
    }
    Err(missing(scene, others))
}

/// Neither a scene nor one of the other words, and what it may have been meant to be.
fn missing(scene: &str, others: &[&str]) -> Failure {
    let names = file::gallery().iter().map(|entry| entry.name);
    let names = names.chain(others.iter().copied());
    let meant = nearest(scene.trim_end_matches(".toml"), names);
    let listing = match meant {
        Some(_) => "`plash scenes` lists the gallery",
        None => "`plash scenes` lists the gallery, `plash new NAME` writes a scene file",
    };
    let meant = meant.map(|name| format!("did you mean `{name}`? "));
    let besides = match others {
        [] => String::new(),
        others => format!("besides scenes there are {}; ", others.join(" and ")),
    };
    Failure::bad_input(format!(
        "there is no scene {scene}: no file of that name, and the gallery has none either"
    ))
    .help(format!("{}{besides}{listing}", meant.unwrap_or_default()))
}

/// The scene of the gallery with this name.
pub fn in_gallery(name: &str) -> Option<&'static GalleryScene> {
    file::gallery().iter().find(|entry| entry.name == name)
}

/// Finds, reads and checks a scene; its warnings go to standard error.
pub fn load(scene: &str, changes: &Changes, console: Console) -> Outcome<Scene> {
    let overrides = overrides(changes);
    let loaded = match find(scene)? {
        Source::File(path) => file::load(path, &overrides),
        Source::Gallery(entry) => {
            file::parse(&format!("{}.toml", entry.name), entry.text, &overrides)
        }
    };
    let scene = loaded.map_err(|report| refuse(&report))?;
    if !scene.warnings.is_empty() {
        console.note(words(&scene.warnings));
    }
    Ok(scene)
}

/// What the command line changes, as the scene reader wants it.
pub fn overrides(changes: &Changes) -> Overrides {
    Overrides {
        set: changes.set.clone(),
        frames: changes.frames,
        resolution: changes.resolution,
        force: changes.force,
    }
}

/// A scene that cannot be run, as a failure with every problem in it.
pub fn refuse(report: &Report) -> Failure {
    let errors = report.count(Severity::Error);
    let message = match errors {
        1 => report.to_string(),
        _ => format!("the scene has {errors} errors\n{report}"),
    };
    let mut failure = Failure::bad_input(message);
    failure.rendered = Some(words(report));
    failure
        .details
        .push(("diagnostics", json!(report.records())));
    failure
}

/// A report for people: with excerpts on a terminal, else a line each, as compilers do, so
/// that editors and logs can read it.
fn words(report: &Report) -> String {
    if std::io::stderr().is_terminal() {
        let colour = std::env::var_os("NO_COLOR").is_none();
        return report.render(WIDTH, colour);
    }
    let line = |record: &plash_scene::diagnostics::Record| {
        let kind = match record.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let key = match record.key.as_str() {
            "" => String::new(),
            key => format!("{key}: "),
        };
        let help = record
            .help
            .iter()
            .map(|help| format!("\n  help: {help}"))
            .collect::<String>();
        let (file, line, column) = (&record.file, record.line, record.column);
        format!(
            "{file}:{line}:{column}: {kind}: {key}{}{help}",
            record.message
        )
    };
    report
        .records()
        .iter()
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}

/// The name most like `word`, if any is like it at all.
fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    names
        .map(|name| (distance(word, name), name))
        .filter(|(edits, name)| *edits <= 1 + name.len() / 4)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, name)| name)
}

/// Insertions, deletions and replacements that turn one word into the other (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replace = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_miss_is_suggested_and_a_far_one_is_not() {
        let names = || ["dam-break", "drop"].into_iter();
        assert_eq!(nearest("dambreak", names()), Some("dam-break"));
        assert_eq!(nearest("dorp", names()), Some("drop"));
        assert_eq!(nearest("volcano", names()), None);
    }

    #[test]
    fn edits_are_counted() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn a_missing_scene_is_bad_input_with_advice() {
        let failure = find("dam-brake").err().expect("there is no such scene");
        assert!(failure.help.expect("advice").contains("dam-break"));
    }
}
