//! How much of a cell's octants is liquid.
//!
//! `φ` lives at cell centres. An octant reaches from a cell's centre to one of its corners, so
//! the corners of all octants are a lattice of `3^D` points half a cell apart, at which `φ` is
//! the mean of the cells around: of one at the centre, of two in the middle of a face, of `2^D`
//! at a corner of the cell. Each octant is cut into simplices along the diagonal from the
//! centre, so that mirrored liquid has mirrored fractions; in a simplex `φ` is linear and the
//! share below zero is exact. Linear `φ` is cut exactly, any other with an error of `Δx²`.

/// Cells around a cell, and itself, in three dimensions.
pub(super) const AROUND: usize = 27;

/// The corners of the triangles or tetrahedra that an octant is cut into, besides the centre of the
/// cell and the corner across from it: by the bits of the axes along which they lie away from the
/// centre. Their edges go along the axes, in all orders there are.
const TRIANGLES: [usize; 2] = [1, 2];
const TETRAHEDRA: [[usize; 2]; 6] = [[1, 3], [1, 5], [2, 3], [2, 6], [4, 5], [4, 6]];

/// The share of liquid in each octant of a cell, x fastest, from `φ` in the `3^D` cells around
/// it, x fastest. Where all `φ` have one sign the answer is 0 or 1 exactly.
pub(super) fn octants<const D: usize>(mut phi: [f64; AROUND]) -> [f32; 8] {
    // From cell centres to the corners of octants, one axis at a time.
    let mut stride = 1;
    for _ in 0..D {
        for line in phi[..3usize.pow(D as u32)].chunks_exact_mut(3 * stride) {
            for low in 0..stride {
                let middle = line[low + stride];
                line[low] = 0.5 * (line[low] + middle);
                line[low + 2 * stride] = 0.5 * (line[low + 2 * stride] + middle);
            }
        }
        stride *= 3;
    }
    let mut shares = [0.0; 8];
    for (octant, share) in shares.iter_mut().enumerate().take(1 << D) {
        *share = octant_share::<D>(corners::<D>(&phi, octant)) as f32;
    }
    shares
}

/// The values at the corners of an octant, by the bits of the axes along which they lie away from
/// the centre of the cell. In the plane the second half repeats the first.
#[inline(always)]
fn corners<const D: usize>(phi: &[f64; AROUND], octant: usize) -> [f64; 8] {
    let step = |axis: usize| {
        let stride = 3isize.pow(axis as u32);
        match (axis < D, octant >> axis & 1) {
            (false, _) => 0,
            (true, 0) => -stride,
            (true, _) => stride,
        }
    };
    let steps = [step(0), step(1), step(2)];
    let center = 3usize.pow(D as u32) / 2;
    std::array::from_fn(|k| {
        let along = |axis: usize| if k >> axis & 1 == 1 { steps[axis] } else { 0 };
        phi[center.wrapping_add_signed(along(0) + along(1) + along(2))]
    })
}

/// The share of an octant that is liquid.
#[inline]
fn octant_share<const D: usize>(values: [f64; 8]) -> f64 {
    // Most octants of a cell near the surface are on one side of it.
    let below = values.iter().filter(|&&v| v < 0.0).count();
    if below == 0 || below == values.len() {
        return if below == 0 { 0.0 } else { 1.0 };
    }
    if D == 2 {
        let shares = TRIANGLES.map(|k| triangle([values[0], values[k], values[3]]));
        return 0.5 * (shares[0] + shares[1]);
    }
    let shares = TETRAHEDRA.map(|[j, k]| tetrahedron([values[0], values[j], values[k], values[7]]));
    // Of whole numbers the mean is exact: octants without a surface are 0 or 1.
    shares.iter().sum::<f64>() / 6.0
}

/// How far the surface is on the way from a corner with one value to one with another, on the
/// other side.
#[inline(always)]
fn cut(from: f64, to: f64) -> f64 {
    from / (from - to)
}

/// The two in order.
#[inline(always)]
fn sort(values: &mut [f64], low: usize, high: usize) {
    let (a, b) = (values[low], values[high]);
    (values[low], values[high]) = if b < a { (b, a) } else { (a, b) };
}

/// The share of a triangle in which a linear function with these values at its corners is below
/// zero.
#[inline]
fn triangle(mut values: [f64; 3]) -> f64 {
    for (low, high) in [(0, 1), (1, 2), (0, 1)] {
        sort(&mut values, low, high);
    }
    let [a, b, c] = values;
    match values.iter().filter(|&&v| v < 0.0).count() {
        0 => 0.0,
        1 => cut(a, b) * cut(a, c),
        2 => 1.0 - cut(c, a) * cut(c, b),
        _ => 1.0,
    }
}

