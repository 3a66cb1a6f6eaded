//! The liquid's surface, frame by frame.

use plash_liquid::Setup;
use plash_render::{ReconstructionOptions, Reconstructor, RenderError};

use super::any::View;
use super::writer::{Frame, FrameFiles, FrameWriter, ParticlesCache, ParticlesPly, WriterError};
use crate::resolve::OutputOptions;

/// What turns particles of this setup into surfaces: it knows the walls and the solids.
pub fn reconstructor<const D: usize>(
    setup: &Setup<D>,
    options: ReconstructionOptions,
) -> Result<Reconstructor<D>, RenderError> {
    let grid = &setup.grid;
    let distance = |x: [f64; D]| {
        let distances = setup.solids.iter().map(|solid| solid.shape.distance(x));
        distances.fold(f64::INFINITY, f64::min)
    };
    Reconstructor::new([grid.origin(), grid.end()], grid.dx(), &distance, options)
}

/// Writes `frames/surface.0001.ply` in 3D; in 2D there is no mesh to write.
#[derive(Debug, Default)]
pub struct SurfacePly {
    options: ReconstructionOptions,
    /// Depends on the setup only, which is the same for all frames of a run.
    reconstructor: Option<Reconstructor<3>>,
}

impl SurfacePly {
    /// Surfaces as fine and smooth as `options` say.
    pub fn new(options: ReconstructionOptions) -> Self {
        SurfacePly {
            options,
            reconstructor: None,
        }
    }
}

impl FrameWriter for SurfacePly {
    fn name(&self) -> &str {
        "surface"
    }

    fn write(&mut self, frame: &Frame<'_>, files: &mut FrameFiles<'_>) -> Result<(), WriterError> {
        let View::D3(setup, state) = frame.view else {
            return Ok(());
        };
        let reconstructor = match &mut self.reconstructor {
            Some(ready) => ready,
            none => none.insert(reconstructor(setup, self.options)?),
        };
        let mesh = reconstructor.surface(&state.particles.position, setup.particle_volume())?;
        Ok(files.put("surface", "ply", &mesh.to_ply())?)
    }
}

/// The writers a scene asks for, except for pictures.
pub fn frame_writers(output: &OutputOptions) -> Vec<Box<dyn FrameWriter>> {
    let mut writers: Vec<Box<dyn FrameWriter>> = Vec::new();
    if output.particles {
        writers.push(Box::new(ParticlesPly));
    }
    if output.cache {
        writers.push(Box::new(ParticlesCache));
    }
    if output.surface {
        writers.push(Box::new(SurfacePly::default()));
    }
    writers
}
