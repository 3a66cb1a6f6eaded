//! `plash bench`: every method on the same systems. What pressure and viscosity share.

mod arena;
mod course;
mod dump;
mod memory;
mod plot;
mod pressure;
mod row;
mod text;
mod viscosity;

use std::path::Path;

use crate::beside;
use crate::console::{Console, plural};
use crate::failure::{Failure, Outcome};
use course::{Course, Findings};

pub use pressure::pressure;
pub use viscosity::viscosity;

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

fn make_folder(folder: &Path) -> Outcome {
    std::fs::create_dir_all(folder).map_err(|error| Failure::file("make", folder, &error))
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

/// The methods of these names, each once.
fn chosen<C: PartialEq>(
    names: &[&str],
    parse: impl Fn(&str) -> Result<C, String>,
) -> Outcome<Vec<C>> {
    let mut choices = Vec::new();
    for name in names {
        let choice =
            parse(name).map_err(|why| Failure::bad_input(format!("--methods {name}: {why}")))?;
        if let Some(first) = choices.iter().position(|other| *other == choice) {
            let also = match names[first] {
                same if same == *name => String::new(),
                other => format!(": {other} is the same"),
            };
            let message = format!("--methods names {name} twice{also}");
            return Err(Failure::bad_input(message));
        }
        choices.push(choice);
    }
    Ok(choices)
}

/// Says where the systems of simulations are, if they are kept.
fn tell_dump(folder: Option<&Path>, courses: &[Course], console: Console) {
    if let Some(folder) = folder {
        let systems = courses.iter().map(|course| course.systems.count).sum();
        let holds = plural(systems, "system");
        console.say(format!("{} holds {holds}", folder.display()));
    }
}

/// Draws the comparison, if it is asked for. What cannot be drawn is a failure, unless there was one.
fn draw(file: Option<&Path>, systems: &str, findings: &mut Findings, console: Console) {
    let Some(file) = file else {
        return;
    };
    let drawing = plot::svg(systems, &findings.courses);
    match beside::write(file, drawing.as_bytes()) {
        Ok(()) => console.say(format!("{} shows it", file.display())),
        Err(failure) => {
            findings.failure.get_or_insert(failure);
        }
    }
}

/// A method that broke is no failure of the comparison, but worth a word.
fn tell_errors(course: &Course, console: Console) {
    for row in &course.rows {
        if let Some(error) = &row.tally.first_error {
            let (case, size) = (&course.case, course.size);
            console.note(format!("{case} {size}: {} broke: {error}", row.method));
        }
    }
}
