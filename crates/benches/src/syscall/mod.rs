//! System calls, made by number through our own instruction, without libc.
//!
//! The `_libc` benchmarks show what libc adds. See
//! docs/methods/operating-system.md#calls-by-number.

use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Say, first};
use groma_harness::prelude::*;

mod dup_close;
mod fstat;
mod fstat_libc;
mod getpid_libc;
mod getppid;
mod getppid_libc;
mod invalid;
mod lseek;
mod open_close;
mod read;
mod stat;
mod write;
mod write_libc;

/// What the family says about itself.
pub(crate) static ABOUT: Family = Family {
    name: "syscall",
    summary: "System calls, and what libc adds to them",
    says: Say::Led(&[
        Say::Text("entering the kernel and leaving it costs {}", &[Figure::Value(first("syscall.getppid"))]),
        Say::Text(
            "; opening and closing a file {} as much",
            &[Figure::Quotient(first("syscall.open_close"), first("syscall.getppid"))],
        ),
    ]),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = &[
    &invalid::BENCH,
    &getppid::BENCH,
    &getppid_libc::BENCH,
    &getpid_libc::BENCH,
    &read::BENCH,
    &write::BENCH,
    &write_libc::BENCH,
    &lseek::BENCH,
    &dup_close::BENCH,
    &fstat::BENCH,
    &fstat_libc::BENCH,
    &stat::BENCH,
    &open_close::BENCH,
];

/// How many names a path has below an open directory: Ousterhout's `foo` and `a/b/c/foo`.
const DEPTH: Param = Param::count("depth", "names in the path, below an open directory").quick(&["1"]).full(&["4"]);

/// The outcome of a loop whose calls should each return `wanted`; `least` is the smallest value
/// that one returned.
fn all_gave(wanted: isize, least: isize, what: &str) -> Outcome {
    if least == wanted {
        Ok(())
    } else if least < 0 {
        Err(BenchError::from_io(what, &std::io::Error::from_raw_os_error(-least as i32)))
    } else {
        Err(BenchError::Failed(format!("{what}: {least} bytes instead of {wanted}")))
    }
}

/// Proves one read or write per iteration from the kernel's counts; no proof where it does not
/// count.
fn counted_calls(ctx: &mut Ctx, before: Option<u64>, now: Option<u64>) {
    if let (Some(before), Some(now)) = (before, now) {
        let each = (now - before) as f64 / ctx.iterations().max(1) as f64;
        // The harness itself reads some files.
        ctx.prove("calls that the kernel counted per iteration", "1.00..1.05", each, 1.0..1.05);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::{stating, try_failing};

    #[test]
    fn calls_that_the_kernel_did_not_count_are_missed() {
        fn run(ctx: &mut Ctx) -> Outcome {
            ctx.probe(1, |iters| {
                (0..iters).for_each(|_| std::hint::spin_loop());
                Ok(())
            })?;
            let credited = ctx.iterations();
            for counted in [credited, credited / 2, 2 * credited, 0] {
                counted_calls(ctx, Some(10), Some(10 + counted));
            }
            ctx.state(1.0);
            Ok(())
        }
        let tried = try_failing(&stating(run), &[], None).expect("a value");
        assert_eq!(tried.held(""), [true, false, false, false]);
        assert!(
            all_gave(1, 0, "a read").is_err() && all_gave(0, -9, "a call").is_err() && all_gave(0, 0, "a call").is_ok()
        );
    }
}
