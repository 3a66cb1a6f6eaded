//! The viscosity problem of a step for those who watch: who compares methods, and who keeps systems.

use plash_solve::staggered::{
    Assembled, Body, Numbers, ViscousMethod, ViscousOptions, ViscousSolver,
};
use plash_solve::{Csr, Outcome, SolveError, Tolerance};

/// A viscosity problem, in the plane or in space, that any method may try.
pub trait ViscosityProblem {
    /// A method that has taken over the body: rows and levels are there, velocities are not.
    fn set_up(&self, options: ViscousOptions) -> Box<dyn ViscosityTask + '_>;
}

/// A method at a viscosity problem. What it does comes in parts, so that each may be measured:
/// [`load`](Self::load), [`prepare`](Self::prepare), [`solve`](Self::solve).
pub trait ViscosityTask {
    /// Takes over velocities: the right-hand side, the guess, and what walls hold faces to.
    fn load(&mut self);

    /// Makes the matrix and what the method derives from it, after loading. Methods that need no
    /// matrix have nothing to do.
    ///
    /// # Errors
    /// If the matrix is too large to index or not finite.
    fn prepare(&mut self) -> Result<(), SolveError>;

    /// Solves for what was loaded, from the guess.
    ///
    /// # Errors
    /// As [`ViscousSolver::solve`].
    fn solve(&mut self, tolerance: &Tolerance) -> Result<Outcome, SolveError>;

    /// Unknowns: faces that are free to move.
    fn unknowns(&self) -> usize;

    /// Levels of the method's hierarchy; 0 if it has none.
    fn levels(&self) -> usize;

    /// What residuals are relative to, see [`ViscousSolver::size`].
    fn size(&self) -> f64;

    /// The system as a matrix, with the velocities found so far.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare).
    fn system(&self) -> Result<FaceSystem, SolveError>;
}

/// A viscosity system as a matrix over free faces.
#[derive(Clone, Debug)]
pub struct FaceSystem {
    /// The matrix.
    pub matrix: Csr,
    /// The right-hand side.
    pub rhs: Vec<f64>,
    /// Velocities: the guess once it is loaded, the solution once it is found.
    pub velocity: Vec<f64>,
    /// 2 or 3.
    pub dimensions: usize,
    /// The cell on the high side of each face; the last number is 0 in the plane.
    pub at: Vec<[i32; 3]>,
    /// The axis that each face is normal to.
    pub components: Vec<i8>,
}

/// The problem that a body poses.
pub struct BodyProblem<'a, B, L, const D: usize> {
    /// The body.
    pub body: &'a B,
    /// Loads a solver that has taken over the body.
    pub load: L,
}

impl<B, L, const D: usize> ViscosityProblem for BodyProblem<'_, B, L, D>
where
    B: Body<D>,
    L: Fn(&mut ViscousSolver<D>),
{
    fn set_up(&self, options: ViscousOptions) -> Box<dyn ViscosityTask + '_> {
        let mut solver = ViscousSolver::new(options);
        solver.assemble(self.body);
        Box::new(BodyTask {
            solver,
            method: options.method,
            load: &self.load,
            assembled: None,
        })
    }
}

struct BodyTask<'a, L, const D: usize> {
    solver: ViscousSolver<D>,
    method: ViscousMethod,
    load: &'a L,
    /// Only for methods on the matrix. The solver has a way of its own to those, but one that
    /// cannot be measured in parts.
    assembled: Option<OnMatrix>,
}

/// A method on the matrix.
struct OnMatrix {
    matrix: Csr,
    rhs: Vec<f64>,
    velocity: Vec<f64>,
    method: Assembled,
}

impl<L, const D: usize> BodyTask<'_, L, D> {
    /// The velocities that the solver has.
    fn velocity(&self, numbers: &Numbers) -> Vec<f64> {
        let mut velocity = Vec::with_capacity(numbers.count());
        velocity.extend(numbers.iter().map(|(axis, index)| {
            let face = self.solver.face(index).unwrap_or([0; D]);
            self.solver.value(axis, face).unwrap_or(0.0)
        }));
        velocity
    }
}

impl<L, const D: usize> ViscosityTask for BodyTask<'_, L, D>
where
    L: Fn(&mut ViscousSolver<D>),
{
    fn load(&mut self) {
        self.assembled = None;
        (self.load)(&mut self.solver);
    }

    fn prepare(&mut self) -> Result<(), SolveError> {
        if self.method != ViscousMethod::Mgpcg {
            // Not by `system`: places take memory that the method does not need.
            let (matrix, rhs, numbers) = self.solver.system()?;
            let velocity = self.velocity(&numbers);
            drop(numbers);
            let method = Assembled::new(&matrix, self.method);
            self.assembled = Some(OnMatrix {
                matrix,
                rhs,
                velocity,
                method,
            });
        }
        Ok(())
    }

    fn solve(&mut self, tolerance: &Tolerance) -> Result<Outcome, SolveError> {
        match &mut self.assembled {
            Some(on) => {
                let OnMatrix {
                    matrix,
                    rhs,
                    velocity,
                    method,
                } = on;
                let tolerance = self.solver.absolute(tolerance);
                method.solve(matrix, rhs, velocity, &tolerance)
            }
            None => self.solver.solve(tolerance),
        }
    }

    fn unknowns(&self) -> usize {
        self.solver.unknowns()
    }

    fn levels(&self) -> usize {
        match self.method {
            ViscousMethod::Mgpcg => self.solver.levels(),
            ViscousMethod::PcgIc | ViscousMethod::PcgJacobi => 0,
        }
    }

    fn size(&self) -> f64 {
        self.solver.size()
    }

    fn system(&self) -> Result<FaceSystem, SolveError> {
        let (matrix, rhs, numbers) = self.solver.system()?;
        let mut at = Vec::with_capacity(rhs.len());
        at.extend(numbers.iter().map(|(_, index)| {
            let mut place = [0; 3];
            place[..D].copy_from_slice(&self.solver.face(index).unwrap_or([0; D]));
            place
        }));
        let velocity = match &self.assembled {
            Some(on) => on.velocity.clone(),
            None => self.velocity(&numbers),
        };
        Ok(FaceSystem {
            matrix,
            rhs,
            velocity,
            dimensions: D,
            at,
            components: numbers.iter().map(|(axis, _)| axis as i8).collect(),
        })
    }
}
