//! Preconditioners: cheap stand-ins for the inverse of a matrix.

use crate::operator::Operator;
use crate::vector;

/// `z ← M⁻¹ r`, with `M` symmetric positive definite and close to the matrix being solved.
///
/// `apply` takes `&mut self` so that an implementation may own its scratch memory. Whatever it
/// does must be linear and symmetric, `⟨M⁻¹x, y⟩ = ⟨x, M⁻¹y⟩`, or conjugate gradients lose
/// their way: a solver with a fixed number of symmetric sweeps qualifies, one that stops by a
/// tolerance does not.
pub trait Preconditioner {
    /// `z ← M⁻¹ r`. What `z` held before is of no matter.
    fn apply(&mut self, r: &[f64], z: &mut [f64]);

    /// `z ← M⁻¹ r`, returning `r·z`. Override it where the product costs less inside.
    fn apply_dot(&mut self, r: &[f64], z: &mut [f64]) -> f64 {
        self.apply(r, z);
        vector::dot(r, z)
    }

    /// The size of vector this preconditioner is made for, if it is bound to one.
    fn rows(&self) -> Option<usize> {
        None
    }
}

impl<P: Preconditioner + ?Sized> Preconditioner for Box<P> {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        (**self).apply(r, z);
    }
    fn apply_dot(&mut self, r: &[f64], z: &mut [f64]) -> f64 {
        (**self).apply_dot(r, z)
    }
    fn rows(&self) -> Option<usize> {
        (**self).rows()
    }
}

impl<P: Preconditioner + ?Sized> Preconditioner for &mut P {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        (**self).apply(r, z);
    }
    fn apply_dot(&mut self, r: &[f64], z: &mut [f64]) -> f64 {
        (**self).apply_dot(r, z)
    }
    fn rows(&self) -> Option<usize> {
        (**self).rows()
    }
}

/// `M = I`: conjugate gradients as they come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity;

impl Preconditioner for Identity {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        z.copy_from_slice(r);
    }
}

/// `M = diag(A)`. Entries that are not positive count as 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Jacobi {
    inverse: Vec<f64>,
}

impl Jacobi {
    /// Reads the diagonal of `a`.
    pub fn new<A: Operator + ?Sized>(a: &A) -> Jacobi {
        let mut jacobi = Jacobi::default();
        jacobi.refactor(a);
        jacobi
    }

    /// Reads the diagonal of another matrix into the same memory.
    pub fn refactor<A: Operator + ?Sized>(&mut self, a: &A) {
        self.inverse.clear();
        self.inverse.extend((0..a.rows()).map(|i| {
            let diagonal = a.diagonal(i);
            if diagonal > 0.0 { 1.0 / diagonal } else { 1.0 }
        }));
    }
}

impl Preconditioner for Jacobi {
    fn apply(&mut self, r: &[f64], z: &mut [f64]) {
        assert_eq!(
            r.len(),
            self.inverse.len(),
            "residual of another size than the diagonal"
        );
        assert_eq!(z.len(), r.len(), "result of another size than the residual");
        for ((z, r), inverse) in z.iter_mut().zip(r).zip(&self.inverse) {
            *z = inverse * r;
        }
    }

    fn rows(&self) -> Option<usize> {
        Some(self.inverse.len())
    }
}
