//! What a step says about itself.

use plash_solve::Problem;
use serde::Serialize;

use crate::viscosity::ViscosityProblem;

/// What happened in one substep. `D`-vectors are plain lists, so that the same type serves
/// 2D and 3D.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct StepReport {
    /// Substeps taken so far, this one included.
    pub step: u64,
    /// Time after the step, s.
    pub time: f64,
    /// Length of the step, s.
    pub dt: f64,
    /// Measured volume of the liquid, m³ (m² in 2D): see [`Occupancy`](crate::Occupancy).
    pub volume: f64,
    /// Initial volume + sources − drains.
    pub volume_expected: f64,
    /// Number of particles.
    pub particles: usize,
    /// Largest particle speed, m/s.
    pub max_speed: f64,
    /// Kinetic energy of the particles, J (per metre of depth in 2D).
    pub kinetic_energy: f64,
    /// Momentum of the particles, kg m/s.
    pub momentum: Vec<f64>,
    /// Mean of particle density over interior cells, relative to rest; 1 if there are none.
    pub density_mean: f64,
    /// Root mean square deviation of that density from 1.
    pub density_rms: f64,
    /// The pressure solve. Viscous liquid is made free of divergence twice: iterations are then
    /// those of both solves, all else is of the second, and the pressure it finds is the whole.
    pub pressure: SolveReport,
    /// The viscosity solve, if any liquid is viscous.
    pub viscosity: Option<ViscosityReport>,
    /// The density correction, if it is on and there was something to correct.
    pub density: Option<SolveReport>,
    /// Particles added by sources.
    pub emitted: usize,
    /// Particles removed by drains and open sides.
    pub removed: usize,
}

/// What happened in one solve.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SolveReport {
    /// The method that gave the solution.
    pub method: &'static str,
    /// Inner iterations or cycles.
    pub iterations: usize,
    /// Outer iterations (policies, Newton steps); 1 for a linear solve.
    pub outer_iterations: usize,
    /// Largest remaining residual relative to the largest entry of the right-hand side.
    pub residual: f64,
    /// How the solve ended: `converged`, `iteration-limit`, `fallback`, …
    pub status: &'static str,
    /// Unknowns.
    pub unknowns: usize,
    /// Unknowns next to a wall or an obstacle.
    pub wall_cells: usize,
    /// Of these, how many have let go of it: never where walls hold.
    pub separated_cells: usize,
    /// Bodies of liquid with no free surface.
    pub pockets: usize,
}

impl SolveReport {
    /// Whether the tolerance was met, if by a second method.
    pub fn converged(&self) -> bool {
        matches!(self.status, "converged" | "fallback")
    }

    /// This solve after another one of the same step: iterations are those of both.
    pub(crate) fn after(mut self, first: &SolveReport) -> Self {
        self.iterations += first.iterations;
        self.outer_iterations += first.outer_iterations;
        self
    }
}

/// What happened in one viscosity solve.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ViscosityReport {
    /// The method that gave the solution.
    pub method: &'static str,
    /// Its smoother, if it is a multigrid method.
    pub smoother: Option<&'static str>,
    /// Iterations, those of a method that failed before included.
    pub iterations: usize,
    /// Largest remaining residual relative to the largest momentum, that of a full face with the
    /// largest velocity.
    pub residual: f64,
    /// How the solve ended: `converged`, `iteration-limit`, `fallback`, …
    pub status: &'static str,
    /// How the configured method ended, if another was tried after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_status: Option<&'static str>,
    /// Unknowns: faces that the liquid moves.
    pub unknowns: usize,
}

impl ViscosityReport {
    /// Whether the tolerance was met, if by a second method.
    pub fn converged(&self) -> bool {
        matches!(self.status, "converged" | "fallback")
    }
}

/// The stages of a step, in the order they happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// Sources, drains, reseeding and sorting of particles.
    Particles,
    /// Particles to grid.
    ToGrid,
    /// Liquid surface and cell labels.
    Surface,
    /// Pressure assembly and solve.
    Pressure,
    /// Viscosity assembly and solve, between two visits to the pressure.
    Viscosity,
    /// Density correction.
    Density,
    /// Velocity beyond the surface and at walls.
    Extrapolate,
    /// Grid to particles.
    ToParticles,
    /// Moving particles.
    Advect,
    /// Volume, energy and other measurements.
    Measure,
}

impl Stage {
    /// The name used in statistics.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Particles => "particles",
            Stage::ToGrid => "to_grid",
            Stage::Surface => "surface",
            Stage::Pressure => "pressure",
            Stage::Viscosity => "viscosity",
            Stage::Density => "density",
            Stage::Extrapolate => "extrapolate",
            Stage::ToParticles => "to_particles",
            Stage::Advect => "advect",
            Stage::Measure => "measure",
        }
    }
}

/// Somebody who wants to know how far a step is: clocks, progress bars. It cannot change
/// the run.
pub trait Observer {
    /// The step enters this stage.
    fn enter(&mut self, stage: Stage);

    /// The pressure of the step has been found: this is the problem it solves, for those who
    /// keep or compare. The right-hand side is scaled as the matrix is, by `Δx²`.
    fn pressure(&mut self, problem: &Problem<'_>) {
        let _ = problem;
    }

    /// The viscosity of the step is about to be solved for: this is the problem, with the
    /// velocities that every method starts from.
    fn viscosity(&mut self, problem: &dyn ViscosityProblem) {
        let _ = problem;
    }
}

/// Nobody watches.
impl Observer for () {
    fn enter(&mut self, _: Stage) {}
}

/// Why a step could not be taken. The state is as it was before the step.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// The length of the step is not a positive number.
    #[error("the step length must be positive and finite, got {dt}")]
    BadStep {
        /// What was asked for.
        dt: f64,
    },
    /// No method solved the pressure.
    #[error("the pressure solve failed at t = {time} s, step {step}: {reason}")]
    Pressure {
        /// Simulated time.
        time: f64,
        /// Substep.
        step: u64,
        /// What went wrong.
        reason: String,
    },
    /// No method solved the viscosity.
    #[error("the viscosity solve failed at t = {time} s, step {step}: {reason}")]
    Viscosity {
        /// Simulated time.
        time: f64,
        /// Substep.
        step: u64,
        /// What went wrong.
        reason: String,
    },
    /// A number that is not finite appeared.
    #[error(
        "a value that is not a number appeared in {stage} at t = {time} s, step {step}, near cell {cell:?}"
    )]
    NotFinite {
        /// Name of the stage.
        stage: &'static str,
        /// Simulated time.
        time: f64,
        /// Substep.
        step: u64,
        /// The cell where it was found.
        cell: Vec<i32>,
    },
}
