//! Thick liquids and moving sources in scene files: what is accepted, and what the errors say.

use plash_liquid::{
    Graduation, Scale, Setup, Smoother, Transfer, Viscosity, ViscosityConfig, ViscousMethod,
    Waypoint,
};
use plash_scene::diagnostics::Severity;
use plash_scene::file::{self, Overrides};
use plash_scene::resolve::{AnySetup, Scene};

const HEAD: &str = "size = [2, 1]\nresolution = 32\n";
const BOX: &str = "box = { min = [0.5, 0], max = [1.5, 0.5] }\n";

fn scene_with(text: &str, overrides: &[&str]) -> Scene {
    let overrides = Overrides {
        set: overrides.iter().map(|&pair| pair.to_owned()).collect(),
        ..Overrides::default()
    };
    file::parse("test.toml", text, &overrides).unwrap_or_else(|report| panic!("{report}"))
}

fn setup(text: &str) -> Setup<2> {
    let scene = scene_with(text, &[]);
    assert!(scene.warnings.is_empty(), "{}", scene.warnings);
    flat(scene)
}

fn flat(scene: Scene) -> Setup<2> {
    match scene.setup {
        AnySetup::D2(setup) => setup,
        AnySetup::D3(_) => panic!("two dimensions expected"),
    }
}

#[test]
fn a_viscosity_is_that_of_the_entry_or_of_the_table() {
    let text = format!(
        "{HEAD}[viscosity]\nvalue = 3\n[[liquid]]\n{BOX}viscosity = 10\n[[liquid]]\n{BOX}\
         [[source]]\n{BOX}viscosity = 0.5\n[[source]]\n{BOX}"
    );
    let setup = setup(&text);
    let liquids: Vec<Viscosity> = setup.liquids.iter().map(|l| l.viscosity).collect();
    let sources: Vec<Viscosity> = setup.sources.iter().map(|s| s.viscosity).collect();
    assert_eq!(liquids, [10.0, 3.0].map(Viscosity::Constant));
    assert_eq!(sources, [0.5, 3.0].map(Viscosity::Constant));
    assert!(setup.is_viscous() && setup.uniform_viscosity().is_none());
    assert_eq!(setup.least_viscosity(), 0.5);
}

#[test]
fn a_grading_reaches_over_the_shape_unless_it_says_where() {
    let graded = |line: &str| {
        let text = format!("{HEAD}[[liquid]]\n{BOX}viscosity = {line}\n");
        setup(&text).liquids[0].viscosity
    };
    let expected = |from: [f64; 2], to: [f64; 2], scale| Viscosity::Graded {
        axis: plash_grid::Axis::X,
        from: Graduation {
            at: from[0],
            value: from[1],
        },
        to: Graduation {
            at: to[0],
            value: to[1],
        },
        scale,
    };
    assert_eq!(
        graded("{ axis = \"x\", from = 0.1, to = 100 }"),
        expected([0.5, 0.1], [1.5, 100.0], Scale::Linear)
    );
    assert_eq!(
        graded("{ axis = \"x\", from = 0.1, to = 100, between = [0.8, 0.2], scale = \"log\" }"),
        expected([0.8, 0.1], [0.2, 100.0], Scale::Log)
    );
}

#[test]
fn a_grading_needs_the_ends_of_its_own_axis_alone() {
    let slab = |pad: &str| {
        let plane = |x: f64, normal: i32| {
            format!("{{ plane = {{ point = [{x}, 0{pad}], normal = [{normal}, 0{pad}] }} }}")
        };
        format!(
            "[[liquid]]\nintersect = [{}, {}]\nviscosity = {{ axis = \"x\", from = 1, to = 9 }}\n",
            plane(0.25, -1),
            plane(0.75, 1)
        )
    };
    let expected = Viscosity::Graded {
        axis: plash_grid::Axis::X,
        from: Graduation {
            at: 0.25,
            value: 1.0,
        },
        to: Graduation {
            at: 0.75,
            value: 9.0,
        },
        scale: Scale::Linear,
    };
    assert_eq!(
        setup(&format!("{HEAD}{}", slab(""))).liquids[0].viscosity,
        expected
    );
    let solid = format!("size = [2, 1, 1]\nresolution = 16\n{}", slab(", 0"));
    match scene_with(&solid, &[]).setup {
        AnySetup::D3(setup) => assert_eq!(setup.liquids[0].viscosity, expected),
        AnySetup::D2(_) => panic!("three dimensions expected"),
    }
}

