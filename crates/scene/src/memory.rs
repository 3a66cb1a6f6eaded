//! How large a run will be, before any memory is taken.

use plash_liquid::{MAX_FALLBACK_UNKNOWNS, Transfer, ViscousMethod};
use serde::Serialize;

use crate::diagnostics::Diagnostic;
use crate::resolve::Domain;

// Measured peaks of boxes filled to 10, 40 and 90 % (256 and 512 cells in 2D, 32 to 100 in 3D) and
// of drops and sheets far apart (100 and 160), carried by FLIP and by APIC, with and without
// viscosity, lie at 0.5 to 0.97 of the estimate; those of a few of them while a second viscosity
// solver stood beside the first at 0.7 to 0.85, and drops that needed none at 0.4.

/// Bytes per cell of the domain, all fields together, in 2D and 3D.
const BYTES_PER_CELL: [u64; 2] = [100, 160];

/// Bytes per liquid cell: what the pressure solver and the surface take.
const BYTES_PER_LIQUID_CELL: [u64; 2] = [420, 750];

/// Bytes per liquid cell that a viscous run takes besides: weights, vectors and coarse levels of
/// the solver, and a velocity more to keep.
const BYTES_PER_VISCOUS_CELL: [u64; 2] = [140, 300];

/// Bytes per cell of the domain that a viscous run takes besides: its solver works in the box
/// around the liquid, which may be all of it, and what it keeps for the next step is on the whole grid.
const BYTES_AROUND_VISCOUS: [u64; 2] = [42, 62];

/// Bytes per unknown, of which a liquid cell has one per axis, while a viscosity solver has its
/// matrix, factors and vectors: 9 entries a row in 2D, 15 in 3D.
const BYTES_PER_MATRIX_ROW: [u64; 2] = [300, 430];

/// Bytes per cell of the domain while a second viscosity solver stands beside the first: it works in
/// the box around the liquid, too. Drops far apart, which have next to no matrix, took 146 in 2D and
/// 128 in 3D.
const BYTES_AROUND_FALLBACK: [u64; 2] = [160, 150];

/// Bytes per particle of the order that particles are sorted in.
const BYTES_OF_ORDER: u64 = 8;

/// A checkpoint is packed and framed in memory: three copies of the particles at once.
const COPIES_TO_WRITE: u64 = 3;

/// Bytes that any run takes.
const BYTES_BASE: u64 = 64 << 20;

/// How much of the machine's memory a run may take.
const SHARE: f64 = 0.8;

/// What a run is expected to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Estimate {
    /// Cells of the grid.
    pub cells: u64,
    /// Particles at the most: those of the start and those that sources will add.
    pub particles: u64,
    /// Bytes of memory.
    pub bytes: u64,
}

/// What a domain is to hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contents {
    /// Liquid at the most, m^D.
    pub(crate) volume: f64,
    /// What solves for viscosity, if any of it is viscous.
    pub(crate) viscosity: Option<ViscousMethod>,
    /// How particles carry it.
    pub(crate) transfer: Transfer,
}

/// Estimates a run on a domain. Saturates rather than overflows.
pub(crate) fn estimate<const D: usize>(domain: &Domain<D>, contents: Contents) -> Estimate {
    let Contents {
        volume,
        viscosity,
        transfer,
    } = contents;
    let cells = domain.cells.iter().fold(1_u64, |n, c| n.saturating_mul(*c));
    let filled = (volume / domain.dx.powi(D as i32))
        .min(cells as f64)
        .max(0.0);
    // A conversion from floating point saturates.
    let particles = (filled * f64::from(1 << D)).round() as u64;
    let filled = filled.round() as u64;
    let kind = usize::from(D == 3);
    let (mut each, mut liquid) = (BYTES_PER_CELL[kind], BYTES_PER_LIQUID_CELL[kind]);
    if viscosity.is_some() {
        each += BYTES_AROUND_VISCOUS[kind];
        liquid += BYTES_PER_VISCOUS_CELL[kind];
    }
    let record = record::<D>(transfer, viscosity.is_some());
    // Sorting needs a copy of the particles.
    let held = 2 * record + BYTES_OF_ORDER;
    // The two do not come at once.
    let writing = particles.saturating_mul(COPIES_TO_WRITE * record);
    let solving = viscosity.map_or(0, |method| at_its_solve::<D>(method, cells, filled));
    let bytes = cells
        .saturating_mul(each)
        .saturating_add(filled.saturating_mul(liquid))
        .saturating_add(particles.saturating_mul(held))
        .saturating_add(writing.max(solving))
        .saturating_add(BYTES_BASE);
    Estimate {
        cells,
        particles,
        bytes,
    }
}

