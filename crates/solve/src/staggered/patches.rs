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

/// Multiplications spent on factors in a solve: per unknown of the level, so that they cost no more than
/// some ten iterations do, and for small levels.
const WORK_PER_UNKNOWN: usize = 300;
const LEAST_WORK: usize = 1_000_000;

/// Fewer entries of factors than this stay on the calling thread.
const PARALLEL_ENTRIES: usize = 30_000;

/// A face: its axis and memory index.
type Face = (usize, usize);

/// Patches of the finest level; no two have a coupling.
#[derive(Debug, Default)]
pub struct Patches {
    list: Vec<Patch>,
    /// Multiplications spent so far.
    work: usize,
}

/// Faces that are solved for together.
#[derive(Debug)]
struct Patch {
    /// In order.
    faces: Vec<Face>,
    /// Their couplings, and where those of each begin among them.
    couplings: Vec<(Face, f64)>,
    starts: Vec<usize>,
    factors: Cholesky,
    residual: Vec<f64>,
    step: Vec<f64>,
}

impl Patches {
    /// Looks for lumps that a search direction moves, and makes patches for them; whether there are any
    /// new ones. Patches that are there stay, or become part of larger ones.
    pub fn find<const D: usize>(&mut self, level: &Level<D>, p: &Vector<f32, D>) -> bool {
        let moved = moved(level, p);
        if moved.len() > MOST_MOVED {
            return false;
        }
        let mut all = within_reach(level, moved);
        let patched = self.list.iter().flat_map(|patch| &patch.faces);
        all.extend(patched);
        all.sort_unstable();
        all.dedup();
        let mut groups = groups(level, &all);
        // Small ones first: they are the likelier lumps, and cheaper.
        groups.sort_by_key(Vec::len);
        let most = WORK_PER_UNKNOWN * level.unknowns + LEAST_WORK;
        groups.retain(|group| {
            let is_new = self.list.iter().all(|patch| patch.faces != *group);
            let fits = group.len() <= MOST_FACES && self.work + work_of(group) <= most;
            if is_new && fits {
                self.work += work_of(group);
            }
            is_new && fits
        });
        let made = groups.into_par_iter();
        let made: Vec<_> = made.filter_map(|faces| Patch::new(level, faces)).collect();
        if made.is_empty() {
            return false;
        }
        // A new patch takes in every one that it has a face of, whole.
        let taken: HashSet<Face> = made.iter().flat_map(|p| &p.faces).copied().collect();
        self.list.retain(|patch| !taken.contains(&patch.faces[0]));
        self.list.extend(made);
        true
    }

    /// Solves for every patch, all else kept.
    pub fn relax<const D: usize>(&mut self, floor: &mut Floor<D>) {
        let Floor { x, b, .. } = floor;
        let entries: usize = self.list.iter().map(|patch| patch.faces.len().pow(2)).sum();
        if entries < PARALLEL_ENTRIES {
            self.list.iter_mut().for_each(|patch| patch.solve(x, b));
        } else {
            self.list.par_iter_mut().for_each(|patch| patch.solve(x, b));
        }
        for patch in &self.list {
            for (step, &(axis, i)) in patch.step.iter().zip(&patch.faces) {
                x[axis][i] += *step as f32;
            }
        }
    }
}

/// Multiplications of a Cholesky factorisation for so many faces.
fn work_of(faces: &[Face]) -> usize {
    faces.len().saturating_pow(3) / 6
}

impl Patch {
    /// The patch of some faces in order; none if their matrix is not finite.
    fn new<const D: usize>(level: &Level<D>, faces: Vec<Face>) -> Option<Self> {
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        let (mut all, mut ends) = (Vec::new(), vec![0]);
        for &(axis, i) in &faces {
            let mut entries = Vec::with_capacity(15);
            couplings(level, axis, i, |a, j, weight| {
                if weight != 0.0 {
                    all.push(((a, j), weight));
                    let number = faces.binary_search(&(a, j));
                    entries.extend(number.ok().map(|number| (number as u32, weight)));
                }
            });
            entries.sort_unstable_by_key(|entry| entry.0);
            columns.extend(entries.iter().map(|entry| entry.0));
            values.extend(entries.iter().map(|entry| entry.1));
            starts.push(columns.len() as u32);
            ends.push(all.len());
        }
        let matrix = Csr::new(starts, columns, values).ok()?;
        let mut factors = Cholesky::default();
        factors.factor(&matrix, &[]);
        Some(Patch {
            couplings: all,
            starts: ends,
            residual: vec![0.0; faces.len()],
            step: vec![0.0; faces.len()],
            factors,
            faces,
        })
    }

