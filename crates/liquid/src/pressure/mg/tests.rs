use plash_grid::{Cell, CellField, Grid, Runs, Side, axes};
use plash_solve::{Status, Tolerance, vector};

use super::*;
use crate::pressure::PcgMic;
use crate::setup::{DomainSide, LiquidVolume, PressureMethod, Setup, Solid};
use crate::shape::Shape;
use crate::solids::Solids;

/// A domain with its system and a hierarchy for it.
struct Case<const D: usize> {
    system: System<D>,
    mg: Mg<D>,
    rhs: Vec<f64>,
}

impl<const D: usize> Case<D> {
    /// The system of liquid where `phi` is negative.
    fn new(setup: &Setup<D>, phi: impl Fn([f64; D]) -> f64) -> Self {
        let grid = setup.grid;
        let solids = Solids::new(setup);
        let mut surface = CellField::<f64, D>::new(&grid);
        for cell in grid.all_cells() {
            surface[cell] = phi(cell.center(&grid));
        }
        let runs = Runs::all(grid.layout());
        crate::surface::extend_into_solids(&grid, &runs, &solids, &mut surface);
        let domain = Domain {
            grid: &grid,
            runs: &runs,
            solids: &solids,
            phi: &surface,
            driven: None,
        };
        let mut system = System::new(&grid);
        system.assemble(&domain).unwrap();
        let mut mg = Mg::new(&grid);
        mg.prepare(&domain, &system);
        let rhs = smooth_and_rough(&grid, &system);
        Case { system, mg, rhs }
    }

    fn solve(&mut self, options: &MgOptions, relative: f64) -> (Outcome, Vec<f64>) {
        let mut x = vec![0.0; self.rhs.len()];
        let tolerance = Tolerance {
            relative,
            max_iterations: 100,
            ..Tolerance::default()
        };
        let rhs = self.rhs.clone();
        let outcome = self
            .mg
            .solve(&self.system, options, &rhs, &mut x, &tolerance)
            .unwrap();
        (outcome, x)
    }

    /// The factor by which a V-cycle shrinks the residual once the first ones are over.
    fn factor(&mut self, sweeps: usize) -> f64 {
        let (from, to) = (2, 6);
        self.mg.rhs.clone_from(&self.rhs);
        self.system.null_space().project(&mut self.mg.rhs);
        self.mg.best = vec![0.0; self.rhs.len()];
        self.mg.load(&self.system);
        let mut norms = vec![];
        for _ in 0..=to {
            norms.push(self.mg.residual_norm(&self.system));
            self.mg.v_cycle(0, sweeps);
        }
        (norms[to] / norms[from]).powf(1.0 / (to - from) as f64)
    }
}

fn smooth_and_rough<const D: usize>(grid: &Grid<D>, system: &System<D>) -> Vec<f64> {
    system
        .cells()
        .iter()
        .map(|&c| {
            let at = grid.layout().at(c as usize);
            let x = Cell(at).center(grid);
            let rough = (at[0] * 7 + at[1] * 3) % 11;
            1.0 + (5.0 * x[0]).sin() + 0.1 * f64::from(rough)
        })
        .collect()
}

fn tank<const D: usize>(cells: [usize; D]) -> Setup<D> {
    let longest = cells.iter().max().copied().unwrap_or(1);
    Setup::new(Grid::new(cells, 1.0 / longest as f64, [0.0; D]).unwrap())
}

fn half_ball<const D: usize>(n: usize) -> Case<D> {
    let ball = |x: [f64; D]| x.iter().map(|x| (x - 0.5) * (x - 0.5)).sum::<f64>().sqrt() - 0.3;
    Case::new(&tank([n; D]), |x| ball(x).max(x[1] - 0.503))
}

/// A wavy pool in a tank with a ball in it.
fn obstacles<const D: usize>(n: usize) -> Case<D> {
    let mut setup = tank([n; D]);
    setup.solids.push(Solid::new(Shape::Sphere {
        center: [0.33; D],
        radius: 0.18,
    }));
    Case::new(&setup, |x| x[1] - 0.61 - 0.05 * (7.0 * x[0]).sin())
}

