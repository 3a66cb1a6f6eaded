//! Lumps that hang by a thread, solved exactly.
//!
//! A lump of a few cells that one sample or two tie to the rest can turn or swing at hardly any energy.
//! The smoother sees only single faces, and on coarser levels the lump shares its faces with what is
//! beside it: neither lets it move alone, and a handful of such lumps in torn liquid doubles the
//! iterations. They show where the search direction of a solve that has become slow is large. The faces
//! there and around them make patches, and in every cycle each patch is solved for exactly, all else
//! kept, after smoothing and again before it on the way back: a projection, so that the cycle stays
//! symmetric and definite.

use std::collections::HashSet;

use rayon::prelude::*;

use super::csr::couplings;
use super::cycle::Floor;
use super::field::Vector;
use super::level::Level;
use crate::csr::Csr;
use crate::galerkin::bottom::Cholesky;
use crate::lattice::BLOCK;

/// A face is moved if its share of the energy of the direction, by the bound of its row, is at least
/// this of the largest.
const LEAST_SHARE: f32 = 0.03;

/// So many faces moved are no lumps but the whole.
const MOST_MOVED: usize = 400;

/// From faces that are moved, patches reach this many couplings farther.
const REACH: usize = 2;

/// The most faces of a patch.
const MOST_FACES: usize = 300;

/// Multiplications spent on factors: per unknown of the level, so that they cost no more than a few
/// iterations do, and for small levels.
const WORK_PER_UNKNOWN: usize = 60;
const LEAST_WORK: usize = 200_000;

/// A face: its axis and memory index.
type Face = (usize, usize);

/// Patches of the finest level; no two have a coupling.
#[derive(Debug, Default)]
pub struct Patches {
    list: Vec<Patch>,
    /// The faces that were moved and all within reach of them, sorted.
    faces: Vec<Face>,
}

/// Faces that are solved for together.
#[derive(Debug)]
struct Patch {
    faces: Vec<Face>,
    factors: Cholesky,
    residual: Vec<f64>,
    step: Vec<f64>,
}

impl Patches {
    /// Looks for lumps that a search direction moves, and adds patches for them; whether there are any
    /// new ones.
    pub fn find<const D: usize>(&mut self, level: &Level<D>, p: &Vector<f32, D>) -> bool {
        let moved = moved(level, p);
        if moved.len() > MOST_MOVED {
            return false;
        }
        let known = self.faces.len();
        self.faces.extend(within_reach(level, moved));
        self.faces.sort_unstable();
        self.faces.dedup();
        if self.faces.len() == known {
            return false;
        }
        let mut groups = groups(level, &self.faces);
        // Small ones first: they are the likelier lumps, and cheaper.
        groups.sort_by_key(Vec::len);
        let most = WORK_PER_UNKNOWN * level.unknowns + LEAST_WORK;
        let mut work = 0;
        groups.retain(|faces| {
            work += faces.len().pow(3) / 6;
            faces.len() <= MOST_FACES && work <= most
        });
        self.list = groups
            .into_par_iter()
            .filter_map(|faces| Patch::new(level, faces))
            .collect();
        true
    }

    /// Solves for every patch, all else kept.
    pub fn relax<const D: usize>(&mut self, floor: &mut Floor<D>) {
        for patch in &mut self.list {
            for (residual, &(axis, i)) in patch.residual.iter_mut().zip(&patch.faces) {
                *residual = f64::from(floor.b[axis][i]);
                couplings(&floor.level, axis, i, |a, j, weight| {
                    *residual -= weight * f64::from(floor.x[a][j]);
                });
            }
            patch.factors.solve(&patch.residual, &mut patch.step);
            for (step, &(axis, i)) in patch.step.iter().zip(&patch.faces) {
                floor.x[axis][i] += *step as f32;
            }
        }
    }
}

