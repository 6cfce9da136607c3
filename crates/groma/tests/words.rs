//! Which system calls a worker makes for each value of a parameter.
//!
//! A benchmark proves that its operation happened as often as credited. A value that leads to
//! another operation (`kind=sendfile` that copies with `read` and `write`, a shared futex where a
//! private one is named, an `overwrite` without a flush) keeps all of these proofs and reports the
//! cost of something else. Here a worker runs each value briefly under `strace`, and its system
//! calls are compared with what the value names.
//!
//! Without `strace`, or where it may not trace, the tests print that and pass.
#![cfg(target_os = "linux")]

mod arguments;
mod timed;

use crate::common::trace::{self, Traced};
use groma_harness::model::{Params, Value};
use std::collections::BTreeSet;

/// The number of calls that counts as the operation: fewer than the timed operations and the
/// warm-up of any row, more than set-up and clean-up make of any call in a row.
const CALLS_OF_OPERATION: usize = 8;
/// How long a round samples. A slow operation (a disk on a busy machine) gets longer rounds until
/// it has made enough calls.
const LIMITS_MS: [u64; 5] = [20, 40, 80, 320, 1280];

/// A benchmark, its parameters, a call that it makes (` or ` separates spellings), and one that it
/// must not repeat (may be empty). A call is a part of a line of `strace`.
type Row<'a> = (&'a str, &'a str, &'a str, &'a str);

/// A round with these parameters; see [`trace::traced`].
fn trace(id: &str, params: &str, on: Option<u32>, limit_ms: u64, options: &[String]) -> Option<Traced> {
    let param = |(name, value): (&str, &str)| {
        // A value in quotes is a word even if it looks like a number.
        let value = value.parse().map_or_else(|_| Value::Word(value.trim_matches('"').to_owned()), Value::Int);
        (name.to_owned(), value)
    };
    let params = Params(params.split_whitespace().filter_map(|p| p.split_once('=')).map(param).collect());
    trace::traced(id, &params, on, limit_ms, options)
}

/// The calls of all processes of the first round that made `enough` of them, or of the longest one.
fn traced(id: &str, params: &str, on: Option<u32>, enough: impl Fn(&[String]) -> bool) -> Option<Vec<String>> {
    let mut last = None;
    for limit in LIMITS_MS {
        let round = trace(id, params, on, limit, &[])?;
        let calls = last.insert(round.calls().map(str::to_owned).collect::<Vec<_>>());
        if enough(calls) {
            break;
        }
    }
    last
}

fn is_read(call: &str) -> bool {
    call.starts_with("pread64(")
}

fn count(calls: &[String], what: &str) -> usize {
    calls.iter().filter(|call| call.contains(what)).count()
}

/// A CPU for both sides of a benchmark.
fn one_cpu() -> u32 {
    groma_sys::affinity::allowed().expect("CPUs")[0]
}

/// Asserts that a round of each row repeats its call, and not the other one.
fn check(rows: &[Row]) {
    check_made(CALLS_OF_OPERATION, rows);
}

/// Asserts that a round of each row makes its call at least once, and does not repeat the other
/// one.
fn check_set_up(rows: &[Row]) {
    check_made(1, rows);
}

