//! Marching cubes over sparse blocks.
//!
//! The case tables are Lengyel's, from the crate `transvoxel-data`: tables are where such code
//! goes wrong, and these leave no hole and no edge with other than two triangles even on random
//! signs. The walk over blocks is ours because the extractors on offer do not fit sparse fields
//! with walls: `isosurface` (an alpha, dense, unit cube) and `mcubes` (dense, vertices not shared),
//! `marching-cubes` (loose triangles), `transvoxel` (shares vertices inside one block only),
//! `fast-surface-nets` (not manifold where sheets touch), and `splashsurf_lib` (the same quality of
//! table, but 82 packages and hash maps for a field that we hold in blocks).

use rayon::prelude::*;
use transvoxel_data::regular_cell_data::{
    REGULAR_CELL_CLASS, REGULAR_CELL_DATA, REGULAR_VERTEX_DATA,
};

use crate::field::ISO;
use crate::lattice::{EMPTY, Lattice, SIDE, box_points, local_at};
use crate::mesh::Mesh;

/// Nodes of a patch along an axis: a block, one node before it and two after.
const PATCH: usize = SIDE + 3;
/// Keeps vertices this far (in lattice edges) from nodes, so that no triangle collapses.
const LEAST_STEP: f32 = 0.01;

/// Two fields at the nodes of a block and around it.
///
/// A node is inside where `occupancy > ½` and `wall > 0`. Keeping both apart lets a vertex next to a
/// wall fall exactly on the wall, so caps are flat.
pub(crate) struct Patch {
    occupancy: Vec<f32>,
    wall: Vec<f32>,
}

impl Patch {
    /// Fill from a function of the node; nodes before the lattice are outside.
    pub fn fill(low: [usize; 3], value: impl Fn([usize; 3]) -> (f32, f32)) -> Self {
        let count = PATCH * PATCH * PATCH;
        let mut patch = Self {
            occupancy: Vec::with_capacity(count),
            wall: Vec::with_capacity(count),
        };
        for i in box_points(low, low.map(|l| l + PATCH)) {
            let (occupancy, wall) = match i {
                [0, _, _] | [_, 0, _] | [_, _, 0] => (0.0, -f32::MAX),
                [x, y, z] => value([x - 1, y - 1, z - 1]),
            };
            patch.occupancy.push(occupancy);
            patch.wall.push(wall);
        }
        patch
    }

    fn inside(&self, node: usize) -> bool {
        self.occupancy[node] > ISO && self.wall[node] > 0.0
    }

    /// Where along the edge from an inside node `a` to an outside node `b` the liquid ends, and
    /// whether a wall ends it.
    ///
    /// Inside a wall the occupancy rests on a sliver of open space and means little: liquid next
    /// to a wall reaches it.
    fn crossing(&self, a: usize, b: usize) -> (f32, bool) {
        let at_wall = self.wall[b] <= 0.0;
        let (field, iso) = if at_wall {
            (&self.wall, 0.0)
        } else {
            (&self.occupancy, ISO)
        };
        let t = (field[a] - iso) / (field[a] - field[b]);
        // A node deep in the open or in a solid has no true distance, only a placeholder.
        let t = if t.is_finite() { t } else { 0.5 };
        (t.clamp(LEAST_STEP, 1.0 - LEAST_STEP), at_wall)
    }

    /// The outward direction at a node: minus the central difference of a field.
    fn outward(field: &[f32], node: usize) -> [f32; 3] {
        [1, PATCH, PATCH * PATCH].map(|stride| {
            // Distances far from walls are huge placeholders; differences of them mean nothing.
            let bound = |value: f32| value.clamp(-1e6, 1e6);
            bound(field[node - stride]) - bound(field[node + stride])
        })
    }
}

fn patch_index([x, y, z]: [usize; 3]) -> usize {
    (x + 1) + PATCH * ((y + 1) + PATCH * (z + 1))
}

/// Vertices and triangles that one block owns.
struct Part {
    block: usize,
    patch: Patch,
    positions: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
    /// Vertex number (within the block) of edge `3·node + axis`, or [`EMPTY`].
    edges: Vec<u32>,
}

