//! One level: its rows, sorted into stretches that a kernel can run along.

use rayon::prelude::*;

use super::ground::{Fine, Ground};
use super::row::{Row, row};
use super::shape::{Shape, moved, others};
use crate::lattice::BLOCK;

/// The stream number of segments in the interior, whose rows are computed and not read.
pub const INTERIOR: u32 = u32::MAX;

/// In the table of blocks: no free face.
pub const NONE: u32 = u32::MAX - 1;

/// A stretch of blocks in a row of one component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Memory index of the first face.
    pub index: u32,
    /// Blocks.
    pub blocks: u32,
    /// The first entry in the stream, or [`INTERIOR`].
    pub stream: u32,
}

/// Eight rows as kernels read them; lanes without an unknown are all zero.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(32))]
pub struct Packed {
    /// Mass.
    pub mass: [f32; BLOCK],
    /// Weights of the low and the high cell.
    pub cell: [[f32; BLOCK]; 2],
    /// Weights of the low and the high edge along the other axes.
    pub edge: [[[f32; BLOCK]; 2]; 2],
    /// One over the [bound](Row::bound).
    pub inverse: [f32; BLOCK],
}

impl Packed {
    fn set(&mut self, lane: usize, row: &Row) {
        self.mass[lane] = row.mass;
        for side in 0..2 {
            self.cell[side][lane] = row.cell[side];
            for k in 0..2 {
                self.edge[k][side][lane] = row.edge[k][side];
            }
        }
        self.inverse[lane] = 1.0 / row.bound;
    }

    /// Whether the lane is an unknown.
    #[inline]
    pub fn is_free(&self, lane: usize) -> bool {
        self.inverse[lane] > 0.0
    }

    fn row(&self, lane: usize) -> Row {
        Row {
            mass: self.mass[lane],
            cell: self.cell.map(|c| c[lane]),
            edge: self.edge.map(|e| e.map(|e| e[lane])),
            bound: if self.is_free(lane) {
                1.0 / self.inverse[lane]
            } else {
                0.0
            },
        }
    }
}

/// The rows of one component.
#[derive(Clone, Debug, Default)]
pub struct Component {
    /// In memory order.
    pub segments: Vec<Segment>,
    /// Per plane, the first of its segments; one entry more than planes.
    pub planes: Vec<u32>,
    /// Rows of blocks near the border.
    pub stream: Vec<Packed>,
    /// Per block of the shape, its place in the stream, [`INTERIOR`] or [`NONE`].
    pub blocks: Vec<u32>,
}

impl Component {
    /// The segments of a plane.
    #[inline]
    pub fn in_plane(&self, z: usize) -> &[Segment] {
        &self.segments[self.planes[z] as usize..self.planes[z + 1] as usize]
    }
}

/// A level's operator.
#[derive(Clone, Debug)]
pub struct Level<const D: usize> {
    /// Layout.
    pub shape: Shape<D>,
    /// The stiffness of the interior if it is the same everywhere.
    pub stiffness: f32,
    /// The stiffness of cells otherwise, by memory index.
    pub graded: Option<Vec<f32>>,
    /// By axis.
    pub components: [Component; D],
    /// Free faces.
    pub unknowns: usize,
}

/// Bits by cell, rows in whole words with an empty word on either side.
struct Bits<const D: usize> {
    cells: [usize; D],
    words: usize,
    bits: Vec<u64>,
}

impl<const D: usize> Bits<D> {
    fn new(cells: [usize; D], is_set: impl Fn([i32; D]) -> bool + Sync) -> Self {
        let words = cells[0].div_ceil(64) + 2;
        let rows: usize = cells[1..].iter().product();
        let mut bits = vec![0u64; words * rows];
        let rows = bits.par_chunks_mut(words).with_min_len(16).enumerate();
        rows.for_each(|(r, row)| {
            let mut at = [0; D];
            let mut rest = r;
            for a in 1..D {
                at[a] = (rest % cells[a]) as i32;
                rest /= cells[a];
            }
            for x in 0..cells[0] {
                at[0] = x as i32;
                row[1 + x / 64] |= u64::from(is_set(at)) << (x % 64);
            }
        });
        Bits { cells, words, bits }
    }

