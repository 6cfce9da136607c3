//! Which system calls a worker makes for each value of a parameter.
//!
//! A benchmark proves that its operation happened as often as credited. A value that leads to
//! another operation (`kind=sendfile` that copies with `read` and `write`, a shared futex where a
//! private one is named, an `overwrite` without a flush) keeps all of these proofs and reports the
//! cost of something else. Here a worker runs each value briefly under `strace`, and its system
//! calls are compared with those that the benchmark's header says it makes (`words/calls.rs`). What
//! a header cannot say is a test of its own.
//!
//! Without `strace`, or where it may not trace, the tests print that and pass.
#![cfg(target_os = "linux")]

mod arguments;
pub(crate) mod calls;
mod timed;

use crate::common::eight_at_a_time;
use crate::common::trace::{self, Traced};
use calls::{Says, shows};
use groma_harness::model::Params;
use std::collections::BTreeSet;
use std::sync::Mutex;

/// The number of calls that counts as the operation: fewer than the timed operations and the
/// warm-up of any row, more than set-up and clean-up make of any call in a row.
const CALLS_OF_OPERATION: usize = 8;
/// How long a round samples. A slow operation (a disk on a busy machine) gets longer rounds until
/// it has made enough calls.
const LIMITS_MS: [u64; 5] = [20, 40, 80, 320, 1280];

/// These parameters of a benchmark, and the usual values of the others.
fn usual(id: &str, given: &str) -> Params {
    let bench = groma_benches::all().into_iter().find(|bench| bench.info.id == id);
    bench.ok_or("no such benchmark".to_owned()).and_then(|bench| calls::params(bench, given)).expect(id)
}

/// A round with these parameters; see [`trace::traced`].
fn trace(id: &str, params: &str, on: Option<u32>, limit_ms: u64, options: &[String]) -> Option<Traced> {
    trace::traced(id, &usual(id, params), on, limit_ms, options)
}

/// The first round with `enough`, or the longest one.
fn trace_until(
    id: &str,
    params: &Params,
    on: Option<u32>,
    options: &[String],
    enough: impl Fn(&Traced) -> bool,
) -> Option<Traced> {
    let mut last = None;
    for limit in LIMITS_MS {
        if enough(last.insert(trace::traced(id, params, on, limit, options)?)) {
            break;
        }
    }
    last
}

/// The calls of all processes of the first round that made `enough` of them, or of the longest one.
fn traced(id: &str, params: &str, on: Option<u32>, enough: impl Fn(&[String]) -> bool) -> Option<Vec<String>> {
    let calls = |round: &Traced| round.calls().map(str::to_owned).collect::<Vec<_>>();
    trace_until(id, &usual(id, params), on, &[], |round| enough(&calls(round))).map(|round| calls(&round))
}

fn is_read(call: &str) -> bool {
    call.starts_with("pread64(")
}

fn count(calls: &[String], what: &str) -> usize {
    calls.iter().filter(|call| shows(call, what)).count()
}

/// A CPU for both sides of a benchmark.
fn one_cpu() -> u32 {
    groma_sys::affinity::allowed().expect("CPUs")[0]
}