fn check_made(least: usize, rows: &[Row]) {
    let mut wrong = Vec::new();
    for (id, params, does, never) in rows {
        let on = id.starts_with("ctx.").then(one_cpu);
        let made = |calls: &[String]| does.split(" or ").map(|what| count(calls, what)).sum::<usize>();
        let Some(calls) = traced(id, params, on, |calls| made(calls) >= least) else { continue };
        if made(&calls) < least {
            wrong.push(format!("{id} {params}: {} times {does}", made(&calls)));
        }
        if !never.is_empty() && count(&calls, never) >= CALLS_OF_OPERATION {
            wrong.push(format!("{id} {params}: {} times {never}", count(&calls, never)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn parameters_of_locks_and_tasks_choose_the_system_call() {
    check(&[
        ("lock.futex", "op=wake key=private object=private", "FUTEX_WAKE_PRIVATE", "FUTEX_WAIT"),
        ("lock.futex", "op=wake key=shared object=private", "FUTEX_WAKE,", "FUTEX_WAKE_PRIVATE"),
        ("lock.futex", "op=wait key=private object=private", "FUTEX_WAIT_PRIVATE", "FUTEX_WAKE"),
        ("lock.futex", "op=wait key=shared object=private", "FUTEX_WAIT,", "FUTEX_WAIT_PRIVATE"),
        ("ctx.futex", "kind=thread", "FUTEX_WAIT_PRIVATE", "FUTEX_WAIT,"),
        ("ctx.futex", "kind=process", "FUTEX_WAIT,", "FUTEX_WAIT_PRIVATE"),
        // Between windows the members sleep on futexes that are always shared.
        ("lock.contended", "kind=mutex task=thread threads=2 section=0 think=0", "FUTEX_WAIT_PRIVATE", "_LOCK_PI"),
        ("lock.contended", "kind=mutex task=process threads=2 section=0 think=0", "FUTEX_WAIT,", "FUTEX_WAIT_PRIVATE"),
        ("lock.contended", "kind=pi task=thread threads=2 section=0 think=0", "_LOCK_PI", "FUTEX_WAIT_PRIVATE"),
        ("lock.condition", "call=signal waiters=4", "FUTEX_WAKE_PRIVATE, 1)", "FUTEX_WAKE_PRIVATE, 2147483647)"),
        ("lock.condition", "call=broadcast waiters=4", "FUTEX_WAKE_PRIVATE, 2147483647)", ""),
        // `alone` has nobody to yield to: the other thread sleeps.
        ("ctx.yield", "", "FUTEX_WAIT_PRIVATE", ""),
        ("lock.file", "kind=record object=private", "F_SETLK", "F_OFD_SETLK"),
        ("lock.file", "kind=open-file object=private", "F_OFD_SETLK", "flock("),
        ("lock.file", "kind=flock object=private", "flock(", "F_SETLK"),
        ("proc.vfork_exit", "", "CLONE_VM|CLONE_VFORK", "CLONE_CHILD_CLEARTID"),
        ("proc.exec", "target=bare by=vfork from=file", "CLONE_VM", "execveat("),
        ("proc.exec", "target=bare by=fork from=memfd", "execveat(", "CLONE_VM"),
        ("proc.clone3", "kind=fork", "clone3(", "CLONE_VM"),
        ("proc.clone3", "kind=vm_vfork", "CLONE_VM|CLONE_VFORK", "CLONE_PIDFD"),
        ("proc.clone3", "kind=pidfd", "CLONE_PIDFD", "CLONE_VM"),
    ]);
}

#[test]
fn parameters_of_files_choose_the_system_call() {
    check(&[
        (
            "file.copy",
            "kind=copy_file_range size=1048576 where=work_dir object=private",
            "copy_file_range(",
            "sendfile(",
        ),
        ("file.copy", "kind=sendfile size=1048576 where=work_dir object=private", "sendfile(", "copy_file_range("),
        ("file.copy", "kind=read_write size=1048576 where=work_dir object=private", "pread64(", "sendfile("),
        ("file.durable", "kind=append", "fsync(", "fdatasync("),
        ("file.durable", "kind=log", "fdatasync(", "fsync("),
        ("file.durable", "kind=overwrite", "fdatasync(", "fsync("),
        ("file.durable", "kind=create", "fsync(", "rename"),
        ("file.durable", "kind=replace", "rename", "unlink"),
        ("file.link", "kind=hard entries=16 where=work_dir object=private", "linkat(", "symlink"),
        ("file.link", "kind=symbolic entries=16 where=work_dir object=private", "symlink", "AT_SYMLINK_FOLLOW"),
        ("ipc.sendfile_bandwidth", "size=65536 by=sendfile to=socket touch=yes", "sendfile(", "splice("),
        ("ipc.sendfile_bandwidth", "size=65536 by=splice to=pipe touch=yes", "splice(", "sendfile("),
        ("ipc.sendfile_bandwidth", "size=65536 by=read_write to=socket touch=yes", "pread64(", "splice("),
        ("mix.andrew", "tree=small jobs=1", "read(", "copy_file_range("),
        ("rpc.null", "transport=tcp", "write(", "sendto("),
        ("rpc.null", "transport=udp", "sendto(", "write("),
        ("ipc.pipe_bandwidth", "size=65536 buffer=default by=vmsplice touch=yes", "vmsplice(", ""),
        ("ipc.pipe_bandwidth", "size=65536 buffer=default by=write touch=yes", "write(", "vmsplice("),
    ]);
}

#[test]
fn parameters_of_memory_choose_the_system_call() {
    check(&[
        ("vm.remap", "kind=move size=65536 pages=present", "MREMAP_FIXED", ""),
        ("vm.remap", "kind=grow size=65536 pages=present", "mremap(", "MREMAP_FIXED"),
        ("vm.fault", "kind=file_minor object=private", "MAP_FIXED", "PROT_WRITE, MAP_PRIVATE|MAP_FIXED,"),
        (
            "vm.fault",
            "kind=file_cow object=private",
            "PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_FIXED,",
            "MAP_SHARED|MAP_FIXED",
        ),
        ("vm.fault", "kind=file_shared object=private", "PROT_READ|PROT_WRITE, MAP_SHARED|MAP_FIXED", ""),
        ("vm.advise", "advice=dontneed size=65536", "MADV_DONTNEED", "MADV_FREE"),
        ("vm.advise", "advice=free size=65536", "MADV_FREE", "MADV_COLD"),
        ("vm.advise", "advice=cold size=65536", "MADV_COLD", "MADV_FREE"),
        ("vm.advise", "advice=populate_write size=65536", "MADV_POPULATE_WRITE or 0x17", "MADV_COLD"),
        ("vm.map", "size=65536 backing=anon touch=none", "MAP_PRIVATE|MAP_ANONYMOUS, -1", "MAP_POPULATE"),
        ("vm.map", "size=65536 backing=file touch=populate", "MAP_SHARED|MAP_POPULATE", ""),
        ("vm.map", "size=65536 backing=shmem touch=none", "MAP_SHARED, ", "MAP_POPULATE"),
    ]);
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
        let params = format!("interface={way} length=100000 slack=default policy=other cpu_dma_latency=default");
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
    check(&[
        ("ready.poll", "count=4 kind=pipe ready=last", "poll(", "select"),
        ("ready.select", "count=4 kind=pipe ready=last", "select", "poll("),
        ("ready.epoll", "count=4 kind=pipe ready=last", "epoll_", "poll("),
    ]);
}

/// The last timer slack that is set applies to the sleeps. The default, 50 us, exceeds the delay of
/// many of them.
#[test]
fn sleeps_have_the_requested_timer_slack() {
    for (id, params, slack) in [
        ("sched.periodic", "policy=other cpus=one cpu_dma_latency=default", 1),
        ("timer.sleep", "interface=nanosleep length=100000 slack=1ns policy=other cpu_dma_latency=default", 1),
        ("timer.sleep", "interface=nanosleep length=100000 slack=default policy=other cpu_dma_latency=default", 0),
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
    let params = "size=1048576 where=work_dir object=private";
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
    let params = "kind=hit entries=64 where=work_dir object=private";
    let names = |calls: &[String]| -> usize {
        let lookups = calls.iter().filter(|call| call.starts_with("newfstatat(") || call.starts_with("statx("));
        let names = lookups.filter_map(|call| call.split('"').nth(1)).filter(|name| name.starts_with("crowd-"));
        names.collect::<BTreeSet<&str>>().len()
    };
    let Some(calls) = traced("file.lookup", params, None, |calls| names(calls) > CALLS_OF_OPERATION) else { return };
    assert!(names(&calls) > CALLS_OF_OPERATION, "{} different names", names(&calls));
}

/// A core that was busy before shows no ramp.
#[test]
fn the_core_rests_before_its_clock_is_watched() {
    check_set_up(&[("cpu.boost", "", "TIMER_ABSTIME", "")]);
}

/// A process that unmapped its memory first would exit faster.
#[test]
fn a_process_exits_with_its_memory() {
    check(&[("proc.exit", "resident=1048576", "wait4(", "munmap(")]);
}

/// A peer that does not pin itself is on the CPU of this side whatever the placement says. One row
/// for each place in the code that starts peers.
#[test]
fn a_peer_is_pinned() {
    let mut wrong = Vec::new();
    for (id, params) in [
        ("ctx.switch", "tasks=2 working_set=0 kind=process access=update"),
        ("ipc.pipe_bandwidth", "size=65536 buffer=default by=write touch=no"),
        ("ipc.pipe_rtt", "size=1"),
        ("net.tcp_rtt", "size=1 nodelay=on family=v4"),
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
    let sleep = "interface=clock_nanosleep_abs length=100000 slack=default policy=other cpu_dma_latency=\"0\"";
    // In sched.periodic child processes sleep, and the worker waits for them.
    for (id, params, last) in [
        ("timer.sleep", sleep, "TIMER_ABSTIME"),
        ("sched.periodic", "policy=other cpus=one cpu_dma_latency=\"0\"", "wait4("),
    ] {
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
