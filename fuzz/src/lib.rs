//! The fuzz targets as a library, so that each binary is one line.

#[path = "../targets/mod.rs"]
pub mod targets;
