//! Solids on the grid: signed distance at nodes, open fractions of faces and cells.

mod walls;

use plash_grid::{
    Axis, Cell, CellField, Face, FaceField, Grid, Node, NodeField, Side, Stencil, axes, gradient,
    lerp,
};

use crate::setup::{DomainSide, Setup, Wall};
pub(crate) use walls::Kind;
use walls::Walls;

/// Open fractions below this are raised to it, so that a sliver of a face does not make the
/// pressure system badly conditioned; zero stays zero.
const SMALLEST_FRACTION: f64 = 0.01;

/// Samples per axis in a cut cell, from which its open volume is counted.
const SAMPLES: usize = 4;

/// Everything the solver knows about solids and domain walls. `φ_s` is positive in the open,
/// negative in solids; its gradient points from solid into liquid.
#[derive(Clone, Debug)]
pub struct Solids<const D: usize> {
    grid: Grid<D>,
    sides: [[DomainSide; 2]; D],
    /// Whether there are any obstacles besides domain walls.
    any: bool,
    /// Signed distance to obstacles (not to domain walls).
    phi: NodeField<f64, D>,
    /// 1 in cells with an obstacle within a cell, where particles may need pushing.
    near: CellField<u8, D>,
    /// Open area fraction of each face; 0 on closed domain sides.
    open: FaceField<f64, D>,
    /// Open volume fraction of each cell.
    volume: CellField<f64, D>,
    /// Velocity of the solid at each face, m/s.
    velocity: FaceField<f64, D>,
    /// Which of all that lets liquid go.
    walls: Walls<D>,
}

impl<const D: usize> Solids<D> {
    /// Samples the solids of a setup.
    pub fn new(setup: &Setup<D>) -> Self {
        let grid = setup.grid;
        let far: f64 = (0..D).map(|a| grid.end()[a] - grid.origin()[a]).sum();
        let mut phi = NodeField::<f64, D>::new(&grid);
        phi.for_each_row(|row, values| {
            for (i, value) in values.iter_mut().enumerate() {
                let x = Node(row.point(i)).position(&grid);
                *value = setup
                    .solids
                    .iter()
                    .fold(far, |d, s| d.min(s.shape.distance(x)));
            }
        });
        let any = !setup.solids.is_empty();
        let open = face_fractions(&grid, &phi, &setup.sides);
        let volume = cell_fractions(&grid, &phi);
        let near = near_obstacles(&grid, &phi);
        let walls = Walls::new(setup, &phi);
        Solids {
            grid,
            sides: setup.sides,
            any,
            phi,
            near,
            open,
            volume,
            velocity: FaceField::new(&grid),
            walls,
        }
    }

    /// Signed distance to obstacles at nodes.
    pub fn phi(&self) -> &NodeField<f64, D> {
        &self.phi
    }

    /// Open area fraction of faces.
    pub fn open(&self) -> &FaceField<f64, D> {
        &self.open
    }

    /// Open volume fraction of cells.
    pub fn volume(&self) -> &CellField<f64, D> {
        &self.volume
    }

    /// Velocity of the solid at faces.
    pub fn velocity(&self) -> &FaceField<f64, D> {
        &self.velocity
    }

    /// Velocity of the solid at faces, for solids that move.
    pub fn velocity_mut(&mut self) -> &mut FaceField<f64, D> {
        &mut self.velocity
    }

    /// Whether there are obstacles besides the domain walls.
    pub fn has_obstacles(&self) -> bool {
        self.any
    }

    /// Whether a domain side is open.
    pub fn is_open(&self, axis: Axis, side: Side) -> bool {
        self.sides[axis.0][side.index()] == DomainSide::Open
    }

    /// The wall that the cell with this memory index touches, if any: the nearest, if there
    /// are several.
    #[inline]
    pub fn wall_at_cell(&self, index: usize) -> Option<Wall> {
        self.walls.at_cell(index)
    }