/// The same for a tetrahedron.
#[inline]
fn tetrahedron(mut values: [f64; 4]) -> f64 {
    for (low, high) in [(0, 1), (2, 3), (0, 2), (1, 3), (1, 2)] {
        sort(&mut values, low, high);
    }
    let [a, b, c, d] = values;
    match values.iter().filter(|&&v| v < 0.0).count() {
        0 => 0.0,
        1 => cut(a, b) * cut(a, c) * cut(a, d),
        2 => {
            // A wedge between two corners below and two above, as three tetrahedra.
            let [ac, ad, bc, bd] = [cut(a, c), cut(a, d), cut(b, c), cut(b, d)];
            ac * ad + bc * bd * (1.0 - ac) + bd * ac * (1.0 - ad)
        }
        3 => 1.0 - cut(d, a) * cut(d, b) * cut(d, c),
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_simplex_are_those_of_its_samples() {
        // Barycentric samples of a tetrahedron, all cuts.
        for values in [
            [-1.0, 2.0, 3.0, 0.5],
            [-1.0, -0.2, 3.0, 0.5],
            [-1.0, -0.2, -3.0, 0.5],
            [-1.0, -1.0, 1.0, 1.0],
        ] {
            let n = 60;
            let (mut below, mut all) = (0, 0);
            for i in 0..n {
                for j in 0..n - i {
                    for k in 0..n - i - j {
                        let w = [i, j, k].map(|c| (f64::from(c) + 0.25) / f64::from(n));
                        let rest = 1.0 - w.iter().sum::<f64>();
                        let value: f64 =
                            (0..3).map(|a| w[a] * values[a]).sum::<f64>() + rest * values[3];
                        below += usize::from(value < 0.0);
                        all += 1;
                    }
                }
            }
            let sampled = below as f64 / all as f64;
            let found = tetrahedron(values);
            assert!(
                (found - sampled).abs() < 0.02,
                "{values:?} {found} {sampled}"
            );
        }
    }

    #[test]
    fn triangles_are_cut_exactly() {
        assert_eq!(triangle([-1.0, 1.0, 1.0]), 0.25);
        assert_eq!(triangle([1.0, -1.0, -1.0]), 0.75);
        assert_eq!(triangle([0.0, 0.0, 1.0]), 0.0);
        assert_eq!(triangle([0.0, -1.0, -1.0]), 1.0);
    }

    /// φ of a half space in the cells around a cell at the origin, Δx = 1.
    fn half_space<const D: usize>(normal: [f64; D], height: f64) -> [f64; AROUND] {
        std::array::from_fn(|n| {
            let along = |a: usize| (n / 3usize.pow(a as u32) % 3) as f64 - 1.0;
            (0..D).map(|a| normal[a] * along(a)).sum::<f64>() - height
        })
    }

    /// The share of an octant in a half space, by sampling.
    fn sampled<const D: usize>(normal: [f64; D], height: f64, octant: usize) -> f64 {
        let n = if D == 2 { 200usize } else { 40 };
        let count = (0..n.pow(D as u32)).filter(|s| {
            let x = |a: usize| {
                let inside = ((s / n.pow(a as u32) % n) as f64 + 0.5) / n as f64;
                0.5 * inside - 0.5 * (1 - (octant >> a & 1)) as f64
            };
            (0..D).map(|a| normal[a] * x(a)).sum::<f64>() < height
        });
        count.count() as f64 / (n as f64).powi(D as i32)
    }

    fn a_half_space_fills_what_it_should<const D: usize>() {
        for tilt in 0..40 {
            let mut normal: [f64; D] =
                std::array::from_fn(|a| (f64::from(tilt) * (0.7 + 0.3 * a as f64)).sin());
            let length = normal.iter().map(|c| c * c).sum::<f64>().sqrt();
            normal = normal.map(|c| c / length.max(1e-12));
            let height = (f64::from(tilt) * 1.3).cos() * 0.6;
            let found = octants::<D>(half_space(normal, height));
            for (octant, &share) in found.iter().enumerate().take(1 << D) {
                let expected = sampled(normal, height, octant);
                assert!(
                    (f64::from(share) - expected).abs() < 1e-2,
                    "{normal:?} {height}, octant {octant}: {share} of {expected}"
                );
            }
        }
    }

    #[test]
    fn a_half_space_fills_what_it_should_2d() {
        a_half_space_fills_what_it_should::<2>();
    }

    #[test]
    fn a_half_space_fills_what_it_should_3d() {
        a_half_space_fills_what_it_should::<3>();
    }

    #[test]
    fn one_sign_is_all_or_nothing() {
        assert_eq!(octants::<3>([-0.3; AROUND]), [1.0; 8]);
        assert_eq!(octants::<3>([0.0; AROUND]), [0.0; 8]);
        assert_eq!(octants::<2>([-0.3; AROUND])[..4], [1.0; 4]);
    }

    #[test]
    fn mirrored_liquid_has_mirrored_fractions() {
        let phi: [f64; AROUND] = std::array::from_fn(|n| ((n * n * 7) as f64).sin() - 0.1);
        let mirrored: [f64; AROUND] = std::array::from_fn(|n| phi[n - n % 3 + 2 - n % 3]);
        let (one, other) = (octants::<3>(phi), octants::<3>(mirrored));
        for octant in 0..8 {
            assert_eq!(one[octant], other[octant ^ 1]);
        }
    }
}
