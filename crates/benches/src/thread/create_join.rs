//! Creating a thread that does nothing, and joining it.
//!
//! **Measures:** What a program pays for a thread, in three kinds:
//! - `raw`: the kernel's thread, from `clone3` until the kernel clears a word at its end. It has
//!   nothing of libc: no thread-local storage, no guard page, no registration.
//! - `pthread`: libc's `pthread_create` and `pthread_join`.
//! - `std`: Rust's thread, which is a pthread plus a shared result and a stack for the handler of
//!   stack overflows.
//!
//! With `stack=warm` every kind uses a stack of 64 KiB (or the least that libc allows: 128 KiB with
//! glibc on aarch64) that an earlier thread has used. glibc keeps used stacks with their guard
//! pages. musl keeps none, and a note then says that the stacks were new. With `stack=cold` the
//! stack is always new: `raw` maps and unmaps 64 KiB, and libc is asked for 64 MiB, more than glibc
//! keeps (40 MiB), of which a page or two are touched.
//!
//! **Does not measure:** Handing work to a thread that exists already (`ctx.futex`), many threads
//! alive at once (`thread.create_many`), or what a thread does.
//!
//! **Method:** Each thread is timed alone, from before its creation to after the join, on its
//! creator's CPU. Two parts are timed in turn with the whole, with threads of their own that stamp
//! the time when they start to run: `first` is the time from the call to the stamp, `join` the time
//! from the stamp until the creator has joined the thread. The cost of the very first thread is a
//! fact.
//!
//! **Proofs:** The answer that each thread returns, the kernel's count of tasks, and for cold
//! stacks the page faults. A stamp outside the thread's life is a failure.
//!
//! **Pitfalls:**
//! - A second thread makes later forks and page faults of the process more expensive, so nothing
//!   forks here.
//! - Members of a worker group that are threads themselves wait for one lock (`mmap_lock`) when
//!   they create threads at the same time.
//! - Huge pages for stacks are refused.
//!
//! **Sources:** CSE 221 "task creation" (`pthread_create` to after `pthread_join`); libMicro
//! `pthread_create`. See docs/methods/operating-system.md#threads.

use super::STACK;
use crate::proofs;
use groma_harness::prelude::*;
use groma_harness::sys::clock::{Clock, Monotonic};
use groma_harness::sys::counters::{self, Usage};
use groma_harness::sys::pthread::Maker;
use groma_harness::sys::spawn::Stack;
use groma_harness::sys::{clone, process, thread};
use std::cell::{Cell, RefCell};
use std::io;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Creating a thread and joining it",
        about: about!("create_join.rs"),
        iteration: "one thread: created, run, joined",
        timing: Timing::Each,
        outputs: &[
            Output::MAIN,
            Output::named("first", "from the call to the thread's first instruction"),
            Output::named("join", "from the thread's first instruction, its last, to the end of the join"),
        ],
        params: &[
            Param::word(
                "kind",
                "whose threads: the kernel's, libc's pthread, or Rust's std",
                &["pthread", "raw", "std"],
            )
            .quick(&["pthread"])
            .standard(&["raw"]),
            Param::word("stack", "a stack that an earlier thread has used, or a new one", &["warm", "cold"])
                .quick(&["warm"]),
        ],
        interference: Interference::Tasks,
        target_half_width: 0.03,
        version: 2,
        ..Info::new("thread.create_join")
    },
    run: Run::Here(run),
};

/// Size of a stack that libc unmaps as soon as its thread has ended, in bytes.
const COLD: usize = 64 << 20;

fn run(ctx: &mut Ctx) -> Outcome {
    process::refuse_huge_pages();
    let cold = ctx.word("stack") == "cold";
    let size = if cold { COLD } else { STACK };
    match ctx.word("kind") {
        "raw" => {
            let kept = RefCell::new(Stack::new().context("mapping a stack")?);
            measure(ctx, cold, |n, stamp| on_stack(cold, &kept, |stack| clone::thread(n, stamp, stack)))
        }
        "pthread" => {
            let maker = Maker::new(size).context("choosing the size of a stack")?;
            measure(ctx, cold, |n, stamp| maker.create_join(n, stamp))
        }
        _ => measure(ctx, cold, |n, stamp| {
            let life = move || (n + 1, if stamp { Monotonic.now_ns() } else { 0 });
            thread::spawn(size, life)?.join().map_err(|_| io::Error::other("the thread panicked"))
        }),
    }
}

/// Lets a thread live on a new stack, or on the one that is kept.
fn on_stack<T>(cold: bool, kept: &RefCell<Stack>, life: impl FnOnce(&mut Stack) -> io::Result<T>) -> io::Result<T> {
    if cold { life(&mut Stack::new()?) } else { life(&mut kept.borrow_mut()) }
}

/// The two parts of a thread's life: until its first instruction, and from there to its join.
fn parts((called, began, joined): (u64, u64, u64)) -> [(u64, u64); 2] {
    [(called, began), (began, joined)]
}

