//! Gauss-Seidel sweeps in the order of a colouring.

use rayon::prelude::*;

use super::coarsen::Cells;
use crate::csr::Csr;
use crate::operator::Operator;

/// Colours with fewer rows than this stay on the calling thread.
const SERIAL_BELOW: usize = 2048;

/// Rows computed by one task.
const CHUNK: usize = 1024;

/// A diagonal below this share of the largest of its level is zero but for rounding.
const SINGULAR: f64 = 1e-13;

/// Which way a sweep goes through the colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sweep {
    Forward,
    /// The adjoint of [`Forward`](Sweep::Forward).
    Backward,
}

/// The order of the unknowns, and the inverse of the diagonal.
///
/// No two unknowns of one colour are coupled, so those of a colour may be updated in any order
/// and by any number of threads: the result has the same bits.
#[derive(Clone, Debug)]
pub(crate) struct Smoother {
    /// Zero where the diagonal is, and where an unknown is held.
    pub(super) inverse: Vec<f64>,
    least: f64,
    /// Unknowns sorted by colour; colour `c` has those from `starts[c]` to `starts[c + 1]`.
    order: Vec<u32>,
    starts: Vec<usize>,
}

impl Smoother {
    pub(super) fn new(a: &Csr, cells: &Cells) -> Smoother {
        let colours = red_black(a, cells).unwrap_or_else(|| greedy(a));
        let count = colours.iter().max().map_or(0, |&c| c as usize + 1);
        let mut starts = vec![0; count + 1];
        for &colour in &colours {
            starts[colour as usize + 1] += 1;
        }
        for c in 0..count {
            starts[c + 1] += starts[c];
        }
        let mut next = starts.clone();
        let mut order = vec![0; colours.len()];
        for (i, &colour) in colours.iter().enumerate() {
            order[next[colour as usize]] = i as u32;
            next[colour as usize] += 1;
        }
        let diagonal: Vec<f64> = (0..a.rows()).map(|i| a.diagonal(i)).collect();
        let largest = diagonal.iter().fold(0.0_f64, |m, d| m.max(d.abs()));
        let mut smoother = Smoother {
            inverse: vec![0.0; diagonal.len()],
            least: SINGULAR * largest,
            order,
            starts,
        };
        for (i, &diagonal) in diagonal.iter().enumerate() {
            smoother.set(i, diagonal);
        }
        smoother
    }

    /// Takes note of another diagonal entry.
    pub(super) fn set(&mut self, i: usize, diagonal: f64) {
        let singular = diagonal <= self.least || diagonal.is_nan();
        self.inverse[i] = if singular { 0.0 } else { 1.0 / diagonal };
    }

    /// `1/A_ii`, or zero where the diagonal is.
    pub(crate) fn inverse(&self, i: usize) -> f64 {
        self.inverse[i]
    }

    /// One sweep for `A x = g`, with `x` kept at or above `floor` if there is one (projected
    /// Gauss-Seidel). `scratch` is memory.
    pub(crate) fn sweep(
        &self,
        a: &Csr,
        g: &[f64],
        floor: Option<&[f64]>,
        x: &mut [f64],
        way: Sweep,
        scratch: &mut Vec<f64>,
    ) {
        match floor {
            None => self.relax_colours(a, x, way, scratch, |i, dot, x| {
                x + self.inverse[i] * (g[i] - dot)
            }),
            Some(floor) => self.relax_colours(a, x, way, scratch, |i, dot, x| {
                (x + self.inverse[i] * (g[i] - dot)).max(floor[i])
            }),
        }
    }

    /// `x_i ← update(i, (A x)_i, x_i)` for every unknown, colour by colour.
    pub(crate) fn relax_colours<U>(
        &self,
        a: &Csr,
        x: &mut [f64],
        way: Sweep,
        scratch: &mut Vec<f64>,
        update: U,
    ) where
        U: Fn(usize, f64, f64) -> f64 + Sync,
    {
        let colours = self.starts.len() - 1;
        for c in 0..colours {
            let c = match way {
                Sweep::Forward => c,
                Sweep::Backward => colours - 1 - c,
            };
            let rows = &self.order[self.starts[c]..self.starts[c + 1]];
            relax(a, rows, x, scratch, &update);
        }
    }
}

