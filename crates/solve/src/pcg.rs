//! Preconditioned conjugate gradients.

use crate::null_space::NullSpace;
use crate::operator::Operator;
use crate::outcome::{Outcome, SolveError, Status, Tolerance, finite};
use crate::precond::Preconditioner;
use crate::vector;

/// Conjugate gradients with the memory they need.
///
/// ```text
/// r ← b − A x,  ρ ← 1,  p ← 0
/// until max|r| is small enough:
///     z ← M⁻¹ r,   β ← (r·z)/ρ,  ρ ← r·z
///     p ← z + β p
///     q ← A p,     α ← ρ/(p·q)
///     x ← x + α p, r ← r − α q
/// ```
///
/// One product with `A` and one application of `M⁻¹` an iteration. When the recurrence says it
/// has converged, `b − A x` is computed afresh; if rounding has led the two apart, the iteration
/// restarts from the true residual, and gives up as [`Status::Stagnated`] when a restart no
/// longer halves it.
///
/// The memory grows to the largest problem met and is kept: a second solve of the same size
/// allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Pcg {
    /// The right-hand side in the range of `A`; unused when nothing is projected.
    b: Vec<f64>,
    /// The iterate. The caller's vector is written once, at the end of a solve without error.
    x: Vec<f64>,
    r: Vec<f64>,
    z: Vec<f64>,
    p: Vec<f64>,
    q: Vec<f64>,
}

/// A recurrence this far below the right-hand side says nothing more about the true residual.
pub(crate) const ROUNDING_FLOOR: f64 = 0.01 * f64::EPSILON;

/// A right-hand side that the projection reduces by this factor was in the null space but for
/// rounding errors.
pub(crate) const NULL_SPACE_NOISE: f64 = 16.0 * f64::EPSILON;

impl Pcg {
    /// A solver that has not met a problem yet.
    pub fn new() -> Pcg {
        Pcg::default()
    }

    /// Solves `A x = b` for the projection of `b` off `null_space`.
    ///
    /// `x` holds the initial guess and receives the solution, whose mean over each set of the
    /// null space is zero. If the right-hand side is zero so is the solution, after no
    /// iterations. On an error `x` keeps the guess.
    ///
    /// # Errors
    /// [`SolveError::Shape`] if the pieces do not fit, [`SolveError::NotFinite`] if `b` or the
    /// guess is not finite or the numbers overflow on the way, and the two not-positive-definite
    /// errors if `A` or `M` turns out not to be.
    pub fn solve<A: Operator + ?Sized, M: Preconditioner + ?Sized>(
        &mut self,
        a: &A,
        m: &mut M,
        null_space: &NullSpace,
        b: &[f64],
        x: &mut [f64],
        tol: &Tolerance,
    ) -> Result<Outcome, SolveError> {
        check_shapes(a.rows(), m.rows(), null_space, b, x)?;
        let raw_norm = finite(vector::max_norm(b), "right-hand side", 0)?;
        let guess_norm = finite(vector::max_norm(x), "initial guess", 0)?;

        let mut projected = std::mem::take(&mut self.b);
        let (b, b_norm) = if null_space.is_none() {
            (b, raw_norm)
        } else {
            let norm = project_copy(null_space, b, &mut projected);
            let noise = norm <= NULL_SPACE_NOISE * raw_norm;
            (projected.as_slice(), if noise { 0.0 } else { norm })
        };

        self.x.clear();
        let outcome = if b_norm == 0.0 {
            self.x.resize(x.len(), 0.0);
            Ok(Outcome::of_zero())
        } else {
            self.x.extend_from_slice(x);
            let system = System {
                a,
                m,
                null_space,
                b,
                b_norm,
            };
            self.iterate(system, guess_norm == 0.0, tol)
        };
        if outcome.is_ok() {
            null_space.project(&mut self.x);
            x.copy_from_slice(&self.x);
        }
        self.b = projected;
        outcome
    }

