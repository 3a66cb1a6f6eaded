//! The fields of a step, and the stages that work on them.

use plash_grid::{CellField, FaceField, Grid, Runs, axes};

use crate::bins::Bins;
use crate::density::{self, DensityCorrection, DensityStats};
use crate::diagnostics::Motion;
use crate::extrapolate::{self, Layers, WallConstraint};
use crate::nozzle::{Driven, Reach};
use crate::occupancy::Occupancy;
use crate::pressure::{Contact, Domain, Projection};
use crate::report::{Observer, SolveReport, Stage, StepError, ViscosityReport};
use crate::setup::Setup;
use crate::solids::Solids;
use crate::state::State;
use crate::surface::{self, SurfaceWork};
use crate::transfer;
use crate::viscosity::{Diffusion, Marks, Material, Thickness};

/// A solve that leaves more than this share of what it was to remove has failed.
const WORST_RESIDUAL: f64 = 0.1;

/// How far beyond the surface faces may belong to cells that are liquid in part.
const VISCOUS_LAYERS: Layers = Layers(3);

/// Everything that is rebuilt from the state in each step and never saved.
pub(super) struct Workspace<const D: usize> {
    /// Where there is liquid or may be within a step.
    pub(super) runs: Runs<D>,
    pub(super) bins: Bins<D>,
    pub(super) occupancy: Occupancy<D>,
    pub(super) u: FaceField<f64, D>,
    pub(super) u_old: FaceField<f64, D>,
    /// Particle weights at faces.
    pub(super) weight: FaceField<f64, D>,
    /// 1 where `u` is given, more where it is extrapolated, 0 where it is not known.
    pub(super) known: FaceField<u8, D>,
    pub(super) phi: CellField<f64, D>,
    pub(super) surface: SurfaceWork<D>,
    pub(super) projection: Projection<D>,
    /// Faces whose velocity sources give.
    pub(super) driven: Driven<D>,
    /// Those of them that displacements do not pass.
    fence: Driven<D>,
    /// Only if some liquid is viscous.
    viscous: Option<Viscous<D>>,
    pub(super) density: DensityCorrection<D>,
    pub(super) motion: Motion<D>,
}

/// What viscosity needs.
struct Viscous<const D: usize> {
    diffusion: Diffusion<D>,
    /// The velocity before pressure; then what the first pressure took away from it.
    forced: FaceField<f64, D>,
}

impl<const D: usize> Workspace<D> {
    pub(super) fn new(setup: &Setup<D>, solids: &Solids<D>) -> Self {
        let grid = &setup.grid;
        Workspace {
            runs: Runs::none(grid.layout()),
            bins: Bins::new(grid),
            occupancy: Occupancy::new(grid, solids),
            u: FaceField::new(grid),
            u_old: FaceField::new(grid),
            weight: FaceField::new(grid),
            known: FaceField::new(grid),
            phi: CellField::new(grid),
            surface: SurfaceWork::new(grid, setup.scheme.surface),
            projection: Projection::new(grid, setup.scheme.pressure.clone()),
            driven: Driven::none(grid, Reach::All),
            fence: Driven::none(grid, Reach::Fence),
            viscous: setup.is_viscous().then(|| Viscous {
                diffusion: Diffusion::new(grid, setup.scheme.viscosity.clone()),
                forced: FaceField::new(grid),
            }),
            density: DensityCorrection::new(grid),
            motion: Motion {
                max_speed: 0.0,
                specific_energy: 0.0,
                velocity_sum: [0.0; D],
            },
        }
    }

    /// Clears what the last step left in runs that may no longer be active.
    pub(super) fn forget(&mut self, grid: &Grid<D>, stale: &Runs<D>) {
        surface::forget(grid, stale, &mut self.phi);
        for axis in axes::<D>() {
            self.u.along_mut(axis).fill_runs(stale, 0.0);
            self.u_old.along_mut(axis).fill_runs(stale, 0.0);
            self.known.along_mut(axis).fill_runs(stale, 0);
            self.density
                .displacement
                .along_mut(axis)
                .fill_runs(stale, 0.0);
            self.density.known.along_mut(axis).fill_runs(stale, 0);
        }
    }

    pub(super) fn transfer_to_grid(&mut self, grid: &Grid<D>, state: &State<D>) {
        let Self {
            runs,
            bins,
            weight,
            u,
            known,
            ..
        } = self;
        transfer::to_grid(grid, runs, bins, &state.particles, weight, u, known);
    }

