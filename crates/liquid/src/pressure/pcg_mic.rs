//! Conjugate gradients with modified incomplete Cholesky.

use plash_solve::{Mic0, Mic0Options, Outcome, Pcg, SolveError, Tolerance};

use super::System;

/// Solver and preconditioner, kept from step to step for their memory.
#[derive(Default)]
pub struct PcgMic {
    pcg: Pcg,
    factor: Option<Mic0>,
    /// Whether the factor is that of the system at hand.
    fresh: bool,
}

impl PcgMic {
    /// Says that the next solve is of another matrix.
    pub fn forget(&mut self) {
        self.fresh = false;
    }

    /// Solves `A x = rhs` from the guess in `x`.
    pub fn solve<const D: usize>(
        &mut self,
        system: &System<D>,
        rhs: &[f64],
        x: &mut [f64],
        tolerance: f64,
        max_iterations: usize,
    ) -> Result<Outcome, SolveError> {
        let tolerance = Tolerance {
            relative: tolerance,
            max_iterations,
            ..Tolerance::default()
        };
        let factor = match &mut self.factor {
            Some(factor) => {
                if !self.fresh {
                    factor.refactor(system.matrix());
                }
                factor
            }
            none => none.insert(Mic0::new(system.matrix(), Mic0Options::default())),
        };
        self.fresh = true;
        self.pcg.solve(
            system.matrix(),
            factor,
            system.null_space(),
            rhs,
            x,
            &tolerance,
        )
    }
}
