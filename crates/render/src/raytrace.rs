//! Light through a scene: liquid, solids, glass, ground and sky.

use glam::Vec3;

use crate::bvh::{Bvh, Hit, Ray};
use crate::environment::{Environment, smooth};
use crate::lightmap::Lightmap;
use crate::mesh::Mesh;
use crate::optics::{Split, WATER, pane_reflectance, split};

/// Surfaces a path of light may meet before it is given up.
const DEPTH: usize = 7;
/// Walls of one glass body that are seen one behind the other.
const SHELLS: usize = 6;
/// Reflections followed by rays of their own, counted along a path; later ones see the sky only.
const BRANCHES: usize = 1;
/// Reflections weaker than this see the sky only.
const LEAST_WEIGHT: f32 = 0.06;
/// Vertex normals farther than this (cosine) from a face's belong to the other side of a crease.
const CREASE: f32 = 0.55;

/// A mesh made ready for rays.
pub(crate) struct Shell {
    pub bvh: Bvh,
    pub mesh: Mesh,
}

impl Shell {
    pub fn new(mesh: Mesh) -> Self {
        let bvh = Bvh::new(&mesh);
        Self { bvh, mesh }
    }
}

/// A matte body.
pub(crate) struct Body {
    pub shell: Shell,
    /// Share of light that it throws back, by colour.
    pub albedo: Vec3,
    /// Whether it keeps sunlight from what lies behind it.
    pub throws_shadow: bool,
}

/// A scene made ready for rays.
pub(crate) struct World {
    pub liquid: Shell,
    pub bodies: Vec<Body>,
    /// Thin clear shells, which reflect and let through without bending.
    pub glass: Vec<Shell>,
    pub environment: Environment,
    /// Beer-Lambert coefficient of the liquid, per unit of length.
    pub absorption: Vec3,
    /// Light scattered back by the liquid's depth.
    pub scatter: Vec3,
    /// Share of light that the liquid throws back where it enters, as a matte body would.
    pub opacity: f32,
    /// The colour of that light.
    pub albedo: Vec3,
    /// Height of the ground.
    pub ground: f32,
    pub ground_albedo: Vec3,
    /// Middle of the scene, and its size.
    pub centre: Vec3,
    pub size: f32,
    pub lightmap: Lightmap,
    /// Corners of a glass box to draw around the liquid.
    pub panes: Option<[Vec3; 2]>,
}

/// The next thing along a ray.
pub(crate) enum Event {
    Liquid(Hit),
    Body(usize, Hit),
    Ground(f32),
    Sky,
}

/// Where along its life a path is.
#[derive(Clone, Copy)]
pub(crate) struct Path {
    pub inside: bool,
    pub depth: usize,
    pub branches: usize,
    pub weight: f32,
}

impl Path {
    pub const START: Path = Path {
        inside: false,
        depth: 0,
        branches: 0,
        weight: 1.0,
    };
}

impl World {
    /// Distance below which two surfaces count as one.
    pub fn grain(&self) -> f32 {
        1e-4 * self.size
    }

    /// Width of a gap between liquid and solid that is only the meshes' coarseness.
    fn contact(&self) -> f32 {
        0.008 * self.size
    }

    /// The same along a ray that meets the liquid's skin at a slant.
    fn gap(&self, ray: &Ray, skin: &Hit) -> f32 {
        let slant = ray.direction.dot(face_normal(&self.liquid.mesh, skin));
        self.contact() / slant.abs().max(0.05)
    }

    /// What a ray meets first, glass apart.
    ///
    /// Matte things closer than [`Self::contact`] to the liquid's skin are taken as touching it:
    /// seen from inside, they have no air, and no mirror, before them.
    pub fn next(&self, ray: &Ray, inside: bool) -> Event {
        let least = self.grain();
        let liquid = self.liquid.bvh.first_hit(ray, least, f32::MAX);
        let mut reach = match liquid {
            Some(hit) if inside => hit.t + self.gap(ray, &hit),
            Some(hit) => hit.t,
            None => f32::MAX,
        };
        let mut event = liquid.map_or(Event::Sky, Event::Liquid);
        if ray.direction.y < -1e-6 {
            let t = (self.ground - ray.origin.y) / ray.direction.y;
            if t > 0.0 && t < reach {
                event = Event::Ground(t);
                reach = t;
            }
        }
        for (index, body) in self.bodies.iter().enumerate() {
            if let Some(hit) = body.shell.bvh.first_hit(ray, least, reach) {
                event = Event::Body(index, hit);
                reach = hit.t;
            }
        }
        event
    }

    /// Light that a camera ray sees, with glass bodies and the panes of the tank before it.
    ///
    /// Glass bends no light, so it only lies over the picture. Glass behind the liquid is left
    /// out: its faint reflections would be lost in those of the liquid.
    pub fn see(&self, ray: &Ray) -> Vec3 {
        let event = self.next(ray, false);
        let hidden = match event {
            Event::Liquid(hit) | Event::Body(_, hit) => hit.t,
            Event::Ground(t) => t,
            Event::Sky => f32::MAX,
        };
        let light = self.shade(ray, &event, Path::START);
        // Glass that is wet is left out too: which of the two meshes lies outside is chance.
        let dry = match event {
            Event::Liquid(hit) => hidden - self.gap(ray, &hit),
            _ => hidden,
        };
        let light = self.behind_glass(ray, light, dry);
        self.behind_panes(ray, light, hidden)
    }

