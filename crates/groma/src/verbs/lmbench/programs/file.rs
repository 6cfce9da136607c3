//! lat_fs, lat_mmap, lat_pagefault, bw_file_rd, bw_mmap_rd, lat_select: files and descriptors.
//!
//! Files that are named must be there and long enough; what is measured is a file of groma's own on
//! the same file system. lmbench credits whatever was asked for, read or not, and `lat_mmap` writes
//! into the user's file.

use super::super::call::{Call, Outcome, Program, Stop};
use super::super::lines::{bandwidth, megabytes_micro, micro};
use super::super::measure::{Want, point, points};
use groma_harness::sys::pages::page_size;
use groma_harness::sys::ready::SELECT_LIMIT;

pub(in super::super) static PROGRAMS: &[Program] = &[
    Program {
        name: "lat_fs",
        usage: "[-s size] [-n files] [-P copies] [-W microseconds] [-N repetitions] [directory]",
        letters: "s:n:P:W:N:",
        prints: "for 0, 1, 4 and 10 KB, separated by tabs: 0k, how many, creations per second, \
                 deletions per second",
        differs: "one directory with as many files as -n says, which does not grow with the speed \
                  of the machine; errors are errors; the operand names the directory, whatever \
                  TMPDIR says",
        native: "groma run file.create_delete --param entries=100 --param order=batch: seconds \
                 instead of rates",
        run: lat_fs,
    },
    Program {
        name: "lat_mmap",
        usage: "[-r] [-C] [-P copies] [-W microseconds] [-N repetitions] size file",
        letters: "rCP:W:N:",
        prints: "megabytes and microseconds: 1.048576 55",
        differs: "a scratch file, whose other pages are holes; -r stores where it would without it, \
                  and there every 160 KiB of all",
        native: "groma run vm.map --param backing=file --param touch=tenth",
        run: lat_mmap,
    },
    Program {
        name: "lat_pagefault",
        usage: "[-C] [-P copies] [-W microseconds] [-N repetitions] file",
        letters: "CP:W:N:",
        prints: "Pagefaults on FILE: 0.1500 microseconds",
        differs: "as there it is a page of a file from its mapping to its unmapping, and a fault \
                  brings many of them; 4 MiB of a file in order, there all of it in random order, \
                  which takes longer beyond the caches; mmap itself, 1 %, is not taken off",
        native: "groma run vm.map --param backing=file --param touch=all (all pages); one fault \
                 alone is vm.fault --param kind=file_minor",
        run: lat_pagefault,
    },
    Program {
        name: "bw_file_rd",
        usage: "[-C] [-P copies] [-W microseconds] [-N repetitions] size open2close|io_only file",
        letters: "CP:W:N:",
        prints: "megabytes and MB/s, decimal: 8.39 12345.67",
        differs: "bytes that were read; there what was asked for is credited. Without -C copies \
                  share a file, as there",
        native: "groma run file.reread --param mode=read_sum or open_close --param block=64K",
        run: bw_file_rd,
    },
    Program {
        name: "bw_mmap_rd",
        usage: "[-C] [-P copies] [-W microseconds] [-N repetitions] size open2close|mmap_only file",
        letters: "CP:W:N:",
        prints: "megabytes and MB/s, decimal: 8.39 12345.67",
        differs: "without -C copies share a file, as there; of sizes above 64 KiB whole blocks of \
                  64 KiB are read",
        native: "groma run file.mmap_reread --param mode=mapped or open_close",
        run: bw_mmap_rd,
    },
    Program {
        name: "lat_select",
        usage: "[-n descriptors] [-P copies] [-W microseconds] [-N repetitions] file|tcp",
        letters: "n:P:W:N:",
        prints: "Select on 100 fd's: 2.8900 microseconds, or Select on 100 tcp fd's:",
        differs: "different descriptors that can be read, instead of duplicates of one that can be \
                  written; all of them are looked at, and beyond 1023 they are refused; file has \
                  event counters, the cheapest to ask",
        native: "groma run ready.select --param count=N --param kind=tcp or eventfd --param ready=all",
        run: lat_select,
    },
];

/// The smallest size of bw_file_rd, a word to be added up, and of bw_mmap_rd.
const MIN_READ: u64 = 8;
const MIN_MAPPED: u64 = 512;
/// The block of bw_file_rd.
const BLOCK: u64 = 64 << 10;

fn lat_fs(call: &mut Call<'_>) -> Outcome {
    /// A file of this size is larger than any that the directory should hold a hundred of.
    const LARGE_FILE: u64 = 64 << 20;
    let sizes = match call.words.value('s') {
        Some(_) => vec![call.size_of('s', 0)?],
        None => vec![0, 1024, 4096, 10240],
    };
    if sizes.iter().any(|size| *size > LARGE_FILE) {
        return Err(Stop::Usage(format!("-s: expected at most {LARGE_FILE} bytes")));
    }
    let entries = call.number_of('n', 100, [1, 1000])?;
    call.at_most(1)?;
    if let Some(dir) = call.operand(0).map(str::to_owned) {
        let is = std::fs::metadata(&dir).map_err(|e| Stop::Missing(format!("{dir}: {e}")))?;
        if !is.is_dir() {
            return Err(Stop::Missing(format!("{dir}: is not a directory")));
        }
        call.work_dir = Some(dir.into());
    }
    let want = |size: &u64| Want::of("file.create_delete").with("size", size).with("entries", entries);
    let wants: Vec<Want> =
        sizes.iter().map(|size| want(size).with("order", "batch").with("where", "work_dir")).collect();
    for (size, found) in sizes.iter().zip(points(call, &wants)?.found) {
        let [create, delete] = [found.value(call, ""), found.value(call, "delete")];
        let Some((create, delete)) = create.zip(delete) else { continue };
        let n = found.record("").map_or(0, |record| record.samples);
        call.line(Some(format!("{}k\t{n}\t{:.0}\t{:.0}", size / 1024, 1.0 / create, 1.0 / delete)));
    }
    Ok(())
}

