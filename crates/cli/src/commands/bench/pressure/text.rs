//! The papers' figures beside ours.

use serde_json::{Value, json};

use super::published::{DIVERGED, Published, Quantity};
use crate::commands::bench::course::Course;
use crate::commands::bench::row::Row;
use crate::commands::bench::text::{
    CONVERGED, Column, ITERATIONS, MEMORY, METHOD, SETUP, SOLVE, aligned, figure,
};

const OUTER: Column = Column {
    title: "outer",
    cell: |row| format!("{:.2}", row.average_outer_iterations()),
};

/// What is told of each method.
pub const COLUMNS: [Column; 7] = [METHOD, ITERATIONS, OUTER, SETUP, SOLVE, CONVERGED, MEMORY];

/// Our figures beside the published ones, for people.
pub fn table(table: &Published, courses: &[Course]) -> String {
    let mut header = vec!["size".to_owned()];
    header.extend(table.columns.iter().map(|column| column.0.to_owned()));
    let mut lines = vec![header];
    let mut is_marked = false;
    for course in courses {
        let mut line = vec![course.size.to_string()];
        for (index, (_, method)) in table.columns.iter().enumerate() {
            let published = figure(table.figure(course.size, index));
            let row = course.rows.iter().find(|row| row.method == *method);
            line.push(match row {
                Some(row) => {
                    let mark = if row.is_solved() { "" } else { "*" };
                    is_marked |= !row.is_solved();
                    format!("{}{mark} ({published})", figure(ours(table, row)))
                }
                None => format!("– ({published})"),
            });
        }
        lines.push(line);
    }
    let note = if is_marked {
        "\n* not every system was solved to the tolerance"
    } else {
        ""
    };
    format!(
        "Table {}: {}\nours (published by Lai et al. 2021)\n{}{note}",
        table.number,
        table.title,
        aligned(&lines)
    )
}

/// The same for programs.
pub fn table_json(table: &Published, courses: &[Course]) -> Value {
    let mut figures = Vec::new();
    for course in courses {
        for (index, (name, method)) in table.columns.iter().enumerate() {
            let row = course.rows.iter().find(|row| row.method == *method);
            let published = match table.figure(course.size, index) {
                DIVERGED => json!("diverged"),
                value => json!(value), // NaN, not given, becomes null
            };
            figures.push(json!({
                "size": course.size,
                "column": name,
                "method": method,
                "ours": row.map(|row| ours(table, row)),
                "converged": row.map(Row::is_solved),
                "published": published,
            }));
        }
    }
    json!({ "number": table.number, "title": table.title, "figures": figures })
}

/// What the table counts, as we measured it.
fn ours(table: &Published, row: &Row) -> f64 {
    match table.quantity {
        Quantity::Iterations => row.average_iterations(),
        Quantity::OuterIterations => row.average_outer_iterations(),
        Quantity::Seconds => row.average_seconds(),
    }
}
