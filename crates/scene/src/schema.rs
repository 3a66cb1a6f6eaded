//! Every key a scene file may have: the one list that suggestions, documentation and tests use.

/// A key of the scene format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Key {
    /// The table it belongs to: empty at the top, else `liquid`, `pressure`, `sphere`...
    pub section: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it holds, in words.
    pub value: &'static str,
    /// What holds when it is left out; `required` if it may not be.
    pub default: &'static str,
    /// What it means.
    pub about: &'static str,
}

const fn key(
    section: &'static str,
    name: &'static str,
    value: &'static str,
    default: &'static str,
    about: &'static str,
) -> Key {
    Key {
        section,
        name,
        value,
        default,
        about,
    }
}

/// Shape keys: an entry or a shape table holds exactly one of them.
pub const SHAPES: [&str; 15] = [
    "sphere",
    "box",
    "capsule",
    "cylinder",
    "ellipsoid",
    "torus",
    "plane",
    "union",
    "intersect",
    "subtract",
    "shell",
    "round",
    "translate",
    "rotate",
    "scale",
];

/// Every key but the shape keys themselves ([`SHAPES`]), table by table.
pub const KEYS: &[Key] = &[
    key(
        "",
        "name",
        "text",
        "the file's name",
        "name of the run and of its files",
    ),
    key(
        "",
        "dimension",
        "2 or 3",
        "as many as `size` has numbers",
        "plane or space",
    ),
    key("", "size", "vector, m", "required", "size of the domain"),
    key(
        "",
        "origin",
        "vector, m",
        "zero",
        "lowest corner of the domain",
    ),
    key(
        "",
        "resolution",
        "whole number",
        "64",
        "cells along the longest side",
    ),
    key("", "up", "\"y\" or \"z\"", "\"y\"", "which axis points up"),
    key("", "frames", "whole number", "48", "frames to simulate"),
    key(
        "",
        "fps",
        "number",
        "24",
        "frames per second of simulated time",
    ),
    key(
        "",
        "gravity",
        "number or vector, m/s²",
        "9.81",
        "downwards if a number",
    ),
    key("", "density", "number, kg/m³", "1000", "of the liquid"),
    key(
        "",
        "walls",
        "\"separating\" or \"slip\"",
        "\"separating\"",
        "how liquid meets walls and solids",
    ),
    key(
        "",
        "slip",
        "list of sides",
        "[]",
        "sides of the domain that hold liquid, whatever `walls` says",
    ),
    key(
        "",
        "open",
        "list of sides",
        "[]",
        "sides of the domain that let liquid out",
    ),
    key(
        "",
        "liquid",
        "[[liquid]] entries",
        "none",
        "liquid at the start",
    ),
    key(
        "",
        "source",
        "[[source]] entries",
        "none",
        "places where liquid enters",
    ),
    key(
        "",
        "drain",
        "[[drain]] entries",
        "none",
        "places where liquid vanishes",
    ),
    key("", "solid", "[[solid]] entries", "none", "obstacles"),
    key(
        "",
        "simulation",
        "[simulation] table",
        "defaults",
        "methods",
    ),
    key(
        "",
        "pressure",
        "[pressure] table",
        "defaults",
        "pressure solver",
    ),
    key(
        "",
        "viscosity",
        "[viscosity] table",
        "no viscosity",
        "how thick the liquid is, and the solver",
    ),
    key("", "output", "[output] table", "defaults", "files to write"),
    key("", "render", "[render] table", "defaults", "pictures"),
    key("liquid", "velocity", "vector, m/s", "zero", "at the start"),
    key(
        "liquid",
        "viscosity",
        "number, Pa·s, or a grading",
        "as in [viscosity]",
        "how thick it is",
    ),
    key(
        "source",
        "velocity",
        "vector, m/s",
        "zero",
        "of the liquid that enters, relative to the source",
    ),
    key(
        "source",
        "viscosity",
        "number, Pa·s, or a grading",
        "as in [viscosity]",
        "of the liquid that enters",
    ),
    key("source", "start", "number, s", "0", "when it begins"),
    key("source", "end", "number, s", "never", "when it ends"),
    key(
        "source",
        "path",
        "list of waypoints",
        "it stays",
        "how it moves",
    ),
    key("drain", "start", "number, s", "0", "when it begins"),
    key("drain", "end", "number, s", "never", "when it ends"),
    key(
        "solid",
        "walls",
        "\"separating\" or \"slip\"",
        "as at the top",
        "how liquid meets this solid",
    ),
    key(
        "solid",
        "separation-velocity",
        "number, m/s",
        "0",
        "speed at which a separating solid sends liquid away",
    ),
    key(
        "simulation",
        "transfer",
        "\"flip\", \"pic\" or \"apic\"",
        "\"flip\", or \"apic\" if some liquid is viscous",
        "between particles and grid",
    ),
    key(
        "simulation",
        "pic-blend",
        "0 to 1",
        "0.03",
        "share of PIC in FLIP",
    ),
    key(
        "simulation",
        "surface",
        "\"union\", \"zhu-bridson\" or \"marker\"",
        "\"union\"",
        "how the surface is found",
    ),
    key(
        "simulation",
        "cfl",
        "0.1 to 10",
        "1",
        "cells a particle may cross in a substep, gravity aside",
    ),
    key(
        "simulation",
        "seed",
        "whole number",
        "0",
        "of every random choice",
    ),
    key(
        "simulation",
        "reseed",
        "true or false",
        "true",
        "even out particles",
    ),
    key(
        "simulation",
        "density-correction",
        "true or false",
        "true",
        "hold the volume",
    ),
    key(
        "pressure",
        "method",
        "a name from the list below",
        "\"auto\"",
        "the solver",
    ),
    key(
        "pressure",
        "sub-solver",
        "\"pcg\", \"gmres\", \"bicgstab\" or \"cr\"",
        "\"pcg\"",
        "of `newton`",
    ),
    key(
        "pressure",
        "tolerance",
        "1e-14 to 0.1",
        "1e-6",
        "remaining divergence, relative",
    ),
    key(
        "pressure",
        "max-iterations",
        "1 to 1000000",
        "2000",
        "iterations or cycles",
    ),
    key(
        "pressure",
        "cycle",
        "\"v\" or \"full\"",
        "\"full\"",
        "of `mg`",
    ),
    key(
        "pressure",
        "sweeps",
        "1 to 100",
        "10",
        "of `mg`, before and after a correction",
    ),
    key(
        "pressure",
        "full-cycles",
        "0 to 100",
        "4",
        "of `mg`, before V-cycles",
    ),
    key(
        "viscosity",
        "value",
        "0 to 1e9, Pa·s",
        "0",
        "of liquids and sources that do not say",
    ),
    key(
        "viscosity",
        "method",
        "\"mgpcg\", \"pcg-ic\" or \"pcg-jacobi\"",
        "\"mgpcg\"",
        "the solver",
    ),
    key(
        "viscosity",
        "smoother",
        "a name from the list below",
        "\"chebyshev\"",
        "of `mgpcg`",
    ),
    key(
        "viscosity",
        "tolerance",
        "1e-12 to 0.1",
        "1e-4",
        "remaining residual, relative to the largest momentum",
    ),
    key(
        "viscosity",
        "max-iterations",
        "1 to 1000000",
        "1000",
        "iterations",
    ),
    key(
        "output",
        "particles",
        "true or false",
        "true",
        "PLY particles",
    ),
    key(
        "output",
        "surface",
        "true or false",
        "true",
        "PLY surface mesh",
    ),
    key(
        "output",
        "cache",
        "true or false",
        "true",
        "compact native frames",
    ),
    key(
        "output",
        "images",
        "true or false",
        "false",
        "PNG stills as it runs; `plash render` draws them afterwards",
    ),
    key(
        "render",
        "size",
        "[width, height]",
        "[1280, 720]",
        "of pictures, pixels",
    ),
    key(
        "render",
        "eye",
        "vector, m",
        "chosen",
        "where the camera stands (3D)",
    ),
    key(
        "render",
        "target",
        "vector, m",
        "middle of the domain",
        "what it looks at (3D)",
    ),
    key(
        "render",
        "fov",
        "1 to 170",
        "35",
        "vertical field of view, degrees (3D)",
    ),
    key(
        "render",
        "color",
        "[red, green, blue]",
        "blue",
        "of the liquid, each 0 to 255",
    ),
    key(
        "render",
        "opacity",
        "0 to 1",
        "0",
        "0 is clear as water, 1 hides what is behind (3D)",
    ),
    key("sphere", "center", "vector, m", "required", "centre"),
    key("sphere", "radius", "number, m", "required", "radius"),
    key("box", "min", "vector, m", "or `center`", "lowest corner"),
    key("box", "max", "vector, m", "or `size`", "highest corner"),
    key("box", "center", "vector, m", "or `min`", "centre"),
    key("box", "size", "vector, m", "or `max`", "edge lengths"),
    key("capsule", "from", "vector, m", "required", "one end"),
    key("capsule", "to", "vector, m", "required", "the other end"),
    key("capsule", "radius", "number, m", "required", "radius"),
    key(
        "cylinder",
        "from",
        "vector, m",
        "required",
        "centre of one cap",
    ),
    key(
        "cylinder",
        "to",
        "vector, m",
        "required",
        "centre of the other",
    ),
    key("cylinder", "radius", "number, m", "required", "radius"),
    key("ellipsoid", "center", "vector, m", "required", "centre"),
    key("ellipsoid", "radii", "vector, m", "required", "half-axes"),
    key(
        "torus",
        "center",
        "vector, m",
        "required",
        "centre of the ring",
    ),
    key("torus", "axis", "vector", "up", "axis of revolution"),
    key(
        "torus",
        "major",
        "number, m",
        "required",
        "radius of the ring",
    ),
    key(
        "torus",
        "minor",
        "number, m",
        "required",
        "radius of the tube",
    ),
    key("plane", "point", "vector, m", "required", "a point on it"),
    key("plane", "normal", "vector", "up", "points out of the shape"),
    key("shell", "thickness", "number, m", "required", "of the wall"),
    key(
        "shell",
        "shape",
        "a shape",
        "required",
        "whose surface is kept",
    ),
    key(
        "round",
        "radius",
        "number, m",
        "required",
        "how far the shape grows",
    ),
    key("round", "shape", "a shape", "required", "that grows"),
    key("translate", "by", "vector, m", "required", "the move"),
    key("translate", "shape", "a shape", "required", "that moves"),
    key(
        "rotate",
        "angle",
        "number, degrees",
        "required",
        "counter-clockwise",
    ),
    key("rotate", "axis", "vector", "up", "3D only"),
    key(
        "rotate",
        "about",
        "vector, m",
        "the shape's middle",
        "the fixed point",
    ),
    key("rotate", "shape", "a shape", "required", "that turns"),
    key("scale", "factor", "number", "required", "alike on all axes"),
    key(
        "scale",
        "about",
        "vector, m",
        "the shape's middle",
        "the fixed point",
    ),
    key("scale", "shape", "a shape", "required", "that is scaled"),
    key(
        "grading",
        "axis",
        "\"x\", \"y\" or \"z\"",
        "required",
        "along which it changes",
    ),
    key(
        "grading",
        "from",
        "0 to 1e9, Pa·s",
        "required",
        "viscosity at the first place",
    ),
    key(
        "grading",
        "to",
        "0 to 1e9, Pa·s",
        "required",
        "viscosity at the second",
    ),
    key(
        "grading",
        "between",
        "two numbers, m",
        "the ends of the shape",
        "the places",
    ),
    key(
        "grading",
        "scale",
        "\"linear\" or \"log\"",
        "\"linear\"",
        "by equal differences or by equal ratios",
    ),
    key(
        "waypoint",
        "time",
        "number, s",
        "required",
        "when it is there",
    ),
    key(
        "waypoint",
        "offset",
        "vector, m",
        "required",
        "how far it then is from where its shape says",
    ),
];

