//! `groma lmbench`: every program prints lines of its shape, says what was wrong, and prints what
//! its benchmark measured by lmbench's definition.

use crate::common::{Ended, Place, eight_at_a_time, ended, metric, root, up_to_date, wait_for};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Runs a program without a store, in a directory of its own. Its notes go to the stream that its
/// lines do not take.
fn lmbench(place: &Place, words: &[&str]) -> Ended {
    let mut command = place.command(&[&["lmbench"], words].concat());
    command.env("GROMA_NOTES", if OUT.contains(&words[0]) { "/dev/stderr" } else { "/dev/stdout" });
    ended(command.env_remove("GROMA_STORE").current_dir(place.path("")).output().expect("it starts"))
}

/// The programs whose lines or data are on standard output.
const OUT: [&str; 9] = ["mhz", "line", "memsize", "enough", "timing_o", "loop_o", "hello", "lmdd", "lat_http"];

/// An address of the loopback that no other test uses, since the ports are those of lmbench.
fn own_address(n: u32) -> String {
    let id = std::process::id();
    format!("127.{}.{}.{}", 64 + n, id >> 8 & 0xff, 1 + id % 250)
}

/// Whether a line has this shape, in which `#` stands for a number.
fn fits(line: &str, shape: &str) -> bool {
    let mut parts = shape.split('#');
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    for part in parts {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
        if rest[..end].parse::<f64>().is_err() {
            return false;
        }
        let Some(after) = rest[end..].strip_prefix(part) else { return false };
        rest = after;
    }
    rest.is_empty()
}

#[test]
fn a_shape_is_a_line_with_numbers_in_it() {
    assert!(fits("Pipe latency: 1.25 microseconds", "Pipe latency: # microseconds") && fits("8.39 12", "# #"));
    assert!(!fits("Pipe latency:  microseconds", "Pipe latency: # microseconds") && !fits("8.39 12 3", "# #"));
}

/// Words, and the shapes of the lines on standard error; after `>` those on standard output.
const PRINTS: &[(&str, &str)] = &[
    ("lat_syscall -N 1 null", "Simple syscall: # microseconds"),
    ("lat_syscall -N1 -P2 write", "Simple write: # microseconds"),
    ("lat_syscall -N 1 stat data", "Simple stat: # microseconds"),
    ("lat_syscall -N 1 open data", "Simple open/close: # microseconds"),
    ("lat_sig -N 1 install", "Signal handler installation: # microseconds"),
    ("lat_sig -N 1 catch", "Signal handler overhead: # microseconds"),
    ("lat_proc -N 1 procedure", "Procedure call: # microseconds"),
    ("lat_proc -N 1 fork", "Process fork+exit: # microseconds"),
    ("lat_proc -N 1 exec", "Process fork+execve: # microseconds"),
    ("lat_proc -N 1 shell", "Process fork+/bin/sh -c: # microseconds"),
    ("lat_cmd -N 1 true", "lat_cmd: # microseconds"),
    ("lat_pmake -N 1 2 500", "\"pmake jobs=2|500 #"),
    ("lat_rand -N 1", "drand48 latency: # nanoseconds|lrand48 latency: # nanoseconds"),
    ("lat_usleep -N 1 -u pselect 50", "pselect 50 microseconds: # microseconds"),
    ("lat_ctx -N 1 -s 4 2 4", "|\"size=4k ovr=#|2 #|4 #"),
    ("lat_pipe -N 1", "Pipe latency: # microseconds"),
    ("lat_fifo -N 1", "Fifo latency: # microseconds"),
    ("lat_unix -N 1 -m 100", "AF_UNIX sock stream latency: # microseconds"),
    ("lat_sem -N 1", "Semaphore latency: # microseconds"),
    ("lat_fcntl -N 1", "Fcntl lock latency: # microseconds"),
    ("bw_pipe -N 1 -m 4k", "Pipe bandwidth: # MB/sec"),
    ("bw_unix -N 1", "AF_UNIX sock stream bandwidth: # MB/sec"),
    ("lat_fs -N 1 -s 1024 -n 10 .", "1k\t#\t#\t#"),
    ("lat_mmap -N 1 1m data", "1.048576 #"),
    ("lat_pagefault -N 1 data", "Pagefaults on data: # microseconds"),
    ("bw_file_rd -N 1 64 io_only data", "0.000064 #"),
    ("bw_file_rd -N 1 1m open2close data", "1.05 #"),
    ("bw_mmap_rd -N 1 512 open2close data", "0.000512 #"),
    ("bw_mmap_rd -N 1 1m mmap_only data", "1.05 #"),
    ("lat_select -N 1 -n 10 tcp", "Select on 10 tcp fd's: # microseconds"),
    ("lat_select -N 1 file", "Select on 200 fd's: # microseconds"),
    ("lmdd if=data of=copied bs=64k label=copy: print=4", "copy:# MB/sec"),
    ("bw_mem -N 1 64k frd", "0.065536 #"),
    ("bw_mem -N 1 1m bcopy", "1.05 #"),
    (
        "stream -N 1 -v 2 -M 3m",
        "STREAM2 fill latency: # nanoseconds|STREAM2 fill bandwidth: # MB/sec|STREAM2 copy latency: # nanoseconds|\
         STREAM2 copy bandwidth: # MB/sec|STREAM2 daxpy latency: # nanoseconds|STREAM2 daxpy bandwidth: # MB/sec|\
         STREAM2 sum latency: # nanoseconds|STREAM2 sum bandwidth: # MB/sec",
    ),
    ("line -N 1", ">#"),
    ("line -N 1 -v", ">cache line size: # bytes"),
    ("tlb -N 1 -c", "tlb: # pages # nanoseconds"),
    ("memsize", ">#"),
    ("memsize 1", ">1"),
    ("mhz", "># MHz, # nanosec clock"),
    ("mhz -c", ">#"),
    ("enough", ">#"),
    ("timing_o", ">#"),
    ("loop_o", ">#"),
    ("msleep 1", ""),
    ("hello", ">Hello world"),
];

