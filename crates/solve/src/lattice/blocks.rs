//! Coarsening by whole blocks: eight coarse cells at a time, lane by lane.

use super::coarsen::{SplitCell, TailMap, soften, split_cell};
use super::level::{Coefficients, EMPTY, Lanes, Level, UNIFORM};
use super::shape::{BLOCK, Shape, slots};

/// Fine cells in a row below a coarse block.
const WIDTH: usize = 2 * BLOCK;

/// A plane of a coarse level, as if no cell beside it were split.
pub struct Draft<const D: usize> {
    /// What each block is; places count from the plane's first.
    pub kind: Vec<u32>,
    /// Coefficients of the blocks that are not uniform.
    pub stream: Vec<Coefficients<D>>,
    /// What couples their cells to zero.
    pub dirichlet: Vec<Lanes>,
    /// The cells that are split.
    pub splits: Vec<SplitCell>,
    /// Unknowns on the lattice.
    pub unknowns: usize,
}

impl<const D: usize> Draft<D> {
    /// No unknowns.
    pub fn empty(blocks: usize) -> Self {
        Draft {
            kind: vec![EMPTY; blocks],
            stream: Vec::new(),
            dirichlet: Vec::new(),
            splits: Vec::new(),
            unknowns: 0,
        }
    }

    /// Sets a block that is not uniform.
    pub fn push(&mut self, local: usize, rows: Coefficients<D>, zeros: Lanes) {
        self.kind[local] = self.stream.len() as u32;
        self.unknowns += rows.diagonal.iter().filter(|&&d| d > 0.0).count();
        self.stream.push(rows);
        self.dirichlet.push(zeros);
    }

    /// Sets a uniform block.
    pub fn push_uniform(&mut self, local: usize) {
        self.kind[local] = UNIFORM;
        self.unknowns += BLOCK;
    }
}

/// Drafts plane `z` of the coarse level.
pub fn draft<const D: usize>(
    fine: &Level<D>,
    shape: &Shape,
    tails: &TailMap,
    z: usize,
) -> Draft<D> {
    let mut draft = Draft::empty(shape.plane_blocks());
    let mut below = Below::new();
    for local in 0..shape.plane_blocks() {
        let start = shape.block_start(z * shape.plane_blocks() + local);
        let first = shape.index(start) as u32;
        let own_tails = tails.within(first..first + BLOCK as u32);
        match below.read(fine, start) {
            Census::Nothing if own_tails.is_empty() => {}
            Census::Plain if start[0] + BLOCK <= shape.cells[0] => draft.push_uniform(local),
            _ => {
                let whole = if own_tails.is_empty() && !below.irregular {
                    below.whole_cells()
                } else {
                    0
                };
                let lanes = BLOCK.min(shape.cells[0] - start[0]);
                for lane in (0..lanes).filter(|lane| whole >> lane & 1 == 0) {
                    let at = [start[0] + lane, start[1], start[2]];
                    let cell = first + lane as u32;
                    let own = tails.within(cell..cell + 1);
                    draft.splits.extend(split_cell(fine, at, cell, own));
                }
                let (rows, zeros) = below.sum(fine.weight);
                if rows.diagonal.iter().any(|&d| d > 0.0) {
                    draft.push(local, rows, zeros);
                }
            }
        }
    }
    draft
}

/// What lies below a coarse block.
enum Census {
    Nothing,
    Plain,
    Mixed,
}

/// The fine rows below a coarse block: one (2D: two) or two by two rows of sixteen cells.
struct Below<const D: usize> {
    rows: Vec<FineRow<D>>,
    /// Whether any cell has an explicit row.
    irregular: bool,
}

/// Sixteen fine cells.
#[derive(Clone)]
struct FineRow<const D: usize> {
    low: [[f32; WIDTH]; D],
    high: [[f32; WIDTH]; D],
    zero: [f32; WIDTH],
    present: u16,
}

impl<const D: usize> Below<D> {
    fn new() -> Self {
        let row = FineRow {
            low: [[0.0; WIDTH]; D],
            high: [[0.0; WIDTH]; D],
            zero: [0.0; WIDTH],
            present: 0,
        };
        Below {
            rows: vec![row; 1 << (D - 1)],
            irregular: false,
        }
    }

