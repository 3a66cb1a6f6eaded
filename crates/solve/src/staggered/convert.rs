//! Recovering the lattice from a sparse matrix and the places of its unknowns.
//!
//! A row tells the weights of the samples that its face shares with other unknowns. What is left
//! of its diagonal is the face's mass and the weights of samples that it shares with held faces
//! alone: the two cannot be told apart in one row, but masses are alike, and weights at walls
//! much larger.

use super::ground::Fine;
use super::level::Level;
use super::places::Faces;
use super::row::Row;
use super::shape::{Shape, others};
use crate::csr::Csr;
use crate::operator::Operator;

/// No unknown at this face.
const NONE: u32 = u32::MAX;

/// How far entries of one sample may differ, relative to the row's diagonal.
const AGREEMENT: f64 = 1e-6;

/// A rest of more than this many masses is a wall's doing.
const WALL: f32 = 1.5;

/// Rows looked at to find what is usual.
const SAMPLE: usize = 1 << 16;

/// The share of cells that must be as stiff as the usual one for all to count as that.
const MOSTLY: f64 = 0.75;

/// Cells beyond an open side: coarse faces there need room.
const MARGIN: i32 = 2;

/// Cells behind the first of a wall that count as wall too.
const THICKNESS: usize = 8;

/// What a matrix says of a staggered lattice.
pub struct Converted<const D: usize> {
    /// The finest level, over rows divided by [`mass`](Self::mass).
    pub level: Level<D>,
    /// What the coarser ones are made of.
    pub cells: Cells<D>,
    /// The usual mass of a face.
    pub mass: f64,
    /// The component and memory index of each unknown.
    pub faces: Vec<(u8, u32)>,
}

/// Unknowns on a lattice, and what their rows say.
struct Lattice<const D: usize> {
    shape: Shape<D>,
    /// The number of the unknown at each face, by component and memory index.
    number: [Vec<u32>; D],
    faces: Vec<(u8, u32)>,
    /// By number: masses are rests of diagonals, bounds not known.
    rows: Vec<Row>,
}

/// Shares and stiffnesses of cells, for coarsening.
pub struct Cells<const D: usize> {
    cells: [usize; D],
    open: [[bool; 2]; D],
    share: Vec<f32>,
    /// Stiffness by cell, if it varies.
    stiffness: Option<Vec<f32>>,
}

impl<const D: usize> Converted<D> {
    /// Takes over a matrix.
    ///
    /// # Errors
    /// Why it is not one of a staggered lattice.
    pub fn new(a: &Csr, faces: &Faces<'_>) -> Result<Self, &'static str> {
        let places = faces.places::<D>(a)?;
        let mut lattice = Lattice::new(&places, faces.components, [[0; 2]; D])?;
        lattice.read(a)?;
        let mass = lattice.normalise();
        let open = lattice.open_sides(&lattice.held());
        let margins = open.map(|sides| sides.map(|is_open| if is_open { MARGIN } else { 0 }));
        let rows = std::mem::take(&mut lattice.rows);
        drop(lattice);
        let lattice = Lattice {
            rows,
            ..Lattice::new(&places, faces.components, margins)?
        };
        let held = lattice.held();
        let usual = lattice.usual_stiffness();
        let cells = Cells::new(&lattice, &held, open, usual);
        let graded = cells.graded(&lattice.shape);
        let level = Level::from_rows(
            lattice.shape,
            usual.unwrap_or(1.0),
            graded,
            |axis, index| lattice.row(axis, index),
        );
        Ok(Converted {
            level,
            cells,
            mass: f64::from(mass),
            faces: lattice.faces,
        })
    }
}

/// The faces of a sample but the one at `index`, of which it is on a side: those of the cell or
/// edge number `k`, cells first, then the edges along the other axes.
#[derive(Clone, Copy)]
struct Sample {
    members: [(usize, usize); 3],
    count: usize,
}

impl Sample {
    fn cell<const D: usize>(shape: &Shape<D>, axis: usize, index: usize, side: usize) -> Self {
        let s = shape.strides[axis];
        let other = if side == 0 { index - s } else { index + s };
        Sample {
            members: [(axis, other); 3],
            count: 1,
        }
    }