/// Of these the number of lines depends on the machine: the words, and the shapes of which each
/// line has one.
const ROWS: &[(&str, &str)] = &[
    ("lat_mem_rd -P 1 -N 1 -t 1M 128", "\"stride=128|# #|"),
    ("par_mem -N 1 -M 64k", "# #"),
    ("disk data", "\"Seek times for data|\"Zone bandwidth for data|# #|"),
    ("cache -N 1 -M 1m", "L# cache: # bytes # nanoseconds # linesize # parallelism"),
];

/// The shapes of a line for each operation; bogomflops for floating point alone.
fn operations(line: &str, has_bogomflops: bool) -> String {
    let mut all = Vec::new();
    for (kind, operations) in [
        ("integer", "bit add mul div mod"),
        ("int64", "bit add mul div mod"),
        ("float", "add mul div"),
        ("double", "add mul div"),
    ] {
        let mut operations: Vec<&str> = operations.split(' ').collect();
        if has_bogomflops && operations.len() == 3 {
            operations.push("bogomflops");
        }
        all.extend(operations.iter().map(|operation| format!("{kind} {operation}{line}")));
    }
    all.join("|")
}

/// What has tests of its own, or may show nothing on a virtual machine.
const ELSEWHERE: [&str; 10] = [
    "lat_tcp",
    "lat_udp",
    "lat_rpc",
    "lat_connect",
    "bw_tcp",
    "lat_unix_connect",
    "lat_http",
    "lmhttp",
    "lat_dram_page",
    "flushdisk",
];

/// The lines that have one of these shapes, and those that tell something: they begin with the
/// program's name. Others are not expected.
fn sorted<'t>(program: &str, text: &'t str, shapes: &[&str]) -> (Vec<&'t str>, Vec<&'t str>) {
    let (results, told): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| shapes.iter().any(|shape| fits(line, shape)));
    let is_named = |line: &&str| line.strip_prefix(program).is_some_and(|rest| rest.starts_with(": "));
    assert!(told.iter().all(is_named), "{program}: {text}");
    (results, told)
}

