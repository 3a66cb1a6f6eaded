//! Viscosity: velocities even out, and liquid sticks to what it touches.
//!
//! The new velocity minimises what changing it costs in kinetic energy plus what its strain
//! dissipates in the step (Batty and Bridson 2008; Aanjaneya et al. 2019, eq. 10):
//!
//! ```text
//! ∫ ρ/2 |u − u*|² + Δt μ |ε(u)|²,     ε = (∇u + ∇uᵀ)/2
//! ```
//!
//! over the liquid. No traction on the free surface is the natural condition of that, and
//! nothing need be done for it: liquid that turns or moves as a whole is left alone. At walls and
//! obstacles the liquid moves as they do, but for cells that have let go of theirs. Integrals
//! go over the share of liquid in halves of cells, one set of shares for faces, cells and edges
//! alike (the module `fractions`); the solver is [`plash_solve::staggered`].

mod body;
mod cells;
mod dilation;
mod fractions;
mod problem;
#[cfg(test)]
mod tests;
mod tips;
mod wet;

use plash_grid::{CellField, FaceField, Grid, axes};
use plash_solve::staggered::{Body, Smoother, ViscousMethod, ViscousOptions, ViscousSolver};
use plash_solve::{Outcome, SolveError, Tolerance};

use self::body::{LiquidBody, Stiffness, cells_beside};
use self::cells::CellViscosity;
use self::dilation::Dilation;
use self::tips::{drag_along, tips};
use crate::bins::Bins;
use crate::particles::Particles;
use crate::pressure::Domain;
use crate::report::{Observer, ViscosityReport};
use crate::setup::ViscosityConfig;

pub use self::problem::{BodyProblem, FaceSystem, ViscosityProblem, ViscosityTask};

/// The method that a failed one is followed by.
const SAFE: ViscousMethod = ViscousMethod::PcgIc;

/// The most unknowns that a method is followed by another for. That one assembles its matrix, which
/// for this many takes most of a gigabyte in 3D: what a run of this size has to spare, and a larger
/// one, sized for a method without a matrix, may not have.
pub const MAX_FALLBACK_UNKNOWNS: usize = 1_000_000;

/// What the liquid is made of.
#[derive(Clone, Copy)]
pub struct Material<'a, const D: usize> {
    /// `ρ`, kg/m³.
    pub density: f64,
    /// `μ`.
    pub viscosity: Thickness<'a, D>,
}

/// How viscous the liquid is.
#[derive(Clone, Copy)]
pub enum Thickness<'a, const D: usize> {
    /// Everywhere the same, Pa·s.
    Uniform(f64),
    /// As its particles, sorted into these bins, say.
    OfParticles(&'a Bins<D>, &'a Particles<D>),
}

/// What is to be known of cells and faces besides.
#[derive(Clone, Copy)]
pub struct Marks<'a, const D: usize> {
    /// 1 at cells that have let go of their wall.
    pub separated: &'a CellField<u8, D>,
    /// 1 at faces whose velocity matters, be there liquid or not.
    pub known: &'a FaceField<u8, D>,
    /// What pulls the liquid, of which the direction counts.
    pub gravity: [f64; D],
    /// See [`State::dilation`](crate::State::dilation).
    pub dilation: &'a CellField<f32, D>,
}

/// A viscosity solver with its memory.
pub struct Diffusion<const D: usize> {
    config: ViscosityConfig,
    solver: ViscousSolver<D>,
    /// Where viscosity varies.
    cells: Option<CellViscosity<D>>,
    dilation: Dilation<D>,
    /// See [`MAX_FALLBACK_UNKNOWNS`].
    max_fallback_unknowns: usize,
}

impl<const D: usize> Diffusion<D> {
    /// A solver as configured.
    pub fn new(grid: &Grid<D>, config: ViscosityConfig) -> Self {
        Diffusion {
            solver: solver(config.method, config.smoother),
            config,
            cells: None,
            dilation: Dilation::new(grid),
            max_fallback_unknowns: MAX_FALLBACK_UNKNOWNS,
        }
    }

