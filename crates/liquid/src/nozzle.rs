//! Sources as nozzles: where they are at an instant, and the faces whose velocity they give.

use plash_grid::{Axis, Cell, Face, FaceField, Grid, Side, axes, corners};

use crate::setup::{Setup, Source};
use crate::solids::Solids;

/// A source where it is at an instant.
pub struct Nozzle<'a, const D: usize> {
    /// What it is.
    pub source: &'a Source<D>,
    offset: [f64; D],
    motion: [f64; D],
    /// Of the liquid in it: what it has relative to the source, and the source's own. Without
    /// the latter a source that moves would leave liquid behind and make up for it.
    pub velocity: [f64; D],
}

impl<'a, const D: usize> Nozzle<'a, D> {
    /// A source at a time.
    pub fn at(source: &'a Source<D>, time: f64) -> Self {
        let motion = source.motion(time);
        Nozzle {
            source,
            offset: source.offset(time),
            motion,
            velocity: std::array::from_fn(|a| source.velocity[a] + motion[a]),
        }
    }

    /// Those that give liquid at a time.
    pub fn active(setup: &'a Setup<D>, time: f64) -> impl Iterator<Item = Self> {
        let active = setup.sources.iter().filter(move |s| s.is_active(time));
        active.map(move |source| Nozzle::at(source, time))
    }

    /// A point as the source sees it.
    fn local(&self, x: [f64; D]) -> [f64; D] {
        std::array::from_fn(|a| x[a] - self.offset[a])
    }

    /// Whether a point is in it.
    pub fn contains(&self, x: [f64; D]) -> bool {
        self.source.shape.distance(self.local(x)) < 0.0
    }

    /// How thick the liquid is that it gives at a point.
    pub fn viscosity(&self, x: [f64; D]) -> f64 {
        self.source.viscosity.at(self.local(x))
    }

    /// The first and the last cell of a box of cells around it: of all, if it has no end.
    pub fn cells(&self, grid: &Grid<D>) -> [[i32; D]; 2] {
        let moved = |x: [f64; D]| std::array::from_fn(|a| x[a] + self.offset[a]);
        let bounds = self.source.shape.bounds();
        let corners = bounds.map_or([grid.origin(), grid.end()], |corners| corners.map(moved));
        corners.map(|x| grid.cell_at(x).0)
    }

    /// Whether it drives liquid: one whose liquid rests in it is only kept full.
    fn drives(&self) -> bool {
        self.source.velocity.iter().any(|&v| v != 0.0)
    }

    /// The axis along which its liquid moves most, and the side of cells where it leaves them.
    fn outlet(&self) -> (Axis, Side) {
        let speed = |axis: &Axis| self.source.velocity[axis.0].abs();
        let along = axes::<D>().reduce(|most, axis| match speed(&axis) > speed(&most) {
            true => axis,
            false => most,
        });
        let along = along.unwrap_or(Axis(0));
        match self.source.velocity[along.0] > 0.0 {
            true => (along, Side::Hi),
            false => (along, Side::Lo),
        }
    }

    /// How it holds a cell.
    fn grip(&self, grid: &Grid<D>, cell: Cell<D>) -> Grip {
        let is_inside = |cell: Cell<D>| self.contains(cell.center(grid));
        if is_inside(cell) {
            return Grip::Firm;
        }
        let reaches = |subcell: [i32; D]| {
            let middle = cell.center(grid);
            let quarter = |a: usize| 0.25 * grid.dx() * f64::from(2 * subcell[a] - 1);
            self.contains(std::array::from_fn(|a| middle[a] + quarter(a)))
        };
        if !corners::<D>().any(reaches) {
            return Grip::None;
        }
        let (along, side) = self.outlet();
        match is_inside(cell.neighbour(along, side)) {
            true => Grip::Firm,
            false => Grip::Along,
        }
    }

    /// Whether a side of a cell is closed: where its liquid moves away from a side with nothing of the
    /// source behind, liquid enters. What it holds from beside only is carried along.
    fn is_closed(&self, grid: &Grid<D>, cell: Cell<D>, axis: Axis, side: Side) -> bool {
        let inwards = match side {
            Side::Lo => self.source.velocity[axis.0] > 0.0,
            Side::Hi => self.source.velocity[axis.0] < 0.0,
        };
        inwards
            && self.grip(grid, cell) == Grip::Firm
            && self.grip(grid, cell.neighbour(axis, side)) == Grip::None
    }
}

/// How a source holds a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grip {
    /// Not at all.
    None,
    /// Along the way that its liquid takes: it reaches into the cell from beside.
    Along,
    /// All of it: the middle of the cell is inside, or the source reaches into it from downstream,
    /// where liquid enters and must find no wall on its way.
    Firm,
}

