//! What a level is made of, cell by cell.

use rayon::prelude::*;

use super::body::{Body, Fill};
use super::dense::{gather, linear, spread};
use super::shape::{Shape, moved, row_start};
use super::spans::Spans;

/// No closer than this may a wall come to a free face, in cell sides: the stiffness between the
/// two grows as one over the distance.
const SMALLEST_DISTANCE: f64 = 0.05;

/// How far beyond the lattice nothing is asked for any more.
const FAR: f64 = 1e3;

/// What fills a cell.
#[derive(Clone, Copy, Debug, Default)]
pub struct Octants {
    /// The share of each octant that is filled, x fastest.
    pub share: [f32; 8],
    /// The stiffness of what there is.
    pub stiffness: f32,
}

/// What there is in a cell.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Something, be it inside an obstacle.
    pub is_there: bool,
    /// All of it.
    pub is_full: bool,
    /// All of it, and no face is held, but for those on sides of the lattice.
    pub is_plain: bool,
}

/// What there is on a level. Cells may lie one beyond the lattice.
pub trait Contents<const D: usize>: Sync {
    /// What fills a cell; those beyond walls are mirrored.
    fn octants(&self, cell: [i32; D]) -> Octants;
    /// What kind of cell one of the lattice is.
    fn kind(&self, cell: [i32; D]) -> Kind;
    /// Outside of which cells all is empty, if that is known.
    fn spans(&self) -> Option<&Spans<D>> {
        None
    }
}

/// What the rows of the finest level are computed from.
pub trait Ground<const D: usize>: Contents<D> {
    /// Whether a wall or an obstacle may hold a face of a place's samples.
    fn has_walls_near(&self, at: [i32; D]) -> bool;
    /// Whether a face is held by a wall or an obstacle.
    fn is_held(&self, axis: usize, face: [i32; D]) -> bool;
    /// The distance of a free face from the wall on the way to a held one, in cell sides.
    fn gap(&self, axis: usize, free: [i32; D], held: [i32; D]) -> f64;
    /// Whether the wall beside the cell has let go.
    fn lets_go(&self, cell: [i32; D]) -> bool;
    /// Whether a face or an edge at this coordinate along an axis lies on an open side, with
    /// nothing beyond.
    fn is_on_open_side(&self, axis: usize, at: i32) -> bool;
}

/// What coarser levels are made from.
pub trait Fine<const D: usize>: Sync {
    /// Cells along each axis.
    fn cells(&self) -> [usize; D];
    /// Which sides are open; beyond the others there is a wall. What knows no walls has open ones.
    fn open(&self) -> [[bool; 2]; D];
    /// Whether the middle of a cell is in an obstacle. What knows no walls has none.
    fn is_solid(&self, cell: [i32; D]) -> bool;
    /// The share of a cell that is filled and not solid.
    fn share(&self, cell: [i32; D]) -> f32;
    /// Whether a cell is full and no wall holds a face of it.
    fn is_plain(&self, cell: [i32; D]) -> bool;
    /// The stiffness in a cell, relative to the level's.
    fn relative_stiffness(&self, cell: [i32; D]) -> f32;
    /// Outside of which cells all is empty, if that is known.
    fn spans(&self) -> Option<&Spans<D>> {
        None
    }
}

/// A body as sampled on the finest level, cropped to where it is.
pub struct Sampled<'a, B, const D: usize> {
    body: &'a B,
    /// The first cell of the crop.
    pub offset: [i32; D],
    /// Cells of the crop.
    pub cells: [usize; D],
    /// Which sides are open: those of the body, and all where the crop ends before it.
    pub open: [[bool; 2]; D],
    /// The stiffness, if it is the same everywhere.
    pub uniform: Option<f32>,
    /// The stiffness of cells that are not empty, if it varies: asking the body may be dear, and a
    /// cell is part of many samples.
    varied: Option<Vec<f32>>,
    /// Where there may be something.
    spans: Spans<D>,
    /// Where the body was asked whether obstacles are near.
    asked: Spans<D>,
    codes: Vec<u32>,
    /// Octants of partly filled cells, by plane.
    parts: Vec<Vec<[f32; 8]>>,
}

/// The part of a body's lattice that is not empty, and what is just beyond it.
pub struct Extent<const D: usize> {
    /// Its first cell.
    pub offset: [i32; D],
    /// Cells along each axis.
    pub cells: [usize; D],
    /// Whether it ends in the open, along each axis on the low and the high side.
    pub open: [[bool; 2]; D],
}

