//! What was meant by a key or a word that is not known.

use super::{KEYS, SHAPES};

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
}
