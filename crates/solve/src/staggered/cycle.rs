//! The hierarchy of levels and the V-cycle on it.

use rayon::prelude::*;

use super::coarsened::Coarsened;
use super::csr::{Numbers, matrix};
use super::field::{self, Vector};
use super::ground::Fine;
use super::kernel::{self, Three};
use super::labels::Labels;
use super::level::{Coarse, Level};
use super::method::{Coarsening, Smoother, ViscousMethod, ViscousOptions};
use super::patches::Patches;
use super::schwarz::Schwarz;
use super::shape::Shape;
use super::transfer;
use crate::galerkin::bottom::Cholesky;
use crate::lattice::BLOCK;
use crate::lattice::wave::Shared;

/// Coarsening ends at this many unknowns, which are then solved for exactly.
const BOTTOM: usize = 300;

/// More unknowns than this on the coarsest level are smoothed and not factored.
const MOST_FACTORED: usize = 1500;

/// Chebyshev steps before and after a coarse correction.
const DEGREE: usize = 3;

/// Damping of Jacobi sweeps, and how many there are in the band (McAdams et al. 2010).
const OMEGA: f32 = 2.0 / 3.0;
const BAND_SWEEPS: usize = 3;

/// Jacobi sweeps that stand for a solve on the coarsest level of the naive baseline, and how many
/// cells its longest side has at the least.
const NAIVE_SWEEPS: usize = 200;
const NAIVE_CELLS: usize = 64;

/// Sweeps of `gauss-seidel` before and after a coarse correction.
const POINT_SWEEPS: usize = 2;

/// Steps on a coarsest level that is too large to factor.
const BOTTOM_STEPS: usize = 24;

/// Fewer unknowns than this stay on the calling thread.
pub const PARALLEL: usize = 20_000;

/// The vectors of a level that is no more, all zero.
pub type Spare<const D: usize> = [Vector<f32, D>; 3];

/// A level with its vectors.
#[derive(Debug)]
pub struct Floor<const D: usize> {
    /// The operator.
    pub level: Level<D>,
    /// The iterate.
    pub x: Vector<f32, D>,
    /// The iterate before, or a residual.
    pub y: Vector<f32, D>,
    /// The right-hand side.
    pub b: Vector<f32, D>,
}

impl<const D: usize> Floor<D> {
    /// A level with vectors of zeros, in the memory of others if there are any.
    fn new(level: Level<D>, spare: Option<Spare<D>>) -> Self {
        let mut vectors = spare.unwrap_or_else(|| [(); 3].map(|()| field::empty()));
        for (turn, vector) in vectors.iter_mut().enumerate() {
            field::adopt(vector, level.shape.len, turn);
        }
        let [x, y, b] = vectors;
        Floor { x, y, b, level }
    }

    /// A level without vectors, for methods that have no cycle.
    fn bare(level: Level<D>) -> Self {
        Floor {
            level,
            x: field::empty(),
            y: field::empty(),
            b: field::empty(),
        }
    }

    /// The vectors as kernels take them: around `x`, into `y`, with `b`.
    pub fn three(&mut self) -> Three<D> {
        Three {
            x: self.x.each_ref().map(|v| v.as_ptr()),
            y: self.y.each_mut().map(|v| v.as_mut_ptr()),
            b: self.b.each_ref().map(|v| v.as_ptr()),
        }
    }

    /// Chebyshev steps of the fourth kind (Lottes 2023) from `x`, or from zero. The operator
    /// scaled by its [bound](super::row::Row::bound) has no eigenvalue above one, and the
    /// polynomial needs no lower end.
    fn chebyshev(&mut self, steps: usize, from_zero: bool) {
        for k in 1..=steps {
            let order = k as f32;
            let beta = (8.0 * order - 4.0) / (2.0 * order + 1.0);
            let alpha = ((2.0 * order - 3.0) / (2.0 * order + 1.0)).max(0.0);
            let three = self.three();
            let level = &self.level;
            // SAFETY: the vectors are the level's; a plane of `y` is written by one call, and
            // nobody writes `x`.
            each_plane(level, &|axis, z| unsafe {
                match (k, from_zero) {
                    (1, true) => kernel::first_step(level, axis, z, three, beta),
                    // There is no iterate before the first, or it is zero.
                    (1, false) | (2, true) => {
                        kernel::step(level, axis, z, three, [alpha, beta], false);
                    }
                    _ => kernel::step(level, axis, z, three, [alpha, beta], true),
                }
            });
            std::mem::swap(&mut self.x, &mut self.y);
        }
    }

