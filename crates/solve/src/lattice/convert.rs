//! Recovering the lattice from a sparse matrix and the places of its unknowns.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use super::matrix::{BlockRows, LatticeMatrix};
use super::shape::{BLOCK, Shape, slots};
use crate::csr::Csr;
use crate::problem::Places;

/// No unknown at this cell.
const NONE: u32 = u32::MAX;

/// How many entries are looked at to find the uniform weight.
const SAMPLE: usize = 4096;

impl<const D: usize> LatticeMatrix<D> {
    /// Takes over a sparse matrix whose unknowns lie on a lattice. `index` becomes the memory
    /// index of each unknown. Returns false, with the matrix in no useful state, if this is not
    /// a matrix for a lattice: two unknowns in one place, couplings beyond next neighbours or of
    /// the wrong sign.
    pub fn convert(
        &mut self,
        a: &Csr,
        places: Places<'_>,
        constrained: &[bool],
        index: &mut Vec<u32>,
    ) -> bool {
        let Some((shape, low)) = frame::<D>(places) else {
            return false;
        };
        let mut number = vec![NONE; shape.len];
        index.clear();
        for (i, at) in places.at.iter().enumerate() {
            let mut cell = [0; 3];
            for (a, axis) in slots::<D>().into_iter().enumerate() {
                cell[axis] = (at[a] - low[a]) as usize;
            }
            let place = shape.index(cell);
            if number[place] != NONE {
                return false;
            }
            number[place] = i as u32;
            index.push(place as u32);
        }
        let fits = AtomicBool::new(true);
        let index: &[u32] = index;
        self.assemble(shape, usual_weight(a), |start, block| {
            let first = first_index::<D>(&shape, start);
            let mut any = false;
            for lane in 0..BLOCK.min(shape.cells[0] - start[0]) {
                let row = number[first + lane];
                if row == NONE {
                    clear(block, lane);
                    continue;
                }
                if !read_row(a, row as usize, index, &shape, lane, block) {
                    fits.store(false, Ordering::Relaxed);
                }
                let held = constrained.get(row as usize).copied().unwrap_or(false);
                block.constrained |= u8::from(held) << lane;
                any = true;
            }
            for lane in BLOCK.min(shape.cells[0] - start[0])..BLOCK {
                clear(block, lane);
            }
            any
        });
        fits.into_inner()
    }
}

fn first_index<const D: usize>(shape: &Shape, start: [usize; D]) -> usize {
    let mut cell = [0; 3];
    for (a, axis) in slots::<D>().into_iter().enumerate() {
        cell[axis] = start[a];
    }
    shape.index(cell)
}

fn clear<const D: usize>(block: &mut BlockRows<D>, lane: usize) {
    for a in 0..D {
        (block.low[a][lane], block.high[a][lane]) = (0.0, 0.0);
    }
    block.diagonal[lane] = 0.0;
}

/// Copies a row into a lane; false if it does not fit.
fn read_row<const D: usize>(
    a: &Csr,
    row: usize,
    index: &[u32],
    shape: &Shape,
    lane: usize,
    block: &mut BlockRows<D>,
) -> bool {
    clear(block, lane);
    block.unknown |= 1 << lane;
    let own = index[row] as usize;
    let (columns, values) = a.row(row);
    for (&column, &value) in columns.iter().zip(values) {
        let other = index[column as usize] as usize;
        if other == own {
            block.diagonal[lane] = value;
            continue;
        }
        let axis = slots::<D>()
            .iter()
            .position(|&axis| other.abs_diff(own) == shape.strides[axis]);
        let Some(axis) = axis.filter(|_| value <= 0.0) else {
            if value == 0.0 {
                continue;
            }
            return false;
        };
        if other < own {
            block.low[axis][lane] = -value;
        } else {
            block.high[axis][lane] = -value;
        }
    }
    block.diagonal[lane] > 0.0
}

/// The smallest lattice that holds all places, and its low corner.
fn frame<const D: usize>(places: Places<'_>) -> Option<(Shape, [i32; D])> {
    if places.dimensions != D {
        return None;
    }
    let (mut low, mut high) = ([i32::MAX; D], [i32::MIN; D]);
    for at in places.at {
        for a in 0..D {
            low[a] = low[a].min(at[a]);
            high[a] = high[a].max(at[a]);
        }
    }
    if places.at.is_empty() {
        return None;
    }
    let mut extent = [0; D];
    for a in 0..D {
        extent[a] = usize::try_from(i64::from(high[a]) - i64::from(low[a]) + 1).ok()?;
    }
    // A few unknowns strewn far apart are not what a dense lattice is for.
    let cells = extent.iter().try_fold(1usize, |n, &e| n.checked_mul(e))?;
    if cells > 1_000_000 && cells / 1000 > places.at.len() {
        return None;
    }
    Shape::new(extent).map(|shape| (shape, low))
}

/// The coupling that occurs most, in a sample of rows.
fn usual_weight(a: &Csr) -> f64 {
    let step = (a.rows() / SAMPLE).max(1);
    let mut counts: HashMap<u64, usize> = HashMap::new();
    for row in (0..a.rows()).step_by(step) {
        let (columns, values) = a.row(row);
        for (&column, &value) in columns.iter().zip(values) {
            if column as usize != row && value < 0.0 {
                *counts.entry((-value).to_bits()).or_default() += 1;
            }
        }
    }
    let usual = counts
        .into_iter()
        .max_by_key(|&(bits, count)| (count, bits));
    usual.map_or(1.0, |(bits, _)| f64::from_bits(bits))
}