    fn edge<const D: usize>(
        shape: &Shape<D>,
        [axis, b]: [usize; 2],
        index: usize,
        side: usize,
    ) -> Self {
        let (s, t) = (shape.strides[axis], shape.strides[b]);
        let (beside, corner) = if side == 0 {
            (index - t, index)
        } else {
            (index + t, index + t)
        };
        Sample {
            members: [(axis, beside), (b, corner), (b, corner - s)],
            count: 3,
        }
    }

    fn members(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.members[..self.count].iter().copied()
    }
}

/// Every sample of the face of an axis at a memory index, with its weight.
fn samples<const D: usize>(
    shape: &Shape<D>,
    axis: usize,
    index: usize,
    row: &Row,
    mut visit: impl FnMut(&Sample, f32),
) {
    for side in 0..2 {
        visit(&Sample::cell(shape, axis, index, side), row.cell[side]);
        for (k, &b) in others::<D>(axis)[..D - 1].iter().enumerate() {
            let sample = Sample::edge(shape, [axis, b], index, side);
            visit(&sample, row.edge[k][side]);
        }
    }
}

impl<const D: usize> Lattice<D> {
    /// Brings the unknowns to a lattice that holds them, with so many cells more at its sides.
    fn new(
        places: &[[i32; D]],
        components: &[i8],
        margins: [[i32; 2]; D],
    ) -> Result<Self, &'static str> {
        let (mut low, mut high) = ([i32::MAX; D], [i32::MIN; D]);
        for (at, &component) in places.iter().zip(components) {
            for a in 0..D {
                low[a] = low[a].min(at[a]);
                // A face ends its cells along its own axis and lies in one along the others.
                let end = at[a] + i32::from(component as usize != a);
                high[a] = high[a].max(end);
            }
        }
        if places.is_empty() {
            return Err("there are no unknowns");
        }
        for a in 0..D {
            low[a] -= margins[a][0];
            high[a] += margins[a][1];
        }
        let cells: [usize; D] = std::array::from_fn(|a| (high[a] - low[a]).max(1) as usize);
        let shape = Shape::new(cells).ok_or("the lattice is too large")?;
        // A few unknowns strewn far apart are not what a dense lattice is for.
        if shape.len > 1_000_000 && shape.len / 1000 > places.len() {
            return Err("the unknowns are strewn too far apart");
        }
        let mut number: [Vec<u32>; D] = std::array::from_fn(|_| vec![NONE; shape.len]);
        let mut faces = Vec::with_capacity(places.len());
        for (i, (at, &component)) in places.iter().zip(components).enumerate() {
            let index = shape.index(std::array::from_fn(|a| at[a] - low[a]));
            let place = &mut number[component as usize][index];
            if *place != NONE {
                return Err("two unknowns share a face");
            }
            *place = i as u32;
            faces.push((component as u8, index as u32));
        }
        Ok(Lattice {
            shape,
            number,
            faces,
            rows: Vec::new(),
        })
    }

    fn is_free(&self, (axis, index): (usize, usize)) -> bool {
        self.number[axis][index] != NONE
    }