/// Does something with each item of the headers that it has to do with, and panics with those that
/// are wrong.
pub(crate) fn check_headers(check: impl Fn(&calls::Item) -> Option<String> + Sync) {
    let wrong = Mutex::new(Vec::new());
    eight_at_a_time(calls::all(), |item| {
        let why = check(&item).map(|why| item.wrong(&why));
        wrong.lock().expect("no panic holds it").extend(why);
    });
    let wrong = wrong.into_inner().expect("no panic holds it");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A word that selects a system call, a size or count that is an argument of one: the header says
/// which, and a round makes it.
#[test]
fn workers_make_the_calls_of_their_headers() {
    check_headers(|item| {
        let Says::Makes { params, once, call, never } = &item.says else { return None };
        let (id, least) = (item.bench.info.id, if *once { 1 } else { CALLS_OF_OPERATION });
        let on = id.starts_with("ctx.").then(one_cpu);
        let times = |round: &Traced, what: &str| round.calls().filter(|call| shows(call, what)).count();
        let round = trace_until(id, params, on, &[], |round| times(round, call) >= least)?;
        let (made, other) = (times(&round, call), if never.is_empty() { 0 } else { times(&round, never) });
        (made < least || other >= CALLS_OF_OPERATION).then(|| format!("{made} times the one, {other} times the other"))
    });
}

/// What was once in the headers stays there.
#[test]
fn headers_tell_calls() {
    let items = calls::all();
    let number = |is: fn(&Says) -> usize| items.iter().map(|item| is(&item.says)).sum::<usize>();
    let makes = number(|says| usize::from(matches!(says, Says::Makes { .. })));
    let times = number(|says| usize::from(matches!(says, Says::Times { .. })));
    let silent = number(|says| if let Says::Silent(names) = says { names.len() } else { 0 });
    assert!(makes >= 66 && times >= 25 && silent >= 30, "{makes} calls, {times} timed, {silent} without a trace");
}

#[test]
fn parameters_of_waiting_choose_the_system_call() {
    let ways = [
        ("nanosleep", "nanosleep("),
        ("clock_nanosleep_abs", "TIMER_ABSTIME"),
        ("select", "select"),
        ("ppoll", "ppoll("),
        ("epoll_pwait2", "epoll_pwait2("),
        ("timerfd", "timerfd_settime("),
        ("itimer", "setitimer("),
        ("posix_timer", "timer_settime("),
        ("futex", "FUTEX_WAIT"),
    ];
    for (i, (way, does)) in ways.iter().enumerate() {
        let params = format!("interface={way} length=100us");
        let Some(calls) = traced("timer.sleep", &params, None, |calls| count(calls, does) >= CALLS_OF_OPERATION) else {
            continue;
        };
        let count = |what: &str| count(&calls, what);
        assert!(count(does) >= CALLS_OF_OPERATION, "{way}: {} times {does}", count(does));
        for (_, other) in ways[..i].iter().chain(&ways[i + 1..]).filter(|(_, other)| !does.contains(other)) {
            // `clock_nanosleep` ends with `nanosleep`.
            assert!(
                count(other) < CALLS_OF_OPERATION || *other == "nanosleep(",
                "{way}: {} times {other}",
                count(other)
            );
        }
    }
}

/// The last timer slack that is set applies to the sleeps. The default, 50 us, exceeds the delay of
/// many of them.
#[test]
fn sleeps_have_the_requested_timer_slack() {
    for (id, params, slack) in [
        ("sched.periodic", "cpus=one", 1),
        ("timer.sleep", "interface=nanosleep length=100us slack=1ns", 1),
        ("timer.sleep", "interface=nanosleep length=100us", 0),
    ] {
        let Some(calls) = traced(id, params, None, |_| true) else { return };
        let last = calls.iter().rfind(|call| call.contains("PR_SET_TIMERSLACK"));
        assert!(
            last.is_some_and(|call| call.contains(&format!("PR_SET_TIMERSLACK, {slack})"))),
            "{id} {params}: {last:?}"
        );
    }
}

#[test]
fn random_reads_are_in_random_order() {
    let offset = |call: &String| call.split_once(", 4096, ")?.1.split(')').next()?.parse::<u64>().ok();
    let of_reads =
        |calls: &[String]| -> Vec<u64> { calls.iter().filter(|call| is_read(call)).filter_map(offset).collect() };
    let params = "size=1048576";
    let Some(calls) = traced("file.pread_random", params, None, |calls| of_reads(calls).len() >= 64) else { return };
    let offsets = of_reads(&calls);
    assert!(offsets.len() >= 64, "{} reads", offsets.len());
    // Of 256 blocks in random order, each has a chance of 1 in 256 to follow the one before it.
    let in_order = offsets.windows(2).filter(|pair| pair[1] == pair[0] + 4096).count();
    assert!(in_order < offsets.len() / 8, "{in_order} of {} reads follow the one before", offsets.len());
}

/// A search may end at the first ready descriptor, so its position decides the cost of the call.
#[test]
fn the_ready_descriptor_is_the_named_one() {
    for (ready, at) in [("first", 0), ("last", 3)] {
        // ppoll([{fd=3, ...}, ..., {fd=6, ...}], 4, ...) = 1 ([{fd=6, revents=POLLIN}], ...)
        let answered =
            |call: &&String| call.starts_with("ppoll(") && call.contains("], 4, ") && call.contains("revents");
        let params = format!("count=4 kind=pipe ready={ready}");
        let enough = |calls: &[String]| calls.iter().filter(answered).count() >= CALLS_OF_OPERATION;
        let Some(calls) = traced("ready.poll", &params, None, enough) else { return };
        let answers: Vec<Vec<&str>> = calls
            .iter()
            .filter(answered)
            .map(|call| call.split("fd=").skip(1).filter_map(|rest| rest.split([',', '}']).next()).collect())
            .collect();
        assert!(answers.len() >= CALLS_OF_OPERATION, "{ready}: {} answers", answers.len());
        assert!(answers.iter().all(|fds| fds.len() == 5 && fds[4] == fds[at]), "{ready}: {:?}", answers[0]);
    }
}

/// `select` looks at every number up to the largest, so the other ends of pipes and connections
/// must have larger ones.
#[test]
fn selected_descriptors_are_neighbours() {
    for kind in ["pipe", "unix", "tcp"] {
        // pselect6(7, [3 4 5 6], ...
        let set = |call: &String| -> Option<Vec<u32>> {
            let call = call.strip_prefix("pselect6(").or(call.strip_prefix("select("))?;
            let all = call.split(['[', ']']).nth(1)?.split(' ');
            all.map(|number| number.parse().ok()).collect()
        };
        let sets =
            |calls: &[String]| -> Vec<Vec<u32>> { calls.iter().filter_map(set).filter(|set| set.len() == 4).collect() };
        let params = format!("count=4 kind={kind} ready=last");
        let Some(calls) = traced("ready.select", &params, None, |calls| sets(calls).len() >= CALLS_OF_OPERATION) else {
            return;
        };
        let sets = sets(&calls);
        assert!(sets.len() >= CALLS_OF_OPERATION, "{kind}: {} calls", sets.len());
        assert!(sets.iter().all(|set| set[3] == set[0] + 3), "{kind}: {:?}", sets[0]);
    }
}

#[test]
fn lookups_take_one_name_after_the_other() {
    let params = "kind=hit entries=64";
    let names = |calls: &[String]| -> usize {
        let lookups = calls.iter().filter(|call| call.starts_with("newfstatat(") || call.starts_with("statx("));
        let names = lookups.filter_map(|call| call.split('"').nth(1)).filter(|name| name.starts_with("crowd-"));
        names.collect::<BTreeSet<&str>>().len()
    };
    let Some(calls) = traced("file.lookup", params, None, |calls| names(calls) > CALLS_OF_OPERATION) else { return };
    assert!(names(&calls) > CALLS_OF_OPERATION, "{} different names", names(&calls));
}

/// A peer that does not pin itself is on the CPU of this side whatever the placement says. One row
/// for each place in the code that starts peers.
#[test]
fn a_peer_is_pinned() {
    let mut wrong = Vec::new();
    for (id, params) in [
        ("ctx.switch", ""),
        ("ipc.pipe_bandwidth", "by=write touch=no"),
        ("ipc.pipe_rtt", "size=1"),
        ("net.tcp_rtt", "size=1"),
        ("signal.rtt", ""),
        ("uring.msg_ring", ""),
    ] {
        let Some(trace) = trace(id, params, Some(one_cpu()), LIMITS_MS[0], &[]) else { continue };
        let pinned = trace.lines.iter().filter(|(_, call)| call.starts_with("sched_setaffinity("));
        let pinned: BTreeSet<&str> = pinned.map(|(pid, _)| pid.as_str()).collect();
        if pinned.len() < 2 {
            wrong.push(format!("{id} {params}: {pinned:?} of the processes are pinned"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The offsets of the direct reads of a benchmark, in order.
fn offsets(id: &str, params: &str) -> Option<Vec<u64>> {
    let offset = |call: &String| call.rsplit_once(", ")?.1.split(')').next()?.parse::<u64>().ok();
    let all = |calls: &[String]| -> Vec<u64> { calls.iter().filter(|call| is_read(call)).filter_map(offset).collect() };
    traced(id, params, None, |calls| all(calls).len() >= 4 * CALLS_OF_OPERATION).map(|calls| all(&calls))
}

#[test]
fn reads_of_a_disk_are_in_the_named_order() {
    let size = "on=file size=16777216";
    let Some(same) = offsets("disk.overhead", &format!("{size} block=4096 order=same")) else { return };
    let Some(next) = offsets("disk.overhead", &format!("{size} block=4096 order=next")) else { return };
    let steps = |all: &[u64], step: u64| all.windows(2).filter(|pair| pair[1] == pair[0] + step).count();
    assert!(same.len() >= CALLS_OF_OPERATION && steps(&same, 0) > same.len() / 2, "{same:?}");
    assert!(next.len() >= CALLS_OF_OPERATION && steps(&next, 4096) > next.len() / 2, "{next:?}");
    // In every second pair the second read is the timed one.
    let Some(seeks) = offsets("disk.seek", &format!("{size} distance=50")) else { return };
    // Half of the file, which is shorter where filling all of it would take too long.
    let distances = (1..=16).map(|half_mib| half_mib << 19);
    let pairs = |distance: u64| seeks.windows(2).filter(|pair| pair[1].abs_diff(pair[0]) == distance).count();
    let distance = distances.max_by_key(|distance| pairs(*distance)).expect("distances");
    assert!(pairs(distance) > seeks.len() / 3, "{seeks:?}");
    let apart = |pair: &[u64]| pair[1].abs_diff(pair[0]) == distance;
    let (up, down): (Vec<&[u64]>, Vec<&[u64]>) =
        seeks.windows(2).filter(|pair| apart(pair)).partition(|pair| pair[1] > pair[0]);
    let found = || format!("{} up, {} down: {seeks:?}", up.len(), down.len());
    assert!(up.len().min(down.len()) * 3 > up.len().max(down.len()), "{}", found());
}

/// A request to `/dev/cpu_dma_latency` holds only while the file is open.
#[test]
fn idle_states_stay_shallow_until_the_last_sleep() {
    let sleep = "interface=clock_nanosleep_abs length=100us cpu_dma_latency=0";
    // In sched.periodic child processes sleep, and the worker waits for them.
    for (id, params, last) in
        [("timer.sleep", sleep, "TIMER_ABSTIME"), ("sched.periodic", "cpus=one cpu_dma_latency=0", "wait4(")]
    {
        let Some(trace) = trace(id, params, None, LIMITS_MS[0], &[]) else { continue };
        let calls: Vec<&str> = trace.own_calls().collect();
        let opened = calls.iter().position(|call| call.contains("cpu_dma_lat")).expect("the request");
        if calls[opened].contains(" = -1 ") {
            println!("skipped: {}", calls[opened]);
            continue;
        }
        let descriptor = calls[opened].rsplit(' ').next().expect("a number");
        // The harness makes the same calls at the end; there they fail.
        let ended = calls.iter().rposition(|call| call.contains(last) && !call.contains(" = -1 ")).expect("a sleep");
        let closes = format!("close({descriptor})");
        let early = calls[opened..ended].iter().any(|call| call.starts_with(&closes));
        assert!(opened < ended && !early, "{id}: {:?}", &calls[opened..ended]);
    }
}