#[test]
fn every_setting_of_the_solver_reaches_the_setup() {
    let text = format!(
        "{HEAD}[[liquid]]\n{BOX}[viscosity]\nvalue = 1\nmethod = \"mgpcg\"\nsmoother = \"box\"\n\
         tolerance = 1e-3\nmax-iterations = 77\n"
    );
    assert_eq!(
        setup(&text).scheme.viscosity,
        ViscosityConfig {
            method: ViscousMethod::Mgpcg,
            smoother: Smoother::Box,
            tolerance: 1e-3,
            max_iterations: 77,
        }
    );
    let plain = format!("{HEAD}[[liquid]]\n{BOX}viscosity = 1\n");
    for method in ViscousMethod::ALL {
        let set = format!("viscosity.method={method}");
        let setup = flat(scene_with(&plain, &[&set]));
        assert_eq!(setup.scheme.viscosity.method, *method);
    }
    for smoother in Smoother::ALL {
        let set = format!("viscosity.smoother={smoother}");
        let setup = flat(scene_with(&plain, &[&set]));
        assert_eq!(setup.scheme.viscosity.smoother, *smoother);
    }
    let thick = flat(scene_with(&plain, &["liquid.0.viscosity=50"]));
    assert_eq!(thick.uniform_viscosity(), Some(50.0));
}

#[test]
fn viscous_liquid_is_carried_by_apic_unless_the_scene_says_how() {
    let thick = format!("{HEAD}[[liquid]]\n{BOX}viscosity = 1\n");
    let water = format!("{HEAD}[[liquid]]\n{BOX}");
    let named = |text: &str, line: &str| {
        let text = format!("{text}[simulation]\n{line}\n");
        setup(&text).scheme.transfer
    };
    let flip = |pic_blend| Transfer::Flip { pic_blend };
    assert_eq!(setup(&thick).scheme.transfer, Transfer::Apic);
    assert_eq!(setup(&water).scheme.transfer, flip(0.03));
    assert_eq!(named(&thick, "cfl = 1"), Transfer::Apic);
    assert_eq!(named(&water, "cfl = 1"), flip(0.03));
    assert_eq!(named(&thick, "transfer = \"flip\""), flip(0.03));
    assert_eq!(named(&thick, "pic-blend = 0.2"), flip(0.2));
    assert_eq!(named(&thick, "transfer = \"pic\""), Transfer::Pic);
}

#[test]
fn a_source_follows_its_path() {
    let text = format!(
        "{HEAD}[[source]]\n{BOX}velocity = [0, -1]\n\
         path = [{{ time = 0, offset = [-0.2, 0] }}, {{ time = 1.5, offset = [0.4, 0.1] }}]\n"
    );
    let source = &setup(&text).sources[0];
    let at = |time, offset| Waypoint { time, offset };
    assert_eq!(source.path, [at(0.0, [-0.2, 0.0]), at(1.5, [0.4, 0.1])]);
}

#[test]
fn a_source_that_enters_the_domain_later_is_no_mistake() {
    let text = |x: f64| {
        format!(
            "{HEAD}[[source]]\n{BOX}\
             path = [{{ time = 0, offset = [-9, 0] }}, {{ time = 1, offset = [{x}, 0] }}]\n"
        )
    };
    assert!(scene_with(&text(0.0), &[]).warnings.is_empty());
    assert!(scene_with(&text(0.0), &[]).estimate.particles > 500);
    let found = scene_with(&text(-8.0), &[]).warnings.records();
    assert!(found[0].message.contains("outside the domain"), "{found:?}");
}

