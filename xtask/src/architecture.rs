//! The invariants of ARCHITECTURE.md that a machine can check by reading files.

use std::fs;
use std::path::{Path, PathBuf};

/// Which of our crates each crate may depend on. Arrows point one way.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("grid", &[]),
    ("solve", &[]),
    ("render", &[]),
    ("liquid", &["grid", "solve"]),
    ("problem", &["solve"]),
    ("scene", &["grid", "solve", "liquid", "render"]),
    (
        "cli",
        &["grid", "solve", "liquid", "problem", "scene", "render"],
    ),
];

/// Crates of pure numerics: no file, no clock, no printing, no global.
const PURE: &[&str] = &["grid", "solve", "liquid"];

/// What pure numerics must not contain.
const IMPURE: &[(&str, &str)] = &[
    ("std::fs", "does no input or output"),
    ("std::net", "does no input or output"),
    (
        "std::time",
        "reads no clock: the caller measures time through an Observer",
    ),
    (
        "std::env",
        "reads no environment: settings come as arguments",
    ),
    ("std::process", "starts and ends no process"),
    ("println!", "never prints: return a report instead"),
    ("print!", "never prints: return a report instead"),
];

/// A file longer than this is asked what it is about; it is a question, not an error.
const LONG_FILE: usize = 700;

/// Checks everything under `root`.
pub fn check(root: &Path) -> Result<(), String> {
    let mut problems = Vec::new();
    let files = tracked_files(root);
    for (name, allowed) in MAY_KNOW {
        check_dependencies(root, name, allowed, &mut problems);
    }
    for path in &files {
        let Ok(text) = fs::read_to_string(root.join(path)) else {
            continue;
        };
        check_file(path, &text, &mut problems);
    }
    if problems.is_empty() {
        println!("    {} files read", files.len());
        Ok(())
    } else {
        Err(format!(
            "{} problem(s)\n      {}",
            problems.len(),
            problems.join("\n      ")
        ))
    }
}

fn check_file(path: &Path, text: &str, problems: &mut Vec<String>) {
    let shown = path.display();
    problems.extend(registry_hosts(path, text).map(|host| {
        format!("{shown} names a package registry ({host}); leave the choice to the user's cargo")
    }));
    if path.extension().is_none_or(|ext| ext != "rs") {
        return;
    }
    let lines = text.lines().count();
    if lines > LONG_FILE {
        println!("    note: {shown} has {lines} lines; what is it about?");
    }
    if !path.starts_with("xtask") && code_lines(text).any(|(_, line)| line.contains("build_global"))
    {
        problems.push(format!(
            "{shown} builds the global thread pool; the caller owns the threads"
        ));
    }
    let Some(room) = PURE
        .iter()
        .find(|room| path.starts_with(format!("crates/{room}/src")))
    else {
        return;
    };
    if path.file_name().is_some_and(|name| name == "tests.rs") {
        return;
    }
    for (number, line) in code_lines(text) {
        for (word, rule) in IMPURE {
            if line.contains(word) {
                problems.push(format!("{shown}:{number}: {room} {rule} (found `{word}`)"));
            }
        }
    }
}

/// The lines of a file that are code: comments and everything from `#[cfg(test)]` left out.
/// (Test modules stand at the end of a file here.)
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .take_while(|line| line.trim() != "#[cfg(test)]")
        .enumerate()
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(index, line)| (index + 1, line))
}

/// Checks that `crates/NAME/Cargo.toml` depends on no room it may not know. Development
/// dependencies are bound by the same rule, except that tests may use what they like.
fn check_dependencies(root: &Path, name: &str, allowed: &[&str], problems: &mut Vec<String>) {
    let manifest = root.join("crates").join(name).join("Cargo.toml");
    let Ok(text) = fs::read_to_string(&manifest) else {
        problems.push(format!("crates/{name}/Cargo.toml cannot be read"));
        return;
    };
    for room in plash_dependencies(&text) {
        if !allowed.contains(&room) {
            problems.push(format!("crates/{name} must not depend on crates/{room}"));
        }
    }
}

