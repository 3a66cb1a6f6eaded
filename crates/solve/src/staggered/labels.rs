//! Coarse levels of voxels, as published (Aanjaneya et al. 2019, sections 6.1 and 6.4).
//!
//! A cell is solid, fluid or air. A coarse one is solid if any of its children is, or else fluid if any
//! is; beyond closed sides of the lattice, a ghost layer, all is solid. Faces beside something solid are
//! held, and all weights are zero or one: cells count if they are fluid, edges and faces if they touch a
//! cell that is. The default levels (the module `coarsened`) do better on bodies with a free surface;
//! these are for those who compare.

use super::dense::{gather, linear, spread};
use super::ground::{Contents, Fine, Kind, Octants};
use super::level::{Coarse, Level};
use super::samples::{Place, Weight, pair_of};
use super::shape::{Shape, moved};

/// What a cell is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Label {
    #[default]
    Air,
    Fluid,
    Solid,
}

/// A coarse level of labelled cells.
pub struct Labels<const D: usize> {
    cells: [usize; D],
    open: [[bool; 2]; D],
    label: Vec<Label>,
    /// The level's stiffness; relative ones are multiplied by it.
    pub stiffness: f32,
    relative: Option<Vec<f32>>,
}

/// What a cell of a finer level is, by its middle; cells may lie beyond the lattice.
fn label_of<const D: usize>(fine: &impl Fine<D>, cell: [i32; D]) -> Label {
    let (cells, open) = (fine.cells(), fine.open());
    for a in 0..D {
        let side = match cell[a] {
            at if at < 0 => 0,
            at if at >= cells[a] as i32 => 1,
            _ => continue,
        };
        return match open[a][side] {
            true => Label::Air,
            false => Label::Solid,
        };
    }
    match () {
        () if fine.is_solid(cell) => Label::Solid,
        () if fine.share(cell) >= 0.5 => Label::Fluid,
        () => Label::Air,
    }
}

impl<const D: usize> Coarse<D> for Labels<D> {
    fn new(fine: &impl Fine<D>, stiffness: f32, is_uniform: bool) -> Self {
        let cells = fine.cells().map(|n| n.div_ceil(2));
        let children = |cell: [i32; D]| {
            (0..1usize << D).map(move |o| {
                let child: [i32; D] = std::array::from_fn(|a| 2 * cell[a] + (o >> a & 1) as i32);
                (child, label_of(fine, child))
            })
        };
        let label = gather(cells, None, |cell| {
            let found = |wanted: Label| children(cell).any(|(_, label)| label == wanted);
            match () {
                () if found(Label::Solid) => Label::Solid,
                () if found(Label::Fluid) => Label::Fluid,
                () => Label::Air,
            }
        });
        let relative = (!is_uniform).then(|| {
            gather(cells, None, |cell| {
                let fluid = children(cell).filter(|(_, label)| *label == Label::Fluid);
                let stiffness = fluid.map(|(child, _)| fine.relative_stiffness(child));
                let (sum, count) = stiffness.fold((0.0, 0u8), |(sum, n), s| (sum + s, n + 1));
                sum / f32::from(count.max(1))
            })
        });
        Labels {
            cells,
            open: fine.open(),
            label,
            stiffness,
            relative,
        }
    }

    fn level(&self, _: &Level<D>, shape: Shape<D>) -> Level<D> {
        Level::labelled(shape, self, self.graded(&shape))
    }
}

impl<const D: usize> Labels<D> {
    /// The stiffness of cells by memory index, if it varies.
    pub fn graded(&self, shape: &Shape<D>) -> Option<Vec<f32>> {
        let relative = self.relative.as_ref()?;
        Some(spread(shape, relative, None, self.stiffness))
    }

    /// The stiffness of a cell; none unless it is fluid.
    fn fluid(&self, cell: [i32; D]) -> Option<f32> {
        let is_fluid = label_of(self, cell) == Label::Fluid;
        is_fluid.then(|| self.relative_stiffness(cell) * self.stiffness)
    }

