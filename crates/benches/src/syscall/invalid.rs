//! Entering the kernel for nothing: a call whose number does not exist.
//!
//! Measures the purest way in and out: the kernel looks the number up, finds no call and answers `ENOSYS`. Does not measure
//! any work (`syscall.getppid` does the least).
//!
//! Method: many calls in one short interval, by number, each answer looked at. The proof is the same loop in a child cut off
//! from the kernel, where the answer is another one.
//!
//! Traps: sandboxes treat a number that they do not know in a way of its own: a filter may answer `EPERM`, or end the
//! process, and always has to be run, since what the kernel remembers of filters is for numbers that exist; gVisor and
//! tracers take their slowest path. Where anything but `ENOSYS` comes back, somebody other than the kernel has answered, and
//! the round ends as `unsupported`. Filters that answer `ENOSYS` themselves (those of newer container runtimes) cannot be told
//! from the kernel: whether one is in force is a fact of the machine (`security.seccomp`).
//!
//! Source: os-methods 2.1; no other suite has it.

use crate::entry;
use crate::work::{self, Done};
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

/// What the kernel answers: this number on x86, Variant and RISC-V (but not on MIPS, SPARC, Alpha or PA-RISC).
const ENOSYS: isize = 38;

fn run(ctx: &mut Ctx) -> Outcome {
    let done = Done::new();
    let mut body = |iters| {
        let mut right = 0;
        for _ in 0..iters {
            right += u64::from(raw::no_such_call() == -ENOSYS);
        }
        done.add(right);
        if right == iters { Ok(()) } else { Err(answered_by_another(raw::no_such_call())) }
    };
    body(1)?;
    let tried = done.count();
    ctx.measure(&mut body)?;
    work::once_each(ctx, "calls answered as they should be, per call credited", done.count() - tried, ctx.iterations());
    entry::asks_the_kernel(ctx, body);
    Ok(())
}

fn answered_by_another(answer: isize) -> BenchError {
    let answer = match i32::try_from(-answer) {
        Ok(error @ 1..) => std::io::Error::from_raw_os_error(error).to_string(),
        _ => answer.to_string(),
    };
    BenchError::Unsupported(format!(
        "a call that does not exist is not answered by the kernel but by a filter: {answer}"
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
