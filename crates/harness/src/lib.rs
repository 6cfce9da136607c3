//! Runs ONE job in ONE process: sets up, calibrates, warms up, samples, and says what happened.
//!
//! A benchmark depends on this crate alone; it re-exports the data types and the system's faces. Nothing here stores,
//! prints to a terminal, or computes a headline: the samples leave as they came, and whoever reads them computes. The
//! few statistics used here (is it steady yet, which step has the clock) only steer the harness.
//!
//! The way of a round: [`worker`] reads the job → [`Ctx`] is what the benchmark sees → `sampler` (alone) or `crew`
//! (several members) takes the samples → [`protocol`] writes them.

#[doc(hidden)]
pub mod about;
mod benchmark;
pub mod clock_properties;
mod ctx;
mod evidence;
pub mod handshake;
pub mod instruments;
mod needs;
pub mod preflight;
mod probe;
pub mod protocol;
pub mod remote;
pub mod sampler;
pub mod session;
pub mod testing;
pub mod worker;
pub mod worker_group;

pub use benchmark::{BenchError, Benchmark, Context, Outcome, Run};
pub use ctx::{Ctx, Variant};
pub use groma_model as model;
pub use groma_stats as stats;
pub use groma_stats::rng::Rng;
pub use groma_sys as sys;
pub use needs::check_memory;
pub use probe::Cost;
pub use sampler::Stopwatch;

/// What nearly every benchmark file begins with.
pub mod prelude {
    pub use crate::about;
    pub use crate::benchmark::{BenchError, Benchmark, Context, Outcome, Run};
    pub use crate::ctx::{Ctx, Variant};
    pub use crate::model::{
        About, Better, Derivation, Info, Interference, Memory, Need, Output, Param, ParamKind, Placement, Quantity,
        Scaling, Tier, Timing,
    };
    pub use crate::probe::Cost;
    pub use crate::sampler::Stopwatch;
    pub use crate::sys;
}
