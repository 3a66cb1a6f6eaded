//! The solver: a body, a right-hand side, a method.

use rayon::prelude::*;

use super::assembled::Assembled;
use super::body::Body;
use super::component::Component;
use super::csr::{Numbers, couplings, matrix};
use super::cycle::{Hierarchy, Spare};
use super::field::{self, Vector};
use super::ground::{Extent, Sampled};
use super::level::Level;
use super::method::{ViscousMethod, ViscousOptions};
use super::mgpcg::{Mgpcg, Task};
use super::rhs::{Loaded, Rhs, fill};
use super::shape::{Shape, moved};
use super::walls::Walls;
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
    /// The max norm of the right-hand side.
    norm: f64,
    /// What residuals are relative to.
    size: f64,
    /// What is wrong with the body.
    fault: Option<SolveError>,
    /// Mass times what was loaded, at free faces.
    b: Rhs<D>,
    /// The solution at free faces, what holds them at held ones.
    x: Vector<f64, D>,
    /// The held faces among those.
    walls: Walls,
}

impl<const D: usize> ViscousSolver<D> {
    /// A solver that has not met a body yet.
    pub fn new(options: ViscousOptions) -> Self {
        ViscousSolver {
            options,
            hierarchy: None,
            mgpcg: Mgpcg::default(),
            offset: [0; D],
            norm: 0.0,
            size: 0.0,
            fault: None,
            b: Rhs::default(),
            x: field::empty(),
            walls: Walls::default(),
        }
    }

    /// Takes over a body, at rest until something is loaded. One that is not made of numbers, or is
    /// too large, has no unknowns, and solving for it is an error.
    pub fn assemble(&mut self, body: &impl Body<D>) {
        let spare = self.give_up();
        self.fault = None;
        (self.norm, self.size) = (0.0, 0.0);
        let Some(extent) = Extent::of(body) else {
            return;
        };
        let Some(shape) = Shape::new(extent.cells) else {
            self.fault = Some(SolveError::TooLarge {
                quantity: "lattice of faces",
            });
            return;
        };
        self.offset = extent.offset;
        let ground = Sampled::new(body, extent);
        let graded = ground.graded(&shape);
        if !ground.is_finite() {
            self.fault = Some(SolveError::NotFinite {
                quantity: "stiffness",
                iteration: 0,
            });
            return;
        }
        let stiffness = ground.uniform.unwrap_or(1.0);
        let level = Level::new(shape, ground.open, &ground, stiffness, graded);
        if level.unknowns > 0 {
            self.b.adopt(&level);
            field::adopt(&mut self.x, shape.len, 3);
            self.hierarchy = Some(Hierarchy::new(level, ground, self.options, spare));
        }
    }

    /// Gives up the body, with its vectors all zero.
    fn give_up(&mut self) -> Vec<Spare<D>> {
        let Some(hierarchy) = self.hierarchy.take() else {
            return Vec::new();
        };
        let level = &hierarchy.floors[0].level;
        self.mgpcg.forget(level);
        self.b.wipe(level);
        field::wipe(level, &mut self.x);
        self.walls.forget(&mut self.x);
        hierarchy.into_spare()
    }

