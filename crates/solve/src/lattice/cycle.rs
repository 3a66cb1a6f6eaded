//! The V-cycle: red-black Gauss-Seidel, two sweeps down and two, reversed, up.

use super::bottom::Bottom;
use super::coarsen::{NONE, Transfer, coarse_weight, coarsen};
use super::kernel;
use super::level::Level;
use super::wave::{Shared, Slabs};

/// Sweeps before and after each coarse correction.
const SWEEPS: usize = 2;

/// Coarsening ends at this many unknowns, which are then solved exactly.
const BOTTOM: usize = 96;

/// A hierarchy of levels. `levels[0]` is the operator it was built for.
#[derive(Clone, Debug)]
pub struct Hierarchy<const D: usize> {
    /// Finest first.
    pub levels: Vec<Level<D>>,
    transfers: Vec<Transfer>,
    slabs: Vec<Slabs>,
    bottom: Bottom,
    /// How many of the levels are in use.
    depth: usize,
}

impl<const D: usize> Hierarchy<D> {
    /// A hierarchy whose finest level is still to be filled.
    pub fn new(finest: Level<D>) -> Self {
        Hierarchy {
            levels: vec![finest],
            transfers: Vec::new(),
            slabs: Vec::new(),
            bottom: Bottom::default(),
            depth: 1,
        }
    }

    /// Rebuilds all coarser levels from the finest one.
    pub fn rebuild(&mut self) {
        self.transfers.clear();
        self.slabs.clear();
        self.slabs.push(slabs_of(&self.levels[0]));
        let mut l = 0;
        while self.levels[l].unknowns > BOTTOM && self.levels[l].shape.cells != [1; 3] {
            if self.levels.len() == l + 1 {
                let fine = &self.levels[l];
                let weight = coarse_weight::<D>(fine.weight);
                self.levels
                    .push(Level::empty(fine.shape.halved::<D>(), weight));
            }
            let (fine, coarse) = self.levels.split_at_mut(l + 1);
            let transfer = coarsen(&fine[l], &mut coarse[0]);
            if coarse[0].unknowns == 0 {
                break;
            }
            self.slabs.push(slabs_of(&coarse[0]));
            self.transfers.push(transfer);
            l += 1;
        }
        self.depth = l + 1;
        self.bottom.prepare(&self.levels[l]);
    }

    /// How the planes of the finest level are shared out.
    pub(super) fn slabs(&self) -> &Slabs {
        &self.slabs[0]
    }

    /// The number of levels in use.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// What the next cycle will be applied to, by memory index. Cells without an unknown must
    /// stay zero.
    pub fn right_hand_side(&mut self) -> &mut [f32] {
        &mut self.levels[0].b
    }

    /// The same, to be read.
    pub fn residual(&self) -> &[f32] {
        &self.levels[0].b
    }

    /// What the last cycle made of it.
    pub fn correction(&self) -> &[f32] {
        &self.levels[0].x
    }

    /// `x ← M⁻¹ b` on the finest level.
    pub fn cycle(&mut self) {
        let last = self.depth - 1;
        for l in 0..last {
            self.smooth_down(l);
            self.restrict(l);
        }
        self.bottom.solve(&mut self.levels[last]);
        for l in (0..last).rev() {
            self.smooth_up(l);
        }
    }

    fn smooth_down(&mut self, l: usize) {
        let level = &mut self.levels[l];
        let slabs = &self.slabs[l];
        if level.irregular.rows.is_empty() {
            let x = Shared(level.x.as_mut_ptr());
            let level: &Level<D> = level;
            slabs.wave(2 * SWEEPS, |m, z| {
                // SAFETY: calls at one time are far enough apart.
                unsafe {
                    match m {
                        0 => kernel::first_sweep(level, x.get(), z, 0),
                        _ => kernel::sweep(level, x.get(), z, m as u32 & 1),
                    }
                }
            });
            return;
        }
        level.x[level.shape.len..].fill(0.0);
        for sweep in 0..SWEEPS {
            half_sweep(level, slabs, 0, sweep == 0);
            half_sweep(level, slabs, 1, false);
            sweep_irregular(level, false);
        }
    }

