//! From coordinates to faces of a lattice.

use crate::csr::Csr;

/// Where the unknowns of a matrix lie.
#[derive(Clone, Copy, Debug)]
pub struct Faces<'a> {
    /// 2 or 3.
    pub dimensions: usize,
    /// The centres of the faces, as many numbers for each as there are dimensions.
    pub coords: &'a [f64],
    /// The component of each unknown: the axis that its face is normal to.
    pub components: &'a [i8],
}

/// How far from a lattice point, in spacings, a coordinate may lie.
const OFF_LATTICE: f64 = 1e-3;

/// Farther apart than any grid is wide.
const WIDEST: f64 = (1 << 20) as f64;

impl Faces<'_> {
    /// The faces' places: the integer coordinates of the cell on their high side, from an
    /// arbitrary corner.
    ///
    /// # Errors
    /// What does not fit.
    pub fn places<const D: usize>(&self, a: &Csr) -> Result<Vec<[i32; D]>, &'static str> {
        let rows = a.rows();
        if self.dimensions != D || self.coords.len() != rows * D || self.components.len() != rows {
            return Err("coordinates or components are missing");
        }
        if self.components.iter().any(|&c| !(0..D as i8).contains(&c)) {
            return Err("a component is not an axis");
        }
        if !self.coords.iter().all(|x| x.is_finite()) {
            return Err("a coordinate is not finite");
        }
        let low: [f64; D] = self.fold(f64::INFINITY, f64::min);
        let spacing = self.spacing::<D>(a);
        // Steps of half a cell: faces lie at even ones along their own axis, or all at odd ones.
        let mut parity = [None; D];
        let mut places = Vec::with_capacity(rows);
        for i in 0..rows {
            let mut at = [0; D];
            for axis in 0..D {
                let steps = 2.0 * (self.coords[i * D + axis] - low[axis]) / spacing[axis];
                if !(steps <= WIDEST && (steps - steps.round()).abs() <= 2.0 * OFF_LATTICE) {
                    return Err("the coordinates lie on no lattice");
                }
                let across = i32::from(self.components[i] as usize != axis);
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

    /// The distance of neighbours along each axis: the smallest at which the matrix couples
    /// faces of one component, or twice that of different ones.
    fn spacing<const D: usize>(&self, a: &Csr) -> [f64; D] {
        let (low, high): ([f64; D], [f64; D]) = (
            self.fold(f64::INFINITY, f64::min),
            self.fold(f64::NEG_INFINITY, f64::max),
        );
        let mut found = [f64::INFINITY; D];
        for i in 0..a.rows() {
            for &j in a.row(i).0.iter().filter(|&&j| (j as usize) < i) {
                let j = j as usize;
                let alike = self.components[i] == self.components[j];
                for axis in 0..D {
                    let (x, y) = (self.coords[i * D + axis], self.coords[j * D + axis]);
                    let distance = (x - y).abs() * if alike { 1.0 } else { 2.0 };
                    // Less than this is rounding, not a distance.
                    if distance > (high[axis] - low[axis]) / WIDEST {
                        found[axis] = found[axis].min(distance);
                    }
                }
            }
        }
        // Where nothing is coupled along an axis the others tell.
        let any = found.iter().copied().fold(f64::INFINITY, f64::min);
        let any = if any.is_finite() { any } else { 1.0 };
        found.map(|h| if h.is_finite() { h } else { any })
    }
}
