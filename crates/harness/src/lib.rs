//! Runs ONE job in ONE process: sets up, chooses iterations, warms up, samples, and says what
//! happened.
//!
//! A benchmark depends on this crate alone; it re-exports the data types and the interfaces to the
//! system. Nothing here stores, prints to a terminal, or computes a headline: the samples leave as
//! they came, and `groma-analysis` computes. The few statistics used here (is it steady,
//! what step has the clock) only steer the harness.
//!
//! The way of a round: [`worker`] reads the job, [`Ctx`] is what the benchmark sees, `sampler`
//! (alone) or `member` (in a worker group) takes the samples, [`protocol`] writes them.
//!
//! A module uses only modules of lines above its own:
//!
//! 1. `error`, [`instruments`], [`clock_properties`], [`protocol`], [`observed`], [`handshake`],
//!    [`remote`], [`session`]
//! 2. `stopwatch`, `variant`, `labels`, `iterations`: one timed interval
//! 3. [`sampler`], `probe`, `board`, `member`, `evidence`, `mutation`: the samples of a round
//! 4. `ctx`, [`rendezvous`], `benchmark`: what a benchmark sees, and is
//! 5. `needs`, [`worker_group`], [`core_probe`], [`preflight`]
//! 6. `round`, [`worker`], [`testing`]

#[doc(hidden)]
pub mod about;
mod auto_size;
mod benchmark;
mod board;
pub mod clock_properties;
pub mod core_probe;
pub mod core_watch;
pub mod course;
mod ctx;
mod error;
mod evidence;
#[cfg(test)]
mod fake;
pub mod handshake;
pub mod instruments;
mod iterations;
mod labels;
pub mod loopback;
mod member;
mod mutation;
mod needs;
pub mod observed;
pub mod preflight;
mod ports;
mod probe;
pub mod protocol;
pub mod remote;
pub mod rendezvous;
mod round;
pub mod sampler;
pub mod session;
mod stopwatch;
pub mod testing;
mod variant;
pub mod worker;
pub mod worker_group;

pub use benchmark::{Benchmark, Run};
pub use ctx::Ctx;
pub use error::{BenchError, Context, Outcome};
pub use evidence::PeerPlace;
pub use groma_model as model;
pub use groma_stats as stats;
pub use groma_stats::rng::Rng;
pub use groma_sys as sys;
pub use needs::check_memory;
pub use probe::Cost;
pub use stopwatch::Stopwatch;
pub use variant::Variant;

/// What nearly every benchmark file begins with.
pub mod prelude {
    pub use crate::about;
    pub use crate::benchmark::{Benchmark, Run};
    pub use crate::ctx::Ctx;
    pub use crate::error::{BenchError, Context, Outcome};
    pub use crate::model::{
        About, Auto, Better, Derivation, Info, Interference, Memory, Need, Output, Param, ParamKind, Placement,
        Quantity, Scaling, Tier, Timing,
    };
    pub use crate::probe::Cost;
    pub use crate::stopwatch::Stopwatch;
    pub use crate::sys;
    pub use crate::variant::Variant;
}
