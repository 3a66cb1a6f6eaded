//! The methods for viscosity by the names they have on the command line.

use plash_scene::schema::nearest;
use plash_solve::staggered::{Smoother, ViscousMethod, ViscousOptions};

/// A method by its name: a smoother stands for multigrid with it.
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
                ..ViscousOptions::default()
            },
        });
        let assembled = [ViscousMethod::PcgIc, ViscousMethod::PcgJacobi];
        multigrid.chain(assembled.map(Choice::assembled))
    }

    /// A method that works on the matrix.
    pub fn assembled(method: ViscousMethod) -> Choice {
        Choice {
            name: method.as_str(),
            options: ViscousOptions {
                method,
                ..ViscousOptions::default()
            },
        }
    }

    /// The method of a name. `mgpcg` is multigrid with its usual smoother, and goes by the name of
    /// that.
    ///
    /// # Errors
    /// What there is instead.
    pub fn parse(name: &str) -> Result<Choice, String> {
        let usual = ViscousOptions::default();
        let wanted = if name == usual.method.as_str() {
            usual.smoother.as_str()
        } else {
            name
        };
        let found = Choice::all().find(|choice| choice.name == wanted);
        found.ok_or_else(|| {
            let mut known = vec![usual.method.as_str()];
            known.extend(Choice::all().map(|choice| choice.name));
            let meant = nearest(name, &known).map(|near| format!("did you mean \"{near}\"? "));
            format!(
                "there is no viscosity method \"{name}\"; {}choose among {}",
                meant.unwrap_or_default(),
                known.join(", ")
            )
        })
    }

    /// Whether it needs the matrix.
    pub fn is_assembled(&self) -> bool {
        self.options.method != ViscousMethod::Mgpcg
    }

    /// What smooths, if anything does.
    pub fn smoother(&self) -> Option<&'static str> {
        (!self.is_assembled()).then(|| self.options.smoother.as_str())
    }
}

impl Default for Choice {
    fn default() -> Self {
        let options = ViscousOptions::default();
        Choice {
            name: options.smoother.as_str(),
            options,
        }
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
    fn mgpcg_is_the_default_by_another_name() {
        let found = Choice::parse("mgpcg").expect("a method");
        assert_eq!((found, found.name), (Choice::default(), "chebyshev"));
        assert!(Choice::all().any(|choice| choice == found));
    }

    #[test]
    fn an_unknown_name_is_told_what_there_is_and_what_is_near() {
        let refused = Choice::parse("gmres").expect_err("no such method");
        assert!(refused.contains("gauss-seidel") && refused.contains("pcg-jacobi"));
        assert!(!refused.contains("did you mean"), "{refused}");
        let refused = Choice::parse("chebychev").expect_err("misspelt");
        assert!(refused.contains("did you mean \"chebyshev\"?"), "{refused}");
    }
}
