//! The simulation: a setup, a state, and the step between.

use plash_grid::{BLOCK, CellField, FaceField, Grid, Runs, axes};

use crate::bins::Bins;
use crate::density::{self, DensityCorrection, DensityStats};
use crate::diagnostics::{self, Motion};
use crate::extrapolate::{self, Layers, WallConstraint};
use crate::occupancy::Occupancy;
use crate::pressure::{Contact, Domain, Projection};
use crate::report::{Observer, SolveReport, Stage, StepError, StepReport};
use crate::setup::Setup;
use crate::solids::Solids;
use crate::state::State;
use crate::surface::{self, SurfaceWork};
use crate::{advect, seed, timestep, transfer};

/// A pressure solve that leaves more than this share of the divergence has failed.
const WORST_RESIDUAL: f64 = 0.1;

/// A liquid that can be stepped.
pub struct Simulation<const D: usize> {
    setup: Setup<D>,
    solids: Solids<D>,
    state: State<D>,
    work: Workspace<D>,
}

/// Everything that is rebuilt from the state in each step and never saved.
struct Workspace<const D: usize> {
    /// Where there is liquid or may be within a step.
    runs: Runs<D>,
    bins: Bins<D>,
    occupancy: Occupancy<D>,
    u: FaceField<f64, D>,
    u_old: FaceField<f64, D>,
    /// Particle weights at faces.
    weight: FaceField<f64, D>,
    /// 1 where `u` is given, more where it is extrapolated, 0 where it is not known.
    known: FaceField<u8, D>,
    phi: CellField<f64, D>,
    surface: SurfaceWork<D>,
    projection: Projection<D>,
    density: DensityCorrection<D>,
    motion: Motion<D>,
}

impl<const D: usize> Simulation<D> {
    /// The simulation at time zero, particles seeded.
    pub fn new(setup: Setup<D>) -> Self {
        let mut state = State::empty(&setup.grid);
        let solids = Solids::new(&setup);
        seed::liquids(&setup, &solids, &mut state);
        let mut simulation = Self::assemble(setup, solids, state);
        simulation.renew_particles();
        simulation
    }

    /// The simulation at a stored state of the same setup: from here on it takes the same
    /// steps, bit for bit, as the simulation the state was taken from.
    pub fn resume(setup: Setup<D>, state: State<D>) -> Self {
        let solids = Solids::new(&setup);
        let mut simulation = Self::assemble(setup, solids, state);
        simulation.sort_particles();
        simulation
    }

    fn assemble(setup: Setup<D>, solids: Solids<D>, state: State<D>) -> Self {
        let grid = setup.grid;
        let work = Workspace::new(&setup, &solids);
        let mut simulation = Simulation {
            setup,
            solids,
            state,
            work,
        };
        surface::clear(&grid, &mut simulation.work.phi);
        simulation
    }

    /// What is simulated.
    pub fn setup(&self) -> &Setup<D> {
        &self.setup
    }

    /// Where it has got to.
    pub fn state(&self) -> &State<D> {
        &self.state
    }

    /// The solids on the grid.
    pub fn solids(&self) -> &Solids<D> {
        &self.solids
    }

    /// Density of each cell relative to liquid at rest.
    pub fn occupancy(&self) -> &Occupancy<D> {
        &self.work.occupancy
    }

    /// The liquid's volume, m³ (m² in 2D): see [`Occupancy`].
    pub fn volume(&self) -> f64 {
        let Workspace {
            occupancy,
            runs,
            bins,
            ..
        } = &self.work;
        occupancy.volume(&self.setup.grid, &self.solids, runs, bins)
    }

    /// A good length for the next substep: within the CFL limit, and such that steps end
    /// at `remaining` seconds from now without a sliver at the end.
    pub fn suggest_dt(&self, remaining: f64) -> f64 {
        let gravity = self.setup.gravity.iter().map(|g| g * g).sum::<f64>().sqrt();
        let (cfl, dx) = (self.setup.scheme.cfl, self.setup.grid.dx());
        timestep::trim(
            timestep::limit(cfl, dx, self.work.motion.max_speed, gravity),
            remaining,
        )
    }

    /// Advances by `dt` seconds. On an error the particles are as they were before.
    ///
    /// 1. particle velocities to faces, `u_old` kept; 2. the surface; 3. gravity;
    /// 4. pressure makes `u` divergence-free; 5. a displacement that evens out density;
    /// 6. velocity beyond the surface and at walls; 7. particles take the change;
    /// 8. particles move; 9. sources, drains, sorting; 10. measurement.
    pub fn step(&mut self, dt: f64, observer: &mut dyn Observer) -> Result<StepReport, StepError> {
        if !(dt > 0.0 && dt.is_finite()) {
            return Err(StepError::BadStep { dt });
        }
        let Self {
            setup,
            solids,
            state,
            work,
        } = self;
        let Setup {
            grid,
            scheme,
            gravity,
            ..
        } = &*setup;
        let layers = Layers((scheme.cfl.ceil() as u8).saturating_add(2));

        observer.enter(Stage::ToGrid);
        work.transfer_to_grid(grid, state);
        extrapolate::into_air(grid, &work.runs, layers, &mut work.known, &mut work.u);
        work.u_old.copy_runs(&work.runs, &work.u); // FLIP: every change to u belongs below this line.

        observer.enter(Stage::Surface);
        work.find_surface(setup, solids, state);

        observer.enter(Stage::Pressure);
        work.add_acceleration(*gravity, dt);
        let pressure = work.project(grid, solids, state)?;
        observer.pressure(&work.projection.problem());

        observer.enter(Stage::Density);
        let (stats, density) = work.even_out_density(setup, solids, state);

        observer.enter(Stage::Extrapolate);
        work.finish_fields(grid, solids, state, layers, density.is_some());
        work.check_finite(state, density.is_some())?;

        observer.enter(Stage::ToParticles);
        transfer::to_particles(
            grid,
            scheme.transfer,
            &work.u_old,
            &work.u,
            &mut state.particles,
        );

        observer.enter(Stage::Advect);
        let displacement = density.is_some().then_some(&work.density.displacement);
        advect::particles(
            grid,
            solids,
            &work.u,
            displacement,
            &mut state.particles.position,
            dt,
        );
        state.time += dt;
        state.step += 1;

        observer.enter(Stage::Particles);
        let (emitted, removed) = self.renew_particles();

        observer.enter(Stage::Measure);
        Ok(self.report(dt, stats, pressure, density, (emitted, removed)))
    }

