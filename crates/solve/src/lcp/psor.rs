//! Projected successive over-relaxation.

use crate::csr::Csr;
use crate::lcp::policy;
use crate::lcp::start::{Begun, Start};
use crate::operator::Operator;
use crate::outcome::{SolveError, Status, Tolerance, finite_residual};
use crate::problem::{Policy, Problem, Solution};
use crate::vector;

/// A matrix that can be asked for one row of a product, for methods that sweep.
pub trait Rows: Operator {
    /// `(A x)ᵢ`.
    fn row_dot(&self, i: usize, x: &[f64]) -> f64;
}

impl Rows for Csr {
    fn row_dot(&self, i: usize, x: &[f64]) -> f64 {
        let (columns, values) = self.row(i);
        columns
            .iter()
            .zip(values)
            .map(|(&j, value)| value * x[j as usize])
            .sum()
    }
}

/// Projected successive over-relaxation (Cryer 1971): sweeps over the unknowns in their order,
///
/// ```text
/// x_i ← x_i − ω (A x − b)_i / A_ii,   and not below zero where constrained.
/// ```
///
/// With `ω = 1` it is projected Gauss–Seidel, the oldest method for these problems and the
/// baseline: its sweeps grow with the square of the grid's width. It is sequential and its path
/// depends on the order of the unknowns.
///
/// [`Solution::iterations`] counts sweeps.
#[derive(Clone, Debug)]
pub struct Psor {
    relaxation: f64,
    start: Start,
    x: Vec<f64>,
    y: Vec<f64>,
}

/// Past this many true residuals that were not what the sweep said, rounding is blamed.
const FUTILE_CHECKS: usize = 8;

impl Psor {
    /// Sweeps with the given relaxation `ω`, between 0 and 2.
    pub fn new(relaxation: f64) -> Psor {
        Psor {
            relaxation,
            start: Start::default(),
            x: Vec::new(),
            y: Vec::new(),
        }
    }

    /// Solves `problem` from the guess in `x`.
    ///
    /// `x` and `policy` receive the solution; on an error both are left alone. The policy is not
    /// asked.
    ///
    /// # Errors
    /// [`SolveError::Shape`], [`SolveError::NotFinite`], [`SolveError::NotPositiveDefinite`] for a
    /// diagonal entry that is not positive.
    pub fn solve<A: Rows + ?Sized>(
        &mut self,
        problem: &Problem<'_, A>,
        policy: &mut Policy,
        x: &mut [f64],
        tol: &Tolerance,
    ) -> Result<Solution, SolveError> {
        let begun = self.start.begin(problem, x)?;
        if begun.b_norm == 0.0 {
            x.fill(0.0);
            policy::record_none(x.len(), policy);
            return Ok(Solution::of_zero());
        }
        self.x.clear();
        self.x.extend_from_slice(x);
        self.y.resize(x.len(), 0.0);
        let target = tol.target(begun.b_norm);
        let (u, y) = (&mut self.x, &mut self.y);
        let mut solution = iterate(&begun, self.relaxation, u, y, target, tol.max_iterations)?;
        solution.separated = policy::record(&begun.problem, u, y, policy);
        begun.problem.null_space.project(u);
        x.copy_from_slice(u);
        Ok(solution)
    }
}

fn iterate<A: Rows + ?Sized>(
    begun: &Begun<'_, A>,
    relaxation: f64,
    x: &mut [f64],
    y: &mut [f64],
    target: f64,
    max_iterations: usize,
) -> Result<Solution, SolveError> {
    let problem = &begun.problem;
    let initial_residual = finite_residual(problem.residual(x, y), 0)?;
    let mut residual = initial_residual;
    let (mut iterations, mut futile) = (0, 0);
    let status = loop {
        if residual <= target {
            break Status::Converged;
        } else if iterations >= max_iterations {
            break Status::IterationLimit;
        } else if futile > FUTILE_CHECKS {
            break Status::Stagnated;
        }
        let met = finite_residual(sweep(problem, relaxation, x)?, iterations)?;
        iterations += 1;
        // The residuals met on the way say when to look at the true one.
        if met <= target || iterations >= max_iterations {
            residual = finite_residual(problem.residual(x, y), iterations)?;
            futile += 1;
        }
    };
    Ok(Solution {
        status,
        iterations,
        outer_iterations: 1,
        residual,
        initial_residual,
        separated: 0,
    })
}

/// One sweep; returns the largest natural residual met, each before its unknown was updated.
fn sweep<A: Rows + ?Sized>(
    problem: &Problem<'_, A>,
    relaxation: f64,
    x: &mut [f64],
) -> Result<f64, SolveError> {
    let mut largest = 0.0;
    for i in 0..x.len() {
        let diagonal = problem.a.diagonal(i);
        if diagonal <= 0.0 || diagonal.is_nan() {
            return Err(SolveError::NotPositiveDefinite {
                iteration: 0,
                curvature: diagonal,
            });
        }
        let y = problem.a.row_dot(i, x) - problem.b[i];
        let natural = if problem.is_constrained(i) {
            y.min(diagonal * x[i])
        } else {
            y
        };
        largest = vector::max_or_nan(natural.abs(), largest);
        x[i] -= relaxation * y / diagonal;
        if problem.is_constrained(i) {
            x[i] = x[i].max(0.0);
        }
    }
    Ok(largest)
}
