//! One level: its operator.

use rayon::prelude::*;

use super::coarsened::Coarsened;
use super::component::{Component, Eight, Found, INTERIOR, NONE, ROWS, Segment};
use super::ground::{Fine, Ground};
use super::labels::Labels;
use super::lump::Masses;
use super::peel::peel;
use super::row::Row;
use super::samples::{Place, Samples};
use super::shape::{Shape, moved, others};
use super::sieve::{Sieve, Sifted};
use crate::lattice::BLOCK;

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
    /// The largest stiffness of the cells beside them.
    stiffest: f32,
}

/// What a coarse level is made of, and then the next coarser one.
pub trait Coarse<const D: usize>: Fine<D> + Sized {
    /// What is `fine` on cells of twice the side.
    fn new(fine: &impl Fine<D>, stiffness: f32, is_uniform: bool) -> Self;
    /// The level above another.
    fn level(&self, below: &Level<D>, shape: Shape<D>) -> Level<D>;
}

impl<const D: usize> Level<D> {
    /// The finest level: the rows of all faces.
    pub fn new(
        shape: Shape<D>,
        open: [[bool; 2]; D],
        ground: &impl Ground<D>,
        stiffness: f32,
        graded: Option<Vec<f32>>,
    ) -> Self {
        let sieve = Sieve::new(shape.cells, open, ground);
        let uniform = graded.is_none().then_some(stiffness);
        let mut samples = sieve.samples(shape.cells, |at, is_full| {
            Place::new(ground, at, is_full, uniform)
        });
        peel(&mut samples);
        Level::sieved(shape, stiffness, graded, &sieve, &samples)
    }

    /// The level above another, made of `ground`.
    pub fn above(
        fine: &Level<D>,
        shape: Shape<D>,
        ground: &Coarsened<D>,
        graded: Option<Vec<f32>>,
    ) -> Self {
        let stiffness = ground.stiffness;
        let sieve = Sieve::new(shape.cells, [[true; 2]; D], ground);
        let uniform = graded.is_none().then_some(stiffness);
        let masses = Masses::new(&shape, &sieve, ground, fine);
        let samples = sieve.samples(shape.cells, |at, is_full| {
            masses.place(ground, at, is_full, uniform)
        });
        Level::sieved(shape, stiffness, graded, &sieve, &samples)
    }

    /// A coarse level of labelled cells.
    pub fn labelled(shape: Shape<D>, labels: &Labels<D>, graded: Option<Vec<f32>>) -> Self {
        let sieve = Sieve::new(shape.cells, labels.open(), labels);
        let samples = sieve.samples(shape.cells, |at, _| labels.place(at));
        Level::sieved(shape, labels.stiffness, graded, &sieve, &samples)
    }

    /// Rows from samples.
    fn sieved(
        shape: Shape<D>,
        stiffness: f32,
        graded: Option<Vec<f32>>,
        sieve: &Sieve<D>,
        samples: &Samples<D>,
    ) -> Self {
        let inside = Inside::new(&shape, stiffness, graded.as_deref());
        let parts = std::array::from_fn(|axis| {
            let each_block =
                |row, visit: &mut dyn FnMut([i32; D])| sieve.each_block(axis, row, visit);
            Component::new(&shape, each_block, |at, eight| {
                let Sifted { faces, interior } = sieve.faces(axis, at);
                if interior == 0xff {
                    return Found::Interior;
                }
                if faces == 0 {
                    return Found::Nothing;
                }
                eight.clear();
                eight.add(samples, axis, at, faces & !interior);
                add_interior(eight, &inside, axis, at, interior);
                eight.found()
            })
        });
        Level::join(shape, stiffness, graded, parts)
    }

