//! The pressure system: unknowns, matrix, pockets, and the gradient that goes with it.

use plash_grid::{Axis, Cell, CellField, FaceField, Grid, Runs, Side, axes};
use plash_solve::{Csr, NullSpace, Operator, Places, Problem, SolveError};

use super::Domain;
use crate::setup::Wall;

/// The free surface may not come closer to a cell centre than this many cells: as `θ → 0`
/// the diagonal grows without bound.
const SMALLEST_THETA: f64 = 0.01;

/// Where pressure is zero beyond an open side: at the face, half a cell from the centre.
const OPEN_SIDE_THETA: f64 = 0.5;

/// No unknown at this cell.
const NONE: u32 = u32::MAX;

/// Distance from a liquid cell centre to the surface on the way to an air cell, in cells.
#[inline]
pub fn theta(phi_liquid: f64, phi_air: f64) -> f64 {
    (phi_liquid / (phi_liquid - phi_air)).max(SMALLEST_THETA)
}

/// The assembled system `A q = rhs`, scaled by `Δx²`.
pub struct System<const D: usize> {
    /// Number of the unknown at each cell.
    number: CellField<u32, D>,
    /// Memory index of each unknown's cell, ascending.
    cells: Vec<u32>,
    matrix: Csr,
    /// Whether each unknown has an air neighbour.
    airy: Vec<bool>,
    /// Whether each unknown is beside a separating wall.
    constrained: Vec<bool>,
    /// Whether any is.
    separates: bool,
    /// Lattice coordinates of the unknowns.
    places: Vec<[i32; 3]>,
    null_space: NullSpace,
    pockets: usize,
    wall_cells: usize,
}

impl<const D: usize> System<D> {
    /// An empty system.
    pub fn new(grid: &Grid<D>) -> Self {
        let mut number = CellField::<u32, D>::new(grid);
        number.as_mut_slice().fill(NONE);
        System {
            number,
            cells: Vec::new(),
            matrix: empty_matrix(),
            airy: Vec::new(),
            constrained: Vec::new(),
            separates: false,
            places: Vec::new(),
            null_space: NullSpace::none(),
            pockets: 0,
            wall_cells: 0,
        }
    }

    /// Memory indices of the unknowns' cells.
    pub fn cells(&self) -> &[u32] {
        &self.cells
    }

    /// The matrix `Δx² A`.
    pub fn matrix(&self) -> &Csr {
        &self.matrix
    }

    /// Constants on bodies of liquid that touch no air.
    pub fn null_space(&self) -> &NullSpace {
        &self.null_space
    }

    /// Bodies of liquid that touch no air.
    pub fn pockets(&self) -> usize {
        self.pockets
    }

    /// Unknowns next to a wall or an obstacle.
    pub fn wall_cells(&self) -> usize {
        self.wall_cells
    }

    /// Whether each unknown is beside a separating wall, where it may not be negative; empty
    /// if none is.
    pub fn constrained(&self) -> &[bool] {
        if self.separates {
            &self.constrained
        } else {
            &[]
        }
    }

    /// The problem with this right-hand side, as solvers take it.
    pub fn problem<'a>(&'a self, rhs: &'a [f64]) -> Problem<'a> {
        Problem {
            a: &self.matrix,
            b: rhs,
            constrained: self.constrained(),
            null_space: &self.null_space,
            places: Some(Places {
                dimensions: D,
                at: &self.places,
            }),
        }
    }

    /// Whether the cell with this memory index is an unknown beside a separating wall that is
    /// not pressed against it by the pressure `q`: it has let go, or may.
    #[inline]
    pub fn is_loose(&self, q: &CellField<f64, D>, index: usize) -> bool {
        let number = self.number.as_slice()[index];
        number != NONE && self.constrained[number as usize] && q.as_slice()[index] <= 0.0
    }

