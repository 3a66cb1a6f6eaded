//! A solver for matrices that come from elsewhere.

use rayon::prelude::*;

use super::assembled::Assembled;
use super::convert::Converted;
use super::cycle::Hierarchy;
use super::field::{self, Vector};
use super::method::{ViscousMethod, ViscousOptions};
use super::mgpcg::{Mgpcg, Task};
use super::places::Faces;
use super::rhs::Values;
use crate::csr::Csr;
use crate::lattice::wave::Shared;
use crate::operator::Operator;
use crate::outcome::{Outcome, SolveError, Status, Tolerance};
use crate::vector;

/// Solves `A u = b` for the velocities of a staggered lattice, given only the matrix and where
/// its unknowns lie.
///
/// [`ViscousMethod::Mgpcg`] recovers the lattice and works on it in single precision; the
/// residual that counts is that of the matrix itself, in double precision.
pub struct StoredSolver {
    options: ViscousOptions,
    engine: Option<Engine>,
}

enum Engine {
    Assembled(Assembled),
    Flat(Box<Multigrid<2>>),
    Solid(Box<Multigrid<3>>),
    /// What was recovered, before its levels are built.
    FlatLattice(Box<Converted<2>>),
    SolidLattice(Box<Converted<3>>),
}

impl StoredSolver {
    /// A solver that has not met a matrix yet.
    pub fn new(options: ViscousOptions) -> Self {
        StoredSolver {
            options,
            engine: None,
        }
    }

    /// Recovers the lattice, if the method needs it.
    ///
    /// # Errors
    /// [`SolveError::NotStaggered`] if there is none.
    pub fn convert(&mut self, a: &Csr, faces: Option<Faces<'_>>) -> Result<(), SolveError> {
        self.engine = None;
        if self.options.method != ViscousMethod::Mgpcg {
            return Ok(());
        }
        let misfit = |reason| SolveError::NotStaggered { reason };
        let faces = faces.ok_or(misfit("coordinates or components are missing"))?;
        self.engine = Some(match faces.dimensions {
            2 => Engine::FlatLattice(Box::new(Converted::new(a, &faces).map_err(misfit)?)),
            3 => Engine::SolidLattice(Box::new(Converted::new(a, &faces).map_err(misfit)?)),
            _ => return Err(misfit("it has neither two nor three dimensions")),
        });
        Ok(())
    }

    /// Derives what depends on the matrix alone: factors or levels.
    pub fn prepare(&mut self, a: &Csr) {
        self.engine = Some(match self.engine.take() {
            Some(Engine::FlatLattice(found)) => {
                Engine::Flat(Box::new(Multigrid::new(*found, self.options)))
            }
            Some(Engine::SolidLattice(found)) => {
                Engine::Solid(Box::new(Multigrid::new(*found, self.options)))
            }
            Some(ready @ (Engine::Flat(_) | Engine::Solid(_) | Engine::Assembled(_))) => ready,
            None => Engine::Assembled(Assembled::new(a, self.options.method)),
        });
    }

    /// Levels of the hierarchy; 0 if there is none.
    pub fn levels(&self) -> usize {
        match &self.engine {
            Some(Engine::Flat(multigrid)) => multigrid.hierarchy.floors.len(),
            Some(Engine::Solid(multigrid)) => multigrid.hierarchy.floors.len(),
            _ => 0,
        }
    }

    /// Solves for a right-hand side from the guess in `x`.
    ///
    /// # Errors
    /// As [`Pcg::solve`](crate::Pcg::solve).
    pub fn solve(
        &mut self,
        a: &Csr,
        b: &[f64],
        x: &mut [f64],
        tol: &Tolerance,
    ) -> Result<Outcome, SolveError> {
        self.prepare(a);
        check(a, b, x)?;
        match self.engine.as_mut() {
            Some(Engine::Assembled(assembled)) => assembled.solve(a, b, x, tol),
            Some(Engine::Flat(multigrid)) => multigrid.solve(a, b, x, tol),
            Some(Engine::Solid(multigrid)) => multigrid.solve(a, b, x, tol),
            _ => Err(SolveError::NotStaggered {
                reason: "no lattice was recovered",
            }),
        }
    }
}

