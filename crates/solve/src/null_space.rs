//! The constants that a singular matrix cannot see.

use std::ops::Range;

use crate::vector;

/// Disjoint sets of unknowns on each of which `A` maps the constant to zero.
///
/// A pure Neumann problem has one such set per connected component: its solution is known up to
/// a constant per set, and exists only if the right-hand side sums to zero over each. Projecting
/// by [`project`](NullSpace::project) makes the right-hand side consistent and picks the
/// solution whose mean over each set is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NullSpace {
    sets: Vec<Set>,
    /// One more than the largest index of any set.
    bound: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Set {
    /// A set without gaps: the mean runs over a slice, in parallel.
    Run(Range<usize>),
    /// Anything else, in increasing order.
    Scattered(Vec<u32>),
}

impl NullSpace {
    /// The null space of a regular matrix: nothing to project.
    pub fn none() -> NullSpace {
        NullSpace::default()
    }

    /// One constant per set of indices. The order within a set is of no matter, empty sets are
    /// ignored. The sets must be disjoint: on an index in two sets the projection is not one.
    pub fn new(components: Vec<Vec<u32>>) -> NullSpace {
        let sets: Vec<Set> = components.into_iter().filter_map(Set::new).collect();
        let bound = sets.iter().map(Set::bound).max().unwrap_or(0);
        NullSpace { sets, bound }
    }

    /// The constant over all of `rows` unknowns.
    pub fn constants(rows: usize) -> NullSpace {
        let sets = if rows == 0 {
            Vec::new()
        } else {
            vec![Set::Run(0..rows)]
        };
        NullSpace { sets, bound: rows }
    }

    /// The dimension of the null space.
    pub fn dimension(&self) -> usize {
        self.sets.len()
    }

    /// Whether there is nothing to project.
    pub fn is_none(&self) -> bool {
        self.sets.is_empty()
    }

    /// The shortest vector that holds every index.
    pub fn bound(&self) -> usize {
        self.bound
    }

    /// The indices of each set, in increasing order.
    pub fn sets(&self) -> impl Iterator<Item = impl Iterator<Item = usize> + Clone + '_> + '_ {
        self.sets.iter().map(Set::indices)
    }

    /// `v ← v − mean(v)` over each set.
    ///
    /// # Panics
    /// If `v` is shorter than [`bound`](Self::bound).
    pub fn project(&self, v: &mut [f64]) {
        for set in &self.sets {
            match set {
                Set::Run(range) => {
                    let v = &mut v[range.clone()];
                    vector::shift(-vector::sum(v) / v.len() as f64, v);
                }
                Set::Scattered(indices) => {
                    let sum: f64 = indices.iter().map(|&i| v[i as usize]).sum();
                    let mean = sum / indices.len() as f64;
                    for &i in indices {
                        v[i as usize] -= mean;
                    }
                }
            }
        }
    }
}

impl Set {
    fn new(mut indices: Vec<u32>) -> Option<Set> {
        indices.sort_unstable();
        indices.dedup();
        let (first, last) = (*indices.first()? as usize, *indices.last()? as usize);
        let without_gaps = last - first + 1 == indices.len();
        Some(if without_gaps {
            Set::Run(first..last + 1)
        } else {
            Set::Scattered(indices)
        })
    }

    fn indices(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        let (run, scattered) = match self {
            Set::Run(range) => (range.clone(), &[][..]),
            Set::Scattered(indices) => (0..0, indices.as_slice()),
        };
        run.chain(scattered.iter().map(|&i| i as usize))
    }

    fn bound(&self) -> usize {
        match self {
            Set::Run(range) => range.end,
            Set::Scattered(indices) => indices.last().map_or(0, |&last| last as usize + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_each_set_goes_and_the_rest_stays() {
        let null_space = NullSpace::new(vec![vec![3, 1], vec![], vec![4, 5, 6]]);
        assert_eq!((null_space.dimension(), null_space.bound()), (2, 7));
        let mut v = [10.0, 1.0, 20.0, 3.0, 4.0, 5.0, 9.0, 30.0];
        null_space.project(&mut v);
        assert_eq!(v, [10.0, -1.0, 20.0, 1.0, -2.0, -1.0, 3.0, 30.0]);
    }

    #[test]
    fn sets_list_their_indices_in_order() {
        let null_space = NullSpace::new(vec![vec![3, 1], vec![], vec![6, 4, 5]]);
        let sets: Vec<Vec<usize>> = null_space.sets().map(Iterator::collect).collect();
        assert_eq!(sets, [vec![1, 3], vec![4, 5, 6]]);
    }

    #[test]
    fn projecting_twice_is_projecting_once() {
        let null_space = NullSpace::constants(1000);
        let mut v: Vec<f64> = (0..1000)
            .map(|i| (f64::from(i) * 0.7).cos() + 3.0)
            .collect();
        null_space.project(&mut v);
        let once = v.clone();
        null_space.project(&mut v);
        assert!(v.iter().zip(&once).all(|(a, b)| (a - b).abs() < 1e-14));
    }

    #[test]
    fn nothing_is_projected_out_of_nothing() {
        let mut v = [1.0, 2.0];
        NullSpace::none().project(&mut v);
        assert_eq!(v, [1.0, 2.0]);
        assert!(NullSpace::constants(0).is_none());
    }
}
