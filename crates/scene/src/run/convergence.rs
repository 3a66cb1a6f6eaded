//! How well the solves of a run went.

use plash_liquid::StepReport;
use serde::Serialize;

/// The solves of the substeps that a process has taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Solves {
    /// Those for pressure.
    pub pressure: Convergence,
    /// Those for viscosity; none if no liquid is viscous.
    pub viscosity: Convergence,
}

/// How many solves of one kind did what was asked of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Convergence {
    /// Substeps with such a solve.
    pub substeps: u64,
    /// Of these, those where no method reached the tolerance, and the step was taken all the same.
    pub unconverged: u64,
    /// And those where another method than the first reached it.
    pub fallback: u64,
    /// The largest residual of those that did not reach the tolerance; 0 if all did.
    pub worst_residual: f64,
}

/// How one solve ended.
#[derive(Clone, Copy, Debug)]
struct Ending {
    status: &'static str,
    is_converged: bool,
    residual: f64,
}

impl Solves {
    pub(super) fn count(&mut self, report: &StepReport) {
        let pressure = &report.pressure;
        self.pressure.count(Ending {
            status: pressure.status,
            is_converged: pressure.converged(),
            residual: pressure.residual,
        });
        if let Some(viscosity) = &report.viscosity {
            self.viscosity.count(Ending {
                status: viscosity.status,
                is_converged: viscosity.converged(),
                residual: viscosity.residual,
            });
        }
    }
}

impl Convergence {
    fn count(&mut self, ending: Ending) {
        self.substeps += 1;
        if !ending.is_converged {
            self.unconverged += 1;
            self.worst_residual = self.worst_residual.max(ending.residual);
        } else if ending.status == "fallback" {
            self.fallback += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_solve_is_good_or_unconverged_or_one_of_a_second_method() {
        let mut found = Convergence::default();
        for (status, residual) in [
            ("converged", 1e-7),
            ("iteration-limit", 0.01),
            ("fallback", 0.05),
            ("stagnated", 0.03),
            ("iteration-limit", 0.02),
        ] {
            found.count(Ending {
                status,
                is_converged: ["converged", "fallback"].contains(&status),
                residual,
            });
        }
        let expected = Convergence {
            substeps: 5,
            unconverged: 3,
            fallback: 1,
            worst_residual: 0.03,
        };
        assert_eq!(found, expected);
    }
}
