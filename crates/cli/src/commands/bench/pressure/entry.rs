//! A method in the comparison: its name, its warm start, and what it has taken so far.

use std::collections::HashMap;

use plash_solve::galerkin::{Boundary, Coarse, Interpolation};
use plash_solve::{Method, MethodOptions, Policy, Problem, Solver, SubSolver, Tolerance};

use crate::commands::bench::memory::Memory;
use crate::commands::bench::row::{Row, Tally};
use crate::stopwatch::timed;

/// A method, or a variant of one, under the name it was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// As typed: `newton:gmres`.
    pub name: String,
    method: Method,
    options: MethodOptions,
}

/// The variants that multigrid methods have.
const VARIANTS: &str = "trilinear, constant, simple or direct";

impl Choice {
    /// Reads `METHOD` or `METHOD:VARIANT`.
    ///
    /// # Errors
    /// What is wrong, and what there is.
    pub fn parse(name: &str) -> Result<Choice, String> {
        let (word, variant) = match name.split_once(':') {
            Some((word, variant)) => (word, Some(variant)),
            None => (name, None),
        };
        let method: Method = word.parse().map_err(|e| format!("{e}"))?;
        let mut options = MethodOptions::default();
        let hierarchy = &mut options.hierarchy;
        match (method, variant) {
            (_, None) => {}
            (Method::Newton, Some(variant)) => {
                options.sub_solver = variant.parse::<SubSolver>().map_err(|e| format!("{e}"))?;
            }
            (Method::FasMg | Method::PiMg | Method::PeMg, Some(variant)) => match variant {
                "trilinear" => hierarchy.interpolation = Interpolation::Trilinear,
                "constant" => hierarchy.interpolation = Interpolation::Constant,
                "simple" => hierarchy.boundary = Boundary::Simple,
                "direct" => hierarchy.coarse = Coarse::Direct,
                _ => return Err(format!("{word} has no variant {variant}, but {VARIANTS}")),
            },
            _ => return Err(format!("{word} has no variants")),
        }
        Ok(Choice {
            name: name.to_owned(),
            method,
            options,
        })
    }
}

/// Where the cells of this system were in the last one, for warm starts.
#[derive(Default)]
pub struct Carry {
    numbers: HashMap<[i32; 3], u32>,
    /// The number of each unknown in the last system.
    from: Vec<Option<u32>>,
}

impl Carry {
    /// Takes note of a new system.
    pub fn meet(&mut self, problem: &Problem<'_>) {
        let places = problem.places.map_or(&[][..], |places| places.at);
        let last = |place| self.numbers.get(place).copied();
        self.from = places.iter().map(last).collect();
        let numbered = places.iter().zip(0..).map(|(&place, i)| (place, i));
        self.numbers.clear();
        self.numbers.extend(numbered);
    }

    /// Values by unknown of the last system, by unknown of this one; `new` where a cell is new.
    fn values<T: Copy>(&self, last: &[T], new: T) -> Vec<T> {
        let value = |from: &Option<u32>| from.and_then(|i| last.get(i as usize).copied());
        self.from.iter().map(|i| value(i).unwrap_or(new)).collect()
    }
}

/// A method at work.
pub struct Entry {
    choice: Choice,
    solver: Solver,
    x: Vec<f64>,
    policy: Policy,
    memory: Memory,
    tally: Tally,
}

impl Entry {
    /// A method that has met no system yet.
    pub fn new(choice: Choice) -> Entry {
        Entry {
            solver: Solver::new(choice.method, choice.options),
            choice,
            x: Vec::new(),
            policy: Policy::default(),
            memory: Memory::default(),
            tally: Tally::default(),
        }
    }

