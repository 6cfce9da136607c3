//! Writing to a file that is watched, and being told of it.
//!
//! **Measures:** A `write` of one byte to a cached file and the `read` of the event that it makes,
//! by `inotify` or `fanotify`. `.plain` is the same write to a file that nobody watches, `.added`
//! what the watch costs: the event made, queued, and read.
//!
//! **Does not measure:** Waking a process that waits for events (`sched.wakeup`), watches of whole
//! directories or file systems, or fanotify's permission events, which wait for an answer.
//!
//! **Method:** One thread writes and reads, so nothing waits. Each write is at the start of the
//! file. The watched and the plain file are measured in turn.
//!
//! **Proofs:** Each write is told once: an event is there to be read after each, and none is left
//! in the end.
//!
//! **Pitfalls:**
//! - The kernel joins an event with an equal one that is still unread, so writes without reads in
//!   between would cost less.
//! - A fanotify event that carries an open descriptor costs an `open` and a `close` more; here it
//!   carries the file's identity, as ordinary users may ask for.
//!
//! **Sources:** inotify(7), fanotify(7); stress-ng `--inotify` and `--fanotify` count operations
//! per second. See docs/methods/operating-system.md#watches.

use crate::scratch::Scratch;
use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::sys::raw;
use groma_harness::sys::watch::Watch;
use std::fs::File;
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Writing to a watched file and reading the event",
        about: about!("watch.rs"),
        iteration: "one write to the watched file, and the read of its event",
        outputs: &[
            Output::MAIN.series("watched"),
            Output::named("plain", "the same write to a file that nobody watches").detail(),
            Output::named("added", "what the watch costs").difference("watched", "plain"),
        ],
        params: &[Param::word("by", "how the file is watched", &["inotify", "fanotify"]).quick(&["inotify"])],
        needs: &[Need::WorkDir],
        files: |_| 8192,
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("file.watch")
    },
    run: Run::Here(run),
};

/// Bytes for an event: of inotify 16, of fanotify 24 and the identity of the file.
const EVENT: usize = 256;

fn run(ctx: &mut Ctx) -> Outcome {
    let scratch = Scratch::apart(ctx)?;
    let open = |name: &str| -> Result<File, BenchError> {
        let path = scratch.path().join(name);
        std::fs::write(&path, b"x").context("making a file")?;
        File::options().write(true).open(&path).context("opening a file")
    };
    let (watched, plain) = (open("watched")?, open("plain")?);
    let path = scratch.path().join("watched");
    let watch = match ctx.word("by") {
        "fanotify" => Watch::fanotify(&path).context("watching a file by fanotify"),
        _ => Watch::inotify(&path).context("watching a file by inotify"),
    }?;
    let mut event = [0; EVENT];
    let (told, written) = (Done::new(), Done::new());
    ctx.measure_variants(&mut [
        Variant::new("watched", |iters| {
            let seen = work::right_of(iters, || {
                raw::pwrite(watched.as_fd(), b"y") == 1 && raw::read(watch.as_fd(), &mut event) > 0
            });
            told.add(seen);
            all(iters, seen, "writes to a watched file of which an event told")
        }),
        Variant::new("plain", |iters| {
            let seen = work::right_of(iters, || raw::pwrite(plain.as_fd(), b"y") == 1);
            written.add(seen);
            all(iters, seen, "writes to a plain file")
        }),
    ])?;
    work::once_each(ctx, "events read per write credited", told.count(), ctx.iterations_of("watched"));
    work::once_each(ctx, "plain writes per write credited", written.count(), ctx.iterations_of("plain"));
    let mut left = [0; EVENT];
    let more = raw::read(watch.as_fd(), &mut left) > 0;
    ctx.prove("events that are left", "0", f64::from(u8::from(more)), 0.0..=0.0);
    Ok(())
}

fn all(wanted: u64, seen: u64, what: &str) -> Outcome {
    if seen == wanted { Ok(()) } else { Err(BenchError::Failed(format!("{seen} of {wanted} {what}"))) }
}
