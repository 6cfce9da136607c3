//! Waking a sleeping task: from just before the waker's call to the moment at which the woken task runs.
//!
//! Measures one way: the waker's way into the kernel, the choice of a CPU, the interrupt to it and its way out of
//! idleness, the switch, and the woken task's way out; beside an idle machine or beside busy tasks, which the woken one
//! has to displace. Does not measure round trips, nor hand-overs on one CPU (`ctx.futex`).
//!
//! Method: the waker reads the clock and wakes by a futex; the woken task's first act is to read the same clock, and
//! the difference is the value. Both are processes of one machine. With `free` placement the scheduler may put both on
//! one CPU, and does where that is cheaper: the fact wakeup.same_cpu says how often. Between two wake-ups the waker
//! rests for a random time of 50 to 450 us, so that the other side sleeps, its CPU goes idle, and the wake-ups do not
//! lock onto ticks. The background load is a number of tasks that never sleep, in percent of the CPUs of the run, not
//! pinned. Each wake-up is a value of its own: the record shows their distribution.
//!
//! Proofs: only wake-ups count of which the kernel said that somebody slept and was woken; the woken side slept as
//! often, as the kernel counted; none arrived before it was posted; the busy tasks were at work to the end, and each
//! had been seen at work before anything was measured.
//!
//! Traps: a wake-up that finds the other side awake measures a cache line; a fixed rhythm samples one idle state only;
//! in a virtual machine an idle CPU is woken by way of the host; a CPU quota looks like a wake-up of 100 ms; a load
//! that stays in a benchmark's name after it has died.
//!
//! Source: schbench; os-methods.md 2.18 (b).

use super::load::Load;
use crate::proofs;
use groma_harness::prelude::*;
use groma_harness::sys::clock::{Clock, Monotonic};
use groma_harness::sys::counters::current_cpu;
use groma_harness::sys::fork::Child;
use groma_harness::sys::futex_word::{Scope, is_wait};
use groma_harness::sys::shared::{self, Shared};
use groma_harness::sys::sleep;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Waking a sleeping process, one way, beside busy tasks",
        about: about!("wakeup.rs"),
        iteration: "one wake-up",
        timing: Timing::Stated,
        params: &[Param::count("load", "busy tasks in the background, in percent of the CPUs")
            .takes(Memory::PerMember(Memory::TASK))
            .quick(&["0"])
            .standard(&["100"])
            .full(&["50", "150"])],
        scaling: Scaling::alone("it states values instead of taking samples"),
        placements: &[Placement::SameLlc, Placement::Free],
        lineage: &["schbench:wakeup"],
        interference: Interference::Blocking,
        target_half_width: 0.05,
        ..Info::new("sched.wakeup")
    },
    run: Run::Here(run),
};

/// Wake-ups that are not counted: the first ones bring in the pages.
const WARM: usize = 3;
/// So many make a round, however long they take.
const FEWEST: usize = 10;
/// More values than this only fill the store.
const MOST: usize = 1000;
/// The waker rests so long between two wake-ups, at random, in nanoseconds.
const REST_NS: std::ops::Range<u64> = 50_000..450_000;
/// How long to wait for the other side before looking whether it is still there.
const LOOK: Duration = Duration::from_millis(100);

/// What both sides see.
struct Words {
    /// The number of the last wake-up, what the woken side sleeps on; and of the last that arrived, for the waker.
    numbers: Shared<AtomicU32>,
    /// When that one arrived, and on which CPU; and the waker's CPU.
    time: Shared<AtomicU64>,
}

impl Words {
    fn posted(&self) -> &AtomicU32 {
        &self.numbers[0]
    }

    fn arrived(&self) -> &AtomicU32 {
        // On a cache line of its own.
        &self.numbers[32]
    }

    fn over(&self) -> &AtomicU32 {
        &self.numbers[64]
    }

    /// Whether the last wake-up went from a CPU to the same one.
    fn same_cpu(&self) -> bool {
        self.time[1].load(SeqCst) == self.time[2].load(SeqCst)
    }

    fn new() -> Result<Words, BenchError> {
        Ok(Words {
            numbers: Shared::new(96).context("sharing memory with the other side")?,
            time: Shared::new(3).context("sharing memory with the other side")?,
        })
    }

    /// The life of the woken side.
    fn be_woken(&self) -> i32 {
        let mut last = 0;
        loop {
            while self.posted().load(SeqCst) == last {
                if !is_wait(Scope::Shared.wait_while(self.posted(), last)) {
                    return 1;
                }
            }
            let now = Monotonic.now_ns();
            if self.over().load(SeqCst) == 1 {
                return 0;
            }
            self.time[0].store(now, SeqCst);
            self.time[1].store(current_cpu().into(), SeqCst);
            last = self.posted().load(SeqCst);
            self.arrived().store(last, SeqCst);
            shared::wake(self.arrived());
        }
    }