/// `x_i ← update(i, (A x)_i, x_i)` for rows that do not depend on one another.
fn relax<U>(a: &Csr, rows: &[u32], x: &mut [f64], scratch: &mut Vec<f64>, update: &U)
where
    U: Fn(usize, f64, f64) -> f64 + Sync,
{
    let value = |i: usize, x: &[f64]| {
        let (columns, values) = a.row(i);
        let entries = columns.iter().zip(values);
        let dot: f64 = entries.map(|(&j, value)| value * x[j as usize]).sum();
        update(i, dot, x[i])
    };
    if rows.len() < SERIAL_BELOW || rayon::current_num_threads() == 1 {
        for &i in rows {
            x[i as usize] = value(i as usize, x);
        }
        return;
    }
    scratch.resize(scratch.len().max(rows.len()), 0.0);
    let fresh = &mut scratch[..rows.len()];
    {
        let x = &*x;
        fresh
            .par_chunks_mut(CHUNK)
            .zip(rows.par_chunks(CHUNK))
            .for_each(|(fresh, rows)| {
                for (fresh, &i) in fresh.iter_mut().zip(rows) {
                    *fresh = value(i as usize, x);
                }
            });
    }
    for (&i, &fresh) in rows.iter().zip(&*fresh) {
        x[i as usize] = fresh;
    }
}

/// Two colours by the parity of the places, if every coupling joins the two.
fn red_black(a: &Csr, cells: &Cells) -> Option<Vec<u32>> {
    let parity = |i: usize| (cells.at[i].iter().fold(0, |sum, x| sum ^ x) & 1) as u32;
    let colours: Vec<u32> = (0..a.rows()).map(parity).collect();
    let alternate = |i: usize| {
        let (columns, _) = a.row(i);
        columns
            .iter()
            .all(|&j| j as usize == i || colours[j as usize] != colours[i])
    };
    (0..a.rows())
        .into_par_iter()
        .all(alternate)
        .then_some(colours)
}

/// The first colour that no coupled unknown has yet, in order. Galerkin stencils reach two cells
/// along an axis, for which no parity will do.
fn greedy(a: &Csr) -> Vec<u32> {
    let mut colours: Vec<u32> = Vec::with_capacity(a.rows());
    let mut taken_by: Vec<u32> = Vec::new();
    for i in 0..a.rows() {
        for &j in a.row(i).0 {
            if (j as usize) < i {
                taken_by[colours[j as usize] as usize] = i as u32;
            }
        }
        let free = taken_by.iter().position(|&by| by != i as u32);
        let colour = free.unwrap_or(taken_by.len());
        if colour == taken_by.len() {
            taken_by.push(u32::MAX);
        }
        colours.push(colour as u32);
    }
    colours
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring of `n` unknowns, each coupled to the next two on either side.
    fn ring(n: usize) -> Csr {
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..n {
            let mut row = vec![(i, 4.5)];
            for step in [1, 2, n - 2, n - 1] {
                row.push(((i + step) % n, -1.0));
            }
            row.sort_by_key(|entry| entry.0);
            columns.extend(row.iter().map(|entry| entry.0 as u32));
            values.extend(row.iter().map(|entry| entry.1));
            starts.push(columns.len() as u32);
        }
        Csr::new(starts, columns, values).expect("a matrix")
    }

    fn on_a_line(a: &Csr) -> Cells {
        let at: Vec<[i32; 3]> = (0..a.rows() as i32).map(|i| [i, 0, 0]).collect();
        Cells::finest(a, 2, &at)
    }

    #[test]
    fn no_two_coupled_unknowns_share_a_colour() {
        let a = ring(101);
        assert!(red_black(&a, &on_a_line(&a)).is_none());
        let colours = greedy(&a);
        for i in 0..a.rows() {
            for &j in a.row(i).0 {
                assert!(j as usize == i || colours[i] != colours[j as usize]);
            }
        }
    }

    #[test]
    fn sweeps_have_the_same_bits_on_one_and_two_threads() {
        let a = ring(20_000);
        let smoother = Smoother::new(&a, &on_a_line(&a));
        let g: Vec<f64> = (0..a.rows()).map(|i| (i as f64 * 0.7).sin()).collect();
        let floor = vec![-0.1; a.rows()];
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.expect("a pool").install(|| {
                let (mut x, mut scratch) = (vec![0.0; a.rows()], Vec::new());
                smoother.sweep(&a, &g, None, &mut x, Sweep::Forward, &mut scratch);
                smoother.sweep(&a, &g, Some(&floor), &mut x, Sweep::Backward, &mut scratch);
                x
            })
        };
        let x = run(1);
        assert_eq!(x, run(2));
        assert!(x.contains(&-0.1) && x.iter().all(|&x| x >= -0.1));
    }
}