    /// Adds the coarse correction and sweeps.
    fn smooth_up(&mut self, l: usize) {
        if !self.levels[l].irregular.rows.is_empty() || !self.transfers[l].is_plain() {
            self.prolong(l);
            let level = &mut self.levels[l];
            for _ in 0..SWEEPS {
                sweep_irregular(level, true);
                half_sweep(level, &self.slabs[l], 1, false);
                half_sweep(level, &self.slabs[l], 0, false);
            }
            return;
        }
        let (fine, coarse) = self.levels.split_at_mut(l + 1);
        let (level, coarse) = (&mut fine[l], &coarse[0]);
        let x = Shared(level.x.as_mut_ptr());
        let level: &Level<D> = level;
        self.slabs[l].wave(1 + 2 * SWEEPS, |m, z| {
            // SAFETY: calls at one time are far enough apart.
            unsafe {
                match m {
                    0 => kernel::prolong(level, coarse, x.get(), z),
                    _ => kernel::sweep(level, x.get(), z, m as u32 & 1),
                }
            }
        });
    }

    fn restrict(&mut self, l: usize) {
        let (fine, coarse) = self.levels.split_at_mut(l + 1);
        let (fine, coarse) = (&fine[l], &mut coarse[0]);
        let target = Shared(coarse.b.as_mut_ptr());
        let planes = coarse.shape.cells[2];
        let coarse_ref: &Level<D> = coarse;
        let pass = |z: usize| {
            // SAFETY: each plane of the coarse right-hand side is written by one call.
            unsafe { kernel::restrict(fine, coarse_ref, target.get(), z) }
        };
        self.slabs[l].each(planes, pass);
        let transfer = &self.transfers[l];
        coarse.b[coarse.shape.len..].fill(0.0);
        for (k, &unknown) in transfer.redo.iter().enumerate() {
            let children = transfer.redo_starts[k] as usize..transfer.redo_starts[k + 1] as usize;
            coarse.b[unknown as usize] = transfer.redo_children[children]
                .iter()
                .map(|&child| fine.residual_at(child))
                .sum();
        }
    }

    fn prolong(&mut self, l: usize) {
        let (fine, coarse) = self.levels.split_at_mut(l + 1);
        let (fine, coarse) = (&mut fine[l], &coarse[0]);
        let x = Shared(fine.x.as_mut_ptr());
        let fine_ref: &Level<D> = fine;
        let pass = |z: usize| {
            // SAFETY: each plane of the fine iterate is written by one call.
            unsafe { kernel::prolong(fine_ref, coarse, x.get(), z) }
        };
        self.slabs[l].each(fine.shape.cells[2], pass);
        let transfer = &self.transfers[l];
        for &(child, parent) in &transfer.exceptions {
            let at = fine.shape.at(child as usize);
            let y = if D == 3 { at[1] / 2 } else { at[1] };
            let cell = coarse.shape.index([at[0] / 2, y, at[2] / 2]);
            fine.x[child as usize] += value(coarse, parent) - coarse.x[cell];
        }
        for (t, &parent) in transfer.tail_parents.iter().enumerate() {
            fine.x[fine.shape.len + t] += value(coarse, parent);
        }
    }
}

fn value<const D: usize>(coarse: &Level<D>, unknown: u32) -> f32 {
    if unknown == NONE {
        0.0
    } else {
        coarse.x[unknown as usize]
    }
}

/// Sweeps the cells of one colour, by itself.
fn half_sweep<const D: usize>(level: &mut Level<D>, slabs: &Slabs, colour: u32, first: bool) {
    let x = Shared(level.x.as_mut_ptr());
    let level: &Level<D> = level;
    if first {
        // SAFETY: the first sweep reads and writes its own plane only.
        slabs.each(level.shape.cells[2], |z| unsafe {
            kernel::first_sweep(level, x.get(), z, colour);
        });
        return;
    }
    // A wave of two, the first of which does nothing: the second may then look at other planes.
    slabs.wave(2, |m, z| {
        if m == 1 {
            // SAFETY: calls at one time are far enough apart.
            unsafe { kernel::sweep(level, x.get(), z, colour) };
        }
    });
}

/// Gauss-Seidel on the explicit rows, in order or reversed.
fn sweep_irregular<const D: usize>(level: &mut Level<D>, reversed: bool) {
    let Level {
        irregular, x, b, ..
    } = level;
    let mut relax = |k: usize| {
        let row = &irregular.rows[k];
        if row.diagonal > 0.0 {
            let sum: f32 = irregular
                .couplings(row)
                .iter()
                .map(|&(other, weight)| weight * x[other as usize])
                .sum();
            x[row.index as usize] = (b[row.index as usize] + sum) / row.diagonal;
        }
    };
    let count = irregular.rows.len();
    if reversed {
        (0..count).rev().for_each(&mut relax);
    } else {
        (0..count).for_each(&mut relax);
    }
}

fn slabs_of<const D: usize>(level: &Level<D>) -> Slabs {
    let work = |z| level.plane(z).iter().map(|s| s.blocks as usize).sum();
    Slabs::new((0..level.shape.cells[2]).map(work))
}
