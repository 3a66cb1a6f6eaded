//! Pictures of 2D scenes: filled liquid, particles, solids.

use glam::Vec3;
use rayon::prelude::*;

use crate::environment::bytes;
use crate::error::{RenderError, positive};
use crate::field::Occupancy;
use crate::image::{Image, Size, check_size};
use crate::open::Solid;
use crate::tint::Tint;

/// Free pixels around the domain, as a share of the picture's shorter side.
const MARGIN: f64 = 0.04;

/// Colours (sRGB) and sizes of 2D pictures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style2 {
    /// Outside the domain.
    pub page: [u8; 3],
    /// Air.
    pub air: [u8; 3],
    /// Liquid at the top of the domain.
    pub shallow: [u8; 3],
    /// Liquid at the bottom of the domain.
    pub deep: [u8; 3],
    /// The line along the liquid's surface.
    pub surface: [u8; 3],
    /// Solids.
    pub solid: [u8; 3],
    /// The line around the domain.
    pub outline: [u8; 3],
    /// Colours of particles from rest to the fastest.
    pub speeds: [[u8; 3]; 3],
    /// Radius of a particle's dot in pixels.
    pub dot_radius: f64,
}

impl Default for Style2 {
    fn default() -> Self {
        Self {
            page: [255, 255, 255],
            air: [244, 247, 250],
            shallow: [126, 196, 232],
            deep: [34, 104, 176],
            surface: [16, 66, 122],
            solid: [150, 153, 158],
            outline: [70, 74, 80],
            speeds: [[22, 74, 148], [70, 190, 220], [255, 244, 200]],
            dot_radius: 1.1,
        }
    }
}

/// A 2D scene as plain data, y up.
#[derive(Clone, Copy, Default)]
pub struct Scene2<'a> {
    /// The domain box.
    pub bounds: [[f64; 2]; 2],
    /// The liquid to fill, if any.
    pub liquid: Option<&'a Occupancy<'a, 2>>,
    /// Particles to draw as dots.
    pub particles: &'a [[f64; 2]],
    /// Their velocities, or nothing to draw them all alike.
    pub velocities: &'a [[f64; 2]],
    /// Numbers from 0 to 1 to colour them, and the liquid about them, by in place of their speeds
    /// and its depth, or nothing.
    pub shades: &'a [f64],
    /// The speed drawn in the last colour; the fastest particle's if `None`.
    pub speed_scale: Option<f64>,
    /// Signed distance to solids, positive in the open.
    pub solid: Option<Solid<'a, 2>>,
    /// Colours and sizes.
    pub style: Style2,
}

impl std::fmt::Debug for Scene2<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scene2")
            .field("bounds", &self.bounds)
            .field("particles", &self.particles.len())
            .finish_non_exhaustive()
    }
}

/// Draw a 2D scene; the same bytes for any number of threads.
pub fn render2(scene: &Scene2<'_>, size: Size) -> Result<Image, RenderError> {
    check_size(size)?;
    for axis in 0..2 {
        positive(
            "scene extent",
            scene.bounds[1][axis] - scene.bounds[0][axis],
        )?;
    }
    positive("dot radius", scene.style.dot_radius)?;
    for (what, count) in [
        ("velocities", scene.velocities.len()),
        ("shades", scene.shades.len()),
    ] {
        if count != 0 && count != scene.particles.len() {
            return Err(RenderError::Mismatch {
                what,
                expected: scene.particles.len(),
                found: count,
            });
        }
    }
    let page = Page::new(scene.bounds, size);
    let tint = tint(scene);
    let ink = |x: [f64; 2]| liquid_ink(scene, tint.as_ref(), x);
    let fill = |i: usize| fill_pixel(scene, &page, page.point(i), ink);
    let mut canvas = Canvas {
        size,
        pixels: (0..size[0] * size[1]).into_par_iter().map(fill).collect(),
    };
    draw_spray(scene, &page, &mut canvas, ink);
    draw_particles(scene, &page, &mut canvas);
    let cover = |(i, colour): (usize, &mut Vec3)| {
        *colour = cover_pixel(scene, &page, page.point(i), *colour)
    };
    canvas.pixels.par_iter_mut().enumerate().for_each(cover);
    Image::from_pixels(size, canvas.pixels.into_iter().map(bytes).collect())
}

