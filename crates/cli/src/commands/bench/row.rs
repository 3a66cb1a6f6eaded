//! What a method took: the rows of every comparison.

use plash_solve::Status;
use serde_json::{Value, json};

/// What a method has taken, summed over systems.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Systems it was given.
    pub systems: usize,
    /// Systems it solved to the tolerance.
    pub converged: usize,
    /// Systems that another method had to solve for it.
    pub fell_back: usize,
    /// Why the first of those failed that broke it.
    pub first_error: Option<String>,
    iterations: usize,
    outer_iterations: usize,
    setup_seconds: f64,
    solve_seconds: f64,
}

/// What a method took on a case of one size.
#[derive(Clone, Debug)]
pub struct Row {
    /// The scene.
    pub case: String,
    /// Cells along its longest side.
    pub size: u64,
    /// The method, as typed.
    pub method: String,
    /// Sums.
    pub tally: Tally,
    /// The most memory it held at once, the problem itself not counted.
    pub peak_memory_bytes: usize,
    /// More about the systems, where it is known.
    pub detail: Option<Detail>,
}

/// What is known of one system, or of several at their worst.
#[derive(Clone, Copy, Debug)]
pub struct Detail {
    /// Unknowns; of several systems, those of the largest.
    pub unknowns: usize,
    /// Levels of the method's hierarchy, the most it had; 0 if it has none.
    pub levels: usize,
    /// The residual reached, relative to the right-hand side, the largest there was; not a number
    /// if the method broke.
    pub residual: f64,
    /// How the solve ended, the first that did not reach the tolerance.
    pub status: &'static str,
}

impl Detail {
    /// The same with another system.
    #[must_use]
    pub fn with(self, other: Detail) -> Detail {
        let is_worse = self.residual.is_nan() || self.residual >= other.residual;
        let is_solved = self.status == Status::Converged.as_str();
        Detail {
            unknowns: self.unknowns.max(other.unknowns),
            levels: self.levels.max(other.levels),
            residual: if is_worse { self } else { other }.residual,
            status: if is_solved { other } else { self }.status,
        }
    }
}

impl Tally {
    /// Counts a system with its seconds of set-up and of solving.
    pub fn add_system(&mut self, [setup, solve]: [f64; 2]) {
        self.systems += 1;
        self.setup_seconds += setup;
        self.solve_seconds += solve;
    }

    /// Adds what its solution took: iterations and outer ones.
    pub fn add_solution(&mut self, [iterations, outer]: [usize; 2], converged: bool) {
        self.converged += usize::from(converged);
        self.iterations += iterations;
        self.outer_iterations += outer;
    }

    /// Remembers why the system broke the method.
    pub fn add_error(&mut self, error: String) {
        self.first_error.get_or_insert(error);
    }
}

impl Row {
    /// Whether every system was solved to the tolerance.
    pub fn is_solved(&self) -> bool {
        self.tally.converged == self.tally.systems
    }

    /// Iterations, cycles or sweeps per system.
    pub fn average_iterations(&self) -> f64 {
        self.average(self.tally.iterations as f64)
    }

    /// Outer iterations per system.
    pub fn average_outer_iterations(&self) -> f64 {
        self.average(self.tally.outer_iterations as f64)
    }

    /// Seconds of set-up per system.
    pub fn average_setup_seconds(&self) -> f64 {
        self.average(self.tally.setup_seconds)
    }

    /// Seconds of solving per system.
    pub fn average_solve_seconds(&self) -> f64 {
        self.average(self.tally.solve_seconds)
    }

    /// Seconds per system.
    pub fn average_seconds(&self) -> f64 {
        self.average_setup_seconds() + self.average_solve_seconds()
    }

    fn average(&self, sum: f64) -> f64 {
        sum / self.tally.systems.max(1) as f64
    }

    /// For programs.
    pub fn to_json(&self) -> Value {
        let mut row = json!({
            "case": self.case,
            "size": self.size,
            "method": self.method,
            "systems": self.tally.systems,
            "converged": self.tally.converged,
            "fell_back": self.tally.fell_back,
            "average_iterations": self.average_iterations(),
            "average_outer_iterations": self.average_outer_iterations(),
            "average_setup_seconds": self.average_setup_seconds(),
            "average_solve_seconds": self.average_solve_seconds(),
            "peak_memory_bytes": self.peak_memory_bytes,
            "error": self.tally.first_error,
        });
        if let Some(detail) = &self.detail {
            row["unknowns"] = json!(detail.unknowns);
            row["levels"] = json!(detail.levels);
            row["residual"] = json!(detail.residual);
            row["status"] = json!(detail.status);
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_systems_the_worst_is_told() {
        let detail = |unknowns, residual, status| Detail {
            unknowns,
            levels: 2,
            residual,
            status,
        };
        let good = detail(9, 1e-7, "converged");
        let poor = detail(5, 1e-3, "iteration-limit");
        let broken = detail(7, f64::NAN, "failed");
        for both in [good.with(poor), poor.with(good)] {
            assert_eq!((both.unknowns, both.status), (9, "iteration-limit"));
            assert_eq!(both.residual, 1e-3);
        }
        assert_eq!(good.with(good).status, "converged");
        assert!(poor.with(broken).with(good).residual.is_nan());
        assert_eq!(poor.with(broken).status, "iteration-limit");
    }
}
