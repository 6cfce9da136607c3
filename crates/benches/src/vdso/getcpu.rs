//! Asking which CPU a thread runs on, without entering the kernel: libc's `sched_getcpu`.
//!
//! **Measures:** What an allocator or a per-CPU counter pays for each look: the wrapper, and either
//! the vDSO's `getcpu` (one instruction on x86) or, since glibc 2.35, a load from memory that the
//! kernel keeps up to date (`rseq`). The library chooses which. `.syscall` is the same call by
//! number.
//!
//! **Does not measure:** Moving to another CPU, or whether the answer still holds when it is used.
//!
//! **Method:** Many calls in one short interval, each answer checked; the call by number runs in
//! the same rounds. The proofs are that the same loop still gets answers in a child cut off from
//! the kernel, and that libc agrees with the kernel wherever the kernel gives the same answer
//! before and after.
//!
//! **Calls:**
//! - timed: `clock getcpu clock`; the loop by number enters the kernel
//!
//! **Pitfalls:** Where there is neither (64-bit Arm has no `getcpu` in its vDSO), libc enters the
//! kernel unseen. That is `unsupported`, not a slow result.
//!
//! **Sources:** Linux's own `vdso_test_getcpu` only tests it. See
//! docs/methods/operating-system.md#vdso.

use crate::entry;
use crate::work::{Done, right_of};
use groma_harness::prelude::*;
use groma_harness::sys::vdso;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Asking for one's CPU without a system call: sched_getcpu",
        about: about!("getcpu.rs"),
        iteration: "one sched_getcpu",
        outputs: &super::OUTPUTS,
        tier: Tier::Standard,
        ..Info::new("vdso.getcpu")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let (done, done_by_number) = (Done::new(), Done::new());
    let mut libc = |iters| {
        // A single sum: a second one cost two cycles of seven.
        let right = right_of(iters, || vdso::cpu() >= 0);
        done.add(right);
        all_answered("sched_getcpu", right, iters, || vdso::cpu() as isize)
    };
    let mut syscall = |iters| {
        let right = right_of(iters, || vdso::cpu_by_number() >= 0);
        done_by_number.add(right);
        all_answered("getcpu", right, iters, vdso::cpu_by_number)
    };
    entry::never_asks_the_kernel(ctx, &mut libc)?;
    ctx.measure_variants(&mut [Variant::new("vdso", &mut libc), Variant::new("syscall", &mut syscall)])?;
    done.prove_of(ctx, "vdso", "answers by libc, per answer credited");
    done_by_number.prove_of(ctx, "syscall", "answers by number, per answer credited");
    let wrong = (0..100).filter(|_| {
        let (before, told, after) = (vdso::cpu_by_number(), vdso::cpu(), vdso::cpu_by_number());
        before == after && told as isize != before
    });
    ctx.prove("answers of 100 that differ from the kernel's", "0", wrong.count() as f64, 0.0..=0.0);
    Ok(())
}

/// The outcome of a loop with `right` valid answers; if some were errors, calls once more for the
/// error number.
fn all_answered(name: &str, right: u64, iters: u64, again: impl Fn() -> isize) -> Outcome {
    if right == iters {
        return Ok(());
    }
    super::check_answers(name, again())?;
    Err(BenchError::Failed(format!("{} of {iters} answers of {name} were errors", iters - right)))
}