    /// What is left of light that comes through glass bodies nearer than `limit`.
    fn behind_glass(&self, ray: &Ray, light: Vec3, limit: f32) -> Vec3 {
        let mut shells: Vec<(f32, Vec3)> = Vec::new();
        for glass in &self.glass {
            let mut least = self.grain();
            for _ in 0..SHELLS {
                let Some(hit) = glass.bvh.first_hit(ray, least, limit) else {
                    break;
                };
                shells.push((hit.t, normals(&glass.mesh, &hit).1));
                least = hit.t + 2.0 * self.contact();
            }
        }
        shells.sort_by(|a, b| b.0.total_cmp(&a.0));
        shells.into_iter().fold(light, |light, (_, normal)| {
            let mirror = ray.direction - 2.0 * ray.direction.dot(normal) * normal;
            let sky = self.environment.radiance(mirror.with_y(mirror.y.abs()));
            let share = pane_reflectance(ray.direction.dot(normal));
            (0.99 * light).lerp(sky.min(Vec3::splat(2.0)), share)
        })
    }

    /// The share of sunlight that glass bodies let through; each has two walls in its way.
    pub fn through_glass(&self, ray: &Ray) -> f32 {
        let meets = |glass: &&Shell| glass.bvh.any_hit(ray, self.grain(), f32::MAX);
        0.88f32.powi(self.glass.iter().filter(meets).count() as i32)
    }

    /// What is left of light that comes through the panes of the tank, as far as nothing nearer
    /// hides them.
    fn behind_panes(&self, ray: &Ray, light: Vec3, hidden: f32) -> Vec3 {
        let Some([lo, hi]) = self.panes else {
            return light;
        };
        let inverse = ray.direction.recip();
        let (a, b) = ((lo - ray.origin) * inverse, (hi - ray.origin) * inverse);
        let (near, far) = (a.min(b), a.max(b));
        let (enter, leave) = (near.max_element(), far.min_element());
        if enter >= leave || leave <= 0.0 {
            return light;
        }
        let slack = 10.0 * self.grain();
        [(enter, near), (leave, far)]
            .into_iter()
            .rev()
            .fold(light, |light, (t, sides)| {
                if t <= 0.0 || t > hidden + slack {
                    return light;
                }
                let axis = (0..3).find(|&i| sides[i] == t).unwrap_or(1);
                let share = 0.6 * pane_reflectance(ray.direction[axis]);
                let mut mirrored = ray.direction;
                mirrored[axis] = -mirrored[axis];
                let sky = self
                    .environment
                    .radiance(mirrored.with_y(mirrored.y.abs()))
                    .min(Vec3::splat(1.2));
                light.lerp(sky, share)
            })
    }

    /// Light arriving against a ray.
    pub fn trace(&self, ray: &Ray, path: Path) -> Vec3 {
        self.shade(ray, &self.next(ray, path.inside), path)
    }

    fn shade(&self, ray: &Ray, event: &Event, path: Path) -> Vec3 {
        match *event {
            Event::Sky => self.through(
                self.environment.radiance(ray.direction),
                self.size,
                path.inside,
            ),
            Event::Ground(t) => self.through(self.ground_light(ray.at(t)), t, path.inside),
            Event::Body(index, hit) => {
                let light = self.body_light(index, ray, &hit, path);
                self.through(light, hit.t, path.inside)
            }
            Event::Liquid(hit) => self.liquid_light(ray, &hit, path),
        }
    }

    /// Dim light by a length of liquid, adding what the liquid itself scatters.
    fn through(&self, light: Vec3, length: f32, inside: bool) -> Vec3 {
        if !inside {
            return light;
        }
        let kept = (-self.absorption * length).exp();
        light * kept + self.scatter * (Vec3::ONE - kept)
    }

    fn liquid_light(&self, ray: &Ray, hit: &Hit, path: Path) -> Vec3 {
        let (split, inside, point) = self.meet_liquid(ray, hit);
        if path.depth >= DEPTH {
            return self.through(self.environment.ambient(Vec3::Y), hit.t, inside);
        }
        let follow = |direction: Vec3, inside: bool, weight: f32, branches: usize| {
            let next = Path {
                inside,
                depth: path.depth + 1,
                branches,
                weight,
            };
            self.trace(
                &Ray {
                    origin: point,
                    direction,
                },
                next,
            )
        };
        let light = match split.refracted {
            None => follow(split.reflected, inside, path.weight, path.branches),
            Some(refracted) => {
                let share = split.reflectance;
                let weight = path.weight * share;
                let enter = || {
                    let weight = path.weight * (1.0 - share);
                    follow(refracted, !inside, weight, path.branches)
                };
                let passed = if inside || self.opacity == 0.0 {
                    enter()
                } else {
                    let (_, normal) = normals(&self.liquid.mesh, hit);
                    let matte = self.albedo * self.diffuse(point, normal, false);
                    if self.opacity < 1.0 {
                        enter().lerp(matte, self.opacity)
                    } else {
                        matte
                    }
                };
                let mirrored = if path.branches < BRANCHES && weight > LEAST_WEIGHT {
                    follow(split.reflected, inside, weight, path.branches + 1)
                } else if inside {
                    passed
                } else {
                    self.environment
                        .radiance(split.reflected.with_y(split.reflected.y.abs()))
                };
                passed.lerp(mirrored, share)
            }
        };
        self.through(light, hit.t, inside)
    }

