//! What is carried by particles, as a smooth field between them.

/// Averages of numbers that particles carry, on nodes a particle's width apart.
pub(crate) struct Tint {
    low: [f64; 2],
    spacing: f64,
    width: usize,
    /// Weighted sum of the numbers and of the weights.
    nodes: Vec<[f64; 2]>,
}

impl Tint {
    /// Spreads `values` from `particles`, each of `area`, over the box `bounds`.
    pub fn new(bounds: [[f64; 2]; 2], area: f64, particles: &[[f64; 2]], values: &[f64]) -> Self {
        let spacing = area.sqrt();
        let [width, height] = [0, 1].map(|a| {
            let cells = (bounds[1][a] - bounds[0][a]) / spacing;
            cells.ceil() as usize + 2
        });
        let mut tint = Tint {
            low: bounds[0],
            spacing,
            width,
            nodes: vec![[0.0; 2]; width * height],
        };
        for (point, &value) in particles.iter().zip(values) {
            let Some(corners) = tint.corners(*point).filter(|_| value.is_finite()) else {
                continue;
            };
            for (node, weight) in corners {
                let [sum, weights] = &mut tint.nodes[node];
                *sum += weight * value;
                *weights += weight;
            }
        }
        // The liquid is drawn up to about a particle's width beyond its particles.
        for _ in 0..2 {
            tint.spread();
        }
        tint
    }

    /// The average at a point, if there are particles about.
    pub fn sample(&self, point: [f64; 2]) -> Option<f64> {
        let mut sums = [0.0; 2];
        for (node, weight) in self.corners(point)? {
            for (sum, part) in sums.iter_mut().zip(self.nodes[node]) {
                *sum += weight * part;
            }
        }
        (sums[1] > 0.0).then(|| sums[0] / sums[1])
    }

    /// The four nodes around a point and their bilinear weights.
    fn corners(&self, point: [f64; 2]) -> Option<[(usize, f64); 4]> {
        let [x, y] = [0, 1].map(|a| (point[a] - self.low[a]) / self.spacing);
        let height = self.nodes.len() / self.width;
        let is_within = |x: f64, count: usize| (0.0..(count - 1) as f64).contains(&x);
        if !(is_within(x, self.width) && is_within(y, height)) {
            return None;
        }
        let (i, j) = (x as usize, y as usize);
        let (u, v) = (x - i as f64, y - j as f64);
        let first = j * self.width + i;
        Some([
            (first, (1.0 - u) * (1.0 - v)),
            (first + 1, u * (1.0 - v)),
            (first + self.width, (1.0 - u) * v),
            (first + self.width + 1, u * v),
        ])
    }

    /// Gives nodes without particles what their neighbours have; the others keep theirs, so that
    /// liquids stay sharply apart.
    fn spread(&mut self) {
        for stride in [1, self.width] {
            let before = self.nodes.clone();
            let at = |node: Option<usize>| node.and_then(|node| before.get(node).copied());
            let empty = self
                .nodes
                .iter_mut()
                .enumerate()
                .filter(|(_, node)| node[1] == 0.0);
            for (i, node) in empty {
                let sides = [i.checked_sub(stride), Some(i + stride)];
                for [sum, weights] in sides.into_iter().filter_map(at) {
                    node[0] += sum;
                    node[1] += weights;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_keep_what_is_uniform_and_part_what_is_not() {
        let particles: Vec<[f64; 2]> = (0..400)
            .map(|i| {
                [
                    0.025 + 0.05 * (i % 20) as f64,
                    0.025 + 0.05 * (i / 20) as f64,
                ]
            })
            .collect();
        let sides: Vec<f64> = particles.iter().map(|x| f64::from(x[0] > 0.5)).collect();
        let bounds = [[0.0; 2], [1.0; 2]];
        let tint = Tint::new(bounds, 0.0025, &particles, &sides);
        let at = |x: f64| tint.sample([x, 0.4]).expect("liquid all over");
        assert_eq!([at(0.1), at(0.3), at(0.7), at(0.9)], [0.0, 0.0, 1.0, 1.0]);
        assert!((at(0.5) - 0.5).abs() < 0.05, "{}", at(0.5));
        assert_eq!(tint.sample([1.5, 0.4]), None);
        assert_eq!(tint.sample([f64::NAN, 0.4]), None);
    }

    #[test]
    fn far_from_particles_and_of_bad_ones_there_is_nothing() {
        let particles = [[0.2, 0.2], [0.8, 0.8], [f64::NAN, 0.5], [1e300, 0.5]];
        let values = [0.25, f64::NAN, 1.0, 1.0];
        let tint = Tint::new([[0.0; 2], [1.0; 2]], 0.0025, &particles, &values);
        assert_eq!(tint.sample([0.22, 0.24]), Some(0.25));
        assert_eq!(tint.sample([0.8, 0.8]), None);
        assert_eq!(tint.sample([0.5, 0.5]), None);
    }
}
