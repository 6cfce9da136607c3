//! The start of a container, to the end of a program that does nothing.
//!
//! **Measures:** How much longer a program takes that is executed in a container: `clone3` into new
//! mount, UTS, IPC, PID, network and cgroup namespaces, private mounts, a root of its own
//! (`pivot_root`) with a `/proc`, a filter of 300 comparisons, and the same program. It is what the
//! kernel does for a runtime's start of a container, and all that one could save.
//!
//! **Does not measure:** What runtimes add: reading a configuration, making layers and a network,
//! starting helpers; a control group (which is a directory to make, and a file to write).
//!
//! **Method:** A container and a plain process, as `fork` makes it, run in turn; both
//! execute the smallest program, which writes a byte and ends. `namespaces=no_net` leaves out the
//! network, which costs most.
//!
//! **Proofs:** The program can be found below the new root only; each has written its byte and
//! ended with its own code. A step that fails has a code of its own.
//!
//! **Pitfalls:**
//! - What is taken down by kernel threads afterwards (mounts, the network) is not waited for, and
//!   slows down who starts many.
//! - It needs root, or a privileged container.
//!
//! **Sources:** Reports of runtimes give 100 ms and more for all that they do. See
//! docs/methods/operating-system.md#isolation.

use crate::proc::bare_program;
use crate::scratch::{Scratch, write_program};
use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::sys::container::{Container, failed_step};
use groma_harness::sys::exec_evidence::ExecCounter;
use groma_harness::sys::filter::{Compares, passing};
use groma_harness::sys::namespaces::Namespaces;
use groma_harness::sys::process;
use groma_harness::sys::spawn::Command;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Starting a container, beside starting its program alone",
        about: about!("container.rs"),
        iteration: "one program in a container: from clone3 to the end of wait4",
        timing: Timing::Each,
        outputs: &[
            Output::MAIN.difference("container", "plain"),
            Output::named("container", "The program in a container").detail(),
            Output::named("plain", "The program in a process as fork makes it").detail(),
        ],
        params: &[Param::word(
            "namespaces",
            "the new ones: those of a container, or without the network",
            &["all", "no_net"],
        )
        .quick(&["all"])
        .full(&["no_net"])],
        scaling: Scaling::processes("a process with threads must not fork"),
        needs: &[Need::WorkDir],
        files: |_| 16384,
        interference: Interference::Tasks,
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("isolation.container")
    },
    run: Run::Here(run),
};

/// The exit code of the program.
const GOOD: i32 = 42;
/// Its name: no root has such a file.
const NAME: &str = "groma-container-target";

fn run(ctx: &mut Ctx) -> Outcome {
    let elf = bare_program()?;
    let place = Scratch::apart(ctx)?;
    write_program(&place.path().join(NAME), elf)?;
    std::fs::create_dir(place.path().join("proc")).context("making a directory")?;
    let mut counter = ExecCounter::new().context("making a pipe")?;
    let number = counter.number().to_string();
    let arguments = ["target", &number];
    let kind = ctx.word("namespaces");
    let Some(namespaces) = Namespaces::named(kind) else {
        return Err(BenchError::Failed(format!("no namespaces {kind}")));
    };
    let filter = passing(300, Compares::Argument);
    let inside = Container::new(namespaces, place.path(), &format!("/{NAME}"), &arguments, filter);
    let inside = inside.context("naming the program")?;
    let outside = Command::new(place.path().join(NAME), &arguments).context("naming the program")?;
    let life = |watch: &mut Stopwatch<'_>, start: &dyn Fn() -> std::io::Result<i32>, done: &Done| {
        watch.start();
        let pid = start().context("making a process in new namespaces")?;
        let exit = process::wait(pid).context("waiting for it")?;
        watch.stop();
        match (exit.code(), exit.code().and_then(failed_step)) {
            (Some(GOOD), _) => {
                done.add(1);
                Ok(())
            }
            (_, Some(step)) => Err(BenchError::Denied(format!("{step} is not possible here"))),
            _ => Err(BenchError::Failed(format!("the program {exit} instead of {GOOD}"))),
        }
    };
    let (contained, plain) = (Done::new(), Done::new());
    ctx.measure_variants(&mut [
        Variant::staged("container", |iters, watch| {
            (0..iters).try_for_each(|_| life(watch, &|| inside.start(), &contained))
        }),
        Variant::staged("plain", |iters, watch| {
            (0..iters).try_for_each(|_| life(watch, &|| outside.fork_exec(), &plain))
        }),
    ])?;
    contained.prove_of(ctx, "container", "programs that ended well in a container, per one credited");
    work::once_each(
        ctx,
        "programs that ended well without, per one credited",
        plain.count(),
        ctx.iterations_of("plain"),
    );
    let bytes = counter.bytes().context("reading the pipe")?;
    work::once_each(ctx, "bytes that programs have written, per program", bytes, contained.count() + plain.count());
    Ok(())
}