    /// The iteration itself, on `self.x`.
    fn iterate<A: Operator + ?Sized, M: Preconditioner + ?Sized>(
        &mut self,
        mut system: System<'_, A, M>,
        from_zero: bool,
        tol: &Tolerance,
    ) -> Result<Outcome, SolveError> {
        let target = tol.target(system.b_norm);
        let trigger = target.max(ROUNDING_FLOOR * system.b_norm);
        let mut residual = self.begin(&system, from_zero)?;
        let initial_residual = residual;
        // While `restart` holds, `r` is the true residual and not the recurrence's.
        let (mut iterations, mut restart) = (0, true);
        let (mut last_checked, mut rho) = (f64::INFINITY, 1.0);

        let status = loop {
            if residual <= trigger || iterations >= tol.max_iterations {
                if !restart {
                    residual = self.true_residual(&system, iterations)?;
                    restart = true;
                }
                if let Some(status) = verdict(residual, target, last_checked, iterations, tol) {
                    break status;
                }
                last_checked = residual;
            }
            let product = system.precondition(&self.r, &mut self.z, iterations)?;
            if product == 0.0 {
                residual = self.true_residual(&system, iterations)?;
                let done = residual <= target;
                break if done {
                    Status::Converged
                } else {
                    Status::Stagnated
                };
            }
            if restart {
                self.p.copy_from_slice(&self.z);
            } else {
                vector::direct(&self.z, product / rho, &mut self.p);
            }
            (rho, restart) = (product, false);

            let curvature = system.a.apply_dot(&self.p, &mut self.q);
            if finite(curvature, "curvature", iterations)? <= 0.0 {
                return Err(SolveError::NotPositiveDefinite {
                    iteration: iterations,
                    curvature,
                });
            }
            let alpha = finite(rho / curvature, "step length", iterations)?;
            let norm = vector::advance(alpha, &self.p, &self.q, &mut self.x, &mut self.r);
            residual = finite(norm, "residual", iterations)?;
            iterations += 1;
        };
        Ok(Outcome {
            status,
            iterations,
            residual,
            initial_residual,
        })
    }

    /// Readies the memory and the first residual, returning its norm. A guess of zero needs no
    /// product.
    fn begin<A: Operator + ?Sized, M: ?Sized>(
        &mut self,
        system: &System<'_, A, M>,
        from_zero: bool,
    ) -> Result<f64, SolveError> {
        for v in [&mut self.r, &mut self.z, &mut self.p, &mut self.q] {
            v.resize(system.b.len(), 0.0);
        }
        if from_zero {
            self.r.copy_from_slice(system.b);
            return Ok(system.b_norm);
        }
        system.null_space.project(&mut self.x);
        self.true_residual(system, 0)
    }

    /// `r ← b − A x`, returning `max|r|`.
    fn true_residual<A: Operator + ?Sized, M: ?Sized>(
        &mut self,
        system: &System<'_, A, M>,
        iteration: usize,
    ) -> Result<f64, SolveError> {
        system.a.apply(&self.x, &mut self.r);
        finite(
            vector::subtract_from(system.b, &mut self.r),
            "residual",
            iteration,
        )
    }
}

/// What is being solved.
struct System<'a, A: ?Sized, M: ?Sized> {
    a: &'a A,
    m: &'a mut M,
    null_space: &'a NullSpace,
    b: &'a [f64],
    b_norm: f64,
}

impl<A: ?Sized, M: Preconditioner + ?Sized> System<'_, A, M> {
    /// `z ← M⁻¹ r` off the null space, returning `r·z`.
    fn precondition(
        &mut self,
        r: &[f64],
        z: &mut [f64],
        iteration: usize,
    ) -> Result<f64, SolveError> {
        let product = if self.null_space.is_none() {
            self.m.apply_dot(r, z)
        } else {
            self.m.apply(r, z);
            self.null_space.project(z);
            vector::dot(r, z)
        };
        if finite(product, "preconditioned residual", iteration)? < 0.0 {
            return Err(SolveError::PreconditionerNotPositiveDefinite { iteration, product });
        }
        Ok(product)
    }
}

/// `projected ← b` off the null space, returning its max norm.
pub(crate) fn project_copy(null_space: &NullSpace, b: &[f64], projected: &mut Vec<f64>) -> f64 {
    projected.clear();
    projected.extend_from_slice(b);
    null_space.project(projected);
    vector::max_norm(projected)
}

/// Whether a true residual ends the iteration.
fn verdict(
    residual: f64,
    target: f64,
    last_checked: f64,
    iterations: usize,
    tol: &Tolerance,
) -> Option<Status> {
    if residual <= target {
        Some(Status::Converged)
    } else if iterations >= tol.max_iterations {
        Some(Status::IterationLimit)
    } else if residual > 0.5 * last_checked {
        Some(Status::Stagnated)
    } else {
        None
    }
}

pub(crate) fn check_shapes(
    expected: usize,
    preconditioner: Option<usize>,
    null_space: &NullSpace,
    b: &[f64],
    x: &[f64],
) -> Result<(), SolveError> {
    let fits = |quantity, found| SolveError::check_count(quantity, expected, found);
    fits("right-hand side", b.len())?;
    fits("vector of unknowns", x.len())?;
    fits("preconditioner", preconditioner.unwrap_or(expected))?;
    fits("null space", null_space.bound().max(expected))
}