#[test]
fn viscosity_takes_memory() {
    let of = |line: &str| {
        let text = format!("{HEAD}[[liquid]]\n{BOX}{line}\n");
        scene_with(&text, &[]).estimate.bytes
    };
    assert!(of("viscosity = 1") > of("viscosity = 0"));
}

#[test]
fn settings_without_an_effect_are_warnings() {
    for (text, key, message) in [
        (
            "viscosity = 2\n[viscosity]\nvalue = 1",
            "viscosity.value",
            "every liquid and source",
        ),
        (
            "viscosity = 0\n[viscosity]\nvalue = 1",
            "viscosity",
            "no liquid is viscous",
        ),
        (
            "[viscosity]\nmethod = \"pcg-ic\"",
            "viscosity",
            "no liquid is viscous",
        ),
        (
            "[viscosity]\nvalue = 1\nmethod = \"pcg-ic\"\nsmoother = \"box\"",
            "viscosity.smoother",
            "only method \"mgpcg\"",
        ),
    ] {
        let scene = scene_with(&format!("{HEAD}[[liquid]]\n{BOX}{text}\n"), &[]);
        let found = scene.warnings.records();
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!(
            (found[0].severity, found[0].key.as_str()),
            (Severity::Warning, key)
        );
        assert!(found[0].message.contains(message), "{found:#?}");
    }
}

/// The lines after a shape in the third line, then line, column and key of the only error, and
/// words of its message and help.
type Case = (
    &'static str,
    usize,
    usize,
    &'static str,
    &'static str,
    &'static str,
);

#[track_caller]
fn check(head: &str, (lines, line, column, key, message, help): Case) {
    let text = format!("{HEAD}{head}{lines}\n");
    let Err(report) = file::parse("test.toml", &text, &Overrides::default()) else {
        panic!("accepted: {text}");
    };
    let found = report.records();
    let context = format!("{text}\n{found:#?}");
    assert_eq!(found.len(), 1, "{context}");
    let found = &found[0];
    assert_eq!((found.line, found.column), (line, column), "{context}");
    assert_eq!(found.key, key, "{context}");
    assert!(found.message.contains(message), "{context}");
    let given = found.help.as_deref().unwrap_or_default();
    assert!(given.contains(help), "{context}");
}

#[test]
fn a_number_in_place_of_the_table_says_where_numbers_go() {
    let case = (
        "viscosity = 10",
        3,
        13,
        "viscosity",
        "in a table",
        "as its `value`",
    );
    check("", case);
}

#[test]
fn errors_in_viscosities_show_place_key_and_remedy() {
    let cases: &[Case] = &[
        (
            "viscosity = -1",
            5,
            13,
            "liquid.0.viscosity",
            "out of range",
            "0 to 1e9",
        ),
        (
            "viscosity = 1e10",
            5,
            13,
            "liquid.0.viscosity",
            "out of range",
            "0 to",
        ),
        (
            "viscosity = \"3\"",
            5,
            13,
            "liquid.0.viscosity",
            "a number",
            "without quotes",
        ),
        (
            "viscosity = [1, 2]",
            5,
            13,
            "liquid.0.viscosity",
            "a number",
            "",
        ),
        ("mu = 1", 5, 1, "liquid.0.mu", "unknown key", "`viscosity`"),
        (
            "viscosity = { from = 1, to = 2 }",
            5,
            13,
            "liquid.0.viscosity.axis",
            "no `axis`",
            "add `axis",
        ),
        (
            "viscosity = { axis = \"z\", from = 1, to = 2 }",
            5,
            22,
            "liquid.0.viscosity.axis",
            "not a known axis",
            "`x` or `y`",
        ),
        (
            "viscosity = { axis = \"x\", from = 0, to = 2, scale = \"log\" }",
            5,
            34,
            "liquid.0.viscosity.from",
            "cannot reach zero",
            "above zero",
        ),
        (
            "viscosity = { axis = \"x\", from = 1, to = -2 }",
            5,
            42,
            "liquid.0.viscosity.to",
            "out of range",
            "",
        ),
        (
            "viscosity = { axis = \"x\", from = 1, to = 2, between = [1, 1] }",
            5,
            55,
            "liquid.0.viscosity.between",
            "the same",
            "[0.2, 0.8]",
        ),
        (
            "viscosity = { axis = \"x\", from = 1, to = 2, between = [1] }",
            5,
            55,
            "liquid.0.viscosity.between",
            "two coordinates, found 1",
            "",
        ),
        (
            "viscosity = { axis = \"x\", from = 1, to = 2, scale = \"lg\" }",
            5,
            53,
            "liquid.0.viscosity.scale",
            "not a known scale",
            "did you mean \"log\"",
        ),
        (
            "viscosity = { axis = \"x\", from = 1, to = 2, til = 3 }",
            5,
            45,
            "liquid.0.viscosity.til",
            "unknown key",
            "`to`",
        ),
    ];
    for &case in cases {
        check(&format!("[[liquid]]\n{BOX}"), case);
    }
    check(
        "[[liquid]]\nplane = { point = [0, 0.5] }\n",
        (
            "viscosity = { axis = \"x\", from = 1, to = 2 }",
            5,
            13,
            "liquid.0.viscosity",
            "no end along x",
            "between",
        ),
    );
}