    /// Reads the weights of all rows.
    fn read(&mut self, a: &Csr) -> Result<(), &'static str> {
        let mut rows = Vec::with_capacity(self.faces.len());
        for i in 0..self.faces.len() {
            rows.push(self.read_row(a, i)?);
        }
        self.rows = rows;
        Ok(())
    }

    fn read_row(&self, a: &Csr, i: usize) -> Result<Row, &'static str> {
        let (axis, index) = (self.faces[i].0 as usize, self.faces[i].1 as usize);
        let s = self.shape.strides[axis] as isize;
        let diagonal = a.diagonal(i);
        let near = AGREEMENT * diagonal;
        let (mut cell, mut edge) = ([0.0; 2], [[0.0; 2]; 2]);
        let (columns, values) = a.row(i);
        for (&j, &value) in columns.iter().zip(values) {
            if j as usize == i || value == 0.0 {
                continue;
            }
            let (b, other) = self.faces[j as usize];
            let (b, distance) = (b as usize, other as isize - index as isize);
            if b == axis && distance.abs() == s {
                cell[usize::from(distance > 0)] = -value;
                continue;
            }
            // Which edge the two share, and with which sign.
            let found = others::<D>(axis)[..D - 1]
                .iter()
                .enumerate()
                .find_map(|(k, &c)| {
                    let t = self.shape.strides[c] as isize;
                    let (side, sign) = match (b == axis, distance) {
                        (true, d) if d == -t => (0, -1.0),
                        (true, d) if d == t => (1, -1.0),
                        (false, 0) if b == c => (0, 1.0),
                        (false, d) if b == c && d == -s => (0, -1.0),
                        (false, d) if b == c && d == t => (1, -1.0),
                        (false, d) if b == c && d == t - s => (1, 1.0),
                        _ => return None,
                    };
                    Some((k, side, sign))
                });
            let (k, side, sign) = found.ok_or("an entry couples faces that are no neighbours")?;
            let weight: &mut f64 = &mut edge[k][side];
            if *weight != 0.0 && (*weight - sign * value).abs() > near {
                return Err("entries of one edge differ");
            }
            *weight = sign * value;
        }
        let all = || cell.iter().chain(edge.iter().flatten());
        if all().any(|&weight| weight < 0.0) {
            return Err("an entry has the wrong sign");
        }
        let rest = diagonal - all().sum::<f64>();
        if rest < -near {
            return Err("a diagonal is smaller than its row's weights");
        }
        Ok(Row {
            mass: rest.max(0.0) as f32,
            cell: cell.map(|w| w as f32),
            edge: edge.map(|pair| pair.map(|w| w as f32)),
            bound: 0.0,
        })
    }

    /// Divides all rows by the usual mass, and returns it.
    fn normalise(&mut self) -> f32 {
        let step = (self.rows.len() / SAMPLE).max(1);
        let rests = self.rows.iter().step_by(step).map(|row| row.mass);
        let mut rests: Vec<f32> = rests.filter(|&mass| mass > 0.0).collect();
        rests.sort_unstable_by(f32::total_cmp);
        let usual = rests.get(rests.len() / 2).copied().unwrap_or(1.0);
        if usual != 1.0 {
            for row in &mut self.rows {
                row.mass /= usual;
                row.cell = row.cell.map(|w| w / usual);
                row.edge = row.edge.map(|pair| pair.map(|w| w / usual));
            }
        }
        usual
    }

    /// The stiffness that most cells have, if most have one.
    fn usual_stiffness(&self) -> Option<f32> {
        let step = (self.rows.len() / SAMPLE).max(1);
        let weights = self.rows.iter().step_by(step).map(|row| row.cell[1]);
        let mut weights: Vec<f32> = weights.filter(|&weight| weight > 0.0).collect();
        weights.sort_unstable_by(f32::total_cmp);
        let near = |a: f32, b: f32| (a - b).abs() <= 4.0 * f32::EPSILON * a;
        let middle = *weights.get(weights.len() / 2)?;
        let alike = weights.iter().filter(|&&w| near(middle, w)).count();
        (alike as f64 >= MOSTLY * weights.len() as f64).then_some(0.5 * middle)
    }

    /// The row of a face at a memory index; all zero if it is no unknown.
    fn row(&self, axis: usize, index: usize) -> Row {
        let number = self.number[axis][index];
        if number == NONE {
            return Row::default();
        }
        let mut row = self.rows[number as usize];
        // In the order of other rows, so that those of the interior are the same to the bit.
        let free = |sample: &Sample| 1 + sample.members().filter(|&f| self.is_free(f)).count();
        let mut bound = 0.0;
        for side in 0..2 {
            let sample = Sample::cell(&self.shape, axis, index, side);
            bound += row.cell[side] * free(&sample) as f32;
        }
        for (k, &b) in others::<D>(axis)[..D - 1].iter().enumerate() {
            for side in 0..2 {
                let sample = Sample::edge(&self.shape, [axis, b], index, side);
                bound += row.edge[k][side] * free(&sample) as f32;
            }
        }
        row.bound = (bound + row.mass).max(f32::MIN_POSITIVE);
        row
    }

    /// Which faces walls hold, by component and memory index: those in a sample that has weight
    /// but are no unknowns, and the neighbours that explain a rest beyond all mass.
    fn held(&self) -> [Vec<bool>; D] {
        let mut held: [Vec<bool>; D] = std::array::from_fn(|_| vec![false; self.shape.len]);
        let mut doubtful = Vec::new();
        for (row, &(axis, index)) in self.rows.iter().zip(&self.faces) {
            let (axis, index) = (axis as usize, index as usize);
            samples(&self.shape, axis, index, row, |sample, weight| {
                if weight > 0.0 {
                    self.hold(sample, &mut held);
                }
            });
            if row.mass > WALL {
                let alone = self.alone(axis, index, row);
                match alone.as_slice() {
                    [only] => self.hold(only, &mut held),
                    _ => doubtful.push(alone),
                }
            }
        }
        // Where a surface meets a wall there may be nothing on other sides too: there it is the
        // wall that goes on.
        loop {
            let goes_on = |sample: &Sample| sample.members().any(|(a, i)| held[a][i]);
            let sure: Vec<Vec<Sample>> = doubtful
                .extract_if(.., |alone| alone.iter().any(goes_on))
                .collect();
            let sure: Vec<Sample> = sure.into_iter().flatten().filter(goes_on).collect();
            if sure.is_empty() {
                break;
            }
            sure.iter().for_each(|sample| self.hold(sample, &mut held));
        }
        for sample in doubtful.iter().flatten() {
            self.hold(sample, &mut held);
        }
        held
    }

    /// The samples of a row that it shares with no other unknown.
    fn alone(&self, axis: usize, index: usize, row: &Row) -> Vec<Sample> {
        let mut alone = Vec::new();
        samples(&self.shape, axis, index, row, |sample, _| {
            if !sample.members().any(|face| self.is_free(face)) {
                alone.push(*sample);
            }
        });
        alone
    }

    /// Marks the faces of a sample that are no unknowns.
    fn hold(&self, sample: &Sample, held: &mut [Vec<bool>; D]) {
        for (a, i) in sample.members().filter(|&face| !self.is_free(face)) {
            held[a][i] = true;
        }
    }

    /// Which sides of a lattice that just holds the unknowns are open: some face there is free, or
    /// none is held.
    fn open_sides(&self, held: &[Vec<bool>; D]) -> [[bool; 2]; D] {
        std::array::from_fn(|axis| [0, 1].map(|side| self.is_open(held, axis, side)))
    }

    fn is_open(&self, held: &[Vec<bool>; D], axis: usize, side: usize) -> bool {
        let shape = &self.shape;
        let plane = if side == 0 { 0 } else { shape.cells[axis] };
        let (mut any_free, mut any_held) = (false, false);
        let count: usize = shape.cells.iter().product();
        // The cells of the first layer stand for the faces of the plane.
        let stride: usize = shape.cells[..axis].iter().product();
        for k in (0..count).filter(|k| (k / stride).is_multiple_of(shape.cells[axis])) {
            let index = shape.cell_index(k) + plane * shape.strides[axis];
            any_free |= self.is_free((axis, index));
            any_held |= held[axis][index];
        }
        any_free || !any_held
    }
}

