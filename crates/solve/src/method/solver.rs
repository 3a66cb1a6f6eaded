//! The dispatcher.

use crate::lcp::Pockets;
use crate::method::engine::{self, Engine};
use crate::method::{Method, MethodOptions};
use crate::outcome::{SolveError, Tolerance};
use crate::problem::{Policy, Problem, Solution};

/// How a solve by a [`Solver`] ended.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solved {
    /// How it ended. Iterations are those of all methods tried.
    pub solution: Solution,
    /// The method that gave the solution.
    pub method: &'static str,
    /// Whether that was another than the first one tried.
    pub fell_back: bool,
}

/// Solves problems by a [`Method`], and owns the memory of it.
///
/// [`prepare`](Solver::prepare) must be called when the matrix or the places change; what
/// depends on the right-hand side and the constraints is the business of
/// [`solve`](Solver::solve), which may be called any number of times. A first `solve`, or one of
/// a matrix of another shape, prepares by itself.
///
/// Components of the null space are sorted out before a method sees them: over each the sum of
/// `b` decides whether it is solved as a linear problem, the mean of `b` removed and the solution
/// shifted until its smallest constrained unknown is zero (`Σb ≥ 0`), or by separation
/// (`Σb < 0`).
///
/// ```
/// use plash_solve::{Csr, Method, MethodOptions, NullSpace, Policy, Problem, Solver, Tolerance};
///
/// // Two beads on a string fixed at both ends; the first is pulled down onto the floor, x ≥ 0.
/// let a = Csr::new(vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0, -1.0, -1.0, 2.0])?;
/// let regular = NullSpace::none();
/// let problem = Problem {
///     constrained: &[true, true],
///     ..Problem::linear(&a, &[-5.0, 1.0], &regular)
/// };
/// let mut solver = Solver::new(Method::PiPcg, MethodOptions::default());
/// let (mut policy, mut x) = (Policy::default(), [0.0; 2]);
/// let solved = solver.solve(&problem, &mut policy, &mut x, &Tolerance::default())?;
/// assert!(solved.solution.converged());
/// assert!(x[0] == 0.0 && (x[1] - 0.5).abs() < 1e-6);
/// assert_eq!(policy.separated, [true, false]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Solver {
    method: Method,
    options: MethodOptions,
    links: Vec<Link>,
    pockets: Pockets,
    guess: Vec<f64>,
    guessed_policy: Policy,
}

/// One method that was needed.
struct Link {
    method: Method,
    engine: Box<dyn Engine>,
    /// Whether the engine has converted the matrix at hand but not yet prepared it.
    converted: bool,
    /// Rows and entries of the matrix last prepared.
    prepared: Option<[usize; 2]>,
}

impl Solver {
    /// A solver that has not met a problem yet.
    pub fn new(method: Method, options: MethodOptions) -> Solver {
        Solver {
            method,
            options,
            links: Vec::new(),
            pockets: Pockets::default(),
            guess: Vec::new(),
            guessed_policy: Policy::default(),
        }
    }

    /// The method asked for.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Brings the matrix into the form the method works on, if that is another than the given
    /// one: the first half of [`prepare`](Solver::prepare), which does it if it was not done
    /// before. To be called apart by those who measure.
    ///
    /// # Errors
    /// As for [`prepare`](Solver::prepare).
    pub fn convert(&mut self, problem: &Problem<'_>) -> Result<(), SolveError> {
        let (first, _) = self.plan(problem)?;
        let at = place(&mut self.links, first, &self.options);
        let link = &mut self.links[at];
        (link.converted, link.prepared) = (false, None);
        let converted = link.engine.convert(problem);
        link.converted = converted.is_ok();
        self.bearable(converted)
    }

    /// Derives what depends on the matrix and the places alone: factors, hierarchies.
    ///
    /// # Errors
    /// [`SolveError::NeedsPlaces`] if the method needs places and the problem has none,
    /// [`SolveError::Shape`] if there are not as many as unknowns.
    pub fn prepare(&mut self, problem: &Problem<'_>) -> Result<(), SolveError> {
        self.links.iter_mut().for_each(|link| link.prepared = None);
        let (first, _) = self.plan(problem)?;
        let prepared = ready(&mut self.links, first, &self.options, problem).map(|_| ());
        self.bearable(prepared)
    }

    /// A matrix that the first method of `auto` cannot take is for the next one to solve.
    fn bearable(&self, result: Result<(), SolveError>) -> Result<(), SolveError> {
        match result {
            Err(SolveError::NotOnLattice) if self.method == Method::Auto => Ok(()),
            result => result,
        }
    }

