//! Policy iteration on a lattice.

use super::level::UNIFORM;
use super::shape::{BLOCK, slots};
use super::solver::{FLOOR, LatticeSolver, WallCell, project, solved};
use crate::null_space::NullSpace;
use crate::outcome::{SolveError, Status, Tolerance, finite_residual};
use crate::problem::{Policy, Solution};

/// The inner solve of a policy goes this far below the residual at hand: less wastes policies,
/// more wastes iterations on a policy that is about to change.
const INNER: f64 = 0.1;

/// So many policies in a row that do not lower the residual ask for a stricter inner solve.
const PATIENCE: usize = 3;

/// Policies tried before giving up. They change by fewer cells each time and end by themselves.
const MAX_POLICIES: usize = 60;

/// Components that nothing ties to zero.
struct Pockets {
    /// Those without a constrained unknown: linear, their constant projected out.
    linear: NullSpace,
    /// Places in the list of walls of each of the others, which must keep one separated.
    floating: Vec<Vec<usize>>,
}

impl<const D: usize> LatticeSolver<D> {
    /// Solves the mixed complementarity problem by policy iteration: unknowns in the policy are
    /// held at zero and the rest is solved for; the policy then lets go where the residual
    /// pulls away more than the value presses, `y_i > A_ii x_i`, and takes hold elsewhere.
    /// Rows left out are coupled to nothing, so every inner problem is symmetric.
    ///
    /// Constrained are the unknowns that the matrix says may be, or those of them in
    /// `constrained`. A set of the null space that has constrained unknowns always keeps one of
    /// them separated: there is a solution only if its right-hand side sums to less than zero.
    ///
    /// # Errors
    /// As [`Pcg::solve`](crate::Pcg::solve).
    pub fn solve_lcp(
        &mut self,
        null_space: &NullSpace,
        constrained: Option<&[bool]>,
        b: &[f64],
        policy: &mut Policy,
        x: &mut [f64],
        tol: &Tolerance,
    ) -> Result<Solution, SolveError> {
        self.walls.clear();
        let held = |wall: &&WallCell| constrained.is_none_or(|c| c[wall.unknown as usize]);
        self.walls.extend(self.candidates.iter().filter(held));
        self.walled.clear();
        self.walled.resize(self.matrix.rows.len(), 0);
        for wall in &self.walls {
            self.walled[wall.place as usize] |= 1 << wall.lane;
        }
        let pockets = self.sort_pockets(null_space);
        let projected = project(&pockets.linear, b);
        let norm = self.set(projected.as_deref().unwrap_or(b), x);
        if norm == 0.0 {
            x.fill(0.0);
            policy.separated.clear();
            policy.separated.resize(x.len(), false);
            return Ok(solved(Status::Converged, 0, 1, 0.0, 0.0, 0));
        }
        self.start_policy(policy);
        let solution = self.iterate_policies(&pockets, tol.target(norm), tol)?;
        self.get(x);
        pockets.linear.project(x);
        self.write_policy(policy);
        Ok(solution)
    }

    fn iterate_policies(
        &mut self,
        pockets: &Pockets,
        target: f64,
        tol: &Tolerance,
    ) -> Result<Solution, SolveError> {
        self.refresh();
        let mut residual = finite_residual(self.true_residual(), 0)?;
        // Where the recurrence of the residual, in single precision, was last made true.
        let mut reference = residual;
        let (mut iterations, mut outer, mut initial) = (0, 0, None);
        let mut stalled_inside = false;
        let (mut factor, mut best, mut stalled) = (INNER, f64::INFINITY, 0);
        let (status, natural) = loop {
            let (mut natural, mut changes) = self.judge(residual);
            if natural <= target || residual < 10.0 * FLOOR * reference {
                residual = finite_residual(self.true_residual(), iterations)?;
                reference = residual;
                (natural, changes) = self.judge(residual);
            }
            initial.get_or_insert(natural);
            if natural <= target {
                // What lets go without having been held back before is part of the answer.
                for wall in &changes {
                    self.separated[wall.place as usize] ^= 1 << wall.lane;
                }
                break (Status::Converged, natural);
            }
            if stalled_inside || iterations >= tol.max_iterations || outer >= MAX_POLICIES {
                residual = finite_residual(self.true_residual(), iterations)?;
                let status = if stalled_inside {
                    Status::Stagnated
                } else {
                    Status::IterationLimit
                };
                break (status, self.judge(residual).0);
            }
            // Policies that do not get better were judged by too coarse a solution.
            stalled = if natural < best { 0 } else { stalled + 1 };
            if stalled == PATIENCE {
                (factor, stalled) = ((0.1 * factor).max(1e-6), 0);
            }
            best = natural.min(best);
            self.anchor(pockets, &mut changes);
            self.apply(&changes);
            self.refresh();
            outer += 1;
            let inner = (factor * natural).max(0.95 * target).max(FLOOR * natural);
            let limit = tol.max_iterations - iterations;
            let run = self.conjugate(&pockets.linear, inner, limit)?;
            iterations += run.iterations;
            (residual, stalled_inside) = (run.residual, run.stalled);
        };
        let initial = initial.unwrap_or(natural);
        let separated = self.separated.iter().map(|bits| bits.count_ones() as usize);
        let separated = separated.sum();
        Ok(solved(
            status,
            iterations,
            outer.max(1),
            natural,
            initial,
            separated,
        ))
    }

