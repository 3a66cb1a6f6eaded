//! Scene files from text to setup: what is accepted, and what the errors say.

use std::path::Path;

use plash_liquid::shape::{Rotation, Shape};
use plash_liquid::{Cycle, DomainSide, PressureMethod, SurfaceMethod, Transfer};
use plash_scene::diagnostics::Severity;
use plash_scene::file::{self, Overrides};
use plash_scene::resolve::{AnySetup, Scene, Up};
use plash_scene::schema;

fn none() -> Overrides {
    Overrides::default()
}

fn scene(text: &str) -> Scene {
    file::parse("test.toml", text, &none()).unwrap_or_else(|report| panic!("{report}"))
}

/// Lines before the one in question, so that places are not all zero.
const HEAD: &str = "size = [2, 1, 1]\nresolution = 32\n";

fn liquid(line: &str) -> String {
    format!("{HEAD}[[liquid]]\n{line}\n")
}

fn shape_of(line: &str) -> Shape<3> {
    match scene(&liquid(line)).setup {
        AnySetup::D3(setup) => setup.liquids[0].shape.clone(),
        AnySetup::D2(_) => panic!("three dimensions expected"),
    }
}

#[test]
fn three_lines_make_a_scene_with_every_default() {
    let scene =
        scene("size = [2, 1, 1]\n[[liquid]]\nbox = { min = [0, 0, 0], max = [0.5, 1, 1] }\n");
    assert_eq!(
        (scene.name.as_str(), scene.frames, scene.fps),
        ("test", 48, 24.0)
    );
    assert!(scene.warnings.is_empty(), "{}", scene.warnings);
    let AnySetup::D3(setup) = scene.setup else {
        panic!("three numbers in `size` make three dimensions");
    };
    assert_eq!(setup.grid.cells(), [64, 32, 32]);
    assert_eq!(setup.gravity, [0.0, -9.81, 0.0]);
    assert_eq!(setup.density, 1000.0);
    assert_eq!(setup.liquids[0].velocity, [0.0; 3]);
    assert_eq!(setup.scheme, plash_liquid::Scheme::default());
    assert_eq!(setup.sides, [[DomainSide::Closed; 2]; 3]);
    // A quarter of the domain, eight particles to a cell.
    assert_eq!(
        (scene.estimate.cells, scene.estimate.particles),
        (65536, 131_072)
    );
}

#[test]
fn every_key_reaches_the_setup() {
    let text = r#"
        name = "all-keys"
        dimension = 2
        size = [2, 1]
        origin = [-1, 0]
        resolution = 40
        frames = 7
        fps = 30
        gravity = [1, -2]
        density = 900
        walls = "slip"
        open = ["+y", "-x"]
        slip = ["-y"]
        [[source]]
        sphere = { center = [0, 0.5], radius = 0.1 }
        velocity = [0, 1]
        start = 0.5
        end = 2
        [[drain]]
        box = { center = [0, 0.1], size = [0.2, 0.1] }
        start = 1
        [simulation]
        transfer = "apic"
        surface = "zhu-bridson"
        cfl = 2
        seed = 42
        reseed = false
        density-correction = false
        [pressure]
        method = "mg"
        tolerance = 1e-8
        max-iterations = 50
        cycle = "v"
        sweeps = 3
        full-cycles = 0
        [output]
        particles = false
        surface = false
        cache = false
        images = false
        [render]
        size = [640, 480]
    "#;
    let scene = scene(text);
    assert_eq!(
        (scene.name.as_str(), scene.frames, scene.fps),
        ("all-keys", 7, 30.0)
    );
    assert!(!(scene.output.particles || scene.output.surface));
    assert!(!(scene.output.cache || scene.output.images));
    assert_eq!(scene.render.size, [640, 480]);
    let AnySetup::D2(setup) = scene.setup else {
        panic!("two dimensions expected");
    };
    assert_eq!((setup.grid.cells(), setup.grid.dx()), ([40, 20], 0.05));
    assert_eq!(
        (setup.grid.origin(), setup.gravity),
        ([-1.0, 0.0], [1.0, -2.0])
    );
    assert_eq!(setup.density, 900.0);
    assert_eq!(setup.sides[0], [DomainSide::Open, DomainSide::Closed]);
    assert_eq!(setup.sides[1], [DomainSide::Closed, DomainSide::Open]);
    assert_eq!((setup.sources[0].start, setup.sources[0].end), (0.5, 2.0));
    assert_eq!(
        (setup.drains[0].start, setup.drains[0].end),
        (1.0, f64::INFINITY)
    );
    let Shape::Box { min, max } = setup.drains[0].shape else {
        panic!("a box expected");
    };
    assert!((min[0] + 0.1).abs() < 1e-15 && (max[1] - 0.15).abs() < 1e-15);
    let scheme = setup.scheme;
    assert_eq!(
        (scheme.transfer, scheme.surface),
        (Transfer::Apic, SurfaceMethod::ZhuBridson)
    );
    assert_eq!((scheme.cfl, scheme.seed), (2.0, 42));
    assert!(!(scheme.reseed || scheme.density_correction));
    assert_eq!(
        (scheme.pressure.tolerance, scheme.pressure.max_iterations),
        (1e-8, 50)
    );
    let PressureMethod::Mg(mg) = scheme.pressure.method else {
        panic!("multigrid expected");
    };
    assert_eq!((mg.cycle, mg.sweeps, mg.full_cycles), (Cycle::V, 3, 0));
}