    /// Finds the step that leaves no residual in the patch.
    fn solve<const D: usize>(&mut self, x: &Vector<f32, D>, b: &Vector<f32, D>) {
        for (k, &(axis, i)) in self.faces.iter().enumerate() {
            let mut residual = f64::from(b[axis][i]);
            for &((a, j), weight) in &self.couplings[self.starts[k]..self.starts[k + 1]] {
                residual -= weight * f64::from(x[a][j]);
            }
            self.residual[k] = residual;
        }
        self.factors.solve(&self.residual, &mut self.step);
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
        let p = direction(&floor.level, 97);
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

    /// A direction that moves every so many faces of the surface.
    fn direction<const D: usize>(level: &Level<D>, step: usize) -> Vector<f32, D> {
        let mut p: Vector<f32, D> = field::zeros(level.shape.len, 0);
        for (axis, i) in at_surface(level, step) {
            p[axis][i] = 1.0;
        }
        p
    }

    #[test]
    fn only_so_much_work_is_spent_on_factors() {
        let hierarchy = hierarchy(&Sine::<3>::new(40));
        let level = &hierarchy.floors[0].level;
        let count = at_surface(level, 1).len();
        let mut patches = Patches::default();
        // Nearly all of it is spent already.
        let most = WORK_PER_UNKNOWN * level.unknowns + LEAST_WORK;
        let p = direction(level, count / 40);
        assert!(patches.find(level, &p));
        let all = patches.list.len();
        assert!(all > 10, "{all} patches");
        let spent: usize = patches.list.iter().map(|p| work_of(&p.faces)).sum();
        assert_eq!(patches.work, spent);
        let mut poor = Patches {
            work: most - spent / 3,
            ..Patches::default()
        };
        assert!(poor.find(level, &p));
        assert!((1..all).contains(&poor.list.len()));
        assert!(poor.work <= most);
        let mut spent = Patches {
            work: most,
            ..Patches::default()
        };
        assert!(!spent.find(level, &p) && spent.list.is_empty());
    }

    #[test]
    fn patches_stay_when_others_come() {
        let hierarchy = hierarchy(&Sine::<2>::new(96));
        let level = &hierarchy.floors[0].level;
        let faces = at_surface(level, 1);
        let mut patches = Patches::default();
        let mut p: Vector<f32, 2> = field::zeros(level.shape.len, 0);
        p[faces[0].0][faces[0].1] = 1.0;
        assert!(patches.find(level, &p));
        let first = patches.list[0].faces.clone();
        assert!(!patches.find(level, &p), "nothing is new");
        // Far away.
        p[faces[0].0][faces[0].1] = 0.0;
        let last = faces[faces.len() - 1];
        p[last.0][last.1] = 1.0;
        assert!(patches.find(level, &p));
        assert_eq!(patches.list.len(), 2);
        assert!(patches.list.iter().any(|patch| patch.faces == first));
        // So many in a row that they fit no patch, with the first among them: that stays all the same.
        p[last.0][last.1] = 0.0;
        for &(axis, i) in &faces[..MOST_FACES.min(faces.len() / 2)] {
            p[axis][i] = 1.0;
        }
        patches.find(level, &p);
        assert!(
            patches
                .list
                .iter()
                .any(|patch| patch.faces.contains(&first[0]))
        );
        let mut seen = HashSet::new();
        let all = patches.list.iter().flat_map(|patch| &patch.faces);
        assert!(all.into_iter().all(|face| seen.insert(*face)));
    }
}