    /// Sorts components of the null space by whether they have walls.
    fn sort_pockets(&self, null_space: &NullSpace) -> Pockets {
        let (mut linear, mut floating) = (Vec::new(), Vec::new());
        for set in null_space.sets() {
            let members: Vec<u32> = set.map(|i| i as u32).collect();
            let is_member = |w: &usize| members.binary_search(&self.walls[*w].unknown).is_ok();
            let walls: Vec<usize> = (0..self.walls.len()).filter(is_member).collect();
            if walls.is_empty() {
                linear.push(members);
            } else {
                floating.push(walls);
            }
        }
        Pockets {
            linear: NullSpace::new(linear),
            floating,
        }
    }

    /// Keeps at least one unknown of every floating component separated: the one that would be
    /// the first to let go.
    fn anchor(&self, pockets: &Pockets, changes: &mut Vec<WallCell>) {
        for walls in &pockets.floating {
            let stays = |&w: &usize| {
                let wall = &self.walls[w];
                let changed = changes.iter().any(|c| c.index == wall.index);
                self.is_separated(wall) != changed
            };
            if walls.iter().any(stays) {
                continue;
            }
            let pull = |w: usize| {
                let (y, pressing) = self.sides(&self.walls[w]);
                y - pressing
            };
            let first = walls
                .iter()
                .copied()
                .max_by(|&a, &b| pull(a).total_cmp(&pull(b)));
            let Some(wall) = first.map(|w| self.walls[w]) else {
                continue;
            };
            match changes.iter().position(|c| c.index == wall.index) {
                Some(at) => {
                    changes.remove(at);
                }
                None => changes.push(wall),
            }
        }
    }

    fn is_separated(&self, wall: &WallCell) -> bool {
        self.separated[wall.place as usize] >> wall.lane & 1 == 1
    }

    /// The two sides of a wall's bargain: `y_i = (A x − b)_i` and `A_ii x_i`.
    fn sides(&self, wall: &WallCell) -> (f64, f64) {
        let (index, place, lane) = wall.split();
        let y = self.matrix.row_dot(place, index, lane, &self.x) - self.b[index];
        (y, self.matrix.rows[place].diagonal[lane] * self.x[index])
    }

    /// The policy to begin with: the given one, or nothing separated.
    fn start_policy(&mut self, policy: &Policy) {
        self.separated.fill(0);
        if policy.separated.len() == self.index.len() {
            for wall in &self.walls {
                if policy.separated[wall.unknown as usize] {
                    self.separated[wall.place as usize] |= 1 << wall.lane;
                    self.x[wall.index as usize] = 0.0;
                }
            }
        }
    }

    /// Writes the policy by unknown.
    fn write_policy(&self, policy: &mut Policy) {
        policy.separated.clear();
        policy.separated.resize(self.index.len(), false);
        for wall in self.walls.iter().filter(|wall| self.is_separated(wall)) {
            policy.separated[wall.unknown as usize] = true;
        }
    }

    /// The norm of the natural residual, and the walls whose policy should change.
    fn judge(&self, residual: f64) -> (f64, Vec<WallCell>) {
        let mut natural: f64 = 0.0;
        let mut on_walls: f64 = 0.0;
        let mut changes = Vec::new();
        for wall in &self.walls {
            let (y, pressing) = self.sides(wall);
            natural = natural.max(y.min(pressing).abs());
            let is_separated = self.is_separated(wall);
            if !is_separated {
                on_walls = on_walls.max(y.abs());
            }
            if (y > pressing) != is_separated {
                changes.push(*wall);
            }
        }
        // Rows without a constraint are measured by their residual; if the largest one belongs
        // to a wall it has been judged above.
        if residual > on_walls || self.walls.is_empty() {
            natural = natural.max(residual);
        } else {
            natural = natural.max(self.free_residual());
        }
        (natural, changes)
    }

    /// The largest residual of the unconstrained rows.
    fn free_residual(&self) -> f64 {
        let r = self.hierarchy.residual();
        let mut largest: f32 = 0.0;
        for segment in &self.matrix.segments {
            for k in 0..segment.blocks as usize {
                let walls = match segment.stream {
                    UNIFORM => 0,
                    first => self.walled[first as usize + k],
                };
                let start = segment.index as usize + k * BLOCK;
                for lane in (0..BLOCK).filter(|lane| walls >> lane & 1 == 0) {
                    largest = largest.max(r[start + lane].abs());
                }
            }
        }
        f64::from(largest) / self.scale
    }

    /// Changes the policy, keeping the residual that of the new problem.
    fn apply(&mut self, changes: &[WallCell]) {
        if changes.is_empty() {
            return;
        }
        let r = self.hierarchy.right_hand_side();
        for wall in changes {
            let (index, place, lane) = wall.split();
            self.separated[place] ^= 1 << lane;
            if self.separated[place] >> lane & 1 == 1 {
                let value = self.scale * std::mem::take(&mut self.x[index]);
                let rows = &self.matrix.rows[place];
                for (a, axis) in slots::<D>().into_iter().enumerate() {
                    let stride = self.matrix.shape.strides[axis];
                    r[index - stride] -= (rows.low[a][lane] * value) as f32;
                    r[index + stride] -= (rows.high[a][lane] * value) as f32;
                }
            }
        }
        // Every wall row afresh: held ones have no residual, others may have a neighbour changed.
        for wall in &self.walls {
            let (index, place, lane) = wall.split();
            r[index] = if self.separated[place] >> lane & 1 == 1 {
                0.0
            } else {
                let y = self.matrix.row_dot(place, index, lane, &self.x);
                (self.scale * (self.b[index] - y)) as f32
            };
        }
    }
}
