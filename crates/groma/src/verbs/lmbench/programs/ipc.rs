//! lat_pipe and its like, bw_pipe, bw_unix: two processes on one machine.

use super::super::call::{Call, Outcome, Program, Stop};
use super::super::lines::{micro, rate};
use super::super::measure::{Want, point};
use super::{LOAD, load};

pub(in super::super) static PROGRAMS: &[Program] = &[
    Program {
        name: "lat_pipe",
        usage: load!(""),
        letters: LOAD,
        prints: "Pipe latency: 2.4000 microseconds",
        differs: "the scheduler places the two processes, as there (LMBENCH_SCHED=SINGLE: on one \
                  CPU, as groma run does)",
        native: "groma run ipc.pipe_rtt --param size=1",
        run: lat_pipe,
    },
    Program {
        name: "lat_fifo",
        usage: load!(""),
        letters: LOAD,
        prints: "Fifo latency: 2.4000 microseconds",
        differs: "the scheduler places the two processes, as there (LMBENCH_SCHED=SINGLE: on one \
                  CPU, as groma run does)",
        native: "groma run ipc.fifo_rtt --param size=1",
        run: lat_fifo,
    },
    Program {
        name: "lat_unix",
        usage: "[-m bytes] [-P copies] [-W microseconds] [-N repetitions]",
        letters: "m:P:W:N:",
        prints: "AF_UNIX sock stream latency: 5.0800 microseconds",
        differs: "the scheduler places the two processes, as there (LMBENCH_SCHED=SINGLE: on one \
                  CPU, as groma run does); messages above the socket's buffer pass, where there no \
                  line is printed",
        native: "groma run ipc.unix_rtt --param size=1 --param kind=stream --param socket=pair",
        run: lat_unix,
    },
    Program {
        name: "lat_sem",
        usage: load!(""),
        letters: LOAD,
        prints: "Semaphore latency: 1.2000 microseconds",
        differs: "half a round trip, as there and unlike all other programs; it is no hand-over, \
                  since each side may take what it has just given",
        native: "groma run ipc.sysv_sem_rtt --param semop=both: the whole round trip",
        run: lat_sem,
    },
    Program {
        name: "lat_fcntl",
        usage: load!(""),
        letters: LOAD,
        prints: "Fcntl lock latency: 3.0000 microseconds",
        differs: "half a round trip, as there; three files instead of two, with which a side may \
                  take its own lock again",
        native: "groma run ipc.lock_rtt --param kind=record: the whole round trip",
        run: lat_fcntl,
    },
    Program {
        name: "bw_pipe",
        usage: "[-m message] [-M total] [-P copies] [-W microseconds] [-N repetitions]",
        letters: "m:M:P:W:N:",
        prints: "Pipe bandwidth: 5840.00 MB/sec",
        differs: "bytes that arrived, a mebibyte at a time, so that -M changes nothing; neither \
                  side touches the data, as there; the scheduler places the two processes",
        native: "groma run ipc.pipe_bandwidth --param size=64K: both sides touch every byte, on one CPU",
        run: bw_pipe,
    },
    Program {
        name: "bw_unix",
        usage: "[-m message] [-M total] [-P copies] [-W microseconds] [-N repetitions] [total]",
        letters: "m:M:P:W:N:",
        prints: "AF_UNIX sock stream bandwidth: 7520.00 MB/sec",
        differs: "bytes that arrived; there 10 MiB are credited whatever -M moves, which --strict \
                  repeats; neither side touches the data, as there; the scheduler places the two \
                  processes",
        native: "groma run ipc.unix_bandwidth --param size=64K --param kind=stream: both sides \
                 touch every byte, on one CPU",
        run: bw_unix,
    },
];

/// The largest message: as much as the benchmarks move at once.
const MAX_MESSAGE: u64 = 1 << 20;

fn lat_pipe(call: &mut Call<'_>) -> Outcome {
    round_trip(call, "Pipe latency", Want::of("ipc.pipe_rtt").with("size", 1), 1.0)
}

fn lat_fifo(call: &mut Call<'_>) -> Outcome {
    round_trip(call, "Fifo latency", Want::of("ipc.fifo_rtt").with("size", 1), 1.0)
}

fn lat_unix(call: &mut Call<'_>) -> Outcome {
    let bytes = call.number_of('m', 1, [1, MAX_MESSAGE])?;
    let want = Want::of("ipc.unix_rtt").with("size", bytes).with("kind", "stream").with("socket", "pair");
    round_trip(call, "AF_UNIX sock stream latency", want, 1.0)
}

fn lat_sem(call: &mut Call<'_>) -> Outcome {
    round_trip(call, "Semaphore latency", Want::of("ipc.sysv_sem_rtt").with("semop", "both"), 0.5)
}

fn lat_fcntl(call: &mut Call<'_>) -> Outcome {
    round_trip(call, "Fcntl lock latency", Want::of("ipc.lock_rtt").with("kind", "record"), 0.5)
}

fn round_trip(call: &Call<'_>, label: &str, want: Want, share: f64) -> Outcome {
    call.at_most(0)?;
    let found = point(call, want)?;
    call.line(found.value(call, "").and_then(|seconds| micro(label, seconds * share)));
    Ok(())
}

/// The default size of a message.
const MESSAGE: u64 = 64 << 10;
/// The total of `bw_pipe` and `bw_unix` where none is given.
const TOTAL: u64 = 10 << 20;

fn bw_pipe(call: &mut Call<'_>) -> Outcome {
    call.at_most(0)?;
    total(call.size_of('M', TOTAL)?)?;
    let want = Want::of("ipc.pipe_bandwidth").with("size", message(call)?);
    stream(call, "Pipe bandwidth", want.with("buffer", "default").with("by", "write"), 1.0)
}

fn bw_unix(call: &mut Call<'_>) -> Outcome {
    call.at_most(1)?;
    let bytes = match call.operand(0) {
        Some(text) => call.size(text)?,
        None => call.size_of('M', TOTAL)?,
    };
    total(bytes)?;
    let credited = if call.strict() { TOTAL as f64 / bytes as f64 } else { 1.0 };
    let want = Want::of("ipc.unix_bandwidth").with("size", message(call)?).with("kind", "stream");
    stream(call, "AF_UNIX sock stream bandwidth", want.with("buffer", "default"), credited)
}

/// The size of a message, which a stream takes up to [`MAX_MESSAGE`].
pub(super) fn message(call: &Call<'_>) -> Result<u64, Stop> {
    let bytes = call.size_of('m', MESSAGE)?;
    if bytes == 0 {
        return Err(Stop::Usage("-m: expected 1 byte or more".to_owned()));
    }
    if bytes > MAX_MESSAGE {
        call.tell(&format!("-m: messages of {MAX_MESSAGE} bytes are measured, the largest that one call moves here"));
    }
    Ok(bytes.min(MAX_MESSAGE))
}

fn total(bytes: u64) -> Outcome {
    if bytes == 0 { Err(Stop::Usage("-M: expected 1 byte or more".to_owned())) } else { Ok(()) }
}

fn stream(call: &Call<'_>, label: &str, want: Want, credited: f64) -> Outcome {
    let found = point(call, want.with("touch", "no"))?;
    call.line(found.value(call, "").and_then(|bytes| rate(label, bytes * credited)));
    Ok(())
}
