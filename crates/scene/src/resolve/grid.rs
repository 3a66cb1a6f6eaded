//! The domain: its cells and its sides.

use plash_grid::Grid;
use plash_liquid::{DomainSide, Wall};

use crate::diagnostics::{Diagnostic, Origin};
use crate::file::reader::{Fields, Item, Sink, readable};

/// Cells along the longest side: fewer show nothing, more fit no machine.
const RESOLUTIONS: std::ops::RangeInclusive<u64> = 4..=65_536;

/// Edges of the domain, in metres, that keep all arithmetic far from over- and underflow.
const SIZES: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// Names of the sides, by axis, low before high.
const SIDES: [[&str; 2]; 3] = [["-x", "+x"], ["-y", "+y"], ["-z", "+z"]];

/// The cells of a scene, before anything is made of their size.
#[derive(Clone, Debug)]
pub(crate) struct Domain<const D: usize> {
    pub(crate) cells: [u64; D],
    pub(crate) dx: f64,
    pub(crate) origin: [f64; D],
    pub(crate) resolution: u64,
    pub(crate) origin_of_resolution: Origin,
}

impl<const D: usize> Domain<D> {
    pub(crate) fn end(&self) -> [f64; D] {
        std::array::from_fn(|a| self.origin[a] + self.dx * self.cells[a] as f64)
    }

    /// The grid, or why there can be none.
    pub(crate) fn build(&self) -> Result<Grid<D>, String> {
        let mut cells = [0; D];
        for (cells, wanted) in cells.iter_mut().zip(self.cells) {
            *cells = usize::try_from(wanted).map_err(|error| error.to_string())?;
        }
        Grid::new(cells, self.dx, self.origin).map_err(|error| error.to_string())
    }
}

/// Reads `size`, `origin` and `resolution`.
pub(crate) fn read<const D: usize>(top: &mut Fields<'_>, sink: &Sink) -> Option<Domain<D>> {
    let example = if D == 2 { "[1, 1]" } else { "[1, 1, 1]" };
    let size_item = top.require("size", example);
    let size = size_item.as_ref().and_then(size::<D>);
    let origin = top
        .get("origin")
        .map_or(Some([0.0; D]), |item| near_origin(&item));
    let item = top.get("resolution");
    let resolution = match &item {
        Some(item) => item.whole(RESOLUTIONS),
        None => Some(64),
    };
    let origin_of_resolution = item.map_or(Origin::Whole, |item| item.origin());
    let (size_item, size, origin, resolution) = (size_item?, size?, origin?, resolution?);

    let longest = size.iter().fold(0.0_f64, |m, s| m.max(*s));
    let dx = longest / resolution as f64;
    // At most `resolution`, so the conversion is exact.
    let cells = size.map(|s| (s / dx).round() as u64);
    if let Some(a) = (0..D).find(|&a| cells[a] < 2) {
        let axis = ["x", "y", "z"][a];
        let message = format!("the domain is less than two cells wide along {axis}");
        let needed = (2.0 * longest / size[a]).ceil();
        return size_item.fail(message, format!("raise `resolution` to {needed} or more"));
    }
    warn_if_rounded(&size_item, size, cells, dx, sink);
    Some(Domain {
        cells,
        dx,
        origin,
        resolution,
        origin_of_resolution,
    })
}

fn size<const D: usize>(item: &Item<'_>) -> Option<[f64; D]> {
    let size = item.vector::<D>()?;
    if let Some(bad) = size.iter().find(|s| **s <= 0.0) {
        return item.fail(
            format!("a side of {} m is not above zero", readable(*bad)),
            "sizes are positive",
        );
    }
    if let Some(bad) = size.iter().find(|s| !SIZES.contains(s)) {
        let help = format!("use {:e} to {:e} m", SIZES.start(), SIZES.end());
        return item.fail(format!("a side of {bad:e} m is out of range"), help);
    }
    Some(size)
}

fn near_origin<const D: usize>(item: &Item<'_>) -> Option<[f64; D]> {
    let origin = item.vector::<D>()?;
    if origin.iter().any(|c| c.abs() > *SIZES.end()) {
        let help = format!("stay within {:e} m of zero", SIZES.end());
        return item.fail("the domain is too far away", help);
    }
    Some(origin)
}

/// Cells are cubes: a side that is no whole number of them is rounded, and the user told.
fn warn_if_rounded<const D: usize>(
    item: &Item<'_>,
    size: [f64; D],
    cells: [u64; D],
    dx: f64,
    sink: &Sink,
) {
    let fitting: [f64; D] = std::array::from_fn(|a| {
        let whole = cells[a] as f64 * dx;
        if (whole - size[a]).abs() <= 1e-6 * dx {
            size[a]
        } else {
            whole
        }
    });
    if fitting == size {
        return;
    }
    // Nine digits are plenty for a length, and read better than seventeen.
    let shown: Vec<String> = fitting
        .iter()
        .map(|s| {
            format!("{:.9}", s)
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_owned()
        })
        .collect();
    let message = format!(
        "not a whole number of cells on every side: {} m is simulated",
        shown.join(" × ")
    );
    let help = format!(
        "write `size = [{}]`, or change `resolution`",
        shown.join(", ")
    );
    sink.push(Diagnostic::warning(item.origin(), item.key(), message).help(help));
}

/// Reads which sides are open and what kind of walls the others are: all as `wall` says but
/// those listed in `slip`.
pub(crate) fn sides<const D: usize>(
    top: &mut Fields<'_>,
    wall: Wall,
    sink: &Sink,
) -> ([[DomainSide; 2]; D], [[Wall; 2]; D]) {
    let mut sides = [[DomainSide::Closed; 2]; D];
    for (_, [axis, end]) in listed::<D>(top, "open") {
        sides[axis][end] = DomainSide::Open;
    }
    let mut walls = [[wall; 2]; D];
    for (item, [axis, end]) in listed::<D>(top, "slip") {
        walls[axis][end] = Wall::Slip;
        if sides[axis][end] == DomainSide::Open {
            let message = "has no effect: the side is open";
            sink.push(Diagnostic::warning(item.origin(), item.key(), message));
        }
    }
    (sides, walls)
}

/// Whether any wall of the domain lets liquid go.
pub(crate) fn any_separating<const D: usize>(
    sides: &[[DomainSide; 2]; D],
    walls: &[[Wall; 2]; D],
) -> bool {
    let pairs = sides.iter().flatten().zip(walls.iter().flatten());
    pairs
        .into_iter()
        .any(|pair| pair == (&DomainSide::Closed, &Wall::Separating))
}

/// The sides that a key names, one or a list: axis, and 0 for the low or 1 for the high end.
fn listed<'a, const D: usize>(
    top: &mut Fields<'a>,
    key: &'static str,
) -> Vec<(Item<'a>, [usize; 2])> {
    let names: Vec<(&str, [usize; 2])> = (0..D)
        .flat_map(|a| [(SIDES[a][0], [a, 0]), (SIDES[a][1], [a, 1])])
        .collect();
    let items = match top.get(key) {
        Some(item) if item.is_list() => item.list("a list of sides").unwrap_or_default(),
        item => item.into_iter().collect(),
    };
    items
        .into_iter()
        .filter_map(|item| {
            let side = item.choice(&names, &[])?;
            Some((item, side))
        })
        .collect()
}
