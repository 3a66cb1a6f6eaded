//! Preconditioned conjugate residuals.

use super::{Frame, Leash, Recurrence, Run, System, resize};
use crate::null_space::NullSpace;
use crate::operator::Operator;
use crate::outcome::finite;
use crate::outcome::{Outcome, SolveError, Tolerance};
use crate::precond::Preconditioner;
use crate::vector;

/// Conjugate residuals (Saad 2003, section 6.8) with the memory they need.
///
/// ```text
/// z ← M⁻¹ r,  p ← z,  q ← A p
/// until max|r| is small enough:
///     w ← M⁻¹ q,   α ← (z·A z)/(q·w)
///     x ← x + α p, r ← r − α q,  z ← z − α w
///     β ← (z·A z)/(its last value),  p ← z + β p,  q ← A z + β q
/// ```
///
/// One product with `A` and one application of `M⁻¹` an iteration, like conjugate gradients;
/// `rᵀM⁻¹r` is the smallest possible over the Krylov space. `A` symmetric, `M` symmetric positive
/// definite.
#[derive(Clone, Debug, Default)]
pub struct Cr {
    frame: Frame,
    work: Work,
}

#[derive(Clone, Debug, Default)]
struct Work {
    z: Vec<f64>,
    az: Vec<f64>,
    p: Vec<f64>,
    q: Vec<f64>,
    w: Vec<f64>,
}

impl Cr {
    /// A solver that has not met a problem yet.
    pub fn new() -> Cr {
        Cr::default()
    }

    /// Solves `A x = b` off the null space, as [`Pcg::solve`](crate::Pcg::solve) does.
    ///
    /// # Errors
    /// Those of [`Pcg::solve`](crate::Pcg::solve).
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
        let Work { z, az, p, q, w } = self;
        resize([z, az, p, q, w], r.len());
        system.precondition(r, z);
        let mut rho = system.a.apply_dot(z, az);
        p.copy_from_slice(z);
        q.copy_from_slice(az);
        let mut iterations = 0;
        loop {
            let iteration = leash.before + iterations;
            if finite(rho, "curvature", iteration)? < 0.0 {
                let curvature = rho;
                return Err(SolveError::NotPositiveDefinite {
                    iteration,
                    curvature,
                });
            }
            system.precondition(q, w);
            let product = finite(vector::dot(q, w), "preconditioned residual", iteration)?;
            if product < 0.0 {
                return Err(SolveError::PreconditionerNotPositiveDefinite { iteration, product });
            }
            if rho == 0.0 || product == 0.0 {
                break;
            }
            let alpha = rho / product;
            let norm = vector::advance(alpha, p, q, x, r);
            vector::axpy(-alpha, w, z);
            iterations += 1;
            if finite(norm, "residual", iteration)? <= leash.target {
                break;
            } else if iterations >= leash.budget {
                return Ok(Run {
                    iterations,
                    claims: false,
                });
            }
            let last = rho;
            rho = system.a.apply_dot(z, az);
            let beta = rho / last;
            vector::direct(z, beta, p);
            vector::direct(az, beta, q);
        }
        Ok(Run {
            iterations,
            claims: true,
        })
    }
}
