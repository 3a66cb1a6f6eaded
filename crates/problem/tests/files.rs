//! Problems on disk: what goes in comes out, and what is wrong is named.

use std::path::{Path, PathBuf};

use plash_problem::{
    Kind, Opened, ProblemError, Stored, bytes, null_space, read_solution, write_solution,
};
use plash_solve::{
    Csr, Method, MethodOptions, NullSpace, Policy, RowSource, Solver, Tolerance, Wanted,
};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// `tridiag(−1, 2, −1)`.
fn string(beads: usize) -> Csr {
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..beads {
        for j in i.saturating_sub(1)..=(i + 1).min(beads - 1) {
            columns.push(j as u32);
            values.push(if i == j { 2.0 } else { -1.0 });
        }
        starts.push(columns.len() as u32);
    }
    Csr::new(starts, columns, values).expect("a matrix")
}

/// Six beads in a row, 0.25 apart.
fn six() -> Stored {
    let coords = (0..6).flat_map(|i| [0.25 * f64::from(i) + 0.1, 3.0]);
    Stored::new(
        string(6),
        vec![1.0, 1.0, -2.0, -3.0, 1.0, 0.5],
        vec![2, 3, 4],
    )
    .with_coords(2, coords.collect())
    .with_components(Kind::Pressure, vec![0; 6])
}

fn refuse(path: &Path) -> String {
    let error = Stored::read(path).expect_err("should be refused");
    assert!(error.is_bad_input(), "{error}");
    error.to_string()
}

#[test]
fn what_numpy_writes_is_read() {
    let stored = Stored::read(&data("compressed.npz")).expect("compressed");
    assert_eq!(stored, six());
    let plain = Stored::read(&data("plain.npz")).expect("plain");
    assert_eq!(plain.matrix(), &string(6));
    assert_eq!(plain.walls().count(), 0);
    assert!(plain.coords().is_none() && plain.convert().places().is_none());
}

#[test]
fn problems_come_back_as_they_went_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let velocities = six().with_components(Kind::Viscosity, vec![0, 1, 2, 0, 1, 2]);
    for stored in [six(), velocities] {
        let path = folder.path().join("six.npz");
        stored.write(&path).expect("written");
        assert_eq!(Stored::read(&path).expect("read"), stored);
    }
    let path = folder.path().join("six.mtx");
    six().write(&path).expect("written");
    let back = Stored::read(&path).expect("read");
    assert_eq!((back.matrix(), back.rhs()), (six().matrix(), six().rhs()));
    assert_eq!(back.coords(), six().coords());
    assert!(back.walls().eq(six().walls()));
}

/// The matrix of a file, put together from its rows.
fn by_rows(path: &Path, wanted: Wanted) -> Result<(Vec<u32>, Vec<f64>), ProblemError> {
    let (_, matrix) = Opened::open(path)?.into_parts();
    let (mut source, mut next) = (matrix.rows(), 0);
    let (mut columns, mut values) = (Vec::new(), Vec::new());
    source.begin(wanted)?;
    while let Some(rows) = source.next_rows()? {
        assert_eq!(rows.first, next);
        for k in 0..rows.count() {
            columns.extend(rows.row(k).0);
            values.extend(rows.row(k).1);
        }
        next += rows.count();
    }
    assert_eq!((next, columns.len()), (source.rows(), matrix.nonzeros()));
    Ok((columns, values))
}

#[test]
fn rows_come_as_the_whole_matrix_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let long = folder.path().join("long.npz");
    // More entries than are read at a time.
    let beads = 200_000;
    Stored::new(string(beads), vec![1.0; beads], vec![])
        .write(&long)
        .expect("written");
    for path in [data("compressed.npz"), data("plain.npz"), long] {
        let stored = Stored::read(&path).expect("read");
        let (_, columns, values) = stored.matrix().clone().into_parts();
        let found = by_rows(&path, Wanted::Entries).expect("rows");
        assert_eq!(found, (columns.clone(), values));
        let found = by_rows(&path, Wanted::Columns).expect("rows");
        assert_eq!(found, (columns, vec![]));
        let whole = std::fs::read(&path).expect("a file");
        assert_eq!(bytes::read_npz(&whole).expect("read"), stored);
    }
}