/// Words from other programs, and what they are called here.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("fluid", "liquid"),
    ("fluids", "liquid"),
    ("water", "liquid"),
    ("obstacle", "solid"),
    ("effector", "solid"),
    ("collider", "solid"),
    ("inflow", "source"),
    ("emitter", "source"),
    ("outflow", "drain"),
    ("sink", "drain"),
    ("res", "resolution"),
    ("dx", "resolution"),
    ("cells", "resolution"),
    ("domain", "size"),
    ("ball", "sphere"),
    ("circle", "sphere"),
    ("disc", "sphere"),
    ("disk", "sphere"),
    ("cube", "box"),
    ("cuboid", "box"),
    ("rectangle", "box"),
    ("ellipse", "ellipsoid"),
    ("ring", "torus"),
    ("half-space", "plane"),
    ("intersection", "intersect"),
    ("difference", "subtract"),
    ("offset", "round"),
    ("move", "translate"),
    ("turn", "rotate"),
    ("solver", "method"),
    ("tol", "tolerance"),
    ("max-iter", "max-iterations"),
    ("camera", "eye"),
    ("look-at", "target"),
    ("degrees", "angle"),
    ("r", "radius"),
    ("position", "center"),
    ("duration", "frames"),
    ("mu", "viscosity"),
    ("keyframes", "path"),
    ("thickness", "viscosity"),
    ("mesh", "surface"),
];

