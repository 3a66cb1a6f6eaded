//! What keeps viscosity and pressure in step.
//!
//! Viscosity by itself knows no pressure. It evens out the strain of stretched liquid as if the
//! liquid could get thinner or not, as it likes; a pressure that comes after mends the divergence, but
//! not the stress, and the liquid resists as if it were half as thick (two thirds in a thread). The
//! pressure that answers viscosity must act along with it, and it is known from the step before: cells
//! have no energy not at rest but at a dilation `d` that is carried along with the liquid, and after
//! each solve
//!
//! ```text
//! d ← d − (1/D) Σ_a δ_a u_a,        p Δt/ρ = 2 κ d Δx
//! ```
//!
//! until viscosity leaves no divergence any more (the rotational pressure correction of Guermond,
//! Minev and Shen 2005). Faces of a cell are pushed apart by `w d` with `w` the least weight of its
//! samples; since `Σ_a w_a (δ_a u_a)² ≥ (w/D) (Σ_a δ_a u_a)²`, the step of `1/D` is the largest by which
//! no part of the divergence can change its sign, whatever the liquid's shape.

use plash_grid::{Cell, CellField, FaceField, Grid, Runs, Stencil, corners, sample_faces};
use plash_solve::staggered::ViscousSolver;

use super::body::LiquidBody;
use crate::pressure::Domain;

/// The dilation of a step.
pub(super) struct Dilation<const D: usize> {
    /// At cells with their middle in liquid: the pressure of the solve, then the dilation after it.
    values: CellField<f32, D>,
    /// Where the carried one may be other than zero.
    filled: Runs<D>,
}

impl<const D: usize> Dilation<D> {
    pub(super) fn new(grid: &Grid<D>) -> Self {
        Dilation {
            values: CellField::new(grid),
            filled: Runs::all(grid.layout()),
        }
    }

    /// The pressure that comes with the dilation of the last step, given a solver that has taken over
    /// the body.
    pub(super) fn pressure(
        &mut self,
        body: &LiquidBody<'_, D>,
        solver: &ViscousSolver<D>,
    ) -> &CellField<f32, D> {
        let last = body.marks.dilation;
        self.set(body.domain, |index, cell| {
            let last = last.as_slice()[index];
            let samples = (last != 0.0).then(|| solver.cell(cell)).flatten();
            samples.map_or(0.0, |samples| samples.weight as f32 * last)
        });
        &self.values
    }

    /// Takes over what a solver has found. Where walls have let go, and where some face of the cell is
    /// free to follow the others, there is no pressure.
    pub(super) fn correct(&mut self, body: &LiquidBody<'_, D>, solver: &ViscousSolver<D>) {
        let (last, separated) = (body.marks.dilation, body.marks.separated);
        self.set(body.domain, |index, cell| {
            let held = separated.as_slice()[index] == 0;
            let samples = held.then(|| solver.cell(cell)).flatten();
            samples.map_or(0.0, |samples| {
                (f64::from(last.as_slice()[index]) - samples.dilation / D as f64) as f32
            })
        });
    }

    fn set(&mut self, domain: &Domain<'_, D>, of: impl Fn(usize, [i32; D]) -> f32 + Sync) {
        let phi = domain.phi.as_slice();
        self.values.for_each_row(|row, values| {
            let length = values.len();
            for i in domain.runs.in_row(row).iter().flat_map(|r| r.range(length)) {
                let is_wet = phi[row.start + i] < 0.0;
                values[i] = if is_wet {
                    of(row.start + i, row.point(i))
                } else {
                    0.0
                };
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
        let (values, phi) = (self.values.as_slice(), phi.as_slice());
        let strides = grid.layout().strides();
        let at = |x: [f64; D]| {
            let stencil = Stencil::new(grid, x, [0.5; D], grid.cells());
            let (mut sum, mut weights) = (0.0, 0.0);
            for corner in corners::<D>() {
                let steps = (0..D).map(|a| corner[a] as usize * strides[a]);
                let index = stencil.base + steps.sum::<usize>();
                if phi[index] < 0.0 {
                    let weight = stencil.weight(corner);
                    sum += weight * f64::from(values[index]);
                    weights += weight;
                }
            }
            if weights > 0.0 { sum / weights } else { 0.0 }
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
