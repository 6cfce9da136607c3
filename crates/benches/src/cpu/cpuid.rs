//! The instruction `cpuid`: in a virtual machine, an exit to the hypervisor.
//!
//! **Measures:** One `cpuid`. On hardware it takes 25 to 100 ns. In a guest the CPU leaves the
//! guest, the hypervisor looks up what it wants to answer, and the guest goes on: the round trip
//! that every exit pays, whatever for. Programmed timers, interrupts to other CPUs, idle CPUs and
//! devices cause exits.
//!
//! **Does not measure:** Exits that a hypervisor has to think about (a page that it has to back, a
//! device), or those that hardware avoids (posted interrupts).
//!
//! **Method:** Many in one short interval; the fastest tenth counts.
//!
//! **Proofs:** Each answer is the one that came before the interval.
//!
//! **Pitfalls:**
//! - In a guest of a guest each exit goes through the outer hypervisor: ten times as long.
//! - Hardware is slower by mitigations that the hypervisor switches on each way.
//!
//! **Sources:** None measures it as a benchmark; KVM's own unit tests (vmexit) do. See
//! docs/methods/processor.md#exits-of-a-guest.

use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::sys::exits::identify;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "cpuid: in a virtual machine, an exit to the hypervisor and back",
        about: about!("cpuid.rs"),
        iteration: "one cpuid",
        timing: Timing::Floor,
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("cpu.cpuid")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let Some(wanted) = identify() else {
        return Err(BenchError::Unsupported("this CPU has no cpuid, and no instruction that always exits".to_owned()));
    };
    let done = Done::new();
    ctx.measure(|iters| {
        let right = work::right_of(iters, || identify() == Some(wanted));
        done.add(right);
        work::all_gave(iters as isize, right as isize, "answers of cpuid")
    })?;
    done.prove(ctx, "answers as before, per instruction credited");
    Ok(())
}
