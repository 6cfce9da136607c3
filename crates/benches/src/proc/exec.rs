//! Executing another program: `execve`, the program's start and end, and the wait for it.
//!
//! **Measures:** A whole child: created, turned into the target program, run, ended and waited for.
//! The target decides the value more than the kernel does, so it is part of the metric:
//! - `bare` has no libc and is smaller than 1 KiB: it measures the kernel.
//! - `static` and `dynamic` are the same program through libc, from its start-up to `exit`, linked
//!   in two ways: they measure what a program costs. In a virtual machine libc's start-up alone can
//!   be most of it, because each CPUID instruction traps.
//! - `many_libs` is the dynamic program with 20 more libraries, each below 2 KiB, with one symbol
//!   to look up and one function to call. It shows the loader's work for a library, not what
//!   libraries do.
//!
//! With `by=vfork` (the default) nothing of the parent is copied, so the value is `proc.vfork_exit`
//! plus `execve` and the target; `by=fork` is what lmbench does. `from=memfd` executes the same
//! bytes with `execveat` from memory that has no path, which leaves out the path lookup and the
//! file system.
//!
//! **Does not measure:** Creating the child alone (`proc.vfork_exit`, `proc.fork_exit`), reading
//! the program from a disk, or a target with more to do at its start.
//!
//! **Method:** Each child is timed alone, on its parent's CPU, with a fixed argument vector and an
//! empty environment. The targets are compiled with groma and carried in it, since the machine
//! under test may have no compiler. Each is written to the round's directory, run once untimed, and
//! removed. The dynamic target uses the machine's own libc; where that is missing or older than the
//! one it was built with, the result is `unsupported`. Proofs: the exit code of each child and the
//! byte that it wrote; `many_libs` exits with that code only if all 20 libraries have reported.
//!
//! **Calls:**
//! - `by=vfork from=file`: `CLONE_VM`, not `execveat(`
//! - `by=fork from=memfd`: `execveat(`, not `CLONE_VM`
//!
//! **Pitfalls:**
//! - A failing `execve` is fast: lmbench `lat_proc exec` without its program printed 343 us instead
//!   of 809 us.
//! - The first run of a file reads it from the disk.
//! - Shells, loaders, scanners that inspect executed files, and CPU emulators add to the value.
//!
//! **Sources:** lmbench 1996 table 9 ("fork, exec & exit"); lmbench3 `lat_proc exec`. See
//! docs/methods/operating-system.md#exec-targets.

use super::{BARE, Carried, DYNAMIC, MANY_LIBRARIES, PROCESSES, STATIC, Target, measure_children, state_parent};
use crate::parts::{self, Composition, Part, Shown};
use groma_harness::prelude::*;
use groma_harness::sys::exec_evidence::ExecCounter;
use groma_harness::sys::spawn::{Command, Stack};

/// How the process is made that becomes the target; shared with `proc.shell`.
pub(super) const BY: Param =
    Param::word("by", "how the process is made: vfork (clone with shared memory) or fork", &["vfork", "fork"])
        .quick(&["vfork"]);

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Executing a program, its end, wait",
        about: about!("exec.rs"),
        iteration: "one child: clone or fork, execve, the target's start, one write, exit, wait4",
        timing: Timing::Each,
        params: &[
            Param::word(
                "target",
                "the program: without libc, with libc linked statically or dynamically, or with 20 libraries more",
                &["bare", "static", "dynamic", "many_libs"],
            )
            .quick(&["bare", "dynamic"])
            .standard(&["static"]),
            BY,
            Param::word("from", "location of the program: a file, or only memory (memfd)", &["file", "memfd"])
                .quick(&["file"]),
        ],
        scaling: PROCESSES,
        needs: &[Need::WorkDir],
        files: |params| program(params.word("target").unwrap_or_default()).space(),
        composed_of: COMPOSED_OF,
        interference: Interference::Tasks,
        target_half_width: 0.05,
        version: 2,
        ..Info::new("proc.exec")
    },
    run: Run::Here(run),
};

