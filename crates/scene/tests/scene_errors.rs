//! What is refused in scene files, and what the errors say.

use std::path::Path;

use plash_scene::diagnostics::{Record, Report, Severity};
use plash_scene::file::{self, Overrides};

fn none() -> Overrides {
    Overrides::default()
}

fn report(text: &str) -> Report {
    file::parse("test.toml", text, &none()).expect_err("the scene should be refused")
}

fn records(text: &str) -> Vec<Record> {
    report(text).records()
}

/// The only error of a scene.
fn error(text: &str) -> Record {
    let mut found = records(text);
    assert_eq!(found.len(), 1, "one error expected: {found:#?}");
    found.remove(0)
}

/// Lines before the one in question, so that places are not all zero.
const HEAD: &str = "size = [2, 1, 1]\nresolution = 32\n";

fn liquid(line: &str) -> String {
    format!("{HEAD}[[liquid]]\n{line}\n")
}

/// Text, then line, column and key of the only error, and words of its message and help.
type Case = (
    &'static str,
    usize,
    usize,
    &'static str,
    &'static str,
    &'static str,
);

fn check_cases(make: impl Fn(&str) -> String, cases: &[Case]) {
    for &(line, at_line, at_column, key, message, help) in cases {
        let found = error(&make(line));
        let context = format!("{line}\n{found:#?}");
        assert_eq!(found.severity, Severity::Error, "{context}");
        assert_eq!(
            (found.line, found.column),
            (at_line, at_column),
            "{context}"
        );
        assert_eq!(found.key, key, "{context}");
        assert!(found.message.contains(message), "{context}");
        assert!(found.help.unwrap_or_default().contains(help), "{context}");
    }
}

#[test]
fn errors_at_the_top_show_place_key_and_remedy() {
    let make = |line: &str| format!("{HEAD}{line}\n");
    let cases: &[Case] = &[
        ("frame = 3", 3, 1, "frame", "unknown key", "`frames`"),
        (
            "pic_blend = 3",
            3,
            1,
            "pic_blend",
            "unknown key",
            "[simulation]",
        ),
        ("obstacle = 3", 3, 1, "obstacle", "unknown key", "`solid`"),
        ("qwxyz = 3", 3, 1, "qwxyz", "unknown key", "known here"),
        (
            "frames = \"3\"",
            3,
            10,
            "frames",
            "whole number",
            "without quotes: 3",
        ),
        ("frames = 3.5", 3, 10, "frames", "whole number", "4"),
        (
            "frames = 0",
            3,
            10,
            "frames",
            "out of range",
            "1 to 1000000",
        ),
        ("frames = -4", 3, 10, "frames", "out of range", "1 to"),
        (
            "frames = 99999999999999999999",
            3,
            10,
            "frames",
            "too large",
            "",
        ),
        ("fps = 0", 3, 7, "fps", "above zero", "24"),
        ("fps = nan", 3, 7, "fps", "finite", ""),
        ("fps = -inf", 3, 7, "fps", "finite", ""),
        ("density = 1e300", 3, 11, "density", "too large", ""),
        ("gravity = -9.81", 3, 11, "gravity", "point up", "9.81"),
        (
            "gravity = [0, 1]",
            3,
            11,
            "gravity",
            "3 numbers",
            "3 dimensions",
        ),
        (
            "gravity = [0, true, 1]",
            3,
            15,
            "gravity.1",
            "a number, found true",
            "",
        ),
        (
            "slip = [\"up\"]",
            3,
            9,
            "slip.0",
            "not a known slip",
            "`+y`",
        ),
        (
            "walls = \"sliip\"",
            3,
            9,
            "walls",
            "not a known walls",
            "\"slip\"",
        ),
        (
            "open = [\"+w\"]",
            3,
            9,
            "open.0",
            "not a known open",
            "`-x`",
        ),
        ("up = \"x\"", 3, 6, "up", "not a known", "`y` or `z`"),
        ("name = \"a/b\"", 3, 8, "name", "file's name", "letters"),
        (
            "dimension = 4",
            3,
            13,
            "dimension",
            "out of range",
            "2 to 3",
        ),
        ("origin = [1e9, 0, 0]", 3, 10, "origin", "far away", ""),
        (
            "liquid = 3",
            3,
            10,
            "liquid",
            "found the number 3",
            "[[liquid]]",
        ),
        (
            "output = { particles = 1 }",
            3,
            24,
            "output.particles",
            "true or false",
            "",
        ),
        (
            "pressure = { method = \"pcg\" }",
            3,
            23,
            "pressure.method",
            "not a known",
            "pcg-mic",
        ),
        (
            "pressure = { method = \"reduced\" }",
            3,
            23,
            "pressure.method",
            "not available",
            "`mg`",
        ),
        (
            "pressure.tolerence = 1e-3",
            3,
            10,
            "pressure.tolerence",
            "unknown",
            "`tolerance`",
        ),
        (
            "pressure.tolerance = 2",
            3,
            22,
            "pressure.tolerance",
            "out of range",
            "",
        ),
        (
            "simulation.cfl = 0",
            3,
            18,
            "simulation.cfl",
            "out of range",
            "0.1 to 10",
        ),
        (
            "render.size = [641, 480]",
            3,
            15,
            "render.size",
            "641 × 480",
            "even",
        ),
        ("render.eye = [0, 0]", 3, 14, "render.eye", "3 numbers", ""),
    ];
    check_cases(make, cases);
}

