//! The solver: a body, a right-hand side, a method.

use super::assembled::Assembled;
use super::body::Body;
use super::csr::{Numbers, couplings, matrix};
use super::cycle::Hierarchy;
use super::ground::Sampled;
use super::level::Level;
use super::method::{ViscousMethod, ViscousOptions};
use super::mgpcg::{Mgpcg, Task};
use super::shape::Shape;
use crate::csr::Csr;
use crate::outcome::{Outcome, SolveError, Tolerance};
use crate::vector;

/// Solves `(M + K) u = M u*` for a [`Body`], with all its memory.
pub struct ViscousSolver<const D: usize> {
    options: ViscousOptions,
    /// The levels; `None` before the first assembly and where there is nothing. Methods that need
    /// no coarse levels have only the finest.
    hierarchy: Option<Hierarchy<D>>,
    mgpcg: Mgpcg<D>,
    /// The first cell of the level in the body's lattice.
    offset: [i32; D],
    /// Mass times what was loaded, at free faces.
    b: [Vec<f64>; D],
    /// The solution at free faces, what holds them at held ones.
    x: [Vec<f64>; D],
}

impl<const D: usize> ViscousSolver<D> {
    /// A solver that has not met a body yet.
    pub fn new(options: ViscousOptions) -> Self {
        ViscousSolver {
            options,
            hierarchy: None,
            mgpcg: Mgpcg::default(),
            offset: [0; D],
            b: std::array::from_fn(|_| Vec::new()),
            x: std::array::from_fn(|_| Vec::new()),
        }
    }

    /// Takes over a body.
    pub fn assemble(&mut self, body: &impl Body<D>) {
        self.hierarchy = None;
        let Some(ground) = Sampled::new(body) else {
            return;
        };
        let Some(shape) = Shape::new(ground.cells) else {
            return;
        };
        self.offset = ground.offset;
        let graded = ground.graded(&shape);
        let stiffness = ground.uniform.unwrap_or(1.0);
        let level = Level::new(shape, &ground, stiffness, graded);
        self.hierarchy = Some(Hierarchy::new(level, &ground, self.options));
    }

    /// The finest level.
    fn level(&self) -> Option<&Level<D>> {
        self.hierarchy.as_ref().map(|h| &h.floors[0].level)
    }

    /// Levels of the hierarchy.
    pub fn levels(&self) -> usize {
        self.hierarchy.as_ref().map_or(0, |h| h.floors.len())
    }

    /// Free faces.
    pub fn unknowns(&self) -> usize {
        self.level().map_or(0, |level| level.unknowns)
    }

    /// Sets the velocity `u*` of all faces: the guess and, times mass, the right-hand side at free
    /// ones, what they are held to at the others.
    pub fn load(&mut self, velocity: impl Fn(usize, [i32; D]) -> f64 + Sync) {
        let Some(level) = self.hierarchy.as_ref().map(|h| &h.floors[0].level) else {
            return;
        };
        let shape = &level.shape;
        for axis in 0..D {
            let (b, x) = (&mut self.b[axis], &mut self.x[axis]);
            b.clear();
            b.resize(shape.len, 0.0);
            x.clear();
            x.resize(shape.len, 0.0);
            for index in level.free_faces(axis) {
                let u = velocity(axis, face_at(shape, self.offset, index));
                x[index] = u;
                b[index] = f64::from(level.row(axis, index).mass) * u;
            }
        }
        // Held faces that free ones couple with.
        for axis in 0..D {
            for index in level.free_faces(axis) {
                couplings(level, axis, index, |a, i, value| {
                    if value != 0.0 && !level.is_free(a, i) && self.x[a][i] == 0.0 {
                        self.x[a][i] = velocity(a, face_at(shape, self.offset, i));
                    }
                });
            }
        }
    }

    /// Sets the right-hand side itself at free faces, with everything at rest: a guess of zero and
    /// walls that do not move.
    pub fn load_rhs(&mut self, rhs: impl Fn(usize, [i32; D]) -> f64 + Sync) {
        let Some(level) = self.hierarchy.as_ref().map(|h| &h.floors[0].level) else {
            return;
        };
        let shape = &level.shape;
        for axis in 0..D {
            let (b, x) = (&mut self.b[axis], &mut self.x[axis]);
            b.clear();
            b.resize(shape.len, 0.0);
            x.clear();
            x.resize(shape.len, 0.0);
            for index in level.free_faces(axis) {
                b[index] = rhs(axis, face_at(shape, self.offset, index));
            }
        }
    }

