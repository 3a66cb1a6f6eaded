//! The comparison as text and as one JSON document.

use plash_scene::memory::human_bytes;
use serde_json::{Value, json};

use super::arena::Course;
use super::published::{DIVERGED, Published, Quantity};
use super::row::Row;
use crate::console::{count, plural};

/// What the methods took on one case and size, for people.
pub fn course(course: &Course) -> String {
    let systems = &course.systems;
    let mut lines = vec![vec![
        "method".to_owned(),
        "iterations".into(),
        "outer".into(),
        "set-up s".into(),
        "solve s".into(),
        "converged".into(),
        "memory".into(),
    ]];
    lines.extend(course.rows.iter().map(|row| {
        vec![
            row.method.clone(),
            format!("{:.2}", row.average_iterations()),
            format!("{:.2}", row.average_outer_iterations()),
            figure(row.average_setup_seconds()),
            figure(row.average_solve_seconds()),
            converged(row),
            human_bytes(row.peak_memory_bytes as u64),
        ]
    }));
    format!(
        "{} {}: {} of {} unknowns, {} at walls, {:.1} % of them separated; averages per system\n{}",
        course.case,
        course.size,
        plural(systems.count, "system"),
        count(systems.unknowns().round() as u64),
        count(systems.wall_unknowns().round() as u64),
        100.0 * systems.separated_share(),
        aligned(&lines),
    )
}

fn converged(row: &Row) -> String {
    let share = 100.0 * row.tally.converged as f64 / row.tally.systems.max(1) as f64;
    let helped = match row.tally.fell_back {
        0 => String::new(),
        systems => format!(" ({systems} by another)"),
    };
    format!("{share:.0} %{helped}")
}

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

/// A figure with three digits that count, or more where they stand before the point.
pub fn figure(value: f64) -> String {
    if value.is_nan() {
        return "NA".into();
    }
    if value.is_infinite() {
        return "diverged".into();
    }
    let digits_before = if value == 0.0 {
        1
    } else {
        value.abs().log10().floor() as i32 + 1
    };
    let decimals = (3 - digits_before).clamp(0, 6) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

/// Lines of cells as columns: the first to the left, the others to the right.
pub fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |cells: &Vec<String>| {
        let mut text = format!("  {:<1$}", cells[0], widths[0]);
        for (cell, width) in cells.iter().zip(&widths).skip(1) {
            text.push_str(&format!("  {cell:>width$}"));
        }
        text
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_what_counts() {
        let expected = [
            (0.0, "0"),
            (7.0, "7"),
            (9.75, "9.75"),
            (1901.69, "1902"),
            (0.00054, "0.00054"),
            (70.92, "70.9"),
            (f64::NAN, "NA"),
            (DIVERGED, "diverged"),
        ];
        for (value, text) in expected {
            assert_eq!(figure(value), text);
        }
    }

    #[test]
    fn columns_line_up() {
        let lines = [
            vec!["a".to_owned(), "bb".into()],
            vec!["ccc".into(), "d".into()],
        ];
        assert_eq!(aligned(&lines), "  a    bb\n  ccc   d");
    }
}
