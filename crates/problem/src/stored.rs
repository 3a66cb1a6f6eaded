//! A problem as a file holds it.

use std::path::Path;

use plash_solve::{Csr, Operator, Problem};

use crate::convert::Converted;
use crate::error::{Fault, ProblemError};
use crate::file;
use crate::frame::{Frame, Kind};

/// A problem as a file holds it: checked, and otherwise as it was stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    matrix: Csr,
    frame: Frame,
}

/// How unsymmetric a matrix may be, relative to its largest entry: rounding of whoever wrote it.
pub const SYMMETRY: f64 = 1e-9;

impl Stored {
    /// The problem `A x = rhs` with the unknowns `walls` constrained to be non-negative, in
    /// unknown places.
    ///
    /// # Panics
    /// If an array does not fit the matrix.
    pub fn new(matrix: Csr, rhs: Vec<f64>, walls: Vec<u32>) -> Stored {
        assert_eq!(rhs.len(), matrix.rows(), "right-hand side of another size");
        Stored::of(matrix, Frame::new(rhs, &walls))
    }

    /// A matrix, and all else, which fits it.
    pub(crate) fn of(matrix: Csr, frame: Frame) -> Stored {
        Stored { matrix, frame }
    }

    /// The same with coordinates: `dimensions` numbers for each unknown.
    ///
    /// # Panics
    /// If there are not as many.
    #[must_use]
    pub fn with_coords(mut self, dimensions: usize, coords: Vec<f64>) -> Stored {
        assert_eq!(
            coords.len(),
            dimensions * self.unknowns(),
            "missing coordinates"
        );
        self.frame.coords = Some((dimensions, coords));
        self
    }

    /// The same, of another kind.
    #[must_use]
    pub fn of_kind(mut self, kind: Kind) -> Stored {
        self.frame.kind = kind;
        self
    }

    /// The same, its unknowns velocities of these components.
    ///
    /// # Panics
    /// If there is not one component for each unknown.
    #[must_use]
    pub fn with_components(mut self, kind: Kind, components: Vec<i8>) -> Stored {
        assert_eq!(components.len(), self.unknowns(), "missing components");
        self.frame.kind = kind;
        self.frame.components = components;
        self
    }

    /// Reads a problem from a `.npz` or `.mtx` file.
    ///
    /// # Errors
    /// [`ProblemError`], naming the file, the array and what is wrong with it.
    pub fn read(path: &Path) -> Result<Stored, ProblemError> {
        file::read_problem(path)
    }

    /// Writes the problem to a `.npz` or `.mtx` file, whole or not at all. MatrixMarket takes
    /// several files, named after this one.
    ///
    /// # Errors
    /// [`ProblemError`] if the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), ProblemError> {
        file::write_problem(path, self)
    }

    /// The matrix.
    pub fn matrix(&self) -> &Csr {
        &self.matrix
    }

    /// All but the matrix.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// The right-hand side.
    pub fn rhs(&self) -> &[f64] {
        self.frame.rhs()
    }

    /// The number of unknowns.
    pub fn unknowns(&self) -> usize {
        self.frame.unknowns()
    }

    /// The unknowns that may not be negative, in increasing order.
    pub fn walls(&self) -> impl Iterator<Item = usize> + '_ {
        self.frame.walls()
    }

    /// The number of dimensions and the coordinates, unknown by unknown, if they are known.
    pub fn coords(&self) -> Option<(usize, &[f64])> {
        self.frame.coords()
    }

    /// The velocity component of each unknown; empty if none was stored.
    pub fn components(&self) -> &[i8] {
        self.frame.components()
    }

    /// What the unknowns are.
    pub fn kind(&self) -> Kind {
        self.frame.kind()
    }

    /// Derives what solvers ask for beside the matrix: null space and places.
    pub fn convert(&self) -> Converted {
        Converted::of(self)
    }

    /// The problem to solve.
    pub fn problem<'a>(&'a self, converted: &'a Converted) -> Problem<'a> {
        Problem {
            constrained: &self.frame.constrained,
            places: converted.places(),
            ..Problem::linear(&self.matrix, self.rhs(), converted.null_space())
        }
    }

    /// As [`Frame::relative_residual`].
    pub fn relative_residual(&self, residual: f64) -> f64 {
        self.frame.relative_residual(residual)
    }

    /// Checks what concerns several arrays.
    pub(crate) fn check(self) -> Result<Stored, Fault> {
        let size = |v: f64| v.abs();
        let mut largest = 0.0;
        for i in 0..self.matrix.rows() {
            let (_, values) = self.matrix.row(i);
            largest = values.iter().fold(largest, |m: f64, &v| m.max(size(v)));
            let diagonal = self.matrix.diagonal(i);
            if diagonal < 0.0 {
                return Err(Fault::new(
                    "matrix",
                    format!("entry ({i}, {i}) is {diagonal}: not positive; is the sign turned?"),
                ));
            }
        }
        for i in 0..self.matrix.rows() {
            let (columns, values) = self.matrix.row(i);
            for (&j, &value) in columns.iter().zip(values) {
                let mirrored = self.matrix.get(j as usize, i);
                if size(value - mirrored) > SYMMETRY * largest {
                    return Err(Fault::new(
                        "matrix",
                        format!(
                            "not symmetric: entry ({i}, {j}) is {value}, ({j}, {i}) is {mirrored}; \
                             store both triangles of a symmetric matrix"
                        ),
                    ));
                }
            }
        }
        Ok(self)
    }
}