/// Bytes that a viscosity solve takes for a while: the matrix, of a method that has one or of the
/// one that follows if the first fails, and in that case a second solver.
fn at_its_solve<const D: usize>(method: ViscousMethod, cells: u64, filled: u64) -> u64 {
    let kind = usize::from(D == 3);
    let unknowns = filled.saturating_mul(D as u64);
    let rows = match method {
        ViscousMethod::PcgIc | ViscousMethod::PcgJacobi => unknowns,
        ViscousMethod::Mgpcg => unknowns.min(MAX_FALLBACK_UNKNOWNS as u64),
    };
    let around = match method {
        ViscousMethod::PcgIc => 0,
        ViscousMethod::PcgJacobi | ViscousMethod::Mgpcg => BYTES_AROUND_FALLBACK[kind],
    };
    rows.saturating_mul(BYTES_PER_MATRIX_ROW[kind])
        .saturating_add(cells.saturating_mul(around))
}

/// Bytes of a particle: position, velocity and number, with APIC the change of its velocity in
/// space, and its viscosity.
fn record<const D: usize>(transfer: Transfer, is_viscous: bool) -> u64 {
    let affine = if transfer == Transfer::Apic { D * D } else { 0 };
    let viscosity = if is_viscous { 4 } else { 0 };
    (8 * (2 * D + 1 + affine) + viscosity) as u64
}

/// The error for a run that needs more than 80 % of `ram`, unless forced. A machine that does
/// not say how much it has refuses nothing.
pub(crate) fn refusal<const D: usize>(
    estimate: &Estimate,
    domain: &Domain<D>,
    ram: Option<u64>,
    force: bool,
) -> Option<Diagnostic> {
    let limit = SHARE * ram? as f64;
    if force || estimate.bytes as f64 <= limit {
        return None;
    }
    let shrink = (limit / estimate.bytes as f64).powf(1.0 / D as f64);
    // A little below the exact root, since sides are rounded to whole cells.
    let fitting = (0.98 * shrink * domain.resolution as f64).floor();
    let message = format!(
        "the run would need about {} for {} cells and {} particles, more than 80 % of the {} here",
        human_bytes(estimate.bytes),
        estimate.cells,
        estimate.particles,
        human_bytes(ram?),
    );
    let help = format!("a resolution of {fitting} would fit; `--force` runs it all the same");
    let origin = domain.origin_of_resolution.clone();
    Some(Diagnostic::error(origin, "resolution", message).help(help))
}

/// The memory a process may have here, in bytes, if it can be known: the machine's, or the
/// limit of the container (its control group) if that is less.
pub fn total_ram() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let machine = mem_total(&read("/proc/meminfo"));
    let container = group_limit(&read("/sys/fs/cgroup/memory.max"));
    machine.into_iter().chain(container).min()
}

/// The limit of a control group; `max` means that there is none.
fn group_limit(memory_max: &str) -> Option<u64> {
    memory_max.trim().parse().ok()
}

