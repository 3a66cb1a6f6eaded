//! Walls and pressure methods in scene files.

use plash_liquid::{Method, PressureMethod, Setup, SubSolver, Wall};
use plash_scene::file::{self, Overrides};
use plash_scene::resolve::{AnySetup, Scene};

const LIQUID: &str = "[[liquid]]\nplane = { point = [0, 0.3] }\n";

fn parse(text: &str) -> Scene {
    let text = format!("size = [1, 1]\nresolution = 16\n{text}");
    let scene = file::parse("test.toml", &text, &Overrides::default());
    scene.unwrap_or_else(|report| panic!("{report}"))
}

/// The setup of a scene without warnings.
fn setup(text: &str) -> Setup<2> {
    let scene = parse(text);
    assert!(scene.warnings.is_empty(), "{}", scene.warnings);
    match scene.setup {
        AnySetup::D2(setup) => setup,
        AnySetup::D3(_) => panic!("two dimensions expected"),
    }
}

/// The key and message of a scene's only warning.
fn warning(text: &str) -> (String, String) {
    let scene = parse(text);
    let found = scene.warnings.records();
    assert_eq!(found.len(), 1, "{found:#?}");
    (found[0].key.clone(), found[0].message.clone())
}

fn error(text: &str) -> String {
    let text = format!("size = [1, 1]\n{text}");
    let report = file::parse("test.toml", &text, &Overrides::default());
    report.expect_err("an error").to_string()
}

#[test]
fn walls_separate_unless_told_otherwise() {
    let solid = "[[solid]]\nsphere = { center = [0.5, 0.5], radius = 0.1 }\n";
    let setup = setup(&format!("{LIQUID}{solid}"));
    assert_eq!(setup.walls, [[Wall::Separating; 2]; 2]);
    assert_eq!(setup.solids[0].wall, Wall::Separating);
    assert_eq!(setup.solids[0].separation_velocity, 0.0);
}

#[test]
fn the_top_rules_all_walls_and_each_solid_itself() {
    let text = r#"
        [[liquid]]
        plane = { point = [0, 0.3] }
        [[solid]]
        sphere = { center = [0.5, 0.5], radius = 0.1 }
        [[solid]]
        sphere = { center = [0.2, 0.5], radius = 0.1 }
        walls = "separating"
        separation-velocity = 0.25
    "#;
    let setup = setup(&format!("walls = \"slip\"\n{text}"));
    assert_eq!(setup.walls, [[Wall::Slip; 2]; 2]);
    assert_eq!(setup.solids[0].wall, Wall::Slip);
    assert_eq!(setup.solids[1].wall, Wall::Separating);
    assert_eq!(setup.solids[1].separation_velocity, 0.25);
}

#[test]
fn single_sides_of_the_domain_can_hold() {
    let setup = setup(&format!("slip = [\"-y\", \"+x\"]\n{LIQUID}"));
    let (slip, free) = (Wall::Slip, Wall::Separating);
    assert_eq!(setup.walls, [[free, slip], [slip, free]]);
}

#[test]
fn settings_of_walls_without_effect_are_warnings() {
    let (key, message) = warning(&format!("open = [\"+y\"]\nslip = [\"+y\"]\n{LIQUID}"));
    assert_eq!(key, "slip.0");
    assert!(message.contains("the side is open"), "{message}");
    let solid = "[[solid]]\nwalls = \"slip\"\nseparation-velocity = 1\n\
                 sphere = { center = [0.5, 0.5], radius = 0.1 }\n";
    let (key, message) = warning(&format!("{LIQUID}{solid}"));
    assert_eq!(key, "solid.0.separation-velocity");
    assert!(message.contains("only separating walls"), "{message}");
}

#[test]
fn a_linear_method_with_separating_walls_is_a_warning() {
    for method in ["pcg-mic", "mgpcg", "mg"] {
        let pressure = format!("[pressure]\nmethod = \"{method}\"\n");
        let (key, message) = warning(&format!("{LIQUID}{pressure}"));
        assert_eq!(key, "pressure.method");
        assert!(message.contains("will stick to all walls"), "{message}");
        let setup = setup(&format!("walls = \"slip\"\n{LIQUID}{pressure}"));
        assert_eq!(setup.scheme.pressure.method.name(), method);
        assert!(setup.scheme.pressure.method.is_linear());
    }
}

#[test]
fn every_method_has_its_name() {
    for method in Method::ALL {
        let text = format!("walls = \"slip\"\n{LIQUID}[pressure]\nmethod = \"{method}\"\n");
        let setup = setup(&text);
        assert_eq!(setup.scheme.pressure.method, PressureMethod::Solver(method));
    }
    let default = setup(LIQUID).scheme.pressure.method;
    assert_eq!(default, PressureMethod::Solver(Method::Auto));
}

#[test]
fn newton_has_a_sub_solver_and_others_have_none() {
    let newton = |solver| format!("[pressure]\nmethod = \"newton\"\nsub-solver = \"{solver}\"\n");
    for solver in SubSolver::ALL {
        let setup = setup(&format!("{LIQUID}{}", newton(solver.as_str())));
        assert_eq!(setup.scheme.pressure.options.sub_solver, solver);
    }
    let (key, message) = warning(&format!("{LIQUID}[pressure]\nsub-solver = \"cr\"\n"));
    assert_eq!(key, "pressure.sub-solver");
    assert!(message.contains("newton"), "{message}");
    let message = error(&format!("{LIQUID}{}", newton("lu")));
    assert!(message.contains("not a known sub-solver"), "{message}");
}

#[test]
fn liquid_cannot_be_sent_into_a_solid() {
    let solid = |speed: &str| {
        format!(
            "{LIQUID}[[solid]]\nsphere = {{ center = [0.5, 0.5], radius = 0.1 }}\n\
             separation-velocity = {speed}\n"
        )
    };
    let message = error(&solid("-0.1"));
    assert!(message.contains("into a solid"), "{message}");
    assert!(error(&solid("1e9")).contains("faster than"));
    assert!(error(&solid("\"fast\"")).contains("a number"));
}
