//! One file per command.

pub mod bench;
pub mod check;
pub mod demo;
pub mod info;
pub mod new;
pub mod render;
pub mod run;
pub mod scenes;
pub mod solve;