/// The lines of a program, and what it tells, which goes to the other stream.
fn heard<'t>(program: &str, ended: &'t Ended, is_out: bool, shapes: &[&str]) -> (Vec<&'t str>, Vec<&'t str>) {
    let (results, other) = if is_out { (&ended.out, &ended.err) } else { (&ended.err, &ended.out) };
    let (lines, strange) = sorted(program, results, shapes);
    let told = sorted(program, other, &[]).1;
    // What follows from several values may not follow from disturbed ones.
    assert!(strange.is_empty() || is_missing(&told) || is_disturbed(&told), "{program}: {ended:?}");
    (lines, told)
}

/// Whether something told says that a value has few undisturbed samples.
fn is_disturbed(told: &[&str]) -> bool {
    told.iter().any(|line| line.contains("disturbed"))
}

/// Whether something told says that a line is missing: on a busy machine some values are
/// unresolved, and some rounds too slow.
fn is_missing(told: &[&str]) -> bool {
    const WHY: [&str; 5] = ["unresolved", "unsupported", "denied", "timeout", "is not memory"];
    told.iter().any(|line| WHY.iter().any(|why| line.contains(why)))
}

#[test]
fn every_program_prints_lines_of_its_shape() {
    let place = Place::new();
    std::fs::write(place.path("data"), vec![7u8; 2 << 20]).expect("a file");
    let complete = AtomicUsize::new(0);
    eight_at_a_time(PRINTS.to_vec(), |(words, shapes)| {
        let words: Vec<&str> = words.split(' ').collect();
        let ended = lmbench(&place, &words);
        let (shapes, is_out) = shapes.strip_prefix('>').map_or((shapes, false), |shapes| (shapes, true));
        let shapes: Vec<&str> = if shapes.is_empty() { Vec::new() } else { shapes.split('|').collect() };
        let (lines, told) = heard(words[0], &ended, is_out, &shapes);
        let is_whole = lines.len() == shapes.len() && lines.iter().zip(&shapes).all(|(line, shape)| fits(line, shape));
        let missing = is_missing(&told) || (!is_whole && is_disturbed(&told));
        assert_eq!(ended.code, Some(if missing { 4 } else { 0 }), "{words:?}: {ended:?}");
        assert!(is_whole || missing, "{words:?}: {shapes:?}: {ended:?}");
        complete.fetch_add(usize::from(is_whole), Relaxed);
    });
    let complete = complete.into_inner();
    assert!(complete * 4 > PRINTS.len() * 3, "only {complete} of {} programs printed all of their lines", PRINTS.len());
    let mut rows: Vec<(&str, String)> = ROWS.iter().map(|(words, shapes)| (*words, (*shapes).to_owned())).collect();
    rows.push(("lat_ops -N 1", operations(": # nanoseconds", true)));
    rows.push(("par_ops -N 1", operations(" parallelism: #", false)));
    let tested = PRINTS.iter().map(|(words, _)| *words).chain(rows.iter().map(|(words, _)| *words));
    let tested: BTreeSet<&str> = tested.filter_map(|words| words.split(' ').next()).chain(ELSEWHERE).collect();
    eight_at_a_time(rows, |(words, shapes)| {
        let words: Vec<&str> = words.split(' ').collect();
        let ended = lmbench(&place, &words);
        let (lines, told) = heard(words[0], &ended, false, &shapes.split('|').collect::<Vec<_>>());
        assert!(lines.len() >= shapes.split('|').count() || is_missing(&told), "{words:?}: {ended:?}");
        assert_eq!(ended.code, Some(if is_missing(&told) { 4 } else { 0 }), "{words:?}: {ended:?}");
    });
    assert!(place.left_behind().is_empty());

    let listed = place.groma(&["lmbench", "--list"]).out;
    let listed: BTreeSet<&str> =
        listed.lines().filter(|line| !line.starts_with(' ')).filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(listed, tested);
}