#[test]
fn errors_in_entries_show_place_key_and_remedy() {
    let cases: &[Case] = &[
        (
            "velocity = [0, 0, 0]",
            3,
            1,
            "liquid.0",
            "has no shape",
            "`sphere`",
        ),
        (
            "spere = { }",
            4,
            1,
            "liquid.0.spere",
            "unknown key",
            "`sphere`",
        ),
        (
            "ball = { }",
            4,
            1,
            "liquid.0.ball",
            "unknown key",
            "`sphere`",
        ),
        (
            "sphere = { center = [0, 0, 0], radius = 1 }\nbox = { min = [0, 0, 0], max = [1, 1, 1] }",
            5,
            1,
            "liquid.0.box",
            "two shapes in one entry: `sphere` and `box`",
            "union",
        ),
        ("sphere = 3", 4, 10, "liquid.0.sphere", "a table", "radius"),
        (
            "sphere = { center = [0, 0, 0] }",
            4,
            10,
            "liquid.0.sphere.radius",
            "no `radius`",
            "add",
        ),
        (
            "sphere = { center = [0, 0], radius = 1 }",
            4,
            21,
            "liquid.0.sphere.center",
            "3 numbers [x, y, z], found 2",
            "3 dimensions",
        ),
        (
            "sphere = { center = [0, nan, 0], radius = 1 }",
            4,
            25,
            "liquid.0.sphere.center.1",
            "finite",
            "",
        ),
        (
            "sphere = { center = [0, 0, 0], radius = -1 }",
            4,
            41,
            "liquid.0.sphere.radius",
            "not above zero",
            "positive",
        ),
        (
            "sphere = { center = [0, 0, 0], radius = 1e-300 }",
            4,
            41,
            "liquid.0.sphere.radius",
            "1e-300 is too close to zero",
            "1e-12 or more",
        ),
        (
            "box = { min = [0, 0, 0], max = [1, 0, 1] }",
            4,
            32,
            "liquid.0.box.max",
            "empty: along y",
            "above `min`",
        ),
        (
            "box = { min = [0, 0, 0], size = [1, 1, 1] }",
            4,
            7,
            "liquid.0.box",
            "not both",
            "",
        ),
        (
            "cylinder = { from = [1, 1, 1], to = [1, 1, 1], radius = 1 }",
            4,
            12,
            "liquid.0.cylinder",
            "same point",
            "length",
        ),
        (
            "rotate = { angle = 90, shape = { plane = { point = [0, 0, 0] } } }",
            4,
            10,
            "liquid.0.rotate",
            "no middle",
            "about",
        ),
        (
            "union = []",
            4,
            9,
            "liquid.0.union",
            "empty",
            "at least one",
        ),
        (
            "union = [{ sphere = { center = [0, 0, 0], radis = 1, radius = 1 } }]",
            4,
            43,
            "liquid.0.union.0.sphere.radis",
            "unknown key",
            "`radius`",
        ),
        (
            "torus = { center = [0, 0, 0], major = 1, minor = 0.1, axis = [0, 0, 0] }",
            4,
            62,
            "liquid.0.torus.axis",
            "cannot be zero",
            "",
        ),
        (
            "sphere = { center = [0, 0, 0], radius = 1 }\nstart = 3",
            5,
            1,
            "liquid.0.start",
            "unknown key",
            "[source]",
        ),
    ];
    check_cases(liquid, cases);
}

