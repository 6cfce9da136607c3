//! System calls, made by number through our own instruction, without libc.
//!
//! The `_libc` benchmarks show what libc adds. See
//! docs/methods/operating-system.md#calls-by-number.

use crate::scratch::Scratch;
use crate::work::{self, ANSWERED};
use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Say, first};
use groma_harness::prelude::*;
use groma_harness::sys::raw::StatRoom;
use std::ffi::CStr;
use std::os::fd::BorrowedFd;

mod invalid;
mod getppid;
mod getppid_libc;
mod getpid_libc;
mod read;
mod write;
mod write_libc;
mod fcntl;
mod lseek;
mod dup_close;
mod fstat;
mod fstat_libc;
mod stat;
mod statx;
mod readlink;
mod open_close;

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

pub(crate) const ALL: &[&Benchmark] = listed!("syscall");

/// How many names a path has below an open directory: Ousterhout's `foo` and `a/b/c/foo`.
const DEPTH: Param = Param::count("depth", "names in the path, below an open directory").quick(&["1"]).full(&["4"]);

/// Measures a call that tells the attributes of an empty file by its path, `depth` names long.
fn attributes_by_path(
    ctx: &mut Ctx,
    what: &str,
    ask: impl Fn(BorrowedFd<'_>, &CStr, &mut StatRoom) -> isize,
) -> Outcome {
    let scratch = Scratch::new(ctx)?;
    let name = scratch.file_at_depth(ctx.int(DEPTH.name))?;
    let dir = scratch.dir();
    let mut room = StatRoom::new();
    work::calls::<0>(ctx, what, ANSWERED, || ask(dir, &name, &mut room))?;
    prove_filled(ctx, room.filled());
    Ok(())
}

/// Proves that the kernel has filled the structure.
fn prove_filled(ctx: &mut Ctx, filled: bool) {
    ctx.prove("structures that were filled", "1", f64::from(u8::from(filled)), 1.0..=1.0);
}

/// The most reads and writes of the harness in a round.
const OWN_CALLS: u64 = 64;

/// Proves one read or write per iteration from the kernel's counts; no proof where it does not
/// count.
fn counted_calls(ctx: &mut Ctx, before: Option<u64>, now: Option<u64>) {
    if let (Some(before), Some(now)) = (before, now) {
        // The harness itself reads some files, however few the iterations are: on a slow machine
        // they were 5.3 % of all.
        let (calls, credited) = (now - before, ctx.iterations());
        let own = calls.saturating_sub(credited).min(OWN_CALLS);
        let each = (calls - own) as f64 / credited.max(1) as f64;
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
        assert_eq!(tried.proofs_held(""), [true, false, false, false]);
    }
}
