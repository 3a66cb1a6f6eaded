//! Which unknowns of a level make up one unknown of the next.

use rayon::prelude::*;

use super::rows::Rows;
use crate::csr::Csr;

/// No unknown.
pub(super) const NONE: u32 = u32::MAX;

/// A row whose sum exceeds this share of its diagonal is tied to a fixed value: air.
const OPEN: f64 = 1e-7;

/// Where the unknowns of one level lie and which of them touch. On coarse levels several may
/// share a cell.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    pub dimensions: usize,
    pub at: Vec<[i32; 3]>,
    /// Which unknowns are coupled across faces, and how strongly. On coarse levels this is summed
    /// up from the finer ones: the entries of a Galerkin matrix are no guide, some of those
    /// between cells that touch are zero.
    graph: Rows,
    /// For each unknown the sides ([`side_bit`]) beyond which the value is zero.
    pub air: Vec<u8>,
}

/// How the unknowns of a level are joined.
pub(super) struct Aggregates {
    /// The coarse unknown that each fine one belongs to, or [`NONE`].
    pub parent: Vec<u32>,
    pub coarse: Cells,
}

/// The bit of a side: `high` is 0 for the lower face along `axis`, 1 for the upper.
pub(super) fn side_bit(axis: usize, high: usize) -> u8 {
    1 << (2 * axis + high)
}

/// The axis and side on which the cell `to` touches the cell `from`.
fn side(from: [i32; 3], to: [i32; 3]) -> Option<(usize, usize)> {
    let offset: [i64; 3] = std::array::from_fn(|k| i64::from(to[k]) - i64::from(from[k]));
    match offset {
        [1, 0, 0] => Some((0, 1)),
        [-1, 0, 0] => Some((0, 0)),
        [0, 1, 0] => Some((1, 1)),
        [0, -1, 0] => Some((1, 0)),
        [0, 0, 1] => Some((2, 1)),
        [0, 0, -1] => Some((2, 0)),
        _ => None,
    }
}

/// The negative entries of a matrix off its diagonal, with the sign changed.
fn couplings(a: &Csr) -> Rows {
    let mut graph = Rows::with_capacity(a.rows(), a.nonzeros());
    let mut row = Vec::new();
    for i in 0..a.rows() {
        let (columns, values) = a.row(i);
        let entries = columns.iter().zip(values);
        row.extend(
            entries
                .filter_map(|(&j, &value)| (value < 0.0 && j as usize != i).then_some((j, -value))),
        );
        graph.push(&row);
        row.clear();
    }
    graph
}

/// The graph of the aggregates.
fn aggregated(fine: &Rows, parent: &[u32], coarse_rows: usize) -> Rows {
    let mut children = Rows::with_capacity(parent.len(), parent.len());
    for &parent in parent {
        let entry = [(parent, 1.0)];
        children.push(if parent == NONE { &[] } else { &entry });
    }
    let children = children.transposed(coarse_rows, 1.0);
    let mut graph = Rows::with_capacity(coarse_rows, 6 * coarse_rows);
    let mut row: Vec<(u32, f64)> = Vec::new();
    for i in 0..coarse_rows {
        row.clear();
        for &child in children.row(i).0 {
            let (others, strengths) = fine.row(child as usize);
            for (&other, &strength) in others.iter().zip(strengths) {
                let j = parent[other as usize];
                if j as usize == i || j == NONE {
                    continue;
                }
                // A handful of neighbours: looking through them is the fastest way.
                match row.iter_mut().find(|entry| entry.0 == j) {
                    Some(entry) => entry.1 += strength,
                    None => row.push((j, strength)),
                }
            }
        }
        graph.push(&row);
    }
    graph
}

impl Cells {
    /// The cells of the finest level, moved such that no coordinate is negative.
    pub fn finest(a: &Csr, dimensions: usize, at: &[[i32; 3]]) -> Cells {
        let mut least = [i32::MAX; 3];
        for place in at {
            for k in 0..3 {
                least[k] = least[k].min(place[k]);
            }
        }
        // Wrapping: a lattice wider than i32 folds over, which costs speed and nothing else.
        let at: Vec<[i32; 3]> = at
            .iter()
            .map(|place| {
                std::array::from_fn(|k| {
                    if k < dimensions {
                        place[k].wrapping_sub(least[k]) & i32::MAX
                    } else {
                        0
                    }
                })
            })
            .collect();
        let graph = couplings(a);
        let air = air_sides(a, &graph, dimensions, &at);
        Cells {
            dimensions,
            at,
            graph,
            air,
        }
    }