    /// How fast the obstacle in the cell with this memory index sends liquid away, times its
    /// area in the cell over that of a face, m/s.
    #[inline]
    pub fn release(&self, index: usize) -> f64 {
        self.walls.release(index)
    }

    /// The kind of a domain side.
    pub(crate) fn side_kind(&self, axis: Axis, side: Side) -> Kind {
        self.walls.side(axis, side)
    }

    /// The kind of the obstacle at a face.
    pub(crate) fn kind_at(&self, face: Face<D>) -> Kind {
        self.walls.at_face(&self.phi, face)
    }

    /// Distance to obstacles at a cell centre.
    pub fn phi_at_center(&self, cell: Cell<D>) -> f64 {
        cell.nodes().map(|n| self.phi[n]).sum::<f64>() / (1 << D) as f64
    }

    /// Signed distance to the nearest obstacle or closed wall.
    pub fn distance(&self, x: [f64; D]) -> f64 {
        let mut distance = self.wall_distance(x);
        if self.any {
            distance = distance.min(self.obstacle_distance(x));
        }
        distance
    }

    fn wall_distance(&self, x: [f64; D]) -> f64 {
        let (lo, hi) = (self.grid.origin(), self.grid.end());
        let mut distance = f64::INFINITY;
        for a in 0..D {
            if self.sides[a][0] == DomainSide::Closed {
                distance = distance.min(x[a] - lo[a]);
            }
            if self.sides[a][1] == DomainSide::Closed {
                distance = distance.min(hi[a] - x[a]);
            }
        }
        distance
    }

    /// Moves `x` out of obstacles and closed walls until it is `clearance` away from them.
    pub fn push_out(&self, x: &mut [f64; D], clearance: f64) {
        self.push_off_walls(x, clearance);
        // Twice, since a wall may push back into an obstacle and the other way round.
        for _ in 0..2 {
            if self.near[self.grid.cell_at(*x)] == 0 || self.obstacle_distance(*x) >= clearance {
                return;
            }
            let (phi, slope) = gradient(&self.grid, &self.phi, [0.0; D], *x);
            let norm = slope.iter().map(|s| s * s).sum::<f64>().sqrt();
            if norm > 1e-12 {
                for a in 0..D {
                    x[a] += (clearance - phi) * slope[a] / norm;
                }
            }
            self.push_off_walls(x, clearance);
        }
    }

    #[inline(always)]
    fn push_off_walls(&self, x: &mut [f64; D], clearance: f64) {
        let (lo, hi) = (self.grid.origin(), self.grid.end());
        for a in 0..D {
            if self.sides[a][0] == DomainSide::Closed {
                x[a] = x[a].max(lo[a] + clearance);
            }
            if self.sides[a][1] == DomainSide::Closed {
                x[a] = x[a].min(hi[a] - clearance);
            }
        }
    }

    #[inline(always)]
    fn obstacle_distance(&self, x: [f64; D]) -> f64 {
        let stencil = Stencil::new(&self.grid, x, [0.0; D], self.phi.extent());
        lerp(self.phi.as_slice(), self.grid.layout().strides(), &stencil)
    }

    /// Distance to obstacles at `x` and their unit normal there, out of the solid; the normal
    /// is zero where there is none.
    pub fn distance_and_normal(&self, x: [f64; D]) -> (f64, [f64; D]) {
        let (phi, slope) = gradient(&self.grid, &self.phi, [0.0; D], x);
        let norm = slope.iter().map(|s| s * s).sum::<f64>().sqrt();
        if self.any && norm > 1e-12 {
            (phi, slope.map(|s| s / norm))
        } else {
            (phi, [0.0; D])
        }
    }
}

fn near_obstacles<const D: usize>(grid: &Grid<D>, phi: &NodeField<f64, D>) -> CellField<u8, D> {
    let mut near = CellField::<u8, D>::new(grid);
    near.for_each_row(|row, values| {
        for (i, value) in values.iter_mut().enumerate() {
            *value = u8::from(Cell(row.point(i)).nodes().any(|n| phi[n] < grid.dx()));
        }
    });
    near
}

