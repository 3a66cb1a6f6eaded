//! The liquid's surface as a closed mesh whose volume is the liquid's.

use rayon::prelude::*;

use crate::error::{RenderError, positive};
use crate::field::{Occupancy, Reconstructor};
use crate::lattice::{Lattice, SIDE};
use crate::mesh::Mesh;
use crate::open::Solid;
use crate::polygonise::{Patch, polygonise};

/// More droplets than this are drawn with 20 triangles each instead of 80.
const FINE_DROPLETS: usize = 1000;

/// Passes of smoothing normals, each about one lattice step wide.
const NORMAL_PASSES: usize = 4;

impl Reconstructor<3> {
    /// The closed surface of particles that carry `particle_volume` each.
    ///
    /// Liquid is where the occupancy exceeds ½, ended exactly at walls and solids; particles too
    /// lone to reach ½ anywhere become balls of `particle_volume` each. The divergence theorem over
    /// the mesh therefore measures the liquid, however much of it flies as spray.
    pub fn surface(
        &self,
        positions: &[[f64; 3]],
        particle_volume: f64,
    ) -> Result<Mesh, RenderError> {
        let field = self.occupancy(positions, particle_volume)?;
        let patch = |block: usize| {
            Patch::fill(self.lattice.block_at(block).map(|b| b * SIDE), |node| {
                field.node(node)
            })
        };
        let mut mesh = polygonise(&self.lattice, &field.cut_blocks(), patch);
        mesh.smooth_normals(NORMAL_PASSES);
        self.append_spray(&field, &mut mesh);
        Ok(mesh)
    }

    fn append_spray(&self, field: &Occupancy<'_, 3>, mesh: &mut Mesh) {
        let spray = field.spray();
        let ball = Mesh::unit_ball(usize::from(spray.len() <= FINE_DROPLETS));
        let size = field.particle_volume().cbrt();
        let radius = size * (3.0 / (4.0 * std::f64::consts::PI)).cbrt();
        for droplet in spray {
            mesh.append_scaled(&ball, self.clear_of_walls(*droplet, radius), size);
        }
    }
}

