//! What a run has to say of solves that did not go as asked.

use std::path::Path;

use plash_scene::run::{Convergence, STATS_NAME, Solves};

use crate::console::plural;

/// One line for people, if there is anything to say: a warning if a tolerance was missed, a note if
/// only second methods were needed.
pub fn doubts(solves: &Solves, folder: &Path) -> Option<String> {
    let kinds = [
        ("viscosity", &solves.viscosity),
        ("pressure", &solves.pressure),
    ];
    let said: Vec<String> = kinds
        .iter()
        .flat_map(|(kind, found)| said(kind, found))
        .collect();
    if said.is_empty() {
        return None;
    }
    let missed: Vec<String> = kinds
        .iter()
        .filter(|(_, found)| found.unconverged > 0)
        .map(|(kind, _)| format!("raise `{kind}.max-iterations` or loosen `{kind}.tolerance`, "))
        .collect();
    let word = if missed.is_empty() { "note" } else { "warning" };
    let cure = missed.concat();
    let stats = folder.join(STATS_NAME);
    Some(format!(
        "{word}: {}; {cure}see {}",
        said.join(", "),
        stats.display()
    ))
}

fn said(kind: &str, found: &Convergence) -> impl Iterator<Item = String> {
    let of_all = |number| format!("{number} of {}", plural(found.substeps, "substep"));
    let missed = (found.unconverged > 0).then(|| {
        format!(
            "{kind} missed its tolerance in {} (worst residual {:.1e})",
            of_all(found.unconverged),
            found.worst_residual
        )
    });
    let helped = (found.fallback > 0).then(|| {
        format!(
            "{kind} needed a second method in {}",
            of_all(found.fallback)
        )
    });
    missed.into_iter().chain(helped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(solves: &Solves) -> Option<String> {
        doubts(solves, Path::new("runs/honey"))
    }

    #[test]
    fn a_missed_tolerance_is_a_warning_with_a_cure() {
        let mut solves = Solves::default();
        solves.pressure.substeps = 40;
        solves.viscosity.substeps = 40;
        assert_eq!(line(&solves), None);
        solves.viscosity.unconverged = 12;
        solves.viscosity.worst_residual = 0.031;
        solves.pressure.fallback = 1;
        assert_eq!(
            line(&solves).as_deref(),
            Some(
                "warning: viscosity missed its tolerance in 12 of 40 substeps (worst residual \
                 3.1e-2), pressure needed a second method in 1 of 40 substeps; raise \
                 `viscosity.max-iterations` or loosen `viscosity.tolerance`, see \
                 runs/honey/stats.jsonl"
            )
        );
    }

    #[test]
    fn a_second_method_alone_is_a_note() {
        let mut solves = Solves::default();
        solves.viscosity.substeps = 1;
        solves.viscosity.fallback = 1;
        assert_eq!(
            line(&solves).as_deref(),
            Some(
                "note: viscosity needed a second method in 1 of 1 substep; see \
                 runs/honey/stats.jsonl"
            )
        );
    }
}
