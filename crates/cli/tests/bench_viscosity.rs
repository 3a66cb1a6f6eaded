//! `plash bench viscosity` at tiny sizes.

mod support;

use plash_problem::{Kind, Stored};
use serde_json::Value;
use support::Place;

fn bench<'a>(more: &[&'a str]) -> Vec<&'a str> {
    ["bench", "viscosity"].iter().chain(more).copied().collect()
}

fn rows(document: &Value) -> &Vec<Value> {
    document["rows"].as_array().expect("rows")
}

#[test]
fn every_method_solves_the_system_and_the_rows_say_what_it_took() {
    let place = Place::new();
    let methods = "chebyshev,box,jacobi,jacobi-naive,gauss-seidel,vanka,pcg-ic,pcg-jacobi";
    for (case, size) in [("sine2d", 40), ("sine3d", 16)] {
        let size_word = size.to_string();
        let args = ["--case", case, "--size", &size_word, "--methods", methods];
        let args = [&args[..], &["--json", "-t", "2"]].concat();
        let document = place.succeed(&bench(&args)).json();
        assert_eq!(rows(&document).len(), 8, "{document}");
        for (row, method) in rows(&document).iter().zip(methods.split(',')) {
            assert_eq!((&row["case"], &row["size"]), (&case.into(), &size.into()));
            assert_eq!(
                (&row["method"], &row["status"]),
                (&method.into(), &"converged".into())
            );
            assert_eq!((&row["systems"], &row["converged"]), (&1.into(), &1.into()));
            assert!(row["error"].is_null(), "{row}");
            assert!(row["residual"].as_f64().is_some_and(|r| r <= 1e-6), "{row}");
            let has_levels = row["levels"].as_u64().expect("a count") > 0;
            assert_eq!(has_levels, !method.starts_with("pcg"), "{row}");
            for figure in [
                "unknowns",
                "average_iterations",
                "average_setup_seconds",
                "average_solve_seconds",
                "peak_memory_bytes",
            ] {
                let is_positive = row[figure].as_f64().is_some_and(|value| value > 0.0);
                assert!(is_positive, "{figure}: {row}");
            }
        }
    }
}

#[test]
fn iterations_do_not_depend_on_the_number_of_threads() {
    let place = Place::new();
    let iterations = |threads: &str| {
        let args = ["--size", "20", "--methods", "chebyshev,pcg-ic", "--json"];
        let args = [&args[..], &["--contrast", "30", "-t", threads]].concat();
        let document = place.succeed(&bench(&args)).json();
        assert_eq!(document["contrast"], 30.0);
        let of = |row: &Value| row["average_iterations"].as_f64();
        rows(&document).iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(iterations("1"), iterations("2"));
}

#[test]
fn the_text_has_a_line_per_method_and_says_what_is_published() {
    let place = Place::new();
    let args = ["--size", "12,16", "--methods", "chebyshev,pcg-jacobi"];
    let text = place.succeed(&bench(&args)).stdout;
    assert!(text.starts_with("sine3d, to a residual of 1e-6"), "{text}");
    let lines = text.lines().filter(|line| line.ends_with("converged"));
    assert_eq!(lines.count(), 4, "{text}");
    assert!(text.contains("128, 256, 512"), "{text}");
}

#[test]
fn every_method_is_told_of_as_soon_as_it_is_done() {
    let place = Place::new();
    let args = ["--size", "12,16", "--methods", "mgpcg,pcg-ic", "--json"];
    let ended = place.succeed(&bench(&args));
    let told: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told[0].starts_with("sine3d 12: chebyshev converged, "));
    assert!(told[3].starts_with("sine3d 16: pcg-ic converged, "));
}

#[test]
fn figures_that_are_no_results_are_marked() {
    let place = Place::new();
    let args = ["--table", "1", "--size", "256", "--methods", "pcg-jacobi"];
    let args = [&args[..], &["--max-iterations", "2"]].concat();
    let text = place.succeed(&bench(&args)).stdout;
    let line = text.lines().find(|line| line.contains("Eigen CG"));
    assert!(line.expect("a line").contains("2* ("), "{text}");
    assert!(text.contains("* not solved to the tolerance"), "{text}");
}

