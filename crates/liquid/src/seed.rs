//! Particles that come and go: seeding, sources, drains, open sides, reseeding.

use std::collections::BTreeMap;

use plash_grid::{Cell, Grid, Runs, corners};

use crate::advect::CLEARANCE;
use crate::bins::Bins;
use crate::nozzle::{Nozzle, cells_of};
use crate::occupancy::Occupancy;
use crate::particles::Particles;
use crate::setup::{DomainSide, Setup, Transfer};
use crate::solids::Solids;
use crate::state::State;

/// Largest jitter, as a share of a subcell's side.
const JITTER: f64 = 0.25;

/// A number in −1..1 from a seed, a place and a running number: the same on every machine
/// and in any order of evaluation.
fn noise(seed: u64, place: u64, n: u64) -> f64 {
    // splitmix64 over the three, mixed one after another.
    let mix = |mut z: u64| {
        z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let bits = mix(mix(mix(seed) ^ place) ^ n);
    (bits >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// The jittered point of one of the `2^D` subcells of a cell. `place` and the subcell's
/// number make it reproducible.
fn subcell_point<const D: usize>(
    grid: &Grid<D>,
    cell: Cell<D>,
    subcell: [i32; D],
    seed: u64,
    place: u64,
) -> [f64; D] {
    let number: i32 = (0..D).map(|a| subcell[a] << a).sum();
    let fraction = std::array::from_fn(|a| {
        let jitter = JITTER * noise(seed, place, (number as usize * D + a) as u64);
        0.5 * (subcell[a] as f64 + 0.5 + jitter)
    });
    grid.position(cell.0, fraction)
}

/// Fills the liquid volumes of a setup with particles, `2^D` per cell.
pub fn liquids<const D: usize>(setup: &Setup<D>, solids: &Solids<D>, state: &mut State<D>) {
    let grid = &setup.grid;
    let carries = Carries::of(setup);
    if setup.liquids.is_empty() {
        return;
    }
    for cell in grid.all_cells() {
        let place = grid.layout().index(cell.0) as u64;
        for subcell in corners::<D>() {
            let x = subcell_point(grid, cell, subcell, setup.scheme.seed, place);
            let inside = setup.liquids.iter().find(|l| l.shape.distance(x) < 0.0);
            if let Some(liquid) = inside
                && solids.distance(x) > 0.0
            {
                carries.add(state, x, liquid.velocity, liquid.viscosity.at(x));
                state.volume_expected += setup.particle_volume();
            }
        }
    }
}

/// What particles carry besides their velocity.
#[derive(Clone, Copy)]
struct Carries {
    affine: bool,
    viscosity: bool,
}

impl Carries {
    fn of<const D: usize>(setup: &Setup<D>) -> Self {
        Carries {
            affine: setup.scheme.transfer == Transfer::Apic,
            viscosity: setup.uniform_viscosity().is_none(),
        }
    }

    /// Adds a particle.
    fn add<const D: usize>(
        self,
        state: &mut State<D>,
        x: [f64; D],
        velocity: [f64; D],
        viscosity: f64,
    ) {
        let (particles, id) = (&mut state.particles, state.next_id);
        if self.viscosity {
            particles.push_viscous(x, velocity, id, self.affine, viscosity as f32);
        } else {
            particles.push(x, velocity, id, self.affine);
        }
        state.next_id += 1;
    }
}

/// Runs the sources: particles inside a source move with it, and it is kept as full as liquid
/// at rest. Returns how many particles were added. Bins must be up to date; the new particles
/// are not yet in them.
pub fn emit<const D: usize>(
    setup: &Setup<D>,
    solids: &Solids<D>,
    bins: &Bins<D>,
    state: &mut State<D>,
) -> usize {
    let carries = Carries::of(setup);
    let before = state.particles.len();
    let time = state.time;
    // Particles that an earlier source has just added, by cell: sources may overlap.
    let mut fresh: BTreeMap<usize, Vec<[f64; D]>> = BTreeMap::new();
    for source in Nozzle::active(setup, time) {
        let mut slots = SourceSlots::default();
        for cell in cells_of(source.cells(&setup.grid)) {
            slots.visit_cell(setup, solids, &source, cell, bins, &fresh, state);
        }
        for x in slots.missing(source.source.velocity) {
            let cell = setup.grid.layout().index(setup.grid.cell_at(x).0);
            fresh.entry(cell).or_default().push(x);
            carries.add(state, x, source.velocity, source.viscosity(x));
            state.volume_expected += setup.particle_volume();
        }
    }
    state.particles.len() - before
}

/// What a source holds and what it could hold.
#[derive(Default)]
struct SourceSlots<const D: usize> {
    /// Points of subcells inside the source: as many particles it holds when full.
    capacity: usize,
    /// Particles inside.
    inside: usize,
    /// The points whose subcells are empty.
    empty: Vec<[f64; D]>,
}

impl<const D: usize> SourceSlots<D> {
    #[allow(clippy::too_many_arguments)]
    fn visit_cell(
        &mut self,
        setup: &Setup<D>,
        solids: &Solids<D>,
        source: &Nozzle<'_, D>,
        cell: Cell<D>,
        bins: &Bins<D>,
        fresh: &BTreeMap<usize, Vec<[f64; D]>>,
        state: &mut State<D>,
    ) {
        let grid = &setup.grid;
        let mut full = [false; 8];
        let mut count = |x: [f64; D]| {
            let l = grid.lattice(x, [0.0; D]);
            let subcell: usize = (0..D)
                .map(|a| usize::from(l[a] - cell.0[a] as f64 >= 0.5) << a)
                .sum();
            full[subcell] = true;
            let inside = source.contains(x);
            self.inside += usize::from(inside);
            inside
        };
        for p in bins.in_cell(cell) {
            if count(state.particles.position[p]) {
                state.particles.velocity[p] = source.velocity;
                if let Some(affine) = state.particles.affine.get_mut(p) {
                    *affine = [[0.0; D]; D];
                }
            }
        }
        for &x in fresh
            .get(&grid.layout().index(cell.0))
            .into_iter()
            .flatten()
        {
            count(x);
        }
        let place = grid.layout().index(cell.0) as u64 ^ (state.step << 32);
        for (number, subcell) in corners::<D>().enumerate() {
            let x = subcell_point(grid, cell, subcell, setup.scheme.seed, place);
            let open = solids.distance(x) > CLEARANCE * grid.dx();
            if open && source.contains(x) {
                self.capacity += 1;
                if !full[number] {
                    self.empty.push(x);
                }
            }
        }
    }

    /// Where to add particles. A random distribution leaves subcells empty at the right
    /// density, so emptiness alone would overfill: add no more than are missing in all, and
    /// those farthest upstream, where the liquid has moved on.
    fn missing(mut self, velocity: [f64; D]) -> Vec<[f64; D]> {
        let along = |x: &[f64; D]| (0..D).map(|a| x[a] * velocity[a]).sum::<f64>();
        self.empty.sort_by(|x, y| along(x).total_cmp(&along(y)));
        self.empty
            .truncate(self.capacity.saturating_sub(self.inside));
        self.empty
    }
}

/// Removes particles in drains and beyond open sides; returns how many.
pub fn remove<const D: usize>(setup: &Setup<D>, state: &mut State<D>) -> usize {
    let time = state.time;
    let drains: Vec<_> = setup
        .drains
        .iter()
        .filter(|d| time >= d.start && time < d.end)
        .collect();
    let any_open = setup.sides.iter().flatten().any(|&s| s == DomainSide::Open);
    if drains.is_empty() && !any_open {
        return 0;
    }
    let (lo, hi) = (setup.grid.origin(), setup.grid.end());
    let keep: Vec<bool> = state
        .particles
        .position
        .iter()
        .map(|&x| {
            let inside = (0..D).all(|a| {
                (setup.sides[a][0] == DomainSide::Closed || x[a] >= lo[a])
                    && (setup.sides[a][1] == DomainSide::Closed || x[a] <= hi[a])
            });
            inside && drains.iter().all(|d| d.shape.distance(x) >= 0.0)
        })
        .collect();
    let removed = state.particles.retain(|i| keep[i]);
    state.volume_expected -= removed as f64 * setup.particle_volume();
    removed
}

/// Moves particles from crowded to empty interior cells: where a cell far from the surface
/// holds more than twice its share, the surplus is deleted; where one holds none, particles
/// are added with the mean velocity and viscosity of the cells around, never more than have been deleted
/// before, so that the liquid's volume stays what it should be. Returns whether anything
/// changed.
pub fn reseed<const D: usize>(
    setup: &Setup<D>,
    runs: &Runs<D>,
    bins: &Bins<D>,
    occupancy: &Occupancy<D>,
    solids: &Solids<D>,
    state: &mut State<D>,
) -> bool {
    let grid = &setup.grid;
    let full = 1usize << D;
    let carries = Carries::of(setup);
    let owed = state.volume_expected / setup.particle_volume() - state.particles.len() as f64;
    let mut owed = owed.round().max(0.0) as usize;
    let mut surplus = Vec::new();
    let mut empty = Vec::new();
    for (row, list) in runs.iter() {
        for run in list {
            for i in run.cells(grid.cells()[0]) {
                let count = bins.count(row.start + i);
                if (count > 0 && count <= 2 * full) || count == 0 && owed == 0 {
                    continue;
                }
                let cell = Cell(row.point(i));
                if !is_deep(grid, occupancy, solids, cell) {
                    continue;
                }
                if count == 0 {
                    empty.push(cell);
                } else {
                    surplus.extend(bins.in_cell(cell).skip(2 * full));
                }
            }
        }
    }
    let mut fresh = Vec::new();
    for cell in empty {
        let place = grid.layout().index(cell.0) as u64 ^ (state.step << 32);
        let (velocity, viscosity) = means_around(grid, bins, &state.particles, cell);
        for subcell in corners::<D>().take(owed) {
            let x = subcell_point(grid, cell, subcell, setup.scheme.seed, place);
            fresh.push((x, velocity, viscosity));
            owed -= 1;
        }
    }
    let changed = !surplus.is_empty() || !fresh.is_empty();
    if !surplus.is_empty() {
        let mut keep = vec![true; state.particles.len()];
        surplus.iter().for_each(|&i| keep[i] = false);
        state.particles.retain(|i| keep[i]);
    }
    for (x, velocity, viscosity) in fresh {
        carries.add(state, x, velocity, viscosity);
    }
    changed
}

/// The cells around a cell that lie on the grid, and itself.
fn cells_around<const D: usize>(grid: &Grid<D>, cell: Cell<D>) -> impl Iterator<Item = Cell<D>> {
    (0..3usize.pow(D as u32))
        .map(move |n| {
            Cell(std::array::from_fn(|a| {
                cell.0[a] + (n / 3usize.pow(a as u32) % 3) as i32 - 1
            }))
        })
        .filter(|&other| grid.contains(other))
}

/// Whether a cell lies wholly in the open and all cells around it are bulk liquid.
fn is_deep<const D: usize>(
    grid: &Grid<D>,
    occupancy: &Occupancy<D>,
    solids: &Solids<D>,
    cell: Cell<D>,
) -> bool {
    solids.volume()[cell] >= 1.0
        && cells_around(grid, cell).all(|other| other == cell || occupancy.density()[other] >= 0.5)
}

/// Mean velocity and viscosity of the particles in the cells around a cell.
fn means_around<const D: usize>(
    grid: &Grid<D>,
    bins: &Bins<D>,
    particles: &Particles<D>,
    cell: Cell<D>,
) -> ([f64; D], f64) {
    let mut velocity = [0.0; D];
    let mut viscosity = 0.0;
    let mut count = 0;
    for p in cells_around(grid, cell).flat_map(|other| bins.in_cell(other)) {
        for a in 0..D {
            velocity[a] += particles.velocity[p][a];
        }
        viscosity += particles.viscosity.get(p).map_or(0.0, |&v| f64::from(v));
        count += 1;
    }
    let mean = |sum: f64| if count > 0 { sum / count as f64 } else { 0.0 };
    (velocity.map(mean), mean(viscosity))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_fills_its_range_evenly() {
        let values: Vec<f64> = (0..10_000).map(|i| noise(1, i / 16, i % 16)).collect();
        assert!(values.iter().all(|v| (-1.0..1.0).contains(v)));
        let mean = values.iter().sum::<f64>() / 1e4;
        let square = values.iter().map(|v| v * v).sum::<f64>() / 1e4;
        assert!(mean.abs() < 0.02 && (square - 1.0 / 3.0).abs() < 0.01);
    }

    #[test]
    fn a_subcell_point_stays_in_its_subcell() {
        let grid = Grid::new([4, 4, 4], 0.1, [0.0; 3]).unwrap();
        for n in 0..200 {
            for subcell in corners::<3>() {
                let x = subcell_point(&grid, Cell([1, 2, 3]), subcell, 7, n);
                let l = grid.lattice(x, [0.0; 3]);
                for a in 0..3 {
                    let low = [1.0, 2.0, 3.0][a] + 0.5 * subcell[a] as f64;
                    assert!(l[a] > low + 0.1 && l[a] < low + 0.4);
                }
            }
        }
    }
}
