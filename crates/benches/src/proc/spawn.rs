//! `posix_spawn` of the smallest program there is, its end, and the wait for it.
//!
//! Measures what most programs and language runtimes use to start another program: libc's `posix_spawn` with an empty
//! environment, no file actions and no attributes, then the program's own two system calls. Beside `proc.exec target=bare`
//! it shows what libc does around the clone: a stack of its own by `mmap`, signals blocked and their actions reset.
//!
//! Method: each child is timed alone, on its parent's CPU. The program (below 1 KiB, no libc) is carried in this one,
//! written to the round's directory, and removed. Proof: the code that each child left with, and the byte it wrote.
//!
//! Traps: a spawn whose child cannot be executed is an error of the call here, where with `fork` it is a code of the child;
//! the environment and `LD_PRELOAD` of whoever runs the benchmark.
//!
//! Source: os-methods.md 2.3; none of the papers has it (libMicro does).

use super::{BARE, PROCESSES, Target, measure_children, state_parent};
use groma_harness::prelude::*;
use groma_harness::sys::exec_evidence::Witness;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "posix_spawn of the smallest program, its end, wait",
        about: about!("spawn.rs"),
        iteration: "one child: posix_spawn, one write, exit, wait4",
        timing: Timing::Each,
        scaling: PROCESSES,
        needs: &[Need::WorkDir],
        lineage: &["libmicro:posix_spawn"],
        interference: Interference::Tasks,
        target_half_width: 0.03,
        ..Info::new("proc.spawn")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let target = Target::install(ctx, &BARE)?;
    let mut witness = Witness::new().context("making a pipe")?;
    let command = target.command(&witness)?;
    state_parent(ctx);
    measure_children(ctx, Some(&mut witness), || command.posix_spawn())
}
