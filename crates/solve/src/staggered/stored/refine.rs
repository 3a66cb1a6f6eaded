//! Defect correction: the lattice in single precision, the matrix in double.

use rayon::prelude::*;

use super::convert::Converted;
use super::exact::{CHUNK, Exact};
use super::lattice::Lattice;
use super::{Recovered, System};
use crate::lattice::wave::Shared;
use crate::outcome::{Outcome, SolveError, Status, Tolerance, finite_residual};
use crate::staggered::cycle::Hierarchy;
use crate::staggered::field::{self, Vector};
use crate::staggered::method::{Coarsening, ViscousOptions};
use crate::staggered::mgpcg::{Mgpcg, Task};
use crate::staggered::rhs::Values;
use crate::vector;

/// A matrix, and what has become of its lattice.
pub struct Refinement<const D: usize> {
    options: ViscousOptions,
    exact: Exact,
    asymmetry: f64,
    stage: Stage<D>,
}

/// What is known of the lattice.
enum Stage<const D: usize> {
    /// Where the unknowns lie.
    Read(Lattice<D>),
    /// Walls and cells.
    Converted(Converted<D>),
    /// All levels.
    Ready(Box<Multigrid<D>>),
    /// It turned out to be too large.
    Failed(&'static str),
}

impl<const D: usize> Refinement<D> {
    /// Takes over what was read.
    pub fn new(recovered: Recovered<D>, options: ViscousOptions) -> Self {
        Refinement {
            options,
            exact: recovered.exact,
            asymmetry: recovered.asymmetry,
            stage: Stage::Read(recovered.lattice),
        }
    }

    /// Takes out the levels, which are built if they were not.
    fn ready(&mut self) -> Result<Box<Multigrid<D>>, &'static str> {
        let options = self.options;
        let build = |found| Box::new(Multigrid::new(found, options));
        let built = match self.stage.take() {
            Stage::Read(lattice) => Converted::new(lattice, &self.exact).map(build),
            Stage::Converted(found) => Ok(build(found)),
            Stage::Ready(multigrid) => Ok(multigrid),
            Stage::Failed(reason) => Err(reason),
        };
        built.inspect_err(|reason| self.stage = Stage::Failed(reason))
    }
}

impl<const D: usize> Stage<D> {
    /// What is to be put back, or followed by another.
    fn take(&mut self) -> Self {
        std::mem::replace(self, Stage::Failed("the solver broke down before"))
    }
}

impl<const D: usize> System for Refinement<D> {
    fn rows(&self) -> usize {
        self.exact.rows()
    }

    fn asymmetry(&self) -> f64 {
        self.asymmetry
    }

    fn levels(&self) -> usize {
        match &self.stage {
            Stage::Ready(multigrid) => multigrid.hierarchy.floors.len(),
            _ => 0,
        }
    }

    fn convert(&mut self) -> Result<(), &'static str> {
        self.stage = match self.stage.take() {
            Stage::Read(lattice) => match Converted::new(lattice, &self.exact) {
                Ok(converted) => Stage::Converted(converted),
                Err(reason) => Stage::Failed(reason),
            },
            other => other,
        };
        match self.stage {
            Stage::Failed(reason) => Err(reason),
            _ => Ok(()),
        }
    }

    fn prepare(&mut self) -> Result<(), &'static str> {
        self.stage = Stage::Ready(self.ready()?);
        Ok(())
    }

    fn solve(&mut self, b: &[f64], x: &mut [f64], tol: &Tolerance) -> Result<Outcome, SolveError> {
        let ready = self.ready();
        let mut multigrid = ready.map_err(|reason| SolveError::NotStaggered { reason })?;
        let solved = multigrid.solve(&self.exact, b, x, tol);
        self.stage = Stage::Ready(multigrid);
        solved
    }
}

/// The recovered lattice at work: defect correction around [`Mgpcg`].
struct Multigrid<const D: usize> {
    hierarchy: Hierarchy<D>,
    mgpcg: Mgpcg<D>,
    mass: f64,
    faces: Vec<(u8, u32)>,
    /// The defect on the lattice, in usual masses.
    b: Vector<f64, D>,
    /// Its correction, or the solution, for the next defect.
    x: Vector<f64, D>,
    /// Whether that is zero still. Pages of new memory that nobody writes cost none.
    is_clear: bool,
}

impl<const D: usize> Multigrid<D> {
    fn new(found: Converted<D>, options: ViscousOptions) -> Self {
        let len = found.level.shape.len;
        Multigrid {
            // A matrix does not tell what its walls are.
            hierarchy: Hierarchy::new(
                found.level,
                found.cells,
                ViscousOptions {
                    coarsening: Coarsening::Fractions,
                    ..options
                },
                Vec::new(),
            ),
            mgpcg: Mgpcg::default(),
            mass: found.mass,
            faces: found.faces,
            b: field::zeros(len, 1),
            x: field::zeros(len, 3),
            is_clear: true,
        }
    }