impl<const D: usize> Cells<D> {
    fn new(
        lattice: &Lattice<D>,
        held: &[Vec<bool>; D],
        open: [[bool; 2]; D],
        usual: Option<f32>,
    ) -> Self {
        let shape = &lattice.shape;
        let count = shape.cells.iter().product();
        let mut share = Vec::with_capacity(count);
        let mut stiffness = Vec::with_capacity(if usual.is_some() { 0 } else { count });
        for k in 0..count {
            let cell = Cell::new(lattice, held, shape.cell_index(k));
            let filled = cell.share(usual);
            share.push(filled);
            if usual.is_none() {
                let kappa = 0.5 * cell.weight / filled.max(f32::MIN_POSITIVE);
                stiffness.push(if filled > 0.0 { kappa } else { 0.0 });
            }
        }
        thicken(shape.cells, &mut share);
        Cells {
            cells: shape.cells,
            open,
            share,
            stiffness: usual.is_none().then_some(stiffness),
        }
    }

    /// The stiffness of cells by memory index, if it varies.
    fn graded(&self, shape: &Shape<D>) -> Option<Vec<f32>> {
        let stiffness = self.stiffness.as_ref()?;
        let mut values = vec![0.0; shape.len];
        for (k, &value) in stiffness.iter().enumerate() {
            values[shape.cell_index(k)] = value;
        }
        Some(values)
    }

