//! Weights of the samples that make up rows, each computed once for all faces that share it.

use rayon::prelude::*;

use super::around::Around;
use super::ground::Ground;
use super::pieces::in_pieces;
use super::shape::moved;

/// The weight of a sample and which of its faces are free.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weight {
    /// The weight.
    pub weight: f32,
    /// Free faces.
    pub free: u8,
    /// The bits of those that walls hold: the low and the high face of a cell; of an edge, the
    /// low and the high one of its first axis, then of its second.
    pub held: u8,
}

impl Weight {
    /// That of a cell between free faces.
    pub fn of_cell(stiffness: f32) -> Self {
        Weight {
            weight: 2.0 * stiffness,
            free: 2,
            held: 0,
        }
    }

    /// That of an edge between free faces.
    pub fn of_edge(stiffness: f32) -> Self {
        Weight {
            weight: stiffness,
            free: 4,
            held: 0,
        }
    }

    /// What it adds to the [bound](super::row::Row::bound) of a row.
    #[inline]
    pub fn bound(self) -> f32 {
        self.weight * f32::from(self.free)
    }
}

/// The samples of a place, its cell along each axis and the edges at its low corner by
/// [`pair_of`] axes, and its low faces.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// By axis.
    pub cell: [Weight; 3],
    /// By pair of axes.
    pub edge: [Weight; 3],
    /// The mass of each low face: the share of the box around it that is filled.
    pub mass: [f32; 3],
    /// What ties low faces to walls, beyond samples.
    pub spring: [f32; 3],
    /// The bits of low faces that walls or obstacles hold.
    pub held: u8,
}

/// The number of a pair of axes.
#[inline(always)]
pub fn pair_of(a: usize, b: usize) -> usize {
    a + b - 1
}

/// Samples where they are asked for.
pub struct Samples<const D: usize> {
    /// Places along each axis: one more than cells.
    extent: [usize; D],
    /// Words per row.
    words: usize,
    /// Words per plane.
    in_plane: usize,
    /// Which places there are, and how many come before.
    index: Vec<Word>,
    places: Vec<Place>,
}

/// Sixty-four places of a row.
#[derive(Clone, Copy, Default)]
struct Word {
    wanted: u64,
    before: u32,
}

impl<const D: usize> Samples<D> {
    /// The samples of all places that are `wanted`, of which that tells the bits of a word of a
    /// row, with what `place` makes of them.
    pub fn new(
        cells: [usize; D],
        wanted: impl Fn([i32; D], usize) -> u64 + Sync,
        place: impl Fn([i32; D]) -> Place + Sync,
    ) -> Self {
        let extent = cells.map(|n| n + 1);
        let words = extent[0].div_ceil(64);
        let in_plane = words * extent[1..D - 1].iter().product::<usize>();
        let mut samples = Samples {
            extent,
            words,
            in_plane,
            index: vec![Word::default(); in_plane * extent[D - 1]],
            places: Vec::new(),
        };
        let counts = samples.mark(wanted);
        samples.places = in_pieces(&counts, |z, piece| {
            samples.each_word(z, |first, word| {
                each_bit(word.wanted, |k| piece.push(place(moved(first, 0, k))))
            });
        });
        samples
    }

    /// Notes which places are wanted; how many there are in each plane.
    fn mark(&mut self, wanted: impl Fn([i32; D], usize) -> u64 + Sync) -> Vec<usize> {
        let (words, in_plane) = (self.words, self.in_plane);
        let mark_plane = |(z, index): (usize, &mut [Word])| {
            let mut count = 0;
            for (k, word) in index.iter_mut().enumerate() {
                let wanted = wanted(row_of_word(words, z, k), k % words);
                *word = Word {
                    wanted,
                    before: count,
                };
                count += wanted.count_ones();
            }
            count
        };
        let planes = self.index.par_chunks_mut(in_plane);
        let counts: Vec<u32> = planes.enumerate().map(mark_plane).collect();
        let mut before = 0;
        for (index, count) in self.index.chunks_mut(in_plane).zip(&counts) {
            index.iter_mut().for_each(|word| word.before += before);
            before += count;
        }
        counts.into_iter().map(|count| count as usize).collect()
    }

    /// Planes of places.
    pub fn planes(&self) -> usize {
        self.extent[D - 1]
    }

    /// Visits the words of a plane, with the place of their first bit.
    fn each_word(&self, z: usize, mut visit: impl FnMut([i32; D], Word)) {
        let words = &self.index[z * self.in_plane..][..self.in_plane];
        for (k, &word) in words.iter().enumerate() {
            let row = row_of_word(self.words, z, k);
            visit(moved(row, 0, (64 * (k % self.words)) as i32), word);
        }
    }

