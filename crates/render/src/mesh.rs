//! Triangle meshes: volume, PLY files, spheres.

use std::collections::BTreeMap;
use std::io::Write;

use crate::error::RenderError;

/// A triangle mesh with a normal at each vertex; triangles turn anticlockwise seen from outside.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Vertex positions, in the scene's unit of length.
    pub positions: Vec<[f32; 3]>,
    /// Unit normals, one per vertex, pointing outwards.
    pub normals: Vec<[f32; 3]>,
    /// Vertex indices.
    pub triangles: Vec<[u32; 3]>,
}

impl Mesh {
    /// The enclosed volume by the divergence theorem, `V = ⅙ Σ a·(b × c)`, for a closed mesh.
    pub fn volume(&self) -> f64 {
        // Measured from a vertex, not the far origin, to spare f32 positions any cancellation.
        let Some(origin) = self.positions.first().map(|p| p.map(f64::from)) else {
            return 0.0;
        };
        let corner = |v: u32| -> [f64; 3] {
            let p = self.positions[v as usize];
            std::array::from_fn(|a| f64::from(p[a]) - origin[a])
        };
        let six: f64 = self
            .triangles
            .iter()
            .map(|t| {
                let [a, b, c] = t.map(corner);
                a[0] * (b[1] * c[2] - b[2] * c[1])
                    + a[1] * (b[2] * c[0] - b[0] * c[2])
                    + a[2] * (b[0] * c[1] - b[1] * c[0])
            })
            .sum();
        six / 6.0
    }

    /// Does every edge belong to exactly two triangles that run along it in opposite directions?
    pub fn is_closed(&self) -> bool {
        let mut edges: BTreeMap<(u32, u32), (u32, u32)> = BTreeMap::new();
        for t in &self.triangles {
            for (a, b) in [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])] {
                let uses = edges.entry((a.min(b), a.max(b))).or_default();
                if a < b { uses.0 += 1 } else { uses.1 += 1 }
            }
        }
        edges.values().all(|uses| *uses == (1, 1))
    }

    /// Refuse normals without vertices and triangles that name vertices beyond the last.
    pub(crate) fn check(&self) -> Result<(), RenderError> {
        let expected = self.positions.len();
        if self.normals.len() != expected {
            return Err(RenderError::Mismatch {
                what: "mesh normals",
                expected,
                found: self.normals.len(),
            });
        }
        match self.triangles.iter().flatten().max() {
            Some(&last) if last as usize >= expected => Err(RenderError::Mismatch {
                what: "mesh vertices",
                expected: last as usize + 1,
                found: expected,
            }),
            _ => Ok(()),
        }
    }

    /// Add another mesh's vertices and triangles.
    pub fn append(&mut self, other: &Mesh) {
        let first = self.positions.len() as u32;
        self.positions.extend_from_slice(&other.positions);
        self.normals.extend_from_slice(&other.normals);
        self.triangles
            .extend(other.triangles.iter().map(|t| t.map(|v| v + first)));
    }

    /// Average each normal with its neighbours' a few times, not across creases.
    ///
    /// Particles are disordered, so the surface has ripples as small as the lattice; light shows
    /// them far more than their volume deserves. Only normals change.
    pub fn smooth_normals(&mut self, passes: usize) {
        const CREASE: f32 = 0.6;
        let dot = |a: [f32; 3], b: [f32; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        for _ in 0..passes {
            let old = self.normals.clone();
            let mut sums: Vec<[f32; 3]> = old.iter().map(|n| n.map(|x| 2.0 * x)).collect();
            for t in &self.triangles {
                for (a, b) in [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])]
                    .map(|(a, b)| (a as usize, b as usize))
                {
                    // In a closed mesh the other triangle of this edge does the same for `b`.
                    if dot(old[a], old[b]) > CREASE {
                        (0..3).for_each(|i| sums[a][i] += old[b][i]);
                    }
                }
            }
            self.normals = sums;
            for n in &mut self.normals {
                let length = dot(*n, *n).sqrt().max(f32::MIN_POSITIVE);
                *n = n.map(|x| x / length);
            }
        }
    }

    /// Smallest box around the vertices, if there are any.
    pub fn bounds(&self) -> Option<[[f32; 3]; 2]> {
        let first = *self.positions.first()?;
        Some(self.positions.iter().fold([first, first], |[lo, hi], p| {
            [
                std::array::from_fn(|a| lo[a].min(p[a])),
                std::array::from_fn(|a| hi[a].max(p[a])),
            ]
        }))
    }

    /// A binary little-endian PLY file with normals.
    pub fn to_ply(&self) -> Vec<u8> {
        let mut bytes = format!(
            "ply\nformat binary_little_endian 1.0\nelement vertex {}\n{}element face {}\n\
             property list uchar int vertex_indices\nend_header\n",
            self.positions.len(),
            ["x", "y", "z", "nx", "ny", "nz"]
                .map(|name| format!("property float {name}\n"))
                .concat(),
            self.triangles.len()
        )
        .into_bytes();
        bytes.reserve(24 * self.positions.len() + 13 * self.triangles.len());
        for (position, normal) in self.positions.iter().zip(&self.normals) {
            for x in position.iter().chain(normal) {
                bytes.extend_from_slice(&x.to_le_bytes());
            }
        }
        for triangle in &self.triangles {
            bytes.push(3);
            for v in triangle {
                bytes.extend_from_slice(&v.to_le_bytes());
            }
        }
        bytes
    }

    /// Write [`Mesh::to_ply`] to a writer.
    pub fn write_ply(&self, mut writer: impl Write) -> Result<(), RenderError> {
        Ok(writer.write_all(&self.to_ply())?)
    }

    /// A ball: an icosahedron split `splits` times, sized so that its own volume is 1 and centred
    /// on the origin.
    pub fn unit_ball(splits: usize) -> Mesh {
        let mut ball = icosahedron();
        for _ in 0..splits {
            ball = split(&ball);
        }
        ball.normals = ball.positions.clone();
        let size = ball.volume().cbrt().recip() as f32;
        ball.positions.iter_mut().flatten().for_each(|x| *x *= size);
        ball
    }

    /// Add `shape` scaled by `size` and moved to `centre`.
    pub(crate) fn append_scaled(&mut self, shape: &Mesh, centre: [f64; 3], size: f64) {
        let first = self.positions.len() as u32;
        let place =
            |p: &[f32; 3]| std::array::from_fn(|a| (centre[a] + f64::from(p[a]) * size) as f32);
        self.positions.extend(shape.positions.iter().map(place));
        self.normals.extend_from_slice(&shape.normals);
        self.triangles
            .extend(shape.triangles.iter().map(|t| t.map(|v| v + first)));
    }
}

