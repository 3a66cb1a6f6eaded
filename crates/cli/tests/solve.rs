//! `plash solve`: stored problems in, solutions and figures out.

mod support;

use std::path::Path;

use plash_problem::{Kind, Stored, read_solution};
use plash_solve::staggered::{Body, Fill, ViscousOptions, ViscousSolver};
use plash_solve::{Csr, Method};
use support::Place;

/// A square membrane over the floor, lifted on the left and pressed down on the right.
fn membrane(n: usize) -> Stored {
    let inside = |i: usize, j: usize| i < n && j < n;
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    let (mut coords, mut rhs) = (Vec::new(), Vec::new());
    for (i, j) in (0..n * n).map(|k| (k % n, k / n)) {
        let stencil = [
            (i, j.wrapping_sub(1), -1.0),
            (i.wrapping_sub(1), j, -1.0),
            (i, j, 4.0),
            (i + 1, j, -1.0),
            (i, j + 1, -1.0),
        ];
        for (i, j, value) in stencil.into_iter().filter(|&(i, j, _)| inside(i, j)) {
            columns.push((j * n + i) as u32);
            values.push(value);
        }
        starts.push(columns.len() as u32);
        coords.extend([0.1 * (i as f64 + 0.5), 0.1 * (j as f64 + 0.5)]);
        rhs.push(if i < n / 2 { 1.0 } else { -1.0 });
    }
    let matrix = Csr::new(starts, columns, values).expect("a matrix");
    let walls = (0..(n * n) as u32).collect();
    Stored::new(matrix, rhs, walls).with_coords(2, coords)
}

fn place(name: &str) -> Place {
    let place = Place::new();
    let path = place.path(name);
    membrane(16).write(&path).expect("a problem file");
    place
}

#[test]
fn every_method_reports_all_figures_and_the_solution_is_saved() {
    let place = place("membrane.npz");
    for method in Method::ALL.into_iter().filter(|&m| m != Method::Fmg) {
        let args = [
            "solve",
            "membrane.npz",
            "--method",
            method.as_str(),
            "--tol",
            "1e-8",
        ];
        let args = [&args[..], &["-t", "2", "-o", "x.npz", "--json"]].concat();
        let ended = place.succeed(&args);
        let found = ended.json();
        for key in [
            "iterations",
            "outer_iterations",
            "residual",
            "read_seconds",
            "convert_seconds",
            "setup_seconds",
            "solve_seconds",
        ] {
            assert!(found[key].is_number(), "{method}: {key} in {found}");
        }
        assert_eq!(found["status"], "converged", "{method}");
        assert_eq!(
            (&found["threads"], &found["unknowns"]),
            (&2.into(), &256.into())
        );
        assert!(
            found["residual"].as_f64().expect("a number") <= 1e-8,
            "{method}"
        );
        assert!(found["peak_memory_bytes"].as_u64().expect("bytes") > 1 << 20);
        if method != Method::Auto {
            assert_eq!(found["method"], method.as_str());
        }
        let x = read_solution(&place.path("x.npz")).expect("a solution");
        let lowest = x.iter().copied().fold(0.0, f64::min);
        assert_eq!(lowest < -1.0, method.is_linear(), "{method}: {lowest}");
    }
}

#[test]
fn text_in_text_out_with_a_table_for_people() {
    let place = place("membrane.mtx");
    let ended = place.succeed(&["solve", "membrane.mtx", "-o", "x.mtx"]);
    for word in ["converged by", "iterations", "residual", "256", "separated"] {
        assert!(ended.stdout.contains(word), "{word}: {}", ended.stdout);
    }
    assert_eq!(
        read_solution(&place.path("x.mtx"))
            .expect("a solution")
            .len(),
        256
    );
}

#[test]
fn solutions_do_not_depend_on_the_number_of_threads() {
    let place = place("membrane.npz");
    place.succeed(&["solve", "membrane.npz", "-t", "1", "-o", "one.npz"]);
    place.succeed(&["solve", "membrane.npz", "-t", "2", "-o", "two.npz"]);
    assert!(place.bytes("one.npz") == place.bytes("two.npz"));
}

#[test]
fn not_converging_is_exit_code_1_with_all_figures() {
    let place = place("membrane.npz");
    let args = [
        "solve",
        "membrane.npz",
        "--method",
        "psor",
        "--max-iterations",
        "3",
    ];
    let ended = place.plash(&[&args[..], &["--json"]].concat());
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let found = ended.json();
    assert_eq!(
        (&found["status"], &found["iterations"]),
        (&"iteration-limit".into(), &3.into())
    );
    assert_eq!(found["error"]["exit_code"], 1);
    assert!(
        ended.stderr.contains("psor did not reach the tolerance"),
        "{}",
        ended.stderr
    );
    assert_eq!(place.plash(&args).code, 1);
}

