//! The rows of one component, sorted into stretches that a kernel can run along.

use rayon::prelude::*;

use super::pieces::in_pieces;
use super::row::Row;
use super::samples::{Samples, Weight, pair_of};
use super::shape::{Shape, moved, others};
use crate::lattice::BLOCK;

/// In the table of blocks: no free face. Zero, so that the table costs nothing where there is none.
pub const NONE: u32 = 0;

/// In the table of blocks: all rows are those of the interior, which are computed and not read.
pub const INTERIOR: u32 = 1;

/// In the table of blocks: this and the place of its rows.
pub const ROWS: u32 = 2;

/// A stretch of blocks in a row of one component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Memory index of the first face.
    pub index: u32,
    /// Blocks.
    pub blocks: u32,
    /// Whether their rows are those of the interior.
    pub is_interior: bool,
}

impl Segment {
    /// The memory index of the first face of each block.
    pub fn each_block(&self) -> impl Iterator<Item = usize> + use<> {
        let first = self.index as usize;
        (0..self.blocks as usize).map(move |k| first + k * BLOCK)
    }
}

/// Eight rows as kernels read them; lanes without an unknown are all zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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

    /// The row of a lane.
    pub fn row(&self, lane: usize) -> Row {
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
    /// Rows of blocks near the border. Blocks along a wall share theirs.
    pub rows: Vec<Packed>,
    /// Lanes of those blocks whose rows are those of the interior all the same.
    pub interior: Vec<u8>,
    /// Lanes of those blocks that share a sample with a held face.
    pub beside: Vec<u8>,
    /// What coarser levels take of the faces of those blocks.
    pub anchors: Vec<Anchors>,
    /// Per block of the shape [`NONE`], [`INTERIOR`], or [`ROWS`] and the place of its rows.
    pub blocks: Vec<u32>,
}

impl Component {
    /// Builds the rows, and counts the free faces. `each_block` visits the blocks of a row that may have
    /// any, in order and by their first face; `block` says what the eight faces from there are, and
    /// writes their rows if they have any of their own.
    pub fn new<const D: usize>(
        shape: &Shape<D>,
        each_block: impl Fn([i32; D], &mut dyn FnMut([i32; D])) + Sync,
        block: impl Fn([i32; D], &mut Eight) -> Found + Sync,
    ) -> (Self, usize) {
        let planes: Vec<Plane> = (0..shape.planes())
            .into_par_iter()
            .map(|z| Plane::new(shape, z, &each_block, &block))
            .collect();
        let unknowns = planes.iter().map(|plane| plane.unknowns).sum();
        (Component::join(shape, &planes), unknowns)
    }

    fn join<const D: usize>(shape: &Shape<D>, planes: &[Plane]) -> Self {
        let starts = |count: fn(&Plane) -> usize| {
            let mut start = 0;
            let ends = planes.iter().map(move |plane| {
                start += count(plane) as u32;
                start
            });
            std::iter::once(0).chain(ends).collect::<Vec<u32>>()
        };
        let first_rows = starts(|plane| plane.rows.len());
        let mut blocks = vec![NONE; shape.block_count()];
        let in_plane = shape.block(shape.strides[D - 1]);
        blocks[shape.block(shape.origin)..]
            .par_chunks_mut(in_plane)
            .zip(planes)
            .enumerate()
            .for_each(|(z, (blocks, plane))| {
                let first = shape.block(shape.origin) + z * in_plane;
                plane.place_blocks(first_rows[z], first, blocks);
            });
        Component {
            planes: starts(|plane| plane.segments.len()),
            segments: joined(planes, |plane| &plane.segments),
            rows: joined(planes, |plane| &plane.rows),
            interior: joined(planes, |plane| &plane.interior),
            beside: joined(planes, |plane| &plane.beside),
            anchors: joined(planes, |plane| &plane.anchors),
            blocks,
        }
    }

    /// The segments of a plane.
    #[inline]
    pub fn in_plane(&self, z: usize) -> &[Segment] {
        &self.segments[self.planes[z] as usize..self.planes[z + 1] as usize]
    }

    /// The rows of a block that is neither of the interior nor without free faces.
    #[inline]
    pub fn packed(&self, block: usize) -> Option<&Packed> {
        let place = self.blocks[block].checked_sub(ROWS)?;
        Some(&self.rows[place as usize])
    }

    /// The lanes of the block at a memory index that share a sample with a held face.
    #[inline]
    pub fn beside_held(&self, index: usize) -> u8 {
        let place = self.blocks[index / BLOCK].checked_sub(ROWS);
        place.map_or(0, |place| self.beside[place as usize])
    }