fn face_fractions<const D: usize>(
    grid: &Grid<D>,
    phi: &NodeField<f64, D>,
    sides: &[[DomainSide; 2]; D],
) -> FaceField<f64, D> {
    let mut open = FaceField::<f64, D>::new(grid);
    for axis in axes::<D>() {
        let last = grid.cells()[axis.0] as i32;
        open.along_mut(axis).for_each_row(|row, values| {
            for (i, value) in values.iter_mut().enumerate() {
                let face = Face {
                    axis,
                    at: row.point(i),
                };
                let at = face.at[axis.0];
                let side = if at == 0 {
                    Some(0)
                } else {
                    (at == last).then_some(1)
                };
                let closed = side.is_some_and(|s| sides[axis.0][s] == DomainSide::Closed);
                let fraction = if closed {
                    0.0
                } else {
                    open_fraction(face, phi)
                };
                *value = if fraction > 0.0 {
                    fraction.max(SMALLEST_FRACTION)
                } else {
                    0.0
                };
            }
        });
    }
    open
}

/// The share of a face where the interpolated `φ_s` is positive.
fn open_fraction<const D: usize>(face: Face<D>, phi: &NodeField<f64, D>) -> f64 {
    let mut corner = [0.0; 4];
    for (value, node) in corner.iter_mut().zip(face.nodes()) {
        *value = phi[node];
    }
    if D == 2 {
        segment_fraction(corner[0], corner[1])
    } else {
        // Corners come in the order (0,0) (1,0) (0,1) (1,1); walk them around the square.
        quad_fraction([corner[0], corner[1], corner[3], corner[2]])
    }
}

/// The share of a segment where a linear function with these end values is positive.
pub(crate) fn segment_fraction(a: f64, b: f64) -> f64 {
    match (a >= 0.0, b >= 0.0) {
        (true, true) => 1.0,
        (false, false) => 0.0,
        (true, false) => a / (a - b),
        (false, true) => b / (b - a),
    }
}

/// The share of a unit square where a function with these corner values, in cyclic order and
/// linear along the sides, is positive: the area of the clipped polygon.
pub(crate) fn quad_fraction(phi: [f64; 4]) -> f64 {
    if phi.iter().all(|&p| p >= 0.0) {
        return 1.0;
    }
    if phi.iter().all(|&p| p < 0.0) {
        return 0.0;
    }
    const CORNERS: [[f64; 2]; 4] = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
    let mut polygon = [[0.0; 2]; 8];
    let mut count = 0;
    let mut push = |point: [f64; 2]| {
        polygon[count] = point;
        count += 1;
    };
    for c in 0..4 {
        let n = (c + 1) % 4;
        if phi[c] >= 0.0 {
            push(CORNERS[c]);
        }
        if (phi[c] >= 0.0) != (phi[n] >= 0.0) {
            let t = phi[c] / (phi[c] - phi[n]);
            push([0, 1].map(|a| CORNERS[c][a] + t * (CORNERS[n][a] - CORNERS[c][a])));
        }
    }
    let mut twice_area = 0.0;
    for c in 0..count {
        let (p, q) = (polygon[c], polygon[(c + 1) % count]);
        twice_area += p[0] * q[1] - p[1] * q[0];
    }
    (0.5 * twice_area).clamp(0.0, 1.0)
}

fn cell_fractions<const D: usize>(grid: &Grid<D>, phi: &NodeField<f64, D>) -> CellField<f64, D> {
    let mut volume = CellField::<f64, D>::new(grid);
    volume.for_each_row(|row, values| {
        for (i, value) in values.iter_mut().enumerate() {
            let cell = Cell(row.point(i));
            let samples = open_samples(grid, phi, cell);
            *value = samples.count() as f64 / SAMPLES.pow(D as u32) as f64;
        }
    });
    volume
}

