//! Particles for tests.

/// A small generator of uniform numbers, the same on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// The next number in [0, 1).
    pub fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// No solids anywhere.
pub fn open_space<const D: usize>(_: [f64; D]) -> f64 {
    f64::INFINITY
}

/// One particle per half cell of `dx`, shaken by a quarter of its subcell each way, where `keep`.
pub fn jittered<const D: usize>(
    bounds: [[f64; D]; 2],
    dx: f64,
    seed: u64,
    keep: impl Fn([f64; D]) -> bool,
) -> Vec<[f64; D]> {
    let mut random = Random::new(seed);
    let [lo, hi] = bounds;
    let counts = std::array::from_fn(|a| ((hi[a] - lo[a]) / dx * 2.0).round() as usize);
    crate::lattice::box_points([0; D], counts)
        .map(|i| {
            std::array::from_fn(|a| lo[a] + (i[a] as f64 + 0.25 + 0.5 * random.next()) * 0.5 * dx)
        })
        .filter(|x| keep(*x))
        .collect()
}