    /// Lets viscosity act on `u` for `dt` seconds. `u` must be known a cell beyond the surface;
    /// the observer is shown the problem before it is solved. An error leaves `u` alone.
    pub fn diffuse(
        &mut self,
        domain: &Domain<'_, D>,
        material: Material<'_, D>,
        marks: Marks<'_, D>,
        u: &mut FaceField<f64, D>,
        dt: f64,
        observer: &mut dyn Observer,
    ) -> Result<ViscosityReport, SolveError> {
        let Diffusion {
            config,
            solver: first,
            cells,
            dilation,
            max_fallback_unknowns,
        } = self;
        let body = LiquidBody::new(domain, stiffness(domain, material, cells, dt), marks);
        observer.viscosity(&BodyProblem {
            body: &body,
            load: |solver: &mut ViscousSolver<D>| {
                load(solver, &body, &mut Dilation::new(domain.grid), u);
            },
        });
        let tried = attempt(first, &body, config, dilation, u);
        let good = tried.as_ref().is_ok_and(Outcome::converged);
        let alone = config.method == SAFE || first.unknowns() > *max_fallback_unknowns;
        if good || alone {
            let report = take(&body, first, config.method, &tried?, config, u);
            dilation.correct(&body, first);
            return Ok(report);
        }
        let mut rescue = solver(SAFE, config.smoother);
        let second = attempt(&mut rescue, &body, config, dilation, u);
        let (method, outcome) = better((config.method, &tried), (SAFE, &second))?;
        let solver = if method == SAFE { &rescue } else { first };
        let report = take(&body, solver, method, &outcome, config, u);
        dilation.correct(&body, solver);
        Ok(of_both(report, &tried, &second))
    }

    /// Carries the dilation that the last [`diffuse`](Self::diffuse) has left to where the liquid will be
    /// after `dt` seconds in `u`, no farther than `reach` from its surface.
    pub fn carry_dilation(
        &mut self,
        domain: &Domain<'_, D>,
        u: &FaceField<f64, D>,
        dt: f64,
        reach: f64,
        dilation: &mut CellField<f32, D>,
    ) {
        self.dilation.carry(domain, u, dt, reach, dilation);
    }
}

/// What came of a method.
type Tried = Result<Outcome, SolveError>;

/// The method that came closer, and how it ended; the error of the second if both broke down.
fn better(
    (one, first): (ViscousMethod, &Tried),
    (other, second): (ViscousMethod, &Tried),
) -> Result<(ViscousMethod, Outcome), SolveError> {
    match (first, second) {
        (Ok(first), Ok(second)) if first.residual < second.residual => Ok((one, *first)),
        (_, Ok(second)) => Ok((other, *second)),
        (Ok(first), Err(_)) => Ok((one, *first)),
        (Err(_), Err(error)) => Err(error.clone()),
    }
}

/// The report of the better of two methods, which tells of both.
fn of_both(report: ViscosityReport, first: &Tried, second: &Tried) -> ViscosityReport {
    let spent = |tried: &Tried| tried.as_ref().map_or(0, |outcome| outcome.iterations);
    let first_status = first
        .as_ref()
        .map_or("failed", |outcome| outcome.status.as_str());
    ViscosityReport {
        iterations: spent(first) + spent(second),
        status: if report.status == "converged" {
            "fallback"
        } else {
            report.status
        },
        first_status: Some(first_status),
        ..report
    }
}

fn solver<const D: usize>(method: ViscousMethod, smoother: Smoother) -> ViscousSolver<D> {
    ViscousSolver::new(ViscousOptions {
        method,
        smoother,
        ..ViscousOptions::default()
    })
}

/// The stiffness of the liquid; `cells` keeps it where it varies.
fn stiffness<'a, const D: usize>(
    domain: &Domain<'_, D>,
    material: Material<'_, D>,
    cells: &'a mut Option<CellViscosity<D>>,
    dt: f64,
) -> Stiffness<'a, D> {
    let dx = domain.grid.dx();
    let scale = dt / (material.density * dx * dx);
    match material.viscosity {
        Thickness::Uniform(viscosity) => Stiffness::Uniform(scale * viscosity),
        Thickness::OfParticles(bins, particles) => {
            let viscosity = cells.get_or_insert_with(|| CellViscosity::new(domain.grid));
            viscosity.update(domain.grid, domain.runs, bins, particles);
            Stiffness::Varied { viscosity, scale }
        }
    }
}

