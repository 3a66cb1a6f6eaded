//! Closed pockets: components on which the matrix is singular.
//!
//! Over a component with `A·1 = 0` the residual `y = A x − b` sums to `−Σb`, whatever `x` is. So
//!
//! * `Σb > 0` (the pocket is being compressed) contradicts `y ≥ 0`: there is no solution. The
//!   mean of `b` is removed and what remains is solved as a linear problem;
//! * `Σb = 0` forces `y = 0`: the problem is linear, and its solution free by a constant;
//! * `Σb < 0` (the pocket expands) is resolved by separation, if anything in it may separate:
//!   `x_i = 0` at one unknown pins the constant.
//!
//! In the first two cases the constant is chosen such that the smallest constrained unknown is
//! zero: the least solution that pulls at no wall.

use crate::null_space::NullSpace;
use crate::problem::Problem;

/// A sum of `n` terms is zero if it is within this many roundings of each term's size.
const ROUNDINGS: f64 = 64.0 * f64::EPSILON;

/// A problem whose pockets have been sorted out. Keeps its memory from solve to solve.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pockets {
    constrained: Vec<bool>,
    /// The pockets solved as linear problems.
    linear: NullSpace,
    /// The members of those which a constant may lift off the constraints.
    lifted: Vec<Vec<u32>>,
    /// Pockets that separation resolves.
    floating: usize,
}

impl Pockets {
    /// Sorts the pockets of `problem`.
    pub(crate) fn sort(&mut self, problem: &Problem<'_>) {
        self.lifted.clear();
        self.floating = 0;
        self.constrained.clear();
        self.constrained.extend_from_slice(problem.constrained);
        let mut linear = Vec::new();
        for set in problem.null_space.sets() {
            let members: Vec<u32> = set.map(|i| i as u32).collect();
            let may_separate = members.iter().any(|&i| problem.is_constrained(i as usize));
            if may_separate && expands(problem.b, &members) {
                self.floating += 1;
                continue;
            }
            if may_separate {
                for &i in &members {
                    self.constrained[i as usize] = false;
                }
                self.lifted.push(members.clone());
            }
            linear.push(members);
        }
        self.linear = NullSpace::new(linear);
    }

    /// The problem to solve. Its null space names no component with constrained unknowns,
    /// unless `keep_floating`: methods that know how to keep a component from floating away want
    /// to be told.
    pub(crate) fn problem<'a>(&'a self, problem: &Problem<'a>, keep_floating: bool) -> Problem<'a> {
        let told = keep_floating || self.floating == 0;
        Problem {
            constrained: &self.constrained,
            null_space: if told {
                problem.null_space
            } else {
                &self.linear
            },
            ..*problem
        }
    }

    /// Shifts the solution of each linear pocket such that its smallest constrained unknown of
    /// `problem` is zero.
    pub(crate) fn lift(&self, problem: &Problem<'_>, x: &mut [f64]) {
        for members in &self.lifted {
            let least = members
                .iter()
                .map(|&i| i as usize)
                .filter(|&i| problem.is_constrained(i))
                .fold(f64::INFINITY, |least, i| least.min(x[i]));
            for &i in members {
                x[i as usize] -= least;
            }
        }
    }
}

/// Whether `Σb < 0` over the members, beyond rounding.
fn expands(b: &[f64], members: &[u32]) -> bool {
    let (mut sum, mut size) = (0.0, 0.0);
    for &i in members {
        sum += b[i as usize];
        size += b[i as usize].abs();
    }
    sum < -ROUNDINGS * size
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csr::Csr;

    /// Three unlinked pairs, each singular.
    fn pairs() -> (Csr, NullSpace) {
        let starts = (0..=6).map(|i| 2 * i).collect();
        let columns = (0..6).flat_map(|i| [i / 2 * 2, i / 2 * 2 + 1]).collect();
        let values = (0..6)
            .flat_map(|i| [[1.0, -1.0], [-1.0, 1.0]][i % 2])
            .collect();
        let a = Csr::new(starts, columns, values).expect("a matrix");
        (a, NullSpace::new(vec![vec![0, 1], vec![2, 3], vec![4, 5]]))
    }

    #[test]
    fn only_expanding_pockets_with_walls_stay_constrained() {
        let (a, null_space) = pairs();
        let problem = Problem {
            constrained: &[true, false, true, true, false, false],
            ..Problem::linear(&a, &[1.0, -0.5, -2.0, 1.0, -3.0, 1.0], &null_space)
        };
        let mut pockets = Pockets::default();
        pockets.sort(&problem);
        let sorted = pockets.problem(&problem, false);
        assert_eq!(sorted.constrained, [false, false, true, true, false, false]);
        assert_eq!(
            sorted.null_space,
            &NullSpace::new(vec![vec![0, 1], vec![4, 5]])
        );
        assert_eq!(pockets.problem(&problem, true).null_space, &null_space);
    }

    #[test]
    fn a_balanced_pocket_is_lifted_to_touch_its_constraints() {
        let (a, null_space) = pairs();
        let problem = Problem {
            constrained: &[true, true, false, true, false, false],
            ..Problem::linear(&a, &[1.0, -1.0, 0.1 + 0.2, -0.3, 0.0, 0.0], &null_space)
        };
        let mut pockets = Pockets::default();
        pockets.sort(&problem);
        assert!(!pockets.problem(&problem, false).constrained.contains(&true));
        let mut x = [0.5, -0.5, 2.0, 3.0, 7.0, 8.0];
        pockets.lift(&problem, &mut x);
        assert_eq!(x, [1.0, 0.0, -1.0, 0.0, 7.0, 8.0]);
    }
}
