//! The same setup gives the same bits, whatever the number of threads and wherever it stops.

use plash_grid::Grid;
use plash_liquid::shape::Shape;
use plash_liquid::{
    Graduation, LiquidVolume, Scale, Setup, Simulation, Solid, Source, State, Transfer, Viscosity,
    Waypoint,
};

/// A dam thrown up beside a ball, with a source, large enough that work is split between threads.
fn setup<const D: usize>(n: usize) -> Setup<D> {
    let mut cells = [n; D];
    cells[0] = 2 * n;
    let grid = Grid::new(cells, 1.0 / n as f64, [0.0; D]).expect("a grid");
    let mut setup = Setup::new(grid);
    let mut top = [1.0; D];
    (top[0], top[1]) = (0.8, 0.7);
    // Thrown up a little, so that it lets go of the floor for a few steps.
    let mut velocity = [0.0; D];
    velocity[1] = 3.0;
    setup.liquids.push(LiquidVolume {
        velocity,
        ..LiquidVolume::new(Shape::Box {
            min: [0.0; D],
            max: top,
        })
    });
    let mut center = [0.5; D];
    (center[0], center[1]) = (0.9, 0.2);
    setup.solids.push(Solid::new(Shape::Sphere {
        center,
        radius: 0.15,
    }));
    let mut velocity = [0.0; D];
    velocity[0] = -1.0;
    let mut center = [0.6; D];
    center[0] = 1.7;
    setup.sources.push(Source {
        velocity,
        ..Source::new(Shape::Sphere {
            center,
            radius: 0.1,
        })
    });
    setup
}

/// The same with liquids of different viscosity, and a source that moves.
fn thick<const D: usize>(n: usize) -> Setup<D> {
    let mut setup = setup::<D>(n);
    setup.liquids[0].viscosity = Viscosity::Graded {
        axis: plash_grid::Axis::X,
        from: Graduation {
            at: 0.0,
            value: 0.1,
        },
        to: Graduation {
            at: 0.8,
            value: 30.0,
        },
        scale: Scale::Log,
    };
    let mut offset = [0.0; D];
    offset[1] = -0.2;
    setup.sources[0].viscosity = Viscosity::Constant(5.0);
    setup.sources[0].path = vec![
        Waypoint {
            time: 0.0,
            offset: [0.0; D],
        },
        Waypoint { time: 0.3, offset },
    ];
    setup.scheme.transfer = Transfer::Apic;
    setup
}

fn advance<const D: usize>(simulation: &mut Simulation<D>, steps: usize) {
    for _ in 0..steps {
        let dt = simulation.suggest_dt(1.0);
        simulation.step(dt, &mut ()).expect("a step");
    }
}

/// Every bit of a state: equality of numbers would let −0 pass for 0.
fn bits<const D: usize>(state: &State<D>) -> Vec<u64> {
    let particles = &state.particles;
    let vectors = particles.position.iter().chain(&particles.velocity);
    let numbers = vectors.flatten().chain(state.pressure.as_slice());
    let scalars = [state.time, state.volume_expected];
    let dilations = state.dilation.iter().flat_map(|cells| cells.as_slice());
    let whole = [state.step, state.next_id];
    numbers
        .chain(&scalars)
        .map(|v| v.to_bits())
        .chain(whole)
        .chain(particles.id.iter().copied())
        .chain(particles.viscosity.iter().map(|mu| mu.to_bits().into()))
        .chain(
            particles
                .affine
                .as_flattened()
                .as_flattened()
                .iter()
                .map(|v| v.to_bits()),
        )
        .chain(state.separated.as_slice().iter().map(|&flag| flag.into()))
        .chain(dilations.map(|d| d.to_bits().into()))
        .collect()
}

fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build().expect("a pool").install(work)
}

fn thread_counts_agree<const D: usize>(setup: Setup<D>, steps: usize) {
    let after = |threads: usize| {
        with_threads(threads, || {
            let mut simulation = Simulation::new(setup.clone());
            advance(&mut simulation, steps);
            simulation.state().clone()
        })
    };
    let (one, two, three) = (after(1), after(2), after(3));
    assert!(one.particles.len() > 4096, "too few particles to split");
    assert!(bits(&one) == bits(&two), "1 and 2 threads differ");
    assert!(bits(&one) == bits(&three), "1 and 3 threads differ");
}

