//! Pictures of frames: how a scene is put before the renderer.

use plash_liquid::{Particles, Setup};
use plash_render::{
    Camera, Container, Image, Material, Mesh, Reconstructor, RenderError, Scene2, Scene3, Size,
    SolidMesh, Style2, Style3, render, render2,
};
use plash_scene::resolve::Up;
use plash_scene::run::{FrameData, View};
use plash_scene::{AnySetup, Scene};

use crate::args;
use crate::failure::{Failure, Outcome, chain};
use crate::surfaces;

/// Name of a still in the images folder: `still.0001.png`.
pub const STILL: &str = "still";
/// Colour of obstacles.
const STONE: [u8; 3] = [196, 122, 84];
/// Colours of liquids from the thinnest to the thickest.
const THIN_TO_THICK: [[u8; 3]; 3] = [[42, 120, 196], [236, 214, 150], [204, 110, 10]];
/// A solid that reaches over this share of the domain along every axis holds the liquid, so
/// it is drawn as glass.
const HOLDS: f32 = 0.6;

/// Draws the frames of one scene; all that does not change from frame to frame is made once.
pub struct Painter {
    size: Size,
    scene: Kind,
}

enum Kind {
    D2(Box<Flat>),
    D3(Box<Solid>),
}

struct Flat {
    setup: Setup<2>,
    surface: Reconstructor<2>,
    /// The speed drawn brightest, m/s; the same in all frames, or colours would flicker.
    speed_scale: Option<f64>,
    /// The scene's own colour of the liquid.
    color: Option<[u8; 3]>,
}

struct Solid {
    surface: Reconstructor<3>,
    particle_volume: f64,
    up: Up,
    /// The scene without its liquid, turned y up.
    empty: Scene3,
}

/// The size of pictures: as asked for, or the scene's.
pub fn size(scene: &Scene, wanted: Option<args::Size>) -> Size {
    let [width, height] = wanted.map_or(scene.render.size, |size| [size.width, size.height]);
    [width as usize, height as usize]
}

/// A renderer's error as a failure.
pub fn failure(error: RenderError) -> Failure {
    let failure = Failure::failed(format!("cannot draw the frames: {}", chain(&error)));
    match error {
        RenderError::TooFine { .. } => failure.help("a lower resolution can be drawn"),
        RenderError::Io(_) => failure.help("is the disk full?"),
        _ => failure,
    }
}

impl Painter {
    /// Surveys the scene.
    pub fn new(scene: &Scene, size: Size) -> Outcome<Self> {
        let scene = match &scene.setup {
            AnySetup::D2(setup) => flat(scene, setup).map(|flat| Kind::D2(Box::new(flat))),
            AnySetup::D3(setup) => solid(scene, setup).map(|solid| Kind::D3(Box::new(solid))),
        };
        Ok(Painter {
            size,
            scene: scene.map_err(failure)?,
        })
    }

    /// Draws a frame of a run that is at work.
    pub fn paint_view(&self, view: View<'_>) -> Result<Image, RenderError> {
        match (&self.scene, view) {
            (Kind::D2(flat), View::D2(_, state)) => {
                let Particles {
                    position,
                    velocity,
                    viscosity,
                    ..
                } = &state.particles;
                flat.paint(position, velocity, viscosity, self.size)
            }
            (Kind::D3(solid), View::D3(_, state)) => {
                solid.paint(&state.particles.position, self.size)
            }
            (kind, _) => Err(kind.mismatch()),
        }
    }

    /// Draws a frame read from a cache.
    pub fn paint_cached(&self, frame: &FrameData) -> Result<Image, RenderError> {
        match (&self.scene, frame.meta.dimension) {
            (Kind::D2(flat), 2) => {
                let plane = |x: &[f32; 3]| [f64::from(x[0]), f64::from(x[1])];
                let positions: Vec<_> = frame.positions.iter().map(plane).collect();
                let velocities: Vec<_> = frame.velocities.iter().map(plane).collect();
                flat.paint(&positions, &velocities, &frame.viscosities, self.size)
            }
            (Kind::D3(solid), 3) => {
                let positions: Vec<_> = frame.positions.iter().map(|x| x.map(f64::from)).collect();
                solid.paint(&positions, self.size)
            }
            (kind, _) => Err(kind.mismatch()),
        }
    }
}

