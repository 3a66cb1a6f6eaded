//! Sunlight on the ground: shadows, and caustics where the liquid gathers light.

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use crate::bvh::Ray;
use crate::raytrace::{Event, World};

/// Texels along a side.
const SIDE: usize = 192;
/// Light rays per texel and axis.
const OVERSAMPLE: usize = 2;
/// Surfaces a light ray may cross.
const CROSSINGS: usize = 8;
/// Angular radius of the sun, as the tangent: how soft shadows are.
const SUN_RADIUS: f32 = 0.035;
/// Rows of rays traced as one unit of work; fixed, so sums are the same on any number of threads.
const ROWS: usize = 16;

/// Sunlight (1 where nothing is in the way) and sky light on a square of ground.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lightmap {
    low: Vec2,
    scale: f32,
    sun: Vec<Vec3>,
    shade: Vec<f32>,
}

impl Lightmap {
    /// Send light through `world` onto the ground under and around the box from `lo` to `hi`.
    pub fn cast(world: &World, lo: Vec3, hi: Vec3) -> Self {
        let sun = world.environment.sun;
        let slope = Vec2::new(sun.x, sun.z) / sun.y.max(0.1);
        let fall = -slope * (hi.y - world.ground);
        let (a, b) = (Vec2::new(lo.x, lo.z), Vec2::new(hi.x, hi.z));
        let margin = Vec2::splat(0.12 * world.size);
        let (low, high) = (a.min(a + fall) - margin, b.max(b + fall) + margin);
        let width = (high - low).max_element().max(1e-6);
        let mut map = Self {
            low,
            scale: SIDE as f32 / width,
            sun: vec![Vec3::ZERO; SIDE * SIDE],
            shade: Vec::new(),
        };
        let rays = SIDE * OVERSAMPLE;
        let chunks: Vec<Vec<(Vec2, Vec3)>> = (0..rays.div_ceil(ROWS))
            .into_par_iter()
            .map(|chunk| {
                let rows = chunk * ROWS..((chunk + 1) * ROWS).min(rays);
                rows.flat_map(|j| (0..rays).map(move |i| (i, j)))
                    .filter_map(|(i, j)| map.photon(world, i, j))
                    .collect()
            })
            .collect();
        for (place, light) in chunks.into_iter().flatten() {
            map.splat(place, light / (OVERSAMPLE * OVERSAMPLE) as f32);
        }
        map.sun = blur(&map.sun, 1.3);
        // Sky light comes from everywhere: a wide blur of the shadow stands for its occlusion.
        let grey: Vec<Vec3> = map
            .sun
            .iter()
            .map(|c| Vec3::splat(c.element_sum().min(3.0) / 3.0))
            .collect();
        map.shade = blur(&grey, SIDE as f32 * 0.035)
            .iter()
            .map(|c| 0.55 + 0.45 * c.x.min(1.0))
            .collect();
        map
    }

    /// Sunlight and sky light at a point of the ground, relative to an empty scene.
    pub fn sample(&self, x: f32, z: f32) -> (Vec3, f32) {
        let p = (Vec2::new(x, z) - self.low) * self.scale - 0.5;
        if self.sun.is_empty() || !(p.min_element() >= 0.0 && p.max_element() < (SIDE - 1) as f32) {
            return (Vec3::ONE, 1.0);
        }
        let mut sum = (Vec3::ZERO, 0.0);
        for (texel, weight) in corners(p) {
            sum = (
                sum.0 + self.sun[texel] * weight,
                sum.1 + self.shade[texel] * weight,
            );
        }
        // Fade to plain ground at the border, where rays from beyond the map are missing.
        let border = p.min_element().min((SIDE - 1) as f32 - p.max_element());
        let fade = (border / (SIDE as f32 * 0.04)).clamp(0.0, 1.0);
        (Vec3::ONE.lerp(sum.0, fade), 1.0 + (sum.1 - 1.0) * fade)
    }

