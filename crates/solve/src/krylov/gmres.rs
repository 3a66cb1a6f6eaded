//! Generalised minimal residuals.

use super::{Frame, Leash, Recurrence, Run, System, resize};
use crate::null_space::NullSpace;
use crate::operator::Operator;
use crate::outcome::finite;
use crate::outcome::{Outcome, SolveError, Tolerance};
use crate::precond::Preconditioner;
use crate::vector;

/// How much memory [`Gmres`] may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GmresOptions {
    /// Iterations between restarts; one vector is kept for each.
    pub restart: usize,
}

impl Default for GmresOptions {
    fn default() -> GmresOptions {
        GmresOptions { restart: 30 }
    }
}

/// Restarted GMRES (Saad and Schultz 1986), preconditioned from the right, so that the residual
/// it makes smallest is the true one.
///
/// One product with `A` and one application of `M⁻¹` an iteration, and inner products with all
/// vectors since the last restart. The basis is made orthogonal by modified Gram–Schmidt and the
/// small least-squares problem triangular by Givens rotations (Saad 2003, section 6.5.3).
#[derive(Clone, Debug, Default)]
pub struct Gmres {
    frame: Frame,
    work: Work,
}

#[derive(Clone, Debug, Default)]
struct Work {
    options: GmresOptions,
    /// Orthonormal basis of the Krylov space.
    basis: Vec<Vec<f64>>,
    /// Columns of the Hessenberg matrix, made triangular by the rotations.
    columns: Vec<Vec<f64>>,
    rotations: Vec<[f64; 2]>,
    /// The right-hand side of the least-squares problem; its last entry is `|r|₂`.
    g: Vec<f64>,
    z: Vec<f64>,
    w: Vec<f64>,
}

impl Gmres {
    /// A solver that has not met a problem yet.
    pub fn new(options: GmresOptions) -> Gmres {
        let work = Work {
            options,
            ..Work::default()
        };
        Gmres {
            frame: Frame::default(),
            work,
        }
    }

    /// Solves `A x = b` off the null space, as [`Pcg::solve`](crate::Pcg::solve) does.
    ///
    /// # Errors
    /// [`SolveError::Shape`] and [`SolveError::NotFinite`].
    pub fn solve<A: Operator + ?Sized, M: Preconditioner + ?Sized>(
        &mut self,
        a: &A,
        m: &mut M,
        null_space: &NullSpace,
        b: &[f64],
        x: &mut [f64],
        tol: &Tolerance,
    ) -> Result<Outcome, SolveError> {
        let system = System { a, m, null_space };
        self.frame.solve(&mut self.work, system, b, x, tol)
    }
}

impl Recurrence for Work {
    fn run<A: Operator + ?Sized, M: Preconditioner + ?Sized>(
        &mut self,
        system: &mut System<'_, A, M>,
        x: &mut [f64],
        r: &mut [f64],
        leash: &Leash,
    ) -> Result<Run, SolveError> {
        let size = self.begin(r);
        // The recurrence knows the 2-norm; the target is of the max norm. Their ratio changes
        // slowly, and the caller looks at the true residual.
        let ratio = vector::max_norm(r) / size;
        let steps = self.options.restart.max(1).min(leash.budget);
        let (mut iterations, mut claims) = (0, false);
        while iterations < steps && !claims {
            let grown = self.arnoldi(system, iterations, leash.before)?;
            iterations += 1;
            claims = !grown || self.g[iterations].abs() * ratio <= leash.target;
        }
        self.correct(system, iterations, x);
        Ok(Run { iterations, claims })
    }
}

impl Work {
    /// Readies the memory and the first basis vector; returns `|r|₂`.
    fn begin(&mut self, r: &[f64]) -> f64 {
        let rows = r.len();
        resize([&mut self.z, &mut self.w], rows);
        self.rotations.clear();
        self.g.clear();
        let size = vector::dot(r, r).sqrt();
        self.g.push(size);
        if self.basis.is_empty() {
            self.basis.push(Vec::new());
        }
        self.basis[0].clear();
        self.basis[0].extend(r.iter().map(|r| r / size));
        size
    }

    /// Adds column `k` to the Hessenberg matrix; whether the Krylov space has grown by it.
    fn arnoldi<A: Operator + ?Sized, M: Preconditioner + ?Sized>(
        &mut self,
        system: &mut System<'_, A, M>,
        k: usize,
        before: usize,
    ) -> Result<bool, SolveError> {
        system.precondition(&self.basis[k], &mut self.z);
        system.a.apply(&self.z, &mut self.w);
        if self.columns.len() == k {
            self.columns.push(Vec::new());
        }
        let column = &mut self.columns[k];
        column.clear();
        for v in &self.basis[..=k] {
            let h = vector::dot(&self.w, v);
            vector::axpy(-h, v, &mut self.w);
            column.push(h);
        }
        let next = vector::dot(&self.w, &self.w).sqrt();
        let next = finite(next, "residual", before + k)?;
        let largest = column.iter().fold(next, |m, h| m.max(h.abs()));
        let grown = next > f64::EPSILON * largest;
        if grown {
            if self.basis.len() == k + 1 {
                self.basis.push(Vec::new());
            }
            self.basis[k + 1].clear();
            self.basis[k + 1].extend(self.w.iter().map(|w| w / next));
        }
        self.rotate(k, next);
        Ok(grown)
    }

    /// Makes column `k`, with `below` under its diagonal, triangular.
    fn rotate(&mut self, k: usize, below: f64) {
        let column = &mut self.columns[k];
        for (i, [c, s]) in self.rotations.iter().enumerate() {
            let (above, here) = (column[i], column[i + 1]);
            column[i] = c * above + s * here;
            column[i + 1] = c * here - s * above;
        }
        let length = column[k].hypot(below);
        let [c, s] = if length > 0.0 {
            [column[k] / length, below / length]
        } else {
            [1.0, 0.0]
        };
        column[k] = length;
        self.rotations.push([c, s]);
        let g = self.g[k];
        self.g[k] = c * g;
        self.g.push(-s * g);
    }

    /// `x ← x + M⁻¹ V y` with the `y` that solves the first `k` rows of `R y = g`.
    fn correct<A: Operator + ?Sized, M: Preconditioner + ?Sized>(
        &mut self,
        system: &mut System<'_, A, M>,
        k: usize,
        x: &mut [f64],
    ) {
        let y = &mut self.g;
        for i in (0..k).rev() {
            let known: f64 = (i + 1..k).map(|j| self.columns[j][i] * y[j]).sum();
            let pivot = self.columns[i][i];
            // A zero pivot belongs to a direction that A maps to zero: leave it out.
            y[i] = if pivot == 0.0 {
                0.0
            } else {
                (y[i] - known) / pivot
            };
        }
        self.w.fill(0.0);
        for (y, v) in y[..k].iter().zip(&self.basis) {
            vector::axpy(*y, v, &mut self.w);
        }
        system.precondition(&self.w, &mut self.z);
        vector::axpy(1.0, &self.z, x);
    }
}
