//! The operator as it is given: double precision, uniform blocks without coefficients.

use rayon::prelude::*;

use super::level::{Coefficients, EMPTY, Lanes, Level, Segment, UNIFORM, list_segments};
use super::shape::{BLOCK, Shape, slots};

/// One `f64` per cell of a block.
pub type Wide = [f64; BLOCK];

/// The rows of one block as the caller states them: couplings `w ≥ 0` to the neighbours (the
/// matrix has `−w`) and the diagonal.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(32))]
pub struct BlockRows<const D: usize> {
    /// Coupling to the neighbour on the low side of each axis.
    pub low: [Wide; D],
    /// Coupling to the neighbour on the high side.
    pub high: [Wide; D],
    /// The diagonal; zero where there is no unknown.
    pub diagonal: Wide,
    /// Bits of the lanes that hold an unknown.
    pub unknown: u8,
    /// Bits of the lanes whose unknown may not be negative.
    pub constrained: u8,
}

impl<const D: usize> BlockRows<D> {
    /// No unknown.
    pub const NONE: Self = BlockRows {
        low: [[0.0; BLOCK]; D],
        high: [[0.0; BLOCK]; D],
        diagonal: [0.0; BLOCK],
        unknown: 0,
        constrained: 0,
    };

    /// Whether all rows are the uniform one, and none is constrained.
    fn is_uniform(&self, weight: f64) -> bool {
        let full = 2.0 * D as f64 * weight;
        self.unknown == u8::MAX
            && self.constrained == 0
            && (0..BLOCK).all(|l| {
                (self.diagonal[l] - full).abs() <= 1e-12 * full
                    && (0..D).all(|a| self.low[a][l] == weight && self.high[a][l] == weight)
            })
    }

    /// What couples a lane to zero: by how much its diagonal exceeds its couplings.
    fn excess(&self, lane: usize) -> f64 {
        let mut excess = self.diagonal[lane];
        for a in 0..D {
            excess -= self.low[a][lane] + self.high[a][lane];
        }
        // What rounding leaves of a sum that should vanish must not tie a wall to zero.
        if excess > 1e-10 * self.diagonal[lane] {
            excess
        } else {
            0.0
        }
    }

    /// Whether a lane is coupled to zero.
    pub(super) fn is_tied(&self, lane: usize) -> bool {
        self.excess(lane) > 0.0
    }

    /// The rows in single precision and in units of `weight`, those in `separated` left out.
    pub fn single(&self, weight: f64, separated: u8) -> (Coefficients<D>, Lanes) {
        let mut block = Coefficients::NONE;
        let mut zeros = [0.0; BLOCK];
        for l in (0..BLOCK).filter(|l| (self.unknown & !separated) >> l & 1 == 1) {
            for a in 0..D {
                block.low[a][l] = (self.low[a][l] / weight) as f32;
                block.high[a][l] = (self.high[a][l] / weight) as f32;
            }
            zeros[l] = (self.excess(l) / weight) as f32;
            block.close(l, &mut zeros[l]);
        }
        (block, zeros)
    }
}

/// A symmetric M-matrix with a 5-point or 7-point stencil on the cells of a lattice.
#[derive(Clone, Debug)]
pub struct LatticeMatrix<const D: usize> {
    /// The lattice.
    pub shape: Shape,
    /// The weight of uniform rows.
    pub weight: f64,
    /// What each block is.
    pub kind: Vec<u32>,
    /// Runs of blocks of one kind.
    pub segments: Vec<Segment>,
    /// First segment of each plane, and one more.
    pub planes: Vec<u32>,
    /// The blocks that are not uniform.
    pub rows: Vec<BlockRows<D>>,
    /// Unknowns.
    pub unknowns: usize,
}

impl<const D: usize> LatticeMatrix<D> {
    /// A matrix without unknowns.
    pub fn empty() -> Self {
        LatticeMatrix {
            shape: Shape::new([1; D]).expect("one cell is a lattice"),
            weight: 1.0,
            kind: vec![EMPTY],
            segments: Vec::new(),
            planes: vec![0, 0],
            rows: Vec::new(),
            unknowns: 0,
        }
    }

    /// Builds the matrix: `fill` states the rows of the block whose first cell is given, by
    /// coordinates along the `D` axes, and returns whether there is any unknown in it. Blocks
    /// whose rows all have the given weight are stored as such.
    pub fn assemble(
        &mut self,
        shape: Shape,
        weight: f64,
        fill: impl Fn([usize; D], &mut BlockRows<D>) -> bool + Sync,
    ) {
        (self.shape, self.weight) = (shape, weight);
        let per_plane: Vec<(Vec<u32>, Vec<BlockRows<D>>, usize)> = (0..shape.cells[2])
            .into_par_iter()
            .map(|z| assemble_plane(&shape, weight, z, &fill))
            .collect();
        self.kind.clear();
        self.rows.clear();
        self.unknowns = 0;
        for (kind, rows, unknowns) in per_plane {
            let base = self.rows.len() as u32;
            let place = |k: u32| if k >= UNIFORM { k } else { k + base };
            self.kind.extend(kind.into_iter().map(place));
            self.rows.extend(rows);
            self.unknowns += unknowns;
        }
        list_segments(&shape, &self.kind, &mut self.segments, &mut self.planes);
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

    /// The finest level of a hierarchy, nothing separated: the matrix over its weight, so that
    /// uniform couplings are one and round to themselves on every level.
    pub fn finest(&self, level: &mut Level<D>) {
        level.shape = self.shape;
        level.weight = 1.0;
        level.kind.clone_from(&self.kind);
        level.stream.clear();
        level.dirichlet.clear();
        level.held.clear();
        let single = |rows: &BlockRows<D>| rows.single(self.weight, 0);
        let blocks = self.rows.par_iter().with_min_len(512).map(single);
        blocks.unzip_into_vecs(&mut level.stream, &mut level.dirichlet);
        level.unknowns = self.unknowns;
        level.finish();
    }

    /// `(A x)` of one cell in a block that is not uniform.
    pub fn row_dot(&self, place: usize, index: usize, lane: usize, x: &[f64]) -> f64 {
        let rows = &self.rows[place];
        let mut sum = rows.diagonal[lane] * x[index];
        for (a, axis) in slots::<D>().into_iter().enumerate() {
            let stride = self.shape.strides[axis];
            sum -= rows.low[a][lane] * x[index - stride] + rows.high[a][lane] * x[index + stride];
        }
        sum
    }
}

fn assemble_plane<const D: usize>(
    shape: &Shape,
    weight: f64,
    z: usize,
    fill: &(impl Fn([usize; D], &mut BlockRows<D>) -> bool + Sync),
) -> (Vec<u32>, Vec<BlockRows<D>>, usize) {
    let mut kind = vec![EMPTY; shape.plane_blocks()];
    let (mut rows, mut unknowns) = (Vec::new(), 0);
    let mut block = BlockRows::NONE;
    for local in 0..kind.len() {
        let start = shape.block_start(z * shape.plane_blocks() + local);
        block = BlockRows {
            unknown: 0,
            constrained: 0,
            ..block
        };
        if !fill(slots::<D>().map(|axis| start[axis]), &mut block) {
            continue;
        }
        unknowns += block.unknown.count_ones() as usize;
        if block.is_uniform(weight) {
            kind[local] = UNIFORM;
        } else {
            kind[local] = rows.len() as u32;
            rows.push(block);
        }
    }
    (kind, rows, unknowns)
}
