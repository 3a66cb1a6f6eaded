//! One level of the hierarchy: a 7-point (5-point) operator in single precision.
//!
//! Cells are grouped in blocks of eight along x. A block whose cells and neighbours are all
//! unknowns coupled by the level's uniform weight stores nothing; every other block keeps its
//! coefficients in one contiguous stream. Unknowns that do not fit the lattice (the second
//! connected component of a coarse cell, and whatever couples to one) have explicit rows.

use super::shape::{BLOCK, Shape, slots};

/// A block without unknowns.
pub const EMPTY: u32 = u32::MAX;
/// A block with the uniform stencil; other kinds are places in the stream.
pub const UNIFORM: u32 = u32::MAX - 1;

/// One `f32` per cell of a block.
pub type Lanes = [f32; BLOCK];

/// The rows of one block that is not uniform.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(32))]
pub struct Coefficients<const D: usize> {
    /// Coupling to the neighbour on the low side of each axis, not negative.
    pub low: [Lanes; D],
    /// Coupling to the neighbour on the high side.
    pub high: [Lanes; D],
    /// The diagonal; zero where there is no unknown.
    pub diagonal: Lanes,
    /// Its inverse, zero where a sweep over the lattice must leave the cell alone.
    pub inverse: Lanes,
}

impl<const D: usize> Coefficients<D> {
    /// No unknown in any lane.
    pub const NONE: Self = Coefficients {
        low: [[0.0; BLOCK]; D],
        high: [[0.0; BLOCK]; D],
        diagonal: [0.0; BLOCK],
        inverse: [0.0; BLOCK],
    };

    /// Finishes a lane whose couplings are in place: rounds them, and what couples it to zero,
    /// to the digits that kernels read, and sums the diagonal.
    pub fn close(&mut self, lane: usize, dirichlet: &mut f32) {
        *dirichlet = round(*dirichlet);
        let mut sum = *dirichlet;
        for a in 0..D {
            for weight in [&mut self.low[a][lane], &mut self.high[a][lane]] {
                *weight = round(*weight);
                sum += *weight;
            }
        }
        // An unknown coupled to nothing at all is left at zero, but it is there.
        self.diagonal[lane] = sum.max(f32::MIN_POSITIVE);
        self.inverse[lane] = if sum > 0.0 { 1.0 / sum } else { 0.0 };
    }
}

/// The same as kernels read it: couplings in half the digits, the diagonal left to be summed,
/// since traffic is what these blocks cost. Couplings are rounded to these digits wherever they
/// are stored ([`round`]). Both sides of a face round alike, so the operator stays symmetric, and
/// constants stay in its null space where they were; a preconditioner asks for no more.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Packed<const D: usize> {
    /// Coupling to the low side of each axis.
    pub low: [[u16; BLOCK]; D],
    /// Coupling to the high side.
    pub high: [[u16; BLOCK]; D],
    /// What couples the cell to zero.
    pub zero: [u16; BLOCK],
}

impl<const D: usize> Packed<D> {
    /// Packs a block. Lanes that sweeps must leave alone become empty.
    pub fn new(rows: &Coefficients<D>, zeros: &Lanes) -> Self {
        let half = |lanes: &Lanes| {
            let mut out = [0; BLOCK];
            for l in 0..BLOCK {
                if rows.inverse[l] > 0.0 {
                    out[l] = (lanes[l].to_bits() >> 16) as u16;
                }
            }
            out
        };
        Packed {
            low: rows.low.each_ref().map(half),
            high: rows.high.each_ref().map(half),
            zero: half(zeros),
        }
    }
}

/// A coupling in half the digits: eight bits, never rounded to zero or infinity.
pub fn round(weight: f32) -> f32 {
    let upper = weight.to_bits().saturating_add(0x8000) >> 16;
    if weight > 0.0 {
        f32::from_bits(upper.clamp(0x0080, 0x7f7f) << 16)
    } else {
        0.0
    }
}

/// Bits of the lanes that hold an unknown.
pub fn lanes_present<const D: usize>(rows: &Coefficients<D>) -> u8 {
    let mut bits = 0;
    for l in 0..BLOCK {
        bits |= u8::from(rows.diagonal[l] > 0.0) << l;
    }
    bits
}

/// Consecutive blocks of a row that are of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Memory index of the first cell.
    pub index: u32,
    /// Number of blocks.
    pub blocks: u32,
    /// Place of the first block in the stream, or [`UNIFORM`].
    pub stream: u32,
    /// Colour of the first cell, 0 or 1.
    pub colour: u32,
}