/// What a key that means nothing here might have meant.
pub(crate) fn suggest(key: &str, known: &[&'static str], path: &str) -> String {
    let word = key.to_lowercase().replace('_', "-");
    let other = OTHER_WORDS.iter().find(|(theirs, _)| *theirs == word);
    let other = other.map(|(_, ours)| *ours);
    let is_thickness = other.unwrap_or(&word) == "viscosity";
    let other = other.filter(|ours| known.contains(ours));
    if let Some(name) = other.or_else(|| nearest(key, known)) {
        return format!("did you mean `{name}`?");
    }
    let section = section_of(path);
    if is_thickness {
        return if known.contains(&"value") {
            "did you mean `value`?".to_owned()
        } else {
            "a viscosity belongs in a [[liquid]] or [[source]], or is the `value` of [viscosity]"
                .to_owned()
        };
    }
    let home = KEYS.iter().find(|k| k.name == word && k.section != section);
    match home.map(|k| k.section) {
        Some("") => format!("`{word}` belongs at the top of the file, before the first [table]"),
        Some(home) if SHAPES.contains(&home) => {
            format!("`{word}` belongs in a shape: {home} = {{ {word} = ... }}")
        }
        Some("grading") => {
            format!("`{word}` belongs in a graded viscosity: viscosity = {{ {word} = ... }}")
        }
        Some("waypoint") => format!("`{word}` belongs in a path: path = [{{ {word} = ... }}]"),
        Some(home) => format!("`{word}` belongs in [{home}]"),
        None => format!("known here: {}", quoted_list(known)),
    }
}

/// The table a dotted path leads to, without the numbers of list items.
fn section_of(path: &str) -> &str {
    let named = path.rsplit('.').find(|part| part.parse::<u64>().is_err());
    named.unwrap_or("")
}

/// `a`, `b` or `c`.
pub(crate) fn quoted_list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => "nothing".to_owned(),
    }
}

