//! The operator on random bodies: symmetric, and definite wherever there is mass; all methods
//! find the same; edges and slivers do not matter.

use crate::common::{
    Formula, at_most, ball, cell_middle, fill_below, masses, noise, noise_at, solver, to, way,
};
use plash_solve::Csr;
use plash_solve::staggered::{
    Coarsening, Fill, Smoother, ViscousMethod, ViscousOptions, ViscousSolver,
};

/// Anything: cells that are empty, full, or full in part; obstacles; open sides; walls that have
/// let go.
fn random<const D: usize>(cells: [usize; D], seed: u64) -> Formula<D> {
    let chance = move |k: u64| noise(seed.wrapping_mul(977) + k);
    let fill = move |cell: [i32; D]| {
        let kind = noise_at(seed, 7, cell);
        if kind < -0.5 {
            return Fill::Empty;
        }
        if kind < 0.5 {
            return Fill::Full;
        }
        let mut octants = [0.0f32; 8];
        for (o, share) in octants.iter_mut().enumerate().take(1 << D) {
            let value = noise_at(seed + 1, 11 + o, cell);
            // Many are empty or full, and some nearly empty.
            *share = match value {
                v if v < -0.4 => 0.0,
                v if v < -0.2 => 1e-5,
                v if v < 0.5 => (v + 0.2) as f32,
                _ => 1.0,
            };
        }
        Fill::Part(octants)
    };
    let mut body = Formula::full(cells, 10f64.powf(3.0 * chance(1)));
    body.fill = Box::new(fill);
    if chance(2) > 0.0 {
        let size = 10f64.powf(2.0 * chance(3));
        body = body.varied(move |cell| size * 10f64.powf(noise_at(seed + 2, 3, cell)));
    }
    if chance(4) > -0.3 {
        let centers: [[f64; D]; 2] = std::array::from_fn(|k| {
            std::array::from_fn(|a| cells[a] as f64 * (0.5 + 0.5 * chance(10 + (k * D + a) as u64)))
        });
        let radii = [1.0 + chance(5).abs(), 0.6];
        body = body.around(move |_, x| {
            let apart = (0..2).map(|k| way(x, centers[k]) - radii[k]);
            apart.fold(f64::INFINITY, f64::min)
        });
    }
    for axis in 0..D {
        for side in 0..2 {
            body.open[axis][side] = chance(20 + (2 * axis + side) as u64) > 0.4;
        }
    }
    body.lets_go = Box::new(move |cell| noise_at(seed + 3, 5, cell) > 0.6);
    body
}

/// The smallest shift `s` of those tried, relative to the largest diagonal, at which Cholesky's
/// factorisation of `A − B + s I` exists.
fn shift_to_definite(a: &Csr, minus: &[f64]) -> f64 {
    let n = a.rows();
    let largest = (0..n).map(|i| a.get(i, i)).fold(0.0, f64::max);
    for shift in [1e-13, 1e-11, 1e-9, 1e-7, 1e-5, 1e-3, 1.0] {
        let mut l = vec![vec![0.0; n]; n];
        for i in 0..n {
            let (columns, values) = a.row(i);
            for (&j, &v) in columns.iter().zip(values) {
                l[i][j as usize] = v;
            }
            l[i][i] += shift * largest - minus[i];
        }
        if factorise(&mut l) {
            return shift;
        }
    }
    f64::INFINITY
}

/// Cholesky in place; whether all pivots are positive.
fn factorise(l: &mut [Vec<f64>]) -> bool {
    for j in 0..l.len() {
        let pivot = l[j][j] - (0..j).map(|k| l[j][k] * l[j][k]).sum::<f64>();
        if pivot.is_nan() || pivot <= 0.0 {
            return false;
        }
        l[j][j] = pivot.sqrt();
        for i in j + 1..l.len() {
            let dot: f64 = (0..j).map(|k| l[i][k] * l[j][k]).sum();
            l[i][j] = (l[i][j] - dot) / l[j][j];
        }
    }
    true
}

