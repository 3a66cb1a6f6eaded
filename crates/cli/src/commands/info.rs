//! `plash info DIR|FILE`: what is there, and is it whole?

use std::path::Path;

use plash_scene::memory::human_bytes;
use plash_scene::run::{FileContent, RunFolder, RunInfo, Status, Verification, file_info};
use serde_json::{Value, json};

use crate::args::Info;
use crate::console::{Console, count, plural, short};
use crate::failure::{Failure, Outcome};

/// Describes a run folder or a file of one.
pub fn info(args: &Info, console: Console) -> Outcome {
    if args.path.is_dir() {
        folder(&args.path, console)
    } else if args.path.exists() && !args.path.is_file() {
        // Reading a pipe or a device could wait for ever.
        let shown = args.path.display();
        Err(Failure::bad_input(format!(
            "{shown} is neither a folder nor a regular file"
        )))
    } else {
        file(&args.path, console)
    }
}

fn folder(path: &Path, console: Console) -> Outcome {
    let run = RunFolder::open(path)?;
    let info = run.info()?;
    let verified = run.verify()?;
    console.say(describe(&info, &verified));
    let mut document = json!({ "kind": "run", "ok": verified.is_good(), "verified": verified });
    merge(&mut document, json!(info));
    if verified.is_good() {
        console.document(&document);
        return Ok(());
    }
    let list: Vec<String> = verified
        .bad
        .iter()
        .map(|file| format!("  {}: {}", file.path, file.problem))
        .collect();
    let failure = Failure::failed(format!(
        "of {} in {}, {} not what was written:\n{}",
        plural((verified.good + verified.bad.len()) as u64, "file"),
        path.display(),
        match verified.bad.len() {
            1 => "1 is".into(),
            several => format!("{several} are"),
        },
        list.join("\n")
    ));
    Err(Failure {
        document: Some(Box::new(document)),
        ..failure.help("--resume=FRAME from before the damage makes later frames again")
    })
}

fn describe(info: &RunInfo, verified: &Verification) -> String {
    let manifest = &info.manifest;
    let status = match manifest.status {
        Status::Running => "at work",
        Status::Interrupted => "interrupted, resumable",
        Status::Failed => "failed",
        Status::Complete => "complete",
    };
    let cells: Vec<String> = manifest.grid.cells.iter().map(usize::to_string).collect();
    let checkpoints: Vec<String> = info
        .checkpoints
        .iter()
        .map(|place| match place.substep {
            0 => format!("frame {}", place.frame),
            substep => format!("frame {} + {substep} substeps", place.frame),
        })
        .collect();
    let mut text = format!(
        "{name}: a {dimension}D run, {status}, {done} of {frames} at {fps} per second\n  \
         grid         {cells} cells of {dx} m\n  \
         methods      {pressure} pressure, {viscosity}{transfer} transfer\n  \
         checkpoints  {checkpoints}\n  \
         files        {files}, {bytes}; {good} verified",
        name = manifest.name,
        dimension = manifest.dimension,
        done = manifest.frames_done,
        frames = plural(manifest.frames, "frame"),
        fps = manifest.fps,
        cells = cells.join(" × "),
        dx = short(manifest.grid.dx),
        pressure = word(&manifest.settings["pressure"]["method"]),
        viscosity = viscosity(&manifest.settings["viscosity"]),
        transfer = word(&manifest.settings["transfer"]),
        checkpoints = if checkpoints.is_empty() {
            "none".into()
        } else {
            checkpoints.join(", ")
        },
        files = manifest.files.len(),
        bytes = human_bytes(info.bytes),
        good = verified.good,
    );
    if let Some(message) = &manifest.message {
        text += &format!("\n  it stopped   {message}");
    }
    if !verified.unlisted.is_empty() {
        text += &format!("\n  not listed   {}", verified.unlisted.join(", "));
    }
    text
}

/// What solved for viscosity, if anything did.
fn viscosity(settings: &Value) -> String {
    let method = word(&settings["method"]);
    match settings {
        Value::Null => String::new(),
        _ if method == "mgpcg" => {
            let smoother = word(&settings["smoother"]);
            format!("{method} viscosity with {smoother}, ")
        }
        _ => format!("{method} viscosity, "),
    }
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("unknown")
}

fn file(path: &Path, console: Console) -> Outcome {
    let info = file_info(path)?;
    let shown = path.display();
    let size = human_bytes(info.bytes);
    console.say(match &info.content {
        FileContent::Checkpoint(meta) => format!(
            "{shown}: a checkpoint after frame {} (substep {}), t = {} s, {} particles; {size}, checksum right",
            meta.frame, meta.substep, short(meta.time), count(meta.particles)
        ),
        FileContent::Cache(meta) => format!(
            "{shown}: frame {} at t = {} s in {}D, {} particles; {size}, checksum right",
            meta.frame, short(meta.time), meta.dimension, count(meta.particles)
        ),
        FileContent::Ply(ply) => {
            let parts: Vec<String> = ply
                .elements
                .iter()
                .map(|part| format!("{} of `{}` ({})", count(part.count), part.name, part.properties.join(" ")))
                .collect();
            format!("{shown}: PLY, {}; {size}, length right", parts.join(", "))
        }
        other => format!("{shown}: {other:?}"),
    });
    let mut document = json!({ "ok": true });
    merge(&mut document, json!(info));
    console.document(&document);
    Ok(())
}

/// Adds the fields of an object to another.
fn merge(into: &mut Value, more: Value) {
    if let (Value::Object(into), Value::Object(more)) = (into, more) {
        into.extend(more);
    }
}
