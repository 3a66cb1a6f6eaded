//! Which walls let liquid go, cell by cell and face by face.
//!
//! A cell has one pressure, so one rule must hold in it: that of its nearest wall. Candidates
//! are the closed domain sides it touches, half a cell from its centre, and, if an obstacle
//! cuts the cell, the obstacle, as far as `φ_s` says at the centre. Where two are equally
//! near, one that separates wins: liquid in a corner is free to leave. Among obstacles the one
//! with the smallest `φ_s` at a node rules there, and the deepest corner of a cell or face
//! rules the cell or face.

use plash_grid::{Axis, Cell, CellField, Face, Grid, Node, NodeField, Side, axes};

use super::open_fraction;
use crate::setup::{DomainSide, Setup, Wall};

/// A wall's kind, with the speed at which it sends liquid away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Kind {
    pub(crate) wall: Wall,
    /// `γ`, m/s; zero for walls that hold.
    pub(crate) velocity: f64,
}

impl Kind {
    const SLIP: Kind = Kind {
        wall: Wall::Slip,
        velocity: 0.0,
    };

    fn new(wall: Wall, velocity: f64) -> Self {
        match wall {
            Wall::Separating => Kind { wall, velocity },
            Wall::Slip => Kind::SLIP,
        }
    }
}

/// Codes of [`Walls::contact`].
const NO_WALL: u8 = 0;
const HOLDS: u8 = 1;
const LETS_GO: u8 = 2;

/// The kinds of all walls.
#[derive(Clone, Debug)]
pub(crate) struct Walls<const D: usize> {
    sides: [[Kind; 2]; D],
    /// The different kinds of obstacles.
    kinds: Vec<Kind>,
    /// Which of them is nearest to each node, if there is more than one.
    nearest: Option<NodeField<u32, D>>,
    /// What each cell touches.
    contact: CellField<u8, D>,
    /// `γ` times the area of wall in each cell, in units of a face; `None` if zero throughout.
    release: Option<CellField<f64, D>>,
}

impl<const D: usize> Walls<D> {
    /// The walls of a setup whose obstacles are at distance `phi`.
    pub(crate) fn new(setup: &Setup<D>, phi: &NodeField<f64, D>) -> Self {
        let linear = setup.scheme.pressure.method.is_linear();
        let kind = |wall, velocity| {
            if linear {
                Kind::SLIP
            } else {
                Kind::new(wall, velocity)
            }
        };
        let mut kinds: Vec<Kind> = Vec::new();
        let mut numbers = Vec::new();
        for solid in &setup.solids {
            let kind = kind(solid.wall, solid.separation_velocity);
            let known = kinds.iter().position(|&k| k == kind);
            numbers.push(known.unwrap_or(kinds.len()) as u32);
            if known.is_none() {
                kinds.push(kind);
            }
        }
        let mut walls = Walls {
            sides: std::array::from_fn(|a| std::array::from_fn(|s| kind(setup.walls[a][s], 0.0))),
            nearest: (kinds.len() > 1).then(|| nearest_kinds(setup, &numbers)),
            contact: CellField::new(&setup.grid),
            release: None,
            kinds,
        };
        walls.find_contacts(&setup.grid, &setup.sides, phi);
        if walls.kinds.iter().any(|k| k.velocity != 0.0) {
            walls.find_release(&setup.grid, phi);
        }
        walls
    }

    /// What the cell with this memory index touches.
    #[inline]
    pub(crate) fn at_cell(&self, index: usize) -> Option<Wall> {
        match self.contact.as_slice()[index] {
            NO_WALL => None,
            LETS_GO => Some(Wall::Separating),
            _ => Some(Wall::Slip),
        }
    }

    /// `γ` times the area of wall in the cell with this memory index over a face's, m/s.
    #[inline]
    pub(crate) fn release(&self, index: usize) -> f64 {
        self.release.as_ref().map_or(0.0, |r| r.as_slice()[index])
    }

    /// A domain side's kind.
    pub(crate) fn side(&self, axis: Axis, side: Side) -> Kind {
        self.sides[axis.0][side.index()]
    }

    /// The kind of the obstacle at a face.
    pub(crate) fn at_face(&self, phi: &NodeField<f64, D>, face: Face<D>) -> Kind {
        self.deepest(phi, face.nodes())
    }

    /// The kind at the deepest of some nodes.
    fn deepest(&self, phi: &NodeField<f64, D>, nodes: impl Iterator<Item = Node<D>>) -> Kind {
        let number = match &self.nearest {
            None => 0,
            Some(nearest) => nodes
                .min_by(|&a, &b| phi[a].total_cmp(&phi[b]))
                .map_or(0, |node| nearest[node]),
        };
        self.kinds
            .get(number as usize)
            .copied()
            .unwrap_or(Kind::SLIP)
    }

