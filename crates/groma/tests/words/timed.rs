//! What lies within the watch: the system calls between two readings of the clock.
//!
//! Work that has moved into the timed part, or out of it, keeps every proof: it happened as often
//! as it is credited. The clock is read without entering the kernel, so `strace` does not see it. A
//! worker under test therefore gets a `clock_gettime` that is a system call.

use super::{LIMITS_MS, SOME, is_read, trace};
use crate::common::Place;
use crate::common::trace::{Traced, is_reading, with_a_visible_clock};
use std::collections::BTreeSet;

/// The calls from each reading of the clock to the next.
fn stretches(trace: &Traced) -> Vec<Vec<&str>> {
    let mut all = Vec::new();
    let mut calls: Option<Vec<&str>> = None;
    for call in trace.own_calls() {
        if is_reading(call) {
            all.extend(calls.replace(Vec::new()));
        } else if let Some(calls) = &mut calls {
            calls.push(call);
        }
    }
    all
}

/// Their names, each once where it is made several times in a row. A debug build looks at a
/// descriptor (`fcntl`) before it closes it.
fn names(calls: &[&str]) -> String {
    let name = |call: &&'_ str| call.split_once('(').map(|(name, _)| name.to_owned());
    let ignored = |name: &String| name == "fcntl" || name == "clock_gettime" || name.starts_with('<');
    let mut names: Vec<String> = calls.iter().filter_map(name).filter(|name| !ignored(name)).collect();
    names.dedup();
    names.join(" ")
}

/// The trace of a round that made these stretches often enough, or of the longest one.
fn trace_until(id: &str, params: &str, options: &[String], enough: impl Fn(&Traced) -> bool) -> Option<Traced> {
    let mut last = None;
    for limit in LIMITS_MS {
        if enough(last.insert(trace(id, params, None, limit, options)?)) {
            break;
        }
    }
    last
}

#[test]
fn the_watch_holds_the_operation_and_nothing_else() {
    let place = Place::new();
    let Some(options) = with_a_visible_clock(&place) else { return println!("not here: no strace, or no compiler") };
    // Of each: the calls of all stretches that are timed.
    let rows: &[(&str, &str, &[&str])] = &[
        ("file.durable", "kind=create", &["openat pwrite64 fsync close fsync"]),
        ("file.durable", "kind=replace", &["openat pwrite64 fsync close renameat fsync"]),
        ("file.truncate", "size=65536 where=tmpfs", &["ftruncate"]),
        (
            "file.create_delete",
            "size=10240 entries=16 where=work_dir object=private order=turns",
            &["openat write close", "unlinkat"],
        ),
        ("file.rename", "kind=over entries=16 where=work_dir", &["renameat"]),
        ("net.unix_connect", "name=abstract", &["connect"]),
        ("net.tcp_connect", "acceptor=later family=v4", &["connect"]),
        ("net.tcp_accept", "family=v4", &["connect accept4", "accept4"]),
        ("net.tcp_crr", "close=reset family=v4", &["socket setsockopt connect write read", "close"]),
        ("http.get", "size=1024 connection=close from=memory", &["socket connect write read"]),
        ("vm.advise", "advice=dontneed size=65536", &["madvise"]),
        ("vm.map", "size=65536 backing=anon touch=none", &["mmap", "munmap"]),
        ("proc.fork_exit", "resident=0 pages=base", &["clone wait4", "clone"]),
        ("proc.clone3", "kind=fork", &["clone3 wait4"]),
        ("proc.clone3", "kind=pidfd", &["clone3 waitid close"]),
    ];
    let mut wrong = Vec::new();
    for (id, params, timed) in rows {
        let count = |trace: &Traced, what: &str| stretches(trace).iter().filter(|calls| names(calls) == what).count();
        let enough = |trace: &Traced| timed.iter().all(|what| count(trace, what) >= SOME);
        let Some(trace) = trace_until(id, params, &options, enough) else { continue };
        for what in timed.iter().filter(|what| count(&trace, what) < SOME) {
            wrong.push(format!("{id} {params}: {} times '{what}' between two readings", count(&trace, what)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The state of a connection is asked for with the watch stopped. The next stretch is timed.
#[test]
fn the_end_of_a_connection_is_timed_after_its_state_was_asked_for() {
    let place = Place::new();
    let Some(options) = with_a_visible_clock(&place) else { return println!("not here: no strace, or no compiler") };
    let ends = |trace: &Traced| -> Vec<String> {
        let stretches: Vec<String> = stretches(trace).iter().map(|calls| names(calls)).collect();
        let behind = stretches.windows(2).filter(|pair| pair[0] == "getsockopt");
        behind.map(|pair| pair[1].clone()).collect()
    };
    let enough = |trace: &Traced| ends(trace).len() >= SOME;
    let Some(trace) = trace_until("net.tcp_crr", "close=reset family=v4", &options, enough) else { return };
    let ends = ends(&trace);
    assert!(ends.len() >= SOME && ends.iter().all(|end| end == "close"), "{ends:?}");
}

/// What the other side has sent already is read before the watch starts.
#[test]
fn the_watch_of_a_stream_holds_the_bytes_that_are_credited() {
    const MIB: u64 = 1 << 20;
    let place = Place::new();
    let Some(options) = with_a_visible_clock(&place) else { return println!("not here: no strace, or no compiler") };
    let read = |call: &&str| -> Option<u64> {
        let call = call.contains("read").then_some(call)?;
        call.rsplit_once(" = ")?.1.parse().ok()
    };
    let long = |trace: &Traced| -> Vec<u64> {
        let bytes = stretches(trace).into_iter().map(|calls| calls.iter().filter_map(read).sum::<u64>());
        bytes.filter(|bytes| *bytes >= MIB).collect()
    };
    let params = "size=65536 buffer=default by=write touch=no";
    let enough = |trace: &Traced| long(trace).len() >= SOME;
    let Some(trace) = trace_until("ipc.pipe_bandwidth", params, &options, enough) else { return };
    let seen = long(&trace);
    assert!(seen.len() >= SOME && seen.iter().all(|bytes| *bytes == MIB), "{seen:?}");
}

/// The first of the two reads of a seek moves the head, the second one is timed. So the clock is
/// read after each of them: an interval ends with a reading, not with a read.
#[test]
fn no_interval_of_seeks_ends_with_a_read_that_is_not_timed() {
    let place = Place::new();
    let Some(options) = with_a_visible_clock(&place) else { return println!("not here: no strace, or no compiler") };
    let after_reads = |trace: &Traced, wanted: bool| {
        let calls: Vec<&str> = trace.own_calls().collect();
        calls.windows(2).filter(|pair| is_read(pair[0]) && is_reading(pair[1]) == wanted).count()
    };
    let enough = |trace: &Traced| after_reads(trace, true) >= 4 * SOME;
    let params = "on=file size=8388608 distance=50";
    let Some(trace) = trace_until("disk.seek", params, &options, enough) else { return };
    let seen = [true, false].map(|wanted| after_reads(&trace, wanted));
    assert!(seen[0] >= 4 * SOME && seen[1] < SOME, "{seen:?}");
}

/// The time of a batch of datagrams begins before it is asked for: the clock is read once for each
/// that comes, and not again for the first.
#[test]
fn a_batch_of_datagrams_takes_from_its_request_to_the_last_of_them() {
    let place = Place::new();
    let Some(options) = with_a_visible_clock(&place) else { return println!("not here: no strace, or no compiler") };
    let is_request = |call: &&str| call.starts_with("sendto(") && call.contains(", 4, ");
    let Some(trace) = trace("net.udp_bandwidth", "size=1024 family=v4", None, LIMITS_MS[0], &options) else { return };
    let calls: Vec<&str> = trace.own_calls().collect();
    let batches: Vec<&[&str]> = calls.split(is_request).collect();
    // What is before the first request is no batch, and behind the last is the end of the round.
    let [first, batches @ .., _] = &batches[..] else { panic!("no batch: {calls:?}") };
    assert!(first.last().is_some_and(|call| is_reading(call)) && !batches.is_empty(), "{first:?}");
    for batch in batches {
        let ends = batch.iter().rposition(|call| !is_reading(call)).expect("the end is reported");
        let again = batch[..=ends].windows(2).filter(|pair| is_reading(pair[0]) && is_reading(pair[1])).count();
        assert_eq!(again, 0, "{batch:?}");
        assert!(batch.last().is_some_and(|call| is_reading(call)), "the next one has a beginning");
    }
}

/// A point in time as `strace` writes it, in nanoseconds.
fn nanoseconds(call: &str) -> Option<u64> {
    let number = |name: &str| call.split_once(name)?.1.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok();
    Some(number("tv_sec=")? * 1_000_000_000 + number("tv_nsec=")?)
}

/// How long the sleeps are that follow a reading of the clock, in nanoseconds.
fn lengths(calls: &[&str]) -> Vec<u64> {
    let of_pair = |pair: &[&str]| {
        let is_sleep = is_reading(pair[0]) && pair[1].contains("TIMER_ABSTIME");
        nanoseconds(pair[1]).filter(|_| is_sleep)?.checked_sub(nanoseconds(pair[0])?)
    };
    calls.windows(2).filter_map(of_pair).collect()
}

/// The end of a sleep is the last reading of the clock and the length.
#[test]
fn sleeps_are_as_long_as_is_said() {
    let place = Place::new();
    let Some(options) = with_a_visible_clock(&place) else { return println!("not here: no strace, or no compiler") };
    let sleep = "interface=clock_nanosleep_abs length=100000 slack=default policy=other cpu_dma_latency=default";
    for (id, params, length) in [("cpu.boost", "", 20_000_000), ("timer.sleep", sleep, 100_000)] {
        let Some(trace) = trace(id, params, None, LIMITS_MS[0], &options) else { continue };
        let calls: Vec<&str> = trace.own_calls().collect();
        let lengths = lengths(&calls);
        assert!(!lengths.is_empty() && lengths.iter().all(|ns| *ns == length), "{id}: {lengths:?}");
    }
    // Rests of one length would find the same idle state, and the same part of a tick, each time.
    if let Some(trace) = trace("sched.wakeup", "load=0", None, LIMITS_MS[0], &options) {
        let calls: Vec<&str> = trace.own_calls().collect();
        let rests = lengths(&calls);
        let different: BTreeSet<u64> = rests.iter().copied().collect();
        assert!(rests.len() >= SOME && different.len() * 2 > rests.len(), "{rests:?}");
        assert!(rests.iter().all(|ns| (50_000..450_000).contains(ns)), "{rests:?}");
    }
    let params = "policy=other cpus=one cpu_dma_latency=default";
    let Some(trace) = trace("sched.periodic", params, None, LIMITS_MS[0], &[]) else { return };
    let ends: Vec<u64> = trace.calls().filter(|call| call.contains("TIMER_ABSTIME")).filter_map(nanoseconds).collect();
    let periods: Vec<u64> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(periods.len() >= SOME && periods.iter().all(|ns| *ns == 1_000_000), "{periods:?}");
}
