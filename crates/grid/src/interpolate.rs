//! Multilinear interpolation.

use crate::{FaceField, Field, Grid};

/// The `2^D` lattice points around a position, as the memory index of the lowest and the
/// fractions towards the highest. Positions outside the lattice are moved to its border.
#[derive(Clone, Copy, Debug)]
pub struct Stencil<const D: usize> {
    /// Memory index of the lowest corner.
    pub base: usize,
    /// Fraction of the way to the next point, per axis, in 0..=1.
    pub fraction: [f64; D],
}

impl<const D: usize> Stencil<D> {
    /// The stencil at `x` on a lattice with this offset (in cells) and extent.
    #[inline(always)]
    pub fn new(grid: &Grid<D>, x: [f64; D], offset: [f64; D], extent: [usize; D]) -> Self {
        let lattice = grid.lattice(x, offset);
        let mut at = [0; D];
        let mut fraction = [0.0; D];
        for a in 0..D {
            (at[a], fraction[a]) = locate(lattice[a], extent[a]);
        }
        Stencil {
            base: grid.layout().index(at),
            fraction,
        }
    }

    /// The weight of a corner (0 or 1 per axis).
    #[inline(always)]
    pub fn weight(&self, corner: [i32; D]) -> f64 {
        let mut w = 1.0;
        for a in 0..D {
            w *= if corner[a] == 0 {
                1.0 - self.fraction[a]
            } else {
                self.fraction[a]
            };
        }
        w
    }
}

/// The lattice point below `l` and the fraction of the way to the next one, kept within a
/// lattice of `extent` points. A lattice of one point has itself as both neighbours: the
/// ghost beyond gets fraction 0. NaN stays NaN in the fraction and has point 0.
#[inline(always)]
pub(crate) fn locate(l: f64, extent: usize) -> (i32, f64) {
    let l = l.clamp(0.0, (extent - 1) as f64);
    let low = (l as i32).min((extent as i32 - 2).max(0));
    (low, l - low as f64)
}

#[inline(always)]
fn mix(a: f64, b: f64, t: f64) -> f64 {
    a + (b - a) * t
}

/// The interpolated value of raw memory with these strides.
#[inline(always)]
pub fn lerp<const D: usize>(data: &[f64], strides: [usize; D], s: &Stencil<D>) -> f64 {
    let along_x = |i: usize| mix(data[i], data[i + 1], s.fraction[0]);
    let plane = |i: usize| mix(along_x(i), along_x(i + strides[1]), s.fraction[1]);
    if D == 2 {
        plane(s.base)
    } else {
        mix(plane(s.base), plane(s.base + strides[2]), s.fraction[2])
    }
}

/// The interpolated value and the gradient per lattice unit (divide by `dx` for metres).
#[inline(always)]
pub fn lerp_gradient<const D: usize>(
    data: &[f64],
    strides: [usize; D],
    s: &Stencil<D>,
) -> (f64, [f64; D]) {
    let mut value = 0.0;
    let mut slope = [0.0; D];
    for bits in 0..1usize << D {
        let mut index = s.base;
        let mut w = [0.0; D];
        let mut sign = [0.0; D];
        for a in 0..D {
            let hi = (bits >> a) & 1;
            index += hi * strides[a];
            w[a] = if hi == 1 {
                s.fraction[a]
            } else {
                1.0 - s.fraction[a]
            };
            sign[a] = if hi == 1 { 1.0 } else { -1.0 };
        }
        let v = data[index];
        value += w.iter().product::<f64>() * v;
        for a in 0..D {
            let others: f64 = (0..D).filter(|&b| b != a).map(|b| w[b]).product();
            slope[a] += sign[a] * others * v;
        }
    }
    (value, slope)
}

/// A face field's vector at `x`: each component interpolated on its own lattice.
#[inline(always)]
pub fn sample_faces<const D: usize>(
    grid: &Grid<D>,
    u: &FaceField<f64, D>,
    x: [f64; D],
) -> [f64; D] {
    let (layout, cells) = (grid.layout(), grid.cells());
    let strides = layout.strides();
    // Along each axis a component's samples lie on nodes (its own axis) or between them.
    let on = grid.lattice(x, [0.0; D]);
    let mut node = [(0, 0.0); D];
    let mut half = [(0, 0.0); D];
    for a in 0..D {
        node[a] = locate(on[a], cells[a] + 1);
        half[a] = locate(on[a] - 0.5, cells[a]);
    }
    let mut value = [0.0; D];
    for component in 0..D {
        let mut at = [0; D];
        let mut fraction = [0.0; D];
        for a in 0..D {
            (at[a], fraction[a]) = if a == component { node[a] } else { half[a] };
        }
        let base = layout.index(at);
        value[component] = lerp(u.slice(component), strides, &Stencil { base, fraction });
    }
    value
}

/// The value and gradient (per metre) of a field at `x`; `offset` as for [`Stencil::new`].
pub fn gradient<S, const D: usize>(
    grid: &Grid<D>,
    field: &Field<S, f64, D>,
    offset: [f64; D],
    x: [f64; D],
) -> (f64, [f64; D]) {
    let stencil = Stencil::new(grid, x, offset, field.extent());
    let (value, slope) = lerp_gradient(field.as_slice(), grid.layout().strides(), &stencil);
    (value, slope.map(|s| s / grid.dx()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NodeField, corners};

    fn affine_fields_are_reproduced<const D: usize>(cells: [usize; D]) {
        let grid = Grid::new(cells, 0.3, [0.7; D]).unwrap();
        let f = |x: [f64; D]| {
            2.0 + x
                .iter()
                .enumerate()
                .map(|(a, x)| (a as f64 - 0.7) * x)
                .sum::<f64>()
        };
        let mut field = NodeField::<f64, D>::new(&grid);
        for node in grid.nodes() {
            field[node] = f(node.position(&grid));
        }
        for k in 0..50 {
            let x: [f64; D] = std::array::from_fn(|a| {
                0.7 + 0.3 * cells[a] as f64 * ((k * (7 + 4 * a)) % 50) as f64 / 49.0
            });
            let (value, slope) = gradient(&grid, &field, [0.0; D], x);
            assert!((value - f(x)).abs() < 1e-13);
            for (a, slope) in slope.iter().enumerate() {
                assert!((slope - (a as f64 - 0.7)).abs() < 1e-12);
            }
            let stencil = Stencil::new(&grid, x, [0.0; D], field.extent());
            let plain = lerp(field.as_slice(), grid.layout().strides(), &stencil);
            assert!((plain - value).abs() < 1e-13);
            let total: f64 = corners::<D>().map(|c| stencil.weight(c)).sum();
            assert!((total - 1.0).abs() < 1e-14);
        }
    }

    #[test]
    fn affine_fields_are_reproduced_2d() {
        affine_fields_are_reproduced([5, 4]);
    }

    #[test]
    fn affine_fields_are_reproduced_3d() {
        affine_fields_are_reproduced([5, 4, 6]);
    }

    #[test]
    fn positions_outside_take_the_border_value_even_on_one_cell() {
        let grid = Grid::new([1, 1], 1.0, [0.0; 2]).unwrap();
        let mut field = crate::CellField::<f64, 2>::new(&grid);
        field[crate::Cell([0, 0])] = 3.0;
        for x in [[-5.0, 0.2], [0.5, 9.0], [f64::NAN, 0.5]] {
            let s = Stencil::new(&grid, x, [0.5; 2], field.extent());
            let v = lerp(field.as_slice(), grid.layout().strides(), &s);
            assert!(v == 3.0 || x[0].is_nan());
        }
    }
}
