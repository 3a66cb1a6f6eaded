//! Modified proportioning with reduced gradient projections.

use crate::lcp::policy;
use crate::lcp::start::{Begun, Start};
use crate::operator::Operator;
use crate::outcome::{SolveError, Status, Tolerance, finite};
use crate::problem::{Policy, Problem, Solution};
use crate::vector;

/// MPRGP (Dostál and Schöberl 2005) for `½xᵀA x − bᵀx` under bounds, on any operator.
///
/// The matrix is scaled to a unit diagonal, `D^{−½} A D^{−½}`. The gradient has a free part `φ`
/// (where no bound is touched) and a chopped part `β` (where a bound is touched and the gradient
/// points away from it):
///
/// ```text
/// if |β|² ≤ Γ² φ̃·φ:   a step of conjugate gradients along p;
///                      if it leaves the feasible set, as far as it is feasible, then a step ᾱ
///                      along the free gradient, projected
/// else:                minimise along −β
/// ```
///
/// with `φ̃_i = min(x_i/ᾱ, φ_i)`, `Γ = 1`. It needs products and a diagonal, no preconditioner and
/// no factors, and converges for every positive definite matrix: slow, but hard to stop.
///
/// Convergence asks for `ᾱ < 2/λmax`; a matrix with dominant diagonal has `λmax ≤ 2` after
/// scaling, whence the first `ᾱ`. Other matrices are found out by an energy that rises, and `ᾱ` is
/// halved.
///
/// [`Solution::iterations`] counts products with `A`.
#[derive(Clone, Debug, Default)]
pub struct Mprgp {
    start: Start,
    work: Work,
}

#[derive(Clone, Debug, Default)]
struct Work {
    /// `D^{−½}`.
    scale: Vec<f64>,
    /// The scaled unknowns `u = D^{½} x`.
    u: Vec<f64>,
    /// The scaled gradient `g = D^{−½} (A x − b)`.
    g: Vec<f64>,
    /// The search direction.
    p: Vec<f64>,
    /// Its product with the scaled matrix.
    q: Vec<f64>,
    /// An operand in the units of `A`.
    t: Vec<f64>,
    /// Where a projected step began.
    from: Vec<f64>,
}

/// `ᾱ` for a matrix of unit diagonal with `λmax ≤ 2`.
const FIXED_STEP: f64 = 1.95 / 2.0;

/// An energy that rises by less than this share is rounding.
const ENERGY_NOISE: f64 = 1e-12;

/// Along a step this short an energy rises by rounding alone.
const SHORTEST_STEP: f64 = 1e-9;

/// Checks of the true residual that do not halve it before rounding is blamed.
const FUTILE_CHECKS: usize = 3;

impl Mprgp {
    /// A solver that has not met a problem yet.
    pub fn new() -> Mprgp {
        Mprgp::default()
    }

    /// Solves `problem` from the guess in `x`, its negative constrained entries cut off.
    ///
    /// `x` and `policy` receive the solution; on an error both are left alone. The policy is not
    /// asked.
    ///
    /// # Errors
    /// [`SolveError::Shape`], [`SolveError::NotFinite`], [`SolveError::NotPositiveDefinite`].
    pub fn solve<A: Operator + ?Sized>(
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
        let target = tol.target(begun.b_norm);
        let mut descent = Descent {
            begun: &begun,
            work: &mut self.work,
            fixed_step: FIXED_STEP,
            products: 0,
        };
        let mut solution = descent.run(x, target, tol.max_iterations)?;
        let Work { t, q, .. } = &mut self.work;
        // `run` leaves the solution in `t` and `A x − b` in `q`.
        solution.separated = policy::record(&begun.problem, t, q, policy);
        begun.problem.null_space.project(t);
        x.copy_from_slice(t);
        Ok(solution)
    }
}

/// One solve under way.
struct Descent<'a, 'p, A: ?Sized> {
    begun: &'a Begun<'p, A>,
    work: &'a mut Work,
    fixed_step: f64,
    products: usize,
}