impl Kind {
    /// The frame is of another dimension than the scene.
    fn mismatch(&self) -> RenderError {
        let [expected, found] = match self {
            Kind::D2(_) => [2, 3],
            Kind::D3(_) => [3, 2],
        };
        RenderError::Mismatch {
            what: "dimensions of a frame",
            expected,
            found,
        }
    }
}

impl Flat {
    fn paint(
        &self,
        particles: &[[f64; 2]],
        velocities: &[[f64; 2]],
        viscosities: &[f32],
        size: Size,
    ) -> Result<Image, RenderError> {
        let shades = match self.color {
            None => self.shades(viscosities),
            Some(_) => Vec::new(),
        };
        let liquid = self
            .surface
            .occupancy(particles, self.setup.particle_volume())?;
        let solid = surfaces::solid_distance(&self.setup);
        let scene = Scene2 {
            bounds: surfaces::bounds(&self.setup),
            liquid: Some(&liquid),
            particles,
            velocities,
            speed_scale: self.speed_scale,
            solid: Some(&solid),
            style: self.style(!shades.is_empty()),
            shades: &shades,
        };
        render2(&scene, size)
    }

    /// How thick particles are, from 0 for the thinnest liquid of the scene to 1 for the thickest,
    /// by equal ratios; nothing if all are alike.
    fn shades(&self, viscosities: &[f32]) -> Vec<f64> {
        let ends = (self.setup.liquids.iter().map(|l| &l.viscosity))
            .chain(self.setup.sources.iter().map(|s| &s.viscosity))
            .map(|viscosity| viscosity.range());
        let (low, high) = ends.fold((f64::MAX, 0.0f64), |(low, high), [least, most]| {
            (low.min(least), high.max(most))
        });
        if low >= high {
            return Vec::new();
        }
        // Without a floor, liquid of no viscosity at all would be infinitely far from the rest.
        let log = |mu: f64| mu.max(1e-6 * high).ln();
        let span = log(high) - log(low);
        let shade = |mu: &f32| (log(f64::from(*mu)) - log(low)) / span;
        viscosities.iter().map(shade).collect()
    }

    /// Colours of the liquid, or of liquids told apart.
    fn style(&self, shaded: bool) -> Style2 {
        let mut style = Style2::default();
        if shaded {
            style.speeds = THIN_TO_THICK;
        }
        if let Some(color) = self.color {
            let mixed = |with: f64, share: f64| {
                color.map(|c| ((1.0 - share) * f64::from(c) + share * with).round() as u8)
            };
            style.shallow = mixed(255.0, 0.35);
            style.deep = color;
            style.surface = mixed(0.0, 0.5);
            style.speeds = [mixed(0.0, 0.25), mixed(255.0, 0.3), mixed(255.0, 0.8)];
        }
        style
    }
}

impl Solid {
    fn paint(&self, particles: &[[f64; 3]], size: Size) -> Result<Image, RenderError> {
        let mut liquid = self.surface.surface(particles, self.particle_volume)?;
        turn_mesh(&mut liquid, self.up);
        render(
            &Scene3 {
                liquid,
                ..self.empty.clone()
            },
            size,
        )
    }
}

fn flat(scene: &Scene, setup: &Setup<2>) -> Result<Flat, RenderError> {
    let [low, high] = surfaces::bounds(setup);
    let gravity = setup.gravity[0].hypot(setup.gravity[1]);
    // What falls through the whole domain is about as fast as things get.
    let speed = (2.0 * gravity * (high[1] - low[1])).sqrt();
    Ok(Flat {
        surface: surfaces::reconstructor(setup)?,
        setup: setup.clone(),
        speed_scale: (speed > 0.0).then_some(speed),
        color: scene.render.color,
    })
}

