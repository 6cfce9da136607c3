//! Making a connection between Unix sockets: `connect` alone.
//!
//! **Measures:** One call to a socket that listens under an abstract name (`name=abstract`) or
//! under a path (`name=path`, which adds the path lookup).
//!
//! **Does not measure:** Creating the socket, accepting, closing, or waking a server.
//!
//! **Method:** A connect returns as soon as it is in the listener's queue, so one task holds both
//! ends and nobody is woken. As many sockets as fit well below the shortest backlog are created,
//! connected in one timed stretch, then accepted and closed.
//!
//! **Calls:**
//! - timed: `clock connect clock`; the socket is made before the clock is read
//!
//! **Proofs:** As many connections are accepted as were made.
//!
//! **Pitfalls:**
//! - A full queue makes `connect` sleep: lmbench `lat_unix_connect` accepts in another process, and
//!   measures its scheduling.
//! - A fixed name in /tmp can belong to another user. Here the name is random, below the work
//!   directory, and removed.
//!
//! **Sources:** lmbench3 `lat_unix_connect`. See docs/methods/operating-system.md#tcp-connections.

use crate::scratch::Scratch;
use groma_harness::prelude::*;
use groma_harness::sys::net;
use groma_harness::sys::socket::{self, UnixName};
use std::os::fd::{AsFd, OwnedFd};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Connecting to a Unix socket",
        about: about!("unix_connect.rs"),
        iteration: "one connect",
        params: &[Param::word(
            "name",
            "name of the listening socket: abstract, or a path below the work directory",
            &["abstract", "path"],
        )
        .quick(&["abstract"])],
        tier: Tier::Standard,
        needs: &[Need::WorkDirFor { param: "name", values: &["path"] }],
        ..Info::new("net.unix_connect")
    },
    run: Run::Here(run),
};

/// Connections queued at once, as far as `net.core.somaxconn` allows (128 or more by default). One
/// beyond the backlog would wait for ever.
const AT_ONCE: u64 = 64;

fn run(ctx: &mut Ctx) -> Outcome {
    let scratch = if ctx.word("name") == "path" { Some(Scratch::new(ctx)?) } else { None };
    let name = match &scratch {
        Some(scratch) => UnixName::at(&scratch.path().join("socket"))
            .map_err(|e| BenchError::Unsupported(format!("the work directory's path as a socket's name: {e}")))?,
        None => UnixName::nowhere(&format!("groma-{}-{:016x}", sys::process::id(), ctx.rng().next_u64()))
            .context("naming a socket")?,
    };
    let at_once = net::longest_backlog().map_or(AT_ONCE, |most| AT_ONCE.min(most)).max(1);
    let listener = name.listen(2 * AT_ONCE as u16).context("listening at a Unix socket")?;
    let mut sockets: Vec<OwnedFd> = Vec::with_capacity(AT_ONCE as usize);
    let mut accepted = 0u64;
    let mut connects = |iters: u64, watch: &mut Stopwatch<'_>| -> Outcome {
        for _ in 0..iters {
            sockets.push(UnixName::socket().context("making a Unix socket")?);
        }
        let mut refused = None;
        watch.start();
        for socket in &sockets {
            refused = name.connect(socket.as_fd()).err().or(refused);
        }
        watch.stop();
        if let Some(e) = refused {
            return Err(BenchError::from_io("connecting to a Unix socket", &e));
        }
        for _ in 0..iters {
            drop(socket::accept(listener.as_fd()).context("accepting")?);
            accepted += 1;
        }
        sockets.clear();
        Ok(())
    };
    ctx.measure_variants(&mut [Variant::staged("", &mut connects).max_iters(at_once)])?;
    let each = accepted as f64 / ctx.iterations() as f64;
    ctx.prove("connections accepted per connect", "1", each, 1.0..=1.0);
    // No further connection is queued either.
    let idle = f64::from(u8::from(!socket::is_ready(&listener)));
    ctx.prove("the queue is empty", "1", idle, 1.0..=1.0);
    Ok(())
}
