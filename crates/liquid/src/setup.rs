//! What is to be simulated, as plain data.

mod source;
mod viscosity;

pub use source::{Source, Waypoint};
pub use viscosity::{Graduation, Scale, Viscosity, ViscosityConfig};

use plash_grid::Grid;
use plash_solve::{Method, MethodOptions};
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
    /// How liquid meets the closed ones among them.
    pub walls: [[Wall; 2]; D],
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

/// How liquid meets a wall: with `n` the normal from the wall into the liquid, `u` the
/// velocities of liquid and wall relative to each other, `p` the pressure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wall {
    /// `0 ≤ p ⊥ u·n ≥ 0`: the wall pushes and never pulls; liquid leaves it freely.
    #[default]
    Separating,
    /// `u·n = 0`: liquid slides along the wall and stays on it.
    Slip,
}

/// Liquid that is there at the start.
#[derive(Clone, Debug)]
pub struct LiquidVolume<const D: usize> {
    /// Where it is.
    pub shape: Shape<D>,
    /// Its velocity, m/s.
    pub velocity: [f64; D],
    /// Its viscosity.
    pub viscosity: Viscosity,
}

impl<const D: usize> LiquidVolume<D> {
    /// Liquid at rest without viscosity.
    pub fn new(shape: Shape<D>) -> Self {
        LiquidVolume {
            shape,
            velocity: [0.0; D],
            viscosity: Viscosity::default(),
        }
    }
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
    /// How liquid meets it.
    pub wall: Wall,
    /// The speed `γ` at which a separating wall sends liquid away, m/s: the condition becomes
    /// `0 ≤ p ⊥ u·n − γ ≥ 0` (Andersen et al. 2017, section 6). Zero for an ordinary wall.
    /// Below zero, liquid may run into the wall at up to that speed before it is stopped.
    pub separation_velocity: f64,
}

impl<const D: usize> Solid<D> {
    /// An ordinary separating obstacle.
    pub fn new(shape: Shape<D>) -> Self {
        Solid {
            shape,
            wall: Wall::Separating,
            separation_velocity: 0.0,
        }
    }
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
    /// How viscosity is solved, where there is any.
    pub viscosity: ViscosityConfig,
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
    /// The method. A linear one knows no separation: all walls then hold, as slip walls do.
    pub method: PressureMethod,
    /// Settings of the methods.
    pub options: MethodOptions,
    /// Largest remaining divergence relative to the largest initial one.
    pub tolerance: f64,
    /// Iterations (or cycles) before giving up.
    pub max_iterations: usize,
}

/// A pressure method by name.
#[derive(Clone, Debug, PartialEq)]
pub enum PressureMethod {
    /// One of the solver library, linear or separating; `auto` by default.
    Solver(Method),
    /// `mg`: red-black Gauss-Seidel multigrid cycles (Karlsson 2014, corrected); linear.
    Mg(MgOptions),
}

impl PressureMethod {
    /// The method's name in scene files and statistics.
    pub fn name(&self) -> &'static str {
        match self {
            PressureMethod::Solver(method) => method.as_str(),
            PressureMethod::Mg(_) => "mg",
        }
    }

    /// Whether the method cannot let liquid separate from walls.
    pub fn is_linear(&self) -> bool {
        match self {
            PressureMethod::Solver(method) => method.is_linear(),
            PressureMethod::Mg(_) => true,
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
            method: PressureMethod::Solver(Method::Auto),
            options: MethodOptions::default(),
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
            viscosity: ViscosityConfig::default(),
            cfl: 1.0,
            seed: 0,
            reseed: true,
            density_correction: true,
        }
    }
}

impl<const D: usize> Setup<D> {
    /// An empty box on this grid: water, gravity along −y, closed separating sides.
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
            walls: [[Wall::Separating; 2]; D],
            scheme: Scheme::default(),
        }
    }

    /// The volume that one particle stands for: `2^D` of them fill a cell.
    pub fn particle_volume(&self) -> f64 {
        self.grid.cell_volume() / (1 << D) as f64
    }
    /// The viscosities of all that is or will be there.
    fn viscosities(&self) -> impl Iterator<Item = Viscosity> {
        let liquids = self.liquids.iter().map(|l| l.viscosity);
        liquids.chain(self.sources.iter().map(|s| s.viscosity))
    }

    /// Whether any liquid is viscous.
    pub fn is_viscous(&self) -> bool {
        self.viscosities().any(|v| v.range()[1] > 0.0)
    }

    /// The viscosity of the thinnest liquid, Pa·s; zero if there is none.
    pub fn least_viscosity(&self) -> f64 {
        let least = self.viscosities().map(|v| v.range()[0]).reduce(f64::min);
        least.unwrap_or(0.0)
    }

    /// The viscosity if all liquid has the same at all times, Pa·s: then particles need not
    /// carry it.
    pub fn uniform_viscosity(&self) -> Option<f64> {
        let mut values = self.viscosities().map(|v| v.constant());
        match values.next() {
            None => Some(0.0),
            Some(first) => first.filter(|_| values.all(|v| v == first)),
        }
    }
}
