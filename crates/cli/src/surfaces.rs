//! From a scene and its particles to surfaces: of the liquid and of the solids.

use plash_liquid::Setup;
use plash_render::{Mesh, ReconstructionOptions, Reconstructor, RenderError, mesh_implicit};

/// Solids are drawn with at most this many points along the longest side.
const SOLID_POINTS: f64 = 192.0;

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

/// The surface of every solid, cut off at the domain.
pub fn solid_meshes(setup: &Setup<3>) -> Result<Vec<Mesh>, RenderError> {
    let [low, high] = bounds(setup);
    let longest = (0..3).map(|a| high[a] - low[a]).fold(0.0, f64::max);
    let spacing = (0.5 * setup.grid.dx()).max(longest / SOLID_POINTS);
    let mesh = |solid: &plash_liquid::Solid<3>| {
        mesh_implicit([low, high], spacing, &|x| solid.shape.distance(x))
    };
    setup.solids.iter().map(mesh).collect()
}