#[test]
fn bad_input_is_exit_code_2_and_says_what_to_do() {
    let place = place("membrane.npz");
    std::fs::write(place.path("torn.npz"), b"PK").expect("a file");
    let nowhere = Stored::new(membrane(4).matrix().clone(), vec![1.0; 16], Vec::new());
    nowhere.write(&place.path("nowhere.npz")).expect("a file");
    let cases: [(&[&str], &str); 8] = [
        (&["missing.npz"], "missing.npz"),
        (&["torn.npz"], "numpy.savez"),
        (&["membrane.csv"], ".mtx"),
        (&["membrane.npz", "--method", "multigrid"], "pi-pcg"),
        (
            &["membrane.npz", "--method", "newton", "--sub-solver", "lu"],
            "bicgstab",
        ),
        (&["membrane.npz", "--tol", "0"], "1e-6"),
        (&["membrane.npz", "-o", "x.txt"], ".npz"),
        (&["nowhere.npz", "--method", "pi-mg"], "coords"),
    ];
    for (args, expected) in cases {
        let ended = place.plash(&[&["solve"], args].concat());
        assert_eq!(ended.code, 2, "{args:?}: {}", ended.stderr);
        assert!(
            ended.stderr.contains(expected),
            "{args:?}: {}",
            ended.stderr
        );
        assert!(!ended.stderr.contains("panicked"), "{args:?}");
    }
    assert!(!Path::new(&place.path("x.txt")).exists());
}

#[test]
fn viscosity_is_solved_by_its_own_methods() {
    let place = Place::new();
    for (case, size) in [("sine2d", "48"), ("sine3d", "24")] {
        let bench = ["bench", "viscosity", "--case", case, "--size", size];
        let more = ["--methods", "chebyshev", "--dump", "out", "--json"];
        let bench = place.succeed(&[&bench[..], &more].concat()).json();
        let native = bench["rows"][0]["average_iterations"].as_f64();
        let file = format!("out/{case}-{size}.npz");
        let solve = |more: &[&str]| {
            let args = [&["solve", &file, "-o", "x.npz", "--json"], more].concat();
            let found = place.succeed(&args).json();
            let x = read_solution(&place.path("x.npz")).expect("a solution");
            (found, x)
        };
        let (found, _) = solve(&[]);
        assert_eq!(found["method"], "mgpcg");
        let iterations = found["iterations"].as_f64().expect("a count");
        assert!(iterations <= native.expect("a count") + 2.0, "{found}");
        assert_eq!(found["smoother"], "chebyshev");
        let (_, x) = solve(&["--method", "mgpcg", "--tol", "1e-10"]);
        assert_eq!(solve(&["--method", "auto", "--tol", "1e-10"]).1, x);
        let (found, _) = solve(&["--method", "box"]);
        assert_eq!(
            (&found["method"], &found["smoother"]),
            (&"mgpcg".into(), &"box".into())
        );
        for method in ["pcg-jacobi", "pcg-ic"] {
            let (found, exact) = solve(&["--method", method, "--tol", "1e-10"]);
            assert_eq!(
                (&found["method"], &found["status"]),
                (&method.into(), &"converged".into())
            );
            let size = exact.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
            let near = |(x, y): (&f64, &f64)| (x - y).abs() < 1e-6 * size;
            assert!(x.iter().zip(&exact).all(near), "{method}");
        }
        let text = place.succeed(&["solve", &file]).stdout;
        assert!(text.contains("by mgpcg with chebyshev"), "{text}");
        for word in ["walls", "separated", "outer"] {
            assert!(!text.contains(word), "{text}");
        }
        let wrong = place.plash(&["solve", &file, "--sub-solver", "gmres"]);
        assert_eq!(wrong.code, 2);
        assert!(wrong.stderr.contains("newton"), "{}", wrong.stderr);
        let wrong = place.plash(&["solve", &file, "--method", "pi-mg"]);
        assert_eq!(wrong.code, 2);
        assert!(wrong.stderr.contains("pcg-jacobi"), "{}", wrong.stderr);
    }
}

/// A stiff square of liquid that turns in the air, which costs next to nothing.
struct Square;

const SIDE: i32 = 12;

impl Body<2> for Square {
    fn cells(&self) -> [usize; 2] {
        [SIDE as usize + 2; 2]
    }

    fn fill(&self, cell: [i32; 2]) -> Fill {
        if cell.iter().all(|i| (1..=SIDE).contains(i)) {
            Fill::Full
        } else {
            Fill::Empty
        }
    }

    fn uniform_stiffness(&self) -> Option<f64> {
        Some(1e10)
    }

    fn stiffness(&self, _: [i32; 2]) -> f64 {
        1e10
    }

    fn is_open(&self, _: usize, _: usize) -> bool {
        true
    }

