//! Stabilised bi-conjugate gradients.

use super::{Frame, Leash, Recurrence, Run, System, resize};
use crate::null_space::NullSpace;
use crate::operator::Operator;
use crate::outcome::finite;
use crate::outcome::{Outcome, SolveError, Tolerance};
use crate::precond::Preconditioner;
use crate::vector;

/// BiCGStab (van der Vorst 1992), preconditioned from the right, with the memory it needs.
///
/// Two products with `A` and two applications of `M⁻¹` an iteration. Symmetry is not needed.
/// When the recurrence breaks down (`r₀·r = 0` or `t = 0`) it restarts from the true residual.
#[derive(Clone, Debug, Default)]
pub struct BiCgStab {
    frame: Frame,
    work: Work,
}

#[derive(Clone, Debug, Default)]
struct Work {
    shadow: Vec<f64>,
    p: Vec<f64>,
    /// `M⁻¹ p`, then `M⁻¹ s`.
    z: Vec<f64>,
    v: Vec<f64>,
    t: Vec<f64>,
}

/// `r₀·r` this small against `|r₀||r|` is a breakdown.
const BREAKDOWN: f64 = 1e-14;

impl BiCgStab {
    /// A solver that has not met a problem yet.
    pub fn new() -> BiCgStab {
        BiCgStab::default()
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
        let Work { shadow, p, z, v, t } = self;
        resize([shadow, p, z, v, t], r.len());
        shadow.copy_from_slice(r);
        p.copy_from_slice(r);
        let shadow_norm = vector::dot(shadow, shadow).sqrt();
        let mut rho = shadow_norm * shadow_norm;
        let mut iterations = 0;
        let claims = loop {
            let iteration = leash.before + iterations;
            // s ← r − α A M⁻¹ p, in place of r
            system.precondition(p, z);
            system.a.apply(z, v);
            let product = finite(vector::dot(shadow, v), "curvature", iteration)?;
            if product == 0.0 {
                break true;
            }
            let alpha = finite(rho / product, "step length", iteration)?;
            iterations += 1;
            if finite(vector::advance(alpha, z, v, x, r), "residual", iteration)? <= leash.target {
                break true;
            }
            // r ← s − ω A M⁻¹ s, with ω that makes it smallest
            system.precondition(r, z);
            system.a.apply(z, t);
            let size = finite(vector::dot(t, t), "residual", iteration)?;
            if size == 0.0 {
                break true;
            }
            let omega = vector::dot(t, r) / size;
            let norm = finite(vector::advance(omega, z, t, x, r), "residual", iteration)?;
            if norm <= leash.target {
                break true;
            } else if iterations >= leash.budget {
                break false;
            }
            let last = rho;
            rho = vector::dot(shadow, r);
            let floor = BREAKDOWN * shadow_norm * vector::dot(r, r).sqrt();
            if rho.abs() <= floor || omega == 0.0 {
                break false;
            }
            let beta = (rho / last) * (alpha / omega);
            vector::axpy(-omega, v, p);
            vector::direct(r, beta, p);
        };
        Ok(Run { iterations, claims })
    }
}
