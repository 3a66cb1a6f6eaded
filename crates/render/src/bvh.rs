//! A bounding volume hierarchy over triangles, split by binned surface area.

use glam::{Vec3, Vec3A};

use crate::mesh::Mesh;

/// Triangles a leaf may hold.
const LEAF: usize = 4;
/// Bins tried along the longest axis of centroids.
const BINS: usize = 12;
/// Deepest stack of a traversal; splitting at the median beyond it is never needed below 2⁴⁸ triangles.
const STACK: usize = 64;

/// A half line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ray {
    pub origin: Vec3,
    /// Unit direction.
    pub direction: Vec3,
}

impl Ray {
    pub fn at(&self, t: f32) -> Vec3 {
        self.origin + self.direction * t
    }
}

/// Where a ray meets a mesh.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    pub t: f32,
    /// Index of the triangle in the mesh.
    pub triangle: u32,
    /// Barycentric weights of the second and third corner.
    pub u: f32,
    pub v: f32,
}

#[derive(Clone, Copy, Debug)]
struct Bounds {
    lo: Vec3,
    hi: Vec3,
}

impl Bounds {
    const NONE: Bounds = Bounds {
        lo: Vec3::MAX,
        hi: Vec3::MIN,
    };

    fn include(self, other: Bounds) -> Bounds {
        Bounds {
            lo: self.lo.min(other.lo),
            hi: self.hi.max(other.hi),
        }
    }

    fn half_area(self) -> f32 {
        let d = (self.hi - self.lo).max(Vec3::ZERO);
        d.x * d.y + d.y * d.z + d.z * d.x
    }
}

/// A leaf holds `count` triangles from `first`; a branch (`count == 0`) has children at
/// `first` and `first + 1`.
#[derive(Clone, Copy, Debug)]
struct Node {
    // Four lanes each: meeting boxes is most of the work of drawing.
    lo: Vec3A,
    hi: Vec3A,
    first: u32,
    count: u32,
}

#[derive(Clone, Copy, Debug)]
struct Triangle {
    corner: Vec3,
    edge1: Vec3,
    edge2: Vec3,
    index: u32,
}

/// Answers which triangle a ray meets first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bvh {
    nodes: Vec<Node>,
    triangles: Vec<Triangle>,
}

struct Item {
    bounds: Bounds,
    centre: Vec3,
    index: u32,
}

impl Bvh {
    /// Build over all triangles of a mesh with finite corners.
    pub fn new(mesh: &Mesh) -> Self {
        let corners = |index: u32| {
            mesh.triangles[index as usize].map(|v| Vec3::from(mesh.positions[v as usize]))
        };
        let item = |index: u32| {
            let [a, b, c] = corners(index);
            let bounds = Bounds {
                lo: a.min(b).min(c),
                hi: a.max(b).max(c),
            };
            Item {
                bounds,
                centre: 0.5 * (bounds.lo + bounds.hi),
                index,
            }
        };
        let mut items: Vec<Item> = (0..mesh.triangles.len() as u32)
            .map(item)
            .filter(|i| i.centre.is_finite())
            .collect();
        if items.is_empty() {
            return Self::default();
        }
        let mut nodes = Vec::with_capacity(items.len());
        build(&mut items, &mut nodes);
        let triangle = |i: &Item| {
            let [a, b, c] = corners(i.index);
            Triangle {
                corner: a,
                edge1: b - a,
                edge2: c - a,
                index: i.index,
            }
        };
        Self {
            nodes,
            triangles: items.iter().map(triangle).collect(),
        }
    }

    /// The first triangle met with `least < t < most`.
    pub fn first_hit(&self, ray: &Ray, least: f32, most: f32) -> Option<Hit> {
        let mut best: Option<Hit> = None;
        let mut limit = most;
        self.visit(ray, least, &mut limit, |hit, limit| {
            *limit = hit.t;
            best = Some(hit);
            false
        });
        best
    }

    /// Is there any triangle with `least < t < most`?
    pub fn any_hit(&self, ray: &Ray, least: f32, most: f32) -> bool {
        let mut found = false;
        let mut limit = most;
        self.visit(ray, least, &mut limit, |_, _| {
            found = true;
            true
        });
        found
    }

