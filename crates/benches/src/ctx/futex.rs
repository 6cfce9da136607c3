//! Handing over the CPU by a futex: two tasks on one CPU take turns at a word.
//!
//! Measures one hand-over: a store, `FUTEX_WAKE`, `FUTEX_WAIT`, and the switch to the other task, between two threads
//! of a process (a private futex) or two processes (a shared one). Nothing else is between the tasks: no pipe, no file
//! table, no copy. Does not measure wake-ups on another CPU (`sched.wakeup` does).
//!
//! Method: both tasks are pinned to one CPU, and turn is taken there and back, two hand-overs, timed alone. The control
//! runs in turn with it: as many calls of both kinds on a word that nobody sleeps on, so both return at once. The
//! difference (`net`) is the sleep, the wake-up and the switch. It is the second estimator of what `ctx.switch.net`
//! says of two tasks without a working set, by other means: they should lie within a fraction of each other, and not
//! below `ctx.yield.net`.
//!
//! Proofs: the word counts hand-overs, and each task finds its own number on it; the kernel counted a switch for each.
//!
//! Traps: a task that is woken may preempt its waker at once, which then never comes to its own wait: half of the
//! sleeps are missing, and the control has made calls that the hand-over did not (0.09 waits of this task a trip here,
//! rounds 10 to 30 % apart). So both tasks are of the class SCHED_BATCH, which a wake-up does not let in before others.
//! The fact futex.waits says how it was: 1 in some rounds here, 0.6 to 0.7 in others, why is not known; their medians
//! are the same within 1 to 2 %. A private futex between processes never wakes; two CPUs instead of one measure idle
//! states.
//!
//! Source: os-methods.md 2.5; the quantity is that of lmbench 1996 table 10 and of CSE 221 "context switch".

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
        iteration: "there and back: two hand-overs",
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
        lineage: &["lmbench1996:table10", "lmbench3:lat_ctx", "ousterhout1990:table3", "cse221:context_switch"],
        interference: Interference::Blocking,
        target_half_width: 0.02,
        ..Info::new("ctx.futex")
    },
    run: Run::Here(run),
};

/// Hand-overs of an iteration.
const TURNS: f64 = 2.0;

/// What both tasks see: whose turn it is, and whether it is over.
struct Turns {
    words: Shared<AtomicU32>,
    scope: Scope,
}

const TURN: usize = 0;
const OVER: usize = 1;
/// The control's, which nobody sleeps on. It lies beside the others: the kernel looks a shared futex up by the page that
/// it is on, and another way where that page is of private memory.
const IDLE: usize = 2;
const WORDS: usize = 3;

impl Turns {
    fn turn(&self) -> &AtomicU32 {
        &self.words[TURN]
    }

    /// Hands over by storing `number`, and wakes whoever sleeps until then; whether the kernel took the call.
    #[inline]
    fn hand_over(&self, number: u32) -> bool {
        self.turn().store(number, SeqCst);
        self.scope.wake_one(self.turn()) >= 0
    }

    /// Sleeps while the word holds `number`; how many waits it took, `None` when the kernel refused one.
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

    /// The life of the other task: answers each odd number with the even one that follows.
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

    /// There and back: two hand-overs.
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

    /// The other task leaves.
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
    if let Err(e) = batch {
        ctx.note(format!("the tasks are not of the class SCHED_BATCH ({e}): a wake-up may spare the waker its wait"));
    }
    Ok(())
}

/// The calls of the control came back as they should: nobody woken, nothing waited for.
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
            assert!(tried.proven(SWITCHES) < 1.5, "{kind}: {:?}", tried.result.proofs);
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
