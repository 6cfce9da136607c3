//! Rounds in, records out; from records curves, levels and matrices. Numbers and types, no text for
//! people.
//!
//! A live run and a stored one go through [`summarise`] alike, and the run loop asks [`is_precise`]
//! whether a point needs more rounds. Views render what is found here; `groma-stats` has the
//! statistics themselves.
//!
//! | To find | Call |
//! | --- | --- |
//! | the records of a point | [`summarise`] |
//! | which of its samples do not count | [`drops`] |
//! | whether it needs more rounds, and how precise it is | [`is_precise`], [`half_width`] |
//! | the value of each round | [`round_values`], [`values_by_round`] |
//! | records that differ in one number | [`curve::curves`] |
//! | the levels of a memory hierarchy on one | [`curve::levels`] |
//! | whether earlier runs say something else, and what they say | [`earlier::contradiction`], [`earlier::values`] |
//! | whether one run is faster than another | [`compare::compare`] |
//! | a value broken down into measured costs | [`composition::explain`] |
//! | what an application's counts cost | [`predict::predict`] |
//! | where a metric changed over runs | [`trend::series`] |
//! | what was measured between CPUs or nodes | [`matrix::Matrix`] |
//! | what a machine declares beside what was measured | [`claims::claims`] |
#![forbid(unsafe_code)]

pub mod claims;
pub mod compare;
pub mod composition;
pub mod curve;
pub mod earlier;
pub mod floors;
pub mod gate;
pub mod matrix;
pub mod point;
pub mod predict;
pub mod trend;

#[cfg(test)]
mod fixtures;
mod merged;
mod one_clock;
mod own_core;
mod precision;
mod round_value;
mod samples;
mod summarise;
mod verdict;
mod worker_group;

pub use own_core::drops;
pub use precision::{half_width, is_precise};
pub use round_value::{round_values, values_by_round};
pub use samples::sample_value;
pub use summarise::{summarise, summarise_values};
