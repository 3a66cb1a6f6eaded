//! The comparison as text, and the paper's figures beside ours.

use plash_scene::memory::human_bytes;
use plash_solve::staggered::Coarsening;
use serde_json::{Value, json};

use super::plan::{LeftOut, Plan, coarsening};
use super::published::{Column as PublishedColumn, Figures, Published};
use crate::commands::bench::course::Course;
use crate::commands::bench::row::{Detail, Row};
use crate::commands::bench::text::{
    CONVERGED, Column, ITERATIONS, MEMORY, METHOD, SETUP, SOLVE, aligned, figure, table,
};
use crate::console::count;
use crate::viscous::Choice;

const SIZE: Column = Column {
    title: "size",
    cell: |row| row.size.to_string(),
};

const UNKNOWNS: Column = Column {
    title: "unknowns",
    cell: |row| of_detail(row, |detail| count(detail.unknowns as u64)),
};

const LEVELS: Column = Column {
    title: "levels",
    cell: |row| {
        of_detail(row, |detail| match detail.levels {
            0 => "–".into(),
            levels => levels.to_string(),
        })
    },
};

/// Of one system, where they are whole numbers.
const ITERATIONS_OF_ONE: Column = Column {
    title: "iterations",
    cell: |row| figure(row.average_iterations()),
};

const RESIDUAL: Column = Column {
    title: "residual",
    cell: |row| of_detail(row, |detail| format!("{:.1e}", detail.residual)),
};

const STATUS: Column = Column {
    title: "status",
    cell: |row| of_detail(row, |detail| detail.status.into()),
};

/// What is told of each method on one system.
const SINE_COLUMNS: [Column; 10] = [
    SIZE,
    UNKNOWNS,
    METHOD,
    LEVELS,
    ITERATIONS_OF_ONE,
    SETUP,
    SOLVE,
    MEMORY,
    RESIDUAL,
    STATUS,
];

/// What is told of each method on the systems of a scene.
pub const SCENE_COLUMNS: [Column; 8] = [
    METHOD, LEVELS, ITERATIONS, SETUP, SOLVE, CONVERGED, RESIDUAL, MEMORY,
];

fn of_detail(row: &Row, cell: impl Fn(&Detail) -> String) -> String {
    row.detail.as_ref().map_or("–".into(), cell)
}

/// What is special about the coarse levels of these methods.
pub fn levels(choices: &[Choice]) -> Option<&'static str> {
    let is_labelled = coarsening(choices) == Some(Coarsening::Labels);
    is_labelled.then_some("coarse levels by labels")
}

/// What the methods took on the test, for people.
pub fn courses(plan: &Plan, courses: &[Course]) -> String {
    let contrast = match plan.contrast {
        1.0 => String::new(),
        contrast => format!(", viscosity varied by a factor of {contrast}"),
    };
    let levels = levels(&plan.choices).map_or_else(String::new, |levels| format!(", {levels}"));
    let rows = courses.iter().flat_map(|course| &course.rows);
    format!(
        "{}{contrast}{levels}, to a residual of {:e}\n{}",
        plan.case.name(),
        plan.tolerance.relative,
        table(&SINE_COLUMNS, rows)
    )
}

/// Our figures beside the published ones, if there are any for these sizes.
pub fn beside_published(plan: &Plan, courses: &[Course]) -> Option<String> {
    let table = match plan.table {
        Some(table) => table,
        None => Published::of(plan.case).filter(|_| plan.contrast == 1.0)?,
    };
    let is_shown =
        |course: &&Course| plan.table.is_some() || table.sizes().any(|s| s == course.size);
    let shown: Vec<&Course> = courses.iter().filter(is_shown).collect();
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
    for course in shown {
        for column in table.columns {
            let row = row_of(course, column);
            is_marked |= row.is_some_and(|row| !row.is_solved());
            let published = table.figures(column, course.size);
            lines.push(pairs(row, column, published, course.size));
        }
    }
    let note = if is_marked {
        "\n* not solved to the tolerance"
    } else {
        ""
    };
    Some(format!(
        "Table {}: {}\nours to {:e} (published by Aanjaneya et al. 2019, sixteen cores, to 1e-6)\n{}{note}",
        table.number,
        table.title,
        plan.tolerance.relative,
        aligned(&lines)
    ))
}

fn row_of<'a>(course: &'a Course, column: &PublishedColumn) -> Option<&'a Row> {
    let rows = &mut course.rows.iter();
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
fn pairs(
    row: Option<&Row>,
    column: &PublishedColumn,
    published: Figures,
    size: u64,
) -> Vec<String> {
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
pub fn table_json(table: &Published, courses: &[Course]) -> Value {
    let mut figures = Vec::new();
    for course in courses {
        for column in table.columns {
            let row = row_of(course, column);
            let published = table.figures(column, course.size);
            figures.push(json!({
                "size": course.size,
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
