//! The loops that a benchmark measures.

use crate::error::Outcome;
use crate::model::Series;
use crate::stopwatch::Stopwatch;

/// One of the loops that are measured in turn within a round: the operation, its control, another
/// baseline.
pub struct Variant<'a> {
    pub(crate) name: &'static str,
    pub(crate) per_iter: f64,
    pub(crate) max_iters: u64,
    /// Iterations credited up to now, warm-up included.
    pub(crate) done: u64,
    /// Timed parts up to now.
    pub(crate) parts: u64,
    pub(crate) body: Body<'a>,
}

/// Runs the given number of iterations and keeps the watch.
pub(crate) type Body<'a> = Box<dyn FnMut(u64, &mut Stopwatch<'_>) -> Outcome + 'a>;

impl<'a> Variant<'a> {
    /// A loop timed as a whole: `body(iters)` does `iters` iterations.
    pub fn new(name: &'static str, mut body: impl FnMut(u64) -> Outcome + 'a) -> Variant<'a> {
        Variant::staged(name, move |iters, watch| {
            watch.start();
            let outcome = body(iters);
            watch.stop();
            outcome
        })
    }

    /// A loop that starts and stops the watch itself, to leave set-up and clean-up of each interval
    /// out.
    pub fn staged(name: &'static str, body: impl FnMut(u64, &mut Stopwatch<'_>) -> Outcome + 'a) -> Variant<'a> {
        Variant { name, per_iter: 1.0, max_iters: u64::MAX, done: 0, parts: 0, body: Box::new(body) }
    }

    /// The series of this loop, without samples: `iters` iterations in each.
    pub(crate) fn series(&self, iters: u64, clock_cost_ns: f64) -> Series {
        Series {
            name: self.name.to_owned(),
            iters,
            per_iter: self.per_iter,
            clock_ns: clock_cost_ns * self.parts as f64 / self.done.max(1) as f64,
            ..Series::default()
        }
    }

    /// What one iteration holds: operations, or bytes for a bandwidth. 1 unless said.
    #[must_use]
    pub fn per_iter(mut self, n: f64) -> Variant<'a> {
        self.per_iter = n;
        self
    }

    /// The most iterations that one interval may do, for operations that use something up.
    #[must_use]
    pub fn max_iters(mut self, n: u64) -> Variant<'a> {
        self.max_iters = n.max(1);
        self
    }
}