/// The cells of a box, given its first and its last.
pub fn cells_of<const D: usize>([lo, hi]: [[i32; D]; 2]) -> impl Iterator<Item = Cell<D>> {
    let extent: [i32; D] = std::array::from_fn(|a| hi[a] - lo[a] + 1);
    (0..extent.iter().product::<i32>()).map(move |mut n| {
        Cell(std::array::from_fn(|a| {
            let at = lo[a] + n % extent[a];
            n /= extent[a];
            at
        }))
    })
}

/// A face and its velocity.
struct Given {
    axis: Axis,
    index: usize,
    velocity: f64,
    /// That of the liquid around it, which it differs from where liquid enters.
    carried: f64,
}

/// The faces of cells in sources, which move as these say, whatever pressure, viscosity and gravity
/// would have them do. Left to themselves, thick liquid in a source would fall along with what hangs
/// from it, and pull more out of it than it gives.
pub struct Driven<const D: usize> {
    /// 1 at such faces.
    mask: FaceField<u8, D>,
    faces: Vec<Given>,
    /// Boxes of cells around the sources: first and last.
    boxes: Vec<[[i32; D]; 2]>,
    reach: Reach,
}

/// Which faces of the cells of sources count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All of them.
    All,
    /// But for those that liquid passes along its way: a fence around the source, within which liquid
    /// finds room along it and not beside it, where more would come out than it gives.
    Fence,
}

impl<const D: usize> Driven<D> {
    /// No face yet.
    pub fn none(grid: &Grid<D>, reach: Reach) -> Self {
        Driven {
            mask: FaceField::new(grid),
            faces: Vec::new(),
            boxes: Vec::new(),
            reach,
        }
    }

    /// Those at a time, of faces that are open.
    pub fn update(&mut self, setup: &Setup<D>, solids: &Solids<D>, time: f64) {
        for Given { axis, index, .. } in self.faces.drain(..) {
            self.mask.along_mut(axis).as_mut_slice()[index] = 0;
        }
        self.boxes.clear();
        let (grid, reach) = (&setup.grid, self.reach);
        for nozzle in Nozzle::active(setup, time).filter(Nozzle::drives) {
            let cells = nozzle.cells(grid);
            self.boxes.push(cells);
            for cell in cells_of(cells) {
                let (grip, along) = (nozzle.grip(grid, cell), nozzle.outlet().0);
                let axes = axes::<D>().filter(|&axis| match grip {
                    Grip::None => false,
                    Grip::Along => axis == along,
                    Grip::Firm => true,
                });
                for (axis, side) in axes.flat_map(|axis| Side::BOTH.map(|side| (axis, side))) {
                    let is_closed = nozzle.is_closed(grid, cell, axis, side);
                    if reach == Reach::Fence && axis == along && !is_closed {
                        continue;
                    }
                    let carried = nozzle.velocity[axis.0];
                    let velocity = match is_closed {
                        true => nozzle.motion[axis.0],
                        false => carried,
                    };
                    self.add(grid, solids, cell.face(axis, side), [velocity, carried]);
                }
            }
        }
    }

    /// Adds a face that is open. Of sources that overlap the first one counts.
    fn add(
        &mut self,
        grid: &Grid<D>,
        solids: &Solids<D>,
        face: Face<D>,
        [velocity, carried]: [f64; 2],
    ) {
        let (axis, index) = (face.axis, grid.layout().index(face.at));
        let mark = &mut self.mask.along_mut(axis).as_mut_slice()[index];
        if *mark == 0 && solids.open().slices()[axis.0][index] > 0.0 {
            *mark = 1;
            self.faces.push(Given {
                axis,
                index,
                velocity,
                carried,
            });
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.faces.is_empty()
    }

    /// Whether a face is one of them, by memory index.
    #[inline]
    pub fn contains(&self, axis: usize, index: usize) -> bool {
        self.mask.slices()[axis][index] != 0
    }

    /// Whether a cell is no more than two cells from the box of a source.
    pub fn is_beside(&self, cell: [i32; D]) -> bool {
        let is_near =
            |[lo, hi]: &[[i32; D]; 2]| (0..D).all(|a| cell[a] >= lo[a] - 2 && cell[a] <= hi[a] + 2);
        self.boxes.iter().any(is_near)
    }

    /// Gives these faces their velocity.
    pub fn impose(&self, u: &mut FaceField<f64, D>, known: &mut FaceField<u8, D>) {
        for given in &self.faces {
            u.along_mut(given.axis).as_mut_slice()[given.index] = given.velocity;
            known.along_mut(given.axis).as_mut_slice()[given.index] = 1;
        }
    }

    /// Gives them the velocity of the liquid in the source, which moves as one: where it enters there is
    /// no wall that it could stick to.
    pub fn carry(&self, u: &mut FaceField<f64, D>) {
        for given in &self.faces {
            u.along_mut(given.axis).as_mut_slice()[given.index] = given.carried;
        }
    }
}