fn solid(scene: &Scene, setup: &Setup<3>) -> Result<Solid, RenderError> {
    let up = scene.up;
    let options = &scene.render;
    let camera = Camera {
        eye: options.eye.map(|x| turn(x, up)),
        target: options.target.map(|x| turn(x, up)),
        // The scene's default stands for "choose" as long as the camera's place does.
        fov_degrees: options.eye.map(|_| options.fov),
    };
    let Vessel { solids, room } = vessel(setup)?;
    let container = match room {
        Some(_) => Container::Hidden,
        None => Container::Tank,
    };
    let [a, b] = room.unwrap_or(surfaces::bounds(setup)).map(|x| turn(x, up));
    let bounds = [
        std::array::from_fn(|axis| a[axis].min(b[axis])),
        std::array::from_fn(|axis| a[axis].max(b[axis])),
    ];
    let turned = |mut solid: SolidMesh| {
        turn_mesh(&mut solid.mesh, up);
        solid
    };
    let mut style = Style3 {
        opacity: options.opacity,
        ..Style3::default()
    };
    style.tint = options.color.unwrap_or(style.tint);
    let empty = Scene3 {
        bounds,
        solids: solids.into_iter().map(turned).collect(),
        container,
        camera,
        style,
        ..Scene3::default()
    };
    let surface = surfaces::reconstructor(setup)?;
    Ok(Solid {
        surface,
        particle_volume: setup.particle_volume(),
        up,
        empty,
    })
}

/// What stands around the liquid.
struct Vessel {
    solids: Vec<SolidMesh>,
    /// The box around the room within a solid that closes off the domain. Of such a solid only
    /// the room is drawn, as glass, and the domain, which lies within it, is not.
    room: Option<[[f64; 3]; 2]>,
}

fn vessel(setup: &Setup<3>) -> Result<Vessel, RenderError> {
    let [low, high] = surfaces::bounds(setup);
    let extent: [f64; 3] = std::array::from_fn(|a| high[a] - low[a]);
    let mut vessel = Vessel {
        solids: Vec::new(),
        room: None,
    };
    for solid in &setup.solids {
        if let Some(mesh) = surfaces::room_mesh(setup, solid)? {
            vessel.room = mesh.bounds().map(|box_| box_.map(|x| x.map(f64::from)));
            vessel.solids.push(SolidMesh {
                mesh,
                material: Material::Glass,
            });
            continue;
        }
        let mesh = surfaces::solid_mesh(setup, solid)?;
        let material = if holds_liquid(&mesh, extent) {
            Material::Glass
        } else {
            Material::Matte(STONE)
        };
        vessel.solids.push(SolidMesh { mesh, material });
    }
    Ok(vessel)
}

/// Whether a solid reaches over most of the domain along every axis.
fn holds_liquid(mesh: &Mesh, extent: [f64; 3]) -> bool {
    mesh.bounds()
        .is_some_and(|[low, high]| (0..3).all(|a| high[a] - low[a] > HOLDS * extent[a] as f32))
}

/// The renderer has y up. Turning about x brings z there and keeps left and right.
fn turn<T: Copy + std::ops::Neg<Output = T>>(x: [T; 3], up: Up) -> [T; 3] {
    match up {
        Up::Y => x,
        Up::Z => [x[0], x[2], -x[1]],
    }
}

fn turn_mesh(mesh: &mut Mesh, up: Up) {
    for vector in mesh.positions.iter_mut().chain(&mut mesh.normals) {
        *vector = turn(*vector, up);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z_becomes_up_and_a_turned_mesh_keeps_its_volume() {
        assert_eq!(turn([1, 2, 3], Up::Y), [1, 2, 3]);
        assert_eq!(turn([0, 0, 1], Up::Z), [0, 1, 0]);
        let mut ball = Mesh::unit_ball(1);
        let before = ball.volume();
        turn_mesh(&mut ball, Up::Z);
        assert!((ball.volume() - before).abs() < 1e-6, "turned inside out");
    }

    #[test]
    fn a_bowl_is_glass_and_a_ball_is_not() {
        let ball = Mesh::unit_ball(1);
        assert!(holds_liquid(&ball, [1.3; 3]));
        assert!(!holds_liquid(&ball, [1.3, 4.0, 1.3]));
        assert!(!holds_liquid(&Mesh::default(), [1.0; 3]));
    }
}
