//! Receiving messages through io_uring, beside the system calls that do the same.
//!
//! **Measures:** A message of 64 bytes that a Unix socket brings: written, and received by the same
//! thread, so that nothing waits. By `kind`:
//! - `multishot`: one operation receives all messages (Linux 6.0).
//! - `single`: one operation each.
//!
//! In both the kernel chooses the buffer from a ring of free ones. `.recv` is the same message by
//! `write` and `read`, and `.net` what the rings cost more, or, below zero, less.
//!
//! **Does not measure:** Waiting for a message, or many connections (`net.tcp_serve events=uring`).
//!
//! **Method:** Two loops take turns within a round. The writes are the same in both, so the
//! difference is that of receiving. Each message carries its number.
//!
//! **Calls:**
//! - no trace of `kind`: the kernel reads the operations from memory
//!
//! **Proofs:** Every message arrives whole, once and in order. The fact receive.enters says how
//! many calls of `io_uring_enter` a message took: with `multishot` none may be needed, because the
//! kernel does the work of the ring as it returns from the write.
//!
//! **Pitfalls:** One thread with one socket is the best case of `recv`: it knows that there is a
//! message. Who does not know pays for `epoll_wait` as well.
//!
//! **Sources:** The kernel's documentation of `io_uring_enter`. See
//! docs/methods/operating-system.md#io_uring.

use crate::payload;
use crate::rings::rings;
use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::sys::raw;
use groma_harness::sys::unix::{Kind, pair};
use groma_harness::sys::uring::{Event, Receive, Receiver};
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "io_uring: a message written to a socket and received",
        about: about!("receive.rs"),
        iteration: "one message",
        outputs: &[
            Output::MAIN.series("uring"),
            Output::named("recv", "the same message by write and read"),
            Output::named("net", "what the rings cost more than read, or less").difference("uring", "recv"),
        ],
        params: &[Param::word("kind", "how many messages an operation receives", &["multishot", "single"])
            .quick(&["multishot"])
            .standard(&["single"])],
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("uring.receive")
    },
    run: Run::Here(run),
};

/// Bytes of a message.
const SIZE: usize = 64;
/// Buffers that the kernel chooses from: one is in use at a time.
const BUFFERS: u16 = 8;

fn run(ctx: &mut Ctx) -> Outcome {
    let receive = if ctx.word("kind") == "single" { Receive::Single } else { Receive::Multishot };
    let (near, far) = pair(Kind::Stream).context("making a socket pair")?;
    let (near2, far2) = pair(Kind::Stream).context("making a socket pair")?;
    let mut receiver = Receiver::new(rings(4)?, BUFFERS, SIZE, receive).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidInput => {
            BenchError::Unsupported("this kernel does not choose buffers (before Linux 5.19)".to_owned())
        }
        _ => BenchError::from_io("io_uring_register", &error),
    })?;
    receiver.add(far.as_fd());
    let (by_uring, by_recv, entered) = (Done::new(), Done::new(), Done::new());
    let mut uring = |iters| {
        let mut message = [0; SIZE];
        for _ in 0..iters {
            let number = by_uring.count();
            payload::fill(&mut message, number);
            let written = raw::write(near.as_fd(), &message);
            let arrived = loop {
                match receiver.next_event().context("receiving by io_uring")? {
                    Some(Event::Message(arrived)) => break arrived,
                    Some(Event::Readable(_)) => {}
                    None => {
                        receiver.enter().context("io_uring_enter")?;
                        entered.add(1);
                    }
                }
            };
            let right =
                (written, arrived.length) == (SIZE as isize, SIZE) && payload::holds(receiver.bytes(&arrived), number);
            receiver.release(arrived);
            is_right(right)?;
            by_uring.add(1);
        }
        Ok(())
    };
    let recv = |iters| {
        let (mut message, mut room) = ([0; SIZE], [0; SIZE]);
        for _ in 0..iters {
            payload::fill(&mut message, by_recv.count());
            let written = raw::write(near2.as_fd(), &message);
            let read = raw::read(far2.as_fd(), &mut room);
            is_right((written, read) == (SIZE as isize, SIZE as isize) && room == message)?;
            by_recv.add(1);
        }
        Ok(())
    };
    ctx.measure_variants(&mut [Variant::new("uring", &mut uring), Variant::new("recv", recv)])?;
    let credited = ctx.iterations_of("uring");
    work::once_each(ctx, "messages received by io_uring, per message credited", by_uring.count(), credited);
    ctx.fact("receive.enters", format!("{:.2}", entered.count() as f64 / by_uring.count() as f64));
    let credited = ctx.iterations_of("recv");
    work::once_each(ctx, "messages received by read, per message credited", by_recv.count(), credited);
    Ok(())
}

fn is_right(right: bool) -> Outcome {
    if right { Ok(()) } else { Err(BenchError::Failed("a message was lost or another one came".to_owned())) }
}