/// How the domain lies on the picture.
struct Page {
    /// Domain units per pixel.
    pixel: f64,
    /// Domain point at the picture's top left corner.
    corner: [f64; 2],
    width: usize,
}

impl Page {
    fn new(bounds: [[f64; 2]; 2], [width, height]: Size) -> Self {
        let margin = MARGIN * width.min(height) as f64;
        let extent = |a: usize| bounds[1][a] - bounds[0][a];
        let across = extent(0) / (width as f64 - 2.0 * margin);
        let pixel = across.max(extent(1) / (height as f64 - 2.0 * margin));
        let middle = |a: usize| 0.5 * (bounds[0][a] + bounds[1][a]);
        let corner = [
            middle(0) - 0.5 * width as f64 * pixel,
            middle(1) + 0.5 * height as f64 * pixel,
        ];
        Self {
            pixel,
            corner,
            width,
        }
    }

    /// Domain point at the centre of a pixel.
    fn point(&self, index: usize) -> [f64; 2] {
        let (x, y) = (index % self.width, index / self.width);
        [
            self.corner[0] + (x as f64 + 0.5) * self.pixel,
            self.corner[1] - (y as f64 + 0.5) * self.pixel,
        ]
    }

    /// Picture coordinates of a domain point.
    fn place(&self, point: [f64; 2]) -> [f64; 2] {
        [
            (point[0] - self.corner[0]) / self.pixel,
            (self.corner[1] - point[1]) / self.pixel,
        ]
    }
}

/// Display colours to draw on.
struct Canvas {
    size: Size,
    pixels: Vec<Vec3>,
}

impl Canvas {
    /// An antialiased disc, in picture coordinates.
    fn disc(&mut self, centre: [f64; 2], radius: f64, colour: Vec3, opacity: f32) {
        if !centre.iter().all(|c| c.is_finite()) {
            return;
        }
        let range = |a: usize| {
            let lo = (centre[a] - radius - 1.0).max(0.0) as usize;
            lo..((centre[a] + radius + 1.0).max(0.0).ceil() as usize).min(self.size[a])
        };
        for y in range(1) {
            for x in range(0) {
                let away = (x as f64 + 0.5 - centre[0]).hypot(y as f64 + 0.5 - centre[1]);
                let cover = (radius - away + 0.5).clamp(0.0, 1.0) as f32;
                let pixel = &mut self.pixels[y * self.size[0] + x];
                *pixel = pixel.lerp(colour, cover * opacity);
            }
        }
    }
}

fn colour(c: [u8; 3]) -> Vec3 {
    Vec3::from_array(c.map(|x| f32::from(x) / 255.0))
}

/// What colours the liquid in place of its depth.
fn tint(scene: &Scene2<'_>) -> Option<Tint> {
    let area = scene.liquid?.particle_volume();
    let Scene2 {
        bounds,
        particles,
        shades,
        ..
    } = *scene;
    (!shades.is_empty()).then(|| Tint::new(bounds, area, particles, shades))
}

/// A colour between those from rest to the fastest.
fn shaded(style: &Style2, share: f64) -> Vec3 {
    let [slow, middle, fast] = style.speeds.map(colour);
    let share = share.clamp(0.0, 1.0) as f32 * 2.0;
    if share < 1.0 {
        slow.lerp(middle, share)
    } else {
        middle.lerp(fast, share - 1.0)
    }
}

/// Colours of the liquid at a point: of its inside and of its surface.
fn liquid_ink(scene: &Scene2<'_>, tint: Option<&Tint>, x: [f64; 2]) -> [Vec3; 2] {
    let style = &scene.style;
    if let Some(share) = tint.and_then(|tint| tint.sample(x)) {
        let ink = shaded(style, share);
        return [ink, 0.5 * ink];
    }
    let height = (x[1] - scene.bounds[0][1]) / (scene.bounds[1][1] - scene.bounds[0][1]);
    let (deep, shallow) = (colour(style.deep), colour(style.shallow));
    let inside = deep.lerp(shallow, height.clamp(0.0, 1.0) as f32);
    [inside, colour(style.surface)]
}

