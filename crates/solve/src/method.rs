//! Methods by name, and the one solver that knows them all.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::galerkin;
use crate::lcp::PiOptions;

mod engine;
mod lattice;
mod solver;

pub use solver::{Solved, Solver};

/// A way to solve a [`Problem`](crate::Problem).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Conjugate gradients preconditioned by MIC(0); linear.
    PcgMic,
    /// Conjugate gradients preconditioned by a multigrid cycle; linear. Needs places. On a
    /// regular lattice this is the fast solver of [`lattice`](crate::lattice), elsewhere a
    /// [`galerkin`] cycle.
    Mgpcg,
    /// Policy iteration over the same, the hierarchy rebuilt for every policy. Needs places, and
    /// a matrix that couples next neighbours on their lattice.
    PiMgpcg,
    /// Full approximation scheme multigrid (Lai et al. 2021). Needs places.
    FasMg,
    /// Policy iteration over PCG-MIC.
    PiPcg,
    /// Policy iteration over multigrid. Needs places.
    PiMg,
    /// Penalty iteration over PCG-MIC.
    PePcg,
    /// Penalty iteration over multigrid. Needs places.
    PeMg,
    /// Minimum-map Newton (Andersen et al. 2017).
    Newton,
    /// Full multigrid with a clamping smoother (Chentanez and Müller 2011). Needs places.
    Fmg,
    /// Truncated nonsmooth Newton multigrid. Needs places.
    Tnnmg,
    /// Modified proportioning with reduced gradient projections (Dostál).
    Mprgp,
    /// Projected successive over-relaxation: the teaching baseline.
    Psor,
    /// The fastest that converges, with others to fall back on.
    #[default]
    Auto,
}

impl Method {
    /// All methods, in the order of the documents.
    pub const ALL: [Method; 14] = [
        Method::PcgMic,
        Method::Mgpcg,
        Method::PiMgpcg,
        Method::FasMg,
        Method::PiPcg,
        Method::PiMg,
        Method::PePcg,
        Method::PeMg,
        Method::Newton,
        Method::Fmg,
        Method::Tnnmg,
        Method::Mprgp,
        Method::Psor,
        Method::Auto,
    ];

    /// The name in scene files, reports and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::PcgMic => "pcg-mic",
            Method::Mgpcg => "mgpcg",
            Method::PiMgpcg => "pi-mgpcg",
            Method::FasMg => "fas-mg",
            Method::PiPcg => "pi-pcg",
            Method::PiMg => "pi-mg",
            Method::PePcg => "pe-pcg",
            Method::PeMg => "pe-mg",
            Method::Newton => "newton",
            Method::Fmg => "fmg",
            Method::Tnnmg => "tnnmg",
            Method::Mprgp => "mprgp",
            Method::Psor => "psor",
            Method::Auto => "auto",
        }
    }

    /// Whether the method ignores constraints: it solves `A x = b` whatever the problem says,
    /// which for a liquid is walls that hold on to it.
    pub fn is_linear(self) -> bool {
        matches!(self, Method::PcgMic | Method::Mgpcg)
    }

    /// Whether the method must know where the unknowns lie.
    pub fn needs_places(self) -> bool {
        matches!(
            self,
            Method::Mgpcg
                | Method::PiMgpcg
                | Method::FasMg
                | Method::PiMg
                | Method::PeMg
                | Method::Fmg
                | Method::Tnnmg
        )
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A name that is none of the known ones.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("there is no {kind} \"{name}\"; choose one of {}", known.join(", "))]
pub struct UnknownName {
    kind: &'static str,
    name: String,
    known: Vec<&'static str>,
}

impl UnknownName {
    /// A name that is not among the known ones.
    pub(crate) fn new(kind: &'static str, name: &str, known: Vec<&'static str>) -> Self {
        UnknownName {
            kind,
            name: name.to_owned(),
            known,
        }
    }
}

impl FromStr for Method {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Method, UnknownName> {
        let found = Method::ALL.into_iter().find(|m| m.as_str() == name);
        found.ok_or_else(|| UnknownName {
            kind: "method",
            name: name.to_owned(),
            known: Method::ALL.iter().map(|m| m.as_str()).collect(),
        })
    }
}

/// What solves the linear systems of [`Method::Newton`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SubSolver {
    /// Preconditioned conjugate gradients.
    #[default]
    Pcg,
    /// Generalised minimal residuals, restarted.
    Gmres,
    /// Stabilised bi-conjugate gradients.
    BiCgStab,
    /// Conjugate residuals.
    Cr,
}

impl SubSolver {
    /// All of them.
    pub const ALL: [SubSolver; 4] = [
        SubSolver::Pcg,
        SubSolver::Gmres,
        SubSolver::BiCgStab,
        SubSolver::Cr,
    ];

    /// The name in scene files and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            SubSolver::Pcg => "pcg",
            SubSolver::Gmres => "gmres",
            SubSolver::BiCgStab => "bicgstab",
            SubSolver::Cr => "cr",
        }
    }
}

impl fmt::Display for SubSolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for SubSolver {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<SubSolver, UnknownName> {
        let found = SubSolver::ALL.into_iter().find(|s| s.as_str() == name);
        found.ok_or_else(|| UnknownName {
            kind: "sub-solver",
            name: name.to_owned(),
            known: SubSolver::ALL.iter().map(|s| s.as_str()).collect(),
        })
    }
}

/// The knobs of all methods, each with its default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MethodOptions {
    /// For [`Method::Newton`].
    pub sub_solver: SubSolver,
    /// For [`Method::PiPcg`], [`Method::PePcg`], [`Method::PiMg`] and [`Method::PeMg`].
    pub policy: PiOptions,
    /// For the methods that need places, but for [`Method::Fmg`], which has its own.
    pub hierarchy: galerkin::Options,
    /// For [`Method::Psor`]: over-relaxation, between 0 and 2; 1 is projected Gauss–Seidel.
    pub relaxation: f64,
}

impl Default for MethodOptions {
    fn default() -> MethodOptions {
        MethodOptions {
            sub_solver: SubSolver::default(),
            policy: PiOptions::default(),
            hierarchy: galerkin::Options::default(),
            relaxation: 1.5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_methods_are_one_to_one() {
        for method in Method::ALL {
            assert_eq!(method.as_str().parse(), Ok(method));
        }
        for sub_solver in SubSolver::ALL {
            assert_eq!(sub_solver.as_str().parse(), Ok(sub_solver));
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let message = "multigrid".parse::<Method>().expect_err("no such method");
        let message = message.to_string();
        assert!(message.starts_with("there is no method \"multigrid\"; choose one of pcg-mic, "));
        assert!(message.ends_with(", psor, auto"), "{message}");
    }
}
