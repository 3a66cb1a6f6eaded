//! The comparison as text, and the paper's figures beside ours.

use plash_scene::memory::human_bytes;
use serde_json::{Value, json};

use super::plan::{LeftOut, Plan};
use super::published::{Column, Figures, Published};
use super::trial::Trial;
use crate::commands::bench::row::{Detail, Row};
use crate::commands::bench::text::{aligned, figure};
use crate::console::count;

/// What the methods took, for people.
pub fn trials(plan: &Plan, trials: &[Trial]) -> String {
    let head = "size unknowns method levels iterations set-up_s solve_s memory residual status";
    let head = head.split(' ').map(|word| word.replace('_', " "));
    let mut lines = vec![head.collect::<Vec<_>>()];
    for trial in trials {
        for row in &trial.rows {
            lines.extend(row.detail.as_ref().map(|detail| line(row, detail)));
        }
    }
    let contrast = match plan.contrast {
        1.0 => String::new(),
        contrast => format!(", viscosity varied by a factor of {contrast}"),
    };
    format!(
        "{}{contrast}, to a residual of {:e}\n{}",
        plan.case.name(),
        plan.tolerance.relative,
        aligned(&lines)
    )
}

fn line(row: &Row, detail: &Detail) -> Vec<String> {
    vec![
        row.size.to_string(),
        count(detail.unknowns as u64),
        row.method.clone(),
        match detail.levels {
            0 => "–".into(),
            levels => levels.to_string(),
        },
        figure(row.average_iterations()),
        figure(row.average_setup_seconds()),
        figure(row.average_solve_seconds()),
        human_bytes(row.peak_memory_bytes as u64),
        format!("{:.1e}", detail.residual),
        detail.status.into(),
    ]
}

/// Our figures beside the published ones, if there are any for these sizes.
pub fn beside_published(plan: &Plan, trials: &[Trial]) -> Option<String> {
    let table = match plan.table {
        Some(table) => table,
        None => Published::of(plan.case).filter(|_| plan.contrast == 1.0)?,
    };
    let is_shown = |trial: &&Trial| plan.table.is_some() || table.sizes().any(|s| s == trial.size);
    let shown: Vec<&Trial> = trials.iter().filter(is_shown).collect();
    if shown.is_empty() {
        let sizes: Vec<String> = table.sizes().map(|size| size.to_string()).collect();
        return Some(format!(
            "Aanjaneya et al. (2019, table {}) give figures for sizes {}.",
            table.number,
            sizes.join(", ")
        ));
    }
    let head = "size method published_as levels iterations seconds memory";
    let head = head.split(' ').map(|word| word.replace('_', " "));
    let mut lines = vec![head.collect::<Vec<_>>()];
    let mut is_marked = false;
    for trial in shown {
        for column in table.columns {
            let row = row_of(trial, column);
            is_marked |= row.is_some_and(|row| !row.is_solved());
            let published = table.figures(column, trial.size);
            lines.push(pairs(row, column, published, trial.size));
        }
    }
    let note = if is_marked {
        "\n* not solved to the tolerance"
    } else {
        ""
    };
    Some(format!(
        "Table {}: {}\nours (published by Aanjaneya et al. 2019, sixteen cores)\n{}{note}",
        table.number,
        table.title,
        aligned(&lines)
    ))
}

fn row_of<'a>(trial: &'a Trial, column: &Column) -> Option<&'a Row> {
    let rows = &mut trial.rows.iter();
    rows.find(|row| Some(row.method.as_str()) == column.method)
}

/// Sizes of the table that were not run, and why.
pub fn left_out(plan: &Plan) -> Option<String> {
    if plan.left_out.is_empty() {
        return None;
    }
    let of = |left: &LeftOut| {
        let bytes = human_bytes(left.bytes as u64);
        format!("{} (needs about {bytes})", left.size)
    };
    let sizes: Vec<String> = plan.left_out.iter().map(of).collect();
    Some(format!(
        "left out: {}; `--force` runs them all the same, fewer --methods may need less",
        sizes.join(", ")
    ))
}

/// A method that is done, for people who wait.
pub fn progress(row: &Row) -> String {
    let status = row.detail.as_ref().map_or("done", |detail| detail.status);
    format!(
        "{} {}: {} {status}, {} iterations, {} s",
        row.case,
        row.size,
        row.method,
        figure(row.average_iterations()),
        figure(row.average_seconds())
    )
}

/// A line of the table; figures of a solve that did not reach the tolerance have a mark.
fn pairs(row: Option<&Row>, column: &Column, published: Figures, size: u64) -> Vec<String> {
    let pair = |ours: Option<String>, published: Option<String>| {
        let ours = ours.unwrap_or_else(|| "–".into());
        published.map_or_else(|| ours.clone(), |published| format!("{ours} ({published})"))
    };
    let mark = match row {
        Some(row) if !row.is_solved() => "*",
        _ => "",
    };
    let marked = |value: f64| format!("{}{mark}", figure(value));
    let given = |value: f64| (!value.is_nan()).then(|| figure(value));
    let levels = row.and_then(|row| row.detail.as_ref().map(|detail| detail.levels));
    let memory = row.map(|row| human_bytes(row.peak_memory_bytes as u64));
    let gigabytes = published.gigabytes;
    let published_memory = (!gigabytes.is_nan()).then(|| human_bytes((1e9 * gigabytes) as u64));
    vec![
        size.to_string(),
        column.method.unwrap_or("–").into(),
        column.name.into(),
        pair(
            levels.filter(|&levels| levels > 0).map(|l| l.to_string()),
            given(published.levels),
        ),
        pair(
            row.map(|row| marked(row.average_iterations())),
            given(published.iterations),
        ),
        pair(
            row.map(|row| marked(row.average_seconds())),
            given(published.seconds),
        ),
        pair(memory, published_memory),
    ]
}

/// The same for programs.
pub fn table_json(table: &Published, trials: &[Trial]) -> Value {
    let mut figures = Vec::new();
    for trial in trials {
        for column in table.columns {
            let row = row_of(trial, column);
            let published = table.figures(column, trial.size);
            figures.push(json!({
                "size": trial.size,
                "column": column.name,
                "method": column.method,
                "ours": row.map(|row| json!({
                    "iterations": row.average_iterations(),
                    "seconds": row.average_seconds(),
                    "bytes": row.peak_memory_bytes,
                })),
                "converged": row.map(Row::is_solved),
                // What is not given becomes null.
                "published": {
                    "iterations": published.iterations,
                    "seconds": published.seconds,
                    "bytes": 1e9 * published.gigabytes,
                    "levels": published.levels,
                },
            }));
        }
    }
    json!({ "number": table.number, "title": table.title, "figures": figures })
}
