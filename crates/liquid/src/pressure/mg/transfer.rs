//! Between levels: geometry and residuals down, corrections up.

use plash_grid::{CellField, FaceField, Grid, axes, corners};

use super::level::{Level, for_rows};

/// The grid of twice the cell size. Odd sizes are padded: the last coarse cell then has
/// children that do not exist.
pub(super) fn coarse_grid<const D: usize>(fine: &Grid<D>) -> Option<Grid<D>> {
    let cells = fine.cells().map(|n| n.div_ceil(2));
    Grid::new(cells, 2.0 * fine.dx(), fine.origin()).ok()
}

/// The surface and the open fractions of a coarse level from those of the finer one.
///
/// `φ` is the mean over the `2^D` children that liquid can reach. Children closed all around
/// do not count: what `φ` says inside a solid must not move the surface beside it. The
/// fraction of a face is the mean of its `2^(D−1)` parts, missing ones closed.
pub(super) fn coarsen<const D: usize>(
    fine: &Grid<D>,
    phi: &CellField<f64, D>,
    open: &FaceField<f64, D>,
    coarse: &mut Level<D>,
) {
    let cells = fine.cells();
    let layout = fine.layout();
    for axis in axes::<D>() {
        let fractions = open.along(axis).as_slice();
        let a = axis.0;
        coarse.open.along_mut(axis).for_each_row(|row, values| {
            for (i, value) in values.iter_mut().enumerate() {
                let at = row.point(i).map(|n| 2 * n);
                let mut sum = 0.0;
                for corner in corners::<D>().filter(|c| c[a] == 0) {
                    let mut part: [i32; D] = std::array::from_fn(|b| at[b] + corner[b]);
                    // With a padded cell at the end, its high face is the border's.
                    part[a] = part[a].min(cells[a] as i32);
                    if (0..D).all(|b| b == a || (part[b] as usize) < cells[b]) {
                        sum += fractions[layout.index(part)];
                    }
                }
                *value = sum / (1 << (D - 1)) as f64;
            }
        });
    }
    average_surface(fine, phi, open, coarse);
    place_surface(fine.cells(), coarse);
}