/// Air and liquid, the surface between them as wide as a pen.
fn fill_pixel(
    scene: &Scene2<'_>,
    page: &Page,
    x: [f64; 2],
    ink: impl Fn([f64; 2]) -> [Vec3; 2],
) -> Vec3 {
    let air = colour(scene.style.air);
    let Some(liquid) = scene.liquid else {
        return air;
    };
    let here = liquid.sample(x);
    // Distance to the surface in pixels, from the slope over a pixel each way.
    let half = 0.75 * page.pixel;
    let slope = |a: [f64; 2], b: [f64; 2]| (liquid.sample(a) - liquid.sample(b)) / 1.5;
    let dx = slope([x[0] + half, x[1]], [x[0] - half, x[1]]);
    let dy = slope([x[0], x[1] + half], [x[0], x[1] - half]);
    let depth = (here - 0.5) / dx.hypot(dy).max(1e-3);
    let cover = (depth + 0.5).clamp(0.0, 1.0) as f32;
    let pen = (1.6 - (depth - 0.6).abs()).clamp(0.0, 1.0) as f32;
    if cover == 0.0 {
        return air;
    }
    let [inside, surface] = ink(x);
    air.lerp(inside.lerp(surface, 0.75 * pen), cover)
}

/// Solids, the page and the domain's outline over whatever was drawn.
fn cover_pixel(scene: &Scene2<'_>, page: &Page, x: [f64; 2], mut under: Vec3) -> Vec3 {
    if let Some(solid) = scene.solid {
        let depth = -solid(x) / page.pixel;
        if depth.is_finite() {
            let edge = (1.2 - depth.abs()).clamp(0.0, 1.0) as f32;
            under = under.lerp(
                colour(scene.style.solid),
                (depth + 0.5).clamp(0.0, 1.0) as f32,
            );
            under = under.lerp(colour(scene.style.outline), 0.6 * edge);
        }
    }
    let [lo, hi] = scene.bounds;
    let inwards = (0..2)
        .map(|a| (x[a] - lo[a]).min(hi[a] - x[a]))
        .fold(f64::MAX, f64::min)
        / page.pixel;
    under = under.lerp(
        colour(scene.style.page),
        (0.5 - inwards).clamp(0.0, 1.0) as f32,
    );
    under.lerp(
        colour(scene.style.outline),
        (1.6 - (inwards + 0.6).abs()).clamp(0.0, 1.0) as f32,
    )
}

/// Lone particles as discs of their own area.
fn draw_spray(
    scene: &Scene2<'_>,
    page: &Page,
    canvas: &mut Canvas,
    ink: impl Fn([f64; 2]) -> [Vec3; 2],
) {
    let Some(liquid) = scene.liquid else { return };
    let radius = (liquid.particle_volume() / std::f64::consts::PI).sqrt() / page.pixel;
    for droplet in liquid.spray() {
        let [inside, _] = ink(*droplet);
        canvas.disc(page.place(*droplet), radius, inside, 1.0);
    }
}

