//! Values on the grid.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use rayon::prelude::*;

use crate::{Axis, BLOCK, Cell, Face, Grid, Layout, Node, Row, Runs, Site};

/// Values at all places of one kind. Ghosts around them are readable and hold the default
/// value unless somebody writes them.
#[derive(Clone, Debug, PartialEq)]
pub struct Field<S, T, const D: usize> {
    layout: Layout<D>,
    extent: [usize; D],
    data: Vec<T>,
    site: PhantomData<S>,
}

/// Values at cell centres.
pub type CellField<T, const D: usize> = Field<Cell<D>, T, D>;
/// Values at cell corners.
pub type NodeField<T, const D: usize> = Field<Node<D>, T, D>;

impl<S, T: Copy + Default, const D: usize> Field<S, T, D> {
    fn with_extent(layout: Layout<D>, extent: [usize; D]) -> Self {
        // A fresh zeroed array costs no memory until it is touched.
        Field {
            layout,
            extent,
            data: vec![T::default(); layout.len()],
            site: PhantomData,
        }
    }
}

impl<T: Copy + Default, const D: usize> CellField<T, D> {
    /// Default values at every cell of `grid`.
    pub fn new(grid: &Grid<D>) -> Self {
        Self::with_extent(*grid.layout(), grid.cells())
    }
}

impl<T: Copy + Default, const D: usize> NodeField<T, D> {
    /// Default values at every node of `grid`.
    pub fn new(grid: &Grid<D>) -> Self {
        Self::with_extent(*grid.layout(), grid.node_extent())
    }
}

impl<S, T, const D: usize> Field<S, T, D> {
    /// The memory layout.
    pub fn layout(&self) -> &Layout<D> {
        &self.layout
    }

    /// Lattice points along each axis.
    pub fn extent(&self) -> [usize; D] {
        self.extent
    }

    /// All memory, ghosts included, in layout order.
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }

    /// All memory, ghosts included, in layout order.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// The values of one row, without ghosts.
    pub fn row(&self, row: Row<D>) -> &[T] {
        &self.data[row.start..row.start + self.extent[0]]
    }

    /// Every row with its values, in memory order.
    pub fn rows(&self) -> impl Iterator<Item = (Row<D>, &[T])> {
        self.layout
            .rows(self.extent)
            .map(|row| (row, self.row(row)))
    }
}

impl<S: Send, T: Send + Sync, const D: usize> Field<S, T, D> {
    /// Every row with its values, mutable, in parallel; rows are numbered in memory order.
    pub fn par_rows_mut(&mut self) -> impl ParallelIterator<Item = (Row<D>, &mut [T])> {
        let (layout, extent) = (self.layout, self.extent);
        // Small rows are not worth a task of their own.
        let grain = (4096 / layout.row_stride()).max(1);
        self.data[BLOCK..]
            .par_chunks_mut(layout.row_stride())
            .with_min_len(grain)
            .enumerate()
            .map(move |(r, data)| (layout.memory_row(r), &mut data[..extent[0]]))
            .filter(move |(row, _)| row.is_within(extent))
    }

    /// Calls `f(row, values)` for every row in parallel.
    pub fn for_each_row(&mut self, f: impl Fn(Row<D>, &mut [T]) + Sync + Send) {
        self.par_rows_mut().for_each(|(row, values)| f(row, values));
    }

    /// Sets every value in the active runs, and the point after each run's end: enough to
    /// clear what a pass over the same runs has written, at faces and nodes too.
    pub fn fill_runs(&mut self, runs: &Runs<D>, value: T)
    where
        T: Copy,
    {
        self.for_each_row(|row, values| {
            for run in runs.in_row(row) {
                let range = run.range(values.len());
                values[range].fill(value);
            }
        });
    }
}

impl<S: Site<D>, T, const D: usize> Index<S> for Field<S, T, D> {
    type Output = T;
    #[inline(always)]
    fn index(&self, site: S) -> &T {
        &self.data[self.layout.index(site.at())]
    }
}

