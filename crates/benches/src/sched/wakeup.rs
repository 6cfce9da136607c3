//! Waking a sleeping task: from just before the waker's call until the woken task runs.
//!
//! **Measures:** One way: the waker's entry into the kernel, the choice of a CPU, the interrupt to
//! it and its exit from the idle state, the switch, and the woken task's return from the kernel. It
//! is measured on an otherwise idle machine or beside busy tasks, which the woken task has to
//! displace.
//!
//! **Does not measure:** Round trips, or hand-overs on one CPU (`ctx.futex`).
//!
//! **Method:** The waker reads the clock and wakes with a futex; the woken task's first action is
//! to read the same clock, and the difference is the value. Both are processes on one machine. Each
//! wake-up is a value of its own, so that the record shows their distribution. With `free`
//! placement the scheduler may put both on one CPU, and does so where that is cheaper: the fact
//! wakeup.same_cpu is the share of such wake-ups.
//!
//! Between two wake-ups the waker rests for a random time of 50 to 450 us, so that the peer sleeps,
//! its CPU goes idle, and wake-ups do not lock onto ticks. The background load is a number of tasks
//! that never sleep, in percent of the CPUs of the run, and not pinned.
//!
//! **Proofs:** A wake-up counts only if the kernel reports that it woke a sleeper; by the kernel's
//! count the woken process slept as often; no wake-up arrives before it is posted; each busy task
//! is seen to run before anything is measured, and all run to the end.
//!
//! **Pitfalls:**
//! - A wake-up of a peer that is awake measures a cache line.
//! - A fixed rhythm samples one idle state only.
//! - In a virtual machine an idle CPU is woken through the host.
//! - A CPU quota looks like a wake-up of 100 ms.
//! - The busy tasks may die while the benchmark still claims a load.
//!
//! **Sources:** schbench. See docs/methods/operating-system.md#wake-up-latency.

use super::load::Load;
use crate::proofs;
use groma_harness::prelude::*;
use groma_harness::rendezvous::{Control, LEAVE, Partners};
use groma_harness::sys::clock::{Clock, Monotonic};
use groma_harness::sys::counters::current_cpu;
use groma_harness::sys::futex_word::{Scope, is_wait};
use groma_harness::sys::shared::{Shared, Word};
use groma_harness::sys::sleep;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

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
        interference: Interference::Blocking,
        target_half_width: 0.05,
        ..Info::new("sched.wakeup")
    },
    run: Run::Here(run),
};

/// Wake-ups that are not counted: the first ones bring in the pages.
const WARM: usize = 3;
/// The fewest wake-ups in a round, however long they take.
const MIN_WAKEUPS: usize = 10;
/// The most wake-ups in a round: more values would only fill the store.
const MAX_WAKEUPS: usize = 1000;
/// The waker's random rest between two wake-ups, in nanoseconds.
const REST_NS: std::ops::Range<u64> = 50_000..450_000;

/// State shared by the waker and its peer.
struct Words {
    /// The number of the last wake-up posted, on which the peer sleeps, and that of the last
    /// wake-up arrived, for the waker.
    numbers: Shared<Word>,
    /// When the last wake-up arrived, and on which CPU; and the waker's CPU.
    time: Shared<AtomicU64>,
}

impl Words {
    fn posted(&self) -> &Word {
        &self.numbers[0]
    }

    fn arrived(&self) -> &Word {
        &self.numbers[1]
    }

    /// Whether the last wake-up stayed on the waker's CPU.
    fn same_cpu(&self) -> bool {
        self.time[1].load(SeqCst) == self.time[2].load(SeqCst)
    }

    fn new() -> Result<Words, BenchError> {
        Ok(Words {
            numbers: Shared::new(2).context("sharing memory with the peer")?,
            time: Shared::new(3).context("sharing memory with the peer")?,
        })
    }

    /// The body of the woken process.
    fn be_woken(&self, control: &Control) -> io::Result<()> {
        let mut last = 0;
        loop {
            while self.posted().load(SeqCst) == last {
                if !is_wait(Scope::Shared.wait_while(self.posted(), last)) {
                    return Err(io::Error::other("the futex refused a call"));
                }
            }
            let now = Monotonic.now_ns();
            if control.command().load(SeqCst) == LEAVE {
                return Ok(());
            }
            self.time[0].store(now, SeqCst);
            self.time[1].store(current_cpu().into(), SeqCst);
            last = self.posted().load(SeqCst);
            self.arrived().set(last);
        }
    }

    /// Wakes the peer and waits until it has run. Returns the latency in nanoseconds, or `None` if
    /// the peer was not asleep.
    fn wake(&self, number: u32, peer: &mut Partners) -> Result<Option<i64>, BenchError> {
        self.time[2].store(current_cpu().into(), SeqCst);
        let posted = Monotonic.now_ns();
        self.posted().store(number, SeqCst);
        let woken = Scope::Shared.wake_one(self.posted());
        peer.wait_for(self.arrived(), |seen| seen == number)?;
        let arrived = self.time[0].load(SeqCst);
        Ok((woken == 1).then_some(arrived as i64 - posted as i64))
    }

