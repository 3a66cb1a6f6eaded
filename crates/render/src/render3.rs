//! Pictures of 3D scenes.

use glam::Vec3;
use rayon::prelude::*;

use crate::camera::{Camera, View};
use crate::environment::{Environment, bytes, display, linear};
use crate::error::{RenderError, positive};
use crate::image::{Image, Size, check_size};
use crate::lightmap::Lightmap;
use crate::mesh::Mesh;
use crate::raytrace::{Body, Shell, World};

/// Difference of display values between neighbours above which a pixel is sampled again.
const CONTRAST: f32 = 0.06;
/// Difference above which it is sampled with all of the further samples, not just two.
const STRONG_CONTRAST: f32 = 0.4;
/// Where the further samples of a pixel fall, in pixels from its centre; the first two face each
/// other.
const FURTHER: [[f32; 2]; 4] = [
    [-0.375, -0.125],
    [0.375, 0.125],
    [0.125, -0.375],
    [-0.125, 0.375],
];

/// Share of the tint's depth that is left in an opaque liquid.
const LEAST_CLEAR: f32 = 0.02;

/// What a solid looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Material {
    /// A dull surface of an sRGB colour.
    Matte([u8; 3]),
    /// A thin clear shell.
    Glass,
}

/// A solid to draw.
#[derive(Clone, Debug, PartialEq)]
pub struct SolidMesh {
    /// Its surface.
    pub mesh: Mesh,
    /// Its look.
    pub material: Material,
}

/// What to draw where the domain ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Container {
    /// A glass tank: bright edges, faint panes.
    #[default]
    Tank,
    /// Nothing.
    Hidden,
}

/// Colours and light.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style3 {
    /// The sRGB colour that white light has after crossing `tint_depth` of liquid.
    pub tint: [u8; 3],
    /// Depth of the tint, as a share of the longest side of the scene.
    pub tint_depth: f64,
    /// Share of the light in the liquid that it throws back where it enters: 0 for water, 1 for
    /// paint. The tint is then the colour of that light too, and reaches the less deep.
    pub opacity: f64,
    /// The sRGB colour of the ground.
    pub ground: [u8; 3],
    /// The sRGB colour of the sky low down, and behind everything.
    pub horizon: [u8; 3],
    /// The sRGB colour of the sky overhead.
    pub zenith: [u8; 3],
    /// Direction towards the sun; y must be positive.
    pub sun: [f64; 3],
    /// Factor on all light.
    pub exposure: f64,
}

impl Default for Style3 {
    fn default() -> Self {
        Self {
            tint: [92, 184, 218],
            tint_depth: 0.5,
            opacity: 0.0,
            ground: [226, 226, 226],
            horizon: [206, 218, 230],
            zenith: [96, 146, 206],
            sun: [-0.45, 1.0, 0.35],
            exposure: 1.22,
        }
    }
}

/// A 3D scene as plain data, y up.
#[derive(Clone, Debug)]
pub struct Scene3 {
    /// The domain box: the automatic camera frames it, the ground lies under it.
    pub bounds: [[f64; 3]; 2],
    /// The liquid's closed surface.
    pub liquid: Mesh,
    /// Everything solid.
    pub solids: Vec<SolidMesh>,
    /// How the domain walls are drawn.
    pub container: Container,
    /// Where the picture is taken from.
    pub camera: Camera,
    /// Colours and light.
    pub style: Style3,
}

impl Default for Scene3 {
    fn default() -> Self {
        Self {
            bounds: [[0.0; 3], [1.0; 3]],
            liquid: Mesh::default(),
            solids: Vec::new(),
            container: Container::default(),
            camera: Camera::default(),
            style: Style3::default(),
        }
    }
}

/// Draw a scene; the same bytes for any number of threads.
pub fn render(scene: &Scene3, size: Size) -> Result<Image, RenderError> {
    check_size(size)?;
    let world = build(scene)?;
    let [lo, hi] = corners(scene);
    let view = View::new(&scene.camera, lo, hi, size);
    let exposure = scene.style.exposure as f32;
    let look = |x: f32, y: f32| display(world.see(&view.ray(x, y)) * exposure);
    let [width, height] = size;
    let centres: Vec<Vec3> = (0..width * height)
        .into_par_iter()
        .map(|i| look((i % width) as f32 + 0.5, (i / width) as f32 + 0.5))
        .collect();
    let refine = |i: usize| {
        let further = match contrast(&centres, size, i) {
            x if x > STRONG_CONTRAST => &FURTHER[..],
            x if x > CONTRAST => &FURTHER[..2],
            _ => &[],
        };
        let (x, y) = ((i % width) as f32 + 0.5, (i / width) as f32 + 0.5);
        let more: Vec3 = further.iter().map(|[dx, dy]| look(x + dx, y + dy)).sum();
        bytes((centres[i] + more) / (1 + further.len()) as f32)
    };
    let pixels = (0..width * height).into_par_iter().map(refine).collect();
    Image::from_pixels(size, pixels)
}

