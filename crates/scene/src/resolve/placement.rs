//! Where things lie: how much liquid there is, and what can have no effect.

use plash_liquid::Source;
use plash_liquid::shape::Shape;

use super::entries::{Entries, Placed};
use super::grid::Domain;
use crate::diagnostics::{Diagnostic, Origin};
use crate::file::reader::Sink;

/// What sources give over what they say, at the most: with nozzles a few cells wide honey gives 1.11
/// and chocolate 1.07 of it.
const SURPLUS: f64 = 1.2;

/// Distances measured for one scene at most, counted by primitive shapes: some 20 ms.
const BUDGET: usize = 2_000_000;

/// Samples along an axis of a shape's box, at most and at least. With fewer, nothing is said.
const SAMPLES: std::ops::RangeInclusive<usize> = 4..=32;

/// The volume of liquid a scene starts with or is given, in m^D; and warnings for entries that
/// lie where they can do nothing.
pub(crate) fn check<const D: usize>(
    domain: &Domain<D>,
    entries: &Entries<D>,
    duration: f64,
    sink: &Sink,
) -> f64 {
    if entries.liquids.is_empty() && entries.sources.is_empty() {
        let message = "the scene has no liquid and no source, so nothing will happen";
        let help = "add a [[liquid]] with a shape";
        sink.push(Diagnostic::warning(Origin::Whole, "liquid", message).help(help));
    }
    let solids: Vec<&Shape<D>> = entries.solids.iter().map(|s| &s.what.shape).collect();
    let cost: usize = solids.iter().map(|s| primitives(s)).sum();
    let shapes = entries.liquids.len() + entries.sources.len();
    let survey = Survey {
        domain,
        solids,
        solid_cost: cost,
        budget: BUDGET / shapes.max(1),
    };

    let mut volume = 0.0;
    for liquid in &entries.liquids {
        volume += survey.judge(liquid, &liquid.what.shape, "liquid", sink);
    }
    for source in &entries.sources {
        let shape = survey.typical(&source.what);
        let filled = survey.judge(source, &shape, "source", sink);
        let time = (source.what.end.min(duration) - source.what.start).max(0.0);
        volume += filled + SURPLUS * survey.flux(&shape, source.what.velocity) * time;
    }
    for drain in &entries.drains {
        survey.outside(drain, &drain.what.shape, "drain", sink);
    }
    for solid in &entries.solids {
        survey.outside(solid, &solid.what.shape, "solid", sink);
    }
    volume
}

/// How many primitives a shape's distance asks.
fn primitives<const D: usize>(shape: &Shape<D>) -> usize {
    match shape {
        Shape::Union(parts) | Shape::Intersect(parts) => parts.iter().map(primitives).sum(),
        Shape::Subtract(body, cuts) => {
            primitives(body) + cuts.iter().map(primitives).sum::<usize>()
        }
        Shape::Shell { shape, .. }
        | Shape::Round { shape, .. }
        | Shape::Translate { shape, .. }
        | Shape::Rotate { shape, .. }
        | Shape::Scale { shape, .. } => 1 + primitives(shape),
        // Found by iteration.
        Shape::Ellipsoid { .. } => 10,
        _ => 1,
    }
}

struct Survey<'a, const D: usize> {
    domain: &'a Domain<D>,
    solids: Vec<&'a Shape<D>>,
    solid_cost: usize,
    budget: usize,
}