    /// Sets the iterate to zero.
    fn clear(&mut self) {
        field::wipe(&self.level, &mut self.x);
    }

    /// The memory of the vectors, all zero.
    fn into_spare(self) -> Spare<D> {
        let mut vectors = [self.x, self.y, self.b];
        // Some methods have none.
        for vector in vectors.iter_mut().filter(|v| !v[0].is_empty()) {
            field::wipe(&self.level, vector);
        }
        vectors
    }

    /// A damped Jacobi sweep everywhere.
    fn jacobi(&mut self) {
        let three = self.three();
        let level = &self.level;
        // SAFETY: as for `chebyshev`.
        each_plane(level, &|axis, z| unsafe {
            kernel::jacobi(level, axis, z, three, OMEGA, false);
        });
        std::mem::swap(&mut self.x, &mut self.y);
    }

    /// Damped Jacobi sweeps where rows are not those of the interior.
    fn jacobi_in_band(&mut self) {
        // All addresses come from one borrow of each vector, which a second would end.
        let x = self.x.each_mut().map(|v| Shared(v.as_mut_ptr()));
        let y = self.y.each_mut().map(|v| Shared(v.as_mut_ptr()));
        let three = Three {
            x: x.map(|x| x.get().cast_const()),
            y: y.map(|y| y.get()),
            b: self.b.each_ref().map(|v| v.as_ptr()),
        };
        let level = &self.level;
        for _ in 0..BAND_SWEEPS {
            // SAFETY: as for `chebyshev`.
            each_plane(level, &|axis, z| unsafe {
                kernel::jacobi(level, axis, z, three, OMEGA, true);
            });
            each_plane(level, &|axis, z| {
                let segments = level.components[axis].in_plane(z).iter();
                for segment in segments.filter(|s| !s.is_interior) {
                    let (i, count) = (segment.index as usize, segment.blocks as usize * BLOCK);
                    // SAFETY: segments lie in the vectors, and a plane is written by one call.
                    unsafe {
                        let from = y[axis].get().add(i);
                        from.copy_to_nonoverlapping(x[axis].get().add(i), count);
                    }
                }
            });
        }
    }

    /// `y ← b − A x`.
    fn residual(&mut self) {
        let three = self.three();
        let level = &self.level;
        // SAFETY: as for `chebyshev`.
        each_plane(level, &|axis, z| unsafe {
            kernel::residual(level, axis, z, three);
        });
    }
}

/// Calls `pass(axis, z)` for every plane of every component, plane by plane.
pub fn each_plane<const D: usize>(level: &Level<D>, pass: &(impl Fn(usize, usize) + Sync)) {
    let planes = level.shape.planes();
    let plane = |z: usize| (0..D).for_each(|axis| pass(axis, z));
    if level.unknowns < PARALLEL {
        (0..planes).for_each(plane);
    } else {
        let grain = planes.div_ceil(32).max(1);
        let planes = (0..planes).into_par_iter().with_min_len(grain);
        planes.for_each(plane);
    }
}

/// The levels, finest first.
#[derive(Debug)]
pub struct Hierarchy<const D: usize> {
    /// Levels and their vectors.
    pub floors: Vec<Floor<D>>,
    bottom: Bottom,
    smoother: Smoother,
    coarsening: Coarsening,
    /// Per level, for the smoothers that work by sets of faces.
    schwarz: Vec<Schwarz<D>>,
    /// What is solved exactly on the finest level.
    patches: Patches,
}

/// The coarsest level.
#[derive(Clone, Debug, Default)]
struct Bottom {
    numbers: Numbers,
    /// Unless there are too many unknowns or none is asked for.
    factors: Option<Cholesky>,
    b: Vec<f64>,
    x: Vec<f64>,
}

impl<const D: usize> Hierarchy<D> {
    /// The memory of its vectors, for another.
    pub fn into_spare(self) -> Vec<Spare<D>> {
        let floors = self.floors.into_iter();
        floors.map(Floor::into_spare).collect()
    }

