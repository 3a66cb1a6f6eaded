//! The compact native cache of a frame's particles.
//!
//! Positions are whole multiples of `dx/65536` from the grid's origin, so they are off by
//! at most `dx/131072`. Velocities are `f32` with 15 bits of mantissa: off by at most one
//! part in 65536. Ids are exact, and so are viscosities where particles have their own. Particles come in the order of their cells, so differences
//! from one to the next are small; these are split into planes of equal bytes, which
//! compress well.

use plash_liquid::{Setup, State};
use serde::{Deserialize, Serialize};

use super::any::{View, both};
use super::container::{self, Blocks, Kind};
use super::error::Damage;

pub(crate) const KIND: Kind = Kind {
    name: "plash frame cache",
    magic: *b"PLASHFRM",
    version: 2,
};

/// Steps of the position lattice per cell.
const STEPS_PER_CELL: f64 = 65536.0;

/// What a frame cache says about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheMeta {
    /// The frame, from 1.
    pub frame: u64,
    /// Simulated time, s.
    pub time: f64,
    /// Substeps taken.
    pub step: u64,
    /// 2 or 3.
    pub dimension: u8,
    /// Number of particles.
    pub particles: u64,
    /// Whether particles carry viscosities.
    pub viscosity: bool,
    /// Cells along each axis.
    pub cells: Vec<u64>,
    /// Cell side, m.
    pub dx: f64,
    /// Lowest corner of the grid, m.
    pub origin: Vec<f64>,
}

/// The particles of a frame. In 2D every third coordinate is 0.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameData {
    /// Frame, time and grid.
    pub meta: CacheMeta,
    /// Positions, m.
    pub positions: Vec<[f32; 3]>,
    /// Velocities, m/s.
    pub velocities: Vec<[f32; 3]>,
    /// The particles' lasting numbers.
    pub ids: Vec<u64>,
    /// Viscosities, Pa·s; empty if all liquid has the same.
    pub viscosities: Vec<f32>,
}

/// The bytes of the cache of what `view` shows.
pub fn encode_cache(view: View<'_>, frame: u64) -> Result<Vec<u8>, Damage> {
    both!(view, |setup, state| encode(setup, state, frame))
}

fn encode<const D: usize>(
    setup: &Setup<D>,
    state: &State<D>,
    frame: u64,
) -> Result<Vec<u8>, Damage> {
    let grid = &setup.grid;
    let particles = &state.particles;
    let meta = CacheMeta {
        frame,
        time: state.time,
        step: state.step,
        dimension: D as u8,
        particles: particles.len() as u64,
        viscosity: !particles.viscosity.is_empty(),
        cells: grid.cells().map(|n| n as u64).to_vec(),
        dx: grid.dx(),
        origin: grid.origin().to_vec(),
    };
    let mut raw = Vec::with_capacity(particles.len() * (8 * D + 12));
    for a in 0..D {
        let scale = STEPS_PER_CELL / grid.dx();
        let steps = particles
            .position
            .iter()
            .map(|x| (x[a] - grid.origin()[a]) * scale);
        let steps: Vec<i32> = steps.map(to_lattice).collect::<Result<_, _>>()?;
        push_planes::<4>(&mut raw, differences(&steps).map(u32::to_le_bytes));
    }
    for a in 0..D {
        let bits: Vec<u32> = particles
            .velocity
            .iter()
            .map(|v| rounded_bits(v[a]))
            .collect::<Result<_, _>>()?;
        push_planes::<4>(&mut raw, bits.iter().map(|b| b.to_le_bytes()));
    }
    let mut last = 0;
    let ids = particles.id.iter().map(|&id| {
        let difference = id.wrapping_sub(last) as i64;
        last = id;
        ((difference << 1) ^ (difference >> 63)) as u64
    });
    push_planes::<8>(&mut raw, ids.map(u64::to_le_bytes));
    let viscosities = particles.viscosity.iter();
    push_planes::<4>(&mut raw, viscosities.map(|mu| mu.to_le_bytes()));
    container::encode(KIND, &meta, &raw)
}

fn to_lattice(steps: f64) -> Result<i32, Damage> {
    let steps = steps.round();
    if (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&steps) {
        Ok(steps as i32)
    } else {
        Err(Damage::malformed(format!(
            "a particle lies {} cells from the grid's origin",
            steps / STEPS_PER_CELL
        )))
    }
}

