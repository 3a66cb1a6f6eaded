//! Shapes as written: exactly one shape key per table.

use plash_liquid::shape::{Rotation, Shape};

use super::Up;
use crate::diagnostics::{Diagnostic, Origin};
use crate::file::reader::{Fields, Item, Sink, readable};
use crate::schema::{self, SHAPES};

/// A rotation as a scene in its dimension writes it.
pub(crate) trait Turn: Sized {
    /// Reads `angle`, and in 3D `axis`.
    fn read(fields: &mut Fields<'_>, up: Up) -> Option<Self>;
}

impl Turn for Rotation<2> {
    fn read(fields: &mut Fields<'_>, _: Up) -> Option<Self> {
        let angle = fields.require("angle", "30")?.number()?;
        Some(Self::degrees(angle))
    }
}

impl Turn for Rotation<3> {
    fn read(fields: &mut Fields<'_>, up: Up) -> Option<Self> {
        let angle = fields.require("angle", "30").and_then(|v| v.number());
        let axis = match fields.get("axis") {
            Some(item) => item.direction(),
            None => Some(up.vector()),
        };
        Some(Self::axis_degrees(axis?, angle?))
    }
}

/// Reads the one shape of a table that may also have `others` as keys.
pub(crate) fn read<const D: usize>(
    fields: &mut Fields<'_>,
    others: &[&str],
    up: Up,
    sink: &Sink,
) -> Option<Shape<D>>
where
    Rotation<D>: Turn,
{
    let found: Vec<(&str, Item<'_>)> = SHAPES
        .iter()
        .filter_map(|name| fields.get(name).map(|item| (*name, item)))
        .collect();
    match found.as_slice() {
        [(name, item)] => one(name, item, up, sink),
        [] => {
            no_shape(fields, others, sink);
            None
        }
        [_, (_, second), ..] => {
            let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
            let message = format!("two shapes in one entry: {}", schema::quoted_list(&names))
                .replace(" or ", " and ");
            let (key, origin) = (second.key(), second.key_origin());
            sink.push(
                Diagnostic::error(origin, key, message)
                    .help("give each its own entry, or combine them: union = [{ ... }, { ... }]"),
            );
            None
        }
    }
}

/// Reports that there is no shape, unless an unknown key will be reported, which is then most
/// likely the misspelt shape.
fn no_shape(fields: &Fields<'_>, others: &[&str], sink: &Sink) {
    if fields.keys().any(|(key, _)| !others.contains(&key)) {
        return;
    }
    let place = match fields.path() {
        "" => "the table",
        path => path,
    };
    let message = format!("`{place}` has no shape");
    let help = format!("give it one of {}", schema::quoted_list(&SHAPES));
    sink.push(Diagnostic::error(fields.origin(), fields.path(), message).help(help));
}

/// Reads a shape by its name.
fn one<const D: usize>(name: &str, item: &Item<'_>, up: Up, sink: &Sink) -> Option<Shape<D>>
where
    Rotation<D>: Turn,
{
    match name {
        "union" => many(item, up, sink).map(Shape::Union),
        "intersect" => many(item, up, sink).map(Shape::Intersect),
        "subtract" => {
            let mut parts = many(item, up, sink)?;
            let first = parts.remove(0);
            Some(Shape::Subtract(Box::new(first), parts))
        }
        _ => {
            let mut fields = item.fields(&format!("a table, {}", example(name)))?;
            let shape = match name {
                "shell" | "round" | "translate" | "rotate" | "scale" => {
                    modified(name, &mut fields, up, sink)
                }
                _ => primitive(name, &mut fields, up, sink),
            };
            fields.finish();
            shape
        }
    }
}

fn example(name: &str) -> &'static str {
    match name {
        "sphere" => "{ center = [...], radius = ... }",
        "box" => "{ min = [...], max = [...] }",
        "capsule" | "cylinder" => "{ from = [...], to = [...], radius = ... }",
        "ellipsoid" => "{ center = [...], radii = [...] }",
        "torus" => "{ center = [...], major = ..., minor = ... }",
        "plane" => "{ point = [...], normal = [...] }",
        "shell" => "{ thickness = ..., shape = { ... } }",
        "round" => "{ radius = ..., shape = { ... } }",
        "translate" => "{ by = [...], shape = { ... } }",
        "rotate" => "{ angle = ..., shape = { ... } }",
        _ => "{ factor = ..., shape = { ... } }",
    }
}

/// Reads the list of a combination: one part at least.
fn many<const D: usize>(item: &Item<'_>, up: Up, sink: &Sink) -> Option<Vec<Shape<D>>>
where
    Rotation<D>: Turn,
{
    let items = item.list("a list of shapes, [{ ... }, { ... }]")?;
    if items.is_empty() {
        return item.fail("the list of shapes is empty", "give at least one shape");
    }
    let parts: Vec<Option<Shape<D>>> = items
        .iter()
        .map(|item| {
            let mut fields = item.fields("a shape, { sphere = { ... } }")?;
            let shape = read(&mut fields, &[], up, sink);
            fields.finish();
            shape
        })
        .collect();
    parts.into_iter().collect()
}

fn primitive<const D: usize>(
    name: &str,
    fields: &mut Fields<'_>,
    up: Up,
    sink: &Sink,
) -> Option<Shape<D>> {
    let point = if D == 2 {
        "[0.5, 0.5]"
    } else {
        "[0.5, 0.5, 0.5]"
    };
    let vector = |fields: &mut Fields<'_>, key| fields.require(key, point)?.vector::<D>();
    let length = |fields: &mut Fields<'_>, key| fields.require(key, "0.1")?.positive();
    let direction = |fields: &mut Fields<'_>, key| match fields.get(key) {
        Some(item) => item.direction::<D>(),
        None => Some(up.vector()),
    };
    // Every field is read before any `?`, so that every error is found.
    match name {
        "sphere" => {
            let (center, radius) = (vector(fields, "center"), length(fields, "radius"));
            Some(Shape::Sphere {
                center: center?,
                radius: radius?,
            })
        }
        "box" => cuboid(fields, sink),
        "capsule" | "cylinder" => {
            let (from, to) = (vector(fields, "from"), vector(fields, "to"));
            let radius = length(fields, "radius");
            let (from, to, radius) = (from?, to?, radius?);
            if name == "capsule" {
                return Some(Shape::Capsule { from, to, radius });
            }
            let span = (0..D).map(|a| (to[a] - from[a]).abs()).fold(0.0, f64::max);
            if span < 1e-12 {
                let message = "`from` and `to` are the same point";
                let help = "a cylinder needs a length";
                let diagnostic = Diagnostic::error(fields.origin(), fields.path(), message);
                sink.push(diagnostic.help(help));
                return None;
            }
            Some(Shape::Cylinder { from, to, radius })
        }
        "ellipsoid" => {
            let center = vector(fields, "center");
            let radii = fields.require("radii", point).and_then(|v| half_axes(&v));
            Some(Shape::Ellipsoid {
                center: center?,
                radii: radii?,
            })
        }
        "torus" => {
            let (center, axis) = (vector(fields, "center"), direction(fields, "axis"));
            let (major, minor) = (length(fields, "major"), length(fields, "minor"));
            Some(Shape::Torus {
                center: center?,
                axis: axis?,
                major: major?,
                minor: minor?,
            })
        }
        _ => {
            let (point, normal) = (vector(fields, "point"), direction(fields, "normal"));
            Some(Shape::Plane {
                point: point?,
                normal: normal?,
            })
        }
    }
}

/// Half-axes of an ellipsoid: positive, and not so unlike that a needle would be meant.
fn half_axes<const D: usize>(item: &Item<'_>) -> Option<[f64; D]> {
    let radii = item.vector::<D>()?;
    if let Some(bad) = radii.iter().find(|r| **r < 1e-12) {
        let message = format!("{} is not above zero", readable(*bad));
        return item.fail(message, "half-axes are positive");
    }
    Some(radii)
}

/// A box by two corners, or by its centre and size.
fn cuboid<const D: usize>(fields: &mut Fields<'_>, sink: &Sink) -> Option<Shape<D>> {
    let by_center = fields.get("center").is_some() || fields.get("size").is_some();
    let by_corner = fields.get("min").is_some() || fields.get("max").is_some();
    if by_center && by_corner {
        let message = "a box is given by `min` and `max` or by `center` and `size`, not both";
        let diagnostic = Diagnostic::error(fields.origin(), fields.path(), message);
        sink.push(diagnostic.help("leave out one pair"));
        return None;
    }
    let (first, second) = if by_center {
        ("center", "size")
    } else {
        ("min", "max")
    };
    let low = if D == 2 { "[0, 0]" } else { "[0, 0, 0]" };
    let high = if D == 2 { "[1, 1]" } else { "[1, 1, 1]" };
    let first = fields.require(first, low).and_then(|v| v.vector::<D>());
    let item = fields.require(second, high);
    let (item, second) = (item.as_ref(), item.as_ref().and_then(|v| v.vector::<D>()));
    let (item, a, b) = (item?, first?, second?);
    let (min, max): ([f64; D], [f64; D]) = if by_center {
        (
            std::array::from_fn(|i| a[i] - 0.5 * b[i]),
            std::array::from_fn(|i| a[i] + 0.5 * b[i]),
        )
    } else {
        (a, b)
    };
    if let Some(i) = (0..D).find(|&i| max[i] - min[i] < 1e-12) {
        let axis = ["x", "y", "z"][i];
        let (message, help) = if by_center {
            let size = readable(b[i]);
            let message = format!("the box is empty: {size} along {axis} is not above zero");
            (message, "sizes are positive".to_owned())
        } else {
            let message = format!(
                "the box is empty: along {axis}, max {} is not above min {}",
                b[i], a[i]
            );
            (
                message,
                "`max` must be above `min` on every axis".to_owned(),
            )
        };
        return item.fail(message, help);
    }
    Some(Shape::Box { min, max })
}

/// Reads a shape made from one other shape.
fn modified<const D: usize>(
    name: &str,
    fields: &mut Fields<'_>,
    up: Up,
    sink: &Sink,
) -> Option<Shape<D>>
where
    Rotation<D>: Turn,
{
    let inner = fields
        .require("shape", "{ sphere = { ... } }")
        .and_then(|item| {
            let mut inner = item.fields("a shape, { sphere = { ... } }")?;
            let shape = read(&mut inner, &[], up, sink);
            inner.finish();
            shape.map(Box::new)
        });
    match name {
        "shell" => {
            let thickness = fields
                .require("thickness", "0.05")
                .and_then(|v| v.positive());
            Some(Shape::Shell {
                shape: inner?,
                thickness: thickness?,
            })
        }
        "round" => {
            let radius = fields.require("radius", "0.05").and_then(|v| v.positive());
            Some(Shape::Round {
                shape: inner?,
                radius: radius?,
            })
        }
        "translate" => {
            let example = if D == 2 { "[0.1, 0]" } else { "[0.1, 0, 0]" };
            let by = fields.require("by", example).and_then(|v| v.vector());
            Some(Shape::Translate {
                shape: inner?,
                by: by?,
            })
        }
        "rotate" => {
            let rotation = Rotation::<D>::read(fields, up);
            let about = about(fields, inner.as_deref(), sink);
            Some(Shape::Rotate {
                shape: inner?,
                rotation: rotation?,
                about: about?,
            })
        }
        _ => {
            let factor = fields
                .require("factor", "2")
                .and_then(|v| v.number_in(1e-6..=1e6));
            let about = about(fields, inner.as_deref(), sink);
            Some(Shape::Scale {
                shape: inner?,
                factor: factor?,
                about: about?,
            })
        }
    }
}

/// The fixed point of a turn or scaling: as given, or the middle of the shape's bounds.
fn about<const D: usize>(
    fields: &mut Fields<'_>,
    inner: Option<&Shape<D>>,
    sink: &Sink,
) -> Option<[f64; D]> {
    if let Some(item) = fields.get("about") {
        return item.vector();
    }
    let bounds = inner?.bounds();
    if bounds.is_none() {
        let origin: Origin = fields.origin();
        let message = "the shape has no end, so it has no middle to turn or scale about";
        let diagnostic = Diagnostic::error(origin, fields.path(), message);
        sink.push(diagnostic.help("say where: `about = [...]`"));
    }
    let [min, max] = bounds?;
    Some(std::array::from_fn(|a| 0.5 * (min[a] + max[a])))
}