fn the_operator_is_symmetric_and_dissipates<const D: usize>(cells: [usize; D]) {
    let mut worst: f64 = 0.0;
    let mut unknowns = 0;
    for seed in 0..40 {
        let mut solver = solver(&random(cells, seed), ViscousOptions::default());
        let mass: Vec<f64> = masses(&mut solver).iter().map(|m| m.2).collect();
        let (a, _, _) = solver.system().expect("a system");
        assert!(
            a.is_symmetric(0.0),
            "seed {seed}: not symmetric to the last bit"
        );
        assert!(mass.iter().all(|&m| (0.0..=1.0).contains(&m)));
        // Mass is never negative and the rest never gains energy: all that has mass is definite.
        worst = worst.max(shift_to_definite(&a, &mass));
        unknowns += mass.len();
    }
    assert!(unknowns > 40 * 50, "{unknowns} unknowns");
    at_most(
        &format!("{D}D random bodies, lowest eigenvalue of A − M below zero, relative"),
        worst,
        1e-11,
    );
}

#[test]
fn the_operator_is_symmetric_and_dissipates_2d() {
    the_operator_is_symmetric_and_dissipates([9, 8]);
}

#[test]
fn the_operator_is_symmetric_and_dissipates_3d() {
    the_operator_is_symmetric_and_dissipates([5, 4, 5]);
}

/// All ways to solve.
fn all_options() -> impl Iterator<Item = ViscousOptions> {
    let smoothers = Smoother::ALL.iter().flat_map(|&smoother| {
        Coarsening::ALL
            .iter()
            .map(move |&coarsening| ViscousOptions {
                method: ViscousMethod::Mgpcg,
                smoother,
                coarsening,
            })
    });
    let assembled = [ViscousMethod::PcgIc, ViscousMethod::PcgJacobi];
    smoothers.chain(assembled.map(|method| ViscousOptions {
        method,
        ..ViscousOptions::default()
    }))
}

/// The solution at faces with at least so much mass. In bodies that are noise, rings of faces without
/// any may be left that slide past each other at no cost.
fn solution<const D: usize>(
    solver: &mut ViscousSolver<D>,
    options: ViscousOptions,
    seed: u64,
    least: f64,
) -> Vec<f64> {
    let heavy = masses(solver).into_iter().filter(|m| m.2 >= least);
    let heavy: Vec<_> = heavy.collect();
    solver.load(|axis, face| noise_at(seed, axis, face));
    let outcome = solver.solve(&to(1e-11)).expect("a solve");
    assert!(outcome.converged(), "seed {seed}, {options:?}: {outcome:?}");
    let value = |&(axis, face, _): &(usize, [i32; D], f64)| solver.value(axis, face);
    heavy
        .iter()
        .map(|m| value(m).expect("a free face"))
        .collect()
}

/// The largest difference between what any two methods find.
fn largest_difference<const D: usize>(body: &Formula<D>, seed: u64, least: f64) -> f64 {
    let mut found = all_options().map(|options| {
        let mut solver = solver(body, options);
        (options, solution(&mut solver, options, seed, least))
    });
    let (_, first) = found.next().expect("a method");
    assert!(!first.is_empty());
    let mut worst: f64 = 0.0;
    for (options, other) in found {
        let pairs = first.iter().zip(&other);
        let apart = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(apart < 1e-7, "seed {seed}, {options:?}: {apart:e} apart");
        worst = worst.max(apart);
    }
    worst
}

fn all_methods_agree_on_random_bodies<const D: usize>(cells: [usize; D]) {
    let differences = (100..108).map(|seed| largest_difference(&random(cells, seed), seed, 0.01));
    let worst = differences.fold(0.0, f64::max);
    at_most(
        &format!("{D}D random bodies, all methods, largest difference"),
        worst,
        1e-7,
    );
}

#[test]
fn all_methods_agree_on_random_bodies_2d() {
    all_methods_agree_on_random_bodies([29, 24]);
}

