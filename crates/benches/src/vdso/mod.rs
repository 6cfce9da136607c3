//! What the kernel lets a program do without entering it: the vDSO.
//!
//! See docs/methods/operating-system.md#vdso.

use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Say, first_with};
use groma_harness::prelude::*;

mod clock_gettime;
mod getcpu;

pub(crate) static ABOUT: Family = Family {
    name: "vdso",
    summary: "What the kernel lets a program do without entering it",
    says: Say::Text(
        "reading the clock without entering the kernel costs {}",
        &[Figure::Value(first_with("vdso.clock_gettime", &[("clock", "monotonic")]))],
    ),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = listed!("vdso");

/// The call through libc, and the same by number.
const OUTPUTS: [Output; 2] = [Output::MAIN.series("vdso"), Output::named("syscall", "the same by entering the kernel")];

/// The outcome of a loop whose answers should be 0; `worst` is the smallest.
fn check_answers(what: &str, worst: isize) -> Outcome {
    if worst == 0 { Ok(()) } else { Err(BenchError::Failed(format!("{what} returned {worst}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::testing::without;
    use groma_harness::testing::try_out;

    /// Where the kernel refuses the call, only the loop that makes it by its number fails: the
    /// other one never asks.
    #[test]
    fn the_call_by_number_enters_the_kernel() {
        const EPERM: i32 = 1;
        for (&bench, call) in ALL.iter().zip(["clock_gettime", "getcpu"]) {
            match without(&[call], EPERM, move || try_out(bench, &[], None).map(|_| ())) {
                None => return println!("skipped: the kernel has no filters"),
                Some(Err(BenchError::Unsupported(why))) => println!("skipped {call}: {why}"),
                Some(tried) => assert_eq!(tried, Err(BenchError::Failed(format!("{call} returned -{EPERM}")))),
            }
        }
    }
}
