//! `plash bench pressure` at tiny sizes.

mod support;

use serde_json::Value;
use support::Place;

/// One frame of the disc with a linear and a separating method.
const TINY: [&str; 10] = [
    "bench",
    "pressure",
    "--case",
    "circle2d",
    "--size",
    "24",
    "--frames",
    "1",
    "--methods",
    "pcg-mic,pi-pcg",
];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    TINY.iter().chain(more).copied().collect()
}

fn rows(document: &Value) -> &Vec<Value> {
    document["rows"].as_array().expect("rows")
}

#[test]
fn every_method_gets_every_system_and_the_rows_say_what_it_took() {
    let place = Place::new();
    let document = place.succeed(&with(&["--json", "-t", "2"])).json();
    let rows = rows(&document);
    assert_eq!(rows.len(), 2, "{document}");
    let systems = document["systems"][0]["systems"].as_u64().expect("a count");
    assert!(systems >= 1, "{document}");
    for (row, method) in rows.iter().zip(["pcg-mic", "pi-pcg"]) {
        assert_eq!(
            (&row["case"], &row["size"]),
            (&"circle2d".into(), &24.into())
        );
        assert_eq!(row["method"], method);
        assert_eq!(row["systems"], systems, "{row}");
        assert_eq!(row["converged"], systems, "{row}");
        assert!(row["error"].is_null(), "{row}");
        let figures = [
            "average_iterations",
            "average_outer_iterations",
            "average_setup_seconds",
            "average_solve_seconds",
            "peak_memory_bytes",
        ];
        for figure in figures {
            assert!(
                row[figure].as_f64().is_some_and(|value| value > 0.0),
                "{figure}: {row}"
            );
        }
    }
}

#[test]
fn the_text_has_a_line_per_method() {
    let text = Place::new().succeed(&TINY).stdout;
    assert!(text.starts_with("circle2d 24: "), "{text}");
    for method in ["pcg-mic", "pi-pcg"] {
        let line = text
            .lines()
            .find(|line| line.trim_start().starts_with(method));
        assert!(line.is_some_and(|line| line.contains("100 %")), "{text}");
    }
}

#[test]
fn iterations_do_not_depend_on_the_number_of_threads() {
    let place = Place::new();
    let iterations = |threads: &str| {
        let document = place.succeed(&with(&["--json", "-t", threads])).json();
        let of = |row: &Value| row["average_iterations"].as_f64();
        rows(&document).iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(iterations("1"), iterations("2"));
}

#[test]
fn warm_starts_save_iterations() {
    let place = Place::new();
    let iterations = |more: &[&str]| {
        let args = ["--steps", "4", "--frames", "4", "--json"];
        let args: Vec<&str> = args.iter().chain(more).copied().collect();
        let base = ["bench", "pressure", "--case", "circle2d", "--size", "24"];
        let methods = ["--methods", "pi-pcg"];
        let line: Vec<&str> = base.into_iter().chain(methods).chain(args).collect();
        let document = place.succeed(&line).json();
        let row = &rows(&document)[0];
        assert_eq!(row["systems"], 4, "{row}");
        row["average_iterations"].as_f64().expect("a figure")
    };
    let (warm, cold) = (iterations(&[]), iterations(&["--cold"]));
    assert!(warm < cold, "{warm} warm, {cold} cold");
}

#[test]
fn dumped_systems_are_solved_by_the_solve_command() {
    let place = Place::new();
    place.succeed(&with(&["--dump", "systems"]));
    let files = place.list("systems");
    assert_eq!(files[0], "circle2d-24-f0001-s01.npz");
    let file = format!("systems/{}", files[0]);
    let solve = |method: &str| {
        let args = ["solve", &file, "--method", method, "--json"];
        place.succeed(&args).json()
    };
    let solved = solve("pi-pcg");
    assert_eq!(solved["status"], "converged");
    assert!(
        solved["wall_unknowns"]
            .as_u64()
            .is_some_and(|walls| walls > 0),
        "{solved}"
    );
    // A geometric method works only if the lattice is found again in the coordinates.
    assert_eq!(solve("mgpcg")["status"], "converged");
}

#[test]
fn a_numbered_table_stands_beside_its_published_figures() {
    let place = Place::new();
    let args = [
        "bench", "pressure", "--table", "1", "--size", "24,32", "--frames", "1",
    ];
    let args: Vec<&str> = args.into_iter().chain(["--methods", "pi-pcg"]).collect();
    let text = place.succeed(&args).stdout;
    assert!(
        text.contains("Table 1: average iterations per solve"),
        "{text}"
    );
    let mut lines = text.lines().rev();
    let line = lines.find(|line| line.trim_start().starts_with("32 "));
    let line = line.expect("a row of size 32");
    assert!(
        line.contains("(16.9)") && line.contains("– (7.45)"),
        "{line}"
    );
    let json: Vec<&str> = args.into_iter().chain(["--json"]).collect();
    let document = place.succeed(&json).json();
    let figures = document["table"]["figures"].as_array().expect("figures");
    assert_eq!(figures.len(), 16);
    let published = figures
        .iter()
        .filter(|f| f["size"] == 32 && f["method"] == "pi-pcg");
    let published: Vec<&Value> = published.collect();
    assert_eq!(published[0]["published"], 16.9);
    assert!(published[0]["ours"].as_f64().is_some_and(|ours| ours > 0.0));
}

#[test]
fn one_frame_is_one_system_from_a_cold_start() {
    let place = Place::new();
    let args = [
        "bench", "pressure", "--case", "circle2d", "--size", "16", "--frame", "2",
    ];
    let args: Vec<&str> = args
        .into_iter()
        .chain(["--methods", "pi-pcg", "--json"])
        .collect();
    let document = place.succeed(&args).json();
    assert_eq!(rows(&document)[0]["systems"], 1);
}

#[test]
fn plots_are_drawings_of_one_size_or_several() {
    let place = Place::new();
    place.succeed(&with(&["--plot", "bars.svg"]));
    let bars = String::from_utf8(place.bytes("bars.svg")).expect("text");
    assert!(bars.starts_with("<svg") && bars.trim_end().ends_with("</svg>"));
    assert!(bars.contains(">pi-pcg<") && bars.contains("seconds per system"));
    let sizes: Vec<&str> = TINY
        .iter()
        .map(|&arg| if arg == "24" { "16,24" } else { arg })
        .collect();
    let sizes: Vec<&str> = sizes.into_iter().chain(["--plot", "lines.svg"]).collect();
    place.succeed(&sizes);
    let lines = String::from_utf8(place.bytes("lines.svg")).expect("text");
    assert_eq!(lines.matches("<polyline").count(), 4, "{lines}");
}

#[test]
fn what_cannot_be_meant_is_bad_input() {
    let place = Place::new();
    let cases: [&[&str]; 7] = [
        &["--case", "no-such-scene"],
        &["--methods", "cg"],
        &["--methods", "newton:direct"],
        &["--plot", "plot.jpeg"],
        &["--table", "13"],
        &["--table", "9", "--case", "circle2d"],
        &["--frame", "0"],
    ];
    for case in cases {
        let args: Vec<&str> = ["bench", "pressure"]
            .into_iter()
            .chain(case.iter().copied())
            .collect();
        let ended = place.plash(&args);
        assert_eq!(ended.code, 2, "{case:?}: {}", ended.stderr);
        assert!(!ended.stderr.is_empty());
    }
}