    /// The side along `axis` to which cell `i` lies within its parent.
    pub fn lean(&self, i: usize, axis: usize) -> usize {
        (self.at[i][axis] & 1) as usize
    }

    /// The unknowns that `i` is coupled to, and how strongly.
    fn coupled(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        coupled(&self.graph, i)
    }

    /// For each unknown and axis, the unknown it is most strongly coupled to in the adjacent cell
    /// on the side of its [`lean`](Self::lean): the way to the next coarse cell.
    pub fn steps(&self) -> Vec<[u32; 3]> {
        let step = |i: usize| {
            let mut nearest = [NONE; 3];
            let mut strongest = [0.0; 3];
            for (j, strength) in self.coupled(i) {
                if let Some((axis, high)) = side(self.at[i], self.at[j])
                    && high == self.lean(i, axis)
                    && strength > strongest[axis]
                {
                    nearest[axis] = j as u32;
                    strongest[axis] = strength;
                }
            }
            nearest
        };
        (0..self.at.len()).into_par_iter().map(step).collect()
    }

    /// Joins the unknowns inside each cell of twice the size: those connected within it, or all
    /// of them. Unknowns coupled to no other are left out, since smoothing solves them exactly.
    pub fn aggregate(&self, connected: bool) -> Aggregates {
        let rows = self.at.len();
        let cell = |i: usize| self.at[i].map(|x| x >> 1);
        let mut order: Vec<u32> = (0..rows as u32)
            .filter(|&i| self.coupled(i as usize).next().is_some())
            .collect();
        order.par_sort_unstable_by_key(|&i| {
            let [x, y, z] = cell(i as usize);
            (z, y, x, i)
        });
        let mut groups = Groups::new(rows);
        if connected {
            for i in 0..rows {
                for (j, _) in self.coupled(i) {
                    if j < i && cell(j) == cell(i) {
                        groups.join(i as u32, j as u32);
                    }
                }
            }
        } else {
            for pair in order.windows(2) {
                if cell(pair[0] as usize) == cell(pair[1] as usize) {
                    groups.join(pair[0], pair[1]);
                }
            }
        }
        self.number(&order, groups)
    }

    /// Numbers the groups in the order of their cells.
    fn number(&self, order: &[u32], mut groups: Groups) -> Aggregates {
        let mut parent = vec![NONE; self.at.len()];
        let mut number = vec![NONE; self.at.len()];
        let (mut at, mut air) = (Vec::new(), Vec::<u8>::new());
        for &i in order {
            let root = groups.root(i) as usize;
            if number[root] == NONE {
                number[root] = at.len() as u32;
                at.push(self.at[i as usize].map(|x| x >> 1));
                air.push(0);
            }
            let coarse = number[root];
            parent[i as usize] = coarse;
            air[coarse as usize] |= self.air[i as usize];
        }
        let graph = aggregated(&self.graph, &parent, at.len());
        Aggregates {
            parent,
            coarse: Cells {
                dimensions: self.dimensions,
                at,
                graph,
                air,
            },
        }
    }
}

/// The unknowns that `i` is coupled to, and how strongly.
fn coupled(graph: &Rows, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
    let (columns, strengths) = graph.row(i);
    let columns = columns.iter().map(|&j| j as usize);
    columns.zip(strengths.iter().copied())
}

/// Union-find whose representative is the least member.
struct Groups {
    up: Vec<u32>,
}

impl Groups {
    fn new(n: usize) -> Groups {
        Groups {
            up: (0..n as u32).collect(),
        }
    }

    fn root(&mut self, mut i: u32) -> u32 {
        while self.up[i as usize] != i {
            let above = self.up[self.up[i as usize] as usize];
            self.up[i as usize] = above;
            i = above;
        }
        i
    }

    fn join(&mut self, i: u32, j: u32) {
        let (i, j) = (self.root(i), self.root(j));
        self.up[i.max(j) as usize] = i.min(j);
    }
}