impl Patch {
    /// The patch of some faces in order; none if their matrix is not finite.
    fn new<const D: usize>(level: &Level<D>, faces: Vec<Face>) -> Option<Self> {
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for &(axis, i) in &faces {
            let first = columns.len();
            let mut entries = Vec::with_capacity(15);
            couplings(level, axis, i, |a, j, weight| {
                let number = faces.binary_search(&(a, j));
                entries.extend(number.ok().map(|number| (number as u32, weight)));
            });
            entries.sort_unstable_by_key(|entry| entry.0);
            columns.extend(entries.iter().map(|entry| entry.0));
            values.extend(entries.iter().map(|entry| entry.1));
            starts.push((first + entries.len()) as u32);
        }
        let matrix = Csr::new(starts, columns, values).ok()?;
        let mut factors = Cholesky::default();
        factors.factor(&matrix, &[]);
        Some(Patch {
            residual: vec![0.0; faces.len()],
            step: vec![0.0; faces.len()],
            factors,
            faces,
        })
    }
}

/// The faces near the surface that a direction moves most, or many more than a lump has.
fn moved<const D: usize>(level: &Level<D>, p: &Vector<f32, D>) -> Vec<Face> {
    let planes = 0..level.shape.planes() * D;
    let largest: Vec<f32> = planes
        .clone()
        .into_par_iter()
        .with_min_len(8)
        .map(|k| {
            let mut largest = 0.0f32;
            each_at_surface(level, p, k, |_, share| largest = largest.max(share));
            largest
        })
        .collect();
    let least = LEAST_SHARE * largest.iter().copied().fold(0.0, f32::max);
    let mut moved = Vec::new();
    // Few planes have any.
    for k in planes.filter(|&k| least > 0.0 && largest[k] >= least) {
        each_at_surface(level, p, k, |face, share| {
            if share >= least {
                moved.push(face);
            }
        });
        if moved.len() > MOST_MOVED {
            break;
        }
    }
    moved
}

/// Visits the free faces of a plane of a component whose blocks have rows of their own, with the share
/// that a direction has there. A lump has no block of the interior.
fn each_at_surface<const D: usize>(
    level: &Level<D>,
    p: &Vector<f32, D>,
    k: usize,
    mut visit: impl FnMut(Face, f32),
) {
    let (axis, component) = (k % D, &level.components[k % D]);
    let segments = component.in_plane(k / D).iter().filter(|s| !s.is_interior);
    for index in segments.flat_map(|s| (0..s.blocks as usize).map(|b| s.index as usize + b * BLOCK))
    {
        let Some(rows) = component.packed(level.shape.block(index)) else {
            continue;
        };
        for lane in (0..BLOCK).filter(|&lane| rows.is_free(lane)) {
            let value = p[axis][index + lane];
            visit((axis, index + lane), value * value / rows.inverse[lane]);
        }
    }
}

/// Some faces and all that are few couplings away.
fn within_reach<const D: usize>(level: &Level<D>, mut faces: Vec<Face>) -> Vec<Face> {
    for _ in 0..REACH {
        for k in 0..faces.len() {
            let (axis, i) = faces[k];
            couplings(level, axis, i, |a, j, weight| {
                if weight != 0.0 && level.is_free(a, j) {
                    faces.push((a, j));
                }
            });
        }
        faces.sort_unstable();
        faces.dedup();
    }
    faces
}

