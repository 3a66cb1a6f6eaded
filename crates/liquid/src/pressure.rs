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
//! Faces whose velocity a source gives have `w = 0`, and are in `b` all the same.
//!
//! Faces then take `u_f ← u_f − (q_hi − q_lo)/(θ Δx)`, the same `θ`. Stored scaled by `Δx²`.
//!
//! In a cell at a wall that holds, and wherever there is no wall, the new divergence is zero.
//! A separating wall only pushes, so in a cell `i` beside one
//!
//! ```text
//! 0 ≤ q_i  ⊥  (A q + b)_i − γ w_i/Δx ≥ 0
//! ```
//!
//! (Batty et al. 2007, in the control-volume form of Lai et al. 2021): either the liquid is
//! pressed against the wall and nothing opens, or it is not and a void may. `γ w`, usually
//! zero, is the speed at which the wall sends liquid away times the area of wall in the cell
//! over that of a face (Andersen et al. 2017, section 6).

mod engine;
mod mg;
mod pcg_mic;
mod system;

pub use mg::Mg;
pub use pcg_mic::PcgMic;
pub use system::{System, gradient_step, theta};

use plash_grid::{CellField, FaceField, Grid, Runs};
use plash_solve::{Policy, Problem, SolveError, Solved};

use self::engine::{Engine, linear};
use crate::nozzle::Driven;
use crate::report::SolveReport;
use crate::setup::PressureConfig;
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
    /// Faces whose velocity sources give, if there are sources.
    pub driven: Option<&'a Driven<D>>,
}

impl<const D: usize> Domain<'_, D> {
    /// Whether a source says how a face moves.
    #[inline]
    pub fn is_driven(&self, axis: usize, index: usize) -> bool {
        self.driven
            .is_some_and(|driven| driven.contains(axis, index))
    }

    /// How much of a face is open to pressure.
    #[inline]
    pub fn open(&self, axis: usize, index: usize) -> f64 {
        if self.is_driven(axis, index) {
            return 0.0;
        }
        self.solids.open().slices()[axis][index]
    }
}

/// A pressure solver with its scratch memory.
pub struct Projection<const D: usize> {
    system: System<D>,
    engine: Engine<D>,
    /// For displacements, which know no separation.
    pcg: PcgMic,
    rhs: Vec<f64>,
    solution: Vec<f64>,
    policy: Policy,
}

/// What one projection leaves for the next, and for all that asks where liquid is pressed
/// against walls.
pub struct Contact<'a, const D: usize> {
    /// `q = p Δt/ρ`: the first guess, and then the solution.
    pub pressure: &'a mut CellField<f64, D>,
    /// 1 at wall cells that have let go: the first guess, and then the solution.
    pub separated: &'a mut CellField<u8, D>,
}

impl<const D: usize> Projection<D> {
    /// A solver as configured.
    pub fn new(grid: &Grid<D>, config: PressureConfig) -> Self {
        Projection {
            system: System::new(grid),
            engine: Engine::new(grid, config),
            pcg: PcgMic::default(),
            rhs: Vec::new(),
            solution: Vec::new(),
            policy: Policy::default(),
        }
    }

    /// Makes `u` free of divergence in the liquid, but for the voids that open at separating
    /// walls. `known`, 1 where particles gave a velocity, becomes 1 at faces whose velocity is
    /// now meaningful and 0 elsewhere.
    pub fn project(
        &mut self,
        domain: &Domain<'_, D>,
        u: &mut FaceField<f64, D>,
        known: &mut FaceField<u8, D>,
        contact: Contact<'_, D>,
    ) -> Result<SolveReport, SolveError> {
        let Contact {
            pressure,
            separated,
        } = contact;
        self.assemble(domain)?;
        self.system.divergence_rhs(domain, u, &mut self.rhs);
        self.system.gather(pressure, &mut self.solution);
        self.system
            .gather_flags(separated, &mut self.policy.separated);
        let mut solved = self.engine.solve(
            domain,
            &self.system,
            &self.rhs,
            &mut self.policy,
            &mut self.solution,
        )?;
        let flags = &mut self.policy.separated;
        solved.solution.separated = self.system.find_separated(&self.rhs, &self.solution, flags);
        self.system.scatter(domain.runs, &self.solution, pressure);
        self.system
            .scatter_flags(domain.runs, &self.policy.separated, separated);
        gradient_step(domain, &self.system, pressure, u, known);
        Ok(self.report(&solved))
    }

    /// Builds the system of a domain.
    ///
    /// # Errors
    /// If its surface is no number.
    pub fn assemble(&mut self, domain: &Domain<'_, D>) -> Result<(), SolveError> {
        self.pcg.forget();
        self.system.assemble(domain)
    }

    /// The displacement field whose divergence is `expansion` in every liquid cell, in the
    /// order of the system's cells: moving along it by one unit of time changes densities by
    /// that much. Uses the system of the last [`project`](Self::project) or [`assemble`](Self::assemble), with walls that
    /// hold: a displacement evens out liquid and is no motion that could leave a wall.
    pub fn displace(
        &mut self,
        domain: &Domain<'_, D>,
        expansion: &[f64],
        tolerance: f64,
        potential: &mut CellField<f64, D>,
        displacement: &mut FaceField<f64, D>,
        known: &mut FaceField<u8, D>,
    ) -> Result<SolveReport, SolveError> {
        let scale = domain.grid.dx() * domain.grid.dx();
        self.rhs.clear();
        self.rhs.extend(expansion.iter().map(|e| scale * e));
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
        Ok(self.report(&linear("pcg-mic", outcome)))
    }

    /// The problem of the last [`project`](Self::project); a [`displace`](Self::displace)
    /// puts another right-hand side in its place.
    pub fn problem(&self) -> Problem<'_> {
        self.system.problem(&self.rhs)
    }

    /// The system of the last projection.
    pub fn system(&self) -> &System<D> {
        &self.system
    }

    fn report(&self, solved: &Solved) -> SolveReport {
        let largest = self.rhs.iter().fold(0.0f64, |m, r| m.max(r.abs()));
        let solution = &solved.solution;
        let status = if solved.fell_back && solution.converged() {
            "fallback"
        } else {
            solution.status.as_str()
        };
        SolveReport {
            method: solved.method,
            iterations: solution.iterations,
            outer_iterations: solution.outer_iterations,
            residual: if largest > 0.0 {
                solution.residual / largest
            } else {
                0.0
            },
            status,
            unknowns: self.system.cells().len(),
            wall_cells: self.system.wall_cells(),
            separated_cells: solution.separated,
            pockets: self.system.pockets(),
        }
    }
}
