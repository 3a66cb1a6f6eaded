//! Surfaces, pictures and videos of particle liquids, with nothing but a CPU.
//!
//! Plain data in, plain data out; this crate knows no simulator.
//!
//! - [`Reconstructor`] turns particles into an [`Occupancy`] field (2D and 3D) and, in 3D, a closed
//!   [`Mesh`] whose volume is the liquid's.
//! - [`render`] ray traces a [`Scene3`]; [`render2`] draws a [`Scene2`].
//! - [`Image`] becomes a PNG, a row of them a captioned comparison, many of them a [`Video`].
//!
//! Results are the same bytes for any number of threads; work runs in the caller's rayon pool.
//!
//! ```
//! use plash_render::{ReconstructionOptions, Reconstructor, Scene3, render};
//!
//! # fn main() -> Result<(), plash_render::RenderError> {
//! let bounds = [[0.0; 3], [1.0; 3]];
//! let (dx, no_solids) = (1.0 / 8.0, |_: [f64; 3]| f64::MAX);
//! let mut particles = Vec::new();
//! for k in 0..16 * 8 * 16 {
//!     let at = |i: i32| (f64::from(i) + 0.5) * dx / 2.0;
//!     particles.push([at(k % 16), at(k / 16 % 8), at(k / 128)]);
//! }
//! let frame = Reconstructor::new(bounds, dx, &no_solids, ReconstructionOptions::default())?;
//! let liquid = frame.surface(&particles, dx.powi(3) / 8.0)?;
//! assert!((liquid.volume() - 0.5).abs() < 0.01);
//! let picture = render(&Scene3 { bounds, liquid, ..Scene3::default() }, [64, 48])?;
//! assert!(!picture.to_png()?.is_empty());
//! # Ok(())
//! # }
//! ```

mod bvh;
mod camera;
mod environment;
mod error;
mod field;
mod fit;
mod image;
mod kernel;
mod lattice;
mod lightmap;
mod mesh;
mod open;
mod optics;
mod polygonise;
mod raytrace;
mod render2;
mod render3;
mod surface;
#[cfg(test)]
mod testing;
mod tint;
mod video;

pub use camera::Camera;
pub use error::RenderError;
pub use field::{Occupancy, ReconstructionOptions, Reconstructor};
pub use image::{Image, Size};
pub use mesh::Mesh;
pub use open::Solid;
pub use render2::{Scene2, Style2, render2};
pub use render3::{Container, Material, Scene3, SolidMesh, Style3, render};
pub use surface::mesh_implicit;
pub use video::Video;
