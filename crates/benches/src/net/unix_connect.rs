//! Making a connection between Unix sockets: `connect` alone.
//!
//! Measures the one call to a socket that listens under a name in no directory (`name=abstract`) or in a file system
//! (`name=path`, which adds the look-up). Does not measure making the socket, accepting, closing, or the wake-up of a server.
//!
//! Method: a connect returns as soon as it is in the other's queue; so one task holds both ends, and nobody is woken. As many
//! sockets as fit well below the shortest backlog are made, connected in one timed stretch, then accepted and closed.
//!
//! Proofs: as many connections are accepted as were made.
//!
//! Traps: a full queue makes `connect` sleep (lmbench `lat_unix_connect` accepts in another process, and measures its scheduler); a
//! fixed name in /tmp, which others own. The name here is random, below the work directory, and removed.
//!
//! Source: lmbench3 `lat_unix_connect`.

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
        lineage: &["lmbench3:lat_unix_connect"],
        tier: Tier::Standard,
        needs: &[Need::WorkDirFor { param: "name", values: &["path"] }],
        ..Info::new("net.unix_connect")
    },
    run: Run::Here(run),
};

/// Connections that wait at once, where `net.core.somaxconn` allows (128 or more unless changed): one more would wait for ever.
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
    // Nothing is left to be accepted, either.
    let idle = f64::from(u8::from(!socket::is_ready(&listener)));
    ctx.prove("the queue is empty", "1", idle, 1.0..=1.0);
    Ok(())
}