#[test]
fn errors_in_the_domain_are_found() {
    let cases: &[Case] = &[
        (
            "resolution = 3\nsize = [1, 1]",
            1,
            14,
            "resolution",
            "out of range",
            "4 to",
        ),
        (
            "resolution = 1000000000\nsize = [1, 1]",
            1,
            14,
            "resolution",
            "out of range",
            "65536",
        ),
        (
            "resolution = 65536\nsize = [1, 1, 1]\nliquid = { plane = { point = [0, 0.5, 0] } }",
            1,
            14,
            "resolution",
            "more than 80 %",
            "--force",
        ),
        ("resolution = 64", 1, 1, "size", "no `size`", "[1, 1, 1]"),
        ("size = [1, 0]", 1, 8, "size", "not above zero", "positive"),
        ("size = [1, -1]", 1, 8, "size", "not above zero", "positive"),
        ("size = [1, 1e9]", 1, 8, "size", "out of range", "1e6"),
        ("size = [1]", 1, 8, "size", "found 1", ""),
        (
            "size = [1, 0.001]",
            1,
            8,
            "size",
            "two cells wide along y",
            "2000",
        ),
        (
            "dimension = 2\nsize = [1, 1, 1]",
            2,
            8,
            "size",
            "2 numbers",
            "2 dimensions",
        ),
        (
            "up = \"z\"\nsize = [1, 1]",
            1,
            6,
            "up",
            "no z axis",
            "dimension = 3",
        ),
    ];
    check_cases(str::to_owned, cases);
}

#[test]
fn several_errors_are_found_at_once() {
    let text = format!(
        "{HEAD}frames = 0\ngravty = 1\n[[liquid]]\nsphere = {{ center = [0, 0], radius = -1 }}\n\
         velocity = [nan, inf, 0]\n[presure]\nmethod = 3\n"
    );
    let keys: Vec<String> = records(&text).into_iter().map(|r| r.key).collect();
    let expected = [
        "frames",
        "liquid.0.velocity.0",
        "liquid.0.velocity.1",
        "liquid.0.sphere.center",
        "liquid.0.sphere.radius",
        "gravty",
        "presure",
    ];
    assert_eq!(keys, expected);
}

#[test]
fn several_syntax_errors_are_found_at_once() {
    let found = records("size = [1, 1\nframes == 3\nfps = 24\n[[liquid\n");
    assert!(found.len() >= 2, "{found:#?}");
    assert!(found.iter().all(|r| r.message.starts_with("not TOML")));
}

