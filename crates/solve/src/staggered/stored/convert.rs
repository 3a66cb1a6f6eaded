//! From the rows of a matrix to levels: masses and cells.
//!
//! A row tells the weights of the samples that its face shares with other unknowns. What is left
//! of its diagonal is the face's mass and the weights of samples that it shares with held faces
//! alone: beyond the usual mass.

use super::cells::Cells;
use super::exact::{Exact, Weights};
use super::lattice::Lattice;
use super::sample::Sample;
use crate::staggered::level::Level;
use crate::staggered::row::Row;
use crate::staggered::shape::others;

/// Rows looked at to find what is usual.
const SAMPLE: usize = 1 << 16;

/// The share of cells that must be as stiff as the usual one for all to count as that.
const MOSTLY: f64 = 0.75;

/// Cells beyond the unknowns: coarse faces that they take from need room.
const MARGIN: usize = 2;

/// What a matrix says of a staggered lattice.
pub struct Converted<const D: usize> {
    /// The finest level, over rows divided by [`mass`](Self::mass).
    pub level: Level<D>,
    /// What the coarser ones are made of.
    pub cells: Cells<D>,
    /// The usual mass of a face.
    pub mass: f64,
    /// The component and memory index of each unknown.
    pub faces: Vec<(u8, u32)>,
}

impl<const D: usize> Converted<D> {
    /// Finds masses and cells.
    ///
    /// # Errors
    /// If the lattice gets too large.
    pub fn new(lattice: Lattice<D>, exact: &Exact) -> Result<Self, &'static str> {
        let mass = usual_mass(exact);
        let rows: Vec<Row> = exact.kinds().iter().map(|kind| row(kind, mass)).collect();
        let lattice = lattice.widened([[MARGIN; 2]; D])?;
        let weighed = Weighed {
            lattice: &lattice,
            exact,
            rows,
        };
        let usual = weighed.usual_stiffness();
        let cells = Cells::new(&weighed, usual);
        let graded = cells.graded(&lattice.shape);
        let level = Level::from_rows(
            lattice.shape,
            usual.unwrap_or(1.0),
            graded,
            |axis, index| weighed.bounded_row(axis, index),
        );
        Ok(Converted {
            level,
            cells,
            mass,
            faces: lattice.faces,
        })
    }
}

/// Unknowns on a lattice, and what their rows weigh in usual masses.
pub struct Weighed<'a, const D: usize> {
    /// Where they lie.
    pub lattice: &'a Lattice<D>,
    exact: &'a Exact,
    /// By kind of row: masses are rests of diagonals, bounds not known.
    rows: Vec<Row>,
}

impl<const D: usize> Weighed<'_, D> {
    /// The row of an unknown.
    #[inline]
    pub fn row_of(&self, number: usize) -> &Row {
        &self.rows[self.exact.kind(number)]
    }

    /// The stiffness that most cells have, if most have one.
    fn usual_stiffness(&self) -> Option<f32> {
        let weights = few(self.exact.rows()).map(|i| self.row_of(i).cell[1]);
        let mut weights: Vec<f32> = weights.filter(|&weight| weight > 0.0).collect();
        weights.sort_unstable_by(f32::total_cmp);
        let near = |a: f32, b: f32| (a - b).abs() <= 4.0 * f32::EPSILON * a;
        let middle = *weights.get(weights.len() / 2)?;
        let alike = weights.iter().filter(|&&w| near(middle, w)).count();
        (alike as f64 >= MOSTLY * weights.len() as f64).then_some(0.5 * middle)
    }

    /// The row of a face at a memory index, with its bound, its mass and what ties it to walls; all
    /// zero if it is no unknown.
    fn bounded_row(&self, axis: usize, index: usize) -> (Row, [f32; 2]) {
        let lattice = self.lattice;
        let Some(number) = lattice.number((axis, index)) else {
            return (Row::default(), [0.0; 2]);
        };
        let mut row = *self.row_of(number);
        // In the order of other rows, so that those of the interior are the same to the bit.
        let free = |sample: &Sample| 1 + sample.members().filter(|&f| lattice.is_free(f)).count();
        // No mass is larger than the usual one.
        let mass = row.mass.min(1.0);
        let (mut bound, mut spring) = (0.0, row.mass - mass);
        for side in 0..2 {
            let sample = Sample::cell(&lattice.shape, axis, index, side);
            bound += row.cell[side] * free(&sample) as f32;
        }
        for (k, &b) in others::<D>(axis)[..D - 1].iter().enumerate() {
            for side in 0..2 {
                let sample = Sample::edge(&lattice.shape, [axis, b], index, side);
                bound += row.edge[k][side] * free(&sample) as f32;
                if !lattice.is_free(sample.next()) {
                    spring += row.edge[k][side];
                }
            }
        }
        row.bound = (bound + row.mass).max(f32::MIN_POSITIVE);
        (row, [mass, spring])
    }
}

/// Some of so many unknowns, evenly spread.
fn few(unknowns: usize) -> impl Iterator<Item = usize> {
    (0..unknowns).step_by((unknowns / SAMPLE).max(1))
}

/// The rest that most rows leave.
fn usual_mass(exact: &Exact) -> f64 {
    let rests = few(exact.rows()).map(|i| exact.kinds()[exact.kind(i)].rest());
    let mut rests: Vec<f64> = rests.filter(|&rest| rest > 0.0).collect();
    rests.sort_unstable_by(f64::total_cmp);
    rests.get(rests.len() / 2).map_or(1.0, |&rest| short(rest))
}

/// A number to the digits of single precision, but of any size. The last digits of a rest, the
/// difference of large numbers, are noise; weights that are singles stay singles when they are
/// divided by one without them.
fn short(value: f64) -> f64 {
    const DROPPED: u32 = f64::MANTISSA_DIGITS - f32::MANTISSA_DIGITS;
    let half = 1 << (DROPPED - 1);
    f64::from_bits((value.to_bits() + half) >> DROPPED << DROPPED)
}

/// A row in single precision. It is divided first, for units that single precision has no
/// numbers for.
fn row(weights: &Weights, mass: f64) -> Row {
    let single = |weight: f64| (weight / mass) as f32;
    let [low, high, edges @ ..] = weights.samples.map(single);
    Row {
        mass: single(weights.rest().max(0.0)),
        cell: [low, high],
        edge: [[edges[0], edges[1]], [edges[2], edges[3]]],
        bound: 0.0,
    }
}
