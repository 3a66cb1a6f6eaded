//! What solvers ask for beside the matrix, recovered from what a file holds.

use plash_solve::{Csr, NullSpace, Operator, Places};

use crate::frame::Kind;
use crate::stored::Stored;

/// What was derived from a [`Stored`] problem: its null space, and the lattice its unknowns lie
/// on, if they lie on one.
#[derive(Clone, Debug)]
pub struct Converted {
    null_space: NullSpace,
    lattice: Option<(usize, Vec<[i32; 3]>)>,
}

impl Converted {
    pub(crate) fn of(stored: &Stored) -> Converted {
        let cells = stored.kind() == Kind::Pressure;
        let lattice = stored.coords().filter(|_| cells).and_then(|(d, coords)| {
            let at = lattice(stored.matrix(), d, coords)?;
            Some((d, at))
        });
        Converted {
            null_space: null_space(stored.matrix()),
            lattice,
        }
    }

    /// The constants that the matrix cannot see.
    pub fn null_space(&self) -> &NullSpace {
        &self.null_space
    }

    /// Where the unknowns lie, if on a lattice.
    pub fn places(&self) -> Option<Places<'_>> {
        let (dimensions, at) = self.lattice.as_ref()?;
        Some(Places {
            dimensions: *dimensions,
            at,
        })
    }
}

/// A row sums to zero if its sum is below this share of its diagonal: coefficients such as
/// `1/Δx²` round.
const ZERO_SUM: f64 = 1e-10;

/// The constants on connected components of `a` whose rows all sum to zero.
pub fn null_space(a: &Csr) -> NullSpace {
    let rows = a.rows();
    let mut root: Vec<u32> = (0..rows as u32).collect();
    for i in 0..rows {
        for (&j, &value) in a.row(i).0.iter().zip(a.row(i).1) {
            if value != 0.0 && (j as usize) < i {
                let (p, q) = (find(&mut root, i as u32), find(&mut root, j));
                root[p.max(q) as usize] = p.min(q);
            }
        }
    }
    let mut floating = vec![true; rows];
    for i in 0..rows {
        let sum: f64 = a.row(i).1.iter().sum();
        if sum.abs() > ZERO_SUM * a.diagonal(i) {
            let at = find(&mut root, i as u32);
            floating[at as usize] = false;
        }
    }
    let mut sets: Vec<Vec<u32>> = Vec::new();
    let mut number = vec![usize::MAX; rows];
    for i in 0..rows as u32 {
        let at = find(&mut root, i) as usize;
        if floating[at] {
            if number[at] == usize::MAX {
                number[at] = sets.len();
                sets.push(Vec::new());
            }
            sets[number[at]].push(i);
        }
    }
    NullSpace::new(sets)
}

fn find(root: &mut [u32], mut i: u32) -> u32 {
    while root[i as usize] != i {
        let above = root[root[i as usize] as usize];
        root[i as usize] = above;
        i = above;
    }
    i
}

/// How far from a lattice point, in spacings, a coordinate may lie: single precision and units
/// of all kinds are forgiven.
const OFF_LATTICE: f64 = 1e-3;

/// Farther apart than any grid is wide.
const WIDEST: f64 = (1 << 20) as f64;

/// The integer coordinates of unknowns that lie on a regular lattice, `None` if they do not or
/// if two share a place. Along each axis the spacing is the smallest distance of two unknowns
/// that the matrix couples.
pub fn lattice(a: &Csr, dimensions: usize, coords: &[f64]) -> Option<Vec<[i32; 3]>> {
    let rows = a.rows();
    let point = |i: usize| &coords[i * dimensions..(i + 1) * dimensions];
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for i in 0..rows {
        for (axis, &x) in point(i).iter().enumerate() {
            low[axis] = low[axis].min(x);
            high[axis] = high[axis].max(x);
        }
    }
    let mut spacing = [f64::INFINITY; 3];
    for i in 0..rows {
        for &j in a.row(i).0.iter().filter(|&&j| (j as usize) < i) {
            for axis in 0..dimensions {
                let distance = (point(i)[axis] - point(j as usize)[axis]).abs();
                // Less than this is rounding, not a distance.
                if distance > (high[axis] - low[axis]) / WIDEST {
                    spacing[axis] = spacing[axis].min(distance);
                }
            }
        }
    }
    let mut at = Vec::with_capacity(rows);
    for i in 0..rows {
        let mut place = [0; 3];
        for axis in 0..dimensions {
            let steps = (point(i)[axis] - low[axis]) / spacing[axis];
            if !(steps <= WIDEST && (steps - steps.round()).abs() <= OFF_LATTICE) {
                return None;
            }
            place[axis] = steps.round() as i32;
        }
        at.push(place);
    }
    distinct(&at).then_some(at)
}

fn distinct(at: &[[i32; 3]]) -> bool {
    let key = |p: &[i32; 3]| p.iter().fold(0_u64, |key, &x| key << 21 | x as u64);
    let mut keys: Vec<u64> = at.iter().map(key).collect();
    keys.sort_unstable();
    keys.windows(2).all(|pair| pair[0] != pair[1])
}
