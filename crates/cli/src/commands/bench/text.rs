//! Comparisons as text: what every table is made of.

use plash_scene::memory::human_bytes;

use super::course::Course;
use super::row::Row;
use crate::console::{count, plural};

/// A column of a table.
#[derive(Clone, Copy)]
pub struct Column {
    /// Its head.
    pub title: &'static str,
    /// What it says of a row.
    pub cell: fn(&Row) -> String,
}

/// The method.
pub const METHOD: Column = Column {
    title: "method",
    cell: |row| row.method.clone(),
};

/// Average iterations.
pub const ITERATIONS: Column = Column {
    title: "iterations",
    cell: |row| format!("{:.2}", row.average_iterations()),
};

/// Average seconds of set-up.
pub const SETUP: Column = Column {
    title: "set-up s",
    cell: |row| figure(row.average_setup_seconds()),
};

/// Average seconds of solving.
pub const SOLVE: Column = Column {
    title: "solve s",
    cell: |row| figure(row.average_solve_seconds()),
};

/// The share of systems that were solved.
pub const CONVERGED: Column = Column {
    title: "converged",
    cell: converged,
};

/// The most memory.
pub const MEMORY: Column = Column {
    title: "memory",
    cell: |row| human_bytes(row.peak_memory_bytes as u64),
};

fn converged(row: &Row) -> String {
    let share = 100.0 * row.tally.converged as f64 / row.tally.systems.max(1) as f64;
    let helped = match row.tally.fell_back {
        0 => String::new(),
        systems => format!(" ({systems} by another)"),
    };
    format!("{share:.0} %{helped}")
}

/// What the methods took on one case and size, for people.
pub fn course(course: &Course, columns: &[Column]) -> String {
    let systems = &course.systems;
    let walls = systems.walls().map(|[unknowns, separated_share]| {
        format!(
            ", {} at walls, {:.1} % of them separated",
            count(unknowns.round() as u64),
            100.0 * separated_share
        )
    });
    format!(
        "{} {}: {} of {} unknowns{}; averages per system\n{}",
        course.case,
        course.size,
        plural(systems.count, "system"),
        count(systems.unknowns().round() as u64),
        walls.unwrap_or_default(),
        table(columns, &course.rows),
    )
}

/// A line for each row below the heads.
pub fn table<'a>(columns: &[Column], rows: impl IntoIterator<Item = &'a Row>) -> String {
    let head = columns.iter().map(|column| column.title.to_owned());
    let mut lines = vec![head.collect::<Vec<_>>()];
    let line = |row| columns.iter().map(|column| (column.cell)(row)).collect();
    lines.extend(rows.into_iter().map(line));
    aligned(&lines)
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
            (f64::INFINITY, "diverged"),
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
