//! Velocity beyond where it is known.

use plash_grid::{
    Axis, BLOCK, Cell, CellField, Face, FaceField, Grid, Runs, Side, axes, sample_faces,
};
use rayon::prelude::*;

use crate::setup::Wall;
use crate::solids::{Kind, Solids};

/// How far velocity is carried beyond known faces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layers(pub u8);

/// Fills unknown faces, layer by layer, with the mean of their known neighbours along the
/// axes. `known` is 1 at faces whose value is given, 0 elsewhere; layer `n` becomes `n + 1`.
pub fn into_air<const D: usize>(
    grid: &Grid<D>,
    runs: &Runs<D>,
    layers: Layers,
    known: &mut FaceField<u8, D>,
    u: &mut FaceField<f64, D>,
) {
    for axis in axes::<D>() {
        // The faces of the field, not only those of its cells: one row more along the axis.
        let all = grid.layout().rows(grid.face_extent(axis));
        let rows: Vec<_> = all
            .map(|row| (row, runs.in_row(row)))
            .filter(|(_, runs)| !runs.is_empty())
            .collect();
        for layer in 1..=layers.0 {
            let found = next_layer(grid, &rows, axis, known, u);
            if found.iter().all(Vec::is_empty) {
                break;
            }
            let values = u.along_mut(axis).as_mut_slice();
            let marks = known.along_mut(axis).as_mut_slice();
            for &(index, value) in found.iter().flatten() {
                values[index as usize] = value;
                marks[index as usize] = layer + 1;
            }
        }
    }
}

type RunRow<'a, const D: usize> = (plash_grid::Row<D>, &'a [plash_grid::Run]);

/// The unknown faces next to known ones, with their mean, one list per row.
fn next_layer<const D: usize>(
    grid: &Grid<D>,
    rows: &[RunRow<'_, D>],
    axis: Axis,
    known: &FaceField<u8, D>,
    u: &FaceField<f64, D>,
) -> Vec<Vec<(u32, f64)>> {
    let strides = grid.layout().strides();
    let marks = known.along(axis).as_slice();
    let values = u.along(axis).as_slice();
    let length = grid.face_extent(axis)[0];
    let mean_beside = |index: usize| {
        let beside = strides.iter().flat_map(|s| [index - s, index + s]);
        let known = beside.filter(|&other| marks[other] != 0);
        let (sum, count) = known.fold((0.0, 0), |(sum, n), i| (sum + values[i], n + 1));
        (count > 0).then(|| sum / f64::from(count))
    };
    rows.par_iter()
        .with_min_len(8)
        .map(|(row, runs)| {
            let mut found = Vec::new();
            for range in runs.iter().map(|run| run.range(length)) {
                for first in range.clone().step_by(BLOCK).map(|i| row.start + i) {
                    let end = row.start + range.end;
                    let mut rest = next_to_known(marks, first, &strides);
                    while rest != 0 {
                        let index = first + rest.trailing_zeros() as usize / 8;
                        if index < end {
                            found.extend(mean_beside(index).map(|mean| (index as u32, mean)));
                        }
                        rest &= rest - 1;
                    }
                }
            }
            found
        })
        .collect()
}

/// A bit in the byte of each of eight faces that is unknown and has a known one beside it: most blocks,
/// far inside or far outside, have none.
#[inline]
fn next_to_known(marks: &[u8], first: usize, strides: &[usize]) -> u64 {
    let block = |from: usize| {
        let mut bytes = [0; BLOCK];
        bytes.copy_from_slice(&marks[from..from + BLOCK]);
        u64::from_le_bytes(bytes)
    };
    // The highest bit of each byte that is not zero.
    let known = |bytes: u64| {
        const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
        (((bytes & LOW) + LOW) | bytes) & !LOW
    };
    let own = known(block(first));
    if own == known(u64::MAX) {
        return 0;
    }
    // Along x the neighbours are the block one off to either side.
    let beside = strides
        .iter()
        .fold(0, |all, s| all | block(first - s) | block(first + s));
    known(beside) & !own
}

/// How walls act on the field beside them.
#[derive(Clone, Copy)]
pub enum WallConstraint<'a, const D: usize> {
    /// Nothing crosses any wall either way, and walls are at rest: for displacements.
    Closed,
    /// For velocities after a projection that gave this pressure. At a wall that holds, and
    /// where the pressure presses liquid against a separating one, the liquid moves with the
    /// wall along its normal. Elsewhere a separating wall only keeps liquid from flowing in:
    /// if it held there too, liquid would be glued to the ceiling it has just let go of.
    Contact(&'a CellField<f64, D>),
}

/// How far from an obstacle's surface, in cells, one is surely on one side of it.
const SKIN: f64 = 1e-3;

/// What a wall asks for at one place.
#[derive(Clone, Copy)]
struct Demand {
    /// Speed along the normal, relative to the wall.
    speed: f64,
    /// Whether liquid may be faster.
    at_least: bool,
}

impl<const D: usize> WallConstraint<'_, D> {
    /// What a wall of this kind asks for if `cells` are those that touch it here.
    fn demand(&self, kind: Kind, cells: impl Iterator<Item = Cell<D>>) -> Demand {
        match self {
            WallConstraint::Closed => Demand {
                speed: 0.0,
                at_least: false,
            },
            WallConstraint::Contact(pressure) => {
                let mut cells = cells;
                let pressed = cells.any(|cell| pressure[cell] > 0.0);
                Demand {
                    speed: kind.velocity,
                    at_least: kind.wall == Wall::Separating && !pressed,
                }
            }
        }
    }

    /// Whether the motion of the walls counts.
    fn moves(&self) -> bool {
        matches!(self, WallConstraint::Contact(_))
    }
}