    /// A level whose rows are known, with their mass and what ties them to walls: those that the stiffness explains
    /// are computed, the others are kept.
    pub fn from_rows(
        shape: Shape<D>,
        stiffness: f32,
        graded: Option<Vec<f32>>,
        row: impl Fn(usize, usize) -> (Row, [f32; 2]) + Sync,
    ) -> Self {
        let inside = Inside::new(&shape, stiffness, graded.as_deref());
        let parts = std::array::from_fn(|axis| {
            let each_block = |row, visit: &mut dyn FnMut([i32; D])| {
                (0..shape.row_blocks()).for_each(|b| visit(moved(row, 0, (b * BLOCK) as i32)));
            };
            Component::new(&shape, each_block, |at, eight| {
                let first = shape.index(at);
                eight.clear();
                for lane in 0..BLOCK {
                    let (row, anchors) = row(axis, first + lane);
                    if row.is_free() {
                        let is_interior = row == inside.row(axis, first + lane);
                        eight.set(lane, &row, anchors, is_interior);
                    }
                }
                eight.found()
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
        let unknowns = parts.iter().map(|part| part.1).sum();
        let components = parts.map(|part| part.0);
        let stiffest = match &graded {
            None => stiffness,
            Some(values) => stiffest(&shape, &components, values),
        };
        Level {
            shape,
            stiffness,
            graded,
            components,
            unknowns,
            stiffest,
        }
    }

    /// Gives up what only a coarser level asks for.
    pub fn forget_anchors(&mut self) {
        for component in &mut self.components {
            component.anchors = Vec::new();
        }
    }

    /// The row of the face at a memory index.
    pub fn row(&self, axis: usize, index: usize) -> Row {
        let component = &self.components[axis];
        match component.blocks[self.shape.block(index)] {
            NONE => Row::default(),
            INTERIOR => self.inside().row(axis, index),
            place => component.rows[(place - ROWS) as usize].row(index % BLOCK),
        }
    }

    /// Whether the face at a memory index has a row of the interior.
    #[inline]
    pub fn is_interior(&self, axis: usize, index: usize) -> bool {
        let component = &self.components[axis];
        match component.blocks[self.shape.block(index)] {
            NONE => false,
            INTERIOR => true,
            place => component.interior[(place - ROWS) as usize] >> (index % BLOCK) & 1 == 1,
        }
    }

    /// The weight of the sample of a cell along an axis, by memory index; zero if no face of it is free.
    #[inline]
    pub fn cell_weight(&self, axis: usize, index: usize) -> f32 {
        let component = &self.components[axis];
        let (face, side) = match component.is_free(index) {
            true => (index, 1),
            false => (index + self.shape.strides[axis], 0),
        };
        match component.blocks[self.shape.block(face)] {
            NONE => 0.0,
            INTERIOR => {
                2.0 * self
                    .graded
                    .as_ref()
                    .map_or(self.stiffness, |all| all[index])
            }
            place => component.rows[(place - ROWS) as usize].cell[side][face % BLOCK],
        }
    }

    fn inside(&self) -> Inside<'_, D> {
        Inside::new(&self.shape, self.stiffness, self.graded.as_deref())
    }

    /// The largest bound of a row in the interior, or more.
    pub fn largest_interior_bound(&self) -> f64 {
        let row = interior_row(&self.shape, 0, self.shape.origin, |_| self.stiffest);
        f64::from(row.bound)
    }

    /// Whether the face at a memory index is an unknown.
    #[inline]
    pub fn is_free(&self, axis: usize, index: usize) -> bool {
        self.components[axis].is_free(index)
    }

    /// Calls `visit(lattice point, memory index, mass)` for every free face of a plane of a
    /// component.
    #[inline]
    pub fn each_free(&self, axis: usize, z: usize, mut visit: impl FnMut([i32; D], usize, f32)) {
        let component = &self.components[axis];
        for segment in component.in_plane(z) {
            let first = segment.index as usize;
            let at = self.shape.point(first);
            for k in (0..segment.blocks as usize).map(|k| k * BLOCK) {
                let packed = component.packed(self.shape.block(first + k));
                for lane in 0..BLOCK {
                    let mass = packed.map_or(1.0, |p| p.mass[lane]);
                    if packed.is_none_or(|p| p.is_free(lane)) {
                        let k = k + lane;
                        visit(moved(at, 0, k as i32), first + k, mass);
                    }
                }
            }
        }
    }

    /// Calls `visit(memory index)` for every free face of a plane of a component that couples with a held
    /// one. For levels that are made of samples.
    pub fn each_beside_held(&self, axis: usize, z: usize, mut visit: impl FnMut(usize)) {
        let component = &self.components[axis];
        let segments = component.in_plane(z).iter().filter(|s| !s.is_interior);
        for first in segments.flat_map(Segment::each_block) {
            let beside = component.beside_held(first);
            for lane in (0..BLOCK).filter(|lane| beside >> lane & 1 == 1) {
                visit(first + lane);
            }
        }
    }

    /// The memory index of every free face of a component, in order.
    pub fn free_faces(&self, axis: usize) -> impl Iterator<Item = usize> + '_ {
        let component = &self.components[axis];
        component.segments.iter().flat_map(move |s| {
            let first = s.index as usize;
            (first..first + s.blocks as usize * BLOCK).filter(|&i| component.is_free(i))
        })
    }
}

/// The largest stiffness of the cells beside free faces, given that of cells by memory index.
fn stiffest<const D: usize>(
    shape: &Shape<D>,
    components: &[Component; D],
    stiffness: &[f32],
) -> f32 {
    let of_plane = |k: usize| {
        let (axis, largest) = (k % D, 0.0);
        let segments = components[axis].in_plane(k / D).iter();
        segments.fold(largest, |largest: f32, segment| {
            let (first, count) = (segment.index as usize, segment.blocks as usize * BLOCK);
            let cells = [first - shape.strides[axis], first].map(|i| &stiffness[i..][..count]);
            cells.into_iter().flatten().copied().fold(largest, f32::max)
        })
    };
    let planes = (0..shape.planes() * D).into_par_iter().with_min_len(8);
    planes.map(of_plane).reduce(|| 0.0, f32::max)
}

/// The interior of a level.
struct Inside<'a, const D: usize> {
    shape: &'a Shape<D>,
    /// The row of every face unless the stiffness varies.
    usual: Row,
    graded: Option<&'a [f32]>,
}

impl<'a, const D: usize> Inside<'a, D> {
    fn new(shape: &'a Shape<D>, stiffness: f32, graded: Option<&'a [f32]>) -> Self {
        Inside {
            shape,
            usual: interior_row(shape, 0, shape.origin, |_| stiffness),
            graded,
        }
    }