    /// Follow one ray of sunlight that would land on its own spot of an empty ground.
    fn photon(&self, world: &World, i: usize, j: usize) -> Option<(Vec2, Vec3)> {
        let rays = OVERSAMPLE as f32;
        let jitter = spread(i, j);
        let texel = Vec2::new(i as f32 + jitter.x, j as f32 + jitter.y) / rays;
        let spot = self.low + texel / self.scale;
        let spot = Vec3::new(spot.x, world.ground, spot.y);
        let disc = spread(j + 7919, i + 104_729);
        let radius = SUN_RADIUS * disc.x.sqrt();
        let (sin, cos) = (std::f32::consts::TAU * disc.y).sin_cos();
        let side = world.environment.sun.any_orthonormal_pair();
        let sun = (world.environment.sun + radius * (cos * side.0 + sin * side.1)).normalize();
        let origin = spot + sun * (4.0 * world.size);
        self.descend(
            world,
            Ray {
                origin,
                direction: -sun,
            },
        )
    }

    fn descend(&self, world: &World, mut ray: Ray) -> Option<(Vec2, Vec3)> {
        let mut inside = false;
        let mut light = Vec3::splat(world.through_glass(&ray));
        for _ in 0..CROSSINGS {
            match world.next(&ray, inside) {
                Event::Sky | Event::Body(..) => return None,
                Event::Ground(t) => {
                    let p = ray.at(t);
                    let light = if inside {
                        light * (-world.absorption * t).exp()
                    } else {
                        light
                    };
                    return Some((Vec2::new(p.x, p.z), light));
                }
                Event::Liquid(hit) => {
                    let (split, was_inside, point) = world.meet_liquid(&ray, &hit);
                    if was_inside {
                        light *= (-world.absorption * hit.t).exp();
                    }
                    ray.origin = point;
                    (ray.direction, inside) = match split.refracted {
                        Some(refracted) => {
                            light *= 1.0 - split.reflectance;
                            (refracted, !was_inside)
                        }
                        None => (split.reflected, was_inside),
                    };
                }
            }
        }
        None
    }

    fn splat(&mut self, place: Vec2, light: Vec3) {
        let p = (place - self.low) * self.scale - 0.5;
        if p.min_element() >= 0.0 && p.max_element() < (SIDE - 1) as f32 {
            for (texel, weight) in corners(p) {
                self.sun[texel] += light * weight;
            }
        }
    }
}

/// The four texels around a point, with bilinear weights.
fn corners(p: Vec2) -> [(usize, f32); 4] {
    let (x, y) = (p.x as usize, p.y as usize);
    let (u, v) = (p.x - x as f32, p.y - y as f32);
    let at = |i: usize, j: usize| x + i + SIDE * (y + j);
    [
        (at(0, 0), (1.0 - u) * (1.0 - v)),
        (at(1, 0), u * (1.0 - v)),
        (at(0, 1), (1.0 - u) * v),
        (at(1, 1), u * v),
    ]
}

/// Two numbers in [0, 1) scattered over the grid of rays, always the same.
fn spread(i: usize, j: usize) -> Vec2 {
    let mut h = (i as u32).wrapping_mul(0x9E37_79B1) ^ (j as u32).wrapping_mul(0x85EB_CA77);
    let mut next = || {
        h ^= h >> 16;
        h = h.wrapping_mul(0x7FEB_352D);
        h ^= h >> 15;
        h = h.wrapping_mul(0x846C_A68B);
        h ^= h >> 16;
        (h >> 8) as f32 / (1u32 << 24) as f32
    };
    Vec2::new(next(), next())
}

/// Gaussian blur of deviation `sigma` texels, borders repeated.
fn blur(map: &[Vec3], sigma: f32) -> Vec<Vec3> {
    let half = (3.0 * sigma).ceil() as isize;
    let weight = |k: isize| (-0.5 * (k as f32 / sigma).powi(2)).exp();
    let total: f32 = (-half..=half).map(weight).sum();
    let pass = |map: &[Vec3], stride: usize| -> Vec<Vec3> {
        let at = |index: usize| {
            let place = (index / stride % SIDE) as isize;
            let base = index as isize - place * stride as isize;
            (-half..=half)
                .map(|k| {
                    let i = (place + k).clamp(0, SIDE as isize - 1);
                    map[(base + i * stride as isize) as usize] * (weight(k) / total)
                })
                .sum()
        };
        (0..map.len()).into_par_iter().map(at).collect()
    };
    pass(&pass(map, 1), SIDE)
}