    /// Reads the cells below a coarse block; only a mixed block leaves them here.
    fn read(&mut self, fine: &Level<D>, start: [usize; 3]) -> Census {
        let places = fine_blocks::<D>(fine, start);
        let kinds = || places.iter().take(1 << D).map(|b| kind_of(fine, *b));
        if kinds().all(|kind| kind == EMPTY) {
            return Census::Nothing;
        }
        let held = |b: usize| fine.held.get(b) == Some(&true);
        if kinds().all(|kind| kind == UNIFORM)
            && !places.iter().take(1 << D).any(|b| b.is_some_and(held))
        {
            return Census::Plain;
        }
        self.irregular = false;
        for r in 0..self.rows.len() {
            self.rows[r].present = 0;
            for half in 0..2 {
                self.read_block(fine, r, half, places[2 * r + half]);
            }
        }
        Census::Mixed
    }

    fn read_block(&mut self, fine: &Level<D>, r: usize, half: usize, block: Option<usize>) {
        let row = &mut self.rows[r];
        let lanes = half * BLOCK..(half + 1) * BLOCK;
        let kind = kind_of(fine, block);
        if kind >= UNIFORM {
            let (weight, bits) = match kind {
                UNIFORM => (fine.weight, 0xff),
                _ => (0.0, 0),
            };
            for a in 0..D {
                row.low[a][lanes.clone()].fill(weight);
                row.high[a][lanes.clone()].fill(weight);
            }
            row.zero[lanes.clone()].fill(0.0);
            row.present |= bits << (half * BLOCK);
        } else {
            let block = &fine.stream[kind as usize];
            for a in 0..D {
                row.low[a][lanes.clone()].copy_from_slice(&block.low[a]);
                row.high[a][lanes.clone()].copy_from_slice(&block.high[a]);
            }
            row.zero[lanes.clone()].copy_from_slice(&fine.dirichlet[kind as usize]);
            for l in 0..BLOCK {
                let there = block.diagonal[l] > 0.0;
                row.present |= u16::from(there) << (half * BLOCK + l);
                self.irregular |= there && block.inverse[l] == 0.0;
            }
        }
        if let Some(block) = block.filter(|&b| fine.held.get(b) == Some(&true)) {
            self.release(fine, r, half, block);
        }
    }

    /// Turns couplings to unknowns that are held at zero into couplings to zero.
    fn release(&mut self, fine: &Level<D>, r: usize, half: usize, block: usize) {
        let row = &mut self.rows[r];
        let first = fine.shape.index(fine.shape.block_start(block));
        for lane in 0..BLOCK {
            let l = half * BLOCK + lane;
            for (a, axis) in slots::<D>().into_iter().enumerate() {
                let stride = fine.shape.strides[axis];
                let sides = [
                    (&mut row.low[a][l], first + lane - stride),
                    (&mut row.high[a][l], first + lane + stride),
                ];
                for (weight, other) in sides {
                    if *weight > 0.0 && !fine.is_unknown(other) {
                        row.zero[l] += std::mem::take(weight);
                    }
                }
            }
        }
    }

    /// Bits of the coarse cells that are one component, or nothing.
    fn whole_cells(&self) -> u8 {
        let mut whole = 0;
        for lane in 0..BLOCK {
            let (present, edges) = self.children(lane);
            let coupled = self.has_coupled_children(lane, present);
            whole |= u8::from(coupled && is_connected(present, edges)) << lane;
        }
        whole
    }

    /// Which children of a coarse cell are there, one bit each, x fastest; and between which of
    /// them there is a coupling: to the next along x, y, z by bit of the lower one.
    fn children(&self, lane: usize) -> (u8, [u8; 3]) {
        let (mut present, mut edges) = (0, [0; 3]);
        for (r, row) in self.rows.iter().enumerate() {
            let pair = (row.present >> (2 * lane) & 3) as u8;
            present |= pair << (2 * r);
            for side in 0..2 {
                let bit = 1 << (2 * r + side);
                for a in 0..D {
                    if row.high[a][2 * lane + side] > 0.0 {
                        edges[a] |= bit;
                    }
                }
            }
        }
        (present, edges)
    }

