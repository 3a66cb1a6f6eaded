//! Levels against each other: symmetry, masses, and motions of the whole.

use super::hierarchy;
use crate::operator::Operator;
use crate::staggered::body::{Body, Fill};
use crate::staggered::csr::{Numbers, matrix};
use crate::staggered::cycle::Floor;

/// A pool around a post thinner than a coarse cell, of varying stiffness, apart from all sides.
struct Post<const D: usize> {
    cells: usize,
    at: f64,
}

impl<const D: usize> Body<D> for Post<D> {
    fn cells(&self) -> [usize; D] {
        [self.cells; D]
    }
    fn fill(&self, cell: [i32; D]) -> Fill {
        let inside = |&i: &i32| (1..self.cells as i32 - 1).contains(&i);
        match cell.iter().all(inside) {
            true => Fill::Full,
            false => Fill::Empty,
        }
    }
    fn uniform_stiffness(&self) -> Option<f64> {
        None
    }
    fn stiffness(&self, cell: [i32; D]) -> f64 {
        10f64.powi((cell[0] + 2 * cell[1]) % 3)
    }
    fn is_open(&self, axis: usize, _: usize) -> bool {
        axis == 0
    }
    fn is_near_obstacle(&self, _: [i32; D]) -> bool {
        true
    }
    fn distance(&self, axis: usize, face: [i32; D]) -> f64 {
        let from = |a: usize| f64::from(face[a]) + if a == axis { 0.0 } else { 0.5 } - self.at;
        from(0).hypot(from(1)) - 0.7
    }
    fn lets_go(&self, _: [i32; D]) -> bool {
        false
    }
}

/// Rows of the interior and rows that are read agree about the samples they share.
fn all_levels_are_symmetric<const D: usize>(body: &impl Body<D>) {
    let floors = hierarchy(body).floors;
    assert!(floors.len() > 1);
    for (k, floor) in floors.iter().enumerate() {
        let a = matrix(&floor.level, &Numbers::new(&floor.level)).expect("a matrix");
        assert!(a.is_symmetric(0.0), "level {k}");
    }
}

/// A body without obstacles.
struct Free<const D: usize> {
    cells: usize,
    /// Whether all sides are open, or only that above.
    is_in_the_air: bool,
    fill: Box<dyn Fn([i32; D]) -> Fill + Sync>,
    /// Below and above half its height.
    stiffness: [f64; 2],
}

impl<const D: usize> Body<D> for Free<D> {
    fn cells(&self) -> [usize; D] {
        [self.cells; D]
    }
    fn fill(&self, cell: [i32; D]) -> Fill {
        (self.fill)(cell)
    }
    fn uniform_stiffness(&self) -> Option<f64> {
        let [below, above] = self.stiffness;
        (below == above).then_some(below)
    }
    fn stiffness(&self, cell: [i32; D]) -> f64 {
        self.stiffness[usize::from(2 * cell[1] as usize >= self.cells)]
    }
    fn is_open(&self, axis: usize, side: usize) -> bool {
        self.is_in_the_air || (axis, side) == (1, 1)
    }
    fn is_near_obstacle(&self, _: [i32; D]) -> bool {
        false
    }
    fn distance(&self, _: usize, _: [i32; D]) -> f64 {
        f64::INFINITY
    }
    fn lets_go(&self, _: [i32; D]) -> bool {
        false
    }
}

/// A layer of one stiffness on one of another, and air above.
fn layers<const D: usize>(stiffness: [f64; 2]) -> Free<D> {
    let fill = |cell: [i32; D]| match cell[1] < 16 {
        true => Fill::Full,
        false => Fill::Empty,
    };
    Free {
        cells: 24,
        is_in_the_air: false,
        fill: Box::new(fill),
        stiffness,
    }
}

/// A stiff ball in the air, with a surface half a cell thick.
fn ball<const D: usize>(n: usize) -> Free<D> {
    // How far a point is from the surface, positive inside.
    let depth = move |x: [f64; D]| {
        let from = x.map(|x| x - 0.48 * n as f64);
        0.33 * n as f64 - from.iter().map(|d| d * d).sum::<f64>().sqrt()
    };
    let fill = move |cell: [i32; D]| {
        let mut part = [0.0; 8];
        for (o, share) in part.iter_mut().enumerate().take(1 << D) {
            let middle = |a: usize| f64::from(cell[a]) + if o >> a & 1 == 1 { 0.75 } else { 0.25 };
            *share = (2.0 * depth(std::array::from_fn(middle)) + 0.5).clamp(0.0, 1.0) as f32;
        }
        Fill::Part(part)
    };
    Free {
        cells: n,
        is_in_the_air: true,
        fill: Box::new(fill),
        stiffness: [1e3; 2],
    }
}

