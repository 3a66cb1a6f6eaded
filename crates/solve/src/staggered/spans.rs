//! Where in the rows of a lattice there may be anything.

use std::ops::Range;

use super::body::Body;
use super::shape::row_start;

/// For each row of cells the stretch outside which there is nothing, so that what lies far apart in a
/// large lattice does not cost what the lattice would.
#[derive(Clone, Debug)]
pub struct Spans<const D: usize> {
    cells: [usize; D],
    /// First cell and one after the last; the same where there is nothing.
    rows: Vec<[u32; 2]>,
}

impl<const D: usize> Spans<D> {
    /// Those of the part of a body's lattice that has so many cells from `offset` on.
    pub fn of(body: &impl Body<D>, offset: [i32; D], cells: [usize; D]) -> Self {
        let [low, high] = body.bounds();
        Spans::by_row(cells, |row| {
            let at: [i32; D] = std::array::from_fn(|a| row[a] + offset[a]);
            if (1..D).any(|a| at[a] < low[a] || at[a] > high[a]) {
                return [0; 2];
            }
            let Range { start, end } = body.row(at);
            let ends = [start.max(low[0]), end.min(high[0] + 1)];
            ends.map(|x| (x - offset[0]).clamp(0, cells[0] as i32) as u32)
        })
    }

    /// Cells along each axis.
    pub fn cells(&self) -> [usize; D] {
        self.cells
    }

    fn by_row(cells: [usize; D], mut of: impl FnMut([i32; D]) -> [u32; 2]) -> Self {
        let count: usize = cells[1..].iter().product();
        let rows = (0..count).map(|r| {
            let [low, high] = of(row_start(cells, r));
            [low.min(high), high]
        });
        Spans {
            cells,
            rows: rows.collect(),
        }
    }

    fn ends(&self, at: [i32; D]) -> [u32; 2] {
        let mut r = 0;
        for a in (1..D).rev() {
            if at[a] < 0 || at[a] as usize >= self.cells[a] {
                return [0; 2];
            }
            r = r * self.cells[a] + at[a] as usize;
        }
        self.rows[r]
    }

    /// The cells of the row through `at`; none beyond the lattice.
    #[inline]
    pub fn row(&self, at: [i32; D]) -> Range<usize> {
        let [low, high] = self.ends(at);
        low as usize..high as usize
    }

    /// Whether there may be something in a cell.
    #[inline]
    pub fn contains(&self, cell: [i32; D]) -> bool {
        usize::try_from(cell[0]).is_ok_and(|x| self.row(cell).contains(&x))
    }

    /// With so many cells more on every side, as far as the lattice goes.
    pub fn dilated(&self, reach: usize) -> Self {
        let mut wider = self.clone();
        for a in 1..D {
            let reach = reach as i32;
            wider = Spans::by_row(self.cells, |row| {
                let beside = (-reach..=reach).map(|by| {
                    let mut at = row;
                    at[a] += by;
                    wider.ends(at)
                });
                beside.fold([0; 2], hull)
            });
        }
        for [low, high] in wider.rows.iter_mut().filter(|[low, high]| low < high) {
            *low = low.saturating_sub(reach as u32);
            *high = (*high + reach as u32).min(self.cells[0] as u32);
        }
        wider
    }

    /// In cells of twice the side.
    pub fn coarsened(&self) -> Self {
        Spans::by_row(self.cells.map(|n| n.div_ceil(2)), |row| {
            let children = (0..1usize << (D - 1)).map(|k| {
                let by = |a: usize| (k << 1 >> a & 1) as i32;
                self.ends(std::array::from_fn(|a| 2 * row[a] + by(a)))
            });
            let [low, high] = children.fold([0; 2], hull);
            [low / 2, high.div_ceil(2)]
        })
    }
}

/// What holds both.
fn hull(one: [u32; 2], other: [u32; 2]) -> [u32; 2] {
    match (one[0] < one[1], other[0] < other[1]) {
        (true, true) => [one[0].min(other[0]), one[1].max(other[1])],
        (true, false) => one,
        (false, _) => other,
    }
}

/// The cells of the row through `at` where there may be something, all of it if that is not known.
#[inline]
pub fn in_row<const D: usize>(
    spans: Option<&Spans<D>>,
    cells: [usize; D],
    at: [i32; D],
) -> Range<usize> {
    spans.map_or(0..cells[0], |spans| spans.row(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cell here and there.
    fn specks<const D: usize>(cells: [usize; D]) -> Spans<D> {
        Spans::by_row(cells, |row| {
            let number = row[1..].iter().fold(7, |n, &x| (31 * n + x) % 97);
            let first = (number % cells[0] as i32) as u32;
            match number % 5 {
                0 => [first, (first + 3).min(cells[0] as u32)],
                _ => [first; 2],
            }
        })
    }

    fn all_cells<const D: usize>(cells: [usize; D]) -> impl Iterator<Item = [i32; D]> {
        let rows = 0..cells[1..].iter().product();
        rows.flat_map(move |r| {
            let row = row_start(cells, r);
            (0..cells[0] as i32).map(move |x| {
                let mut at = row;
                at[0] = x;
                at
            })
        })
    }

    fn nothing_is_left_out<const D: usize>(cells: [usize; D]) {
        let spans = specks(cells);
        let there: Vec<_> = all_cells(cells).filter(|&at| spans.contains(at)).collect();
        assert!(there.len() > 5, "{there:?}");
        let (wider, coarse) = (spans.dilated(2), spans.coarsened());
        for &at in &there {
            assert!(coarse.contains(at.map(|x| x / 2)));
            let near = all_cells(cells).filter(|to| (0..D).all(|a| (to[a] - at[a]).abs() <= 2));
            assert!(near.into_iter().all(|cell| wider.contains(cell)));
        }
        let far = |cell: &[i32; D]| !wider.contains(*cell);
        assert!(all_cells(cells).filter(far).count() > 5);
    }

    #[test]
    fn nothing_is_left_out_2d() {
        nothing_is_left_out([23, 61]);
    }

    #[test]
    fn nothing_is_left_out_3d() {
        nothing_is_left_out([33, 17, 12]);
    }

    #[test]
    fn beyond_the_lattice_there_is_nothing() {
        let spans = Spans::by_row([4, 3], |_| [0, 4]);
        assert!(spans.contains([3, 2]));
        for at in [[-1, 0], [4, 0], [0, -1], [0, 3]] {
            assert!(!spans.contains(at), "{at:?}");
        }
        assert_eq!(in_row(None, [4, 3], [0, 1]), 0..4);
    }
}
