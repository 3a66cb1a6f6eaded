//! Systems in files.

use std::path::{Path, PathBuf};

use plash_grid::Grid;
use plash_liquid::viscosity::{FaceSystem, ViscosityProblem};
use plash_problem::{Kind, Stored};
use plash_scene::{AnySetup, Scene};
use plash_solve::staggered::{ViscousMethod, ViscousOptions};
use plash_solve::{Problem, SolveError};

use super::arena::Moment;
use crate::failure::{Failure, Outcome, chain};

/// Where the systems of a simulation are saved.
pub struct Dump {
    /// Folder, case and size.
    stem: PathBuf,
    lattice: Lattice,
}

impl Dump {
    /// A place for the systems of a scene.
    pub fn new(folder: &Path, scene: &Scene) -> Dump {
        let lattice = Lattice::of(&scene.setup);
        Dump {
            stem: folder.join(format!("{}-{}", scene.name, lattice.size)),
            lattice,
        }
    }

    /// Saves a pressure system.
    pub fn pressure(&self, at: Moment, problem: &Problem<'_>) -> Outcome {
        let walls = (0..problem.b.len() as u32).filter(|&i| problem.is_constrained(i as usize));
        let mut stored = Stored::new(problem.a.clone(), problem.b.to_vec(), walls.collect());
        if let Some(places) = problem.places {
            let coords = places.at.iter().flat_map(|at| self.lattice.centre(at));
            stored = stored.with_coords(places.dimensions, coords.collect());
        }
        save(&stored, &self.path(at))
    }

    /// Saves a viscosity system.
    pub fn viscosity(&self, at: Moment, problem: &dyn ViscosityProblem) -> Outcome {
        viscosity(problem, &self.lattice, &self.path(at))
    }

    fn path(&self, Moment { frame, substep }: Moment) -> PathBuf {
        format!("{}-f{frame:04}-s{substep:02}.npz", self.stem.display()).into()
    }
}

/// Saves a viscosity system: matrix and right-hand side, the centres of faces and their components.
pub fn viscosity(problem: &dyn ViscosityProblem, lattice: &Lattice, path: &Path) -> Outcome {
    let system = face_system(problem).map_err(|error| Failure::failed(chain(&error)))?;
    let faces = system.at.iter().zip(&system.components);
    let coords = faces.flat_map(|(at, &axis)| lattice.face(axis as usize, at));
    let stored = Stored::new(system.matrix, system.rhs, Vec::new())
        .with_coords(system.dimensions, coords.collect())
        .with_components(Kind::Viscosity, system.components);
    save(&stored, path)
}

fn face_system(problem: &dyn ViscosityProblem) -> Result<FaceSystem, SolveError> {
    let mut task = problem.set_up(ViscousOptions {
        method: ViscousMethod::PcgJacobi, // no levels above the finest
        ..ViscousOptions::default()
    });
    task.load();
    task.system()
}

fn save(stored: &Stored, path: &Path) -> Outcome {
    let written = stored.write(path);
    written.map_err(|error| Failure::failed(chain(&error)))
}

/// Where cells and faces lie.
#[derive(Clone, Copy)]
pub struct Lattice {
    dimension: usize,
    /// Cells along the longest side.
    pub size: u64,
    dx: f64,
    origin: [f64; 3],
}

impl Lattice {
    /// The lattice of a scene.
    pub fn of(setup: &AnySetup) -> Lattice {
        fn lattice<const D: usize>(grid: &Grid<D>) -> Lattice {
            let mut origin = [0.0; 3];
            origin[..D].copy_from_slice(&grid.origin());
            Lattice {
                dimension: D,
                size: grid.cells().iter().max().map_or(0, |&n| n as u64),
                dx: grid.dx(),
                origin,
            }
        }
        match setup {
            AnySetup::D2(setup) => lattice(&setup.grid),
            AnySetup::D3(setup) => lattice(&setup.grid),
        }
    }

    /// The unit box with so many cells along each side.
    pub fn unit(dimension: usize, size: u64) -> Lattice {
        Lattice {
            dimension,
            size,
            dx: 1.0 / size as f64,
            origin: [0.0; 3],
        }
    }

    fn centre(self, at: &[i32; 3]) -> impl Iterator<Item = f64> + use<> {
        self.place(at, [0.5; 3])
    }

    fn face(self, axis: usize, at: &[i32; 3]) -> impl Iterator<Item = f64> + use<> {
        self.place(
            at,
            std::array::from_fn(|a| if a == axis { 0.0 } else { 0.5 }),
        )
    }

    fn place(self, at: &[i32; 3], within: [f64; 3]) -> impl Iterator<Item = f64> + use<> {
        let at = *at;
        let along = move |a: usize| self.origin[a] + (f64::from(at[a]) + within[a]) * self.dx;
        (0..self.dimension).map(along)
    }
}