fn v(sweeps: usize) -> MgOptions {
    MgOptions {
        cycle: Cycle::V,
        sweeps,
        full_cycles: 0,
    }
}

fn agrees_with_conjugate_gradients<const D: usize>(mut case: Case<D>) {
    let tolerance = 1e-9;
    let mut expected = vec![0.0; case.rhs.len()];
    let outcome = PcgMic::default()
        .solve(&case.system, &case.rhs, &mut expected, tolerance, 1000)
        .unwrap();
    assert!(outcome.converged());
    let largest = vector::max_norm(&expected);
    for options in [v(2), v(10), MgOptions::default()] {
        let (outcome, x) = case.solve(&options, tolerance);
        assert!(outcome.converged(), "{options:?} {outcome:?}");
        let worst = x
            .iter()
            .zip(&expected)
            .fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        assert!(worst <= 10.0 * tolerance * largest, "{options:?} {worst:e}");
    }
}

#[test]
fn agrees_with_conjugate_gradients_on_half_a_disc_and_half_a_ball() {
    agrees_with_conjugate_gradients(half_ball::<2>(64));
    agrees_with_conjugate_gradients(half_ball::<3>(20));
}

#[test]
fn agrees_with_conjugate_gradients_around_an_obstacle() {
    agrees_with_conjugate_gradients(obstacles::<2>(64));
    agrees_with_conjugate_gradients(obstacles::<3>(20));
}

#[test]
fn agrees_with_conjugate_gradients_on_odd_sizes_and_open_sides() {
    let mut setup = tank([37, 53]);
    setup.sides[0][1] = DomainSide::Open;
    setup.sides[1][1] = DomainSide::Open;
    agrees_with_conjugate_gradients(Case::new(&setup, |_| -1.0));
    let mut setup = tank([19, 7, 13]);
    setup.sides[0] = [DomainSide::Open; 2];
    agrees_with_conjugate_gradients(Case::new(&setup, |x| x[1] - 0.3));
}

fn the_finest_level_has_the_matrix_of_the_system<const D: usize>(mut case: Case<D>) {
    let x = case.rhs.clone();
    let mut product = vec![0.0; x.len()];
    plash_solve::Operator::apply(case.system.matrix(), &x, &mut product);
    case.mg.rhs = vec![0.0; x.len()];
    case.mg.best = x;
    case.mg.load(&case.system);
    case.mg.residual_norm(&case.system);
    let largest = vector::max_norm(&product);
    for (a, r) in product.iter().zip(&case.mg.residual) {
        assert!((a + r).abs() <= 1e-13 * largest);
    }
}

#[test]
fn the_finest_level_has_the_matrix_of_the_system_2d_and_3d() {
    the_finest_level_has_the_matrix_of_the_system(obstacles::<2>(33));
    the_finest_level_has_the_matrix_of_the_system(obstacles::<3>(17));
}

fn without_air_constants_cost_nothing_on_any_level<const D: usize>(cells: [usize; D]) {
    let mut setup = tank(cells);
    setup.solids.push(Solid::new(Shape::Sphere {
        center: [0.4; D],
        radius: 0.2,
    }));
    let case = Case::new(&setup, |_| -1.0);
    assert_eq!(case.system.pockets(), 1);
    assert!(case.mg.depth > 2);
    for level in &case.mg.levels[..case.mg.depth] {
        for index in level.unknown_cells() {
            let cell = Cell(level.grid.layout().at(index));
            let row: f64 = axes::<D>()
                .flat_map(|a| Side::BOTH.map(|s| level.coupling[cell.face(a, s)]))
                .sum();
            assert!((level.diagonal[cell] - row).abs() < 1e-14, "{cell:?}");
        }
    }
}

