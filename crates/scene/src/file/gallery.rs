//! The scenes that come with plash, and the file to start a new one from.

/// A scene of the gallery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GalleryScene {
    /// Its name, as in `plash new --like NAME`.
    pub name: &'static str,
    /// The scene file.
    pub text: &'static str,
}

impl GalleryScene {
    /// What to see, in one line: the first line of the file, a comment.
    pub fn description(&self) -> &'static str {
        let first = self.text.lines().next().unwrap_or("");
        first.trim_start_matches('#').trim()
    }
}

macro_rules! scenes {
    ($($name:literal),* $(,)?) => {
        &[$(GalleryScene {
            name: $name,
            text: include_str!(concat!("../../../../scenes/", $name, ".toml")),
        }),*]
    };
}

const GALLERY: &[GalleryScene] = scenes![
    "dam-break",
    "dam-break-2d",
    "splash",
    "sphere3d",
    "throw",
    "throw-2d",
    "ceiling",
    "honey",
    "honey-2d",
    "coil",
    "chocolate",
    "cake-topping",
    "variable-block",
    "two-liquids-2d",
    "drop",
    "drop-2d",
    "fountain",
    "tap-2d",
    "bowl",
    "obstacle-course",
    "two-jets-2d",
    "weir-2d",
    "tank-at-rest",
    "tilted-box-2d",
    "sealed-tank",
    "circle2d",
    "square2d",
    "maze2d",
    "cuboid3d",
    "two-spheres3d",
    "halfdisc2d",
    "martin-moyce",
];

/// All scenes that come with plash.
pub fn gallery() -> &'static [GalleryScene] {
    GALLERY
}

/// The text of a new scene file: a scene of the gallery under a new name, or, without `like`, a
/// small commented scene. `None` if the gallery has no such scene.
pub fn template(name: &str, like: Option<&str>) -> Option<String> {
    let text = match like {
        Some(like) => GALLERY.iter().find(|scene| scene.name == like)?.text,
        None => NEW,
    };
    // The name goes where a name stands, or before the first key.
    let named = format!("name = {}", toml::Value::String(name.to_owned()));
    let mut lines: Vec<&str> = text.lines().collect();
    match lines.iter().position(|line| line.starts_with("name =")) {
        Some(at) => lines[at] = &named,
        None => {
            let first = lines
                .iter()
                .position(|line| !line.is_empty() && !line.starts_with('#'));
            lines.insert(first.unwrap_or(lines.len()), &named);
        }
    }
    Some(lines.join("\n") + "\n")
}

const NEW: &str = r#"# A scene for plash. Lengths in metres, times in seconds. Check it with `plash check`,
# run it with `plash run`. Keys behind `#` show their defaults.

name = "scene"
size = [2.0, 1.0, 1.0]       # the domain, its lowest corner at zero; two numbers for 2D
resolution = 48              # cells along the longest side
frames = 48
# fps = 24
# up = "y"                   # or "z"
# gravity = 9.81             # downwards; or a vector
# walls = "separating"       # or "slip": liquid stays on walls and solids
# open = []                  # sides that let liquid out, as ["+x", "+y"]

# Liquid at the start: a column on the left.
[[liquid]]
box = { min = [0, 0, 0], max = [0.5, 0.6, 1] }
# velocity = [0, 0, 0]

# An obstacle in its way.
[[solid]]
sphere = { center = [1.2, 0.15, 0.5], radius = 0.15 }

# Shapes: sphere box capsule cylinder ellipsoid torus plane, combined by
# union intersect subtract, changed by shell round translate rotate scale.
#
# [[solid]]
# subtract = [
#     { box = { min = [0.8, 0, 0], max = [0.9, 0.4, 1] } },
#     { cylinder = { from = [0.7, 0.2, 0.5], to = [1.0, 0.2, 0.5], radius = 0.1 } },
# ]

# Liquid that enters, and a place where it vanishes.
#
# [[source]]
# sphere = { center = [0.2, 0.8, 0.5], radius = 0.08 }
# velocity = [1, 0, 0]
# start = 0
# end = 1.5
#
# [[drain]]
# box = { min = [1.8, 0, 0], max = [2, 0.1, 1] }

# How thick liquid is, in Pa·s: water 0.001, olive oil 0.1, honey 10. Without this table nothing
# resists its flow; a [[liquid]] or [[source]] may have a `viscosity` of its own.
#
# [viscosity]
# value = 10

# [simulation]
# transfer = "flip"          # or "pic", "apic"
# pic-blend = 0.03
# surface = "union"          # or "zhu-bridson", "marker"
# cfl = 1.0
# seed = 0

# [pressure]
# method = "auto"            # or "fas-mg", "pi-pcg", "newton" and others
# tolerance = 1e-6
"#;
