//! Smoothers that solve exactly for a few faces at a time, one set after the other.
//!
//! `gauss-seidel` takes single faces, `vanka` the faces of a cell, `box` a face with all that it
//! couples with: 9 in two dimensions, 15 in three (Aanjaneya et al. 2019, section 6.3). Slabs of
//! planes are coloured, so that those of one colour can be worked on at the same time without one
//! seeing another; within a slab sets follow in memory order, and after the coarse correction
//! everything runs backwards, which makes the cycle symmetric.

use rayon::prelude::*;

use super::csr::{couplings, neighbours};
use super::cycle::{Floor, PARALLEL};
use super::field::Vector;
use super::level::Level;
use super::method::Smoother;
use super::shape::others;
use crate::lattice::BLOCK;
use crate::lattice::wave::Shared;

/// The most faces in a set.
const MOST: usize = 15;

/// Planes in a slab. A set reads three planes beyond its own at most and writes one.
const SLAB: usize = 8;

/// The diagonal of a set's matrix is multiplied by this. Faces without mass can slide along one
/// another at almost no cost; an exact solve for them would spoil the preconditioner.
const SHIFT: f64 = 1.02;

/// A face: its axis and memory index.
type Face = (usize, usize);

/// The faces that a set may have: those that are not free are left out by `free`.
#[derive(Clone, Copy)]
struct Set {
    faces: [Face; MOST],
    count: usize,
}

impl Set {
    /// The set that belongs to a face or, for `vanka`, to the cell at its index.
    #[inline]
    fn around<const D: usize>(level: &Level<D>, smoother: Smoother, (axis, i): Face) -> Self {
        let strides = level.shape.strides;
        let mut set = Set {
            faces: [(axis, i); MOST],
            count: 0,
        };
        let mut add = |face: Face| {
            set.faces[set.count] = face;
            set.count += 1;
        };
        match smoother {
            Smoother::Vanka => {
                for a in 0..D {
                    add((a, i));
                    add((a, i + strides[a]));
                }
            }
            Smoother::Box => {
                let s = strides[axis];
                add((axis, i));
                add((axis, i - s));
                add((axis, i + s));
                for &b in &others::<D>(axis)[..D - 1] {
                    let t = strides[b];
                    add((axis, i - t));
                    add((axis, i + t));
                    for j in [i, i - s, i + t, i + t - s] {
                        add((b, j));
                    }
                }
            }
            _ => add((axis, i)),
        }
        set
    }

    #[inline]
    fn as_slice(&self) -> &[Face] {
        &self.faces[..self.count]
    }
}

/// Where in a set the couplings of each of its faces go: all sets of an axis are alike.
#[derive(Clone, Debug)]
struct Pattern {
    /// By face of the set and number of the coupling; `NOWHERE` if it leads out of the set.
    slots: [[u8; MOST]; MOST],
}

const NOWHERE: u8 = u8::MAX;

impl Pattern {
    fn new<const D: usize>(level: &Level<D>, smoother: Smoother, axis: usize) -> Self {
        // Any number will do that leaves room on all sides.
        let set = Set::around(level, smoother, (axis, level.shape.len));
        let mut slots = [[NOWHERE; MOST]; MOST];
        for (k, &(axis, i)) in set.as_slice().iter().enumerate() {
            let mut number = 0;
            neighbours::<D>(level.shape.strides, axis, i, |a, j| {
                let slot = set.as_slice().iter().position(|&f| f == (a, j));
                slots[k][number] = slot.map_or(NOWHERE, |l| l as u8);
                number += 1;
            });
        }
        Pattern { slots }
    }

    /// The matrix of a set, with rows and columns of the identity where a face is not free.
    fn matrix<const D: usize>(&self, level: &Level<D>, set: &Set, shift: f64) -> Matrix {
        let mut a = [[0.0; MOST]; MOST];
        for (k, &(axis, i)) in set.as_slice().iter().enumerate() {
            if !level.is_free(axis, i) {
                a[k][k] = 1.0;
                continue;
            }
            let mut number = 0;
            couplings(level, axis, i, |b, j, value| {
                let slot = self.slots[k][number] as usize;
                if slot < k && value != 0.0 && level.is_free(b, j) {
                    a[k][slot] = value;
                } else if slot == k {
                    a[k][k] = value * shift;
                }
                number += 1;
            });
        }
        a
    }
}

/// Lower triangle of a symmetric matrix.
type Matrix = [[f64; MOST]; MOST];

/// The inverse of a set's matrix, columns padded to full blocks.
#[derive(Clone, Debug)]
struct Inverse {
    columns: [[f32; 16]; MOST],
}