    fn find_contacts(
        &mut self,
        grid: &Grid<D>,
        sides: &[[DomainSide; 2]; D],
        phi: &NodeField<f64, D>,
    ) {
        let mut contact = std::mem::replace(&mut self.contact, CellField::new(grid));
        contact.for_each_row(|row, values| {
            for (i, value) in values.iter_mut().enumerate() {
                *value = self.contact_of(grid, sides, phi, Cell(row.point(i)));
            }
        });
        self.contact = contact;
    }

    fn contact_of(
        &self,
        grid: &Grid<D>,
        sides: &[[DomainSide; 2]; D],
        phi: &NodeField<f64, D>,
        cell: Cell<D>,
    ) -> u8 {
        let mut nearest = f64::INFINITY;
        let mut contact = NO_WALL;
        let mut meet = |distance: f64, wall: Wall| {
            let code = if wall == Wall::Separating {
                LETS_GO
            } else {
                HOLDS
            };
            if distance < nearest {
                (nearest, contact) = (distance, code);
            } else if distance == nearest {
                contact = contact.max(code);
            }
        };
        for axis in axes::<D>() {
            for side in Side::BOTH {
                let closed = sides[axis.0][side.index()] == DomainSide::Closed;
                if closed && !grid.contains(cell.neighbour(axis, side)) {
                    meet(0.5 * grid.dx(), self.side(axis, side).wall);
                }
            }
        }
        if cell.nodes().any(|n| phi[n] < 0.0) {
            let center = cell.nodes().map(|n| phi[n]).sum::<f64>() / (1 << D) as f64;
            meet(center, self.deepest(phi, cell.nodes()).wall);
        }
        contact
    }

    /// By the divergence theorem the wall in a cut cell has the vector area
    /// `Σ_f s_f (1 − w_f) e_f`, whose length is its area; `w` is what the obstacle alone leaves
    /// open, domain side or not.
    fn find_release(&mut self, grid: &Grid<D>, phi: &NodeField<f64, D>) {
        let mut release = CellField::<f64, D>::new(grid);
        release.for_each_row(|row, values| {
            for (i, value) in values.iter_mut().enumerate() {
                let cell = Cell(row.point(i));
                let separates = self.contact.as_slice()[row.start + i] == LETS_GO;
                if !separates || cell.nodes().all(|n| phi[n] >= 0.0) {
                    continue;
                }
                let open = |axis, side| open_fraction(cell.face(axis, side), phi);
                let area = axes::<D>()
                    .map(|a| (open(a, Side::Lo) - open(a, Side::Hi)).powi(2))
                    .sum::<f64>()
                    .sqrt();
                *value = self.deepest(phi, cell.nodes()).velocity * area;
            }
        });
        self.release = Some(release);
    }
}

/// The number of the kind that is nearest at every node.
fn nearest_kinds<const D: usize>(setup: &Setup<D>, numbers: &[u32]) -> NodeField<u32, D> {
    let mut nearest = NodeField::<u32, D>::new(&setup.grid);
    nearest.for_each_row(|row, values| {
        for (i, value) in values.iter_mut().enumerate() {
            let x = Node(row.point(i)).position(&setup.grid);
            let mut least = f64::INFINITY;
            for (solid, &number) in setup.solids.iter().zip(numbers) {
                let distance = solid.shape.distance(x);
                if distance < least {
                    (least, *value) = (distance, number);
                }
            }
        }
    });
    nearest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::Solid;
    use crate::shape::Shape;
    use crate::solids::Solids;

    /// The wall of a cell on the floor, if the sides are slip walls and a separating obstacle
    /// fills the box up to `height`.
    fn wall_on_the_floor(height: f64) -> Option<Wall> {
        let grid = Grid::new([8, 8], 0.125, [0.0; 2]).unwrap();
        let mut setup = Setup::new(grid);
        setup.walls = [[Wall::Slip; 2]; 2];
        setup.solids.push(Solid::new(Shape::Plane {
            point: [0.0, height],
            normal: [0.0, 1.0],
        }));
        Solids::new(&setup).wall_at_cell(grid.layout().index([3, 0]))
    }

    #[test]
    fn the_nearest_wall_rules_a_cell() {
        assert_eq!(wall_on_the_floor(-0.05), Some(Wall::Slip));
        assert_eq!(wall_on_the_floor(0.05), Some(Wall::Separating));
    }

    #[test]
    fn the_area_of_a_slanted_wall_is_that_of_its_surface() {
        let grid = Grid::new([8, 8], 0.125, [0.0; 2]).unwrap();
        let mut setup = Setup::new(grid);
        setup.solids.push(Solid {
            separation_velocity: 2.0,
            ..Solid::new(Shape::Plane {
                point: [0.5, 0.5],
                normal: [0.6, 0.8],
            })
        });
        let solids = Solids::new(&setup);
        let sum: f64 = (2..6)
            .flat_map(|x| (0..8).map(move |y| [x, y]))
            .map(|at| solids.release(grid.layout().index(at)))
            .sum();
        // Over four columns of cells the surface is 4/0.8 faces long.
        assert!((sum - 2.0 * 4.0 / 0.8).abs() < 1e-9, "{sum}");
    }
}
