//! What several tests need: grids, fields by formula, runs of a simulation.

use plash_grid::{CellField, FaceField, Grid, Runs, axes};
use plash_liquid::pressure::{Contact, Domain, Projection};
use plash_liquid::shape::Shape;
use plash_liquid::solids::Solids;
use plash_liquid::{
    LiquidVolume, Method, PressureConfig, PressureMethod, Setup, Simulation, Solid, SolveReport,
    State, StepReport,
};

/// Standard gravity as the references take it, m/s².
pub const G: f64 = 9.81;

/// A cube (square) of side 1 m with `n` cells along each side.
pub fn unit_grid<const D: usize>(n: usize) -> Grid<D> {
    Grid::new([n; D], 1.0 / n as f64, [0.0; D]).expect("a grid")
}

/// Liquid at rest.
pub fn still<const D: usize>(shape: Shape<D>) -> LiquidVolume<D> {
    LiquidVolume::new(shape)
}

/// All of space but the inside of `hollow`.
pub fn around<const D: usize>(hollow: Shape<D>) -> Solid<D> {
    let everything = Shape::Box {
        min: [-10.0; D],
        max: [10.0; D],
    };
    Solid::new(Shape::Subtract(Box::new(everything), vec![hollow]))
}

/// A number in −1..1, the same for the same `n`.
pub fn noise(n: u64) -> f64 {
    let mut z = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// A cell field by its formula at cell centres.
pub fn at_cells<const D: usize>(grid: &Grid<D>, f: impl Fn([f64; D]) -> f64) -> CellField<f64, D> {
    let mut field = CellField::<f64, D>::new(grid);
    for cell in grid.all_cells() {
        field[cell] = f(cell.center(grid));
    }
    field
}

/// A face field by its formula: each component in the middle of its faces.
pub fn at_faces<const D: usize>(
    grid: &Grid<D>,
    f: impl Fn([f64; D]) -> [f64; D],
) -> FaceField<f64, D> {
    let mut field = FaceField::<f64, D>::new(grid);
    for axis in axes::<D>() {
        for face in grid.faces(axis) {
            field[face] = f(face.position(grid))[axis.0];
        }
    }
    field
}

/// What a projection leaves.
pub struct Projected<const D: usize> {
    /// The velocity after it.
    pub u: FaceField<f64, D>,
    /// 1 at faces where it is meaningful.
    pub known: FaceField<u8, D>,
    /// `p Δt/ρ`.
    pub q: CellField<f64, D>,
    /// 1 at wall cells that have let go.
    pub separated: CellField<u8, D>,
    /// Whether each cell is an unknown.
    pub wet: CellField<u8, D>,
    /// How the solve went.
    pub report: SolveReport,
}

/// Projects `u` once, solved as far as rounding allows: by a method that is in double precision
/// throughout, since it is the discretisation that is tested.
pub fn project<const D: usize>(
    solids: &Solids<D>,
    phi: &CellField<f64, D>,
    u: FaceField<f64, D>,
    grid: &Grid<D>,
) -> Projected<D> {
    let method = PressureMethod::Solver(Method::PiPcg);
    project_by(method, solids, phi, u, grid)
}

/// Projects `u` once by a given method.
pub fn project_by<const D: usize>(
    method: PressureMethod,
    solids: &Solids<D>,
    phi: &CellField<f64, D>,
    u: FaceField<f64, D>,
    grid: &Grid<D>,
) -> Projected<D> {
    let runs = Runs::all(grid.layout());
    let domain = Domain {
        grid,
        runs: &runs,
        solids,
        phi,
        driven: None,
    };
    let config = PressureConfig {
        method,
        tolerance: 1e-12,
        max_iterations: 5000,
        ..PressureConfig::default()
    };
    let mut projection = Projection::new(grid, config);
    let mut u = u;
    let mut known = FaceField::new(grid);
    let mut q = CellField::new(grid);
    let mut separated = CellField::new(grid);
    let contact = Contact {
        pressure: &mut q,
        separated: &mut separated,
    };
    let report = projection
        .project(&domain, &mut u, &mut known, contact)
        .expect("the projection solves");
    let mut wet = CellField::new(grid);
    for &cell in projection.system().cells() {
        wet.as_mut_slice()[cell as usize] = 1;
    }
    Projected {
        u,
        known,
        q,
        separated,
        wet,
        report,
    }
}

/// Steps a simulation to `end`, calling `each` after every substep.
pub fn run<const D: usize>(
    simulation: &mut Simulation<D>,
    end: f64,
    mut each: impl FnMut(&Simulation<D>, &StepReport),
) {
    while simulation.state().time < end - 1e-9 {
        let dt = simulation.suggest_dt(end - simulation.state().time);
        let report = simulation.step(dt, &mut ()).expect("a step");
        each(simulation, &report);
    }
}

/// A state with these particles, as if it had been seeded.
pub fn state_of<const D: usize>(
    setup: &Setup<D>,
    particles: impl IntoIterator<Item = ([f64; D], [f64; D])>,
) -> State<D> {
    let mut state = State::empty(&setup.grid);
    let affine = setup.scheme.transfer == plash_liquid::Transfer::Apic;
    for (x, v) in particles {
        state.particles.push(x, v, state.next_id, affine);
        state.next_id += 1;
        state.volume_expected += setup.particle_volume();
    }
    state
}

/// Asserts that a signed error lies within its target either way, and prints both: the sign
/// says more about the cause than the size.
#[allow(clippy::print_stdout)]
#[track_caller]
pub fn within(what: &str, error: f64, target: f64) {
    println!("{what}: {error:+.3e}, target ±{target:.3e}");
    assert!(
        error.abs() < target,
        "{what}: {error:e}, target ±{target:e}"
    );
}

/// Asserts that a measured figure is above its target, and prints both.
#[allow(clippy::print_stdout)]
#[track_caller]
pub fn above(what: &str, measured: f64, target: f64) {
    println!("{what}: {measured:.3e}, target at least {target:.3e}");
    assert!(measured > target, "{what}: {measured:e}, target {target:e}");
}

/// Asserts that a measured figure is below its target, and prints both for
/// `cargo test -- --nocapture`.
#[allow(clippy::print_stdout)]
#[track_caller]
pub fn below(what: &str, measured: f64, target: f64) {
    println!("{what}: {measured:.3e}, target {target:.3e}");
    assert!(measured < target, "{what}: {measured:e}, target {target:e}");
}

/// The height of the surface over one column of cells: where, from above, the density first
/// reaches one half, which it has in the surface itself.
pub fn surface_height<const D: usize>(simulation: &Simulation<D>, column: [i32; D]) -> f64 {
    let grid = &simulation.setup().grid;
    let density = simulation.occupancy().density();
    let at = |y: i32| {
        let mut cell = column;
        cell[1] = y;
        plash_grid::Cell(cell)
    };
    let top = grid.cells()[1] as i32 - 1;
    let Some(y) = (0..=top).rev().find(|&y| density[at(y)] >= 0.5) else {
        return grid.origin()[1];
    };
    let here = density[at(y)];
    let above = if y < top { density[at(y + 1)] } else { 0.0 };
    at(y).center(grid)[1] + grid.dx() * (here - 0.5) / (here - above)
}

/// The mean surface height over all columns.
pub fn mean_surface_height<const D: usize>(simulation: &Simulation<D>) -> f64 {
    let grid = &simulation.setup().grid;
    let columns = grid.all_cells().filter(|c| c.0[1] == 0);
    let (mut sum, mut count) = (0.0, 0.0);
    for cell in columns {
        sum += surface_height(simulation, cell.0);
        count += 1.0;
    }
    sum / count
}
