//! `plash bench pressure`: every method on the systems of one simulation; and what it shares
//! with `plash bench viscosity`.

mod arena;
mod entry;
mod memory;
mod plan;
mod plot;
mod published;
mod row;
mod text;
mod viscosity;

use std::path::Path;

use serde_json::json;

use crate::args::{BenchPressure, Changes};
use crate::beside;
use crate::console::{Console, plural};
use crate::failure::{Failure, Outcome};
use crate::{pool, source};
use arena::Course;
use plan::Plan;
use row::{Contest, Row};

pub use viscosity::viscosity;

/// Runs the comparison and prints its tables.
pub fn pressure(args: &BenchPressure, console: Console) -> Outcome {
    let plan = Plan::new(args)?;
    check_outputs(args.plot.as_deref(), args.dump.as_deref())?;
    let pool = pool::pool(args.threads.count)?;
    let mut courses = Vec::new();
    for &size in &plan.sizes {
        let changes = Changes {
            frames: None,
            resolution: size,
            set: Vec::new(),
            force: args.force,
        };
        let scene = source::load(&plan.case, &changes, console)?;
        let course = pool.install(|| arena::run(&plan, scene, args.dump.as_deref(), console))?;
        tell_errors(&course.contest(), console);
        console.say(text::course(&course) + "\n");
        courses.push(course);
    }
    if let Some(table) = plan.table {
        console.say(text::table(table, &courses));
    }
    if let Some(folder) = &args.dump {
        let systems = courses.iter().map(|course| course.systems.count).sum();
        let holds = plural(systems, "system");
        console.say(format!("{} holds {holds}", folder.display()));
    }
    let contests: Vec<Contest<'_>> = courses.iter().map(Course::contest).collect();
    draw(args.plot.as_deref(), "Pressure systems", &contests, console)?;
    console.document(&document(args, &plan, &courses, pool.current_num_threads()));
    Ok(())
}

/// Finds out before the work whether its results can be written.
fn check_outputs(plot: Option<&Path>, dump: Option<&Path>) -> Outcome {
    if let Some(file) = plot {
        if file.extension().is_none_or(|ext| ext != "svg") {
            let shown = file.display();
            return Err(
                Failure::bad_input(format!("--plot {shown}: plots are SVG drawings"))
                    .help("name a file that ends in .svg"),
            );
        }
        beside::check(file)?;
    }
    match dump {
        Some(folder) => make_folder(folder),
        None => Ok(()),
    }
}

/// Refuses a size that is named twice.
fn no_twins<T: PartialEq + std::fmt::Display>(sizes: &[T]) -> Outcome {
    let mut sizes = sizes;
    while let Some((size, rest)) = sizes.split_first() {
        if rest.contains(size) {
            return Err(Failure::bad_input(format!("--size names {size} twice")));
        }
        sizes = rest;
    }
    Ok(())
}

fn make_folder(folder: &Path) -> Outcome {
    std::fs::create_dir_all(folder).map_err(|error| Failure::file("make", folder, &error))
}

/// Draws the comparison, if it is asked for.
fn draw(file: Option<&Path>, systems: &str, contests: &[Contest<'_>], console: Console) -> Outcome {
    if let Some(file) = file {
        beside::write(file, plot::svg(systems, contests).as_bytes())?;
        console.say(format!("{} shows it", file.display()));
    }
    Ok(())
}

/// A method that broke is no failure of the comparison, but worth a word.
fn tell_errors(course: &Contest<'_>, console: Console) {
    for row in course.rows {
        if let Some(error) = &row.tally.first_error {
            let (case, size) = (course.case, course.size);
            console.note(format!("{case} {size}: {} broke: {error}", row.method));
        }
    }
}

fn document(
    args: &BenchPressure,
    plan: &Plan,
    courses: &[Course],
    threads: usize,
) -> serde_json::Value {
    let rows = courses.iter().flat_map(|course| &course.rows);
    let mut document = json!({
        "rows": rows.map(Row::to_json).collect::<Vec<_>>(),
        "systems": courses.iter().map(Course::to_json).collect::<Vec<_>>(),
        "tolerance": args.tol,
        "warm_start": !plan.cold,
        "threads": threads,
    });
    if let Some(table) = plan.table {
        document["table"] = text::table_json(table, courses);
    }
    document
}
