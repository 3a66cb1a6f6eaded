//! Shapes by signed distance: what liquids, sources, drains and solids are made of.
//!
//! A [`Shape`] answers one question, [`Shape::distance`]: how far a point is from the surface,
//! in metres, negative inside. Primitives answer exactly. Combinations answer with the usual
//! minimum and maximum, which keep the sign exact and never overestimate the distance:
//!
//! | shape | outside | inside |
//! |---|---|---|
//! | primitives, and their translations, rotations and scalings | exact | exact |
//! | `Union` of exact shapes | exact | bound |
//! | `Intersect`, `Subtract` of exact shapes | bound | exact |
//! | `Round`, `Shell` of exact shapes | exact | exact |
//!
//! *Bound* means |d(x)| ≤ the true distance. Exact or bound, every answer is 1-Lipschitz:
//! |d(x) − d(y)| ≤ |x − y|, so a marching step of |d| never crosses the surface.
//! A torus whose tube is wider than its ring (`minor > major`) and the inside of a rounded
//! shape count as bounds too: their true skeletons are not tracked.
//!
//! In two dimensions a shape is the section of its solid counterpart through the axis: a sphere
//! is a disc, a cylinder an oriented box, a torus two discs.
//!
//! ```
//! use plash_liquid::shape::Shape;
//! let bowl = Shape::Subtract(
//!     Box::new(Shape::Box { min: [0.0, 0.0, 0.0], max: [1.0, 0.5, 1.0] }),
//!     vec![Shape::Sphere { center: [0.5, 0.5, 0.5], radius: 0.4 }],
//! );
//! assert!(bowl.distance([0.5, 0.3, 0.5]) > 0.0); // in the hollow
//! assert!(bowl.distance([0.5, 0.05, 0.5]) < 0.0); // in the wall below it
//! assert_eq!(bowl.bounds(), Some([[0.0, 0.0, 0.0], [1.0, 0.5, 1.0]]));
//! ```

mod bounds;
mod ellipsoid;
mod rotation;
#[cfg(test)]
mod tests;
mod vector;

pub use rotation::Rotation;

use vector::{along, dot, length, scaled, sub, unit};

/// A region of space by its signed distance; lengths in metres.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape<const D: usize> {
    /// A ball, in 2D a disc.
    Sphere {
        /// Centre.
        center: [f64; D],
        /// Radius, positive.
        radius: f64,
    },
    /// A box along the axes.
    Box {
        /// Lowest corner.
        min: [f64; D],
        /// Highest corner, above `min` on every axis.
        max: [f64; D],
    },
    /// All points within `radius` of a segment: a cylinder with round caps.
    Capsule {
        /// One end of the segment.
        from: [f64; D],
        /// The other end.
        to: [f64; D],
        /// Radius, positive.
        radius: f64,
    },
    /// A cylinder with flat caps; in 2D an oriented box of width `2 radius`.
    Cylinder {
        /// Centre of one cap.
        from: [f64; D],
        /// Centre of the other cap.
        to: [f64; D],
        /// Radius, positive.
        radius: f64,
    },
    /// An ellipsoid along the axes, in 2D an ellipse. Its distance is found by iteration to
    /// rounding error, so it costs some ten times a sphere.
    Ellipsoid {
        /// Centre.
        center: [f64; D],
        /// Half-axes, positive.
        radii: [f64; D],
    },
    /// A ring; in 2D its section through the axis, two discs.
    Torus {
        /// Centre of the ring.
        center: [f64; D],
        /// Direction of the axis of revolution, of any length but zero.
        axis: [f64; D],
        /// From the centre to the middle of the tube.
        major: f64,
        /// Radius of the tube.
        minor: f64,
    },
    /// The half-space behind a plane: inside is where (x − point)·normal < 0.
    Plane {
        /// A point on the plane.
        point: [f64; D],
        /// Outward normal, of any length but zero.
        normal: [f64; D],
    },
    /// Inside any of the parts. The union of nothing is empty.
    Union(Vec<Shape<D>>),
    /// Inside all of the parts. The intersection of nothing is all of space.
    Intersect(Vec<Shape<D>>),
    /// Inside the first shape and outside all of the others.
    Subtract(Box<Shape<D>>, Vec<Shape<D>>),
    /// The skin of a shape: all points within `thickness / 2` of its surface, on both sides.
    Shell {
        /// The shape whose surface is kept.
        shape: Box<Shape<D>>,
        /// Thickness of the wall, positive.
        thickness: f64,
    },
    /// All points within `radius` of a shape: larger by `radius`, with rounded edges.
    Round {
        /// The shape that grows.
        shape: Box<Shape<D>>,
        /// How far it grows, positive.
        radius: f64,
    },
    /// A shape moved.
    Translate {
        /// The shape before the move.
        shape: Box<Shape<D>>,
        /// The move.
        by: [f64; D],
    },
    /// A shape turned about a point.
    Rotate {
        /// The shape before the turn.
        shape: Box<Shape<D>>,
        /// The turn.
        rotation: Rotation<D>,
        /// The point that stays where it is.
        about: [f64; D],
    },
    /// A shape scaled alike on every axis.
    Scale {
        /// The shape before scaling.
        shape: Box<Shape<D>>,
        /// The factor, positive.
        factor: f64,
        /// The point that stays where it is.
        about: [f64; D],
    },
}

