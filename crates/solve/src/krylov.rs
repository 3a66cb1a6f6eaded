//! Krylov methods beside conjugate gradients.
//!
//! [`Pcg`](crate::Pcg) is the one to use on symmetric positive definite systems, and all systems
//! of this crate are. The others are here to be compared with it as sub-solvers of Newton's
//! method, and each has one merit: [`Gmres`] and [`BiCgStab`] do not need symmetry, [`Cr`] makes
//! the residual fall monotonically in the norm of `M⁻¹`.
//!
//! They share one frame, which owns the iterate, computes the true residual at the beginning and
//! whenever a recurrence says it has converged, and decides when to stop.

mod bicgstab;
mod cr;
mod gmres;

pub use bicgstab::BiCgStab;
pub use cr::Cr;
pub use gmres::{Gmres, GmresOptions};

use crate::null_space::NullSpace;
use crate::operator::Operator;
use crate::outcome::{Outcome, SolveError, Status, Tolerance, finite};
use crate::pcg::{self, NULL_SPACE_NOISE, ROUNDING_FLOOR};
use crate::precond::Preconditioner;
use crate::vector;

/// A true residual that a claim of convergence did not bring below this share of the last one
/// checked will not fall much further.
const HALVED: f64 = 0.5;

/// A restart that reduces the residual by less has come to a halt.
const CREEPING: f64 = 0.999;

/// What is being solved.
struct System<'a, A: ?Sized, M: ?Sized> {
    a: &'a A,
    m: &'a mut M,
    null_space: &'a NullSpace,
}

impl<A: Operator + ?Sized, M: Preconditioner + ?Sized> System<'_, A, M> {
    /// `z ← M⁻¹ r` off the null space.
    fn precondition(&mut self, r: &[f64], z: &mut [f64]) {
        self.m.apply(r, z);
        self.null_space.project(z);
    }
}

/// How far one run of a recurrence may go.
struct Leash {
    /// The max norm to reach.
    target: f64,
    /// Iterations that may be spent.
    budget: usize,
    /// Iterations spent before this run, for error messages.
    before: usize,
}

/// What one run of a recurrence did.
struct Run {
    iterations: usize,
    /// Whether it believes to have reached the target, or cannot go on.
    claims: bool,
}

/// A recurrence that improves `x`, given the true residual `r = b − A x`.
trait Recurrence {
    fn run<A: Operator + ?Sized, M: Preconditioner + ?Sized>(
        &mut self,
        system: &mut System<'_, A, M>,
        x: &mut [f64],
        r: &mut [f64],
        leash: &Leash,
    ) -> Result<Run, SolveError>;
}

/// The iterate and its residual, around a recurrence.
#[derive(Clone, Debug, Default)]
struct Frame {
    b: Vec<f64>,
    x: Vec<f64>,
    r: Vec<f64>,
}

impl Frame {
    /// Solves `A x = b` off the null space; the contract is that of
    /// [`Pcg::solve`](crate::Pcg::solve).
    fn solve<A: Operator + ?Sized, M: Preconditioner + ?Sized>(
        &mut self,
        recurrence: &mut impl Recurrence,
        mut system: System<'_, A, M>,
        b: &[f64],
        x: &mut [f64],
        tol: &Tolerance,
    ) -> Result<Outcome, SolveError> {
        pcg::check_shapes(system.a.rows(), system.m.rows(), system.null_space, b, x)?;
        let raw_norm = finite(vector::max_norm(b), "right-hand side", 0)?;
        finite(vector::max_norm(x), "initial guess", 0)?;
        let b_norm = pcg::project_copy(system.null_space, b, &mut self.b);
        if b_norm <= NULL_SPACE_NOISE * raw_norm {
            x.fill(0.0);
            return Ok(Outcome::of_zero());
        }
        self.x.clear();
        self.x.extend_from_slice(x);
        self.r.resize(b.len(), 0.0);
        system.null_space.project(&mut self.x);
        let outcome = self.iterate(recurrence, &mut system, tol.target(b_norm), b_norm, tol)?;
        system.null_space.project(&mut self.x);
        x.copy_from_slice(&self.x);
        Ok(outcome)
    }

    fn iterate<A: Operator + ?Sized, M: Preconditioner + ?Sized>(
        &mut self,
        recurrence: &mut impl Recurrence,
        system: &mut System<'_, A, M>,
        target: f64,
        b_norm: f64,
        tol: &Tolerance,
    ) -> Result<Outcome, SolveError> {
        let mut residual = self.true_residual(system, 0)?;
        let initial_residual = residual;
        let mut iterations = 0;
        let status = loop {
            if residual <= target {
                break Status::Converged;
            } else if iterations >= tol.max_iterations {
                break Status::IterationLimit;
            }
            let leash = Leash {
                target: target.max(ROUNDING_FLOOR * b_norm),
                budget: tol.max_iterations - iterations,
                before: iterations,
            };
            let run = recurrence.run(system, &mut self.x, &mut self.r, &leash)?;
            iterations += run.iterations;
            let last = residual;
            residual = self.true_residual(system, iterations)?;
            let enough = if run.claims { HALVED } else { CREEPING };
            if residual > target && residual > enough * last && iterations < tol.max_iterations {
                break Status::Stagnated;
            }
        };
        Ok(Outcome {
            status,
            iterations,
            residual,
            initial_residual,
        })
    }

    /// `r ← b − A x`, returning `max|r|`.
    fn true_residual<A: Operator + ?Sized, M: ?Sized>(
        &mut self,
        system: &System<'_, A, M>,
        iteration: usize,
    ) -> Result<f64, SolveError> {
        system.a.apply(&self.x, &mut self.r);
        let norm = vector::subtract_from(&self.b, &mut self.r);
        finite(norm, "residual", iteration)
    }
}

/// Sizes scratch vectors for a system.
fn resize<const N: usize>(vectors: [&mut Vec<f64>; N], rows: usize) {
    for v in vectors {
        v.resize(rows, 0.0);
    }
}
