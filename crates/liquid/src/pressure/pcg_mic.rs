//! Conjugate gradients with modified incomplete Cholesky.

use plash_solve::{Mic0, Mic0Options, Outcome, Pcg, SolveError, Tolerance};

use super::System;

/// Solver and preconditioner, kept from step to step for their memory.
#[derive(Default)]
pub struct PcgMic {
    pcg: Pcg,
    factor: Option<Mic0>,
}

impl PcgMic {
    /// Factors the system's matrix.
    pub fn prepare<const D: usize>(&mut self, system: &System<D>) {
        match &mut self.factor {
            Some(factor) => factor.refactor(system.matrix()),
            None => self.factor = Some(Mic0::new(system.matrix(), Mic0Options::default())),
        }
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
        let factor = self
            .factor
            .get_or_insert_with(|| Mic0::new(system.matrix(), Mic0Options::default()));
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