/// Tells air from solid by the matrix alone.
///
/// The entries of a row sum to the strength of its ties to fixed values. Where they sum to zero,
/// every missing neighbour is solid; where they do not and one neighbour is missing, that one is
/// air. A row that misses several asks its neighbours along the surface, and in doubt takes all
/// for air.
fn air_sides(a: &Csr, graph: &Rows, dimensions: usize, at: &[[i32; 3]]) -> Vec<u8> {
    let all = ((1_u16 << (2 * dimensions)) - 1) as u8;
    let look = |i: usize| {
        let mut present = 0;
        for (j, _) in coupled(graph, i) {
            if let Some((axis, high)) = side(at[i], at[j]) {
                present |= side_bit(axis, high);
            }
        }
        let (columns, values) = a.row(i);
        let sum: f64 = values.iter().sum();
        let diagonal = columns
            .binary_search(&(i as u32))
            .map_or(0.0, |k| values[k]);
        (all & !present, sum > OPEN * diagonal)
    };
    let seen: Vec<(u8, bool)> = (0..at.len()).into_par_iter().map(look).collect();
    let decide = |i: usize| {
        let (missing, open) = seen[i];
        if !open {
            return 0;
        }
        if missing.count_ones() <= 1 {
            return missing;
        }
        let mut air = 0;
        for bit in (0..8).map(|k| 1 << k).filter(|bit| missing & bit != 0) {
            let (mut for_air, mut for_solid) = (0, 0);
            for (j, _) in coupled(graph, i) {
                match seen[j] {
                    (missing, false) if missing & bit != 0 => for_solid += 1,
                    (missing, true) if missing == bit => for_air += 1,
                    _ => {}
                }
            }
            if for_air >= for_solid {
                air |= bit;
            }
        }
        if air == 0 { missing } else { air }
    };
    (0..at.len()).into_par_iter().map(decide).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of cells, each coupled to the next unless `cut` lies between, open at both ends.
    fn row_of_cells(n: i32, cut: i32) -> Cells {
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        let linked = |i: i32| (0..n - 1).contains(&i) && i + 1 != cut;
        for i in 0..n {
            let open = f64::from(u8::from(i == 0 || i == n - 1));
            let links = f64::from(u8::from(linked(i - 1)) + u8::from(linked(i)));
            let row = [
                (i - 1, -1.0, linked(i - 1)),
                (i, links + open, true),
                (i + 1, -1.0, linked(i)),
            ];
            for (j, value, _) in row.into_iter().filter(|entry| entry.2) {
                columns.push(j as u32);
                values.push(value);
            }
            starts.push(columns.len() as u32);
        }
        let a = Csr::new(starts, columns, values).expect("a matrix");
        let at: Vec<[i32; 3]> = (0..n).map(|i| [i - 3, 7, 0]).collect();
        Cells::finest(&a, 2, &at)
    }

    #[test]
    fn a_cut_inside_a_coarse_cell_makes_two_unknowns_of_it() {
        let cells = row_of_cells(8, 4);
        assert_eq!(
            cells.aggregate(true).parent,
            [0, 0, 1, 1, 2, 2, 3, 3],
            "a cut between coarse cells"
        );
        let cells = row_of_cells(8, 3);
        let joined = cells.aggregate(true);
        assert_eq!(joined.parent, [0, 0, 1, 2, 3, 3, 4, 4]);
        assert_eq!(joined.coarse.at[1], joined.coarse.at[2]);
        assert_eq!(cells.aggregate(false).parent, [0, 0, 1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn a_lone_unknown_is_left_to_the_smoother() {
        let cells = row_of_cells(3, 1);
        assert_eq!(cells.aggregate(true).parent, [NONE, 0, 1]);
    }

    #[test]
    fn steps_go_to_the_nearer_coarse_cell_and_stop_at_cuts() {
        let cells = row_of_cells(6, 4);
        let steps: Vec<u32> = cells.steps().iter().map(|step| step[0]).collect();
        assert_eq!(steps, [NONE, 2, 1, NONE, NONE, NONE]);
    }

    #[test]
    fn sides_are_air_only_where_the_row_is_tied_to_a_fixed_value() {
        let cells = row_of_cells(4, 2);
        // The ends miss three sides each and are taken for air on all of them but those where a
        // neighbour along the surface knows better.
        assert_ne!(cells.air[0] & side_bit(0, 0), 0);
        assert_eq!(cells.air[1], 0);
        assert_eq!(cells.air[0] & side_bit(1, 0), 0);
        assert_ne!(cells.air[3] & side_bit(0, 1), 0);
    }
}