/// The closed surface of an implicit solid, `distance < 0` inside, cut off at the box.
///
/// For drawing obstacles that are known by a signed distance only. The distance should grow no
/// faster than one per unit of length; blocks farther than that from the surface are skipped.
pub fn mesh_implicit(
    bounds: [[f64; 3]; 2],
    spacing: f64,
    distance: Solid<'_, 3>,
) -> Result<Mesh, RenderError> {
    positive("spacing", spacing)?;
    let lattice = Lattice::new(bounds, spacing)?;
    let inwards = |x: [f64; 3]| crate::open::open_distance(&bounds, &|x| -distance(x), x);
    let reach = (SIDE as f64 * 0.5 + 2.0) * spacing * 3f64.sqrt();
    let near = |&index: &u32| {
        let low = lattice.position(lattice.block_at(index as usize).map(|b| b * SIDE));
        inwards(low.map(|x| x + 0.5 * (SIDE - 1) as f64 * spacing)).abs() < reach
    };
    let blocks: Vec<u32> = (0..lattice.block_count() as u32)
        .into_par_iter()
        .filter(near)
        .collect();
    let patch = |block: usize| {
        let low = lattice.block_at(block).map(|b| b * SIDE);
        Patch::fill(low, |node| (1.0, inwards(lattice.position(node)) as f32))
    };
    Ok(polygonise(&lattice, &blocks, patch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReconstructionOptions;
    use crate::testing::{Random, jittered, open_space};

    const DX: f64 = 1.0 / 32.0;
    const PARTICLE: f64 = DX * DX * DX / 8.0;
    const UNIT: [[f64; 3]; 2] = [[0.0; 3], [1.0; 3]];

    fn frame() -> Reconstructor<3> {
        Reconstructor::new(UNIT, DX, &open_space, ReconstructionOptions::default()).unwrap()
    }

    fn relative_error(mesh: &Mesh, volume: f64) -> f64 {
        (mesh.volume() / volume - 1.0).abs()
    }

    #[test]
    fn a_box_of_liquid_in_a_corner_keeps_its_volume() {
        let particles = jittered(UNIT, DX, 1, |x| x[0] < 0.5 && x[1] < 0.5 && x[2] < 0.5);
        let mesh = frame().surface(&particles, PARTICLE).unwrap();
        assert!(mesh.is_closed());
        let error = relative_error(&mesh, 0.125);
        assert!(error < 0.02, "{error}");
    }

    #[test]
    fn a_full_tank_is_the_box_itself() {
        let particles = jittered(UNIT, DX, 2, |_| true);
        let mesh = frame().surface(&particles, PARTICLE).unwrap();
        assert!(mesh.is_closed());
        assert!(relative_error(&mesh, 1.0) < 0.005);
        let [lo, hi] = mesh.bounds().unwrap();
        assert!(lo.iter().all(|x| x.abs() < 1e-6) && hi.iter().all(|x| (x - 1.0).abs() < 1e-6));
    }

    #[test]
    fn a_blob_keeps_its_volume() {
        let r = 8.0 * DX;
        let particles = jittered(UNIT, DX, 3, |x| {
            x.iter().map(|x| (x - 0.5).powi(2)).sum::<f64>() < r * r
        });
        let mesh = frame().surface(&particles, PARTICLE).unwrap();
        assert!(mesh.is_closed());
        let error = relative_error(&mesh, 4.0 / 3.0 * std::f64::consts::PI * r.powi(3));
        assert!(error < 0.03, "{error}");
    }

    #[test]
    fn lone_particles_are_droplets_of_their_own_volume() {
        let mut random = Random::new(4);
        let particles: Vec<[f64; 3]> = (0..100)
            .map(|i: i32| {
                let cell = [i % 5, i / 5 % 5, i / 25];
                std::array::from_fn(|a| (f64::from(cell[a]) + 0.3 + 0.4 * random.next()) / 5.0)
            })
            .collect();
        let mesh = frame().surface(&particles, PARTICLE).unwrap();
        assert!(mesh.is_closed());
        assert!(relative_error(&mesh, 100.0 * PARTICLE) < 0.02);
    }

    #[test]
    fn particles_in_disorder_keep_their_volume() {
        let mut random = Random::new(5);
        let count = (0.125 / PARTICLE) as usize;
        let particles: Vec<[f64; 3]> = (0..count)
            .map(|_| {
                [
                    0.25 + 0.5 * random.next(),
                    0.5 * random.next(),
                    0.25 + 0.5 * random.next(),
                ]
            })
            .collect();
        let mesh = frame().surface(&particles, PARTICLE).unwrap();
        assert!(mesh.is_closed());
        let error = relative_error(&mesh, 0.125);
        assert!(error < 0.04, "{error}");
    }

    /// Mesh volume over particle volume of a level sheet `thickness` cells thick.
    fn sheet_ratio(thickness: f64) -> f64 {
        let mut random = Random::new(8);
        let count = (0.64 * thickness * DX / PARTICLE) as usize;
        let mut along = |from: f64, length: f64| from + length * random.next();
        let particles: Vec<[f64; 3]> = (0..count)
            .map(|_| [along(0.1, 0.8), along(0.5, thickness * DX), along(0.1, 0.8)])
            .collect();
        let mesh = frame().surface(&particles, PARTICLE).unwrap();
        assert!(mesh.is_closed());
        mesh.volume() / (count as f64 * PARTICLE)
    }

    #[test]
    fn thin_sheets_keep_most_of_their_volume() {
        // Without the fit the level ½ alone loses a third of a sheet three quarters of a cell thick.
        for thickness in [0.5, 0.75, 1.0, 1.5, 2.0, 3.0] {
            let ratio = sheet_ratio(thickness);
            assert!((ratio - 1.0).abs() < 0.06, "{thickness} cells: {ratio}");
        }
    }

    #[test]
    fn liquid_around_a_solid_ends_at_the_solid() {
        let solid = |x: [f64; 3]| x.iter().map(|x| (x - 0.5).powi(2)).sum::<f64>().sqrt() - 0.25;
        let frame = Reconstructor::new(UNIT, DX, &solid, ReconstructionOptions::default()).unwrap();
        let particles = jittered(UNIT, DX, 6, |x| x[1] < 0.5 && solid(x) > 0.0);
        let mesh = frame.surface(&particles, PARTICLE).unwrap();
        assert!(mesh.is_closed());
        let exact = 0.5 - 2.0 / 3.0 * std::f64::consts::PI * 0.25f64.powi(3);
        let error = relative_error(&mesh, exact);
        assert!(error < 0.02, "{error}");
    }

    #[test]
    fn liquid_in_a_bowl_has_no_droplets_in_the_wall() {
        let bowl = |x: [f64; 3]| 0.45 - x.iter().map(|x| (x - 0.5).powi(2)).sum::<f64>().sqrt();
        let frame = Reconstructor::new(UNIT, DX, &bowl, ReconstructionOptions::default()).unwrap();
        let particles = jittered(UNIT, DX, 9, |x| x[1] < 0.5 && bowl(x) > 0.0);
        assert!(
            frame
                .occupancy(&particles, PARTICLE)
                .unwrap()
                .spray()
                .is_empty()
        );
        let mesh = frame.surface(&particles, PARTICLE).unwrap();
        assert!(mesh.is_closed());
        let exact = 2.0 / 3.0 * std::f64::consts::PI * 0.45f64.powi(3);
        assert!(relative_error(&mesh, exact) < 0.02);
    }

    #[test]
    fn no_particles_give_no_mesh() {
        let mesh = frame().surface(&[], PARTICLE).unwrap();
        assert_eq!(mesh, Mesh::default());
        let nan = frame()
            .surface(&[[f64::NAN; 3], [f64::INFINITY; 3], [7.0; 3]], PARTICLE)
            .unwrap();
        assert_eq!(nan, Mesh::default());
    }

    #[test]
    fn bad_volumes_are_errors() {
        assert!(frame().surface(&[[0.5; 3]], f64::NAN).is_err());
        assert!(frame().surface(&[[0.5; 3]], 0.0).is_err());
    }

    #[test]
    fn same_mesh_for_one_and_two_threads() {
        let particles = jittered(UNIT, DX, 7, |x| x[1] < 0.3 + 0.1 * (9.0 * x[0]).sin());
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| frame().surface(&particles, PARTICLE).unwrap())
        };
        assert_eq!(run(1).to_ply(), run(2).to_ply());
    }

    #[test]
    fn an_implicit_ball_has_the_volume_of_a_ball() {
        let ball = |x: [f64; 3]| x.iter().map(|x| (x - 0.5).powi(2)).sum::<f64>().sqrt() - 0.3;
        let mesh = mesh_implicit(UNIT, 1.0 / 64.0, &ball).unwrap();
        assert!(mesh.is_closed());
        let exact = 4.0 / 3.0 * std::f64::consts::PI * 0.027;
        assert!((mesh.volume() / exact - 1.0).abs() < 0.005);
    }

    #[test]
    fn an_implicit_half_space_is_cut_off_at_the_box() {
        let mesh = mesh_implicit(UNIT, 1.0 / 32.0, &|x| x[1] - 0.3).unwrap();
        assert!(mesh.is_closed());
        assert!((mesh.volume() / 0.3 - 1.0).abs() < 0.01);
    }
}
