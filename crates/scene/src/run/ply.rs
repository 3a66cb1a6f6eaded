//! Particles as binary PLY, which Blender, Houdini and most viewers open.

use serde::Serialize;

use super::any::{View, both};
use super::error::Damage;

/// The bytes of a PLY file of the particles: `x y z vx vy vz` as `float`, `viscosity` as
/// `float` where particles have their own, and `id` as `uint` (the low 32 bits: PLY knows no
/// longer integers). In 2D, `z` and `vz` are 0. A value that is not a finite `float` is an error.
pub fn encode_particles_ply(view: View<'_>, frame: u64) -> Result<Vec<u8>, Damage> {
    both!(view, |_, state| {
        let particles = &state.particles;
        let viscous = !particles.viscosity.is_empty();
        let mut file = header(particles.len(), viscous, frame, state.time).into_bytes();
        file.reserve(particles.len() * 32);
        let mut finite = true;
        let each = particles.position.iter().zip(&particles.velocity);
        for (i, ((x, v), id)) in each.zip(&particles.id).enumerate() {
            let viscosity = particles.viscosity.get(i).copied();
            for value in xyz(x).into_iter().chain(xyz(v)).chain(viscosity) {
                finite &= value.is_finite();
                file.extend_from_slice(&value.to_le_bytes());
            }
            file.extend_from_slice(&(*id as u32).to_le_bytes());
        }
        if finite {
            Ok(file)
        } else {
            Err(Damage::malformed(
                "a particle's position, velocity or viscosity is not a finite number",
            ))
        }
    })
}

fn xyz<const D: usize>(vector: &[f64; D]) -> [f32; 3] {
    std::array::from_fn(|a| vector.get(a).map_or(0.0, |&value| value as f32))
}

fn header(count: usize, viscous: bool, frame: u64, time: f64) -> String {
    let mut text = format!(
        "ply\nformat binary_little_endian 1.0\ncomment plash particles, metres and seconds\n\
         comment frame {frame} time {time:?}\nelement vertex {count}\n"
    );
    let viscosity = viscous.then_some("viscosity");
    for name in ["x", "y", "z", "vx", "vy", "vz"]
        .into_iter()
        .chain(viscosity)
    {
        text.push_str(&format!("property float {name}\n"));
    }
    text.push_str("property uint id\nend_header\n");
    text
}

/// What the header of a PLY file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlyInfo {
    /// `ascii`, `binary_little_endian` or `binary_big_endian`.
    pub format: String,
    /// Comments.
    pub comments: Vec<String>,
    /// What the file lists, in order.
    pub elements: Vec<PlyElement>,
}

/// One kind of thing in a PLY file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlyElement {
    /// `vertex`, `face`, …
    pub name: String,
    /// How many.
    pub count: u64,
    /// Property names.
    pub properties: Vec<String>,
    /// Bytes of one, or `None` if that varies.
    #[serde(skip)]
    bytes: Option<u64>,
}

/// Reads the header of a PLY file and checks that the body is as long as it says, as far as
/// the header tells.
pub fn ply_info(file: &[u8]) -> Result<PlyInfo, Damage> {
    let end = b"end_header\n";
    let length = file
        .windows(end.len())
        // Headers are short: do not scan a large file that has none.
        .take(1 << 16)
        .position(|window| window == end)
        .ok_or(Damage::WrongKind {
            expected: "PLY file",
        })?;
    let text = std::str::from_utf8(&file[..length])
        .map_err(|_| Damage::malformed("the PLY header is not text"))?;
    let info = parse_header(text)?;
    let body = (file.len() - length - end.len()) as u64;
    let fixed = info
        .elements
        .iter()
        .filter_map(|e| e.count.checked_mul(e.bytes?));
    let least = fixed.fold(0_u64, u64::saturating_add);
    let exact = info.elements.iter().all(|e| e.bytes.is_some());
    if info.format != "ascii" && (body < least || (exact && body > least)) {
        return Err(Damage::Length {
            expected: least,
            found: body,
        });
    }
    Ok(info)
}