#[test]
fn a_table_stands_beside_its_published_figures() {
    let place = Place::new();
    let args = ["--table", "1", "--size", "256", "--methods", "pcg-ic"];
    let text = place.succeed(&bench(&args)).stdout;
    let line = |word: &str| {
        let found = text.lines().rev().find(|line| line.contains(word));
        found.unwrap_or_else(|| panic!("{word}: {text}"))
    };
    assert!(line("ICPCG").contains("(80)"), "{text}");
    assert!(line("improved baseline").contains("– (12)"), "{text}");
    assert!(line("PARDISO").contains("(0.36)"), "{text}");
    let json = place.succeed(&bench(&[&args[..], &["--json"]].concat()));
    let document = json.json();
    let figures = document["table"]["figures"].as_array().expect("figures");
    let figure = figures.iter().find(|f| f["method"] == "pcg-ic");
    let figure = figure.expect("the column");
    assert_eq!(figure["published"]["iterations"], 80.0);
    assert!(figure["published"]["bytes"].is_null());
    assert_eq!(figure["converged"], true);
    // The same problem as the paper's, so that one method needs about as many iterations.
    let ours = figure["ours"]["iterations"].as_f64().expect("a count");
    assert!((40.0..240.0).contains(&ours), "{ours}");
}

#[test]
fn dumped_systems_hold_faces_with_their_components() {
    let place = Place::new();
    let args = ["--size", "12", "--methods", "pcg-jacobi", "--dump", "out"];
    let text = place.succeed(&bench(&args)).stdout;
    assert!(text.contains("sine3d-12.npz holds the system"), "{text}");
    place.succeed(&bench(
        &[&args[..], &["--contrast", "4", "--case", "sine2d"]].concat(),
    ));
    assert_eq!(place.list("out"), ["sine2d-12-c4.npz", "sine3d-12.npz"]);
    let stored = Stored::read(&place.path("out/sine3d-12.npz")).expect("a problem");
    assert_eq!(
        (stored.kind(), stored.walls().count()),
        (Kind::Viscosity, 0)
    );
    let (dimensions, coords) = stored.coords().expect("coordinates");
    assert_eq!(dimensions, 3);
    for (place, &component) in coords.chunks(3).zip(stored.components()) {
        for (axis, x) in place.iter().enumerate() {
            // A face lies on cell borders along its own axis, between them along the others.
            let cells = 12.0 * x - if axis as i8 == component { 0.0 } else { 0.5 };
            assert!((cells - cells.round()).abs() < 1e-9, "{place:?}");
            assert!((0.0..=1.0).contains(x), "{place:?}");
        }
    }
    // One at a face of each component.
    assert_eq!(stored.rhs().iter().sum::<f64>(), 3.0);
}

#[test]
fn plots_are_drawings() {
    let place = Place::new();
    let args = [
        "--size",
        "12,16",
        "--methods",
        "chebyshev",
        "--plot",
        "p.svg",
    ];
    place.succeed(&bench(&args));
    let drawing = String::from_utf8(place.bytes("p.svg")).expect("text");
    assert!(drawing.contains("Viscosity systems of sine3d"), "{drawing}");
    assert_eq!(drawing.matches("<polyline").count(), 2, "{drawing}");
}

#[test]
fn not_converging_is_a_status_and_no_failure() {
    let place = Place::new();
    let args = ["--size", "16", "--methods", "pcg-jacobi", "--json"];
    let args = [&args[..], &["--max-iterations", "3"]].concat();
    let document = place.succeed(&bench(&args)).json();
    let row = &rows(&document)[0];
    assert_eq!(
        (&row["status"], &row["converged"]),
        (&"iteration-limit".into(), &0.into())
    );
}

#[test]
fn what_cannot_be_meant_is_bad_input() {
    let place = Place::new();
    let cases: [(&[&str], &str); 15] = [
        (&["--case", "honey"], "sine3d"),
        (&["--case", "sine2d", "--size", "4"], "8 to"),
        (&["--size", "many"], "--size"),
        (&["--size", "1000"], "--force"),
        (&["--methods", "gmres"], "gauss-seidel"),
        (&["--methods", "box,box"], "twice"),
        (&["--contrast", "0.5"], "between 1 and 1e6"),
        (&["--table", "3"], "1..=2"),
        (&["--table", "1", "--case", "sine3d"], "--case"),
        (&["--plot", "p.png"], ".svg"),
        (&["--tol", "0"], "1e-6"),
        (&["--tol", "1"], "below 1"),
        (&["--max-iterations", "0"], "from 1 on"),
        (&["--size", "16,16"], "names 16 twice"),
        (
            &["--methods", "gaus-seidel"],
            "did you mean \"gauss-seidel\"",
        ),
    ];
    for (case, expected) in cases {
        let ended = place.plash(&bench(case));
        assert_eq!(ended.code, 2, "{case:?}: {}", ended.stderr);
        assert!(
            ended.stderr.contains(expected),
            "{case:?}: {}",
            ended.stderr
        );
    }
}
