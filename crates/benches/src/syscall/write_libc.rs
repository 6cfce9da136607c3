//! The shortest `write` as a C program makes it: to /dev/null, through libc's wrapper.
//!
//! **Measures:** `syscall.write` and the wrapper around it: what the paper of 1996 calls the null
//! system call. glibc's
//! `write` also looks whether the process has threads, since it is a point where a thread can be
//! cancelled.
//!
//! **Does not measure:** Copying data: /dev/null does not look at the bytes.
//!
//! **Method:** As `syscall.write`, through one wrapper and nothing else. The paper of 1996 writes a
//! word (`bytes=4`), lmbench 3 one byte. The proofs are the kernel's own count of writes, one per
//! iteration, and the same loop in a child cut off from the kernel.
//!
//! **Pitfalls:** A file that failed to open, whose error is answered faster (lmbench does not check
//! its open).
//!
//! **Sources:** lmbench 1996 table 7; lmbench3 `lat_syscall write`. See
//! docs/methods/operating-system.md#calls-by-number.

use super::counted_calls;
use crate::work::{Done, all_gave, least_of, measure_calls};
use groma_harness::prelude::*;
use groma_harness::sys::counters::io_calls;
use groma_harness::sys::libc_calls;
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "write of a byte or a word to /dev/null through libc",
        about: about!("write_libc.rs"),
        needs: &[Need::File("/dev/null")],
        iteration: "one write",
        params: &[Param::count("bytes", "bytes of a write, up to 4096").quick(&["1"]).full(&["4"])],
        tier: Tier::Standard,
        ..Info::new("syscall.write_libc")
    },
    run: Run::Here(run),
};

/// What is written, or the beginning of it.
static BYTES: [u8; 4096] = [0; 4096];

fn run(ctx: &mut Ctx) -> Outcome {
    let wanted = ctx.int("bytes");
    let Some(bytes) = BYTES.get(..wanted as usize) else {
        return Err(BenchError::Unsupported(format!(
            "a write is of no more than {} bytes, not of {wanted}",
            BYTES.len()
        )));
    };
    let wanted = wanted as isize;
    let null = std::fs::File::options().write(true).open("/dev/null").context("opening /dev/null")?;
    let fd = null.as_fd();
    let before = io_calls();
    let done = Done::new();
    measure_calls(ctx, "writes that took all bytes, per write credited", &done, |iters| {
        let (least, right) = least_of(iters, wanted, || libc_calls::write(fd, bytes));
        done.add(right);
        // The wrapper returns -1; the error is in errno.
        if least < 0 {
            return Err(BenchError::from_io("writing to /dev/null", &std::io::Error::last_os_error()));
        }
        all_gave(wanted, least, "writing to /dev/null")
    })?;
    counted_calls(ctx, before.map(|c| c.1), io_calls().map(|c| c.1));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn too_much_is_refused() {
        assert!(matches!(try_out(&BENCH, &[("bytes", "4097")], None), Err(BenchError::Unsupported(_))));
    }
}