    /// The words of a row, if it is in the lattice.
    fn row(&self, at: [i32; D]) -> Option<&[u64]> {
        let mut r = 0;
        for a in (1..D).rev() {
            if at[a] < 0 || at[a] >= self.cells[a] as i32 {
                return None;
            }
            r = r * self.cells[a] + at[a] as usize;
        }
        Some(&self.bits[r * self.words..][..self.words])
    }

    /// The bits of cells `x − 1 ..= x + 8` of a row that block borders cut at `x`, lowest first.
    fn around(&self, at: [i32; D], x: usize) -> u64 {
        let Some(row) = self.row(at) else { return 0 };
        let (word, bit) = (1 + x / 64, x % 64);
        if word >= row.len() {
            return 0;
        }
        let below = if bit == 0 {
            row[word - 1] >> 63
        } else {
            row[word] >> (bit - 1) & 1
        };
        let above = if bit + 8 < 64 {
            row[word] >> (bit + 8) & 1
        } else if word + 1 < row.len() {
            row[word + 1] & 1
        } else {
            0
        };
        below | (row[word] >> bit & 0xff) << 1 | above << 9
    }

    /// Cells whose neighbours, corners included, are all set, or any of them is.
    fn spread(&self, all: bool) -> Bits<D> {
        let mut bits = vec![0u64; self.bits.len()];
        let join = |a: u64, b: u64| if all { a & b } else { a | b };
        let rows = bits.par_chunks_mut(self.words).with_min_len(16).enumerate();
        rows.for_each(|(r, out)| {
            let mut at = [0; D];
            let mut rest = r;
            for a in 1..D {
                at[a] = (rest % self.cells[a]) as i32;
                rest /= self.cells[a];
            }
            for w in 1..self.words - 1 {
                let mut joined = if all { u64::MAX } else { 0 };
                for k in 0..3usize.pow(D as u32 - 1) {
                    let mut beside = at;
                    beside[1] += (k % 3) as i32 - 1;
                    if D == 3 {
                        beside[D - 1] += (k / 3) as i32 - 1;
                    }
                    let Some(row) = self.row(beside) else {
                        joined = join(joined, 0);
                        continue;
                    };
                    let left = row[w] << 1 | row[w - 1] >> 63;
                    let right = row[w] >> 1 | row[w + 1] << 63;
                    joined = join(joined, join(row[w], join(left, right)));
                }
                out[w] = joined;
            }
        });
        Bits {
            cells: self.cells,
            words: self.words,
            bits,
        }
    }
}

/// What one plane of one component is made of.
#[derive(Default)]
struct Plane {
    segments: Vec<Segment>,
    stream: Vec<Packed>,
    unknowns: usize,
}

/// Which faces are worth a look.
struct Sieve<const D: usize> {
    /// Cells whose surroundings are full and free.
    deep: Bits<D>,
    /// Cells beside something.
    near: Bits<D>,
}

impl<const D: usize> Sieve<D> {
    /// Which of the eight faces from `at` are in the interior.
    fn interior(&self, axis: usize, at: [i32; D]) -> u64 {
        let x = at[0] as usize;
        let own = self.deep.around(at, x);
        let low = if axis == 0 {
            own << 1
        } else {
            self.deep.around(moved(at, axis, -1), x)
        };
        (own & low) >> 1 & 0xff
    }

    /// The faces of the eight from `at` that may be free.
    fn candidates(&self, axis: usize, at: [i32; D]) -> u64 {
        let x = at[0] as usize;
        let own = self.near.around(at, x);
        // A face is beside its cells and beside what its edges touch.
        let low = if axis == 0 {
            own << 1
        } else {
            self.near.around(moved(at, axis, -1), x)
        };
        ((own | low | own << 1) >> 1) & 0xff
    }
}

