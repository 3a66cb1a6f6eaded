//! The command line as it is typed. Nothing here reads a file or does any work.

mod bench;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use plash_solve::SubSolver;

pub use bench::{Bench, BenchPressure, BenchViscosity, Period};

/// The exit codes, shown at the end of every help text.
const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed, 2 bad input, 3 interrupted and resumable.";

const SOLVE_EXIT_CODES: &str = "\
Exit codes: 0 converged, 1 not converged or failed, 2 bad input.";

const EXAMPLES: &str = "\
A first session:
  plash demo                        walls that hold beside walls that let go, as a video
  plash scenes                      what is in the gallery
  plash run dam-break -r 48 -f 24   a scene of the gallery, coarse and short
  plash new pond --like dam-break   your own scene file, pond.toml, to edit
  plash check pond.toml             is it right, and does it fit into memory?
  plash run pond.toml               simulate it into runs/pond
  plash render runs/pond            stills and a video of it
  plash run pond.toml --resume      go on after Ctrl-C or a crash";

/// A liquid simulator: scene file in; frames, surfaces, pictures and statistics out.
#[derive(Debug, Parser)]
#[command(name = "plash", version, arg_required_else_help = true, after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
#[command(
    disable_help_subcommand = true,
    infer_subcommands = false,
    max_term_width = 100
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Print JSON to standard output: one document, or one line per event for commands that
    /// take a while. Messages for people still go to standard error
    #[arg(long, global = true)]
    pub json: bool,
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what plash is for: a splash, walls that hold beside walls that let go, as a video
    #[command(after_help = EXIT_CODES)]
    Demo(Demo),
    /// Write a commented scene file to start from
    #[command(after_help = EXIT_CODES)]
    New(New),
    /// List the scenes of the gallery
    #[command(after_help = EXIT_CODES)]
    Scenes,
    /// Check a scene and say how many cells, particles and bytes it needs
    #[command(after_help = EXIT_CODES)]
    Check(Check),
    /// Simulate a scene into a run folder, or go on with one
    #[command(after_help = EXIT_CODES)]
    Run(Run),
    /// Say what a run folder or one of its files holds, checksums verified
    #[command(after_help = EXIT_CODES)]
    Info(Info),
    /// Draw stills and a video from a run
    #[command(after_help = EXIT_CODES)]
    Render(Render),
    /// Solve a stored linear or complementarity problem and say what it took
    #[command(after_help = SOLVE_EXIT_CODES)]
    Solve(Solve),
    /// Compare methods on the systems of a simulation or of a paper
    #[command(subcommand)]
    Bench(Bench),
}

/// Arguments of `plash demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// Folder for the results
    #[arg(
        short,
        long = "output",
        value_name = "DIR",
        default_value = "runs/demo"
    )]
    pub output: PathBuf,
    /// Number of frames, instead of the scene's
    #[arg(short, long, value_name = "FRAMES")]
    pub frames: Option<u64>,
    /// Cells along the longest side of the domain, instead of the scene's
    #[arg(short, long, value_name = "RES")]
    pub resolution: Option<u64>,
    #[command(flatten)]
    pub threads: Threads,
}

/// Arguments of `plash new`.
#[derive(Debug, Args)]
pub struct New {
    /// Name of the scene; the file is NAME.toml in the current folder. An existing file is
    /// never overwritten
    pub name: String,
    /// Start from a copy of this scene: a file, or a name from the gallery
    #[arg(long, value_name = "SCENE")]
    pub like: Option<String>,
}

/// Arguments of `plash check`.
#[derive(Debug, Args)]
pub struct Check {
    /// A scene file, or the name of a scene in the gallery
    pub scene: String,
    #[command(flatten)]
    pub changes: Changes,
}

/// Arguments of `plash run`.
#[derive(Debug, Args)]
pub struct Run {
    /// A scene file, the name of a scene in the gallery, or (with --resume) a run folder
    pub scene: String,
    /// The run folder [default: runs/NAME]
    #[arg(short, long = "output", value_name = "DIR")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub changes: Changes,
    #[command(flatten)]
    pub threads: Threads,
    /// Go on from the newest checkpoint, or from the newest one at or before FRAME. The
    /// result is the same, to the byte, as that of a run that was never stopped
    #[arg(long, value_name = "FRAME", num_args = 0..=1, require_equals = true)]
    pub resume: Option<Option<u64>>,
    /// Delete the run that is in the folder and start again
    #[arg(long, conflicts_with = "resume")]
    pub replace: bool,
}

