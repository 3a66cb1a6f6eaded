//! Random bytes for the scene reader, by `cargo fuzz` and the target under `fuzz/`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::succeed;

/// `cargo xtask fuzz [SECONDS]`: each target runs for that long, or until it finds a crash.
pub fn run(args: &[String]) -> Result<(), String> {
    let seconds: u32 = match args {
        [] => 120,
        [text] => text
            .parse()
            .map_err(|_| format!("`{text}` is not a number of seconds"))?,
        _ => return Err("fuzz takes one number of seconds at most".into()),
    };
    let folder = crate::root().join("fuzz");
    let targets = targets(&folder)?;
    ensure_cargo_fuzz()?;
    for target in &targets {
        println!("\n==> fuzzing {target} for {seconds} s");
        let mut fuzz = Command::new("cargo");
        fuzz.args(["+nightly", "fuzz", "run", target]);
        fuzz.args(inputs(&folder, target)?).arg("--");
        fuzz.arg(format!("-max_total_time={seconds}"));
        fuzz.current_dir(&folder);
        succeed(&mut fuzz, &format!("fuzzing {target}"))?;
    }
    println!(
        "\n{} target(s) fuzzed for {seconds} s each, no crash",
        targets.len()
    );
    Ok(())
}

/// The folders of inputs: what the fuzzer found so far (new finds go there), and the seeds
/// that the repository keeps.
fn inputs(folder: &Path, target: &str) -> Result<Vec<PathBuf>, String> {
    let found = folder.join("corpus").join(target);
    std::fs::create_dir_all(&found)
        .map_err(|error| format!("cannot make {}: {error}", found.display()))?;
    let seeds = folder.join("seeds").join(target);
    Ok([found]
        .into_iter()
        .chain(seeds.is_dir().then_some(seeds))
        .collect())
}

/// The names of the files under `fuzz/fuzz_targets`, sorted.
fn targets(folder: &Path) -> Result<Vec<String>, String> {
    let folder = folder.join("fuzz_targets");
    let entries = std::fs::read_dir(&folder)
        .map_err(|error| format!("cannot list {}: {error}", folder.display()))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ext| ext == "rs"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    if names.is_empty() {
        return Err(format!("{} holds no target", folder.display()));
    }
    Ok(names)
}

fn ensure_cargo_fuzz() -> Result<(), String> {
    let works = |args: &[&str]| {
        let mut command = Command::new("cargo");
        command
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if !works(&["+nightly", "--version"]) {
        println!("installing the nightly toolchain, which the fuzzer's sanitizers need");
        let mut install = Command::new("rustup");
        install.args(["toolchain", "install", "nightly", "--profile", "minimal"]);
        succeed(&mut install, "installing the nightly toolchain")?;
    }
    if !works(&["fuzz", "--version"]) {
        println!("installing cargo-fuzz");
        let mut install = Command::new("cargo");
        succeed(
            install.args(["install", "--locked", "cargo-fuzz"]),
            "installing cargo-fuzz",
        )?;
    }
    Ok(())
}
