//! `plash bench viscosity`: every method on the paper's test of viscosity.

mod need;
mod plan;
mod published;
mod text;
mod trial;

use serde_json::json;

use super::row::{Contest, Row};
use super::{check_outputs, draw, tell_errors};
use crate::args::BenchViscosity;
use crate::console::Console;
use crate::failure::Outcome;
use crate::pool;
use plan::Plan;
use trial::Trial;

/// Runs the comparison and prints its tables.
pub fn viscosity(args: &BenchViscosity, console: Console) -> Outcome {
    let plan = Plan::new(args)?;
    check_outputs(args.plot.as_deref(), args.dump.as_deref())?;
    let pool = pool::pool(args.threads.count)?;
    let mut trials = Vec::new();
    for &size in &plan.sizes {
        if let Some(folder) = &args.dump {
            let path = folder.join(plan.file_name(size));
            pool.install(|| trial::dump(&plan, size, &path))?;
            console.say(format!("{} holds the system", path.display()));
        }
        // Comparisons take long: what is known outlives a Ctrl-C.
        let tell = |row: &Row| console.note(text::progress(row));
        let trial = pool.install(|| Trial::run(&plan, size, tell));
        tell_errors(&trial.contest(), console);
        trials.push(trial);
    }
    console.say(text::trials(&plan, &trials));
    if let Some(text) = text::beside_published(&plan, &trials) {
        console.say(format!("\n{text}"));
    }
    if let Some(text) = text::left_out(&plan) {
        console.say(text);
    }
    let contests: Vec<Contest<'_>> = trials.iter().map(Trial::contest).collect();
    draw(
        args.plot.as_deref(),
        "Viscosity systems",
        &contests,
        console,
    )?;
    console.document(&document(&plan, &trials, pool.current_num_threads()));
    Ok(())
}

fn document(plan: &Plan, trials: &[Trial], threads: usize) -> serde_json::Value {
    let rows = trials.iter().flat_map(|trial| &trial.rows);
    let mut document = json!({
        "rows": rows.map(Row::to_json).collect::<Vec<_>>(),
        "tolerance": plan.tolerance.relative,
        "contrast": plan.contrast,
        "threads": threads,
    });
    if let Some(table) = plan.table {
        document["table"] = text::table_json(table, trials);
        let left_out = plan.left_out.iter();
        document["left_out"] = left_out
            .map(|left| json!({ "size": left.size, "bytes": left.bytes as u64 }))
            .collect();
    }
    document
}
