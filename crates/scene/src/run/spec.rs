//! What is to be run, and the hash that tells whether a folder holds the same.

use std::fmt::{self, Write};

use plash_liquid::Setup;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::atomic::hex;
use super::error::RunError;
use super::manifest::GridInfo;
use crate::{AnySetup, Scene};

/// A run: what is simulated, for how long, and what is kept of where it came from.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// Name of the run.
    pub name: String,
    /// The scene file as run, overrides applied.
    pub scene_text: String,
    /// The overrides as given (`key=value`), for the record.
    pub overrides: Vec<String>,
    /// What is simulated.
    pub setup: AnySetup,
    /// Frames to make.
    pub frames: u64,
    /// Frames per second of simulated time; frame `n` shows the time `n/fps`.
    pub fps: f64,
    /// Which axis points up: `y` or `z`.
    pub up: String,
    /// Frames from one checkpoint to the next; the last frame always has one.
    pub checkpoint_every: u64,
}

impl RunSpec {
    /// A run with a name and nothing said about its scene file.
    pub fn new(name: impl Into<String>, setup: AnySetup, frames: u64, fps: f64) -> Self {
        RunSpec {
            name: name.into(),
            scene_text: String::new(),
            overrides: Vec::new(),
            setup,
            frames,
            fps,
            up: "y".into(),
            checkpoint_every: 1,
        }
    }

    /// The run of a scene; `overrides` are the `key=value` it was read with, for the record.
    pub fn of_scene(scene: &Scene, overrides: Vec<String>) -> Self {
        RunSpec {
            scene_text: scene.text.clone(),
            overrides,
            up: ["x", "y", "z"][scene.up.axis()].into(),
            ..RunSpec::new(&scene.name, scene.setup.clone(), scene.frames, scene.fps)
        }
    }

    /// SHA-256 of all that decides the bits of a run: the resolved setup and the frame rate.
    /// The number of frames, the outputs and the comments of the scene file do not, so that
    /// a run can be made longer when it is resumed.
    pub fn scene_hash(&self) -> String {
        // `Debug` writes every field, and floats so that they read back exactly.
        let mut hasher = HashText(Sha256::new());
        let written = match &self.setup {
            AnySetup::D2(setup) => write!(hasher, "scene 1\n{:?}\n{setup:?}", self.fps),
            AnySetup::D3(setup) => write!(hasher, "scene 1\n{:?}\n{setup:?}", self.fps),
        };
        // Hashing takes any text, so only a broken `Debug` could fail; its text so far is
        // hashed all the same.
        let _ = written;
        hex(&hasher.0.finalize())
    }

    pub(crate) fn check(&self) -> Result<(), RunError> {
        if !(self.fps.is_finite() && self.fps > 0.0) {
            return Err(RunError::BadSpec(format!(
                "frames per second must be positive, got {}",
                self.fps
            )));
        }
        Ok(())
    }

    pub(crate) fn grid(&self) -> GridInfo {
        fn info<const D: usize>(setup: &Setup<D>) -> GridInfo {
            let grid = &setup.grid;
            GridInfo {
                cells: grid.cells().to_vec(),
                dx: grid.dx(),
                origin: grid.origin().to_vec(),
            }
        }
        match &self.setup {
            AnySetup::D2(setup) => info(setup),
            AnySetup::D3(setup) => info(setup),
        }
    }

    pub(crate) fn settings(&self) -> Value {
        match &self.setup {
            AnySetup::D2(setup) => settings(setup),
            AnySetup::D3(setup) => settings(setup),
        }
    }
}

struct HashText(Sha256);

impl Write for HashText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

/// The methods by their names in scene files, for people and programs that read a manifest.
fn settings<const D: usize>(setup: &Setup<D>) -> Value {
    let scheme = &setup.scheme;
    let pressure = &scheme.pressure;
    let viscosity = setup.is_viscous().then(|| {
        let viscosity = &scheme.viscosity;
        json!({
            "method": viscosity.method.as_str(),
            "smoother": viscosity.smoother.as_str(),
            "tolerance": viscosity.tolerance,
            "max_iterations": viscosity.max_iterations,
        })
    });
    json!({
        "gravity": setup.gravity.to_vec(),
        "density": setup.density,
        "transfer": scene_name(&scheme.transfer),
        "surface": scene_name(&scheme.surface),
        "pressure": {
            "method": pressure.method.name(),
            "tolerance": pressure.tolerance,
            "max_iterations": pressure.max_iterations,
        },
        "viscosity": viscosity,
        "cfl": scheme.cfl,
        "seed": scheme.seed,
        "reseed": scheme.reseed,
        "density_correction": scheme.density_correction,
    })
}

/// `ZhuBridson` as `zhu-bridson`, `Flip { .. }` as `flip`.
fn scene_name(variant: &impl fmt::Debug) -> String {
    let text = format!("{variant:?}");
    let mut name = String::new();
    for (i, c) in text.chars().take_while(|c| c.is_alphanumeric()).enumerate() {
        if c.is_uppercase() && i > 0 {
            name.push('-');
        }
        name.extend(c.to_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::samples;
    use plash_liquid::{SurfaceMethod, Transfer};

    #[test]
    fn the_hash_follows_the_physics_and_nothing_else() {
        let spec = RunSpec::new("a", AnySetup::D2(samples::setup2()), 10, 24.0);
        let same = RunSpec {
            name: "b".into(),
            frames: 99,
            ..spec.clone()
        };
        assert_eq!(spec.scene_hash(), same.scene_hash());
        assert_eq!(spec.scene_hash().len(), 64);
        let mut setup = samples::setup2();
        setup.gravity[1] = -9.810_000_000_000_002;
        let other = RunSpec {
            setup: AnySetup::D2(setup),
            ..spec.clone()
        };
        assert_ne!(spec.scene_hash(), other.scene_hash());
        let other = RunSpec {
            fps: 25.0,
            ..spec.clone()
        };
        assert_ne!(spec.scene_hash(), other.scene_hash());
    }

    #[test]
    fn settings_use_the_names_of_scene_files() {
        assert_eq!(scene_name(&Transfer::Flip { pic_blend: 0.1 }), "flip");
        assert_eq!(scene_name(&SurfaceMethod::ZhuBridson), "zhu-bridson");
    }
}