    pub(super) fn find_surface(&mut self, setup: &Setup<D>, solids: &Solids<D>, state: &State<D>) {
        let Self {
            runs,
            bins,
            occupancy,
            surface: work,
            phi,
            ..
        } = self;
        let (grid, method, particles) = (&setup.grid, setup.scheme.surface, &state.particles);
        surface::from_particles(
            grid, method, runs, bins, particles, occupancy, solids, work, phi,
        );
    }

    pub(super) fn add_acceleration(&mut self, acceleration: [f64; D], dt: f64) {
        for axis in axes::<D>() {
            let change = acceleration[axis.0] * dt;
            if change == 0.0 {
                continue;
            }
            let runs = &self.runs;
            self.u.along_mut(axis).for_each_row(|row, values| {
                for run in runs.in_row(row) {
                    let range = run.range(values.len());
                    values[range].iter_mut().for_each(|v| *v += change);
                }
            });
        }
    }

    /// Gives the liquid in sources the velocity that they say, whatever else acts on it.
    pub(super) fn drive(&mut self, setup: &Setup<D>, solids: &Solids<D>, time: f64) {
        self.driven.update(setup, solids, time);
        self.fence.update(setup, solids, time);
        self.driven.impose(&mut self.u, &mut self.known);
    }

    /// Makes the velocity free of divergence but for what leaves walls. After a failure the
    /// next try starts from zero pressure.
    pub(super) fn project(
        &mut self,
        grid: &Grid<D>,
        solids: &Solids<D>,
        state: &mut State<D>,
    ) -> Result<SolveReport, StepError> {
        let Self {
            runs,
            phi,
            projection,
            driven,
            u,
            known,
            ..
        } = self;
        let domain = Domain {
            grid,
            runs,
            solids,
            phi,
            driven: Some(driven),
        };
        let contact = Contact {
            pressure: &mut state.pressure,
            separated: &mut state.separated,
        };
        let reason = match projection.project(&domain, u, known, contact) {
            Ok(report) if report.residual <= WORST_RESIDUAL => return Ok(report),
            Ok(report) => format!(
                "{} ended with {} after {} iterations, residual {:.1e}",
                report.method, report.status, report.iterations, report.residual
            ),
            Err(error) => error.to_string(),
        };
        state.pressure.fill_runs(runs, 0.0);
        state.separated.fill_runs(runs, 0);
        Err(StepError::Pressure {
            time: state.time,
            step: state.step,
            reason,
        })
    }

    /// Keeps the velocity that forces have given, if viscosity will ask for it.
    pub(super) fn keep_forced(&mut self) {
        if let Some(viscous) = &mut self.viscous {
            viscous.forced.copy_runs(&self.runs, &self.u);
        }
    }

    /// Lets viscosity act on the velocity that a first pressure has made free of divergence,
    /// and then gives back what that pressure took away: the pressure that follows is the whole
    /// one again, and where it presses liquid against separating walls is decided by the whole,
    /// not by what viscosity adds to it. It starts from the first, which is close.
    pub(super) fn diffuse(
        &mut self,
        setup: &Setup<D>,
        solids: &Solids<D>,
        state: &State<D>,
        dt: f64,
        observer: &mut dyn Observer,
    ) -> Result<Option<ViscosityReport>, StepError> {
        let Self {
            runs,
            bins,
            phi,
            driven,
            u,
            known,
            viscous,
            ..
        } = self;
        let (Some(viscous), Some(dilation)) = (viscous, &state.dilation) else {
            return Ok(None);
        };
        let Viscous { diffusion, forced } = viscous;
        let grid = &setup.grid;
        extrapolate::into_air(grid, runs, VISCOUS_LAYERS, known, u);
        combine(forced, runs, u, |forced, u| forced - u);
        driven.carry(u);
        let domain = Domain {
            grid,
            runs,
            solids,
            phi,
            driven: Some(driven),
        };
        let material = material(setup, bins, state);
        let marks = Marks {
            separated: &state.separated,
            known,
            gravity: setup.gravity,
            dilation,
        };
        let solved = diffusion.diffuse(&domain, material, marks, u, dt, observer);
        combine(u, runs, forced, |u, taken| u + taken);
        driven.impose(u, known);
        let reason = match solved {
            Ok(report) if report.converged() || report.residual <= WORST_RESIDUAL => {
                return Ok(Some(report));
            }
            Ok(report) => format!(
                "{} ended with {} after {} iterations, residual {:.1e}",
                report.method, report.status, report.iterations, report.residual
            ),
            Err(error) => error.to_string(),
        };
        Err(StepError::Viscosity {
            time: state.time,
            step: state.step,
            reason,
        })
    }

