//! The full state of a simulation in a file, bit for bit.

use plash_grid::{CellField, Grid};
use plash_liquid::{Particles, State};
use serde::{Deserialize, Serialize};

use super::any::{AnyState, View, both};
use super::container::{self, Blocks, Kind};
use super::error::Damage;
use crate::AnySetup;

pub(crate) const KIND: Kind = Kind {
    name: "plash checkpoint",
    magic: *b"PLASHCKP",
    version: 4,
};

/// What a checkpoint says about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckpointMeta {
    /// Hash of the scene it belongs to: see [`RunSpec::scene_hash`](super::RunSpec::scene_hash).
    pub scene_hash: String,
    /// Frames that are finished.
    pub frame: u64,
    /// Substeps taken in the frame after them; 0 at the end of a frame.
    pub substep: u64,
    /// 2 or 3.
    pub dimension: u8,
    /// Cells along each axis.
    pub cells: Vec<u64>,
    /// Substeps taken.
    pub step: u64,
    /// Simulated time, s.
    pub time: f64,
    /// Number of particles.
    pub particles: u64,
    /// Whether particles carry velocity gradients.
    pub affine: bool,
    /// Whether particles carry viscosities.
    pub viscosity: bool,
    /// Whether cells carry dilations.
    pub dilation: bool,
    /// The id the next new particle gets.
    pub next_id: u64,
    /// Volume that should be there.
    pub volume_expected: f64,
}

/// Where in a run a state was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// Frames that are finished.
    pub frame: u64,
    /// Substeps taken since.
    pub substep: u64,
}

impl CheckpointMeta {
    /// Where in the run it was taken.
    pub fn place(&self) -> Place {
        Place {
            frame: self.frame,
            substep: self.substep,
        }
    }
}

/// The bytes of a checkpoint of what `view` shows.
pub fn encode_checkpoint(
    view: View<'_>,
    scene_hash: &str,
    place: Place,
) -> Result<Vec<u8>, Damage> {
    both!(view, |setup, state| encode(
        &setup.grid,
        state,
        scene_hash,
        place
    ))
}

fn encode<const D: usize>(
    grid: &Grid<D>,
    state: &State<D>,
    scene_hash: &str,
    place: Place,
) -> Result<Vec<u8>, Damage> {
    // Named one by one: a new field of the state must not be forgotten here.
    let State {
        time,
        step,
        particles,
        next_id,
        volume_expected,
        pressure,
        separated,
        dilation,
    } = state;
    let Particles {
        position,
        velocity,
        affine,
        viscosity,
        id,
    } = particles;
    let meta = CheckpointMeta {
        scene_hash: scene_hash.to_string(),
        frame: place.frame,
        substep: place.substep,
        dimension: D as u8,
        cells: grid.cells().map(|n| n as u64).to_vec(),
        step: *step,
        time: *time,
        particles: particles.len() as u64,
        affine: !affine.is_empty(),
        viscosity: !viscosity.is_empty(),
        dilation: dilation.is_some(),
        next_id: *next_id,
        volume_expected: *volume_expected,
    };
    let cells: usize = grid.cells().iter().product();
    let mut raw = Vec::with_capacity(8 * position.len() * (2 * D + D * D + 2) + 13 * cells);
    raw.extend_from_slice(bytemuck::cast_slice(position.as_flattened()));
    raw.extend_from_slice(bytemuck::cast_slice(velocity.as_flattened()));
    raw.extend_from_slice(bytemuck::cast_slice(affine.as_flattened().as_flattened()));
    raw.extend_from_slice(bytemuck::cast_slice(viscosity));
    raw.extend_from_slice(bytemuck::cast_slice(id));
    // Ghosts are always zero between steps.
    for (_, values) in pressure.rows() {
        raw.extend_from_slice(bytemuck::cast_slice(values));
    }
    for (_, values) in separated.rows() {
        raw.extend_from_slice(values);
    }
    for (_, values) in dilation.iter().flat_map(CellField::rows) {
        raw.extend_from_slice(bytemuck::cast_slice(values));
    }
    container::encode(KIND, &meta, &raw)
}

