//! File descriptors passed over a Unix socket (SCM_RIGHTS).
//!
//! **Measures:** A message of one byte that carries `count` descriptors: `sendmsg`, `recvmsg`, and
//! the `close` of each new descriptor, without which a program would run out of them. `.plain` is
//! the same message without descriptors, `.added` the difference.
//!
//! **Does not measure:** Waking the other side (`ipc.unix_rtt`), or what the descriptor is used
//! for.
//!
//! **Method:** One thread has both ends of a socket pair, so nothing waits. The message carries the
//! same open file `count` times, which costs the kernel as much as `count` files: a reference, a
//! check of each for sockets, a free number, an entry in the table.
//!
//! **Proofs:** As many descriptors arrive as were sent, and those of the last message are the file
//! that was sent.
//!
//! **Pitfalls:**
//! - A receiver that does not close them, and does not notice MSG_CTRUNC, loses descriptors.
//! - The kernel's garbage collector of sockets in flight is not involved: no socket is passed.
//!
//! **Sources:** unix(7), cmsg(3); lmbench3 `lat_unix` passes none. See
//! docs/methods/operating-system.md#passing-descriptors.

use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::sys::messages::{Carrier, MAX_DESCRIPTORS};
use groma_harness::sys::splice::memory_file;
use groma_harness::sys::unix::{Kind, pair};
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Passing descriptors over a Unix socket: sent, received, closed",
        about: about!("pass_descriptor.rs"),
        iteration: "one message with its descriptors, sent and received, and these closed",
        outputs: &[
            Output::MAIN.series("passed"),
            Output::named("plain", "the same message without descriptors").detail(),
            Output::named("added", "what the descriptors cost").difference("passed", "plain"),
        ],
        params: &[Param::count("count", "descriptors in the message").quick(&["1"]).full(&["16", "253"])],
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("ipc.pass_descriptor")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let count = ctx.int("count") as usize;
    if count > MAX_DESCRIPTORS {
        return Err(BenchError::Unsupported(format!("a message carries {MAX_DESCRIPTORS} descriptors at most")));
    }
    let (near, far) = pair(Kind::Stream).context("making a pair of sockets")?;
    let file = memory_file().context("making a file in memory")?;
    let all = vec![file.as_fd(); count];
    let (sending, mut receiving) = (Carrier::new(&all), Carrier::new(&all));
    let (sending_plain, mut receiving_plain) = (Carrier::new(&[]), Carrier::new(&[]));
    let (taken, plain) = (Done::new(), Done::new());
    ctx.measure_variants(&mut [
        Variant::new("passed", |iters| {
            let mut seen = 0;
            for _ in 0..iters {
                let both = (sending.send(near.as_fd()), receiving.receive(far.as_fd()));
                let got = receiving.take(drop);
                seen += u64::from(both == (1, 1) && got == count);
            }
            taken.add(seen);
            work::all_gave(iters as isize, seen as isize, "messages with all of their descriptors")
        }),
        Variant::new("plain", |iters| {
            let mut seen = 0;
            for _ in 0..iters {
                let both = (sending_plain.send(near.as_fd()), receiving_plain.receive(far.as_fd()));
                seen += u64::from(both == (1, 1) && receiving_plain.take(drop) == 0);
            }
            plain.add(seen);
            work::all_gave(iters as isize, seen as isize, "messages without descriptors")
        }),
    ])?;
    let credited = [ctx.iterations_of("passed"), ctx.iterations_of("plain")];
    work::once_each(ctx, "messages whose descriptors all arrived, per message credited", taken.count(), credited[0]);
    work::once_each(ctx, "messages without descriptors, per message credited", plain.count(), credited[1]);
    // Once more, and what arrives is looked at.
    let sent = file.metadata().context("fstat")?.ino();
    let both = (sending.send(near.as_fd()), receiving.receive(far.as_fd()));
    let mut same = 0;
    receiving.take(|one| same += usize::from(File::from(one).metadata().is_ok_and(|meta| meta.ino() == sent)));
    ctx.prove("messages of the last exchange", "2", (both.0 + both.1) as f64, 2.0..=2.0);
    ctx.prove("descriptors that are the file that was sent, of those sent", "1", same as f64 / count as f64, 1.0..=1.0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn more_than_the_kernel_takes_are_unsupported() {
        assert!(matches!(try_out(&BENCH, &[("count", "254")], None), Err(BenchError::Unsupported(_))));
        let tried = try_out(&BENCH, &[("count", "253")], None).expect("nothing is needed");
        assert_eq!(tried.proven("descriptors that are the file that was sent, of those sent"), 1.0);
    }
}
