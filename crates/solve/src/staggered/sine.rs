//! The test problem of Aanjaneya et al. (2019, figure 12): liquid behind a sine-shaped surface,
//! around a ball.

use super::body::{Body, Fill};

/// The liquid `φ = x − ½ + ¼ sin(x y [z]) < 0` in a closed unit box with a solid ball of radius ⅛
/// in its middle; `ρ = 1`, `μ Δt = 1`. The paper does not tell the radius.
#[derive(Clone, Copy, Debug)]
pub struct Sine<const D: usize> {
    cells: usize,
    /// The ratio of the largest to the least `μ Δt` in the liquid: `√c` to `1/√c`.
    contrast: f64,
    /// The least and the largest sum of [`WAVES`] at the middle of a liquid cell.
    range: [f64; 2],
    /// By axis, the face where the right-hand side is one.
    source: [[i32; D]; D],
}

const RADIUS: f64 = 0.125;

/// Where the right-hand side is.
const SOURCE: f64 = 0.1;

/// How fast the viscosity varies along each axis: `sin(14 x) + sin(7 y) + sin(7 z)`. Its extremes,
/// near (0.11, 0.22, 0.22) and (0.34, 0.67, 0.67), lie in the liquid and off the ball.
const WAVES: [f64; 3] = [14.0, 7.0, 7.0];

/// Up to here there is liquid at every height, beside the ball.
const FILLED: f64 = 0.4;

impl<const D: usize> Sine<D> {
    /// The problem on `n` cells along each axis.
    pub fn new(n: usize) -> Self {
        let n = n.max(1);
        let nearest = |axis: usize, a: usize| {
            let along = if a == axis { 0.0 } else { 0.5 };
            (SOURCE * n as f64 - along).round() as i32
        };
        Sine {
            cells: n,
            contrast: 1.0,
            range: range_of_waves::<D>(n),
            source: std::array::from_fn(|axis| std::array::from_fn(|a| nearest(axis, a))),
        }
    }

    /// The same with `μ Δt` that varies smoothly over the liquid, from `1/√c` to `√c`.
    pub fn graded(n: usize, contrast: f64) -> Self {
        Sine {
            contrast,
            ..Sine::new(n)
        }
    }

    /// The right-hand side: one at the face of each axis nearest to the point 0.1, zero elsewhere.
    pub fn load(&self, axis: usize, face: [i32; D]) -> f64 {
        f64::from(u8::from(face == self.source[axis]))
    }

    fn phi(&self, x: [f64; D]) -> f64 {
        x[0] - 0.5 + 0.25 * x.iter().product::<f64>().sin()
    }

    /// Bounds of φ that need no sine: `p − p³/6 ≤ sin p ≤ p − p³/6 + p⁵/120`.
    fn bounds_of_phi(&self, x: [f64; D]) -> [f64; 2] {
        let p = x.iter().product::<f64>();
        let (cube, least) = (p * p * p, p - p * p * p / 6.0);
        [least, least + cube * p * p / 120.0].map(|sine| x[0] - 0.5 + 0.25 * sine)
    }

    fn center(&self, cell: [i32; D]) -> [f64; D] {
        cell.map(|i| (f64::from(i) + 0.5) / self.cells as f64)
    }
}

impl<const D: usize> Body<D> for Sine<D> {
    fn cells(&self) -> [usize; D] {
        [self.cells; D]
    }

    fn bounds(&self) -> [[i32; D]; 2] {
        // φ is positive from x = ½ on.
        let mut high = [self.cells as i32 - 1; D];
        high[0] = (self.cells / 2) as i32;
        [[0; D], high]
    }

    #[inline]
    fn fill(&self, cell: [i32; D]) -> Fill {
        let h = 1.0 / self.cells as f64;
        let center = self.center(cell);
        // The slope of φ is at most 1.3 along x and ¼ along the others.
        let reach = 0.5 * h * (1.3 + 0.25 * (D - 1) as f64);
        let [least, most] = self.bounds_of_phi(center);
        if most <= -reach {
            return Fill::Full;
        }
        if least >= reach {
            return Fill::Empty;
        }
        let mut octants = [0.0; 8];
        for (o, share) in octants.iter_mut().enumerate().take(1 << D) {
            let middle: [f64; D] = std::array::from_fn(|a| {
                center[a]
                    + if (o >> a) & 1 == 1 {
                        0.25 * h
                    } else {
                        -0.25 * h
                    }
            });
            let slope: [f64; D] = std::array::from_fn(|a| {
                let (mut low, mut high) = (middle, middle);
                low[a] -= 0.25 * h;
                high[a] += 0.25 * h;
                self.phi(high) - self.phi(low)
            });
            *share = share_below(self.phi(middle), slope) as f32;
        }
        match octants[..1 << D].iter().sum::<f32>() {
            0.0 => Fill::Empty,
            sum if sum == (1 << D) as f32 => Fill::Full,
            _ => Fill::Part(octants),
        }
    }

    fn uniform_stiffness(&self) -> Option<f64> {
        let n = self.cells as f64;
        (self.contrast == 1.0).then_some(n * n)
    }

    fn stiffness(&self, cell: [i32; D]) -> f64 {
        let n = self.cells as f64;
        let [low, high] = self.range;
        let center = self.center(cell);
        let sum: f64 = (0..D).map(|a| (WAVES[a] * center[a]).sin()).sum();
        // Cells beside the liquid may lie a little beyond its range.
        let share = ((sum - low) / (high - low)).clamp(0.0, 1.0);
        n * n * self.contrast.powf(share - 0.5)
    }