/// The closed surface of the nodes inside, over `blocks` of a lattice.
///
/// Every lattice edge with an end inside must start in one of `blocks`.
pub(crate) fn polygonise(
    lattice: &Lattice<3>,
    blocks: &[u32],
    patch: impl Fn(usize) -> Patch + Sync,
) -> Mesh {
    let parts: Vec<Part> = blocks
        .par_iter()
        .filter_map(|&block| vertices(lattice, block as usize, patch(block as usize)))
        .collect();
    let mut table = vec![EMPTY; lattice.block_count()];
    let mut starts = Vec::with_capacity(parts.len());
    let mut mesh = Mesh::default();
    for (i, part) in parts.iter().enumerate() {
        table[part.block] = i as u32;
        starts.push(mesh.positions.len() as u32);
        mesh.positions.extend_from_slice(&part.positions);
        mesh.normals.extend_from_slice(&part.normals);
    }
    let vertex = |block: usize, local: usize, axis: usize| {
        let part = table[block] as usize;
        starts[part] + parts[part].edges[3 * local + axis]
    };
    let triangles: Vec<Vec<[u32; 3]>> = parts
        .par_iter()
        .map(|part| triangles(lattice, part, &vertex))
        .collect();
    mesh.triangles = triangles.concat();
    mesh
}

/// Vertices on the lattice edges that start in a block; nothing if no cell of it is cut.
fn vertices(lattice: &Lattice<3>, block: usize, patch: Patch) -> Option<Part> {
    let low = lattice.block_at(block).map(|b| b * SIDE);
    let mut part = Part {
        block,
        patch,
        positions: Vec::new(),
        normals: Vec::new(),
        edges: Vec::new(),
    };
    let patch = &part.patch;
    let first = patch.inside(patch_index([0; 3]));
    if box_points([0; 3], [SIDE + 1; 3]).all(|i| patch.inside(patch_index(i)) == first) {
        return None;
    }
    part.edges = vec![EMPTY; 3 * Lattice::<3>::block_nodes()];
    for local in 0..Lattice::<3>::block_nodes() {
        let node = local_at::<3>(local);
        let here = patch_index(node);
        for axis in 0..3 {
            let there = here + PATCH.pow(axis as u32);
            if patch.inside(here) == patch.inside(there) {
                continue;
            }
            part.edges[3 * local + axis] = part.positions.len() as u32;
            let (from, to) = if patch.inside(here) {
                (here, there)
            } else {
                (there, here)
            };
            let (t, at_wall) = patch.crossing(from, to);
            let along = if from == here { t } else { 1.0 - t };
            let global: [usize; 3] = std::array::from_fn(|a| low[a] + node[a]);
            let mut position = lattice.position(global);
            position[axis] += f64::from(along) * lattice.step;
            part.positions.push(position.map(|x| x as f32));
            let field = if at_wall {
                &patch.wall
            } else {
                &patch.occupancy
            };
            let (a, b) = (Patch::outward(field, here), Patch::outward(field, there));
            part.normals
                .push(unit(std::array::from_fn(|i| a[i] + (b[i] - a[i]) * along)));
        }
    }
    Some(part)
}

fn triangles(
    lattice: &Lattice<3>,
    part: &Part,
    vertex: &impl Fn(usize, usize, usize) -> u32,
) -> Vec<[u32; 3]> {
    let low = lattice.block_at(part.block).map(|b| b * SIDE);
    let mut triangles = Vec::new();
    for cell in box_points([0; 3], [SIDE; 3]) {
        let corner = |c: usize| {
            [
                cell[0] + (c & 1),
                cell[1] + (c >> 1 & 1),
                cell[2] + (c >> 2),
            ]
        };
        let case = (0..8).fold(0, |case, c| {
            case | usize::from(part.patch.inside(patch_index(corner(c)))) << c
        });
        let class = &REGULAR_CELL_DATA[usize::from(REGULAR_CELL_CLASS[case])];
        let edge = |k: u8| {
            let code = REGULAR_VERTEX_DATA[case][usize::from(k)];
            let (a, b) = (usize::from(code >> 4 & 0xF), usize::from(code & 0xF));
            let node = corner(a);
            let (block, local) = lattice.split(std::array::from_fn(|i| low[i] + node[i]));
            vertex(block, local, (a ^ b).trailing_zeros() as usize)
        };
        let count = 3 * usize::from(class.get_triangle_count());
        triangles.extend(
            class.vertex_index[..count]
                .chunks_exact(3)
                .map(|t| [edge(t[0]), edge(t[1]), edge(t[2])]),
        );
    }
    triangles
}

fn unit(v: [f32; 3]) -> [f32; 3] {
    let length = v.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        v.map(|x| x / length)
    } else {
        [0.0, 1.0, 0.0]
    }
}