impl<A: Operator + ?Sized> Descent<'_, '_, A> {
    fn run(
        &mut self,
        x: &[f64],
        target: f64,
        max_iterations: usize,
    ) -> Result<Solution, SolveError> {
        let initial_residual = self.begin(x)?;
        self.gradient()?;
        self.restart();
        let mut best_checked = f64::INFINITY;
        let mut futile = 0;
        let (status, residual) = loop {
            let spent = self.products >= max_iterations;
            if self.natural()? <= target || spent {
                let residual = self.check()?;
                if residual <= target {
                    break (Status::Converged, residual);
                } else if spent {
                    break (Status::IterationLimit, residual);
                }
                futile += usize::from(residual > 0.5 * best_checked);
                best_checked = best_checked.min(residual);
                if futile > FUTILE_CHECKS {
                    break (Status::Stagnated, residual);
                }
                self.gradient()?;
                self.restart();
            }
            if self.is_proportional() {
                self.conjugate_step()?;
            } else {
                self.proportion()?;
            }
        };
        Ok(Solution {
            status,
            iterations: self.products,
            outer_iterations: 1,
            residual,
            initial_residual,
            separated: 0,
        })
    }

    /// Readies the memory; returns the natural residual of the guess.
    fn begin(&mut self, x: &[f64]) -> Result<f64, SolveError> {
        let problem = &self.begun.problem;
        let Work {
            scale,
            u,
            g,
            p,
            q,
            t,
            ..
        } = &mut *self.work;
        for v in [&mut *g, &mut *p, &mut *q, &mut *t] {
            v.resize(x.len(), 0.0);
        }
        scale.clear();
        for i in 0..x.len() {
            let diagonal = problem.a.diagonal(i);
            if diagonal < 0.0 || !diagonal.is_finite() {
                return Err(SolveError::NotPositiveDefinite {
                    iteration: 0,
                    curvature: diagonal,
                });
            }
            // An empty row keeps its scale; a search along it will find no curvature.
            scale.push(if diagonal > 0.0 {
                1.0 / diagonal.sqrt()
            } else {
                1.0
            });
        }
        u.clear();
        u.extend((0..x.len()).map(|i| {
            let feasible = if problem.is_constrained(i) {
                x[i].max(0.0)
            } else {
                x[i]
            };
            feasible / scale[i]
        }));
        let residual = problem.residual(x, q);
        finite(residual, "residual", 0)
    }

    /// `x` into `t`, `A x − b` into `q`; returns the true natural residual.
    fn check(&mut self) -> Result<f64, SolveError> {
        let Work { scale, u, t, q, .. } = &mut *self.work;
        multiply(scale, u, t);
        let residual = self.begun.problem.residual(t, q);
        finite(residual, "residual", self.products)
    }

    /// `g ← D^{−½}(A x − b)`, computed afresh.
    fn gradient(&mut self) -> Result<(), SolveError> {
        let Work { scale, u, t, g, .. } = &mut *self.work;
        multiply(scale, u, t);
        self.begun.problem.a.apply(t, g);
        let b = self.begun.problem.b;
        for i in 0..g.len() {
            g[i] = (g[i] - b[i]) * scale[i];
        }
        self.products += 1;
        finite(vector::max_norm(g), "gradient", self.products).map(|_| ())
    }

    /// `p ← φ`.
    fn restart(&mut self) {
        for i in 0..self.work.u.len() {
            self.work.p[i] = self.free(i);
        }
    }

    /// Whether unknown `i` touches its bound.
    fn touches(&self, i: usize) -> bool {
        self.begun.problem.is_constrained(i) && self.work.u[i] <= 0.0
    }

    /// The free gradient `φ_i`.
    fn free(&self, i: usize) -> f64 {
        if self.touches(i) { 0.0 } else { self.work.g[i] }
    }

    /// The natural residual of the recurrence, in the units of `b`.
    fn natural(&self) -> Result<f64, SolveError> {
        let Work { scale, u, g, .. } = &*self.work;
        let mut largest = 0.0;
        for i in 0..u.len() {
            let natural = if self.begun.problem.is_constrained(i) {
                g[i].min(u[i])
            } else {
                g[i]
            };
            largest = vector::max_or_nan((natural / scale[i]).abs(), largest);
        }
        finite(largest, "residual", self.products)
    }

    /// Whether the free gradient outweighs the chopped one.
    fn is_proportional(&self) -> bool {
        let Work { u, g, .. } = &*self.work;
        let (mut chopped, mut reduced) = (0.0, 0.0);
        for i in 0..u.len() {
            if self.touches(i) {
                let beta = g[i].min(0.0);
                chopped += beta * beta;
            } else if self.begun.problem.is_constrained(i) {
                reduced += (u[i] / self.fixed_step).min(g[i]) * g[i];
            } else {
                reduced += g[i] * g[i];
            }
        }
        chopped <= reduced
    }