const COMPOSED_OF: &[Composition] = &[
    Composition {
        of: parts::BARE,
        hardware: &[],
        parts: &[
            Part::of(1.0, "a task without a copy of the memory, its end, the wait", parts::VFORK),
            Part::of(1.0, "the file found and opened", parts::OPEN_CLOSE),
            Part::of(3.0, "faults on pages of the program and its stack", parts::FILE_FAULT),
            Part::of(4.0, "mappings made and removed: text, stack, what the kernel adds", MAP_UNMAP),
            Part::of(1.0, "the target's write", parts::WRITE),
        ],
        rest: "execve itself: the old memory given up, a new address space, its mappings and its stack",
    },
    // Calls and faults as strace and getrusage count them with glibc 2.36, without those of `bare`.
    Composition {
        of: parts::STATIC,
        hardware: &[],
        parts: &[
            Part::of(1.0, "the smallest program: process, execve, end, wait", parts::BARE),
            Part::of(24.0, "page faults more than the smallest program has", parts::FILE_FAULT),
            Part::of(13.0, "short calls of libc's start", parts::CALL),
        ],
        rest: "libc's start-up; in a virtual machine each of its CPUID instructions traps",
    },
    // What the loader does for a program that uses libc alone.
    Composition {
        of: parts::DYNAMIC,
        hardware: &[],
        parts: &[
            Part::of(1.0, "the same program linked statically", parts::STATIC),
            Part::of(2.0, "files opened: the loader's cache, libc", parts::OPEN_CLOSE),
            Part::of(2.0, "fstat of them", Shown::of("syscall.fstat", &[])),
            Part::of(9.0, "mappings made", MAP),
            Part::of(1.0, "mapping removed", UNMAP),
            Part::of(3.0, "mappings protected", Shown::of("vm.protect", &[("size", "4K"), ("pages", "present")])),
            Part::of(3.0, "reads of headers", parts::READ),
            Part::of(24.0, "page faults more than the static program has", parts::FILE_FAULT),
        ],
        rest: "the loader: symbols looked up, addresses filled in; more mappings and page tables to free",
    },
];

/// A mapping made and removed.
const MAP_UNMAP: Shown = Shown::of("vm.map", &[("size", "64K"), ("backing", "anon"), ("touch", "none")]);
/// A mapping of memory that nobody touches.
const MAP: Shown = Shown::of("vm.map.map", &[("size", "64K"), ("backing", "anon"), ("touch", "none")]);
/// Its removal.
const UNMAP: Shown = Shown::of("vm.map.unmap", &[("size", "64K"), ("backing", "anon"), ("touch", "none")]);

/// The program that the parameter names.
fn program(target: &str) -> &'static Carried {
    match target {
        "bare" => &BARE,
        "static" => &STATIC,
        "dynamic" => &DYNAMIC,
        _ => &MANY_LIBRARIES,
    }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let program = program(ctx.word("target"));
    let target =
        if ctx.word("from") == "memfd" { Target::in_memory(ctx, program) } else { Target::install(ctx, program) }?;
    let mut exec_counter = ExecCounter::new().context("making a pipe")?;
    let command = target.command(&exec_counter)?;
    measure(ctx, &command, Some(&mut exec_counter))
}

