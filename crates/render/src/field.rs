//! Occupancy: how much of the open space around a point is liquid, from particles.

use rayon::prelude::*;

use crate::error::{RenderError, positive};
use crate::fit::fit;
use crate::kernel::Kernel;
use crate::lattice::{EMPTY, Lattice, SIDE, box_points};
use crate::open::{Openness, Solid, survey};

/// Occupancy above which a point is liquid.
pub(crate) const ISO: f32 = 0.5;
/// A particle around which the occupancy stays below this is spray from the start.
const LONE: f32 = 0.3;
/// Iterations of fitting the surface to the occupancy.
const FIT_PASSES: usize = 3;
/// Smallest open fraction trusted for normalising; below it a lone particle would fill a crevice.
const LEAST_FRACTION: f32 = 0.25;
/// Passes of taking spray out of the field; the field may lose more particles as it shrinks.
const SPRAY_PASSES: usize = 2;

/// Choices of a reconstruction, in units of the simulation's spacing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReconstructionOptions {
    /// Lattice spacing divided by the simulation's; smaller is finer.
    pub resolution_scale: f64,
    /// Support radius of the smoothing kernel divided by the simulation's spacing.
    pub kernel_radius: f64,
}

impl Default for ReconstructionOptions {
    fn default() -> Self {
        Self {
            resolution_scale: 0.5,
            kernel_radius: 1.25,
        }
    }
}

/// Turns particles into occupancy fields and surfaces in one scene with fixed walls.
///
/// The occupancy is `F(x) = Σ_p V_p K(x − x_p) / ∫_open K(x − y) dy`: dividing by the open part of
/// the kernel keeps walls from diluting it, so `F = ½` lies on the surface of a resting pool right
/// up to the glass. The integral depends on the walls only and is computed once, here.
#[derive(Clone, Debug)]
pub struct Reconstructor<const D: usize> {
    pub(crate) bounds: [[f64; D]; 2],
    pub(crate) lattice: Lattice<D>,
    pub(crate) spacing: f64,
    kernel: Kernel,
    pub(crate) open: Vec<Openness>,
}

impl<const D: usize> Reconstructor<D> {
    /// Survey the walls: a domain box, and solids inside it by a signed distance that is positive
    /// in the open. `spacing` is the grid spacing of the simulation that made the particles.
    pub fn new(
        bounds: [[f64; D]; 2],
        spacing: f64,
        solid: Solid<'_, D>,
        options: ReconstructionOptions,
    ) -> Result<Self, RenderError> {
        positive("spacing", spacing)?;
        positive("resolution scale", options.resolution_scale)?;
        positive("kernel radius", options.kernel_radius)?;
        let step = spacing * options.resolution_scale;
        let lattice = Lattice::new(bounds, step)?;
        // A support narrower than the lattice would let particles fall between the nodes.
        let radius = (spacing * options.kernel_radius).max(1.5 * step);
        let kernel = Kernel { radius, step };
        if kernel.cell_weights().len() > 2 * SIDE {
            // The support would reach beyond the neighbours of a block.
            return Err(RenderError::TooFine {
                nodes: radius / step,
                limit: SIDE as f64 - 1.0,
            });
        }
        let open = survey(&lattice, &bounds, solid, &kernel);
        Ok(Self {
            bounds,
            lattice,
            spacing,
            kernel,
            open,
        })
    }