/// A row that does not fit the lattice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IrregularRow {
    /// The unknown.
    pub index: u32,
    /// Its first entry.
    pub start: u32,
    /// One after its last entry.
    pub end: u32,
    /// The diagonal.
    pub diagonal: f32,
    /// What couples the unknown to zero.
    pub dirichlet: f32,
}

/// Explicit rows, by unknown ascending.
#[derive(Clone, Debug, Default)]
pub struct Irregular {
    /// The rows.
    pub rows: Vec<IrregularRow>,
    /// Their couplings: unknown and weight.
    pub entries: Vec<(u32, f32)>,
}

impl Irregular {
    /// The row of an unknown, if it has one here.
    pub fn find(&self, index: u32) -> Option<&IrregularRow> {
        let place = self.rows.binary_search_by_key(&index, |row| row.index);
        place.ok().map(|place| &self.rows[place])
    }

    /// The couplings of a row.
    pub fn couplings(&self, row: &IrregularRow) -> &[(u32, f32)] {
        &self.entries[row.start as usize..row.end as usize]
    }

    /// Appends a row; `index` must exceed all before it.
    pub fn push(&mut self, index: u32, dirichlet: f32, couplings: &[(u32, f32)]) {
        let start = self.entries.len() as u32;
        let rounded = couplings.iter().map(|&(other, w)| (other, round(w)));
        self.entries.extend(rounded);
        let dirichlet = round(dirichlet);
        let entries = &self.entries[start as usize..];
        let sum: f32 = entries.iter().map(|&(_, w)| w).sum();
        self.rows.push(IrregularRow {
            index,
            start,
            end: self.entries.len() as u32,
            diagonal: sum + dirichlet,
            dirichlet,
        });
    }
}

/// An operator on a lattice, and the vectors a cycle needs there. Unknowns beyond the lattice,
/// the tails, follow the cells in every vector.
#[derive(Clone, Debug)]
pub struct Level<const D: usize> {
    /// The lattice.
    pub shape: Shape,
    /// The weight that couples neighbours in uniform blocks.
    pub weight: f32,
    /// What each block is.
    pub kind: Vec<u32>,
    /// Runs of blocks of one kind, in memory order.
    pub segments: Vec<Segment>,
    /// First segment of each plane, and one more.
    pub planes: Vec<u32>,
    /// Coefficients of the blocks that are not uniform.
    pub stream: Vec<Coefficients<D>>,
    /// What couples their cells to zero.
    pub dirichlet: Vec<Lanes>,
    /// Both as kernels read them.
    pub packed: Vec<Packed<D>>,
    /// Which of their cells hold an unknown.
    pub present: Vec<u8>,
    /// Blocks with a neighbour that is an unknown of the matrix but held at zero here.
    pub held: Vec<bool>,
    /// Rows that do not fit.
    pub irregular: Irregular,
    /// The lattice cell in which each tail lies, ascending.
    pub tails: Vec<u32>,
    /// The iterate.
    pub x: Vec<f32>,
    /// The right-hand side.
    pub b: Vec<f32>,
    /// Unknowns.
    pub unknowns: usize,
}

impl<const D: usize> Level<D> {
    /// A level without unknowns.
    pub fn empty(shape: Shape, weight: f32) -> Self {
        Level {
            shape,
            weight,
            kind: Vec::new(),
            segments: Vec::new(),
            planes: Vec::new(),
            stream: Vec::new(),
            dirichlet: Vec::new(),
            packed: Vec::new(),
            present: Vec::new(),
            held: Vec::new(),
            irregular: Irregular::default(),
            tails: Vec::new(),
            x: Vec::new(),
            b: Vec::new(),
            unknowns: 0,
        }
    }

    /// The diagonal of a uniform row.
    pub fn uniform_diagonal(&self) -> f32 {
        2.0 * D as f32 * self.weight
    }

    /// Lists the runs of blocks once their kinds are known, and sizes the vectors.
    pub fn finish(&mut self) {
        list_segments(
            &self.shape,
            &self.kind,
            &mut self.segments,
            &mut self.planes,
        );
        self.packed.clear();
        self.present.clear();
        for (rows, zeros) in self.stream.iter().zip(&self.dirichlet) {
            self.packed.push(Packed::new(rows, zeros));
            self.present.push(lanes_present(rows));
        }
        let len = self.shape.len + self.tails.len();
        for v in [&mut self.x, &mut self.b] {
            if v.len() != len {
                *v = vec![0.0; len];
            }
        }
    }

    /// Replaces a block of the stream.
    pub fn replace(&mut self, place: usize, rows: Coefficients<D>, zeros: Lanes) {
        self.packed[place] = Packed::new(&rows, &zeros);
        self.present[place] = lanes_present(&rows);
        self.stream[place] = rows;
        self.dirichlet[place] = zeros;
    }