    /// Carries along with the liquid what the next viscosity begins with.
    pub(super) fn carry_dilation(
        &mut self,
        setup: &Setup<D>,
        solids: &Solids<D>,
        state: &mut State<D>,
        dt: f64,
    ) {
        let (Some(viscous), Some(dilation)) = (&mut self.viscous, &mut state.dilation) else {
            return;
        };
        let grid = &setup.grid;
        let domain = Domain {
            grid,
            runs: &self.runs,
            solids,
            phi: &self.phi,
            driven: None,
        };
        let reach = (setup.scheme.cfl + 1.0) * grid.dx();
        let u = &self.u;
        viscous
            .diffusion
            .carry_dilation(&domain, u, dt, reach, dilation);
    }

    /// Finds the displacement that evens out density. A step without it is still a good step,
    /// so a solve that fails only leaves it out: the report then has none.
    pub(super) fn even_out_density(
        &mut self,
        setup: &Setup<D>,
        solids: &Solids<D>,
        state: &State<D>,
    ) -> (DensityStats, Option<SolveReport>) {
        let Self {
            runs,
            phi,
            projection,
            driven,
            fence,
            occupancy,
            density,
            ..
        } = self;
        let domain = Domain {
            grid: &setup.grid,
            runs,
            solids,
            phi,
            driven: Some(fence),
        };
        let pressure = &state.pressure;
        let stats = density::statistics(&domain, occupancy, pressure, projection.system());
        if !setup.scheme.density_correction {
            return (stats, None);
        }
        let opened = match driven.is_empty() {
            true => Ok(()),
            false => projection.assemble(&domain),
        };
        let report = opened.and_then(|()| density.solve(&domain, occupancy, pressure, projection));
        let good = |report: &SolveReport| report.residual <= WORST_RESIDUAL;
        (stats, report.ok().filter(good))
    }

    /// Carries velocity and displacement beyond the liquid and stops them at walls.
    pub(super) fn finish_fields(
        &mut self,
        grid: &Grid<D>,
        solids: &Solids<D>,
        state: &State<D>,
        layers: Layers,
        moved: bool,
    ) {
        let velocity = WallConstraint::Contact(&state.pressure);
        extrapolate::into_air(grid, &self.runs, layers, &mut self.known, &mut self.u);
        extrapolate::constrain_at_solids(grid, &self.runs, solids, velocity, &mut self.u);
        if moved {
            let still = WallConstraint::Closed;
            let DensityCorrection {
                displacement,
                known,
                ..
            } = &mut self.density;
            extrapolate::into_air(grid, &self.runs, layers, known, displacement);
            extrapolate::constrain_at_solids(grid, &self.runs, solids, still, displacement);
        }
    }

    /// A velocity or displacement that is not a number is found here, before any particle
    /// has it.
    pub(super) fn check_finite(&self, state: &State<D>, moved: bool) -> Result<(), StepError> {
        let fields = [
            (Stage::Pressure, Some(&self.u)),
            (Stage::Density, moved.then_some(&self.density.displacement)),
        ];
        for (stage, field) in fields {
            let Some(field) = field else { continue };
            for values in axes::<D>().map(|axis| field.along(axis)) {
                for (row, line) in values.rows() {
                    let runs = self.runs.in_row(row).iter();
                    let mut points = runs.flat_map(|run| run.range(line.len()));
                    if let Some(i) = points.find(|&i| !line[i].is_finite()) {
                        return Err(StepError::NotFinite {
                            stage: stage.name(),
                            time: state.time,
                            step: state.step,
                            cell: row.point(i).to_vec(),
                        });
                    }
                }
            }
        }
        Ok(())
    }
}

/// What the liquid is made of.
fn material<'a, const D: usize>(
    setup: &Setup<D>,
    bins: &'a Bins<D>,
    state: &'a State<D>,
) -> Material<'a, D> {
    Material {
        density: setup.density,
        viscosity: match setup.uniform_viscosity() {
            Some(viscosity) => Thickness::Uniform(viscosity),
            None => Thickness::OfParticles(bins, &state.particles),
        },
    }
}

/// Replaces values in the runs by a function of them and those of another field.
fn combine<const D: usize>(
    values: &mut FaceField<f64, D>,
    runs: &Runs<D>,
    others: &FaceField<f64, D>,
    f: impl Fn(f64, f64) -> f64 + Sync,
) {
    for axis in axes::<D>() {
        let others = others.along(axis);
        values.along_mut(axis).for_each_row(|row, values| {
            let others = others.row(row);
            let length = values.len();
            for i in runs.in_row(row).iter().flat_map(|r| r.range(length)) {
                values[i] = f(values[i], others[i]);
            }
        });
    }
}