/// What the command line changes in a scene.
#[derive(Debug, Default, Args)]
pub struct Changes {
    /// Number of frames, instead of the scene's
    #[arg(short, long, value_name = "FRAMES")]
    pub frames: Option<u64>,
    /// Cells along the longest side of the domain, instead of the scene's
    #[arg(short, long, value_name = "RES")]
    pub resolution: Option<u64>,
    /// Change any value of the scene: --set pressure.method=mg, --set 'gravity=[0, -1.6, 0]'.
    /// Items of a list go by number: --set liquid.0.velocity=[1,0,0]. May be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Accept a scene that needs more memory than this machine should give
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `plash info`.
#[derive(Debug, Args)]
pub struct Info {
    /// A run folder, or a frame, cache or checkpoint file in one
    pub path: PathBuf,
}

/// Arguments of `plash render`.
#[derive(Debug, Args)]
pub struct Render {
    /// The run folder. Pictures go into its images/ folder
    pub dir: PathBuf,
    /// Size of the pictures in pixels [default: the scene's]
    #[arg(long, value_name = "WxH", value_parser = parse_size)]
    pub size: Option<Size>,
    /// Frames to draw, first and last included: 10..20, 10.., ..20 or 7 [default: all]
    #[arg(long, value_name = "A..B", value_parser = parse_frames)]
    pub frames: Option<Frames>,
    /// The video [default: images/NAME.mp4 in the run folder]
    #[arg(long, value_name = "FILE")]
    pub video: Option<PathBuf>,
    #[command(flatten)]
    pub threads: Threads,
}

/// Arguments of `plash solve`.
#[derive(Debug, Args)]
pub struct Solve {
    /// The problem: NAME.npz with indptr, indices, data, rhs, S and coords, or NAME.mtx in
    /// MatrixMarket format with NAME_b.mtx and NAME_S.mtx beside it
    pub problem: PathBuf,
    /// For pressure pcg-mic, mgpcg (both ignore S); pi-mgpcg, fas-mg, pi-pcg, pi-mg, pe-pcg,
    /// pe-mg, newton, fmg, tnnmg, mprgp, psor; or auto, the default. For viscosity mgpcg, or
    /// mgpcg by its smoother (chebyshev, box, jacobi, jacobi-naive, gauss-seidel, vanka), pcg-ic,
    /// pcg-jacobi; or auto, the default: mgpcg, or pcg-ic where there is no lattice of faces
    #[arg(short, long, value_name = "METHOD")]
    pub method: Option<String>,
    /// What solves the linear systems of newton: pcg, gmres, bicgstab or cr [default: pcg]
    #[arg(long, value_name = "NAME")]
    pub sub_solver: Option<SubSolver>,
    /// The residual to reach, relative to the right-hand side, both in the max norm
    #[arg(long, value_name = "TOL", default_value_t = 1e-6, value_parser = parse_tolerance)]
    pub tol: f64,
    /// The most iterations, cycles or sweeps to spend
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = parse_limit)]
    pub max_iterations: usize,
    /// Where to save the solution, as .npz or .mtx [default: nowhere]
    #[arg(short, long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub threads: Threads,
}

/// How many threads work.
#[derive(Debug, Args)]
pub struct Threads {
    /// Threads to use [default: one per core]. Results do not depend on it
    #[arg(short = 't', long = "threads", value_name = "THREADS")]
    pub count: Option<NonZeroUsize>,
}

/// Width and height of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
}

/// A range of frames, both ends included; an end that is not there is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// First frame.
    pub first: Option<u64>,
    /// Last frame.
    pub last: Option<u64>,
}

impl Frames {
    /// Whether a frame is in the range.
    pub fn contains(self, frame: u64) -> bool {
        self.first.is_none_or(|first| first <= frame) && self.last.is_none_or(|last| frame <= last)
    }
}

