//! What coarse levels are made of.

use super::dense::{gather, linear, spread};
use super::ground::{Fine, Ground, Kind, Octants, mirrored};
use super::shape::{Shape, moved};

/// Coarse samples that are not empty weigh at least this share of full ones: slivers that come
/// and go from level to level would spoil the smoothers. Three times as much costs bodies with limbs
/// a fifth more iterations, half as much hardly saves any.
const LEAST_COARSE: f32 = 0.1;

/// A coarse level: its octants are the cells of the next finer one.
pub struct Coarsened<const D: usize> {
    cells: [usize; D],
    open: [[bool; 2]; D],
    /// The level's stiffness; relative ones are multiplied by it.
    pub stiffness: f32,
    children: Children<D>,
    /// Shares of the finer level's cells, padded to whole coarse cells; negative where solid.
    octant_share: Vec<f32>,
    share: Vec<f32>,
    relative: Option<Vec<f32>>,
}

/// Where the `2^D` children of cells are among the padded cells of the finer level.
struct Children<const D: usize> {
    padded: [usize; D],
    /// From the first child to each.
    steps: [usize; 8],
}

impl<const D: usize> Children<D> {
    fn new(padded: [usize; D]) -> Self {
        let step = |o: usize| {
            let by = std::array::from_fn(|a| (o >> a & 1) as i32);
            linear(padded, by)
        };
        let mut steps = [0; 8];
        for (o, by) in steps.iter_mut().enumerate().take(1 << D) {
            *by = step(o);
        }
        Children { padded, steps }
    }

    /// What the children of a cell have of something, x fastest.
    #[inline]
    fn of<'a>(&self, cell: [i32; D], values: &'a [f32]) -> impl Iterator<Item = &'a f32> {
        let first = linear(self.padded, cell.map(|x| 2 * x));
        let steps = self.steps;
        (0..1usize << D).map(move |o| &values[first + steps[o]])
    }
}

/// Child number `o` of a cell.
fn child<const D: usize>(cell: [i32; D], o: usize) -> [i32; D] {
    std::array::from_fn(|a| 2 * cell[a] + (o >> a & 1) as i32)
}

impl<const D: usize> Coarsened<D> {
    /// The level above `fine`, with cells of twice the side.
    pub fn new(fine: &impl Fine<D>, stiffness: f32, is_uniform: bool) -> Self {
        let finer = fine.cells();
        let cells = finer.map(|n| n.div_ceil(2));
        let padded = cells.map(|n| 2 * n);
        let open = std::array::from_fn(|a| [fine.is_open(a, 0), fine.is_open(a, 1)]);
        let beyond = |at: &[i32; D]| {
            (0..D)
                .find(|&a| at[a] as usize >= finer[a])
                .map(|a| if fine.is_open(a, 1) { 0.0 } else { -1.0 })
        };
        let octant_share = gather(padded, |at| beyond(&at).unwrap_or_else(|| fine.share(at)));
        let children = Children::new(padded);
        let share = gather(cells, |cell| {
            let (mut sum, mut solid) = (0.0, 0);
            for &share in children.of(cell, &octant_share) {
                sum += share.max(0.0);
                solid += u32::from(share < 0.0);
            }
            // With a single solid child enough, as in the paper, walls would grow by half a cell
            // from level to level, which costs the sine test two iterations of seven. Posts and
            // rods thinner than that are left to the finer levels.
            if solid >= 1 << (D - 1) {
                return -1.0;
            }
            sum / ((1 << D) - solid) as f32
        });
        let relative = (!is_uniform).then(|| {
            gather(cells, |cell| {
                let (mut sum, mut weight) = (0.0, 0.0);
                for (o, &share) in children.of(cell, &octant_share).enumerate() {
                    if share > 0.0 {
                        sum += share * fine.relative_stiffness(child(cell, o));
                        weight += share;
                    }
                }
                if weight > 0.0 { sum / weight } else { 0.0 }
            })
        });
        Coarsened {
            cells,
            open,
            stiffness,
            children,
            octant_share,
            share,
            relative,
        }
    }

