//! One row of the operator, from what surrounds a face.

use super::ground::{Ground, Sum};
use super::shape::{moved, others};

/// The samples around a face of axis `a`: with `c±` the cells on its high and low side and
/// `e±_b` the edges on its high and low side along each other axis `b`,
///
/// ```text
/// (A u)_f = m u_f + Σ± c± (u_f − u_{f±a}) + Σ_b (e−_b τ−_b − e+_b τ+_b),
/// τ_b = u_f − u_{f−b} + v_b − v_{b−a}       at the low edge, and likewise at the high one.
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row {
    /// Mass.
    pub mass: f32,
    /// Weights of the low and the high cell.
    pub cell: [f32; 2],
    /// Weights of the low and the high edge along the other axes, in order.
    pub edge: [[f32; 2]; 2],
    /// Mass, and every other weight times the number of free faces in its sample. The operator is
    /// at most this diagonal, since `g gᵀ ≤ |supp g| diag(g²)`; in the interior no smaller
    /// multiple of the true diagonal would do.
    pub bound: f32,
}

impl Row {
    /// Whether the face is an unknown.
    pub fn is_free(&self) -> bool {
        self.bound > 0.0
    }

    /// The diagonal of the operator.
    pub fn diagonal(&self) -> f64 {
        let pairs = [self.cell, self.edge[0], self.edge[1]];
        let sum: f64 = pairs.iter().flatten().map(|&w| f64::from(w)).sum();
        f64::from(self.mass) + sum
    }
}

/// Octants on the low and the high side of a cell along each axis.
const HALVES: [[u8; 2]; 3] = [
    [0b0101_0101, 0b1010_1010],
    [0b0011_0011, 0b1100_1100],
    [0b0000_1111, 0b1111_0000],
];

/// Mean of the octants that lie in a box of a cell's size around `at`'s low corner along the axes
/// of `split`, and around the cell's middle along the others: fill and stiffness.
#[inline]
fn mean<const D: usize>(ground: &impl Ground<D>, at: [i32; D], split: &[usize]) -> (f32, f32) {
    let all: u8 = if D == 2 { 0b1111 } else { u8::MAX };
    let mut sums = [Sum::default(); 4];
    for sides in 0..1usize << split.len() {
        let (mut cell, mut octants) = (at, all);
        for (k, &axis) in split.iter().enumerate() {
            // From the cell on the low side the high octants count, and the other way round.
            let side = (sides >> k) & 1;
            cell[axis] -= side as i32;
            octants &= HALVES[axis][side];
        }
        sums[sides] = ground.sum(cell, octants);
    }
    // Cells across the edge first: the order is the same for both axes of the pair.
    let [p, q, r, s] = sums;
    let count = (p.count + q.count + r.count + s.count).max(1) as f32;
    let fill = (p.fill + s.fill) + (q.fill + r.fill);
    let stiff = (p.stiff + s.stiff) + (q.stiff + r.stiff);
    (fill / count, stiff / count)
}

/// Raises the weight of a sample that is not empty to the least there may be.
fn at_least(least: f32, (fill, value): (f32, f32)) -> f32 {
    if fill > 0.0 && fill < least {
        value * (least / fill)
    } else {
        value
    }
}

/// How two faces share in a difference: how many are free, and the gap to the wall between them.
struct Pair {
    free: u32,
    gap: f64,
}

fn pair<const D: usize>(
    ground: &impl Ground<D>,
    axis: usize,
    low: [i32; D],
    high: [i32; D],
) -> Pair {
    let held = [ground.is_held(axis, low), ground.is_held(axis, high)];
    let gap = match held {
        [false, true] => ground.gap(axis, low, high),
        [true, false] => ground.gap(axis, high, low),
        _ => 1.0,
    };
    Pair {
        free: held.iter().filter(|h| !**h).count() as u32,
        gap,
    }
}

/// Weight of a cell along an axis and the free faces of the sample.
fn cell_sample<const D: usize>(
    ground: &impl Ground<D>,
    axis: usize,
    cell: [i32; D],
    walls: bool,
) -> (f32, u32) {
    let stiff = at_least(ground.least(), mean(ground, cell, &[]));
    if stiff == 0.0 {
        return (0.0, 0);
    }
    if !walls {
        return (2.0 * stiff, 2);
    }
    let Pair { free, gap } = pair(ground, axis, cell, moved(cell, axis, 1));
    if free < 2 && ground.lets_go(cell) {
        return (0.0, 0);
    }
    ((2.0 * f64::from(stiff) / gap) as f32, free)
}

/// Weight of the edge of axes `a` and `b` at the low corner of `at`, and its free faces.
fn edge_sample<const D: usize>(
    ground: &impl Ground<D>,
    [a, b]: [usize; 2],
    at: [i32; D],
    walls: bool,
) -> (f32, u32) {
    let stiff = at_least(ground.least(), mean(ground, at, &[a, b]));
    if stiff == 0.0 {
        return (0.0, 0);
    }
    // Beyond an open side there are no faces to make up the sample.
    if ground.is_on_open_side(a, at[a]) || ground.is_on_open_side(b, at[b]) {
        return (0.0, 0);
    }
    if !walls {
        return (stiff, 4);
    }
    let along = pair(ground, a, moved(at, b, -1), at);
    let across = pair(ground, b, moved(at, a, -1), at);
    let free = along.free + across.free;
    if free < 4 {
        let (left, below) = (moved(at, a, -1), moved(at, b, -1));
        let around = [at, left, below, moved(left, b, -1)];
        if around.iter().any(|&cell| ground.lets_go(cell)) {
            return (0.0, 0);
        }
    }
    ((f64::from(stiff) / along.gap.min(across.gap)) as f32, free)
}

/// The row of a face; all zero if it is held, or far from everything.
pub fn row<const D: usize>(ground: &impl Ground<D>, axis: usize, face: [i32; D]) -> Row {
    let mut row = Row::default();
    let walls = ground.has_walls_near(axis, face);
    if walls && ground.is_held(axis, face) {
        return row;
    }
    for side in 0..2 {
        let (weight, free) = cell_sample(ground, axis, moved(face, axis, side - 1), walls);
        row.cell[side as usize] = weight;
        row.bound += weight * free as f32;
    }
    for (k, &b) in others::<D>(axis)[..D - 1].iter().enumerate() {
        for side in 0..2 {
            // The pair in order, so that all four faces of an edge compute the same bits.
            let axes = [axis.min(b), axis.max(b)];
            let (weight, free) = edge_sample(ground, axes, moved(face, b, side), walls);
            row.edge[k][side as usize] = weight;
            row.bound += weight * free as f32;
        }
    }
    let (fill, _) = mean(ground, face, &[axis]);
    row.mass = at_least(ground.least(), (fill, fill));
    row.bound += row.mass;
    row
}