/// A checkpoint whose checksum matches.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// What it says about itself.
    pub meta: CheckpointMeta,
    raw: Vec<u8>,
}

impl Checkpoint {
    /// Reads the bytes of a checkpoint.
    pub fn parse(file: &[u8]) -> Result<Self, Damage> {
        let (meta, raw) = container::decode(KIND, file)?;
        Ok(Checkpoint { meta, raw })
    }

    /// The state in a checkpoint of a scene with this setup.
    pub fn state(&self, setup: &AnySetup) -> Result<AnyState, Damage> {
        let Checkpoint { meta, raw } = self;
        Ok(match setup {
            AnySetup::D2(setup) => AnyState::D2(decode(meta, raw, &setup.grid)?),
            AnySetup::D3(setup) => AnyState::D3(decode(meta, raw, &setup.grid)?),
        })
    }
}

fn decode<const D: usize>(
    meta: &CheckpointMeta,
    raw: &[u8],
    grid: &Grid<D>,
) -> Result<State<D>, Damage> {
    let cells = grid.cells();
    if usize::from(meta.dimension) != D || meta.cells != cells.map(|n| n as u64) {
        return Err(Damage::malformed(format!(
            "the checkpoint is of a grid of {:?} cells, the scene's has {cells:?}",
            meta.cells
        )));
    }
    let count = usize::try_from(meta.particles)
        .map_err(|_| Damage::malformed("more particles than memory can hold"))?;
    let mut blocks = Blocks::new(raw);
    let mut state = State::empty(grid);
    state.time = meta.time;
    state.step = meta.step;
    state.next_id = meta.next_id;
    state.volume_expected = meta.volume_expected;
    state.particles = Particles {
        position: blocks.values(count)?,
        velocity: blocks.values(count)?,
        affine: blocks.values(if meta.affine { count } else { 0 })?,
        viscosity: blocks.values(if meta.viscosity { count } else { 0 })?,
        id: blocks.values(count)?,
    };
    let mut viscosities = state.particles.viscosity.iter();
    if viscosities.any(|mu| !mu.is_finite() || *mu < 0.0) {
        return Err(Damage::malformed(
            "a viscosity that is not zero or a positive number",
        ));
    }
    let layout = *state.pressure.layout();
    for row in layout.rows(cells) {
        let values = blocks.values::<f64>(cells[0])?;
        state.pressure.as_mut_slice()[row.start..row.start + cells[0]].copy_from_slice(&values);
    }
    for row in layout.rows(cells) {
        let flags = blocks.values::<u8>(cells[0])?;
        if flags.iter().any(|&flag| flag > 1) {
            return Err(Damage::malformed("a flag that is neither 0 nor 1"));
        }
        state.separated.as_mut_slice()[row.start..row.start + cells[0]].copy_from_slice(&flags);
    }
    if meta.dilation {
        let dilation = state.dilation.insert(CellField::new(grid));
        for row in layout.rows(cells) {
            let values = blocks.values::<f32>(cells[0])?;
            if values.iter().any(|value| !value.is_finite()) {
                return Err(Damage::malformed("a dilation that is no number"));
            }
            dilation.as_mut_slice()[row.start..row.start + cells[0]].copy_from_slice(&values);
        }
    }
    blocks.finish()?;
    Ok(state)
}

#[cfg(test)]
mod tests {
    use plash_grid::Cell;

    use super::*;
    use crate::run::samples;

    const PLACE: Place = Place {
        frame: 4,
        substep: 2,
    };

    fn file(setup: &AnySetup, state: &AnyState) -> Vec<u8> {
        encode_checkpoint(samples::view(setup, state), "abc", PLACE).unwrap()
    }