/// Measures a command; the parameter `by` says how its process is created.
pub(super) fn measure(ctx: &mut Ctx, command: &Command, exec_counter: Option<&mut ExecCounter>) -> Outcome {
    state_parent(ctx);
    if ctx.word("by") == "fork" {
        return measure_children(ctx, exec_counter, || command.fork_exec());
    }
    let mut stack = Stack::new().context("mapping a stack")?;
    measure_children(ctx, exec_counter, || command.vfork_exec(&mut stack))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc::tests::Dir;
    use groma_harness::testing::{try_group, try_out};

    #[test]
    fn every_target_writes_its_byte_and_leaves_with_its_code() {
        let dir = Dir::new("exec");
        for target in ["bare", "static", "dynamic", "many_libs"] {
            for (by, from) in [("vfork", "file"), ("fork", "file"), ("vfork", "memfd")] {
                let chosen = [("target", target), ("by", by), ("from", from)];
                let tried = match try_out(&BENCH, &chosen, Some(dir.path())) {
                    Ok(tried) => tried,
                    Err(BenchError::Unsupported(why)) if target == "many_libs" && from == "memfd" => {
                        assert_eq!(why, "its libraries lie beside its file, and there is none");
                        continue;
                    }
                    // No static libc where this was built.
                    Err(BenchError::Unsupported(why)) if target == "static" => {
                        assert!(why.starts_with("this program was built without"), "{why}");
                        continue;
                    }
                    Err(stop) => panic!("{target}: {stop}"),
                };
                assert!(tried.samples("") >= 3);
                assert_eq!(tried.proven("bytes that children wrote, per iteration"), 1.0);
                assert_eq!(tried.proven("children that left with code 42, per iteration"), 1.0);
                let interpreter = tried.result.output.facts.iter().find(|f| f.key == "target.interpreter");
                let interpreter = interpreter.map(|f| f.value.as_str());
                assert_eq!(
                    interpreter == Some("none"),
                    !["dynamic", "many_libs"].contains(&target),
                    "{target} is loaded by {interpreter:?}"
                );
            }
        }
        assert!(dir.is_empty());
    }

    /// All of them write a byte and leave with the same code.
    #[test]
    fn the_program_is_the_one_that_is_named() {
        let targets = ["bare", "static", "dynamic", "many_libs"];
        assert_eq!(targets.map(|target| program(target).name), targets);
        assert_eq!(targets.map(|target| program(target).library.is_some()), [false, false, false, true]);
    }

    #[test]
    fn a_worker_group_of_processes_has_a_target_each() {
        let dir = Dir::new("exec-worker-group");
        let kind = groma_harness::model::WorkerKind::Processes;
        let tried = try_group(&BENCH, &[], Some(dir.path()), 2, kind).expect("two members");
        assert_eq!(tried.proven("bytes that children wrote, per iteration"), 1.0);
        assert!(dir.is_empty());
    }

    /// A child could only fail, and would not say why.
    #[test]
    fn what_may_not_be_executed_is_tried_once_before_anything_is_measured() {
        const ENOENT: i32 = 2;
        const EACCES: i32 = 13;
        if BARE.elf.is_empty() {
            return println!("skipped: {}", BARE.missing);
        }
        for (from, error, expected) in [
            ("memfd", EACCES, BenchError::Denied("executing memory: ".to_owned())),
            ("memfd", ENOENT, BenchError::Unsupported("executing memory: ".to_owned())),
            ("file", EACCES, BenchError::Denied("executing /".to_owned())),
        ] {
            let tried = crate::entry::testing::without(&["execve", "execveat"], error, move || {
                let dir = Dir::new(&format!("exec-denied-{from}-{error}"));
                try_out(&BENCH, &[("target", "bare"), ("from", from)], Some(dir.path())).map(|_| ())
            });
            let Some(tried) = tried else { return println!("skipped: the kernel has no filters") };
            let said = tried.expect_err("it cannot be executed");
            let same_state = std::mem::discriminant(&said) == std::mem::discriminant(&expected);
            assert!(same_state && said.to_string().contains(&expected.to_string()), "{from} {error}: {said:?}");
        }
    }

    /// The benchmark with a file that does not exist.
    fn run_missing(ctx: &mut Ctx) -> Outcome {
        let mut exec_counter = ExecCounter::new().context("making a pipe")?;
        let missing = Command::new("/nonexistent/target", &["target"]).context("naming the target")?;
        measure(ctx, &missing, Some(&mut exec_counter))
    }

    /// The benchmark with a program that exits successfully without having done anything.
    fn run_silent(ctx: &mut Ctx) -> Outcome {
        let mut exec_counter = ExecCounter::new().context("making a pipe")?;
        let silent = Command::new("/bin/sh", &["sh", "-c", "exit 42"]).context("naming the target")?;
        measure(ctx, &silent, Some(&mut exec_counter))
    }

    #[test]
    fn a_program_that_is_missing_or_silent_is_failed_and_not_timed() {
        let wrong = |run| Benchmark { info: Info { needs: &[], ..BENCH.info }, run: Run::Here(run) };
        for by in ["vfork", "fork"] {
            let stop = try_out(&wrong(run_missing), &[("by", by)], None).expect_err("there is no such file");
            let why = "a child exited with code 127 instead of 42: it could not be executed";
            assert_eq!(stop, BenchError::Failed(why.to_owned()));
            let stop = try_out(&wrong(run_silent), &[("by", by)], None).expect_err("nothing was written");
            assert_eq!(stop, BenchError::Failed("1 children have written 0 bytes".to_owned()));
        }
    }
}
