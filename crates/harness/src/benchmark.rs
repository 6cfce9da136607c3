//! What a benchmark is to the harness: a description, and a function or the reason why it is not
//! here.

use crate::ctx::Ctx;
use crate::error::Outcome;
use crate::model::Info;

/// One unit of code that measures one thing, in one file.
#[derive(Clone, Copy, Debug)]
pub struct Benchmark {
    /// What it is.
    pub info: Info,
    /// How it is run.
    pub run: Run,
}

/// How a benchmark is run on this platform.
#[derive(Clone, Copy, Debug)]
pub enum Run {
    /// By this function.
    Here(fn(&mut Ctx) -> Outcome),
    /// Not at all, because of this.
    NotHere(&'static str),
}
