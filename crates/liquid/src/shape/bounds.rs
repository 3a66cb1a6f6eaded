//! Boxes that hold a shape.

use super::{
    Shape,
    rotation::Rotation,
    vector::{along, sub, unit},
};

/// A box whose faces may lie at infinity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent<const D: usize> {
    min: [f64; D],
    max: [f64; D],
}

impl<const D: usize> Extent<D> {
    const ALL: Self = Self {
        min: [f64::NEG_INFINITY; D],
        max: [f64::INFINITY; D],
    };
    const NONE: Self = Self {
        min: [f64::INFINITY; D],
        max: [f64::NEG_INFINITY; D],
    };

    /// The corners, if no face lies at infinity. A box of nothing is shrunk to a point.
    pub(super) fn finite(self) -> Option<[[f64; D]; 2]> {
        let (mut min, mut max) = (self.min, self.max);
        for a in 0..D {
            [min[a], max[a]] = self.along(a)?;
        }
        Some([min, max])
    }

    /// The same along one axis, whatever the others do.
    pub(super) fn along(self, axis: usize) -> Option<[f64; 2]> {
        let ends = [self.min[axis], self.max[axis]];
        let empty = (0..D).any(|a| self.min[a] > self.max[a]);
        if empty {
            let some = ends.into_iter().find(|v| v.is_finite());
            return Some([some.unwrap_or(0.0); 2]);
        }
        ends.iter().all(|v| v.is_finite()).then_some(ends)
    }

    fn around(center: [f64; D], reach: [f64; D]) -> Self {
        Self {
            min: along(center, reach, -1.0),
            max: along(center, reach, 1.0),
        }
    }

    fn grown(self, by: f64) -> Self {
        Self {
            min: self.min.map(|v| v - by),
            max: self.max.map(|v| v + by),
        }
    }

    fn union(self, other: Self) -> Self {
        Self {
            min: std::array::from_fn(|a| self.min[a].min(other.min[a])),
            max: std::array::from_fn(|a| self.max[a].max(other.max[a])),
        }
    }

    fn intersect(self, other: Self) -> Self {
        Self {
            min: std::array::from_fn(|a| self.min[a].max(other.min[a])),
            max: std::array::from_fn(|a| self.max[a].min(other.max[a])),
        }
    }

    fn mapped(self, map: impl Fn(usize, f64) -> f64) -> Self {
        Self {
            min: std::array::from_fn(|a| map(a, self.min[a])),
            max: std::array::from_fn(|a| map(a, self.max[a])),
        }
    }

    /// The box around the turned box. Exact in interval arithmetic: each entry of the matrix
    /// picks the face that takes it lower or higher.
    fn rotated(self, rotation: &Rotation<D>, about: [f64; D]) -> Self {
        let mut out = Self {
            min: about,
            max: about,
        };
        for (a, row) in rotation.rows().iter().enumerate() {
            for (b, &entry) in row.iter().enumerate() {
                // 0 · ∞ is not a number, but an axis that does not enter adds nothing.
                if entry != 0.0 {
                    let ends = [self.min[b], self.max[b]].map(|v| entry * (v - about[b]));
                    out.min[a] += ends[0].min(ends[1]);
                    out.max[a] += ends[0].max(ends[1]);
                }
            }
        }
        out
    }
}

/// How far a disc of unit radius, square to a unit axis, reaches along each coordinate axis.
fn disc_reach<const D: usize>(axis: [f64; D]) -> [f64; D] {
    axis.map(|a| (1.0 - a * a).max(0.0).sqrt())
}

/// A box around all points with `distance < grow`.
///
/// Growth is handed down to the primitives rather than added to the finished box: where a
/// combination only bounds the distance, its level sets reach further than `grow` from it.
pub(super) fn extent<const D: usize>(shape: &Shape<D>, grow: f64) -> Extent<D> {
    let of = |inner: &Shape<D>| extent(inner, grow);
    match shape {
        Shape::Union(parts) => parts.iter().map(of).fold(Extent::NONE, Extent::union),
        Shape::Intersect(parts) => parts.iter().map(of).fold(Extent::ALL, Extent::intersect),
        Shape::Subtract(body, _) => of(body),
        Shape::Shell { shape, thickness } => extent(shape, grow + 0.5 * thickness),
        Shape::Round { shape, radius } => extent(shape, grow + radius),
        Shape::Translate { shape, by } => of(shape).mapped(|a, v| v + by[a]),
        Shape::Rotate {
            shape,
            rotation,
            about,
        } => of(shape).rotated(rotation, *about),
        Shape::Scale {
            shape,
            factor,
            about,
        } => extent(shape, grow / factor).mapped(|a, v| about[a] + factor * (v - about[a])),
        primitive => primitive_extent(primitive).grown(grow),
    }
}

/// The tight box around a primitive; all of space for anything else.
fn primitive_extent<const D: usize>(shape: &Shape<D>) -> Extent<D> {
    match shape {
        Shape::Sphere { center, radius } => Extent::around(*center, [*radius; D]),
        Shape::Box { min, max } => Extent {
            min: *min,
            max: *max,
        },
        Shape::Capsule { from, to, radius } => {
            Extent::around(*from, [*radius; D]).union(Extent::around(*to, [*radius; D]))
        }
        Shape::Cylinder { from, to, radius } => {
            let reach = disc_reach(unit(sub(*to, *from))).map(|v| v * radius);
            Extent::around(*from, reach).union(Extent::around(*to, reach))
        }
        Shape::Ellipsoid { center, radii } => Extent::around(*center, *radii),
        Shape::Torus {
            center,
            axis,
            major,
            minor,
        } => Extent::around(*center, disc_reach(unit(*axis)).map(|v| v * major + minor)),
        Shape::Plane { point, normal } => half_space(*point, unit(*normal)),
        _ => Extent::ALL,
    }
}

/// All of space, save that a plane square to an axis bounds that axis.
fn half_space<const D: usize>(point: [f64; D], normal: [f64; D]) -> Extent<D> {
    let mut all = Extent::ALL;
    for a in 0..D {
        if normal[a] == 1.0 {
            all.max[a] = point[a];
        } else if normal[a] == -1.0 {
            all.min[a] = point[a];
        }
    }
    all
}