    /// Walk the nodes near to far; `accept` may lower the limit, and ends the walk by `true`.
    fn visit(
        &self,
        ray: &Ray,
        least: f32,
        limit: &mut f32,
        mut accept: impl FnMut(Hit, &mut f32) -> bool,
    ) {
        if self.nodes.is_empty() {
            return;
        }
        let origin = Vec3A::from(ray.origin);
        let inverse = Vec3A::from(ray.direction.recip());
        let mut stack = [0u32; STACK];
        let mut depth = 0;
        let mut current = 0u32;
        if enter(&self.nodes[0], origin, inverse, least, *limit).is_none() {
            return;
        }
        loop {
            let node = &self.nodes[current as usize];
            if node.count > 0 {
                for triangle in &self.triangles[node.first as usize..][..node.count as usize] {
                    if let Some(hit) = triangle.meet(ray, least, *limit)
                        && accept(hit, limit)
                    {
                        return;
                    }
                }
            } else {
                let test =
                    |child: u32| enter(&self.nodes[child as usize], origin, inverse, least, *limit);
                let (a, b) = (node.first, node.first + 1);
                match (test(a), test(b)) {
                    (Some(near_a), Some(near_b)) => {
                        let (near, far) = if near_a <= near_b { (a, b) } else { (b, a) };
                        if depth < STACK {
                            stack[depth] = far;
                            depth += 1;
                        }
                        current = near;
                        continue;
                    }
                    (Some(_), None) => {
                        current = a;
                        continue;
                    }
                    (None, Some(_)) => {
                        current = b;
                        continue;
                    }
                    (None, None) => {}
                }
            }
            if depth == 0 {
                return;
            }
            depth -= 1;
            current = stack[depth];
        }
    }
}

/// Distance at which a ray enters a node's box, if it does before `limit`.
fn enter(node: &Node, origin: Vec3A, inverse: Vec3A, least: f32, limit: f32) -> Option<f32> {
    let a = (node.lo - origin) * inverse;
    let b = (node.hi - origin) * inverse;
    let (near, far) = (a.min(b).max_element(), a.max(b).min_element());
    // Comparisons instead of `max` and `min`, which look for NaN on the way.
    let near = if near > least { near } else { least };
    let far = if far < limit { far } else { limit };
    // A hair wider, so that rounding never hides a triangle lying in the box's face.
    let far = far * 1.000_001;
    (near <= far).then_some(near)
}

impl Triangle {
    /// Möller and Trumbore's intersection.
    fn meet(&self, ray: &Ray, least: f32, limit: f32) -> Option<Hit> {
        let p = ray.direction.cross(self.edge2);
        let determinant = self.edge1.dot(p);
        if determinant == 0.0 {
            return None;
        }
        let inverse = determinant.recip();
        let s = ray.origin - self.corner;
        let u = s.dot(p) * inverse;
        if !(0.0..=1.0).contains(&u) {
            return None;
        }
        let q = s.cross(self.edge1);
        let v = ray.direction.dot(q) * inverse;
        if v < 0.0 || u + v > 1.0 {
            return None;
        }
        let t = self.edge2.dot(q) * inverse;
        (t > least && t < limit).then_some(Hit {
            t,
            triangle: self.index,
            u,
            v,
        })
    }
}

/// Split ranges of `items` in place until leaves are small; a work list instead of recursion.
fn build(items: &mut [Item], nodes: &mut Vec<Node>) {
    nodes.push(node_over(items, 0));
    let mut work = vec![(0usize, 0usize, items.len())];
    while let Some((node, start, end)) = work.pop() {
        if end - start <= LEAF {
            continue;
        }
        let middle = start + split(&mut items[start..end]);
        let children = nodes.len() as u32;
        nodes[node].first = children;
        nodes[node].count = 0;
        nodes.push(node_over(&items[start..middle], start));
        nodes.push(node_over(&items[middle..end], middle));
        work.push((children as usize, start, middle));
        work.push((children as usize + 1, middle, end));
    }
}

fn node_over(items: &[Item], first: usize) -> Node {
    let bounds = items
        .iter()
        .fold(Bounds::NONE, |sum, item| sum.include(item.bounds));
    Node {
        lo: bounds.lo.into(),
        hi: bounds.hi.into(),
        first: first as u32,
        count: items.len() as u32,
    }
}

