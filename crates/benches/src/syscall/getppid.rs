//! Entering and leaving the kernel: `getppid`, the cheapest system call that does real work.
//!
//! **Measures:** One system call by number, through the architecture's own instruction, without
//! libc: the first `ret` after a system call alone can cost 47 ns where the kernel flushes the
//! return predictor. What a C program pays is a separate metric (`syscall.getppid_libc`). It is
//! `getppid` and not `getpid`, since C libraries have cached the latter.
//!
//! **Does not measure:** What libc adds (`syscall.getppid_libc`), a call that the vDSO answers
//! without the kernel (`vdso.clock_gettime`), or calls that copy data or wait.
//!
//! **Method:** The program has sixteen copies of the loop, and each round draws one at random: the
//! address of a loop decides whether the CPU predicts the kernel's branches (149 ns) or not (198).
//! Many calls in one short interval, so that a preempted interval is one bad sample of many and not
//! a part of every sample. The proofs are that each call returns the parent's id, and
//! that the same loop fails every time in a child that a filter cuts off from the kernel. (The
//! share of CPU time in the kernel proves nothing over a round of 20 ms, since most kernels sample
//! it at ticks.)
//!
//! **Pitfalls:**
//! - Long intervals on a busy machine report preemptions: lmbench 737 ns and perf bench 558 ns
//!   where this gave 115 ns in the same minute (2-vCPU KVM guest, AMD EPYC (Zen 4), Linux 6.18).
//! - Seccomp filters, audit rules and tracers change the path of a call.
//!
//! **Sources:** perf bench `syscall basic`. lmbench3 `lat_syscall null` and Ousterhout 1990 table 2
//! call through libc (`syscall.getppid_libc`, `syscall.getpid_libc`). See
//! docs/methods/operating-system.md#calls-by-number,
//! docs/methods/operating-system.md#kernel-entry and
//! docs/methods/operating-system.md#where-a-loop-lies.

use crate::work::{ANSWERED, Done, measure_calls};
use groma_harness::Rng;
use groma_harness::prelude::*;
use groma_harness::sys::raw;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Null system call: getppid, by number",
        about: about!("getppid.rs"),
        iteration: "one getppid",
        class_tier: Tier::Standard,
        version: 2,
        ..Info::new("syscall.getppid")
    },
    run: Run::Here(run),
};

/// The loop, at sixteen places of the program.
const PLACES: [fn(u64, isize) -> u64; 16] = [
    calls::<0>,
    calls::<1>,
    calls::<2>,
    calls::<3>,
    calls::<4>,
    calls::<5>,
    calls::<6>,
    calls::<7>,
    calls::<8>,
    calls::<9>,
    calls::<10>,
    calls::<11>,
    calls::<12>,
    calls::<13>,
    calls::<14>,
    calls::<15>,
];

/// Calls `iters` times; returns how many answers were right. `PLACE` keeps the compiler from
/// merging the copies.
#[inline(never)]
fn calls<const PLACE: usize>(iters: u64, parent: isize) -> u64 {
    let mut right = 0;
    std::hint::black_box(PLACE);
    for _ in 0..iters {
        right += u64::from(raw::getppid() == parent);
    }
    right
}

/// One of the places, at random.
fn place(rng: &mut Rng) -> usize {
    rng.below(PLACES.len() as u64) as usize
}

fn run(ctx: &mut Ctx) -> Outcome {
    let parent = sys::process::parent_id() as isize;
    let done = Done::new();
    let place = place(ctx.rng());
    ctx.fact("getppid.place", place);
    let calls = PLACES[place];
    measure_calls(ctx, ANSWERED, &done, |iters| {
        let right = calls(iters, parent);
        done.add(right);
        if right == iters {
            Ok(())
        } else {
            Err(BenchError::Failed(format!("{} of {iters} answers were not the parent's id", iters - right)))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn all_places_are_different_and_all_are_drawn() {
        let places: BTreeSet<usize> = PLACES.iter().map(|calls| *calls as usize).collect();
        let mut rng = Rng::new(7);
        let drawn: BTreeSet<usize> = (0..1000).map(|_| place(&mut rng)).collect();
        assert_eq!((places.len(), drawn.len()), (PLACES.len(), PLACES.len()));
    }
}