impl<const D: usize> Extent<D> {
    /// Where a body is; `None` if its bounds are empty.
    pub fn of(body: &impl Body<D>) -> Option<Self> {
        let [low, high] = body.bounds();
        let total = body.cells();
        if (0..D).any(|a| low[a] > high[a] || total[a] == 0) {
            return None;
        }
        // Faces may be free one cell beyond what is filled, and take from coarse ones a coarse cell
        // beyond it.
        let offset: [i32; D] = std::array::from_fn(|a| (low[a] - 2).max(0));
        let end: [i32; D] = std::array::from_fn(|a| (high[a] + 3).min(total[a] as i32));
        Some(Extent {
            offset,
            cells: std::array::from_fn(|a| (end[a] - offset[a]) as usize),
            open: std::array::from_fn(|a| {
                [
                    offset[a] > 0 || body.is_open(a, 0),
                    end[a] < total[a] as i32 || body.is_open(a, 1),
                ]
            }),
        })
    }
}

/// Codes of cells: empty, full, or the number of a part.
const EMPTY: u32 = 0;
const FULL: u32 = 1;
const FIRST_PART: u32 = 2;
/// Set where obstacles may be near.
const NEAR: u32 = 1 << 31;

/// So far from what there may be obstacles are asked for beforehand: samples reach no farther.
const REACH: usize = 4;

impl<'a, B: Body<D>, const D: usize> Sampled<'a, B, D> {
    /// Samples a body where it is.
    pub fn new(body: &'a B, extent: Extent<D>) -> Self {
        let Extent {
            offset,
            cells,
            open,
        } = extent;
        let spans = Spans::of(body, offset, cells);
        let asked = spans.dilated(REACH);
        let plane: usize = cells[..D - 1].iter().product();
        let mut codes = vec![EMPTY; plane * cells[D - 1]];
        let parts = codes
            .par_chunks_mut(plane)
            .enumerate()
            .map(|(z, codes)| sample_plane(body, offset, [&spans, &asked], z, codes))
            .collect();
        let mut sampled = Sampled {
            body,
            offset,
            cells,
            open,
            uniform: body.uniform_stiffness().map(|k| k as f32),
            varied: None,
            spans,
            asked,
            codes,
            parts,
        };
        if sampled.uniform.is_none() {
            let stiffness = |cell| match sampled.kind(cell).is_there {
                true => body.stiffness(sampled.global(cell)) as f32,
                false => 0.0,
            };
            sampled.varied = Some(gather(cells, Some(&sampled.spans), stiffness));
        }
        sampled
    }

    /// The stiffness of cells by memory index, if it varies.
    pub fn graded(&self, shape: &Shape<D>) -> Option<Vec<f32>> {
        let varied = self.varied.as_ref()?;
        Some(spread(shape, varied, Some(&self.spans), 1.0))
    }

    /// Whether stiffnesses and shares are numbers, and none below zero.
    pub fn is_finite(&self) -> bool {
        let good = |v: &f32| v.is_finite() && *v >= 0.0;
        let all_good = |part: &Vec<[f32; 8]>| part.iter().flatten().all(good);
        self.uniform.as_ref().is_none_or(good)
            && self.varied.as_ref().is_none_or(|values| {
                let rows = values.par_chunks(self.cells[0]).enumerate();
                rows.with_min_len(64).all(|(r, row)| {
                    let within = self.spans.row(row_start(self.cells, r));
                    row[within].iter().all(good)
                })
            })
            && self.parts.par_iter().all(all_good)
    }

    fn global(&self, at: [i32; D]) -> [i32; D] {
        std::array::from_fn(|a| at[a] + self.offset[a])
    }

    #[inline]
    fn code(&self, cell: [i32; D]) -> u32 {
        self.codes[linear(self.cells, cell)]
    }

    #[inline]
    fn contains(&self, cell: [i32; D]) -> bool {
        (0..D).all(|a| cell[a] >= 0 && (cell[a] as usize) < self.cells[a])
    }

    /// The stiffness of a cell in the lattice that is not empty.
    #[inline]
    fn stiffness(&self, cell: [i32; D]) -> f32 {
        match &self.varied {
            Some(varied) => varied[linear(self.cells, cell)],
            None => self.uniform.unwrap_or(1.0),
        }
    }

