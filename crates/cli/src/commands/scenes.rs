//! `plash scenes`: what is in the gallery.

use plash_scene::file::{self, Overrides};
use serde_json::json;

use crate::console::Console;
use crate::failure::Outcome;

/// Lists the gallery.
pub fn scenes(console: Console) -> Outcome {
    let gallery = file::gallery();
    let width = gallery
        .iter()
        .map(|scene| scene.name.len())
        .max()
        .unwrap_or(0);
    let mut list = Vec::new();
    for scene in gallery {
        console.say(format!("{:<width$}  {}", scene.name, scene.description()));
        let parsed = file::parse(scene.name, scene.text, &Overrides::default());
        let dimension = parsed.ok().map(|scene| scene.setup.dimension());
        list.push(json!({
            "name": scene.name,
            "dimension": dimension,
            "description": scene.description(),
        }));
    }
    console.say(
        "\nRun one with `plash run NAME`, or start from one with `plash new MINE --like NAME`.",
    );
    console.document(&json!({ "scenes": list }));
    Ok(())
}