/// Reorder items so that a cheap cut lies at the returned place, never at an end.
fn split(items: &mut [Item]) -> usize {
    let centres = items.iter().fold(Bounds::NONE, |sum, item| {
        sum.include(Bounds {
            lo: item.centre,
            hi: item.centre,
        })
    });
    let extent = centres.hi - centres.lo;
    let axis = extent.max_position();
    let median = items.len() / 2;
    if extent[axis] <= 0.0 {
        return median;
    }
    let scale = BINS as f32 / extent[axis];
    let bin =
        |item: &Item| (((item.centre[axis] - centres.lo[axis]) * scale) as usize).min(BINS - 1);
    let mut bins = [(Bounds::NONE, 0usize); BINS];
    for item in items.iter() {
        let entry = &mut bins[bin(item)];
        *entry = (entry.0.include(item.bounds), entry.1 + 1);
    }
    let cut = cheapest_cut(&bins);
    let mut place = 0;
    for i in 0..items.len() {
        if bin(&items[i]) < cut {
            items.swap(i, place);
            place += 1;
        }
    }
    if place == 0 || place == items.len() {
        median
    } else {
        place
    }
}

/// The bin boundary with the least `area × count` on both sides.
fn cheapest_cut(bins: &[(Bounds, usize); BINS]) -> usize {
    let sweep = |range: &mut dyn Iterator<Item = usize>| {
        let mut sum = (Bounds::NONE, 0);
        let mut costs = [0.0; BINS];
        for i in range {
            sum = (sum.0.include(bins[i].0), sum.1 + bins[i].1);
            costs[i] = if sum.1 == 0 {
                0.0
            } else {
                sum.0.half_area() * sum.1 as f32
            };
        }
        costs
    };
    let left = sweep(&mut (0..BINS));
    let right = sweep(&mut (0..BINS).rev());
    let cost = |cut: &usize| left[cut - 1] + right[*cut];
    (1..BINS)
        .min_by(|a, b| cost(a).total_cmp(&cost(b)))
        .unwrap_or(BINS / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    fn soup(count: usize) -> Mesh {
        let mut random = Random::new(11);
        let mut mesh = Mesh::default();
        for i in 0..count as u32 {
            let centre: [f64; 3] = std::array::from_fn(|_| random.next());
            for _ in 0..3 {
                mesh.positions
                    .push(centre.map(|c| (c + 0.1 * random.next()) as f32));
            }
            mesh.triangles.push([3 * i, 3 * i + 1, 3 * i + 2]);
        }
        mesh
    }

    #[test]
    fn finds_the_same_hits_as_trying_every_triangle() {
        let mesh = soup(500);
        let bvh = Bvh::new(&mesh);
        let mut random = Random::new(12);
        let mut hits = 0;
        for _ in 0..500 {
            let origin =
                Vec3::from_array(std::array::from_fn(|_| (3.0 * random.next() - 1.0) as f32));
            let target = Vec3::from_array(std::array::from_fn(|_| random.next() as f32));
            let ray = Ray {
                origin,
                direction: (target - origin).normalize(),
            };
            let slow = bvh
                .triangles
                .iter()
                .filter_map(|t| t.meet(&ray, 0.0, f32::MAX))
                .min_by(|a, b| a.t.total_cmp(&b.t));
            let fast = bvh.first_hit(&ray, 0.0, f32::MAX);
            assert_eq!(slow.map(|h| h.t), fast.map(|h| h.t));
            assert_eq!(slow.is_some(), bvh.any_hit(&ray, 0.0, f32::MAX));
            hits += usize::from(slow.is_some());
        }
        assert!(hits > 100);
    }

    #[test]
    fn empty_and_broken_meshes_are_never_hit() {
        let ray = Ray {
            origin: Vec3::ZERO,
            direction: Vec3::X,
        };
        assert!(
            Bvh::new(&Mesh::default())
                .first_hit(&ray, 0.0, 1.0)
                .is_none()
        );
        let mut mesh = soup(3);
        mesh.positions.fill([f32::NAN; 3]);
        assert!(Bvh::new(&mesh).first_hit(&ray, 0.0, 1.0).is_none());
    }

    #[test]
    fn piled_up_triangles_do_not_overflow() {
        let mut mesh = soup(1);
        mesh.triangles = vec![[0, 1, 2]; 1000];
        let centre = mesh
            .positions
            .iter()
            .fold(Vec3::ZERO, |s, p| s + Vec3::from(*p))
            / 3.0;
        let origin = centre + Vec3::new(1.0, 2.0, 3.0);
        let ray = Ray {
            origin,
            direction: (centre - origin).normalize(),
        };
        assert!(Bvh::new(&mesh).first_hit(&ray, 0.0, 100.0).is_some());
    }
}
