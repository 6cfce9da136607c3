//! What the kernel lets a program do without entering it.

use groma_harness::prelude::*;

mod clock_gettime;
mod getcpu;

pub(crate) const ALL: &[&Benchmark] = &[&clock_gettime::BENCH, &getcpu::BENCH];

/// The call through libc, and the same by number.
const OUTPUTS: [Output; 2] = [Output::MAIN.series("vdso"), Output::named("syscall", "the same by entering the kernel")];

/// No answer of a loop was an error.
fn answered(what: &str, worst: isize) -> Outcome {
    if worst == 0 { Ok(()) } else { Err(BenchError::Failed(format!("{what} answered {worst}"))) }
}