    fn linear(&self, cell: [i32; D]) -> usize {
        let axes = cell.iter().zip(&self.cells).rev();
        axes.fold(0, |index, (&at, &n)| index * n + at as usize)
    }
}

/// Makes walls as thick as they may be: a matrix tells no more of them than the cells beside its
/// unknowns, which coarser levels would lose.
fn thicken<const D: usize>(cells: [usize; D], share: &mut [f32]) {
    let walls: Vec<usize> = (0..share.len()).filter(|&k| share[k] < 0.0).collect();
    let known = share.to_vec();
    let mut stride = 1;
    for n in cells {
        for &wall in &walls {
            let at = wall / stride % n;
            let mut extrude = |before: usize, beyond: &mut dyn Iterator<Item = usize>| {
                if known[before] > 0.0 {
                    let empty = beyond.take(THICKNESS).take_while(|&k| known[k] == 0.0);
                    empty.for_each(|k| share[k] = -1.0);
                }
            };
            if at > 0 {
                extrude(wall - stride, &mut (1..n - at).map(|k| wall + k * stride));
            }
            if at + 1 < n {
                extrude(wall + stride, &mut (1..=at).map(|k| wall - k * stride));
            }
        }
        stride *= n;
    }
}

/// What is known of a cell.
struct Cell<const D: usize> {
    /// Faces that walls hold.
    held: usize,
    /// Faces that are unknowns.
    free: usize,
    /// The largest of its weights along the axes, or an edge's at its faces where it has none.
    weight: f32,
    /// Whether two of its faces make a sample with weight.
    is_sampled: bool,
    /// Whether a wall lies beside one of its free faces.
    is_at_wall: bool,
    /// The mean of its free faces' masses.
    mass: f32,
}

impl<const D: usize> Cell<D> {
    fn new(lattice: &Lattice<D>, held: &[Vec<bool>; D], index: usize) -> Self {
        let mut cell = Cell {
            held: 0,
            free: 0,
            weight: 0.0,
            is_sampled: false,
            is_at_wall: false,
            mass: 0.0,
        };
        let mut edge = 0.0f32;
        for (axis, held) in held.iter().enumerate() {
            let faces = [index, index + lattice.shape.strides[axis]];
            for (side, face) in faces.into_iter().enumerate() {
                cell.held += usize::from(held[face]);
                let number = lattice.number[axis][face];
                if number == NONE {
                    continue;
                }
                let row = &lattice.rows[number as usize];
                cell.weight = cell.weight.max(row.cell[1 - side]);
                edge = row.edge.iter().flatten().fold(edge, |m, &w| m.max(w));
                cell.is_at_wall |= row.mass > WALL;
                cell.mass += row.mass.min(1.0);
                cell.free += 1;
            }
        }
        cell.mass /= cell.free.max(1) as f32;
        cell.is_sampled = cell.weight > 0.0;
        if !cell.is_sampled {
            cell.weight = 2.0 * edge;
        }
        cell
    }

    /// The share that is filled, negative if the cell is solid.
    fn share(&self, usual: Option<f32>) -> f32 {
        match (self.is_sampled, usual) {
            (true, Some(usual)) => (0.5 * self.weight / usual).min(1.0),
            // Full cells of any stiffness have faces of full mass.
            (true, None) => self.mass.clamp(0.01, 1.0),
            // What the matrix does not tell of a cell at a wall is in the wall.
            (false, _) if self.held > 0 && self.free < D => -1.0,
            // Between walls along every axis, as in the corners of a box.
            (false, _) if self.held == D && self.is_at_wall => 1.0,
            _ => 0.0,
        }
    }
}

impl<const D: usize> Fine<D> for Cells<D> {
    fn cells(&self) -> [usize; D] {
        self.cells
    }

    fn is_open(&self, axis: usize, side: usize) -> bool {
        self.open[axis][side]
    }

    fn share(&self, cell: [i32; D]) -> f32 {
        self.share[self.linear(cell)]
    }

    fn relative_stiffness(&self, cell: [i32; D]) -> f32 {
        let stiffness = self.stiffness.as_ref();
        stiffness.map_or(1.0, |values| values[self.linear(cell)])
    }
}
