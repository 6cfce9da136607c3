//! A command through the shell: `/bin/sh -c`, the command's end, and the wait for it.
//!
//! **Measures:** What `system`, `popen` and every line of a makefile pay: creating a process,
//! loading and starting the shell, parsing and running the command. With `command=target` the shell
//! runs the smallest possible program. bash executes it in its own process, dash creates another
//! one; the count of tasks per iteration shows which. With `command=exit` the shell itself exits.
//!
//! **Does not measure:** Interactive shells and their start-up files, pipelines, or commands that a
//! shell executes itself without a process.
//!
//! **Method:** Each child is timed alone, on its parent's CPU, with an empty environment, and
//! created as `by` says (see `proc.exec`). Which shell `/bin/sh` is decides the value, so its real
//! path, size and loader are facts. Proofs: the exit code of each child, which the target or the
//! command chose, and the byte that the target wrote.
//!
//! **Pitfalls:**
//! - Comparing shells instead of systems: dash takes 1.2 ms, bash 1.7 ms (2-vCPU KVM guest).
//! - Start-up files named by the environment (`ENV`, `BASH_ENV`) would add to the value, hence the
//!   empty environment.
//! - A shell that cannot find its command is fast (lmbench).
//!
//! **Sources:** lmbench 1996 table 9 ("fork, exec sh -c & exit"); lmbench3 `lat_proc shell`. See
//! docs/methods/operating-system.md#exec-targets.

use super::exec::{BY, measure};
use super::{BARE, GOOD, PROCESSES, Target, state_program};
use crate::parts::{self, Composition, Part, Shown, Times};
use crate::proofs::TASKS;
use groma_harness::prelude::*;
use groma_harness::sys::exec_evidence::ExecCounter;
use groma_harness::sys::spawn::Command;
use std::ffi::OsStr;
use std::path::Path;

const SHELL: &str = "/bin/sh";

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "A command through /bin/sh -c, its end, wait",
        about: about!("shell.rs"),
        iteration: "one child: clone or fork, execve of the shell, the command, exit, wait4",
        timing: Timing::Each,
        params: &[
            Param::word("command", "the shell's command: run the smallest program, or exit", &["target", "exit"])
                .quick(&["target"]),
            BY,
        ],
        scaling: PROCESSES,
        needs: &[Need::Program(SHELL), Need::WorkDir],
        files: |_| BARE.space(),
        composed_of: COMPOSED_OF,
        interference: Interference::Tasks,
        target_half_width: 0.05,
        version: 2,
        ..Info::new("proc.shell")
    },
    run: Run::Here(run),
};

const COMPOSED_OF: &[Composition] = &[Composition {
    of: Shown::of("proc.shell", &[("command", "target"), ("by", "vfork")]),
    hardware: &[],
    parts: &[
        Part::of(1.0, "the shell, as the smallest dynamic program", parts::DYNAMIC),
        Part::of(1.0, "processes that the shell makes", parts::VFORK).times(Times::Counted(TASKS, -1.0)),
        Part::difference(1.0, "the program run, beyond its process", parts::BARE, parts::VFORK),
    ],
    rest: "the shell's start and its reading of the command",
}];

fn run(ctx: &mut Ctx) -> Outcome {
    state_program(ctx, "shell", Path::new(SHELL));
    if ctx.word("command") == "exit" {
        let command = Command::new(SHELL, &["sh", "-c", &format!("exit {GOOD}")]).context("naming the shell")?;
        return measure(ctx, &command, None);
    }
    let target = Target::install(ctx, &BARE)?;
    let mut exec_counter = ExecCounter::new().context("making a pipe")?;
    // As positional parameters, so that no path needs quoting.
    let path = target.path();
    let number = exec_counter.number().to_string();
    let args: [&OsStr; 5] = ["sh".as_ref(), "-c".as_ref(), r#""$0" "$1""#.as_ref(), path.as_ref(), number.as_ref()];
    let command = Command::new(SHELL, &args).context("naming the shell")?;
    measure(ctx, &command, Some(&mut exec_counter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc::tests::Dir;
    use groma_harness::testing::try_out;

    #[test]
    fn the_shell_runs_its_command_and_is_named() {
        // With characters that are special to a shell.
        let dir = Dir::new("it's a $HOME");
        for command in ["target", "exit"] {
            let tried = try_out(&BENCH, &[("command", command)], Some(dir.path())).expect("/bin/sh");
            assert!(tried.samples("") >= 3);
            assert_eq!(tried.proven("children that left with code 42, per iteration"), 1.0);
            if command == "target" {
                assert_eq!(tried.proven("bytes that children wrote, per iteration"), 1.0);
            }
            let path = tried.result.output.facts.iter().find(|f| f.key == "shell.path").expect("the shell's path");
            assert!(Path::new(&path.value).is_file());
        }
        assert!(dir.is_empty());
    }
}