    /// Whether the cell with this memory index is an unknown.
    #[inline]
    pub fn is_unknown(&self, index: usize) -> bool {
        self.number.as_slice()[index] != NONE
    }

    /// Numbers the unknowns and builds the matrix.
    pub fn assemble(&mut self, domain: &Domain<'_, D>) -> Result<(), SolveError> {
        self.number_unknowns(domain);
        self.find_walls(domain);
        self.build_matrix(domain)?;
        self.find_pockets();
        Ok(())
    }

    fn number_unknowns(&mut self, domain: &Domain<'_, D>) {
        for &cell in &self.cells {
            self.number.as_mut_slice()[cell as usize] = NONE;
        }
        self.cells.clear();
        let strides = domain.grid.layout().strides();
        let phi = domain.phi.as_slice();
        for (row, runs) in domain.runs.iter() {
            for run in runs {
                for i in run.cells(domain.grid.cells()[0]) {
                    let index = row.start + i;
                    let is_open = |a: usize| {
                        domain.open(a, index) > 0.0 || domain.open(a, index + strides[a]) > 0.0
                    };
                    let wet = phi[index] < 0.0 && (0..D).any(is_open);
                    if wet {
                        self.number.as_mut_slice()[index] = self.cells.len() as u32;
                        self.cells.push(index as u32);
                    }
                }
            }
        }
    }

    fn find_walls(&mut self, domain: &Domain<'_, D>) {
        let layout = domain.grid.layout();
        self.constrained.clear();
        self.places.clear();
        self.wall_cells = 0;
        for &cell in &self.cells {
            let wall = domain.solids.wall_at_cell(cell as usize);
            self.wall_cells += usize::from(wall.is_some());
            self.constrained.push(wall == Some(Wall::Separating));
            let mut place = [0; 3];
            place[..D].copy_from_slice(&layout.at(cell as usize));
            self.places.push(place);
        }
        self.separates = self.constrained.contains(&true);
    }

    fn build_matrix(&mut self, domain: &Domain<'_, D>) -> Result<(), SolveError> {
        let last = std::mem::replace(&mut self.matrix, empty_matrix());
        let (mut starts, mut columns, mut values) = last.into_parts();
        starts.clear();
        columns.clear();
        values.clear();
        self.airy.clear();
        starts.push(0);
        for &cell in &self.cells {
            let index = cell as usize;
            let row = self.row(domain, index);
            for &(column, value) in &row.entries[..row.count] {
                columns.push(column);
                values.push(value);
            }
            self.airy.push(row.airy);
            starts.push(columns.len() as u32);
        }
        // The structure is right by construction; what can go wrong is a φ that is no number.
        self.matrix = Csr::new(starts, columns, values).map_err(|_| SolveError::NotFinite {
            quantity: "pressure matrix",
            iteration: 0,
        })?;
        Ok(())
    }

    /// One row of the matrix, columns ascending: low neighbours from the slowest axis on,
    /// the diagonal, high neighbours from the fastest.
    fn row(&self, domain: &Domain<'_, D>, index: usize) -> MatrixRow {
        let strides = domain.grid.layout().strides();
        let phi = domain.phi.as_slice();
        let numbers = self.number.as_slice();
        let at = domain.grid.layout().at(index);
        let mut row = MatrixRow::default();
        let mut diagonal = 0.0;
        let mut visit = |row: &mut MatrixRow, a: usize, side: Side| {
            let other = if side == Side::Lo {
                index - strides[a]
            } else {
                index + strides[a]
            };
            let face = if side == Side::Lo { index } else { other };
            let w = domain.open(a, face);
            if w == 0.0 {
                return;
            }
            if numbers[other] != NONE {
                diagonal += w;
                row.push(numbers[other], -w);
            } else {
                let outside = is_outside(domain.grid, at, Axis(a), side);
                let t = if outside {
                    OPEN_SIDE_THETA
                } else {
                    theta(phi[index], phi[other])
                };
                diagonal += w / t;
                row.airy = true;
            }
        };
        for a in (0..D).rev() {
            visit(&mut row, a, Side::Lo);
        }
        let place = row.count;
        row.push(numbers[index], 0.0);
        for a in 0..D {
            visit(&mut row, a, Side::Hi);
        }
        row.entries[place].1 = diagonal;
        row
    }

