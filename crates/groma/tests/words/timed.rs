//! Which system calls are timed: those between two readings of the clock.
//!
//! Work that has moved into the timed part, or out of it, keeps every proof: it happened as often
//! as credited. libc reads the clock without entering the kernel, so `strace` does not see it. A
//! worker under test therefore gets a `clock_gettime` that is a system call.

use super::calls::Says;
use super::{CALLS_OF_OPERATION, LIMITS_MS, check_headers, is_read, trace, trace_until, usual};
use crate::common::Place;
use crate::common::trace::{Traced, WITH_FAULTS, is_reading, with_a_visible_clock};
use std::collections::BTreeSet;

// The steps of a header: beside the names of system calls, a reading of the clock and the page
// faults since the last reading. Equal calls in a row are one step.
const CLOCK: &str = "clock";
const FAULTS: &str = "page_faults";

/// The steps of the worker, without signals, readings of CPU time, and the `fcntl` by which a debug
/// build checks a descriptor before it closes it.
fn steps(trace: &Traced) -> Vec<&str> {
    let mut steps = Vec::new();
    for call in trace.own_calls() {
        let name = call.split_once('(').map_or("", |(name, _)| name);
        let step = if is_reading(call) { CLOCK } else { name };
        let is_none = ["", "fcntl", "clock_gettime"].contains(&step) || step.starts_with('<');
        if !is_none && (step == CLOCK || steps.last() != Some(&step)) {
            steps.push(step);
        }
    }
    steps
}

#[test]
fn the_clock_is_read_right_before_and_after_the_operation() {
    let place = Place::new();
    let Some(options) = with_a_visible_clock(&place) else { return println!("not here: no strace, or no compiler") };
    check_headers(|item| {
        let Says::Times { params, steps: wanted } = &item.says else { return None };
        let tells: &[&str] = if wanted.iter().any(|step| step == FAULTS) { &WITH_FAULTS } else { &[] };
        let options = [options.clone(), tells.iter().map(|option| (*option).to_owned()).collect()].concat();
        let made = |trace: &Traced| steps(trace).windows(wanted.len()).filter(|steps| *steps == wanted).count();
        let trace = trace_until(item.bench.info.id, params, None, &options, |trace| made(trace) >= CALLS_OF_OPERATION)?;
        (made(&trace) < CALLS_OF_OPERATION).then(|| format!("{} times", made(&trace)))
    });
}

/// What the other side sent earlier is read before the clock.
#[test]
fn the_credited_bytes_of_a_stream_are_read_between_two_readings_of_the_clock() {
    const MIB: u64 = 1 << 20;
    let place = Place::new();
    let Some(options) = with_a_visible_clock(&place) else { return println!("not here: no strace, or no compiler") };
    let read = |call: &&str| -> Option<u64> {
        let call = call.contains("read").then_some(call)?;
        call.rsplit_once(" = ")?.1.parse().ok()
    };
    let long = |trace: &Traced| -> Vec<u64> {
        let calls: Vec<&str> = trace.own_calls().collect();
        let bytes = calls.split(|call| is_reading(call)).map(|calls| calls.iter().filter_map(read).sum::<u64>());
        bytes.filter(|bytes| *bytes >= MIB).collect()
    };
    let params = usual("ipc.pipe_bandwidth", "by=write touch=no");
    let enough = |trace: &Traced| long(trace).len() >= CALLS_OF_OPERATION;
    let Some(trace) = trace_until("ipc.pipe_bandwidth", &params, None, &options, enough) else { return };
    let seen = long(&trace);
    assert!(seen.len() >= CALLS_OF_OPERATION && seen.iter().all(|bytes| *bytes == MIB), "{seen:?}");
}

