//! `plash check SCENE`: is it right, and how large is it?

use plash_grid::Grid;
use plash_scene::memory::{human_bytes, total_ram};
use plash_scene::{AnySetup, Scene};
use serde_json::json;

use crate::args::Check;
use crate::console::{Console, count, plural, short};
use crate::failure::Outcome;
use crate::source;

/// Validates a scene and prints its size.
pub fn check(args: &Check, console: Console) -> Outcome {
    let scene = source::load(&args.scene, &args.changes, console)?;
    let (cells, dx) = grid(&scene);
    let ram = total_ram();
    let estimate = &scene.estimate;
    let sides: Vec<String> = cells.iter().map(|n| count(*n as u64)).collect();
    let of_ram = ram.map_or(String::new(), |ram| {
        format!(" (this machine has {})", human_bytes(ram))
    });
    let seconds = scene.frames as f64 / scene.fps;
    console.say(format!(
        "{name} is right: a {dimension}D scene\n  \
         grid       {sides} = {cells} cells of {dx} m\n  \
         particles  {particles} at most\n  \
         memory     about {memory}{of_ram}\n  \
         time       {frames} at {fps} per second, {seconds} s",
        name = scene.name,
        dimension = cells.len(),
        sides = sides.join(" × "),
        cells = count(estimate.cells),
        dx = short(dx),
        particles = count(estimate.particles),
        memory = human_bytes(estimate.bytes),
        frames = plural(scene.frames, "frame"),
        fps = scene.fps,
        seconds = short(seconds),
    ));
    console.document(&json!({
        "name": scene.name,
        "dimension": cells.len(),
        "resolution": cells,
        "dx": dx,
        "frames": scene.frames,
        "fps": scene.fps,
        "cells": estimate.cells,
        "particles": estimate.particles,
        "memory_bytes": estimate.bytes,
        "available_bytes": ram,
        "warnings": scene.warnings.records(),
    }));
    Ok(())
}

/// Cells along each axis, and the side of one.
fn grid(scene: &Scene) -> (Vec<usize>, f64) {
    fn sides<const D: usize>(grid: &Grid<D>) -> (Vec<usize>, f64) {
        (grid.cells().to_vec(), grid.dx())
    }
    match &scene.setup {
        AnySetup::D2(setup) => sides(&setup.grid),
        AnySetup::D3(setup) => sides(&setup.grid),
    }
}