/// The rooms named as `plash-ROOM` in the `[dependencies]` table of a manifest.
fn plash_dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    manifest.lines().filter_map(move |line| {
        if line.starts_with('[') {
            inside = line.trim() == "[dependencies]";
        }
        let name = line.strip_prefix("plash-").filter(|_| inside)?;
        name.split(['.', ' ', '=']).next()
    })
}

/// Registry hosts that a file names. A lock file names its own, in `source` lines; there
/// the standard one is right, because a mirror's address would work on one machine only.
fn registry_hosts<'a>(path: &Path, text: &'a str) -> impl Iterator<Item = String> + use<'a> {
    // Put together here, or this file would report itself.
    let hosts = [
        ["crates", "io"],
        ["pypi", "org"],
        ["registry.npmjs", "org"],
        ["lib", "rs/crates"],
    ];
    let is_lock = path.file_name().is_some_and(|name| name == "Cargo.lock");
    let standard = format!("github.com/rust-lang/{}-index", hosts[0].join("."));
    let foreign = text
        .lines()
        .filter(move |line| is_lock && line.starts_with("source = \"registry+"))
        .find(move |line| !line.contains(&standard))
        .map(str::to_owned);
    hosts
        .into_iter()
        .map(|parts| parts.join("."))
        .filter(move |host| !is_lock && text.contains(host.as_str()))
        .chain(foreign)
}

/// Every file of the repository by its relative path, sorted; build output left out.
fn tracked_files(root: &Path) -> Vec<PathBuf> {
    const LEFT_OUT: &[&str] = &[
        "target",
        ".git",
        "runs",
        "corpus",
        "artifacts",
        "node_modules",
    ];
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(root.join(&folder)) else {
            continue;
        };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let name = entry.file_name();
            let path = folder.join(&name);
            if kind.is_dir() && !LEFT_OUT.iter().any(|left_out| name == *left_out) {
                folders.push(path);
            } else if kind.is_file() {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(path: &str, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        check_file(Path::new(path), text, &mut found);
        found
    }

    #[test]
    fn a_clock_in_numerics_is_found_with_its_line() {
        let found = problems(
            "crates/liquid/src/step.rs",
            "//! Doc.\nuse std::time::Instant;\n",
        );
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/liquid/src/step.rs:2: liquid reads no clock"));
    }

    #[test]
    fn comments_tests_and_other_rooms_may_name_a_clock() {
        let tests = "// std::time\n#[cfg(test)]\nmod tests { use std::time::Instant; }\n";
        assert!(problems("crates/liquid/src/step.rs", tests).is_empty());
        assert!(problems("crates/cli/src/run.rs", "use std::time::Instant;\n").is_empty());
    }

    #[test]
    fn solve_may_not_depend_on_grid_but_may_test_with_it() {
        let manifest = "[dependencies]\nplash-grid.workspace = true\nrayon = \"1\"\n\
                        [dev-dependencies]\nplash-liquid = { path = \"..\" }\n";
        assert_eq!(plash_dependencies(manifest).collect::<Vec<_>>(), ["grid"]);
    }

    #[test]
    fn a_registry_host_is_found_except_the_standard_one_in_a_lock_file() {
        let host = ["crates", "io"].join(".");
        let lock = format!("source = \"registry+https://github.com/rust-lang/{host}-index\"\n");
        assert_eq!(problems("README.md", &format!("see {host}")).len(), 1);
        assert!(problems("Cargo.lock", &lock).is_empty());
        assert_eq!(
            problems(
                "Cargo.lock",
                "source = \"registry+https://mirror.example/\"\n"
            )
            .len(),
            1
        );
    }

    #[test]
    fn the_repository_keeps_its_invariants() {
        check(&crate::root()).unwrap();
    }
}