    /// Solves `problem` from the guess in `x` and from `policy`, if it is of the right size.
    ///
    /// Linear methods ignore constraints. `x` and `policy` receive the solution, or the best
    /// found if the tolerance could not be met; on an error both are left alone.
    ///
    /// # Errors
    /// [`SolveError`] if the problem is malformed or every method broke.
    pub fn solve(
        &mut self,
        problem: &Problem<'_>,
        policy: &mut Policy,
        x: &mut [f64],
        tol: &Tolerance,
    ) -> Result<Solved, SolveError> {
        problem.check(x)?;
        let (first, fallbacks) = self.plan(problem)?;
        if fallbacks.is_empty() {
            let solution = self.attempt(first, problem, policy, x, tol)?;
            return Ok(Solved::by(first, false, solution));
        }
        self.guess.clear();
        self.guess.extend_from_slice(x);
        self.guessed_policy.clone_from(policy);
        let mut best = self
            .attempt(first, problem, policy, x, tol)
            .map(|solution| Solved::by(first, false, solution));
        for &method in fallbacks {
            if best.as_ref().is_ok_and(|best| best.solution.converged()) {
                break;
            }
            let mut trial = self.guess.clone();
            let mut trial_policy = self.guessed_policy.clone();
            let next = self.attempt(method, problem, &mut trial_policy, &mut trial, tol);
            let next = next.map(|solution| Solved::by(method, true, solution));
            let (chosen, is_next) = better(best, next);
            if is_next {
                x.copy_from_slice(&trial);
                *policy = trial_policy;
            }
            best = chosen;
        }
        best
    }

    /// The method to try first, and those to fall back on.
    fn plan(&self, problem: &Problem<'_>) -> Result<(Method, &'static [Method]), SolveError> {
        use Method::{Auto, Mgpcg, Mprgp, PcgMic, PiMgpcg, PiPcg, Tnnmg};
        match (self.method, problem.places) {
            (Auto, Some(_)) if problem.is_linear() => Ok((Mgpcg, &[PcgMic])),
            (Auto, None) if problem.is_linear() => Ok((PcgMic, &[])),
            (Auto, Some(_)) => Ok((PiMgpcg, &[PiPcg, Tnnmg, Mprgp])),
            (Auto, None) => Ok((PiPcg, &[Mprgp])),
            (method, None) if method.needs_places() => Err(SolveError::NeedsPlaces {
                method: method.as_str(),
            }),
            (method, _) => Ok((method, &[])),
        }
    }

    /// One solve by one method, pockets seen to.
    fn attempt(
        &mut self,
        method: Method,
        problem: &Problem<'_>,
        policy: &mut Policy,
        x: &mut [f64],
        tol: &Tolerance,
    ) -> Result<Solution, SolveError> {
        let engine = ready(&mut self.links, method, &self.options, problem)?;
        if method.is_linear() || problem.is_linear() {
            let linear = Problem {
                constrained: &[],
                ..*problem
            };
            return engine.solve(&linear, policy, x, tol);
        }
        if problem.null_space.is_none() {
            return engine.solve(problem, policy, x, tol);
        }
        self.pockets.sort(problem);
        let sorted = self.pockets.problem(problem, engine.anchors());
        let solution = engine.solve(&sorted, policy, x, tol)?;
        self.pockets.lift(problem, x);
        Ok(solution)
    }
}

impl Solved {
    fn by(method: Method, fell_back: bool, solution: Solution) -> Solved {
        Solved {
            solution,
            method: method.as_str(),
            fell_back,
        }
    }
}

/// The better of two results, with the iterations of both, and whether it is the second.
fn better(
    first: Result<Solved, SolveError>,
    second: Result<Solved, SolveError>,
) -> (Result<Solved, SolveError>, bool) {
    match (first, second) {
        (Ok(first), Ok(second)) => {
            let is_second =
                second.solution.converged() || second.solution.residual < first.solution.residual;
            let mut chosen = if is_second { second } else { first };
            chosen.solution.iterations = first.solution.iterations + second.solution.iterations;
            chosen.solution.outer_iterations =
                first.solution.outer_iterations + second.solution.outer_iterations;
            (Ok(chosen), is_second)
        }
        (Ok(first), Err(_)) => (Ok(first), false),
        (Err(_), second) => (second, true),
    }
}

/// The engine of `method`, prepared for the matrix of `problem`.
fn ready<'a>(
    links: &'a mut Vec<Link>,
    method: Method,
    options: &MethodOptions,
    problem: &Problem<'_>,
) -> Result<&'a mut dyn Engine, SolveError> {
    let at = place(links, method, options);
    let link = &mut links[at];
    let shape = [problem.a.rows(), problem.a.nonzeros()];
    if link.prepared != Some(shape) {
        link.prepared = None;
        if !std::mem::take(&mut link.converted) {
            link.engine.convert(problem)?;
        }
        link.engine.prepare(problem)?;
        link.prepared = Some(shape);
    }
    Ok(link.engine.as_mut())
}

/// Where the engine of `method` is, built if need be.
fn place(links: &mut Vec<Link>, method: Method, options: &MethodOptions) -> usize {
    if let Some(at) = links.iter().position(|link| link.method == method) {
        return at;
    }
    links.push(Link {
        method,
        engine: engine::build(method, options),
        converted: false,
        prepared: None,
    });
    links.len() - 1
}
