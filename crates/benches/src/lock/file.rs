//! An uncontended file lock: lock and unlock.
//!
//! **Measures:** Two calls, through the C library, of each kind: a lock of the process on one byte
//! (POSIX record lock), a lock of the open file on one byte, or a lock of the open file on all of
//! it (`flock`).
//!
//! **Does not measure:** Waiting for a lock (`ipc.lock_rtt`), or opening the file.
//!
//! **Method:** Many pairs in one short interval on our own empty file. With `object=shared` the
//! members of a worker group open one file and each lock a byte of it: none ever waits, but all use
//! the file's single list of locks. The proofs are the same loop in a child cut off from the
//! kernel, and that another process finds the lock held exactly while it is.
//!
//! **Calls:**
//! - `kind=record`: `F_SETLKW, {l_type=F_WRLCK`, not `F_OFD_SETLK`
//! - `kind=open-file`: `F_OFD_SETLKW, {l_type=F_WRLCK`, not `flock(`
//! - `kind=flock`: `flock(.., LOCK_EX`, not `F_SETLK`
//!
//! **Pitfalls:**
//! - `flock` has no byte ranges, so members that share a file would wait for each other:
//!   `unsupported`.
//! - Record locks belong to the process, so threads would not exclude each other.
//! - The file system is recorded, since it may implement locks itself.
//!
//! **Sources:** will-it-scale `lock1` and `lock2` (which waits). lmbench3 `lat_fcntl`, with two
//! sides, is `ipc.lock_rtt`. See docs/methods/operating-system.md#locks.

use super::{LOCK_KIND, OBJECT, lock_kind};
use crate::entry;
use crate::scratch::Scratch;
use crate::work::Done;
use groma_harness::prelude::*;
use groma_harness::sys::file_lock::{Kind, LockFile};
use std::io;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Uncontended lock on a file: lock and unlock",
        about: about!("file.rs"),
        iteration: "one lock and one unlock",
        params: &[LOCK_KIND, OBJECT],
        needs: &[Need::WorkDir],
        ..Info::new("lock.file")
    },
    run: Run::Here(run),
};

/// The byte of a shared file that a member of a worker group locks.
fn own_byte(member: u32) -> i64 {
    i64::from(member)
}

fn run(ctx: &mut Ctx) -> Outcome {
    let kind = lock_kind(ctx);
    let scratch = Scratch::new(ctx)?;
    let shared = ctx.word("object") == "shared";
    if shared && kind == Kind::Whole {
        return Err(BenchError::Unsupported("flock has no bytes: members that share a file would wait".to_owned()));
    }
    let path = if shared { ctx.work_dir()?.join("object") } else { scratch.path().join("file") };
    let file = LockFile::open(&path, kind).context("opening a file to lock")?;
    let byte = own_byte(ctx.member());
    let done = Done::new();
    let mut body = |iters| {
        for _ in 0..iters {
            file.lock(byte).context("locking the file")?;
            file.unlock(byte).context("unlocking the file")?;
            done.add(1);
        }
        Ok(())
    };
    ctx.measure(&mut body)?;
    done.prove(ctx, "locks taken and given back, per lock credited");
    entry::asks_the_kernel(ctx, &mut body);
    excludes(ctx, &file, || LockFile::open(&path, kind)?.is_held_by_another(byte))
}

/// Proves that another process finds the lock held exactly while it is.
fn excludes(ctx: &mut Ctx, file: &LockFile, look: impl Fn() -> io::Result<bool>) -> Outcome {
    // Threads must not fork, and the processes of a worker group run the same code as a lone
    // worker.
    if ctx.workers() > 1 || sys::thread::count() > 1 {
        return Ok(());
    }
    let seen = |ctx: &Ctx| -> Result<i32, BenchError> {
        let child = ctx.fork_peer(&[], || look().map_or(-1, i32::from))?;
        Ok(child.wait().context("waiting for another process")?.code().unwrap_or(-1))
    };
    file.lock(0).context("locking the file")?;
    let held = seen(ctx)?;
    file.unlock(0).context("unlocking the file")?;
    let free = seen(ctx)?;
    ctx.prove("locks that another process found held", "1", f64::from(held), 1.0..=1.0);
    ctx.prove("locks that another process found held afterwards", "0", f64::from(free), 0.0..=0.0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::scratch::testing::Place;
    use groma_harness::model::WorkerKind;
    use groma_harness::testing::try_group;

    /// Members that lock the same byte wait for each other, and each lock is still one.
    #[test]
    fn each_member_has_a_byte_of_its_own() {
        assert_eq!([0, 1, 5].map(own_byte), [0, 1, 5]);
    }

    #[test]
    fn a_worker_group_shares_a_file_but_not_by_flock() {
        let place = Place::new();
        let share = |kind| {
            let chosen = [("kind", kind), ("object", "shared")];
            try_group(&BENCH, &chosen, Some(place.path()), 2, WorkerKind::Processes)
        };
        for kind in ["record", "open-file"] {
            assert!(share(kind).expect("a worker group").samples("") >= 1);
        }
        let threads = [("object", "private")];
        for members in [1, 2] {
            let alike = try_group(&BENCH, &threads, Some(place.path()), members, WorkerKind::Threads);
            assert!(alike.expect("a worker group").samples("") >= 1);
        }
        std::fs::remove_file(place.path().join("object")).expect("the object that was shared");
        assert!(share("flock").is_err());
        place.clear();
    }
}