    /// Finds the connected bodies without air: on them the matrix is singular.
    fn find_pockets(&mut self) {
        let n = self.cells.len();
        let mut seen = vec![false; n];
        let mut pockets = Vec::new();
        let mut stack = Vec::new();
        // Everything connected to air first: one flood from all airy cells.
        for i in 0..n {
            if self.airy[i] && !seen[i] {
                seen[i] = true;
                stack.push(i as u32);
                flood(&self.matrix, &mut seen, &mut stack, |_| {});
            }
        }
        for i in 0..n {
            if !seen[i] {
                seen[i] = true;
                stack.push(i as u32);
                let mut pocket = vec![];
                flood(&self.matrix, &mut seen, &mut stack, |j| pocket.push(j));
                pocket.sort_unstable();
                pockets.push(pocket);
            }
        }
        self.pockets = pockets.len();
        self.null_space = NullSpace::new(pockets);
    }

    /// The right-hand side `−Δx² b`: minus the divergence of the velocity `u` of liquid and
    /// solid through each cell, and what separating walls send away.
    pub fn divergence_rhs(
        &self,
        domain: &Domain<'_, D>,
        u: &FaceField<f64, D>,
        rhs: &mut Vec<f64>,
    ) {
        let strides = domain.grid.layout().strides();
        let dx = domain.grid.dx();
        let open = domain.solids.open().slices();
        let solid = domain.solids.velocity().slices();
        let u = u.slices();
        rhs.clear();
        rhs.extend(self.cells.iter().map(|&cell| {
            let index = cell as usize;
            let mut divergence = 0.0;
            for a in 0..D {
                let flux = |f: usize| open[a][f] * u[a][f] + (1.0 - open[a][f]) * solid[a][f];
                divergence += flux(index + strides[a]) - flux(index);
            }
            dx * (domain.solids.release(index) - divergence)
        }));
    }

    /// Reads the unknowns from a field.
    pub fn gather(&self, field: &CellField<f64, D>, values: &mut Vec<f64>) {
        values.clear();
        values.extend(self.cells.iter().map(|&c| field.as_slice()[c as usize]));
    }

    /// Reads one flag per unknown from a field.
    pub fn gather_flags(&self, field: &CellField<u8, D>, flags: &mut Vec<bool>) {
        flags.clear();
        flags.extend(
            self.cells
                .iter()
                .map(|&c| field.as_slice()[c as usize] != 0),
        );
    }

    /// Finds the unknowns that have let go of their wall in a solution `q`: those whose
    /// divergence exceeds what their pressure is worth, `(A q − rhs)_i > A_ii q_i`. Taken from
    /// the solution, so that all methods mean the same by it. Returns their number.
    pub fn find_separated(&self, rhs: &[f64], q: &[f64], flags: &mut Vec<bool>) -> usize {
        flags.clear();
        flags.resize(self.cells.len(), false);
        let mut count = 0;
        for (i, flag) in flags.iter_mut().enumerate() {
            if !self.constrained[i] {
                continue;
            }
            let (columns, values) = self.matrix.row(i);
            let entries = columns.iter().zip(values);
            let product: f64 = entries.map(|(&j, v)| v * q[j as usize]).sum();
            *flag = product - rhs[i] > self.matrix.diagonal(i) * q[i];
            count += usize::from(*flag);
        }
        count
    }

    /// Writes one flag per unknown to a field, zero at all other cells of `runs`.
    pub fn scatter_flags(&self, runs: &Runs<D>, flags: &[bool], field: &mut CellField<u8, D>) {
        field.fill_runs(runs, 0);
        for (&c, &flag) in self.cells.iter().zip(flags) {
            field.as_mut_slice()[c as usize] = u8::from(flag);
        }
    }

