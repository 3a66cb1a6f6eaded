//! One level: its rows, sorted into stretches that a kernel can run along.

use rayon::prelude::*;

use super::csr::couplings;
use super::ground::{Fine, Ground};
use super::row::{Row, row};
use super::samples::Samples;
use super::shape::{Shape, moved, others};
use super::sieve::Sieve;
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
    /// Lanes of the stream whose rows are those of the interior all the same.
    pub interior: Vec<u8>,
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

/// What one plane of one component is made of.
#[derive(Default)]
struct Plane {
    segments: Vec<Segment>,
    stream: Vec<Packed>,
    interior: Vec<u8>,
    unknowns: usize,
}

impl<const D: usize> Level<D> {
    /// Builds the rows of all faces.
    pub fn new(
        shape: Shape<D>,
        ground: &(impl Ground<D> + Fine<D>),
        stiffness: f32,
        graded: Option<Vec<f32>>,
    ) -> Self {
        let sieve = Sieve::new(shape.cells, ground);
        let samples = sieve.samples(shape.cells, ground);
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
                    pack(ground, &samples, &inside, axis, at, [faces, interior])
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
                let mut eight = Eight::default();
                for lane in 0..BLOCK {
                    let row = row(axis, first + lane);
                    if row.is_free() {
                        eight.set(lane, &row, row == inside.row(axis, first + lane));
                    }
                }
                (eight.interior != u8::MAX).then_some(eight)
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

    /// Whether the face at a memory index has a row of the interior.
    #[inline]
    pub fn is_interior(&self, axis: usize, index: usize) -> bool {
        let component = &self.components[axis];
        match component.blocks[self.shape.block(index)] {
            NONE => false,
            INTERIOR => true,
            place => component.interior[place as usize] >> (index % BLOCK) & 1 == 1,
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

    /// Calls `visit(memory index, mass)` for every free face of a plane of a component.
    #[inline]
    pub fn each_free(&self, axis: usize, z: usize, mut visit: impl FnMut(usize, f32)) {
        let component = &self.components[axis];
        for segment in component.in_plane(z) {
            let first = segment.index as usize;
            for k in 0..segment.blocks as usize * BLOCK {
                if segment.stream == INTERIOR {
                    visit(first + k, 1.0);
                    continue;
                }
                let packed = &component.stream[segment.stream as usize + k / BLOCK];
                if packed.is_free(k % BLOCK) {
                    visit(first + k, packed.mass[k % BLOCK]);
                }
            }
        }
    }

    /// The held faces that free ones couple with: component and memory index, some of them more
    /// than once.
    pub fn held_beside_free(&self) -> Vec<(usize, usize)> {
        let planes = (0..self.shape.planes() * D).into_par_iter();
        let of_plane = |k: usize| {
            let (axis, mut held) = (k % D, Vec::new());
            self.each_free(axis, k / D, |index, _| {
                if self.is_interior(axis, index) {
                    return;
                }
                couplings(self, axis, index, |a, i, weight| {
                    if weight != 0.0 && !self.is_free(a, i) {
                        held.push((a, i));
                    }
                });
            });
            held
        };
        planes.with_min_len(8).flat_map_iter(of_plane).collect()
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

/// A component and its free faces. `block` gives the rows of the eight faces from a point, or
/// `None` if all are in the interior.
fn component<const D: usize>(
    shape: &Shape<D>,
    block: impl Fn([i32; D]) -> Option<Eight> + Sync,
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
        component.interior.extend(plane.interior);
        component.planes.push(component.segments.len() as u32);
        unknowns += plane.unknowns;
    }
    (component, unknowns)
}

fn plane<const D: usize>(
    shape: &Shape<D>,
    z: usize,
    block: &impl Fn([i32; D]) -> Option<Eight>,
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
                Some(eight) if eight.count == 0 => continue,
                Some(eight) => {
                    plane.stream.push(eight.packed);
                    plane.interior.push(eight.interior);
                    plane.unknowns += eight.count;
                    next
                }
            };
            extend(&mut plane.segments, index, stream, b > 0);
        }
    }
    plane
}

/// The rows of eight faces.
#[derive(Default)]
struct Eight {
    packed: Packed,
    /// How many of them are free.
    count: usize,
    /// Those whose rows are of the interior.
    interior: u8,
}

impl Eight {
    fn set(&mut self, lane: usize, row: &Row, interior: bool) {
        self.packed.set(lane, row);
        self.count += 1;
        self.interior |= u8::from(interior) << lane;
    }
}

/// The rows of the eight faces from `at`, given which may be free and which are in the interior.
fn pack<const D: usize>(
    ground: &impl Ground<D>,
    samples: &Samples<D>,
    inside: &Inside<'_, D>,
    axis: usize,
    at: [i32; D],
    [faces, interior]: [u64; 2],
) -> Eight {
    let mut eight = Eight::default();
    for lane in (0..BLOCK).filter(|lane| faces >> lane & 1 == 1) {
        let face = moved(at, 0, lane as i32);
        let is_interior = interior >> lane & 1 == 1;
        let row = if is_interior {
            inside.row(axis, inside.shape.index(face))
        } else {
            row(ground, samples, axis, face)
        };
        if row.is_free() {
            eight.set(lane, &row, is_interior);
        }
    }
    eight
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