/// The largest difference between a pixel and any of its neighbours.
fn contrast(pixels: &[Vec3], [width, height]: Size, i: usize) -> f32 {
    let (x, y) = (i % width, i / width);
    let here = pixels[i];
    let ys = y.saturating_sub(1)..(y + 2).min(height);
    ys.flat_map(|j| (x.saturating_sub(1)..(x + 2).min(width)).map(move |k| j * width + k))
        .map(|j| (pixels[j] - here).abs().max_element())
        .fold(0.0, f32::max)
}

fn corners(scene: &Scene3) -> [Vec3; 2] {
    scene.bounds.map(|p| Vec3::from(p.map(|x| x as f32)))
}

fn build(scene: &Scene3) -> Result<World, RenderError> {
    for axis in 0..3 {
        positive(
            "scene extent",
            scene.bounds[1][axis] - scene.bounds[0][axis],
        )?;
    }
    positive("tint depth", scene.style.tint_depth)?;
    positive("exposure", scene.style.exposure)?;
    positive("height of the sun", scene.style.sun[1])?;
    for mesh in std::iter::once(&scene.liquid).chain(scene.solids.iter().map(|s| &s.mesh)) {
        mesh.check()?;
    }
    let [lo, hi] = corners(scene);
    let size = (hi - lo).max_element();
    let style = &scene.style;
    let (mut bodies, mut glass) = (Vec::new(), Vec::new());
    for solid in &scene.solids {
        let shell = Shell::new(solid.mesh.clone());
        match solid.material {
            Material::Matte(colour) => bodies.push(Body {
                shell,
                albedo: linear(colour),
                throws_shadow: true,
            }),
            Material::Glass => glass.push(shell),
        }
    }
    let tank = scene.container == Container::Tank;
    let clear = 1.0 - style.opacity.clamp(0.0, 1.0) as f32;
    let tint = linear(style.tint).clamp(Vec3::splat(1e-3), Vec3::ONE);
    let mut world = World {
        liquid: Shell::new(scene.liquid.clone()),
        bodies,
        glass,
        environment: Environment {
            sun: Vec3::from(style.sun.map(|x| x as f32)).normalize_or(Vec3::Y),
            sunlight: Vec3::new(1.05, 1.0, 0.92),
            horizon: linear(style.horizon),
            zenith: linear(style.zenith),
        },
        absorption: -tint.map(f32::ln) / (style.tint_depth as f32 * clear.max(LEAST_CLEAR) * size),
        scatter: 0.35 * tint * tint,
        opacity: 1.0 - clear,
        albedo: linear(style.tint),
        ground: lo.y - 0.004 * size,
        ground_albedo: linear(style.ground),
        centre: 0.5 * (lo + hi),
        size,
        lightmap: Lightmap::default(),
        panes: tank.then_some([lo, hi]),
    };
    world.lightmap = Lightmap::cast(&world, lo, hi);
    if tank {
        // A frame to the picture, not a thing in the scene: its shadows would be scratches on the
        // liquid. On the ground it throws none either, since it comes after the light there.
        world.bodies.push(Body {
            shell: Shell::new(edges(lo, hi, 0.003 * size)),
            albedo: Vec3::splat(0.75),
            throws_shadow: false,
        });
    }
    Ok(world)
}

/// The twelve edges of a box as square rods of half width `r`, just outside it.
fn edges(lo: Vec3, hi: Vec3, r: f32) -> Mesh {
    let (lo, hi) = (lo - r, hi + r);
    let mut mesh = Mesh::default();
    for axis in 0..3 {
        for corner in 0..4 {
            let (mut a, mut b) = (lo - r, hi + r);
            for (bit, other) in [(axis + 1) % 3, (axis + 2) % 3].into_iter().enumerate() {
                let at = if corner >> bit & 1 == 0 {
                    lo[other]
                } else {
                    hi[other]
                };
                (a[other], b[other]) = (at - r, at + r);
            }
            cuboid(&mut mesh, a, b);
        }
    }
    mesh
}

