//! New namespaces: what a process costs more that begins in one.
//!
//! **Measures:** How much longer `clone3`, exit and wait take where the child begins in a new
//! namespace of one kind, or in all that a container has (`all`: mount, uts, ipc, pid, net,
//! cgroup). It is created, entered, and left again by its only process.
//!
//! **Does not measure:** What is set up in it (mounts, addresses, ids), or what the kernel does
//! later: mounts and network devices of a namespace are taken down by a kernel thread.
//!
//! **Method:** A child in new namespaces and one in its parent's run in turn; each looks at the
//! number of its namespace, which costs both the same, and exits. The difference is the value.
//!
//! **Proofs:** Each child tells by its exit code whether its namespace is another than that of its
//! parent.
//!
//! **Pitfalls:**
//! - A network namespace is taken down for milliseconds after its last process: many in a row are
//!   made beside that, as on a host that starts many containers.
//! - All but `user` need CAP_SYS_ADMIN; a container has it only where it is privileged.
//! - What has to be copied depends on the machine: mounts, for example.
//!
//! **Sources:** stress-ng (`--unshare`, `--clone`) counts such calls without taking one alone. See
//! docs/methods/operating-system.md#isolation.

use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::sys::namespaces::{Look, Namespaces, OTHER, SAME};
use groma_harness::sys::process;
use std::io;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "A process in a new namespace, beside one without",
        about: about!("namespace.rs"),
        iteration: "one child: clone3, stat of its namespace, _exit, wait4",
        timing: Timing::Each,
        outputs: &[
            Output::MAIN.difference("new", "plain"),
            Output::named("new", "The child in new namespaces").detail(),
            Output::named("plain", "The child in those of its parent").detail(),
        ],
        params: &[Param::word(
            "kind",
            "the namespace that is new; all: those of a container",
            &["net", "all", "mount", "pid", "user", "uts", "ipc", "cgroup", "time"],
        )
        .quick(&["net"])
        .standard(&["all", "user"])
        .full(&["mount", "pid", "uts", "ipc", "cgroup", "time"])],
        scaling: Scaling::processes("a process with threads must not fork"),
        interference: Interference::Tasks,
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("isolation.namespace")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let kind = ctx.word("kind");
    let Some(new) = Namespaces::named(kind) else {
        return Err(BenchError::Failed(format!("no namespace {kind}")));
    };
    let look = |namespaces| match Look::new(namespaces) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            Err(BenchError::Unsupported(format!("this kernel has no {kind} namespaces")))
        }
        made => made.context("looking at the own namespace"),
    };
    let (in_new, in_own) = (look(new)?, look(new.none())?);
    let what = format!("making a child in a new namespace ({kind})");
    let (others, same) = (Done::new(), Done::new());
    let child = |watch: &mut Stopwatch<'_>, look: &Look, wanted: i32, seen: &Done| {
        watch.start();
        let pid = look.start().context(&what)?;
        let exit = process::wait(pid).context("waiting for the child")?;
        watch.stop();
        if exit.code() != Some(wanted) {
            return Err(BenchError::Failed(format!("a child {exit} instead of {wanted}: it is in another namespace")));
        }
        seen.add(1);
        Ok(())
    };
    ctx.measure_variants(&mut [
        Variant::staged("new", |iters, watch| (0..iters).try_for_each(|_| child(watch, &in_new, OTHER, &others))),
        Variant::staged("plain", |iters, watch| (0..iters).try_for_each(|_| child(watch, &in_own, SAME, &same))),
    ])?;
    others.prove_of(ctx, "new", "children in another namespace, per child credited");
    work::once_each(
        ctx,
        "children in that of their parent, per child credited",
        same.count(),
        ctx.iterations_of("plain"),
    );
    Ok(())
}
