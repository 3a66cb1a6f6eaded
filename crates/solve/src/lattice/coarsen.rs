//! The next coarser level by aggregation.
//!
//! A coarse cell covers `2^D` fine ones; its unknowns are the connected components of the fine
//! unknowns in it, so that nothing leaks through a thin solid. The largest component takes the
//! coarse cell's place on the lattice, the others become tails. Transfers are constant on a
//! component. Couplings add up; halving them makes up for the steps in a piecewise constant
//! correction. What couples an unknown to zero is softened as it is summed,
//! `D = Σ d/(1 + α d/w)`: seen from a coarse cell, a value held at zero in a fine one is not that
//! close.
//!
//! Blocks far from any split cell are summed lane by lane ([`blocks`](super::blocks)); the few
//! others cell by cell, here.

use rayon::prelude::*;

use super::blocks::{self, Draft};
use super::level::{Coefficients, EMPTY, Lanes, Level, UNIFORM};
use super::shape::{BLOCK, Shape, slots};

/// How a Dirichlet coupling softens from level to level; 0.1 to 0.5 work alike.
const SOFTENING: f32 = 0.25;

/// No coarse unknown: a fine unknown that couples to nothing needs no coarse correction.
pub const NONE: u32 = u32::MAX;

/// Fine unknowns that share a coarse one.
type Children = Vec<u32>;

/// How a level's unknowns map to those of the next.
#[derive(Clone, Debug, Default)]
pub struct Transfer {
    /// Fine lattice unknowns whose coarse unknown is not their coarse cell's: fine, coarse.
    pub exceptions: Vec<(u32, u32)>,
    /// The coarse unknown of each fine tail.
    pub tail_parents: Vec<u32>,
    /// Coarse unknowns whose residual is summed child by child.
    pub redo: Vec<u32>,
    /// Where the children of each of them begin, and one more.
    pub redo_starts: Vec<u32>,
    /// Those children.
    pub redo_children: Vec<u32>,
}

impl Transfer {
    /// Whether every fine unknown belongs to its coarse cell.
    pub fn is_plain(&self) -> bool {
        self.exceptions.is_empty() && self.tail_parents.is_empty()
    }
}

/// A coarse cell that is not one component of plain lattice cells.
pub struct SplitCell {
    /// Memory index of the coarse cell.
    pub cell: u32,
    /// Its components, the largest first.
    pub components: Vec<Children>,
    /// Children that couple to nothing.
    pub isolated: Children,
}

/// What couples a coarse unknown to zero, given that of a child.
#[inline(always)]
pub fn soften(d: f32, weight: f32) -> f32 {
    d / (1.0 + SOFTENING * d / weight)
}

/// The uniform weight of the coarser level: half the sum over a coarse face.
pub fn coarse_weight<const D: usize>(weight: f32) -> f32 {
    0.5 * (1 << (D - 1)) as f32 * weight
}

/// Builds the level that covers `fine`, and how to get there.
pub fn coarsen<const D: usize>(fine: &Level<D>, coarse: &mut Level<D>) -> Transfer {
    let shape = coarse.shape;
    let tails = TailMap::new(fine, &shape);
    let drafts: Vec<Draft<D>> = (0..shape.cells[2])
        .into_par_iter()
        .map(|z| blocks::draft(fine, &shape, &tails, z))
        .collect();
    coarse.irregular.rows.clear();
    coarse.irregular.entries.clear();
    coarse.tails.clear();
    let transfer = if drafts.iter().all(|draft| draft.splits.is_empty()) {
        gather(drafts, coarse);
        Transfer::default()
    } else {
        let (drafts, aggregation) = Aggregation::new(fine, shape, drafts);
        let planes: Vec<(Draft<D>, Vec<BuiltRow>)> = drafts
            .into_par_iter()
            .enumerate()
            .map(|(z, draft)| aggregation.redraft(fine, draft, z))
            .collect();
        let (drafts, rows): (Vec<_>, Vec<_>) = planes.into_iter().unzip();
        gather(drafts, coarse);
        let mut rows: Vec<BuiltRow> = rows.into_iter().flatten().collect();
        rows.sort_unstable_by_key(|row| row.index);
        coarse.unknowns += aggregation.tails.len();
        for row in rows {
            let irregular = &mut coarse.irregular;
            irregular.push(row.index, row.dirichlet, &row.couplings);
        }
        aggregation.transfer(coarse)
    };
    coarse.finish();
    transfer
}