    /// The occupancy of particles that carry `particle_volume` each (area in 2D).
    ///
    /// Particles that are not finite, or more than one spacing outside the domain, are left out.
    pub fn occupancy(
        &self,
        positions: &[[f64; D]],
        particle_volume: f64,
    ) -> Result<Occupancy<'_, D>, RenderError> {
        positive("particle volume", particle_volume)?;
        let particles = self.particles_inside(positions);
        let mut field = Occupancy::empty(self, particle_volume);
        let bins = Bins::new(
            &self.lattice,
            &particles,
            self.kernel.radius / self.lattice.step,
        );
        field.slots = bins.slots();
        field.blocks = bins.blocks.clone();
        field.occupancy = self.gather(&bins, &particles, particle_volume);
        field.values = field.occupancy.clone();
        field.separate_spray(&particles);
        Ok(field)
    }

    /// Particles in lattice units, those slightly beyond a wall pulled back to it.
    fn particles_inside(&self, positions: &[[f64; D]]) -> Vec<[f64; D]> {
        let [lo, hi] = self.bounds;
        let near = |x: &&[f64; D]| {
            (0..D).all(|a| x[a] >= lo[a] - self.spacing && x[a] <= hi[a] + self.spacing)
        };
        let clamp = |x: &[f64; D]| std::array::from_fn(|a| x[a].clamp(lo[a], hi[a]));
        positions
            .iter()
            .filter(near)
            .map(|x| self.lattice.to_lattice(clamp(x)))
            .collect()
    }

    fn gather(&self, bins: &Bins<D>, particles: &[[f64; D]], volume: f64) -> Vec<f32> {
        let nodes = Lattice::<D>::block_nodes();
        let mut values = vec![0.0; bins.blocks.len() * nodes];
        values
            .par_chunks_mut(nodes)
            .zip(&bins.blocks)
            .for_each(|(block, &index)| {
                for &p in bins.members(index as usize) {
                    self.add(index as usize, particles[p as usize], volume, block);
                }
                self.normalise(index as usize, block);
            });
        values
    }

    /// Add `volume·K` of one particle (lattice units) to the nodes of a block.
    fn add(&self, block: usize, particle: [f64; D], volume: f64, values: &mut [f32]) {
        let low = self.lattice.block_at(block).map(|b| b * SIDE);
        let weights: [[f32; SIDE]; D] =
            std::array::from_fn(|a| self.kernel.row(particle[a], low[a]));
        // Rows of nodes along x that the kernel reaches, with its weight across x.
        let mut rows = [(0usize, 0f32); SIDE * SIDE];
        rows[0].1 = volume as f32;
        let mut count = 1;
        for (axis, along) in weights.iter().enumerate().skip(1) {
            let before: [(usize, f32); SIDE] = std::array::from_fn(|k| rows[k]);
            let before = &before[..count];
            count = 0;
            for (i, weight) in along.iter().enumerate().filter(|(_, w)| **w > 0.0) {
                for (row, scale) in before {
                    rows[count] = (row + i * SIDE.pow(axis as u32 - 1), scale * weight);
                    count += 1;
                }
            }
        }
        for &(row, scale) in &rows[..count] {
            for (value, weight) in values[row * SIDE..][..SIDE].iter_mut().zip(&weights[0]) {
                *value += scale * weight;
            }
        }
    }

    /// The kernel's share of each lattice cell around a node.
    pub(crate) fn kernel_weights(&self) -> Vec<f32> {
        self.kernel.cell_weights()
    }

    /// Divide by the open part of the kernel.
    pub(crate) fn normalise(&self, block: usize, values: &mut [f32]) {
        match &self.open[block] {
            Openness::Open => {}
            Openness::Closed => values.fill(0.0),
            Openness::Mixed(mixed) => {
                for (value, fraction) in values.iter_mut().zip(&mixed.fraction) {
                    *value /= fraction.max(LEAST_FRACTION);
                }
            }
        }
    }

    /// Distance into the open at a node of a block.
    pub(crate) fn distance(&self, block: usize, local: usize) -> f32 {
        match &self.open[block] {
            Openness::Open => f32::MAX,
            Openness::Closed => -f32::MAX,
            Openness::Mixed(mixed) => mixed.distance[local],
        }
    }
}

/// Particles listed by the blocks their kernels reach.
struct Bins<const D: usize> {
    /// Blocks that any particle reaches, ascending.
    blocks: Vec<u32>,
    starts: Vec<u32>,
    members: Vec<u32>,
}

impl<const D: usize> Bins<D> {
    /// `reach` in lattice units. Blocks one more node away are listed too, without the particle, so
    /// that every lattice edge with a liquid end starts in a block that exists.
    fn new(lattice: &Lattice<D>, particles: &[[f64; D]], reach: f64) -> Self {
        let range_within = |x: &[f64; D], reach: f64| {
            let lo = std::array::from_fn(|a| ((x[a] - reach).max(0.0).ceil() as usize) / SIDE);
            let last =
                |a: usize| ((x[a] + reach).max(0.0) as usize / SIDE).min(lattice.blocks[a] - 1);
            (lo, std::array::from_fn(|a| last(a) + 1))
        };
        let range = |x: &[f64; D]| range_within(x, reach);
        let mut starts = vec![0u32; lattice.block_count() + 1];
        let mut active = vec![false; lattice.block_count()];
        for x in particles {
            let (lo, hi) = range(x);
            for block in box_points(lo, hi) {
                starts[lattice.block_index(block) + 1] += 1;
            }
            let wide = range_within(x, reach + 1.0);
            if wide != (lo, hi) {
                box_points(wide.0, wide.1)
                    .for_each(|block| active[lattice.block_index(block)] = true);
            }
        }
        let blocks = (0..lattice.block_count())
            .filter(|&b| active[b] || starts[b + 1] > 0)
            .map(|b| b as u32)
            .collect();
        for b in 0..lattice.block_count() {
            starts[b + 1] += starts[b];
        }
        let mut next = starts.clone();
        let mut members = vec![0; starts[lattice.block_count()] as usize];
        for (p, x) in particles.iter().enumerate() {
            let (lo, hi) = range(x);
            for block in box_points(lo, hi) {
                let place = &mut next[lattice.block_index(block)];
                members[*place as usize] = p as u32;
                *place += 1;
            }
        }
        Self {
            blocks,
            starts,
            members,
        }
    }

