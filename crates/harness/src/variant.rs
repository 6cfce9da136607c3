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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;
    use crate::iterations::time_once;

    #[test]
    fn a_loop_is_timed_from_before_its_body_until_after_it() {
        let fake = Fake::new();
        let mut asked = Vec::new();
        let mut variant = Variant::new("it", |n| {
            asked.push(n);
            fake.run(10 * n);
            Ok(())
        });
        let mut total = 5;
        assert_eq!(time_once(&fake, &mut variant, 7, &mut total), Ok((1_000_000, 70)));
        assert_eq!(time_once(&fake, &mut variant, 2, &mut total), Ok((1_000_070, 20)));
        assert_eq!((variant.done, variant.parts, total), (9, 2, 14));
        drop(variant);
        assert_eq!(asked, [7, 2]);
    }

    #[test]
    fn reading_the_clock_is_shared_by_the_iterations_that_it_timed() {
        let mut variant = Variant::staged("it", |_, watch| {
            for _ in 0..3 {
                watch.start();
                watch.stop();
            }
            Ok(())
        })
        .per_iter(8.0);
        let before = variant.series(4, 20.0);
        assert_eq!((before.name.as_str(), before.iters, before.per_iter, before.clock_ns), ("it", 4, 8.0, 0.0));
        let fake = Fake::new();
        for _ in 0..2 {
            time_once(&fake, &mut variant, 30, &mut 0).expect("it runs");
        }
        // Six readings of 20 ns in 60 iterations.
        assert_eq!(variant.series(4, 20.0).clock_ns, 2.0);
        assert!(before.samples.is_empty() && before.values.is_empty());
    }

    #[test]
    fn a_failing_body_has_done_nothing() {
        let stop = || Err(crate::error::BenchError::Failed("no".to_owned()));
        let mut variant = Variant::new("it", |_| stop());
        let mut total = 0;
        assert_eq!(time_once(&Fake::new(), &mut variant, 7, &mut total).err(), stop().err());
        assert_eq!((variant.done, variant.parts, total), (0, 0, 0));
        assert_eq!(Variant::new("it", |_| Ok(())).max_iters(0).max_iters, 1);
    }
}
