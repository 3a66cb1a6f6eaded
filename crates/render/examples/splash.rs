//! A made-up splash, drawn: a wavy pool, a crown and droplets around a ball in a glass tank.
//!
//! `cargo run --release -p plash-render --example splash -- splash.png` (or `.mp4` to walk around it)

use std::error::Error;
use std::time::Instant;

use plash_render::{
    Material, Mesh, ReconstructionOptions, Reconstructor, RenderError, Scene3, SolidMesh, Video,
    mesh_implicit, render,
};

const BOUNDS: [[f64; 3]; 2] = [[0.0; 3], [1.5, 1.0, 1.0]];
const DX: f64 = 1.0 / 64.0;

fn distance(x: [f64; 3], y: [f64; 3]) -> f64 {
    (0..3).map(|a| (x[a] - y[a]).powi(2)).sum::<f64>().sqrt()
}

/// Signed distance to the ball in the pool.
fn ball(x: [f64; 3]) -> f64 {
    distance(x, [1.08, 0.2, 0.42]) - 0.17
}

/// A number in [0, 1) for an index.
fn noise(i: u64) -> f64 {
    let mut h = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    h ^= h >> 29;
    h = h.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    h ^= h >> 32;
    (h >> 11) as f64 / (1u64 << 53) as f64
}

fn is_liquid(x: [f64; 3]) -> bool {
    let centre = [0.52, 0.5];
    let (dx, dz) = (x[0] - centre[0], x[2] - centre[1]);
    let (r, angle) = (dx.hypot(dz), dz.atan2(dx));
    let rings = 0.035 * (26.0 * r).cos() * (-3.0 * r).exp();
    let pool = 0.24 + rings + 0.02 * (7.0 * x[0] + 1.0).sin() * (5.0 * x[2]).cos();
    let lean = 0.2 + 0.5 * (x[1] - pool).max(0.0);
    let rim = pool + 0.22 + 0.07 * (9.0 * angle).sin() + 0.02 * (23.0 * angle).cos();
    let thick = 0.028 - 0.018 * ((x[1] - pool) / 0.3).clamp(0.0, 1.0);
    let crown = x[1] < rim && (r - lean).abs() < thick;
    let jet = r < 0.05 * (1.0 - 0.5 * x[1]) && x[1] < 0.62;
    let top = distance(x, [centre[0], 0.72, centre[1]]) < 0.05;
    ball(x) > 0.0 && (x[1] < pool || crown || jet || top)
}

fn particles() -> Vec<[f64; 3]> {
    let counts = [192, 128, 128];
    let mut particles = Vec::new();
    for k in 0..counts[0] * counts[1] * counts[2] {
        let i = [
            k % counts[0],
            k / counts[0] % counts[1],
            k / counts[0] / counts[1],
        ];
        let x: [f64; 3] = std::array::from_fn(|a| {
            (i[a] as f64 + 0.1 + 0.8 * noise(3 * k as u64 + a as u64)) * 0.5 * DX
        });
        if is_liquid(x) {
            particles.push(x);
        }
    }
    for k in 0..400u64 {
        let angle = std::f64::consts::TAU * noise(4 * k + 1);
        let r = 0.22 + 0.35 * noise(4 * k + 2).powi(2);
        let y = 0.45 + 0.45 * noise(4 * k + 3) * noise(4 * k + 4);
        let x = [0.52 + r * angle.cos(), y, 0.5 + r * angle.sin()];
        if (0..3).all(|a| x[a] > 0.02 && x[a] < BOUNDS[1][a] - 0.02) {
            particles.push(x);
        }
    }
    particles
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args()
        .nth(1)
        .ok_or("usage: splash PICTURE.png|VIDEO.mp4 [WIDTH HEIGHT]")?;
    let side =
        |n: usize, default: usize| std::env::args().nth(n).map_or(Ok(default), |s| s.parse());
    let size = [side(2, 960)?, side(3, 720)?];
    let volume = DX * DX * DX / 8.0;
    let particles = particles();
    let mut times = vec![("start", Instant::now())];
    let frame = Reconstructor::new(BOUNDS, DX, &ball, ReconstructionOptions::default())?;
    times.push(("survey of the walls", Instant::now()));
    let liquid = frame.surface(&particles, volume)?;
    times.push(("surface", Instant::now()));
    let obstacle = mesh_implicit(BOUNDS, DX, &ball)?;
    report(&particles, &liquid, volume);
    let solids = vec![SolidMesh {
        mesh: obstacle,
        material: Material::Matte([214, 96, 58]),
    }];
    let scene = Scene3 {
        bounds: BOUNDS,
        liquid,
        solids,
        ..Scene3::default()
    };
    times.push(("solids", Instant::now()));
    if path.ends_with(".mp4") {
        std::fs::write(&path, turntable(scene, size)?)?;
    } else {
        std::fs::write(&path, render(&scene, size)?.to_png()?)?;
    }
    times.push(("picture or video", Instant::now()));
    for pair in times.windows(2) {
        eprintln(&format!(
            "{}: {:.3} s",
            pair[1].0,
            (pair[1].1 - pair[0].1).as_secs_f64()
        ));
    }
    Ok(())
}

/// Walk around the tank in two seconds.
fn turntable(mut scene: Scene3, size: [usize; 2]) -> Result<Vec<u8>, RenderError> {
    let frames = 48;
    let mut video = Video::create(size, 24.0)?;
    for k in 0..frames {
        let angle = std::f64::consts::TAU * (f64::from(k) / f64::from(frames) + 0.08);
        scene.camera.eye = Some([0.75 + 4.0 * angle.sin(), 1.6, 0.5 + 4.0 * angle.cos()]);
        let mut image = render(&scene, size)?;
        image.draw_text(&format!("frame {:>2}", k + 1), [12, 12], 2, [255; 3]);
        video.push(&image)?;
    }
    video.finish()
}

fn report(particles: &[[f64; 3]], liquid: &Mesh, volume: f64) {
    let held = particles.len() as f64 * volume;
    eprintln(&format!(
        "{} particles, {} triangles, mesh volume {:.4} of {:.4} ({:+.2} %)",
        particles.len(),
        liquid.triangles.len(),
        liquid.volume(),
        held,
        100.0 * (liquid.volume() / held - 1.0)
    ));
}

/// Progress for the person running the example.
#[allow(clippy::print_stderr)]
fn eprintln(line: &str) {
    std::eprintln!("{line}");
}
