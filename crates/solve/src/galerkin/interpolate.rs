//! Interpolation from a level to the next finer one.

use rayon::prelude::*;

use super::coarsen::{Aggregates, Cells, NONE, side_bit};
use super::rows::Rows;
use super::{Boundary, Interpolation};

/// What lies where a weight points.
#[derive(Clone, Copy)]
enum Target {
    /// A fine unknown whose aggregate takes the weight.
    Unknown(u32),
    /// The value zero: the weight is lost.
    Air,
    /// Nothing on this side of the solid: the others take the weight.
    Solid,
}

/// At most a weight for each corner of a cube.
type Entries = ([(u32, f64); 8], usize);

/// The weight of the coarse cell reached by stepping along the axes of `mask`, towards which the
/// fine cell leans: Lai et al. 2021, section 4.3, figures 4.1 and 4.2.
fn weight(interpolation: Interpolation, dimensions: usize, mask: usize) -> f64 {
    let steps = mask.count_ones() as i32;
    match (interpolation, steps) {
        (Interpolation::Constant, 0) => 1.0,
        (Interpolation::Constant, _) => 0.0,
        (Interpolation::Barycentric, 0) => 1.0 - 0.25 * dimensions as f64,
        (Interpolation::Barycentric, 1) => 0.25,
        (Interpolation::Barycentric, _) => 0.0,
        (Interpolation::Trilinear, _) => {
            0.75_f64.powi(dimensions as i32 - steps) * 0.25_f64.powi(steps)
        }
    }
}

/// The matrix that carries coarse values to fine unknowns.
pub(super) fn interpolation(
    kind: Interpolation,
    boundary: Boundary,
    cells: &Cells,
    steps: &[[u32; 3]],
    aggregates: &Aggregates,
) -> Rows {
    let rows = cells.at.len();
    let row = |i: usize| match boundary {
        Boundary::OneSided => one_sided(kind, cells, steps, aggregates, i),
        Boundary::Simple => simple(kind, cells, aggregates, i),
    };
    let rows_in_order: Vec<Entries> = (0..rows).into_par_iter().map(row).collect();
    let entries = rows_in_order.iter().map(|(_, len)| len).sum();
    let mut p = Rows::with_capacity(rows, entries);
    for (entries, len) in &rows_in_order {
        p.push(&entries[..*len]);
    }
    p
}

/// Adds a weight, to the entry already there if there is one.
fn add(entries: &mut Entries, column: u32, weight: f64) {
    let (list, len) = entries;
    if let Some(entry) = list[..*len].iter_mut().find(|entry| entry.0 == column) {
        entry.1 += weight;
    } else {
        list[*len] = (column, weight);
        *len += 1;
    }
}

/// Weights that never cross a solid: a coarse unknown gets its weight only if the way to it, step
/// by step along coupled fine unknowns, is open. Weights that point at air are lost, as the value
/// there is zero; those that point across a solid are spread over the rest.
fn one_sided(
    kind: Interpolation,
    cells: &Cells,
    steps: &[[u32; 3]],
    aggregates: &Aggregates,
    i: usize,
) -> Entries {
    let mut entries = ([(0, 0.0); 8], 0);
    if aggregates.parent[i] == NONE {
        return entries;
    }
    let mut reach = [Target::Unknown(i as u32); 8];
    let mut lost = 0.0;
    for mask in 0..1 << cells.dimensions {
        if mask != 0 {
            reach[mask] = stepped(cells, steps, &aggregates.parent, &reach, mask);
        }
        let weight = weight(kind, cells.dimensions, mask);
        match reach[mask] {
            _ if weight == 0.0 => {}
            Target::Unknown(k) => add(&mut entries, aggregates.parent[k as usize], weight),
            Target::Air => {}
            Target::Solid => lost += weight,
        }
    }
    let (list, len) = &mut entries;
    for entry in &mut list[..*len] {
        entry.1 /= 1.0 - lost;
    }
    entries
}

/// The end of the way along the axes of `mask`, one step from where fewer steps have led.
fn stepped(
    cells: &Cells,
    steps: &[[u32; 3]],
    parent: &[u32],
    reach: &[Target; 8],
    mask: usize,
) -> Target {
    let mut found = Target::Solid;
    for axis in (0..cells.dimensions).filter(|axis| mask >> axis & 1 == 1) {
        match reach[mask & !(1 << axis)] {
            Target::Unknown(k) => {
                let k = k as usize;
                if steps[k][axis] != NONE && parent[steps[k][axis] as usize] != NONE {
                    return Target::Unknown(steps[k][axis]);
                }
                if cells.air[k] & side_bit(axis, cells.lean(k, axis)) != 0 {
                    found = Target::Air;
                }
            }
            Target::Air => found = Target::Air,
            Target::Solid => {}
        }
    }
    found
}

/// Plain weights to whatever coarse cells there are, solids or not between.
fn simple(kind: Interpolation, cells: &Cells, aggregates: &Aggregates, i: usize) -> Entries {
    let mut entries = ([(0, 0.0); 8], 0);
    if aggregates.parent[i] == NONE {
        return entries;
    }
    let key = |[x, y, z]: [i32; 3]| (z, y, x);
    for mask in 0..1_usize << cells.dimensions {
        let weight = weight(kind, cells.dimensions, mask);
        let mut cell = cells.at[i].map(|x| x >> 1);
        for axis in (0..cells.dimensions).filter(|axis| mask >> axis & 1 == 1) {
            cell[axis] += 2 * cells.lean(i, axis) as i32 - 1;
        }
        let coarse = &aggregates.coarse.at;
        if weight != 0.0
            && let Ok(column) = coarse.binary_search_by_key(&key(cell), |&at| key(at))
        {
            add(&mut entries, column as u32, weight);
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_sum_to_one_and_reproduce_linear_functions() {
        for kind in [Interpolation::Barycentric, Interpolation::Trilinear] {
            for dimensions in [2, 3] {
                let corners = 0..1_usize << dimensions;
                let total: f64 = corners.clone().map(|m| weight(kind, dimensions, m)).sum();
                assert_eq!(total, 1.0);
                // A fine cell lies a quarter of a coarse spacing off the centre of its parent.
                for axis in 0..dimensions {
                    let along = corners.clone().filter(|mask| mask >> axis & 1 == 1);
                    let offset: f64 = along.map(|m| weight(kind, dimensions, m)).sum();
                    assert_eq!(offset, 0.25);
                }
            }
        }
    }
}
