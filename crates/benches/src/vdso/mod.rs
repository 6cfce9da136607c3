//! What the kernel lets a program do without entering it.

use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Say, first};
use groma_harness::prelude::*;

mod clock_gettime;
mod getcpu;

/// What the family says about itself.
pub(crate) static ABOUT: Family = Family {
    name: "vdso",
    summary: "What the kernel lets a program do without entering it",
    says: Say::Text(
        "reading the clock without entering the kernel costs {}",
        &[Figure::Value(first("vdso.clock_gettime"))],
    ),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = &[&clock_gettime::BENCH, &getcpu::BENCH];

/// The call through libc, and the same by number.
const OUTPUTS: [Output; 2] = [
    Output { derivation: Derivation::Series("vdso"), ..Output::MAIN },
    Output {
        suffix: "syscall",
        summary: "the same by entering the kernel",
        derivation: Derivation::Series("syscall"),
        quantity: None,
        detail: false,
    },
];

/// No answer of a loop was an error.
fn answered(what: &str, worst: isize) -> Outcome {
    if worst == 0 { Ok(()) } else { Err(BenchError::Failed(format!("{what} answered {worst}"))) }
}
