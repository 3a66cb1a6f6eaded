//! What fills the cells around a low corner of a cell, and means over it.

use super::ground::{Contents, Octants};
use super::shape::others;

/// The cells that share a corner or an edge of a cell's low corner: by the bits of the axes along
/// which they are one lower.
pub struct Around<const D: usize>([Octants; 8]);

/// Some octants, added up.
#[derive(Clone, Copy, Default)]
struct Sum {
    /// How many there are.
    count: f32,
    /// Shares filled.
    fill: f32,
    /// The same times the stiffness.
    stiff: f32,
}

impl<const D: usize> Around<D> {
    /// Looks around the low corner of a cell.
    #[inline]
    pub fn new(ground: &impl Contents<D>, at: [i32; D]) -> Self {
        let mut around = [Octants::default(); 8];
        // Nothing is shared with the cell across the corner of three axes.
        for (sides, octants) in around.iter_mut().enumerate().take(4 + 3 * (D - 2)) {
            let cell = std::array::from_fn(|a| at[a] - (sides >> a & 1) as i32);
            *octants = ground.octants(cell);
        }
        Around(around)
    }

    /// Whether there is nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        let Around(cells) = self;
        cells
            .iter()
            .all(|cell| cell.share.iter().all(|&s| s <= 0.0))
    }

    /// Mean stiffness of the cell itself, with nothing counting as none.
    #[inline]
    pub fn cell(&self) -> f32 {
        mean(&[self.sum::<8>(0, [0, 1, 2])]).1
    }

    /// Mean fill of the box of a cell's size around a low face.
    #[inline]
    pub fn face(&self, axis: usize) -> f32 {
        let [b, c] = others::<D>(axis);
        let [own, low] = [0, 1 << axis].map(|sides| self.sum::<4>(sides, [b, c, 0]));
        mean(&[own, low]).0
    }

    /// Mean stiffness of that around a low edge.
    #[inline]
    pub fn edge(&self, a: usize, b: usize) -> f32 {
        let c = 3 - a - b;
        let sides = [0, 1 << a | 1 << b, 1 << a, 1 << b];
        // Cells across the edge first, as the kernels do it.
        let [p, s, q, r] = sides.map(|sides| self.sum::<2>(sides, [c, 0, 0]));
        mean(&[p.and(s), q.and(r)]).1
    }

    /// The sum over the octants of one of the cells that are next to the corner along all axes but
    /// those given, of which there are as many as double to `N`.
    #[inline(always)]
    fn sum<const N: usize>(&self, sides: usize, along: [usize; 3]) -> Sum {
        let cell = &self.0[sides];
        let mut sum = Sum::default();
        for k in 0..N >> (3 - D) {
            let octant = (0..3).fold(sides, |o, n| o | (k >> n & 1) << along[n]);
            sum.fill += cell.share[octant];
            sum.count += 1.0;
        }
        sum.stiff = sum.fill * cell.stiffness;
        sum
    }
}

impl Sum {
    #[inline(always)]
    fn and(self, other: Sum) -> Sum {
        Sum {
            count: self.count + other.count,
            fill: self.fill + other.fill,
            stiff: self.stiff + other.stiff,
        }
    }
}

/// Mean fill and stiffness.
#[inline(always)]
fn mean(sums: &[Sum]) -> (f32, f32) {
    let sum = sums
        .iter()
        .fold(Sum::default(), |sum, other| sum.and(*other));
    (sum.fill / sum.count, sum.stiff / sum.count)
}
