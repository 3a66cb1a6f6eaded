//! Components of the matrix that nothing ties to zero.

use super::level::UNIFORM;
use super::matrix::LatticeMatrix;
use super::shape::BLOCK;
use crate::null_space::NullSpace;

/// Unknowns of a row that hang together along x.
#[derive(Clone, Copy)]
struct Run {
    /// First and last memory index.
    first: usize,
    last: usize,
    /// Number of the first unknown.
    unknown: usize,
    /// Another run of the same component, or itself.
    parent: usize,
    /// Whether anything in the component is coupled to zero.
    tied: bool,
}

impl<const D: usize> LatticeMatrix<D> {
    /// The constants that the matrix maps to zero, by unknown in memory order: one for every
    /// connected component that nothing ties to zero.
    pub fn null_space(&self) -> NullSpace {
        let (mut runs, rows) = self.runs();
        for row in 0..rows.len() - 1 {
            for (axis, back) in [(1, 1), (2, self.shape.cells[1])] {
                let first_of_plane = row % self.shape.cells[1] == 0;
                if row < back || (axis == 1 && (D == 2 || first_of_plane)) {
                    continue;
                }
                let (own, other) = (
                    rows[row]..rows[row + 1],
                    rows[row - back]..rows[row - back + 1],
                );
                self.join(&mut runs, own, other, axis);
            }
        }
        let mut members: Vec<(usize, Vec<u32>)> = Vec::new();
        for r in 0..runs.len() {
            let root = find(&mut runs, r);
            if runs[root].tied {
                continue;
            }
            let unknowns = runs[r].unknown..=runs[r].unknown + runs[r].last - runs[r].first;
            let unknowns = unknowns.map(|u| u as u32);
            match members.iter_mut().find(|m| m.0 == root) {
                Some(component) => component.1.extend(unknowns),
                None => members.push((root, unknowns.collect())),
            }
        }
        NullSpace::new(members.into_iter().map(|m| m.1).collect())
    }

    /// All runs in memory order, and the first run of each row, and one more.
    fn runs(&self) -> (Vec<Run>, Vec<usize>) {
        let (mut runs, mut rows, mut unknown) = (Vec::<Run>::new(), vec![0], 0);
        let (mut segments, mut linked) = (self.segments.iter().peekable(), false);
        for z in 0..self.shape.cells[2] {
            for y in 0..self.shape.cells[1] {
                let end = self.shape.index([0, y, z]) + self.shape.strides[1];
                let row_start = runs.len();
                while let Some(segment) = segments.next_if(|s| (s.index as usize) < end) {
                    for k in 0..segment.blocks as usize {
                        let first = segment.index as usize + k * BLOCK;
                        let rows = (segment.stream != UNIFORM)
                            .then(|| &self.rows[segment.stream as usize + k]);
                        for lane in 0..BLOCK {
                            let (there, on, tied) = rows.map_or((true, true, false), |rows| {
                                let on = rows.high[0][lane] > 0.0;
                                (rows.unknown >> lane & 1 == 1, on, rows.is_tied(lane))
                            });
                            if !there {
                                linked = false;
                                continue;
                            }
                            let index = first + lane;
                            match runs.last_mut() {
                                Some(run) if linked && run.last + 1 == index => {
                                    run.last = index;
                                    run.tied |= tied;
                                }
                                _ => runs.push(Run {
                                    first: index,
                                    last: index,
                                    unknown,
                                    parent: runs.len(),
                                    tied,
                                }),
                            }
                            unknown += 1;
                            linked = on && runs.len() > row_start;
                        }
                    }
                }
                linked = false;
                rows.push(runs.len());
            }
        }
        (runs, rows)
    }

    /// Joins runs of two neighbouring rows wherever a coupling leads across.
    fn join(
        &self,
        runs: &mut [Run],
        own: std::ops::Range<usize>,
        other: std::ops::Range<usize>,
        axis: usize,
    ) {
        let stride = self.shape.strides[axis];
        let mut j = other.start;
        for i in own {
            while j < other.end && runs[j].last + stride < runs[i].first {
                j += 1;
            }
            let mut k = j;
            while k < other.end && runs[k].first + stride <= runs[i].last {
                let from = runs[i].first.max(runs[k].first + stride);
                let to = runs[i].last.min(runs[k].last + stride);
                if (from..=to).any(|index| self.couples_down(index, axis)) {
                    unite(runs, i, k);
                }
                k += 1;
            }
        }
    }

    /// Whether a cell couples to its neighbour on the low side of an axis.
    fn couples_down(&self, index: usize, axis: usize) -> bool {
        let at = self.shape.at(index);
        let a = if D == 2 && axis == 2 { 1 } else { axis };
        match self.kind[self.shape.block_of(at)] {
            UNIFORM => true,
            place => self.rows[place as usize].low[a][at[0] % BLOCK] > 0.0,
        }
    }
}

fn find(runs: &mut [Run], mut r: usize) -> usize {
    while runs[r].parent != r {
        runs[r].parent = runs[runs[r].parent].parent;
        r = runs[r].parent;
    }
    r
}

fn unite(runs: &mut [Run], a: usize, b: usize) {
    let (a, b) = (find(runs, a), find(runs, b));
    let (root, leaf) = (a.min(b), a.max(b));
    runs[leaf].parent = root;
    runs[root].tied |= runs[leaf].tied;
}