#[test]
fn errors_in_the_table_show_place_key_and_remedy() {
    let cases: &[Case] = &[
        (
            "value = -1",
            6,
            9,
            "viscosity.value",
            "out of range",
            "0 to",
        ),
        (
            "method = \"mgcg\"",
            6,
            10,
            "viscosity.method",
            "not a known method",
            "\"mgpcg\"",
        ),
        (
            "smoother = \"gs\"",
            6,
            12,
            "viscosity.smoother",
            "not a known smoother",
            "`vanka`",
        ),
        (
            "tolerance = 1",
            6,
            13,
            "viscosity.tolerance",
            "out of range",
            "0.1",
        ),
        (
            "max-iterations = 0",
            6,
            18,
            "viscosity.max-iterations",
            "out of range",
            "1 to",
        ),
        (
            "between = 0",
            6,
            1,
            "viscosity.between",
            "unknown key",
            "graded viscosity",
        ),
        (
            "sweeps = 0",
            6,
            1,
            "viscosity.sweeps",
            "unknown key",
            "[pressure]",
        ),
    ];
    for &case in cases {
        check(&format!("[[liquid]]\n{BOX}[viscosity]\n"), case);
    }
    check(
        "",
        (
            "viscosity = 3",
            3,
            13,
            "viscosity",
            "is in a table",
            "[viscosity]",
        ),
    );
}

#[test]
fn errors_in_paths_show_place_key_and_remedy() {
    let cases: &[Case] = &[
        ("path = []", 5, 8, "source.0.path", "empty", "at least one"),
        ("path = 3", 5, 8, "source.0.path", "a list of places", ""),
        (
            "keyframes = 3",
            5,
            1,
            "source.0.keyframes",
            "unknown key",
            "`path`",
        ),
        (
            "path = [{ time = 0 }]",
            5,
            9,
            "source.0.path.0.offset",
            "no `offset`",
            "[0.1, 0]",
        ),
        (
            "path = [{ time = 0, offset = [1] }]",
            5,
            30,
            "source.0.path.0.offset",
            "2 numbers",
            "",
        ),
        (
            "path = [{ time = 1, offset = [0, 0] }, { time = 1, offset = [0, 1] }]",
            5,
            49,
            "source.0.path.1.time",
            "does not come after",
            "order",
        ),
        (
            "path = [{ time = 1, offset = [0, 0] }, { time = 1.000001, offset = [0, 1] }]",
            5,
            49,
            "source.0.path.1.time",
            "faster than",
            "seconds",
        ),
        (
            "path = [{ time = 1, offset = [0, 0], speed = 1 }]",
            5,
            38,
            "source.0.path.0.speed",
            "unknown key",
            "known here",
        ),
        (
            "offset = [0, 0]",
            5,
            1,
            "source.0.offset",
            "unknown key",
            "",
        ),
    ];
    for &case in cases {
        check(&format!("[[source]]\n{BOX}"), case);
    }
}