    /// `q ← D^{−½} A D^{−½} p`, returning the curvature `pᵀq`.
    fn product(&mut self) -> Result<f64, SolveError> {
        let Work { scale, p, q, t, .. } = &mut *self.work;
        multiply(scale, p, t);
        self.begun.problem.a.apply(t, q);
        for (q, scale) in q.iter_mut().zip(scale) {
            *q *= *scale;
        }
        self.products += 1;
        finite(vector::dot(p, q), "curvature", self.products)
    }

    /// A step along the conjugate direction, or an expansion where that is not feasible.
    fn conjugate_step(&mut self) -> Result<(), SolveError> {
        let curvature = self.product()?;
        let Work { g, p, .. } = &*self.work;
        let slope = vector::dot(g, p);
        let feasible = self.feasible_step();
        // Without curvature the direction leads down for ever, or to a bound.
        let along = if curvature > 0.0 {
            slope / curvature
        } else {
            f64::INFINITY
        };
        if along <= feasible {
            if !along.is_finite() {
                return Err(SolveError::NotPositiveDefinite {
                    iteration: self.products,
                    curvature,
                });
            }
            self.advance(along);
            let mut product = 0.0;
            for i in 0..self.work.u.len() {
                product += self.free(i) * self.work.q[i];
            }
            let gamma = product / curvature;
            for i in 0..self.work.u.len() {
                self.work.p[i] = self.free(i) - gamma * self.work.p[i];
            }
            return Ok(());
        }
        self.advance(feasible);
        self.expand()
    }

    /// The longest step along `−p` that breaks no bound.
    fn feasible_step(&self) -> f64 {
        let Work { u, p, .. } = &*self.work;
        let mut step = f64::INFINITY;
        for i in 0..u.len() {
            if p[i] > 0.0 && self.begun.problem.is_constrained(i) {
                step = f64::min(step, u[i] / p[i]);
            }
        }
        step
    }

    /// `u ← u − α p`, `g ← g − α q`, rounding errors at the bounds cut off.
    fn advance(&mut self, alpha: f64) {
        let problem = &self.begun.problem;
        let Work { u, g, p, q, .. } = &mut *self.work;
        for i in 0..u.len() {
            u[i] -= alpha * p[i];
            g[i] -= alpha * q[i];
            if problem.is_constrained(i) {
                u[i] = u[i].max(0.0);
            }
        }
    }

    /// A step of fixed length along the free gradient, projected; shorter ones from now on if the
    /// energy rises.
    fn expand(&mut self) -> Result<(), SolveError> {
        self.restart(); // p ← φ, which the step follows
        self.work.from.clone_from(&self.work.u);
        let energy = self.energy();
        loop {
            let problem = &self.begun.problem;
            let Work { u, p, from, .. } = &mut *self.work;
            for i in 0..u.len() {
                let stepped = from[i] - self.fixed_step * p[i];
                u[i] = if problem.is_constrained(i) {
                    stepped.max(0.0)
                } else {
                    stepped
                };
            }
            self.gradient()?;
            let rises = self.energy() > energy + ENERGY_NOISE * energy.abs();
            if !rises || self.fixed_step < SHORTEST_STEP {
                break;
            }
            self.fixed_step *= 0.5;
        }
        self.restart();
        Ok(())
    }

    /// Minimises along the chopped gradient, cutting no bound.
    fn proportion(&mut self) -> Result<(), SolveError> {
        for i in 0..self.work.u.len() {
            self.work.p[i] = if self.touches(i) {
                self.work.g[i].min(0.0)
            } else {
                0.0
            };
        }
        let curvature = self.product()?;
        if curvature <= 0.0 {
            return Err(SolveError::NotPositiveDefinite {
                iteration: self.products,
                curvature,
            });
        }
        let slope = vector::dot(&self.work.g, &self.work.p);
        self.advance(slope / curvature);
        self.restart();
        Ok(())
    }

    /// `½xᵀA x − bᵀx = ½ u·(g − D^{−½}b)`.
    fn energy(&self) -> f64 {
        let Work { scale, u, g, .. } = &*self.work;
        let b = self.begun.problem.b;
        (0..u.len())
            .map(|i| 0.5 * u[i] * (g[i] - scale[i] * b[i]))
            .sum()
    }
}

/// `t ← D^{−½} v`.
fn multiply(scale: &[f64], v: &[f64], t: &mut [f64]) {
    for ((t, v), scale) in t.iter_mut().zip(v).zip(scale) {
        *t = scale * v;
    }
}
