//! Fast sweeping: the distance to a surface, first order.

use plash_grid::{CellField, Grid};

/// Rounds of `2^D` sweeps. One is exact up to rounding where characteristics do not turn;
/// the second mends what obstacles in the order of sweeps left.
const ROUNDS: usize = 2;

/// Replaces `|φ|` by the distance to the surface at every cell that is not `frozen`,
/// keeping signs: solves `|∇φ| = 1` by Gauss-Seidel sweeps in all `2^D` directions, with the
/// larger root of the upwind quadratic (Karlsson eq. 35, corrected).
pub fn fast_sweep<const D: usize>(
    grid: &Grid<D>,
    frozen: &CellField<u8, D>,
    phi: &mut CellField<f64, D>,
) {
    let far: f64 = grid.cells().iter().sum::<usize>() as f64 * grid.dx();
    let cells = grid.cells();
    let strides = grid.layout().strides();
    let negative: Vec<usize> = grid
        .all_cells()
        .map(|c| grid.layout().index(c.0))
        .filter(|&i| phi.as_slice()[i].is_sign_negative())
        .collect();
    // Ghosts are beyond all information: give them a distance no upwind choice takes.
    let mut distance = vec![f64::INFINITY; grid.layout().len()];
    for cell in grid.all_cells() {
        distance[grid.layout().index(cell.0)] = if frozen[cell] != 0 {
            phi[cell].abs()
        } else {
            far
        };
    }
    for _ in 0..ROUNDS {
        for direction in 0..1usize << D {
            let order = |a: usize, n: usize| {
                if (direction >> a) & 1 == 0 {
                    n
                } else {
                    cells[a] - 1 - n
                }
            };
            let planes = if D == 3 { cells[D - 1] } else { 1 };
            for k in 0..planes {
                for j in 0..cells[1] {
                    for i in 0..cells[0] {
                        let mut at = [0i32; D];
                        at[0] = order(0, i) as i32;
                        at[1] = order(1, j) as i32;
                        if D == 3 {
                            at[D - 1] = order(D - 1, k) as i32;
                        }
                        let index = grid.layout().index(at);
                        if frozen.as_slice()[index] == 0 {
                            let upwind: [f64; D] = std::array::from_fn(|a| {
                                distance[index - strides[a]].min(distance[index + strides[a]])
                            });
                            let new = eikonal(upwind, grid.dx());
                            distance[index] = distance[index].min(new);
                        }
                    }
                }
            }
        }
    }
    let values = phi.as_mut_slice();
    for cell in grid.all_cells() {
        let index = grid.layout().index(cell.0);
        values[index] = distance[index];
    }
    for index in negative {
        values[index] = -values[index];
    }
}

/// The distance at a point with these upwind distances one cell away along each axis: the
/// larger root of `Σ max(d − d_a, 0)² = Δx²`, with as many terms as have `d_a < d`.
fn eikonal<const D: usize>(mut upwind: [f64; D], dx: f64) -> f64 {
    upwind.sort_by(f64::total_cmp);
    let mut d = upwind[0] + dx;
    for terms in 2..=D {
        if d <= upwind[terms - 1] {
            break;
        }
        let n = terms as f64;
        let sum: f64 = upwind[..terms].iter().sum();
        let squares: f64 = upwind[..terms].iter().map(|u| u * u).sum();
        let root = sum * sum - n * (squares - dx * dx);
        if root < 0.0 {
            break;
        }
        d = (sum + root.sqrt()) / n;
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;
    use plash_grid::{Side, axes};

    /// Mean error of the swept distance to a circle (sphere) whose interface cells are exact.
    /// (The largest error, at the centre, falls like `Δx log Δx`.) Checks `|∇φ| ≤ 1.05`.
    fn ball_error<const D: usize>(n: usize) -> f64 {
        let grid = Grid::new([n; D], 1.0 / n as f64, [0.0; D]).unwrap();
        let exact = |x: [f64; D]| x.iter().map(|x| (x - 0.5) * (x - 0.5)).sum::<f64>().sqrt() - 0.3;
        let mut phi = CellField::<f64, D>::new(&grid);
        let mut frozen = CellField::<u8, D>::new(&grid);
        for c in grid.all_cells() {
            let value = exact(c.center(&grid));
            let interface = axes::<D>().any(|a| {
                Side::BOTH.iter().any(|&s| {
                    let other = c.neighbour(a, s);
                    grid.contains(other) && (exact(other.center(&grid)) < 0.0) != (value < 0.0)
                })
            });
            frozen[c] = u8::from(interface);
            phi[c] = if interface { value } else { value.signum() };
        }
        fast_sweep(&grid, &frozen, &mut phi);
        let mut sum = 0.0;
        for c in grid.all_cells() {
            assert!(phi[c].is_finite());
            sum += (phi[c] - exact(c.center(&grid))).abs();
            for a in axes::<D>() {
                let other = c.neighbour(a, Side::Hi);
                if grid.contains(other) {
                    assert!((phi[other] - phi[c]).abs() <= 1.05 * grid.dx());
                }
            }
        }
        sum / (n as f64).powi(D as i32)
    }

    #[test]
    fn sweeping_is_first_order_on_a_circle() {
        let errors = [32, 64, 128].map(ball_error::<2>);
        for pair in errors.windows(2) {
            assert!(pair[0] / pair[1] > 1.7, "{errors:?}");
        }
    }

    #[test]
    fn sweeping_is_first_order_on_a_sphere() {
        let errors = [16, 32].map(ball_error::<3>);
        assert!(errors[0] / errors[1] > 1.7, "{errors:?}");
    }

    #[test]
    fn the_upwind_root_satisfies_the_eikonal_equation() {
        for upwind in [[0.3, 0.31, 0.32], [0.0, 5.0, 5.0], [0.2, 0.21, 9.0]] {
            let d = eikonal(upwind, 0.1);
            let sum: f64 = upwind.iter().map(|u| (d - u).max(0.0).powi(2)).sum();
            assert!((sum - 0.01).abs() < 1e-14);
        }
    }
}
