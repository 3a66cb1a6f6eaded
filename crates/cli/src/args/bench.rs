//! The arguments of `plash bench`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use plash_solve::staggered::Coarsening;
use plash_solve::{Tolerance, UnknownName};

use super::{EXIT_CODES, Threads, parse_limit, parse_tolerance};

/// What `plash bench` compares.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// Run a scene once, hand every pressure system to every method, and print what each took
    #[command(after_help = EXIT_CODES)]
    Pressure(BenchPressure),
    /// Solve the viscosity systems of a scene, or a paper's test, by every method, and print what
    /// each took
    #[command(after_help = EXIT_CODES)]
    Viscosity(BenchViscosity),
}

/// Arguments of `plash bench pressure`.
#[derive(Debug, Args)]
pub struct BenchPressure {
    /// The scene: a name from the gallery, such as sphere3d, or a file
    #[arg(
        long,
        value_name = "CASE",
        default_value = "sphere3d",
        conflicts_with = "table"
    )]
    pub case: String,
    /// Cells along the longest side; several with commas [default: the scene's, the table's]
    #[arg(long = "size", value_name = "N,..", value_delimiter = ',')]
    pub sizes: Vec<u64>,
    /// Methods to compare, with commas. A variant may follow a colon: newton:gmres (also pcg,
    /// bicgstab, cr); fas-mg:trilinear (also constant, simple, direct) and so on for pi-mg and
    /// pe-mg [default: auto,mgpcg,pcg-mic,pi-pcg,pi-mg,fas-mg; the table's]
    #[arg(long, value_name = "METHOD,..", value_delimiter = ',')]
    pub methods: Vec<String>,
    #[command(flatten)]
    pub period: Period,
    /// Start every solve from zero, not from the method's last solution
    #[arg(long)]
    pub cold: bool,
    /// Reproduce this table of Lai et al. (2021), 1 to 12, beside its published figures
    #[arg(long, value_name = "TABLE", value_parser = clap::value_parser!(u8).range(1..=12))]
    pub table: Option<u8>,
    /// Save every system into this folder, as CASE-SIZE-fFFFF-sSS.npz
    #[arg(long, value_name = "DIR")]
    pub dump: Option<PathBuf>,
    #[command(flatten)]
    pub common: Common,
}

/// Arguments of `plash bench viscosity`.
#[derive(Debug, Args)]
pub struct BenchViscosity {
    /// The test of Aanjaneya et al. (2019), sine2d or sine3d, or a scene with viscous liquid: a
    /// name from the gallery, such as honey, or a file
    #[arg(
        long,
        value_name = "CASE",
        default_value = "sine3d",
        conflicts_with = "table"
    )]
    pub case: String,
    /// Cells along the longest side; several with commas [default: the scene's; 64 for sine3d,
    /// 256 for sine2d; the table's]
    #[arg(long = "size", value_name = "N,..", value_delimiter = ',')]
    pub sizes: Vec<u64>,
    /// Methods to compare, with commas: mgpcg by its smoother (chebyshev, which mgpcg stands for,
    /// box, jacobi, jacobi-naive, gauss-seidel, vanka), pcg-ic, pcg-jacobi [default: all but
    /// jacobi-naive; the table's]
    #[arg(long, value_name = "METHOD,..", value_delimiter = ',')]
    pub methods: Vec<String>,
    /// What coarse levels of mgpcg are made of: fractions, as in a run, or labels (fluid, solid or air,
    /// weights of zero and one), after the paper
    #[arg(long, value_name = "KIND", default_value = "fractions", value_parser = parse_coarsening)]
    pub coarsening: Coarsening,
    #[command(flatten)]
    pub period: Period,
    /// For sine2d and sine3d, the largest viscosity over the smallest; above 1 it varies smoothly
    /// in space [default: 1]
    #[arg(long, value_name = "C", value_parser = parse_contrast, conflicts_with = "table")]
    pub contrast: Option<f64>,
    /// Reproduce this table of the paper: 1 in 2D, 2 in 3D
    #[arg(
        long,
        value_name = "TABLE",
        value_parser = clap::value_parser!(u8).range(1..=2),
        conflicts_with_all = ["frames", "frame", "steps"]
    )]
    pub table: Option<u8>,
    /// Save every system into this folder: of a scene as CASE-SIZE-fFFFF-sSS.npz, of the test as
    /// CASE-SIZE.npz, or CASE-SIZE-cC.npz with a contrast of C
    #[arg(long, value_name = "DIR")]
    pub dump: Option<PathBuf>,
    #[command(flatten)]
    pub common: Common,
}

/// Which systems of a simulation are solved.
#[derive(Clone, Copy, Debug, Args)]
pub struct Period {
    /// Simulate this many frames of a scene [default: the scene's, the table's]
    #[arg(long, value_name = "FRAMES", value_parser = clap::value_parser!(u64).range(1..))]
    pub frames: Option<u64>,
    /// Solve the first system of this frame only; pressure from a cold start
    #[arg(long, value_name = "FRAME", conflicts_with_all = ["frames", "steps"], value_parser = clap::value_parser!(u64).range(1..))]
    pub frame: Option<u64>,
    /// Stop after this many systems
    #[arg(long, value_name = "STEPS", value_parser = clap::value_parser!(u64).range(1..))]
    pub steps: Option<u64>,
}

/// What every comparison takes.
#[derive(Debug, Args)]
pub struct Common {
    /// The residual to reach, relative to the right-hand side, both in the max norm
    #[arg(long, value_name = "TOL", default_value_t = 1e-6, value_parser = parse_tolerance)]
    pub tol: f64,
    /// The most iterations, cycles or sweeps to spend on a system
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = parse_limit)]
    pub max_iterations: usize,
    /// Draw iterations and seconds into this file
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// Accept what needs more memory than this machine should give
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub threads: Threads,
}

impl Common {
    /// When a solve is done.
    pub fn tolerance(&self) -> Tolerance {
        Tolerance {
            relative: self.tol,
            absolute: 0.0,
            max_iterations: self.max_iterations,
        }
    }
}

/// Reads the name of what coarse levels are made of.
fn parse_coarsening(text: &str) -> Result<Coarsening, String> {
    text.parse().map_err(|why: UnknownName| why.to_string())
}

/// Reads a ratio of viscosities. Beyond the most, single precision loses the small one.
fn parse_contrast(text: &str) -> Result<f64, String> {
    let value: Option<f64> = text.parse().ok();
    value
        .filter(|contrast| (1.0..=1e6).contains(contrast))
        .ok_or_else(|| "write a number between 1 and 1e6, such as 100".to_owned())
}
