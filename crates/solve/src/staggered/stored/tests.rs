//! The form in which matrices are kept, against the matrices.

use super::Recovered;
use super::convert::Converted;
use super::exact::Exact;
use super::lattice::Lattice;
use super::places::Faces;
use crate::csr::Csr;
use crate::operator::Operator;
use crate::rows::CsrRows;
use crate::staggered::body::{Body, Fill};
use crate::staggered::field::{self, Vector};
use crate::staggered::ground::Fine;
use crate::staggered::method::ViscousOptions;
use crate::staggered::sine::Sine;
use crate::staggered::solver::ViscousSolver;

/// Numbers between 0 and 1 that look random.
fn noise(k: usize) -> f64 {
    let x = (k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((x >> 11) as f64) / (1u64 << 53) as f64
}

/// Liquid of varying stiffness that fills its cells anyhow, over a post; open above and on one
/// side, between walls otherwise.
struct Spill<const D: usize>([usize; D]);

impl<const D: usize> Spill<D> {
    fn at(&self, cell: [i32; D]) -> usize {
        cell.iter().fold(0, |k, &at| k * 31 + at as usize)
    }
}

impl<const D: usize> Body<D> for Spill<D> {
    fn cells(&self) -> [usize; D] {
        self.0
    }

    fn fill(&self, cell: [i32; D]) -> Fill {
        let at = self.at(cell);
        match at % 4 {
            0 => Fill::Empty,
            1 => Fill::Part(std::array::from_fn(|k| noise(8 * at + k) as f32)),
            _ => Fill::Full,
        }
    }

    fn uniform_stiffness(&self) -> Option<f64> {
        None
    }

    fn stiffness(&self, cell: [i32; D]) -> f64 {
        1.0 + 10.0 * noise(self.at(cell))
    }

    fn is_open(&self, axis: usize, side: usize) -> bool {
        (axis, side) == (1, 1) || (axis, side) == (0, 0)
    }

    fn is_near_obstacle(&self, _: [i32; D]) -> bool {
        true
    }

    fn distance(&self, axis: usize, face: [i32; D]) -> f64 {
        let x = f64::from(face[0]) + if axis == 0 { 0.0 } else { 0.5 };
        let y = f64::from(face[1]) + if axis == 1 { 0.0 } else { 0.5 };
        (x - 3.0).abs().max(y - 2.5) - 0.8
    }

    fn lets_go(&self, _: [i32; D]) -> bool {
        false
    }
}

/// The matrix of a body, its entries changed, and where its unknowns lie.
fn system<const D: usize>(
    body: &impl Body<D>,
    change: impl Fn(usize, usize, f64) -> f64,
) -> (Csr, Faces) {
    let mut solver = ViscousSolver::<D>::new(ViscousOptions::default());
    solver.assemble(body);
    let (a, _, numbers) = solver.system().expect("a system");
    let mut coords = Vec::new();
    for (axis, index) in numbers.iter() {
        let face = solver.face(index).expect("a face");
        let half = |a: usize| if a == axis { 0.0 } else { 0.5 };
        coords.extend((0..D).map(|a| 0.25 * (f64::from(face[a]) + half(a))));
    }
    let components = numbers.iter().map(|(axis, _)| axis as i8).collect();
    let (starts, columns, mut values) = a.into_parts();
    for (i, pair) in starts.windows(2).enumerate() {
        for k in pair[0] as usize..pair[1] as usize {
            values[k] = change(i, columns[k] as usize, values[k]);
        }
    }
    let faces = Faces {
        dimensions: D,
        coords,
        components,
    };
    (Csr::new(starts, columns, values).expect("a matrix"), faces)
}

/// `A x` by the form that is kept.
fn product<const D: usize>(exact: &Exact, lattice: &Lattice<D>, x: &[f64]) -> Vec<f64> {
    let mut u: Vector<f64, D> = field::zeros(lattice.shape.len, 0);
    for (i, &x) in x.iter().enumerate() {
        let (axis, index) = lattice.face(i);
        u[axis][index] = x;
    }
    let found = std::sync::Mutex::new(vec![0.0; x.len()]);
    let u = u.each_ref().map(|u| &**u);
    exact.each_product(&lattice.shape, &lattice.faces, u, |i, _, _, product| {
        found.lock().expect("a vector")[i] = product;
        product.abs()
    });
    found.into_inner().expect("a vector")
}

fn nothing_is_lost<const D: usize>(
    body: &impl Body<D>,
    change: impl Fn(usize, usize, f64) -> f64,
) -> Exact {
    let (a, faces) = system(body, change);
    let Recovered { lattice, exact, .. } =
        Recovered::<D>::read(&mut CsrRows::from(&a), faces).expect("a lattice");
    assert_eq!(exact.rows(), a.rows());
    for seed in [3, 70_000] {
        let x: Vec<f64> = (0..a.rows()).map(|i| noise(seed + i) - 0.5).collect();
        let mut y = vec![0.0; x.len()];
        a.apply(&x, &mut y);
        for (i, found) in product(&exact, &lattice, &x).into_iter().enumerate() {
            let (columns, values) = a.row(i);
            let terms = columns.iter().zip(values);
            let size: f64 = terms.map(|(&j, v)| (v * x[j as usize]).abs()).sum();
            let close = 1e-15 * size;
            assert!(
                (found - y[i]).abs() <= close,
                "{found} for {} in row {i}",
                y[i]
            );
        }
    }
    exact
}

/// Entries that agree as far as they must, and no further.
fn shaken(i: usize, j: usize, value: f64) -> f64 {
    value * (1.0 + 1e-8 * noise(i.min(j) * 1001 + i.max(j)))
}

#[test]
fn nothing_is_lost_2d() {
    nothing_is_lost(&Sine::<2>::new(40), |_, _, value| value);
    nothing_is_lost(&Sine::<2>::graded(33, 100.0), |_, _, value| 1e-50 * value);
    nothing_is_lost(&Spill([14, 11]), |_, _, value| 1234.567 * value);
    nothing_is_lost(&Spill([14, 11]), shaken);
}

#[test]
fn nothing_is_lost_3d() {
    nothing_is_lost(&Sine::<3>::new(16), |_, _, value| value);
    nothing_is_lost(&Spill([9, 8, 7]), |_, _, value| 1234.567 * value);
    nothing_is_lost(&Spill([9, 8, 7]), shaken);
}

#[test]
fn entries_that_are_missing_or_zero_are_kept_as_that() {
    let gone = |i: usize, j: usize| (i + j) % 97 == 3 && i != j;
    nothing_is_lost(
        &Spill([9, 8, 7]),
        |i, j, value| {
            if gone(i, j) { 0.0 } else { value }
        },
    );
}

/// What is known of all cells, found on so many threads.
fn cells_on<const D: usize>(threads: usize, body: &Sine<D>) -> Vec<(f32, bool, f32)> {
    let (a, faces) = system(body, |_, _, value| value);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("threads").install(|| {
        let Recovered { lattice, exact, .. } =
            Recovered::<D>::read(&mut CsrRows::from(&a), faces).expect("a lattice");
        let Converted { level, cells, .. } = Converted::new(lattice, &exact).expect("cells");
        let shape = &level.shape;
        let look = |k: usize| {
            let at = shape.point(shape.cell_index(k));
            (
                cells.share(at),
                cells.is_plain(at),
                cells.relative_stiffness(at),
            )
        };
        (0..shape.cells.iter().product()).map(look).collect()
    })
}

fn cells_are_the_same_on_any_number_of_threads<const D: usize>(body: &Sine<D>) {
    let alone = cells_on(1, body);
    assert!(alone.iter().any(|cell| cell.1) && alone.iter().any(|cell| cell.0 == 0.0));
    assert!(cells_on(3, body) == alone);
}

#[test]
fn cells_are_the_same_on_any_number_of_threads_2d() {
    cells_are_the_same_on_any_number_of_threads(&Sine::<2>::new(200));
    cells_are_the_same_on_any_number_of_threads(&Sine::<2>::graded(150, 100.0));
}

#[test]
fn cells_are_the_same_on_any_number_of_threads_3d() {
    cells_are_the_same_on_any_number_of_threads(&Sine::<3>::graded(24, 100.0));
}

#[test]
fn rows_that_are_alike_are_kept_once() {
    let exact = nothing_is_lost(&Sine::<3>::new(32), |_, _, value| 1.1 * value);
    assert!(
        5 * exact.kinds().len() < exact.rows(),
        "{}",
        exact.kinds().len()
    );
}
