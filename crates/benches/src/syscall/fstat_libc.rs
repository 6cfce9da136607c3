//! Reading a file's attributes by descriptor through libc's `fstat`.
//!
//! **Measures:** What `syscall.fstat` measures, plus what the library adds. Since 2.33 glibc calls
//! `newfstatat` with an empty path, which the kernel has to fetch and check, and the wrapper's
//! `ret` comes on top. Where the library calls `fstat` itself (musl), only the `ret` is added.
//!
//! **Does not measure:** The kernel's work alone (`syscall.fstat`), or finding a file by its path
//! (`syscall.stat`).
//!
//! **Method:** As `syscall.fstat`, through one wrapper and nothing else. The proof is the same loop
//! in a child cut off from the kernel.
//!
//! **Pitfalls:** Tools that time the wrapper and call it the system call. The file system is
//! recorded.
//!
//! **Sources:** lmbench3 `lat_syscall fstat`, which times the wrapper. See
//! docs/methods/operating-system.md#calls-by-number.

use super::prove_filled;
use crate::scratch::Scratch;
use crate::work::{ANSWERED, Done, least_of, measure_calls};
use groma_harness::prelude::*;
use groma_harness::sys::libc_calls::{self, StatRoom};
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "fstat of an open file through libc",
        about: about!("fstat_libc.rs"),
        iteration: "one fstat",
        needs: &[Need::WorkDir],
        tier: Tier::Standard,
        ..Info::new("syscall.fstat_libc")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let scratch = Scratch::new(ctx)?;
    let file = std::fs::File::create_new(scratch.path().join("f")).context("making a file")?;
    let mut room = StatRoom::new();
    let done = Done::new();
    measure_calls(ctx, ANSWERED, &done, |iters| {
        let (least, right) = least_of(iters, 0, || libc_calls::fstat(file.as_fd(), &mut room));
        done.add(right);
        // The wrapper returns -1; the error is in errno.
        if least == 0 { Ok(()) } else { Err(BenchError::from_io("fstat", &std::io::Error::last_os_error())) }
    })?;
    prove_filled(ctx, room.filled());
    Ok(())
}
