//! Tables 1 to 12 of Lai, Chen, Gu, Batty and Wan, "Fast and Scalable Solvers for the Fluid
//! Pressure Equations with Separating Solid Boundary Conditions" (2021), as published.
//!
//! Averages are over the pressure solves of 100 frames. The other tables are about one solve,
//! the first of a frame. Times are those of the authors' machine.

/// What a table counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Iterations, cycles or sweeps in all.
    Iterations,
    /// Outer iterations.
    OuterIterations,
    /// Seconds, set-up included.
    Seconds,
}

/// Which systems a table is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Systems {
    /// All of the first frames.
    OfFrames(u64),
    /// The first of one frame.
    FirstOf(u64),
}

/// A table as published.
#[derive(Debug)]
pub struct Published {
    /// Its number.
    pub number: u8,
    /// What it shows.
    pub title: &'static str,
    /// Our scene of its case.
    pub case: &'static str,
    /// Of that case, the largest size to run unless others are asked for.
    pub affordable: u64,
    /// What it counts.
    pub quantity: Quantity,
    /// Which systems it is about.
    pub systems: Systems,
    /// Its columns, each with our name of the method.
    pub columns: &'static [(&'static str, &'static str)],
    /// Its rows: a size and a figure for each column.
    pub rows: &'static [(u64, &'static [f64])],
}

/// Not given.
pub const NA: f64 = f64::NAN;
/// The method diverged.
pub const DIVERGED: f64 = f64::INFINITY;

/// The columns of most tables, the last one only there where the linear problem is compared.
const METHODS: &[(&str, &str); 8] = &[
    ("FAS-MG", "fas-mg"),
    ("PI-PCG", "pi-pcg"),
    ("PI-MG", "pi-mg"),
    ("PE-PCG", "pe-pcg"),
    ("PE-MG", "pe-mg"),
    ("FMG", "fmg"),
    ("Newton", "newton"),
    ("No LCP", "pcg-mic"),
];
const SEPARATING: &[(&str, &str)] = METHODS.split_at(7).0;
const OUTER: &[(&str, &str)] = &[METHODS[1], METHODS[2], METHODS[3], METHODS[4], METHODS[6]];
const VARIANTS: &[(&str, &str)] = &[
    ("Ours", "fas-mg"),
    ("Trilinear", "fas-mg:trilinear"),
    ("Constant", "fas-mg:constant"),
    ("Simple bd.", "fas-mg:simple"),
    ("Direct", "fas-mg:direct"),
];

/// Sizes that take minutes, not hours, with all methods of a table.
const AFFORDABLE_2D: u64 = 256;
const AFFORDABLE_3D: u64 = 64;

