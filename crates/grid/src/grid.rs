//! The grid's geometry: the one place that computes positions.

use crate::{Axis, Cell, Face, Layout, Node};

/// A grid of cubic cells of side `dx` whose lowest corner is at `origin`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid<const D: usize> {
    layout: Layout<D>,
    dx: f64,
    /// `1 / dx`.
    per_dx: f64,
    origin: [f64; D],
}

/// Why a grid cannot be made.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum GridError {
    /// An axis has no cells.
    NoCells {
        /// The axis.
        axis: Axis,
    },
    /// More values than one array can index.
    TooLarge,
    /// The cell size is not a positive number, or the origin is not finite.
    BadGeometry,
}

impl std::fmt::Display for GridError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            GridError::NoCells { axis } => write!(f, "the grid has no cells along axis {}", axis.0),
            GridError::TooLarge => write!(f, "the grid has too many cells to index"),
            GridError::BadGeometry => write!(f, "cell size and origin must be finite, size > 0"),
        }
    }
}

impl std::error::Error for GridError {}

impl<const D: usize> Grid<D> {
    /// A grid of `cells` cells of side `dx` metres.
    pub fn new(cells: [usize; D], dx: f64, origin: [f64; D]) -> Result<Self, GridError> {
        assert!(D == 2 || D == 3, "grids have two or three dimensions");
        if let Some(axis) = cells.iter().position(|&n| n == 0) {
            return Err(GridError::NoCells { axis: Axis(axis) });
        }
        if !(dx > 0.0 && dx.is_finite() && origin.iter().all(|x| x.is_finite())) {
            return Err(GridError::BadGeometry);
        }
        let layout = Layout::new(cells).ok_or(GridError::TooLarge)?;
        Ok(Grid {
            layout,
            dx,
            per_dx: 1.0 / dx,
            origin,
        })
    }

    /// The memory layout of every field on this grid.
    pub fn layout(&self) -> &Layout<D> {
        &self.layout
    }

    /// Cell side in metres.
    pub fn dx(&self) -> f64 {
        self.dx
    }

    /// Area (2D) or volume (3D) of a cell.
    pub fn cell_volume(&self) -> f64 {
        self.dx.powi(D as i32)
    }

    /// The lowest corner.
    pub fn origin(&self) -> [f64; D] {
        self.origin
    }

    /// The highest corner.
    pub fn end(&self) -> [f64; D] {
        std::array::from_fn(|a| self.origin[a] + self.cells()[a] as f64 * self.dx)
    }

    /// Cells along each axis.
    pub fn cells(&self) -> [usize; D] {
        self.layout.cells()
    }

    /// The lattice offset of faces normal to `axis`: half a cell along every other axis.
    pub fn face_offset(axis: Axis) -> [f64; D] {
        std::array::from_fn(|a| if a == axis.0 { 0.0 } else { 0.5 })
    }

    /// Lattice extent of faces normal to `axis`.
    pub fn face_extent(&self, axis: Axis) -> [usize; D] {
        std::array::from_fn(|a| self.cells()[a] + usize::from(a == axis.0))
    }

    /// Lattice extent of nodes.
    pub fn node_extent(&self) -> [usize; D] {
        self.cells().map(|n| n + 1)
    }

    /// The position of lattice point `at` of a lattice with this offset (in cells).
    #[inline(always)]
    pub fn position(&self, at: [i32; D], offset: [f64; D]) -> [f64; D] {
        let mut x = [0.0; D];
        for a in 0..D {
            x[a] = self.origin[a] + (at[a] as f64 + offset[a]) * self.dx;
        }
        x
    }

    /// A position in lattice units: the inverse of [`position`](Self::position).
    #[inline(always)]
    pub fn lattice(&self, x: [f64; D], offset: [f64; D]) -> [f64; D] {
        // Loops rather than `array::from_fn` in what runs per particle: the latter is not
        // always inlined.
        let mut lattice = [0.0; D];
        for a in 0..D {
            lattice[a] = (x[a] - self.origin[a]) * self.per_dx - offset[a];
        }
        lattice
    }

    /// The cell that holds `x`, the nearest one if `x` lies outside.
    #[inline(always)]
    pub fn cell_at(&self, x: [f64; D]) -> Cell<D> {
        let lattice = self.lattice(x, [0.0; D]);
        // `as` saturates, cuts off towards 0 and sends NaN to 0: any input gives a cell of
        // the grid, and no slow call to `floor` is needed.
        let mut at = [0; D];
        for a in 0..D {
            at[a] = (lattice[a] as i32).clamp(0, self.cells()[a] as i32 - 1);
        }
        Cell(at)
    }

    /// Whether the cell lies on this grid.
    pub fn contains(&self, cell: Cell<D>) -> bool {
        (0..D).all(|a| cell.0[a] >= 0 && (cell.0[a] as usize) < self.cells()[a])
    }

    /// All cells in memory order.
    pub fn all_cells(&self) -> impl Iterator<Item = Cell<D>> + use<D> {
        points(*self, self.cells()).map(Cell)
    }

    /// All faces normal to `axis` in memory order.
    pub fn faces(&self, axis: Axis) -> impl Iterator<Item = Face<D>> + use<D> {
        points(*self, self.face_extent(axis)).map(move |at| Face { axis, at })
    }

    /// All nodes in memory order.
    pub fn nodes(&self) -> impl Iterator<Item = Node<D>> + use<D> {
        points(*self, self.node_extent()).map(Node)
    }
}

fn points<const D: usize>(grid: Grid<D>, extent: [usize; D]) -> impl Iterator<Item = [i32; D]> {
    let layout = *grid.layout();
    layout
        .rows(extent)
        .flat_map(move |row| (0..extent[0]).map(move |i| row.point(i)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_and_cells_agree() {
        let grid = Grid::new([6, 4, 5], 0.1, [-0.2, 1.0, 3.0]).unwrap();
        for cell in grid.all_cells() {
            assert_eq!(grid.cell_at(cell.center(&grid)), cell);
        }
        assert_eq!(grid.all_cells().count(), 120);
        assert_eq!(grid.faces(Axis::Y).count(), 6 * 5 * 5);
        assert_eq!(grid.nodes().count(), 7 * 5 * 6);
    }

    #[test]
    fn any_position_has_a_cell() {
        let grid = Grid::new([6, 4], 0.1, [0.0; 2]).unwrap();
        for x in [[f64::NAN, 0.1], [f64::INFINITY, -1e300], [-1.0, 9.0]] {
            assert!(grid.contains(grid.cell_at(x)));
        }
    }

    #[test]
    fn bad_geometry_is_refused() {
        assert_eq!(
            Grid::new([4, 0], 1.0, [0.0; 2]),
            Err(GridError::NoCells { axis: Axis::Y })
        );
        assert_eq!(
            Grid::new([4, 4], f64::NAN, [0.0; 2]),
            Err(GridError::BadGeometry)
        );
        assert_eq!(
            Grid::new([4, 4], -1.0, [0.0; 2]),
            Err(GridError::BadGeometry)
        );
        assert_eq!(
            Grid::new([1 << 20, 1 << 20], 1.0, [0.0; 2]),
            Err(GridError::TooLarge)
        );
    }
}
