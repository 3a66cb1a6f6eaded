//! What the solution does to faces beside it that are no unknowns.

use std::collections::HashMap;

use plash_grid::{Axis, FaceField, Row, axes};
use plash_solve::staggered::ViscousSolver;
use rayon::prelude::*;

use super::body::LiquidBody;
use super::drag_at;
use crate::pressure::Domain;

/// The faces whose velocity matters that are neither unknowns nor held, one list per axis: at tips,
/// along sharp edges and in spray there are faces that no share of liquid determines.
pub(super) fn tips<const D: usize>(
    body: &LiquidBody<'_, D>,
    solver: &ViscousSolver<D>,
) -> Vec<Vec<[i32; D]>> {
    let Domain { grid, runs, .. } = *body.domain;
    let of_axis = |axis: Axis| {
        let known = body.marks.known.along(axis);
        let of_row = |row: &Row<D>| {
            let (known, solved) = (known.row(*row), solver.row(axis.0, row.at));
            let faces = runs.in_row(*row).iter().flat_map(|r| r.range(known.len()));
            let unsolved = faces.filter(|&i| known[i] == 1 && solved.value(i as i32).is_none());
            let faces = unsolved.map(|i| row.point(i));
            faces
                .filter(|&face| !body.is_held(axis.0, face))
                .collect::<Vec<_>>()
        };
        let rows: Vec<_> = grid.layout().rows(grid.face_extent(axis)).collect();
        let rows = rows.par_iter().with_min_len(64);
        rows.flat_map_iter(of_row).collect()
    };
    axes::<D>().map(of_axis).collect()
}

/// Lets the solution drag along the tips beside it: left alone they would fall freely, however
/// thick the liquid. They take the velocity `ũ` that goes on there from the solution, as much as
/// the liquid is viscous, `u ← ũ + (u − ũ)/(1 + 4κ)`: in the limits they keep their own, or are
/// part of a body that moves as one. From a body to the tip of a corner there are `D` faces.
pub(super) fn drag_along<const D: usize>(
    body: &LiquidBody<'_, D>,
    solver: &ViscousSolver<D>,
    tips: Vec<Vec<[i32; D]>>,
    u: &mut FaceField<f64, D>,
) {
    let layout = *body.domain.grid.layout();
    for (axis, mut tips) in tips.into_iter().enumerate() {
        let values = u.along_mut(Axis(axis)).as_mut_slice();
        let mut dragged = HashMap::new();
        for _ in 0..D {
            let known = |face| {
                let solved = solver.value(axis, face);
                solved.or_else(|| dragged.get(&face).copied())
            };
            let mut found = Vec::new();
            tips.retain(|&face| {
                let beside = extended(face, known);
                found.extend(beside.map(|beside| (face, beside)));
                beside.is_none()
            });
            if found.is_empty() {
                break;
            }
            for (face, beside) in found {
                let value = &mut values[layout.index(face)];
                *value = beside + (*value - beside) / (1.0 + drag_at(body, axis, face));
                dragged.insert(face, *value);
            }
        }
    }
}

/// The velocity as it goes on at a face beside known ones: linearly if two in a row are, so that
/// turning bodies go on turning, or else as it is at the next. The mean over all directions.
fn extended<const D: usize>(
    face: [i32; D],
    known: impl Fn([i32; D]) -> Option<f64>,
) -> Option<f64> {
    let mut sums = [(0.0, 0u32); 2];
    for (a, by) in (0..D).flat_map(|a| [(a, -1), (a, 1)]) {
        let at = |steps: i32| {
            let mut other = face;
            other[a] += steps * by;
            known(other)
        };
        if let Some(first) = at(1) {
            let second = at(2);
            let (sum, count) = &mut sums[usize::from(second.is_none())];
            *sum += second.map_or(first, |second| 2.0 * first - second);
            *count += 1;
        }
    }
    let (sum, count) = sums.into_iter().find(|(_, count)| *count > 0)?;
    Some(sum / f64::from(count))
}