#[test]
fn damage_is_noticed_by_whoever_reads_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bad.npz");
    for name in ["compressed.npz", "plain.npz"] {
        let whole = std::fs::read(data(name)).expect("a file");
        let before = by_rows(&data(name), Wanted::Entries).expect("rows");
        for at in (0..whole.len()).step_by(7) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x41;
            std::fs::write(&path, &bytes).expect("written");
            match by_rows(&path, Wanted::Entries) {
                Ok(found) => assert_eq!(found, before, "{name} at {at}"),
                Err(error) => assert!(error.is_bad_input(), "{error}"),
            }
            std::fs::write(&path, &whole[..at]).expect("written");
            assert!(
                by_rows(&path, Wanted::Entries).is_err(),
                "{name} cut at {at}"
            );
        }
        // A damaged array is called that, whatever its entries have become.
        let at = whole
            .windows(5)
            .position(|w| w == b"indic")
            .expect("indices");
        for at in at + 20..at + 50 {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xff;
            std::fs::write(&path, &bytes).expect("written");
            if let Err(error) = by_rows(&path, Wanted::Columns) {
                assert!(error.to_string().contains("damaged"), "{at}: {error}");
            }
        }
    }
}

#[test]
fn solutions_come_back_as_they_went_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let x = [1.0, -0.1, 1e-300, 12_345.678_901_234_5];
    for name in ["x.npz", "x.mtx"] {
        let path = folder.path().join(name);
        write_solution(&path, &x).expect("written");
        assert_eq!(read_solution(&path).expect("read"), x);
    }
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .expect("a folder")
        .collect();
    assert_eq!(left.len(), 2, "unfinished files were left");
}

#[test]
fn a_matrix_alone_is_a_linear_problem_with_a_load_of_ones() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.mtx");
    let text = "%%MatrixMarket matrix coordinate real general\n% a comment\n\n2 2 5\n\
                1 1 1.5\n2 2 2e0\n1 2 -1\n2 1 -1\n1 1 .5\n";
    std::fs::write(&path, text).expect("written");
    let stored = Stored::read(&path).expect("read");
    assert_eq!(stored.matrix().get(0, 0), 2.0); // entries of one place are added
    assert_eq!((stored.rhs(), stored.walls().count()), (&[1.0, 1.0][..], 0));
}

#[test]
fn stored_problems_are_solved() {
    let stored = six();
    let converted = stored.convert();
    let places = converted.places().expect("on a lattice");
    assert_eq!(places.at[5], [5, 0, 0]);
    for method in [Method::PiPcg, Method::PiMg, Method::Auto] {
        let mut solver = Solver::new(method, MethodOptions::default());
        let mut x = [0.0; 6];
        let problem = stored.problem(&converted);
        let tol = Tolerance::default();
        let solved = solver.solve(&problem, &mut Policy::default(), &mut x, &tol);
        let solution = solved.expect("a solution").solution;
        assert!(
            solution.converged() && solution.separated == 2,
            "{solution:?}"
        );
        assert!(stored.relative_residual(solution.residual) <= 1e-6);
    }
}

#[test]
fn closed_components_are_found() {
    let pairs = Csr::new(
        vec![0, 2, 4, 6, 8],
        vec![0, 2, 1, 3, 0, 2, 1, 3],
        vec![0.3, -0.3, 2.0, -1.0, -0.3, 0.3, -1.0, 1.0],
    );
    let pairs = pairs.expect("a matrix");
    assert_eq!(null_space(&pairs), NullSpace::new(vec![vec![0, 2]]));
    assert!(null_space(&string(4)).is_none());
}

