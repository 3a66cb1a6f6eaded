//! A matrix of velocities in little memory, and nothing lost.
//!
//! All entries that a sample makes are its weight, up to their sign, so that a row is its diagonal
//! and a handful of weights. Most rows are like others: each that occurs is kept once, or a few
//! times. Where an entry is not quite what the weights say, the difference is listed.

use rayon::prelude::*;

use super::coupling::{Coupling, SAMPLES, couplings};
use super::lattice::Lattice;
use crate::staggered::shape::{Shape, others};

/// A row: what the samples around its face weigh.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Weights {
    /// The entry of the face itself.
    pub diagonal: f64,
    /// By sample; see [`SAMPLES`].
    pub samples: [f64; SAMPLES],
}

impl Weights {
    /// What is left of the diagonal: mass, and weights of samples with held faces alone.
    pub fn rest(&self) -> f64 {
        self.diagonal - self.samples.iter().sum::<f64>()
    }

    /// `(A u)` at a face, if all entries are as the weights say and `u` is zero at held faces.
    #[inline(always)]
    fn product<const D: usize>(
        &self,
        strides: [usize; D],
        (axis, i): (usize, usize),
        u: [&[f64]; D],
    ) -> f64 {
        let (own, s) = (u[axis], strides[axis]);
        let [low, high] = [self.samples[0], self.samples[1]];
        let mut sum = self.diagonal * own[i] - low * own[i - s] - high * own[i + s];
        for (k, &b) in others::<D>(axis)[..D - 1].iter().enumerate() {
            let (other, t) = (u[b], strides[b]);
            let [low, high] = [self.samples[2 + 2 * k], self.samples[3 + 2 * k]];
            sum += low * (other[i] - other[i - s] - own[i - t]);
            sum += high * (other[i + t - s] - other[i + t] - own[i + t]);
        }
        sum
    }
}

/// What an entry is more than the weights of its row say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviation {
    /// The row.
    pub row: u32,
    /// The column.
    pub column: u32,
    /// The difference.
    pub value: f64,
}

/// A matrix over the unknowns of a lattice.
#[derive(Debug)]
pub struct Exact {
    /// Rows that occur.
    kinds: Vec<Weights>,
    /// By unknown, which of them is its own.
    kind: Vec<u32>,
    /// In the order of rows.
    deviations: Vec<Deviation>,
    /// By hash, the last of them that was met.
    recent: Vec<u32>,
}

/// Rows among which a new one is sought; a power of two.
const RECENT: usize = 1 << 12;

/// Rows that are worth a thread.
pub const CHUNK: usize = 1 << 13;

impl Exact {
    /// A matrix without rows yet, but with room for so many.
    pub fn with_capacity(rows: usize) -> Self {
        Exact {
            kinds: Vec::new(),
            kind: Vec::with_capacity(rows),
            deviations: Vec::new(),
            recent: vec![u32::MAX; RECENT],
        }
    }

    /// Adds a row.
    pub fn push(&mut self, weights: &Weights) {
        let seat = &mut self.recent[hash(weights) % RECENT];
        if self.kinds.get(*seat as usize) != Some(weights) {
            *seat = self.kinds.len() as u32;
            self.kinds.push(*weights);
        }
        self.kind.push(*seat);
    }

    /// Adds what the weights do not say, in the order of rows.
    pub fn deviate(&mut self, deviations: &[Deviation]) {
        self.deviations.extend_from_slice(deviations);
    }

    /// Gives back what only new rows need.
    pub fn finish(&mut self) {
        self.recent = Vec::new();
        self.kinds.shrink_to_fit();
        self.deviations.shrink_to_fit();
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.kind.len()
    }

    /// The rows that occur.
    pub fn kinds(&self) -> &[Weights] {
        &self.kinds
    }

    /// Which of them row `i` is.
    #[inline]
    pub fn kind(&self, i: usize) -> usize {
        self.kind[i] as usize
    }

    #[inline]
    fn weights(&self, i: usize) -> &Weights {
        &self.kinds[self.kind(i)]
    }

    /// Calls `visit(unknown, component, memory index, (A u) there)` for all unknowns and returns
    /// the greatest of what it returns; NaN wins. `u` is zero at held faces.
    pub fn each_product<const D: usize>(
        &self,
        shape: &Shape<D>,
        faces: &[(u8, u32)],
        u: [&[f64]; D],
        visit: impl Fn(usize, usize, usize, f64) -> f64 + Sync,
    ) -> f64 {
        let chunk = |(number, chunk): (usize, &[(u8, u32)])| {
            let first = number * CHUNK;
            let mut deviations = self.deviations_from(first).iter().peekable();
            let mut most = 0.0;
            for (i, &(axis, index)) in (first..).zip(chunk) {
                let face @ (axis, index) = (axis as usize, index as usize);
                let mut product = self.weights(i).product(shape.strides, face, u);
                while let Some(found) = deviations.next_if(|d| d.row as usize == i) {
                    let (axis, index) = faces[found.column as usize];
                    product += found.value * u[axis as usize][index as usize];
                }
                most = crate::vector::max_or_nan(most, visit(i, axis, index, product));
            }
            most
        };
        let chunks = faces.par_chunks(CHUNK).enumerate();
        chunks.map(chunk).reduce(|| 0.0, crate::vector::max_or_nan)
    }

    /// The deviations of a row and all after it.
    fn deviations_from(&self, row: usize) -> &[Deviation] {
        let before = |d: &Deviation| (d.row as usize) < row;
        &self.deviations[self.deviations.partition_point(before)..]
    }

    /// By how much mirrored entries differ at the most, relative to the largest of the diagonal.
    pub fn asymmetry<const D: usize>(&self, lattice: &Lattice<D>) -> f64 {
        let largest = self.kinds.iter().map(|w| w.diagonal);
        let largest = largest.fold(f64::MIN_POSITIVE, f64::max);
        let couplings: [Vec<Coupling>; D] = std::array::from_fn(|axis| {
            let mut couplings = couplings(&lattice.shape, axis);
            // Of each pair one will do.
            couplings.retain(|c| (c.component, c.offset) > (axis, 0));
            couplings
        });
        let rows = (0..self.rows()).into_par_iter().with_min_len(CHUNK);
        let differences = rows.map(|i| {
            let (axis, index) = lattice.face(i);
            let weights = &self.weights(i).samples;
            let of_pair = |c: &Coupling| {
                let j = lattice.number((c.component, c.other(index)))?;
                Some((weights[c.sample] - self.weights(j).samples[c.mirrored]).abs())
            };
            couplings[axis]
                .iter()
                .filter_map(of_pair)
                .fold(0.0, f64::max)
        });
        let between = differences.reduce(|| 0.0, f64::max);
        let beside = self.deviations.iter().map(|d| d.value.abs());
        (between + 2.0 * beside.fold(0.0, f64::max)) / largest
    }
}

fn hash(weights: &Weights) -> usize {
    let values = weights.samples.iter().chain([&weights.diagonal]);
    let mixed = values.fold(0u64, |hash, value| {
        (hash.rotate_left(5) ^ value.to_bits()).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    });
    (mixed >> 40) as usize
}