/// The tables, in order.
pub const TABLES: [Published; 12] = [
    Published {
        number: 1,
        title: "average iterations per solve, disc in 2D",
        case: "circle2d",
        affordable: AFFORDABLE_2D,
        quantity: Quantity::Iterations,
        systems: Systems::OfFrames(100),
        columns: METHODS,
        rows: &[
            (32, &[7.45, 16.9, 7.59, 16.87, 7.99, 20.38, 92.11, 15.99]),
            (64, &[10.39, 36.02, 9.74, 36.07, 12.58, 35.4, 336.17, 30.73]),
            (
                128,
                &[14.07, 70.63, 11.89, 70.58, 17.6, 65.37, 947.23, 55.91],
            ),
            (
                256,
                &[18.26, 123.61, 14.51, 122.42, 21.98, 109.54, 2283.65, 93.2],
            ),
        ],
    },
    Published {
        number: 2,
        title: "average iterations per solve, ball in 3D",
        case: "sphere3d",
        affordable: AFFORDABLE_3D,
        quantity: Quantity::Iterations,
        systems: Systems::OfFrames(100),
        columns: METHODS,
        rows: &[
            (
                32,
                &[9.75, 29.9, 12.12, 30.16, 13.93, 22.21, 1901.69, 20.14],
            ),
            (
                64,
                &[10.44, 70.92, 14.66, 71.34, 19.11, 39.81, 3890.08, 39.57],
            ),
            (
                128,
                &[11.94, 132.56, 17.61, 133.53, 24.57, 61.12, 10879.01, 62.26],
            ),
            (
                256,
                &[14.02, 251.88, 20.71, 252.28, 28.84, 89.89, NA, 100.78],
            ),
        ],
    },
    Published {
        number: 3,
        title: "average outer iterations per solve, disc in 2D",
        case: "circle2d",
        affordable: AFFORDABLE_2D,
        quantity: Quantity::OuterIterations,
        systems: Systems::OfFrames(100),
        columns: OUTER,
        rows: &[
            (32, &[1.12, 1.12, 1.12, 1.23, 0.94]),
            (64, &[1.25, 1.25, 1.25, 1.43, 1.71]),
            (128, &[1.34, 1.34, 1.35, 1.58, 2.08]),
            (256, &[1.43, 1.43, 1.41, 1.63, 2.34]),
        ],
    },
    Published {
        number: 4,
        title: "average outer iterations per solve, ball in 3D",
        case: "sphere3d",
        affordable: AFFORDABLE_3D,
        quantity: Quantity::OuterIterations,
        systems: Systems::OfFrames(100),
        columns: OUTER,
        rows: &[
            (32, &[1.47, 1.47, 1.49, 1.53, 2.04]),
            (64, &[1.78, 1.76, 1.79, 1.77, 2.57]),
            (128, &[2.1, 2.12, 2.12, 2.19, 2.91]),
            (256, &[2.48, 2.52, 2.48, 2.49, NA]),
        ],
    },
    Published {
        number: 5,
        title: "average seconds per solve, disc in 2D",
        case: "circle2d",
        affordable: AFFORDABLE_2D,
        quantity: Quantity::Seconds,
        systems: Systems::OfFrames(100),
        columns: METHODS,
        rows: &[
            (
                32,
                &[
                    0.0021, 0.00054, 0.0028, 0.00055, 0.0025, 0.0026, 0.002, 0.00048,
                ],
            ),
            (
                64,
                &[0.0082, 0.0034, 0.0086, 0.0033, 0.0075, 0.022, 0.024, 0.0029],
            ),
            (128, &[0.029, 0.02, 0.03, 0.021, 0.028, 0.17, 0.24, 0.016]),
            (256, &[0.13, 0.15, 0.12, 0.13, 0.13, 1.25, 2.59, 0.098]),
        ],
    },
    Published {
        number: 6,
        title: "average seconds per solve, ball in 3D",
        case: "sphere3d",
        affordable: AFFORDABLE_3D,
        quantity: Quantity::Seconds,
        systems: Systems::OfFrames(100),
        columns: METHODS,
        rows: &[
            (
                32,
                &[0.037, 0.014, 0.036, 0.015, 0.036, 0.076, 0.98, 0.0074],
            ),
            (64, &[0.25, 0.2, 0.33, 0.2, 0.37, 1.68, 25.38, 0.09]),
            (128, &[2.15, 2.64, 2.82, 2.82, 4.28, 30.24, 637.67, 1.15]),
            (256, &[16.78, 36.96, 24.58, 37.82, 47.38, 510.71, NA, 14.24]),
        ],
    },
    Published {
        number: 7,
        title: "average iterations per solve, maze in 2D",
        case: "maze2d",
        affordable: AFFORDABLE_2D,
        quantity: Quantity::Iterations,
        systems: Systems::OfFrames(100),
        columns: SEPARATING,
        rows: &[
            (32, &[4.41, 9.74, 8.11, 9.5, 7.67, 6.89, 87.2]),
            (64, &[7.07, 15.52, 10.55, 15.75, 10.11, 10.71, 195.5]),
            (128, &[5.83, 31.29, 13.52, 31.9, 12.91, 34.13, 450.21]),
        ],
    },
    Published {
        number: 8,
        title: "average seconds per solve, maze in 2D",
        case: "maze2d",
        affordable: AFFORDABLE_2D,
        quantity: Quantity::Seconds,
        systems: Systems::OfFrames(100),
        columns: SEPARATING,
        rows: &[
            (32, &[0.016, 0.0042, 0.032, 0.004, 0.029, 0.017, 0.41]),
            (64, &[0.092, 0.018, 0.15, 0.018, 0.12, 0.1, 3.5]),
            (128, &[0.38, 0.1, 0.7, 0.11, 0.53, 1.21, 31.35]),
        ],
    },
    Published {
        number: 9,
        title: "iterations of the first solve of frame 10, ball in 3D",
        case: "sphere3d",
        affordable: AFFORDABLE_3D,
        quantity: Quantity::Iterations,
        systems: Systems::FirstOf(10),
        columns: SEPARATING,
        rows: &[
            (32, &[7., 139., 10., 146., 21., 29., 2773.]),
            (64, &[8., 282., 9., 301., 18., 61., 5837.]),
            (128, &[8., 593., 10., 657., 24., 128., 18680.]),
            (256, &[9., 1263., 14., 1255., 28., 234., 38547.]),
        ],
    },
    Published {
        number: 10,
        title: "iterations of the first solve of frame 70, ball with a cuboid in 3D",
        case: "cuboid3d",
        affordable: AFFORDABLE_3D,
        quantity: Quantity::Iterations,
        systems: Systems::FirstOf(70),
        columns: SEPARATING,
        rows: &[
            (32, &[6., 149., 11., 161., 18., 35., 2634.]),
            (64, &[7., 308., 18., 336., 29., 43., 11122.]),
            (128, &[8., 503., 22., 548., 40., 63., 50162.]),
            (256, &[9., 1186., 43., 1313., 89., 103., 95823.]),
        ],
    },
    Published {
        number: 11,
        title: "iterations of the first solve of frame 10, two balls in 3D",
        case: "two-spheres3d",
        affordable: AFFORDABLE_3D,
        quantity: Quantity::Iterations,
        systems: Systems::FirstOf(10),
        columns: SEPARATING,
        rows: &[
            (32, &[7., 80., 14., 85., 23., 15., 1430.]),
            (64, &[15., 182., 37., 203., 57., 43., 9219.]),
            (128, &[9., 421., 34., 446., 90., 67., 46491.]),
            (256, &[12., 762., 24., 887., 60., 175., 122080.]),
        ],
    },
    Published {
        number: 12,
        title: "iterations of fas-mg and its variants, first solve of frame 10, ball in 3D",
        case: "sphere3d",
        affordable: AFFORDABLE_3D,
        quantity: Quantity::Iterations,
        systems: Systems::FirstOf(10),
        columns: VARIANTS,
        rows: &[
            (32, &[7., 6., 47., 6., 65.]),
            (64, &[8., 8., 112., 32., 171.]),
            (128, &[8., 8., 268., DIVERGED, DIVERGED]),
            (256, &[9., 9., 616., DIVERGED, DIVERGED]),
        ],
    },
];