    /// Builds the levels above the finest, which is made of `ground`, with the vectors of another
    /// hierarchy if there was one.
    pub fn new(
        mut finest: Level<D>,
        ground: impl Fine<D>,
        options: ViscousOptions,
        spare: Vec<Spare<D>>,
    ) -> Self {
        let ViscousOptions {
            smoother,
            coarsening,
            ..
        } = options;
        if options.method != ViscousMethod::Mgpcg {
            finest.forget_anchors();
            return Hierarchy {
                floors: vec![Floor::bare(finest)],
                bottom: Bottom::default(),
                smoother,
                coarsening,
                schwarz: Vec::new(),
                patches: Patches::default(),
            };
        }
        let mut levels = vec![finest];
        match coarsening {
            Coarsening::Fractions => coarsen::<Coarsened<D>, D>(&mut levels, ground, smoother),
            Coarsening::Labels => coarsen::<Labels<D>, D>(&mut levels, ground, smoother),
        }
        // The coarsest level has its anchors yet, for which nobody asks.
        levels.iter_mut().for_each(Level::forget_anchors);
        let mut spare = spare.into_iter();
        let floors: Vec<_> = levels
            .into_iter()
            .map(|level| Floor::new(level, spare.next()))
            .collect();
        let bottom = Bottom::new(&floors[floors.len() - 1].level, smoother);
        let schwarz = match smoother {
            Smoother::Box | Smoother::Vanka | Smoother::GaussSeidel => {
                let levels = floors.iter().map(|floor| &floor.level);
                levels.map(|level| Schwarz::new(level, smoother)).collect()
            }
            _ => Vec::new(),
        };
        Hierarchy {
            floors,
            bottom,
            smoother,
            coarsening,
            schwarz,
            patches: Patches::default(),
        }
    }

    /// One V-cycle for the finest level's `b`, into its `x`.
    pub fn cycle(&mut self) {
        self.descend(0);
    }

    /// Looks for what holds up a solve whose search direction is `p`; whether cycles are other ones now.
    /// Smoothers and coarse levels for comparison are left as they are.
    pub fn patch(&mut self, p: &Vector<f32, D>) -> bool {
        let is_default =
            self.smoother == Smoother::Chebyshev && self.coarsening == Coarsening::Fractions;
        // A single level is solved exactly as it is, or smoothed at length.
        let has_cycle = self.floors.len() > 1;
        is_default && has_cycle && self.patches.find(&self.floors[0].level, p)
    }

    /// Forgets what was found for an earlier solve.
    pub fn unpatch(&mut self) {
        self.patches = Patches::default();
    }

    fn descend(&mut self, depth: usize) {
        if depth + 1 == self.floors.len() {
            self.solve_bottom();
            return;
        }
        self.smooth(depth, true);
        if depth == 0 {
            self.patches.relax(&mut self.floors[0]);
        }
        self.floors[depth].residual();
        let (fine, coarse) = self.floors.split_at_mut(depth + 1);
        restrict(&fine[depth], &mut coarse[0]);
        self.descend(depth + 1);
        let (fine, coarse) = self.floors.split_at_mut(depth + 1);
        prolong(&coarse[0], &mut fine[depth]);
        if depth == 0 {
            self.patches.relax(&mut self.floors[0]);
        }
        self.smooth(depth, false);
    }

    fn smooth(&mut self, depth: usize, before: bool) {
        let floor = &mut self.floors[depth];
        if before && self.smoother != Smoother::Chebyshev {
            floor.clear();
        }
        match self.smoother {
            Smoother::Chebyshev => floor.chebyshev(DEGREE, before),
            Smoother::Jacobi | Smoother::JacobiNaive => {
                floor.jacobi_in_band();
                floor.jacobi();
                floor.jacobi_in_band();
            }
            Smoother::Box | Smoother::Vanka => self.schwarz[depth].sweep(floor, before),
            Smoother::GaussSeidel => {
                for _ in 0..POINT_SWEEPS {
                    self.schwarz[depth].sweep(floor, before);
                }
            }
        }
    }

    fn solve_bottom(&mut self) {
        let floor = self.floors.last_mut().expect("there is a level");
        if self.smoother == Smoother::JacobiNaive {
            floor.clear();
            (0..NAIVE_SWEEPS).for_each(|_| floor.jacobi());
            return;
        }
        let Bottom {
            numbers,
            factors,
            b,
            x,
        } = &mut self.bottom;
        let Some(factors) = factors else {
            floor.chebyshev(BOTTOM_STEPS, true);
            return;
        };
        for (b, (axis, i)) in b.iter_mut().zip(numbers.iter()) {
            *b = f64::from(floor.b[axis][i]);
        }
        factors.solve(b, x);
        for (x, (axis, i)) in x.iter().zip(numbers.iter()) {
            floor.x[axis][i] = *x as f32;
        }
    }
}

