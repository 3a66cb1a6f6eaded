//! Making the velocity free of divergence.
//!
//! The unknown is `q = p Δt/ρ` at liquid cells. With `w` the open fraction of a face,
//! `θ` the distance from a liquid cell centre to the free surface in cells, and
//! `s = ±1` on high and low faces, the new divergence of cell `i` is `(A q + b)_i`:
//!
//! - liquid neighbour `j`: `A_ii += w/Δx²`, `A_ij −= w/Δx²`;
//! - air neighbour: `A_ii += w/(θ Δx²)` (ghost fluid);
//! - `b_i = Σ_f s [w u_f + (1−w) u^s_f] / Δx`, `u^s` the solid's velocity.
//!
//! Faces then take `u_f ← u_f − (q_hi − q_lo)/(θ Δx)`, the same `θ`. Stored scaled by `Δx²`.

mod mg;
mod pcg_mic;
mod system;

pub use mg::Mg;
pub use pcg_mic::PcgMic;
pub use system::{System, gradient_step, theta};

use plash_grid::{CellField, FaceField, Grid, Runs};
use plash_solve::{Outcome, SolveError, Tolerance};

use crate::report::SolveReport;
use crate::setup::{PressureConfig, PressureMethod};
use crate::solids::Solids;

/// What every solver may see of the simulation: where, and what surrounds the liquid.
#[derive(Clone, Copy)]
pub struct Domain<'a, const D: usize> {
    /// The grid.
    pub grid: &'a Grid<D>,
    /// Where there is work.
    pub runs: &'a Runs<D>,
    /// Solids and walls.
    pub solids: &'a Solids<D>,
    /// The liquid surface, negative inside.
    pub phi: &'a CellField<f64, D>,
}

/// A pressure solver with its scratch memory.
pub struct Projection<const D: usize> {
    config: PressureConfig,
    system: System<D>,
    pcg: PcgMic,
    /// Only if the configuration asks for it.
    mg: Option<Mg<D>>,
    rhs: Vec<f64>,
    solution: Vec<f64>,
}

/// A solve, and the words a report has for it.
struct Solved {
    method: &'static str,
    status: &'static str,
    outcome: Outcome,
}

impl Solved {
    fn new(method: &'static str, outcome: Outcome) -> Self {
        Solved {
            method,
            status: outcome.status.as_str(),
            outcome,
        }
    }
}

impl<const D: usize> Projection<D> {
    /// A solver as configured.
    pub fn new(grid: &Grid<D>, config: PressureConfig) -> Self {
        let mg = matches!(config.method, PressureMethod::Mg(_)).then(|| Mg::new(grid));
        Projection {
            config,
            system: System::new(grid),
            pcg: PcgMic::default(),
            mg,
            rhs: Vec::new(),
            solution: Vec::new(),
        }
    }

    /// Makes `u` free of divergence in the liquid. `pressure` is the first guess and
    /// becomes the solution; `known`, 1 where particles gave a velocity, becomes 1 at faces
    /// whose velocity is now meaningful and 0 elsewhere.
    pub fn project(
        &mut self,
        domain: &Domain<'_, D>,
        u: &mut FaceField<f64, D>,
        known: &mut FaceField<u8, D>,
        pressure: &mut CellField<f64, D>,
    ) -> Result<SolveReport, SolveError> {
        self.system.assemble(domain)?;
        self.pcg.prepare(&self.system);
        if let Some(mg) = &mut self.mg {
            mg.prepare(domain, &self.system);
        }
        self.system.divergence_rhs(domain, u, &mut self.rhs);
        self.system.gather(pressure, &mut self.solution);
        let solved = self.solve()?;
        self.system.scatter(domain.runs, &self.solution, pressure);
        gradient_step(domain, &self.system, pressure, u, known);
        Ok(self.report(&solved))
    }

    /// The displacement field whose divergence is `expansion` in every liquid cell: moving
    /// along it by one unit of time changes densities by that much. Uses the system of the
    /// last [`project`](Self::project).
    pub fn displace(
        &mut self,
        domain: &Domain<'_, D>,
        expansion: impl Fn(usize) -> f64,
        tolerance: f64,
        potential: &mut CellField<f64, D>,
        displacement: &mut FaceField<f64, D>,
        known: &mut FaceField<u8, D>,
    ) -> Result<SolveReport, SolveError> {
        let scale = domain.grid.dx() * domain.grid.dx();
        self.rhs.clear();
        self.rhs.extend(
            self.system
                .cells()
                .iter()
                .map(|&c| scale * expansion(c as usize)),
        );
        self.solution.clear();
        self.solution.resize(self.rhs.len(), 0.0);
        let outcome =
            self.pcg
                .solve(&self.system, &self.rhs, &mut self.solution, tolerance, 200)?;
        self.system.scatter(domain.runs, &self.solution, potential);
        for field in displacement.all_mut() {
            field.fill_runs(domain.runs, 0.0);
        }
        for field in known.all_mut() {
            field.fill_runs(domain.runs, 0);
        }
        gradient_step(domain, &self.system, potential, displacement, known);
        Ok(self.report(&Solved::new("pcg-mic", outcome)))
    }

    /// The system of the last projection.
    pub fn system(&self) -> &System<D> {
        &self.system
    }

    /// Solves by the configured method, and by conjugate gradients if that fails.
    fn solve(&mut self) -> Result<Solved, SolveError> {
        let (tolerance, limit) = (self.config.tolerance, self.config.max_iterations);
        let (system, rhs, x) = (&self.system, &self.rhs, &mut self.solution);
        let mut spent = 0;
        if let (PressureMethod::Mg(options), Some(mg)) = (&self.config.method, &mut self.mg) {
            let tolerance = Tolerance {
                relative: tolerance,
                max_iterations: limit,
                ..Tolerance::default()
            };
            let outcome = mg.solve(system, options, rhs, x, &tolerance)?;
            if outcome.converged() {
                return Ok(Solved::new("mg", outcome));
            }
            spent = outcome.iterations;
        }
        let outcome = self.pcg.solve(system, rhs, x, tolerance, limit)?;
        let mut solved = Solved::new("pcg-mic", outcome);
        if self.mg.is_some() {
            solved.outcome.iterations += spent;
            if outcome.converged() {
                solved.status = "fallback";
            }
        }
        Ok(solved)
    }

    fn report(&self, solved: &Solved) -> SolveReport {
        let largest = self.rhs.iter().fold(0.0f64, |m, r| m.max(r.abs()));
        SolveReport {
            method: solved.method,
            iterations: solved.outcome.iterations,
            outer_iterations: 1,
            residual: if largest > 0.0 {
                solved.outcome.residual / largest
            } else {
                0.0
            },
            status: solved.status,
            unknowns: self.system.cells().len(),
            wall_cells: self.system.wall_cells(),
            separated_cells: 0,
            pockets: self.system.pockets(),
        }
    }
}