/// Of the two reads of a seek the first moves the head and the second is timed, so each read is
/// followed by a reading of the clock. If the first one were timed, the last read of an interval
/// would not be.
#[test]
fn no_interval_of_seeks_ends_with_a_read_that_is_not_timed() {
    let place = Place::new();
    let Some(options) = with_a_visible_clock(&place) else { return println!("not here: no strace, or no compiler") };
    let after_reads = |trace: &Traced, wanted: bool| {
        let calls: Vec<&str> = trace.own_calls().collect();
        calls.windows(2).filter(|pair| is_read(pair[0]) && is_reading(pair[1]) == wanted).count()
    };
    let enough = |trace: &Traced| after_reads(trace, true) >= 4 * CALLS_OF_OPERATION;
    let params = usual("disk.seek", "size=8M distance=50");
    let Some(trace) = trace_until("disk.seek", &params, None, &options, enough) else { return };
    let seen = [true, false].map(|wanted| after_reads(&trace, wanted));
    assert!(seen[0] >= 4 * CALLS_OF_OPERATION && seen[1] < CALLS_OF_OPERATION, "{seen:?}");
}

/// The clock is read before a batch is requested and after each datagram, but not again before the
/// first one.
#[test]
fn a_batch_of_datagrams_is_timed_from_its_request_to_the_last_one() {
    let place = Place::new();
    let Some(options) = with_a_visible_clock(&place) else { return println!("not here: no strace, or no compiler") };
    let is_request = |call: &&str| call.starts_with("sendto(") && call.contains(", 4, ");
    let Some(trace) = trace("net.udp_bandwidth", "size=1024 family=v4", None, LIMITS_MS[0], &options) else { return };
    let calls: Vec<&str> = trace.own_calls().collect();
    let batches: Vec<&[&str]> = calls.split(is_request).collect();
    // Before the first request is set-up, and the last batch holds the end of the round.
    let [first, batches @ .., _] = &batches[..] else { panic!("no batch: {calls:?}") };
    assert!(first.last().is_some_and(|call| is_reading(call)) && !batches.is_empty(), "{first:?}");
    for batch in batches {
        let ends = batch.iter().rposition(|call| !is_reading(call)).expect("the end is reported");
        let again = batch[..=ends].windows(2).filter(|pair| is_reading(pair[0]) && is_reading(pair[1])).count();
        assert_eq!(again, 0, "{batch:?}");
        assert!(batch.last().is_some_and(|call| is_reading(call)), "the next one has a beginning");
    }
}

/// A time as `strace` writes it, in nanoseconds.
fn nanoseconds(call: &str) -> Option<u64> {
    let number = |name: &str| call.split_once(name)?.1.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok();
    Some(number("tv_sec=")? * 1_000_000_000 + number("tv_nsec=")?)
}

/// The lengths of the sleeps that follow a reading of the clock, in nanoseconds.
fn lengths(calls: &[&str]) -> Vec<u64> {
    let of_pair = |pair: &[&str]| {
        let is_sleep = is_reading(pair[0]) && pair[1].contains("TIMER_ABSTIME");
        nanoseconds(pair[1]).filter(|_| is_sleep)?.checked_sub(nanoseconds(pair[0])?)
    };
    calls.windows(2).filter_map(of_pair).collect()
}

/// A sleep ends at the last reading of the clock plus the named length.
#[test]
fn sleeps_have_the_named_length() {
    let place = Place::new();
    let Some(options) = with_a_visible_clock(&place) else { return println!("not here: no strace, or no compiler") };
    let sleep = "interface=clock_nanosleep_abs length=100us";
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
        assert!(rests.len() >= CALLS_OF_OPERATION && different.len() * 2 > rests.len(), "{rests:?}");
        assert!(rests.iter().all(|ns| (50_000..450_000).contains(ns)), "{rests:?}");
    }
    let params = "cpus=one";
    let Some(trace) = trace("sched.periodic", params, None, LIMITS_MS[0], &[]) else { return };
    let ends: Vec<u64> = trace.calls().filter(|call| call.contains("TIMER_ABSTIME")).filter_map(nanoseconds).collect();
    let periods: Vec<u64> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(periods.len() >= CALLS_OF_OPERATION && periods.iter().all(|ns| *ns == 1_000_000), "{periods:?}");
}
