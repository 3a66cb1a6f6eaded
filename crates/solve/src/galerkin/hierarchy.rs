//! The levels and how they are built, and rebuilt where unknowns are held.

use super::bottom::Cholesky;
use super::coarsen::{Cells, NONE};
use super::interpolate::interpolation;
use super::product::Product;
use super::rows::Rows;
use super::smoother::Smoother;
use super::{Boundary, Options};
use crate::csr::Csr;
use crate::operator::Operator;
use crate::outcome::SolveError;
use crate::problem::Places;

/// Coordinates lose a bit a level, so that this many are always enough.
const MOST_LEVELS: usize = 34;

/// Levels that shrink by less than this factor do not pay.
const WORTH_WHILE: f64 = 0.9;

/// Fruitless levels in a row before coarsening stops.
const FRUITLESS: usize = 3;

/// A ladder of ever coarser matrices for unknowns that lie on a lattice.
///
/// The hierarchy holds a copy of the finest matrix, so that it can tell whether it still fits a
/// problem and can be used as a preconditioner by itself ([`VCycle`](super::VCycle)).
#[derive(Clone, Debug)]
pub struct Hierarchy {
    options: Options,
    dimensions: usize,
    places: Vec<[i32; 3]>,
    levels: Vec<Level>,
    /// Empty if the coarsest level is too large to be factored.
    bottom: Option<Cholesky>,
    /// Unknowns of the finest level that coarser ones must not move.
    held: Vec<bool>,
    holding: Holding,
    /// The diagonal of the finest matrix as it was given.
    diagonal: Vec<f64>,
}

/// One level.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    pub a: Csr,
    pub smoother: Smoother,
    /// To the next coarser level; none at the bottom.
    pub transfer: Option<Transfer>,
}

/// What joins a level to the next coarser one.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    /// Interpolation.
    pub p: Rows,
    /// Restriction, `R = Pᵀ/2^D`.
    pub r: Rows,
    /// The coarse unknown that each fine one belongs to, or [`NONE`].
    pub parent: Vec<u32>,
}

/// What is done with the unknowns that are held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Holding {
    /// They are zero and their equations left out: the cycle acts on the principal submatrix of
    /// the others, and leaves zero where a residual is zero.
    Zero,
    /// Their diagonal entries are multiplied by `1 +` this factor: they are penalised, and
    /// smoothed with the rest.
    Penalised(f64),
}

impl Hierarchy {
    /// Builds the levels below `a`.
    ///
    /// # Errors
    /// [`SolveError::Shape`] if the places do not fit the matrix or are neither two- nor
    /// three-dimensional, [`SolveError::NotFinite`] if the entries overflow on the way.
    pub fn new(a: &Csr, places: Places<'_>, options: Options) -> Result<Hierarchy, SolveError> {
        let shape = |quantity, expected, found| SolveError::Shape {
            quantity,
            expected,
            found,
        };
        if places.at.len() != a.rows() {
            return Err(shape("list of places", a.rows(), places.at.len()));
        }
        if !(2..=3).contains(&places.dimensions) {
            return Err(shape("lattice of dimension 2 or 3", 3, places.dimensions));
        }
        let mut hierarchy = Hierarchy {
            options,
            dimensions: places.dimensions,
            places: places.at.to_vec(),
            levels: Vec::new(),
            bottom: None,
            held: Vec::new(),
            holding: Holding::Zero,
            diagonal: (0..a.rows()).map(|i| a.diagonal(i)).collect(),
        };
        hierarchy.build(a)?;
        hierarchy.factor_bottom();
        Ok(hierarchy)
    }

    fn build(&mut self, finest: &Csr) -> Result<(), SolveError> {
        let mut cells = Cells::finest(finest, self.dimensions, &self.places);
        let mut a = finest.clone();
        let mut fruitless = 0;
        while a.rows() > self.options.smallest
            && self.levels.len() < MOST_LEVELS
            && fruitless < FRUITLESS
        {
            let connected = self.options.boundary == Boundary::OneSided;
            let aggregates = cells.aggregate(connected);
            let coarse_rows = aggregates.coarse.at.len();
            if coarse_rows == 0 {
                break;
            }
            let little = coarse_rows as f64 > WORTH_WHILE * a.rows() as f64;
            fruitless = if little { fruitless + 1 } else { 0 };
            let steps = cells.steps();
            let Options {
                interpolation: kind,
                boundary,
                ..
            } = self.options;
            let p = interpolation(kind, boundary, &cells, &steps, &aggregates);
            // The scale makes R an average where the stencil is whole (Lai et al. 2021, section
            // 4.3), and A_H an operator of the coarse spacing.
            let r = p.transposed(coarse_rows, 1.0 / (1 << self.dimensions) as f64);
            let transfer = Transfer {
                p,
                r,
                parent: aggregates.parent,
            };
            let coarse = product(self.options, self.dimensions, &a, &transfer, &[]).matrix()?;
            let smoother = Smoother::new(&a, &cells);
            self.levels.push(Level {
                a: std::mem::replace(&mut a, coarse),
                smoother,
                transfer: Some(transfer),
            });
            cells = aggregates.coarse;
        }
        let smoother = Smoother::new(&a, &cells);
        self.levels.push(Level {
            a,
            smoother,
            transfer: None,
        });
        Ok(())
    }

    /// The number of unknowns of the finest level.
    pub fn rows(&self) -> usize {
        self.places.len()
    }

    /// Unknowns and stored entries of each level, the finest first.
    pub fn sizes(&self) -> Vec<(usize, usize)> {
        let size = |level: &Level| (level.a.rows(), level.a.nonzeros());
        self.levels.iter().map(size).collect()
    }

