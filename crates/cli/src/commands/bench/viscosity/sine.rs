//! The paper's test: one system at each size.

use std::path::Path;

use plash_liquid::viscosity::{BodyProblem, ViscosityProblem};
use plash_solve::staggered::{Coarsening, Sine, ViscousSolver};
use serde_json::json;

use super::entry::Entry;
use super::plan::{Case, Plan, coarsening};
use super::text;
use crate::args::BenchViscosity;
use crate::commands::bench::course::{self, Census, Course, Findings};
use crate::commands::bench::dump::{self, Lattice};
use crate::commands::bench::row::Row;
use crate::commands::bench::{check_outputs, draw, tell_errors};
use crate::console::Console;
use crate::failure::Outcome;
use crate::pool;
use crate::viscous::Choice;

/// Has every method solve the test.
pub fn compare(args: &BenchViscosity, console: Console) -> Outcome {
    let plan = Plan::new(args)?;
    let plot = args.common.plot.as_deref();
    check_outputs(plot, args.dump.as_deref())?;
    let pool = pool::pool(args.common.threads.count)?;
    let mut findings = Findings::default();
    for &size in &plan.sizes {
        let ended = pool.install(|| {
            if let Some(folder) = &args.dump {
                let path = folder.join(plan.file_name(size));
                save(&plan, size, &path)?;
                console.say(format!("{} holds the system", path.display()));
            }
            // Comparisons take long: what is known outlives a Ctrl-C.
            let tell = |row: &Row| console.note(text::progress(row));
            Ok((run(&plan, size, tell), None))
        });
        findings.add(ended, |course| tell_errors(course, console))?;
        if findings.failure.is_some() {
            break;
        }
    }
    let courses = &findings.courses;
    console.say(text::courses(&plan, courses));
    if let Some(text) = text::beside_published(&plan, courses) {
        console.say(format!("\n{text}"));
    }
    if let Some(text) = text::left_out(&plan) {
        console.say(text);
    }
    draw(plot, "Viscosity systems", &mut findings, console);
    let document = document(&plan, &findings.courses, pool.current_num_threads());
    findings.conclude(document, console)
}

fn document(plan: &Plan, courses: &[Course], threads: usize) -> serde_json::Value {
    let mut document = course::document(courses, plan.tolerance.relative, threads);
    document["contrast"] = json!(plan.contrast);
    document["coarsening"] = json!(coarsening(&plan.choices).map(Coarsening::as_str));
    if let Some(table) = plan.table {
        document["table"] = text::table_json(table, courses);
        let left_out = plan.left_out.iter();
        document["left_out"] = left_out
            .map(|left| json!({ "size": left.size, "bytes": left.bytes as u64 }))
            .collect();
    }
    document
}

/// Has every method solve the system of a size, in the current thread pool. `tell` hears of each as
/// soon as it is done.
pub fn run(plan: &Plan, size: u64, tell: impl Fn(&Row)) -> Course {
    let case = plan.case.name();
    let row = |problem: &dyn ViscosityProblem, choice: Choice| {
        let mut entry = Entry::new(choice);
        entry.solve(problem, &plan.tolerance);
        let row = entry.row(case, size);
        tell(&row);
        row
    };
    let rows: Vec<Row> = pose(plan, size, |problem| {
        let choices = plan.choices.iter();
        choices.map(|&choice| row(problem, choice)).collect()
    });
    let mut systems = Census::default();
    let unknowns = rows.iter().filter_map(|row| row.detail.map(|d| d.unknowns));
    systems.add(unknowns.max().unwrap_or(0));
    Course {
        case: case.to_owned(),
        size,
        systems,
        rows,
    }
}

/// Saves the system of a size.
fn save(plan: &Plan, size: u64, path: &Path) -> Outcome {
    let lattice = Lattice::unit(plan.case.dimensions(), size);
    pose(plan, size, |problem| {
        dump::viscosity(problem, &lattice, path)
    })
}

/// Poses the test of a size.
fn pose<T>(plan: &Plan, size: u64, work: impl FnOnce(&dyn ViscosityProblem) -> T) -> T {
    fn in_dimension<const D: usize, T>(
        body: &Sine<D>,
        work: impl FnOnce(&dyn ViscosityProblem) -> T,
    ) -> T {
        work(&BodyProblem {
            body,
            load: |solver: &mut ViscousSolver<D>| {
                solver.load_rhs(|axis, face| body.load(axis, face));
            },
        })
    }
    let size = size as usize;
    match plan.case {
        Case::Sine2d => in_dimension(&Sine::<2>::graded(size, plan.contrast), work),
        Case::Sine3d => in_dimension(&Sine::<3>::graded(size, plan.contrast), work),
    }
}