    /// The stiffness of cells by memory index, if it varies.
    pub fn graded(&self, shape: &Shape<D>) -> Option<Vec<f32>> {
        let relative = self.relative.as_ref()?;
        Some(spread(shape, relative, self.stiffness))
    }

    /// Whether a child of a cell is solid. The cell may be full all the same, but its samples are
    /// means over what is not solid, and not those of the interior.
    fn has_solid_part(&self, cell: [i32; D]) -> bool {
        let mut children = self.children.of(cell, &self.octant_share);
        children.any(|&share| share < 0.0)
    }

    fn is_solid(&self, cell: [i32; D]) -> bool {
        for a in 0..D {
            if cell[a] < 0 || cell[a] >= self.cells[a] as i32 {
                return !self.open[a][usize::from(cell[a] >= 0)];
            }
        }
        self.share[linear(self.cells, cell)] < 0.0
    }
}

impl<const D: usize> Ground<D> for Coarsened<D> {
    fn octants(&self, cell: [i32; D]) -> Octants {
        let Some((cell, flips)) = mirrored(cell, self.cells, &self.open) else {
            return Octants::default();
        };
        let mut share = [0.0; 8];
        for (o, &found) in self.children.of(cell, &self.octant_share).enumerate() {
            share[o ^ flips] = found;
        }
        let stiffness = self.relative_stiffness(cell) * self.stiffness;
        Octants { share, stiffness }
    }

    fn has_walls_near(&self, at: [i32; D]) -> bool {
        // All cells that a face of the place's samples touches. Most lie in the lattice, and need
        // no questions whether they do.
        if (0..D).all(|a| at[a] > 0 && at[a] + 1 < self.cells[a] as i32) {
            return (0..3usize.pow(D as u32 - 1)).any(|k| {
                let mut low = at.map(|x| x - 1);
                low[1] += (k % 3) as i32;
                low[D - 1] += (k / 3) as i32;
                let first = linear(self.cells, low);
                self.share[first..first + 3]
                    .iter()
                    .any(|&share| share < 0.0)
            });
        }
        (0..3usize.pow(D as u32)).any(|k| {
            let mut rest = k;
            self.is_solid(std::array::from_fn(|a| {
                let by = (rest % 3) as i32 - 1;
                rest /= 3;
                at[a] + by
            }))
        })
    }

    fn is_held(&self, axis: usize, face: [i32; D]) -> bool {
        self.is_solid(face) || self.is_solid(moved(face, axis, -1))
    }

    fn gap(&self, axis: usize, free: [i32; D], held: [i32; D]) -> f64 {
        // Walls lie on cell borders: at the held face along its own axis, half way across it.
        if free[axis] == held[axis] { 0.5 } else { 1.0 }
    }

    fn lets_go(&self, _: [i32; D]) -> bool {
        false
    }

    #[inline]
    fn kind(&self, cell: [i32; D]) -> Kind {
        let share = self.share(cell);
        let is_full = share == 1.0;
        let is_held = |a: usize| [-1, 1].iter().any(|&by| self.is_solid(moved(cell, a, by)));
        Kind {
            is_there: share > 0.0,
            is_full,
            is_plain: is_full && !self.has_solid_part(cell) && !(0..D).any(is_held),
        }
    }

    fn is_on_open_side(&self, axis: usize, at: i32) -> bool {
        (at <= 0 && self.open[axis][0]) || (at >= self.cells[axis] as i32 && self.open[axis][1])
    }

    fn least(&self) -> f32 {
        LEAST_COARSE
    }
}

impl<const D: usize> Fine<D> for Coarsened<D> {
    fn cells(&self) -> [usize; D] {
        self.cells
    }

    fn is_open(&self, axis: usize, side: usize) -> bool {
        self.open[axis][side]
    }

    fn share(&self, cell: [i32; D]) -> f32 {
        self.share[linear(self.cells, cell)]
    }

    fn relative_stiffness(&self, cell: [i32; D]) -> f32 {
        self.relative
            .as_ref()
            .map_or(1.0, |r| r[linear(self.cells, cell)])
    }
}