/// Sorted faces in groups between which there are no couplings, each sorted.
fn groups<const D: usize>(level: &Level<D>, faces: &[Face]) -> Vec<Vec<Face>> {
    let mut left: HashSet<Face> = faces.iter().copied().collect();
    let mut groups = Vec::new();
    for &first in faces {
        if !left.remove(&first) {
            continue;
        }
        let mut group = vec![first];
        let mut done = 0;
        while let Some(&(axis, i)) = group.get(done) {
            done += 1;
            couplings(level, axis, i, |a, j, weight| {
                if weight != 0.0 && left.remove(&(a, j)) {
                    group.push((a, j));
                }
            });
        }
        group.sort_unstable();
        groups.push(group);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::super::body::Body;
    use super::super::cycle::Hierarchy;
    use super::super::field;
    use super::super::ground::{Extent, Sampled};
    use super::super::method::ViscousOptions;
    use super::super::shape::Shape;
    use super::super::sine::Sine;
    use super::*;

    fn hierarchy<const D: usize>(body: &impl Body<D>) -> Hierarchy<D> {
        let extent = Extent::of(body).expect("a body");
        let shape = Shape::new(extent.cells).expect("a small lattice");
        let ground = Sampled::new(body, extent);
        let stiffness = ground.uniform.expect("an even body");
        let level = Level::new(shape, ground.open, &ground, stiffness, None);
        Hierarchy::new(level, ground, ViscousOptions::default(), Vec::new())
    }

    /// Every `step`-th of the free faces with rows of their own.
    fn at_surface<const D: usize>(level: &Level<D>, step: usize) -> Vec<Face> {
        let mut faces = Vec::new();
        let p: Vector<f32, D> = field::zeros(level.shape.len, 0);
        for k in 0..level.shape.planes() * D {
            each_at_surface(level, &p, k, |face, _| faces.push(face));
        }
        faces.into_iter().step_by(step).collect()
    }

    fn patches_are_solved_exactly<const D: usize>(body: &impl Body<D>) {
        let mut hierarchy = hierarchy(body);
        let floor = &mut hierarchy.floors[0];
        let mut p: Vector<f32, D> = field::zeros(floor.level.shape.len, 0);
        for &(axis, i) in &at_surface(&floor.level, 97) {
            p[axis][i] = 1.0;
        }
        let mut patches = Patches::default();
        assert!(patches.find(&floor.level, &p));
        assert!(!patches.list.is_empty());
        for axis in 0..D {
            for i in floor.level.free_faces(axis) {
                floor.b[axis][i] = (i % 7) as f32 - 3.0;
                floor.x[axis][i] = (i % 5) as f32 - 2.0;
            }
        }
        let before = floor.x.clone();
        patches.relax(floor);
        let mut inside = HashSet::new();
        for &(axis, i) in patches.list.iter().flat_map(|patch| &patch.faces) {
            let mut residual = f64::from(floor.b[axis][i]);
            let mut size = residual.abs();
            couplings(&floor.level, axis, i, |a, j, weight| {
                residual -= weight * f64::from(floor.x[a][j]);
                size += (weight * f64::from(floor.x[a][j])).abs();
            });
            assert!(residual.abs() < 1e-5 * size, "{residual} of {size}");
            assert!(inside.insert((axis, i)), "a face is in two patches");
        }
        for axis in 0..D {
            let faces = floor.level.free_faces(axis);
            for i in faces.filter(|&i| !inside.contains(&(axis, i))) {
                assert_eq!(floor.x[axis][i], before[axis][i]);
            }
        }
    }

    #[test]
    fn patches_are_solved_exactly_2d() {
        patches_are_solved_exactly(&Sine::<2>::new(48));
    }

    #[test]
    fn patches_are_solved_exactly_3d() {
        patches_are_solved_exactly(&Sine::<3>::new(16));
    }

    #[test]
    fn what_moves_everywhere_is_no_lump() {
        let hierarchy = hierarchy(&Sine::<3>::new(24));
        let level = &hierarchy.floors[0].level;
        let mut p: Vector<f32, 3> = field::zeros(level.shape.len, 0);
        assert!(moved(level, &p).is_empty());
        for (axis, p) in p.iter_mut().enumerate() {
            level.free_faces(axis).for_each(|i| p[i] = 1.0);
        }
        assert!(at_surface(level, 1).len() > MOST_MOVED);
        assert!(!Patches::default().find(level, &p));
    }

    #[test]
    fn factors_are_worth_a_few_iterations() {
        let hierarchy = hierarchy(&Sine::<3>::new(24));
        let level = &hierarchy.floors[0].level;
        let mut p: Vector<f32, 3> = field::zeros(level.shape.len, 0);
        let faces = at_surface(level, 1);
        for &(axis, i) in &faces[faces.len() / 2..][..MOST_MOVED / 2] {
            p[axis][i] = 1.0;
        }
        let mut patches = Patches::default();
        assert!(patches.find(level, &p));
        let work: usize = patches.list.iter().map(|p| p.faces.len().pow(3) / 6).sum();
        assert!(work <= WORK_PER_UNKNOWN * level.unknowns + LEAST_WORK);
        assert!(patches.list.iter().all(|p| p.faces.len() <= MOST_FACES));
    }
}