#[test]
fn without_air_constants_cost_nothing_on_any_level_2d() {
    without_air_constants_cost_nothing_on_any_level([64, 64]);
    without_air_constants_cost_nothing_on_any_level([45, 37]);
}

#[test]
fn without_air_constants_cost_nothing_on_any_level_3d() {
    without_air_constants_cost_nothing_on_any_level([20, 15, 17]);
}

/// `Δx² A` of a quadratic is a constant times `Δx²`, so what is restricted must be four
/// times what was there.
fn a_restricted_residual_is_that_of_the_coarse_grid<const D: usize>() {
    let mut case = Case::<D>::new(&tank([16; D]), |_| -1.0);
    let quadratic = |level: &Level<D>, index: usize| {
        let x = Cell(level.grid.layout().at(index)).center(&level.grid);
        x.iter().map(|x| x * x).sum::<f64>()
    };
    for level in &mut case.mg.levels[..2] {
        for index in level.unknown_cells().collect::<Vec<_>>() {
            let value = quadratic(level, index);
            level.set_value(index, value);
        }
        level.find_residual();
    }
    let (fine, coarse) = case.mg.pair(0);
    restrict(&fine.residual, coarse);
    let inner = Cell([3; D]);
    assert!(coarse.residual[inner].abs() > 1e-3);
    assert!((coarse.rhs[inner] / coarse.residual[inner] - 1.0).abs() < 1e-12);
}

#[test]
fn a_restricted_residual_is_that_of_the_coarse_grid_2d_and_3d() {
    a_restricted_residual_is_that_of_the_coarse_grid::<2>();
    a_restricted_residual_is_that_of_the_coarse_grid::<3>();
}

#[test]
fn interpolation_is_exact_for_linear_functions_away_from_walls() {
    let mut case = Case::<3>::new(&tank([16; 3]), |_| -1.0);
    let linear = |x: [f64; 3]| x[0] - 2.0 * x[1] + 3.0 * x[2];
    let (fine, coarse) = case.mg.pair(0);
    for index in coarse.unknown_cells().collect::<Vec<_>>() {
        let x = Cell(coarse.grid.layout().at(index)).center(&coarse.grid);
        coarse.set_value(index, linear(x));
    }
    prolong(coarse, fine);
    for cell in fine.grid.all_cells() {
        if cell.0.iter().all(|n| (1..15).contains(n)) {
            let value = fine.value(fine.grid.layout().index(cell.0));
            assert!((value - linear(cell.center(&fine.grid))).abs() < 1e-14);
        }
    }
}

#[test]
fn cycles_shrink_the_residual_as_well_on_fine_grids_as_on_coarse_ones() {
    // Measured with 2 sweeps: 0.04 to 0.06 in the pool, 0.05 to 0.06 in the sealed box.
    // Corrections four times too small give 0.75.
    for n in [32, 64, 128] {
        let pool = Case::<2>::new(&tank([n; 2]), |x| x[1] - 0.503).factor(2);
        let sealed = Case::<2>::new(&tank([n; 2]), |_| -1.0).factor(2);
        assert!(pool < 0.09 && sealed < 0.09, "{n}: {pool} {sealed}");
    }
    // Measured: 0.07 and 0.09.
    for n in [16, 32] {
        let pool = Case::<3>::new(&tank([n; 3]), |x| x[1] - 0.503).factor(2);
        assert!(pool < 0.13, "{n}: {pool}");
    }
}

#[test]
fn a_full_cycle_does_more_than_a_v_cycle() {
    let [v, full] = [v(10), MgOptions::default()].map(|o| {
        let (outcome, _) = half_ball::<2>(128).solve(&o, 1e-6);
        assert!(outcome.converged());
        outcome.iterations
    });
    assert!(full < v && v <= 4, "{full} {v}");
}