impl Bottom {
    fn new<const D: usize>(level: &Level<D>, smoother: Smoother) -> Self {
        if level.unknowns > MOST_FACTORED || smoother == Smoother::JacobiNaive {
            return Bottom::default();
        }
        let numbers = Numbers::new(level);
        let factors = matrix(level, &numbers).ok().map(|a| {
            let mut factors = Cholesky::default();
            factors.factor(&a, &[]);
            factors
        });
        Bottom {
            b: vec![0.0; numbers.count()],
            x: vec![0.0; numbers.count()],
            numbers,
            factors,
        }
    }
}

/// Adds coarser levels of a kind to the finest, which is made of `ground`, as long as the coarsest is
/// fine.
fn coarsen<C: Coarse<D>, const D: usize>(
    levels: &mut Vec<Level<D>>,
    ground: impl Fine<D>,
    smoother: Smoother,
) {
    let is_uniform = levels[0].graded.is_none();
    let (mut ground, mut coarse) = (Some(ground), None::<C>);
    while let Some(below) = levels.last_mut().filter(|level| is_fine(level, smoother)) {
        let stiffness = 0.25 * below.stiffness;
        // What a level was made of is given up before the next level's rows take memory.
        let next = match (coarse.take(), ground.take()) {
            (Some(coarse), _) => C::new(&coarse, stiffness, is_uniform),
            (None, Some(ground)) => C::new(&ground, stiffness, is_uniform),
            (None, None) => break,
        };
        let level = Shape::new(next.cells()).map(|shape| next.level(below, shape));
        // Nobody else asks for them.
        below.forget_anchors();
        let Some(level) = level.filter(|level| level.unknowns > 0) else {
            break;
        };
        let is_last = level.shape.cells.iter().all(|&n| n <= 1);
        levels.push(level);
        if is_last {
            break;
        }
        coarse = Some(next);
    }
}

/// Whether there is to be a coarser level.
fn is_fine<const D: usize>(level: &Level<D>, smoother: Smoother) -> bool {
    match smoother {
        Smoother::JacobiNaive => level.shape.cells.iter().any(|&n| n > NAIVE_CELLS),
        _ => level.unknowns > BOTTOM,
    }
}

/// `coarse.b ← R fine.y`.
pub fn restrict<const D: usize>(fine: &Floor<D>, coarse: &mut Floor<D>) {
    let b = coarse.b.each_mut().map(|v| Shared(v.as_mut_ptr()));
    let level = &coarse.level;
    each_plane(level, &|axis, z| {
        // SAFETY: a plane is written by one call.
        unsafe {
            let (b, r) = (b[axis].get(), &fine.y[axis]);
            transfer::restrict(&fine.level.shape, r, level, axis, z, b);
        }
    });
}

/// `fine.x ← fine.x + P coarse.x`.
pub fn prolong<const D: usize>(coarse: &Floor<D>, fine: &mut Floor<D>) {
    let x = fine.x.each_mut().map(|v| Shared(v.as_mut_ptr()));
    let level = &fine.level;
    each_plane(level, &|axis, z| {
        // SAFETY: as for `restrict`.
        unsafe {
            let (x, e) = (x[axis].get(), &coarse.x[axis]);
            transfer::prolong(&coarse.level.shape, e, level, axis, z, x);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::ground::{Extent, Sampled};
    use super::super::sine::Sine;
    use super::*;

    fn hierarchy(options: ViscousOptions) -> Hierarchy<2> {
        let body = Sine::new(12);
        let extent = Extent::of(&body).expect("a body");
        let shape = Shape::new(extent.cells).expect("a small lattice");
        let ground = Sampled::new(&body, extent);
        let level = Level::new(shape, ground.open, &ground, 144.0, None);
        Hierarchy::new(level, ground, options, Vec::new())
    }

    #[test]
    fn the_naive_baseline_factors_nothing() {
        let is_factored = |smoother| {
            let options = ViscousOptions {
                smoother,
                ..ViscousOptions::default()
            };
            hierarchy(options).bottom.factors.is_some()
        };
        assert!(is_factored(Smoother::Jacobi));
        assert!(!is_factored(Smoother::JacobiNaive));
    }

    #[test]
    fn methods_without_a_cycle_have_no_vectors_for_it() {
        for method in [ViscousMethod::PcgIc, ViscousMethod::PcgJacobi] {
            let options = ViscousOptions {
                method,
                ..ViscousOptions::default()
            };
            let floors = hierarchy(options).floors;
            assert_eq!(floors.len(), 1);
            let vectors = [&floors[0].x, &floors[0].y, &floors[0].b];
            assert!(vectors.iter().all(|v| v.iter().all(|v| v.is_empty())));
        }
    }
}