    /// Whether this is the hierarchy of a matrix and its places, as they are now and with
    /// nothing held.
    pub fn fits(&self, a: &Csr, places: Places<'_>, options: Options) -> bool {
        self.options == options
            && self.dimensions == places.dimensions
            && self.places == places.at
            && self.levels[0].a == *a
    }

    pub(crate) fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The diagonal of the finest matrix.
    pub(crate) fn diagonal(&self) -> &[f64] {
        &self.diagonal
    }

    /// Which unknowns are held; empty if none ever was.
    pub(crate) fn held(&self) -> &[bool] {
        &self.held
    }

    /// `v_i ← 0` where held.
    pub(crate) fn clear_held(&self, v: &mut [f64]) {
        for (v, &held) in v.iter_mut().zip(&self.held) {
            if held {
                *v = 0.0;
            }
        }
    }

    pub(crate) fn has_exact_bottom(&self) -> bool {
        self.bottom.is_some()
    }

    pub(crate) fn solve_bottom(&self, g: &[f64], x: &mut [f64]) {
        if let Some(bottom) = &self.bottom {
            bottom.solve(g, x);
        }
    }

    /// Holds a set of unknowns: truncates the basis functions of all coarse levels to the others
    /// and rebuilds what depends on them, but only where the set differs from the last one.
    ///
    /// # Panics
    /// If `held` is of another length than the finest level.
    pub fn hold(&mut self, held: &[bool], holding: Holding) {
        assert_eq!(held.len(), self.rows(), "a flag for each unknown");
        self.held.resize(held.len(), false);
        let renewed = holding != self.holding;
        self.holding = holding;
        let mut changed = Vec::new();
        for i in 0..held.len() {
            if held[i] != self.held[i] || (renewed && held[i]) {
                self.held[i] = held[i];
                self.hold_one(i, held[i]);
                changed.push(i as u32);
            }
        }
        if changed.is_empty() {
            return;
        }
        // A row of A P changes with the interpolation of the row's neighbours.
        let mut touched = Marks::new(self.rows());
        for &i in &changed {
            touched.extend(self.levels[0].a.row(i as usize).0);
        }
        let mut changed = touched.list;
        for l in 1..self.levels.len() {
            changed = self.refresh(l, &changed);
        }
        self.factor_bottom();
    }

    /// Takes back all penalties, so that the finest matrix is the one given.
    pub(crate) fn restore_diagonal(&mut self) {
        if self.holding != Holding::Zero {
            let none = vec![false; self.rows()];
            self.hold(&none, Holding::Zero);
        }
    }

    /// Sets the finest level's diagonal for one unknown.
    fn hold_one(&mut self, i: usize, held: bool) {
        let diagonal = match self.holding {
            Holding::Penalised(factor) if held => (1.0 + factor) * self.diagonal[i],
            _ => self.diagonal[i],
        };
        let Level { a, smoother, .. } = &mut self.levels[0];
        if let Ok(k) = a.row(i).0.binary_search(&(i as u32)) {
            a.row_values_mut(i)[k] = diagonal;
        }
        let out = held && self.holding == Holding::Zero;
        smoother.set(i, if out { 0.0 } else { diagonal });
    }

    /// Rebuilds the rows of level `l` that depend on the `changed` rows above; returns them.
    fn refresh(&mut self, l: usize, changed: &[u32]) -> Vec<u32> {
        let (above, below) = self.levels.split_at_mut(l);
        let (fine, coarse) = (&above[l - 1], &mut below[0]);
        let Some(transfer) = &fine.transfer else {
            return Vec::new();
        };
        let mut touched = Marks::new(coarse.a.rows());
        for &i in changed {
            touched.extend(transfer.p.row(i as usize).0);
            // The rediscretised operator is gathered by parents, with or without a weight.
            let parent = transfer.parent[i as usize];
            if parent != NONE {
                touched.extend(&[parent]);
            }
        }
        let rows = touched.list;
        let held = if l == 1 { self.held.as_slice() } else { &[] };
        product(self.options, self.dimensions, &fine.a, transfer, held)
            .refresh(&rows, &mut coarse.a);
        for &i in &rows {
            let diagonal = coarse.a.diagonal(i as usize);
            coarse.smoother.set(i as usize, diagonal);
        }
        rows
    }

    fn factor_bottom(&mut self) {
        let last = self.levels.len() - 1;
        let a = &self.levels[last].a;
        if a.rows() > self.options.smallest {
            return;
        }
        let held = match self.holding {
            Holding::Zero if last == 0 => self.held.as_slice(),
            _ => &[],
        };
        self.bottom.get_or_insert_default().factor(a, held);
    }
}

fn product<'a>(
    options: Options,
    dimensions: usize,
    a: &'a Csr,
    transfer: &'a Transfer,
    held: &'a [bool],
) -> Product<'a> {
    Product {
        kind: options.coarse,
        dimensions,
        a,
        p: &transfer.p,
        r: &transfer.r,
        parent: &transfer.parent,
        held,
    }
}

/// A set of indices in the order of their arrival.
struct Marks {
    marked: Vec<bool>,
    list: Vec<u32>,
}

impl Marks {
    fn new(len: usize) -> Marks {
        Marks {
            marked: vec![false; len],
            list: Vec::new(),
        }
    }

    fn extend(&mut self, indices: &[u32]) {
        for &i in indices {
            if !std::mem::replace(&mut self.marked[i as usize], true) {
                self.list.push(i);
            }
        }
    }
}