/// Measures threads that answer a number with the next one, and stamp the time when they start to
/// run if asked.
fn measure(ctx: &mut Ctx, cold: bool, create_join: impl Fn(usize, bool) -> io::Result<(usize, u64)>) -> Outcome {
    let answers = Cell::new(0usize);
    let check = |answer: usize| {
        if answer != answers.get() + 1 {
            return Err(BenchError::Failed(format!("thread {} answered {answer}", answers.get())));
        }
        answers.set(answer);
        Ok(())
    };
    let silent = || create_join(answers.get(), false).map_err(|e| BenchError::no_task("making a thread", &e));
    // The times of the call, of the thread's start, and of the end of the join.
    let stamped = |watch: &mut Stopwatch<'_>| {
        let called = watch.now_ns();
        let (answer, began) =
            create_join(answers.get(), true).map_err(|e| BenchError::no_task("making a thread", &e))?;
        let joined = watch.now_ns();
        check(answer)?;
        if !(called..=joined).contains(&began) {
            return Err(BenchError::Failed(format!("a thread began at {began}, not within {called}..{joined} ns")));
        }
        Ok((called, began, joined))
    };

    let start = ctx.now_ns();
    check(silent()?.0)?;
    ctx.fact("thread.first_ns", ctx.now_ns() - start);
    let (tasks, before) = (counters::tasks_created(), Usage::process());
    ctx.measure_variants(&mut [
        Variant::staged("", |iters, watch| {
            for _ in 0..iters {
                watch.start();
                let answer = silent()?.0;
                watch.stop();
                check(answer)?;
            }
            Ok(())
        }),
        Variant::staged("first", |iters, watch| {
            for _ in 0..iters {
                let [(from, to), _] = parts(stamped(watch)?);
                watch.span(from, to);
            }
            Ok(())
        }),
        Variant::staged("join", |iters, watch| {
            for _ in 0..iters {
                let [_, (from, to)] = parts(stamped(watch)?);
                watch.span(from, to);
            }
            Ok(())
        }),
    ])?;
    let iterations = ctx.iterations() as f64;
    let each = (answers.get() - 1) as f64 / iterations;
    ctx.prove("threads that answered, per iteration", "exactly 1", each, 1.0..=1.0);
    proofs::tasks_created(ctx, tasks);
    let each = Usage::process().since(&before).minor_faults as f64 / iterations;
    if !cold && each >= 1.0 {
        ctx.note(format!("libc has not kept the stacks: {each:.1} page faults a thread"));
    }
    if cold {
        ctx.prove("page faults, per iteration", "1 or more: a new stack", each, 1.0..);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::model::WorkerKind;
    use groma_harness::sys::fork;
    use groma_harness::testing::{try_failing, try_group, try_out};

    #[test]
    fn members_that_are_threads_make_their_own() {
        for kind in ["raw", "pthread"] {
            match try_group(&BENCH, &[("kind", kind)], None, 2, WorkerKind::Threads) {
                Err(BenchError::Unsupported(why) | BenchError::Denied(why)) if kind == "raw" => {
                    eprintln!("not tried: {why}")
                }
                tried => assert_eq!(tried.expect("threads").proven("threads that answered, per iteration"), 1.0),
            }
        }
    }

    #[test]
    fn a_warm_stack_is_the_one_that_was_used_before() {
        let kept = RefCell::new(Stack::new().expect("memory"));
        let is_kept = |cold| on_stack(cold, &kept, |stack| Ok(std::ptr::from_mut(stack) == kept.as_ptr()));
        assert!(is_kept(false).expect("a stack"));
        assert!(!is_kept(true).expect("a stack"));
    }

    /// In a process of its own, since other tests take faults too.
    #[test]
    fn a_cold_stack_is_a_new_one_for_each_kind() {
        for kind in ["raw", "pthread", "std"] {
            let child = fork::fork(|| match try_out(&BENCH, &[("kind", kind), ("stack", "cold")], None) {
                Ok(tried) => i32::from(tried.proven("page faults, per iteration") < 1.0),
                Err(BenchError::Unsupported(_) | BenchError::Denied(_)) => 0,
                Err(_) => 1,
            });
            assert_eq!(child.expect("fork").wait().expect("wait").code(), Some(0), "{kind}");
        }
    }

    #[test]
    fn a_wrong_answer_and_a_wrong_time_are_failed() {
        fn deaf(ctx: &mut Ctx) -> Outcome {
            measure(ctx, false, |n, _| Ok((n, 0)))
        }
        fn early(ctx: &mut Ctx) -> Outcome {
            measure(ctx, false, |n, _| Ok((n + 1, 1)))
        }
        let wrong = |run| Benchmark { run: Run::Here(run), ..BENCH };
        let stop = try_out(&wrong(deaf), &[], None).expect_err("nobody answered");
        assert_eq!(stop, BenchError::Failed("thread 0 answered 0".to_owned()));
        let stop = try_out(&wrong(early), &[], None).expect_err("nothing began when the system did");
        assert!(stop.to_string().contains("a thread began at 1, not within"), "{stop}");
    }

    /// Nobody is made here. What answers goes on for a millisecond after its first instruction.
    fn live_on(ctx: &mut Ctx) -> Outcome {
        measure(ctx, false, |n, stamp| {
            let began = if stamp { Monotonic.now_ns() } else { 0 };
            let from = counters::thread_cpu_ns();
            while counters::thread_cpu_ns() - from < 1_000_000 {}
            Ok((n + 1, began))
        })
    }

    /// The two parts are told apart, whose sum is the same either way.
    #[test]
    fn the_first_part_ends_and_the_other_begins_with_the_first_instruction() {
        // The proof that the kernel has made tasks may fail.
        let bench = Benchmark { run: Run::Here(live_on), ..BENCH };
        let tried = try_failing(&bench, &[], None).expect("answers");
        let (first, join) = (tried.least_ns("first"), tried.least_ns("join"));
        // The two clocks need not have the same rate.
        assert!(first < join / 4.0 && join > 0.9e6, "{first} and {join} ns");
    }

    #[test]
    fn the_parts_of_a_life_are_all_of_it() {
        let [first, join] = parts((10, 13, 20));
        assert_eq!((first.0, first.1, join.1), (10, join.0, 20));
    }
}