    /// The stiffness of a cell `beyond` a wall, of which `cell` is the mirror image: as it goes on
    /// from the two cells inside, so that it is right at the wall itself, but within a factor of
    /// two. Mirrored, it would be half a cell off there, and flows by the wall wrong in proportion
    /// to the cell side.
    fn stiffness_beyond(&self, beyond: [i32; D], cell: [i32; D]) -> f32 {
        let first = self.stiffness(cell);
        if self.uniform.is_some() {
            return first;
        }
        let mut value = first;
        for a in 0..D {
            let second = moved(cell, a, cell[a] - beyond[a]);
            if cell[a] != beyond[a] && self.contains(second) && self.code(second) & !NEAR != EMPTY {
                value += first - self.stiffness(second);
            }
        }
        value.clamp(0.5 * first, 2.0 * first)
    }

    #[inline]
    fn is_near(&self, cell: [i32; D]) -> bool {
        if !self.contains(cell) {
            return false;
        }
        let code = self.code(cell);
        // Coarse labels ask far away too.
        let is_unasked = || code == EMPTY && !self.asked.contains(cell);
        code & NEAR != 0 || is_unasked() && self.body.is_near_obstacle(self.global(cell))
    }

    /// Whether an obstacle may be near one of the cells of a face.
    #[inline]
    fn is_beside_near(&self, axis: usize, face: [i32; D]) -> bool {
        self.is_near(face) || self.is_near(moved(face, axis, -1))
    }

    /// Distance of a face to obstacles and closed sides.
    fn distance(&self, axis: usize, face: [i32; D]) -> f64 {
        let mut distance = FAR;
        for a in 0..D {
            let position = f64::from(face[a]) + if a == axis { 0.0 } else { 0.5 };
            if !self.open[a][0] {
                distance = distance.min(position);
            }
            if !self.open[a][1] {
                distance = distance.min(self.cells[a] as f64 - position);
            }
        }
        if distance > 0.0 && self.is_beside_near(axis, face) {
            distance = distance.min(self.body.distance(axis, self.global(face)));
        }
        distance
    }

    /// Whether the middle of a cell is in an obstacle.
    fn is_in_obstacle(&self, cell: [i32; D]) -> bool {
        // Faces of one cell are no more than a cell side apart.
        let is_far = || self.body.distance(0, self.global(cell)) > 2.0;
        if !self.is_near(cell) || is_far() {
            return false;
        }
        let mut sum = 0.0;
        for a in 0..D {
            for side in 0..2 {
                let face = moved(cell, a, side);
                sum += self.body.distance(a, self.global(face));
            }
        }
        sum <= 0.0
    }
}

fn sample_plane<B: Body<D>, const D: usize>(
    body: &B,
    offset: [i32; D],
    [spans, asked]: [&Spans<D>; 2],
    z: usize,
    codes: &mut [u32],
) -> Vec<[f32; 8]> {
    let mut parts = Vec::new();
    let width = spans.cells()[0];
    for (y, codes) in codes.chunks_mut(width).enumerate() {
        let mut row = [0; D];
        if D == 3 {
            row[1] = y as i32;
        }
        row[D - 1] = z as i32;
        let filled = spans.row(row);
        for x in asked.row(row) {
            row[0] = x as i32;
            let at = std::array::from_fn(|a| row[a] + offset[a]);
            let fill = if filled.contains(&x) {
                body.fill(at)
            } else {
                Fill::Empty
            };
            let code = &mut codes[x];
            *code = match fill {
                Fill::Empty => EMPTY,
                Fill::Full => FULL,
                Fill::Part(octants) => {
                    parts.push(octants.map(|v| v.clamp(0.0, 1.0)));
                    FIRST_PART + parts.len() as u32 - 1
                }
            };
            if body.is_near_obstacle(at) {
                *code |= NEAR;
            }
        }
    }
    parts
}

/// The cell within a closed lattice whose mirror image this one is, and the bits of the axes along
/// which it is mirrored; `None` beyond open sides.
pub fn mirrored<const D: usize>(
    mut cell: [i32; D],
    cells: [usize; D],
    open: &[[bool; 2]; D],
) -> Option<([i32; D], usize)> {
    let mut flips = 0;
    for a in 0..D {
        let n = cells[a] as i32;
        if cell[a] < 0 {
            if open[a][0] {
                return None;
            }
            cell[a] = (-1 - cell[a]).min(n - 1);
            flips |= 1 << a;
        } else if cell[a] >= n {
            if open[a][1] {
                return None;
            }
            cell[a] = (2 * n - 1 - cell[a]).max(0);
            flips |= 1 << a;
        }
    }
    Some((cell, flips))
}

