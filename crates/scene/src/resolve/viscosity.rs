//! How thick liquids are: the table `[viscosity]`, and `viscosity` of liquids and sources.

use plash_grid::Axis;
use plash_liquid::shape::Shape;
use plash_liquid::{Graduation, Scale, Smoother, Viscosity, ViscosityConfig, ViscousMethod};

use super::options::{or, section, unused};
use crate::diagnostics::Diagnostic;
use crate::file::reader::{Fields, Item, Sink, readable};

/// Beyond, not even pitch is as thick, Pa·s.
const THICKEST: f64 = 1e9;

const AXES: [(&str, usize); 3] = [("x", 0), ("y", 1), ("z", 2)];
const SCALES: [(&str, Scale); 2] = [("linear", Scale::Linear), ("log", Scale::Log)];

/// The table `[viscosity]`.
pub(crate) struct Section<'a> {
    item: Option<Item<'a>>,
    /// The key `value`, if it was written.
    written: Option<Item<'a>>,
    /// The viscosity of liquids and sources that do not say, Pa·s.
    pub(crate) value: f64,
    config: ViscosityConfig,
}

impl<'a> Section<'a> {
    /// Reads it.
    pub(crate) fn read(top: &mut Fields<'a>, sink: &Sink) -> Self {
        let mut found = Section {
            item: top.get("viscosity"),
            written: None,
            value: 0.0,
            config: ViscosityConfig::default(),
        };
        if let Some(item) = found.item.as_ref().filter(|item| item.is_number()) {
            // What anybody tries first.
            let help = "write a table [viscosity] with this number as its `value`, or `viscosity` in a [[liquid]] or [[source]]";
            let _: Option<()> = item.fail("the viscosity of all liquids is in a table", help);
            return found;
        }
        let Some(mut fields) = section(top, "viscosity") else {
            return found;
        };
        found.written = fields.get("value");
        found.value = found.written.as_ref().and_then(thickness).unwrap_or(0.0);
        found.config = config(&mut fields, sink);
        fields.finish();
        found
    }

    /// The settings of the solver; warns if nothing is `viscous`, or if `value` was not `taken` by
    /// any entry.
    pub(crate) fn config(self, viscous: bool, taken: bool, sink: &Sink) -> ViscosityConfig {
        let warn = |item: &Item<'_>, message: &str, help: &str| {
            sink.push(Diagnostic::warning(item.key_origin(), item.key(), message).help(help));
        };
        match (&self.item, &self.written) {
            // After an error it may be that a viscosity could not be read.
            _ if sink.has_errors() => {}
            (Some(item), _) if !viscous => warn(
                item,
                "has no effect: no liquid is viscous",
                "give it a `value` above zero, or a [[liquid]] a `viscosity`",
            ),
            (_, Some(item)) if !taken => warn(
                item,
                "has no effect: every liquid and source has a viscosity of its own",
                "leave it out here, or leave out `viscosity` there",
            ),
            _ => {}
        }
        self.config
    }
}

fn config(fields: &mut Fields<'_>, sink: &Sink) -> ViscosityConfig {
    let default = ViscosityConfig::default();
    let methods: Vec<(&str, ViscousMethod)> = ViscousMethod::ALL
        .iter()
        .map(|m| (m.as_str(), *m))
        .collect();
    let smoothers: Vec<(&str, Smoother)> = Smoother::ALL.iter().map(|s| (s.as_str(), *s)).collect();
    let method = or(fields, "method", default.method, |v| {
        v.choice(&methods, &[])
    });
    let smoother = fields.get("smoother");
    let smoother = if method == ViscousMethod::Mgpcg {
        smoother.and_then(|v| v.choice(&smoothers, &[]))
    } else {
        unused(smoother, "method \"mgpcg\"", sink);
        None
    };
    ViscosityConfig {
        method,
        smoother: smoother.unwrap_or(default.smoother),
        tolerance: or(fields, "tolerance", default.tolerance, |v| {
            v.number_in(1e-12..=0.1)
        }),
        max_iterations: or(fields, "max-iterations", default.max_iterations, |v| {
            v.whole(1..=1_000_000).map(|n| n as usize)
        }),
    }
}

fn thickness(item: &Item<'_>) -> Option<f64> {
    let value = item.number()?;
    if !(0.0..=THICKEST).contains(&value) {
        let message = format!("{} Pa·s is out of range", readable(value));
        let help = "use 0 to 1e9: water has 0.001, olive oil 0.1, honey 10, tar 30000";
        return item.fail(message, help);
    }
    Some(value)
}

/// A viscosity as written: a grading may still lack its places.
pub(crate) enum Written<'a> {
    /// One number.
    Plain(f64),
    /// A table.
    Graded {
        item: Item<'a>,
        axis: usize,
        values: [f64; 2],
        between: Option<[f64; 2]>,
        scale: Scale,
    },
}

/// Reads a `viscosity`.
pub(crate) fn read<'a, const D: usize>(item: &Item<'a>) -> Option<Written<'a>> {
    if !item.is_table() {
        return thickness(item).map(Written::Plain);
    }
    let mut fields =
        item.fields("a number or a grading, { axis = \"x\", from = ..., to = ... }")?;
    let axis = fields.require("axis", "\"x\"");
    let axis = axis.and_then(|v| v.choice(&AXES[..D], &[]));
    let scale = or(&mut fields, "scale", Scale::default(), |v| {
        v.choice(&SCALES, &[])
    });
    let mut end = |key| {
        let value = fields.require(key, "10")?;
        let number = thickness(&value)?;
        if scale == Scale::Log && number <= 0.0 {
            let help = "begin above zero, or leave out `scale`";
            return value.fail("a logarithmic scale cannot reach zero", help);
        }
        Some(number)
    };
    let values = [end("from"), end("to")];
    let between = fields.get("between").map(|v| places(&v));
    fields.finish();
    Some(Written::Graded {
        item: item.clone(),
        axis: axis?,
        values: [values[0]?, values[1]?],
        between: between.map_or(Some(None), |found| found.map(Some))?,
        scale,
    })
}

/// Two coordinates that differ.
fn places(item: &Item<'_>) -> Option<[f64; 2]> {
    let items = item.list("two coordinates, [0.2, 0.8]")?;
    let [from, to] = items.as_slice() else {
        let message = format!("expected two coordinates, found {}", items.len());
        return item.fail(message, "for example [0.2, 0.8]");
    };
    let (from, to) = (from.number(), to.number());
    let (from, to) = (from?, to?);
    if (to - from).abs() < 1e-12 {
        return item.fail("the two places are the same", "for example [0.2, 0.8]");
    }
    Some([from, to])
}

impl Written<'_> {
    /// The viscosity of liquid in this shape, from one end of it to the other if nothing else
    /// is said.
    pub(crate) fn over<const D: usize>(self, shape: &Shape<D>) -> Option<Viscosity> {
        let (item, axis, values, between, scale) = match self {
            Written::Plain(value) => return Some(Viscosity::Constant(value)),
            Written::Graded {
                item,
                axis,
                values,
                between,
                scale,
            } => (item, axis, values, between, scale),
        };
        let Some([from, to]) = between.or_else(|| shape.bounds_along(axis)) else {
            let message = format!("the shape has no end along {}", AXES[axis].0);
            return item.fail(message, "say where: `between = [0.2, 0.8]`");
        };
        let graduation = |at, value| Graduation { at, value };
        Some(Viscosity::Graded {
            axis: Axis(axis),
            from: graduation(from, values[0]),
            to: graduation(to, values[1]),
            scale,
        })
    }
}
