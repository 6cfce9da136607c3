//! The instruction that spin loops wait with.
//!
//! **Measures:** One `pause` on x86-64 and RISC-V, one `isb` on AArch64: what
//! `std::hint::spin_loop` and the locks of most libraries put into a loop that waits for another
//! CPU. It decides how soon such a loop sees a change, and how much of the core a sibling thread
//! gets meanwhile: 5 cycles on old cores, 40 to 65 on AMD's, 140 on Intel's since Skylake.
//!
//! **Does not measure:** What the sibling thread gains.
//!
//! **Method:** Sixteen of them in each turn of a loop; a chain of dependent additions, one a cycle,
//! runs in turn with it.
//!
//! **Pitfalls:** A hypervisor may let many in a row end in an exit ("pause-loop exiting"), after
//! some thousands of cycles: then a loop that waits gives up its CPU.
//!
//! **Sources:** Intel's optimisation manual names the change with Skylake. See
//! docs/methods/processor.md#waiting.

use groma_harness::prelude::*;
use std::hint::spin_loop;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "The instruction with which a spin loop waits",
        about: about!("pause.rs"),
        iteration: "one turn of sixteen, and 64 dependent additions beside it",
        timing: Timing::Floor,
        outputs: &[
            Output::MAIN.series("pause"),
            Output::named("cycles", "It in cycles of scalar code").ratio("pause", "cycle").quantity(Quantity::Count),
            Output::named("cycle", "One dependent addition beside it: a cycle").detail(),
        ],
        target_half_width: 0.02,
        tier: Tier::Standard,
        class_tier: Tier::Full,
        ..Info::new("cpu.pause")
    },
    run: Run::Here(run),
};

/// Instructions of a turn.
const IN_A_TURN: u64 = 16;

fn run(ctx: &mut Ctx) -> Outcome {
    super::beside_cycles(ctx, "pause", [IN_A_TURN, IN_A_TURN], pauses)
}

/// So many turns; returns how many instructions that were.
#[inline(never)]
fn pauses(turns: u64) -> u64 {
    let mut done = 0;
    for _ in 0..turns {
        for _ in 0..IN_A_TURN {
            spin_loop();
            done += 1;
        }
    }
    done
}
