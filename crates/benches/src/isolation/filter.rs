//! Filters of system calls: what a call costs behind one, by its length.
//!
//! **Measures:** A `getppid` behind a filter (seccomp) that compares so many times before it allows
//! the call, as the profiles of containers do: they list some hundreds of calls. By what it
//! compares:
//! - `argument`: the filter runs for each call. `comparisons=0` is what any such filter costs.
//! - `number`: the kernel knows once and for all that this number is allowed (Linux 5.11), and does
//!   not run the filter again, however long it is.
//!
//! **Does not measure:** Installing it, or several filters in a row, as containers in containers
//! have: each of them is run. `syscall.getppid` is the call without a filter.
//!
//! **Method:** As `syscall.getppid`, in a worker that has installed the filter before.
//!
//! **Calls:**
//! - no trace of `by`: the kernel reads the filter from memory
//!
//! **Proofs:** The call that the last instruction of the filter denies is denied, so the program
//! was run to its end; the answers are right; every call enters the kernel.
//!
//! **Pitfalls:**
//! - A filter also makes the kernel enter its slow path, whatever the filter says; some kernels
//!   change mitigations for a process that has one (`Speculation_Store_Bypass` in
//!   `/proc/self/status`).
//! - Without a compiler for filters (`net.core.bpf_jit_enable`) each instruction is interpreted.
//!
//! **Sources:** stress-ng (`--seccomp`) installs filters and does not time calls. See
//! docs/methods/operating-system.md#isolation.

use crate::work::{self, ANSWERED};
use groma_harness::prelude::*;
use groma_harness::sys::filter::{Compares, MAX_COMPARISONS, PLANTED, pass_after};
use groma_harness::sys::raw;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "A system call behind a filter, by the filter's length",
        about: about!("filter.rs"),
        iteration: "one getppid",
        params: &[
            Param::count("comparisons", "comparisons before the call is allowed")
                .quick(&["300"])
                .standard(&["0"])
                .full(&["10", "100", "1000", "4000"]),
            Param::word("by", "what the filter compares", &["argument", "number"])
                .quick(&["argument"])
                .standard(&["number"]),
        ],
        tier: Tier::Standard,
        ..Info::new("isolation.filter")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let comparisons = ctx.int("comparisons");
    if comparisons > MAX_COMPARISONS {
        return Err(BenchError::Unsupported(format!("a filter compares {MAX_COMPARISONS} times at most")));
    }
    let compares = if ctx.word("by") == "number" { Compares::Number } else { Compares::Argument };
    let parent = raw::getppid();
    pass_after(comparisons as usize, compares).context("installing a filter")?;
    let jit = std::fs::read_to_string("/proc/sys/net/core/bpf_jit_enable").unwrap_or_default();
    ctx.fact("filter.compiled", if jit.trim() == "0" { "no" } else { "yes" });
    let denied = raw::getpgid(0) == -(PLANTED as isize);
    ctx.prove("the call that the filter's end denies is denied", "1", f64::from(u8::from(denied)), 1.0..=1.0);
    work::checked_calls(ctx, "getppid", ANSWERED, move || raw::getppid() == parent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proofs::testing::in_a_worker;
    use groma_harness::testing::{assert_exceeds, try_out};

    /// Where the filter is not run again, its length does not matter.
    #[test]
    fn a_long_filter_takes_longer_where_it_is_run() {
        let least = |params: [(&'static str, &'static str); 2]| {
            let ended = in_a_worker(move || match try_out(&BENCH, &params, None) {
                Ok(tried) => (tried.least_ns("") / 20.0).clamp(1.0, 250.0) as i32,
                Err(_) => 0,
            });
            f64::from(ended.unwrap_or(0))
        };
        if least([("comparisons", "0"), ("by", "argument")]) == 0.0 {
            return println!("skipped: no filters");
        }
        assert_exceeds(1.5, || {
            least([("comparisons", "4000"), ("by", "argument")]) / least([("comparisons", "0"), ("by", "argument")])
        });
    }

    #[test]
    fn a_filter_that_is_too_long_is_refused() {
        let refused = try_out(&BENCH, &[("comparisons", "4092")], None).expect_err("too long");
        assert!(matches!(refused, BenchError::Unsupported(_)), "{refused}");
    }
}
