//! Geometric multigrid with Galerkin coarse operators, for unknowns on a lattice.
//!
//! # How a level is made
//!
//! Cells are joined two by two along each axis. What becomes an unknown of the next level is not
//! the joined cell but each **connected component** of the unknowns inside it, so a wall thinner
//! than a coarse cell leaves an unknown on either side. Interpolation `P` gives a fine unknown
//! its own component's value and those of the neighbours it leans to, but only along couplings
//! of the matrix: a weight never crosses a solid. Weights that would are spread over the others;
//! weights that point at air (the value zero) are lost. The coarse matrix is `A_H = R A P` with
//! `R = Pᵀ/2^D` (Lai et al. 2021, section 4.3).
//!
//! All this needs the matrix and the places alone. Air is told from solid by the row sums: a row
//! that sums to zero is tied to nothing but its neighbours.
//!
//! The simpler choices that the paper compares with are kept as [`Options`].
//!
//! ```
//! use plash_solve::galerkin::{Hierarchy, Options, VCycle};
//! use plash_solve::{Csr, NullSpace, Pcg, Places, Tolerance};
//!
//! // A membrane of 32 × 32 points, fixed around, under a unit load.
//! let n: i32 = 32;
//! let inside = |x: i32, y: i32| (0..n).contains(&x) && (0..n).contains(&y);
//! let (mut starts, mut columns, mut values, mut at) = (vec![0], vec![], vec![], vec![]);
//! for y in 0..n {
//!     for x in 0..n {
//!         for (dx, dy, value) in
//!             [(0, -1, -1.0), (-1, 0, -1.0), (0, 0, 4.0), (1, 0, -1.0), (0, 1, -1.0)]
//!         {
//!             if inside(x + dx, y + dy) {
//!                 columns.push(((y + dy) * n + x + dx) as u32);
//!                 values.push(value);
//!             }
//!         }
//!         starts.push(columns.len() as u32);
//!         at.push([x, y, 0]);
//!     }
//! }
//! let a = Csr::new(starts, columns, values)?;
//! let places = Places { dimensions: 2, at: &at };
//! let mut cycle = VCycle::new(Hierarchy::new(&a, places, Options::default())?);
//! let (b, mut u) = (vec![1.0; at.len()], vec![0.0; at.len()]);
//! let outcome = Pcg::new().solve(
//!     &a, &mut cycle, &NullSpace::none(), &b, &mut u, &Tolerance::default(),
//! )?;
//! assert!(outcome.converged() && outcome.iterations <= 8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod bottom;
mod coarsen;
mod cycle;
mod hierarchy;
mod interpolate;
mod product;
mod rows;
mod smoother;

pub use cycle::VCycle;
pub(crate) use cycle::residual;
pub(crate) use hierarchy::Level;
pub use hierarchy::{Hierarchy, Holding};
pub(crate) use smoother::Sweep;

/// How coarse values reach a fine unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Interpolation {
    /// Linear, from the nearest `D + 1` coarse cells: the sparsest of second order.
    #[default]
    Barycentric,
    /// Bilinear or trilinear, from `2^D` coarse cells: denser, hardly better.
    Trilinear,
    /// The value of the coarse cell it lies in: too crude for Galerkin operators.
    Constant,
}

/// What interpolation does at boundaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Boundary {
    /// Weights follow couplings and never cross a solid.
    #[default]
    OneSided,
    /// Coarse cells are whole and weights go to whichever there are; thin solids leak.
    Simple,
}

/// Where coarse matrices come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Coarse {
    /// `A_H = R A P`.
    #[default]
    Galerkin,
    /// The operator discretised anew with twice the spacing, from averaged open areas.
    Direct,
}

/// How a [`Hierarchy`] is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Interpolation, and by transposition restriction.
    pub interpolation: Interpolation,
    /// What it does at boundaries.
    pub boundary: Boundary,
    /// The coarse matrices.
    pub coarse: Coarse,
    /// Levels of at most this many unknowns are not coarsened but solved exactly.
    pub smallest: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            interpolation: Interpolation::default(),
            boundary: Boundary::default(),
            coarse: Coarse::default(),
            smallest: 100,
        }
    }
}
