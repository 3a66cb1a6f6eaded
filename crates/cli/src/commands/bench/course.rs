//! What the methods took on a case of one size.

use serde_json::{Value, json};

use super::row::Row;
use crate::console::Console;
use crate::failure::{Failure, Outcome};

/// A case of one size, and what the methods took on it.
pub struct Course {
    /// The scene or the test.
    pub case: String,
    /// Cells along its longest side.
    pub size: u64,
    /// The systems.
    pub systems: Census,
    /// One row per method.
    pub rows: Vec<Row>,
}

/// Sums over systems.
#[derive(Clone, Copy, Debug, Default)]
pub struct Census {
    /// How many there were.
    pub count: u64,
    unknowns: u64,
    walls: Option<WallCensus>,
}

/// What a comparison came to: the cases that were measured, and what ended it early.
#[derive(Default)]
pub struct Findings {
    /// The cases; the last may have fewer systems than it was to have if there is a failure.
    pub courses: Vec<Course>,
    /// What ended it early.
    pub failure: Option<Failure>,
}

impl Findings {
    /// Takes over how a case ended, of which `tell` hears.
    ///
    /// # Errors
    /// If it failed and nothing is known of any.
    pub fn add(
        &mut self,
        ended: Outcome<(Course, Option<Failure>)>,
        tell: impl Fn(&Course),
    ) -> Outcome {
        match ended {
            Ok((course, failure)) => {
                tell(&course);
                self.courses.push(course);
                self.failure = failure;
            }
            Err(failure) if self.courses.is_empty() => return Err(failure),
            Err(failure) => self.failure = Some(failure),
        }
        Ok(())
    }

    /// Ends a command: with its document, which a failure takes along.
    ///
    /// # Errors
    /// The failure.
    pub fn conclude(self, document: Value, console: Console) -> Outcome {
        match self.failure {
            None => {
                console.document(&document);
                Ok(())
            }
            Some(mut failure) => {
                failure.document = Some(Box::new(document));
                Err(failure)
            }
        }
    }
}

/// Sums over the unknowns of pressure beside walls.
#[derive(Clone, Copy, Debug, Default)]
struct WallCensus {
    systems: u64,
    unknowns: u64,
    separated: u64,
}

impl Census {
    /// Counts a system of so many unknowns.
    pub fn add(&mut self, unknowns: usize) {
        self.count += 1;
        self.unknowns += unknowns as u64;
    }

    /// Counts the unknowns of a system beside walls, and those of them that let go.
    pub fn add_walls(&mut self, unknowns: usize, separated: usize) {
        let walls = self.walls.get_or_insert_default();
        walls.systems += 1;
        walls.unknowns += unknowns as u64;
        walls.separated += separated as u64;
    }

    /// Unknowns per system.
    pub fn unknowns(&self) -> f64 {
        average(self.unknowns, self.count)
    }

    /// Unknowns beside walls per system and the share of them that let go, where they are counted.
    pub fn walls(&self) -> Option<[f64; 2]> {
        let walls = self.walls?;
        let share = walls.separated as f64 / walls.unknowns.max(1) as f64;
        Some([average(walls.unknowns, walls.systems), share])
    }
}

fn average(sum: u64, systems: u64) -> f64 {
    sum as f64 / systems.max(1) as f64
}

impl Course {
    /// The systems, for programs.
    pub fn to_json(&self) -> Value {
        let mut systems = json!({
            "case": self.case,
            "size": self.size,
            "systems": self.systems.count,
            "average_unknowns": self.systems.unknowns(),
        });
        if let Some([unknowns, separated_share]) = self.systems.walls() {
            systems["average_wall_unknowns"] = json!(unknowns);
            systems["separated_share"] = json!(separated_share);
        }
        systems
    }
}

/// What programs get of every comparison.
pub fn document(courses: &[Course], tolerance: f64, threads: usize) -> Value {
    let rows = courses.iter().flat_map(|course| &course.rows);
    json!({
        "rows": rows.map(Row::to_json).collect::<Vec<_>>(),
        "systems": courses.iter().map(Course::to_json).collect::<Vec<_>>(),
        "tolerance": tolerance,
        "threads": threads,
    })
}