    /// Makes the peer exit.
    fn end(&self, peer: &Partners) {
        peer.send_command(LEAVE);
        self.posted().store(0, SeqCst);
        Scope::Shared.wake_one(self.posted());
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let words = Words::new()?;
    let mut peer = Partners::new()?;
    peer.fork(ctx, "the woken process", |control| words.be_woken(control))?;
    let load = Load::start(ctx, ctx.int("load"))?;

    let pinned_apart = ctx.peer_cpu().is_some_and(|cpu| cpu != current_cpu());
    let (mut early, mut counted, mut awake, mut posted, mut shared) = (0u64, 0, 0u64, 0u32, 0u32);
    let (mut end, begun) = (u64::MAX, ctx.now_ns());
    while counted < MIN_WAKEUPS || (counted < MAX_WAKEUPS && ctx.now_ns() < end) {
        let rest = REST_NS.start + ctx.rng().below(REST_NS.end - REST_NS.start);
        // A rest cut short by a signal is fine.
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
        if awake > MAX_WAKEUPS as u64 {
            return Err(BenchError::Failed(format!("the peer was awake at {awake} of {posted} wake-ups")));
        }
    }
    ctx.sampled_since(begun);
    words.end(&peer);
    load.stop(ctx)?;
    let peer = peer.wait()?[0];
    proofs::peer_ended_well(ctx, &peer);
    ctx.prove("wake-ups that arrived before they were posted", "0", early as f64, 0.0..=0.0);
    if peer.usage.voluntary + peer.usage.involuntary > 0 {
        let sleeps = peer.usage.voluntary as f64 / counted as f64;
        ctx.prove("times that the woken side slept, per wake-up", "1 (0.9 or more)", sleeps, 0.9..);
    } else {
        ctx.note("the kernel counts no switches; each wake-up's answer shows that the peer slept");
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
            assert!(values.len() >= MIN_WAKEUPS && values.iter().all(|v| *v > 0.0));
            let percent: u64 = load.parse().expect("a number");
            let tasks = (crate::cpu::cpus_of_the_run().expect("CPUs").len() as u64 * percent).div_ceil(100).to_string();
            assert_eq!(tried.result.fact("load.tasks"), Some(tasks.as_str()), "{load} %");
            assert_eq!(tried.proven("wake-ups that arrived before they were posted"), 0.0);
            assert_eq!(tried.proven("exit code of the peer"), 0.0);
            assert!(tried.proven("times that the woken side slept, per wake-up") >= 1.0);
        }
    }

    #[test]
    fn a_wake_up_is_on_one_cpu_where_both_sides_were_on_it() {
        let words = Words::new().expect("memory");
        let is_same = |[when, there, here]: [u64; 3]| {
            words.time.iter().zip([when, there, here]).for_each(|(word, value)| word.store(value, SeqCst));
            words.same_cpu()
        };
        assert_eq!([[7, 3, 3], [7, 3, 7], [7, 7, 3]].map(is_same), [true, false, false]);
    }

    /// Who polls has seen the number before the call that wakes the other one has come back: it is
    /// late by that, unless the clock was read behind the call.
    #[test]
    fn a_wake_up_begins_before_it_is_posted() {
        let words = Words::new().expect("memory");
        let mut peer = Partners::new().expect("memory");
        let sleeps = |_: &Control| -> io::Result<()> {
            let mut last = 0;
            loop {
                Scope::Shared.wait_while(words.posted(), last);
                last = words.posted().load(SeqCst);
            }
        };
        let polls = |_: &Control| -> io::Result<()> {
            let mut last = 0;
            loop {
                let seen = words.posted().load(SeqCst);
                if seen == last {
                    std::hint::spin_loop();
                    continue;
                }
                words.time[0].store(Monotonic.now_ns(), SeqCst);
                words.arrived().set(seen);
                last = seen;
            }
        };
        peer.fork_unplaced("the one that sleeps", sleeps).expect("fork");
        peer.fork_unplaced("the one that polls", polls).expect("fork");
        let mut late = Vec::new();
        for number in 1..=200 {
            late.extend(words.wake(number, &mut peer).expect("it answers"));
        }
        assert!(late.iter().all(|ns| *ns >= 0), "{late:?}");
    }

    #[test]
    fn who_is_awake_is_not_woken() {
        let words = Words::new().expect("memory");
        let mut peer = Partners::new().expect("memory");
        let stays_awake = |_: &Control| {
            // Polls without ever sleeping.
            while words.posted().load(SeqCst) == 0 {
                std::hint::spin_loop();
            }
            words.time[0].store(Monotonic.now_ns(), SeqCst);
            words.arrived().set(1);
            Ok::<(), io::Error>(())
        };
        peer.fork_unplaced("the peer", stays_awake).expect("fork");
        assert_eq!(words.wake(1, &mut peer), Ok(None));
    }

    #[test]
    fn a_dead_side_is_noticed() {
        let words = Words::new().expect("memory");
        let mut peer = Partners::new().expect("memory");
        peer.fork_unplaced("the peer", |_| Err("dies")).expect("fork");
        assert_eq!(words.wake(1, &mut peer), Err(BenchError::Failed("the peer exited with code 1".to_owned())));
    }
}
