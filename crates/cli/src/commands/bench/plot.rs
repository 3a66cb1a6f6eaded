//! The comparison as a drawing: iterations beside seconds, bars for one size and lines over
//! several.

use std::fmt::Write;

use super::course::Course;
use super::row::Row;

const PANEL: [f64; 2] = [420.0, 300.0];
/// Room left of a panel, for figures or names, and above it.
const MARGIN: [f64; 2] = [110.0, 60.0];
/// Room below lines, for the sizes.
const BELOW: f64 = 60.0;
const LEGEND_LINE: f64 = 20.0;
const BAR: f64 = 22.0;
const FRAME: &str = "#888888";

/// Colours that stay apart for the colour-blind (Okabe and Ito), used in turn.
const COLOURS: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999933",
];

/// A quantity of the drawing.
struct Measure {
    title: &'static str,
    value: fn(&Row) -> f64,
}

const MEASURES: [Measure; 2] = [
    Measure {
        title: "iterations per system",
        value: Row::average_iterations,
    },
    Measure {
        title: "seconds per system",
        value: Row::average_seconds,
    },
];

/// The drawing, with what the systems are for its title.
pub fn svg(systems: &str, courses: &[Course]) -> String {
    let methods: Vec<&str> = courses.first().map_or_else(Vec::new, |course| {
        course.rows.iter().map(|row| row.method.as_str()).collect()
    });
    let is_single = courses.len() == 1;
    let inner = if is_single {
        BAR * (methods.len() as f64 + 1.0)
    } else {
        PANEL[1]
    };
    let below = if is_single {
        MARGIN[1] / 3.0
    } else {
        BELOW + LEGEND_LINE * methods.len().div_ceil(4) as f64
    };
    let width = 2.0 * (PANEL[0] + MARGIN[0]) + 40.0;
    let height = MARGIN[1] + inner + below;
    let mut out = String::new();
    open(&mut out, width, height);
    let title = courses.first().map_or_else(String::new, |course| {
        let size = if is_single {
            format!(" {}", course.size)
        } else {
            String::new()
        };
        format!("{systems} of {}{size}", course.case)
    });
    text(&mut out, [width / 2.0, 26.0], "middle", 16, &title);
    for (index, measure) in MEASURES.iter().enumerate() {
        let corner = [MARGIN[0] + index as f64 * (PANEL[0] + MARGIN[0]), MARGIN[1]];
        let size = [PANEL[0], inner];
        frame(&mut out, corner, size, measure.title);
        if is_single {
            bars(&mut out, corner, size, measure, &courses[0].rows);
        } else {
            lines(&mut out, corner, size, measure, courses, &methods);
        }
    }
    if !is_single {
        key(&mut out, [MARGIN[0], MARGIN[1] + inner + BELOW], &methods);
    }
    out.push_str("</svg>\n");
    out
}

fn open(out: &mut String, width: f64, height: f64) {
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
    );
}

fn frame(out: &mut String, [x, y]: [f64; 2], [w, h]: [f64; 2], title: &str) {
    let _ = writeln!(
        out,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" fill=\"none\" stroke=\"{FRAME}\"/>"
    );
    text(out, [x + w / 2.0, y - 10.0], "middle", 13, title);
}

/// One bar per method on a scale that starts at zero, the figure at its end.
fn bars(out: &mut String, [x, y]: [f64; 2], [w, _]: [f64; 2], measure: &Measure, rows: &[Row]) {
    let largest = rows.iter().map(measure.value).fold(0.0, f64::max);
    // The longest bar leaves room for its figure.
    let scale = if largest > 0.0 {
        0.82 * w / largest
    } else {
        0.0
    };
    for (index, row) in rows.iter().enumerate() {
        let value = (measure.value)(row);
        let top = y + BAR * (index as f64 + 0.6);
        let (length, colour) = (value * scale, colour(index));
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{top:.1}\" width=\"{length:.2}\" height=\"{:.1}\" fill=\"{colour}\"/>",
            0.8 * BAR
        );
        let base = top + 0.6 * BAR;
        text(out, [x - 6.0, base], "end", 12, &row.method);
        let figure = crate::console::short(value).to_string();
        text(out, [x + length + 5.0, base], "start", 11, &figure);
    }
}

