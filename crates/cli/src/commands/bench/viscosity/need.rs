//! How much memory a size takes, before it is taken.

use plash_scene::memory::human_bytes;

use super::plan::Case;
use crate::console::count;
use crate::failure::Failure;
use crate::viscous::Choice;

// Fitted to what the methods held at 256 and 1024 cells in 2D, 64 and 128 in 3D, and checked at
// 512 without a matrix: 6.7 GB of an estimated 7.9. Saving a system took 0.7 GB at 96 in 3D.

/// Bytes per unknown of vectors and levels, in 2D and 3D.
const LEVELS_BYTES: [f64; 2] = [50.0, 35.0];

/// Bytes per unknown near the border, of which there are about `unknowns^½` and `unknowns^⅔`, of
/// rows that are kept; a viscosity that varies takes as many, a constant one a quarter less.
const BORDER_BYTES: [f64; 2] = [7000.0, 3100.0];

/// Bytes per unknown of a matrix of 9 or 15 entries a row, its factors and vectors.
const MATRIX_BYTES: [f64; 2] = [230.0, 360.0];

/// The same of a matrix on its way to a file, with the places of its unknowns.
const DUMP_BYTES: [f64; 2] = [350.0, 600.0];

/// How much of the machine's memory a method may take.
const SHARE: f64 = 0.8;

/// What a comparison holds at the most, and why.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// Whether a method works on the matrix.
    pub assembles: bool,
    /// Whether systems are saved, which takes the matrix too.
    pub dumps: bool,
}

impl Need {
    /// What these methods need.
    pub fn new(choices: &[Choice], dumps: bool) -> Need {
        Need {
            assembles: choices.iter().any(Choice::is_assembled),
            dumps,
        }
    }

    /// Bytes for the method that takes most of them.
    pub fn bytes(self, case: Case, size: u64) -> f64 {
        let (kind, border) = match case {
            Case::Sine2d => (0, 1.0 / 2.0),
            Case::Sine3d => (1, 2.0 / 3.0),
        };
        let unknowns = case.unknowns(size);
        let levels = LEVELS_BYTES[kind] * unknowns + BORDER_BYTES[kind] * unknowns.powf(border);
        let more = match (self.assembles, self.dumps) {
            (_, true) => DUMP_BYTES[kind],
            (true, false) => MATRIX_BYTES[kind],
            (false, false) => 0.0,
        };
        levels + more * unknowns
    }

    /// The refusal of a size.
    pub fn too_large(self, case: Case, size: u64, ram: Option<u64>) -> Failure {
        // Conversions from floating point saturate.
        let failure = Failure::bad_input(format!(
            "--size {size}: {} would need about {} for {} unknowns, more than 80 % of the {} here",
            if self.assembles || !self.dumps {
                "a method"
            } else {
                "--dump"
            },
            human_bytes(self.bytes(case, size) as u64),
            count(case.unknowns(size) as u64),
            human_bytes(ram.unwrap_or(0)),
        ));
        failure.help(format!("{}; `--force` runs it all the same", self.advice()))
    }

    fn advice(self) -> &'static str {
        match (self.assembles, self.dumps) {
            (true, false) => "take a smaller size or methods without a matrix, such as chebyshev",
            (true, true) => {
                "take a smaller size, or methods without a matrix, such as chebyshev, and no --dump, which needs the matrix too"
            }
            (false, true) => "take a smaller size, or leave out --dump, which needs the matrix",
            (false, false) => "take a smaller size",
        }
    }
}

/// Whether so many bytes are there to be had. A machine that does not say refuses nothing.
pub fn fits(bytes: f64, ram: Option<u64>) -> bool {
    ram.is_none_or(|ram| bytes <= SHARE * ram as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Need = Need {
        assembles: false,
        dumps: false,
    };
    const MATRIX: Need = Need {
        assembles: true,
        dumps: false,
    };
    const DUMP: Need = Need {
        assembles: false,
        dumps: true,
    };

    /// What was measured is at most the estimate, and no less than half of it.
    #[test]
    fn the_estimate_is_what_was_measured_and_a_little_more() {
        let measured = [
            (FREE, Case::Sine2d, 256, 4.33e6),
            (FREE, Case::Sine2d, 1024, 49.8e6),
            (MATRIX, Case::Sine2d, 256, 16.0e6),
            (MATRIX, Case::Sine2d, 1024, 252e6),
            (FREE, Case::Sine3d, 32, 4.72e6),
            (FREE, Case::Sine3d, 64, 29.0e6),
            (FREE, Case::Sine3d, 128, 166.7e6),
            (FREE, Case::Sine3d, 256, 928e6),
            (FREE, Case::Sine3d, 512, 6.7e9),
            (MATRIX, Case::Sine3d, 64, 149e6),
            (MATRIX, Case::Sine3d, 96, 498e6),
            (MATRIX, Case::Sine3d, 128, 1176e6),
        ];
        for (need, case, size, bytes) in measured {
            let ratio = bytes / need.bytes(case, size);
            assert!((0.5..=1.0).contains(&ratio), "{case:?} {size}: {ratio}");
        }
    }

    #[test]
    fn saving_a_system_takes_its_matrix_and_more() {
        let [free, dump, matrix] = [FREE, DUMP, MATRIX].map(|n| n.bytes(Case::Sine3d, 512));
        assert!(dump > matrix);
        assert!(!fits(matrix, Some(1 << 36)) && fits(free, Some(1 << 36)));
        assert!(fits(matrix, None));
    }

    #[test]
    fn a_refusal_blames_what_takes_the_memory() {
        let help = |need: Need| {
            let failure = need.too_large(Case::Sine3d, 512, Some(1 << 30));
            failure.help.expect("advice")
        };
        assert!(help(MATRIX).contains("such as chebyshev"));
        assert!(help(DUMP).contains("--dump, which needs the matrix"));
        assert!(!help(DUMP).contains("chebyshev"), "{}", help(DUMP));
        assert!(!help(FREE).contains("matrix"), "{}", help(FREE));
        let message = DUMP.too_large(Case::Sine3d, 512, Some(1 << 30)).message;
        assert!(message.contains("--dump would need"), "{message}");
    }
}