    /// Wakes the other side and waits until it has been there: how long it took; `None` when it was not asleep.
    fn wake(&self, number: u32, peer: &mut Child) -> Result<Option<i64>, BenchError> {
        self.time[2].store(current_cpu().into(), SeqCst);
        let posted = Monotonic.now_ns();
        self.posted().store(number, SeqCst);
        let woken = Scope::Shared.wake_one(self.posted());
        loop {
            let seen = self.arrived().load(SeqCst);
            if seen == number {
                break;
            }
            shared::wait(self.arrived(), seen, Some(LOOK));
            if self.arrived().load(SeqCst) == seen
                && let Some(exit) = peer.poll().context("looking after the other side")?
            {
                return Err(BenchError::Failed(format!("the woken side {exit}")));
            }
        }
        let arrived = self.time[0].load(SeqCst);
        Ok((woken == 1).then_some(arrived as i64 - posted as i64))
    }

    /// The other side leaves.
    fn end(&self) {
        self.over().store(1, SeqCst);
        self.posted().store(0, SeqCst);
        Scope::Shared.wake_one(self.posted());
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let words = Words::new()?;
    let mut peer = ctx.fork_peer(&[], || words.be_woken())?;
    let load = Load::start(ctx, ctx.int("load"))?;

    let pinned_apart = ctx.peer_cpu().is_some_and(|cpu| cpu != current_cpu());
    let (mut early, mut counted, mut awake, mut posted, mut shared) = (0u64, 0, 0u64, 0u32, 0u32);
    let mut end = u64::MAX;
    while counted < FEWEST || (counted < MOST && ctx.now_ns() < end) {
        let rest = REST_NS.start + ctx.rng().below(REST_NS.end - REST_NS.start);
        // A rest that a signal cuts short is as good.
        drop(sleep::until(sleep::now_ns() + rest));
        posted += 1;
        let late = words.wake(posted, &mut peer)?;
        if posted as usize <= WARM {
            end = ctx.now_ns() + ctx.time_limit_ns();
            continue;
        }
        match late {
            Some(late) => {
                early += u64::from(late < 0);
                shared += u32::from(words.same_cpu());
                ctx.state(late as f64 * 1e-9);
                counted += 1;
            }
            None => awake += 1,
        }
        if awake > MOST as u64 {
            return Err(BenchError::Failed(format!("the other side was awake at {awake} of {posted} wake-ups")));
        }
    }
    words.end();
    load.stop(ctx)?;
    let peer = peer.wait().context("waiting for the woken side")?;
    proofs::peer_ended_well(ctx, &peer);
    ctx.prove("wake-ups that arrived before they were posted", "0", early as f64, 0.0..=0.0);
    if peer.usage.voluntary + peer.usage.involuntary > 0 {
        let sleeps = peer.usage.voluntary as f64 / counted as f64;
        ctx.prove("times that the woken side slept, per wake-up", "1 (0.9 or more)", sleeps, 0.9..);
    } else {
        ctx.note("the kernel counts no switches; that somebody slept is what each wake-up answered");
    }
    let shared = f64::from(shared) / counted as f64;
    if pinned_apart {
        ctx.prove("share of wake-ups on the waker's own CPU", "0", shared, 0.0..=0.0);
    }
    ctx.fact("wakeup.same_cpu", format!("{shared:.3}"));
    ctx.fact("wakeup.awake", awake);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn every_wake_up_that_counts_woke_somebody() {
        for load in ["0", "150"] {
            let tried = try_out(&BENCH, &[("load", load)], None).expect("two processes");
            let values = tried.result.series("").map_or(&[][..], |s| &s.values);
            assert!(values.len() >= FEWEST && values.iter().all(|v| *v > 0.0));
            assert_eq!(tried.proven("wake-ups that arrived before they were posted"), 0.0);
            assert_eq!(tried.proven("exit code of the other side"), 0.0);
            assert!(tried.proven("times that the woken side slept, per wake-up") >= 1.0);
        }
    }

    #[test]
    fn who_is_awake_is_not_woken() {
        let words = Words::new().expect("memory");
        let mut peer = groma_harness::sys::fork::fork(|| {
            // Looks without ever sleeping.
            while words.posted().load(SeqCst) == 0 {
                std::hint::spin_loop();
            }
            words.time[0].store(Monotonic.now_ns(), SeqCst);
            words.arrived().store(1, SeqCst);
            0
        })
        .expect("fork");
        assert_eq!(words.wake(1, &mut peer), Ok(None));
    }

    #[test]
    fn a_dead_side_is_noticed() {
        let words = Words::new().expect("memory");
        let mut peer = groma_harness::sys::fork::fork(|| 3).expect("fork");
        assert!(matches!(words.wake(1, &mut peer), Err(BenchError::Failed(why)) if why.contains("code 3")));
    }
}