    fn is_open(&self, _: usize, _: usize) -> bool {
        false
    }

    fn is_near_obstacle(&self, cell: [i32; D]) -> bool {
        let square: f64 = self
            .center(cell)
            .iter()
            .map(|x| (x - 0.5) * (x - 0.5))
            .sum();
        let reach = RADIUS + 2.5 * (D as f64).sqrt() / self.cells as f64;
        square < reach * reach
    }

    fn distance(&self, axis: usize, face: [i32; D]) -> f64 {
        let n = self.cells as f64;
        let square: f64 = (0..D)
            .map(|a| {
                let along = if a == axis { 0.0 } else { 0.5 };
                let x = (f64::from(face[a]) + along) / n - 0.5;
                x * x
            })
            .sum();
        (square.sqrt() - RADIUS) * n
    }

    fn lets_go(&self, _: [i32; D]) -> bool {
        false
    }
}

/// The least and the largest sum of waves over the liquid cells of a lattice. The waves of the
/// axes are extreme by themselves, in cells that are liquid together.
fn range_of_waves<const D: usize>(n: usize) -> [f64; 2] {
    let mut range = [0.0; 2];
    for (a, wave) in WAVES.iter().enumerate().take(D) {
        let places = (0..n).map(|i| (i as f64 + 0.5) / n as f64);
        let filled = places.filter(|&x| a > 0 || x < FILLED);
        let heights = filled.map(|x| (wave * x).sin());
        let (low, high) = heights.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), y| {
            (low.min(y), high.max(y))
        });
        range = [range[0] + low, range[1] + high];
    }
    // A lattice of one or two cells has a single height.
    if range[1] > range[0] {
        range
    } else {
        [-1.0, 1.0]
    }
}

/// The share of a box in which a linear function is negative, given its value in the middle and
/// its change across the box along each axis.
pub fn share_below<const D: usize>(middle: f64, change: [f64; D]) -> f64 {
    let size: f64 = change.iter().map(|c| c.abs()).sum();
    if middle.abs() >= 0.5 * size {
        return if middle < 0.0 { 1.0 } else { 0.0 };
    }
    // Where the function leaves zero behind, in units of its range over the box.
    let level = 0.5 - middle / size;
    // Flat directions do not matter, but must not be divided by.
    let n = change.map(|c| (c.abs() / size).max(1e-4));
    let total: f64 = n.iter().sum();
    let level = level * total;
    let mut sum = 0.0;
    for corner in 0..1usize << D {
        let behind: f64 = (0..D)
            .filter(|a| (corner >> a) & 1 == 1)
            .map(|a| n[a])
            .sum();
        let sign = if corner.count_ones() % 2 == 0 {
            1.0
        } else {
            -1.0
        };
        sum += sign * (level - behind).max(0.0).powi(D as i32);
    }
    let factorial = if D == 2 { 2.0 } else { 6.0 };
    (sum / (factorial * n.iter().product::<f64>())).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn viscosity_varies_by_the_contrast<const D: usize>(n: usize) {
        let body = Sine::<D>::graded(n, 1000.0);
        let (mut low, mut high) = (f64::INFINITY, 0.0f64);
        for k in 0..n.pow(D as u32) {
            let cell = std::array::from_fn(|a| (k / n.pow(a as u32) % n) as i32);
            let in_ball = body.center(cell).map(|x| (x - 0.5) * (x - 0.5));
            let in_ball = in_ball.iter().sum::<f64>() < RADIUS * RADIUS;
            if in_ball || matches!(body.fill(cell), Fill::Empty) {
                continue;
            }
            let stiffness = body.stiffness(cell) / (n * n) as f64;
            (low, high) = (low.min(stiffness), high.max(stiffness));
        }
        assert!(
            (high / low / 1000.0 - 1.0).abs() < 1e-9,
            "{D}D, {n}: {}",
            high / low
        );
        assert!(
            (high * low - 1.0).abs() < 1e-9,
            "{D}D, {n}: {low} to {high}"
        );
    }

    #[test]
    fn viscosity_varies_by_the_contrast_over_the_liquid() {
        for n in [8, 12, 16, 33] {
            viscosity_varies_by_the_contrast::<2>(n);
            viscosity_varies_by_the_contrast::<3>(n);
        }
        viscosity_varies_by_the_contrast::<2>(256);
    }

    #[test]
    fn the_smallest_lattices_have_a_viscosity() {
        for n in 1..8 {
            let stiffness = Sine::<3>::graded(n, 100.0).stiffness([0; 3]);
            assert!(stiffness.is_finite() && stiffness > 0.0, "{n}: {stiffness}");
        }
    }

    #[test]
    fn shares_of_cut_boxes() {
        assert!((share_below(0.0, [1.0, 0.0]) - 0.5).abs() < 1e-9);
        assert!((share_below(0.25, [1.0, 0.0]) - 0.25).abs() < 1e-3);
        assert!((share_below(0.5, [1.0, 1.0]) - 0.125).abs() < 1e-9);
        assert!((share_below(-0.5, [1.0, -1.0]) - 0.875).abs() < 1e-9);
        // A corner of the cube.
        assert!((share_below(1.0, [1.0, 1.0, 1.0]) - 1.0 / 48.0).abs() < 1e-9);
        assert!((share_below(-1.0, [1.0, 1.0, -1.0]) - 47.0 / 48.0).abs() < 1e-9);
        assert_eq!(share_below(3.0, [1.0, 1.0, 1.0]), 0.0);
        assert_eq!(share_below(-3.0, [1.0, 1.0, 1.0]), 1.0);
    }
}
