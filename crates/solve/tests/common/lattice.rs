//! Pressure problems of liquids in curved tanks: cut cells, ghost fluid, walls that let go.

use plash_solve::{Csr, NullSpace, Places, Problem};

use super::from_rows;

/// A pressure problem and where its unknowns lie.
pub struct Lattice {
    /// The matrix, in units of 1/Δx² with Δx = 1.
    pub a: Csr,
    /// Minus the divergence of the velocity before projection.
    pub b: Vec<f64>,
    /// Liquid cells that touch a wall.
    pub constrained: Vec<bool>,
    /// 2 or 3.
    pub dimensions: usize,
    /// Cells of the unknowns.
    pub at: Vec<[i32; 3]>,
}

impl Lattice {
    /// The complementarity problem.
    pub fn problem<'a>(&'a self, null_space: &'a NullSpace) -> Problem<'a> {
        Problem {
            constrained: &self.constrained,
            places: Some(self.places()),
            ..Problem::linear(&self.a, &self.b, null_space)
        }
    }

    /// The places alone.
    pub fn places(&self) -> Places<'_> {
        Places {
            dimensions: self.dimensions,
            at: &self.at,
        }
    }

    /// How many unknowns touch a wall.
    pub fn walls(&self) -> usize {
        self.constrained.iter().filter(|&&c| c).count()
    }
}

/// A tank with liquid in it, in the unit square or cube.
#[derive(Clone, Copy)]
pub struct Tank {
    /// 2 or 3.
    pub dimensions: usize,
    /// Cells along a side.
    pub cells: i32,
    /// Where the liquid ends: it fills the ball left of this `x`.
    pub surface: f64,
    /// The height, in cells, of a thin horizontal plate of no thickness across the middle.
    pub plate: Option<i32>,
}

impl Tank {
    /// The left half of a ball of radius 0.4 (in two dimensions a disc).
    pub fn half_ball(dimensions: usize, cells: i32) -> Tank {
        Tank {
            dimensions,
            cells,
            surface: 0.5,
            plate: None,
        }
    }

    /// The same with a plate at a height, in cells, above the middle.
    pub fn with_plate(self, above_the_middle: i32) -> Tank {
        Tank {
            plate: Some(self.cells / 2 + above_the_middle),
            ..self
        }
    }

    /// A ball filled to the last cell: singular.
    pub fn full_ball(dimensions: usize, cells: i32) -> Tank {
        Tank {
            surface: 2.0,
            ..Tank::half_ball(dimensions, cells)
        }
    }

    /// Distance to the wall of a point given in cells, positive inside.
    fn wall(&self, node: [i32; 3]) -> f64 {
        let mut squared = 0.0;
        for axis in 0..self.dimensions {
            squared += (f64::from(node[axis]) / f64::from(self.cells) - 0.5).powi(2);
        }
        0.4 - squared.sqrt()
    }

    /// Height of the free surface above the centre of a cell, negative in the liquid; slightly
    /// wavy, so that no distance is special.
    fn level(&self, cell: [i32; 3]) -> f64 {
        let at = cell.map(|x| (f64::from(x) + 0.5) / f64::from(self.cells));
        at[0] - self.surface - 0.02 * (9.0 * at[1]).sin() - 0.015 * (7.0 * at[2]).cos()
    }

    /// The open share of the lower face of a cell along an axis.
    fn open(&self, cell: [i32; 3], axis: usize) -> f64 {
        if axis == 1
            && self.plate == Some(cell[1])
            && (f64::from(cell[0]) + 0.5) / f64::from(self.cells) > 0.2
        {
            return 0.0;
        }
        let across: Vec<usize> = (0..self.dimensions).filter(|&k| k != axis).collect();
        let corner = |offsets: [i32; 2]| {
            let mut node = cell;
            for (k, &axis) in across.iter().enumerate() {
                node[axis] += offsets[k];
            }
            self.wall(node)
        };
        let share = if self.dimensions == 2 {
            open_share(corner([0, 0]), corner([1, 0]))
        } else {
            const LINES: usize = 8;
            let line = |k: usize| {
                let t = (k as f64 + 0.5) / LINES as f64;
                let blend = |x| (1.0 - t) * corner([x, 0]) + t * corner([x, 1]);
                open_share(blend(0), blend(1))
            };
            (0..LINES).map(line).sum::<f64>() / LINES as f64
        };
        if share > 0.0 { share.max(0.01) } else { 0.0 }
    }

    /// A splash: the liquid rises along the walls and swirls.
    fn velocity(&self, cell: [i32; 3], axis: usize) -> f64 {
        let mut at = cell.map(|x| (f64::from(x) + 0.5) / f64::from(self.cells) - 0.5);
        at[axis] -= 0.5 / f64::from(self.cells);
        let [x, y, z] = at;
        match axis {
            0 => -0.2 - 2.0 * y + (20.0 * z).sin() * 0.1,
            1 => 1.0 + 2.0 * x + (15.0 * x).sin() * 0.3,
            _ => 0.2 * (10.0 * y).cos(),
        }
    }

    /// Discretises the tank.
    pub fn build(self) -> Lattice {
        let n = self.cells;
        let depth = if self.dimensions == 3 { n } else { 1 };
        let index = |[x, y, z]: [i32; 3]| {
            let inside = (0..n).contains(&x) && (0..n).contains(&y) && (0..depth).contains(&z);
            inside.then_some(((z * n + y) * n + x) as usize)
        };
        let sides = |cell: [i32; 3]| {
            (0..self.dimensions).flat_map(move |axis| {
                let (mut low, mut high) = (cell, cell);
                low[axis] -= 1;
                high[axis] += 1;
                [(axis, cell, low, -1.0), (axis, high, high, 1.0)]
            })
        };
        let mut number = vec![usize::MAX; (n * n * depth) as usize];
        let mut at = Vec::new();
        for z in 0..depth {
            for y in 0..n {
                for x in 0..n {
                    let cell = [x, y, z];
                    let wet = self.level(cell) < 0.0
                        && sides(cell).any(|(axis, face, _, _)| self.open(face, axis) > 0.0);
                    if let (true, Some(k)) = (wet, index(cell)) {
                        number[k] = at.len();
                        at.push(cell);
                    }
                }
            }
        }
        let (mut rows, mut b, mut constrained) = (Vec::new(), Vec::new(), Vec::new());
        for (i, &cell) in at.iter().enumerate() {
            let (mut row, mut diagonal, mut divergence, mut wall) = (Vec::new(), 0.0, 0.0, false);
            for (axis, face, other, sign) in sides(cell) {
                let open = self.open(face, axis);
                wall |= open < 1.0;
                divergence += sign * open * self.velocity(face, axis);
                if open == 0.0 {
                    continue;
                }
                if let Some(j) = index(other).map(|k| number[k]).filter(|&j| j != usize::MAX) {
                    row.push((j, -open));
                    diagonal += open;
                } else {
                    let (here, there) = (self.level(cell), self.level(other));
                    diagonal += open / (here / (here - there)).max(0.01);
                }
            }
            row.push((i, diagonal));
            rows.push(row);
            b.push(-divergence * f64::from(n));
            constrained.push(wall);
        }
        Lattice {
            a: from_rows(rows),
            b,
            constrained,
            dimensions: self.dimensions,
            at,
        }
    }
}

/// The share of a line on which a linear function is positive.
fn open_share(from: f64, to: f64) -> f64 {
    match (from > 0.0, to > 0.0) {
        (true, true) => 1.0,
        (false, false) => 0.0,
        (true, false) => from / (from - to),
        (false, true) => to / (to - from),
    }
}
