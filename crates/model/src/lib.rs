//! What a benchmark, a plan, a sample and a record *are*: the nouns that every other crate shares.
//!
//! Plain data: nothing here does I/O, reads a clock, or computes a statistic. Types have the names
//! of ARCHITECTURE.md's "Terms".
#![forbid(unsafe_code)]

mod composition;
mod core_probe;
mod cpu_limit;
pub mod family;
mod info;
mod job;
mod label;
pub mod page;
mod param;
mod phases;
mod placement;
mod quantity;
mod record;
mod remark;
mod sample;
mod state;
mod tag;
mod text;
mod verdict;
mod watch;

pub use composition::{Composition, Part, Price, Spent, Times};
pub use core_probe::{CoreProbe, CoreRates, RateCounts};
pub use cpu_limit::CpuLimit;
pub use family::{Families, Family};
pub use info::{About, Derivation, FIRST, Info, Interference, Need, Output, Profile, Scaling, Timing, is_metric_of};
pub use job::{
    Host, Job, Noise, OF_PROCESS, OF_WORKER, Preflight, ROUND_ONCE, ROUND_WALL, Remote, RoundOutput, RoundResult,
    RunFile, WorkerKind,
};
pub use label::{Label, Labels};
pub use page::Pages;
pub use param::{AUTO, Auto, Memory, Param, ParamKind, Params, Tier, Value, parse_nanoseconds, parse_size, size_text};
pub use phases::{Phase, Phases};
pub use placement::{OneCpu, Placement};
pub use quantity::{Better, Quantity, Unit};
pub use record::{
    AtOneClock, End, Fact, InTurns, LabelCounts, Machine, Metric, NoiseVerdict, Point, Record, Round, RunHeader,
    SharedCore, StateCounts, auto_fact,
};
pub use remark::Remark;
pub use sample::{Proof, Sample, Series, Span};
pub use state::State;
pub use tag::Tag;
pub use text::{is_plain, plain, plain_json, plain_lines};
pub use verdict::{Flag, MIN_CLEAN_SAMPLES, Reason};
pub use watch::{CpuShare, Second, Watched};

/// The version of all output formats; store rows and NDJSON lines contain it.
///
/// It increases when a field is removed or changes its meaning, but not when one is added.
pub const SCHEMA: u32 = 1;