impl Inverse {
    fn new(mut a: Matrix, n: usize) -> Self {
        factor(&mut a, n);
        let mut inverse = Inverse {
            columns: [[0.0; 16]; MOST],
        };
        for k in 0..n {
            let mut column = [0.0; MOST];
            column[k] = 1.0;
            substitute(&a, n, &mut column);
            for l in 0..n {
                inverse.columns[k][l] = column[l] as f32;
            }
        }
        inverse
    }

    #[inline(always)]
    fn apply(&self, r: &[f64; MOST]) -> [f64; MOST] {
        let mut sum = [0.0f32; 16];
        for (column, &r) in self.columns.iter().zip(r) {
            for (sum, c) in sum.iter_mut().zip(column) {
                *sum += c * r as f32;
            }
        }
        std::array::from_fn(|k| f64::from(sum[k]))
    }
}

/// Cholesky factors in the lower triangle; a pivot lost to rounding stands alone.
fn factor(a: &mut Matrix, n: usize) {
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| a[i][k] * a[j][k]).sum();
            let rest = a[i][j] - sum;
            a[i][j] = if j < i {
                rest / a[j][j]
            } else if rest > 1e-9 * a[i][i] {
                rest.sqrt()
            } else {
                a[i][i].max(f64::MIN_POSITIVE).sqrt()
            };
        }
    }
}

fn substitute(l: &Matrix, n: usize, x: &mut [f64; MOST]) {
    for i in 0..n {
        let sum: f64 = (0..i).map(|k| l[i][k] * x[k]).sum();
        x[i] = (x[i] - sum) / l[i][i];
    }
    for i in (0..n).rev() {
        let sum: f64 = (i + 1..n).map(|k| l[k][i] * x[k]).sum();
        x[i] = (x[i] - sum) / l[i][i];
    }
}

/// What one level's smoother keeps: inverses for sets in the interior, which are all alike for
/// each axis as long as the stiffness does not vary.
#[derive(Clone, Debug)]
pub struct Schwarz<const D: usize> {
    smoother: Smoother,
    patterns: [Pattern; D],
    interior: [Option<Box<Inverse>>; D],
}

impl<const D: usize> Schwarz<D> {
    /// Prepares for a level.
    pub fn new(level: &Level<D>, smoother: Smoother) -> Self {
        let patterns = std::array::from_fn(|axis| Pattern::new(level, smoother, axis));
        let interior = std::array::from_fn(|axis| {
            let cells_of_another = smoother == Smoother::Vanka && axis > 0;
            if level.graded.is_some() || cells_of_another {
                return None;
            }
            let mut faces = level.free_faces(axis);
            let index = faces.find(|&i| is_inside(level, smoother, (axis, i)))?;
            let set = Set::around(level, smoother, (axis, index));
            let matrix = patterns[axis].matrix(level, &set, shift(smoother));
            Some(Box::new(Inverse::new(matrix, set.count)))
        });
        Schwarz {
            smoother,
            patterns,
            interior,
        }
    }

    /// One sweep, in order or backwards.
    pub fn sweep(&self, floor: &mut Floor<D>, forward: bool) {
        let planes = floor.level.shape.planes();
        let slabs = planes.div_ceil(SLAB);
        let x = floor.x.each_mut().map(|v| Shared(v.as_mut_ptr()));
        let (level, b) = (&floor.level, &floor.b);
        let run = |slab: usize| {
            let range = slab * SLAB..((slab + 1) * SLAB).min(planes);
            // SAFETY: slabs at work at the same time are at least a slab apart, which is more
            // than a set reaches.
            let work = |z: usize| unsafe { self.plane(level, &x, b, z, forward) };
            if forward {
                range.for_each(work);
            } else {
                range.rev().for_each(work);
            }
        };
        for turn in 0..2 {
            let parity = if forward { turn } else { 1 - turn };
            let of_parity = (slabs + 1 - parity) / 2;
            if level.unknowns < PARALLEL {
                (0..of_parity).for_each(|s| run(2 * s + parity));
            } else {
                let slabs = (0..of_parity).into_par_iter();
                slabs.for_each(|s| run(2 * s + parity));
            }
        }
    }