impl<const D: usize> Level<D> {
    /// Builds the rows of all faces.
    pub fn new(
        shape: Shape<D>,
        ground: &(impl Ground<D> + Fine<D>),
        stiffness: f32,
        graded: Option<Vec<f32>>,
    ) -> Self {
        let sieve = Sieve {
            deep: Bits::new(shape.cells, |at| ground.is_plain(at)).spread(true),
            near: Bits::new(shape.cells, |at| ground.is_there(at)).spread(false),
        };
        let inside = Inside {
            shape: &shape,
            stiffness,
            graded: graded.as_deref(),
        };
        let parts = std::array::from_fn(|axis| {
            component(&shape, |at| {
                let interior = sieve.interior(axis, at);
                (interior != 0xff).then(|| {
                    let faces = sieve.candidates(axis, at);
                    pack(ground, &inside, axis, at, [faces, interior])
                })
            })
        });
        Level::join(shape, stiffness, graded, parts)
    }

    /// A level whose rows are known: those that the stiffness explains are computed, the others
    /// are kept.
    pub fn from_rows(
        shape: Shape<D>,
        stiffness: f32,
        graded: Option<Vec<f32>>,
        row: impl Fn(usize, usize) -> Row + Sync,
    ) -> Self {
        let inside = Inside {
            shape: &shape,
            stiffness,
            graded: graded.as_deref(),
        };
        let parts = std::array::from_fn(|axis| {
            component(&shape, |at| {
                let first = shape.index(at);
                let (mut packed, mut count, mut alike) = (Packed::default(), 0, true);
                for lane in 0..BLOCK {
                    let row = row(axis, first + lane);
                    alike &= row.is_free() && row == inside.row(axis, first + lane);
                    if row.is_free() {
                        packed.set(lane, &row);
                        count += 1;
                    }
                }
                (!alike).then_some((packed, count))
            })
        });
        Level::join(shape, stiffness, graded, parts)
    }

    fn join(
        shape: Shape<D>,
        stiffness: f32,
        graded: Option<Vec<f32>>,
        parts: [(Component, usize); D],
    ) -> Self {
        Level {
            shape,
            stiffness,
            graded,
            unknowns: parts.iter().map(|part| part.1).sum(),
            components: parts.map(|part| part.0),
        }
    }

    /// The row of the face at a memory index.
    pub fn row(&self, axis: usize, index: usize) -> Row {
        let component = &self.components[axis];
        match component.blocks[self.shape.block(index)] {
            NONE => Row::default(),
            INTERIOR => self.inside().row(axis, index),
            place => component.stream[place as usize].row(index % BLOCK),
        }
    }

    fn inside(&self) -> Inside<'_, D> {
        Inside {
            shape: &self.shape,
            stiffness: self.stiffness,
            graded: self.graded.as_deref(),
        }
    }

    /// Whether the face at a memory index is an unknown.
    #[inline]
    pub fn is_free(&self, axis: usize, index: usize) -> bool {
        let component = &self.components[axis];
        match component.blocks[self.shape.block(index)] {
            NONE => false,
            INTERIOR => true,
            place => component.stream[place as usize].is_free(index % BLOCK),
        }
    }

    /// The memory index of every free face of a component, in order.
    pub fn free_faces(&self, axis: usize) -> impl Iterator<Item = usize> + '_ {
        let component = &self.components[axis];
        component.segments.iter().flat_map(move |s| {
            (0..s.blocks as usize * BLOCK)
                .filter(move |&k| {
                    s.stream == INTERIOR
                        || component.stream[s.stream as usize + k / BLOCK].is_free(k % BLOCK)
                })
                .map(move |k| s.index as usize + k)
        })
    }
}

/// The interior of a level.
struct Inside<'a, const D: usize> {
    shape: &'a Shape<D>,
    stiffness: f32,
    graded: Option<&'a [f32]>,
}

impl<const D: usize> Inside<'_, D> {
    /// The row of a face at a memory index.
    fn row(&self, axis: usize, index: usize) -> Row {
        let strides = self.shape.strides;
        let at = |i: usize| self.graded.map_or(self.stiffness, |k| k[i]);
        let low = index - strides[axis];
        let mut row = Row {
            mass: 1.0,
            cell: [2.0 * at(low), 2.0 * at(index)],
            ..Row::default()
        };
        for (k, &b) in others::<D>(axis)[..D - 1].iter().enumerate() {
            let s = strides[b];
            let mean = |i: usize| {
                let l = i - strides[axis];
                0.25 * ((at(i) + at(l - s)) + (at(l) + at(i - s)))
            };
            row.edge[k] = [mean(index), mean(index + s)];
        }
        row.bound = interior_bound::<D>(&row);
        row
    }
}