    /// Whether the face at a memory index is an unknown.
    #[inline]
    pub fn is_free(&self, index: usize) -> bool {
        match self.blocks[index / BLOCK] {
            NONE => false,
            INTERIOR => true,
            place => self.rows[(place - ROWS) as usize].is_free(index % BLOCK),
        }
    }
}

/// What all planes have of something, one after the other.
fn joined<T: Copy + Send + Sync>(planes: &[Plane], part: fn(&Plane) -> &[T]) -> Vec<T> {
    let lengths: Vec<usize> = planes.iter().map(|plane| part(plane).len()).collect();
    in_pieces(&lengths, |k, piece| {
        piece.extend_from_slice(part(&planes[k]))
    })
}

/// What one plane of one component is made of.
#[derive(Default)]
struct Plane {
    segments: Vec<Segment>,
    /// Of the blocks of segments not in the interior, the place of their rows.
    places: Vec<u32>,
    rows: Vec<Packed>,
    interior: Vec<u8>,
    beside: Vec<u8>,
    anchors: Vec<Anchors>,
    unknowns: usize,
}

impl Plane {
    fn new<const D: usize>(
        shape: &Shape<D>,
        z: usize,
        each_block: &impl Fn([i32; D], &mut dyn FnMut([i32; D])),
        block: &impl Fn([i32; D], &mut Eight) -> Found,
    ) -> Self {
        let mut plane = Plane::default();
        let mut eight = Eight::default();
        // By column of blocks, the place of the rows found there last.
        let mut last = vec![None; shape.row_blocks()];
        for r in 0..shape.plane_rows() {
            each_block(shape.row_at(z, r), &mut |at| {
                let (b, index) = (at[0] as usize / BLOCK, shape.index(at) as u32);
                match block(at, &mut eight) {
                    Found::Nothing => {}
                    Found::Interior => {
                        plane.unknowns += BLOCK;
                        plane.extend(index, true, b > 0);
                    }
                    Found::Rows => {
                        let before = plane.places.last().copied();
                        let place = plane.place(&eight, [before, last[b]]);
                        last[b] = Some(place);
                        plane.places.push(place);
                        plane.unknowns += eight.count;
                        plane.extend(index, false, b > 0);
                    }
                }
            });
        }
        plane
    }

    /// Fills its part of the table of blocks, which begins at block `first`, given where its rows
    /// begin among those of the component.
    fn place_blocks(&self, first_row: u32, first: usize, table: &mut [u32]) {
        let mut places = self.places.iter();
        for segment in &self.segments {
            let blocks = &mut table[segment.index as usize / BLOCK - first..];
            let blocks = &mut blocks[..segment.blocks as usize];
            if segment.is_interior {
                blocks.fill(INTERIOR);
                continue;
            }
            for (block, place) in blocks.iter_mut().zip(&mut places) {
                *block = ROWS + first_row + place;
            }
        }
    }

    /// The place of rows: that of one of the `others` if they are the same, or one of their own.
    fn place(&mut self, eight: &Eight, others: [Option<u32>; 2]) -> u32 {
        let same = others.into_iter().flatten().find(|&place| {
            let rows = self.rows.get(place as usize);
            let place = place as usize;
            rows == Some(&eight.packed)
                && self.interior[place] == eight.interior
                && self.beside[place] == eight.beside
                && self.anchors[place] == eight.anchors
        });
        same.unwrap_or_else(|| {
            self.rows.push(eight.packed);
            self.interior.push(eight.interior);
            self.beside.push(eight.beside);
            self.anchors.push(eight.anchors);
            self.rows.len() as u32 - 1
        })
    }

    /// Adds a block to the last segment if it goes on there, or begins another, as every row does.
    fn extend(&mut self, index: u32, is_interior: bool, in_row: bool) {
        if let Some(last) = self.segments.last_mut().filter(|_| in_row) {
            let adjacent = last.index + last.blocks * BLOCK as u32 == index;
            if adjacent && last.is_interior == is_interior {
                last.blocks += 1;
                return;
            }
        }
        self.segments.push(Segment {
            index,
            blocks: 1,
            is_interior,
        });
    }
}

/// What eight faces are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// None is free.
    Nothing,
    /// All are in the interior.
    Interior,
    /// Some are free, and have rows of their own.
    Rows,
}

/// The rows of eight faces.
#[derive(Default)]
pub struct Eight {
    packed: Packed,
    /// How many of them are free.
    count: usize,
    /// Those whose rows are of the interior.
    interior: u8,
    /// Those that share a sample with a held face.
    beside: u8,
    anchors: Anchors,
}

/// What keeps eight faces where they are even if all others move with them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Anchors {
    /// Mass.
    pub mass: [f32; BLOCK],
    /// What ties them to walls.
    pub spring: [f32; BLOCK],
}