impl<const D: usize> Survey<'_, D> {
    /// The part of the domain in which a shape can lie; `None` if there is none.
    fn region(&self, shape: &Shape<D>) -> Option<[[f64; D]; 2]> {
        let (low, high) = (self.domain.origin, self.domain.end());
        let [min, max] = shape.bounds().unwrap_or([low, high]);
        let min: [f64; D] = std::array::from_fn(|a| min[a].max(low[a]));
        let max: [f64; D] = std::array::from_fn(|a| max[a].min(high[a]));
        (0..D).all(|a| min[a] < max[a]).then_some([min, max])
    }

    /// A source's shape where it is first within the domain; at its start if it never is.
    fn typical(&self, source: &Source<D>) -> Shape<D> {
        let at = |offset: [f64; D]| Shape::Translate {
            shape: Box::new(source.shape.clone()),
            by: offset,
        };
        let stops = source.path.iter().map(|place| at(place.offset));
        let Some(first) = source.path.first() else {
            return source.shape.clone();
        };
        stops
            .into_iter()
            .find(|shape| self.region(shape).is_some())
            .unwrap_or_else(|| at(first.offset))
    }

    /// The volume that enters per second, at most: through the faces of the source's box.
    fn flux(&self, shape: &Shape<D>, velocity: [f64; D]) -> f64 {
        let Some([min, max]) = self.region(shape) else {
            return 0.0;
        };
        let through = |a: usize| {
            let face: f64 = (0..D)
                .filter(|&b| b != a)
                .map(|b| max[b] - min[b])
                .product();
            velocity[a].abs() * face
        };
        (0..D).map(through).sum()
    }

    /// Warns of an entry outside the domain; says whether it was.
    fn outside<T>(&self, entry: &Placed<T>, shape: &Shape<D>, kind: &str, sink: &Sink) -> bool {
        let outside = self.region(shape).is_none();
        if outside {
            self.warn_outside(entry, kind, sink);
        }
        outside
    }

    fn warn_outside<T>(&self, entry: &Placed<T>, kind: &str, sink: &Sink) {
        let message = format!("this {kind} lies wholly outside the domain");
        let (low, high) = (self.domain.origin, self.domain.end());
        let help = format!("the domain reaches from {low:?} to {high:?}");
        sink.push(Diagnostic::warning(entry.origin.clone(), &entry.key, message).help(help));
    }

    /// The volume that a shape fills of the domain, outside of solids; warns if it is none.
    fn judge<T>(&self, entry: &Placed<T>, shape: &Shape<D>, kind: &str, sink: &Sink) -> f64 {
        if self.outside(entry, shape, kind, sink) {
            return 0.0;
        }
        let Some(region) = self.region(shape) else {
            return 0.0;
        };
        let volume: f64 = (0..D).map(|a| region[1][a] - region[0][a]).product();
        let cost = primitives(shape) + self.solid_cost;
        let n = ((self.budget / cost.max(1)) as f64).powf(1.0 / D as f64) as usize;
        if n < *SAMPLES.start() {
            return volume;
        }
        let n = n.min(*SAMPLES.end());
        let counts = self.count(shape, region, n);
        if counts.surely_empty {
            self.warn_outside(entry, kind, sink);
        } else if counts.inside > 0 && counts.free == 0 {
            let message = format!("this {kind} lies wholly inside a solid");
            let help = "move it, or subtract its place from the solid";
            sink.push(Diagnostic::warning(entry.origin.clone(), &entry.key, message).help(help));
        }
        volume * counts.free as f64 / n.pow(D as u32) as f64
    }

    fn count(&self, shape: &Shape<D>, [min, max]: [[f64; D]; 2], n: usize) -> Counts {
        let step: [f64; D] = std::array::from_fn(|a| (max[a] - min[a]) / n as f64);
        // No point is further from a sample than this, and no distance changes faster.
        let reach = 0.5 * step.iter().map(|s| s * s).sum::<f64>().sqrt();
        let mut counts = Counts {
            inside: 0,
            free: 0,
            surely_empty: true,
        };
        for sample in 0..n.pow(D as u32) {
            let mut rest = sample;
            let x: [f64; D] = std::array::from_fn(|a| {
                let i = rest % n;
                rest /= n;
                min[a] + (i as f64 + 0.5) * step[a]
            });
            let distance = shape.distance(x);
            counts.surely_empty &= distance > reach;
            if distance < 0.0 {
                counts.inside += 1;
                counts.free += usize::from(self.solids.iter().all(|s| s.distance(x) > 0.0));
            }
        }
        counts
    }
}

/// What samples say of a shape.
struct Counts {
    /// Samples within the shape.
    inside: usize,
    /// Of these, samples outside every solid.
    free: usize,
    /// Whether no point of the region can be within the shape.
    surely_empty: bool,
}