    fn is_near_obstacle(&self, _: [i32; 2]) -> bool {
        false
    }

    fn distance(&self, _: usize, _: [i32; 2]) -> f64 {
        f64::INFINITY
    }

    fn lets_go(&self, _: [i32; 2]) -> bool {
        false
    }
}

/// Its problem, with entries between components that are smaller by this share. It is too little
/// for the matrix not to be one of velocities, and ties turning to much more than its mass, which
/// multigrid does not see.
fn twisted(by: f64) -> Stored {
    let mut solver = ViscousSolver::<2>::new(ViscousOptions::default());
    solver.assemble(&Square);
    let turning = |axis: usize, [i, j]: [i32; 2]| [f64::from(j) - 5.0, 7.0 - f64::from(i)][axis];
    solver.load_rhs(turning);
    let (a, b, numbers) = solver.system().expect("a system");
    let (mut coords, mut components) = (Vec::new(), Vec::new());
    for (axis, index) in numbers.iter() {
        let [x, y] = solver.face(index).expect("a face").map(f64::from);
        coords.extend([[x, y + 0.5], [x + 0.5, y]][axis]);
        components.push(axis as i8);
    }
    let (starts, columns, mut values) = a.into_parts();
    for (i, row) in starts.windows(2).enumerate() {
        for k in row[0] as usize..row[1] as usize {
            if components[i] != components[columns[k] as usize] {
                values[k] *= 1.0 - by;
            }
        }
    }
    Stored::new(
        Csr::new(starts, columns, values).expect("a matrix"),
        b,
        Vec::new(),
    )
    .with_coords(2, coords)
    .with_components(Kind::Viscosity, components)
}

#[test]
fn where_multigrid_is_stuck_another_method_goes_on() {
    let place = Place::new();
    // The second is symmetric, but rows do not tell.
    twisted(1e-9)
        .write(&place.path("rows.npz"))
        .expect("a file");
    twisted(1e-8)
        .write(&place.path("whole.npz"))
        .expect("a file");
    twisted(1e-9)
        .write(&place.path("text.mtx"))
        .expect("a file");
    let usual = ["-o", "x.npz", "--tol", "1e-4", "--json"];
    for file in ["rows.npz", "whole.npz"] {
        let solve = |more: &[&str]| {
            let ended = place.plash(&[&["solve", file], &usual[..], more].concat());
            let x = read_solution(&place.path("x.npz")).expect("a solution");
            (ended.code, ended.json(), ended.stderr, x)
        };
        let (code, alone, _, stuck) = solve(&["--method", "mgpcg"]);
        assert_eq!(
            (code, &alone["status"]),
            (1, &"stagnated".into()),
            "{file}: {alone}"
        );
        let (code, exact, _, x) = solve(&["--method", "pcg-ic"]);
        assert_eq!((code, &exact["status"]), (0, &"converged".into()), "{file}");

        let (code, found, note, y) = solve(&[]);
        assert_eq!(
            (code, &found["method"]),
            (0, &"pcg-ic".into()),
            "{file}: {found}"
        );
        assert!(found["fell_back"] == true && x == y);
        let expected = "note: mgpcg stagnated; solving by pcg-ic";
        assert_eq!(note.matches(expected).count(), 1, "{file}: {note}");

        // Where the other gets less far, what was found first is kept.
        let (code, found, note, y) = solve(&["--max-iterations", "20"]);
        assert_eq!(
            (code, &found["method"]),
            (1, &"mgpcg".into()),
            "{file}: {found}"
        );
        assert_eq!(found["status"], "stagnated");
        assert!(
            found["fell_back"] == false && note.contains(expected),
            "{note}"
        );
        assert!(y == stuck);
    }
}

#[test]
fn what_breaks_multigrid_is_told_before_another_method_is_tried() {
    let place = Place::new();
    // Divided by the mass of a face, the right-hand side is no number.
    let plain = twisted(0.0);
    let (starts, columns, mut values) = plain.matrix().clone().into_parts();
    values.iter_mut().for_each(|value| *value *= 1e-250);
    let matrix = Csr::new(starts, columns, values).expect("a matrix");
    let rhs = plain.rhs().iter().map(|b| 1e100 * b).collect();
    let (dimensions, coords) = plain.coords().expect("coordinates");
    let light = Stored::new(matrix, rhs, Vec::new())
        .with_coords(dimensions, coords.to_vec())
        .with_components(Kind::Viscosity, plain.components().to_vec());
    light.write(&place.path("light.npz")).expect("a file");
    let ended = place.plash(&["solve", "light.npz"]);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    let note = "note: mgpcg failed: the residual is not finite in iteration 0; solving by pcg-ic";
    assert!(ended.stderr.starts_with(note), "{}", ended.stderr);
    let alone = place.plash(&["solve", "light.npz", "--method", "mgpcg"]);
    assert_eq!(alone.code, 2, "{}", alone.stderr);
    assert!(
        alone.stderr.contains("the residual is not finite"),
        "{}",
        alone.stderr
    );
}