    /// Visits the places of a plane that have samples.
    pub fn each(&self, z: usize, mut visit: impl FnMut([i32; D], &Place)) {
        self.each_word(z, |first, word| {
            let mut places = self.places[word.before as usize..].iter();
            each_bit(word.wanted, |k| {
                let place = places.next();
                place
                    .into_iter()
                    .for_each(|place| visit(moved(first, 0, k), place));
            });
        });
    }

    /// The number of a place among those that there are.
    #[inline]
    fn find(&self, at: [i32; D]) -> Option<usize> {
        let mut row = 0;
        for a in (1..D).rev() {
            if at[a] < 0 || at[a] as usize >= self.extent[a] {
                return None;
            }
            row = row * self.extent[a] + at[a] as usize;
        }
        let x = usize::try_from(at[0])
            .ok()
            .filter(|&x| x < self.extent[0])?;
        let word = self.index[row * self.words + x / 64];
        let bit = 1u64 << (x % 64);
        let number = word.before + (word.wanted & (bit - 1)).count_ones();
        (word.wanted & bit != 0).then_some(number as usize)
    }

    /// The samples of a place; none where they were not wanted.
    #[inline]
    pub fn at(&self, at: [i32; D]) -> Option<&Place> {
        self.places.get(self.find(at)?)
    }

    /// The same, to change them.
    pub fn at_mut(&mut self, at: [i32; D]) -> Option<&mut Place> {
        let number = self.find(at)?;
        self.places.get_mut(number)
    }

    /// The samples of the eight places from `at` on along a row.
    #[inline]
    pub fn run(&self, at: [i32; D]) -> Run<'_> {
        let mut row = 0;
        for a in (1..D).rev() {
            if at[a] < 0 || at[a] as usize >= self.extent[a] {
                return Run::default();
            }
            row = row * self.extent[a] + at[a] as usize;
        }
        let words = &self.index[row * self.words..][..self.words];
        // Places before the lattice are none.
        let (x, outside) = (at[0].max(0) as usize, (-at[0]).max(0));
        let Some(word) = words.get(x / 64) else {
            return Run::default();
        };
        let next = words.get(x / 64 + 1).map_or(0, |word| word.wanted);
        let both = u128::from(next) << 64 | u128::from(word.wanted);
        let below = word.wanted & ((1 << (x % 64)) - 1);
        let number = word.before + below.count_ones();
        Run {
            wanted: ((both >> (x % 64)) as u64) << outside & 0xff,
            places: &self.places[number as usize..],
        }
    }
}

/// The first place of the row of a word of a plane.
fn row_of_word<const D: usize>(words: usize, z: usize, k: usize) -> [i32; D] {
    let mut at = [0; D];
    if D == 3 {
        at[1] = (k / words) as i32;
    }
    at[D - 1] = z as i32;
    at
}

/// Visits the bits of a word that are set.
#[inline]
fn each_bit(mut word: u64, mut visit: impl FnMut(i32)) {
    while word != 0 {
        visit(word.trailing_zeros() as i32);
        word &= word - 1;
    }
}

/// The samples of eight places in a row.
#[derive(Default)]
pub struct Run<'a> {
    /// A bit for each place that has any.
    wanted: u64,
    /// Theirs, and those of later ones.
    places: &'a [Place],
}

impl Run<'_> {
    /// Visits those of the places whose bits are set that have samples.
    #[inline]
    pub fn each(&self, lanes: u64, mut visit: impl FnMut(usize, &Place)) {
        let mut rest = self.wanted;
        for place in self.places {
            if rest == 0 {
                return;
            }
            let lane = rest.trailing_zeros() as usize;
            if lanes >> lane & 1 == 1 {
                visit(lane, place);
            }
            rest &= rest - 1;
        }
    }
}

impl Place {
    /// The samples of a place, given whether all around it is full and the stiffness if that is
    /// the same everywhere.
    pub fn new<const D: usize>(
        ground: &impl Ground<D>,
        at: [i32; D],
        is_full: bool,
        uniform: Option<f32>,
    ) -> Self {
        let walls = ground.has_walls_near(at);
        let mut place = match uniform.filter(|_| is_full) {
            Some(stiffness) => Place::full(stiffness),
            None => Place::of(&Around::new(ground, at)),
        };
        for a in 0..D {
            for b in a + 1..D {
                // Beyond an open side there are no faces to make up the sample.
                if ground.is_on_open_side(a, at[a]) || ground.is_on_open_side(b, at[b]) {
                    place.edge[pair_of(a, b)] = Weight::default();
                }
            }
        }
        if walls {
            place.hold(ground, at);
        }
        place
    }