#[test]
fn all_methods_agree_on_random_bodies_3d() {
    all_methods_agree_on_random_bodies([12, 9, 11]);
}

/// Bodies with edges and corners of every kind: a block, one with a hole, steps, a chequered pattern
/// of two by two cells that hang together by their edges.
fn edged<const D: usize>(n: i32, stiffness: f64) -> [Formula<D>; 4] {
    let inside = move |cell: [i32; D]| cell.iter().all(|&i| (2..n - 2).contains(&i));
    let shapes: [Box<dyn Fn([i32; D]) -> bool + Sync>; 4] = [
        Box::new(inside),
        Box::new(move |cell| inside(cell) && !cell.iter().all(|&i| (4..n - 4).contains(&i))),
        Box::new(move |cell| inside(cell) && cell.iter().sum::<i32>() < n + 2),
        Box::new(move |cell| inside(cell) && (cell[0] / 2 + cell[1] / 2) % 2 == 0),
    ];
    shapes.map(|is_full| {
        let mut body = Formula::full([n as usize; D], stiffness);
        let fill = move |cell| match is_full(cell) {
            true => Fill::Full,
            false => Fill::Empty,
        };
        body.fill = Box::new(fill);
        body
    })
}

/// Along sharp edges there are faces without mass in a single sample. They are no unknowns: the
/// matrix is definite, and all methods agree everywhere.
fn edges_leave_nothing_undetermined<const D: usize>(n: i32) {
    let mut worst: f64 = 0.0;
    for (k, body) in edged::<D>(n, 100.0).iter().enumerate() {
        let (a, _, _) = solver(body, ViscousOptions::default())
            .system()
            .expect("a system");
        let least = shift_to_definite(&a, &vec![0.01; a.rows()]);
        assert_eq!(least, 1e-13, "shape {k}: an eigenvalue below 0.01");
        worst = worst.max(largest_difference(body, 7 + k as u64, 0.0));
    }
    at_most(
        &format!("{D}D bodies with edges, all methods, largest difference anywhere"),
        worst,
        1e-8,
    );
}

#[test]
fn edges_leave_nothing_undetermined_2d() {
    edges_leave_nothing_undetermined::<2>(16);
}

#[test]
fn edges_leave_nothing_undetermined_3d() {
    edges_leave_nothing_undetermined::<3>(10);
}

/// A pool whose surface has just entered another layer of cells: faces with next to no mass, and
/// faces with none beyond them.
fn pool<const D: usize>(n: usize, stiffness: f64, share: f64) -> Formula<D> {
    let height = 0.6 * n as f64;
    Formula::full([n; D], stiffness).below(move |x| x[1] - height.floor() - share)
}

/// A ball with a broken skin of cells that are hardly filled.
fn skinned<const D: usize>(n: usize, stiffness: f64, share: f64) -> Formula<D> {
    let mut body = Formula::full([n; D], stiffness);
    body.fill = Box::new(move |cell| {
        let fill = fill_below(&ball::<D>(n), cell);
        let near = ball::<D>(n)(cell_middle(cell)) < 1.2;
        if fill != Fill::Empty || !near || share == 0.0 {
            return fill;
        }
        Fill::Part(std::array::from_fn(|o| {
            if (o + cell[0] as usize).is_multiple_of(3) {
                0.0
            } else {
                share as f32
            }
        }))
    });
    body
}

const SMOOTHERS: [Smoother; 4] = [
    Smoother::Chebyshev,
    Smoother::Box,
    Smoother::GaussSeidel,
    Smoother::Vanka,
];