#[test]
fn a_sealed_full_tank_has_a_solution_of_mean_zero() {
    for setup in [tank([48, 31]), tank([128, 9])] {
        let mut case = Case::new(&setup, |_| -1.0);
        let (outcome, x) = case.solve(&v(3), 1e-10);
        assert!(outcome.converged(), "{outcome:?}");
        let mean = vector::sum(&x) / x.len() as f64;
        assert!(mean.abs() < 1e-12 * vector::max_norm(&x));
    }
}

#[test]
fn a_bubble_smaller_than_a_coarse_cell_is_on_every_level() {
    let bubble = |x: [f64; 2]| 0.02 - (x[0] - 0.52).hypot(x[1] - 0.37);
    let mut case = Case::new(&tank([64; 2]), bubble);
    assert_eq!(case.system.pockets(), 0);
    for level in &case.mg.levels {
        let cells: usize = level.grid.cells().iter().product();
        assert!(level.unknowns < cells, "{cells}");
    }
    // Measured: a factor of 0.32 for 10 sweeps. It is the one place with air, and each
    // level has it larger than the one before.
    let (outcome, _) = case.solve(&v(10), 1e-8);
    assert!(outcome.converged(), "{outcome:?}");
}

#[test]
fn nothing_to_solve_is_solved() {
    let (outcome, x) = Case::new(&tank([16; 2]), |_| 1.0).solve(&v(2), 1e-8);
    assert!(outcome.converged() && outcome.iterations == 0 && x.is_empty());
}

#[test]
fn a_right_hand_side_that_is_no_number_is_an_error_and_leaves_the_guess() {
    let mut case = half_ball::<2>(16);
    let mut rhs = case.rhs.clone();
    rhs[7] = f64::NAN;
    let mut x = vec![0.5; rhs.len()];
    let tolerance = Tolerance::default();
    let result = case.mg.solve(&case.system, &v(2), &rhs, &mut x, &tolerance);
    assert!(matches!(result, Err(SolveError::NotFinite { .. })));
    assert!(x.iter().all(|&x| x == 0.5));
}

#[test]
fn a_good_guess_needs_no_cycle_and_useless_cycles_end() {
    let mut case = half_ball::<2>(32);
    let (_, mut x) = case.solve(&v(2), 1e-8);
    let rhs = case.rhs.clone();
    let tolerance = Tolerance {
        relative: 1e-7,
        ..Tolerance::default()
    };
    let mut solve = |options: MgOptions, x: &mut [f64]| {
        case.mg
            .solve(&case.system, &options, &rhs, x, &tolerance)
            .unwrap()
    };
    assert_eq!(solve(v(2), &mut x).iterations, 0);
    // No sweeps: only the coarsest level does anything.
    let mut y = vec![0.0; x.len()];
    let outcome = solve(v(0), &mut y);
    assert_eq!(outcome.status, Status::Stagnated);
    assert!(outcome.residual <= outcome.initial_residual);
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| obstacles::<2>(256).solve(&MgOptions::default(), 1e-6))
    };
    let (one, x) = run(1);
    let (three, y) = run(3);
    assert_eq!(one, three);
    assert!(x.iter().zip(&y).all(|(a, b)| a.to_bits() == b.to_bits()));
}

/// The pressure report of one step of a breaking dam.
fn report_of(options: MgOptions) -> crate::SolveReport {
    let mut setup = tank([32; 2]);
    setup.liquids.push(LiquidVolume::new(Shape::Box {
        min: [0.0; 2],
        max: [0.4, 0.7],
    }));
    setup.scheme.pressure.method = PressureMethod::Mg(options);
    let mut simulation = crate::Simulation::new(setup);
    simulation.step(0.01, &mut ()).unwrap().pressure
}

#[test]
fn the_report_names_the_method_that_gave_the_solution() {
    let good = report_of(MgOptions::default());
    assert_eq!((good.method, good.status), ("mg", "converged"));
    assert!(good.iterations <= 4 && good.residual <= 1e-6);
    let bad = report_of(v(0));
    assert_eq!((bad.method, bad.status), ("pcg-mic", "fallback"));
    assert!(bad.iterations > 4 && bad.residual <= 1e-6);
}
