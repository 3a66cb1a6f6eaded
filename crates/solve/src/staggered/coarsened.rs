//! What coarse levels are made of.
//!
//! They know what is filled, and nothing of walls: what holds the faces of the finest level goes up
//! with their masses (the module `lump`).

use super::dense::{gather, linear, spread};
use super::ground::{Contents, Fine, Kind, Octants};
use super::level::{Coarse, Level};
use super::shape::Shape;
use super::spans::Spans;

/// Coarse samples weigh at least this share of what full ones do on average around them, so that faces
/// beyond the surface are tied to those within.
pub const LEAST: f32 = 0.003;

/// A coarse level: its octants are the cells of the next finer one.
pub struct Coarsened<const D: usize> {
    cells: [usize; D],
    /// The level's stiffness; relative ones are multiplied by it.
    pub stiffness: f32,
    children: Children<D>,
    /// Shares of the finer level's cells, padded to whole coarse cells.
    octant_share: Vec<f32>,
    share: Vec<f32>,
    /// Whether cells are full, no wall holds anything in them, and the stiffness around is even: their
    /// samples may be those of the interior.
    plain: Vec<bool>,
    relative: Option<Vec<f32>>,
    /// Where there may be something.
    spans: Option<Spans<D>>,
}

/// Where the `2^D` children of cells are among the padded cells of the finer level.
struct Children<const D: usize> {
    padded: [usize; D],
    /// From the first child to each.
    steps: [usize; 8],
}

impl<const D: usize> Children<D> {
    fn new(padded: [usize; D]) -> Self {
        let mut steps = [0; 8];
        for (o, step) in steps.iter_mut().enumerate().take(1 << D) {
            *step = linear(padded, child([0; D], o));
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

impl<const D: usize> Coarse<D> for Coarsened<D> {
    fn new(fine: &impl Fine<D>, stiffness: f32, is_uniform: bool) -> Self {
        let finer = fine.cells();
        let cells = finer.map(|n| n.div_ceil(2));
        let padded = cells.map(|n| 2 * n);
        let is_beyond = |at: [i32; D]| (0..D).any(|a| at[a] as usize >= finer[a]);
        let spans = fine.spans().map(Spans::coarsened);
        let within = spans.as_ref();
        let octant_share: Vec<f32> = gather(padded, fine.spans(), |at| match is_beyond(at) {
            true => 0.0,
            false => fine.share(at),
        });
        let children = Children::new(padded);
        let share = gather(cells, within, |cell| {
            let sum: f32 = children.of(cell, &octant_share).sum();
            sum / (1 << D) as f32
        });
        let relative = (!is_uniform).then(|| {
            gather(cells, within, |cell| {
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
        let mut coarsened = Coarsened {
            cells,
            stiffness,
            children,
            octant_share,
            share,
            plain: Vec::new(),
            relative,
            spans: None,
        };
        coarsened.plain = gather(cells, within, |cell| {
            coarsened.share(cell) == 1.0
                && (0..1usize << D).all(|o| fine.is_plain(child(cell, o)))
                && (is_uniform || coarsened.is_even(cell))
        });
        coarsened.spans = spans;
        coarsened
    }

    fn level(&self, below: &Level<D>, shape: Shape<D>) -> Level<D> {
        Level::above(below, shape, self, self.graded(&shape))
    }
}

impl<const D: usize> Coarsened<D> {
    /// The stiffness of cells by memory index, if it varies.
    pub fn graded(&self, shape: &Shape<D>) -> Option<Vec<f32>> {
        let relative = self.relative.as_ref()?;
        Some(spread(shape, relative, self.spans.as_ref(), self.stiffness))
    }

    /// The mean stiffness around the low corner of a cell, of what there is.
    pub fn stiffness_near(&self, at: [i32; D]) -> f32 {
        if self.relative.is_none() {
            return self.stiffness;
        }
        let (mut sum, mut count) = (0.0, 0);
        self.each_near(at, |relative| {
            sum += relative;
            count += 1;
        });
        self.stiffness * sum / count.max(1) as f32
    }

    /// Whether the stiffness around a cell is so even that no full sample there weighs less than the
    /// [least](LEAST).
    fn is_even(&self, cell: [i32; D]) -> bool {
        let (mut least, mut most) = (f32::INFINITY, 0.0f32);
        self.each_near(cell, |relative| {
            least = least.min(relative);
            most = most.max(relative);
        });
        least >= LEAST * most
    }

    /// Visits the relative stiffness of what there is in the cells around one.
    fn each_near(&self, at: [i32; D], mut visit: impl FnMut(f32)) {
        for k in 0..3usize.pow(D as u32) {
            let by = |a: usize| (k / 3usize.pow(a as u32) % 3) as i32 - 1;
            let cell = std::array::from_fn(|a| at[a] + by(a));
            if self.contains(cell) && self.share(cell) > 0.0 {
                visit(self.relative_stiffness(cell));
            }
        }
    }

    fn contains(&self, cell: [i32; D]) -> bool {
        (0..D).all(|a| cell[a] >= 0 && cell[a] < self.cells[a] as i32)
    }
}

impl<const D: usize> Contents<D> for Coarsened<D> {
    #[inline]
    fn octants(&self, cell: [i32; D]) -> Octants {
        if !self.contains(cell) {
            return Octants::default();
        }
        let mut share = [0.0; 8];
        for (share, &found) in share
            .iter_mut()
            .zip(self.children.of(cell, &self.octant_share))
        {
            *share = found;
        }
        let stiffness = self.relative_stiffness(cell) * self.stiffness;
        Octants { share, stiffness }
    }

    #[inline]
    fn kind(&self, cell: [i32; D]) -> Kind {
        let share = self.share(cell);
        Kind {
            is_there: share > 0.0,
            is_full: share == 1.0,
            is_plain: self.plain[linear(self.cells, cell)],
        }
    }

    fn spans(&self) -> Option<&Spans<D>> {
        self.spans.as_ref()
    }
}

impl<const D: usize> Fine<D> for Coarsened<D> {
    fn cells(&self) -> [usize; D] {
        self.cells
    }

    fn open(&self) -> [[bool; 2]; D] {
        [[true; 2]; D]
    }

    fn is_solid(&self, _: [i32; D]) -> bool {
        false
    }

    fn share(&self, cell: [i32; D]) -> f32 {
        self.share[linear(self.cells, cell)]
    }

    fn is_plain(&self, cell: [i32; D]) -> bool {
        self.plain[linear(self.cells, cell)]
    }

    fn relative_stiffness(&self, cell: [i32; D]) -> f32 {
        self.relative
            .as_ref()
            .map_or(1.0, |r| r[linear(self.cells, cell)])
    }

    fn spans(&self) -> Option<&Spans<D>> {
        self.spans.as_ref()
    }
}
