//! Simulations of either dimension, for the parts that only learn it from a scene file.

use plash_liquid::{Observer, Setup, Simulation, State, StepError, StepReport};

use crate::AnySetup;

/// A state in two or three dimensions.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyState {
    /// Flat.
    D2(State<2>),
    /// Solid.
    D3(State<3>),
}

/// A setup and a state to look at. Nothing seen through it can change a run.
#[derive(Clone, Copy, Debug)]
pub enum View<'a> {
    /// Flat.
    D2(&'a Setup<2>, &'a State<2>),
    /// Solid.
    D3(&'a Setup<3>, &'a State<3>),
}

/// Calls one generic body for either dimension: `both!(view, |setup, state| ...)`.
macro_rules! both {
    ($view:expr, |$setup:pat_param, $state:pat_param| $body:expr) => {
        match $view {
            $crate::run::View::D2($setup, $state) => $body,
            $crate::run::View::D3($setup, $state) => $body,
        }
    };
}
pub(crate) use both;

impl View<'_> {
    /// Simulated time, s.
    pub fn time(&self) -> f64 {
        both!(self, |_, state| state.time)
    }

    /// Substeps taken.
    pub fn step(&self) -> u64 {
        both!(self, |_, state| state.step)
    }

    /// Number of particles.
    pub fn particles(&self) -> usize {
        both!(self, |_, state| state.particles.len())
    }
}

/// Something that advances in time by substeps: a simulation, or a stand-in for one.
pub trait Steps {
    /// What is simulated and where it has got to.
    fn view(&self) -> View<'_>;
    /// See [`Simulation::suggest_dt`]. Depends on the state and `remaining` only.
    fn suggest_dt(&self, remaining: f64) -> f64;
    /// See [`Simulation::step`].
    fn step(&mut self, dt: f64, observer: &mut dyn Observer) -> Result<StepReport, StepError>;
}

/// A simulation in two or three dimensions.
pub enum AnySimulation {
    /// Flat.
    D2(Box<Simulation<2>>),
    /// Solid.
    D3(Box<Simulation<3>>),
}

impl AnySimulation {
    /// The simulation at time zero.
    pub fn new(setup: AnySetup) -> Self {
        match setup {
            AnySetup::D2(setup) => AnySimulation::D2(Box::new(Simulation::new(setup))),
            AnySetup::D3(setup) => AnySimulation::D3(Box::new(Simulation::new(setup))),
        }
    }

    /// The simulation at a stored state, or `None` if the dimensions differ.
    pub fn resume(setup: AnySetup, state: AnyState) -> Option<Self> {
        match (setup, state) {
            (AnySetup::D2(setup), AnyState::D2(state)) => Some(AnySimulation::D2(Box::new(
                Simulation::resume(setup, state),
            ))),
            (AnySetup::D3(setup), AnyState::D3(state)) => Some(AnySimulation::D3(Box::new(
                Simulation::resume(setup, state),
            ))),
            _ => None,
        }
    }
}

impl Steps for AnySimulation {
    fn view(&self) -> View<'_> {
        match self {
            AnySimulation::D2(sim) => View::D2(sim.setup(), sim.state()),
            AnySimulation::D3(sim) => View::D3(sim.setup(), sim.state()),
        }
    }

    fn suggest_dt(&self, remaining: f64) -> f64 {
        match self {
            AnySimulation::D2(sim) => sim.suggest_dt(remaining),
            AnySimulation::D3(sim) => sim.suggest_dt(remaining),
        }
    }

    fn step(&mut self, dt: f64, observer: &mut dyn Observer) -> Result<StepReport, StepError> {
        match self {
            AnySimulation::D2(sim) => sim.step(dt, observer),
            AnySimulation::D3(sim) => sim.step(dt, observer),
        }
    }
}
