//! Bandwidth of a cached file sent to another process, through a pipe or a Unix socket.
//!
//! **Measures:** The cost of serving a file: the writer sends a part of a file in the page cache,
//! and the reader reads it and looks at every word (not with `touch=no`). The writer never looks at
//! the data, which distinguishes it from `ipc.pipe_bandwidth`. `by` is the way:
//! - `sendfile`.
//! - `splice`, which needs a pipe in between where the reader has a socket.
//! - `read_write`, through a buffer of the writer's own: the copies that the other two avoid.
//!
//! **Does not measure:** The disk, or files larger than the caches.
//!
//! **Method:** A file of 4 MiB, or of one transfer if that is larger, whose parts carry their
//! number in every word, is sent from start to end over and over. The rest is as in
//! `ipc.pipe_bandwidth` (`stream.rs`). The file is in the work directory and has no name while it
//! is used; its file system is a fact of the round.
//!
//! **Calls:**
//! - `by=sendfile to=socket`: `sendfile(`, not `splice(`
//! - `by=splice to=pipe`: `splice(`, not `sendfile(`
//! - `by=read_write to=socket`: `pread64(`, not `splice(`
//! - no trace of `touch`: pages are read or not
//!
//! **Pitfalls:**
//! - The pages sent are those of the page cache, so whoever writes to the file changes data in
//!   flight. Nobody does here.
//! - Bytes that never arrive are counted by a writer, but not by a reader.
//! - File systems differ in which pages they lend.
//!
//! **Sources:** McVoy, "The splice I/O model", 1998; lmbench3 `lat_http` (a server that reads or
//! maps its files). See docs/methods/operating-system.md#streams.

use super::stream::{self, Medium};
use super::unix_bandwidth::PIECE;
use crate::payload::{TOUCH, fill};
use crate::scratch::Scratch;
use groma_harness::prelude::*;
use groma_harness::sys::io::{pipe, write_full};
use groma_harness::sys::socket;
use groma_harness::sys::splice::{pipe_holds, sendfile_full, splice_full};
use groma_harness::sys::unix::{self, Kind};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Bandwidth of a cached file sent to another process",
        about: about!("sendfile_bandwidth.rs"),
        quantity: Quantity::Bandwidth,
        iteration: "1 MiB or more in transfers of that size, each read in full",
        timing: Timing::Each,
        outputs: stream::OUTPUTS,
        params: &[
            // A part of the file; a buffer to write from and one to read into, on each side.
            stream::SIZE.takes(Memory::Files { copies: 1, buffers: 4, in_memory: None, shared: None }),
            Param::word("by", "how the writer transfers a part of the file", &["sendfile", "splice", "read_write"])
                .quick(&["sendfile"]),
            Param::word("to", "what the reader reads from", &["socket", "pipe"]).quick(&["socket"]),
            TOUCH,
        ],
        scaling: stream::SCALING,
        placements: &[Placement::SameCpu, Placement::SameLlc],
        needs: &[Need::WorkDir],
        files: |params| {
            let size = params.int("size").unwrap_or(0);
            size.saturating_mul(parts_of(size as usize) - 1)
        },
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        version: 2,
        ..Info::new("ipc.sendfile_bandwidth")
    },
    run: Run::Here(run),
};

/// Bytes of the file: more than a pipe or a socket holds, yet quickly written in each round.
const FILE: usize = 4 << 20;

/// How many transfers of `size` bytes the file has.
fn parts_of(size: usize) -> u64 {
    (FILE / size.max(1)).max(1) as u64
}

fn run(ctx: &mut Ctx) -> Outcome {
    let size = ctx.int("size") as usize;
    let scratch = Scratch::new(ctx)?;
    let file = scratch.nameless(ctx)?;
    let parts = parts_of(size);
    let mut part = vec![0; size];
    for number in 0..parts {
        fill(&mut part, number);
        file.write_all_at(&part, number * size as u64).context("writing the file")?;
    }
    let (read_end, write_end, holds) = if ctx.word("to") == "pipe" {
        let (read_end, write_end) = pipe().context("making a pipe")?;
        let holds = pipe_holds(write_end.as_fd()).context("asking what the pipe holds")?;
        (read_end, write_end, holds)
    } else {
        let (read_end, write_end) = unix::pair(Kind::Stream).context("making a pair of sockets")?;
        let holds = socket::send_buffer(write_end.as_fd()).context("asking for SO_SNDBUF")? as u64 + PIECE;
        (read_end, write_end, holds)
    };
    let (by, to) = (ctx.word("by"), ctx.word("to"));
    stream::run(ctx, Medium { read_end, write_end, holds }, size, parts, || {
        let file = &file;
        let at = move |number: u64| number * size as u64;
        Ok(match (by, to) {
            ("sendfile", _) => Box::new(move |to, number| sendfile_full(to, file.as_fd(), at(number), size)),
            ("splice", "pipe") => Box::new(move |to, number| splice_full(to, file.as_fd(), Some(at(number)), size)),
            ("splice", _) => {
                let (out, into) = pipe()?;
                let holds = pipe_holds(into.as_fd())? as usize;
                Box::new(move |to, number| {
                    let mut done = 0;
                    while done < size {
                        let now = holds.min(size - done);
                        splice_full(into.as_fd(), file.as_fd(), Some(at(number) + done as u64), now)?;
                        splice_full(to, out.as_fd(), None, now)?;
                        done += now;
                    }
                    Ok(())
                })
            }
            _ => {
                let mut map = stream::buffer(size)?;
                Box::new(move |to, number| {
                    file.read_exact_at(&mut map[..size], at(number))?;
                    write_full(to, &map[..size])
                })
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ipc::stream::tests::assert_measured;
    use crate::scratch::testing::Place;

    /// A single part, sent over and over, would stay in a smaller cache.
    #[test]
    fn the_file_has_as_many_parts_as_fit() {
        for (size, parts) in [(64 << 10, 64), (5000, 838), (1 << 20, 4), (3 << 20, 1), (8 << 20, 1)] {
            assert_eq!(parts_of(size), parts, "{size}");
        }
    }

    #[test]
    fn every_byte_that_counts_came_from_the_file() {
        let place = Place::new();
        for by in ["sendfile", "splice", "read_write"] {
            for (size, to) in [("64K", "socket"), ("5000", "socket"), ("64K", "pipe"), ("1M", "pipe")] {
                let chosen = [("size", size), ("by", by), ("to", to)];
                match assert_measured(&BENCH, &chosen, Some(place.path())) {
                    Ok(_) => {}
                    // Not every file system can lend its pages.
                    Err(BenchError::Unsupported(why)) if by != "read_write" => eprintln!("{chosen:?}: {why}"),
                    Err(stop) => panic!("{chosen:?}: {stop}"),
                }
            }
        }
    }
}