impl<B: Body<D>, const D: usize> Contents<D> for Sampled<'_, B, D> {
    #[inline]
    fn octants(&self, asked: [i32; D]) -> Octants {
        let Some((cell, flips)) = mirrored(asked, self.cells, &self.open) else {
            return Octants::default();
        };
        let share = match self.code(cell) & !NEAR {
            EMPTY => return Octants::default(),
            FULL => [1.0; 8],
            part => {
                let part = &self.parts[cell[D - 1] as usize][(part - FIRST_PART) as usize];
                match flips {
                    0 => *part,
                    _ => std::array::from_fn(|o| part[o ^ flips]),
                }
            }
        };
        let stiffness = match flips {
            0 => self.stiffness(cell),
            _ => self.stiffness_beyond(asked, cell),
        };
        Octants { share, stiffness }
    }

    #[inline]
    fn kind(&self, cell: [i32; D]) -> Kind {
        let code = self.code(cell);
        Kind {
            is_there: code & !NEAR != EMPTY,
            is_full: code & !NEAR == FULL,
            is_plain: code == FULL,
        }
    }

    fn spans(&self) -> Option<&Spans<D>> {
        Some(&self.spans)
    }
}

impl<B: Body<D>, const D: usize> Ground<D> for Sampled<'_, B, D> {
    fn has_walls_near(&self, at: [i32; D]) -> bool {
        let at_side = (0..D).any(|a| {
            (at[a] <= 0 && !self.open[a][0])
                || (at[a] + 1 >= self.cells[a] as i32 && !self.open[a][1])
        });
        at_side || self.is_near(at) || (0..D).any(|a| self.is_near(moved(at, a, -1)))
    }

    #[inline]
    fn is_held(&self, axis: usize, face: [i32; D]) -> bool {
        // Whether the distance is zero or less, without computing it where no obstacle is near.
        let at_side = (0..D).any(|a| {
            (face[a] < i32::from(a == axis) && !self.open[a][0])
                || (face[a] >= self.cells[a] as i32 && !self.open[a][1])
        });
        at_side || (self.is_beside_near(axis, face) && self.distance(axis, face) <= 0.0)
    }

    fn gap(&self, axis: usize, free: [i32; D], held: [i32; D]) -> f64 {
        let (free, held) = (self.distance(axis, free), self.distance(axis, held));
        (free / (free - held)).clamp(SMALLEST_DISTANCE, 1.0)
    }

    fn lets_go(&self, cell: [i32; D]) -> bool {
        self.contains(cell) && self.body.lets_go(self.global(cell))
    }

    fn is_on_open_side(&self, axis: usize, at: i32) -> bool {
        (at <= 0 && self.open[axis][0]) || (at >= self.cells[axis] as i32 && self.open[axis][1])
    }
}

impl<B: Body<D>, const D: usize> Fine<D> for Sampled<'_, B, D> {
    fn cells(&self) -> [usize; D] {
        self.cells
    }

    fn open(&self) -> [[bool; 2]; D] {
        self.open
    }

    fn is_solid(&self, cell: [i32; D]) -> bool {
        self.is_in_obstacle(cell)
    }

    fn share(&self, cell: [i32; D]) -> f32 {
        match self.code(cell) & !NEAR {
            EMPTY => 0.0,
            _ if self.is_in_obstacle(cell) => 0.0,
            FULL => 1.0,
            part => {
                let part = &self.parts[cell[D - 1] as usize][(part - FIRST_PART) as usize];
                part[..1 << D].iter().sum::<f32>() / (1 << D) as f32
            }
        }
    }

    fn is_plain(&self, cell: [i32; D]) -> bool {
        let is_held = |a: usize| [0, 1].iter().any(|&by| self.is_held(a, moved(cell, a, by)));
        let code = self.code(cell);
        code == FULL || code == FULL | NEAR && !(0..D).any(is_held)
    }

    fn relative_stiffness(&self, cell: [i32; D]) -> f32 {
        if self.uniform.is_some() {
            return 1.0;
        }
        self.stiffness(cell)
    }

    fn spans(&self) -> Option<&Spans<D>> {
        Some(&self.spans)
    }
}