    /// The finest level.
    pub(super) fn level(&self) -> Option<&Level<D>> {
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

    /// The largest entry of the right-hand side that was loaded, walls' part included: the residual of
    /// nothing.
    pub fn norm(&self) -> f64 {
        self.norm
    }

    /// What residuals are relative to: the largest momentum that was loaded at a free face, or speed that
    /// was at a held one beside it. Not the right-hand side, of which a wall that moves is the stiffness
    /// times its speed: what is far from the wall would be as good as unknown.
    pub fn size(&self) -> f64 {
        self.size
    }

    /// A tolerance relative to the [size](Self::size) as one that is relative to nothing.
    pub fn absolute(&self, tol: &Tolerance) -> Tolerance {
        Tolerance {
            relative: 0.0,
            absolute: tol.target(self.size),
            ..*tol
        }
    }

    /// Sets the velocity `u*` of all faces: the guess and, times mass, the right-hand side at free
    /// ones, what they are held to at the others.
    pub fn load(&mut self, velocity: impl Fn(usize, [i32; D]) -> f64 + Sync) {
        self.load_apart(&velocity, &velocity);
    }

    /// The same with velocities of free faces and those of held ones apart.
    pub fn load_apart(
        &mut self,
        free: impl Fn(usize, [i32; D]) -> f64 + Sync,
        held: impl Fn(usize, [i32; D]) -> f64 + Sync,
    ) {
        self.load_under_pressure(free, held, |_| 0.0);
    }

    /// The same with a pressure in cells, in units of mass times velocity: to the right-hand side of each
    /// face it adds that of the cell on its low side less that of the one on its high side.
    pub fn load_under_pressure(
        &mut self,
        free: impl Fn(usize, [i32; D]) -> f64 + Sync,
        held: impl Fn(usize, [i32; D]) -> f64 + Sync,
        pressure: impl Fn([i32; D]) -> f64 + Sync,
    ) {
        let Some(level) = self.hierarchy.as_ref().map(|h| &h.floors[0].level) else {
            return;
        };
        let offset = self.offset;
        let face = |at: [i32; D]| std::array::from_fn(|a| at[a] + offset[a]);
        let largest = self.b.load(level, &mut self.x, |axis, at, mass| {
            let face = face(at);
            let guess = free(axis, face);
            Loaded {
                guess,
                momentum: f64::from(mass) * guess,
                // The cell on its high side has its name.
                push: pressure(moved(face, axis, -1)) - pressure(face),
            }
        });
        self.walls.find(level);
        let fastest = self.walls.set(&mut self.x, |axis, index| {
            held(axis, face(level.shape.point(index)))
        });
        let beside = match fastest {
            0.0 => largest.beside,
            _ => self.largest_beside_held(level),
        };
        self.norm = vector::max_or_nan(largest.away, beside);
        // What is at rest until a pressure moves it has no size of its own.
        self.size = match vector::max_or_nan(largest.momentum, fastest) {
            0.0 => self.norm,
            size => size,
        };
    }

    /// Sets the right-hand side itself at free faces, with everything at rest: a guess of zero and
    /// walls that do not move.
    pub fn load_rhs(&mut self, rhs: impl Fn(usize, [i32; D]) -> f64 + Sync) {
        let Some(level) = self.hierarchy.as_ref().map(|h| &h.floors[0].level) else {
            return;
        };
        let offset = self.offset;
        let largest = self.b.load(level, &mut self.x, |axis, at, _| Loaded {
            momentum: rhs(axis, std::array::from_fn(|a| at[a] + offset[a])),
            ..Loaded::default()
        });
        self.walls.forget(&mut self.x);
        self.norm = largest.momentum;
        self.size = self.norm;
    }

    /// The largest right-hand side of faces that couple with held ones.
    fn largest_beside_held(&self, level: &Level<D>) -> f64 {
        let of_plane = |k: usize| {
            let (axis, mut largest) = (k % D, 0.0);
            level.each_beside_held(axis, k / D, |index| {
                let value = self.right_hand_side(level, axis, index);
                largest = vector::max_or_nan(value.abs(), largest);
            });
            largest
        };
        let planes = (0..level.shape.planes() * D).into_par_iter();
        let largest = planes.with_min_len(8).map(of_plane);
        largest.reduce(|| 0.0, vector::max_or_nan)
    }

    /// The right-hand side of the system over free faces.
    fn right_hand_side(&self, level: &Level<D>, axis: usize, index: usize) -> f64 {
        let mut value = self.b.at(axis, index);
        if !level.is_interior(axis, index) {
            couplings(level, axis, index, |a, i, weight| {
                if weight != 0.0 && !level.is_free(a, i) {
                    value -= weight * self.x[a][i];
                }
            });
        }
        value
    }

    /// The value at a face that is free.
    pub fn value(&self, axis: usize, face: [i32; D]) -> Option<f64> {
        self.row(axis, face).value(face[0])
    }

    /// The row along x of a face, of which neighbours are found faster.
    #[inline]
    pub fn row(&self, axis: usize, face: [i32; D]) -> FaceRow<'_> {
        let Some(level) = self.level() else {
            return FaceRow::default();
        };
        let mut at = [0; D];
        for a in 1..D {
            at[a] = face[a] - self.offset[a];
            if at[a] < 0 || at[a] > level.shape.cells[a] as i32 {
                return FaceRow::default();
            }
        }
        FaceRow {
            component: Some(&level.components[axis]),
            values: &self.x[axis],
            start: level.shape.index(at),
            first: self.offset[0],
            count: level.shape.cells[0] + 1,
        }
    }

