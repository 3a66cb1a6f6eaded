//! Where faces, cells and edges lie in memory.

use crate::lattice::BLOCK;

/// The layout that all arrays of a level share: dense, x fastest. One index names a cell, its low
/// face along each axis and its low edge of each pair of axes. Rows begin on a block border and
/// end in at least one value that stays zero, planes in a row and the whole in planes that do, so
/// that every neighbour of a face is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape<const D: usize> {
    /// Cells along each axis.
    pub cells: [usize; D],
    /// Memory distance between neighbours along each axis.
    pub strides: [usize; D],
    /// Memory index of cell 0, a multiple of [`BLOCK`].
    pub origin: usize,
    /// Length of an array.
    pub len: usize,
}

impl<const D: usize> Shape<D> {
    /// The layout for so many cells, or `None` if indices would not fit 32 bits.
    pub fn new(cells: [usize; D]) -> Option<Self> {
        let mut strides = [1; D];
        let mut len = 1usize;
        for a in 0..D {
            strides[a] = len;
            // One layer of faces more than of cells, and one that stays zero; the next row's or
            // plane's faces at −1 are there too.
            let layers = cells[a].checked_add(2)?;
            len = len.checked_mul(layers)?;
            if a == 0 {
                len = len.checked_next_multiple_of(BLOCK)?;
            }
        }
        let plane = strides[D - 1];
        // A plane before and one after, and blocks that stick out of them.
        let origin = BLOCK + plane + if D == 3 { strides[1] } else { 0 };
        let len = len.checked_add(origin + plane + 2 * BLOCK)?;
        (len < u32::MAX as usize).then_some(Shape {
            cells,
            strides,
            origin,
            len,
        })
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

    /// The lattice point at a memory index.
    pub fn point(&self, index: usize) -> [i32; D] {
        // From the plane before the first, so that faces at −1 have their place.
        let mut rest = index - self.index([-1; D]);
        let mut at = [0; D];
        for a in (0..D).rev() {
            at[a] = (rest / self.strides[a]) as i32 - 1;
            rest %= self.strides[a];
        }
        at
    }

    /// Memory index of cell number `k`, x fastest.
    pub fn cell_index(&self, mut k: usize) -> usize {
        let mut index = self.origin;
        for a in 0..D {
            index += k % self.cells[a] * self.strides[a];
            k /= self.cells[a];
        }
        index
    }

    /// Values per row.
    #[inline(always)]
    pub fn row(&self) -> usize {
        self.strides[1]
    }

    /// Blocks per row that may hold faces.
    pub fn row_blocks(&self) -> usize {
        (self.cells[0] + 1).div_ceil(BLOCK)
    }

    /// Rows per plane that may hold faces; a plane is a row in two dimensions.
    pub fn plane_rows(&self) -> usize {
        if D == 3 { self.cells[1] + 1 } else { 1 }
    }

    /// Planes that may hold faces.
    pub fn planes(&self) -> usize {
        self.cells[D - 1] + 1
    }

    /// The first lattice point of row `r` of plane `z`.
    #[inline(always)]
    pub fn row_at(&self, z: usize, r: usize) -> [i32; D] {
        let mut at = [0; D];
        at[1] = r as i32;
        at[D - 1] = z as i32;
        at
    }

    /// The number of a block among those of [`block_count`](Self::block_count).
    #[inline(always)]
    pub fn block(&self, index: usize) -> usize {
        index / BLOCK
    }

    /// Blocks of an array.
    pub fn block_count(&self) -> usize {
        self.len.div_ceil(BLOCK)
    }
}

/// The first cell of row `r` of a dense lattice.
pub fn row_start<const D: usize>(cells: [usize; D], mut r: usize) -> [i32; D] {
    let mut at = [0; D];
    for a in 1..D {
        at[a] = (r % cells[a]) as i32;
        r /= cells[a];
    }
    at
}

/// `at` moved by one along an axis.
#[inline(always)]
pub fn moved<const D: usize>(mut at: [i32; D], axis: usize, by: i32) -> [i32; D] {
    at[axis] += by;
    at
}

/// The axes other than `axis`, in order: the first `D − 1` entries.
#[inline(always)]
pub fn others<const D: usize>(axis: usize) -> [usize; 2] {
    match (D, axis) {
        (2, 0) => [1, 1],
        (2, _) => [0, 0],
        (_, 0) => [1, 2],
        (_, 1) => [0, 2],
        _ => [0, 1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stencils_stay_in_memory_and_apart<const D: usize>(cells: [usize; D]) {
        let shape = Shape::new(cells).expect("a small lattice");
        let mut faces = std::collections::HashSet::new();
        for z in 0..shape.planes() {
            for r in 0..shape.plane_rows() {
                for x in 0..=cells[0] {
                    let mut at = shape.row_at(z, r);
                    at[0] = x as i32;
                    let index = shape.index(at);
                    assert!(faces.insert(index));
                    for a in 0..D {
                        for b in 0..D {
                            // Faces reach along one axis, or up one and down another.
                            let beyond = shape.strides[a] + BLOCK;
                            assert!(index >= shape.strides[b] && index + beyond <= shape.len);
                        }
                    }
                }
            }
        }
        for z in 0..shape.planes() {
            for r in 0..shape.plane_rows() {
                for x in 0..=cells[0] {
                    let mut at = shape.row_at(z, r);
                    at[0] = x as i32;
                    for a in 0..D {
                        let low = moved(at, a, -1);
                        let high = moved(at, a, 1);
                        assert_eq!(low[a] < 0, !faces.contains(&shape.index(low)));
                        let beyond = high[a] > cells[a] as i32;
                        assert_eq!(beyond, !faces.contains(&shape.index(high)));
                    }
                }
            }
        }
    }

    #[test]
    fn stencils_stay_in_memory_and_apart_2d() {
        stencils_stay_in_memory_and_apart([13, 5]);
        stencils_stay_in_memory_and_apart([1, 1]);
    }

    #[test]
    fn stencils_stay_in_memory_and_apart_3d() {
        stencils_stay_in_memory_and_apart([7, 3, 5]);
        stencils_stay_in_memory_and_apart([14, 1, 2]);
    }

    #[test]
    fn rows_begin_on_block_borders() {
        let shape = Shape::new([13, 5, 4]).expect("a small lattice");
        assert_eq!(shape.origin % BLOCK, 0);
        assert!(shape.strides[1..].iter().all(|s| s % BLOCK == 0));
    }

    #[test]
    fn absurd_sizes_are_refused() {
        assert!(Shape::new([usize::MAX, 4]).is_none());
        assert!(Shape::new([1 << 20, 1 << 20, 1 << 20]).is_none());
    }
}
