//! Coarse levels of labelled cells.

use super::super::labels::Labels;
use super::super::level::Coarse;
use super::super::method::Coarsening;
use super::*;

const BY_LABELS: ViscousOptions = ViscousOptions {
    method: ViscousMethod::Mgpcg,
    smoother: Smoother::Chebyshev,
    coarsening: Coarsening::Labels,
};

#[test]
fn matrices_are_symmetric_and_applied_2d() {
    kernels_apply_the_matrices_of(hierarchy_by(&Sine::<2>::new(40), BY_LABELS));
    kernels_apply_the_matrices_of(hierarchy_by(&Sine::<2>::graded(37, 100.0), BY_LABELS));
}

#[test]
fn matrices_are_symmetric_and_applied_3d() {
    kernels_apply_the_matrices_of(hierarchy_by(&Sine::<3>::new(16), BY_LABELS));
    kernels_apply_the_matrices_of(hierarchy_by(&Sine::<3>::graded(13, 100.0), BY_LABELS));
}

fn cycles_are_definite<const D: usize>(body: &impl Body<D>) {
    for smoother in [Smoother::Chebyshev, Smoother::Box, Smoother::Jacobi] {
        let options = ViscousOptions {
            smoother,
            ..BY_LABELS
        };
        let mut hierarchy = hierarchy_by(body, options);
        assert!(hierarchy.floors.len() > 1);
        let columns = dense_cycle(&mut hierarchy);
        assert!(is_symmetric(&columns), "{smoother} is not symmetric");
        assert!(is_positive_definite(&columns), "{smoother}");
    }
}

#[test]
fn cycles_are_definite_2d() {
    cycles_are_definite(&Sine::<2>::new(24));
}

#[test]
fn cycles_are_definite_3d() {
    cycles_are_definite(&Sine::<3>::new(8));
}

/// Eight by eight cells in a closed box. The lower half is full, with a pillar of solid cells.
struct Pillar;

impl Body<2> for Pillar {
    fn cells(&self) -> [usize; 2] {
        [8, 8]
    }

    fn fill(&self, cell: [i32; 2]) -> Fill {
        match cell[1] {
            0..4 => Fill::Full,
            _ => Fill::Empty,
        }
    }

    fn uniform_stiffness(&self) -> Option<f64> {
        Some(10.0)
    }

    fn stiffness(&self, _: [i32; 2]) -> f64 {
        10.0
    }

    fn is_open(&self, _: usize, _: usize) -> bool {
        false
    }

    fn is_near_obstacle(&self, _: [i32; 2]) -> bool {
        true
    }

    /// The pillar is one cell wide: the cells with x = 5 that lie below y = 3.
    fn distance(&self, axis: usize, face: [i32; 2]) -> f64 {
        let at = |a: usize| f64::from(face[a]) + if a == axis { 0.0 } else { 0.5 };
        (at(0) - 5.5).abs().max(at(1) - 2.5) - 0.5
    }

    fn lets_go(&self, _: [i32; 2]) -> bool {
        false
    }
}

#[test]
fn a_coarse_cell_is_solid_if_any_child_is_and_weights_are_one() {
    let extent = Extent::of(&Pillar).expect("a body");
    let ground = Sampled::new(&Pillar, extent);
    let labels = Labels::new(&ground, 2.5, true);
    let place = |at: [i32; 2]| labels.place(at);
    // Coarse cells 0 and 1 are fluid in the lower two rows, 2 is solid, row 2 is air.
    let inside = place([1, 1]);
    assert_eq!((inside.mass[0], inside.held), (1.0, 0));
    assert_eq!((inside.cell[0].weight, inside.cell[1].weight), (5.0, 5.0));
    assert_eq!(inside.edge[0].weight, 2.5);
    assert_eq!(inside.edge[0].free, 4);
    // A face beside the solid is held, and so is one of the side.
    assert_eq!(place([2, 1]).held & 1, 1);
    assert_eq!(place([0, 1]).held & 1, 1);
    // At the surface, edges count whole where one cell is fluid, and faces that touch only edges
    // have no mass.
    let above = place([1, 2]);
    assert_eq!(above.edge[0].weight, 2.5);
    assert_eq!((above.mass[0], above.mass[1]), (0.0, 1.0));
    assert_eq!(above.cell[0].weight, 0.0);
}

#[test]
fn the_box_takes_few_iterations_by_labels() {
    for n in [16, 32] {
        let options = ViscousOptions {
            smoother: Smoother::Box,
            ..BY_LABELS
        };
        let body = Sine::<3>::new(n);
        let mut solver = ViscousSolver::new(options);
        solver.assemble(&body);
        solver.load_rhs(|axis, face| body.load(axis, face));
        let outcome = solver.solve(&Tolerance::default()).expect("a solve");
        assert!(
            outcome.converged() && outcome.iterations <= 8,
            "{outcome:?}"
        );
    }
}