/// Faces without mass, and faces with next to none, cost nothing much: a pool does not notice them.
/// A ball whose whole skin is made of nothing else takes up to twice the iterations.
#[allow(clippy::print_stdout)]
fn slivers_do_not_spoil_convergence<const D: usize>(n: usize) {
    let iterations = |body: &Formula<D>, smoother: Smoother| {
        let options = ViscousOptions {
            smoother,
            ..ViscousOptions::default()
        };
        let mut solver = solver(body, options);
        solver.load(|axis, face| noise_at(3, axis, face));
        let outcome = solver.solve(&to(1e-6)).expect("a solve");
        assert!(outcome.converged(), "{smoother}: {outcome:?}");
        outcome.iterations
    };
    let shares = [1e-2, 1e-4, 1e-6, 1e-9];
    let mut worst: [f64; 2] = [0.0; 2];
    for stiffness in [1.0, 1e4] {
        for smoother in SMOOTHERS {
            let pools = shares.map(|s| iterations(&pool(n, stiffness, s), smoother));
            let pool = iterations(&pool(n, stiffness, 0.0), smoother);
            let skins = shares.map(|s| iterations(&skinned(n, stiffness, s), smoother));
            let ball = iterations(&skinned(n, stiffness, 0.0), smoother);
            println!(
                "{D}D {smoother:13} κ {stiffness:5}: pool {pool:3}, with slivers {pools:?}; ball {ball:3}, with a skin {skins:?}"
            );
            let over = |found: &[usize], without: usize| {
                let most = found.iter().max().expect("several shares");
                *most as f64 / without as f64
            };
            let found = [over(&pools, pool), over(&skins, ball)];
            worst = std::array::from_fn(|k| worst[k].max(found[k]));
        }
    }
    let [pool, skin] = worst;
    at_most(&format!("{D}D pool with slivers"), pool, 1.5);
    at_most(&format!("{D}D ball with a skin of slivers"), skin, 2.0);
}

#[test]
fn slivers_do_not_spoil_convergence_2d() {
    slivers_do_not_spoil_convergence::<2>(64);
}

#[test]
fn slivers_do_not_spoil_convergence_3d() {
    slivers_do_not_spoil_convergence::<3>(20);
}

/// What a solver did before leaves no trace: neither in numbers nor in iterations.
fn a_solver_used_again_is_as_good_as_new<const D: usize>(n: usize) {
    let solve = |solver: &mut ViscousSolver<D>, body: &Formula<D>| {
        solver.assemble(body);
        solver.load(|axis, face| noise_at(5, axis, face));
        let outcome = solver.solve(&to(1e-8)).expect("a solve");
        assert!(outcome.converged(), "{outcome:?}");
        let mut bits = Vec::new();
        for axis in 0..D {
            for k in 0..(n + 1).pow(D as u32) {
                let face = std::array::from_fn(|a| (k / (n + 1).pow(a as u32) % (n + 1)) as i32);
                bits.push(solver.value(axis, face).map(f64::to_bits));
            }
        }
        (outcome.iterations, bits)
    };
    // An obstacle moves to where there was liquid.
    let n = n as f64;
    let bodies = [0.35 * n, 0.6 * n].map(|middle| {
        let square = move |x: [f64; D]| x.iter().map(|x| (x - middle) * (x - middle)).sum::<f64>();
        Formula::full([n as usize; D], 100.0)
            .around(move |_, x| square(x).sqrt() - 0.2 * n)
            .below(move |x| x[1] - 0.8 * n)
    });
    for smoother in SMOOTHERS {
        let options = ViscousOptions {
            smoother,
            ..ViscousOptions::default()
        };
        let mut used = ViscousSolver::new(options);
        for body in &bodies {
            let again = solve(&mut used, body);
            let new = solve(&mut ViscousSolver::new(options), body);
            assert_eq!(again.0, new.0, "{smoother}: iterations");
            assert!(again.1 == new.1, "{smoother}: other bits");
        }
    }
}

#[test]
fn a_solver_used_again_is_as_good_as_new_2d() {
    a_solver_used_again_is_as_good_as_new::<2>(48);
}

#[test]
fn a_solver_used_again_is_as_good_as_new_3d() {
    a_solver_used_again_is_as_good_as_new::<3>(20);
}