/// Reads `960x720`. Video wants even sides, and a renderer has limits.
fn parse_size(text: &str) -> Result<Size, String> {
    let parse = || {
        let (width, height) = text.split_once(['x', 'X', '×'])?;
        Some(Size {
            width: width.trim().parse().ok()?,
            height: height.trim().parse().ok()?,
        })
    };
    let size = parse().ok_or("write width x height in pixels, such as 960x720")?;
    for side in [size.width, size.height] {
        if !(16..=8192).contains(&side) {
            return Err(format!(
                "{side} pixels: each side must be between 16 and 8192"
            ));
        }
        if side % 2 == 1 {
            return Err(format!(
                "{side} is odd: video needs even sides, so take {}",
                side + 1
            ));
        }
    }
    Ok(size)
}

/// Reads a relative tolerance.
fn parse_tolerance(text: &str) -> Result<f64, String> {
    let value: Option<f64> = text.parse().ok();
    value
        .filter(|tol| (1e-16..1.0).contains(tol))
        .ok_or_else(|| "write a number from 1e-16 to below 1, such as 1e-6".to_owned())
}

/// Reads how many iterations there may be.
fn parse_limit(text: &str) -> Result<usize, String> {
    let value: Option<usize> = text.parse().ok();
    value
        .filter(|&limit| limit > 0)
        .ok_or_else(|| "write a whole number from 1 on, such as 1000".to_owned())
}

/// Reads `10..20`, `10..`, `..20`, `..` or `7`.
fn parse_frames(text: &str) -> Result<Frames, String> {
    let number = |part: &str| match part.trim() {
        "" => Ok(None),
        digits => digits
            .parse()
            .map(Some)
            .map_err(|_| format!("`{digits}` is not a frame number")),
    };
    let frames = match text.split_once("..") {
        Some((first, last)) => Frames {
            first: number(first)?,
            last: number(last.trim_start_matches('='))?,
        },
        None => {
            let only = number(text)?.ok_or("write frames as 10..20, 10.., ..20 or 7")?;
            Frames {
                first: Some(only),
                last: Some(only),
            }
        }
    };
    match (frames.first, frames.last) {
        (Some(first), Some(last)) if first > last => {
            Err(format!("the range is empty: {first} comes after {last}"))
        }
        _ => Ok(frames),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes_are_read_and_odd_or_absurd_ones_refused() {
        assert_eq!(
            parse_size("64x48"),
            Ok(Size {
                width: 64,
                height: 48
            })
        );
        assert!(parse_size("64").is_err());
        assert!(parse_size("65x48").unwrap_err().contains("66"));
        assert!(parse_size("0x48").is_err());
        assert!(parse_size("99999x48").is_err());
    }

    #[test]
    fn tolerances_lie_between_rounding_and_one() {
        assert_eq!(parse_tolerance("1e-6"), Ok(1e-6));
        for text in ["0", "1", "-1e-6", "nan", "inf", "small"] {
            assert!(parse_tolerance(text).is_err(), "{text}");
        }
    }

    #[test]
    fn limits_are_whole_and_above_zero() {
        assert_eq!(parse_limit("7"), Ok(7));
        for text in ["0", "-1", "1.5", "many", ""] {
            assert!(parse_limit(text).is_err(), "{text}");
        }
    }

    #[test]
    fn frame_ranges_include_both_ends() {
        let frames = parse_frames("2..4").unwrap();
        assert_eq!(
            (1..=5).filter(|f| frames.contains(*f)).collect::<Vec<_>>(),
            [2, 3, 4]
        );
        assert_eq!(
            parse_frames("7").unwrap(),
            Frames {
                first: Some(7),
                last: Some(7)
            }
        );
        assert_eq!(parse_frames("..").unwrap(), Frames::default());
        assert!(parse_frames("4..2").is_err());
        assert!(parse_frames("").is_err());
        assert!(parse_frames("a..b").is_err());
    }

    #[test]
    fn resume_takes_a_frame_only_after_an_equals_sign() {
        let run = |args: &[&str]| match Cli::try_parse_from(args).unwrap().command {
            Command::Run(run) => run,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            run(&["plash", "run", "--resume", "a.toml"]).resume,
            Some(None)
        );
        assert_eq!(
            run(&["plash", "run", "--resume=12", "a.toml"]).resume,
            Some(Some(12))
        );
        assert_eq!(run(&["plash", "run", "a.toml"]).resume, None);
    }
}
