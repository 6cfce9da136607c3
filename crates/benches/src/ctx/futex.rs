//! Handing over the CPU with a futex: two tasks on one CPU take turns at a word.
//!
//! **Measures:** One hand-over: a store, `FUTEX_WAKE`, `FUTEX_WAIT`, and the switch to the other
//! task, between two threads of a process (private futex) or two processes (shared futex). Nothing
//! else lies between the tasks: no pipe, no file table, no copy.
//!
//! **Does not measure:** Wake-ups on another CPU (`sched.wakeup` does).
//!
//! **Method:** Both tasks are pinned to one CPU. One iteration is a round trip, two hand-overs,
//! timed alone. The control runs in turn with it: the same number of both calls on a word that
//! nobody sleeps on, so both return at once. The difference (`net`) is the sleep, the wake-up and
//! the switch. It estimates by other means what `ctx.switch.net` says of two tasks without a
//! working set: the two should lie within a fraction of each other, and not below `ctx.yield.net`.
//!
//! **Calls:**
//! - `kind=thread`: `FUTEX_WAIT_PRIVATE`, not `FUTEX_WAIT,`
//! - `kind=process`: `FUTEX_WAIT,`, not `FUTEX_WAIT_PRIVATE`
//!
//! **Proofs:** The word counts hand-overs, and each task finds the number that it expects; the
//! kernel counts one switch for each hand-over.
//!
//! **Pitfalls:**
//! - A woken task may preempt its waker at once, which then never reaches its own wait. Half of the
//!   sleeps are missing, and the control has made calls that the hand-over has not (0.09 waits of
//!   this task per round trip, rounds 10 to 30 % apart, on a 2-vCPU KVM guest). So both tasks are
//!   SCHED_BATCH: a wake-up then does not preempt.
//! - The fact futex.waits is the number of waits per round trip: 1 in some rounds, 0.6 to 0.7 in
//!   others, for unknown reasons (same guest). The medians of both kinds of rounds agree within 1
//!   to 2 %.
//! - A private futex between processes never wakes anyone.
//! - On two CPUs instead of one, the value would be that of idle states.
//!
//! **Sources:** The quantity is that of lmbench 1996 table 10 and of CSE 221 "context switch". See
//! docs/methods/operating-system.md#context-switches.

use super::tasks::Tasks;
use crate::work;
use groma_harness::prelude::*;
use groma_harness::sys::counters::Usage;
use groma_harness::sys::futex_word::{CHANGED, Scope, is_wait};
use groma_harness::sys::sched;
use groma_harness::sys::shared::Shared;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Handing over the CPU between two tasks by a futex, one way",
        about: about!("futex.rs"),
        iteration: "one round trip: two hand-overs",
        timing: Timing::Each,
        outputs: &[
            Output::MAIN.series("turns"),
            Output::named("calls", "control: the same calls with nobody to wake and nothing to wait for").detail(),
            Output::named("net", "sleep, wake-up and switch: a hand-over less its calls").difference("turns", "calls"),
        ],
        params: &[Param::word(
            "kind",
            "what the tasks are: threads with a private futex, processes with a shared one",
            &["thread", "process"],
        )
        .quick(&["thread"])
        .standard(&["process"])],
        scaling: Scaling::processes("a pair of processes is forked, which a process with threads must not"),
        placements: &[Placement::SameCpu],
        interference: Interference::Blocking,
        target_half_width: 0.02,
        version: 2,
        ..Info::new("ctx.futex")
    },
    run: Run::Here(run),
};

/// Hand-overs per iteration.
const TURNS: f64 = 2.0;

/// State shared by both tasks: whose turn it is, and whether the measurement is over.
struct Turns {
    words: Shared<AtomicU32>,
    scope: Scope,
}

const TURN: usize = 0;
const OVER: usize = 1;
/// The control's word, which nobody sleeps on. It lies next to the others because the kernel finds
/// a shared futex by its page, and takes another path if that page is private memory.
const IDLE: usize = 2;
const WORDS: usize = 3;

impl Turns {
    fn turn(&self) -> &AtomicU32 {
        &self.words[TURN]
    }

    /// Stores `number` and wakes the task that sleeps until then. Returns whether the kernel
    /// accepted the call.
    #[inline]
    fn hand_over(&self, number: u32) -> bool {
        self.turn().store(number, SeqCst);
        self.scope.wake_one(self.turn()) >= 0
    }

    /// Sleeps while the word holds `number`. Returns the number of waits, or `None` if the kernel
    /// refused one.
    #[inline]
    fn wait_while(&self, number: u32) -> Option<u64> {
        let mut waits = 0;
        while self.turn().load(SeqCst) == number {
            if !is_wait(self.scope.wait_while(self.turn(), number)) {
                return None;
            }
            waits += 1;
        }
        Some(waits)
    }

