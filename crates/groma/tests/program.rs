//! The program from outside: what it prints, keeps, refuses, leaves and survives. One file for one
//! subject, all in one test program, so that they are linked once and share both CPUs.
//!
//! Programs of their own are the comparisons with C (`oracles.rs`) and with known durations
//! (`known_truths.rs`), which others at work would disturb, and the peak memory of all children
//! (`peak_memory.rs`).
//!
//! `cargo test -p groma --test program -- trouble::` runs the tests of one file.

mod common;

mod ab;
mod architecture;
mod bad_input;
mod command;
mod compare;
mod conditions;
mod corpus;
mod dd;
mod documents;
mod environments;
mod explain;
#[cfg(feature = "parquet")]
mod export;
mod fleet;
mod fleet_pairs;
mod fleet_slurm;
mod gate;
mod guide;
mod hammer;
mod homes;
mod hostile_network;
mod hostile_text;
mod hostile_user;
mod inherited;
mod limits;
mod lineage;
mod lmbench_commands;
mod lmbench_results;
mod lmbench_suite;
mod machines;
mod memory_limits;
mod names;
mod outputs;
mod own_program;
mod paper;
mod parameters;
mod privacy;
mod python;
mod refused;
mod relations;
mod remote;
mod report;
mod report_browser;
mod runs;
mod site;
mod trend;
mod trouble;
mod words;
