//! Reading a clock without entering the kernel: `clock_gettime` through libc and the vDSO.
//!
//! **Measures:** What every program pays that reads a clock: libc's wrapper, the kernel's code in
//! the program's own address space, a read of the cycle counter, and the arithmetic. The `coarse`
//! clocks return what the last tick stored, and no counter is read. The CPU-time clocks
//! (`process_cputime`, `thread_cputime`) are in no vDSO, so for them the call enters the kernel.
//!
//! **Does not measure:** The step of the clock (`clock.step`), or the clock that groma times with
//! (`clock.read`). `gettimeofday` is `realtime` in other units and has no metric of its own.
//!
//! **Method:** Many calls in one short interval, each answer checked. The same call by number,
//! which does enter the kernel, runs in the same rounds; its series shows what the vDSO saves. The
//! proof is the same loop in a child cut off from the kernel: there all clocks keep working, except
//! those of CPU time, which must fail every time.
//!
//! **Pitfalls:**
//! - Clock sources that the vDSO cannot read (xen, hpet, acpi_pm), for which libc enters the kernel
//!   unseen. That is `unsupported`, not a slow result.
//! - Sandboxes without a vDSO, likewise.
//!
//! **Sources:** The predecessors have nothing like it. See docs/methods/operating-system.md#vdso.

use super::check_answers;
use crate::entry;
use crate::work::{Done, least_of};
use groma_harness::prelude::*;
use groma_harness::sys::vdso::ClockId;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Reading a clock: clock_gettime, by the vDSO where there is one",
        about: about!("clock_gettime.rs"),
        iteration: "one clock_gettime",
        outputs: &super::OUTPUTS,
        params: &[Param::word(
            "clock",
            "the clock that is read: CLOCK_MONOTONIC and so on",
            &[
                "monotonic",
                "monotonic_coarse",
                "monotonic_raw",
                "realtime",
                "realtime_coarse",
                "boottime",
                "tai",
                "process_cputime",
                "thread_cputime",
            ],
        )
        .quick(&["monotonic"])
        .standard(&["monotonic_coarse", "process_cputime"])],
        ..Info::new("vdso.clock_gettime")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let name = ctx.word("clock");
    let clock = ClockId::named(name).ok_or_else(|| BenchError::Unsupported(format!("no clock is called {name}")))?;
    let (done, done_by_number) = (Done::new(), Done::new());
    let mut vdso = |iters| {
        let (worst, right) = least_of(iters, 0, || clock.read());
        done.add(right);
        check_answers("clock_gettime", worst as isize)
    };
    let mut syscall = |iters| {
        let (worst, right) = least_of(iters, 0, || clock.read_by_number());
        done_by_number.add(right);
        check_answers("clock_gettime", worst)
    };
    if name.ends_with("cputime") {
        entry::asks_the_kernel(ctx, &mut vdso);
    } else {
        entry::never_asks_the_kernel(ctx, &mut vdso)?;
    }
    ctx.measure_variants(&mut [Variant::new("vdso", &mut vdso), Variant::new("syscall", &mut syscall)])?;
    done.prove_of(ctx, "vdso", "readings by libc that were given, per reading credited");
    done_by_number.prove_of(ctx, "syscall", "readings by number that were given, per reading credited");
    Ok(())
}
