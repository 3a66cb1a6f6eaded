//! What the methods took on a case of one size.

use serde_json::{Value, json};

use super::row::Row;

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

/// Sums over the unknowns of pressure beside walls.
#[derive(Clone, Copy, Debug, Default)]
struct WallCensus {
    unknowns: u64,
    separated: u64,
}

impl Census {
    /// Counts a system of so many unknowns.
    pub fn add(&mut self, unknowns: usize) {
        self.count += 1;
        self.unknowns += unknowns as u64;
    }

    /// Counts its unknowns beside walls, and those of them that let go.
    pub fn add_walls(&mut self, unknowns: usize, separated: usize) {
        let walls = self.walls.get_or_insert_default();
        walls.unknowns += unknowns as u64;
        walls.separated += separated as u64;
    }

    /// Unknowns per system.
    pub fn unknowns(&self) -> f64 {
        self.average(self.unknowns)
    }

    /// Unknowns beside walls per system and the share of them that let go, where they are counted.
    pub fn walls(&self) -> Option<[f64; 2]> {
        let walls = self.walls?;
        let share = walls.separated as f64 / walls.unknowns.max(1) as f64;
        Some([self.average(walls.unknowns), share])
    }

    fn average(&self, sum: u64) -> f64 {
        sum as f64 / self.count.max(1) as f64
    }
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