fn lat_mmap(call: &mut Call<'_>) -> Outcome {
    /// Twice ten times the bytes between two stores.
    const LEAST: u64 = 320 << 10;
    let text = call.needed(0, "the size")?;
    let size = call.size(text)?;
    let file = call.needed(1, "the file")?.to_owned();
    call.at_most(2)?;
    if size < LEAST {
        return Err(Stop::Silent(format!("'{text}': expected {LEAST} bytes or more")));
    }
    call.file(&file, size)?;
    call.beside(&file)?;
    let mapped = size / page_size() as u64 * page_size() as u64;
    let found = point(call, Want::of("vm.map").with("size", mapped).with("backing", "file").with("touch", "tenth"))?;
    call.line(found.value(call, "").and_then(|seconds| megabytes_micro(size, seconds)));
    Ok(())
}

fn lat_pagefault(call: &mut Call<'_>) -> Outcome {
    let file = call.needed(0, "the file")?.to_owned();
    call.at_most(1)?;
    call.file(&file, 1 << 20)?;
    call.beside(&file)?;
    /// What is mapped, as in a result file.
    const SIZE: usize = 4 << 20;
    let want = Want::of("vm.map").with("size", SIZE).with("backing", "file").with("touch", "all");
    let seconds = point(call, want)?.value(call, "").map(|seconds| seconds * page_size() as f64 / SIZE as f64);
    call.line(seconds.and_then(|seconds| micro(&format!("Pagefaults on {file}"), seconds)));
    Ok(())
}

fn bw_file_rd(call: &mut Call<'_>) -> Outcome {
    let (size, mode) = file_to_read(call, ["io_only", "open2close"], MIN_READ)?;
    // Equal blocks, if there are some; else what is left after the last whole one is not read.
    let equal = size / size.div_ceil(BLOCK);
    let block = if size % equal == 0 && equal % 8 == 0 { equal } else { size.min(BLOCK) / 8 * 8 };
    let mode = if mode == "io_only" { "read_sum" } else { "open_close" };
    let want = Want::of("file.reread").with("mode", mode).with("size", size / block * block).with("block", block);
    cached(call, want, size, 1.0)
}

fn bw_mmap_rd(call: &mut Call<'_>) -> Outcome {
    let (size, mode) = file_to_read(call, ["mmap_only", "open2close"], MIN_MAPPED)?;
    let page = page_size() as u64;
    let mode = if mode == "mmap_only" { "mapped" } else { "open_close" };
    // Whole pages, or whole blocks of the benchmark. Of less than a page opening and mapping take
    // all the time, however little is added up.
    let whole = if size < BLOCK { size.div_ceil(page) * page } else { size / BLOCK * BLOCK };
    let share = if mode == "open_close" && size < whole { size as f64 / whole as f64 } else { 1.0 };
    let want = Want::of("file.mmap_reread").with("mode", mode).with("size", whole);
    cached(call, want, size, share)
}

/// The size and the mode of a program that reads a file, which is checked.
fn file_to_read(call: &mut Call<'_>, modes: [&'static str; 2], least: u64) -> Result<(u64, &'static str), Stop> {
    let text = call.needed(0, "the size")?;
    let size = call.size(text)?;
    if size < least {
        return Err(Stop::Missing(format!("'{text}': expected {least} bytes or more")));
    }
    let expected = modes.join(" or ");
    let mode = call.needed(1, &expected)?;
    let known = modes.into_iter().find(|known| *known == mode);
    let mode = known.ok_or_else(|| Stop::Usage(format!("'{mode}': expected {expected}")))?;
    let file = call.needed(2, "the file")?.to_owned();
    call.at_most(3)?;
    call.file(&file, size)?;
    call.beside(&file)?;
    Ok((size, mode))
}

fn cached(call: &Call<'_>, want: Want, size: u64, share: f64) -> Outcome {
    let is_own = call.has('C') || call.copies()? == 1;
    let found = point(call, want.with("where", "work_dir").with("object", if is_own { "private" } else { "shared" }))?;
    call.line(found.value(call, "").and_then(|rate| bandwidth(size, rate * share)));
    Ok(())
}

fn lat_select(call: &mut Call<'_>) -> Outcome {
    let n = call.size_of('n', 200)?;
    // The lowest numbers are taken by the standard streams.
    let most = SELECT_LIMIT as u64 - 24;
    if !(1..=most).contains(&n) {
        return Err(Stop::Usage(format!("-n: expected 1 to {most} descriptors")));
    }
    let mode = call.needed(0, "file or tcp")?;
    call.at_most(1)?;
    let (kind, word) = match mode {
        "file" => ("eventfd", ""),
        "tcp" => ("tcp", "tcp "),
        _ => return Err(Stop::Usage(format!("'{mode}': expected file or tcp"))),
    };
    let found = point(call, Want::of("ready.select").with("count", n).with("kind", kind).with("ready", "all"))?;
    call.line(found.value(call, "").and_then(|seconds| micro(&format!("Select on {n} {word}fd's"), seconds)));
    Ok(())
}
