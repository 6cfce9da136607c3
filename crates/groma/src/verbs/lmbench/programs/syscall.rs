//! lat_syscall: system calls.

use super::super::call::{Call, Outcome, Program, Stop};
use super::super::lines::micro;
use super::super::measure::{Want, point};
use super::{LOAD, load};

pub(in super::super) static PROGRAMS: &[Program] = &[Program {
    name: "lat_syscall",
    usage: load!(" null|read|write|stat|fstat|open [file]"),
    letters: LOAD,
    prints: "Simple syscall: 0.1000 microseconds (and read, write, stat, fstat, open/close)",
    differs: "stat, fstat and open take a file of groma's own on the file system of the one that \
              is named; read, stat and open are called by number, without libc",
    native: "groma run syscall.getppid_libc (null), .read, .write_libc, .stat, .fstat_libc, .open_close",
    run,
}];

/// Mode, label, benchmark, and whether it takes a file.
const MODES: [(&str, &str, &str, bool); 6] = [
    ("null", "Simple syscall", "syscall.getppid_libc", false),
    ("read", "Simple read", "syscall.read", false),
    ("write", "Simple write", "syscall.write_libc", false),
    ("stat", "Simple stat", "syscall.stat", true),
    ("fstat", "Simple fstat", "syscall.fstat_libc", true),
    ("open", "Simple open/close", "syscall.open_close", true),
];

fn run(call: &mut Call<'_>) -> Outcome {
    let mode = call.needed(0, "null, read, write, stat, fstat or open")?.to_owned();
    call.at_most(2)?;
    let Some((_, label, bench, has_file)) = MODES.iter().find(|(word, ..)| *word == mode) else {
        return Err(Stop::Usage(format!("'{mode}': expected null, read, write, stat, fstat or open")));
    };
    if let (Some(file), true) = (call.operand(1).map(str::to_owned), *has_file) {
        call.file(&file, 0)?;
        call.beside(&file)?;
    }
    let mut want = Want::of(bench);
    match mode.as_str() {
        "write" => want = want.with("bytes", 1),
        "stat" | "open" => want = want.with("depth", 1),
        _ => {}
    }
    let found = point(call, want)?;
    call.line(found.value(call, "").and_then(|seconds| micro(label, seconds)));
    Ok(())
}
