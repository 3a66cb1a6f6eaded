//! One level of the hierarchy: a grid, the matrix on it, and the vectors of a cycle.

use plash_grid::{Axis, CellField, FaceField, Grid, Row, Runs, axes};

use super::super::{System, theta};

/// Where pressure is zero beyond an open side of a coarse grid, as on the finest one.
const OPEN_SIDE_THETA: f64 = 0.5;

/// Fields of fewer values than this are not worth the cost of waking other threads.
const SERIAL_BELOW: usize = 1 << 15;

/// The matrix `Δx² A` and the vectors of `Δx² A x = rhs` on one grid. At cells that are no
/// unknowns everything is zero, so kernels need not ask.
pub(super) struct Level<const D: usize> {
    pub grid: Grid<D>,
    /// The surface, negative in liquid. Not used on the finest level, where the system was
    /// built from it already (and then costs no memory: nothing touches it).
    pub phi: CellField<f64, D>,
    /// Two means over children, from which `phi` is made.
    pub mean: CellField<f64, D>,
    pub air: CellField<f64, D>,
    /// Open fractions of faces. Not used on the finest level.
    pub open: FaceField<f64, D>,
    /// `A_ii`; zero where there is no unknown.
    pub diagonal: CellField<f64, D>,
    /// `1 / A_ii`, zero where there is no unknown.
    inverse: CellField<f64, D>,
    /// `−A_ij` at the face between `i` and `j`; zero unless both are unknowns.
    pub coupling: FaceField<f64, D>,
    /// Where there are unknowns.
    pub runs: Runs<D>,
    pub unknowns: usize,
    /// The solution, split by colour: `x[c]` is zero at cells whose coordinates do not sum
    /// to `c` mod 2. A sweep over one colour then reads one array and writes the other, and
    /// rows are free to go in parallel.
    pub x: [CellField<f64, D>; 2],
    pub rhs: CellField<f64, D>,
    pub residual: CellField<f64, D>,
}

impl<const D: usize> Level<D> {
    /// A level without unknowns.
    pub fn new(grid: Grid<D>) -> Self {
        let cells = || CellField::new(&grid);
        Level {
            grid,
            phi: cells(),
            mean: cells(),
            air: cells(),
            open: FaceField::new(&grid),
            diagonal: cells(),
            inverse: cells(),
            coupling: FaceField::new(&grid),
            runs: Runs::none(grid.layout()),
            unknowns: 0,
            x: [cells(), cells()],
            rhs: cells(),
            residual: cells(),
        }
    }

    /// Takes the matrix of the system: this is the finest level.
    pub fn take_system(&mut self, system: &System<D>) {
        self.clear();
        let strides = self.grid.layout().strides();
        let cells = system.cells();
        for (n, &cell) in cells.iter().enumerate() {
            let (columns, values) = system.matrix().row(n);
            for (&column, &value) in columns.iter().zip(values) {
                let other = cells[column as usize];
                if other == cell {
                    self.diagonal.as_mut_slice()[cell as usize] = value;
                } else if other > cell {
                    let step = (other - cell) as usize;
                    for axis in axes::<D>().filter(|a| strides[a.0] == step) {
                        self.coupling.along_mut(axis).as_mut_slice()[other as usize] = -value;
                    }
                }
            }
        }
        self.find_unknowns();
    }

    /// Builds the matrix from `phi` and `open` as on the finest level: ghost fluid at the
    /// surface, open fractions at solids.
    pub fn discretise(&mut self) {
        self.clear();
        let cells = self.grid.cells();
        let strides = self.grid.layout().strides();
        let phi = self.phi.as_slice();
        let open = self.open.slices();
        let wet = |index: usize| {
            phi[index] < 0.0
                && (0..D).any(|a| open[a][index] > 0.0 || open[a][index + strides[a]] > 0.0)
        };
        for axis in axes::<D>() {
            let (open, stride) = (open[axis.0], strides[axis.0]);
            self.coupling.along_mut(axis).for_each_row(|row, values| {
                for (index, value) in (row.start..).zip(values) {
                    let inside = open[index] > 0.0 && wet(index) && wet(index - stride);
                    *value = if inside { open[index] } else { 0.0 };
                }
            });
        }
        self.diagonal.for_each_row(|row, values| {
            for (i, value) in values.iter_mut().enumerate() {
                let index = row.start + i;
                if !wet(index) {
                    continue;
                }
                let at = row.point(i);
                let side = |a: usize, face: usize, other: usize, border: bool| {
                    let w = open[a][face];
                    if w == 0.0 || wet(other) {
                        w
                    } else if border {
                        w / OPEN_SIDE_THETA
                    } else {
                        w / theta(phi[index], phi[other])
                    }
                };
                *value = (0..D)
                    .map(|a| {
                        let (lo, hi) = (index - strides[a], index + strides[a]);
                        side(a, index, lo, at[a] == 0)
                            + side(a, hi, hi, at[a] as usize + 1 == cells[a])
                    })
                    .sum();
            }
        });
        self.find_unknowns();
    }

    /// Sets all that the last matrix left to zero.
    fn clear(&mut self) {
        let runs = &self.runs;
        let [red, black] = &mut self.x;
        for field in [
            &mut self.diagonal,
            &mut self.inverse,
            red,
            black,
            &mut self.rhs,
            &mut self.residual,
        ] {
            field.fill_runs(runs, 0.0);
        }
        for field in self.coupling.all_mut() {
            field.fill_runs(runs, 0.0);
        }
    }

