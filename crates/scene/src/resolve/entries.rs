//! What is in the domain: `[[liquid]]`, `[[source]]`, `[[drain]]`, `[[solid]]`.

use plash_grid::Grid;
use plash_liquid::shape::Rotation;
use plash_liquid::{Drain, LiquidVolume, Setup, Solid, Source, Wall};

use super::shapes::{self, Turn};
use super::{Up, WALLS};
use crate::diagnostics::{Diagnostic, Origin};
use crate::file::reader::{Fields, Item, Sink};

/// Speeds beyond are slips of the pen, m/s.
const MAX_SPEED: f64 = 1e5;

/// An entry and where it was written.
pub(crate) struct Placed<T> {
    pub(crate) what: T,
    pub(crate) key: String,
    pub(crate) origin: Origin,
}

/// Everything in the domain.
pub(crate) struct Entries<const D: usize> {
    pub(crate) liquids: Vec<Placed<LiquidVolume<D>>>,
    pub(crate) sources: Vec<Placed<Source<D>>>,
    pub(crate) drains: Vec<Placed<Drain<D>>>,
    pub(crate) solids: Vec<Placed<Solid<D>>>,
}

impl<const D: usize> Entries<D> {
    /// Whether any solid lets liquid go.
    pub(crate) fn any_separating(&self) -> bool {
        let mut solids = self.solids.iter();
        solids.any(|placed| placed.what.wall == Wall::Separating)
    }

    pub(crate) fn into_setup(self, grid: Grid<D>) -> Setup<D> {
        fn bare<T>(placed: Vec<Placed<T>>) -> Vec<T> {
            placed.into_iter().map(|placed| placed.what).collect()
        }
        Setup {
            liquids: bare(self.liquids),
            sources: bare(self.sources),
            drains: bare(self.drains),
            solids: bare(self.solids),
            ..Setup::new(grid)
        }
    }
}

/// Reads all entries. Solids are of the kind `wall` unless they say otherwise.
pub(crate) fn read<const D: usize>(
    top: &mut Fields<'_>,
    up: Up,
    wall: Wall,
    sink: &Sink,
) -> Entries<D>
where
    Rotation<D>: Turn,
{
    let shape = |fields: &mut Fields<'_>, others| shapes::read(fields, others, up, sink);
    Entries {
        liquids: each(top, "liquid", |fields| {
            let velocity = velocity(fields);
            let shape = shape(fields, &["velocity"])?;
            Some(LiquidVolume { shape, velocity })
        }),
        sources: each(top, "source", |fields| {
            let velocity = velocity(fields);
            let [start, end] = window(fields);
            let shape = shape(fields, &["velocity", "start", "end"])?;
            Some(Source {
                shape,
                velocity,
                start,
                end,
            })
        }),
        drains: each(top, "drain", |fields| {
            let [start, end] = window(fields);
            let shape = shape(fields, &["start", "end"])?;
            Some(Drain { shape, start, end })
        }),
        solids: each(top, "solid", |fields| {
            let (wall, separation_velocity) = solid_wall(fields, wall, sink);
            let shape = shape(fields, &["walls", "separation-velocity"])?;
            Some(Solid {
                shape,
                wall,
                separation_velocity,
            })
        }),
    }
}

/// Reads the entries of one kind. A lone table (`[liquid]`) counts as a list of one.
fn each<T>(
    top: &mut Fields<'_>,
    kind: &'static str,
    mut read: impl FnMut(&mut Fields<'_>) -> Option<T>,
) -> Vec<Placed<T>> {
    let expected = format!("entries, each under its own [[{kind}]]");
    let Some(item) = top.get(kind) else {
        return Vec::new();
    };
    let items: Vec<Item<'_>> = if item.is_list() {
        item.list(&expected).unwrap_or_default()
    } else {
        vec![item]
    };
    let mut out = Vec::new();
    for item in items {
        let Some(mut fields) = item.fields(&expected) else {
            continue;
        };
        let what = read(&mut fields);
        fields.finish();
        out.extend(what.map(|what| Placed {
            what,
            key: item.key().to_owned(),
            origin: item.origin(),
        }));
    }
    out
}

fn velocity<const D: usize>(fields: &mut Fields<'_>) -> [f64; D] {
    let Some(item) = fields.get("velocity") else {
        return [0.0; D];
    };
    match item.vector::<D>() {
        Some(v) if v.iter().any(|c| c.abs() > MAX_SPEED) => item
            .fail(
                format!("faster than {MAX_SPEED:e} m/s"),
                "velocities are in m/s",
            )
            .unwrap_or([0.0; D]),
        velocity => velocity.unwrap_or([0.0; D]),
    }
}

/// Reads `walls` and `separation-velocity` of a solid.
fn solid_wall(fields: &mut Fields<'_>, default: Wall, sink: &Sink) -> (Wall, f64) {
    let wall = fields
        .get("walls")
        .and_then(|v| v.choice(&WALLS, &[]))
        .unwrap_or(default);
    let Some(item) = fields.get("separation-velocity") else {
        return (wall, 0.0);
    };
    let speed = match item.number() {
        Some(speed) if speed < 0.0 => item.fail(
            "liquid cannot be sent into a solid",
            "a separation velocity is above zero and points off the wall",
        ),
        Some(speed) if speed > MAX_SPEED => item.fail(
            format!("faster than {MAX_SPEED:e} m/s"),
            "velocities are in m/s",
        ),
        speed => speed,
    };
    if wall == Wall::Slip {
        let message = "has no effect: only separating walls use it";
        sink.push(Diagnostic::warning(item.key_origin(), item.key(), message));
        return (wall, 0.0);
    }
    (wall, speed.unwrap_or(0.0))
}

/// Reads `start` and `end`, in seconds.
fn window(fields: &mut Fields<'_>) -> [f64; 2] {
    let start = fields
        .get("start")
        .and_then(|v| v.non_negative())
        .unwrap_or(0.0);
    let Some(item) = fields.get("end") else {
        return [start, f64::INFINITY];
    };
    let end = item.number().unwrap_or(f64::INFINITY);
    if end <= start {
        let message = format!("ends at {end} s, but starts at {start} s");
        let _: Option<()> = item.fail(message, "`end` must come after `start`");
    }
    [start, end]
}
