//! From what was written to what it means: a checked scene with every default filled in.

mod entries;
mod grid;
mod options;
mod placement;
mod shapes;
mod viscosity;

use std::cell::Cell;

use plash_liquid::shape::Rotation;
use plash_liquid::{Scheme, Setup, Wall};
use serde::Serialize;

use crate::diagnostics::{Diagnostic, Report};
use crate::file::SceneFile;
use crate::file::reader::{Fields, Item, Sink};
use crate::memory::{self, Contents, Estimate};
pub(crate) use grid::Domain;

/// Kinds of walls by name.
const WALLS: [(&str, Wall); 2] = [("separating", Wall::Separating), ("slip", Wall::Slip)];

/// Frames a scene may ask for.
const MAX_FRAMES: u64 = 1_000_000;

/// A scene ready to simulate.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Scene {
    /// Name of the run and of its files: letters, digits, `-`, `_` and `.` only.
    pub name: String,
    /// What is simulated.
    pub setup: AnySetup,
    /// Which axis points up. Nothing is turned: coordinates are those of the file throughout.
    pub up: Up,
    /// Frames to simulate.
    pub frames: u64,
    /// Frames per second of simulated time.
    pub fps: f64,
    /// Files to write.
    pub output: OutputOptions,
    /// Pictures.
    pub render: RenderOptions,
    /// The scene file as run, with overrides applied.
    pub text: String,
    /// Cells, particles and memory to expect.
    pub estimate: Estimate,
    /// What is allowed, but probably not meant.
    pub warnings: Report,
}

/// A setup in either dimension.
#[derive(Clone, Debug)]
pub enum AnySetup {
    /// In the plane.
    D2(Setup<2>),
    /// In space.
    D3(Setup<3>),
}

impl AnySetup {
    /// 2 or 3.
    pub fn dimension(&self) -> usize {
        match self {
            AnySetup::D2(_) => 2,
            AnySetup::D3(_) => 3,
        }
    }

    /// Whether any liquid is viscous.
    pub fn is_viscous(&self) -> bool {
        match self {
            AnySetup::D2(setup) => setup.is_viscous(),
            AnySetup::D3(setup) => setup.is_viscous(),
        }
    }
}

/// Which axis points up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Up {
    /// As in most renderers, and in 2D.
    #[default]
    Y,
    /// As in Blender; 3D only.
    Z,
}

impl Up {
    /// The number of the axis.
    pub fn axis(self) -> usize {
        match self {
            Up::Y => 1,
            Up::Z => 2,
        }
    }

    /// The unit vector that points up.
    pub fn vector<const D: usize>(self) -> [f64; D] {
        std::array::from_fn(|a| if a == self.axis() { 1.0 } else { 0.0 })
    }
}

/// Which files a run writes for every frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutputOptions {
    /// Particles with velocities, as PLY.
    pub particles: bool,
    /// The surface mesh, as PLY.
    pub surface: bool,
    /// The compact native cache.
    pub cache: bool,
    /// Stills, as PNG.
    pub images: bool,
}

impl Default for OutputOptions {
    fn default() -> Self {
        Self {
            particles: true,
            surface: true,
            cache: true,
            images: false,
        }
    }
}

/// How pictures are taken. What is `None` is for the renderer to choose.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RenderOptions {
    /// Width and height in pixels, both even.
    pub size: [u32; 2],
    /// Where the camera stands, m (3D).
    pub eye: Option<[f64; 3]>,
    /// What it looks at, m (3D).
    pub target: Option<[f64; 3]>,
    /// Vertical field of view, degrees (3D).
    pub fov: f64,
    /// The liquid's colour, sRGB.
    pub color: Option<[u8; 3]>,
    /// How little of what is behind it shows through the liquid, 0 to 1 (3D).
    pub opacity: f64,
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self {
            size: [1280, 720],
            eye: None,
            target: None,
            fov: 35.0,
            color: None,
            opacity: 0.0,
        }
    }
}

/// Resolves a scene in one pass that finds every error it can.
pub(crate) fn resolve(file: &SceneFile) -> Result<Scene, Report> {
    let sink = Sink::default();
    let mut top = Fields::new(&file.root, "", crate::diagnostics::Origin::Whole, &sink);
    let scene = match dimension(&mut top) {
        Some(2) => read::<2>(file, top, &sink, AnySetup::D2),
        Some(_) => read::<3>(file, top, &sink, AnySetup::D3),
        None => None,
    };
    let errors = sink.has_errors();
    let found = file.report(sink.into_inner());
    match scene {
        Some(scene) if !errors => Ok(Scene {
            warnings: found,
            ..scene
        }),
        _ => Err(found),
    }
}

/// The dimension as given, or as the length of `size` says.
fn dimension(top: &mut Fields<'_>) -> Option<u64> {
    let size = top.get("size").and_then(|size| size.list_length());
    match (top.get("dimension"), size) {
        (Some(given), _) => given.whole(2..=3),
        (None, Some(2)) => Some(2),
        (None, Some(3)) => Some(3),
        // `size` is missing or unfit, and says so itself in either dimension.
        (None, _) => Some(3),
    }
}

