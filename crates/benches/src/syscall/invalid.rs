//! The bare kernel entry: a system call whose number does not exist.
//!
//! **Measures:** The purest entry and exit: the kernel looks up the number, finds no call and
//! returns `ENOSYS`.
//!
//! **Does not measure:** Any work; `syscall.getppid` does the least.
//!
//! **Method:** Many calls in one short interval, by number, each answer checked. The proof is the
//! same loop in a child cut off from the kernel, where the answer is another one.
//!
//! **Pitfalls:**
//! - Sandboxes treat an unknown number in their own way. A filter may answer `EPERM` or kill the
//!   process, and it always has to run, since the kernel's cache of filter results covers known
//!   numbers only. gVisor and tracers take their slowest path.
//! - Any answer but `ENOSYS` did not come from the kernel, and the round ends as `unsupported`.
//! - A filter that answers `ENOSYS` itself (those of newer container runtimes) cannot be told from
//!   the kernel. Whether one is active is a fact of the machine (`security.seccomp`).
//!
//! **Sources:** No other suite has it. See docs/methods/operating-system.md#calls-by-number.

use crate::work::{self, ANSWERED};
use groma_harness::prelude::*;
use groma_harness::sys::raw;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "System call that does not exist, by number",
        about: about!("invalid.rs"),
        iteration: "one call, answered with ENOSYS",
        tier: Tier::Standard,
        ..Info::new("syscall.invalid")
    },
    run: Run::Here(run),
};

/// The kernel's answer, `-ENOSYS`: this number on x86, Arm and RISC-V (but not on MIPS, SPARC,
/// Alpha or PA-RISC).
const NO_SUCH_CALL: isize = -38;

fn run(ctx: &mut Ctx) -> Outcome {
    match raw::no_such_call() {
        NO_SUCH_CALL => {
            work::checked_calls(ctx, "a call that does not exist", ANSWERED, || raw::no_such_call() == NO_SUCH_CALL)
        }
        answer => Err(answered_by_another(answer)),
    }
}

fn answered_by_another(answer: isize) -> BenchError {
    let answer = match i32::try_from(-answer) {
        Ok(error @ 1..) => std::io::Error::from_raw_os_error(error).to_string(),
        _ => answer.to_string(),
    };
    BenchError::Unsupported(format!(
        "a call that does not exist was answered by a system call filter, not by the kernel: {answer}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_a_filter_is_told() {
        let BenchError::Unsupported(why) = answered_by_another(-1) else { panic!("it is unsupported") };
        assert!(why.contains("os error 1)"), "{why}");
        assert!(matches!(answered_by_another(7), BenchError::Unsupported(why) if why.ends_with(": 7")));
    }
}
