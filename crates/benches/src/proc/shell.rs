//! A command through the shell: `/bin/sh -c`, the command's end, and the wait for it.
//!
//! Measures what `system`, `popen` and every Makefile line pay: a process made, the shell loaded and started, the command
//! parsed and run. `command=target` lets the shell run the smallest program there is (bash becomes it, dash makes one more
//! process of its own: the count of tasks per iteration tells which); `command=exit` lets the shell leave by itself.
//!
//! Method: each child is timed alone, on its parent's CPU, with an empty environment, made as `by` says (see `proc.exec`).
//! Which shell `/bin/sh` is decides the value: its real path, size and loader are stated as facts. Proof: the code that each
//! child left with, which the target or the command chose, and the byte that the target wrote through the shell.
//!
//! Traps: comparing shells instead of systems (dash 1.2 ms where bash takes 1.7); start-up files named by the
//! environment (`ENV`, `BASH_ENV`); a shell that cannot find its command is a fast shell (lmbench).
//!
//! Source: lmbench 1996 table 9 ("fork, exec sh -c & exit"), lmbench3 `lat_proc shell`.

use super::exec::{BY, measure};
use super::{BARE, GOOD, PROCESSES, Target, state_program};
use groma_harness::prelude::*;
use groma_harness::sys::exec_evidence::Witness;
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
        lineage: &["lmbench1996:table9", "lmbench3:lat_proc shell", "libmicro:system"],
        interference: Interference::Tasks,
        target_half_width: 0.05,
        ..Info::new("proc.shell")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    state_program(ctx, "shell", Path::new(SHELL));
    if ctx.word("command") == "exit" {
        let command = Command::new(SHELL, &["sh", "-c", &format!("exit {GOOD}")]).context("naming the shell")?;
        return measure(ctx, &command, None);
    }
    let target = Target::install(ctx, &BARE)?;
    let mut witness = Witness::new().context("making a pipe")?;
    // As parameters of the command, so that no path needs quoting.
    let path = target.path();
    let number = witness.number().to_string();
    let args: [&OsStr; 5] = ["sh".as_ref(), "-c".as_ref(), r#""$0" "$1""#.as_ref(), path.as_ref(), number.as_ref()];
    let command = Command::new(SHELL, &args).context("naming the shell")?;
    measure(ctx, &command, Some(&mut witness))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc::tests::Dir;
    use groma_harness::testing::try_out;

    #[test]
    fn the_shell_runs_its_command_and_is_named() {
        // With what a shell would trip over.
        let dir = Dir::new("it's a $HOME");
        for command in ["target", "exit"] {
            let tried = try_out(&BENCH, &[("command", command)], Some(dir.path())).expect("/bin/sh");
            assert!(tried.samples("") >= 3);
            assert_eq!(tried.proven("children that left with code 42, per iteration"), 1.0);
            if command == "target" {
                assert_eq!(tried.proven("bytes that children wrote, per iteration"), 1.0);
            }
            let path = tried.result.facts.iter().find(|f| f.key == "shell.path").expect("the shell's path");
            assert!(Path::new(&path.value).is_file());
        }
        assert!(dir.is_empty());
    }
}