/// Joins the planes of a level.
fn gather<const D: usize>(drafts: Vec<Draft<D>>, coarse: &mut Level<D>) {
    coarse.kind.clear();
    coarse.stream.clear();
    coarse.dirichlet.clear();
    coarse.unknowns = 0;
    for draft in drafts {
        let base = coarse.stream.len() as u32;
        let place = |kind: u32| if kind >= UNIFORM { kind } else { kind + base };
        coarse.kind.extend(draft.kind.into_iter().map(place));
        coarse.stream.extend(draft.stream);
        coarse.dirichlet.extend(draft.dirichlet);
        coarse.unknowns += draft.unknowns;
    }
}

/// The tails of a level by the coarse cell they lie in.
pub struct TailMap {
    /// Coarse cell and tail, ascending.
    by_cell: Vec<(u32, u32)>,
}

impl TailMap {
    fn new<const D: usize>(fine: &Level<D>, shape: &Shape) -> Self {
        let mut by_cell: Vec<(u32, u32)> = (0..fine.tails.len())
            .map(|t| {
                let at = parent_cell::<D>(fine.shape.at(fine.tails[t] as usize));
                (shape.index(at) as u32, (fine.shape.len + t) as u32)
            })
            .collect();
        by_cell.sort_unstable();
        TailMap { by_cell }
    }

    /// The tails in the coarse cells with these memory indices.
    pub fn within(&self, cells: std::ops::Range<u32>) -> &[(u32, u32)] {
        let from = self.by_cell.partition_point(|t| t.0 < cells.start);
        let to = self.by_cell.partition_point(|t| t.0 < cells.end);
        &self.by_cell[from..to]
    }
}

/// Which coarse unknown each fine one belongs to.
struct Aggregation {
    shape: Shape,
    /// Per coarse block, which cells are split.
    split: Vec<u8>,
    /// The split cells, by coarse cell.
    cells: Vec<SplitCell>,
    /// Vector index of the first tail that each split cell adds.
    first_tail: Vec<u32>,
    tails: Vec<u32>,
    exceptions: Vec<(u32, u32)>,
    tail_parents: Vec<u32>,
}

/// An explicit row before it has a place.
struct BuiltRow {
    index: u32,
    dirichlet: f32,
    couplings: Vec<(u32, f32)>,
}

impl Aggregation {
    fn new<const D: usize>(
        fine: &Level<D>,
        shape: Shape,
        mut drafts: Vec<Draft<D>>,
    ) -> (Vec<Draft<D>>, Self) {
        let cells: Vec<SplitCell> = drafts
            .iter_mut()
            .flat_map(|draft| std::mem::take(&mut draft.splits))
            .collect();
        let mut this = Aggregation {
            split: vec![0; shape.blocks()],
            first_tail: Vec::with_capacity(cells.len()),
            tails: Vec::new(),
            exceptions: Vec::new(),
            tail_parents: vec![NONE; fine.tails.len()],
            shape,
            cells,
        };
        this.number(fine.shape.len);
        (drafts, this)
    }

    /// Gives every component of the split cells its coarse unknown.
    fn number(&mut self, fine_len: usize) {
        for cell in &self.cells {
            let at = self.shape.at(cell.cell as usize);
            self.split[self.shape.block_of(at)] |= 1 << (at[0] % BLOCK);
            let first_tail = (self.shape.len + self.tails.len()) as u32;
            self.first_tail.push(first_tail);
            for (c, children) in cell.components.iter().enumerate() {
                let coarse = component_index(cell.cell, first_tail, c);
                if c > 0 {
                    self.tails.push(cell.cell);
                }
                for &child in children {
                    match (child as usize).checked_sub(fine_len) {
                        Some(tail) => self.tail_parents[tail] = coarse,
                        None if c > 0 => self.exceptions.push((child, coarse)),
                        None => {}
                    }
                }
            }
            let lattice = cell.isolated.iter().filter(|&&u| (u as usize) < fine_len);
            self.exceptions.extend(lattice.map(|&child| (child, NONE)));
        }
        self.exceptions.sort_unstable();
    }

    /// The coarse unknown of a fine one.
    fn parent<const D: usize>(&self, fine: &Level<D>, index: u32) -> u32 {
        if let Some(tail) = (index as usize).checked_sub(fine.shape.len) {
            return self.tail_parents[tail];
        }
        let at = parent_cell::<D>(fine.shape.at(index as usize));
        let cell = self.shape.index(at) as u32;
        if self.split[self.shape.block_of(at)] >> (at[0] % BLOCK) & 1 == 0 {
            return cell;
        }
        let place = self.exceptions.binary_search_by_key(&index, |e| e.0);
        place.map_or(cell, |place| self.exceptions[place].1)
    }