    /// The optics at a liquid surface: the split, whether the ray was inside, and the point.
    pub fn meet_liquid(&self, ray: &Ray, hit: &Hit) -> (Split, bool, Vec3) {
        let (face, smooth) = normals(&self.liquid.mesh, hit);
        let inside = ray.direction.dot(face) > 0.0;
        let turn = if inside { -1.0 } else { 1.0 };
        let normal = if ray.direction.dot(smooth) * turn < -0.02 {
            smooth
        } else {
            face
        };
        let ratio = if inside { WATER } else { 1.0 / WATER };
        (
            split(ray.direction, normal * turn, ratio),
            inside,
            ray.at(hit.t),
        )
    }

    fn body_light(&self, index: usize, ray: &Ray, hit: &Hit, path: Path) -> Vec3 {
        let body = &self.bodies[index];
        let (face, smooth) = normals(&body.shell.mesh, hit);
        let turn = if ray.direction.dot(face) > 0.0 {
            -1.0
        } else {
            1.0
        };
        body.albedo * self.diffuse(ray.at(hit.t), smooth * turn, path.inside)
    }

    /// Light falling on a matte point.
    fn diffuse(&self, point: Vec3, normal: Vec3, inside: bool) -> Vec3 {
        let facing = normal.dot(self.environment.sun).max(0.0);
        let sun = if facing > 0.0 {
            facing * self.sunlight_at(point + normal * self.grain(), inside)
        } else {
            Vec3::ZERO
        };
        sun + self.environment.ambient(normal)
    }

    /// Sunlight reaching a point straight on, dimmed by liquid in the way, stopped by matte bodies.
    pub fn sunlight_at(&self, point: Vec3, inside: bool) -> Vec3 {
        let ray = Ray {
            origin: point,
            direction: self.environment.sun,
        };
        let blocked = |body: &Body| {
            body.throws_shadow && body.shell.bvh.any_hit(&ray, self.grain(), f32::MAX)
        };
        if self.bodies.iter().any(blocked) {
            return Vec3::ZERO;
        }
        let mut least = 10.0 * self.grain();
        let mut wet = inside;
        let mut length = 0.0;
        let mut last = 0.0;
        for _ in 0..DEPTH {
            let Some(hit) = self.liquid.bvh.first_hit(&ray, least, f32::MAX) else {
                break;
            };
            wet = ray.direction.dot(face_normal(&self.liquid.mesh, &hit)) > 0.0;
            if wet {
                length += hit.t - last;
            }
            last = hit.t;
            least = hit.t + self.grain();
        }
        let clear = if wet || length > 0.0 { 0.92 } else { 1.0 };
        self.environment.sunlight * clear * (-self.absorption * length).exp()
    }

    /// Light leaving the ground, fading into the horizon far from the scene.
    fn ground_light(&self, point: Vec3) -> Vec3 {
        let (sun, shade) = self.lightmap.sample(point.x, point.z);
        let light = self.environment.sunlight * self.environment.sun.y * sun
            + self.environment.ambient(Vec3::Y) * shade;
        let far = (point - self.centre).length() / self.size;
        (self.ground_albedo * light).lerp(self.environment.horizon, smooth(1.2, 7.0, far))
    }
}

/// The normal of the triangle hit, outward.
fn face_normal(mesh: &Mesh, hit: &Hit) -> Vec3 {
    let corners = mesh.triangles[hit.triangle as usize];
    let [a, b, c] = corners.map(|v| Vec3::from(mesh.positions[v as usize]));
    (b - a).cross(c - a).normalize_or(Vec3::Y)
}

/// The normal of the triangle hit, and the smooth one, both outward.
pub(crate) fn normals(mesh: &Mesh, hit: &Hit) -> (Vec3, Vec3) {
    let corners = mesh.triangles[hit.triangle as usize].map(|v| v as usize);
    let face = face_normal(mesh, hit);
    let at = |k: usize| {
        let n = mesh
            .normals
            .get(corners[k])
            .map_or(face, |n| Vec3::from(*n));
        if n.dot(face) < CREASE { face } else { n }
    };
    let blend = at(0) * (1.0 - hit.u - hit.v) + at(1) * hit.u + at(2) * hit.v;
    (face, blend.normalize_or(face))
}