/// The bits of the nearest `f32` whose last eight bits are zero.
fn rounded_bits(value: f64) -> Result<u32, Damage> {
    let rounded = (value as f32).to_bits().wrapping_add(0x80) & !0xff;
    if value.is_finite() && f32::from_bits(rounded).is_finite() {
        Ok(rounded)
    } else {
        Err(Damage::malformed(format!(
            "a particle moves at {value} m/s"
        )))
    }
}

/// Differences from one value to the next; small ones of either sign become small numbers.
fn differences(values: &[i32]) -> impl Iterator<Item = u32> {
    let mut last = 0;
    values.iter().map(move |&value| {
        let difference = value.wrapping_sub(last);
        last = value;
        ((difference << 1) ^ (difference >> 31)) as u32
    })
}

/// All first bytes, then all second bytes, and so on.
fn push_planes<const N: usize>(raw: &mut Vec<u8>, values: impl Iterator<Item = [u8; N]>) {
    let values: Vec<[u8; N]> = values.collect();
    for plane in 0..N {
        raw.extend(values.iter().map(|bytes| bytes[plane]));
    }
}

fn planes<const N: usize>(
    blocks: &mut Blocks<'_>,
    count: usize,
) -> Result<impl Iterator<Item = [u8; N]>, Damage> {
    let mut each: [&[u8]; N] = [&[]; N];
    for plane in &mut each {
        *plane = blocks.bytes(count)?;
    }
    Ok((0..count).map(move |i| each.map(|plane| plane[i])))
}

