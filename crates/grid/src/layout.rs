//! Where a lattice point lies in memory.

/// Cells per block: one AVX2 register of `f32`, two of `f64`.
pub const BLOCK: usize = 8;

/// Ghost layers before the first and after the last cell along every axis but x. Two after,
/// because faces and nodes have one layer more than cells and their stencils reach one on.
const GHOST: [usize; 2] = [1, 2];

/// The memory layout that all fields of a grid share: dense, x fastest, every row padded to
/// whole blocks plus one block of ghosts, so that `index ± stride` is always inside the
/// array for any cell, face or node. Two fields of one grid have equal strides: one index
/// addresses a cell, its low faces and its low node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout<const D: usize> {
    cells: [usize; D],
    strides: [usize; D],
    origin: usize,
    len: usize,
}

/// A row of lattice points along x, by its number among all rows (ghosts included) and the
/// coordinates of its first point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<const D: usize> {
    /// Coordinates of the point with x = 0.
    pub at: [i32; D],
    /// Memory index of that point.
    pub start: usize,
}

impl<const D: usize> Layout<D> {
    /// The layout of a grid with so many cells, or `None` if its size overflows.
    pub fn new(cells: [usize; D]) -> Option<Self> {
        let mut strides = [1; D];
        let mut len = cells[0]
            .checked_next_multiple_of(BLOCK)?
            .checked_add(BLOCK)?;
        for a in 1..D {
            strides[a] = len;
            len = len.checked_mul(cells[a].checked_add(GHOST[0] + GHOST[1])?)?;
        }
        let origin = BLOCK + (1..D).map(|a| GHOST[0] * strides[a]).sum::<usize>();
        // The leading ghost block of the first row.
        let len = len.checked_add(BLOCK)?;
        (len < i32::MAX as usize).then_some(Layout {
            cells,
            strides,
            origin,
            len,
        })
    }

    /// Cells along each axis.
    pub fn cells(&self) -> [usize; D] {
        self.cells
    }

    /// Memory distance between neighbours along each axis.
    pub fn strides(&self) -> [usize; D] {
        self.strides
    }

    /// Values in an array, ghosts included.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Memory index of a lattice point.
    #[inline(always)]
    pub fn index(&self, at: [i32; D]) -> usize {
        let mut index = self.origin as isize;
        for a in 0..D {
            index += at[a] as isize * self.strides[a] as isize;
        }
        index as usize
    }

    /// The lattice point at a memory index: the inverse of [`index`](Self::index) for
    /// points whose x lies in `-BLOCK..row length`.
    pub fn at(&self, index: usize) -> [i32; D] {
        let mut rest = index - BLOCK;
        let mut at = [0; D];
        for a in (1..D).rev() {
            at[a] = (rest / self.strides[a]) as i32 - GHOST[0] as i32;
            rest %= self.strides[a];
        }
        at[0] = rest as i32;
        at
    }

    /// Memory per layer of the slowest axis: a plane in 3D, a row in 2D.
    pub fn layer(&self) -> usize {
        self.strides[D - 1]
    }

    /// Memory per row.
    pub fn row_stride(&self) -> usize {
        self.strides[1]
    }

    /// Rows in memory, ghosts included.
    pub(crate) fn memory_rows(&self) -> usize {
        (self.len - BLOCK) / self.row_stride()
    }

    /// The row with number `r` in memory.
    pub(crate) fn memory_row(&self, r: usize) -> Row<D> {
        let start = BLOCK + r * self.row_stride();
        Row {
            at: self.at(start),
            start,
        }
    }

    /// The rows that hold lattice points of `extent`, in memory order.
    pub fn rows(&self, extent: [usize; D]) -> impl Iterator<Item = Row<D>> + Clone + use<D> {
        let layout = *self;
        (0..self.memory_rows())
            .map(move |r| layout.memory_row(r))
            .filter(move |row| row.is_within(extent))
    }
}

impl<const D: usize> Row<D> {
    /// Whether the row holds points of a lattice with this extent.
    pub fn is_within(&self, extent: [usize; D]) -> bool {
        (1..D).all(|a| self.at[a] >= 0 && (self.at[a] as usize) < extent[a])
    }

    /// The coordinates of point `i` of the row.
    #[inline(always)]
    pub fn point(&self, i: usize) -> [i32; D] {
        let mut at = self.at;
        at[0] += i as i32;
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index_and_at_are_inverse<const D: usize>(cells: [usize; D]) {
        let layout = Layout::new(cells).unwrap();
        let extent = cells.map(|n| n + 1);
        let mut seen = 0;
        for row in layout.rows(extent) {
            for i in 0..extent[0] {
                let at = row.point(i);
                assert_eq!(layout.index(at), row.start + i);
                assert_eq!(layout.at(row.start + i), at);
                for s in layout.strides() {
                    assert!(row.start + i >= s && row.start + i + s < layout.len());
                }
                seen += 1;
            }
        }
        assert_eq!(seen, extent.iter().product::<usize>());
    }

    #[test]
    fn index_and_at_are_inverse_2d() {
        index_and_at_are_inverse([13, 5]);
        index_and_at_are_inverse([1, 1]);
    }

    #[test]
    fn index_and_at_are_inverse_3d() {
        index_and_at_are_inverse([8, 3, 5]);
    }

    #[test]
    fn rows_start_on_block_borders() {
        let layout = Layout::new([13, 5, 4]).unwrap();
        assert!(layout.rows([13, 5, 4]).all(|row| row.start % BLOCK == 0));
    }

    #[test]
    fn absurd_sizes_are_refused_not_wrapped() {
        assert!(Layout::new([usize::MAX, 2]).is_none());
        assert!(Layout::new([1 << 40, 1 << 40, 1 << 40]).is_none());
    }
}
