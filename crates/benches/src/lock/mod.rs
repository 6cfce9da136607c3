//! Locks, semaphores, counters, condition variables and barriers, without and with somebody who
//! waits.
//!
//! See docs/methods/operating-system.md#locks.

use groma_harness::Benchmark;
use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Say, Select, first_with};
use groma_harness::prelude::*;
use groma_harness::sys::file_lock::Kind;
use std::fs::File;

mod futex;
mod mutex;
mod posix_sem;
mod sysv_sem;
mod eventfd;
mod file;
mod contended;
mod rwlock;
mod condition;
mod barrier;

mod contest;
mod members;
mod tally;
mod turns;

pub(crate) static ABOUT: Family = Family {
    name: "lock",
    summary: "Locks, semaphores and counters, uncontended and contended",
    says: Say::Each(&[
        Say::Text("an uncontended lock and unlock takes {}", &[Figure::Range(Select::AllBut(CONTENDED))]),
        Say::Text(
            "a mutex that another thread waits for is handed over in {}",
            &[Figure::Value(first_with("lock.contended.handover", &[("kind", "mutex"), ("task", "thread")]))],
        ),
    ]),
    rows: &[],
};

/// Benchmarks whose members wait for each other.
const CONTENDED: &[&str] = &["lock.contended", "lock.rwlock", "lock.condition", "lock.barrier"];

pub(crate) const ALL: &[&Benchmark] = listed!("lock");

/// Whose lock it is.
pub(crate) const LOCK_KIND: Param = Param::word(
    "kind",
    "lock of a process or of an open file on a byte (fcntl), or on the whole file (flock)",
    &["record", "open-file", "flock"],
)
.quick(&["record"]);

/// The kind of lock that the parameter names.
pub(crate) fn lock_kind(ctx: &Ctx) -> Kind {
    match ctx.word("kind") {
        "record" => Kind::Record,
        "open-file" => Kind::OpenFile,
        _ => Kind::Whole,
    }
}

/// Whether the members of a worker group have an object each or one together.
const OBJECT: Param =
    Param::word("object", "one for each member of a worker group, or one shared by all", &["private", "shared"])
        .quick(&["private"]);

/// The file that the members of a worker group share with `object=shared`; it is removed with the
/// round.
fn shared_file(ctx: &Ctx) -> Result<Option<File>, BenchError> {
    if ctx.word("object") == "private" {
        return Ok(None);
    }
    let path = ctx.work_dir()?.join("object");
    let file = File::options().read(true).write(true).create(true).truncate(false).open(path);
    file.map(Some).context("opening the file that the worker group shares")
}