fn read<const D: usize>(
    file: &SceneFile,
    mut top: Fields<'_>,
    sink: &Sink,
    wrap: fn(Setup<D>) -> AnySetup,
) -> Option<Scene>
where
    Rotation<D>: shapes::Turn,
{
    let name = name(&mut top, &file.stem);
    let up = up(&mut top, D);
    let frames = top
        .get("frames")
        .and_then(|v| v.whole(1..=MAX_FRAMES))
        .unwrap_or(48);
    let fps = top.get("fps").and_then(|v| frame_rate(&v)).unwrap_or(24.0);

    let domain = grid::read::<D>(&mut top, sink);
    let gravity = gravity::<D>(&mut top, up);
    let density = top
        .get("density")
        .and_then(|v| v.positive())
        .unwrap_or(1000.0);
    let wall = top
        .get("walls")
        .and_then(|v| v.choice(&WALLS, &[]))
        .unwrap_or_default();
    let (sides, walls) = grid::sides::<D>(&mut top, wall, sink);
    let viscosity = viscosity::Section::read(&mut top, sink);
    let defaults = entries::Defaults {
        wall,
        viscosity: viscosity.value,
        viscosity_taken: Cell::new(false),
    };
    let entries = entries::read::<D>(&mut top, up, &defaults, sink);
    let viscous = entries.any_viscous();
    let uses = options::Uses {
        separation: grid::any_separating(&sides, &walls) || entries.any_separating(),
        viscosity: viscous,
    };
    let scheme = Scheme {
        viscosity: viscosity.config(viscous, defaults.viscosity_taken.get(), sink),
        ..options::scheme(&mut top, uses, sink)
    };
    let output = options::output(&mut top);
    let render = options::render(&mut top, D, sink);
    top.finish();

    let domain = domain?;
    if sink.has_errors() {
        return None;
    }
    let duration = frames as f64 / fps;
    let volume = placement::check(&domain, &entries, duration, sink);
    let contents = Contents {
        volume,
        viscosity: viscous.then_some(scheme.viscosity.method),
        transfer: scheme.transfer,
    };
    let estimate = memory::estimate(&domain, contents);
    if let Some(refusal) = memory::refusal(&estimate, &domain, memory::total_ram(), file.force) {
        sink.push(refusal);
        return None;
    }
    let grid = match domain.build() {
        Ok(grid) => grid,
        Err(message) => {
            sink.push(Diagnostic::error(
                domain.origin_of_resolution,
                "resolution",
                message,
            ));
            return None;
        }
    };
    let setup = Setup {
        gravity,
        density,
        sides,
        walls,
        scheme,
        ..entries.into_setup(grid)
    };
    Some(Scene {
        name,
        setup: wrap(setup),
        up,
        frames,
        fps,
        output,
        render,
        text: file.as_run(),
        estimate,
        warnings: Report::default(),
    })
}

/// A name that can be part of a file's name anywhere.
fn name(top: &mut Fields<'_>, stem: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let default = || {
        let stem: String = stem
            .chars()
            .take(100)
            .map(|c| if plain(c) { c } else { '-' })
            .collect();
        let stem = stem.trim_start_matches('.').to_owned();
        if stem.is_empty() {
            "scene".to_owned()
        } else {
            stem
        }
    };
    let Some(item) = top.get("name") else {
        return default();
    };
    let Some(text) = item.text() else {
        return default();
    };
    if text.is_empty() || text.len() > 100 || text.starts_with('.') || !text.chars().all(plain) {
        let message = "the name cannot be part of a file's name";
        let help = "use up to 100 letters, digits, `-`, `_` and `.`, not starting with `.`";
        return item.fail(message, help).unwrap_or_else(default);
    }
    text.to_owned()
}

fn up(top: &mut Fields<'_>, dimension: usize) -> Up {
    let Some(item) = top.get("up") else {
        return Up::Y;
    };
    let up = item.choice(&[("y", Up::Y), ("z", Up::Z)], &[]);
    if up == Some(Up::Z) && dimension == 2 {
        let help = "leave out `up`, or set `dimension = 3`";
        return item
            .fail("a scene in 2D has no z axis", help)
            .unwrap_or(Up::Y);
    }
    up.unwrap_or(Up::Y)
}

fn frame_rate(item: &Item<'_>) -> Option<f64> {
    if item.number()? <= 0.0 {
        return item.fail("frames per second must be above zero", "for example 24");
    }
    item.number_in(1e-3..=1e6)
}

/// Downwards if a number; as given if a vector.
fn gravity<const D: usize>(top: &mut Fields<'_>, up: Up) -> [f64; D] {
    let down = |strength: f64| {
        up.vector::<D>()
            .map(|c| if c == 0.0 { 0.0 } else { -strength })
    };
    let Some(item) = top.get("gravity") else {
        return down(9.81);
    };
    let read = if item.is_list() {
        item.vector::<D>()
    } else {
        match item.number() {
            Some(strength) if strength < 0.0 => {
                let message = format!("gravity points down already, so {strength} would point up");
                let help = format!("write {}, or a vector", -strength);
                item.fail(message, help)
            }
            strength => strength.map(down),
        }
    };
    match read {
        Some(g) if g.iter().any(|c| c.abs() > 1e6) => item
            .fail("gravity is stronger than 1e6 m/s²", "the Earth has 9.81")
            .unwrap_or([0.0; D]),
        Some(g) => g,
        None => [0.0; D],
    }
}
