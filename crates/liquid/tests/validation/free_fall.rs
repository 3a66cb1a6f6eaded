//! A body of liquid in free fall follows the discrete law `v += g Δt, x += v Δt` exactly.

use crate::common::{still, unit_grid};
use plash_liquid::shape::Shape;
use plash_liquid::{Setup, Simulation, Transfer};

/// A ball thrown sideways, far from every wall. The density correction is off: it moves
/// particles that were seeded a little too close, by design, and no law says how far.
fn a_falling_ball<const D: usize>(n: usize, transfer: Transfer) {
    let mut setup = Setup::new(unit_grid::<D>(n));
    for a in 0..D {
        setup.gravity[a] = [0.7, -9.81, -0.4][a];
    }
    setup.scheme.density_correction = false;
    setup.scheme.reseed = false;
    setup.scheme.transfer = transfer;
    let mut ball = still(Shape::Sphere {
        center: [0.5; D],
        radius: 0.15,
    });
    for a in 0..D {
        ball.velocity[a] = [0.3, 1.1, -0.2][a];
    }
    let gravity = setup.gravity;
    let mut velocity = ball.velocity;
    setup.liquids.push(ball);
    let mut simulation = Simulation::new(setup);
    let particles = &simulation.state().particles;
    let mut expected = vec![[0.0; D]; particles.len()];
    for (&id, &x) in particles.id.iter().zip(&particles.position) {
        expected[id as usize] = x;
    }
    for step in 0..10 {
        let dt = 0.5 * simulation.suggest_dt(1.0) * (1.0 + 0.1 * step as f64);
        simulation.step(dt, &mut ()).expect("a step");
        for a in 0..D {
            velocity[a] += gravity[a] * dt;
            expected.iter_mut().for_each(|x| x[a] += velocity[a] * dt);
        }
        let particles = &simulation.state().particles;
        assert_eq!(particles.len(), expected.len());
        for i in 0..particles.len() {
            let exact = expected[particles.id[i] as usize];
            for a in 0..D {
                let (v, x) = (particles.velocity[i][a], particles.position[i][a]);
                assert!((v - velocity[a]).abs() < 1e-12, "step {step}: {v}");
                assert!((x - exact[a]).abs() < 1e-12, "step {step}: {x}");
            }
        }
    }
}

fn every_transfer<const D: usize>(n: usize) {
    for transfer in [
        Transfer::Pic,
        Transfer::Flip { pic_blend: 0.03 },
        Transfer::Apic,
    ] {
        a_falling_ball::<D>(n, transfer);
    }
}

#[test]
fn free_fall_is_the_discrete_law_2d() {
    every_transfer::<2>(48);
}

#[test]
fn free_fall_is_the_discrete_law_3d() {
    every_transfer::<3>(32);
}
