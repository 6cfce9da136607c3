//! Member 1 of a worker group pauses in its loop: every kept sample must overlap the whole group.
//!
//! **Measures:** A short chain of additions. The pause has to be in a sample of member 1, not
//! between two, and makes only its own samples long.
//!
//! **Method:** Member 1 works for 20 ms and pauses for 60 ms, again and again.
//!
//! **Sources:** See docs/methods/timing.md#overlap-proof and
//! docs/methods/operating-system.md#self-tests.

use groma_harness::prelude::*;
use groma_harness::sys::clock::{Clock, Monotonic};
use std::time::Duration;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "A member of the worker group pauses: must come back with all margins kept or labelled",
        about: about!("slow_member.rs"),
        iteration: "one chain of additions",
        interference: Interference::Blocking,
        tier: Tier::Named,
        ..Info::new("selftest.slow_member")
    },
    run: Run::Here(run),
};

/// How long the member works before each pause, in nanoseconds.
const WORK_NS: u64 = 20_000_000;
/// How long it pauses.
const PAUSE: Duration = Duration::from_millis(60);

fn run(ctx: &mut Ctx) -> Outcome {
    if ctx.workers() < 2 {
        return Err(BenchError::Unsupported("needs a worker group of two or more (-P 2)".to_owned()));
    }
    let slow = ctx.member() == 1;
    let mut rested = Monotonic.now_ns();
    ctx.measure(|iters| {
        super::filler(iters);
        if slow && Monotonic.now_ns() - rested > WORK_NS {
            std::thread::sleep(PAUSE);
            rested = Monotonic.now_ns();
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::model::{Label, WorkerKind};
    use groma_harness::testing::try_group;

    #[test]
    fn margins_are_kept_or_labelled_whatever_a_member_does() {
        for group in [WorkerKind::Processes, WorkerKind::Threads] {
            let tried = try_group(&BENCH, &[], None, 2, group).expect("a worker group of two");
            let series = tried.result.series("").expect("samples");
            let samples = &series.samples;
            assert!(samples.iter().any(|s| s.worker == 1));
            for sample in samples {
                let margin = sample.margin_ns.expect("members of worker groups have margins");
                assert_eq!(margin < 0, sample.labels.has(Label::Overlap), "{sample:?}");
            }
            // Its pauses may not be among the samples that were kept; its whole time shows them.
            // They take 60 of 80 ms, so at most 40 ms of its interval of 100 ms are work. Compared
            // with its own pace, which competitors cannot change: the samples are short.
            let mut own: Vec<f64> = Vec::new();
            own.extend(samples.iter().filter(|s| s.worker == 1).map(|s| s.elapsed_ns as f64 / s.iters as f64));
            own.sort_by(f64::total_cmp);
            let spans = series.spans.iter().filter(|s| s.worker == 1);
            let (iters, wall) = spans.fold((0, 0), |(i, w), s| (i + s.iters, w + s.wall_ns));
            let (median, mean) = (own[own.len() / 2], wall as f64 / iters as f64);
            // A search for the batch that met nothing but pauses leaves one sample or two.
            assert!(own.len() < 8 || mean > 1.5 * median, "{mean} and {median} ns of {} samples", own.len());
        }
    }
}