fn parse_header(text: &str) -> Result<PlyInfo, Damage> {
    let bad = |line: &str| Damage::malformed(format!("the PLY header holds {line:?}"));
    let mut lines = text.lines();
    if lines.next() != Some("ply") {
        return Err(Damage::WrongKind {
            expected: "PLY file",
        });
    }
    let mut info = PlyInfo {
        format: String::new(),
        comments: vec![],
        elements: vec![],
    };
    for line in lines {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words[..] {
            ["format", format, _] => info.format = format.to_string(),
            ["comment", ..] => info
                .comments
                .push(line["comment".len()..].trim().to_string()),
            ["element", name, count] => info.elements.push(PlyElement {
                name: name.to_string(),
                count: count.parse().map_err(|_| bad(line))?,
                properties: vec![],
                bytes: Some(0),
            }),
            ["property", "list", _, _, name] => {
                let element = info.elements.last_mut().ok_or_else(|| bad(line))?;
                element.properties.push(name.to_string());
                element.bytes = None;
            }
            ["property", kind, name] => {
                let element = info.elements.last_mut().ok_or_else(|| bad(line))?;
                element.properties.push(name.to_string());
                let size = scalar_bytes(kind).ok_or_else(|| bad(line))?;
                element.bytes = element.bytes.map(|bytes| bytes + size);
            }
            _ => return Err(bad(line)),
        }
    }
    Ok(info)
}

fn scalar_bytes(kind: &str) -> Option<u64> {
    Some(match kind {
        "char" | "uchar" | "int8" | "uint8" => 1,
        "short" | "ushort" | "int16" | "uint16" => 2,
        "int" | "uint" | "int32" | "uint32" | "float" | "float32" => 4,
        "double" | "float64" => 8,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::samples;

    #[test]
    fn header_size_and_values_agree() {
        let setup = samples::setup3();
        let state = samples::state3(&setup, 20, false);
        let file = encode_particles_ply(View::D3(&setup, &state), 7).unwrap();
        let info = ply_info(&file).unwrap();
        assert_eq!(info.elements.len(), 1);
        assert_eq!(info.elements[0].count, 20);
        assert_eq!(
            info.elements[0].properties,
            ["x", "y", "z", "vx", "vy", "vz", "id"]
        );
        assert_eq!(info.comments[1], "frame 7 time 0.3333333333333333");
        let body = &file[file.len() - 20 * 28..];
        let float = |at: usize| f32::from_le_bytes(body[at..at + 4].try_into().unwrap());
        assert_eq!(float(28), state.particles.position[1][0] as f32);
        assert_eq!(float(28 + 20), state.particles.velocity[1][2] as f32);
        assert_eq!(body[52..56], (state.particles.id[1] as u32).to_le_bytes());
    }

    #[test]
    fn viscosities_follow_velocities_where_particles_have_them() {
        let setup = samples::setup2();
        let state = samples::viscous(&setup, samples::state2(&setup, 20, false));
        let file = encode_particles_ply(View::D2(&setup, &state), 7).unwrap();
        let properties = &ply_info(&file).unwrap().elements[0].properties;
        assert_eq!(properties[5..], ["vz", "viscosity", "id"]);
        let body = &file[file.len() - 20 * 32..];
        let mu = state.particles.viscosity[3];
        assert_eq!(body[3 * 32 + 24..3 * 32 + 28], mu.to_le_bytes());
    }

    #[test]
    fn flat_particles_lie_at_z_0() {
        let setup = samples::setup2();
        let state = samples::state2(&setup, 1, false);
        let file = encode_particles_ply(View::D2(&setup, &state), 1).unwrap();
        let body = &file[file.len() - 28..];
        assert_eq!(body[8..12], [0; 4]);
        assert_eq!(body[20..24], [0; 4]);
    }

    #[test]
    fn a_cut_file_and_a_bad_header_are_found() {
        let setup = samples::setup2();
        let state = samples::state2(&setup, 9, false);
        let file = encode_particles_ply(View::D2(&setup, &state), 1).unwrap();
        for length in 0..file.len() {
            assert!(ply_info(&file[..length]).is_err());
        }
        for bad in [
            "ply\nproperty float x\nend_header\n",
            "ply\nelement v -1\nend_header\n",
        ] {
            assert!(ply_info(bad.as_bytes()).is_err());
        }
    }

    #[test]
    fn meshes_with_lists_are_understood() {
        let mesh = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\n\
                    element face 1\nproperty list uchar int vertex_indices\nend_header\n";
        let info = ply_info(mesh.as_bytes()).unwrap();
        assert_eq!(info.elements[1].properties, ["vertex_indices"]);
    }
}
