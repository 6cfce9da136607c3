//! Any command, from its start to its end.
//!
//! **Measures:** Creating the process (`posix_spawn`), everything that it does, and waiting for it.
//! Only its user knows what that is: compare a command with itself only. Worker groups (`-P 4`) run
//! as many copies at once, provably.
//!
//! **Does not measure:** A shell, unless the command has characters that only a shell understands:
//! then `/bin/sh -c` runs it, which is stated.
//!
//! **Method:** Each run is timed alone, with empty input, discarded standard output and an
//! environment that holds the `PATH` of the user alone. A name without a slash is the first program
//! of that name in it, as for a shell; the page names the file. It must exit with code 0 each time.
//! The command may have 256 tasks beyond those that the user already has, where the kernel enforces
//! it; the superuser is not bound.
//!
//! Whatever the command leaves running, in sessions of its own as well, is ended with the round,
//! and at the deadline everything is. If groma itself is killed by SIGKILL, the processes that the
//! command started die with it, except those that have left its process group (`setsid`): then no
//! process is left that could find them.
//!
//! **Pitfalls:**
//! - lmbench `lat_cmd` compares the result of `fork` with the character 0, so its children go on
//!   forking, and it prints a time all the same.
//! - A command may fail faster than it works.
//! - Some commands do nothing the second time (`make`).
//!
//! **Sources:** lmbench3 `lat_cmd`; hyperfine for the way of giving the command. See
//! docs/methods/operating-system.md#mixes.

use groma_harness::prelude::*;
use groma_harness::sys::io;
use groma_harness::sys::leash::Leash;
use groma_harness::sys::process;
use groma_harness::sys::programs;
use groma_harness::sys::spawn::Command;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::PathBuf;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "A command of your choice, from its start to its end",
        about: about!("command.rs"),
        iteration: "one run of the command",
        timing: Timing::Each,
        params: &[Param::text("command", "the program and its arguments: 'gzip -kf data'").quick(&["true"])],
        scaling: Scaling::processes("a process with threads must not fork"),
        placements: &[Placement::Free],
        interference: Interference::Tasks,
        target_half_width: 0.05,
        tier: Tier::Named,
        version: 3,
        ..Info::new("mix.command")
    },
    run: Run::Here(run),
};

/// Tasks allowed beyond those that the user already has.
const MORE_TASKS: u64 = 256;
const SHELL: &str = "/bin/sh";
/// Characters that only a shell understands.
const FOR_A_SHELL: &str = "|&;<>()$`\\\"'*?[]#~={}\n";

/// The words of the command that runs what was typed, and whether that is a shell.
fn words_of(typed: &str) -> (Vec<&str>, bool) {
    let by_shell = typed.contains(|c| FOR_A_SHELL.contains(c));
    (if by_shell { vec!["sh", "-c", typed] } else { typed.split_whitespace().collect() }, by_shell)
}

fn run(ctx: &mut Ctx) -> Outcome {
    let (words, by_shell) = words_of(ctx.word("command"));
    let Some(name) = words.first() else {
        return Err(BenchError::Unsupported("the command is empty".to_owned()));
    };
    let searched = programs::users_path();
    let path = if by_shell { Some(PathBuf::from(SHELL)) } else { programs::find(OsStr::new(name), &searched) };
    let Some(path) = path else {
        return Err(BenchError::Unsupported(format!("there is no program '{name}' in {}", searched.display())));
    };
    let path = path.display().to_string();
    ctx.fact("command.path", &path);
    let command = Command::new(&path, &words).and_then(|command| command.with_path_variable(&searched));
    let command = command.context("naming the command")?;
    let _leash = Leash::new().context("forking a process that ends the command if this one is killed")?;
    let limited = process::limit_tasks(MORE_TASKS).context("limiting the tasks")?;
    ctx.fact("command.tasks_limited", if limited { "yes" } else { "no: the superuser is not bound" });
    let mut runs = 0u64;
    run_silently(|| {
        ctx.measure(|iters| {
            for _ in 0..iters {
                let pid = command.posix_spawn().map_err(|e| BenchError::from_io(&format!("starting {path}"), &e))?;
                let exit = process::wait(pid).context("waiting for the command")?;
                if !exit.success() {
                    return Err(BenchError::Failed(format!("the command {exit}")));
                }
                runs += 1;
            }
            Ok(())
        })
    })?;
    ctx.prove(
        "runs that ended with code 0, per iteration",
        "exactly 1",
        runs as f64 / ctx.iterations() as f64,
        1.0..=1.0,
    );
    Ok(())
}

/// Runs `body` with empty standard input and discarded standard output: the results do not pass
/// through it, and nobody reads the command's output.
fn run_silently(body: impl FnOnce() -> Outcome) -> Outcome {
    let dev_null = File::options().read(true).write(true).open("/dev/null").context("opening /dev/null")?;
    let stdout = io::duplicate(1).context("keeping standard output")?;
    let stdin = io::duplicate(0).context("keeping standard input")?;
    io::redirect(dev_null.as_fd(), 1)
        .and_then(|()| io::redirect(dev_null.as_fd(), 0))
        .context("silencing the command")?;
    let done = body();
    let back = io::redirect(stdout.as_fd(), 1).and_then(|()| io::redirect(stdin.as_fd(), 0));
    done?;
    back.context("giving standard output back")
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::fork;

    /// Where standard input and output lead while a command runs, and afterwards.
    fn streams() -> Result<[[PathBuf; 2]; 3], BenchError> {
        let now = || -> Result<[PathBuf; 2], BenchError> {
            let of = |number: i32| std::fs::read_link(format!("/proc/self/fd/{number}")).context("reading a link");
            Ok([of(0)?, of(1)?])
        };
        let (input, _writes) = io::pipe().context("making a pipe")?;
        let (_reads, output) = io::pipe().context("making a pipe")?;
        io::redirect(input.as_fd(), 0).and_then(|()| io::redirect(output.as_fd(), 1)).context("a pipe for each")?;
        let before = now()?;
        let mut within = before.clone();
        run_silently(|| {
            within = now()?;
            Ok(())
        })?;
        Ok([before, within, now()?])
    }

    /// A command that read the worker's input would take its jobs, and wait for more.
    #[test]
    fn the_streams_of_a_command_are_empty_and_given_back() {
        // In a process of its own: these are the streams of all tests.
        let child = fork::fork(|| {
            let null = || PathBuf::from("/dev/null");
            let as_expected = |[before, within, after]: [[PathBuf; 2]; 3]| {
                within == [null(), null()] && before != within && before == after
            };
            i32::from(!streams().is_ok_and(as_expected))
        });
        assert_eq!(child.expect("fork").wait().expect("wait").code(), Some(0));
    }

    #[test]
    fn a_shell_runs_what_only_a_shell_understands() {
        assert_eq!(words_of(" gzip  -kf data,1 +x %y @z: "), (vec!["gzip", "-kf", "data,1", "+x", "%y", "@z:"], false));
        for special in "|&;<>()$`\"'*?[]#~={}\\\n".chars() {
            let typed = format!("a b{special}c");
            assert_eq!(words_of(&typed), (vec!["sh", "-c", typed.as_str()], true));
        }
    }
}