/// The number of a line is that of the stored record, by lmbench's definition.
#[test]
fn a_line_has_the_measured_value_by_the_definition_of_lmbench() {
    /// Words, metric, workers, the number of the line from its end, and what it is of the value.
    type Row = (&'static str, &'static str, u64, usize, fn(f64) -> f64);
    const ROWS: &[Row] = &[
        ("lat_pipe -N 2", "ipc.pipe_rtt", 1, 1, |s| s * 1e6),
        ("lat_sem -N 2", "ipc.sysv_sem_rtt", 1, 1, |s| s * 1e6 / 2.0),
        ("lat_fcntl -N 2", "ipc.lock_rtt", 1, 1, |s| s * 1e6 / 2.0),
        ("bw_mem -N 2 64k fcp", "mem.bandwidth", 1, 0, |rate| rate / 2e6),
        ("bw_mem -N 2 64k rd", "mem.partial", 1, 0, |rate| rate * 4.0 / 1e6),
        ("bw_mem -N 2 64k cp", "mem.partial", 1, 0, |rate| rate * 2.0 / 1e6),
        ("bw_mem -N 2 64k bcopy", "mem.libc", 1, 0, |rate| rate / 2e6),
        ("bw_mem -N 2 -P 2 64k frd", "mem.bandwidth", 2, 0, |rate| rate / 1e6),
        ("lat_syscall -N 2 -P 2 null", "syscall.getppid_libc", 2, 1, |s| s * 1e6),
        ("bw_unix -N 2 -M 1m", "ipc.unix_bandwidth", 1, 1, |rate| rate / 1e6),
        ("--strict bw_unix -N 2 -M 1m", "ipc.unix_bandwidth", 1, 1, |rate| rate / 1e5),
        ("lat_usleep -N 2 100", "timer.sleep", 1, 1, |late| late * 1e6 + 100.0),
        ("lat_fs -N 2 -s 0 -n 10", "file.create_delete.delete", 1, 0, |s| 1.0 / s),
        ("lat_ctx -N 2 2", "ctx.switch.net", 1, 0, |s| s * 1e6),
        ("stream -N 2 -M 96k", "mem.stream", 1, 1, |rate| rate / 1e6),
        ("mhz", "cpu.frequency", 1, 4, |hz| hz / 1e6),
    ];
    eight_at_a_time(ROWS.to_vec(), |(words, id, workers, from_end, of)| {
        let place = Place::new();
        let words: Vec<&str> = [&["lmbench"], words.split(' ').collect::<Vec<_>>().as_slice()].concat();
        let ended = place.groma(&words);
        assert_eq!(ended.code, Some(0), "{words:?}: {ended:?}");
        // What is told goes to the other stream, and begins with the program's name.
        let program = words[1..].iter().find(|word| !word.starts_with('-')).expect("a program");
        let told = format!("{program}: ");
        let line =
            [&ended.out, &ended.err].into_iter().flat_map(|text| text.lines()).rfind(|line| !line.starts_with(&told));
        let line = line.unwrap_or_else(|| panic!("{words:?}: no line: {ended:?}"));
        let numbers: Vec<&str> = line.split_ascii_whitespace().collect();
        let printed: f64 = numbers[numbers.len() - 1 - from_end].parse().unwrap_or_else(|e| panic!("{line}: {e}"));
        let run = place.json(&["show", "--all", "--format", "json"]);
        let mut all = run["metrics"].as_array().expect("metrics").iter();
        // Of several points the last one has the last line.
        let record = all.rfind(|record| record["id"] == id).unwrap_or_else(|| metric(&run, id));
        assert_eq!(record["workers"], Value::from(workers), "{words:?}");
        let expected = of(record["value"].as_f64().expect("a value"));
        assert!((printed / expected - 1.0).abs() < 0.01, "{words:?}: {printed} printed, {expected} measured");
    });
}

