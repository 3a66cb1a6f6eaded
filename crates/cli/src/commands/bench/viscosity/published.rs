//! Tables 1 and 2 of Aanjaneya, Han, Goldade and Batty, "An Efficient Geometric Multigrid Solver
//! for Viscous Liquids" (2019), as published: sixteen cores of Xeon E5-2630 v3.

use super::plan::Case;

/// A table as published.
#[derive(Debug)]
pub struct Published {
    /// Its number.
    pub number: u8,
    /// What it shows.
    pub title: &'static str,
    /// Our case.
    pub case: Case,
    /// Its sizes, and the unknowns of each.
    pub sizes: &'static [(u64, u64)],
    /// Its methods.
    pub columns: &'static [Column],
}

/// A method of a table; figures in the order of the sizes, those that are missing not given.
#[derive(Debug)]
pub struct Column {
    /// As the paper names it.
    pub name: &'static str,
    /// Our name, if we have it.
    pub method: Option<&'static str>,
    iterations: &'static [f64],
    seconds: &'static [f64],
    gigabytes: &'static [f64],
    levels: &'static [f64],
}

/// What is published of a method at one size; not a number where there is nothing.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Iterations.
    pub iterations: f64,
    /// Seconds in all.
    pub seconds: f64,
    /// Memory.
    pub gigabytes: f64,
    /// Levels.
    pub levels: f64,
}

const OURS: Column = Column {
    name: "",
    method: Some("chebyshev"),
    iterations: &[],
    seconds: &[],
    gigabytes: &[],
    levels: &[],
};

/// The tables, in order.
const TABLES: [Published; 2] = [
    Published {
        number: 1,
        title: "the sine test in 2D",
        case: Case::Sine2d,
        sizes: &[
            (256, 57_341),
            (512, 229_276),
            (1024, 916_912),
            (2048, 3_667_424),
        ],
        columns: &[
            OURS,
            Column {
                name: "box",
                method: Some("box"),
                iterations: &[4., 5., 5., 4.],
                seconds: &[0.68, 1.8, 5.0, 12.5],
                gigabytes: &[],
                levels: &[3., 4., 5., 6.],
            },
            Column {
                name: "improved baseline",
                method: Some("jacobi"),
                iterations: &[12., 14., 16., 18.],
                seconds: &[0.74, 1.4, 3.1, 8.9],
                gigabytes: &[],
                levels: &[3., 4., 5., 6.],
            },
            Column {
                name: "naive baseline",
                method: Some("jacobi-naive"),
                iterations: &[11., 13., 14., 16.],
                seconds: &[1.9, 3.1, 4.7, 10.3],
                gigabytes: &[],
                levels: &[3., 4., 5., 6.],
            },
            Column {
                name: "ICPCG",
                method: Some("pcg-ic"),
                iterations: &[80., 143., 255., 465.],
                seconds: &[0.22, 1.7, 15.2, 118.6],
                gigabytes: &[],
                levels: &[],
            },
            Column {
                name: "Eigen CG",
                method: Some("pcg-jacobi"),
                iterations: &[729., 1434., 2816., 5522.],
                seconds: &[0.91, 6.3, 51.9, 470.4],
                gigabytes: &[],
                levels: &[],
            },
            Column {
                name: "PARDISO",
                method: None,
                iterations: &[],
                seconds: &[0.36, 1.3, 5.3, 24.3],
                gigabytes: &[],
                levels: &[],
            },
        ],
    },
    Published {
        number: 2,
        title: "the sine test in 3D",
        case: Case::Sine3d,
        sizes: &[(128, 3_035_346), (256, 24_303_388), (512, 194_503_048)],
        columns: &[
            OURS,
            Column {
                name: "box",
                method: Some("box"),
                iterations: &[3., 3., 4.],
                seconds: &[27.3, 119.6, 834.7],
                gigabytes: &[0.256, 2.18, 15.94],
                levels: &[2., 3., 4.],
            },
            Column {
                name: "improved baseline",
                method: Some("jacobi"),
                iterations: &[21., 36., 41.],
                seconds: &[90.1, 333.8, 1512.4],
                gigabytes: &[0.256, 2.18, 15.94],
                levels: &[2., 3., 4.],
            },
            Column {
                name: "naive baseline",
                method: Some("jacobi-naive"),
                iterations: &[20., 34., 39.],
                seconds: &[377.3, 975.3, 2920.4],
                gigabytes: &[0.256, 2.18, 15.94],
                levels: &[2., 3., 4.],
            },
            Column {
                name: "ICPCG",
                method: Some("pcg-ic"),
                iterations: &[39., 53.],
                seconds: &[6.7, 95.3],
                gigabytes: &[1.024, 8.32],
                levels: &[],
            },
            Column {
                name: "Eigen CG",
                method: Some("pcg-jacobi"),
                iterations: &[377., 707.],
                seconds: &[35.6, 619.4],
                gigabytes: &[1.536, 11.78],
                levels: &[],
            },
            Column {
                name: "PARDISO",
                method: None,
                iterations: &[],
                seconds: &[1626.9],
                gigabytes: &[24.96],
                levels: &[],
            },
        ],
    },
];

impl Published {
    /// The table with this number.
    pub fn find(number: u8) -> Option<&'static Published> {
        TABLES.iter().find(|table| table.number == number)
    }

    /// The table of this case.
    pub fn of(case: Case) -> Option<&'static Published> {
        TABLES.iter().find(|table| table.case == case)
    }

    /// Its sizes.
    pub fn sizes(&self) -> impl Iterator<Item = u64> + '_ {
        self.sizes.iter().map(|size| size.0)
    }

    /// The methods it compares, as far as we have them, and our own before.
    pub fn methods(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.columns.iter().filter_map(|column| column.method)
    }

    /// What it says of a method at a size.
    pub fn figures(&self, column: &Column, size: u64) -> Figures {
        let at = self.sizes.iter().position(|s| s.0 == size);
        let of = |list: &[f64]| {
            let found = at.and_then(|at| list.get(at).copied());
            found.unwrap_or(f64::NAN)
        };
        Figures {
            iterations: of(column.iterations),
            seconds: of(column.seconds),
            gigabytes: of(column.gigabytes),
            levels: of(column.levels),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::viscous::Choice;

    #[test]
    fn every_method_exists_and_no_list_is_longer_than_the_sizes() {
        for (table, number) in TABLES.iter().zip(1..) {
            assert_eq!(table.number, number);
            assert!(table.methods().all(|name| Choice::parse(name).is_ok()));
            for column in table.columns {
                for list in [column.iterations, column.seconds, column.gigabytes] {
                    assert!(list.len() <= table.sizes.len(), "{}", column.name);
                }
            }
        }
    }

    #[test]
    fn figures_are_found_by_method_and_size() {
        let table = Published::find(2).expect("table 2");
        let icpcg = &table.columns[4];
        assert_eq!(icpcg.method, Some("pcg-ic"));
        assert_eq!(table.figures(icpcg, 256).iterations, 53.0);
        // Out of memory.
        assert!(table.figures(icpcg, 512).seconds.is_nan());
        assert!(table.figures(icpcg, 64).iterations.is_nan());
    }

    #[test]
    fn the_estimate_of_unknowns_is_that_of_the_paper() {
        for table in &TABLES {
            for &(size, unknowns) in table.sizes {
                let ratio = table.case.unknowns(size) / unknowns as f64;
                assert!((ratio - 1.0).abs() < 0.02, "{size}: {ratio}");
            }
        }
    }
}
