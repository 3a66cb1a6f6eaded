//! `plash bench pressure`: every method on the pressure systems of one simulation.

mod entry;
mod plan;
mod published;
mod text;

use plash_liquid::StepReport;
use plash_solve::{Problem, Tolerance};
use serde_json::json;

use super::arena::{Entrants, Moment};
use super::course::{self, Census};
use super::dump::Dump;
use super::row::Row;
use super::{check_outputs, draw, tell_dump, tell_errors};
use crate::args::BenchPressure;
use crate::console::Console;
use crate::failure::Outcome;
use crate::pool;
use entry::{Carry, Entry};
use plan::Plan;

/// Runs the comparison and prints its tables.
pub fn pressure(args: &BenchPressure, console: Console) -> Outcome {
    let plan = Plan::new(args)?;
    let (plot, dump) = (args.common.plot.as_deref(), args.dump.as_deref());
    check_outputs(plot, dump)?;
    let pool = pool::pool(args.common.threads.count)?;
    let tolerance = args.common.tolerance();
    let mut findings = plan.program.run(
        &pool,
        console,
        |scene| {
            Ok(PressureEntrants {
                entries: plan.choices.iter().cloned().map(Entry::new).collect(),
                carry: (!args.cold).then(Carry::default),
                tolerance,
                dump: dump.map(|folder| Dump::new(folder, scene)),
            })
        },
        |course| {
            tell_errors(course, console);
            console.say(super::text::course(course, &text::COLUMNS) + "\n");
        },
    )?;
    if let Some(table) = plan.table {
        console.say(text::table(table, &findings.courses));
    }
    tell_dump(dump, &findings.courses, console);
    draw(plot, "Pressure systems", &mut findings, console);
    let threads = pool.current_num_threads();
    let mut document = course::document(&findings.courses, tolerance.relative, threads);
    document["warm_start"] = json!(!args.cold);
    if let Some(table) = plan.table {
        document["table"] = text::table_json(table, &findings.courses);
    }
    findings.conclude(document, console)
}

/// Methods for pressure.
struct PressureEntrants {
    entries: Vec<Entry>,
    /// What warm starts need; `None` if every solve starts from nothing.
    carry: Option<Carry>,
    tolerance: Tolerance,
    dump: Option<Dump>,
}

impl Entrants for PressureEntrants {
    fn pressure(&mut self, at: Moment, problem: &Problem<'_>) -> Outcome<Option<usize>> {
        if let Some(dump) = &self.dump {
            dump.pressure(at, problem)?;
        }
        if let Some(carry) = &mut self.carry {
            carry.meet(problem);
        }
        for entry in &mut self.entries {
            entry.solve(problem, self.carry.as_ref(), &self.tolerance);
        }
        Ok(Some(problem.b.len()))
    }

    fn count(&self, report: &StepReport, systems: &mut Census) {
        let pressure = &report.pressure;
        systems.add_walls(pressure.wall_cells, pressure.separated_cells);
    }

    fn rows(&self, case: &str, size: u64) -> Vec<Row> {
        let entries = self.entries.iter();
        entries.map(|entry| entry.row(case, size)).collect()
    }
}
