//! The discrete operators of the pressure solve: adjoint, symmetric, an M-matrix, with cut
//! cells, a free surface and an open side.

use crate::common::{at_cells, noise, unit_grid};
use plash_grid::{CellField, Face, FaceField, Grid, Runs, axes};
use plash_liquid::pressure::{Domain, System, gradient_step, theta};
use plash_liquid::shape::Shape;
use plash_liquid::solids::Solids;
use plash_liquid::{DomainSide, Setup, Solid};
use plash_solve::Operator;

/// A ball in a box whose high x side is open, under a surface that is not level.
struct Scene<const D: usize> {
    grid: Grid<D>,
    runs: Runs<D>,
    solids: Solids<D>,
    phi: CellField<f64, D>,
}

impl<const D: usize> Scene<D> {
    fn new(n: usize) -> Self {
        let grid = unit_grid::<D>(n);
        let mut setup = Setup::new(grid);
        setup.sides[0][1] = DomainSide::Open;
        setup.solids.push(Solid::new(Shape::Sphere {
            center: [0.43; D],
            radius: 0.21,
        }));
        let phi = at_cells(&grid, |x| {
            x[1] - 0.61 - 0.08 * (7.0 * x[0] + x[D - 1]).sin()
        });
        Scene {
            grid,
            runs: Runs::all(grid.layout()),
            solids: Solids::new(&setup),
            phi,
        }
    }

    fn domain(&self) -> Domain<'_, D> {
        Domain {
            grid: &self.grid,
            runs: &self.runs,
            solids: &self.solids,
            phi: &self.phi,
            driven: None,
        }
    }

    fn system(&self) -> System<D> {
        let mut system = System::new(&self.grid);
        system.assemble(&self.domain()).expect("a system");
        system
    }

    /// The distance in cells over which the gradient at a face is taken.
    fn span(&self, system: &System<D>, face: Face<D>) -> f64 {
        let [lo, hi] = face.cells();
        let index = |c: plash_grid::Cell<D>| self.grid.layout().index(c.0);
        match (system.is_unknown(index(lo)), system.is_unknown(index(hi))) {
            (true, true) => 1.0,
            _ if !self.grid.contains(lo) || !self.grid.contains(hi) => 0.5,
            (true, false) => theta(self.phi[lo], self.phi[hi]),
            _ => theta(self.phi[hi], self.phi[lo]),
        }
    }

    fn random_pressure(&self, system: &System<D>) -> (Vec<f64>, CellField<f64, D>) {
        let values: Vec<f64> = (0..system.cells().len() as u64).map(noise).collect();
        let mut q = CellField::new(&self.grid);
        system.scatter(&self.runs, &values, &mut q);
        (values, q)
    }

    /// `−∇q` at the faces, from the gradient step of a liquid at rest.
    fn minus_gradient(&self, system: &System<D>, q: &CellField<f64, D>) -> FaceField<f64, D> {
        let mut u = FaceField::new(&self.grid);
        let mut known = FaceField::new(&self.grid);
        gradient_step(&self.domain(), system, q, &mut u, &mut known);
        u
    }
}

/// `⟨div u, q⟩ = −⟨u, ∇q⟩`, faces weighted by their open fraction times the distance the
/// gradient spans: the volume a face stands for.
fn divergence_and_gradient_are_adjoint<const D: usize>(n: usize) {
    let scene = Scene::<D>::new(n);
    let system = scene.system();
    let (values, q) = scene.random_pressure(&system);
    let minus_gradient = scene.minus_gradient(&system, &q);
    let mut u = FaceField::<f64, D>::new(&scene.grid);
    let mut seed = 1000;
    let mut faces = 0.0;
    for axis in axes::<D>() {
        for face in scene.grid.faces(axis) {
            seed += 1;
            u[face] = noise(seed);
            let weight = scene.solids.open()[face] * scene.span(&system, face);
            faces += weight * u[face] * minus_gradient[face];
        }
    }
    let mut rhs = Vec::new();
    system.divergence_rhs(&scene.domain(), &u, &mut rhs);
    // The right-hand side is −Δx² div u.
    let scale = -1.0 / (scene.grid.dx() * scene.grid.dx());
    let cells: f64 = rhs.iter().zip(&values).map(|(r, q)| scale * r * q).sum();
    assert!(system.cells().len() > n * n / 4);
    let size = faces.abs().max(n as f64);
    assert!((cells - faces).abs() < 1e-12 * size, "{cells} {faces}");
}

#[test]
fn divergence_and_gradient_are_adjoint_2d() {
    divergence_and_gradient_are_adjoint::<2>(24);
}

#[test]
fn divergence_and_gradient_are_adjoint_3d() {
    divergence_and_gradient_are_adjoint::<3>(12);
}

fn the_matrix_is_minus_the_divergence_of_the_gradient<const D: usize>(n: usize) {
    let scene = Scene::<D>::new(n);
    let system = scene.system();
    let (values, q) = scene.random_pressure(&system);
    let mut product = vec![0.0; values.len()];
    system.matrix().apply(&values, &mut product);
    let mut rhs = Vec::new();
    let change = scene.minus_gradient(&system, &q);
    system.divergence_rhs(&scene.domain(), &change, &mut rhs);
    for (i, (a, r)) in product.iter().zip(&rhs).enumerate() {
        // The right-hand side of −∇q is Δx² div ∇q = −A q.
        assert!((a + r).abs() < 1e-12 * (1.0 + a.abs()), "row {i}: {a} {r}");
    }
}

#[test]
fn the_matrix_is_minus_the_divergence_of_the_gradient_2d() {
    the_matrix_is_minus_the_divergence_of_the_gradient::<2>(24);
}

#[test]
fn the_matrix_is_minus_the_divergence_of_the_gradient_3d() {
    the_matrix_is_minus_the_divergence_of_the_gradient::<3>(12);
}

fn the_matrix_is_symmetric_and_an_m_matrix<const D: usize>(n: usize) {
    let scene = Scene::<D>::new(n);
    let system = scene.system();
    let matrix = system.matrix();
    assert!(matrix.is_symmetric(0.0), "not symmetric to the last bit");
    let mut strict = 0;
    for i in 0..matrix.rows() {
        let (columns, values) = matrix.row(i);
        let mut sum = 0.0;
        for (&j, &v) in columns.iter().zip(values) {
            if j as usize == i {
                assert!(v > 0.0, "diagonal {v} in row {i}");
            } else {
                assert!(v <= 0.0, "off-diagonal {v} in row {i}");
            }
            sum += v;
        }
        assert!(sum > -1e-13, "row {i} sums to {sum}");
        strict += usize::from(sum > 1e-6);
    }
    assert!(strict > 0, "no row touches air");
    assert_eq!(system.pockets(), 0);
    assert!(system.wall_cells() > 0);
}

#[test]
fn the_matrix_is_symmetric_and_an_m_matrix_2d() {
    the_matrix_is_symmetric_and_an_m_matrix::<2>(32);
}

#[test]
fn the_matrix_is_symmetric_and_an_m_matrix_3d() {
    the_matrix_is_symmetric_and_an_m_matrix::<3>(16);
}
