//! What is in the domain: `[[liquid]]`, `[[source]]`, `[[drain]]`, `[[solid]]`.

use plash_grid::Grid;
use plash_liquid::shape::Rotation;
use plash_liquid::{Drain, LiquidVolume, Setup, Solid, Source};

use super::Up;
use super::shapes::{self, Turn};
use crate::diagnostics::Origin;
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
pub(crate) fn read<const D: usize>(top: &mut Fields<'_>, up: Up, sink: &Sink) -> Entries<D>
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
            let shape = shape(fields, &[])?;
            Some(Solid { shape })
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
