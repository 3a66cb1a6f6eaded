//! The few vector operations shapes need, on plain arrays.

pub(super) fn sub<const D: usize>(a: [f64; D], b: [f64; D]) -> [f64; D] {
    std::array::from_fn(|i| a[i] - b[i])
}

/// `a + t b`.
pub(super) fn along<const D: usize>(a: [f64; D], b: [f64; D], t: f64) -> [f64; D] {
    std::array::from_fn(|i| a[i] + t * b[i])
}

pub(super) fn scaled<const D: usize>(a: [f64; D], t: f64) -> [f64; D] {
    a.map(|v| v * t)
}

pub(super) fn dot<const D: usize>(a: [f64; D], b: [f64; D]) -> f64 {
    a.iter().zip(&b).map(|(a, b)| a * b).sum()
}

pub(super) fn length<const D: usize>(a: [f64; D]) -> f64 {
    dot(a, a).sqrt()
}

/// `a / |a|`; a vector without a direction gives the second axis (up), so that no distance is
/// ever NaN.
pub(super) fn unit<const D: usize>(a: [f64; D]) -> [f64; D] {
    // Dividing by the largest part first keeps tiny and huge vectors from under- or overflow.
    let largest = a.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    if largest > 0.0 && largest.is_finite() {
        let a = a.map(|v| v / largest);
        scaled(a, length(a).recip())
    } else {
        std::array::from_fn(|i| f64::from(u8::from(i == 1)))
    }
}