/// At closed faces, replaces the part of the velocity normal to the solid by what the wall
/// asks for.
pub fn constrain_at_solids<const D: usize>(
    grid: &Grid<D>,
    runs: &Runs<D>,
    solids: &Solids<D>,
    constraint: WallConstraint<'_, D>,
    u: &mut FaceField<f64, D>,
) {
    constrain_at_domain_walls(grid, solids, constraint, u);
    if !solids.has_obstacles() {
        return;
    }
    let rows: Vec<_> = runs.iter().collect();
    let changes: [Vec<Vec<(u32, f64)>>; D] =
        std::array::from_fn(|a| wall_changes(grid, &rows, solids, constraint, Axis(a), u));
    for axis in axes::<D>() {
        let values = u.along_mut(axis).as_mut_slice();
        for &(index, value) in changes[axis.0].iter().flatten() {
            values[index as usize] = value;
        }
    }
}

/// The closed faces inside the domain that the constraint changes, with their new value.
fn wall_changes<const D: usize>(
    grid: &Grid<D>,
    rows: &[RunRow<'_, D>],
    solids: &Solids<D>,
    constraint: WallConstraint<'_, D>,
    axis: Axis,
    u: &FaceField<f64, D>,
) -> Vec<Vec<(u32, f64)>> {
    let extent = grid.face_extent(axis);
    let open = solids.open().slice(axis.0);
    rows.par_iter()
        .with_min_len(8)
        .map(|(row, runs)| {
            let mut changes = Vec::new();
            for i in runs.iter().flat_map(|run| run.range(extent[0])) {
                let index = row.start + i;
                let at = row.point(i)[axis.0];
                let border = at == 0 || at as usize + 1 == extent[axis.0];
                if open[index] > 0.0 || border {
                    continue;
                }
                let face = Face {
                    axis,
                    at: row.point(i),
                };
                let excess = wall_excess(grid, solids, constraint, face, u);
                if let Some((excess, n)) = excess {
                    changes.push((index as u32, u.slice(axis.0)[index] - excess * n[axis.0]));
                }
            }
            changes
        })
        .collect()
}

/// By how much the flow at a closed face exceeds, along the normal, what its wall asks for,
/// and the normal; nothing if the wall is content.
fn wall_excess<const D: usize>(
    grid: &Grid<D>,
    solids: &Solids<D>,
    constraint: WallConstraint<'_, D>,
    face: Face<D>,
    u: &FaceField<f64, D>,
) -> Option<(f64, [f64; D])> {
    let x = face.position(grid);
    let (distance, n) = solids.distance_and_normal(x);
    // The liquid that the face stands for is where its normal comes out of the solid. If the
    // surface lies between two cells, either may be the one that touches it.
    let beside = [-SKIN, SKIN].map(|skin| {
        let along = skin * grid.dx() - distance;
        grid.cell_at(std::array::from_fn(|a| x[a] + along * n[a]))
    });
    let touching = beside
        .into_iter()
        .filter(|cell| solids.wall_at_cell(grid.layout().index(cell.0)).is_some());
    let demand = constraint.demand(solids.kind_at(face), touching);
    let flow = sample_faces(grid, u, x);
    let solid = if constraint.moves() {
        sample_faces(grid, solids.velocity(), x)
    } else {
        [0.0; D]
    };
    let relative: f64 = (0..D).map(|a| (flow[a] - solid[a]) * n[a]).sum();
    let excess = relative - demand.speed;
    (!demand.at_least || excess < 0.0).then_some((excess, n))
}

fn constrain_at_domain_walls<const D: usize>(
    grid: &Grid<D>,
    solids: &Solids<D>,
    constraint: WallConstraint<'_, D>,
    u: &mut FaceField<f64, D>,
) {
    for axis in axes::<D>() {
        for side in Side::BOTH {
            if solids.is_open(axis, side) {
                continue;
            }
            let at = if side == Side::Lo {
                0
            } else {
                grid.cells()[axis.0] as i32 - 1
            };
            let kind = solids.side_kind(axis, side);
            for cell in wall_cells(grid, axis, at) {
                let face = cell.face(axis, side);
                let wall = if constraint.moves() {
                    solids.velocity()[face]
                } else {
                    0.0
                };
                let demand = constraint.demand(kind, std::iter::once(cell));
                // The normal points inwards, against the side's direction.
                let speed = (wall - u[face]) * side.sign();
                if !demand.at_least || speed < demand.speed {
                    u[face] = wall - demand.speed * side.sign();
                }
            }
        }
    }
}

/// The cells with coordinate `at` along `axis`.
fn wall_cells<const D: usize>(
    grid: &Grid<D>,
    axis: Axis,
    at: i32,
) -> impl Iterator<Item = Cell<D>> {
    let mut extent = grid.cells();
    extent[axis.0] = 1;
    let count: usize = extent.iter().product();
    (0..count).map(move |n| {
        let mut rest = n;
        Cell(std::array::from_fn(|a| {
            let here = (rest % extent[a]) as i32;
            rest /= extent[a];
            if a == axis.0 { at } else { here }
        }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::{DomainSide, Setup, Solid};
    use crate::shape::Shape;
    use plash_grid::Face;

    fn grid() -> Grid<2> {
        Grid::new([16, 16], 1.0, [0.0; 2]).unwrap()
    }

    #[test]
    fn velocity_is_carried_layer_by_layer_and_no_farther() {
        let grid = grid();
        let mut u = FaceField::<f64, 2>::new(&grid);
        let mut known = FaceField::<u8, 2>::new(&grid);
        let middle = |f: &Face<2>| f.at.iter().map(|&i| (i - 8).abs()).sum::<i32>();
        for axis in axes::<2>() {
            for face in grid.faces(axis).filter(|f| middle(f) <= 1) {
                (u[face], known[face]) = (2.5, 1);
            }
        }
        let runs = Runs::all(grid.layout());
        into_air(&grid, &runs, Layers(3), &mut known, &mut u);
        for axis in axes::<2>() {
            for face in grid.faces(axis) {
                // Along axes, layer n lies n steps beyond the middle.
                let mark = match middle(&face) {
                    steps @ 0..=4 => steps.max(1) as u8,
                    _ => 0,
                };
                assert_eq!(known[face], mark, "{face:?}");
                assert_eq!(u[face], if mark > 0 { 2.5 } else { 0.0 });
            }
        }
    }

    /// A number that is as good as random.
    fn hash(seed: u64, axis: usize, at: &[i32]) -> u64 {
        let start = seed.wrapping_mul(31) + axis as u64 + 1;
        let mixed = at.iter().fold(start, |h, &x| {
            (h ^ (x as u64 + 17)).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ h >> 31
        });
        mixed >> 20
    }

    /// The same face by face: all faces of a layer see the layers before it alone.
    fn carried_face_by_face<const D: usize>(
        grid: &Grid<D>,
        is_active: impl Fn(Axis, usize) -> bool,
        layers: u8,
        known: &mut FaceField<u8, D>,
        u: &mut FaceField<f64, D>,
    ) {
        let strides = grid.layout().strides();
        for axis in axes::<D>() {
            for layer in 1..=layers {
                let mut found = Vec::new();
                for face in grid.faces(axis) {
                    let index = grid.layout().index(face.at);
                    if known[face] != 0 || !is_active(axis, index) {
                        continue;
                    }
                    let marks = known.slice(axis.0);
                    let beside = strides.iter().flat_map(|s| [index - s, index + s]);
                    let beside: Vec<usize> = beside.filter(|&i| marks[i] != 0).collect();
                    if !beside.is_empty() {
                        let sum = beside.iter().fold(0.0, |s, &i| s + u.slice(axis.0)[i]);
                        found.push((face, sum / beside.len() as f64));
                    }
                }
                for (face, value) in found {
                    (u[face], known[face]) = (value, layer + 1);
                }
            }
        }
    }

    /// Values differ from face to face, marks are of any layer, and only some blocks are active.
    fn blocks_carry_what_faces_do<const D: usize>(cells: [usize; D], seed: u64) -> usize {
        let grid = Grid::new(cells, 1.0, [0.0; D]).unwrap();
        let of_block = |index: usize| !hash(seed, 9, &[(index / BLOCK) as i32]).is_multiple_of(4);
        let runs = match seed {
            0 => Runs::all(grid.layout()),
            _ => Runs::of_blocks(grid.layout(), of_block),
        };
        let mut is_active: [Vec<bool>; D] =
            std::array::from_fn(|_| vec![false; grid.layout().len()]);
        for axis in axes::<D>() {
            for row in grid.layout().rows(grid.face_extent(axis)) {
                for run in runs.in_row(row) {
                    let range = run.range(grid.face_extent(axis)[0]);
                    is_active[axis.0][row.start..][range].fill(true);
                }
            }
        }
        let mut u = FaceField::<f64, D>::new(&grid);
        let mut known = FaceField::<u8, D>::new(&grid);
        for axis in axes::<D>() {
            for face in grid.faces(axis) {
                let number = hash(seed, axis.0, &face.at);
                u[face] = (number % 1000) as f64 / 7.0;
                if number.is_multiple_of(23) {
                    known[face] = [1, 2, 127, 128, 255][(number / 23 % 5) as usize];
                }
            }
        }
        let (mut slow_u, mut slow_known) = (u.clone(), known.clone());
        let before = known.clone();
        into_air(&grid, &runs, Layers(3), &mut known, &mut u);
        let active = |axis: Axis, index: usize| is_active[axis.0][index];
        carried_face_by_face(&grid, active, 3, &mut slow_known, &mut slow_u);
        let mut reached = 0;
        for axis in axes::<D>() {
            for face in grid.faces(axis) {
                assert_eq!(known[face], slow_known[face], "{cells:?}, {seed}: {face:?}");
                assert_eq!(u[face].to_bits(), slow_u[face].to_bits(), "{face:?}");
                reached += usize::from(known[face] != before[face]);
            }
        }
        reached
    }

    #[test]
    fn blocks_carry_what_faces_do_2d() {
        for cells in [[16, 16], [13, 9], [7, 20], [41, 5], [2, 30]] {
            let reached = (0..4).map(|seed| blocks_carry_what_faces_do(cells, seed));
            assert!(reached.sum::<usize>() > 20, "{cells:?}");
        }
    }

    #[test]
    fn blocks_carry_what_faces_do_3d() {
        for cells in [[9, 7, 8], [17, 4, 5], [8, 3, 11]] {
            let reached = (0..4).map(|seed| blocks_carry_what_faces_do(cells, seed));
            assert!(reached.sum::<usize>() > 100, "{cells:?}");
        }
    }

    fn outward_everywhere(grid: &Grid<2>) -> FaceField<f64, 2> {
        let mut u = FaceField::new(grid);
        for axis in axes::<2>() {
            for face in grid.faces(axis) {
                u[face] = face.position(grid)[axis.0] - 8.0;
            }
        }
        u
    }

    #[test]
    fn closed_domain_walls_stop_the_flow_and_open_ones_do_not() {
        let grid = grid();
        let mut setup = Setup::new(grid);
        setup.sides[0][1] = DomainSide::Open;
        let solids = Solids::new(&setup);
        let runs = Runs::all(grid.layout());
        let mut u = outward_everywhere(&grid);
        constrain_at_solids(&grid, &runs, &solids, WallConstraint::Closed, &mut u);
        let face = |axis, at| Face { axis, at };
        assert_eq!(u[face(Axis::X, [0, 5])], 0.0);
        assert_eq!(u[face(Axis::X, [16, 5])], 8.0);
        assert_eq!(u[face(Axis::Y, [5, 0])], 0.0);
        assert_eq!(u[face(Axis::Y, [5, 16])], 0.0);
        assert_eq!(u[face(Axis::Y, [5, 1])], -7.0);
    }

    #[test]
    fn separating_walls_let_liquid_leave_them_where_nothing_presses_it_on() {
        let grid = grid();
        let solids = Solids::new(&Setup::new(grid));
        let runs = Runs::all(grid.layout());
        let mut u = outward_everywhere(&grid);
        for axis in axes::<2>() {
            for face in grid.faces(axis) {
                u[face] = -u[face]; // now inwards, off every wall
            }
        }
        let before = u.clone();
        let mut pressure = CellField::<f64, 2>::new(&grid);
        let constraint = WallConstraint::Contact(&pressure);
        constrain_at_solids(&grid, &runs, &solids, constraint, &mut u);
        assert_eq!(u, before);
        pressure[Cell([5, 15])] = 1.0;
        let constraint = WallConstraint::Contact(&pressure);
        constrain_at_solids(&grid, &runs, &solids, constraint, &mut u);
        let ceiling = |x| Face {
            axis: Axis::Y,
            at: [x, 16],
        };
        assert_eq!((u[ceiling(4)], u[ceiling(5)]), (before[ceiling(4)], 0.0));
        constrain_at_solids(&grid, &runs, &solids, WallConstraint::Closed, &mut u);
        assert_eq!(u[ceiling(4)], 0.0);
    }

    #[test]
    fn inside_an_obstacle_only_the_part_along_its_surface_stays() {
        let grid = grid();
        let mut setup = Setup::new(grid);
        let normal = [0.6, 0.8];
        setup.solids.push(Solid::new(Shape::Plane {
            point: [8.0, 8.0],
            normal,
        }));
        let solids = Solids::new(&setup);
        let runs = Runs::all(grid.layout());
        let mut u = FaceField::<f64, 2>::new(&grid);
        for axis in axes::<2>() {
            for face in grid.faces(axis) {
                u[face] = [3.0, -1.0][axis.0];
            }
        }
        constrain_at_solids(&grid, &runs, &solids, WallConstraint::Closed, &mut u);
        let through = 3.0 * normal[0] - normal[1];
        for axis in axes::<2>() {
            let inside = grid.faces(axis).filter(|f| {
                let border = f.at.iter().any(|&i| !(2..14).contains(&i));
                !border && solids.open()[*f] == 0.0
            });
            for face in inside {
                let exact = [3.0, -1.0][axis.0] - through * normal[axis.0];
                assert!((u[face] - exact).abs() < 1e-12, "{face:?} {}", u[face]);
            }
        }
    }
}