#[test]
fn z_up_turns_gravity_and_defaults_but_no_coordinates() {
    let text = "up = \"z\"\nsize = [2, 1, 1]\n[[liquid]]\nplane = { point = [0, 0, 0.5] }\n";
    let scene = scene(text);
    assert_eq!(scene.up, Up::Z);
    let AnySetup::D3(setup) = scene.setup else {
        panic!("three dimensions expected");
    };
    assert_eq!(setup.gravity, [0.0, 0.0, -9.81]);
    let up = Shape::Plane {
        point: [0.0, 0.0, 0.5],
        normal: [0.0, 0.0, 1.0],
    };
    assert_eq!(setup.liquids[0].shape, up);
}

#[test]
fn shapes_nest() {
    let ball = Shape::Sphere {
        center: [0.5, 0.5, 0.5],
        radius: 0.25,
    };
    let text = "sphere = { center = [0.5, 0.5, 0.5], radius = 0.25 }";
    assert_eq!(shape_of(text), ball);
    let moved = format!("translate = {{ by = [0.1, 0, 0], shape = {{ {text} }} }}");
    let translated = Shape::Translate {
        shape: Box::new(ball.clone()),
        by: [0.1, 0.0, 0.0],
    };
    assert_eq!(shape_of(&moved), translated);
    let cut = format!("subtract = [{{ {text} }}, {{ {moved} }}, {{ {text} }}]");
    let subtracted = Shape::Subtract(Box::new(ball.clone()), vec![translated, ball]);
    assert_eq!(shape_of(&cut), subtracted);
}

#[test]
fn a_turn_without_a_fixed_point_is_about_the_middle() {
    let text = "rotate = { angle = 90, axis = [0, 0, 1], shape = { box = { min = [0, 0, 0], max = [0.4, 0.2, 0.2] } } }";
    let Shape::Rotate {
        about, rotation, ..
    } = shape_of(text)
    else {
        panic!("a rotation expected");
    };
    assert_eq!(about, [0.2, 0.1, 0.1]);
    assert_eq!(rotation, Rotation::axis_degrees([0.0, 0.0, 1.0], 90.0));
}

#[test]
fn warnings_let_the_scene_through() {
    let cases = [
        (
            liquid("sphere = { center = [5, 5, 5], radius = 1 }"),
            "liquid.0",
            "outside the domain",
        ),
        (
            liquid(
                "sphere = { center = [1, 0.5, 0.5], radius = 0.2 }\n[[solid]]\nbox = { min = [0, 0, 0], max = [2, 1, 1] }",
            ),
            "liquid.0",
            "inside a solid",
        ),
        (HEAD.to_owned(), "liquid", "nothing will happen"),
        (
            liquid(
                "plane = { point = [0, 0.5, 0] }\n[[solid]]\nsphere = { center = [-3, 0, 0], radius = 1 }",
            ),
            "solid.0",
            "outside the domain",
        ),
        (
            liquid("plane = { point = [0, 0.5, 0] }\n[pressure]\nsweeps = 3"),
            "pressure.sweeps",
            "no effect",
        ),
        (
            liquid("plane = { point = [0, 0.5, 0] }").replace("[2, 1, 1]", "[2, 1.01, 1]"),
            "size",
            "whole number of cells",
        ),
    ];
    for (text, key, message) in cases {
        let scene = scene(&text);
        let found = scene.warnings.records();
        assert_eq!(found.len(), 1, "{text}\n{found:#?}");
        assert_eq!(
            (found[0].severity, found[0].key.as_str()),
            (Severity::Warning, key)
        );
        assert!(found[0].message.contains(message), "{found:#?}");
    }
}

#[test]
fn liquid_drawn_over_a_solid_is_no_mistake() {
    let text = liquid(
        "box = { min = [0, 0, 0], max = [2, 0.5, 1] }\n[[solid]]\nsphere = { center = [1, 0.25, 0.5], radius = 0.2 }",
    );
    let scene = scene(&text);
    assert!(scene.warnings.is_empty(), "{}", scene.warnings);
    // The estimate leaves out what the ball displaces.
    let liquid = 1.0 - 4.0 / 3.0 * std::f64::consts::PI * 0.008;
    let expected = liquid * 16.0_f64.powi(3) * 8.0;
    let off = (scene.estimate.particles as f64 / expected - 1.0).abs();
    assert!(
        off < 0.01,
        "{} particles, {expected} expected",
        scene.estimate.particles
    );
}