    fn members(&self, block: usize) -> &[u32] {
        &self.members[self.starts[block] as usize..self.starts[block + 1] as usize]
    }

    fn slots(&self) -> Vec<u32> {
        let mut slots = vec![EMPTY; self.starts.len() - 1];
        for (slot, block) in self.blocks.iter().enumerate() {
            slots[*block as usize] = slot as u32;
        }
        slots
    }
}

/// An occupancy field on the blocks near liquid, with the particles too lone to show in it.
#[derive(Clone, Debug)]
pub struct Occupancy<'a, const D: usize> {
    pub(crate) frame: &'a Reconstructor<D>,
    /// Block index to slot, or [`EMPTY`].
    pub(crate) slots: Vec<u32>,
    /// Blocks that hold values, ascending.
    pub(crate) blocks: Vec<u32>,
    /// The field whose level ½ is the surface: the occupancy, fitted.
    pub(crate) values: Vec<f32>,
    /// The occupancy itself, while the fit is going on.
    pub(crate) occupancy: Vec<f32>,
    particle_volume: f64,
    spray: Vec<[f64; D]>,
}

impl<'a, const D: usize> Occupancy<'a, D> {
    fn empty(frame: &'a Reconstructor<D>, particle_volume: f64) -> Self {
        Self {
            frame,
            slots: Vec::new(),
            blocks: Vec::new(),
            values: Vec::new(),
            occupancy: Vec::new(),
            particle_volume,
            spray: Vec::new(),
        }
    }

    /// Positions of the particles that no liquid sample surrounds: droplets of one particle.
    pub fn spray(&self) -> &[[f64; D]] {
        &self.spray
    }

    /// Volume (area in 2D) that each particle carries.
    pub fn particle_volume(&self) -> f64 {
        self.particle_volume
    }

    /// Occupancy and wall distance at a node.
    pub(crate) fn node(&self, node: [usize; D]) -> (f32, f32) {
        let lattice = &self.frame.lattice;
        if (0..D).any(|a| node[a] >= lattice.nodes(a)) {
            return (0.0, -f32::MAX);
        }
        let (block, local) = lattice.split(node);
        let distance = self.frame.distance(block, local);
        match self.slots.get(block) {
            None | Some(&EMPTY) => (0.0, distance),
            Some(&slot) => (
                self.values[slot as usize * Lattice::<D>::block_nodes() + local],
                distance,
            ),
        }
    }

    /// The fitted occupancy at a point, multilinear: above ½ in liquid, 0 outside the lattice.
    pub fn sample(&self, point: [f64; D]) -> f64 {
        self.interpolate(point, |(occupancy, _)| f64::from(occupancy))
    }

    pub(crate) fn interpolate(&self, point: [f64; D], value: impl Fn((f32, f32)) -> f64) -> f64 {
        let x = self.frame.lattice.to_lattice(point);
        if (0..D).any(|a| !(x[a] >= 0.0 && x[a] < (self.frame.lattice.nodes(a) - 1) as f64)) {
            return 0.0;
        }
        let low = x.map(|x| x as usize);
        box_points(low, low.map(|i| i + 2))
            .map(|node| {
                let weight: f64 = (0..D)
                    .map(|a| 1.0 - (x[a] - node[a] as f64).abs())
                    .product();
                weight * value(self.node(node))
            })
            .sum()
    }

