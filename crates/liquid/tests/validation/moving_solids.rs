//! Solids that move push the liquid as they should.

use crate::common::{around, at_cells, at_faces, below, project, unit_grid};
use plash_grid::{Axis, Face, axes};
use plash_liquid::shape::Shape;
use plash_liquid::solids::Solids;
use plash_liquid::{DomainSide, Setup, Solid};

/// Rotation about the vertical through the middle of the box, at 3 rad/s.
fn rotation<const D: usize>(x: [f64; D]) -> [f64; D] {
    let mut u = [0.0; D];
    u[0] = -3.0 * (x[1] - 0.5);
    u[1] = 3.0 * (x[0] - 0.5);
    u
}

fn ball<const D: usize>(radius: f64) -> Shape<D> {
    Shape::Sphere {
        center: [0.5; D],
        radius,
    }
}

/// A full drum that turns as one with its liquid: nothing changes.
fn a_turning_drum_keeps_its_liquid_turning<const D: usize>(n: usize) {
    let grid = unit_grid::<D>(n);
    let mut setup = Setup::new(grid);
    setup.solids.push(around(ball(0.4)));
    let mut solids = Solids::new(&setup);
    *solids.velocity_mut() = at_faces(&grid, rotation);
    let phi = at_cells(&grid, |_| -1.0);
    let after = project(&solids, &phi, at_faces(&grid, rotation), &grid);
    assert_eq!(after.report.pockets, 1);
    let mut change: f64 = 0.0;
    for axis in axes::<D>() {
        for face in grid.faces(axis).filter(|&f| after.known[f] == 1) {
            let exact = rotation(face.position(&grid))[axis.0];
            change = change.max((after.u[face] - exact).abs());
        }
    }
    below(&format!("{D}D turning drum, change"), change, 1e-12);
}

#[test]
fn a_turning_drum_keeps_its_liquid_turning_2d() {
    a_turning_drum_keeps_its_liquid_turning::<2>(32);
}

#[test]
fn a_turning_drum_keeps_its_liquid_turning_3d() {
    a_turning_drum_keeps_its_liquid_turning::<3>(14);
}

/// A ball that spins in liquid at rest drags nothing along, since walls are slippery; what
/// its cut cells stir up fades with the cell size.
fn speed_around_a_spinning_ball<const D: usize>(n: usize) -> f64 {
    let grid = unit_grid::<D>(n);
    let mut setup = Setup::new(grid);
    setup.solids.push(Solid::new(ball(0.3)));
    let mut solids = Solids::new(&setup);
    *solids.velocity_mut() = at_faces(&grid, |x| {
        let inside = ball::<D>(0.3 + 2.0 * grid.dx()).distance(x) < 0.0;
        if inside { rotation(x) } else { [0.0; D] }
    });
    let phi = at_cells(&grid, |x| x[1] - 0.93);
    let after = project(&solids, &phi, at_faces(&grid, |_| [0.0; D]), &grid);
    let (mut sum, mut count) = (0.0, 0.0);
    for axis in axes::<D>() {
        for face in grid.faces(axis).filter(|&f| after.known[f] == 1) {
            sum += after.u[face].powi(2);
            count += 1.0;
        }
    }
    f64::sqrt(sum / count)
}

#[test]
fn a_spinning_ball_stirs_nothing() {
    let [coarse, fine] = [32, 64].map(speed_around_a_spinning_ball::<2>);
    below("2D spinning disc, rms speed / rim speed", fine / 0.9, 0.01);
    below("2D spinning disc, finer / coarser", fine / coarse, 0.6);
    let [coarse, fine] = [12, 24].map(speed_around_a_spinning_ball::<3>);
    below("3D spinning ball, rms speed / rim speed", fine / 0.9, 0.01);
    below("3D spinning ball, finer / coarser", fine / coarse, 0.6);
}

/// A wall that moves into a full channel with an open end drives all of it at its speed.
fn a_piston_drives_a_full_channel<const D: usize>(n: usize) {
    let grid = unit_grid::<D>(n);
    let mut setup = Setup::new(grid);
    setup.sides[0][1] = DomainSide::Open;
    let mut solids = Solids::new(&setup);
    for face in grid.faces(Axis::X).filter(|f| f.at[0] == 0) {
        solids.velocity_mut()[face] = 0.7;
    }
    let phi = at_cells(&grid, |_| -1.0);
    let after = project(&solids, &phi, at_faces(&grid, |_| [0.0; D]), &grid);
    let mut error: f64 = 0.0;
    for axis in axes::<D>() {
        for face in grid.faces(axis).filter(|&f| after.known[f] == 1) {
            let exact = if axis == Axis::X { 0.7 } else { 0.0 };
            error = error.max((after.u[face] - exact).abs());
        }
    }
    below(&format!("{D}D piston in a channel, error"), error, 1e-9);
}

#[test]
fn a_piston_drives_a_full_channel_2d() {
    a_piston_drives_a_full_channel::<2>(24);
}

#[test]
fn a_piston_drives_a_full_channel_3d() {
    a_piston_drives_a_full_channel::<3>(10);
}

/// A block that cuts through cells pushes into a tank: what it displaces rises through the
/// surface, all of it.
fn a_block_displaces_its_volume<const D: usize>(n: usize) {
    let grid = unit_grid::<D>(n);
    let mut setup = Setup::new(grid);
    let (front, speed, rows) = (0.237, 0.4, n / 2);
    setup.solids.push(Solid::new(Shape::Plane {
        point: [front; D],
        normal: std::array::from_fn(|a| if a == 0 { 1.0 } else { 0.0 }),
    }));
    let mut solids = Solids::new(&setup);
    for face in grid.faces(Axis::X) {
        if face.position(&grid)[0] < front + grid.dx() {
            solids.velocity_mut()[face] = speed;
        }
    }
    let depth = rows as f64 * grid.dx();
    let phi = at_cells(&grid, |x| x[1] - depth);
    let after = project(&solids, &phi, at_faces(&grid, |_| [0.0; D]), &grid);
    let area = grid.dx().powi(D as i32 - 1);
    let surface = grid.faces(Axis::Y).filter(|f| f.at[1] as usize == rows);
    let rising: f64 = surface
        .map(|f: Face<D>| area * solids.open()[f] * after.u[f])
        .sum();
    let displaced = speed * depth;
    let error = (rising / displaced - 1.0).abs();
    below(
        &format!("{D}D displaced volume, relative error"),
        error,
        1e-9,
    );
}

#[test]
fn a_block_displaces_its_volume_2d() {
    a_block_displaces_its_volume::<2>(24);
}

#[test]
fn a_block_displaces_its_volume_3d() {
    a_block_displaces_its_volume::<3>(12);
}