fn check(a: &Csr, b: &[f64], x: &[f64]) -> Result<(), SolveError> {
    let expected = a.rows();
    for (quantity, v) in [("right-hand side", b), ("vector of unknowns", x)] {
        if v.len() != expected {
            let found = v.len();
            return Err(SolveError::Shape {
                quantity,
                expected,
                found,
            });
        }
        if !vector::max_norm(v).is_finite() {
            return Err(SolveError::NotFinite {
                quantity,
                iteration: 0,
            });
        }
    }
    Ok(())
}

/// Values that are worth a thread.
const CHUNK: usize = 1 << 14;

/// The recovered lattice at work: defect correction around [`Mgpcg`].
struct Multigrid<const D: usize> {
    hierarchy: Hierarchy<D>,
    mgpcg: Mgpcg<D>,
    mass: f64,
    faces: Vec<(u8, u32)>,
    /// The defect on the lattice, and its correction.
    b: Vector<f64, D>,
    x: Vector<f64, D>,
}

impl<const D: usize> Multigrid<D> {
    fn new(found: Converted<D>, options: ViscousOptions) -> Self {
        let len = found.level.shape.len;
        Multigrid {
            hierarchy: Hierarchy::new(found.level, found.cells, options, Vec::new()),
            mgpcg: Mgpcg::default(),
            mass: found.mass,
            faces: found.faces,
            b: field::zeros(len, 1),
            x: field::zeros(len, 3),
        }
    }

    fn solve(
        &mut self,
        a: &Csr,
        b: &[f64],
        x: &mut [f64],
        tol: &Tolerance,
    ) -> Result<Outcome, SolveError> {
        let target = tol.target(vector::max_norm(b));
        let (mut u, mut r) = (x.to_vec(), vec![0.0; b.len()]);
        let initial_residual = residual(a, b, &u, &mut r);
        let (mut found, mut last, mut iterations) = (initial_residual, f64::INFINITY, 0);
        let status = loop {
            if found <= target {
                break Status::Converged;
            }
            if iterations >= tol.max_iterations {
                break Status::IterationLimit;
            }
            // A matrix in double precision is met half way each time; one that single precision
            // holds, at once.
            if found > 0.5 * last {
                break Status::Stagnated;
            }
            last = found;
            iterations += self.correct(&r, &mut u, target, tol.max_iterations - iterations)?;
            found = residual(a, b, &u, &mut r);
        };
        if !found.is_finite() {
            return Err(SolveError::NotFinite {
                quantity: "residual",
                iteration: iterations,
            });
        }
        x.copy_from_slice(&u);
        Ok(Outcome {
            status,
            iterations,
            residual: found,
            initial_residual,
        })
    }

    /// Adds to `u` what reduces the defect to the target on the lattice; returns iterations.
    fn correct(
        &mut self,
        defect: &[f64],
        u: &mut [f64],
        target: f64,
        limit: usize,
    ) -> Result<usize, SolveError> {
        let len = self.hierarchy.floors[0].level.shape.len;
        field::clear(&mut self.x, len, 3);
        let b = self.b.each_mut().map(|b| Shared(b.as_mut_ptr()));
        let (faces, mass) = (self.faces.par_iter().with_min_len(CHUNK), self.mass);
        faces.zip(defect).for_each(|(&(axis, index), r)| {
            // SAFETY: faces lie in the lattice, and no two unknowns share one.
            unsafe { *b[axis as usize].get().add(index as usize) = r / mass };
        });
        let norm = vector::max_norm(defect) / self.mass;
        let tol = Tolerance {
            relative: 0.0,
            absolute: target / self.mass,
            max_iterations: limit,
        };
        let mut task = Task {
            b: Values::Double(&self.b),
            x: &mut self.x,
            norm,
        };
        let outcome = self.mgpcg.solve(&mut self.hierarchy, &mut task, &tol)?;
        let found = u.par_iter_mut().with_min_len(CHUNK).zip(&self.faces);
        found.for_each(|(u, &(axis, index))| *u += self.x[axis as usize][index as usize]);
        // Even no step forward is one: the loop around must end.
        Ok(outcome.iterations.max(1))
    }
}

/// `r ← b − A u`; its max norm.
fn residual(a: &Csr, b: &[f64], u: &[f64], r: &mut [f64]) -> f64 {
    // The usual guess is nothing, and the matrix the largest thing there is to read.
    if u.iter().all(|&u| u == 0.0) {
        r.copy_from_slice(b);
        return vector::max_norm(r);
    }
    a.apply(u, r);
    let pairs = r.par_iter_mut().with_min_len(CHUNK).zip(b);
    pairs.for_each(|(r, b)| *r = b - *r);
    vector::max_norm(r)
}
