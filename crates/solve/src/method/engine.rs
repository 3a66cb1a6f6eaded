//! The methods behind one face.

use crate::csr::Csr;
use crate::galerkin::{self, Hierarchy, VCycle};
use crate::lcp::{
    FasMg, FasOptions, Fmg, Mprgp, Newton, NewtonOptions, PeMg, PePcg, PiMg, PiPcg, Psor,
    RestrictedMic, Tnnmg,
};
use crate::method::lattice::{LatticeMgpcg, PiMgpcg};
use crate::method::{Method, MethodOptions};
use crate::mic::{Mic0, Mic0Options};
use crate::outcome::{Outcome, SolveError, Tolerance};
use crate::pcg::Pcg;
use crate::problem::{Policy, Problem, Solution};

/// A method with its memory.
pub(super) trait Engine: Send {
    /// Brings the matrix into the form the method works on, if that is not the given one.
    fn convert(&mut self, _problem: &Problem<'_>) -> Result<(), SolveError> {
        Ok(())
    }

    /// Derives what depends on the matrix and the places alone.
    fn prepare(&mut self, problem: &Problem<'_>) -> Result<(), SolveError>;

    /// Solves, with what was prepared.
    fn solve(
        &mut self,
        problem: &Problem<'_>,
        policy: &mut Policy,
        x: &mut [f64],
        tol: &Tolerance,
    ) -> Result<Solution, SolveError>;

    /// Whether the method keeps constrained components of the null space from floating away, and
    /// so wants them named.
    fn anchors(&self) -> bool {
        false
    }
}

/// The engine of a method.
pub(super) fn build(method: Method, options: &MethodOptions) -> Box<dyn Engine> {
    let MethodOptions {
        sub_solver,
        policy,
        hierarchy,
        relaxation,
    } = *options;
    let mic = RestrictedMic::default;
    match method {
        Method::PcgMic => Box::new(PcgMic::default()),
        Method::Mgpcg => Box::new(LatticeMgpcg::new(Mgpcg::new(hierarchy))),
        Method::PiMgpcg => Box::new(PiMgpcg::default()),
        Method::FasMg => Box::new(FasMg::new(FasOptions {
            hierarchy,
            ..FasOptions::default()
        })),
        Method::Fmg => Box::new(Fmg::default()),
        Method::Tnnmg => Box::new(Tnnmg::new(hierarchy)),
        // The dispatcher takes `Auto` apart before it comes here.
        Method::PiPcg | Method::Auto => Box::new(PiPcg::new(policy, mic())),
        Method::PiMg => Box::new(PiMg::new(policy, hierarchy)),
        Method::PePcg => Box::new(PePcg::new(policy, mic())),
        Method::PeMg => Box::new(PeMg::new(policy, hierarchy)),
        Method::Newton => Box::new(Newton::new(
            NewtonOptions {
                sub_solver,
                ..NewtonOptions::default()
            },
            mic(),
        )),
        Method::Mprgp => Box::new(Mprgp::new()),
        Method::Psor => Box::new(Psor::new(relaxation)),
    }
}

/// Makes an engine of a method: with or without something to prepare, and with or without the
/// habit of anchoring floating components.
macro_rules! engine {
    ($method:ty, anchors: $anchors:literal, prepare: $prepare:expr) => {
        impl Engine for $method {
            fn prepare(&mut self, problem: &Problem<'_>) -> Result<(), SolveError> {
                let prepare: fn(&mut $method, &Problem<'_>) -> Result<(), SolveError> = $prepare;
                prepare(self, problem)
            }
            fn solve(
                &mut self,
                problem: &Problem<'_>,
                policy: &mut Policy,
                x: &mut [f64],
                tol: &Tolerance,
            ) -> Result<Solution, SolveError> {
                <$method>::solve(self, problem, policy, x, tol)
            }
            fn anchors(&self) -> bool {
                $anchors
            }
        }
    };
}

// The factors of these depend on the policy too.
engine!(PiPcg, anchors: true, prepare: |_, _| Ok(()));
engine!(PePcg, anchors: true, prepare: |_, _| Ok(()));
engine!(Newton, anchors: true, prepare: |_, _| Ok(()));
engine!(PiMg, anchors: true, prepare: PiMg::prepare);
engine!(PeMg, anchors: true, prepare: PeMg::prepare);
// These need no anchor: they descend until a bound stops them.
engine!(Mprgp, anchors: false, prepare: |_, _| Ok(()));
engine!(Psor, anchors: false, prepare: |_, _| Ok(()));
engine!(FasMg, anchors: false, prepare: FasMg::prepare);
engine!(Fmg, anchors: false, prepare: Fmg::prepare);
engine!(Tnnmg, anchors: false, prepare: Tnnmg::prepare);

/// Conjugate gradients under MIC(0), blind to constraints.
#[derive(Default)]
struct PcgMic {
    pcg: Pcg,
    mic: Option<Mic0>,
}

impl Engine for PcgMic {
    fn prepare(&mut self, problem: &Problem<'_>) -> Result<(), SolveError> {
        match &mut self.mic {
            Some(mic) => mic.refactor(problem.a),
            None => self.mic = Some(Mic0::new(problem.a, Mic0Options::default())),
        }
        Ok(())
    }

    fn solve(
        &mut self,
        problem: &Problem<'_>,
        policy: &mut Policy,
        x: &mut [f64],
        tol: &Tolerance,
    ) -> Result<Solution, SolveError> {
        let mic = self
            .mic
            .get_or_insert_with(|| Mic0::new(&Csr::default(), Mic0Options::default()));
        let Problem {
            a, b, null_space, ..
        } = *problem;
        let outcome = self.pcg.solve(a, mic, null_space, b, x, tol)?;
        Ok(linear_solution(outcome, x.len(), policy))
    }
}

/// Conjugate gradients under a multigrid V-cycle, blind to constraints.
pub(super) struct Mgpcg {
    pcg: Pcg,
    options: galerkin::Options,
    cycle: Option<VCycle>,
}

impl Mgpcg {
    fn new(options: galerkin::Options) -> Mgpcg {
        Mgpcg {
            pcg: Pcg::new(),
            options,
            cycle: None,
        }
    }
}

impl Engine for Mgpcg {
    fn prepare(&mut self, problem: &Problem<'_>) -> Result<(), SolveError> {
        let places = problem.places.ok_or(NEEDS_PLACES)?;
        let fits = |cycle: &VCycle| cycle.hierarchy().fits(problem.a, places, self.options);
        if !self.cycle.as_ref().is_some_and(fits) {
            let hierarchy = Hierarchy::new(problem.a, places, self.options)?;
            self.cycle = Some(VCycle::new(hierarchy));
        }
        Ok(())
    }

    fn solve(
        &mut self,
        problem: &Problem<'_>,
        policy: &mut Policy,
        x: &mut [f64],
        tol: &Tolerance,
    ) -> Result<Solution, SolveError> {
        let Problem {
            a, b, null_space, ..
        } = *problem;
        let cycle = self.cycle.as_mut().ok_or(NEEDS_PLACES)?;
        let outcome = self.pcg.solve(a, cycle, null_space, b, x, tol)?;
        Ok(linear_solution(outcome, x.len(), policy))
    }
}

pub(super) const NEEDS_PLACES: SolveError = SolveError::NeedsPlaces { method: "mgpcg" };

/// The solution of a linear problem, in which nothing is separated.
pub(super) fn linear_solution(outcome: Outcome, rows: usize, policy: &mut Policy) -> Solution {
    policy.separated.clear();
    policy.separated.resize(rows, false);
    Solution {
        status: outcome.status,
        iterations: outcome.iterations,
        outer_iterations: 1,
        residual: outcome.residual,
        initial_residual: outcome.initial_residual,
        separated: 0,
    }
}