/// What a program prints is what an exported run has in that line, whose sections come from another
/// table: the same operation, net of the same, by the same credit.
#[test]
fn a_program_and_an_exported_run_have_the_same_lines() {
    const ROWS: [&str; 20] = [
        "lat_syscall -N 1 stat data",
        "lat_syscall -N 1 open data",
        "lat_select -N 1 -n 10 file",
        "lat_sig -N 1 catch",
        "lat_sig -N 1 prot data",
        "lat_pipe -N 1",
        "lat_proc -N 1 exec",
        "lat_pagefault -N 1 data",
        "lat_mmap -N 1 1m data",
        "bw_unix -N 1",
        "bw_pipe -N 1",
        "bw_file_rd -N 1 1m open2close data",
        "bw_mmap_rd -N 1 1m mmap_only data",
        "bw_mem -N 1 64k bzero",
        "bw_mem -N 1 64k fcp",
        "bw_mem -N 1 64k cp",
        "bw_mem -N 1 64k rdwr",
        "lat_ctx -N 1 -s 4 2",
        "tlb -N 1",
        // Not with -t, whose values are near those of a line, and stay out of a file.
        "lat_mem_rd -N 1 1 16",
    ];
    /// The numbers of the last line, and what stands before the last of them. A file and a peer
    /// have another name in a run.
    fn last(text: &str) -> Option<(String, f64)> {
        let line = text.lines().rfind(|line| !line.is_empty())?.replace("on data", "on file");
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let at = words.iter().rposition(|word| word.parse::<f64>().is_ok())?;
        Some((words[..at].join(" "), words[at].parse().ok()?))
    }
    let compared = AtomicUsize::new(0);
    eight_at_a_time(ROWS.to_vec(), |words| {
        let place = Place::new();
        std::fs::write(place.path("data"), vec![7u8; 2 << 20]).expect("a file");
        let words: Vec<&str> = [&["lmbench"], words.split(' ').collect::<Vec<_>>().as_slice()].concat();
        let printed = ended(place.command(&words).current_dir(place.path("")).output().expect("it starts"));
        // A busy machine may leave the line out.
        let Some((begin, printed)) = last(&printed.err).filter(|_| printed.code == Some(0)) else { return };
        let exported = || {
            let file = place.groma(&["export", "--format", "lmbench"]).out;
            file.lines().filter_map(last).find(|(other, _)| *other == begin).map(|(_, number)| number)
        };
        // A file leaves out what was too disturbed, which a program prints.
        let Some(exported) = exported() else {
            place.calm();
            assert!(exported().is_some(), "{words:?}: no line '{begin}'");
            return;
        };
        // Some programs print whole microseconds.
        let allowed = 0.01 * printed + if printed >= 10.0 { 0.51 } else { 0.0 };
        assert!((printed - exported).abs() <= allowed, "{words:?}: {printed} printed, {exported} in the file");
        compared.fetch_add(1, Relaxed);
    });
    let compared = compared.into_inner();
    assert!(compared * 2 > ROWS.len(), "only {compared} of {} lines were compared", ROWS.len());
}