/// The bound of a row whose samples have only free faces.
#[inline]
fn interior_bound<const D: usize>(row: &Row) -> f32 {
    let mut bound = row.mass + 2.0 * (row.cell[0] + row.cell[1]);
    for k in 0..D - 1 {
        bound += 4.0 * (row.edge[k][0] + row.edge[k][1]);
    }
    bound
}

/// A component and its free faces. `block` gives the rows of the eight faces from a point and how
/// many of them are free, or `None` if all are in the interior.
fn component<const D: usize>(
    shape: &Shape<D>,
    block: impl Fn([i32; D]) -> Option<(Packed, usize)> + Sync,
) -> (Component, usize) {
    let planes: Vec<Plane> = (0..shape.planes())
        .into_par_iter()
        .map(|z| plane(shape, z, &block))
        .collect();
    let mut component = Component {
        blocks: vec![NONE; shape.block_count()],
        planes: vec![0],
        ..Component::default()
    };
    let mut unknowns = 0;
    for plane in planes {
        let first = component.stream.len() as u32;
        for mut segment in plane.segments {
            let block = shape.block(segment.index as usize);
            if segment.stream != INTERIOR {
                segment.stream += first;
            }
            for k in 0..segment.blocks {
                component.blocks[block + k as usize] = match segment.stream {
                    INTERIOR => INTERIOR,
                    place => place + k,
                };
            }
            component.segments.push(segment);
        }
        component.stream.extend(plane.stream);
        component.planes.push(component.segments.len() as u32);
        unknowns += plane.unknowns;
    }
    (component, unknowns)
}

fn plane<const D: usize>(
    shape: &Shape<D>,
    z: usize,
    block: &impl Fn([i32; D]) -> Option<(Packed, usize)>,
) -> Plane {
    let mut plane = Plane::default();
    for r in 0..shape.plane_rows() {
        let mut at = shape.row_at(z, r);
        for b in 0..shape.row_blocks() {
            at[0] = (b * BLOCK) as i32;
            let index = shape.index(at) as u32;
            let next = plane.stream.len() as u32;
            let stream = match block(at) {
                None => {
                    plane.unknowns += BLOCK;
                    INTERIOR
                }
                Some((_, 0)) => continue,
                Some((packed, count)) => {
                    plane.stream.push(packed);
                    plane.unknowns += count;
                    next
                }
            };
            extend(&mut plane.segments, index, stream, b > 0);
        }
    }
    plane
}

/// The rows of eight faces and how many of them are free, given which may be and which are in the
/// interior.
fn pack<const D: usize>(
    ground: &impl Ground<D>,
    inside: &Inside<'_, D>,
    axis: usize,
    at: [i32; D],
    [faces, interior]: [u64; 2],
) -> (Packed, usize) {
    let mut packed = Packed::default();
    let mut count = 0;
    for lane in (0..BLOCK).filter(|lane| faces >> lane & 1 == 1) {
        let face = moved(at, 0, lane as i32);
        let row = if interior >> lane & 1 == 1 {
            inside.row(axis, inside.shape.index(face))
        } else {
            row(ground, axis, face)
        };
        if row.is_free() {
            packed.set(lane, &row);
            count += 1;
        }
    }
    (packed, count)
}

/// Adds a block to the last segment if it goes on there, or begins another, as every row does.
fn extend(segments: &mut Vec<Segment>, index: u32, stream: u32, in_row: bool) {
    if let Some(last) = segments.last_mut().filter(|_| in_row) {
        let adjacent = last.index + last.blocks * BLOCK as u32 == index;
        let alike = (last.stream == INTERIOR) == (stream == INTERIOR);
        if adjacent && alike {
            last.blocks += 1;
            return;
        }
    }
    segments.push(Segment {
        index,
        blocks: 1,
        stream,
    });
}
