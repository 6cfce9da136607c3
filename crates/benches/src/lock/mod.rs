//! Uncontended locks, semaphores and counters; contended ones are in `ipc`.
//!
//! See docs/methods/operating-system.md#locks.

use groma_harness::Benchmark;
use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Say, Select};
use groma_harness::prelude::*;
use groma_harness::sys::file_lock::Kind;
use std::fs::File;

mod futex;
mod mutex;
mod posix_sem;
mod sysv_sem;
mod eventfd;
mod file;

pub(crate) static ABOUT: Family = Family {
    name: "lock",
    summary: "Uncontended locks, semaphores and counters",
    says: Say::Text("an uncontended lock and unlock takes {}", &[Figure::Range(Select::AllBut(&[]))]),
    rows: &[],
};

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