#[test]
fn wrong_words_are_named_with_the_usage_and_what_is_not_there_without() {
    let place = Place::new();
    std::fs::write(place.path("data"), "short").expect("a file");
    for (words, code, why) in [
        ("lat_syscall", 2, "null, read, write, stat, fstat or open is missing"),
        ("lat_syscall -q null", 2, "-q: unknown option"),
        ("lat_syscall -P 0 null", 2, "-P: '0': expected a whole number from 1"),
        ("lat_syscall -N x null", 2, "-N: 'x': expected a whole number"),
        ("lat_syscall -P", 2, "-P: needs a value"),
        ("lat_syscall null data more", 2, "'more': unexpected"),
        ("lat_syscall frob", 2, "'frob': expected null"),
        ("lat_syscall stat nope", 1, "nope: No such file"),
        ("lat_proc frob", 2, "'frob': expected procedure"),
        ("lat_sig prot", 2, "the file is missing"),
        ("lat_usleep -P 2 100", 2, "-P: unknown option"),
        ("lat_usleep -u nap 100", 2, "-u: 'nap': expected usleep"),
        ("lat_ctx", 2, "the number of processes is missing"),
        ("lat_ctx two", 2, "'two': expected a whole number"),
        ("lat_ctx 1", 4, "one process switches to no other"),
        ("lat_cmd false", 4, "failed (command=false"),
        ("bw_mem 900g rd", 2, "'900g': needs 900 GiB of memory"),
        ("bw_mem 100 rd", 2, "'100': expected 512 bytes or more"),
        ("bw_mem 8q rd", 2, "'8q' is not a size"),
        ("bw_mem 8m", 2, "bzero or bcopy is missing"),
        ("stream -M 1", 2, "-M: expected 24576 bytes"),
        ("bw_file_rd 64k io_only data", 1, "data: has 5 bytes, and 65536 are needed"),
        ("bw_file_rd 64k io_only .", 1, ".: is not a file"),
        ("lat_mmap 1k data", 1, "'1k': expected 327680 bytes"),
        ("bw_mmap_rd 64 mmap_only data", 1, "'64': expected 512 bytes"),
        ("lat_mem_rd 1G", 2, "'1G': expected a whole number"),
        ("lat_select -n 5000 tcp", 2, "-n: expected 1 to"),
        ("lat_fs nope", 1, "nope: No such file"),
        ("disk nope", 1, "nope: No such file"),
        ("lat_mem_rd 1 12", 2, "stride 12: expected a multiple of"),
        ("lat_mem_rd x", 2, "'x': expected a whole number"),
        ("lmdd bs=1q if=data", 2, "bs: '1q' is not a size"),
        ("lmdd foo=1", 2, "foo: is no operand here"),
        ("lmdd if=nope", 1, "nope: No such file"),
        ("msleep", 2, "the milliseconds is missing"),
        ("flushdisk data", 1, "data: "),
        ("lat_tcp no-such-host.invalid", 1, "no-such-host.invalid: expected an address"),
        ("lat_tcp -s --bind 10.0.0.1", 2, "--bind: beyond the loopback both sides need a token"),
        ("lat_http", 2, "the server is missing"),
        ("lmhttp -z", 2, "-z: is not done here"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let ended = lmbench(&place, &words);
        assert_eq!(ended.code, Some(code), "{words:?}: {ended:?}");
        // Why a line is missing goes where lines do not.
        let (said, nothing) = if ended.err.is_empty() { (&ended.out, &ended.err) } else { (&ended.err, &ended.out) };
        let lines: Vec<&str> = said.lines().collect();
        assert!(lines[0].starts_with(&format!("{}: ", words[0])) && lines[0].contains(why), "{words:?}: {ended:?}");
        let usage = format!("Usage: {}", words[0]);
        assert_eq!(lines.get(1).is_some_and(|line| line.starts_with(&usage)), code == 2, "{words:?}: {ended:?}");
        assert_eq!((nothing.as_str(), lines.len()), ("", if code == 2 { 2 } else { 1 }), "{words:?}: {ended:?}");
    }
    // Among captured rows stands nothing else, whatever is missing; the exit code says it.
    for words in [&["lat_mmap", "1k", "data"][..], &["lat_cmd", "false"]] {
        let mut command = place.command(&[&["lmbench"], words].concat());
        let ended = ended(command.env_remove("GROMA_STORE").current_dir(place.path("")).output().expect("it starts"));
        assert!(ended.out.is_empty() && ended.err.is_empty() && ended.code != Some(0), "{words:?}: {ended:?}");
    }
    let placed = |policy: &str| {
        let mut command = place.command(&["lmbench", "lat_pipe", "-N", "1"]);
        ended(command.env_remove("GROMA_STORE").env("LMBENCH_SCHED", policy).output().expect("it starts"))
    };
    assert_eq!(placed("single").code, Some(0));
    let unknown = placed("NEAR");
    assert!(unknown.code == Some(2) && unknown.err.contains("'NEAR' is no policy"), "{unknown:?}");
    let unknown = place.groma(&["lmbench", "lat_nothing"]);
    assert!(unknown.code == Some(2) && unknown.err.contains("no program 'lat_nothing'"), "{unknown:?}");
}

#[test]
fn servers_hold_their_port_until_they_are_stopped() {
    let place = Place::new();
    let at = own_address(0);
    for (program, shapes) in [
        ("lat_tcp", "TCP latency using @: # microseconds"),
        ("lat_udp", "UDP latency using @: # microseconds"),
        ("lat_rpc", "RPC/tcp latency using @: # microseconds|RPC/udp latency using @: # microseconds"),
        ("lat_connect", "TCP/IP connection cost to @: # microseconds"),
        ("bw_tcp", "0.065536 # MB/sec"),
    ] {
        let run = |words: &[&str]| lmbench(&place, &[&[program], words].concat());
        let none = run(&[&at]);
        assert!(none.code == Some(1) && none.err.contains("no server there"), "{program}: {none:?}");
        let started = run(&["-s", "--bind", &at]);
        assert_eq!((started.code, started.err.as_str()), (Some(0), ""), "{program}");
        let twice = run(&["-s", "--bind", &at]);
        assert!(twice.code == Some(1) && twice.err.contains("the port is in use"), "{program}: {twice:?}");
        let measured = run(&["-N", "1", &at]);
        let stopped = run(&["-S", &at]);
        assert_eq!(stopped.code, Some(0), "{program}: {stopped:?}");
        assert_eq!(measured.code, Some(0), "{program}: {measured:?}");
        let shapes = shapes.replace('@', &at);
        let (lines, _) = sorted(program, &measured.err, &shapes.split('|').collect::<Vec<_>>());
        assert_eq!(lines.len(), shapes.split('|').count(), "{program}: {measured:?}");
        let again = run(&["-S", &at]);
        assert!(again.code == Some(1) && again.err.contains("no server of yours"), "{program}: {again:?}");
    }
}

/// The name of its socket is that of lmbench, so other tests on this machine may hold it.
#[test]
fn the_server_of_unix_sockets_holds_its_name() {
    let place = Place::new();
    let run = |words: &[&str]| lmbench(&place, &[&["lat_unix_connect"], words].concat());
    let started = run(&["-s"]);
    if started.err.contains("is in use") {
        return println!("skipped: {}", started.err);
    }
    assert_eq!(started.code, Some(0), "{started:?}");
    let (twice, measured, stopped, none) = (run(&["-s"]), run(&["-N", "1"]), run(&["-S"]), run(&["-S"]));
    assert!(twice.code == Some(1) && twice.err.starts_with("lat_unix_connect: /tmp/af_unix: is in use"), "{twice:?}");
    assert!(
        measured.code == Some(0) && measured.err.lines().any(|line| fits(line, "UNIX connection cost: # microseconds")),
        "{measured:?}"
    );
    assert_eq!((stopped.code, none.code), (Some(0), Some(1)), "{stopped:?} {none:?}");
}

#[test]
fn files_go_over_http_and_the_server_ends_when_told() {
    let (place, at) = (Place::new(), own_address(1));
    std::fs::create_dir(place.path("www")).expect("a directory");
    std::fs::write(place.path("www/a.html"), vec![b'x'; 20_000]).expect("a file");
    let mut command = place.command(&["lmbench", "lmhttp", "--bind", &at, "-f2", "8008"]);
    let mut server = command.env("DOCROOT", place.path("www")).spawn().expect("it starts");
    let fetch = |names: &str| {
        let mut client = place
            .command(&["lmbench", "lat_http", &at, "8008"])
            .env("GROMA_NOTES", "-")
            .stdin(Stdio::piped())
            .spawn()
            .expect("it starts");
        // Without a server it ends before it reads.
        let _ = client.stdin.take().expect("a pipe").write_all(names.as_bytes());
        ended(client.wait_with_output().expect("it ends"))
    };
    // The unit of a rate up to 1 MB/s is another.
    let line = |ended: &Ended| ended.err.trim_end().replace("KB/sec", "MB/sec");
    let good =
        wait_for("a server", || Some(fetch("a.html\n/a.html\n")).filter(|ended| !ended.err.contains("no server")));
    assert!(
        good.code == Some(0) && fits(&line(&good), "Avg xfer: 20.0KB, 40.0KB in # millisecs, # MB/sec"),
        "{good:?}"
    );
    let bad = fetch("a.html\n../groma.db\nnope\n");
    assert_eq!((bad.code, bad.err.matches("status 404 instead of 200").count()), (Some(4), 2), "{bad:?}");
    let nothing = fetch("");
    assert!(nothing.code == Some(4) && nothing.err.contains("no file came"), "{nothing:?}");
    assert_eq!(lmbench(&place, &["lat_http", "-S", &at, "8008"]).code, Some(0));
    assert!(server.wait().expect("it ends").success());
}

#[test]
fn links_are_the_programs_and_take_nothing_that_is_there() {
    let place = Place::new();
    let dir = place.path("bin");
    std::fs::create_dir(&dir).expect("a directory");
    std::fs::write(dir.join("line"), "mine").expect("a file");
    let install = || place.groma(&["lmbench", "--install", &dir.display().to_string()]);
    let [first, second] = [install(), install()];
    for made in [&first, &second] {
        assert!(
            made.code == Some(4) && made.err.contains("left alone") && made.err.trim_end().ends_with(": line"),
            "{made:?}"
        );
    }
    assert_eq!((first.out, std::fs::read(dir.join("line")).expect("it is there")), (second.out, b"mine".to_vec()));
    // A worker is whatever program was started, by its link as well.
    let run = |name: &str, words: &[&str]| {
        ended(Command::new(dir.join(name)).args(words).env_remove("GROMA_STORE").output().expect("it starts"))
    };
    let measured = run("lat_syscall", &["-N", "1", "null"]);
    assert!(
        measured.code == Some(0) && fits(measured.err.trim_end(), "Simple syscall: # microseconds"),
        "{measured:?}"
    );
    assert_eq!(run("hello", &[]).out, "Hello world\n");
    let why = run("lat_sem", &["--why"]);
    assert!(
        why.code == Some(0) && why.out.lines().count() == 2 && why.out.contains("groma run ipc.sysv_sem_rtt"),
        "{why:?}"
    );
    let refused = run("lat_sem", &["-q"]);
    assert!(
        refused.code == Some(2) && refused.err.starts_with("lat_sem: -q: unknown option\nUsage: lat_sem [-P"),
        "{refused:?}"
    );
    let missing = place.groma(&["lmbench", "--install", "/nonexistent"]);
    assert!(missing.code == Some(2) && missing.err.contains("/nonexistent: not a directory"), "{missing:?}");
}

#[test]
fn the_document_of_the_programs_is_up_to_date() {
    let place = Place::new();
    let listed = place.groma(&["lmbench", "--list"]).out;
    let page = std::fs::read_to_string(root().join("docs/lmbench.md")).expect("the page");
    let [begin, end] = ["<!-- programs -->\n", "<!-- /programs -->\n"];
    let (before, rest) = page.split_once(begin).expect("where the table begins");
    let (_, after) = rest.split_once(end).expect("where it ends");
    let mut text = format!("{before}{begin}| program | differs from lmbench | `groma` |\n|---|---|---|\n");
    for name in listed.lines().filter(|line| !line.starts_with(' ')).filter_map(|line| line.split(' ').next()) {
        let why = lmbench(&place, &[name, "--why"]).out;
        let said: Vec<&str> = why.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).collect();
        let [differs, native] = said[..] else { panic!("{name}: {why}") };
        text += &format!("| `{name}` | {} | {} |\n", differs.replace('|', "\\|"), native.replace('|', "\\|"));
    }
    up_to_date("docs/lmbench.md", &(text + end + after));
    let is_name = |line: &&str| !line.starts_with(' ');
    let names = listed.lines().filter(is_name).filter_map(|line| line.split(' ').next());
    up_to_date("docs/lmbench/programs", &names.map(|name| format!("{name}\n")).collect::<String>());
}