#[test]
fn any_number_of_threads_gives_the_same_bits_2d() {
    thread_counts_agree(setup::<2>(48), 20);
}

#[test]
fn any_number_of_threads_gives_the_same_bits_3d() {
    thread_counts_agree(setup::<3>(16), 20);
}

#[test]
fn any_number_of_threads_gives_the_same_bits_with_viscosities_2d() {
    thread_counts_agree(thick::<2>(48), 8);
}

#[test]
fn any_number_of_threads_gives_the_same_bits_with_viscosities_3d() {
    thread_counts_agree(thick::<3>(16), 8);
}

fn a_resumed_run_is_the_unbroken_one<const D: usize>(setup: Setup<D>) {
    let mut unbroken = Simulation::new(setup.clone());
    advance(&mut unbroken, 10);
    let separated = unbroken.state().separated.as_slice();
    assert!(separated.contains(&1), "nothing has let go of a wall");
    let mut resumed = Simulation::resume(setup, unbroken.state().clone());
    assert!(bits(unbroken.state()) == bits(resumed.state()));
    assert_eq!(unbroken.volume().to_bits(), resumed.volume().to_bits());
    advance(&mut unbroken, 10);
    advance(&mut resumed, 10);
    assert!(bits(unbroken.state()) == bits(resumed.state()));
}

#[test]
fn a_resumed_run_is_the_unbroken_one_2d() {
    a_resumed_run_is_the_unbroken_one(setup::<2>(32));
}

#[test]
fn a_resumed_run_is_the_unbroken_one_3d() {
    a_resumed_run_is_the_unbroken_one(setup::<3>(12));
}

#[test]
fn a_resumed_run_is_the_unbroken_one_with_viscosities_2d() {
    a_resumed_run_is_the_unbroken_one(thick::<2>(32));
}

#[test]
fn a_resumed_run_is_the_unbroken_one_with_viscosities_3d() {
    a_resumed_run_is_the_unbroken_one(thick::<3>(12));
}

/// A source moves the particles in it whether or not it adds any, and the next step depends on how fast
/// the fastest one is.
#[test]
fn a_run_resumed_at_any_step_takes_the_same_next() {
    let mut setup = thick::<2>(32);
    setup.liquids.clear();
    setup.sources[0].velocity = [0.0, -0.1];
    let mut simulation = Simulation::new(setup.clone());
    let mut added_none = 0;
    for step in 0..60 {
        let dt = simulation.suggest_dt(1.0).min(0.004);
        let report = simulation.step(dt, &mut ()).expect("a step");
        added_none += usize::from(report.emitted == 0);
        let resumed = Simulation::resume(setup.clone(), simulation.state().clone());
        let [own, other] = [&simulation, &resumed].map(|s| s.suggest_dt(1.0).to_bits());
        assert_eq!(own, other, "after step {step}");
    }
    assert!(added_none > 5, "{added_none} steps without a new particle");
}

/// A drain that takes a whole region at once leaves nothing behind that a resumed run would
/// not know of: the multigrid reads φ on the whole grid.
#[test]
fn resuming_after_a_sudden_drain_gives_the_same_bits() {
    let grid = plash_grid::Grid::<2>::new([64, 32], 2.0 / 64.0, [0.0; 2]).unwrap();
    let mut setup = plash_liquid::Setup::new(grid);
    setup
        .liquids
        .push(plash_liquid::LiquidVolume::new(Shape::Box {
            min: [0.0, 0.0],
            max: [2.0, 0.7],
        }));
    setup.drains.push(plash_liquid::Drain {
        shape: plash_liquid::shape::Shape::Box {
            min: [0.5, -1.0],
            max: [3.0, 2.0],
        },
        start: 0.015,
        end: 0.035,
    });
    setup.scheme.pressure.method =
        plash_liquid::PressureMethod::Mg(plash_liquid::MgOptions::default());
    let mut unbroken = plash_liquid::Simulation::new(setup.clone());
    for _ in 0..4 {
        let _ = unbroken.step(0.01, &mut ()).unwrap();
    }
    assert!(unbroken.state().particles.len() < 3000, "the drain has run");
    let mut resumed = plash_liquid::Simulation::resume(setup, unbroken.state().clone());
    for _ in 0..6 {
        let _ = unbroken.step(0.01, &mut ()).unwrap();
        let _ = resumed.step(0.01, &mut ()).unwrap();
    }
    assert!(unbroken.state() == resumed.state());
}
