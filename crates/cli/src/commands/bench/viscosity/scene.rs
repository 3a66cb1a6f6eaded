//! The viscosity systems of a scene.

use plash_liquid::ViscosityProblem;
use plash_scene::Scene;
use plash_solve::Tolerance;
use plash_solve::staggered::Coarsening;
use serde_json::{Value, json};

use super::entry::Entry;
use super::plan::{Case, choices, coarsening};
use super::text;
use crate::args::BenchViscosity;
use crate::commands::bench::arena::{Entrants, Moment, Program, Wanted};
use crate::commands::bench::course;
use crate::commands::bench::dump::Dump;
use crate::commands::bench::row::Row;
use crate::commands::bench::text::course as course_text;
use crate::commands::bench::{check_outputs, draw, no_twins, tell_dump, tell_errors};
use crate::console::Console;
use crate::failure::{Failure, Outcome};
use crate::viscous::Choice;
use crate::{pool, source};

/// Simulates the scene and has every method solve its viscosity systems.
pub fn compare(args: &BenchViscosity, console: Console) -> Outcome {
    let (program, choices) = plan(args)?;
    let (plot, dump) = (args.common.plot.as_deref(), args.dump.as_deref());
    check_outputs(plot, dump)?;
    let pool = pool::pool(args.common.threads.count)?;
    let tolerance = args.common.tolerance();
    if let Some(levels) = text::levels(&choices) {
        console.say(levels);
    }
    let mut findings = program.run(
        &pool,
        console,
        |scene| {
            check_viscous(scene)?;
            Ok(ViscosityEntrants {
                entries: choices.iter().copied().map(Entry::new).collect(),
                tolerance,
                dump: dump.map(|folder| Dump::new(folder, scene)),
            })
        },
        |course| {
            tell_errors(course, console);
            console.say(course_text(course, &text::SCENE_COLUMNS) + "\n");
        },
    )?;
    tell_dump(dump, &findings.courses, console);
    draw(plot, "Viscosity systems", &mut findings, console);
    let threads = pool.current_num_threads();
    let mut document = course::document(&findings.courses, tolerance.relative, threads);
    document["contrast"] = Value::Null;
    document["coarsening"] = json!(coarsening(&choices).map(Coarsening::as_str));
    findings.conclude(document, console)
}

/// From arguments to what is run.
fn plan(args: &BenchViscosity) -> Outcome<(Program, Vec<Choice>)> {
    source::find_or(&args.case, &Case::ALL.map(Case::name))?;
    if let Some(contrast) = args.contrast {
        let message = format!(
            "--contrast {contrast}: the liquid of {} is as viscous as the scene says",
            args.case
        );
        return Err(Failure::bad_input(message)
            .help("leave --contrast out, or take --case sine3d, whose viscosity it varies"));
    }
    no_twins(&args.sizes)?;
    let program = Program {
        case: args.case.clone(),
        sizes: Program::sizes(&args.sizes),
        systems: Wanted::of(args.period),
        force: args.common.force,
    };
    Ok((program, choices(args, None)?))
}

fn check_viscous(scene: &Scene) -> Outcome {
    if scene.setup.is_viscous() {
        return Ok(());
    }
    let name = &scene.name;
    Err(Failure::bad_input(format!(
        "no liquid of {name} is viscous: there is nothing to solve for"
    ))
    .help(
        "take a scene such as honey, or give this one a viscosity (`[viscosity] value = 10`); \
         `plash bench pressure` compares methods for its pressure",
    ))
}

/// Methods for viscosity.
struct ViscosityEntrants {
    entries: Vec<Entry>,
    tolerance: Tolerance,
    dump: Option<Dump>,
}

impl Entrants for ViscosityEntrants {
    fn viscosity(&mut self, at: Moment, problem: &dyn ViscosityProblem) -> Outcome<Option<usize>> {
        if let Some(dump) = &self.dump {
            dump.viscosity(at, problem)?;
        }
        let mut unknowns = 0;
        for entry in &mut self.entries {
            unknowns = entry.solve(problem, &self.tolerance);
        }
        Ok(Some(unknowns))
    }

    fn rows(&self, case: &str, size: u64) -> Vec<Row> {
        let entries = self.entries.iter();
        entries.map(|entry| entry.row(case, size)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::arguments;
    use super::*;

    #[test]
    fn a_scene_is_simulated_as_long_as_asked() {
        let args = arguments("--case honey --size 16,24 --frames 3 --steps 4 --methods box,mgpcg");
        let (program, choices) = plan(&args).expect("a plan");
        assert_eq!(program.case, "honey");
        assert_eq!(program.sizes, [Some(16), Some(24)]);
        let expected = Wanted {
            frames: Some(3),
            only_last: false,
            steps: Some(4),
        };
        assert_eq!(program.systems, expected);
        let names: Vec<&str> = choices.iter().map(|choice| choice.name).collect();
        assert_eq!(names, ["box", "chebyshev"]);
        let (program, choices) = plan(&arguments("--case coil --frame 2")).expect("a plan");
        assert_eq!(program.sizes, [None]);
        assert_eq!(program.systems, Wanted::first_of(2));
        assert_eq!(choices.len(), 7);
    }

    #[test]
    fn what_no_scene_has_is_refused_with_a_cure() {
        let refused = |line: &str| plan(&arguments(line)).err().expect(line);
        let contrast = refused("--case honey --contrast 1");
        assert!(contrast.message.contains("--contrast 1"));
        assert!(contrast.help.expect("advice").contains("sine3d"));
        let unknown = refused("--case hony").help.expect("advice");
        assert!(unknown.contains("`honey`") && unknown.contains("sine2d"));
        let near = refused("--case sin3d").help.expect("advice");
        assert!(near.contains("did you mean `sine3d`"), "{near}");
        assert!(refused("--case honey --size 8,8").message.contains("twice"));
    }
}
