//! What a benchmark is to the harness: a description, and a function or the reason why it is not
//! here.

use crate::ctx::Ctx;
use crate::error::Outcome;
use crate::model::Info;

/// A benchmark: the code that measures one thing, in one file.
#[derive(Clone, Copy, Debug)]
pub struct Benchmark {
    /// Its descriptor.
    pub info: Info,
    /// How to run it.
    pub run: Run,
}

/// How to run a benchmark on this platform.
#[derive(Clone, Copy, Debug)]
pub enum Run {
    /// Call this function.
    Here(fn(&mut Ctx) -> Outcome),
    /// It does not exist on this platform, for this reason.
    NotHere(&'static str),
}
