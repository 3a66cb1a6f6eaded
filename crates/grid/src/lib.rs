//! Staggered grids in two and three dimensions.
//!
//! Everything that has a place on the grid has a type that says where: a [`Cell`] (its
//! centre), a [`Face`] (the middle of a cell side, one axis), a [`Node`] (a cell corner).
//! Positions are computed in one place, by [`Grid`]. Values live in [`Field`]s, one dense
//! array each, x fastest, all with the same [`Layout`]: rows padded to blocks of
//! [`BLOCK`] values, with ghost rows all around, so that a kernel may read any neighbour
//! of any cell without asking whether it exists. A [`Runs`] lists the stretches of active
//! blocks, so that work follows the liquid and not the box around it.
//!
//! ```
//! use plash_grid::{Axis, Cell, CellField, FaceField, Grid, Side, axes};
//!
//! let grid = Grid::<2>::new([8, 4], 0.25, [0.0, 0.0])?;
//! let mut u = FaceField::<f64, 2>::new(&grid);
//! for face in grid.faces(Axis::X) {
//!     u[face] = face.position(&grid)[0]; // u = x, so div u = 1
//! }
//! let cell = Cell([3, 2]);
//! let divergence: f64 = axes::<2>()
//!     .map(|a| u[cell.face(a, Side::Hi)] - u[cell.face(a, Side::Lo)])
//!     .sum::<f64>()
//!     / grid.dx();
//! assert!((divergence - 1.0).abs() < 1e-12);
//! # Ok::<(), plash_grid::GridError>(())
//! ```
//!
//! Parallel loops run in whatever rayon pool is current: the caller owns the threads.
//! They give the same bits for any number of threads.

mod field;
mod grid;
mod interpolate;
mod layout;
mod place;
mod runs;
mod slabs;

pub use field::{CellField, FaceField, Field, NodeField};
pub use grid::{Grid, GridError};
pub use interpolate::{Stencil, gradient, lerp, lerp_gradient, sample_faces};
pub use layout::{BLOCK, Layout, Row};
pub use place::{Axis, Cell, Face, Node, Side, Site, axes, corners};
pub use runs::{Run, Runs};
pub use slabs::{ordered_sum, scatter_slabs};