impl Published {
    /// The table with this number.
    pub fn find(number: u8) -> Option<&'static Published> {
        TABLES.iter().find(|table| table.number == number)
    }

    /// The sizes to run unless others are asked for.
    pub fn sizes(&self) -> impl Iterator<Item = u64> + '_ {
        let sizes = self.rows.iter().map(|row| row.0);
        sizes.filter(|&size| size <= self.affordable)
    }

    /// The published figure for a size and column; `NA` if there is none.
    pub fn figure(&self, size: u64, column: usize) -> f64 {
        let row = self.rows.iter().find(|row| row.0 == size);
        row.and_then(|row| row.1.get(column)).copied().unwrap_or(NA)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::bench::pressure::entry::Choice;

    #[test]
    fn every_row_is_as_long_as_its_table_and_every_method_exists() {
        for (table, number) in TABLES.iter().zip(1..) {
            assert_eq!(table.number, number);
            assert!(crate::source::in_gallery(table.case).is_some(), "{number}");
            for (size, figures) in table.rows {
                assert_eq!(figures.len(), table.columns.len(), "table {number}, {size}");
            }
            for (_, method) in table.columns {
                assert!(Choice::parse(method).is_ok(), "table {number}: {method}");
            }
        }
    }

    #[test]
    fn figures_are_found_by_size_and_column() {
        let table = Published::find(9).expect("table 9");
        assert_eq!(table.figure(64, 1), 282.0);
        assert!(table.figure(48, 1).is_nan());
        assert_eq!(table.sizes().collect::<Vec<_>>(), [32, 64]);
    }
}