#[test]
fn a_rendered_error_shows_file_line_key_and_help() {
    let text = report(&liquid("shpere = { }")).render(100, false);
    for part in [
        "test.toml:4:1",
        "shpere = { }",
        "liquid.0.shpere",
        "did you mean `sphere`?",
    ] {
        assert!(text.contains(part), "{part} is missing from\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "no colours were asked for");
    assert!(report("x").render(100, true).contains('\u{1b}'));
}

#[test]
fn depth_and_length_are_limited() {
    let nested = |depth: usize| {
        let (open, close) = ("{ round = { radius = 0.01, shape = ", " } }");
        let ball = "{ sphere = { center = [0, 0, 0], radius = 0.1 } }";
        format!(
            "round = {{ radius = 0.1, shape = {}{ball}{} }}",
            open.repeat(depth),
            close.repeat(depth)
        )
    };
    let accepted = file::parse("test.toml", &liquid(&nested(25)), &none());
    assert!(
        accepted.is_ok(),
        "25 shapes within one another are accepted"
    );
    let found = records(&liquid(&nested(35)));
    assert!(found[0].message.contains("levels deep"), "{found:#?}");
    for depth in [100, 20_000] {
        assert!(!records(&liquid(&nested(depth))).is_empty());
        assert!(!records(&("a = ".to_owned() + &"[".repeat(depth))).is_empty());
        assert!(!records(&("a.".repeat(depth) + "b = 1")).is_empty());
    }
    // Dotted keys within nested tables multiply the depth.
    let dotted = "a.".repeat(70) + "b";
    let both = format!("{dotted} = {{ ").repeat(70) + "c = 1" + &" }".repeat(70);
    assert!(!records(&both).is_empty());

    let long = "#".repeat(file::MAX_BYTES + 1);
    assert!(error(&long).message.contains("bytes"));
}

#[test]
fn text_that_is_not_utf8_is_an_error_with_a_place() {
    let report = file::SceneFile::from_bytes("test.toml", b"fps = 24\nname = \"\xff\"", &none());
    let found = report.expect_err("bad bytes").records();
    assert_eq!((found[0].line, found[0].column), (2, 9));
}

#[test]
fn a_missing_file_is_an_error_that_names_it() {
    let report = file::load(Path::new("no/such/scene.toml"), &none()).expect_err("no file");
    assert_eq!(report.records()[0].file, "no/such/scene.toml");
    assert!(report.to_string().contains("cannot read"));
}

#[test]
fn errors_in_overrides_point_at_the_argument() {
    let text = liquid("box = { min = [0, 0, 0], max = [1, 1, 1] }");
    let cases = [
        ("resolution=0", "--set resolution=0", 18, "out of range"),
        ("resolutoin=8", "--set resolutoin=8", 18, "unknown key"),
        ("resolution", "--set resolution", 7, "key=value"),
        (
            "liquid.3.velocity=[0,0,0]",
            "--set liquid.3.velocity=[0,0,0]",
            7,
            "number of an item",
        ),
        ("size.x.y=1", "--set size.x.y=1", 7, "number of an item"),
        ("resolution.x=1", "--set resolution.x=1", 7, "plain value"),
        ("gravity=[0,", "--set gravity=[0,", 18, ""),
        ("a..b=1", "--set a..b=1", 7, "dotted key"),
        (
            "pressure.method=pcgmic",
            "--set pressure.method=pcgmic",
            23,
            "not a known",
        ),
    ];
    for (pair, file, column, message) in cases {
        let report = file::parse("test.toml", &text, &set(&[pair])).expect_err(pair);
        let found = &report.records()[0];
        assert_eq!(
            (found.file.as_str(), found.column),
            (file, column),
            "{found:#?}"
        );
        assert!(found.message.contains(message), "{found:#?}");
    }
    let overrides = Overrides {
        resolution: Some(1),
        ..none()
    };
    let report = file::parse("test.toml", &text, &overrides).expect_err("a resolution of 1");
    assert_eq!(report.records()[0].file, "-r 1");
}

fn set(pairs: &[&str]) -> Overrides {
    Overrides {
        set: pairs.iter().map(|pair| (*pair).to_owned()).collect(),
        ..Overrides::default()
    }
}