/// The particles in a frame cache.
pub fn decode_cache(file: &[u8]) -> Result<FrameData, Damage> {
    let (meta, raw) = container::decode::<CacheMeta>(KIND, file)?;
    let dimension = usize::from(meta.dimension);
    if !(2..=3).contains(&dimension) || meta.origin.len() != dimension {
        return Err(Damage::malformed(format!("{dimension} dimensions")));
    }
    // Sizes are checked against the bytes that are there before anything is allocated.
    let count = usize::try_from(meta.particles).ok();
    let each = 8 * dimension + 8 + if meta.viscosity { 4 } else { 0 };
    let expected = count.and_then(|n| n.checked_mul(each));
    let Some(count) = count.filter(|_| expected == Some(raw.len())) else {
        return Err(Damage::malformed(format!(
            "{} particles in {} bytes",
            meta.particles,
            raw.len()
        )));
    };
    let mut blocks = Blocks::new(&raw);
    let mut positions = vec![[0.0; 3]; count];
    for a in 0..dimension {
        let mut at = 0_i32;
        for (x, bytes) in positions.iter_mut().zip(planes::<4>(&mut blocks, count)?) {
            let code = u32::from_le_bytes(bytes);
            at = at.wrapping_add((code >> 1) as i32 ^ -((code & 1) as i32));
            x[a] = (meta.origin[a] + f64::from(at) * (meta.dx / STEPS_PER_CELL)) as f32;
        }
    }
    let mut velocities = vec![[0.0; 3]; count];
    for a in 0..dimension {
        for (v, bytes) in velocities.iter_mut().zip(planes::<4>(&mut blocks, count)?) {
            v[a] = f32::from_le_bytes(bytes);
        }
    }
    let mut id = 0_u64;
    let ids = planes::<8>(&mut blocks, count)?
        .map(|bytes| {
            let code = u64::from_le_bytes(bytes);
            id = id.wrapping_add((code >> 1) ^ (code & 1).wrapping_neg());
            id
        })
        .collect();
    let viscous = if meta.viscosity { count } else { 0 };
    let viscosities = planes::<4>(&mut blocks, viscous)?
        .map(f32::from_le_bytes)
        .collect();
    blocks.finish()?;
    Ok(FrameData {
        meta,
        positions,
        velocities,
        ids,
        viscosities,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::samples;

    fn round_trip_is_close<const D: usize>(setup: &Setup<D>, state: &State<D>, file: &[u8]) {
        let frame = decode_cache(file).unwrap();
        assert_eq!(frame.meta.frame, 12);
        assert_eq!(frame.meta.time, state.time);
        assert_eq!(frame.ids, state.particles.id);
        assert_eq!(frame.viscosities, state.particles.viscosity);
        let dx = setup.grid.dx();
        for i in 0..state.particles.len() {
            for a in 0..D {
                let x = state.particles.position[i][a];
                let error = (f64::from(frame.positions[i][a]) - x).abs();
                assert!(error <= dx / 131072.0 + 1e-7 * x.abs(), "{error}");
                let v = state.particles.velocity[i][a];
                let error = (f64::from(frame.velocities[i][a]) - v).abs();
                assert!(error <= v.abs() / 65000.0, "{error}");
            }
            if D == 2 {
                assert_eq!((frame.positions[i][2], frame.velocities[i][2]), (0.0, 0.0));
            }
        }
    }

    #[test]
    fn round_trip_is_close_2d() {
        let setup = samples::setup2();
        let state = samples::state2(&setup, 500, false);
        let file = encode_cache(View::D2(&setup, &state), 12).unwrap();
        round_trip_is_close(&setup, &state, &file);
    }

    #[test]
    fn round_trip_is_close_3d() {
        let setup = samples::setup3();
        let state = samples::state3(&setup, 500, true);
        let file = encode_cache(View::D3(&setup, &state), 12).unwrap();
        round_trip_is_close(&setup, &state, &file);
    }

    #[test]
    fn viscosities_are_kept_exactly() {
        let setup = samples::setup3();
        let state = samples::viscous(&setup, samples::state3(&setup, 500, true));
        let file = encode_cache(View::D3(&setup, &state), 12).unwrap();
        round_trip_is_close(&setup, &state, &file);
    }

    #[test]
    fn an_empty_frame_is_a_frame() {
        let setup = samples::setup2();
        let state = State::empty(&setup.grid);
        let file = encode_cache(View::D2(&setup, &state), 1).unwrap();
        assert!(decode_cache(&file).unwrap().positions.is_empty());
    }

    #[test]
    fn damage_is_found_and_never_panics() {
        let setup = samples::setup2();
        let state = samples::state2(&setup, 500, false);
        let file = encode_cache(View::D2(&setup, &state), 12).unwrap();
        for length in (0..file.len()).step_by(64) {
            assert!(decode_cache(&file[..length]).is_err());
        }
        for at in (0..file.len()).step_by(29) {
            let mut bad = file.clone();
            bad[at] ^= 1 << (at % 8);
            assert!(decode_cache(&bad).is_err());
        }
    }

    #[test]
    fn lies_in_the_metadata_are_found() {
        let good = CacheMeta {
            frame: 1,
            time: 0.0,
            step: 0,
            dimension: 2,
            particles: 1,
            viscosity: false,
            cells: vec![1, 1],
            dx: 1.0,
            origin: vec![0.0; 2],
        };
        let raw = [0; 24];
        let decodes =
            |meta: &CacheMeta| decode_cache(&container::encode(KIND, meta, &raw).unwrap());
        assert!(decodes(&good).is_ok());
        assert!(
            decodes(&CacheMeta {
                particles: u64::MAX,
                ..good.clone()
            })
            .is_err()
        );
        assert!(
            decodes(&CacheMeta {
                particles: 2,
                ..good.clone()
            })
            .is_err()
        );
        assert!(
            decodes(&CacheMeta {
                viscosity: true,
                ..good.clone()
            })
            .is_err()
        );
        assert!(
            decodes(&CacheMeta {
                dimension: 9,
                ..good.clone()
            })
            .is_err()
        );
        assert!(
            decodes(&CacheMeta {
                origin: vec![],
                ..good.clone()
            })
            .is_err()
        );
    }

    #[test]
    fn a_value_that_is_no_number_is_never_written() {
        let setup = samples::setup2();
        for bad in [f64::NAN, f64::INFINITY, 1e40] {
            let mut state = samples::state2(&setup, 5, false);
            state.particles.velocity[3][1] = bad;
            assert!(encode_cache(View::D2(&setup, &state), 1).is_err());
            let mut state = samples::state2(&setup, 5, false);
            state.particles.position[3][1] = bad;
            assert!(encode_cache(View::D2(&setup, &state), 1).is_err());
        }
    }
}