fn set(pairs: &[&str]) -> Overrides {
    Overrides {
        set: pairs.iter().map(|pair| (*pair).to_owned()).collect(),
        ..Overrides::default()
    }
}

#[test]
fn overrides_change_the_scene_and_its_text() {
    let text = liquid("box = { min = [0, 0, 0], max = [1, 1, 1] }");
    let mut overrides = set(&[
        "pressure.method=mg",
        "liquid.0.velocity=[0, 1, 0]",
        "name=\"other\"",
        "liquid.0.box.max.1 = 0.5",
    ]);
    overrides.frames = Some(5);
    overrides.resolution = Some(16);
    let first = file::parse("test.toml", &text, &overrides).expect("a valid scene");
    assert_eq!((first.name.as_str(), first.frames), ("other", 5));
    // The text as run says the same without overrides.
    for scene in [scene(&first.text), first] {
        let AnySetup::D3(setup) = scene.setup else {
            panic!("three dimensions expected");
        };
        assert_eq!(scene.frames, 5);
        assert_eq!(setup.grid.cells(), [16, 8, 8]);
        assert_eq!(setup.liquids[0].velocity, [0.0, 1.0, 0.0]);
        assert_eq!(setup.scheme.pressure.method.name(), "mg");
        assert_eq!(
            setup.liquids[0].shape.bounds(),
            Some([[0.0; 3], [1.0, 0.5, 1.0]])
        );
    }
    assert_eq!(
        scene(&text).text,
        text,
        "without overrides the text is kept as it is"
    );
}

#[test]
fn force_lets_large_scenes_through() {
    let text = liquid("plane = { point = [0, 0.01, 0] }");
    let mut overrides = set(&["resolution=1500"]);
    let refused = file::parse("test.toml", &text, &overrides);
    overrides.force = true;
    let forced = file::parse("test.toml", &text, &overrides);
    assert!(forced.is_ok(), "1500 × 750 × 750 cells can be indexed");
    // A machine with more than half a terabyte takes it without force.
    if plash_scene::memory::total_ram().is_some_and(|ram| ram < 400_000_000_000) {
        let found = refused.expect_err("too large").records();
        assert_eq!(found[0].file, "--set resolution=1500");
    }
}

#[test]
fn the_reference_names_every_key() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scene-format.md");
    let text = std::fs::read_to_string(path).expect("the reference of the scene format");
    let mut section = "";
    for line in text.lines() {
        section = line.strip_prefix("### ").unwrap_or(section);
    }
    assert!(!section.is_empty(), "the reference has sections");
    for key in schema::KEYS {
        let title = if key.section.is_empty() {
            "The top"
        } else {
            key.section
        };
        let start = format!("### {title}\n");
        let at = text
            .find(&start)
            .unwrap_or_else(|| panic!("no section {title}"));
        let body = &text[at + start.len()..];
        let body = &body[..body.find("\n### ").unwrap_or(body.len())];
        assert!(
            body.contains(&format!("`{}`", key.name)),
            "{key:?} is not in the reference"
        );
    }
    for shape in schema::SHAPES {
        assert!(
            text.contains(&format!("### {shape}\n")),
            "no section {shape}"
        );
    }
}

#[test]
fn the_schema_lists_exactly_the_keys_that_are_read() {
    // Whatever the schema lists is accepted in its place: only its value may be wrong.
    for key in schema::KEYS {
        let text = match key.section {
            "" => format!("{HEAD}{} = 1\n", key.name).replacen(
                "resolution = 32\n",
                "",
                usize::from(key.name == "resolution"),
            ),
            "liquid" | "source" | "drain" | "solid" => {
                format!("{HEAD}[[{}]]\n{} = 1\n", key.section, key.name)
            }
            shape if schema::SHAPES.contains(&shape) => {
                format!("{HEAD}[[solid]]\n{shape} = {{ {} = 1 }}\n", key.name)
            }
            "grading" => format!("{HEAD}[[liquid]]\nviscosity = {{ {} = 1 }}\n", key.name),
            "waypoint" => format!("{HEAD}[[source]]\npath = [{{ {} = 1 }}]\n", key.name),
            table => format!("{HEAD}[{table}]\n{} = 1\n", key.name),
        };
        let text = if key.name == "size" && key.section.is_empty() {
            "size = 1".to_owned()
        } else {
            text
        };
        if let Err(report) = file::parse("test.toml", &text, &none()) {
            let unknown = report
                .records()
                .iter()
                .any(|r| r.message.contains("unknown key"));
            assert!(!unknown, "{key:?}\n{report}");
        }
    }
}