    /// Whether a face touches something solid.
    fn is_held(&self, axis: usize, face: [i32; D]) -> bool {
        let beside = [face, moved(face, axis, -1)];
        beside.iter().any(|&c| label_of(self, c) == Label::Solid)
    }

    /// The samples of a place.
    pub fn place(&self, at: [i32; D]) -> Place {
        let mut place = Place::default();
        for a in 0..D {
            place.held |= u8::from(self.is_held(a, at)) << a;
            let beside = [at, moved(at, a, -1)];
            let has_mass = beside.iter().any(|&cell| self.fluid(cell).is_some());
            place.mass[a] = f32::from(u8::from(has_mass));
            if let Some(stiffness) = self.fluid(at) {
                let faces = [(a, at), (a, moved(at, a, 1))];
                place.cell[a] = self.between(Weight::of_cell(stiffness), &faces);
            }
            for b in a + 1..D {
                place.edge[pair_of(a, b)] = self.edge(a, b, at);
            }
        }
        place
    }

    /// The edge of two axes at the low corner of a cell.
    fn edge(&self, a: usize, b: usize, at: [i32; D]) -> Weight {
        let is_beyond = |c: usize| {
            (at[c] <= 0 && self.open[c][0]) || (at[c] >= self.cells[c] as i32 && self.open[c][1])
        };
        // Beyond an open side there are no faces to make up the sample.
        if is_beyond(a) || is_beyond(b) {
            return Weight::default();
        }
        let [left, below] = [moved(at, a, -1), moved(at, b, -1)];
        // Cells across the edge first, as the kernels do it.
        let pairs = [[at, moved(left, b, -1)], [left, below]];
        let fluid = pairs.map(|pair| pair.map(|cell| self.fluid(cell)));
        let count = fluid.iter().flatten().flatten().count();
        if count == 0 {
            return Weight::default();
        }
        let sums = fluid.map(|[p, q]| p.unwrap_or(0.0) + q.unwrap_or(0.0));
        let mean = (sums[0] + sums[1]) / count as f32;
        let faces = [(a, below), (a, at), (b, left), (b, at)];
        self.between(Weight::of_edge(mean), &faces)
    }

    /// A sample between these faces, in the order of the [bits](Weight::held) of those that are held.
    fn between(&self, sample: Weight, faces: &[(usize, [i32; D])]) -> Weight {
        let mut held = 0;
        for (k, &(axis, face)) in faces.iter().enumerate() {
            held |= u8::from(self.is_held(axis, face)) << k;
        }
        Weight {
            free: sample.free - held.count_ones() as u8,
            held,
            ..sample
        }
    }
}

impl<const D: usize> Contents<D> for Labels<D> {
    fn octants(&self, cell: [i32; D]) -> Octants {
        match self.fluid(cell) {
            Some(stiffness) => Octants {
                share: [1.0; 8],
                stiffness,
            },
            None => Octants::default(),
        }
    }

    fn kind(&self, cell: [i32; D]) -> Kind {
        let is_fluid = label_of(self, cell) == Label::Fluid;
        Kind {
            is_there: is_fluid,
            is_full: is_fluid,
            is_plain: is_fluid,
        }
    }
}

impl<const D: usize> Fine<D> for Labels<D> {
    fn cells(&self) -> [usize; D] {
        self.cells
    }

    fn open(&self) -> [[bool; 2]; D] {
        self.open
    }

    fn is_solid(&self, cell: [i32; D]) -> bool {
        self.label[linear(self.cells, cell)] == Label::Solid
    }

    fn share(&self, cell: [i32; D]) -> f32 {
        match self.label[linear(self.cells, cell)] {
            Label::Fluid => 1.0,
            Label::Air | Label::Solid => 0.0,
        }
    }

    fn is_plain(&self, cell: [i32; D]) -> bool {
        self.share(cell) == 1.0
    }

    fn relative_stiffness(&self, cell: [i32; D]) -> f32 {
        let relative = self.relative.as_ref();
        relative.map_or(1.0, |r| r[linear(self.cells, cell)])
    }
}
