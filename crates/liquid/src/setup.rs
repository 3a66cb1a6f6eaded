//! What is to be simulated, as plain data.

use plash_grid::Grid;
use serde::{Deserialize, Serialize};

use crate::shape::Shape;

/// A liquid in a box, with everything in it, before time begins.
#[derive(Clone, Debug)]
pub struct Setup<const D: usize> {
    /// The domain and its cells.
    pub grid: Grid<D>,
    /// Acceleration of gravity, m/s².
    pub gravity: [f64; D],
    /// Density of the liquid, kg/m³.
    pub density: f64,
    /// Liquid at the start.
    pub liquids: Vec<LiquidVolume<D>>,
    /// Places where liquid enters.
    pub sources: Vec<Source<D>>,
    /// Places where liquid leaves.
    pub drains: Vec<Drain<D>>,
    /// Static obstacles.
    pub solids: Vec<Solid<D>>,
    /// The low and high side of the domain along each axis.
    pub sides: [[DomainSide; 2]; D],
    /// The methods to use.
    pub scheme: Scheme,
}

/// A side of the domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DomainSide {
    /// A solid wall.
    #[default]
    Closed,
    /// Liquid leaves freely and is gone; outside is air.
    Open,
}

/// Liquid that is there at the start.
#[derive(Clone, Debug)]
pub struct LiquidVolume<const D: usize> {
    /// Where it is.
    pub shape: Shape<D>,
    /// Its velocity, m/s.
    pub velocity: [f64; D],
}

/// A place kept full of liquid moving at a given velocity.
#[derive(Clone, Debug)]
pub struct Source<const D: usize> {
    /// Where liquid appears.
    pub shape: Shape<D>,
    /// The velocity it has there, m/s.
    pub velocity: [f64; D],
    /// First instant, s.
    pub start: f64,
    /// Last instant, s; infinite if it never ends.
    pub end: f64,
}

/// A place where liquid disappears.
#[derive(Clone, Debug)]
pub struct Drain<const D: usize> {
    /// Where liquid disappears.
    pub shape: Shape<D>,
    /// First instant, s.
    pub start: f64,
    /// Last instant, s; infinite if it never ends.
    pub end: f64,
}

/// An obstacle.
#[derive(Clone, Debug)]
pub struct Solid<const D: usize> {
    /// Where it is.
    pub shape: Shape<D>,
}

/// The methods a simulation uses.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheme {
    /// How velocity goes between particles and grid.
    pub transfer: Transfer,
    /// How the liquid surface is found from particles.
    pub surface: SurfaceMethod,
    /// How pressure is solved.
    pub pressure: PressureConfig,
    /// Cells a particle may cross in a substep.
    pub cfl: f64,
    /// Seed of every random choice.
    pub seed: u64,
    /// Whether particles move from crowded to empty interior cells.
    pub reseed: bool,
    /// Whether particle positions are corrected so that interior density stays at rest
    /// density.
    pub density_correction: bool,
}

/// How velocity goes between particles and grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Transfer {
    /// Particles take the grid's velocity: smooth and dissipative.
    Pic,
    /// Particles take the grid's change, with a share of PIC.
    Flip {
        /// The share of PIC, 0 to 1.
        pic_blend: f64,
    },
    /// Particles carry an affine velocity: smooth, and angular momentum is kept.
    Apic,
}

/// How the liquid surface is found from particles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurfaceMethod {
    /// The union of spheres around particles.
    Union,
    /// Zhu and Bridson's weighted average of positions: smoother.
    ZhuBridson,
    /// Marker cells and fast sweeping (Karlsson 2014): stair-stepped, a baseline.
    Marker,
}

/// How pressure is solved.
#[derive(Clone, Debug, PartialEq)]
pub struct PressureConfig {
    /// The method.
    pub method: PressureMethod,
    /// Largest remaining divergence relative to the largest initial one.
    pub tolerance: f64,
    /// Iterations (or cycles) before giving up.
    pub max_iterations: usize,
}

/// A pressure method by name.
#[derive(Clone, Debug, PartialEq)]
pub enum PressureMethod {
    /// `pcg-mic`: conjugate gradients, modified incomplete Cholesky.
    PcgMic,
    /// `mg`: red-black Gauss-Seidel multigrid cycles (Karlsson 2014, corrected).
    Mg(MgOptions),
}

impl PressureMethod {
    /// The method's name in scene files and statistics.
    pub fn name(&self) -> &'static str {
        match self {
            PressureMethod::PcgMic => "pcg-mic",
            PressureMethod::Mg(_) => "mg",
        }
    }
}

/// Settings of the stand-alone multigrid.
#[derive(Clone, Debug, PartialEq)]
pub struct MgOptions {
    /// Which cycles come first.
    pub cycle: Cycle,
    /// Red-black sweeps before and after each coarse correction.
    pub sweeps: usize,
    /// Full cycles before V-cycles take over, if `cycle` is full.
    pub full_cycles: usize,
}

/// A multigrid cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cycle {
    /// Down to the coarsest level and up again.
    V,
    /// From the coarsest level up, a V-cycle on every level.
    Full,
}

impl Default for MgOptions {
    fn default() -> Self {
        // Karlsson's settings: ten sweeps, four full cycles, then V-cycles.
        MgOptions {
            cycle: Cycle::Full,
            sweeps: 10,
            full_cycles: 4,
        }
    }
}

impl Default for PressureConfig {
    fn default() -> Self {
        PressureConfig {
            method: PressureMethod::PcgMic,
            tolerance: 1e-6,
            max_iterations: 2000,
        }
    }
}

impl Default for Scheme {
    fn default() -> Self {
        Scheme {
            transfer: Transfer::Flip { pic_blend: 0.03 },
            surface: SurfaceMethod::Union,
            pressure: PressureConfig::default(),
            cfl: 1.0,
            seed: 0,
            reseed: true,
            density_correction: true,
        }
    }
}

impl<const D: usize> Setup<D> {
    /// An empty box on this grid: water, gravity along −y, closed sides.
    pub fn new(grid: Grid<D>) -> Self {
        let mut gravity = [0.0; D];
        gravity[1] = -9.81;
        Setup {
            grid,
            gravity,
            density: 1000.0,
            liquids: Vec::new(),
            sources: Vec::new(),
            drains: Vec::new(),
            solids: Vec::new(),
            sides: [[DomainSide::Closed; 2]; D],
            scheme: Scheme::default(),
        }
    }

    /// The volume that one particle stands for: `2^D` of them fill a cell.
    pub fn particle_volume(&self) -> f64 {
        self.grid.cell_volume() / (1 << D) as f64
    }
}