    /// Solves from the guess in `u`, which an error leaves alone.
    fn solve(
        &mut self,
        a: &Exact,
        b: &[f64],
        u: &mut [f64],
        tol: &Tolerance,
    ) -> Result<Outcome, SolveError> {
        // All corrections share what the first ones find.
        self.hierarchy.unpatch();
        // The usual guess is nothing.
        let defect = if u.iter().any(|&u| u != 0.0) {
            self.spread(u);
            self.residual(a, b)
        } else {
            self.load(b)
        };
        let initial_residual = finite_residual(defect, 0)?;
        let target = tol.target(vector::max_norm(b));
        let (mut found, mut iterations, mut is_halved) = (initial_residual, 0, true);
        let status = loop {
            if found <= target {
                break Status::Converged;
            }
            if iterations >= tol.max_iterations {
                break Status::IterationLimit;
            }
            // A matrix in double precision is met half way each time; one that single precision
            // holds, at once.
            if !is_halved {
                break Status::Stagnated;
            }
            iterations += match self.correct(found, target, tol.max_iterations - iterations) {
                Ok(spent) => spent,
                // It went well before, so these are rounding errors.
                Err(_) if iterations > 0 => break Status::Stagnated,
                Err(error) => return Err(error),
            };
            self.add(u);
            let next = self.residual(a, b);
            // What is no better, or no number, is not taken.
            if next < found {
                self.take(u);
            }
            (found, is_halved) = (found.min(next), next <= 0.5 * found);
        };
        Ok(Outcome {
            status,
            iterations,
            residual: found,
            initial_residual,
        })
    }

    /// Makes all of `b` the defect; its max norm.
    fn load(&mut self, b: &[f64]) -> f64 {
        let defect = self.b.each_mut().map(|b| Shared(b.as_mut_ptr()));
        let mass = self.mass;
        let pairs = self.faces.par_iter().with_min_len(CHUNK).zip(b);
        pairs.for_each(|(&(axis, index), b)| {
            // SAFETY: faces lie in the lattice, and no two unknowns share one.
            unsafe { *defect[axis as usize].get().add(index as usize) = b / mass };
        });
        vector::max_norm(b)
    }

    /// Brings `u` to the lattice.
    fn spread(&mut self, u: &[f64]) {
        self.clear();
        let x = self.x.each_mut().map(|x| Shared(x.as_mut_ptr()));
        let pairs = self.faces.par_iter().with_min_len(CHUNK).zip(u);
        pairs.for_each(|(&(axis, index), &u)| {
            // SAFETY: as for `load`.
            unsafe { *x[axis as usize].get().add(index as usize) = u };
        });
    }

    /// Adds `u` to its correction.
    fn add(&mut self, u: &[f64]) {
        let x = self.x.each_mut().map(|x| Shared(x.as_mut_ptr()));
        let pairs = self.faces.par_iter().with_min_len(CHUNK).zip(u);
        pairs.for_each(|(&(axis, index), &u)| {
            // SAFETY: as for `load`.
            unsafe { *x[axis as usize].get().add(index as usize) += u };
        });
    }

    /// Takes over what is on the lattice.
    fn take(&self, u: &mut [f64]) {
        let pairs = self.faces.par_iter().with_min_len(CHUNK).zip(u);
        pairs.for_each(|(&(axis, index), u)| *u = self.x[axis as usize][index as usize]);
    }

    /// The defect of what is on the lattice; its max norm.
    fn residual(&mut self, a: &Exact, b: &[f64]) -> f64 {
        let defect = self.b.each_mut().map(|b| Shared(b.as_mut_ptr()));
        let shape = &self.hierarchy.floors[0].level.shape;
        let u = self.x.each_ref().map(|x| &**x);
        let mass = self.mass;
        a.each_product(shape, &self.faces, u, |i, axis, index, product| {
            let r = b[i] - product;
            // SAFETY: as for `load`.
            unsafe { *defect[axis].get().add(index) = r / mass };
            r.abs()
        })
    }

    /// Solves for what reduces the defect, of this norm, to the target; returns iterations.
    fn correct(&mut self, norm: f64, target: f64, limit: usize) -> Result<usize, SolveError> {
        self.clear();
        let tol = Tolerance {
            relative: 0.0,
            absolute: target / self.mass,
            max_iterations: limit,
        };
        let mut task = Task {
            b: Values::Double(&self.b),
            x: &mut self.x,
            norm: norm / self.mass,
        };
        let outcome = self.mgpcg.solve(&mut self.hierarchy, &mut task, &tol)?;
        // Even no step forward is one: the loop around must end.
        Ok(outcome.iterations.max(1))
    }

    /// Makes the lattice zero, for somebody to write on.
    fn clear(&mut self) {
        if !std::mem::take(&mut self.is_clear) {
            let len = self.hierarchy.floors[0].level.shape.len;
            field::clear(&mut self.x, len, 3);
        }
    }
}
