//! Matrices of coarse levels.

use std::ops::Range;

use rayon::prelude::*;

use super::Coarse;
use super::coarsen::NONE;
use super::rows::Rows;
use crate::csr::Csr;
use crate::outcome::SolveError;

/// Rows computed by one task.
const CHUNK: usize = 1024;

/// What the matrix of the next level is made of.
pub(super) struct Product<'a> {
    pub kind: Coarse,
    pub dimensions: usize,
    pub a: &'a Csr,
    pub p: &'a Rows,
    pub r: &'a Rows,
    pub parent: &'a [u32],
    /// Fine unknowns that the coarse level must not move; empty if none.
    pub held: &'a [bool],
}

/// A sparse row under construction: a dense map from column to slot.
struct Accumulator {
    /// One more than the slot of a column, zero if it has none yet.
    slots: Vec<u32>,
    entries: Vec<(u32, f64)>,
}

impl Accumulator {
    fn new(columns: usize) -> Accumulator {
        Accumulator {
            slots: vec![0; columns],
            entries: Vec::new(),
        }
    }

    #[inline]
    fn add(&mut self, column: u32, value: f64) {
        let slot = &mut self.slots[column as usize];
        if *slot == 0 {
            self.entries.push((column, value));
            *slot = self.entries.len() as u32;
        } else {
            self.entries[*slot as usize - 1].1 += value;
        }
    }

    fn clear(&mut self) {
        for &(column, _) in &self.entries {
            self.slots[column as usize] = 0;
        }
        self.entries.clear();
    }

    /// Appends the row by increasing columns, and is empty again.
    fn take_sorted(&mut self, columns: &mut Vec<u32>, values: &mut Vec<f64>) {
        // The map first: sorting moves the entries away from their slots.
        for &(column, _) in &self.entries {
            self.slots[column as usize] = 0;
        }
        self.entries.sort_unstable_by_key(|&(column, _)| column);
        columns.extend(self.entries.iter().map(|&(column, _)| column));
        values.extend(self.entries.iter().map(|&(_, value)| value));
        self.entries.clear();
    }

    fn get(&self, column: u32) -> f64 {
        match self.slots[column as usize] {
            0 => 0.0,
            slot => self.entries[slot as usize - 1].1,
        }
    }
}

impl Product<'_> {
    /// The whole matrix. Rows are independent of each other, so the threads decide nothing.
    pub fn matrix(&self) -> Result<Csr, SolveError> {
        let rows = self.r.len();
        let chunks: Vec<(Vec<u32>, Vec<u32>, Vec<f64>)> = (0..rows.div_ceil(CHUNK))
            .into_par_iter()
            .map(|chunk| self.rows(chunk * CHUNK..((chunk + 1) * CHUNK).min(rows)))
            .collect();
        let entries = chunks.iter().map(|(_, columns, _)| columns.len()).sum();
        let mut starts = Vec::with_capacity(rows + 1);
        let (mut columns, mut values) = (Vec::with_capacity(entries), Vec::with_capacity(entries));
        let mut end = 0;
        starts.push(end);
        for (lengths, chunk_columns, chunk_values) in &chunks {
            starts.extend(lengths.iter().map(|length| {
                end += length;
                end
            }));
            columns.extend_from_slice(chunk_columns);
            values.extend_from_slice(chunk_values);
        }
        Csr::new(starts, columns, values).map_err(|_| SolveError::NotFinite {
            quantity: "coarse matrix",
            iteration: 0,
        })
    }

    /// Lengths, columns and values of a range of rows.
    fn rows(&self, range: Range<usize>) -> (Vec<u32>, Vec<u32>, Vec<f64>) {
        let mut row = Accumulator::new(self.r.len());
        let mut lengths = Vec::with_capacity(range.len());
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for i in range {
            self.accumulate(i, &mut row);
            lengths.push(row.entries.len() as u32);
            row.take_sorted(&mut columns, &mut values);
        }
        (lengths, columns, values)
    }

    /// Computes some rows of `out` again, whose pattern holds all that they can contain.
    pub fn refresh(&self, rows: &[u32], out: &mut Csr) {
        let fresh: Vec<Vec<f64>> = rows
            .par_chunks(CHUNK / 4)
            .map(|rows| {
                let mut row = Accumulator::new(self.r.len());
                let mut values = Vec::new();
                for &i in rows {
                    self.accumulate(i as usize, &mut row);
                    values.extend(out.row(i as usize).0.iter().map(|&j| row.get(j)));
                    row.clear();
                }
                values
            })
            .collect();
        for (rows, fresh) in rows.chunks(CHUNK / 4).zip(&fresh) {
            let mut rest = fresh.as_slice();
            for &i in rows {
                let values = out.row_values_mut(i as usize);
                let (row, after) = rest.split_at(values.len());
                values.copy_from_slice(row);
                rest = after;
            }
        }
    }

    fn accumulate(&self, i: usize, row: &mut Accumulator) {
        match self.kind {
            Coarse::Galerkin => self.galerkin(i, row),
            Coarse::Direct => self.direct(i, row),
        }
    }

    fn is_held(&self, i: u32) -> bool {
        !self.held.is_empty() && self.held[i as usize]
    }

    /// Row `i` of `R A P`.
    fn galerkin(&self, i: usize, row: &mut Accumulator) {
        let (fine, weights) = self.r.row(i);
        for (&k, &weight) in fine.iter().zip(weights) {
            if self.is_held(k) {
                continue;
            }
            let (columns, values) = self.a.row(k as usize);
            for (&j, &value) in columns.iter().zip(values) {
                if self.is_held(j) {
                    continue;
                }
                let share = weight * value;
                let (coarse, weights) = self.p.row(j as usize);
                for (&column, &weight) in coarse.iter().zip(weights) {
                    row.add(column, share * weight);
                }
            }
        }
    }

    /// Row `i` of the operator discretised anew with twice the spacing.
    ///
    /// Faces between two coarse cells have the mean of the open areas of the fine ones, and the
    /// quarter of the strength since strength goes with 1/Δx². A tie of strength e = c/θ to a
    /// fixed value, c being that of an open face, lies at θ from the fine centre, hence at
    /// (θ + ½)/2 from the coarse one: its strength becomes (c/4)/((θ + ½)/2) = e/(2 + e/c).
    fn direct(&self, i: usize, row: &mut Accumulator) {
        let faces = (1 << (self.dimensions - 1)) as f64;
        let mut diagonal = 0.0;
        for &k in self.r.row(i).0 {
            if self.parent[k as usize] as usize != i || self.is_held(k) {
                continue;
            }
            let (columns, values) = self.a.row(k as usize);
            let (mut tie, mut strongest) = (0.0, 0.0_f64);
            for (&j, &value) in columns.iter().zip(values) {
                if j != k {
                    strongest = strongest.max(-value);
                }
                if self.is_held(j) {
                    continue;
                }
                tie += value;
                let other = self.parent[j as usize];
                if other as usize != i && other != NONE {
                    let strength = -value / (4.0 * faces);
                    row.add(other, -strength);
                    diagonal += strength;
                }
            }
            if tie > 0.0 && strongest > 0.0 {
                diagonal += tie / (2.0 + tie / strongest) / faces;
            }
        }
        row.add(i as u32, diagonal);
    }
}