/// The icosahedron on the unit sphere.
fn icosahedron() -> Mesh {
    let golden = f32::midpoint(1.0, 5f32.sqrt());
    let length = golden.hypot(1.0);
    let (short, long) = (1.0 / length, golden / length);
    let mut positions = Vec::new();
    for axis in 0..3 {
        for (s, l) in [(-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)] {
            let mut p = [0.0; 3];
            p[(axis + 1) % 3] = s * short;
            p[(axis + 2) % 3] = l * long;
            positions.push(p);
        }
    }
    // A face is any three vertices an edge (twice `short`) apart; turn each one outwards.
    let near = |a: usize, b: usize| {
        let d2: f32 = (0..3)
            .map(|i| (positions[a][i] - positions[b][i]).powi(2))
            .sum();
        d2 < 4.1 * short * short
    };
    let mut triangles = Vec::new();
    for a in 0..12 {
        for b in a + 1..12 {
            for c in b + 1..12 {
                if near(a, b) && near(b, c) && near(a, c) {
                    let mut face = Mesh {
                        positions: vec![[0.0; 3]; 1],
                        ..Mesh::default()
                    };
                    face.positions
                        .extend([positions[a], positions[b], positions[c]]);
                    face.triangles.push([1, 2, 3]);
                    let (b, c) = if face.volume() > 0.0 { (b, c) } else { (c, b) };
                    triangles.push([a as u32, b as u32, c as u32]);
                }
            }
        }
    }
    Mesh {
        positions,
        normals: Vec::new(),
        triangles,
    }
}

/// Every triangle into four, new vertices pushed out to the unit sphere.
fn split(mesh: &Mesh) -> Mesh {
    let mut positions = mesh.positions.clone();
    let mut middles: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let mut triangles = Vec::new();
    for &[a, b, c] in &mesh.triangles {
        let [ab, bc, ca] = [(a, b), (b, c), (c, a)].map(|(a, b)| {
            *middles.entry((a.min(b), a.max(b))).or_insert_with(|| {
                let (p, q) = (positions[a as usize], positions[b as usize]);
                let sum: [f32; 3] = std::array::from_fn(|i| p[i] + q[i]);
                let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
                positions.push(sum.map(|x| x / length));
                positions.len() as u32 - 1
            })
        });
        triangles.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
    }
    Mesh {
        positions,
        normals: Vec::new(),
        triangles,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balls_are_closed_and_hold_one() {
        for splits in 0..3 {
            let ball = Mesh::unit_ball(splits);
            assert_eq!(ball.triangles.len(), 20 * 4usize.pow(splits as u32));
            assert!(ball.is_closed());
            assert!((ball.volume() - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn a_missing_triangle_is_a_hole() {
        let mut ball = Mesh::unit_ball(1);
        ball.triangles.pop();
        assert!(!ball.is_closed());
    }

    #[test]
    fn ply_has_the_size_its_header_promises() {
        let ball = Mesh::unit_ball(0);
        let ply = ball.to_ply();
        let header = b"end_header\n";
        let start = ply.windows(header.len()).position(|w| w == header).unwrap() + header.len();
        assert_eq!(ply.len() - start, 12 * 24 + 20 * 13);
    }

    #[test]
    fn an_empty_mesh_has_no_volume_or_bounds() {
        assert_eq!(Mesh::default().volume(), 0.0);
        assert!(Mesh::default().bounds().is_none());
        assert!(Mesh::default().is_closed());
    }
}
