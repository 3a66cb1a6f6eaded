//! The methods of the comparison by name.

use plash_solve::staggered::{Smoother, ViscousMethod, ViscousOptions};

/// Bytes per unknown of vectors and levels.
const LEVELS_BYTES: f64 = 40.0;

/// Bytes per unknown near the border, of which there are about `unknowns^⅔`, of rows that are
/// kept; measured at 64 cells a side.
const BORDER_BYTES: f64 = 5000.0;

/// Bytes per unknown of a matrix of 15 entries a row, its factors and vectors.
const MATRIX_BYTES: f64 = 600.0;

/// Bytes that a method takes, roughly.
pub fn estimated_bytes(unknowns: f64, assembled: bool) -> f64 {
    let levels = LEVELS_BYTES * unknowns + BORDER_BYTES * unknowns.powf(2.0 / 3.0);
    levels
        + if assembled {
            MATRIX_BYTES * unknowns
        } else {
            0.0
        }
}

/// A method under the name it was asked for: a smoother stands for multigrid with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The name.
    pub name: &'static str,
    /// What it means.
    pub options: ViscousOptions,
}

impl Choice {
    /// All there are.
    pub fn all() -> impl Iterator<Item = Choice> {
        let multigrid = Smoother::ALL.iter().map(|&smoother| Choice {
            name: smoother.as_str(),
            options: ViscousOptions {
                method: ViscousMethod::Mgpcg,
                smoother,
            },
        });
        let assembled = [ViscousMethod::PcgIc, ViscousMethod::PcgJacobi];
        multigrid.chain(assembled.into_iter().map(|method| Choice {
            name: method.as_str(),
            options: ViscousOptions {
                method,
                ..ViscousOptions::default()
            },
        }))
    }

    /// The method of a name.
    ///
    /// # Errors
    /// What there is instead.
    pub fn parse(name: &str) -> Result<Choice, String> {
        let found = Choice::all().find(|choice| choice.name == name);
        found.ok_or_else(|| {
            let known: Vec<&str> = Choice::all().map(|choice| choice.name).collect();
            format!(
                "there is no viscosity method \"{name}\"; choose among {}",
                known.join(", ")
            )
        })
    }

    /// Whether it needs the matrix.
    pub fn is_assembled(&self) -> bool {
        self.options.method != ViscousMethod::Mgpcg
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoothers_stand_for_multigrid() {
        let found = Choice::parse("box").expect("a method").options;
        assert_eq!(
            (found.method, found.smoother),
            (ViscousMethod::Mgpcg, Smoother::Box)
        );
        let found = Choice::parse("pcg-ic").expect("a method").options;
        assert_eq!(found.method, ViscousMethod::PcgIc);
    }

    #[test]
    fn an_unknown_name_is_told_what_there_is() {
        let refused = Choice::parse("mgpcg").expect_err("no smoother");
        assert!(refused.contains("gauss-seidel") && refused.contains("pcg-jacobi"));
    }
}
