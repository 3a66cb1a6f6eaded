//! Exact distance to an ellipse or ellipsoid.

use super::vector::{length, sub};

/// Newton steps allowed; some ten suffice, and hundreds only near the poles of the equation.
const MAX_STEPS: usize = 200;

/// Signed distance from `x` to the surface Σ (xₐ/rₐ)² = 1.
///
/// The nearest surface point is yₐ = rₐ² xₐ / (t + rₐ²), where t is the largest root of
/// F(t) = Σ (rₐ xₐ / (t + rₐ²))² − 1. On t > −min r² the function is convex and falling, so
/// Newton's method started where F ≥ 0 climbs to the root without ever passing it.
pub(super) fn distance<const D: usize>(x: [f64; D], radii: [f64; D]) -> f64 {
    let smallest = radii.iter().fold(f64::INFINITY, |m, r| m.min(*r));
    // In units of the smallest radius, and with s = t + 1, every denominator is s + (r² − 1)
    // and the pole lies at s = 0: no cancellation.
    let r = radii.map(|r| r / smallest);
    let p = x.map(|v| v.abs() / smallest);
    let gap = r.map(|r| (r - 1.0) * (r + 1.0));

    let level: f64 = (0..D).map(|a| (p[a] / r[a]).powi(2)).sum();
    let nearest = nearest_point(p, r, gap);
    let magnitude = smallest * length(sub(p, nearest));
    if level < 1.0 { -magnitude } else { magnitude }
}

fn nearest_point<const D: usize>(p: [f64; D], r: [f64; D], gap: [f64; D]) -> [f64; D] {
    if let Some(nearest) = beside_the_focal_set(p, r, gap) {
        return nearest;
    }
    let mut s = (0..D).fold(0.0_f64, |s, a| s.max(r[a] * p[a] - gap[a]));
    for _ in 0..MAX_STEPS {
        let (mut value, mut slope) = (-1.0, 0.0);
        for a in 0..D {
            let term = (r[a] * p[a] / (s + gap[a])).powi(2);
            value += term;
            slope += 2.0 * term / (s + gap[a]);
        }
        let next = s + value / slope;
        // Rounding ends the climb; a slope that under- or overflowed ends it as well.
        if !(next.is_finite() && next > s) {
            break;
        }
        s = next;
    }
    std::array::from_fn(|a| r[a] * r[a] * p[a] / (s + gap[a]))
}

/// The case without a root: points deep inside, in the plane where all coordinates along the
/// shortest half-axes vanish. There s = 0, and what is missing to the surface goes along one of
/// those axes.
fn beside_the_focal_set<const D: usize>(
    p: [f64; D],
    r: [f64; D],
    gap: [f64; D],
) -> Option<[f64; D]> {
    let short = (0..D).find(|&a| gap[a] == 0.0)?;
    if (0..D).any(|a| gap[a] == 0.0 && p[a] > 0.0) {
        return None;
    }
    let mut nearest: [f64; D] = std::array::from_fn(|a| {
        if gap[a] == 0.0 {
            0.0
        } else {
            r[a] * r[a] * p[a] / gap[a]
        }
    });
    let level: f64 = (0..D).map(|a| (nearest[a] / r[a]).powi(2)).sum();
    if level >= 1.0 {
        return None;
    }
    nearest[short] = (1.0 - level).sqrt();
    Some(nearest)
}