    /// Solves a system from the method's own last solution, or from nothing.
    pub fn solve(&mut self, problem: &Problem<'_>, warm: Option<&Carry>, tolerance: &Tolerance) {
        let cold = self.x.is_empty();
        match warm {
            Some(carry) if !cold => {
                self.x = carry.values(&self.x, 0.0);
                self.policy.separated = carry.values(&self.policy.separated, false);
            }
            _ => {
                self.x = vec![0.0; problem.b.len()];
                self.policy.separated.clear();
            }
        }
        let Entry {
            solver, x, policy, ..
        } = self;
        let (solved, seconds) = self.memory.count(|| {
            let (prepared, setup) = timed(|| solver.prepare(problem));
            let (solved, solve) =
                timed(|| prepared.and_then(|()| solver.solve(problem, policy, x, tolerance)));
            (solved, [setup, solve])
        });
        self.tally.add_system(seconds);
        match solved {
            Ok(solved) => {
                let solution = &solved.solution;
                self.tally.fell_back += usize::from(solved.fell_back);
                let counts = [solution.iterations, solution.outer_iterations];
                self.tally.add_solution(counts, solution.converged());
            }
            Err(error) => {
                self.tally.add_error(error.to_string());
                // What broke the method is no guess for its next system.
                self.x.clear();
            }
        }
    }

    /// What it took.
    pub fn row(&self, case: &str, size: u64) -> Row {
        Row {
            case: case.to_owned(),
            size,
            method: self.choice.name.clone(),
            tally: self.tally.clone(),
            peak_memory_bytes: self.memory.peak(),
            detail: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plash_solve::{Csr, NullSpace, Places};

    #[test]
    fn variants_belong_to_methods() {
        assert!(Choice::parse("newton:gmres").is_ok());
        assert!(Choice::parse("fas-mg:direct").is_ok());
        for wrong in ["newton:direct", "fas-mg:gmres", "psor:direct", "fas", ""] {
            assert!(Choice::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn values_follow_their_cells_and_new_cells_start_from_nothing() {
        let a = Csr::new(vec![0, 1, 2], vec![0, 1], vec![1.0, 1.0]).expect("a matrix");
        let regular = NullSpace::none();
        let at = |at: &'static [[i32; 3]]| Problem {
            places: Some(Places { dimensions: 2, at }),
            ..Problem::linear(&a, &[1.0, 1.0], &regular)
        };
        let mut carry = Carry::default();
        carry.meet(&at(&[[0, 0, 0], [1, 0, 0]]));
        carry.meet(&at(&[[1, 0, 0], [1, 1, 0]]));
        assert_eq!(carry.values(&[3.0, 4.0], 0.0), [4.0, 0.0]);
        carry.meet(&at(&[[1, 0, 0], [1, 1, 0]]));
        assert_eq!(carry.values(&[5.0, 6.0], 0.0), [5.0, 6.0]);
    }

    #[test]
    fn a_warm_start_from_the_solution_takes_no_iteration() {
        let a = Csr::new(vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0, -1.0, -1.0, 2.0]);
        let a = a.expect("a matrix");
        let regular = NullSpace::none();
        let problem = Problem {
            places: Some(Places {
                dimensions: 2,
                at: &[[0, 0, 0], [1, 0, 0]],
            }),
            ..Problem::linear(&a, &[1.0, 2.0], &regular)
        };
        let mut entry = Entry::new(Choice::parse("pcg-mic").expect("a method"));
        let mut carry = Carry::default();
        let tolerance = Tolerance::default();
        carry.meet(&problem);
        entry.solve(&problem, Some(&carry), &tolerance);
        let first = entry.row("case", 2).average_iterations();
        carry.meet(&problem);
        entry.solve(&problem, Some(&carry), &tolerance);
        let row = entry.row("case", 2);
        assert_eq!((row.tally.systems, row.tally.converged), (2, 2));
        assert_eq!(row.average_iterations(), first / 2.0);
        entry.solve(&problem, None, &tolerance);
        assert_eq!(entry.row("case", 2).average_iterations(), first * 2.0 / 3.0);
    }
}