    /// Blocks that may hold a piece of the surface: those neither wholly inside nor wholly outside
    /// together with the neighbours that their cells reach into.
    pub(crate) fn cut_blocks(&self) -> Vec<u32> {
        let lattice = &self.frame.lattice;
        let nodes = Lattice::<D>::block_nodes();
        // Number of nodes inside: 0, all, or a mixture.
        let counts: Vec<usize> = self
            .blocks
            .par_iter()
            .zip(self.values.par_chunks_exact(nodes))
            .map(|(&block, values)| {
                let inside = |(local, &value): (usize, &f32)| {
                    value > ISO && self.frame.distance(block as usize, local) > 0.0
                };
                values
                    .iter()
                    .enumerate()
                    .filter(|&node| inside(node))
                    .count()
            })
            .collect();
        let uniform = |block: &u32| {
            let low = lattice.block_at(*block as usize);
            let high = std::array::from_fn(|a| (low[a] + 2).min(lattice.blocks[a]));
            let mut kinds =
                box_points(low, high).map(|b| match self.slots[lattice.block_index(b)] {
                    EMPTY => 0,
                    slot => counts[slot as usize],
                });
            let first = kinds.next().unwrap_or(0);
            (first == 0 || first == nodes) && kinds.all(|k| k == first)
        };
        self.blocks
            .iter()
            .copied()
            .filter(|block| !uniform(block))
            .collect()
    }

    /// Does any node around the particle (lattice units), in the open, exceed a level?
    ///
    /// Against a curved wall most of those nodes lie in the wall, so one more layer is asked there.
    fn reaches(&self, particle: &[f64; D], level: f32) -> bool {
        let low = particle.map(|x| x.max(0.0) as usize);
        let near = || box_points(low, low.map(|i| i + 2)).map(|node| self.node(node));
        let wet = |(occupancy, distance): (f32, f32)| occupancy > level && distance > 0.0;
        near().any(wet)
            || near().any(|(_, distance)| distance <= 0.0)
                && box_points(low.map(|i| i.saturating_sub(1)), low.map(|i| i + 3))
                    .any(|node| wet(self.node(node)))
    }

    /// Take out of the field what will be drawn as droplets, so no volume is counted twice, and fit
    /// the surface to the rest.
    fn separate_spray(&mut self, particles: &[[f64; D]]) {
        let mut captured = vec![true; particles.len()];
        let mut threshold = LONE;
        for pass in 0..=SPRAY_PASSES {
            let keep = |(x, c): (&[f64; D], &bool)| *c && self.reaches(x, threshold);
            let now: Vec<bool> = particles.par_iter().zip(&captured).map(keep).collect();
            let lost: Vec<usize> = (0..particles.len())
                .filter(|&p| captured[p] && !now[p])
                .collect();
            captured = now;
            // The last pass keeps its share in the field: too little to matter, and it must end.
            if (lost.is_empty() && pass > 0) || pass == SPRAY_PASSES {
                break;
            }
            self.remove(particles, &lost);
            self.values = fit(self, FIT_PASSES);
            threshold = ISO;
        }
        self.occupancy = Vec::new();
        let lattice = &self.frame.lattice;
        let place = |x: &[f64; D]| std::array::from_fn(|a| lattice.origin[a] + x[a] * lattice.step);
        self.spray = (0..particles.len())
            .filter(|&p| !captured[p])
            .map(|p| place(&particles[p]))
            .collect();
    }

    /// Subtract particles from the field.
    fn remove(&mut self, particles: &[[f64; D]], lost: &[usize]) {
        let frame = self.frame;
        let nodes = Lattice::<D>::block_nodes();
        let gone: Vec<[f64; D]> = lost.iter().map(|&p| particles[p]).collect();
        let bins = Bins::new(
            &frame.lattice,
            &gone,
            frame.kernel.radius / frame.lattice.step,
        );
        let slots = &self.slots;
        let volume = self.particle_volume;
        let changes = frame.gather(&bins, &gone, volume);
        for (change, block) in changes.chunks_exact(nodes).zip(&bins.blocks) {
            let slot = slots[*block as usize] as usize;
            for (value, change) in self.occupancy[slot * nodes..][..nodes]
                .iter_mut()
                .zip(change)
            {
                *value -= change;
            }
        }
    }
}

impl<const D: usize> Reconstructor<D> {
    /// Move a droplet's centre so that a ball of `radius` around it clears the domain walls.
    pub(crate) fn clear_of_walls(&self, centre: [f64; D], radius: f64) -> [f64; D] {
        let [lo, hi] = self.bounds;
        std::array::from_fn(|a| {
            let (least, most) = (lo[a] + radius, hi[a] - radius);
            if least <= most {
                centre[a].clamp(least, most)
            } else {
                centre[a]
            }
        })
    }
}
