//! Places where liquid enters.

use super::Viscosity;
use crate::shape::Shape;

/// A place kept full of liquid moving at a given velocity.
#[derive(Clone, Debug)]
pub struct Source<const D: usize> {
    /// Where liquid appears.
    pub shape: Shape<D>,
    /// The velocity it has there, relative to the source, m/s.
    pub velocity: [f64; D],
    /// Its viscosity. A grading belongs to the shape and moves along.
    pub viscosity: Viscosity,
    /// First instant, s.
    pub start: f64,
    /// Last instant, s; infinite if it never ends.
    pub end: f64,
    /// How the shape moves: from each place to the next in a straight line at constant speed,
    /// at rest before the first and after the last. Times ascend. Empty for one that stays.
    pub path: Vec<Waypoint<D>>,
}

/// A place on the way of something that moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waypoint<const D: usize> {
    /// When it is there, s.
    pub time: f64,
    /// How far it then is from where its shape says, m.
    pub offset: [f64; D],
}

impl<const D: usize> Source<D> {
    /// A source at rest of liquid at rest without viscosity, for ever.
    pub fn new(shape: Shape<D>) -> Self {
        Source {
            shape,
            velocity: [0.0; D],
            viscosity: Viscosity::default(),
            start: 0.0,
            end: f64::INFINITY,
            path: Vec::new(),
        }
    }

    /// Whether it gives liquid at this time.
    pub fn is_active(&self, time: f64) -> bool {
        time >= self.start && time < self.end
    }

    /// How far the shape has moved, m.
    pub fn offset(&self, time: f64) -> [f64; D] {
        let (Some(first), Some(last)) = (self.path.first(), self.path.last()) else {
            return [0.0; D];
        };
        match self.leg(time) {
            Some([from, to]) => {
                let t = (time - from.time) / (to.time - from.time);
                std::array::from_fn(|a| (1.0 - t) * from.offset[a] + t * to.offset[a])
            }
            None if time < first.time => first.offset,
            None => last.offset,
        }
    }

    /// The velocity of the shape, m/s.
    pub fn motion(&self, time: f64) -> [f64; D] {
        match self.leg(time) {
            Some([from, to]) => {
                std::array::from_fn(|a| (to.offset[a] - from.offset[a]) / (to.time - from.time))
            }
            None => [0.0; D],
        }
    }

    /// The places it is between.
    fn leg(&self, time: f64) -> Option<[Waypoint<D>; 2]> {
        let next = self.path.partition_point(|p| p.time <= time);
        let last = next.checked_sub(1)?;
        Some([*self.path.get(last)?, *self.path.get(next)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_moves_straight_between_places_and_rests_beyond() {
        let at = |time, x| Waypoint {
            time,
            offset: [x, -x],
        };
        let source = Source {
            path: vec![at(1.0, 0.5), at(2.0, 1.5), at(4.0, -0.5)],
            ..Source::new(Shape::Sphere {
                center: [0.0; 2],
                radius: 1.0,
            })
        };
        for (time, x, speed) in [
            (0.0, 0.5, 0.0),
            (1.0, 0.5, 1.0),
            (1.5, 1.0, 1.0),
            (2.0, 1.5, -1.0),
            (3.5, 0.0, -1.0),
            (4.0, -0.5, 0.0),
            (9.0, -0.5, 0.0),
        ] {
            assert_eq!(source.offset(time), [x, -x], "at {time} s");
            assert_eq!(source.motion(time), [speed, -speed], "at {time} s");
        }
        let still = Source::new(source.shape.clone());
        assert_eq!((still.offset(1.0), still.motion(1.0)), ([0.0; 2], [0.0; 2]));
    }
}
