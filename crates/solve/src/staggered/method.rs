//! The methods by name.

use std::fmt;
use std::str::FromStr;

use crate::method::UnknownName;

/// A way to solve for viscosity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ViscousMethod {
    /// Conjugate gradients preconditioned by a multigrid cycle; matrix-free.
    #[default]
    Mgpcg,
    /// Conjugate gradients with an incomplete Cholesky factorisation of the assembled matrix.
    PcgIc,
    /// Conjugate gradients scaled by the diagonal of the assembled matrix.
    PcgJacobi,
}

/// What smooths the error on a level of [`ViscousMethod::Mgpcg`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Smoother {
    /// Chebyshev polynomials of the fourth kind in the scaled operator.
    #[default]
    Chebyshev,
    /// Exact solves for a face and all it couples with, 9 or 15 unknowns, one after the other
    /// (Aanjaneya et al. 2019, section 6.3).
    Box,
    /// Damped Jacobi, more of it near the border (McAdams et al. 2010): the paper's improved
    /// baseline.
    Jacobi,
    /// The same with Jacobi sweeps on the coarsest level too: the paper's naive baseline.
    JacobiNaive,
    /// Point by point, in colours.
    GaussSeidel,
    /// Exact solves for the faces of a cell, one cell after the other.
    Vanka,
}

/// What the coarse levels of [`ViscousMethod::Mgpcg`] are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Coarsening {
    /// How much of each coarse cell is filled, with masses and the hold of walls from the finer level.
    #[default]
    Fractions,
    /// Voxels that are fluid, solid or air, with weights of zero and one (Aanjaneya et al. 2019, sections
    /// 6.1 and 6.4).
    Labels,
}

/// Settings of a [`ViscousSolver`](super::ViscousSolver).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ViscousOptions {
    /// The method.
    pub method: ViscousMethod,
    /// What smooths in [`ViscousMethod::Mgpcg`].
    pub smoother: Smoother,
    /// What its coarse levels are made of. A [`StoredSolver`](super::StoredSolver), which knows of no
    /// walls, always takes fractions.
    pub coarsening: Coarsening,
}

macro_rules! named {
    ($type:ty, $kind:literal, [$($variant:ident => $name:literal),* $(,)?]) => {
        impl $type {
            /// All of them.
            pub const ALL: &'static [$type] = &[$(<$type>::$variant),*];

            /// The name in scene files and on the command line.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(<$type>::$variant => $name,)*
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $type {
            type Err = UnknownName;

            fn from_str(name: &str) -> Result<Self, UnknownName> {
                let found = Self::ALL.iter().find(|m| m.as_str() == name);
                found.copied().ok_or_else(|| {
                    UnknownName::new($kind, name, Self::ALL.iter().map(|m| m.as_str()).collect())
                })
            }
        }
    };
}

named!(ViscousMethod, "viscosity method", [
    Mgpcg => "mgpcg",
    PcgIc => "pcg-ic",
    PcgJacobi => "pcg-jacobi",
]);

named!(Smoother, "smoother", [
    Chebyshev => "chebyshev",
    Box => "box",
    Jacobi => "jacobi",
    JacobiNaive => "jacobi-naive",
    GaussSeidel => "gauss-seidel",
    Vanka => "vanka",
]);

named!(Coarsening, "kind of coarse levels", [
    Fractions => "fractions",
    Labels => "labels",
]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_methods_are_one_to_one() {
        for &method in ViscousMethod::ALL {
            assert_eq!(method.as_str().parse(), Ok(method));
        }
        for &smoother in Smoother::ALL {
            assert_eq!(smoother.as_str().parse(), Ok(smoother));
        }
        for &coarsening in Coarsening::ALL {
            assert_eq!(coarsening.as_str().parse(), Ok(coarsening));
        }
        assert!("boxes".parse::<Smoother>().is_err());
    }
}