    fn round_trip_is_bit_exact(setup: AnySetup, state: AnyState) {
        let file = file(&setup, &state);
        let checkpoint = Checkpoint::parse(&file).unwrap();
        let (meta, back) = (&checkpoint.meta, checkpoint.state(&setup).unwrap());
        assert_eq!(back, state);
        assert_eq!(
            (meta.frame, meta.substep, meta.scene_hash.as_str()),
            (4, 2, "abc")
        );
        // Equal states may differ in the sign of a zero; equal files do not.
        let again = encode_checkpoint(samples::view(&setup, &back), "abc", PLACE).unwrap();
        assert!(file == again);
    }

    #[test]
    fn round_trip_is_bit_exact_2d() {
        let setup = samples::setup2();
        let state = samples::state2(&setup, 300, false);
        round_trip_is_bit_exact(AnySetup::D2(setup), AnyState::D2(state));
    }

    #[test]
    fn round_trip_is_bit_exact_3d_with_affine_velocities() {
        let setup = samples::setup3();
        let state = samples::state3(&setup, 200, true);
        round_trip_is_bit_exact(AnySetup::D3(setup), AnyState::D3(state));
    }

    #[test]
    fn round_trip_is_bit_exact_with_viscosities() {
        let setup = samples::setup3();
        let state = samples::viscous(&setup, samples::state3(&setup, 200, true));
        round_trip_is_bit_exact(AnySetup::D3(setup), AnyState::D3(state));
    }

    #[test]
    fn a_dilation_that_is_no_number_is_refused() {
        let setup = samples::setup2();
        for bad in [f32::INFINITY, f32::NAN] {
            let mut state = samples::viscous(&setup, samples::state2(&setup, 9, false));
            let dilation = state.dilation.as_mut().expect("a viscous state");
            dilation[Cell([3, 2])] = bad;
            let file = file(&AnySetup::D2(setup.clone()), &AnyState::D2(state));
            let checkpoint = Checkpoint::parse(&file).unwrap();
            let error = checkpoint.state(&AnySetup::D2(setup.clone())).unwrap_err();
            assert!(error.to_string().contains("dilation"), "{error}");
        }
    }

    #[test]
    fn a_viscosity_below_zero_is_refused() {
        let setup = samples::setup2();
        for bad in [-1.0, f32::NAN] {
            let mut state = samples::viscous(&setup, samples::state2(&setup, 9, false));
            state.particles.viscosity[4] = bad;
            let file = file(&AnySetup::D2(setup.clone()), &AnyState::D2(state));
            let checkpoint = Checkpoint::parse(&file).unwrap();
            let error = checkpoint.state(&AnySetup::D2(setup.clone())).unwrap_err();
            assert!(error.to_string().contains("viscosity"), "{error}");
        }
    }

    #[test]
    fn no_liquid_is_a_state_too() {
        let setup = samples::setup2();
        let state = State::empty(&setup.grid);
        round_trip_is_bit_exact(AnySetup::D2(setup), AnyState::D2(state));
    }

    #[test]
    fn damage_is_found_and_never_panics() {
        let setup = samples::setup3();
        let state = AnyState::D3(samples::state3(&setup, 200, true));
        let setup = AnySetup::D3(setup);
        let file = file(&setup, &state);
        for length in (0..file.len())
            .step_by(64)
            .chain(file.len() - 40..file.len())
        {
            assert!(
                Checkpoint::parse(&file[..length]).is_err(),
                "cut at {length}"
            );
        }
        for at in (0..file.len()).step_by(37) {
            let mut bad = file.clone();
            bad[at] ^= 1 << (at % 8);
            assert!(Checkpoint::parse(&bad).is_err(), "flipped in {at}");
        }
    }

    #[test]
    fn a_checkpoint_of_another_grid_is_refused() {
        let setup = samples::setup2();
        let state = AnyState::D2(samples::state2(&setup, 10, false));
        let file = file(&AnySetup::D2(setup), &state);
        let error = Checkpoint::parse(&file)
            .unwrap()
            .state(&AnySetup::D3(samples::setup3()))
            .unwrap_err();
        assert!(error.to_string().contains("cells"), "{error}");
    }
}