    /// Whether every child that is there couples to something.
    fn has_coupled_children(&self, lane: usize, present: u8) -> bool {
        (0..2 * self.rows.len()).all(|child| {
            let (row, l) = (&self.rows[child / 2], 2 * lane + child % 2);
            present >> child & 1 == 0 || (0..D).any(|a| row.low[a][l] > 0.0 || row.high[a][l] > 0.0)
        })
    }

    /// Sums couplings over the faces of the coarse cells.
    fn sum(&self, weight: f32) -> (Coefficients<D>, Lanes) {
        let mut out = Coefficients::NONE;
        let mut zeros = [0.0; BLOCK];
        let mut present = [0u8; BLOCK];
        for (r, row) in self.rows.iter().enumerate() {
            for lane in 0..BLOCK {
                let (even, odd) = (2 * lane, 2 * lane + 1);
                out.low[0][lane] += 0.5 * row.low[0][even];
                out.high[0][lane] += 0.5 * row.high[0][odd];
                for a in 1..D {
                    // Rows of the lower half have the lower face, the others the upper one.
                    if r >> (a - 1) & 1 == 0 {
                        out.low[a][lane] += 0.5 * (row.low[a][even] + row.low[a][odd]);
                    } else {
                        out.high[a][lane] += 0.5 * (row.high[a][even] + row.high[a][odd]);
                    }
                }
                zeros[lane] += soften(row.zero[even], weight) + soften(row.zero[odd], weight);
                present[lane] |= (row.present >> even & 3) as u8;
            }
        }
        for lane in 0..BLOCK {
            if present[lane] != 0 {
                out.close(lane, &mut zeros[lane]);
            }
        }
        (out, zeros)
    }
}

/// The fine blocks below a coarse one, in pairs along x; `None` beyond the lattice.
fn fine_blocks<const D: usize>(fine: &Level<D>, start: [usize; 3]) -> [Option<usize>; 8] {
    let shape = &fine.shape;
    let mut places = [None; 8];
    for (r, pair) in places.chunks_mut(2).take(1 << (D - 1)).enumerate() {
        let (y, z) = if D == 3 {
            (2 * start[1] + (r & 1), 2 * start[2] + (r >> 1))
        } else {
            (0, 2 * start[2] + r)
        };
        for (half, place) in pair.iter_mut().enumerate() {
            let x = 2 * start[0] + half * BLOCK;
            let inside = x < shape.cells[0] && y < shape.cells[1] && z < shape.cells[2];
            *place = inside.then(|| shape.block_of([x, y, z]));
        }
    }
    places
}

#[inline(always)]
fn kind_of<const D: usize>(fine: &Level<D>, block: Option<usize>) -> u32 {
    block.map_or(EMPTY, |b| fine.kind[b])
}

/// Whether the bits of `present` hang together by the given couplings.
fn is_connected(present: u8, edges: [u8; 3]) -> bool {
    let mut reached = present & present.wrapping_neg();
    loop {
        let before = reached;
        for (a, &edge) in edges.iter().enumerate() {
            let step = 1 << a;
            // The bits whose coordinate along this axis is zero.
            let lower = [0x55, 0x33, 0x0f][a];
            let links = edge & lower & present;
            reached |= (reached & links) << step;
            reached |= (reached >> step) & links;
        }
        reached &= present;
        if reached == before {
            return reached == present;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_of_a_cube_are_found() {
        let all = [0x55, 0x33, 0x0f];
        assert!(is_connected(0xff, all));
        assert!(is_connected(0, all));
        assert!(is_connected(0b1000_0000, all));
        // Two opposite corners, and a plate between the halves.
        assert!(!is_connected(0b1000_0001, all));
        assert!(!is_connected(0xff, [0x55, 0, 0x0f]));
        // A path around the plate.
        assert!(is_connected(0xff, [0x55, 0x01, 0x0f]));
        // Links that lead nowhere do not count.
        assert!(!is_connected(0b0000_1001, [0x01, 0x02, 0]));
    }
}