impl<S: Site<D>, T, const D: usize> IndexMut<S> for Field<S, T, D> {
    #[inline(always)]
    fn index_mut(&mut self, site: S) -> &mut T {
        &mut self.data[self.layout.index(site.at())]
    }
}

/// Values at all faces, one [`Field`] per axis.
#[derive(Clone, Debug, PartialEq)]
pub struct FaceField<T, const D: usize> {
    axes: [Field<Face<D>, T, D>; D],
}

impl<T: Copy + Default, const D: usize> FaceField<T, D> {
    /// Default values at every face of `grid`.
    pub fn new(grid: &Grid<D>) -> Self {
        FaceField {
            axes: std::array::from_fn(|a| {
                Field::with_extent(*grid.layout(), grid.face_extent(Axis(a)))
            }),
        }
    }
}

impl<T, const D: usize> FaceField<T, D> {
    /// The faces normal to one axis.
    pub fn along(&self, axis: Axis) -> &Field<Face<D>, T, D> {
        &self.axes[axis.0]
    }

    /// The faces normal to one axis.
    pub fn along_mut(&mut self, axis: Axis) -> &mut Field<Face<D>, T, D> {
        &mut self.axes[axis.0]
    }

    /// The raw memory of every axis, in layout order.
    pub fn slices(&self) -> [&[T]; D] {
        std::array::from_fn(|a| self.axes[a].as_slice())
    }

    /// The raw memory of one axis, in layout order.
    #[inline(always)]
    pub fn slice(&self, axis: usize) -> &[T] {
        &self.axes[axis].data
    }

    /// All axes at once, for kernels that write several.
    pub fn all_mut(&mut self) -> &mut [Field<Face<D>, T, D>; D] {
        &mut self.axes
    }

    /// Copies the values of another field on the same grid in the active runs.
    pub fn copy_runs(&mut self, runs: &Runs<D>, other: &Self)
    where
        T: Copy + Send + Sync,
    {
        for (mine, theirs) in self.axes.iter_mut().zip(&other.axes) {
            mine.for_each_row(|row, values| {
                let theirs = theirs.row(row);
                for run in runs.in_row(row) {
                    let range = run.range(values.len());
                    values[range.clone()].copy_from_slice(&theirs[range]);
                }
            });
        }
    }
}

impl<T, const D: usize> Index<Face<D>> for FaceField<T, D> {
    type Output = T;
    #[inline(always)]
    fn index(&self, face: Face<D>) -> &T {
        &self.axes[face.axis.0][face]
    }
}

impl<T, const D: usize> IndexMut<Face<D>> for FaceField<T, D> {
    #[inline(always)]
    fn index_mut(&mut self, face: Face<D>) -> &mut T {
        &mut self.axes[face.axis.0][face]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_visit_every_value_once_and_no_ghost() {
        let grid = Grid::new([11, 3, 4], 1.0, [0.0; 3]).unwrap();
        let mut field = CellField::<i32, 3>::new(&grid);
        field.for_each_row(|_, values| values.iter_mut().for_each(|v| *v += 1));
        assert!(grid.all_cells().all(|c| field[c] == 1));
        assert_eq!(field.as_slice().iter().sum::<i32>(), 11 * 3 * 4);
    }

    #[test]
    fn row_points_address_the_values_of_the_row() {
        let grid = Grid::new([5, 4], 1.0, [0.0; 2]).unwrap();
        let mut field = NodeField::<f64, 2>::new(&grid);
        field.for_each_row(|row, values| {
            for (i, v) in values.iter_mut().enumerate() {
                let [x, y] = row.point(i);
                *v = (x + 10 * y) as f64;
            }
        });
        assert_eq!(field[Node([5, 4])], 45.0);
        assert_eq!(field[Node([0, 2])], 20.0);
    }
}