/// Gives a solver the velocities, those of walls at faces that are held, and the push of the
/// [dilation].
fn load<const D: usize>(
    solver: &mut ViscousSolver<D>,
    body: &LiquidBody<'_, D>,
    dilation: &mut Dilation<D>,
    u: &FaceField<f64, D>,
) {
    let layout = *body.domain.grid.layout();
    let of = |field: &FaceField<f64, D>, axis: usize, face| field.slice(axis)[layout.index(face)];
    let walls = body.domain.solids.velocity();
    dilation.begin(body, solver);
    solver.load_under_pressure(
        |axis, face| of(u, axis, face),
        |axis, face| {
            // A face that shares strain with a free one is free too, unless it is held.
            debug_assert!(
                body.is_held(axis, face),
                "nothing holds {face:?} along {axis}"
            );
            // Those that sources drive have what these give already.
            let field = if body.is_walled(axis, face) { walls } else { u };
            of(field, axis, face)
        },
        |cell| dilation.push(layout.index(cell)),
    );
}

/// One try by one solver.
fn attempt<const D: usize>(
    solver: &mut ViscousSolver<D>,
    body: &LiquidBody<'_, D>,
    config: &ViscosityConfig,
    dilation: &mut Dilation<D>,
    u: &FaceField<f64, D>,
) -> Tried {
    solver.assemble(body);
    load(solver, body, dilation, u);
    solver.solve(&Tolerance {
        relative: config.tolerance,
        max_iterations: config.max_iterations,
        ..Tolerance::default()
    })
}

/// Takes over a solution and reports it.
fn take<const D: usize>(
    body: &LiquidBody<'_, D>,
    solver: &ViscousSolver<D>,
    method: ViscousMethod,
    outcome: &Outcome,
    config: &ViscosityConfig,
    u: &mut FaceField<f64, D>,
) -> ViscosityReport {
    let size = solver.size();
    let tips = tips(body, solver);
    write(body, solver, u);
    drag_along(body, solver, tips, u);
    let smooths = method == ViscousMethod::Mgpcg;
    ViscosityReport {
        method: method.as_str(),
        smoother: smooths.then(|| config.smoother.as_str()),
        iterations: outcome.iterations,
        residual: if size > 0.0 {
            outcome.residual / size
        } else {
            0.0
        },
        status: outcome.status.as_str(),
        first_status: None,
        unknowns: solver.unknowns(),
    }
}

/// Writes the solution to `u`. A face that is open in part but whose middle is in an obstacle is
/// held, and no unknown; the liquid that passes it is less than half a cell from the obstacle
/// and is slowed down as by a wall at that distance, `u ← u_s + (u − u_s)/(1 + 4κ)`. If nothing
/// were done there, gravity would speed it up for ever.
fn write<const D: usize>(
    body: &LiquidBody<'_, D>,
    solver: &ViscousSolver<D>,
    u: &mut FaceField<f64, D>,
) {
    let Domain {
        grid, runs, solids, ..
    } = *body.domain;
    // The first node of a face is no farther from its middle than this.
    let reach = if solids.has_obstacles() {
        grid.dx()
    } else {
        0.0
    };
    let phi = solids.phi().as_slice();
    for axis in axes::<D>() {
        let open = solids.open().along(axis);
        let walls = solids.velocity().along(axis);
        let a = axis.0;
        u.along_mut(axis).for_each_row(|row, values| {
            let (open, walls) = (open.row(row), walls.row(row));
            let solved = solver.row(a, row.at);
            let length = values.len();
            for i in runs.in_row(row).iter().flat_map(|r| r.range(length)) {
                if let Some(value) = solved.value(i as i32) {
                    values[i] = value;
                    continue;
                }
                let may_be_held = open[i] > 0.0 && phi[row.start + i] < reach;
                if may_be_held && body.is_walled(a, row.point(i)) {
                    let drag = wall_drag_at(body, a, row.point(i));
                    values[i] = walls[i] + (values[i] - walls[i]) / (1.0 + drag);
                }
            }
        });
    }
}

/// `4κ` at a face that is held, and nothing where the liquid beside it has let go.
fn wall_drag_at<const D: usize>(body: &LiquidBody<'_, D>, axis: usize, face: [i32; D]) -> f64 {
    let mut beside = cells_beside(body.domain.grid, axis, face);
    if beside.any(|cell| body.lets_go(cell)) {
        return 0.0;
    }
    drag_at(body, axis, face)
}

/// `4κ` at a face that is no unknown.
fn drag_at<const D: usize>(body: &LiquidBody<'_, D>, axis: usize, face: [i32; D]) -> f64 {
    let beside = cells_beside(body.domain.grid, axis, face);
    4.0 * beside.map(|cell| body.stiffness(cell)).fold(0.0, f64::max)
}