    /// The body of the other task: answers each odd number with the next even one.
    fn answer(&self) -> i32 {
        let mut mine = 0u32;
        loop {
            if self.wait_while(mine).is_none() {
                return 1;
            }
            if self.words[OVER].load(SeqCst) == 1 {
                return 0;
            }
            if self.turn().load(SeqCst) != mine.wrapping_add(1) {
                return 2;
            }
            mine = mine.wrapping_add(2);
            if !self.hand_over(mine) {
                return 1;
            }
        }
    }

    /// A round trip: two hand-overs.
    #[inline]
    fn round_trip(&self, mine: u32) -> Result<u64, BenchError> {
        let waits = self.hand_over(mine.wrapping_add(1)).then(|| self.wait_while(mine.wrapping_add(1))).flatten();
        let seen = self.turn().load(SeqCst);
        match waits {
            Some(waits) if seen == mine.wrapping_add(2) => Ok(waits),
            Some(_) => Err(BenchError::Failed(format!("turn {} was answered by {seen}", mine.wrapping_add(1)))),
            None => Err(BenchError::Failed("the futex refused a call".to_owned())),
        }
    }

    /// Makes the other task exit.
    fn end(&self) {
        self.words[OVER].store(1, SeqCst);
        self.hand_over(self.turn().load(SeqCst).wrapping_add(1));
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    super::on_one_cpu(ctx)?;
    let kind = ctx.word("kind");
    let scope = if kind == "thread" { Scope::Private } else { Scope::Shared };
    let turns = Arc::new(Turns { words: Shared::new(WORDS).context("sharing words")?, scope });
    let batch = sched::be_batch();
    let mut other = Tasks::of(kind);
    let own = Arc::clone(&turns);
    other.start(ctx, &[], move || own.answer())?;

    let before = Usage::thread();
    let idle = &turns.words[IDLE];
    idle.store(1, SeqCst);
    let (mut trips, mut waits, mut calls) = (0u32, 0, 0);
    let outcome = ctx.measure_variants(&mut [
        Variant::new("turns", |iters| {
            for _ in 0..iters {
                waits += turns.round_trip(trips.wrapping_mul(2))?;
                trips += 1;
            }
            Ok(())
        })
        .per_iter(TURNS),
        Variant::new("calls", |iters| {
            for _ in 0..iters {
                for _ in 0..2 {
                    check_idle(scope.wake_one(idle), scope.wait_while(idle, 0))?;
                    calls += 1;
                }
            }
            Ok(())
        })
        .per_iter(TURNS),
    ]);
    let here = Usage::thread().since(&before);
    turns.end();
    let ended = other.wait()?;
    outcome?;

    ctx.prove("tasks that left well", "1", f64::from(u8::from(ended.iter().all(|(code, _)| *code == 0))), 1.0..=1.0);
    let credited = ctx.iterations_of("turns");
    work::once_each(ctx, "round trips answered per round trip credited", trips.into(), credited);
    work::once_each(ctx, "pairs of calls per pair credited", calls, 2 * ctx.iterations_of("calls"));
    let switches = super::switches(ended.iter().map(|(_, usage)| usage).chain([&here]));
    super::prove_switches(ctx, "context switches per hand-over, both tasks", switches, credited as f64 * TURNS);
    ctx.fact("futex.waits", waits as f64 / f64::from(trips).max(1.0));
    super::note_class(ctx, batch);
    Ok(())
}

/// Fails unless the control's calls woke nobody and did not wait.
fn check_idle(woken: isize, waited: isize) -> Outcome {
    if woken == 0 && waited == CHANGED {
        return Ok(());
    }
    Err(BenchError::Failed(format!("a futex that nobody uses woke {woken} and waited with {waited}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::model::WorkerKind;
    use groma_harness::sys::thread;
    use groma_harness::testing::try_group;

    const SWITCHES: &str = "context switches per hand-over, both tasks";

    #[test]
    fn several_pairs_take_turns_at_once() {
        for kind in ["thread", "process"] {
            let tried = try_group(&BENCH, &[("kind", kind)], None, 2, WorkerKind::Processes).expect("two pairs");
            assert!(tried.proven(SWITCHES) >= 0.95, "{kind}: {:?}", tried.result.output.proofs);
        }
    }

    #[test]
    fn a_turn_that_was_not_taken_fails() {
        let turns = Arc::new(Turns { words: Shared::new(WORDS).expect("memory"), scope: Scope::Private });
        let wrong = Arc::clone(&turns);
        let other = thread::spawn(128 << 10, move || {
            wrong.wait_while(0);
            wrong.hand_over(7)
        });
        assert!(turns.round_trip(0).is_err());
        assert!(other.expect("a thread").join().expect("no panic"));
        assert!(check_idle(0, CHANGED).is_ok() && check_idle(1, CHANGED).is_err() && check_idle(0, 0).is_err());
    }
}