    /// Segments of a plane.
    #[inline(always)]
    pub fn plane(&self, z: usize) -> &[Segment] {
        &self.segments[self.planes[z] as usize..self.planes[z + 1] as usize]
    }

    /// Active blocks.
    pub fn active_blocks(&self) -> usize {
        self.segments.iter().map(|s| s.blocks as usize).sum()
    }

    /// Whether there is an unknown at a lattice cell.
    #[inline]
    pub fn is_unknown(&self, index: usize) -> bool {
        // Ghosts: `at` wraps rows, so ask the padded column first.
        let at = self.shape.at(index);
        if at[0] >= self.shape.cells[0] || at[1] >= self.shape.cells[1] {
            return false;
        }
        match self.kind[self.shape.block_of(at)] {
            EMPTY => false,
            UNIFORM => true,
            place => self.stream[place as usize].diagonal[at[0] % BLOCK] > 0.0,
        }
    }

    /// Calls `f` with every coupling of an unknown, and returns what couples it to zero.
    #[inline]
    pub fn couplings(&self, index: u32, mut f: impl FnMut(u32, f32)) -> f32 {
        if index as usize >= self.shape.len {
            return self.irregular_couplings(index, f);
        }
        let at = self.shape.at(index as usize);
        let block = self.shape.block_of(at);
        let lane = at[0] % BLOCK;
        let mut zero = 0.0;
        match self.kind[block] {
            EMPTY => {}
            UNIFORM => {
                for axis in slots::<D>() {
                    let stride = self.shape.strides[axis] as u32;
                    f(index - stride, self.weight);
                    f(index + stride, self.weight);
                }
            }
            place => {
                let row = &self.stream[place as usize];
                if row.inverse[lane] == 0.0 && self.irregular.find(index).is_some() {
                    return self.irregular_couplings(index, f);
                }
                for (a, axis) in slots::<D>().into_iter().enumerate() {
                    let stride = self.shape.strides[axis] as u32;
                    if row.low[a][lane] > 0.0 {
                        f(index - stride, row.low[a][lane]);
                    }
                    if row.high[a][lane] > 0.0 {
                        f(index + stride, row.high[a][lane]);
                    }
                }
                zero = self.dirichlet[place as usize][lane];
            }
        }
        zero
    }

    /// As [`couplings`](Self::couplings), but couplings to unknowns that are held at zero count
    /// as couplings to zero.
    pub fn live_couplings(&self, index: u32, mut f: impl FnMut(u32, f32)) -> f32 {
        let masked = !self.held.is_empty();
        let mut to_held = 0.0;
        let zero = self.couplings(index, |other, weight| {
            if masked && !self.is_unknown(other as usize) {
                to_held += weight;
            } else {
                f(other, weight);
            }
        });
        zero + to_held
    }

    fn irregular_couplings(&self, index: u32, mut f: impl FnMut(u32, f32)) -> f32 {
        let Some(row) = self.irregular.find(index) else {
            return 0.0;
        };
        for &(other, weight) in self.irregular.couplings(row) {
            f(other, weight);
        }
        row.dirichlet
    }

    /// `(b − A x)` of one unknown.
    pub fn residual_at(&self, index: u32) -> f32 {
        let own = self.x[index as usize];
        let mut residual = self.b[index as usize];
        let zero = self.couplings(index, |other, weight| {
            residual += weight * (self.x[other as usize] - own);
        });
        residual - zero * own
    }
}

/// Runs of blocks of one kind in each row.
pub fn list_segments(
    shape: &Shape,
    kind: &[u32],
    segments: &mut Vec<Segment>,
    planes: &mut Vec<u32>,
) {
    segments.clear();
    planes.clear();
    planes.push(0);
    for z in 0..shape.cells[2] {
        for y in 0..shape.cells[1] {
            let first = shape.block_of([0, y, z]);
            let row = &kind[first..first + shape.row_blocks()];
            let mut block = 0;
            while block < row.len() {
                let start = block;
                if row[start] == EMPTY {
                    block += 1;
                    continue;
                }
                let uniform = row[start] == UNIFORM;
                while block < row.len() && row[block] != EMPTY && (row[block] == UNIFORM) == uniform
                {
                    block += 1;
                }
                segments.push(Segment {
                    index: shape.index([start * BLOCK, y, z]) as u32,
                    blocks: (block - start) as u32,
                    stream: row[start],
                    colour: ((y + z) & 1) as u32,
                });
            }
        }
        planes.push(segments.len() as u32);
    }
}
