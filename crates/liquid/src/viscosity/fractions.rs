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

/// The orders in which a simplex's edges go along the axes, by dimension.
const ORDERS_2: [&[usize]; 2] = [&[0, 1], &[1, 0]];
const ORDERS_3: [&[usize]; 6] = [
    &[0, 1, 2],
    &[0, 2, 1],
    &[1, 0, 2],
    &[1, 2, 0],
    &[2, 0, 1],
    &[2, 1, 0],
];

/// The share of liquid in each octant of a cell, x fastest, from `φ` in the `3^D` cells around
/// it, x fastest. Where all `φ` have one sign the answer is 0 or 1 exactly.
pub(super) fn octants<const D: usize>(mut phi: [f64; AROUND]) -> [f32; 8] {
    // From cell centres to the corners of octants, one axis at a time.
    let count = 3usize.pow(D as u32);
    for axis in 0..D {
        let stride = 3usize.pow(axis as u32);
        for low in (0..count).filter(|i| (i / stride).is_multiple_of(3)) {
            let middle = phi[low + stride];
            phi[low] = 0.5 * (phi[low] + middle);
            phi[low + 2 * stride] = 0.5 * (phi[low + 2 * stride] + middle);
        }
    }
    let mut shares = [0.0; 8];
    for (octant, share) in shares.iter_mut().enumerate().take(1 << D) {
        *share = octant_share::<D>(&phi, octant) as f32;
    }
    shares
}

/// The share of one octant that is liquid.
fn octant_share<const D: usize>(corners: &[f64; AROUND], octant: usize) -> f64 {
    let center = 3usize.pow(D as u32) / 2;
    let step = |axis: usize| {
        let stride = 3isize.pow(axis as u32);
        if octant >> axis & 1 == 1 {
            stride
        } else {
            -stride
        }
    };
    // Most octants of a cell near the surface are on one side of it.
    let corner = |k: usize| {
        let along = (0..D).filter(|a| k >> a & 1 == 1);
        corners[along.fold(center, |at, a| at.wrapping_add_signed(step(a)))]
    };
    let below = (0..1 << D).filter(|&k| corner(k) < 0.0).count();
    if below == 0 || below == 1 << D {
        return if below == 0 { 0.0 } else { 1.0 };
    }
    let orders: &[&[usize]] = if D == 2 { &ORDERS_2 } else { &ORDERS_3 };
    let mut sum = 0.0;
    for order in orders {
        let mut values = [0.0; 4];
        let mut at = center;
        values[0] = corners[at];
        for (n, &axis) in order.iter().enumerate() {
            at = at.wrapping_add_signed(step(axis));
            values[n + 1] = corners[at];
        }
        sum += share_below_zero(&mut values[..=D]);
    }
    // Of whole numbers the mean is exact: octants without a surface are 0 or 1.
    sum / orders.len() as f64
}

/// The share of a triangle or tetrahedron in which a linear function with these values at its
/// corners is below zero.
fn share_below_zero(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let negative = values.partition_point(|&v| v < 0.0);
    let last = values.len() - 1;
    // How far the surface is on the way from one corner to another on its other side.
    let cut = |from: usize, to: usize| values[from] / (values[from] - values[to]);
    match (negative, values.len() - negative) {
        (0, _) => 0.0,
        (_, 0) => 1.0,
        (1, _) => (1..=last).map(|to| cut(0, to)).product(),
        (_, 1) => 1.0 - (0..last).map(|to| cut(last, to)).product::<f64>(),
        _ => {
            // A wedge between two corners below (0, 1) and two above (2, 3), as three tetrahedra.
            let [ac, ad, bc, bd] = [cut(0, 2), cut(0, 3), cut(1, 2), cut(1, 3)];
            ac * ad + bc * bd * (1.0 - ac) + bd * ac * (1.0 - ad)
        }
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
            let found = share_below_zero(&mut values.clone());
            assert!(
                (found - sampled).abs() < 0.02,
                "{values:?} {found} {sampled}"
            );
        }
    }

    #[test]
    fn triangles_are_cut_exactly() {
        assert_eq!(share_below_zero(&mut [-1.0, 1.0, 1.0]), 0.25);
        assert_eq!(share_below_zero(&mut [1.0, -1.0, -1.0]), 0.75);
        assert_eq!(share_below_zero(&mut [0.0, 0.0, 1.0]), 0.0);
        assert_eq!(share_below_zero(&mut [0.0, -1.0, -1.0]), 1.0);
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