#[test]
fn velocities_without_a_lattice_are_refused_by_multigrid_alone() {
    let place = Place::new();
    let velocities = |name: &str, stored: Stored| {
        let stored = stored.with_components(Kind::Viscosity, vec![0; 16]);
        stored.write(&place.path(name)).expect("a file");
    };
    let plain = || Stored::new(membrane(4).matrix().clone(), vec![1.0; 16], Vec::new());
    velocities("lost.npz", plain());
    // Places that the entries of the matrix do not fit.
    let scattered = (0..32).map(|i| f64::from(i * i)).collect();
    velocities("scattered.npz", plain().with_coords(2, scattered));
    let places = (0..32).map(f64::from).collect();
    let bare = plain().with_coords(2, places).of_kind(Kind::Viscosity);
    bare.write(&place.path("bare.npz")).expect("a file");
    for file in ["lost.npz", "scattered.npz", "bare.npz"] {
        for method in ["mgpcg", "box"] {
            let ended = place.plash(&["solve", file, "--method", method]);
            assert_eq!(ended.code, 2, "{}", ended.stderr);
            assert!(ended.stderr.contains("staggered"), "{}", ended.stderr);
        }
        let solve = |more: &[&str]| {
            let args = [&["solve", file, "-o", "x.npz", "--json"], more].concat();
            let ended = place.succeed(&args);
            let x = read_solution(&place.path("x.npz")).expect("a solution");
            (ended.json(), ended.stderr, x)
        };
        let (named, silence, exact) = solve(&["--method", "pcg-ic"]);
        assert_eq!((&named["fell_back"], silence.as_str()), (&false.into(), ""));
        for auto in [&[][..], &["--method", "auto"]] {
            let (found, note, x) = solve(auto);
            assert_eq!(
                (&found["method"], &found["status"]),
                (&"pcg-ic".into(), &"converged".into())
            );
            assert!(found["fell_back"] == true && found["smoother"].is_null());
            assert_eq!(x, exact);
            assert!(
                note.contains("mgpcg") && note.contains("solving by pcg-ic"),
                "{note}"
            );
        }
    }
}

#[test]
fn what_is_wrong_with_velocities_is_said_though_their_matrix_is_not_held() {
    let place = Place::new();
    let bench = ["bench", "viscosity", "--case", "sine2d", "--size", "24"];
    place.succeed(&[&bench[..], &["--methods", "chebyshev", "--dump", "out"]].concat());
    let file = "out/sine2d-24.npz";
    let whole = Stored::read(&place.path(file)).expect("a problem");
    let found = place.succeed(&["solve", file, "--json"]).json();
    assert_eq!(found["nonzeros"], whole.matrix().nonzeros());
    let same = |threads: &str| {
        place.succeed(&["solve", file, "-t", threads, "-o", "x.npz"]);
        place.bytes("x.npz")
    };
    assert!(same("1") == same("2"));

    let refused = |message: &str| {
        let ended = place.plash(&["solve", "bad.npz"]);
        assert_eq!(ended.code, 2, "{}", ended.stderr);
        assert!(ended.stderr.contains(message), "{}", ended.stderr);
        assert!(ended.stderr.contains("bad.npz"), "{}", ended.stderr);
    };
    let changed = |at: usize, factor: f64| {
        let (starts, columns, mut values) = whole.matrix().clone().into_parts();
        values[at] *= factor;
        let matrix = Csr::new(starts, columns, values).expect("a matrix");
        let (dimensions, coords) = whole.coords().expect("coordinates");
        let stored = Stored::new(matrix, whole.rhs().to_vec(), Vec::new())
            .with_coords(dimensions, coords.to_vec())
            .with_components(Kind::Viscosity, whole.components().to_vec());
        stored.write(&place.path("bad.npz")).expect("a file");
    };
    let columns = whole.matrix().row(0).0;
    let beside = columns.iter().position(|&j| j != 0).expect("a coupling");
    changed(beside, 1.0 + 1e-4);
    refused("not symmetric");
    // So little that only the mirrored entry tells.
    changed(beside, 1.0 + 5e-8);
    refused("not symmetric");
    changed(columns.iter().position(|&j| j == 0).expect("itself"), -1.0);
    refused("is the sign turned?");

    let mut bytes = place.bytes(file);
    let at = bytes
        .windows(8)
        .position(|w| w == b"data.npy")
        .expect("data");
    bytes[at + 1000] ^= 1;
    std::fs::write(place.path("bad.npz"), &bytes).expect("a file");
    refused("data.npy is damaged");
}