    /// The row of a face at a memory index.
    fn row(&self, axis: usize, index: usize) -> Row {
        match self.graded {
            None => self.usual,
            Some(stiffness) => interior_row(self.shape, axis, index, |i| stiffness[i]),
        }
    }
}

/// The row of a face of the interior, given the stiffness of cells by memory index.
#[inline]
fn interior_row<const D: usize>(
    shape: &Shape<D>,
    axis: usize,
    index: usize,
    at: impl Fn(usize) -> f32,
) -> Row {
    let strides = shape.strides;
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

/// The bound of a row whose samples have only free faces, summed in the order of other rows.
#[inline]
fn interior_bound<const D: usize>(row: &Row) -> f32 {
    let cells = row.cell.iter().map(|weight| 2.0 * weight);
    let edges = row.edge[..D - 1].iter().flatten();
    let sum = cells.chain(edges.map(|weight| 4.0 * weight)).sum::<f32>();
    sum + row.mass
}

/// Adds the rows of lanes in the interior of the eight faces from `at`.
fn add_interior<const D: usize>(
    eight: &mut Eight,
    inside: &Inside<'_, D>,
    axis: usize,
    at: [i32; D],
    lanes: u64,
) {
    for lane in (0..BLOCK).filter(|lane| lanes >> lane & 1 == 1) {
        let face = moved(at, 0, lane as i32);
        let row = inside.row(axis, inside.shape.index(face));
        eight.set(lane, &row, [1.0, 0.0], true);
    }
}