    /// What the samples of a cell have in common, if all of them have weight.
    pub fn cell(&self, cell: [i32; D]) -> Option<CellSamples> {
        let level = self.level()?;
        let at = std::array::from_fn(|a| cell[a] - self.offset[a]);
        let is_inside = (0..D).all(|a| at[a] >= 0 && at[a] < level.shape.cells[a] as i32);
        let index = is_inside.then(|| level.shape.index(at))?;
        let (mut least, mut dilation) = (f32::INFINITY, 0.0);
        for axis in 0..D {
            least = least.min(level.cell_weight(axis, index));
            let x = &self.x[axis];
            dilation += x[index + level.shape.strides[axis]] - x[index];
        }
        (least > 0.0).then(|| CellSamples {
            weight: f64::from(least),
            dilation,
        })
    }

    /// The face at a memory index, as [`Numbers`] has it.
    pub fn face(&self, index: usize) -> Option<[i32; D]> {
        let at = self.level()?.shape.point(index);
        Some(std::array::from_fn(|a| at[a] + self.offset[a]))
    }

    /// The system over free faces: matrix, right-hand side and numbers.
    ///
    /// # Errors
    /// If the matrix is too large to index or not finite, or the body is.
    pub fn system(&self) -> Result<(Csr, Vec<f64>, Numbers), SolveError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let Some(level) = self.level() else {
            let empty = Csr::new(vec![0], Vec::new(), Vec::new()).expect("an empty matrix");
            return Ok((empty, Vec::new(), Numbers::default()));
        };
        let numbers = Numbers::new(level);
        let a = matrix(level, &numbers)?;
        let faces = numbers.iter();
        let mut rhs = Vec::with_capacity(numbers.count());
        rhs.extend(faces.map(|(axis, index)| self.right_hand_side(level, axis, index)));
        Ok((a, rhs, numbers))
    }

    /// Solves for what was loaded, to a residual relative to the [size](Self::size) of that.
    ///
    /// # Errors
    /// As [`Pcg::solve`](crate::Pcg::solve), and if there is something wrong with the body.
    pub fn solve(&mut self, tol: &Tolerance) -> Result<Outcome, SolveError> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let tol = self.absolute(tol);
        match self.options.method {
            ViscousMethod::Mgpcg => self.solve_multigrid(&tol),
            ViscousMethod::PcgIc | ViscousMethod::PcgJacobi => self.solve_assembled(&tol),
        }
    }

    fn solve_multigrid(&mut self, tol: &Tolerance) -> Result<Outcome, SolveError> {
        let norm = self.norm;
        let Some(hierarchy) = self.hierarchy.as_mut() else {
            return Ok(Outcome::of_zero());
        };
        if norm == 0.0 {
            fill(&hierarchy.floors[0].level, &mut self.x, |_, _, _, _| 0.0);
            return Ok(Outcome::of_zero());
        }
        // So that a solve does not depend on others before it.
        hierarchy.unpatch();
        let mut task = Task {
            b: self.b.values(),
            x: &mut self.x,
            norm,
        };
        self.mgpcg.solve(hierarchy, &mut task, tol)
    }

    fn solve_assembled(&mut self, tol: &Tolerance) -> Result<Outcome, SolveError> {
        let (a, rhs, numbers) = self.system()?;
        let mut x = Vec::with_capacity(numbers.count());
        x.extend(numbers.iter().map(|(axis, i)| self.x[axis][i]));
        let mut assembled = Assembled::new(&a, self.options.method);
        let outcome = assembled.solve(&a, &rhs, &mut x, tol)?;
        for ((axis, i), x) in numbers.iter().zip(x) {
            self.x[axis][i] = x;
        }
        Ok(outcome)
    }
}

/// The samples of a cell, one along each axis.
#[derive(Clone, Copy, Debug)]
pub struct CellSamples {
    /// The least of their weights, which far from walls are all `2 κ V_c`.
    pub weight: f64,
    /// The sum of their differences `δ_a u_a`.
    pub dilation: f64,
}

/// A row of faces of a solver.
#[derive(Clone, Copy, Default)]
pub struct FaceRow<'a> {
    component: Option<&'a Component>,
    values: &'a [f64],
    /// The memory index of its first face.
    start: usize,
    /// The coordinate of that.
    first: i32,
    /// How many there are.
    count: usize,
}

impl FaceRow<'_> {
    /// The value at the face with this x coordinate, if it is free.
    #[inline]
    pub fn value(&self, x: i32) -> Option<f64> {
        let k = usize::try_from(x - self.first).ok();
        let index = self.start + k.filter(|&k| k < self.count)?;
        let is_free = self.component?.is_free(index);
        is_free.then(|| self.values[index])
    }
}
