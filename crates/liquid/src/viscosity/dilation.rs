//! What keeps viscosity and pressure in step.
//!
//! Viscosity by itself knows no pressure. It evens out the strain of stretched liquid as if the
//! liquid could get thinner or not, as it likes; a pressure that comes after mends the divergence, but
//! not the stress, and the liquid resists as if it were half as thick (two thirds in a thread). The
//! pressure that answers viscosity must act along with it, and it is known from the step before. To
//! viscosity a cell is unstrained at a dilation `d`, in place of none; after each solve
//!
//! ```text
//! d ← d − (1/D) Σ_a δ_a u_a,        p Δt/ρ = 2 κ d Δx
//! ```
//!
//! until viscosity leaves no divergence any more (the rotational pressure correction of Guermond,
//! Minev and Shen 2005), and `d` is carried along with the liquid. Faces of a cell are pushed apart by
//! `w d` with `w` the least weight of its samples; since `Σ_a w_a (δ_a u_a)² ≥ (w/D) (Σ_a δ_a u_a)²`, the
//! step of `1/D` is the largest by which no part of the divergence can change its sign, whatever the
//! liquid's shape.
//!
//! Where `w` is small beside the mass of a face, `w d` can do nothing about a divergence that thicker liquid
//! beside it causes, and need not: the projection can. There `d` would grow for ever, so it is lessened to
//! its share `w²/(1 + w²)`. And what counts where liquids meet is stress, hence the mean of `d` is weighted.

use plash_grid::{Cell, CellField, FaceField, Grid, Runs, Stencil, corners, sample_faces};
use plash_solve::staggered::{CellSamples, ViscousSolver};

use super::body::LiquidBody;
use crate::pressure::Domain;

/// The dilation of a step, by cell.
pub(super) struct Dilation<const D: usize> {
    /// `w` and `w d`, zero where there is none: in the solve that of the last step, then that for the
    /// next.
    pairs: CellField<[f32; 2], D>,
    /// Where the carried one may be other than zero.
    filled: Runs<D>,
}

impl<const D: usize> Dilation<D> {
    pub(super) fn new(grid: &Grid<D>) -> Self {
        Dilation {
            pairs: CellField::new(grid),
            filled: Runs::all(grid.layout()),
        }
    }

    /// Takes up the dilation of the last step, given a solver that has taken over the body.
    pub(super) fn begin(&mut self, body: &LiquidBody<'_, D>, solver: &ViscousSolver<D>) {
        let last = body.marks.dilation.as_slice();
        self.set(body.domain, |index, cell| {
            let samples = (last[index] != 0.0).then(|| solver.cell(cell)).flatten()?;
            Some([samples.weight, f64::from(last[index])])
        });
    }

    /// How the cell with this memory index pushes its faces apart.
    pub(super) fn push(&self, index: usize) -> f64 {
        f64::from(self.pairs.as_slice()[index][1])
    }

    /// Takes over what a solver has found. There is none where walls have let go, nor in cells without
    /// a sample along some axis: a face there follows the others at no cost.
    pub(super) fn correct(&mut self, body: &LiquidBody<'_, D>, solver: &ViscousSolver<D>) {
        let (last, separated) = (body.marks.dilation, body.marks.separated);
        self.set(body.domain, |index, cell| {
            let is_held = separated.as_slice()[index] == 0;
            let CellSamples { weight, dilation } = is_held.then(|| solver.cell(cell)).flatten()?;
            let share = weight * weight / (1.0 + weight * weight);
            let last = f64::from(last.as_slice()[index]);
            Some([weight, share * (last - dilation / D as f64)])
        });
    }

    /// Sets weights and pushes of cells with their middle in liquid, given weight and dilation of those
    /// that have any.
    fn set(
        &mut self,
        domain: &Domain<'_, D>,
        of: impl Fn(usize, [i32; D]) -> Option<[f64; 2]> + Sync,
    ) {
        let phi = domain.phi.as_slice();
        let found = |index: usize, cell| {
            let found = (phi[index] < 0.0).then(|| of(index, cell)).flatten();
            let [weight, dilation] = found.unwrap_or_default();
            let pair = [weight as f32, (weight * dilation) as f32];
            // What no number can hold must not be kept.
            if pair[1].is_finite() { pair } else { [0.0; 2] }
        };
        self.pairs.for_each_row(|row, pairs| {
            let length = pairs.len();
            for i in domain.runs.in_row(row).iter().flat_map(|r| r.range(length)) {
                pairs[i] = found(row.start + i, row.point(i));
            }
        });
    }

    /// Writes it to where the liquid will be after `dt` seconds in `u`, no farther than `reach` from
    /// where it is.
    pub(super) fn carry(
        &mut self,
        domain: &Domain<'_, D>,
        u: &FaceField<f64, D>,
        dt: f64,
        reach: f64,
        carried: &mut CellField<f32, D>,
    ) {
        let Domain {
            grid, runs, phi, ..
        } = *domain;
        carried.fill_runs(&self.filled, 0.0);
        self.filled.clone_from(runs);
        let (pairs, phi) = (self.pairs.as_slice(), phi.as_slice());
        let strides = grid.layout().strides();
        let at = |x: [f64; D]| {
            let stencil = Stencil::new(grid, x, [0.5; D], grid.cells());
            let (mut push, mut weight) = (0.0, 0.0);
            for corner in corners::<D>() {
                let steps = (0..D).map(|a| corner[a] as usize * strides[a]);
                let index = stencil.base + steps.sum::<usize>();
                if phi[index] < 0.0 {
                    let share = stencil.weight(corner);
                    let [own, pushed] = pairs[index].map(f64::from);
                    weight += share * own;
                    push += share * pushed;
                }
            }
            if weight > 0.0 { push / weight } else { 0.0 }
        };
        carried.for_each_row(|row, carried| {
            let length = carried.len();
            for i in runs.in_row(row).iter().flat_map(|r| r.range(length)) {
                if phi[row.start + i] < reach {
                    let x = Cell(row.point(i)).center(grid);
                    let u = sample_faces(grid, u, x);
                    carried[i] = at(std::array::from_fn(|a| x[a] - dt * u[a])) as f32;
                }
            }
        });
    }
}