/// One line per method over the sizes, both scales logarithmic.
fn lines(
    out: &mut String,
    [x, y]: [f64; 2],
    [w, h]: [f64; 2],
    measure: &Measure,
    courses: &[Course],
    methods: &[&str],
) {
    let sizes = Scale::over(courses.iter().map(|course| course.size as f64));
    let rows = courses.iter().flat_map(|course| &course.rows);
    let values = Scale::over(rows.map(measure.value));
    let across = |size: f64| x + w * (0.05 + 0.9 * sizes.at(size));
    let up = |value: f64| y + h * (0.95 - 0.9 * values.at(value));
    for course in courses {
        let size = course.size.to_string();
        let place = [across(course.size as f64), y + h + 18.0];
        text(out, place, "middle", 11, &size);
    }
    text(
        out,
        [x + w / 2.0, y + h + 38.0],
        "middle",
        12,
        "cells along the longest side",
    );
    for tick in values.ticks() {
        let level = up(tick);
        let _ = writeln!(out, "<path d=\"M{x} {level:.1}h{w}\" stroke=\"#dddddd\"/>");
        let figure = crate::console::short(tick).to_string();
        text(out, [x - 6.0, level + 4.0], "end", 11, &figure);
    }
    for (index, method) in methods.iter().enumerate() {
        let points: Vec<[f64; 2]> = courses
            .iter()
            .filter_map(|course| {
                let row = course.rows.iter().find(|row| row.method == *method)?;
                let value = (measure.value)(row);
                (value > 0.0).then(|| [across(course.size as f64), up(value)])
            })
            .collect();
        polyline(out, &points, colour(index));
    }
}

fn polyline(out: &mut String, points: &[[f64; 2]], colour: &str) {
    let list: Vec<String> = points
        .iter()
        .map(|[x, y]| format!("{x:.1},{y:.1}"))
        .collect();
    let _ = writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
        list.join(" ")
    );
    for [x, y] in points {
        let _ = writeln!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>"
        );
    }
}

/// The names of the lines, four in a row.
fn key(out: &mut String, [x, y]: [f64; 2], methods: &[&str]) {
    for (index, method) in methods.iter().enumerate() {
        let left = x + (index % 4) as f64 * 220.0;
        let line = y + (index / 4) as f64 * LEGEND_LINE;
        let colour = colour(index);
        let _ = writeln!(
            out,
            "<rect x=\"{left}\" y=\"{:.1}\" width=\"18\" height=\"4\" fill=\"{colour}\"/>",
            line - 6.0
        );
        text(out, [left + 24.0, line], "start", 12, method);
    }
}

fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

fn text(out: &mut String, [x, y]: [f64; 2], anchor: &str, size: u32, words: &str) {
    let words = words
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\">{words}</text>"
    );
}

/// A logarithmic scale from 0 to 1.
#[derive(Clone, Copy)]
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// The scale that holds all positive values.
    fn over(values: impl Iterator<Item = f64>) -> Scale {
        let positive = values.filter(|&value| value > 0.0 && value.is_finite());
        let (low, high) = positive.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), v| {
            (low.min(v), high.max(v))
        });
        if low < high {
            Scale { low, high }
        } else if low == high {
            Scale {
                low: low / 2.0,
                high: high * 2.0,
            }
        } else {
            Scale {
                low: 1.0,
                high: 10.0,
            }
        }
    }

    fn at(self, value: f64) -> f64 {
        (value / self.low).ln() / (self.high / self.low).ln()
    }

    /// Round figures on the scale: powers of ten, with twos and fives if there are few.
    fn ticks(self) -> Vec<f64> {
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let on_scale = |tick: &f64| (self.low..=self.high).contains(tick);
        let steps: &[f64] = if self.high / self.low > 1e3 {
            &[1.0]
        } else {
            &[1.0, 2.0, 5.0]
        };
        decades
            .flat_map(|exponent| steps.iter().map(move |step| step * 10f64.powi(exponent)))
            .filter(on_scale)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithmic_scale_holds_its_ends_and_round_figures() {
        let scale = Scale::over([0.0, 2.0, 200.0].into_iter());
        assert_eq!((scale.at(2.0), scale.at(200.0)), (0.0, 1.0));
        assert!((scale.at(20.0) - 0.5).abs() < 1e-12);
        assert_eq!(scale.ticks(), [2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0]);
    }

    #[test]
    fn a_scale_of_one_value_or_none_is_no_division_by_zero() {
        for values in [vec![], vec![3.0], vec![0.0, 3.0, 3.0]] {
            let scale = Scale::over(values.into_iter());
            assert!(scale.at(3.0).is_finite());
        }
    }
}