    /// All sets of a plane.
    unsafe fn plane(
        &self,
        level: &Level<D>,
        x: &[Shared<f32>; D],
        b: &Vector<f32, D>,
        z: usize,
        forward: bool,
    ) {
        // The faces of all cells along the first axis stand for the cells of `vanka`, but for the
        // cells whose low face is held: those come by way of any other free face.
        let of = |k: usize| if forward { k } else { D - 1 - k };
        for axis in (0..D).map(of) {
            let component = &level.components[axis];
            let segments = component.in_plane(z);
            for s in 0..segments.len() {
                let segment = segments[if forward { s } else { segments.len() - 1 - s }];
                let faces = segment.blocks as usize * BLOCK;
                for k in 0..faces {
                    let k = if forward { k } else { faces - 1 - k };
                    let index = segment.index as usize + k;
                    let face = (axis, index);
                    if component.is_free(index) && self.leads(level, face) {
                        // SAFETY: the caller's promise is passed on.
                        unsafe { self.relax(level, x, b, face) };
                    }
                }
            }
        }
    }

    /// Whether a set goes by this face's name: every face's own does, a cell's goes by its first
    /// free face.
    fn leads(&self, level: &Level<D>, (axis, i): Face) -> bool {
        self.smoother != Smoother::Vanka || (0..axis).all(|a| !level.is_free(a, i))
    }

    /// Solves for one set, all else kept.
    unsafe fn relax(&self, level: &Level<D>, x: &[Shared<f32>; D], b: &Vector<f32, D>, face: Face) {
        let set = Set::around(level, self.smoother, face);
        let axis = if self.smoother == Smoother::Vanka {
            0
        } else {
            face.0
        };
        let inside = self.interior[axis]
            .as_deref()
            .filter(|_| is_inside(level, self.smoother, face));
        let mut r = [0.0; MOST];
        for (r, &(a, i)) in r.iter_mut().zip(set.as_slice()) {
            if inside.is_some() || level.is_free(a, i) {
                // SAFETY: the caller's promise is passed on.
                *r = f64::from(unsafe { residual(level, x, b[a][i], (a, i)) });
            }
        }
        let step = match inside {
            Some(inverse) => inverse.apply(&r),
            None => {
                let mut matrix = self.patterns[axis].matrix(level, &set, shift(self.smoother));
                factor(&mut matrix, set.count);
                substitute(&matrix, set.count, &mut r);
                r
            }
        };
        // What is not free has neither a residual nor couplings, and so no step.
        for (step, &(a, i)) in step.iter().zip(set.as_slice()) {
            if *step != 0.0 {
                // SAFETY: the caller's promise is passed on.
                unsafe { *x[a].get().add(i) += *step as f32 };
            }
        }
    }
}

fn shift(smoother: Smoother) -> f64 {
    if smoother == Smoother::GaussSeidel {
        1.0
    } else {
        SHIFT
    }
}

/// Whether every face of a set has an interior row.
fn is_inside<const D: usize>(level: &Level<D>, smoother: Smoother, (axis, i): Face) -> bool {
    let strides = level.shape.strides;
    let inside = |a: usize, i: usize| level.is_interior(a, i);
    match smoother {
        Smoother::Vanka => (0..D).all(|a| inside(a, i) && inside(a, i + strides[a])),
        Smoother::Box => {
            let s = strides[axis];
            inside(axis, i)
                && inside(axis, i - s)
                && inside(axis, i + s)
                && others::<D>(axis)[..D - 1].iter().all(|&b| {
                    let t = strides[b];
                    inside(axis, i - t)
                        && inside(axis, i + t)
                        && [i, i - s, i + t, i + t - s].iter().all(|&j| inside(b, j))
                })
        }
        _ => inside(axis, i),
    }
}

/// `b − A x` at a face.
#[inline(always)]
unsafe fn residual<const D: usize>(
    level: &Level<D>,
    x: &[Shared<f32>; D],
    b: f32,
    (axis, i): Face,
) -> f32 {
    // SAFETY: faces and all they couple with are in memory; nobody writes them meanwhile.
    let at = |a: usize, i: usize| unsafe { *x[a].get().add(i) };
    let strides = level.shape.strides;
    if level.graded.is_some() || !level.is_interior(axis, i) {
        let mut sum = b;
        couplings(level, axis, i, |a, j, value| sum -= value as f32 * at(a, j));
        return sum;
    }
    let s = strides[axis];
    let own = |i: usize| at(axis, i);
    let u = own(i);
    let mut q = 2.0 * ((u - own(i - s)) + (u - own(i + s)));
    for &o in &others::<D>(axis)[..D - 1] {
        let t = strides[o];
        q += (u - own(i - t)) + (u - own(i + t));
        q += (at(o, i) - at(o, i - s)) - (at(o, i + t) - at(o, i + t - s));
    }
    b - (u + level.stiffness * q)
}