    /// The value at a face that is free.
    pub fn value(&self, axis: usize, face: [i32; D]) -> Option<f64> {
        let level = self.level()?;
        let mut at = [0; D];
        for a in 0..D {
            at[a] = face[a] - self.offset[a];
            if at[a] < 0 || at[a] > level.shape.cells[a] as i32 {
                return None;
            }
        }
        let index = level.shape.index(at);
        level.is_free(axis, index).then(|| self.x[axis][index])
    }

    /// The face at a memory index, as [`Numbers`] has it.
    pub fn face(&self, index: usize) -> Option<[i32; D]> {
        let shape = &self.level()?.shape;
        Some(face_at(shape, self.offset, index))
    }

    /// The system over free faces: matrix, right-hand side and numbers.
    ///
    /// # Errors
    /// If the matrix is too large to index or not finite.
    pub fn system(&self) -> Result<(Csr, Vec<f64>, Numbers), SolveError> {
        let Some(level) = self.level() else {
            let empty = Csr::new(vec![0], Vec::new(), Vec::new()).expect("an empty matrix");
            return Ok((empty, Vec::new(), Numbers::default()));
        };
        let numbers = Numbers::new(level);
        let a = matrix(level, &numbers).map_err(|_| SolveError::NotFinite {
            quantity: "matrix",
            iteration: 0,
        })?;
        let mut rhs = Vec::with_capacity(numbers.count());
        for (axis, index) in numbers.iter() {
            let mut value = self.b[axis][index];
            couplings(level, axis, index, |a, i, weight| {
                if weight != 0.0 && !level.is_free(a, i) {
                    value -= weight * self.x[a][i];
                }
            });
            rhs.push(value);
        }
        Ok((a, rhs, numbers))
    }

    /// Solves for what was loaded.
    ///
    /// # Errors
    /// As [`Pcg::solve`](crate::Pcg::solve).
    pub fn solve(&mut self, tol: &Tolerance) -> Result<Outcome, SolveError> {
        match self.options.method {
            ViscousMethod::Mgpcg => self.solve_multigrid(tol),
            ViscousMethod::PcgIc | ViscousMethod::PcgJacobi => self.solve_assembled(tol),
        }
    }

    fn solve_multigrid(&mut self, tol: &Tolerance) -> Result<Outcome, SolveError> {
        let norm = self.rhs_norm();
        let Some(hierarchy) = self.hierarchy.as_mut().filter(|_| norm != 0.0) else {
            for x in &mut self.x {
                x.fill(0.0);
            }
            return Ok(Outcome::of_zero());
        };
        let mut task = Task {
            b: &self.b,
            x: &mut self.x,
            norm,
        };
        self.mgpcg.solve(hierarchy, &mut task, tol)
    }

    /// The max norm of the right-hand side, what is held moved there.
    fn rhs_norm(&self) -> f64 {
        let b = self.b.iter().flatten();
        b.fold(0.0, |m, &v| vector::max_or_nan(v.abs(), m))
    }

    fn solve_assembled(&mut self, tol: &Tolerance) -> Result<Outcome, SolveError> {
        let (a, rhs, numbers) = self.system()?;
        let mut x: Vec<f64> = numbers.iter().map(|(axis, i)| self.x[axis][i]).collect();
        let mut assembled = Assembled::new(&a, self.options.method);
        let outcome = assembled.solve(&a, &rhs, &mut x, tol)?;
        for ((axis, i), x) in numbers.iter().zip(x) {
            self.x[axis][i] = x;
        }
        Ok(outcome)
    }
}

/// The face of the body's lattice at a memory index.
fn face_at<const D: usize>(shape: &Shape<D>, offset: [i32; D], index: usize) -> [i32; D] {
    // From the plane before the first, so that faces at −1 have their place.
    let start = shape.index([-1; D]);
    let mut rest = index - start;
    let mut at = [0; D];
    for a in (0..D).rev() {
        at[a] = (rest / shape.strides[a]) as i32 - 1 + offset[a];
        rest %= shape.strides[a];
    }
    at
}