    /// Removes and adds particles where the setup says, and sorts them.
    fn renew_particles(&mut self) -> (usize, usize) {
        let removed = seed::remove(&self.setup, &mut self.state);
        self.sort_particles();
        let Self {
            setup,
            solids,
            state,
            work,
        } = self;
        let emitted = seed::emit(setup, solids, &work.bins, state);
        let Workspace {
            runs,
            bins,
            occupancy,
            ..
        } = work;
        let reseeded =
            setup.scheme.reseed && seed::reseed(setup, runs, bins, occupancy, solids, state);
        if emitted > 0 || reseeded {
            self.sort_particles();
        }
        (emitted, removed)
    }

    /// Sorts particles by cell and finds all that follows from where they are.
    fn sort_particles(&mut self) {
        let Self {
            setup, state, work, ..
        } = self;
        let grid = &setup.grid;
        work.bins.sort(grid, &mut state.particles);
        let bins = &work.bins;
        let occupied = Runs::of_blocks(grid.layout(), |index| {
            (index..index + BLOCK).any(|i| bins.count(i) > 0)
        });
        let reach = setup.scheme.cfl.ceil() as usize + 4;
        let stale = std::mem::replace(&mut work.runs, occupied.dilated(reach));
        work.forget(grid, &stale);
        work.occupancy
            .update(grid, &stale, &work.runs, &work.bins, &state.particles);
        work.motion = diagnostics::motion(&state.particles);
    }

    fn report(
        &self,
        dt: f64,
        density: DensityStats,
        pressure: SolveReport,
        correction: Option<SolveReport>,
        (emitted, removed): (usize, usize),
    ) -> StepReport {
        let mass = self.setup.density * self.setup.particle_volume();
        let motion = &self.work.motion;
        StepReport {
            step: self.state.step,
            time: self.state.time,
            dt,
            volume: self.volume(),
            volume_expected: self.state.volume_expected,
            particles: self.state.particles.len(),
            max_speed: motion.max_speed,
            kinetic_energy: mass * motion.specific_energy,
            momentum: motion.velocity_sum.iter().map(|v| mass * v).collect(),
            density_mean: density.mean,
            density_rms: density.rms,
            pressure,
            density: correction,
            emitted,
            removed,
        }
    }
}

impl<const D: usize> Workspace<D> {
    fn new(setup: &Setup<D>, solids: &Solids<D>) -> Self {
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
            density: DensityCorrection::new(grid),
            motion: Motion {
                max_speed: 0.0,
                specific_energy: 0.0,
                velocity_sum: [0.0; D],
            },
        }
    }

    /// Clears what the last step left in runs that may no longer be active.
    fn forget(&mut self, grid: &Grid<D>, stale: &Runs<D>) {
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

    fn transfer_to_grid(&mut self, grid: &Grid<D>, state: &State<D>) {
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

    fn find_surface(&mut self, setup: &Setup<D>, solids: &Solids<D>, state: &State<D>) {
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

    fn add_acceleration(&mut self, acceleration: [f64; D], dt: f64) {
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

    /// Makes the velocity free of divergence but for what leaves walls. After a failure the
    /// next try starts from zero pressure.
    fn project(
        &mut self,
        grid: &Grid<D>,
        solids: &Solids<D>,
        state: &mut State<D>,
    ) -> Result<SolveReport, StepError> {
        let Self {
            runs,
            phi,
            projection,
            u,
            known,
            ..
        } = self;
        let domain = Domain {
            grid,
            runs,
            solids,
            phi,
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

    /// Finds the displacement that evens out density. A step without it is still a good step,
    /// so a solve that fails only leaves it out: the report then has none.
    fn even_out_density(
        &mut self,
        setup: &Setup<D>,
        solids: &Solids<D>,
        state: &State<D>,
    ) -> (DensityStats, Option<SolveReport>) {
        let Self {
            runs,
            phi,
            projection,
            occupancy,
            density,
            ..
        } = self;
        let domain = Domain {
            grid: &setup.grid,
            runs,
            solids,
            phi,
        };
        let pressure = &state.pressure;
        let stats = density::statistics(&domain, occupancy, pressure, projection.system());
        if !setup.scheme.density_correction {
            return (stats, None);
        }
        let report = density.solve(&domain, occupancy, pressure, projection).ok();
        (
            stats,
            report.filter(|report| report.residual <= WORST_RESIDUAL),
        )
    }

    /// Carries velocity and displacement beyond the liquid and stops them at walls.
    fn finish_fields(
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
    fn check_finite(&self, state: &State<D>, moved: bool) -> Result<(), StepError> {
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
