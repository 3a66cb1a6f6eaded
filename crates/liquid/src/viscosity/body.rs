//! The liquid as the viscous solver sees it.

use std::ops::Range;

use plash_grid::{Axis, Cell, Face, Grid, Row, Side};
use plash_solve::staggered::{Body, Fill};

use super::Marks;
use super::cells::CellViscosity;
use super::fractions::{AROUND, octants};
use super::wet::Wet;
use crate::pressure::Domain;

/// Less than this share of an octant is nothing. Faces that only such slivers touch weigh next to
/// nothing and are tied to the rest by one sample or two: they can slide at hardly any energy,
/// which no smoother but the box sees, and would double the iterations where liquid is torn.
const LEAST_SHARE: f32 = 0.01;

/// Where there are no solids, they are so many cells away.
const FAR: f64 = 1e3;

/// The stiffness `κ = μ Δt / (ρ Δx²)` of the liquid.
#[derive(Clone, Copy)]
pub(super) enum Stiffness<'a, const D: usize> {
    /// The same everywhere.
    Uniform(f64),
    /// By cell.
    Varied {
        /// `μ`.
        viscosity: &'a CellViscosity<D>,
        /// `Δt / (ρ Δx²)`.
        scale: f64,
    },
}

/// Liquid below `φ`, which is to be extended into solids: where liquid touches a wall there must
/// be no gap in between. Cells that are far from all runs must have a `φ` above zero.
pub(super) struct LiquidBody<'a, const D: usize> {
    pub(super) domain: &'a Domain<'a, D>,
    pub(super) stiffness: Stiffness<'a, D>,
    pub(super) marks: Marks<'a, D>,
    wet: Wet<D>,
}

impl<'a, const D: usize> LiquidBody<'a, D> {
    /// The liquid of a domain.
    pub(super) fn new(
        domain: &'a Domain<'a, D>,
        stiffness: Stiffness<'a, D>,
        marks: Marks<'a, D>,
    ) -> Self {
        LiquidBody {
            domain,
            stiffness,
            marks,
            wet: Wet::new(domain.grid, domain.runs, domain.phi),
        }
    }

    fn index(&self, cell: [i32; D]) -> usize {
        self.domain.grid.layout().index(cell)
    }

    /// Whether a face is held by an obstacle, a side of the domain or a source, or lies beyond a side.
    pub(super) fn is_held(&self, axis: usize, face: [i32; D]) -> bool {
        self.is_walled(axis, face) || self.domain.is_driven(axis, self.index(face))
    }

    /// The same without sources.
    pub(super) fn is_walled(&self, axis: usize, face: [i32; D]) -> bool {
        let cells = self.domain.grid.cells();
        let beyond = (0..D).any(|a| {
            let last = cells[a] as i32 - i32::from(a != axis);
            face[a] < 0 || face[a] > last
        });
        beyond
            || self.closed_side(axis, face)
            || self.is_near_solid(on_grid(self.domain.grid, face))
                && self.distance_to_solids(axis, face) <= 0.0
    }

    /// Whether gravity pulls what is in a cell away from a closed side of the domain beside it.
    fn is_under_side(&self, cell: [i32; D]) -> bool {
        let (cells, gravity) = (self.domain.grid.cells(), self.marks.gravity);
        (0..D).any(|a| {
            let is_low = cell[a] == 0 && !self.is_open(a, 0);
            let is_high = cell[a] == cells[a] as i32 - 1 && !self.is_open(a, 1);
            (is_low && gravity[a] > 0.0) || (is_high && gravity[a] < 0.0)
        })
    }

    /// Whether a source that drives liquid is less than two cells away.
    fn is_beside_nozzle(&self, cell: [i32; D]) -> bool {
        self.domain
            .driven
            .is_some_and(|driven| driven.is_beside(cell))
    }

    /// Whether a solid may be within two cells of a cell.
    fn is_near_solid(&self, cell: [i32; D]) -> bool {
        // A distance changes by no more than the way, which from any point of a cell to its low node
        // is a diagonal at most.
        let reach = (2.0 + (D as f64).sqrt()) * self.domain.grid.dx();
        let solids = self.domain.solids;
        solids.has_obstacles() && solids.phi().as_slice()[self.index(cell)] < reach
    }

    /// Distance from the middle of a face to the nearest solid, in cells.
    fn distance_to_solids(&self, axis: usize, face: [i32; D]) -> f64 {
        let phi = self.domain.solids.phi().as_slice();
        let strides = self.domain.grid.layout().strides();
        // The nodes of a face, which is asked for often.
        let first = self.index(face);
        let mut across = strides.into_iter().enumerate().filter(|(a, _)| *a != axis);
        let [b, c] = [(); 2].map(|()| across.next().map_or(0, |(_, stride)| stride));
        let sum = if D == 2 {
            phi[first] + phi[first + b]
        } else {
            (phi[first] + phi[first + b]) + (phi[first + c] + phi[first + b + c])
        };
        sum / ((1 << (D - 1)) as f64 * self.domain.grid.dx())
    }

    /// Whether a face is part of a closed side of the domain.
    fn closed_side(&self, axis: usize, face: [i32; D]) -> bool {
        let last = self.domain.grid.cells()[axis] as i32;
        (face[axis] == 0 && !self.is_open(axis, 0))
            || (face[axis] == last && !self.is_open(axis, 1))
    }
}

