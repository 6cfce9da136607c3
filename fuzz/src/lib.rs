//! The fuzz targets as a library, so that each binary is one line.
#![expect(dead_code, reason = "the targets use a part of each module")]

#[path = "../../crates/groma/src/counts.rs"]
mod counts;
#[path = "../../crates/groma/src/dd.rs"]
mod dd;
#[path = "../../crates/groma/src/flags/mod.rs"]
mod flags;
use groma_runner::select;
#[path = "../targets/mod.rs"]
pub mod targets;
