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
    use super::super::plan::{Plan, tests::arguments};
    use super::super::sine;
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

    /// What was measured once at sizes too large for a test is at most the estimate, and no less
    /// than half of it.
    #[test]
    fn the_estimate_holds_at_large_sizes() {
        let measured = [
            (FREE, Case::Sine2d, 1024, 49.8e6),
            (MATRIX, Case::Sine2d, 1024, 252e6),
            (FREE, Case::Sine3d, 128, 166.7e6),
            (FREE, Case::Sine3d, 256, 928e6),
            (FREE, Case::Sine3d, 512, 6.7e9),
            (MATRIX, Case::Sine3d, 96, 498e6),
            (MATRIX, Case::Sine3d, 128, 1176e6),
            // Of the process: arrays that grow count twice, but take no memory twice.
            (DUMP, Case::Sine2d, 1024, 340e6),
            (DUMP, Case::Sine3d, 96, 712e6),
        ];
        for (need, case, size, bytes) in measured {
            let ratio = bytes / need.bytes(case, size);
            assert!((0.5..=1.0).contains(&ratio), "{case:?} {size}: {ratio}");
        }
    }

    /// Set in a process of which a test has all the memory for itself.
    const ALONE: &str = "PLASH_TEST_ALONE";

    /// Whether this is such a process; if not, the test of this name is run in one.
    fn is_alone(test: &str) -> bool {
        if std::env::var_os(ALONE).is_some() {
            return true;
        }
        let path = format!("{}::{test}", module_path!());
        let (_, path) = path.split_once("::").expect("a crate and a path");
        let ended = std::process::Command::new(std::env::current_exe().expect("this program"))
            .args([path, "--exact"])
            .env(ALONE, "1")
            .output()
            .expect("another process");
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(
            ended.status.success() && said.contains("1 passed"),
            "{said}"
        );
        false
    }

    #[test]
    fn the_estimate_is_about_what_is_held() {
        if !is_alone("the_estimate_is_about_what_is_held") {
            return;
        }
        // Held may be no more than fits where the estimate just does; an estimate of twice what is
        // held would refuse what fits easily.
        let wanted = 0.5..=1.0 / SHARE;
        for what in ["--case sine2d --size 256", "--case sine3d --size 64"] {
            // Iterations take no memory.
            let line = format!("{what} --max-iterations 3 --methods chebyshev,pcg-ic --force");
            let plan = Plan::new(&arguments(&line)).expect("a plan");
            let (case, size) = (plan.case, plan.sizes[0]);
            let course = sine::run(&plan, size, |_| {});
            for (need, row) in [FREE, MATRIX].into_iter().zip(&course.rows) {
                let ratio = row.peak_memory_bytes as f64 / need.bytes(case, size);
                assert!(wanted.contains(&ratio), "{need:?}, {what}: {ratio}");
            }
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