impl<const D: usize> Shape<D> {
    /// Signed distance from `x` to the surface, negative inside; exact or a 1-Lipschitz bound
    /// as the table of the [module](self) says.
    pub fn distance(&self, x: [f64; D]) -> f64 {
        match self {
            Self::Sphere { center, radius } => length(sub(x, *center)) - radius,
            Self::Box { min, max } => box_distance::<D>(std::array::from_fn(|a| {
                (x[a] - 0.5 * (min[a] + max[a])).abs() - 0.5 * (max[a] - min[a])
            })),
            Self::Capsule { from, to, radius } => segment_distance(x, *from, *to) - radius,
            Self::Cylinder { from, to, radius } => cylinder_distance(x, *from, *to, *radius),
            Self::Ellipsoid { center, radii } => ellipsoid::distance(sub(x, *center), *radii),
            Self::Torus {
                center,
                axis,
                major,
                minor,
            } => {
                let [height, ring] = cylindrical(sub(x, *center), unit(*axis));
                height.hypot(ring - major) - minor
            }
            Self::Plane { point, normal } => dot(sub(x, *point), unit(*normal)),
            Self::Union(parts) => least(parts, x),
            Self::Intersect(parts) => parts
                .iter()
                .map(|part| part.distance(x))
                .fold(f64::NEG_INFINITY, f64::max),
            Self::Subtract(body, cuts) => body.distance(x).max(-least(cuts, x)),
            Self::Shell { shape, thickness } => shape.distance(x).abs() - 0.5 * thickness,
            Self::Round { shape, radius } => shape.distance(x) - radius,
            Self::Translate { shape, by } => shape.distance(sub(x, *by)),
            Self::Rotate {
                shape,
                rotation,
                about,
            } => shape.distance(along(*about, rotation.undo(sub(x, *about)), 1.0)),
            Self::Scale {
                shape,
                factor,
                about,
            } => factor * shape.distance(along(*about, sub(x, *about), factor.recip())),
        }
    }

    /// Whether `x` lies strictly inside.
    pub fn contains(&self, x: [f64; D]) -> bool {
        self.distance(x) < 0.0
    }

    /// Lowest and highest corner of a box that holds the shape, or `None` if there is no such
    /// box. Primitives are held tightly; rotated shapes may leave some room.
    pub fn bounds(&self) -> Option<[[f64; D]; 2]> {
        bounds::extent(self, 0.0).finite()
    }

    /// Where the shape begins and ends along an axis, as [`bounds`](Self::bounds) tells it, or
    /// `None` if it does not; it may be endless along others.
    ///
    /// # Panics
    /// If there is no such axis.
    pub fn bounds_along(&self, axis: usize) -> Option<[f64; 2]> {
        bounds::extent(self, 0.0).along(axis)
    }
}

fn least<const D: usize>(parts: &[Shape<D>], x: [f64; D]) -> f64 {
    parts
        .iter()
        .map(|part| part.distance(x))
        .fold(f64::INFINITY, f64::min)
}

/// Distance to a box from `excess`, how far the point lies beyond each pair of faces.
fn box_distance<const N: usize>(excess: [f64; N]) -> f64 {
    let outside = length(excess.map(|e| e.max(0.0)));
    let inside = excess.into_iter().fold(f64::NEG_INFINITY, f64::max);
    outside + inside.min(0.0)
}

fn segment_distance<const D: usize>(x: [f64; D], from: [f64; D], to: [f64; D]) -> f64 {
    let (axis, r) = (sub(to, from), sub(x, from));
    let squared = dot(axis, axis);
    // A segment too short to have a direction is a point.
    let t = if squared > 0.0 {
        (dot(r, axis) / squared).clamp(0.0, 1.0)
    } else {
        0.0
    };
    length(sub(r, scaled(axis, t)))
}

fn cylinder_distance<const D: usize>(
    x: [f64; D],
    from: [f64; D],
    to: [f64; D],
    radius: f64,
) -> f64 {
    let axis = sub(to, from);
    let middle = along(from, axis, 0.5);
    let [height, ring] = cylindrical(sub(x, middle), unit(axis));
    box_distance([height.abs() - 0.5 * length(axis), ring - radius])
}

/// Height along a unit axis and distance from it: the plane in which a solid of revolution is
/// its own section.
fn cylindrical<const D: usize>(r: [f64; D], axis: [f64; D]) -> [f64; 2] {
    let height = dot(r, axis);
    [height, length(sub(r, scaled(axis, height)))]
}
