//! Policies: which constrained unknowns are held at zero while a linear system is solved for
//! the others.

use crate::csr::Csr;
use crate::mic::{Mic0, Mic0Options};
use crate::operator::Operator;
use crate::precond::{Jacobi, Preconditioner};
use crate::problem::{Policy, Problem};

/// A preconditioner for the principal submatrices `A_AA` of a matrix that active-set methods
/// solve with.
///
/// The whole vector is kept: rows outside the active set are those of a diagonal matrix, so a
/// residual that vanishes there gives a correction that vanishes there, and the preconditioner
/// is symmetric as conjugate gradients demand. (Andersen et al. 2017 restrict a fixed
/// preconditioner of `A` instead, eq. 43; rebuilding it on `A_AA` is what makes it reliable.)
pub trait Restricted<A: ?Sized>: Preconditioner {
    /// Prepares for `A` on the unknowns that are not `separated`; or, with a `penalty`, for `A`
    /// with the diagonal entries of separated unknowns multiplied by `1 + penalty`.
    fn restrict(&mut self, a: &A, separated: &[bool], penalty: Option<f64>);
}

impl<A: Operator + ?Sized> Restricted<A> for Jacobi {
    fn restrict(&mut self, a: &A, separated: &[bool], penalty: Option<f64>) {
        match penalty {
            // The diagonal of `A_AA` is that of `A`.
            None => self.refactor(a),
            Some(penalty) => self.refactor(&Penalised {
                a,
                separated: &[],
                flags: separated,
                penalty,
            }),
        }
    }
}

/// [`Mic0`] of `A_AA`, refactored for every policy.
#[derive(Clone, Debug)]
pub struct RestrictedMic {
    mic: Mic0,
    /// The masked matrix, kept for its memory.
    parts: (Vec<u32>, Vec<u32>, Vec<f64>),
}

impl RestrictedMic {
    /// A preconditioner that has not met a matrix yet.
    pub fn new(options: Mic0Options) -> RestrictedMic {
        RestrictedMic {
            mic: Mic0::new(&Csr::default(), options),
            parts: Default::default(),
        }
    }
}

impl Default for RestrictedMic {
    fn default() -> RestrictedMic {
        RestrictedMic::new(Mic0Options::default())
    }
}

impl Preconditioner for RestrictedMic {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        self.mic.apply(r, z);
    }
    fn apply_dot(&mut self, r: &[f64], z: &mut [f64]) -> f64 {
        self.mic.apply_dot(r, z)
    }
    fn rows(&self) -> Option<usize> {
        self.mic.rows()
    }
}

impl Restricted<Csr> for RestrictedMic {
    fn restrict(&mut self, a: &Csr, separated: &[bool], penalty: Option<f64>) {
        if !separated.contains(&true) {
            self.mic.refactor(a);
            return;
        }
        let memory = std::mem::take(&mut self.parts);
        let changed = match penalty {
            None => a.principal(separated, memory),
            Some(penalty) => a.penalised(separated, penalty, memory),
        };
        self.mic.refactor(&changed);
        self.parts = changed.into_parts();
    }
}

/// `y_A ← A_AA x_A`, `y_F ← 0`, for operands that vanish on the separated set `F`.
///
/// Every vector of a Krylov method does, if its guess and its right-hand side do. On them this is
/// the operator `M'x = a⊗A(a⊗x) + f⊗x` of Andersen et al. 2017 (whose eq. 40 prints an affine
/// one), without a copy of the operand.
pub(crate) struct Masked<'a, A: ?Sized> {
    a: &'a A,
    separated: &'a [u32],
}

impl<A: Operator + ?Sized> Operator for Masked<'_, A> {
    fn rows(&self) -> usize {
        self.a.rows()
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        self.a.apply(x, y);
        clear(self.separated, y);
    }

    fn diagonal(&self, i: usize) -> f64 {
        self.a.diagonal(i)
    }

    fn apply_dot(&self, x: &[f64], y: &mut [f64]) -> f64 {
        // The entries of `y` about to be cleared meet zeros of `x`.
        let product = self.a.apply_dot(x, y);
        clear(self.separated, y);
        product
    }
}

/// `y ← (A + ρΠ) x`, with `ρ_i = penalty · A_ii` and `Π` the separated set.
pub(crate) struct Penalised<'a, A: ?Sized> {
    a: &'a A,
    separated: &'a [u32],
    flags: &'a [bool],
    penalty: f64,
}

impl<A: Operator + ?Sized> Operator for Penalised<'_, A> {
    fn rows(&self) -> usize {
        self.a.rows()
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        self.a.apply(x, y);
        for &i in self.separated {
            let i = i as usize;
            y[i] += self.penalty * self.a.diagonal(i) * x[i];
        }
    }

    fn diagonal(&self, i: usize) -> f64 {
        let diagonal = self.a.diagonal(i);
        if self.flags[i] {
            diagonal + self.penalty * diagonal
        } else {
            diagonal
        }
    }
}

