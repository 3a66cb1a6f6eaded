//! The V-cycle.

use super::hierarchy::{Hierarchy, Level};
use super::smoother::Sweep;
use crate::csr::Csr;
use crate::operator::Operator;
use crate::precond::Preconditioner;
use crate::vector;

/// One symmetric V-cycle over a [`Hierarchy`], as a preconditioner.
///
/// ```text
/// from the finest level down: smooth forward, restrict the residual
/// solve the coarsest level
/// and up again: add the interpolated correction, smooth backward
/// ```
///
/// Smoothing after is the adjoint of smoothing before and restriction that of interpolation, so
/// the whole is symmetric and positive, as conjugate gradients demand.
#[derive(Clone, Debug)]
pub struct VCycle {
    hierarchy: Hierarchy,
    sweeps: usize,
    grids: Vec<Grids>,
    scratch: Vec<f64>,
}

/// The vectors of one level. The finest uses those of the caller for `x` and `g`.
#[derive(Clone, Debug, Default)]
struct Grids {
    x: Vec<f64>,
    g: Vec<f64>,
    /// The residual.
    t: Vec<f64>,
}

impl VCycle {
    /// Gauss-Seidel sweeps before, and as many after.
    pub const SWEEPS: usize = 2;

    /// A cycle with [`SWEEPS`](Self::SWEEPS) on each side.
    pub fn new(hierarchy: Hierarchy) -> VCycle {
        VCycle::with_sweeps(hierarchy, VCycle::SWEEPS)
    }

    /// A cycle with another number of sweeps on each side, at least one.
    pub fn with_sweeps(hierarchy: Hierarchy, sweeps: usize) -> VCycle {
        let grids = hierarchy.levels().iter().enumerate().map(|(l, level)| {
            let rows = level.a.rows();
            let own = if l == 0 { 0 } else { rows };
            Grids {
                x: vec![0.0; own],
                g: vec![0.0; own],
                t: vec![0.0; rows],
            }
        });
        VCycle {
            grids: grids.collect(),
            sweeps: sweeps.max(1),
            scratch: Vec::new(),
            hierarchy,
        }
    }

    /// The hierarchy underneath.
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    pub(crate) fn hierarchy_mut(&mut self) -> &mut Hierarchy {
        &mut self.hierarchy
    }

    fn smooth(&mut self, l: usize, finest: &mut Finest<'_>, way: Sweep) {
        let level = &self.hierarchy.levels()[l];
        let grids = &mut self.grids[l];
        let (g, x) = match l {
            0 => (finest.g, &mut *finest.x),
            _ => (grids.g.as_slice(), grids.x.as_mut_slice()),
        };
        for _ in 0..self.sweeps {
            level
                .smoother
                .sweep(&level.a, g, None, x, way, &mut self.scratch);
        }
    }

    /// `g` of the next level ← `R (g − A x)`.
    fn descend(&mut self, l: usize, finest: &Finest<'_>) {
        let Level { a, transfer, .. } = &self.hierarchy.levels()[l];
        let Some(transfer) = transfer else { return };
        let (above, below) = self.grids.split_at_mut(l + 1);
        let Grids { x, g, t } = &mut above[l];
        let (g, x) = match l {
            0 => (finest.g, &*finest.x),
            _ => (g.as_slice(), x.as_slice()),
        };
        residual(a, g, x, t);
        if l == 0 {
            self.hierarchy.clear_held(t);
        }
        transfer.r.apply(t, &mut below[0].g);
        below[0].x.fill(0.0);
    }

    /// `x ← x + P x` of the next level.
    fn ascend(&mut self, l: usize, finest: &mut Finest<'_>) {
        let Some(transfer) = &self.hierarchy.levels()[l].transfer else {
            return;
        };
        let (above, below) = self.grids.split_at_mut(l + 1);
        match l {
            0 => transfer.p.add(&below[0].x, self.hierarchy.held(), finest.x),
            _ => transfer.p.add(&below[0].x, &[], &mut above[l].x),
        }
    }

    /// Solves the coarsest level: exactly, or by smoothing if it is too large for that.
    fn solve_bottom(&mut self, finest: &mut Finest<'_>) {
        let l = self.grids.len() - 1;
        if !self.hierarchy.has_exact_bottom() {
            self.smooth(l, finest, Sweep::Forward);
            self.smooth(l, finest, Sweep::Backward);
            return;
        }
        let grids = &mut self.grids[l];
        match l {
            0 => self.hierarchy.solve_bottom(finest.g, finest.x),
            _ => self.hierarchy.solve_bottom(&grids.g, &mut grids.x),
        }
    }
}

/// Right-hand side and solution of the finest level.
struct Finest<'a> {
    g: &'a [f64],
    x: &'a mut [f64],
}

/// `t ← g − A x`.
pub(crate) fn residual(a: &Csr, g: &[f64], x: &[f64], t: &mut [f64]) {
    a.apply(x, t);
    vector::subtract_from(g, t);
}

impl Preconditioner for VCycle {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        z.fill(0.0);
        let mut finest = Finest { g: r, x: z };
        let bottom = self.grids.len() - 1;
        for l in 0..bottom {
            self.smooth(l, &mut finest, Sweep::Forward);
            self.descend(l, &finest);
        }
        self.solve_bottom(&mut finest);
        for l in (0..bottom).rev() {
            self.ascend(l, &mut finest);
            self.smooth(l, &mut finest, Sweep::Backward);
        }
    }

    fn rows(&self) -> Option<usize> {
        Some(self.hierarchy.rows())
    }
}