fn draw_particles(scene: &Scene2<'_>, page: &Page, canvas: &mut Canvas) {
    let speed = |p: usize| scene.velocities.get(p).map_or(0.0, |v| v[0].hypot(v[1]));
    let fastest = (0..scene.particles.len())
        .map(speed)
        .filter(|s| s.is_finite())
        .fold(0.0, f64::max);
    let scale = scene
        .speed_scale
        .filter(|s| s.is_finite() && *s > 0.0)
        .unwrap_or(fastest)
        .max(f64::MIN_POSITIVE);
    for (p, x) in scene.particles.iter().enumerate() {
        let share = scene.shades.get(p).copied();
        let ink = shaded(&scene.style, share.unwrap_or_else(|| speed(p) / scale));
        if ink.is_finite() {
            canvas.disc(page.place(*x), scene.style.dot_radius, ink, 0.8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::jittered;
    use crate::{ReconstructionOptions, Reconstructor};

    const UNIT: [[f64; 2]; 2] = [[0.0; 2], [1.0; 2]];
    const DX: f64 = 1.0 / 32.0;

    /// Area of the bluish pixels, in domain units.
    fn pool_area(picture: &Image) -> f64 {
        let wet = picture
            .pixels()
            .iter()
            .filter(|p| i32::from(p[2]) > i32::from(p[0]) + 60)
            .count();
        let inside = (1.0 - 2.0 * MARGIN) * picture.height() as f64;
        wet as f64 / (inside * inside)
    }

    #[test]
    fn the_filled_area_is_the_area_of_liquid() {
        let solid = |x: [f64; 2]| (x[0] - 0.5).hypot(x[1] - 0.3) - 0.15;
        let frame = Reconstructor::new(UNIT, DX, &solid, ReconstructionOptions::default()).unwrap();
        let particles = jittered(UNIT, DX, 21, |x| x[1] < 0.5 && solid(x) > 0.0);
        let liquid = frame.occupancy(&particles, DX * DX / 4.0).unwrap();
        let scene = Scene2 {
            bounds: UNIT,
            liquid: Some(&liquid),
            solid: Some(&solid),
            ..Scene2::default()
        };
        let area = pool_area(&render2(&scene, [400, 400]).unwrap());
        let exact = 0.5 - std::f64::consts::PI * 0.15 * 0.15;
        assert!((area / exact - 1.0).abs() < 0.03, "{area} for {exact}");
    }

    #[test]
    fn lone_particles_show_as_discs() {
        let frame =
            Reconstructor::new(UNIT, DX, &|_| f64::MAX, ReconstructionOptions::default()).unwrap();
        let liquid = frame
            .occupancy(&[[0.3, 0.7], [f64::NAN, 0.5]], DX * DX / 4.0)
            .unwrap();
        assert_eq!(liquid.spray().len(), 1);
        let scene = Scene2 {
            bounds: UNIT,
            liquid: Some(&liquid),
            ..Scene2::default()
        };
        let area = pool_area(&render2(&scene, [800, 800]).unwrap());
        assert!((area / (DX * DX / 4.0) - 1.0).abs() < 0.15, "{area}");
    }

    #[test]
    fn shades_colour_the_liquid_about_their_particles() {
        let frame =
            Reconstructor::new(UNIT, DX, &|_| f64::MAX, ReconstructionOptions::default()).unwrap();
        let particles = jittered(UNIT, DX, 23, |x| x[1] < 0.5);
        let shades: Vec<f64> = particles.iter().map(|x| f64::from(x[0] > 0.5)).collect();
        let liquid = frame.occupancy(&particles, DX * DX / 4.0).unwrap();
        let style = Style2 {
            speeds: [[200, 0, 0], [0, 200, 0], [0, 0, 200]],
            ..Style2::default()
        };
        let scene = Scene2 {
            bounds: UNIT,
            liquid: Some(&liquid),
            particles: &particles,
            shades: &shades,
            style,
            ..Scene2::default()
        };
        let picture = render2(&scene, [400, 400]).unwrap();
        // Every pixel well inside, whether under a dot or not.
        let all = |columns: std::ops::Range<usize>, expected: [u8; 3]| {
            for (x, y) in columns.flat_map(|x| (230..370).map(move |y| (x, y))) {
                assert_eq!(picture.get(x, y), expected, "{x}, {y}");
            }
        };
        all(30..150, [200, 0, 0]);
        all(250..370, [0, 0, 200]);
    }

    #[test]
    fn bad_scenes_are_errors_and_bad_particles_are_skipped() {
        assert!(render2(&Scene2::default(), [100, 100]).is_err());
        let scene = Scene2 {
            bounds: UNIT,
            particles: &[[0.5, 0.5], [f64::NAN, 0.0], [1e300, 0.0]],
            velocities: &[[1.0, 0.0], [f64::NAN, 0.0], [f64::INFINITY, 1.0]],
            ..Scene2::default()
        };
        assert!(render2(&scene, [100, 100]).is_ok());
        assert!(
            render2(
                &Scene2 {
                    velocities: &[[0.0; 2]],
                    ..scene
                },
                [100, 100]
            )
            .is_err()
        );
        assert!(render2(&scene, [1, 100]).is_err());
    }

    #[test]
    fn same_picture_for_one_and_two_threads() {
        let particles = jittered(UNIT, DX, 22, |x| x[1] < 0.4);
        let scene = Scene2 {
            bounds: UNIT,
            particles: &particles,
            ..Scene2::default()
        };
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| render2(&scene, [120, 90]).unwrap())
        };
        assert_eq!(run(1), run(2));
    }
}