/// The sample points of a cell that lie in the open, of `SAMPLES^D` regular ones.
pub(crate) fn open_samples<const D: usize>(
    grid: &Grid<D>,
    phi: &NodeField<f64, D>,
    cell: Cell<D>,
) -> impl Iterator<Item = [f64; D]> {
    let uncut = cell.nodes().all(|n| phi[n] >= 0.0);
    let closed = cell.nodes().all(|n| phi[n] < 0.0);
    let count = if closed { 0 } else { SAMPLES.pow(D as u32) };
    (0..count).filter_map(move |n| {
        let fraction: [f64; D] = std::array::from_fn(|a| {
            ((n / SAMPLES.pow(a as u32)) % SAMPLES) as f64 / SAMPLES as f64 + 0.5 / SAMPLES as f64
        });
        let x = grid.position(cell.0, fraction);
        (uncut || gradient(grid, phi, [0.0; D], x).0 > 0.0).then_some(x)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::Solid;
    use crate::shape::Shape;

    #[test]
    fn fractions_are_exact_for_straight_cuts() {
        assert_eq!(segment_fraction(1.0, -3.0), 0.25);
        assert_eq!(quad_fraction([1.0, -1.0, -1.0, 1.0]), 0.5);
        assert_eq!(quad_fraction([1.0, -1.0, -1.0, -1.0]), 0.125);
        assert!((quad_fraction([-1.0, 1.0, 1.0, 1.0]) - 0.875).abs() < 1e-15);
        assert_eq!(quad_fraction([0.0, 0.0, 1.0, 1.0]), 1.0);
    }

    fn ball<const D: usize>(n: usize) -> Solids<D> {
        let grid = Grid::new([n; D], 1.0 / n as f64, [0.0; D]).unwrap();
        let mut setup = Setup::new(grid);
        setup.solids.push(Solid::new(Shape::Sphere {
            center: [0.5; D],
            radius: 0.3,
        }));
        Solids::new(&setup)
    }

    #[test]
    fn open_volume_converges_to_the_box_without_the_ball() {
        let sum = |s: &Solids<2>| s.grid.all_cells().map(|c| s.volume[c]).sum::<f64>();
        let solids = ball::<2>(64);
        let exact = 1.0 - std::f64::consts::PI * 0.09;
        assert!((sum(&solids) / 4096.0 - exact).abs() < 2e-3);
    }

    fn pushed_particles_end_in_the_open<const D: usize>() {
        let solids = ball::<D>(24);
        for k in 0..200 {
            let mut x: [f64; D] =
                std::array::from_fn(|a| ((k * (13 + 7 * a)) % 101) as f64 / 100.0 * 1.2 - 0.1);
            solids.push_out(&mut x, 0.004);
            assert!(solids.distance(x) > 0.003, "{x:?} {}", solids.distance(x));
        }
    }

    #[test]
    fn pushed_particles_end_in_the_open_2d() {
        pushed_particles_end_in_the_open::<2>();
    }

    #[test]
    fn pushed_particles_end_in_the_open_3d() {
        pushed_particles_end_in_the_open::<3>();
    }

    #[test]
    fn closed_sides_have_closed_faces_and_open_sides_open_ones() {
        let grid = Grid::new([4, 4], 0.25, [0.0; 2]).unwrap();
        let mut setup = Setup::new(grid);
        setup.sides[0][1] = DomainSide::Open;
        let solids = Solids::new(&setup);
        assert_eq!(
            solids.open()[Face {
                axis: Axis::X,
                at: [0, 2]
            }],
            0.0
        );
        assert_eq!(
            solids.open()[Face {
                axis: Axis::X,
                at: [4, 2]
            }],
            1.0
        );
        assert_eq!(
            solids.open()[Face {
                axis: Axis::Y,
                at: [1, 0]
            }],
            0.0
        );
        assert_eq!(
            solids.open()[Face {
                axis: Axis::Y,
                at: [1, 1]
            }],
            1.0
        );
    }
}
