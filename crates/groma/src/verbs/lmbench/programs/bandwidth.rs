//! bw_mem and stream: bandwidth of memory.

use super::super::call::{Call, Outcome, Program, Stop};
use super::super::lines::{bandwidth, nano, rate};
use super::super::measure::{Want, point, points};
use super::{LOAD, load};
use groma_harness::check_memory;

pub(in super::super) static PROGRAMS: &[Program] = &[
    Program {
        name: "bw_mem",
        usage: load!(" size rd|wr|rdwr|cp|fwr|frd|fcp|bzero|bcopy [conflict]"),
        letters: LOAD,
        prints: "megabytes and MB/s, decimal: 8.39 12345.67",
        differs: "a copied byte counts once, and rd, wr, rdwr and cp touch one word in four and \
                  credit all, as there; both buffers begin a page, also with conflict",
        native: "groma run mem.partial (rd, wr, rdwr, cp: what is touched counts), mem.bandwidth \
                 --param kernel=portable (frd, fwr, fcp) and mem.libc (bzero, bcopy): a copied \
                 byte counts twice there, and the size is that of both buffers",
        run: bw_mem,
    },
    Program {
        name: "stream",
        usage: "[-v 1|2] [-M bytes] [-P copies] [-W microseconds] [-N repetitions]",
        letters: "v:M:P:W:N:",
        prints: "for each loop STREAM copy latency: 1.24 nanoseconds, and STREAM copy bandwidth: \
                 12894.72 MB/sec",
        differs: "the median of all rounds instead of the fastest; the line of add is an addition, \
                  where there it is the sum credited as an addition, which --strict repeats; daxpy \
                  counts as there",
        native: "groma run mem.stream --param store=plain --param size=24M",
        run: stream,
    },
];

/// The smallest size, and the block of which sizes are multiples: what is left is credited there
/// without being touched.
const BLOCK: u64 = 512;

fn bw_mem(call: &mut Call<'_>) -> Outcome {
    const MODES: &str = "rd, wr, rdwr, cp, fwr, frd, fcp, bzero or bcopy";
    let text = call.needed(0, "the size")?;
    let size = call.size(text)?;
    if size < BLOCK {
        return Err(Stop::Usage(format!("'{text}': expected {BLOCK} bytes or more")));
    }
    let mode = call.needed(1, MODES)?;
    call.at_most(3)?;
    // The benchmark, its operation, the buffers that it goes over, and the bytes that it counts for
    // one that is credited.
    let (bench, op, buffers, counted) = match mode {
        "rd" => ("mem.partial", "read", 1, 0.25),
        "wr" => ("mem.partial", "write", 1, 0.25),
        "rdwr" => ("mem.partial", "update", 1, 0.5),
        "cp" => ("mem.partial", "copy", 2, 0.5),
        "frd" => ("mem.bandwidth", "read", 1, 1.0),
        "fwr" => ("mem.bandwidth", "write", 1, 1.0),
        "fcp" => ("mem.bandwidth", "copy", 2, 2.0),
        "bzero" => ("mem.libc", "memset", 1, 1.0),
        "bcopy" => ("mem.libc", "bcopy", 2, 2.0),
        _ => return Err(Stop::Usage(format!("'{mode}': expected {MODES}"))),
    };
    let copies = u64::from(call.copies()?);
    fits(text, size.saturating_mul(buffers).saturating_mul(copies))?;
    let bytes = size / BLOCK * BLOCK * buffers;
    let want = match bench {
        "mem.libc" => Want::of(bench).with("op", op).with("call", "whole").with("buffer", bytes),
        "mem.partial" => Want::of(bench).with("op", op).with("size", bytes),
        _ => Want::of(bench).with("op", op).with("size", bytes).with("kernel", "portable"),
    };
    let found = point(call, want)?;
    call.line(found.value(call, "").and_then(|rate| bandwidth(size, rate / counted)));
    Ok(())
}

/// Refuses memory that is not there.
pub(super) fn fits(text: &str, bytes: u64) -> Outcome {
    check_memory(bytes).map_err(|why| Stop::Usage(format!("'{text}': {why}")))
}

/// A loop: its word, its arrays, and the bytes that lmbench credits for an element.
type Loop = (&'static str, u64, f64);
const STREAM: [Loop; 4] = [("copy", 2, 16.0), ("scale", 2, 16.0), ("add", 3, 24.0), ("triad", 3, 24.0)];
const STREAM2: [Loop; 4] = [("fill", 1, 8.0), ("copy", 2, 16.0), ("daxpy", 2, 24.0), ("sum", 1, 8.0)];

fn stream(call: &mut Call<'_>) -> Outcome {
    /// Bytes of three arrays by default, those of an element, and the fewest elements.
    const TOTAL: u64 = 24_000_000;
    const OF_THREE: u64 = 24;
    const MIN_ELEMENTS: u64 = 1024;
    call.at_most(0)?;
    let (title, loops) = match call.number_of('v', 1, [1, 2])? {
        1 => ("STREAM", STREAM),
        _ => ("STREAM2", STREAM2),
    };
    let elements = call.size_of('M', TOTAL)? / OF_THREE;
    if elements < MIN_ELEMENTS {
        return Err(Stop::Usage(format!("-M: expected {} bytes or more", MIN_ELEMENTS * OF_THREE)));
    }
    let copies = call.copies()?;
    fits("-M", elements.saturating_mul(OF_THREE).saturating_mul(u64::from(copies)))?;
    let measured = |(word, arrays, _): &Loop| {
        let (word, arrays) = if call.strict() && *word == "add" { ("sum", 1) } else { (*word, *arrays) };
        Want::of("mem.stream").with("op", word).with("store", "plain").with("size", elements * 8 * arrays)
    };
    let wants: Vec<Want> = loops.iter().map(measured).collect();
    for ((word, _, credit), found) in loops.iter().zip(points(call, &wants)?.found) {
        let counted = match *word {
            "add" if call.strict() => 8.0,
            _ => *credit,
        };
        let Some(bytes) = found.value(call, "") else { continue };
        // All copies together; the time of an element is that of each.
        let elements_per_second = bytes / counted;
        call.line(nano(&format!("{title} {word} latency"), f64::from(copies) / elements_per_second));
        call.line(rate(&format!("{title} {word} bandwidth"), elements_per_second * credit));
    }
    Ok(())
}