#[test]
fn only_lattices_are_taken_for_lattices() {
    let a = string(4);
    let on = |coords: [f64; 8]| plash_problem::lattice(&a, 2, &coords);
    let straight = on([0.0, 5.0, 1.0, 5.0, 2.0, 5.0, 3.0, 5.0]);
    assert_eq!(straight.expect("a lattice")[3], [3, 0, 0]);
    // Spacings may differ between axes, and rounding is forgiven.
    let bent = on([0.0, 0.0, 0.1, 0.0, 0.1 + 0.2 - 0.1, 0.0, 0.2, 7.0]);
    assert_eq!(bent.expect("a lattice")[3], [2, 1, 0]);
    assert!(on([0.0, 0.0, 1.0, 0.0, 2.4, 0.0, 3.0, 0.0]).is_none());
    assert!(on([0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]).is_none()); // a place twice
    assert!(on([0.0, 0.0, 1e-30, 0.0, 1e30, 0.0, 3.0, 0.0]).is_none());
}

#[test]
fn faults_in_an_archive_name_file_array_and_cure() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bad.npz");
    let whole = std::fs::read(data("plain.npz")).expect("a file");

    std::fs::write(&path, b"not an archive at all, nor long").expect("written");
    let message = refuse(&path);
    assert!(
        message.contains("bad.npz") && message.contains("numpy.savez"),
        "{message}"
    );

    std::fs::write(&path, &whole[..whole.len() - 30]).expect("written");
    refuse(&path);

    let mut flipped = whole.clone();
    let at = whole.windows(4).position(|w| w == b"rhs.").expect("rhs") + 200;
    flipped[at] ^= 1;
    std::fs::write(&path, &flipped).expect("written");
    assert!(refuse(&path).contains("rhs.npy is damaged"));

    write_solution(&path, &[1.0]).expect("written");
    let message = refuse(&path);
    assert!(
        message.contains("indptr: missing") && message.contains(": x"),
        "{message}"
    );

    let (starts, columns, mut values) = string(3).into_parts();
    values[1] = -0.5;
    let lopsided = Csr::new(starts, columns, values).expect("a matrix");
    let stored = Stored::new(lopsided, vec![1.0; 3], vec![]);
    stored.write(&path).expect("written");
    let message = refuse(&path);
    assert!(message.contains("(0, 1) is -0.5"), "{message}");
    assert!(message.contains("both triangles"), "{message}");

    let turned = Csr::new(vec![0, 1], vec![0], vec![-4.0]).expect("a matrix");
    Stored::new(turned, vec![1.0], vec![])
        .write(&path)
        .expect("written");
    assert!(refuse(&path).contains("is the sign turned?"));
}

#[test]
fn faults_in_text_name_file_and_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bad.mtx");
    let head = "%%MatrixMarket matrix coordinate real symmetric\n";
    let cases = [
        ("", "line 1"),
        ("1 1 1\n", "line 1"),
        (
            "%%MatrixMarket matrix coordinate complex symmetric\n1 1 1\n",
            "field",
        ),
        (&format!("{head}2 3 1\n1 1 1\n"), "not square"),
        (&format!("{head}2 2 2\n1 1 1\n3 1 1\n"), "line 4: indices"),
        (&format!("{head}1 1 1\n1 1 nan\n"), "line 3: `nan`"),
        (&format!("{head}1 1 1\n"), "the file ends"),
        (&format!("{head}1 1 1\n1 1 1\n1 1 1\n"), "line 4: more"),
        (
            &format!("{head}4000000000 4000000000 4000000000\n"),
            "do not fit",
        ),
        (&format!("{head}1000000 1000000 1\n1 1 1\n"), "do not fit"),
    ];
    for (text, expected) in cases {
        std::fs::write(&path, text).expect("written");
        let message = refuse(&path);
        assert!(message.contains("bad.mtx"), "{message}");
        assert!(message.contains(expected), "{message}");
    }
    six().write(&path).expect("written");
    let short = "%%MatrixMarket matrix array real general\n5 1\n1\n1\n1\n1\n1\n";
    std::fs::write(folder.path().join("bad_b.mtx"), short).expect("written");
    let message = refuse(&path);
    assert!(
        message.contains("bad_b.mtx") && message.contains("6 × 1"),
        "{message}"
    );
}

#[test]
fn other_names_and_missing_files_are_bad_input() {
    for name in ["a.txt", "nowhere.npz", "nowhere.mtx", "."] {
        refuse(Path::new(name));
    }
    let error = six().write(Path::new("a.csv")).expect_err("no such format");
    assert!(matches!(error, ProblemError::UnknownFormat { .. }));
}
