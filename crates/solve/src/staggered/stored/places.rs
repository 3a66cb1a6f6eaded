//! From coordinates to faces of a lattice.

use rayon::prelude::*;

use crate::rows::{RowSource, Rows, Wanted};

/// Where the unknowns of a matrix lie.
#[derive(Clone, Debug)]
pub struct Faces {
    /// 2 or 3.
    pub dimensions: usize,
    /// The centres of the faces, as many numbers for each as there are dimensions.
    pub coords: Vec<f64>,
    /// The component of each unknown: the axis that its face is normal to.
    pub components: Vec<i8>,
}

/// How far from a lattice point, in spacings, a coordinate may lie.
const OFF_LATTICE: f64 = 1e-3;

/// Farther apart than any grid is wide.
const WIDEST: f64 = (1 << 20) as f64;

/// Rows that are worth a thread.
const CHUNK: usize = 1 << 10;

impl Faces {
    /// Whether there is a place for each of so many unknowns.
    ///
    /// # Errors
    /// What is missing or wrong.
    pub fn check<const D: usize>(&self, rows: usize) -> Result<(), &'static str> {
        if self.dimensions != D || self.coords.len() != rows * D || self.components.len() != rows {
            return Err("coordinates or components are missing");
        }
        if self.components.iter().any(|&c| !(0..D as i8).contains(&c)) {
            return Err("a component is not an axis");
        }
        if !self.coords.iter().all(|x| x.is_finite()) {
            return Err("a coordinate is not finite");
        }
        Ok(())
    }

    /// The distance of neighbours along each axis: the smallest at which the matrix couples
    /// faces of one component, or twice that of different ones.
    ///
    /// # Errors
    /// Those of the source.
    pub fn spacing<S: RowSource, const D: usize>(
        &self,
        source: &mut S,
    ) -> Result<[f64; D], S::Error> {
        let low: [f64; D] = self.fold(f64::INFINITY, f64::min);
        let high: [f64; D] = self.fold(f64::NEG_INFINITY, f64::max);
        // Less than this is rounding, not a distance.
        let least: [f64; D] = std::array::from_fn(|a| (high[a] - low[a]) / WIDEST);
        let mut found = [f64::INFINITY; D];
        source.begin(Wanted::Columns)?;
        while let Some(rows) = source.next_rows()? {
            let chunks = (0..rows.count()).into_par_iter().with_min_len(CHUNK);
            let closest = chunks
                .map(|k| self.closest(&rows, k, &least))
                .reduce(|| found, nearer);
            found = nearer(found, closest);
        }
        // Where nothing is coupled along an axis the others tell.
        let any = found.iter().copied().fold(f64::INFINITY, f64::min);
        let any = if any.is_finite() { any } else { 1.0 };
        Ok(found.map(|h| if h.is_finite() { h } else { any }))
    }

    /// How far along each axis the nearest of those is that the `k`-th row couples with and that
    /// have lower numbers.
    fn closest<const D: usize>(&self, rows: &Rows<'_>, k: usize, least: &[f64; D]) -> [f64; D] {
        let i = rows.first + k;
        let point = |i: usize| &self.coords[i * D..(i + 1) * D];
        let (here, component) = (point(i), self.components[i]);
        let mut found = [f64::INFINITY; D];
        for j in rows.row(k).0.iter().map(|&j| j as usize) {
            if j >= i {
                continue;
            }
            let there = point(j);
            let scale = if component == self.components[j] {
                1.0
            } else {
                2.0
            };
            for axis in 0..D {
                let distance = (here[axis] - there[axis]).abs() * scale;
                if distance > least[axis] {
                    found[axis] = found[axis].min(distance);
                }
            }
        }
        found
    }

    /// The faces' places: the integer coordinates of the cell on their high side, from an
    /// arbitrary corner.
    ///
    /// # Errors
    /// What does not fit.
    pub fn places<const D: usize>(&self, spacing: [f64; D]) -> Result<Vec<[i32; D]>, &'static str> {
        let low: [f64; D] = self.fold(f64::INFINITY, f64::min);
        // Steps of half a cell: faces lie at even ones along their own axis, or all at odd ones.
        let mut parity = [None; D];
        let mut places = Vec::with_capacity(self.components.len());
        for (point, &component) in self.coords.chunks_exact(D).zip(&self.components) {
            let mut at = [0; D];
            for axis in 0..D {
                let steps = 2.0 * (point[axis] - low[axis]) / spacing[axis];
                if !(steps <= WIDEST && (steps - steps.round()).abs() <= 2.0 * OFF_LATTICE) {
                    return Err("the coordinates lie on no lattice");
                }
                let across = i32::from(component as usize != axis);
                let steps = steps.round() as i32 - across;
                let parity = *parity[axis].get_or_insert(steps.rem_euclid(2));
                if steps.rem_euclid(2) != parity {
                    return Err("components do not lie half a cell apart");
                }
                at[axis] = (steps - parity) / 2;
            }
            places.push(at);
        }
        Ok(places)
    }

    fn fold<const D: usize>(&self, start: f64, join: fn(f64, f64) -> f64) -> [f64; D] {
        let mut found = [start; D];
        for point in self.coords.chunks_exact(D) {
            for axis in 0..D {
                found[axis] = join(found[axis], point[axis]);
            }
        }
        found
    }
}

/// The smaller along each axis.
fn nearer<const D: usize>(a: [f64; D], b: [f64; D]) -> [f64; D] {
    std::array::from_fn(|axis| a[axis].min(b[axis]))
}
