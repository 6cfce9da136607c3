//! Supervised system calls: a call that another process answers.
//!
//! **Measures:** One system call of which a filter tells a supervisor (seccomp user notification):
//! the kernel holds the caller, the supervisor reads the notice, writes an answer, and the kernel
//! returns it as the result of the call. Sandboxes and unprivileged containers answer `mount`,
//! `mknod` and others in this way.
//!
//! **Does not measure:** What a supervisor does to find its answer: reading the caller's memory, or
//! making the call for it.
//!
//! **Method:** The supervisor is a forked process that reads and answers notices in a loop. The
//! filter notifies it of `getpgid`, which nothing else here calls; its answer is the argument plus
//! one. With `wake=sync` the kernel lets both switch on one CPU (Linux 6.6).
//!
//! **Proofs:** Each answer is that of its own call; the supervisor has answered as many.
//!
//! **Pitfalls:**
//! - It is two wake-ups of sleeping processes, so the placement matters most.
//! - The supervisor, as a child of the caller, is behind the same filter, which costs its calls
//!   some nanoseconds.
//! - Only one filter of a process can have a listener: under a supervisor of its own, a worker is
//!   refused.
//!
//! **Sources:** None that measures it is known. See docs/methods/operating-system.md#isolation.

use crate::proofs;
use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::sys::shared::Shared;
use groma_harness::sys::{raw, supervised};
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "A system call that a supervisor answers",
        about: about!("supervisor.rs"),
        iteration: "one getpgid, answered by another process",
        timing: Timing::Each,
        params: &[Param::word("wake", "how the kernel wakes: as usual, or on one CPU", &["usual", "sync"])
            .quick(&["usual"])
            .full(&["sync"])],
        scaling: Scaling::processes("each copy forks its own supervisor, which a process with threads must not"),
        placements: &Placement::TWO_SIDED,
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("isolation.supervisor")
    },
    run: Run::Here(run),
};

/// The argument with which the supervisor leaves, beyond those that are measured.
const LAST: u64 = 1 << 30;
/// Arguments are below this number, so that answers are no errors.
const ARGUMENTS: u64 = 1 << 20;

fn run(ctx: &mut Ctx) -> Outcome {
    let listener = supervised::listen().map_err(|error| match error.kind() {
        io::ErrorKind::ResourceBusy => BenchError::Denied("a supervisor is in force here already".to_owned()),
        io::ErrorKind::InvalidInput => BenchError::Unsupported("this kernel has no supervisors (Linux 5.0)".to_owned()),
        _ => BenchError::from_io("installing a filter with a listener", &error),
    })?;
    if ctx.word("wake") == "sync" {
        supervised::switch_on_one_cpu(listener.as_fd()).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => BenchError::Unsupported("wake=sync takes Linux 6.6".to_owned()),
            _ => BenchError::from_io("SECCOMP_IOCTL_NOTIF_SET_FLAGS", &error),
        })?;
    }
    let counted = Shared::<AtomicU64>::new(1).context("sharing memory")?;
    let supervisor = ctx.fork_peer(&[], || match supervised::answer(listener.as_fd(), LAST) {
        Ok(answered) => {
            counted[0].store(answered, SeqCst);
            0
        }
        Err(e) => {
            eprintln!("the supervisor: {e}");
            1
        }
    })?;
    let (mut next, done) = (0u64, Done::new());
    ctx.measure(|iters| {
        let right = work::right_of(iters, || {
            next = (next + 1) % ARGUMENTS;
            raw::getpgid(next as usize) == next as isize + 1
        });
        done.add(right);
        work::all_gave(iters as isize, right as isize, "supervised calls with their own answer")
    })?;
    let credited = ctx.iterations();
    let last = raw::getpgid(LAST as usize);
    let exit = supervisor.wait().context("waiting for the supervisor")?;
    proofs::peer_ended_well(ctx, &exit);
    done.prove(ctx, "answers that are those of their calls, per call credited");
    let answered = counted[0].load(SeqCst);
    ctx.prove("answer to the last call, of what it should be", "1", last as f64 / (LAST + 1) as f64, 1.0..=1.0);
    // The last one is not measured.
    work::once_each(ctx, "calls that the supervisor answered, per call credited", answered.saturating_sub(1), credited);
    Ok(())
}