impl<const D: usize> Body<D> for LiquidBody<'_, D> {
    fn cells(&self) -> [usize; D] {
        self.domain.grid.cells()
    }

    fn bounds(&self) -> [[i32; D]; 2] {
        self.domain.runs.bounds()
    }

    fn row(&self, cell: [i32; D]) -> Range<i32> {
        let row = Row { at: cell, start: 0 };
        let runs = self.domain.runs.in_row(row);
        match (runs.first(), runs.last()) {
            (Some(first), Some(last)) => first.start as i32..last.end as i32,
            _ => 0..0,
        }
    }

    fn fill(&self, cell: [i32; D]) -> Fill {
        if let Some(is_full) = self.wet.is_full(cell) {
            return if is_full { Fill::Full } else { Fill::Empty };
        }
        let phi = self.domain.phi.as_slice();
        let around = indices_around(self.domain.grid, cell);
        let around = &around[..3usize.pow(D as u32)];
        let mut values = [0.0; AROUND];
        for (value, &index) in values.iter_mut().zip(around) {
            *value = phi[index];
        }
        let shares = octants::<D>(values).map(snapped);
        let shares = &shares[..1 << D];
        if shares.iter().all(|&s| s <= 0.0) {
            Fill::Empty
        } else if shares.iter().all(|&s| s >= 1.0) {
            Fill::Full
        } else {
            let mut part = [0.0; 8];
            part[..1 << D].copy_from_slice(shares);
            Fill::Part(part)
        }
    }

    fn uniform_stiffness(&self) -> Option<f64> {
        match self.stiffness {
            Stiffness::Uniform(value) => Some(value),
            Stiffness::Varied { .. } => None,
        }
    }

    fn stiffness(&self, cell: [i32; D]) -> f64 {
        match self.stiffness {
            Stiffness::Uniform(value) => value,
            Stiffness::Varied { viscosity, scale } => scale * viscosity.at(self.index(cell)),
        }
    }

    fn is_open(&self, axis: usize, side: usize) -> bool {
        self.domain.solids.is_open(Axis(axis), Side::BOTH[side])
    }

    fn is_near_obstacle(&self, cell: [i32; D]) -> bool {
        self.is_near_solid(cell) || self.is_beside_nozzle(cell)
    }

    fn distance(&self, axis: usize, face: [i32; D]) -> f64 {
        // A face that a source drives is held where it is.
        if self.domain.is_driven(axis, self.index(face)) {
            return 0.0;
        }
        match self.domain.solids.has_obstacles() {
            true => self.distance_to_solids(axis, face),
            false => FAR,
        }
    }

    fn lets_go(&self, cell: [i32; D]) -> bool {
        let separated = self.marks.separated.as_slice();
        let index = self.index(cell);
        if self.domain.phi.as_slice()[index] < 0.0 {
            return separated[index] != 0;
        }
        // The rim of what hangs from a side of the domain has its middle in the air and so no pressure of
        // its own: it goes with what touches the wall beside it. Held, stiff liquid would hang by its
        // corners. What lies on a floor stays there by its weight, what leaves a nozzle by that.
        let around = indices_around(self.domain.grid, cell);
        let around = &around[..3usize.pow(D as u32)];
        let (phi, solids) = (self.domain.phi.as_slice(), self.domain.solids);
        let touches = |at: usize| phi[at] < 0.0 && solids.wall_at_cell(at).is_some();
        let mut beside = around.iter().filter(|&&at| touches(at)).peekable();
        self.is_under_side(cell)
            && !self.is_beside_nozzle(cell)
            && beside.peek().is_some()
            && beside.all(|&at| separated[at] != 0)
    }
}

/// A share, and none at all below the least.
fn snapped(share: f32) -> f32 {
    if share < LEAST_SHARE { 0.0 } else { share }
}

/// The nearest cell of the grid.
fn on_grid<const D: usize>(grid: &Grid<D>, at: [i32; D]) -> [i32; D] {
    std::array::from_fn(|a| at[a].clamp(0, grid.cells()[a] as i32 - 1))
}

/// Memory indices of the `3^D` cells around a cell, x fastest. Beyond a side of the domain the
/// liquid goes on as if mirrored.
#[inline]
fn indices_around<const D: usize>(grid: &Grid<D>, cell: [i32; D]) -> [usize; AROUND] {
    let strides = grid.layout().strides();
    let center = grid.layout().index(cell);
    let mut shifts = [[0isize; 3]; 3];
    for a in 0..D {
        let stride = strides[a] as isize;
        let last = grid.cells()[a] as i32 - 1;
        shifts[a] = [
            if cell[a] > 0 { -stride } else { 0 },
            0,
            if cell[a] < last { stride } else { 0 },
        ];
    }
    let mut indices = [center; AROUND];
    for (n, index) in indices.iter_mut().enumerate().take(3usize.pow(D as u32)) {
        let shift = shifts[0][n % 3] + shifts[1][n / 3 % 3] + shifts[2][n / 9];
        *index = index.wrapping_add_signed(shift);
    }
    indices
}

/// The cells on both sides of a face that lie on the grid.
pub(super) fn cells_beside<const D: usize>(
    grid: &Grid<D>,
    axis: usize,
    face: [i32; D],
) -> impl Iterator<Item = [i32; D]> {
    let face = Face {
        axis: Axis(axis),
        at: face,
    };
    let on_grid = move |cell: &Cell<D>| grid.contains(*cell);
    face.cells().into_iter().filter(on_grid).map(|cell| cell.0)
}
