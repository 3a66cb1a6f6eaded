//! Scene files, run folders, checkpoints and frames.
//!
//! [`file`](mod@file) reads scenes, [`resolve`] says what they mean, [`run`] simulates them
//! into a folder and reads it back.

pub mod diagnostics;
pub mod file;
pub mod memory;
pub mod resolve;
pub mod run;
pub mod schema;

pub use resolve::{AnySetup, Scene};