/// `coarse.mean ←` the mean of `φ` over the children liquid can reach, `coarse.air ←` the
/// mean over those of them that are air, negative if none is.
fn average_surface<const D: usize>(
    fine: &Grid<D>,
    phi: &CellField<f64, D>,
    open: &FaceField<f64, D>,
    coarse: &mut Level<D>,
) {
    let cells = fine.cells();
    let layout = fine.layout();
    let strides = layout.strides();
    let open = open.slices();
    let phi = phi.as_slice();
    let reachable =
        |index: usize| (0..D).any(|a| open[a][index] > 0.0 || open[a][index + strides[a]] > 0.0);
    let children = |at: [i32; D]| {
        corners::<D>()
            .map(move |corner| std::array::from_fn(|b| 2 * at[b] + corner[b]))
            .filter(move |child: &[i32; D]| (0..D).all(|b| (child[b] as usize) < cells[b]))
            .map(|child| layout.index(child))
            .filter(|&index| reachable(index))
            .map(|index| phi[index])
    };
    coarse.mean.for_each_row(|row, values| {
        for (i, value) in values.iter_mut().enumerate() {
            *value = mean(children(row.point(i))).unwrap_or(0.0);
        }
    });
    coarse.air.for_each_row(|row, values| {
        for (i, value) in values.iter_mut().enumerate() {
            *value = mean(children(row.point(i)).filter(|&p| p >= 0.0)).unwrap_or(-1.0);
        }
    });
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), v| (sum + v, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// `coarse.phi ← coarse.mean`, but for two kinds of cells that become air:
///
/// - Where air would be lost, that is in a cell with an air child that averages to liquid
///   and has no air beside it: the air's own `φ`. A bubble pins the pressure of all liquid
///   around it: a level without it has another solution, or none.
/// - A padded cell at an open side, whose centre lies on that side: zero.
fn place_surface<const D: usize>(fine_cells: [usize; D], coarse: &mut Level<D>) {
    let cells = coarse.grid.cells();
    let strides = coarse.grid.layout().strides();
    let (mean, air) = (coarse.mean.as_slice(), coarse.air.as_slice());
    let open = coarse.open.slices();
    let beside_air = |index: usize| {
        (0..D).any(|a| {
            let (lo, hi) = (index - strides[a], index + strides[a]);
            // Beyond an open side lies a ghost, zero, which is air.
            open[a][index] > 0.0 && mean[lo] >= 0.0 || open[a][hi] > 0.0 && mean[hi] >= 0.0
        })
    };
    let on_open_side = |index: usize, at: [i32; D]| {
        (0..D).any(|a| {
            let padded = fine_cells[a] % 2 == 1 && at[a] as usize + 1 == cells[a];
            padded && cells[a] > 1 && open[a][index + strides[a]] > 0.0
        })
    };
    coarse.phi.for_each_row(|row, values| {
        for (i, value) in values.iter_mut().enumerate() {
            let index = row.start + i;
            let lost = mean[index] < 0.0 && air[index] >= 0.0 && !beside_air(index);
            *value = if lost { air[index] } else { mean[index] };
            if on_open_side(index, row.point(i)) {
                *value = value.max(0.0);
            }
        }
    });
}

/// `coarse.rhs ← 4 · mean of the children's values`, of which those that are no unknowns or
/// do not exist are zero.
///
/// Every level is scaled by its own `Δx²`, which is 4 times the finer one's, in any number
/// of dimensions. Without that factor (Karlsson eq. 56) corrections are 4 times too small.
pub(super) fn restrict<const D: usize>(fine: &CellField<f64, D>, coarse: &mut Level<D>) {
    let layout = *fine.layout();
    let fine = fine.as_slice();
    let strides = layout.strides();
    let scale = 4.0 / (1 << D) as f64;
    let (runs, diagonal) = (&coarse.runs, &coarse.diagonal);
    for_rows(&mut coarse.rhs, runs, |row, values| {
        let diagonal = diagonal.row(row);
        let first = layout.index(row.at.map(|n| 2 * n));
        for run in runs.in_row(row) {
            for i in run.cells(values.len()) {
                if diagonal[i] > 0.0 {
                    let base = first + 2 * i;
                    let mut sum = 0.0;
                    // Children beyond the grid are ghosts, and those are zero.
                    for corner in corners::<D>() {
                        let offset: usize = (0..D).map(|a| corner[a] as usize * strides[a]).sum();
                        sum += fine[base + offset];
                    }
                    values[i] = scale * sum;
                }
            }
        }
    });
}

/// `fine.x ← fine.x + P coarse.x` at the unknowns, by (bi- or tri-) linear interpolation.
pub(super) fn prolong<const D: usize>(coarse: &Level<D>, fine: &mut Level<D>) {
    let layout = *coarse.grid.layout();
    let (runs, diagonal) = (&fine.runs, &fine.diagonal);
    for (colour, x) in fine.x.iter_mut().enumerate() {
        for_rows(x, runs, |row, values| {
            let diagonal = diagonal.row(row);
            let shift = (row.at.iter().sum::<i32>() as usize & 1) ^ colour;
            for run in runs.in_row(row) {
                let cells = run.cells(values.len());
                for i in (cells.start + shift..cells.end).step_by(2) {
                    if diagonal[i] > 0.0 {
                        let at = row.point(i);
                        let high = at.map(|n| n & 1 == 1);
                        values[i] += interpolate(coarse, layout.index(at.map(|n| n / 2)), high, 0);
                    }
                }
            }
        });
    }
}

/// The coarse solution a quarter of a cell from the centre of a coarse cell, towards the
/// high or low side of each axis from `axis` on: ¾ of the cell, ¼ of the neighbour. Where
/// a solid closes the way to the neighbour the cell stands for both; where the neighbour is
/// air its value is the surface's, zero.
fn interpolate<const D: usize>(
    coarse: &Level<D>,
    index: usize,
    high: [bool; D],
    axis: usize,
) -> f64 {
    if axis == D {
        return coarse.value(index);
    }
    let stride = coarse.grid.layout().strides()[axis];
    let (face, other) = if high[axis] {
        (index + stride, index + stride)
    } else {
        (index, index - stride)
    };
    let here = interpolate(coarse, index, high, axis + 1);
    if coarse.open.slices()[axis][face] == 0.0 {
        return here;
    }
    0.75 * here + 0.25 * interpolate(coarse, other, high, axis + 1)
}