    /// Writes the unknowns to a field, zero at all other cells of `runs`.
    pub fn scatter(&self, runs: &Runs<D>, values: &[f64], field: &mut CellField<f64, D>) {
        field.fill_runs(runs, 0.0);
        for (&c, &v) in self.cells.iter().zip(values) {
            field.as_mut_slice()[c as usize] = v;
        }
    }
}

fn empty_matrix() -> Csr {
    Csr::new(vec![0], Vec::new(), Vec::new()).expect("no rows and no entries is a matrix")
}

fn flood(matrix: &Csr, seen: &mut [bool], stack: &mut Vec<u32>, mut visit: impl FnMut(u32)) {
    while let Some(i) = stack.pop() {
        visit(i);
        for &j in matrix.row(i as usize).0 {
            if !seen[j as usize] {
                seen[j as usize] = true;
                stack.push(j);
            }
        }
    }
}

/// Whether the neighbour on this side lies off the grid.
fn is_outside<const D: usize>(grid: &Grid<D>, at: [i32; D], axis: Axis, side: Side) -> bool {
    !grid.contains(Cell(at).neighbour(axis, side))
}

/// A matrix row while it is built: at most `2 D + 1` entries.
#[derive(Default)]
struct MatrixRow {
    entries: [(u32, f64); 7],
    count: usize,
    airy: bool,
}

impl MatrixRow {
    fn push(&mut self, column: u32, value: f64) {
        self.entries[self.count] = (column, value);
        self.count += 1;
    }
}

/// Subtracts the pressure gradient: `u_f −= (q_hi − q_lo)/(θ Δx)` at every face that is open
/// and has liquid on a side. `known` becomes 1 at those faces and stays 1 at open faces where it
/// was (particles in the air fall freely with the velocity they brought), 0 at all others.
pub fn gradient_step<const D: usize>(
    domain: &Domain<'_, D>,
    system: &System<D>,
    q: &CellField<f64, D>,
    u: &mut FaceField<f64, D>,
    known: &mut FaceField<u8, D>,
) {
    let grid = domain.grid;
    let strides = grid.layout().strides();
    let phi = domain.phi.as_slice();
    let q = q.as_slice();
    for axis in axes::<D>() {
        let open = domain.solids.open().along(axis);
        let extent = grid.face_extent(axis)[axis.0] as i32;
        let wet = |index: usize| {
            let low = index - strides[axis.0];
            [system.is_unknown(low), system.is_unknown(index)]
        };
        known.along_mut(axis).for_each_row(|row, values| {
            let open = open.row(row);
            for run in domain.runs.in_row(row) {
                for i in run.range(values.len()) {
                    let [lo, hi] = wet(row.start + i);
                    let given = values[i] == 1 || domain.is_driven(axis.0, row.start + i);
                    values[i] = u8::from(open[i] > 0.0 && (lo || hi || given));
                }
            }
        });
        u.along_mut(axis).for_each_row(|row, values| {
            for run in domain.runs.in_row(row) {
                for i in run.range(values.len()) {
                    let hi = row.start + i;
                    let lo = hi - strides[axis.0];
                    let [lo_wet, hi_wet] = wet(hi);
                    if domain.open(axis.0, hi) == 0.0 || !(lo_wet || hi_wet) {
                        continue;
                    }
                    let at = row.point(i)[axis.0];
                    let border = at == 0 || at + 1 == extent;
                    let t = match (lo_wet, hi_wet) {
                        (true, true) => 1.0,
                        _ if border => OPEN_SIDE_THETA,
                        (true, false) => theta(phi[lo], phi[hi]),
                        _ => theta(phi[hi], phi[lo]),
                    };
                    values[i] -= (q[hi] - q[lo]) / (t * grid.dx());
                }
            }
        });
    }
}
