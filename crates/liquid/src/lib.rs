//! FLIP liquids on a cut-cell staggered grid, in 2D and 3D.
//!
//! A [`Setup`] says what is simulated, a [`State`] where it has got to; [`Simulation::step`]
//! goes from one state to the next and returns what happened. This crate reads no file and
//! no clock, and prints nothing.
//!
//! ```
//! use plash_grid::Grid;
//! use plash_liquid::{LiquidVolume, Setup, Simulation, shape::Shape};
//!
//! let grid = Grid::<2>::new([32, 32], 1.0 / 32.0, [0.0, 0.0])?;
//! let mut setup = Setup::new(grid);
//! setup.liquids.push(LiquidVolume::new(Shape::Sphere { center: [0.5, 0.6], radius: 0.2 }));
//! let mut simulation = Simulation::new(setup);
//! let report = simulation.step(simulation.suggest_dt(1.0 / 24.0), &mut ())?;
//! assert_eq!(report.pressure.status, "converged");
//! assert!((report.volume / report.volume_expected - 1.0).abs() < 0.02);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod advect;
pub mod extrapolate;
pub mod nozzle;
pub mod pressure;
pub mod shape;
pub mod solids;
pub mod surface;
pub mod transfer;
pub mod viscosity;

mod bins;
mod density;
mod diagnostics;
mod occupancy;
mod particles;
mod report;
mod seed;
mod setup;
mod simulation;
mod state;
mod timestep;

pub use bins::Bins;
pub use occupancy::Occupancy;
pub use particles::Particles;
pub use plash_solve::staggered::{Smoother, ViscousMethod};
pub use plash_solve::{Method, MethodOptions, SubSolver};
pub use report::{Observer, SolveReport, Stage, StepError, StepReport, ViscosityReport};
pub use setup::{
    Cycle, DomainSide, Drain, Graduation, LiquidVolume, MgOptions, PressureConfig, PressureMethod,
    Scale, Scheme, Setup, Solid, Source, SurfaceMethod, Transfer, Viscosity, ViscosityConfig, Wall,
    Waypoint,
};
pub use simulation::Simulation;
pub use state::State;
pub use viscosity::{FaceSystem, MAX_FALLBACK_UNKNOWNS, ViscosityProblem, ViscosityTask};
