//! A 2D pool and a drop, drawn as filled liquid and as particles, side by side.
//!
//! `cargo run --release -p plash-render --example drop2d -- drop.png`

use std::error::Error;

use plash_render::{Image, ReconstructionOptions, Reconstructor, Scene2, render2};

const BOUNDS: [[f64; 2]; 2] = [[0.0; 2], [1.0; 2]];
const DX: f64 = 1.0 / 64.0;

fn disc(x: [f64; 2]) -> f64 {
    (x[0] - 0.62).hypot(x[1] - 0.22) - 0.12
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: drop2d PICTURE.png")?;
    let mut particles = Vec::new();
    for k in 0u32..128 * 128 {
        let shake =
            |seed: u32| f64::from((k ^ seed).wrapping_mul(0x9E37_79B1) >> 8) / f64::from(1 << 24);
        let at = |i: u32, seed: u32| (f64::from(i) + 0.1 + 0.8 * shake(seed)) * 0.5 * DX;
        let x = [at(k % 128, 1), at(k / 128, 77)];
        let wet = x[1] < 0.3 + 0.04 * (9.0 * x[0]).sin() || (x[0] - 0.35).hypot(x[1] - 0.72) < 0.1;
        if disc(x) > 0.0 && (wet || k % 400 == 7) {
            particles.push(x);
        }
    }
    let velocities: Vec<[f64; 2]> = particles.iter().map(|x| [0.0, -x[1]]).collect();
    let frame = Reconstructor::new(BOUNDS, DX, &disc, ReconstructionOptions::default())?;
    let liquid = frame.occupancy(&particles, DX * DX / 4.0)?;
    let filled = Scene2 {
        bounds: BOUNDS,
        liquid: Some(&liquid),
        solid: Some(&disc),
        ..Scene2::default()
    };
    let dotted = Scene2 {
        liquid: None,
        particles: &particles,
        velocities: &velocities,
        ..filled
    };
    let both = Scene2 {
        liquid: Some(&liquid),
        ..dotted
    };
    let mut images = Vec::new();
    for (scene, name) in [(filled, "surface"), (dotted, "particles"), (both, "both")] {
        let mut image = render2(&scene, [400, 400])?;
        image.draw_text(name, [28, 28], 2, [40, 44, 50]);
        images.push(image);
    }
    std::fs::write(path, Image::side_by_side(&images)?.to_png()?)?;
    Ok(())
}
