//! From a scene and its particles to surfaces: of the liquid and of the solids.

use plash_liquid::{Setup, Solid};
use plash_render::{Mesh, ReconstructionOptions, Reconstructor, RenderError, mesh_implicit};

/// Solids are drawn with at most this many points along the longest side.
const SOLID_POINTS: f64 = 192.0;
/// Steps along a side of the domain by which it is searched for openings.
const SIDE_POINTS: usize = 32;

/// Signed distance to the nearest solid, positive in the open.
pub fn solid_distance<const D: usize>(setup: &Setup<D>) -> impl Fn([f64; D]) -> f64 + Sync + '_ {
    move |x| {
        let distances = setup.solids.iter().map(|solid| solid.shape.distance(x));
        // A domain without solids is open everywhere: farther than it is large.
        distances.fold(1e9, f64::min)
    }
}

/// The domain of a scene.
pub fn bounds<const D: usize>(setup: &Setup<D>) -> [[f64; D]; 2] {
    [setup.grid.origin(), setup.grid.end()]
}

/// What turns particles of this scene into a surface; surveys the walls, so make it once.
pub fn reconstructor<const D: usize>(setup: &Setup<D>) -> Result<Reconstructor<D>, RenderError> {
    let solid = solid_distance(setup);
    let options = ReconstructionOptions::default();
    Reconstructor::new(bounds(setup), setup.grid.dx(), &solid, options)
}

/// The surface of a solid, cut off at the domain.
pub fn solid_mesh(setup: &Setup<3>, solid: &Solid<3>) -> Result<Mesh, RenderError> {
    mesh_implicit(bounds(setup), spacing(setup), &|x| solid.shape.distance(x))
}

/// The surface of the room within a solid that closes off the domain on all sides, seen from
/// without: what a vessel cast around it would look like. `None` for all other solids.
pub fn room_mesh(setup: &Setup<3>, solid: &Solid<3>) -> Result<Option<Mesh>, RenderError> {
    let distance = |x: [f64; 3]| solid.shape.distance(x);
    let [low, high] = bounds(setup);
    if !covers_sides([low, high], &distance) {
        return Ok(None);
    }
    let room = mesh_implicit([low, high], spacing(setup), &|x| -distance(x))?;
    Ok((!room.triangles.is_empty()).then_some(room))
}

/// Distance between the points by which solids are drawn.
fn spacing(setup: &Setup<3>) -> f64 {
    let [low, high] = bounds(setup);
    let longest = (0..3).map(|a| high[a] - low[a]).fold(0.0, f64::max);
    (0.5 * setup.grid.dx()).max(longest / SOLID_POINTS)
}

/// Whether a solid covers all six sides of a box, by a sample of points on them.
fn covers_sides([low, high]: [[f64; 3]; 2], distance: &impl Fn([f64; 3]) -> f64) -> bool {
    let place = |a: usize, i: usize| low[a] + (high[a] - low[a]) * i as f64 / SIDE_POINTS as f64;
    (0..3).all(|a| {
        let (b, c) = ((a + 1) % 3, (a + 2) % 3);
        (0..=SIDE_POINTS).all(|i| {
            (0..=SIDE_POINTS).all(|j| {
                [low[a], high[a]].into_iter().all(|side| {
                    let mut x = [side; 3];
                    (x[b], x[c]) = (place(b, i), place(c, j));
                    distance(x) < 0.0
                })
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ball_shaped_room_is_closed_and_one_that_touches_a_side_is_not() {
        let room = |radius: f64| {
            move |x: [f64; 3]| radius - x.iter().map(|x| (x - 0.5).powi(2)).sum::<f64>().sqrt()
        };
        let unit = [[0.0; 3], [1.0; 3]];
        assert!(covers_sides(unit, &room(0.49)));
        assert!(!covers_sides(unit, &room(0.51)));
    }
}