    /// Whether a coarse block or one beside it has a split cell.
    fn is_near_split<const D: usize>(&self, block: usize) -> bool {
        if self.split[block] != 0 {
            return true;
        }
        let start = self.shape.block_start(block);
        let (row, plane) = (self.shape.row_blocks(), self.shape.plane_blocks());
        slots::<D>().into_iter().any(|axis| {
            let (at, last, step) = match axis {
                0 => (start[0] / BLOCK, row, 1),
                1 => (start[1], self.shape.cells[1], row),
                _ => (start[2], self.shape.cells[2], plane),
            };
            (at > 0 && self.split[block - step] != 0)
                || (at + 1 < last && self.split[block + step] != 0)
        })
    }

    /// Builds the blocks near split cells anew.
    fn redraft<const D: usize>(
        &self,
        fine: &Level<D>,
        draft: Draft<D>,
        z: usize,
    ) -> (Draft<D>, Vec<BuiltRow>) {
        let mut new = Draft::empty(draft.kind.len());
        let (mut rows, mut builder) = (Vec::new(), RowBuilder::default());
        for local in 0..draft.kind.len() {
            let block = z * self.shape.plane_blocks() + local;
            let kind = draft.kind[local];
            if self.is_near_split::<D>(block) {
                self.build_block(fine, block, local, &mut builder, &mut new, &mut rows);
            } else if kind == UNIFORM {
                new.push_uniform(local);
            } else if kind != EMPTY {
                let place = kind as usize;
                new.push(local, draft.stream[place], draft.dirichlet[place]);
            }
        }
        (new, rows)
    }

    fn build_block<const D: usize>(
        &self,
        fine: &Level<D>,
        block: usize,
        local: usize,
        builder: &mut RowBuilder,
        draft: &mut Draft<D>,
        rows: &mut Vec<BuiltRow>,
    ) {
        let start = self.shape.block_start(block);
        let mut place = LanePlace::<D> {
            rows: Coefficients::NONE,
            zeros: [0.0; BLOCK],
            lane: 0,
        };
        for lane in 0..BLOCK.min(self.shape.cells[0] - start[0]) {
            let at = [start[0] + lane, start[1], start[2]];
            let cell = self.shape.index(at) as u32;
            place.lane = lane;
            if self.split[block] >> lane & 1 == 0 {
                if builder.sum_cell(self, fine, at, cell) {
                    self.put(builder, cell, cell, &mut place, rows);
                }
                continue;
            }
            let split = self.cells.binary_search_by_key(&cell, |c| c.cell);
            let split = split.expect("a split cell is listed");
            for (c, children) in self.cells[split].components.iter().enumerate() {
                let index = component_index(cell, self.first_tail[split], c);
                builder.begin();
                for &child in children {
                    builder.add(self, fine, index, child);
                }
                self.put(builder, index, cell, &mut place, rows);
            }
        }
        if place.rows.diagonal.iter().any(|&d| d > 0.0) {
            draft.push(local, place.rows, place.zeros);
        }
    }

    /// Puts a finished row where it belongs: a lane of the block, or an explicit row.
    fn put<const D: usize>(
        &self,
        builder: &RowBuilder,
        index: u32,
        cell: u32,
        to: &mut LanePlace<D>,
        rows: &mut Vec<BuiltRow>,
    ) {
        let strides = slots::<D>().map(|axis| self.shape.strides[axis] as u32);
        let beside = |other: u32| strides.contains(&other.abs_diff(cell));
        if index != cell || !builder.couplings.iter().all(|&(other, _)| beside(other)) {
            if index == cell {
                // Marks the cell as an unknown that sweeps over the lattice pass by.
                to.rows.diagonal[to.lane] = 1.0;
            }
            rows.push(BuiltRow {
                index,
                dirichlet: builder.dirichlet,
                couplings: builder.couplings.clone(),
            });
            return;
        }
        for &(other, weight) in &builder.couplings {
            for a in 0..D {
                if other == cell + strides[a] {
                    to.rows.high[a][to.lane] = weight;
                } else if other + strides[a] == cell {
                    to.rows.low[a][to.lane] = weight;
                }
            }
        }
        to.zeros[to.lane] = builder.dirichlet;
        to.rows.close(to.lane, &mut to.zeros[to.lane]);
    }

    /// The lists a cycle needs to move between the levels.
    fn transfer<const D: usize>(self, coarse: &mut Level<D>) -> Transfer {
        let mut by_hand: Vec<(u32, Children)> = Vec::new();
        for (cell, first_tail) in self.cells.into_iter().zip(self.first_tail) {
            for (c, children) in cell.components.into_iter().enumerate() {
                by_hand.push((component_index(cell.cell, first_tail, c), children));
            }
        }
        by_hand.sort_unstable_by_key(|entry| entry.0);
        let mut transfer = Transfer {
            exceptions: self.exceptions,
            tail_parents: self.tail_parents,
            redo_starts: vec![0],
            ..Transfer::default()
        };
        for (index, children) in by_hand {
            transfer.redo.push(index);
            transfer.redo_children.extend(children);
            let end = transfer.redo_children.len() as u32;
            transfer.redo_starts.push(end);
        }
        coarse.tails = self.tails;
        transfer
    }
}

