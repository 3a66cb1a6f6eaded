//! The held faces that free ones couple with, and how fast they move.

use rayon::prelude::*;

use super::csr::couplings;
use super::field::Vector;
use super::level::Level;
use crate::lattice::wave::Shared;
use crate::vector;

/// Fewer faces than this stay on a thread.
const GRAIN: usize = 1 << 12;

/// Held faces beside free ones, each once: component and memory index.
#[derive(Default)]
pub struct Walls {
    faces: Vec<(u8, u32)>,
    is_known: bool,
}

impl Walls {
    /// Looks for them, once.
    pub fn find<const D: usize>(&mut self, level: &Level<D>) {
        if std::mem::replace(&mut self.is_known, true) {
            return;
        }
        let of_plane = |k: usize| {
            let (axis, mut held) = (k % D, Vec::new());
            level.each_beside_held(axis, k / D, |index| {
                couplings(level, axis, index, |a, i, weight| {
                    if weight != 0.0 && !level.is_free(a, i) {
                        held.push((a as u8, i as u32));
                    }
                });
            });
            held.sort_unstable();
            held.dedup();
            held
        };
        let planes = (0..level.shape.planes() * D).into_par_iter();
        let found = planes.with_min_len(8).flat_map_iter(of_plane);
        self.faces.par_extend(found);
        self.faces.par_sort_unstable();
        self.faces.dedup();
    }

    /// Sets their velocities; the largest speed, or what is not a number.
    pub fn set<const D: usize>(
        &self,
        x: &mut Vector<f64, D>,
        velocity: impl Fn(usize, usize) -> f64 + Sync,
    ) -> f64 {
        let x = x.each_mut().map(|x| Shared(x.as_mut_ptr()));
        let faces = self.faces.par_iter().with_min_len(GRAIN);
        let speeds = faces.map(|&(axis, index)| {
            let (axis, index) = (axis as usize, index as usize);
            let u = velocity(axis, index);
            // SAFETY: faces beside free ones are in memory, and each comes once.
            unsafe { *x[axis].get().add(index) = u };
            u.abs()
        });
        speeds.reduce(|| 0.0, vector::max_or_nan)
    }

    /// Gives up the body, with zeros where they are.
    pub fn forget<const D: usize>(&mut self, x: &mut Vector<f64, D>) {
        self.set(x, |_, _| 0.0);
        self.faces.clear();
        self.is_known = false;
    }
}

#[cfg(test)]
mod tests {
    use super::super::solver::ViscousSolver;
    use super::super::{Body, Sine, ViscousOptions};
    use super::*;

    /// Every held face that a free one couples with is found, once, and every free one that couples with
    /// any is known to.
    fn none_is_overlooked<const D: usize>(body: &impl Body<D>) {
        let mut solver = ViscousSolver::new(ViscousOptions::default());
        solver.assemble(body);
        let level = solver.level().expect("a level");
        let mut expected = Vec::new();
        for axis in 0..D {
            let (mut beside, mut known) = (Vec::new(), Vec::new());
            for index in level.free_faces(axis) {
                let before = expected.len();
                couplings(level, axis, index, |a, i, weight| {
                    if weight != 0.0 && !level.is_free(a, i) {
                        expected.push((a as u8, i as u32));
                    }
                });
                if expected.len() > before {
                    beside.push(index);
                }
            }
            for z in 0..level.shape.planes() {
                level.each_beside_held(axis, z, |index| known.push(index));
            }
            assert_eq!(beside, known);
        }
        expected.sort_unstable();
        expected.dedup();
        let mut walls = Walls::default();
        walls.find(level);
        assert!(!expected.is_empty());
        assert_eq!(walls.faces, expected);
    }

    #[test]
    fn none_is_overlooked_2d() {
        for n in [7, 24, 65] {
            none_is_overlooked(&Sine::<2>::new(n));
            none_is_overlooked(&Sine::<2>::graded(n, 100.0));
        }
    }

    #[test]
    fn none_is_overlooked_3d() {
        for n in [5, 24] {
            none_is_overlooked(&Sine::<3>::new(n));
            none_is_overlooked(&Sine::<3>::graded(n, 100.0));
        }
    }
}
