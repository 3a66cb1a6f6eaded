//! `plash bench viscosity` at tiny sizes: the paper's test, and scenes.

mod support;

use plash_problem::{Kind, Stored, read_solution};
use plash_solve::Operator;
use serde_json::Value;
use support::{Place, TINY_3D, TINY_THICK};

fn bench<'a>(more: &[&'a str]) -> Vec<&'a str> {
    ["bench", "viscosity"].iter().chain(more).copied().collect()
}

fn rows(document: &Value) -> &Vec<Value> {
    document["rows"].as_array().expect("rows")
}

/// A row about so many systems, all of them solved.
fn check_row(row: &Value, (case, size): (&str, u64), method: &str, systems: u64) {
    assert_eq!((&row["case"], &row["size"]), (&case.into(), &size.into()));
    assert_eq!(
        (&row["method"], &row["status"]),
        (&method.into(), &"converged".into())
    );
    assert_eq!(
        (&row["systems"], &row["converged"]),
        (&systems.into(), &systems.into())
    );
    assert!(row["error"].is_null() && row["fell_back"] == 0, "{row}");
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

#[test]
fn coarse_levels_are_made_as_asked() {
    let place = Place::new();
    let iterations = ["fractions", "labels"].map(|kind| {
        let args = ["--size", "24", "--methods", "chebyshev,box", "--json"];
        let args = [&args[..], &["--coarsening", kind]].concat();
        let document = place.succeed(&bench(&args)).json();
        assert_eq!(document["coarsening"], kind);
        for (row, method) in rows(&document).iter().zip(["chebyshev", "box"]) {
            check_row(row, ("sine3d", 24), method, 1);
        }
        rows(&document)[0]["average_iterations"].as_f64()
    });
    assert!(iterations[0] < iterations[1], "{iterations:?}");
}

#[test]
fn coarse_levels_are_of_fractions_unless_labels_are_asked_for() {
    let place = Place::new();
    let json = |methods: &str| {
        let args = ["--size", "16", "--methods", methods, "--json"];
        place.succeed(&bench(&args)).json()["coarsening"].clone()
    };
    assert_eq!(json("chebyshev,pcg-ic"), "fractions");
    assert_eq!(json("pcg-ic"), Value::Null);
    let usual = ["--size", "16", "--methods", "pcg-ic,chebyshev"];
    let text = |more: &[&str]| place.succeed(&bench(&[&usual[..], more].concat())).stdout;
    assert!(!text(&[]).contains("labels"));
    let labelled = text(&["--coarsening", "labels"]);
    assert!(
        labelled.starts_with("sine3d, coarse levels by labels, to a residual"),
        "{labelled}"
    );
}

#[test]
fn coarse_levels_of_scenes_are_made_as_asked() {
    let place = Place::new();
    let scene = ["--case", "cake-topping", "--size", "24", "--steps", "2"];
    let args = [&scene[..], &["--methods", "chebyshev"]].concat();
    let iterations = ["fractions", "labels"].map(|kind| {
        let args = [&args[..], &["--coarsening", kind, "--json"]].concat();
        let document = place.succeed(&bench(&args)).json();
        assert_eq!(document["coarsening"], kind);
        rows(&document)[0]["average_iterations"].as_f64()
    });
    assert!(iterations[0] < iterations[1], "{iterations:?}");
    let args = [&args[..], &["--coarsening", "labels"]].concat();
    let text = place.succeed(&bench(&args)).stdout;
    assert!(text.starts_with("coarse levels by labels\n"), "{text}");
}

#[test]
fn coarse_levels_that_nobody_makes_are_refused() {
    let place = Place::new();
    for (args, words) in [
        (&["--coarsening", "label"][..], "fractions, labels"),
        (
            &["--coarsening", "labels", "--methods", "pcg-ic,pcg-jacobi"],
            "none of the methods has coarse levels",
        ),
    ] {
        let refused = place.plash(&bench(args));
        assert_eq!(refused.code, 2, "{args:?}");
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
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
            check_row(row, (case, size), method, 1);
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
    let cases: [(&[&str], &str); 24] = [
        (
            &["--case", "no-such-scene"],
            "besides scenes there are sine2d and sine3d",
        ),
        (&["--case", "sin3d"], "did you mean `sine3d`?"),
        (&["--case", "hony"], "did you mean `honey`?"),
        (&["--case", "dam-break-2d"], "take a scene such as honey"),
        (
            &["--case", "honey", "--contrast", "30"],
            "leave --contrast out",
        ),
        (&["--case", "honey", "--table", "1"], "cannot be used with"),
        (&["--case", "honey", "--frame", "0"], "--frame"),
        (
            &["--case", "honey", "--frame", "2", "--steps", "1"],
            "cannot be used with",
        ),
        (&["--frames", "2"], "sine3d is one system"),
        (&["--table", "1", "--steps", "2"], "cannot be used with"),
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

/// A folder with a thick liquid in the plane and one in space, around an obstacle.
fn thick() -> Place {
    let in_space = format!("{TINY_3D}\n[viscosity]\nvalue = 10\n");
    Place::with(&[("thick.toml", TINY_THICK), ("thick-3d.toml", &in_space)])
}

#[test]
fn every_method_solves_every_system_of_a_scene() {
    let place = thick();
    let methods = "chebyshev,box,jacobi,pcg-ic,pcg-jacobi";
    for (case, name, size) in [
        ("thick.toml", "thick", 12),
        ("thick-3d.toml", "tiny-3d", 10),
        ("two-liquids-2d", "two-liquids-2d", 24),
    ] {
        let size_word = size.to_string();
        let args = ["--case", case, "--size", &size_word, "--methods", methods];
        let args = [&args[..], &["--frames", "4", "--steps", "3", "--json"]].concat();
        let document = place.succeed(&bench(&args)).json();
        assert_eq!(rows(&document).len(), 5, "{document}");
        assert!(document["contrast"].is_null(), "{document}");
        let systems = &document["systems"][0];
        assert_eq!(
            (&systems["case"], &systems["size"]),
            (&name.into(), &size.into())
        );
        assert_eq!(systems["systems"], 3, "{systems}");
        let average = systems["average_unknowns"].as_f64().expect("a figure");
        assert!(average > 50.0 && systems["average_wall_unknowns"].is_null());
        for (row, method) in rows(&document).iter().zip(methods.split(',')) {
            check_row(row, (name, size), method, 3);
            let unknowns = row["unknowns"].as_f64().expect("a count");
            assert!(unknowns >= average && unknowns < 2.0 * average, "{row}");
        }
    }
}

#[test]
fn a_scene_has_a_line_per_method_and_a_drawing() {
    let place = thick();
    let args = ["--case", "thick.toml", "--frames", "2", "--plot", "p.svg"];
    let args = [&args[..], &["--methods", "mgpcg,pcg-ic"]].concat();
    let text = place.succeed(&bench(&args)).stdout;
    assert!(text.starts_with("thick 12: 2 systems of "), "{text}");
    assert!(!text.contains("at walls"), "{text}");
    for method in ["chebyshev", "pcg-ic"] {
        let mut lines = text.lines();
        let line = lines.find(|line| line.trim_start().starts_with(method));
        assert!(line.is_some_and(|line| line.contains("100 %")), "{text}");
    }
    let drawing = String::from_utf8(place.bytes("p.svg")).expect("text");
    assert!(
        drawing.contains("Viscosity systems of thick 12"),
        "{drawing}"
    );
}

#[test]
fn iterations_on_a_scene_do_not_depend_on_the_number_of_threads() {
    let place = thick();
    let iterations = |threads: &str| {
        let args = ["--case", "thick.toml", "--methods", "chebyshev,pcg-ic"];
        let args = [&args[..], &["--json", "-t", threads]].concat();
        let document = place.succeed(&bench(&args)).json();
        let of = |row: &Value| row["average_iterations"].as_f64();
        rows(&document).iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(iterations("1"), iterations("2"));
}

#[test]
fn a_frame_of_a_scene_is_one_system() {
    let place = thick();
    let args = [
        "--case",
        "thick.toml",
        "--frame",
        "2",
        "--methods",
        "chebyshev",
    ];
    let args = [&args[..], &["--dump", "out", "--json"]].concat();
    let document = place.succeed(&bench(&args)).json();
    assert_eq!(rows(&document)[0]["systems"], 1);
    assert_eq!(place.list("out"), ["thick-12-f0002-s01.npz"]);
}

/// Liquid that a single iteration does not solve for: a thick one's steps must be halved, of a much
/// thicker one no step works.
fn stubborn(viscosity: &str) -> Place {
    let scene = format!(
        "name = \"stubborn\"\nsize = [1, 1]\nresolution = 12\nframes = 1\n\
         [viscosity]\nvalue = {viscosity}\nmethod = \"pcg-jacobi\"\nmax-iterations = 1\n\
         [[liquid]]\nbox = {{ min = [0, 0], max = [0.4, 0.6] }}\n"
    );
    Place::with(&[("stubborn.toml", &scene)])
}

#[test]
fn a_simulation_goes_on_with_shorter_steps_as_a_run_does() {
    let place = stubborn("300");
    place.succeed(&["run", "stubborn.toml", "-o", "run"]);
    let args = ["--case", "stubborn.toml", "--methods", "pcg-jacobi"];
    let args = [&args[..], &["--dump", "out", "--json"]].concat();
    let document = place.succeed(&bench(&args)).json();
    let systems = document["systems"][0]["systems"].as_u64().expect("a count");
    assert_eq!(rows(&document)[0]["systems"], systems);
    assert_eq!(place.list("out").len() as u64, systems);
    // A system for every step of the run, and for every try that failed.
    let stats = String::from_utf8(place.bytes("run/stats.jsonl")).expect("text");
    let tries = stats.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("a line");
        1 + line["retries"].as_u64().expect("a count")
    });
    let tries: Vec<u64> = tries.collect();
    assert!(tries[0] > 1, "{tries:?}");
    assert_eq!(tries.iter().sum::<u64>(), systems);
}

#[test]
fn a_simulation_that_fails_leaves_what_was_measured() {
    let place = stubborn("1e9");
    let args = ["--case", "stubborn.toml", "--methods", "pcg-jacobi"];
    let args = [&args[..], &["--plot", "p.svg"]].concat();
    let ended = place.plash(&bench(&args));
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(ended.stdout.contains("stubborn 12: 7 systems of"));
    assert!(ended.stdout.contains("p.svg shows it"), "{}", ended.stdout);
    assert!(ended.stderr.contains("shorter steps"), "{}", ended.stderr);
    let ended = place.plash(&bench(&[&args[..], &["--json"]].concat()));
    let document = ended.json();
    assert_eq!((ended.code, &rows(&document)[0]["systems"]), (1, &7.into()));
    assert_eq!(document["systems"][0]["systems"], 7);
    let message = document["error"]["message"].as_str().expect("a message");
    assert!(message.contains("the viscosity solve failed"), "{message}");
    let ended = place.plash(&["run", "stubborn.toml", "-o", "run"]);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("`viscosity.max-iterations`"),
        "{}",
        ended.stderr
    );
}

/// The solution that `plash solve` finds by a method, with what it says of it.
fn solution(place: &Place, file: &str, method: &str) -> (Value, Vec<f64>) {
    let args = ["solve", file, "--method", method, "--tol", "1e-9"];
    let args = [&args[..], &["-o", "x.npz", "--json"]].concat();
    let solved = place.succeed(&args).json();
    let x = read_solution(&place.path("x.npz")).expect("a solution");
    (solved, x)
}

#[test]
fn dumped_systems_of_a_scene_are_solved_by_the_solve_command() {
    let place = thick();
    for (case, file, dimensions) in [
        ("thick.toml", "out/thick-12-f0001-s01.npz", 2),
        ("thick-3d.toml", "out/tiny-3d-10-f0001-s01.npz", 3),
    ] {
        let args = ["--case", case, "--steps", "1", "--methods", "pcg-ic"];
        let args = [&args[..], &["--dump", "out", "--json"]].concat();
        let document = place.succeed(&bench(&args)).json();
        let stored = Stored::read(&place.path(file)).expect("a problem");
        assert_eq!(stored.kind(), Kind::Viscosity);
        assert_eq!(stored.coords().expect("coordinates").0, dimensions);
        assert_eq!(rows(&document)[0]["unknowns"], stored.unknowns());
        let (solved, exact) = solution(&place, file, "pcg-ic");
        assert_eq!(solved["unknowns"], stored.unknowns());
        assert!(solved["residual"].as_f64().is_some_and(|r| r <= 1e-9));
        // Multigrid works only if the lattice is found again in coordinates and components.
        let (_, mut x) = solution(&place, file, "mgpcg");
        x.iter_mut().zip(&exact).for_each(|(x, exact)| *x -= exact);
        let (difference, whole) = (energy(&stored, &x), energy(&stored, &exact));
        assert!(
            whole > 0.0 && difference < 1e-12 * whole,
            "{difference} of {whole}"
        );
    }
}

/// `x·A x`. Faces without mass that share one sample of strain slide past each other at no energy,
/// so that solutions may differ there.
fn energy(stored: &Stored, x: &[f64]) -> f64 {
    let mut product = vec![0.0; x.len()];
    stored.matrix().apply(x, &mut product);
    x.iter().zip(product).map(|(x, y)| x * y).sum()
}

/// Liquid that is hardly viscous keeps the velocity it has, which is the guess.
#[test]
fn solves_start_from_the_velocities_of_the_step() {
    let thin = TINY_THICK.replace("value = 10", "value = 1e-4");
    let place = Place::with(&[("thin.toml", &thin)]);
    let args = ["--case", "thin.toml", "--steps", "1", "--dump", "out"];
    let methods = ["--methods", "mgpcg,pcg-ic,pcg-jacobi", "--tol", "1e-4"];
    let args = [&args[..], &methods, &["--json"]].concat();
    let document = place.succeed(&bench(&args)).json();
    for row in rows(&document) {
        assert_eq!(
            (&row["converged"], &row["average_iterations"]),
            (&1.into(), &0.0.into())
        );
    }
    let (solved, _) = solution(&place, "out/thick-12-f0001-s01.npz", "pcg-jacobi");
    assert!(
        solved["iterations"].as_u64().is_some_and(|n| n > 0),
        "{solved}"
    );
}
