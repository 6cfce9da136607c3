//! Making a thread that does nothing, and waiting for its end.
//!
//! Measures what a program pays: `pthread` is libc's `pthread_create` and `pthread_join`, `std` is Rust's thread, which is
//! the same and a shared result and a stack for its handler of overflows. Both with a stack of 64 KiB. Does not measure
//! the kernel's share alone (`clone3` and a futex), nor stacks that are new each time: after the first, libc takes the one
//! that it has kept, guard page and all. The first is stated as a fact.
//!
//! Method: each thread is timed alone, from before its creation to after the join, on its maker's CPU. Proof: the answer
//! that each thread gives, and the kernel's count of tasks.
//!
//! Traps: a stack of the default size (8 MiB) falls out of libc's cache sooner; a second thread makes the process's later
//! forks and faults dearer, so nothing forks here; many members that make threads at once wait for one lock (`mmap_lock`)
//! when they are threads themselves.
//!
//! Source: CSE 221 "task creation" (`pthread_create` to after `pthread_join`).

use crate::proofs;
use groma_harness::prelude::*;
use groma_harness::sys::pthread::Maker;
use groma_harness::sys::{counters, thread};
use std::io;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Making a thread and waiting for its end",
        about: about!("create_join.rs"),
        iteration: "one thread: created, run, joined",
        timing: Timing::Each,
        params: &[Param {
            name: "kind",
            help: "whose threads: libc's pthread, or Rust's std",
            kind: ParamKind::Word(&["pthread", "std"]),
            quick: &["pthread"],
            default: &["pthread", "std"],
            full: &[],
        }],
        lineage: &["cse221:task_creation"],
        interference: Interference::Tasks,
        width: 0.03,
        ..Info::new("thread.create_join")
    },
    run: Run::Here(run),
};

/// Bytes of stack.
const STACK: usize = 64 << 10;

fn run(ctx: &mut Ctx) -> Outcome {
    if ctx.word("kind") == "std" {
        measure(ctx, |n| {
            thread::spawn(STACK, move || n + 1)?.join().map_err(|_| io::Error::other("the thread panicked"))
        })
    } else {
        let maker = Maker::new(STACK).doing("choosing a stack of 64 KiB")?;
        measure(ctx, |n| maker.create_join(n))
    }
}

/// Measures threads that answer a number with the next one.
fn measure(ctx: &mut Ctx, create_join: impl Fn(usize) -> io::Result<usize>) -> Outcome {
    let mut answers = 0usize;
    let mut once = || {
        let answer = create_join(answers).map_err(|e| no_thread(&e))?;
        if answer != answers + 1 {
            return Err(Stop::Failed(format!("thread {answers} answered {answer}")));
        }
        answers = answer;
        Ok(())
    };
    let start = ctx.now_ns();
    once()?;
    ctx.fact("thread.first_ns", ctx.now_ns() - start);
    let tasks = counters::tasks_created();
    ctx.measure(|iters| (0..iters).try_for_each(|_| once()))?;
    let each = (answers - 1) as f64 / ctx.iterations() as f64;
    ctx.prove("threads that answered, per iteration", "exactly 1", each, 1.0..=1.0);
    proofs::tasks_created(ctx, tasks);
    Ok(())
}

/// A limit on tasks is the system's refusal, and no fault of this program.
fn no_thread(error: &io::Error) -> Stop {
    let text = format!("making a thread: {error}");
    match error.kind() {
        io::ErrorKind::WouldBlock => Stop::Denied(format!("{text} (a limit on tasks or memory)")),
        _ => Stop::Failed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::model::CrewKind;
    use groma_harness::testing::{try_crew, try_out};

    #[test]
    fn every_thread_answers() {
        for kind in ["pthread", "std"] {
            let tried = try_out(&BENCH, &[("kind", kind)], None).expect("threads");
            assert!(tried.samples("") >= 3);
            assert_eq!(tried.proven("threads that answered, per iteration"), 1.0);
            assert!(tried.result.facts.iter().any(|f| f.key == "thread.first_ns"));
        }
    }

    #[test]
    fn members_that_are_threads_make_their_own() {
        let tried = try_crew(&BENCH, &[], None, 2, CrewKind::Threads).expect("threads of threads");
        assert_eq!(tried.proven("threads that answered, per iteration"), 1.0);
    }

    #[test]
    fn a_wrong_answer_is_failed() {
        fn deaf(ctx: &mut Ctx) -> Outcome {
            measure(ctx, Ok)
        }
        let wrong = Benchmark { run: Run::Here(deaf), ..BENCH };
        let stop = try_out(&wrong, &[], None).expect_err("nobody answered");
        assert_eq!(stop, Stop::Failed("thread 0 answered 0".to_owned()));
    }
}
