//! How thick a liquid is.

use plash_grid::Axis;
use plash_solve::staggered::{Smoother, ViscousMethod};

/// The viscosity `μ` of liquid as it enters the simulation, Pa·s. From then on every particle
/// keeps what it got.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Viscosity {
    /// The same everywhere; zero for a liquid without viscosity.
    Constant(f64),
    /// Changing along an axis between two places, and constant beyond them.
    Graded {
        /// The axis.
        axis: Axis,
        /// One of the places.
        from: Graduation,
        /// The other.
        to: Graduation,
        /// How it goes from one to the other.
        scale: Scale,
    },
}

/// A viscosity at a coordinate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Graduation {
    /// The coordinate along the axis, m.
    pub at: f64,
    /// The viscosity there, Pa·s.
    pub value: f64,
}

/// How a quantity goes from one value to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// By equal differences.
    #[default]
    Linear,
    /// By equal ratios: for values that are orders of magnitude apart, both above zero.
    Log,
}

impl Default for Viscosity {
    fn default() -> Self {
        Viscosity::Constant(0.0)
    }
}

impl Viscosity {
    /// The viscosity of liquid that enters at `x`.
    pub fn at<const D: usize>(&self, x: [f64; D]) -> f64 {
        match *self {
            Viscosity::Constant(value) => value,
            Viscosity::Graded {
                axis,
                from,
                to,
                scale,
            } => {
                let along = (x[axis.0] - from.at) / (to.at - from.at);
                // Two places that are one leave nothing between them.
                let t = if along.is_nan() { 0.0 } else { along }.clamp(0.0, 1.0);
                match scale {
                    Scale::Linear => (1.0 - t) * from.value + t * to.value,
                    Scale::Log => from.value.powf(1.0 - t) * to.value.powf(t),
                }
            }
        }
    }

    /// The value if it is the same everywhere.
    pub fn constant(&self) -> Option<f64> {
        match *self {
            Viscosity::Constant(value) => Some(value),
            Viscosity::Graded { from, to, .. } => (from.value == to.value).then_some(from.value),
        }
    }

    /// The smallest and the largest value there is.
    pub fn range(&self) -> [f64; 2] {
        match *self {
            Viscosity::Constant(value) => [value; 2],
            Viscosity::Graded { from, to, .. } => {
                [from.value.min(to.value), from.value.max(to.value)]
            }
        }
    }
}

/// How viscosity is solved.
#[derive(Clone, Debug, PartialEq)]
pub struct ViscosityConfig {
    /// The method.
    pub method: ViscousMethod,
    /// What smooths on the levels of a multigrid method.
    pub smoother: Smoother,
    /// Largest remaining residual, as a share of the largest momentum of a face. A step takes
    /// away far more by its length than 10⁻⁴ does.
    pub tolerance: f64,
    /// Iterations before giving up.
    pub max_iterations: usize,
}

impl Default for ViscosityConfig {
    fn default() -> Self {
        ViscosityConfig {
            method: ViscousMethod::default(),
            smoother: Smoother::default(),
            tolerance: 1e-4,
            max_iterations: 1000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graded(scale: Scale) -> Viscosity {
        Viscosity::Graded {
            axis: Axis::Y,
            from: Graduation {
                at: 1.0,
                value: 0.1,
            },
            to: Graduation {
                at: 3.0,
                value: 1000.0,
            },
            scale,
        }
    }

    #[test]
    fn a_grading_meets_its_ends_and_is_constant_beyond() {
        for scale in [Scale::Linear, Scale::Log] {
            let graded = graded(scale);
            for (y, value) in [(-5.0, 0.1), (1.0, 0.1), (3.0, 1000.0), (9.0, 1000.0)] {
                let found = graded.at([7.0, y]);
                assert!((found / value - 1.0).abs() < 1e-12, "{found} at {y}");
            }
            assert_eq!(graded.range(), [0.1, 1000.0]);
            assert_eq!(graded.constant(), None);
        }
        assert!((graded(Scale::Linear).at([0.0, 2.0]) - 500.05).abs() < 1e-9);
        assert!((graded(Scale::Log).at([0.0, 2.0]) - 10.0).abs() < 1e-9);
    }

    #[test]
    fn a_grading_over_no_distance_is_a_number_all_the_same() {
        let place = Graduation {
            at: 1.0,
            value: 2.0,
        };
        let point = Viscosity::Graded {
            axis: Axis::X,
            from: place,
            to: Graduation {
                value: 5.0,
                ..place
            },
            scale: Scale::Linear,
        };
        assert!([0.0, 1.0, 2.0].iter().all(|&x| point.at([x, 0.0]) >= 2.0));
    }
}
