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

mod pcg_mic;
mod system;

pub use pcg_mic::PcgMic;
pub use system::{System, gradient_step, theta};

use plash_grid::{CellField, FaceField, Grid, Runs};
use plash_solve::{Outcome, SolveError, Status};

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
    rhs: Vec<f64>,
    solution: Vec<f64>,
}

impl<const D: usize> Projection<D> {
    /// A solver as configured.
    pub fn new(grid: &Grid<D>, config: PressureConfig) -> Self {
        Projection {
            config,
            system: System::new(grid),
            pcg: PcgMic::default(),
            rhs: Vec::new(),
            solution: Vec::new(),
        }
    }

    /// Makes `u` free of divergence in the liquid. `pressure` is the first guess and
    /// becomes the solution; `known` becomes 1 at faces whose velocity is now meaningful
    /// and 0 elsewhere.
    pub fn project(
        &mut self,
        domain: &Domain<'_, D>,
        u: &mut FaceField<f64, D>,
        known: &mut FaceField<u8, D>,
        pressure: &mut CellField<f64, D>,
    ) -> Result<SolveReport, SolveError> {
        self.system.assemble(domain)?;
        self.pcg.prepare(&self.system);
        self.system.divergence_rhs(domain, u, &mut self.rhs);
        self.system.gather(pressure, &mut self.solution);
        let (method, outcome) = self.solve(self.config.tolerance)?;
        self.system.scatter(domain.runs, &self.solution, pressure);
        gradient_step(domain, &self.system, pressure, u, known);
        Ok(self.report(method, &outcome))
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
        gradient_step(domain, &self.system, potential, displacement, known);
        Ok(self.report("pcg-mic", &outcome))
    }

    /// The system of the last projection.
    pub fn system(&self) -> &System<D> {
        &self.system
    }

    fn solve(&mut self, tolerance: f64) -> Result<(&'static str, Outcome), SolveError> {
        let limit = self.config.max_iterations;
        match &self.config.method {
            PressureMethod::PcgMic | PressureMethod::Mg(_) => {
                let (system, rhs) = (&self.system, &self.rhs);
                let outcome = self
                    .pcg
                    .solve(system, rhs, &mut self.solution, tolerance, limit)?;
                Ok(("pcg-mic", outcome))
            }
        }
    }

    fn report(&self, method: &'static str, outcome: &Outcome) -> SolveReport {
        let largest = self.rhs.iter().fold(0.0f64, |m, r| m.max(r.abs()));
        SolveReport {
            method,
            iterations: outcome.iterations,
            outer_iterations: 1,
            residual: if largest > 0.0 {
                outcome.residual / largest
            } else {
                0.0
            },
            status: match outcome.status {
                Status::Converged => "converged",
                other => other.as_str(),
            },
            unknowns: self.system.cells().len(),
            wall_cells: self.system.wall_cells(),
            separated_cells: 0,
            pockets: self.system.pockets(),
        }
    }
}