#[test]
fn jumps_of_stiffness_leave_all_levels_symmetric() {
    for stiffness in [[1e4, 1.0], [1e7, 1.0], [1.0, 1e5], [1.0, 0.0], [0.0, 1.0]] {
        all_levels_are_symmetric(&layers::<2>(stiffness));
        all_levels_are_symmetric(&layers::<3>(stiffness));
    }
}

#[test]
fn thin_posts_leave_all_levels_symmetric() {
    for at in [18.5, 19.5, 20.0, 20.5, 21.0, 21.5] {
        all_levels_are_symmetric(&Post::<2> { cells: 40, at });
        all_levels_are_symmetric(&Post::<3> { cells: 40, at });
    }
}

/// What moves as a whole weighs the same on all levels, and no coarse unknown is without mass though
/// some fine ones are.
fn every_coarse_unknown_has_mass<const D: usize>(n: usize) {
    let floors = hierarchy(&ball::<D>(n)).floors;
    assert!(floors.len() > 2);
    let masses = |floor: &Floor<D>, axis: usize| {
        let faces = floor.level.free_faces(axis);
        faces
            .map(|i| floor.level.row(axis, i).mass)
            .collect::<Vec<f32>>()
    };
    let lightest = |floor: &Floor<D>| {
        let all = (0..D).flat_map(|axis| masses(floor, axis));
        all.fold(f32::INFINITY, f32::min)
    };
    assert_eq!(
        lightest(&floors[0]),
        0.0,
        "the surface has faces without mass"
    );
    assert!(floors[1..].iter().all(|floor| lightest(floor) > 0.0));
    for axis in 0..D {
        let total = |floor| masses(floor, axis).into_iter().map(f64::from).sum::<f64>();
        let whole = total(&floors[0]);
        for (k, floor) in floors.iter().enumerate().skip(1) {
            let share = total(floor) * f64::from(1 << (D * k)) / whole;
            // Around the coarsest there is not room enough for all faces that are taken from.
            let lost = if k < 3 { 1e-3 } else { 0.05 };
            assert!((share - 1.0).abs() < lost, "{axis}, level {k}: {share}");
        }
    }
}

#[test]
fn every_coarse_unknown_has_mass_2d() {
    every_coarse_unknown_has_mass::<2>(64);
}

#[test]
fn every_coarse_unknown_has_mass_3d() {
    every_coarse_unknown_has_mass::<3>(24);
}

/// Moving as a whole costs a coarse level no more than its mass: no sample is strained.
fn whole_motions_strain_no_level<const D: usize>(n: usize) {
    for (k, floor) in hierarchy(&ball::<D>(n)).floors.iter().enumerate() {
        let numbers = Numbers::new(&floor.level);
        let a = matrix(&floor.level, &numbers).expect("a matrix");
        // A rotation in the first two axes, and a translation.
        let motion = |(axis, index): (usize, usize)| {
            let at = floor.level.shape.point(index);
            match axis {
                0 => 0.3 - 0.1 * (f64::from(at[1]) + 0.5),
                1 => 0.2 + 0.1 * (f64::from(at[0]) + 0.5),
                _ => 0.5,
            }
        };
        let u: Vec<f64> = numbers.iter().map(motion).collect();
        let mut product = vec![0.0; u.len()];
        a.apply(&u, &mut product);
        for (i, (axis, index)) in numbers.iter().enumerate() {
            let mass = f64::from(floor.level.row(axis, index).mass);
            let strain = (product[i] - mass * u[i]).abs();
            assert!(strain < 1e-3, "level {k}, {axis}, {index}: {strain}");
        }
    }
}

#[test]
fn whole_motions_strain_no_level_2d() {
    whole_motions_strain_no_level::<2>(64);
}

#[test]
fn whole_motions_strain_no_level_3d() {
    whole_motions_strain_no_level::<3>(24);
}
