//! `posix_spawn` of the smallest possible program, its end, and the wait for it.
//!
//! **Measures:** What most programs and language runtimes use to start another program: libc's
//! `posix_spawn` with an empty environment, no file actions and no attributes, then the program's
//! own two system calls. The difference to `proc.exec target=bare` is what libc does around the
//! clone: it maps a stack, blocks signals and resets their actions.
//!
//! **Does not measure:** A large program or its libraries (`proc.exec`), file actions and
//! attributes, or a wrapper of a language's library around `posix_spawn`.
//!
//! **Method:** Each child is timed alone, on its parent's CPU. The program (below 1 KiB, no libc)
//! is carried in groma, written to the round's directory, and removed. Proofs: the exit code of
//! each child and the byte that it wrote.
//!
//! **Pitfalls:**
//! - If the program cannot be executed, `posix_spawn` itself returns the error, where with `fork`
//!   the child exits with a code.
//! - The environment and `LD_PRELOAD` of the user would add to the value, hence the empty
//!   environment.
//!
//! **Sources:** libMicro; no paper measures it. See docs/methods/operating-system.md#processes.

use super::{BARE, PROCESSES, Target, measure_children, state_parent};
use groma_harness::prelude::*;
use groma_harness::sys::exec_evidence::ExecCounter;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "posix_spawn of the smallest program, its end, wait",
        about: about!("spawn.rs"),
        iteration: "one child: posix_spawn, one write, exit, wait4",
        timing: Timing::Each,
        scaling: PROCESSES,
        needs: &[Need::WorkDir],
        files: |_| BARE.space(),
        interference: Interference::Tasks,
        target_half_width: 0.03,
        version: 2,
        ..Info::new("proc.spawn")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let target = Target::install(ctx, &BARE)?;
    let mut exec_counter = ExecCounter::new().context("making a pipe")?;
    let command = target.command(&exec_counter)?;
    state_parent(ctx);
    measure_children(ctx, Some(&mut exec_counter), || command.posix_spawn())
}
