//! Rounds in, records out; from records curves, levels and matrices. Numbers and types, no text for
//! people.
//!
//! A live run and a stored one both go through [`summarise`], and the run loop asks [`is_precise`]
//! whether a point needs more rounds. Views render the results; the statistics themselves are in
//! `groma-stats`.
//!
//! | To find | Call |
//! | --- | --- |
//! | the records of a point | [`summarise`] |
//! | which of its samples do not count | [`drops`] |
//! | how many of its rounds had a core of their own | [`rounds_of_own`] |
//! | whether it needs more rounds, and how precise it is | [`is_precise`], [`half_width`] |
//! | the value of each round | [`round_values`], [`values_by_round`] |
//! | why values are imprecise | [`imprecise::by_cause`] |
//! | how much of the spread of rounds busy siblings explain | [`explained::explained`], [`explained::of_run`] |
//! | records that differ in one number | [`curve::curves`] |
//! | the levels of a memory hierarchy on one | [`curve::levels`] |
//! | whether a value contradicts earlier runs, and their values | [`earlier::contradiction`], [`earlier::values`] |
//! | whether one run is faster than another | [`compare::compare`] |
//! | a value broken down into measured costs | [`composition::explain`] |
//! | what an application's counts cost | [`predict::predict`] |
//! | which hosts of many are slow | [`fleet::judge`] |
//! | where a metric changed over runs | [`trend::series`] |
//! | measurements between CPUs or nodes | [`matrix::Matrix`] |
//! | declared values compared with measured ones | [`claims::claims`] |
#![forbid(unsafe_code)]

pub mod claims;
pub mod compare;
pub mod composition;
pub mod curve;
pub mod earlier;
pub mod explained;
pub mod fleet;
pub mod floors;
pub mod gate;
pub mod imprecise;
pub mod links;
pub mod matrix;
pub mod point;
pub mod predict;
pub mod trend;

#[cfg(test)]
mod fixtures;
mod merged;
mod one_clock;
mod precision;
mod round_value;
mod samples;
mod summarise;
mod verdict;
mod worker_group;

pub use precision::{half_width, is_precise};
pub use round_value::{round_values, values_by_round};
pub use samples::{drops, rounds_of_own, sample_value};
pub use summarise::{summarise, summarise_values};