/// `v_i ← 0` for the given `i`.
fn clear(indices: &[u32], v: &mut [f64]) {
    for &i in indices {
        v[i as usize] = 0.0;
    }
}

/// What to do with `y_i = A_ii x_i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ties {
    /// Solve for the unknown.
    Solve,
    /// Hold it at zero.
    Separate,
}

/// The policy as it stands during a solve.
#[derive(Clone, Debug, Default)]
pub(crate) struct Separation {
    flags: Vec<bool>,
    list: Vec<u32>,
}

impl Separation {
    /// Takes over the policy of an earlier solve, if there is one of the right size.
    pub(crate) fn adopt<A: Operator + ?Sized>(
        &mut self,
        problem: &Problem<'_, A>,
        policy: &Policy,
    ) -> bool {
        let rows = problem.a.rows();
        self.list.clear();
        self.flags.clear();
        if policy.separated.len() != rows {
            self.flags.resize(rows, false);
            return false;
        }
        self.flags.extend_from_slice(&policy.separated);
        for (i, flag) in self.flags.iter_mut().enumerate() {
            *flag &= problem.is_constrained(i);
            if *flag {
                self.list.push(i as u32);
            }
        }
        true
    }

    /// Separates exactly the constrained `i` with `y_i > A_ii x_i`, where `y = A x − b`, and those
    /// with equality if `ties` says so; returns whether that changed anything.
    pub(crate) fn follow<A: Operator + ?Sized>(
        &mut self,
        problem: &Problem<'_, A>,
        x: &[f64],
        y: &[f64],
        ties: Ties,
    ) -> bool {
        let mut changed = false;
        self.list.clear();
        for i in 0..problem.constrained.len() {
            let separated = problem.constrained[i] && {
                let bound = problem.a.diagonal(i) * x[i];
                y[i] > bound || (ties == Ties::Separate && y[i] == bound)
            };
            changed |= separated != self.flags[i];
            self.flags[i] = separated;
            if separated {
                self.list.push(i as u32);
            }
        }
        changed
    }

    /// Keeps one unknown separated in each floating component, or `A_AA` would be singular
    /// there: the one that is nearest to separating. Returns whether any had to be added.
    pub(crate) fn anchor<A: Operator + ?Sized>(
        &mut self,
        problem: &Problem<'_, A>,
        floating: &[Vec<u32>],
        x: &[f64],
        y: &[f64],
    ) -> bool {
        let mut changed = false;
        for component in floating {
            if component.iter().any(|&i| self.flags[i as usize]) {
                continue;
            }
            let eagerness = |i: u32| {
                let i = i as usize;
                y[i] - problem.a.diagonal(i) * x[i]
            };
            let constrained = component
                .iter()
                .copied()
                .filter(|&i| problem.is_constrained(i as usize));
            // The first of equals, so that the choice does not depend on anything else.
            let anchor = constrained.reduce(|best, i| {
                if eagerness(i) > eagerness(best) {
                    i
                } else {
                    best
                }
            });
            if let Some(i) = anchor {
                self.flags[i as usize] = true;
                self.list.push(i);
                changed = true;
            }
        }
        changed
    }

    /// Which unknowns are held at zero.
    pub(crate) fn flags(&self) -> &[bool] {
        &self.flags
    }

    /// `v_i ← 0` where separated.
    pub(crate) fn clear(&self, v: &mut [f64]) {
        clear(&self.list, v);
    }

    /// `kept ← v` where separated, zero elsewhere.
    pub(crate) fn keep(&self, v: &[f64], kept: &mut [f64]) {
        kept.fill(0.0);
        for &i in &self.list {
            kept[i as usize] = v[i as usize];
        }
    }

    /// `A` with the separated unknowns penalised.
    pub(crate) fn penalise<'a, A: ?Sized>(&'a self, a: &'a A, penalty: f64) -> Penalised<'a, A> {
        Penalised {
            a,
            separated: &self.list,
            flags: &self.flags,
            penalty,
        }
    }

    /// `A` on the unknowns that are not separated.
    pub(crate) fn mask<'a, A: ?Sized>(&'a self, a: &'a A) -> Masked<'a, A> {
        Masked {
            a,
            separated: &self.list,
        }
    }
}

/// Writes the policy that `x` and `y = A x − b` imply; returns how many are separated.
pub(crate) fn record<A: Operator + ?Sized>(
    problem: &Problem<'_, A>,
    x: &[f64],
    y: &[f64],
    policy: &mut Policy,
) -> usize {
    let mut count = 0;
    policy.separated.clear();
    policy.separated.extend((0..x.len()).map(|i| {
        let separated = problem.is_constrained(i) && y[i] > problem.a.diagonal(i) * x[i];
        count += usize::from(separated);
        separated
    }));
    count
}

/// Writes the policy of a solution that touches no constraint.
pub(crate) fn record_none(rows: usize, policy: &mut Policy) {
    policy.separated.clear();
    policy.separated.resize(rows, false);
}
