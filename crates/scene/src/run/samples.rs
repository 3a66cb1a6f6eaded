//! Small states for tests.

use plash_grid::{CellField, Grid};
use plash_liquid::{Setup, State};

use super::any::{AnyState, View};
use crate::AnySetup;

pub(crate) fn setup2() -> Setup<2> {
    Setup::new(Grid::new([13, 6], 0.1, [-0.3, 1.0]).unwrap())
}

pub(crate) fn setup3() -> Setup<3> {
    Setup::new(Grid::new([7, 5, 9], 0.02, [-0.1, 0.0, 2.0]).unwrap())
}

pub(crate) fn state2(setup: &Setup<2>, count: u64, affine: bool) -> State<2> {
    state(setup, count, affine)
}

pub(crate) fn state3(setup: &Setup<3>, count: u64, affine: bool) -> State<3> {
    state(setup, count, affine)
}

pub(crate) fn view<'a>(setup: &'a AnySetup, state: &'a AnyState) -> View<'a> {
    match (setup, state) {
        (AnySetup::D2(setup), AnyState::D2(state)) => View::D2(setup, state),
        (AnySetup::D3(setup), AnyState::D3(state)) => View::D3(setup, state),
        _ => panic!("dimensions differ"),
    }
}

/// A number in 0..1 that depends on `n` only.
fn noise(n: u64) -> f64 {
    let mut x = n
        .wrapping_add(0x9e37_79b9_7f4a_7c15)
        .wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 29;
    x = x.wrapping_mul(0x94d0_49bb_1331_11eb);
    (x >> 11) as f64 / (1_u64 << 53) as f64
}

fn state<const D: usize>(setup: &Setup<D>, count: u64, affine: bool) -> State<D> {
    let grid = &setup.grid;
    let mut state = State::empty(grid);
    state.time = 1.0 / 3.0;
    state.step = 77;
    state.next_id = 5_000_000_123;
    state.volume_expected = std::f64::consts::PI;
    for i in 0..count {
        let at = |a: usize| noise(i * 7 + a as u64);
        let position =
            std::array::from_fn(|a| grid.origin()[a] + at(a) * grid.cells()[a] as f64 * grid.dx());
        let velocity = std::array::from_fn(|a| 3.0 * (at(a + 3) - 0.5));
        state
            .particles
            .push(position, velocity, 5_000_000_000 + (i * 37) % count, affine);
        if let Some(last) = state.particles.affine.last_mut() {
            *last = std::array::from_fn(|a| std::array::from_fn(|b| at(a + b) - 0.5));
        }
    }
    for (n, cell) in grid.all_cells().enumerate() {
        if n % 3 == 0 {
            state.pressure[cell] = noise(n as u64) - 0.5;
            state.separated[cell] = u8::from(n % 2 == 0);
        }
    }
    state
}

/// The same with a viscosity for every particle, and the dilation that comes with it.
pub(crate) fn viscous<const D: usize>(setup: &Setup<D>, mut state: State<D>) -> State<D> {
    let ids = state.particles.id.iter();
    state.particles.viscosity = ids.map(|id| 0.5 + (id % 17) as f32).collect();
    let dilation = state.dilation.insert(CellField::new(&setup.grid));
    for (n, cell) in setup.grid.all_cells().enumerate() {
        dilation[cell] = noise(n as u64) as f32 - 0.5;
    }
    state
}
