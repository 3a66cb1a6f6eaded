//! The simulation: a setup, a state, and the step between.

#[cfg(test)]
mod tests;
mod workspace;

use plash_grid::{BLOCK, CellField, Runs};

use self::workspace::Workspace;
use crate::density::DensityStats;
use crate::extrapolate::{self, Layers};
use crate::occupancy::Occupancy;
use crate::report::{Observer, SolveReport, Stage, StepError, StepReport, ViscosityReport};
use crate::setup::Setup;
use crate::solids::Solids;
use crate::state::State;
use crate::surface;
use crate::timestep::{self, Pace};
use crate::{advect, diagnostics, seed, transfer};

/// A liquid that can be stepped.
pub struct Simulation<const D: usize> {
    setup: Setup<D>,
    solids: Solids<D>,
    state: State<D>,
    work: Workspace<D>,
}

/// The solves of a step.
struct Solves {
    pressure: SolveReport,
    viscosity: Option<ViscosityReport>,
    density: Option<SolveReport>,
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
        simulation.measure_motion();
        simulation
    }

    fn assemble(setup: Setup<D>, solids: Solids<D>, mut state: State<D>) -> Self {
        let grid = setup.grid;
        let work = Workspace::new(&setup, &solids);
        if setup.is_viscous() && state.dilation.is_none() {
            state.dilation = Some(CellField::new(&grid));
        }
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
        let pace = Pace {
            cfl: self.setup.scheme.cfl,
            dx: self.setup.grid.dx(),
            max_speed: self.work.motion.max_speed,
            gravity,
            viscosity: self.setup.least_viscosity() / self.setup.density,
        };
        timestep::trim(pace.limit(), remaining)
    }

    /// Advances by `dt` seconds. On an error the particles are as they were before.
    ///
    /// 1. particle velocities to faces, `u_old` kept; 2. the surface; 3. gravity, and what sources drive;
    /// 4. pressure makes `u` divergence-free, and again after viscosity if there is any;
    /// 5. a displacement that evens out density;
    /// 6. velocity beyond the surface and at walls; 7. particles take the change;
    /// 8. particles move, and what viscosity keeps for the next step; 9. sources, drains, sorting; 10. measurement.
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
        work.drive(setup, solids, state.time);
        work.keep_forced();
        let mut pressure = work.project(grid, solids, state)?;
        let mut viscosity = None;
        if setup.is_viscous() {
            observer.enter(Stage::Viscosity);
            viscosity = work.diffuse(setup, solids, state, dt, observer)?;
            observer.enter(Stage::Pressure);
            pressure = work.project(grid, solids, state)?.after(&pressure);
        }
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
        if setup.is_viscous() {
            observer.enter(Stage::Viscosity);
            work.carry_dilation(setup, solids, state, dt);
        }
        state.time += dt;
        state.step += 1;

        observer.enter(Stage::Particles);
        let (emitted, removed) = self.renew_particles();

        observer.enter(Stage::Measure);
        let solves = Solves {
            pressure,
            viscosity,
            density,
        };
        Ok(self.report(dt, stats, solves, (emitted, removed)))
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
        // Sources move the particles in them, new ones or not.
        self.measure_motion();
        (emitted, removed)
    }

    fn measure_motion(&mut self) {
        self.work.motion = diagnostics::motion(&self.state.particles);
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
    }

    fn report(
        &self,
        dt: f64,
        density: DensityStats,
        solves: Solves,
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
            pressure: solves.pressure,
            viscosity: solves.viscosity,
            density: solves.density,
            emitted,
            removed,
        }
    }
}
