//! Plans a run and measures it: which points, in worker processes, within a time budget.
//!
//! The steps of a run: [`select`](fn@select) finds the benchmarks; [`plan`](fn@plan) expands them
//! into points; [`prepare`] and [`Prepared::start`] check everything that can be refused and run
//! the preflight; [`Run::work`] measures rounds and hands over each one as it ends. Nothing here
//! writes to a terminal, a store or a file of the user: progress goes to an [`Observer`], rounds to
//! a callback.
//!
//! A worker is this program started again, so `main` of a program that uses this crate calls
//! [`groma_harness::worker::main`] first if its first argument is
//! [`groma_harness::worker::ARGUMENT`].
//!
//! Order of the modules: `chooser`, `effort`, `launcher`, `places`, `shares`, `signals`,
//! `supervise` and `workdir` use none of the others (`plan` uses `places`); `preflight`, `observe`
//! and `shell` use `supervise`; `conditions` uses `shell`; `survey` uses all of these; `run` uses
//! `survey`.
#![forbid(unsafe_code)]

mod chooser;
mod conditions;
mod effort;
mod fleet_points;
pub mod identity;
mod launcher;
mod limits;
pub mod observe;
mod places;
pub mod plan;
mod preflight;
pub mod redact;
mod request;
mod run;
pub mod select;
mod shares;
pub mod shell;
pub mod signals;
mod supervise;
mod survey;
mod survey_points;
pub mod watch;
mod workdir;

pub use conditions::{Condition, recover};
pub use effort::{FLEET_BUDGET, complete_budget, fleet_budget};
pub use fleet_points::fleet_points;
pub use launcher::{Forked, Launcher};
pub use places::Cpus;
pub use plan::{Planned, on_both_sides, plan};
pub use preflight::{Gauged, NotMeasured, gauge};
pub use request::{RunRequest, Setting};
pub use run::{Prepared, Run, prepare};
pub use select::{UnknownBenchmark, select};
pub use shares::rounds_in_budget;
pub use survey::{Observer, RunOutcome};
pub use survey_points::of_pages;
