//! What every method does before its first iteration.

use crate::null_space::NullSpace;
use crate::operator::Operator;
use crate::outcome::SolveError;
use crate::pcg::NULL_SPACE_NOISE;
use crate::problem::Problem;
use crate::vector;

/// A problem made ready: the right-hand side consistent, the null space split in two.
#[derive(Clone, Debug, Default)]
pub(crate) struct Start {
    b: Vec<f64>,
    null_space: NullSpace,
    floating: Vec<Vec<u32>>,
}

/// What [`Start::begin`] made of a problem.
pub(crate) struct Begun<'a, A: ?Sized> {
    /// The problem with a consistent right-hand side. Its null space holds the unconstrained
    /// components alone.
    pub problem: Problem<'a, A>,
    /// Components on which `A` is singular unless one of their constrained unknowns is
    /// separated.
    pub floating: &'a [Vec<u32>],
    /// `max|b|` after the projection; zero if `b` was in the null space but for rounding.
    pub b_norm: f64,
}

impl Start {
    /// Checks `problem` and the guess, and projects `b` off the unconstrained null space.
    pub(crate) fn begin<'a, A: Operator + ?Sized>(
        &'a mut self,
        problem: &Problem<'a, A>,
        x: &[f64],
    ) -> Result<Begun<'a, A>, SolveError> {
        problem.check(x)?;
        let raw_norm = vector::max_norm(problem.b);
        if problem.null_space.is_none() {
            return Ok(Begun {
                problem: *problem,
                floating: &[],
                b_norm: raw_norm,
            });
        }
        self.split(problem);
        self.b.clear();
        self.b.extend_from_slice(problem.b);
        self.null_space.project(&mut self.b);
        let norm = vector::max_norm(&self.b);
        let noise = norm <= NULL_SPACE_NOISE * raw_norm;
        Ok(Begun {
            problem: Problem {
                b: &self.b,
                null_space: &self.null_space,
                ..*problem
            },
            floating: &self.floating,
            b_norm: if noise { 0.0 } else { norm },
        })
    }

    /// Splits the null space into components without and with constrained unknowns.
    fn split<A: Operator + ?Sized>(&mut self, problem: &Problem<'_, A>) {
        self.floating.clear();
        let mut free = Vec::new();
        for set in problem.null_space.sets() {
            let members = set.clone().map(|i| i as u32).collect();
            if set.clone().any(|i| problem.is_constrained(i)) {
                self.floating.push(members);
            } else {
                free.push(members);
            }
        }
        self.null_space = NullSpace::new(free);
    }
}