    fn find_unknowns(&mut self) {
        self.runs = Runs::of_cells(&self.diagonal, |&d| d > 0.0);
        let diagonal = &self.diagonal;
        for_rows(&mut self.inverse, &self.runs, |row, values| {
            for (value, &d) in values.iter_mut().zip(diagonal.row(row)) {
                *value = if d > 0.0 { 1.0 / d } else { 0.0 };
            }
        });
        let count = |row: Row<D>| diagonal.row(row).iter().filter(|&&d| d > 0.0).count();
        self.unknowns = self.runs.iter().map(|(row, _)| count(row)).sum();
    }

    /// Whether there is an unknown at this memory index.
    pub fn is_unknown(&self, index: usize) -> bool {
        self.diagonal.as_slice()[index] > 0.0
    }

    /// The solution at this memory index.
    pub fn value(&self, index: usize) -> f64 {
        self.x[0].as_slice()[index] + self.x[1].as_slice()[index]
    }

    /// Sets the solution at this memory index.
    pub fn set_value(&mut self, index: usize, value: f64) {
        let at = self.grid.layout().at(index);
        self.x[colour_of(at)].as_mut_slice()[index] = value;
    }

    /// `x ← 0`.
    pub fn zero_x(&mut self) {
        for x in &mut self.x {
            for_rows(x, &self.runs, |_, values| values.fill(0.0));
        }
    }

    /// Gauss-Seidel, first all red cells, then all black ones:
    /// `x_i ← (rhs_i − Σ_j A_ij x_j) / A_ii` (Karlsson eq. 54, `rhs` inside the division).
    /// Cells of one colour do not see each other, so their order does not matter.
    pub fn sweep(&mut self, sweeps: usize) {
        for _ in 0..sweeps {
            self.half_sweep(0);
            self.half_sweep(1);
        }
    }

    fn half_sweep(&mut self, colour: usize) {
        let strides = self.grid.layout().strides();
        let (rhs, inverse) = (self.rhs.as_slice(), self.inverse.as_slice());
        let coupling = self.coupling.slices();
        let [red, black] = &mut self.x;
        let (mine, other) = if colour == 0 {
            (red, black)
        } else {
            (black, red)
        };
        let other = other.as_slice();
        let runs = &self.runs;
        for_rows(mine, runs, |row, values| {
            let shift = colour_of(row.at) ^ colour;
            for run in runs.in_row(row) {
                let cells = run.cells(values.len());
                // Runs start at even cells, so the first of this colour is `shift` on.
                for i in (cells.start + shift..cells.end).step_by(2) {
                    let index = row.start + i;
                    let sum = neighbours(&coupling, &strides, other, index);
                    values[i] = (rhs[index] + sum) * inverse[index];
                }
            }
        });
    }

    /// `residual ← rhs − A x`.
    pub fn find_residual(&mut self) {
        let strides = self.grid.layout().strides();
        let (rhs, diagonal) = (self.rhs.as_slice(), self.diagonal.as_slice());
        let coupling = self.coupling.slices();
        let x = [self.x[0].as_slice(), self.x[1].as_slice()];
        let runs = &self.runs;
        for_rows(&mut self.residual, runs, |row, values| {
            for run in runs.in_row(row) {
                for i in run.cells(values.len()) {
                    let index = row.start + i;
                    if diagonal[index] > 0.0 {
                        let colour = colour_of(row.point(i));
                        let sum = neighbours(&coupling, &strides, x[1 - colour], index);
                        values[i] = rhs[index] + sum - diagonal[index] * x[colour][index];
                    }
                }
            }
        });
    }

    /// The unknowns' memory indices, ascending.
    pub fn unknown_cells(&self) -> impl Iterator<Item = usize> {
        self.runs.iter().flat_map(move |(row, runs)| {
            runs.iter()
                .flat_map(move |run| run.cells(self.grid.cells()[0]))
                .map(move |i| row.start + i)
                .filter(|&index| self.is_unknown(index))
        })
    }

    /// The coupling to the next cell on the low side along an axis.
    pub fn coupling_below(&self, axis: Axis, index: usize) -> f64 {
        self.coupling.along(axis).as_slice()[index]
    }
}

/// 0 for red cells, 1 for black ones.
fn colour_of<const D: usize>(at: [i32; D]) -> usize {
    (at.iter().sum::<i32>() & 1) as usize
}

/// `−Σ_{j≠i} A_ij x_j`.
#[inline(always)]
fn neighbours<const D: usize>(
    coupling: &[&[f64]; D],
    strides: &[usize; D],
    x: &[f64],
    index: usize,
) -> f64 {
    let mut sum = 0.0;
    for a in 0..D {
        let (lo, hi) = (index - strides[a], index + strides[a]);
        sum += coupling[a][index] * x[lo] + coupling[a][hi] * x[hi];
    }
    sum
}

/// Calls `f(row, values)` for every row that has runs: in parallel if that pays.
pub(super) fn for_rows<const D: usize>(
    field: &mut CellField<f64, D>,
    runs: &Runs<D>,
    f: impl Fn(Row<D>, &mut [f64]) + Sync + Send,
) {
    let length = field.extent()[0];
    if field.as_slice().len() < SERIAL_BELOW {
        for (row, _) in runs.iter() {
            f(row, &mut field.as_mut_slice()[row.start..][..length]);
        }
    } else {
        field.for_each_row(|row, values| {
            if !runs.in_row(row).is_empty() {
                f(row, values);
            }
        });
    }
}
