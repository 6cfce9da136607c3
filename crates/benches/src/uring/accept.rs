//! Accepting a TCP connection through io_uring, beside the system call.
//!
//! **Measures:** A connection over the loopback, from before `connect` until a ring has brought the
//! descriptor of the other end. By `kind`:
//! - `multishot`: one operation accepts all connections (Linux 5.19).
//! - `single`: one operation each, submitted by the call that waits for it.
//!
//! `.accept` is the same connection by `connect` and `accept4`, and `.net` what the ring costs
//! more, or, below zero, less.
//!
//! **Does not measure:** Creating the sockets, closing them, or waking a server that waits
//! (`net.tcp_crr`, `net.tcp_dispatch`).
//!
//! **Method:** One task has both ends, as in `net.tcp_accept`: a connection is established by
//! `connect` alone and waits in the listener's queue. The two loops take turns, each with its own
//! listener. Sockets are created before and closed after (by a reset) with the watch stopped.
//!
//! **Calls:**
//! - no trace of `kind`: the kernel reads the operations from memory
//!
//! **Proofs:** Each connection is established, and what was accepted is the connection that was
//! just made. The fact accept.enters says how many calls of `io_uring_enter` a connection took:
//! with `multishot` none may be needed, because the kernel does the work of the ring as it returns
//! from `connect`.
//!
//! **Pitfalls:** As in `uring.receive`, one task that knows of the connection is the best case of
//! the system call.
//!
//! **Sources:** The kernel's documentation of `io_uring_enter`. See
//! docs/methods/operating-system.md#io_uring.

use crate::net::{BACKLOG, Timed, connect_and_accept};
use crate::peer::Family;
use crate::rings::rings;
use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::sys::socket;
use groma_harness::sys::uring::{Accept, Acceptor};
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "io_uring: a TCP connection made and accepted",
        about: about!("accept.rs"),
        iteration: "one connect and one accept",
        timing: Timing::Each,
        outputs: &[
            Output::MAIN.series("uring"),
            Output::named("accept", "the same connection by connect and accept4"),
            Output::named("net", "what the ring costs more than accept4, or less").difference("uring", "accept"),
        ],
        params: &[Param::word("kind", "how many connections an operation accepts", &["multishot", "single"])
            .quick(&["multishot"])
            .standard(&["single"])],
        needs: &[Need::Loopback],
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("uring.accept")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let accept = if ctx.word("kind") == "single" { Accept::Single } else { Accept::Multishot };
    let listen = || socket::listen(Family::V4.loopback(), BACKLOG).context("listening on the loopback");
    let (by_ring, by_call) = (listen()?, listen()?);
    let mut acceptor = Acceptor::new(rings(4)?, by_ring.as_fd(), accept);
    if accept == Accept::Multishot {
        acceptor.enter(0).context("io_uring_enter")?;
    }
    let (rung, called, entered) = (Done::new(), Done::new(), Done::new());
    let by_ring_once = || loop {
        if let Some(connection) = acceptor.next_connection().map_err(|e| refusal(&e))? {
            return Ok(connection);
        }
        acceptor.enter(1).context("io_uring_enter")?;
        entered.add(1);
    };
    let by_call_once = || socket::accept(by_call.as_fd()).context("accepting");
    ctx.measure_variants(&mut [
        connecting("uring", &by_ring, &rung, by_ring_once),
        connecting("accept", &by_call, &called, by_call_once),
    ])?;
    ctx.fact("accept.enters", format!("{:.2}", entered.count() as f64 / rung.count().max(1) as f64));
    let credited = ctx.iterations_of("uring");
    work::once_each(ctx, "connections accepted by io_uring, per connection credited", rung.count(), credited);
    let credited = ctx.iterations_of("accept");
    work::once_each(ctx, "connections accepted by accept4, per connection credited", called.count(), credited);
    Ok(())
}

/// Makes connections to the listener, one at a time, and has each accepted.
fn connecting<'a>(
    name: &'static str,
    listener: &'a TcpListener,
    right: &'a Done,
    mut accept: impl FnMut() -> Result<OwnedFd, BenchError> + 'a,
) -> Variant<'a> {
    Variant::staged(name, move |iters, watch| {
        let to = listener.local_addr().context("asking for the port")?;
        for _ in 0..iters {
            let (is_right, _) = connect_and_accept(to, Timed::Both, watch, &mut accept)?;
            right.add(u64::from(is_right));
        }
        Ok(())
    })
}

fn refusal(error: &io::Error) -> BenchError {
    match error.kind() {
        io::ErrorKind::InvalidInput => {
            BenchError::Unsupported("this kernel's io_uring does not accept so (before Linux 5.19)".to_owned())
        }
        _ => BenchError::Failed(format!("accepting: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn each_connection_is_accepted_in_both_ways() {
        for kind in ["multishot", "single"] {
            let tried = match try_out(&BENCH, &[("kind", kind)], None) {
                Err(BenchError::Unsupported(why)) => return println!("no rings here: {why}"),
                tried => tried.expect("loopback"),
            };
            for name in ["io_uring", "accept4"] {
                let proof = format!("connections accepted by {name}, per connection credited");
                assert_eq!(tried.proven(&proof), 1.0, "{kind}");
            }
            let enters: f64 = tried.result.fact("accept.enters").expect("told").parse().expect("a number");
            // A single operation is handed over by a call of its own.
            assert!(if kind == "single" { enters == 1.0 } else { enters <= 1.0 }, "{kind}: {enters}");
        }
    }
}