/// Append a box with flat faces.
fn cuboid(mesh: &mut Mesh, lo: Vec3, hi: Vec3) {
    for axis in 0..3 {
        for (side, turn) in [(lo, -1.0), (hi, 1.0)] {
            let first = mesh.positions.len() as u32;
            let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
            let mut normal = [0.0; 3];
            normal[axis] = turn;
            for (a, b) in [(lo, lo), (hi, lo), (hi, hi), (lo, hi)] {
                let mut p = [0.0; 3];
                p[axis] = side[axis];
                p[u] = a[u];
                p[v] = b[v];
                mesh.positions.push(p);
                mesh.normals.push(normal);
            }
            let faces = if turn > 0.0 {
                [[0, 1, 2], [0, 2, 3]]
            } else {
                [[0, 2, 1], [0, 3, 2]]
            };
            mesh.triangles.extend(faces.map(|t| t.map(|v| v + first)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ball(centre: [f64; 3], volume: f64) -> Mesh {
        let mut mesh = Mesh::default();
        mesh.append_scaled(&Mesh::unit_ball(3), centre, volume.cbrt());
        mesh
    }

    fn scene() -> Scene3 {
        let solid = SolidMesh {
            mesh: ball([0.75, 0.2, 0.5], 0.02),
            material: Material::Matte([200, 60, 40]),
        };
        let shell = SolidMesh {
            mesh: ball([0.3, 0.6, 0.3], 0.02),
            material: Material::Glass,
        };
        Scene3 {
            liquid: ball([0.35, 0.3, 0.5], 0.05),
            solids: vec![solid, shell],
            ..Scene3::default()
        }
    }

    #[test]
    fn same_picture_for_one_and_two_threads() {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| render(&scene(), [64, 48]).unwrap())
        };
        assert_eq!(run(1), run(2));
    }

    #[test]
    fn liquid_tints_what_lies_behind_it() {
        let size = [80, 60];
        let empty = render(
            &Scene3 {
                container: Container::Hidden,
                ..Scene3::default()
            },
            size,
        )
        .unwrap();
        let blue = |c: [u8; 3]| i32::from(c[2]) - i32::from(c[0]);
        let liquid = ball([0.5, 0.46, 0.5], 0.2);
        let full = render(
            &Scene3 {
                container: Container::Hidden,
                liquid,
                ..Scene3::default()
            },
            size,
        )
        .unwrap();
        assert!(blue(full.get(40, 30)) > blue(empty.get(40, 30)) + 10);
        assert_eq!(full.get(2, 2), empty.get(2, 2));
    }

    #[test]
    fn opaque_liquid_hides_what_lies_behind_it() {
        let look = |opacity: f64, behind: [u8; 3]| {
            let scene = Scene3 {
                container: Container::Hidden,
                liquid: ball([0.5, 0.46, 0.7], 0.005),
                solids: vec![SolidMesh {
                    mesh: ball([0.5, 0.46, 0.0], 0.3),
                    material: Material::Matte(behind),
                }],
                camera: Camera {
                    eye: Some([0.5, 0.46, 3.0]),
                    target: Some([0.5, 0.46, 0.5]),
                    fov_degrees: Some(30.0),
                },
                style: Style3 {
                    opacity,
                    tint: [200, 60, 20],
                    ..Style3::default()
                },
                ..Scene3::default()
            };
            render(&scene, [80, 60]).unwrap().get(40, 30)
        };
        let differ = |opacity| {
            let [dark, bright] = [[10; 3], [240; 3]].map(|behind| look(opacity, behind));
            (0..3)
                .map(|i| i32::from(bright[i]) - i32::from(dark[i]))
                .sum::<i32>()
        };
        let clear = differ(0.0);
        assert!(clear > 100, "{clear}");
        assert_eq!(differ(1.0), 0);
        let [red, green, blue] = look(1.0, [10; 3]);
        assert!(red > green && green > blue);
    }

    #[test]
    fn a_solid_throws_a_shadow() {
        let size = [80, 60];
        let bare = Scene3 {
            container: Container::Hidden,
            ..Scene3::default()
        };
        let mesh = ball([0.5, 0.5, 0.5], 0.1);
        let solids = vec![SolidMesh {
            mesh,
            material: Material::Matte([255; 3]),
        }];
        let world = build(&Scene3 {
            solids,
            ..bare.clone()
        })
        .unwrap();
        let sun = world.environment.sun;
        let foot = Vec3::splat(0.5) - sun * (0.5 / sun.y);
        assert!(world.lightmap.sample(foot.x, foot.z).0.max_element() < 0.1);
        assert!(world.lightmap.sample(foot.x - 0.6, foot.z).0.min_element() > 0.9);
        assert!(render(&bare, size).is_ok());
    }

    #[test]
    fn bad_scenes_are_errors_and_broken_meshes_are_drawn_without() {
        assert!(render(&scene(), [0, 100]).is_err());
        let flat = Scene3 {
            bounds: [[0.0; 3], [1.0, 0.0, 1.0]],
            ..scene()
        };
        assert!(render(&flat, [64, 48]).is_err());
        let mut dark = scene();
        dark.style.sun = [0.0, -1.0, 0.0];
        assert!(render(&dark, [64, 48]).is_err());
        let mut broken = scene();
        broken.liquid.positions.fill([f32::NAN; 3]);
        assert!(render(&broken, [64, 48]).is_ok());
        broken.liquid.triangles.push([0, 1, u32::MAX]);
        assert!(render(&broken, [64, 48]).is_err());
    }
}