impl Eight {
    /// Nothing, in place of what was there.
    pub fn clear(&mut self) {
        *self = Eight::default();
    }

    /// Adds the rows of those of the eight faces from `at` whose bits are set, near the border.
    pub fn add<const D: usize>(
        &mut self,
        samples: &Samples<D>,
        axis: usize,
        at: [i32; D],
        faces: u64,
    ) {
        let own = samples.run(at);
        let mut free = 0;
        let Eight {
            packed, anchors, ..
        } = self;
        own.each(faces, |lane, place| {
            free |= u64::from(place.held >> axis & 1 == 0) << lane;
            anchors.mass[lane] = place.mass[axis];
            anchors.spring[lane] = place.spring[axis];
        });
        let mut bounds = Bounds::default();
        let low = samples.run(moved(at, axis, -1));
        for (side, run) in [&low, &own].into_iter().enumerate() {
            let weights = &mut packed.cell[side];
            run.each(free, |lane, place| {
                // The other face of the cell on the low side is its low one.
                bounds.set(side, lane, place.cell[axis], side, weights);
            });
        }
        for (k, &b) in others::<D>(axis)[..D - 1].iter().enumerate() {
            let high = samples.run(moved(at, b, 1));
            // The next face of the same axis, by its bit in the sample.
            let first = if axis < b { 0 } else { 2 };
            for (side, run) in [&own, &high].into_iter().enumerate() {
                let weights = &mut packed.edge[k][side];
                run.each(free, |lane, place| {
                    let edge = place.edge[pair_of(axis, b)];
                    bounds.set(2 + 2 * k + side, lane, edge, first + side, weights);
                });
            }
        }
        self.complete(free, &bounds);
    }

    /// Masses and bounds, given those of the samples. On coarse levels, which have no walls, what ties
    /// faces to them is part of their mass.
    fn complete(&mut self, free: u64, bounds: &Bounds) {
        let Packed { mass, inverse, .. } = &mut self.packed;
        let anchors = &mut self.anchors;
        for lane in 0..BLOCK {
            if free >> lane & 1 == 0 {
                (anchors.mass[lane], anchors.spring[lane]) = (0.0, 0.0);
                continue;
            }
            mass[lane] = anchors.mass[lane] + anchors.spring[lane];
            anchors.spring[lane] += bounds.springs[lane];
            let bound = bounds.total(lane) + mass[lane];
            inverse[lane] = if bound > 0.0 { 1.0 / bound } else { 0.0 };
            self.count += usize::from(inverse[lane] > 0.0);
            self.beside |= u8::from(inverse[lane] > 0.0) << lane & bounds.beside;
        }
    }

    /// Sets the row of a lane that had none, its [anchors](Anchors), mass first, and whether it is
    /// one of the interior.
    pub fn set(&mut self, lane: usize, row: &Row, [mass, spring]: [f32; 2], interior: bool) {
        self.packed.set(lane, row);
        self.anchors.mass[lane] = mass;
        self.anchors.spring[lane] = spring;
        self.count += 1;
        self.interior |= u8::from(interior) << lane;
    }

    /// What these are.
    pub fn found(&self) -> Found {
        match (self.count, self.interior) {
            (0, _) => Found::Nothing,
            (_, u8::MAX) => Found::Interior,
            _ => Found::Rows,
        }
    }
}

/// What each sample adds to the [bounds](Row::bound) of eight rows: cells, then edges.
#[derive(Default)]
struct Bounds {
    parts: [[f32; BLOCK]; 6],
    /// Weights of samples whose other face of the same axis is held: what moves with its neighbours
    /// strains no others.
    springs: [f32; BLOCK],
    /// Lanes of which some sample has a held face.
    beside: u8,
}

impl Bounds {
    /// Enters a sample of a lane, and its weight among the `weights`, given which bit of what it
    /// holds is that of the next face of the same axis.
    #[inline(always)]
    fn set(
        &mut self,
        sample: usize,
        lane: usize,
        of: Weight,
        next: usize,
        weights: &mut [f32; BLOCK],
    ) {
        weights[lane] = of.weight;
        self.parts[sample][lane] = of.bound();
        self.beside |= u8::from(of.held != 0 && of.weight != 0.0) << lane;
        if of.held >> next & 1 == 1 {
            self.springs[lane] += of.weight;
        }
    }

    /// The sum for a lane, always in this order: blocks along a wall are to be the same.
    #[inline(always)]
    fn total(&self, lane: usize) -> f32 {
        self.parts.iter().fold(0.0, |sum, part| sum + part[lane])
    }
}
