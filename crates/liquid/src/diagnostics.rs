//! Numbers about the whole liquid.

use rayon::prelude::*;

use crate::particles::Particles;

/// Sums over all particles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motion<const D: usize> {
    /// Largest speed, m/s.
    pub max_speed: f64,
    /// `Σ ½ |u|²` over particles, m²/s².
    pub specific_energy: f64,
    /// `Σ u` over particles, m/s.
    pub velocity_sum: [f64; D],
}

/// Particles per partial sum: fixed, so that bits do not depend on the thread count.
const CHUNK: usize = 4096;

/// Sums speed, energy and velocity over the particles.
pub fn motion<const D: usize>(particles: &Particles<D>) -> Motion<D> {
    let none = Motion {
        max_speed: 0.0,
        specific_energy: 0.0,
        velocity_sum: [0.0; D],
    };
    let parts: Vec<Motion<D>> = particles
        .velocity
        .par_chunks(CHUNK)
        .map(|chunk| {
            let mut part = none;
            let mut fastest = 0.0;
            for v in chunk {
                let squared: f64 = v.iter().map(|c| c * c).sum();
                // A NaN must show in the maximum, which `f64::max` would hide.
                fastest = if squared > fastest || squared.is_nan() {
                    squared
                } else {
                    fastest
                };
                part.specific_energy += 0.5 * squared;
                for a in 0..D {
                    part.velocity_sum[a] += v[a];
                }
            }
            part.max_speed = fastest.sqrt();
            part
        })
        .collect();
    parts.iter().fold(none, |total, part| Motion {
        max_speed: if part.max_speed.is_nan() {
            f64::NAN
        } else {
            total.max_speed.max(part.max_speed)
        },
        specific_energy: total.specific_energy + part.specific_energy,
        velocity_sum: std::array::from_fn(|a| total.velocity_sum[a] + part.velocity_sum[a]),
    })
}