    /// A place all around which is full and free.
    pub fn full(stiffness: f32) -> Self {
        Place {
            cell: [Weight::of_cell(stiffness); 3],
            edge: [Weight::of_edge(stiffness); 3],
            mass: [1.0; 3],
            spring: [0.0; 3],
            held: 0,
        }
    }

    /// A place far from walls.
    pub fn of<const D: usize>(around: &Around<D>) -> Self {
        let mut place = Place::default();
        if around.is_empty() {
            return place;
        }
        let of_cell = Weight::of_cell(around.cell());
        for a in 0..D {
            place.cell[a] = of_cell;
            place.mass[a] = around.face(a);
            for b in a + 1..D {
                place.edge[pair_of(a, b)] = Weight::of_edge(around.edge(a, b));
            }
        }
        place
    }

    /// Accounts for walls.
    fn hold<const D: usize>(&mut self, ground: &impl Ground<D>, at: [i32; D]) {
        for a in 0..D {
            self.held |= u8::from(ground.is_held(a, at)) << a;
            self.cell[a] = at_wall(self.cell[a], || cell_at_wall(ground, a, at));
            for b in a + 1..D {
                let edge = &mut self.edge[pair_of(a, b)];
                *edge = at_wall(*edge, || edge_at_wall(ground, [a, b], at));
            }
        }
    }
}

/// How two faces share in a difference: the bits of those that are held, the gap to the wall between
/// them, and how much of what is there touches the wall.
struct Pair {
    held: u8,
    gap: f64,
    touch: f64,
}

fn pair<const D: usize>(
    ground: &impl Ground<D>,
    axis: usize,
    low: [i32; D],
    high: [i32; D],
) -> Pair {
    let held = [ground.is_held(axis, low), ground.is_held(axis, high)];
    let gap = match held {
        [false, true] => ground.gap(axis, low, high),
        [true, false] => ground.gap(axis, high, low),
        _ => 1.0,
    };
    Pair {
        held: u8::from(held[0]) | u8::from(held[1]) << 1,
        gap,
        touch: 1.0,
    }
}

/// How much of what fills a cell lies on the held side of it, at most all: what a gap parts from a wall
/// is not pulled by it. Edges need not be asked; on a wall their boxes are what touches it.
fn touching<const D: usize>(
    ground: &impl Ground<D>,
    axis: usize,
    cell: [i32; D],
    side: usize,
) -> f64 {
    let shares = ground.octants(cell).share;
    let sum = |sides: [usize; 2]| -> f32 {
        let octants = shares[..1 << D].iter().enumerate();
        let chosen = octants.filter(|(o, _)| sides.contains(&(o >> axis & 1)));
        chosen.map(|(_, share)| share).sum()
    };
    let (beside, all) = (sum([side; 2]), sum([0, 1]));
    if all > 0.0 {
        f64::from((2.0 * beside / all).min(1.0))
    } else {
        1.0
    }
}

/// What walls make of a sample: nothing if they have let go of it.
fn at_wall(sample: Weight, pair: impl FnOnce() -> Option<Pair>) -> Weight {
    if sample.weight == 0.0 {
        return sample;
    }
    pair().map_or_else(Weight::default, |Pair { held, gap, touch }| Weight {
        weight: (f64::from(sample.weight) * touch / gap) as f32,
        free: sample.free - held.count_ones() as u8,
        held,
    })
}

/// The faces of a cell along an axis.
fn cell_at_wall<const D: usize>(
    ground: &impl Ground<D>,
    axis: usize,
    cell: [i32; D],
) -> Option<Pair> {
    let mut found = pair(ground, axis, cell, moved(cell, axis, 1));
    if found.held != 0 && ground.lets_go(cell) {
        return None;
    }
    found.touch = match found.held {
        0b01 => touching(ground, axis, cell, 0),
        0b10 => touching(ground, axis, cell, 1),
        _ => 1.0,
    };
    Some(found)
}

/// The faces of the edge of axes `a` and `b` at the low corner of `at`.
fn edge_at_wall<const D: usize>(
    ground: &impl Ground<D>,
    [a, b]: [usize; 2],
    at: [i32; D],
) -> Option<Pair> {
    let along = pair(ground, a, moved(at, b, -1), at);
    let across = pair(ground, b, moved(at, a, -1), at);
    let held = along.held | across.held << 2;
    let (left, below) = (moved(at, a, -1), moved(at, b, -1));
    let around = [at, left, below, moved(left, b, -1)];
    if held != 0 && around.iter().any(|&cell| ground.lets_go(cell)) {
        return None;
    }
    let gap = along.gap.min(across.gap);
    let touch = 1.0;
    Some(Pair { held, gap, touch })
}
