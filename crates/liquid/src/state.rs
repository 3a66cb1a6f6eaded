//! What a simulation is at an instant: all that a checkpoint must hold.

use plash_grid::{CellField, Grid};

use crate::particles::Particles;

/// The state of a simulation. With the same [`Setup`](crate::Setup) it determines every bit
/// of what follows.
#[derive(Clone, Debug, PartialEq)]
pub struct State<const D: usize> {
    /// Simulated time, s.
    pub time: f64,
    /// Substeps taken.
    pub step: u64,
    /// The liquid.
    pub particles: Particles<D>,
    /// The id the next new particle gets.
    pub next_id: u64,
    /// Volume that should be there: initial + sources − drains, m³ (m² in 2D).
    pub volume_expected: f64,
    /// The last pressure as `p Δt/ρ`, from which the next solve starts, m²/s.
    pub pressure: CellField<f64, D>,
    /// 1 at wall cells that had let go of their wall in the last step: the other half of the
    /// next solve's start.
    pub separated: CellField<u8, D>,
    /// The sum of velocity differences across each cell at which viscosity takes it for unstrained in
    /// the next step, m/s; only if some liquid is viscous. With it comes the part of pressure that
    /// answers viscosity.
    pub dilation: Option<CellField<f32, D>>,
}

impl<const D: usize> State<D> {
    /// No liquid at time zero.
    pub fn empty(grid: &Grid<D>) -> Self {
        State {
            time: 0.0,
            step: 0,
            particles: Particles::default(),
            next_id: 0,
            volume_expected: 0.0,
            pressure: CellField::new(grid),
            separated: CellField::new(grid),
            dilation: None,
        }
    }
}
