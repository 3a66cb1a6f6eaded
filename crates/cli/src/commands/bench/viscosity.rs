//! `plash bench viscosity`: every method on the paper's test of viscosity.

mod choice;
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
        }
        let trial = pool.install(|| Trial::run(&plan, size));
        tell_errors(&trial.contest(), console);
        trials.push(trial);
    }
    console.say(text::trials(&plan, &trials));
    if let Some(text) = text::beside_published(&plan, &trials) {
        console.say(format!("\n{text}"));
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
    }
    document
}
