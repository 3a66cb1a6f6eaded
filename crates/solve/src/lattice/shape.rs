//! Where lattice cells lie in memory.

/// Cells per block: one AVX2 register of `f32`.
pub const BLOCK: usize = 8;

/// A dense lattice of cells, x fastest, with ghosts that stay zero: every row is padded to whole
/// blocks and followed by one block of ghosts, planes are framed by a ghost row and the whole by
/// a ghost plane. A lattice of two dimensions has one row per plane and no neighbours along y.
///
/// Memory order is that of `index`; kernels work plane by plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Cells along x, y, z; one along y in two dimensions.
    pub cells: [usize; 3],
    /// Memory distance between neighbours along x, y, z.
    pub strides: [usize; 3],
    /// Memory index of cell (0, 0, 0), a multiple of [`BLOCK`].
    pub origin: usize,
    /// Length of a vector on this lattice.
    pub len: usize,
}

impl Shape {
    /// The lattice with so many cells along each of `D` axes, or `None` if indices would not
    /// fit 32 bits.
    pub fn new<const D: usize>(extent: [usize; D]) -> Option<Shape> {
        let mut cells = [1; 3];
        for (axis, &n) in slots::<D>().into_iter().zip(&extent) {
            cells[axis] = n.max(1);
        }
        let row = cells[0]
            .checked_next_multiple_of(BLOCK)?
            .checked_add(BLOCK)?;
        let frame = usize::from(D == 3);
        let plane = row.checked_mul(cells[1].checked_add(frame)?)?;
        let len = plane
            .checked_mul(cells[2].checked_add(2)?)?
            .checked_add(BLOCK + frame * row)?;
        let shape = Shape {
            cells,
            strides: [1, row, plane],
            origin: BLOCK + frame * row + plane,
            len,
        };
        (len < i32::MAX as usize / 2).then_some(shape)
    }

    /// The lattice that covers this one with cells of twice the size.
    pub fn halved<const D: usize>(&self) -> Shape {
        let extent = slots::<D>().map(|axis| self.cells[axis].div_ceil(2));
        Shape::new(extent).expect("a coarser lattice is smaller")
    }

    /// Memory index of a cell.
    #[inline(always)]
    pub fn index(&self, at: [usize; 3]) -> usize {
        self.origin + at[0] + at[1] * self.strides[1] + at[2] * self.strides[2]
    }

    /// The cell at a memory index.
    #[inline]
    pub fn at(&self, index: usize) -> [usize; 3] {
        let rest = index - self.origin;
        let z = rest / self.strides[2];
        let rest = rest % self.strides[2];
        [rest % self.strides[1], rest / self.strides[1], z]
    }

    /// Blocks in a row.
    #[inline(always)]
    pub fn row_blocks(&self) -> usize {
        self.cells[0].div_ceil(BLOCK)
    }

    /// Blocks in a plane.
    #[inline(always)]
    pub fn plane_blocks(&self) -> usize {
        self.row_blocks() * self.cells[1]
    }

    /// Blocks in all.
    pub fn blocks(&self) -> usize {
        self.plane_blocks() * self.cells[2]
    }

    /// The number of the block that holds a cell.
    #[inline(always)]
    pub fn block_of(&self, at: [usize; 3]) -> usize {
        (at[2] * self.cells[1] + at[1]) * self.row_blocks() + at[0] / BLOCK
    }

    /// The first cell of a block.
    #[inline]
    pub fn block_start(&self, block: usize) -> [usize; 3] {
        let per_row = self.row_blocks();
        let row = block / per_row;
        [
            block % per_row * BLOCK,
            row % self.cells[1],
            row / self.cells[1],
        ]
    }
}

/// The axes of the three that a lattice of `D` dimensions uses: the slowest is always z, so that
/// planes are what threads share out.
pub fn slots<const D: usize>() -> [usize; D] {
    std::array::from_fn(|a| if a + 1 == D { 2 } else { a })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn neighbours_of_every_cell_are_in_memory<const D: usize>(extent: [usize; D]) {
        let shape = Shape::new(extent).expect("a small lattice");
        let mut seen = std::collections::HashSet::new();
        for z in 0..shape.cells[2] {
            for y in 0..shape.cells[1] {
                for x in 0..shape.cells[0] {
                    let index = shape.index([x, y, z]);
                    assert_eq!(shape.at(index), [x, y, z]);
                    assert!(seen.insert(index));
                    for axis in slots::<D>() {
                        let stride = shape.strides[axis];
                        assert!(index >= stride && index + stride + BLOCK <= shape.len);
                    }
                }
            }
        }
        // Stepping out of the lattice never lands on a cell.
        for &index in &seen {
            let at = shape.at(index);
            for axis in slots::<D>() {
                if at[axis] == 0 {
                    assert!(!seen.contains(&(index - shape.strides[axis])));
                }
                if at[axis] + 1 == shape.cells[axis] {
                    assert!(!seen.contains(&(index + shape.strides[axis])));
                }
            }
        }
    }

    #[test]
    fn neighbours_of_every_cell_are_in_memory_2d() {
        neighbours_of_every_cell_are_in_memory([13, 5]);
        neighbours_of_every_cell_are_in_memory([1, 1]);
    }

    #[test]
    fn neighbours_of_every_cell_are_in_memory_3d() {
        neighbours_of_every_cell_are_in_memory([8, 3, 5]);
        neighbours_of_every_cell_are_in_memory([17, 1, 1]);
    }

    #[test]
    fn absurd_sizes_are_refused() {
        assert!(Shape::new([usize::MAX, 4]).is_none());
        assert!(Shape::new([1 << 20, 1 << 20, 1 << 20]).is_none());
    }
}