/// The known name closest to a misspelt one, if any is close: at most a third of its letters
/// may be wrong.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let name: Vec<char> = name
        .to_lowercase()
        .replace('_', "-")
        .chars()
        .take(40)
        .collect();
    let allowed = (name.len() / 3).max(1);
    let measured = known.iter().map(|k| (edit_distance(&name, k), *k));
    // The first of equals: the order of the list is the order of likelihood.
    let best = measured.min_by_key(|(distance, _)| *distance)?;
    (best.0 <= allowed && best.0 < name.len()).then_some(best.1)
}

/// Letters to insert, delete, replace or swap with a neighbour (optimal string alignment).
fn edit_distance(a: &[char], b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut now = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            now[j] = replace.min(last[j] + 1).min(now[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                now[j] = now[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, now);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(a: &str, b: &str) -> usize {
        edit_distance(&a.chars().collect::<Vec<_>>(), b)
    }

    #[test]
    fn edit_distance_counts_swaps_as_one() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("resolution", "resolution"), 0);
        assert_eq!(distance("reoslution", "resolution"), 1);
        assert_eq!(distance("velocty", "velocity"), 1);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn misspellings_find_their_key_and_nonsense_finds_none() {
        let known = ["tolerance", "method", "max-iterations"];
        assert_eq!(nearest("tolerence", &known), Some("tolerance"));
        assert_eq!(nearest("max_iterations", &known), Some("max-iterations"));
        assert_eq!(nearest("Method", &known), Some("method"));
        assert_eq!(nearest("xyz", &known), None);
        assert_eq!(nearest("", &known), None);
    }

    #[test]
    fn a_key_in_the_wrong_table_is_sent_home() {
        let help = suggest("tolerance", &["size", "frames"], "");
        assert_eq!(help, "`tolerance` belongs in [pressure]");
        let help = suggest("fps", &["method", "tolerance"], "pressure");
        assert!(help.contains("top of the file"), "{help}");
    }

    #[test]
    fn a_viscosity_is_sent_to_one_of_its_three_places() {
        for word in ["viscosity", "mu", "thickness"] {
            let help = suggest(word, &["value", "method"], "viscosity");
            assert_eq!(help, "did you mean `value`?");
            let help = suggest(word, &["cfl", "seed"], "simulation");
            assert!(help.contains("[[liquid]]") && help.contains("`value` of [viscosity]"));
            assert!(!help.contains("top of the file"), "{help}");
            let help = suggest(word, &["velocity", "viscosity"], "liquid.0");
            assert_eq!(help, "did you mean `viscosity`?");
        }
        // A grading is no table of settings.
        let help = suggest("viscosity", &["axis", "from", "to"], "liquid.0.viscosity");
        assert!(help.contains("[[liquid]]"), "{help}");
    }

    #[test]
    fn words_of_other_programs_are_translated() {
        assert_eq!(suggest("fluid", &["liquid"], ""), "did you mean `liquid`?");
        assert_eq!(suggest("Inflow", &["source"], ""), "did you mean `source`?");
    }

    #[test]
    fn no_key_is_listed_twice() {
        for (i, a) in KEYS.iter().enumerate() {
            for b in &KEYS[i + 1..] {
                assert!((a.section, a.name) != (b.section, b.name), "{a:?}");
            }
        }
    }
}