/// A lane of a block being built.
struct LanePlace<const D: usize> {
    rows: Coefficients<D>,
    zeros: Lanes,
    lane: usize,
}

/// The coarse unknown of component `c` of a cell.
fn component_index(cell: u32, first_tail: u32, c: usize) -> u32 {
    if c == 0 {
        cell
    } else {
        first_tail + c as u32 - 1
    }
}

/// Sums the couplings of a coarse unknown.
#[derive(Default)]
struct RowBuilder {
    couplings: Vec<(u32, f32)>,
    dirichlet: f32,
}

impl RowBuilder {
    fn begin(&mut self) {
        self.couplings.clear();
        self.dirichlet = 0.0;
    }

    /// Adds the row of one child to the coarse unknown `own`.
    fn add<const D: usize>(
        &mut self,
        aggregation: &Aggregation,
        fine: &Level<D>,
        own: u32,
        child: u32,
    ) {
        let couplings = &mut self.couplings;
        let zero = fine.live_couplings(child, |other, weight| {
            let parent = aggregation.parent(fine, other);
            if parent == own {
                return;
            }
            match couplings.iter_mut().find(|entry| entry.0 == parent) {
                Some(entry) => entry.1 += 0.5 * weight,
                None => couplings.push((parent, 0.5 * weight)),
            }
        });
        self.dirichlet += soften(zero, fine.weight);
    }

    /// Sums a coarse cell that is one component; false if it has no child.
    fn sum_cell<const D: usize>(
        &mut self,
        aggregation: &Aggregation,
        fine: &Level<D>,
        at: [usize; 3],
        cell: u32,
    ) -> bool {
        self.begin();
        let mut any = false;
        for_children::<D>(&fine.shape, at, |child| {
            if fine.is_unknown(child) {
                any = true;
                self.add(aggregation, fine, cell, child as u32);
            }
        });
        any
    }
}

/// The cell that covers a fine one.
#[inline(always)]
pub fn parent_cell<const D: usize>(at: [usize; 3]) -> [usize; 3] {
    let y = if D == 3 { at[1] / 2 } else { at[1] };
    [at[0] / 2, y, at[2] / 2]
}

/// Calls `f` with the memory index of every fine cell below a coarse one.
fn for_children<const D: usize>(fine: &Shape, at: [usize; 3], mut f: impl FnMut(usize)) {
    let last = |a: usize| (2 * at[a] + 2).min(fine.cells[a]);
    let rows = if D == 3 { 2 * at[1]..last(1) } else { 0..1 };
    for z in 2 * at[2]..last(2) {
        for y in rows.clone() {
            for x in 2 * at[0]..last(0) {
                f(fine.index([x, y, z]));
            }
        }
    }
}

/// The components of a coarse cell, if they are not a single one of plain lattice cells.
pub fn split_cell<const D: usize>(
    fine: &Level<D>,
    at: [usize; 3],
    cell: u32,
    tails: &[(u32, u32)],
) -> Option<SplitCell> {
    let mut members = Children::new();
    for_children::<D>(&fine.shape, at, |child| {
        if fine.is_unknown(child) {
            members.push(child as u32);
        }
    });
    members.extend(tails.iter().map(|t| t.1));
    let mut component: Vec<usize> = (0..members.len()).collect();
    let (mut isolated, mut irregular) = (Children::new(), false);
    for i in 0..members.len() {
        irregular |= fine.irregular.find(members[i]).is_some();
        let mut coupled = false;
        let _ = fine.live_couplings(members[i], |other, _| {
            coupled = true;
            if let Some(j) = members.iter().position(|&m| m == other) {
                let (from, to) = (
                    component[i].max(component[j]),
                    component[i].min(component[j]),
                );
                component
                    .iter_mut()
                    .filter(|c| **c == from)
                    .for_each(|c| *c = to);
            }
        });
        if !coupled {
            isolated.push(members[i]);
            component[i] = usize::MAX;
        }
    }
    let mut components: Vec<Children> = (0..members.len())
        .map(|c| {
            let of_it = (0..members.len()).filter(|&i| component[i] == c);
            of_it.map(|i| members[i]).collect()
        })
        .filter(|children: &Children| !children.is_empty())
        .collect();
    if components.len() <= 1 && isolated.is_empty() && !irregular {
        return None;
    }
    // The largest first; of equals the one with the first child.
    components.sort_by_key(|children| (usize::MAX - children.len(), children[0]));
    Some(SplitCell {
        cell,
        components,
        isolated,
    })
}
