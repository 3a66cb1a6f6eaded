//! What is in the domain: `[[liquid]]`, `[[source]]`, `[[drain]]`, `[[solid]]`.

use std::cell::Cell;

use plash_grid::Grid;
use plash_liquid::shape::Rotation;
use plash_liquid::{Drain, LiquidVolume, Setup, Solid, Source, Wall, Waypoint};

use super::shapes::{self, Turn};
use super::viscosity::{self, Written};
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

/// What holds for entries that do not say.
pub(crate) struct Defaults {
    pub(crate) wall: Wall,
    /// Pa·s.
    pub(crate) viscosity: f64,
    /// Whether any entry took that viscosity.
    pub(crate) viscosity_taken: Cell<bool>,
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

    /// Whether any liquid is viscous.
    pub(crate) fn any_viscous(&self) -> bool {
        let liquids = self.liquids.iter().map(|placed| placed.what.viscosity);
        let sources = self.sources.iter().map(|placed| placed.what.viscosity);
        liquids.chain(sources).any(|v| v.range()[1] > 0.0)
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

/// Reads all entries.
pub(crate) fn read<const D: usize>(
    top: &mut Fields<'_>,
    up: Up,
    defaults: &Defaults,
    sink: &Sink,
) -> Entries<D>
where
    Rotation<D>: Turn,
{
    let shape = |fields: &mut Fields<'_>, others| shapes::read(fields, others, up, sink);
    Entries {
        liquids: each(top, "liquid", |fields| {
            let velocity = velocity(fields);
            let viscosity = thickness::<D>(fields, defaults);
            let shape = shape(fields, &["velocity", "viscosity"])?;
            Some(LiquidVolume {
                viscosity: viscosity?.over(&shape)?,
                shape,
                velocity,
            })
        }),
        sources: each(top, "source", |fields| {
            let velocity = velocity(fields);
            let viscosity = thickness::<D>(fields, defaults);
            let [start, end] = window(fields);
            let path = fields.get("path").map(|item| path(&item));
            let shape = shape(fields, &["velocity", "viscosity", "start", "end", "path"])?;
            Some(Source {
                viscosity: viscosity?.over(&shape)?,
                shape,
                velocity,
                start,
                end,
                path: path.unwrap_or(Some(Vec::new()))?,
            })
        }),
        drains: each(top, "drain", |fields| {
            let [start, end] = window(fields);
            let shape = shape(fields, &["start", "end"])?;
            Some(Drain { shape, start, end })
        }),
        solids: each(top, "solid", |fields| {
            let (wall, separation_velocity) = solid_wall(fields, defaults.wall, sink);
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

fn thickness<'a, const D: usize>(
    fields: &mut Fields<'a>,
    defaults: &Defaults,
) -> Option<Written<'a>> {
    match fields.get("viscosity") {
        Some(item) => viscosity::read::<D>(&item),
        None => {
            defaults.viscosity_taken.set(true);
            Some(Written::Plain(defaults.viscosity))
        }
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

/// Reads the places that something passes on its way.
fn path<const D: usize>(item: &Item<'_>) -> Option<Vec<Waypoint<D>>> {
    let items = item.list("a list of places, [{ time = ..., offset = [...] }, ...]")?;
    if items.is_empty() {
        return item.fail("the path is empty", "give at least one place");
    }
    let example = if D == 2 { "[0.1, 0]" } else { "[0.1, 0, 0]" };
    let mut path: Vec<Waypoint<D>> = Vec::new();
    let mut complete = true;
    for item in &items {
        let Some(mut fields) = item.fields("a place, { time = ..., offset = [...] }") else {
            complete = false;
            continue;
        };
        let time = fields.require("time", "1.5");
        let offset = fields.require("offset", example).and_then(|v| v.vector());
        fields.finish();
        let last = path.last().copied();
        let next = time.and_then(|time| next_place(&time, offset?, last));
        complete &= next.is_some();
        path.extend(next);
    }
    complete.then_some(path)
}

/// A place that can be reached from the last.
fn next_place<const D: usize>(
    time: &Item<'_>,
    offset: [f64; D],
    last: Option<Waypoint<D>>,
) -> Option<Waypoint<D>> {
    let next = Waypoint {
        time: time.number()?,
        offset,
    };
    let Some(last) = last else {
        return Some(next);
    };
    let seconds = next.time - last.time;
    if seconds <= 0.0 {
        let message = format!("{} s does not come after {} s", next.time, last.time);
        return time.fail(message, "list places in the order of their times");
    }
    let way = (0..D).map(|a| (offset[a] - last.offset[a]).abs());
    if way.fold(0.0, f64::max) > MAX_SPEED * seconds {
        let message = format!("faster than {MAX_SPEED:e} m/s on the way here");
        return time.fail(message, "times are in seconds, offsets in metres");
    }
    Some(next)
}
