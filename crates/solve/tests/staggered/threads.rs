//! The same bits from one thread and from two.

use plash_solve::Tolerance;
use plash_solve::staggered::{Coarsening, Sine, Smoother, ViscousOptions, ViscousSolver};

fn solution<const D: usize>(body: &Sine<D>, options: ViscousOptions, threads: usize) -> Vec<u64> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("a pool").install(|| {
        let mut solver = ViscousSolver::new(options);
        solver.assemble(body);
        assert!(solver.unknowns() > 20_000, "{}", solver.unknowns());
        solver.load_rhs(|axis, face| body.load(axis, face));
        let outcome = solver.solve(&Tolerance::default()).expect("a solve");
        assert!(outcome.converged(), "{outcome:?}");
        let (_, _, numbers) = solver.system().expect("a system");
        let value = |(axis, index)| {
            let face = solver.face(index).expect("a face");
            solver.value(axis, face).expect("a free face").to_bits()
        };
        numbers.iter().map(value).collect()
    })
}

fn bits_do_not_depend_on_threads<const D: usize>(n: usize) {
    let smoothers = Smoother::ALL.iter().map(|&smoother| ViscousOptions {
        smoother,
        ..ViscousOptions::default()
    });
    let by_labels = ViscousOptions {
        coarsening: Coarsening::Labels,
        ..ViscousOptions::default()
    };
    for options in smoothers.chain([by_labels]) {
        for body in [Sine::<D>::new(n), Sine::graded(n, 100.0)] {
            let [one, two] = [1, 2].map(|threads| solution(&body, options, threads));
            assert!(one == two, "{D}D {options:?}: {body:?}");
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads_2d() {
    bits_do_not_depend_on_threads::<2>(176);
}

#[test]
fn bits_do_not_depend_on_threads_3d() {
    bits_do_not_depend_on_threads::<3>(29);
}
