//! Bodies by formula, solves, figures beside their targets.

use plash_solve::Tolerance;
use plash_solve::staggered::{Body, Fill, ViscousOptions, ViscousSolver, share_below};

/// A number in −1..1, the same for the same `n`.
pub fn noise(n: u64) -> f64 {
    let mut z = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Noise that belongs to a place.
pub fn noise_at<const D: usize>(seed: u64, axis: usize, at: [i32; D]) -> f64 {
    let place = at.iter().fold(axis as u64, |n, &i| {
        n.wrapping_mul(1009).wrapping_add(i as u64 & 0xffff)
    });
    noise(seed.wrapping_mul(0x1_0000_0001).wrapping_add(place))
}

/// A function of a cell.
type OfCell<T, const D: usize> = Box<dyn Fn([i32; D]) -> T + Sync>;

/// A body by formulas. Lengths are in cell sides, from the lattice's low corner.
pub struct Formula<const D: usize> {
    pub cells: [usize; D],
    pub fill: OfCell<Fill, D>,
    /// `None` where it varies.
    pub uniform: Option<f64>,
    pub stiffness: OfCell<f64, D>,
    pub open: [[bool; 2]; D],
    /// Distance to obstacles of the middle of a face, by its axis and its place.
    #[allow(clippy::type_complexity)]
    pub distance: Option<Box<dyn Fn(usize, [f64; D]) -> f64 + Sync>>,
    pub lets_go: OfCell<bool, D>,
}

impl<const D: usize> Formula<D> {
    /// A closed box, full, of uniform stiffness.
    pub fn full(cells: [usize; D], stiffness: f64) -> Self {
        Formula {
            cells,
            fill: Box::new(|_| Fill::Full),
            uniform: Some(stiffness),
            stiffness: Box::new(move |_| stiffness),
            open: [[false; 2]; D],
            distance: None,
            lets_go: Box::new(|_| false),
        }
    }

    /// The same with a stiffness that varies.
    pub fn varied(self, stiffness: impl Fn([i32; D]) -> f64 + Sync + 'static) -> Self {
        Formula {
            uniform: None,
            stiffness: Box::new(stiffness),
            ..self
        }
    }

    /// The same, filled where `phi` is below zero.
    pub fn below(self, phi: impl Fn([f64; D]) -> f64 + Sync + 'static) -> Self {
        Formula {
            fill: Box::new(move |cell| fill_below(&phi, cell)),
            ..self
        }
    }

    /// The same around obstacles, by the distance of a face's middle.
    pub fn around(self, distance: impl Fn(usize, [f64; D]) -> f64 + Sync + 'static) -> Self {
        Formula {
            distance: Some(Box::new(distance)),
            ..self
        }
    }
}

impl<const D: usize> Body<D> for Formula<D> {
    fn cells(&self) -> [usize; D] {
        self.cells
    }

    fn fill(&self, cell: [i32; D]) -> Fill {
        (self.fill)(cell)
    }

    fn uniform_stiffness(&self) -> Option<f64> {
        self.uniform
    }

    fn stiffness(&self, cell: [i32; D]) -> f64 {
        (self.stiffness)(cell)
    }

    fn is_open(&self, axis: usize, side: usize) -> bool {
        self.open[axis][side]
    }

    fn is_near_obstacle(&self, _: [i32; D]) -> bool {
        self.distance.is_some()
    }

    fn distance(&self, axis: usize, face: [i32; D]) -> f64 {
        let at = face_middle(axis, face);
        self.distance.as_ref().map_or(1e3, |d| d(axis, at))
    }

    fn lets_go(&self, cell: [i32; D]) -> bool {
        (self.lets_go)(cell)
    }
}

/// The middle of a cell.
pub fn cell_middle<const D: usize>(cell: [i32; D]) -> [f64; D] {
    cell.map(|i| f64::from(i) + 0.5)
}

/// The middle of a face.
pub fn face_middle<const D: usize>(axis: usize, face: [i32; D]) -> [f64; D] {
    std::array::from_fn(|a| f64::from(face[a]) + if a == axis { 0.0 } else { 0.5 })
}

/// The distance of a point from another.
pub fn way<const D: usize>(from: [f64; D], to: [f64; D]) -> f64 {
    let squares = (0..D).map(|a| (from[a] - to[a]).powi(2));
    squares.sum::<f64>().sqrt()
}

/// What of a cell lies below zero, octant by octant.
pub fn fill_below<const D: usize>(phi: &impl Fn([f64; D]) -> f64, cell: [i32; D]) -> Fill {
    let mut octants = [0.0; 8];
    for (o, share) in octants.iter_mut().enumerate().take(1 << D) {
        let side = |a: usize| if (o >> a) & 1 == 1 { 0.75 } else { 0.25 };
        let middle: [f64; D] = std::array::from_fn(|a| f64::from(cell[a]) + side(a));
        let change: [f64; D] = std::array::from_fn(|a| {
            let (mut low, mut high) = (middle, middle);
            low[a] -= 0.25;
            high[a] += 0.25;
            phi(high) - phi(low)
        });
        *share = share_below(phi(middle), change) as f32;
    }
    match octants[..1 << D].iter().sum::<f32>() {
        0.0 => Fill::Empty,
        sum if sum == (1 << D) as f32 => Fill::Full,
        _ => Fill::Part(octants),
    }
}

/// A free ball, off centre, cutting through cells.
pub fn ball<const D: usize>(n: usize) -> impl Fn([f64; D]) -> f64 + Sync + Copy {
    let size = n as f64;
    move |x| way(x, [0.47 * size; D]) - 0.343 * size
}

/// All faces of a lattice, with those one beyond it: axis and place.
pub fn faces<const D: usize>(cells: [usize; D]) -> impl Iterator<Item = (usize, [i32; D])> {
    let count: usize = cells.iter().map(|n| n + 3).product();
    (0..D).flat_map(move |axis| {
        (0..count).map(move |mut k| {
            let mut at = [0; D];
            for a in 0..D {
                at[a] = (k % (cells[a] + 3)) as i32 - 1;
                k /= cells[a] + 3;
            }
            (axis, at)
        })
    })
}

/// A tolerance relative to the right-hand side.
pub fn to(relative: f64) -> Tolerance {
    Tolerance {
        relative,
        max_iterations: 5000,
        ..Tolerance::default()
    }
}

/// A solver that has met a body.
pub fn solver<const D: usize>(body: &impl Body<D>, options: ViscousOptions) -> ViscousSolver<D> {
    let mut solver = ViscousSolver::new(options);
    solver.assemble(body);
    solver
}

/// Solves for `u*` and insists on converging; how many iterations it took.
#[track_caller]
pub fn solve_for<const D: usize>(
    solver: &mut ViscousSolver<D>,
    tolerance: f64,
    velocity: impl Fn(usize, [i32; D]) -> f64 + Sync,
) -> usize {
    solver.load(velocity);
    let outcome = solver.solve(&to(tolerance)).expect("a solve");
    assert!(outcome.converged(), "{outcome:?}");
    outcome.iterations
}

/// The mass of each free face: what a unit velocity gives where nothing is held.
pub fn masses<const D: usize>(solver: &mut ViscousSolver<D>) -> Vec<(usize, [i32; D], f64)> {
    let (_, _, numbers) = solver.system().expect("a system");
    // With everything held at zero the right-hand side is mass times velocity.
    let free: Vec<(usize, [i32; D])> = numbers
        .iter()
        .map(|(axis, index)| (axis, solver.face(index).expect("a face")))
        .collect();
    let known: std::collections::HashSet<_> = free.iter().copied().collect();
    solver.load(|axis, face| f64::from(u8::from(known.contains(&(axis, face)))));
    let (_, rhs, _) = solver.system().expect("a system");
    let faces = free.into_iter().zip(rhs);
    faces
        .map(|((axis, face), mass)| (axis, face, mass))
        .collect()
}

/// The order of convergence between errors on grids of the given sizes.
pub fn orders(sizes: &[usize], errors: &[f64]) -> Vec<f64> {
    let pairs = sizes.windows(2).zip(errors.windows(2));
    pairs
        .map(|(n, e)| (e[0] / e[1]).ln() / (n[1] as f64 / n[0] as f64).ln())
        .collect()
}

/// Prints errors and orders.
#[allow(clippy::print_stdout)]
pub fn table(what: &str, sizes: &[usize], errors: &[f64]) -> Vec<f64> {
    let orders = orders(sizes, errors);
    println!("{what}:");
    for (k, (n, error)) in sizes.iter().zip(errors).enumerate() {
        let order = k.checked_sub(1).map(|k| format!("{:6.3}", orders[k]));
        println!("  {n:5} {error:10.3e} {}", order.unwrap_or_default());
    }
    orders
}

/// Asserts that a signed error lies within its target either way, and prints both.
#[allow(clippy::print_stdout)]
#[track_caller]
pub fn within(what: &str, error: f64, target: f64) {
    println!("{what}: {error:+.3e}, target ±{target:.1e}");
    assert!(
        error.abs() < target,
        "{what}: {error:e}, target ±{target:e}"
    );
}

/// Asserts that a measured figure is at most its target, and prints both.
#[allow(clippy::print_stdout)]
#[track_caller]
pub fn at_most(what: &str, measured: f64, target: f64) {
    println!("{what}: {measured:.3e}, target {target:.1e}");
    assert!(
        measured <= target,
        "{what}: {measured:e}, target {target:e}"
    );
}

/// Asserts that a measured figure is at least its target, and prints both.
#[allow(clippy::print_stdout)]
#[track_caller]
pub fn at_least(what: &str, measured: f64, target: f64) {
    println!("{what}: {measured:.3}, target at least {target}");
    assert!(measured >= target, "{what}: {measured}, target {target}");
}