fn mem_total(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// Bytes for people: `1.5 GB`.
pub fn human_bytes(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 || value >= 99.5 {
        format!("{value:.0} {}", units[unit])
    } else {
        format!("{value:.1} {}", units[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostics::Origin;

    fn domain(cells: [u64; 3]) -> Domain<3> {
        Domain {
            cells,
            dx: 0.01,
            origin: [0.0; 3],
            resolution: cells[0],
            origin_of_resolution: Origin::Whole,
        }
    }

    fn water(volume: f64) -> Contents {
        Contents {
            volume,
            viscosity: None,
            transfer: Transfer::Flip { pic_blend: 0.03 },
        }
    }

    #[test]
    fn a_particle_is_held_twice_and_written_through_three_copies() {
        let domain = domain([100, 50, 50]);
        let affine = Contents {
            transfer: Transfer::Apic,
            ..water(0.125)
        };
        let more = estimate(&domain, affine).bytes - estimate(&domain, water(0.125)).bytes;
        assert_eq!(more, 1_000_000 * 5 * 72);
    }

    #[test]
    fn viscosity_costs_levels_and_a_matrix() {
        let domain = domain([100, 50, 50]);
        let bytes = |viscosity| {
            let contents = Contents {
                viscosity,
                ..water(0.125)
            };
            estimate(&domain, contents).bytes
        };
        let [none, levels, matrix] =
            [None, Some(ViscousMethod::Mgpcg), Some(ViscousMethod::PcgIc)].map(bytes);
        let of_cells = 125_000 * 300 + 250_000 * 62;
        let of_particles = 1_000_000 * 2 * 4;
        // Three copies of each particle, of 56 bytes or with its viscosity of 60, are written when
        // there is no matrix any more.
        let [water, honey] = [56, 60].map(|record| 1_000_000 * 3 * record);
        let solve = 125_000 * 3 * 430;
        let more = |solve: u64| of_cells + of_particles + solve.max(honey) - water;
        assert_eq!(matrix - none, more(solve));
        // Multigrid may be followed by a second solver with that matrix.
        assert_eq!(levels - none, more(solve + 250_000 * 150));
    }

    #[test]
    fn a_fallback_is_counted_up_to_the_size_that_has_one() {
        let solve = |method, filled| at_its_solve::<3>(method, 1_000_000, filled);
        let (around, limit) = (1_000_000 * 150, MAX_FALLBACK_UNKNOWNS as u64);
        let of_fallback = |filled| solve(ViscousMethod::Mgpcg, filled) - around;
        assert_eq!(of_fallback(1000), 3000 * 430);
        assert_eq!(of_fallback(limit / 3), (limit - 1) * 430);
        assert_eq!(of_fallback(limit), limit * 430);
        assert_eq!(of_fallback(u64::MAX), limit * 430);
        assert_eq!(solve(ViscousMethod::PcgIc, limit), 3 * limit * 430);
    }

    #[test]
    fn eight_particles_fill_a_cell_in_3d() {
        let found = estimate(&domain([100, 50, 50]), water(0.125));
        assert_eq!((found.cells, found.particles), (250_000, 1_000_000));
    }

    #[test]
    fn absurd_sizes_saturate_and_are_refused() {
        let absurd = domain([u64::MAX, u64::MAX, 7]);
        let found = estimate(&absurd, water(f64::INFINITY));
        assert_eq!(found.bytes, u64::MAX);
        assert!(refusal(&found, &absurd, Some(1 << 34), false).is_some());
        assert!(refusal(&found, &absurd, Some(1 << 34), true).is_none());
        assert!(refusal(&found, &absurd, None, false).is_none());
    }

    #[test]
    fn the_suggested_resolution_fits() {
        let (large, ram) = (domain([1024, 1024, 1024]), 1 << 33);
        let found = estimate(&large, water(100.0));
        let help = refusal(&found, &large, Some(ram), false).and_then(|d| d.help);
        let help = help.expect("a suggestion");
        let fitting: u64 = help
            .split_whitespace()
            .find_map(|w| w.parse().ok())
            .expect("a number");
        let scale = fitting as f64 / 1024.0;
        let smaller = Domain {
            dx: large.dx / scale,
            ..domain([fitting; 3])
        };
        let found = estimate(&smaller, water(100.0));
        assert!(
            refusal(&found, &smaller, Some(ram), false).is_none(),
            "{fitting}"
        );
    }

    #[test]
    fn meminfo_is_read_in_kibibytes() {
        assert_eq!(
            mem_total("MemFree: 1 kB\nMemTotal:  2048 kB\n"),
            Some(2 << 20)
        );
        assert_eq!(mem_total("MemTotal: many kB"), None);
        assert_eq!(mem_total(""), None);
    }

    #[test]
    fn a_container_may_have_a_limit_or_none() {
        assert_eq!(group_limit("1073741824\n"), Some(1 << 30));
        assert_eq!(group_limit("max\n"), None);
        assert_eq!(group_limit(""), None);
    }

    #[test]
    fn bytes_read_well() {
        assert_eq!(human_bytes(999), "999 B");
        assert_eq!(human_bytes(1_500_000_000), "1.5 GB");
        assert_eq!(human_bytes(999_999), "1.0 MB");
    }
}
