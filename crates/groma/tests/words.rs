//! Which system calls a worker makes for each value of a parameter.
//!
//! A benchmark proves that its operation happened as often as it is credited. A value that leads to
//! another operation (`kind=sendfile` that copies by `read` and `write`, a private futex that is
//! shared, an `overwrite` that is not synced) keeps all of these proofs and reports the cost of
//! something else. Here each value runs for a moment in a worker under `strace`, and its system
//! calls are compared with what the value promises.
//!
//! Without `strace`, or where it may not trace, the tests print that and pass.
#![cfg(target_os = "linux")]

mod arguments;
mod timed;

use crate::common::trace::{self, Traced};
use groma_harness::model::{Params, Value};

/// The number of calls that counts as the operation: fewer than any row makes (timed operations and
/// warm-up), more than set-up and clean-up make of any call that a row names.
const SOME: usize = 8;
/// How long a round samples; something slow (a disk on a busy machine) gets longer ones until it
/// has made so many.
const LIMITS_MS: [u64; 5] = [20, 40, 80, 320, 1280];

/// A benchmark, its parameters, the calls of which one must be made repeatedly (`|` between
/// alternatives), and one that must not be.
type Row = (&'static str, &'static str, &'static str, &'static str);

/// A round with these parameters; see [`common::trace::traced`].
fn trace(id: &str, params: &str, on: Option<u32>, limit_ms: u64, options: &[String]) -> Option<Traced> {
    let param = |(name, value): (&str, &str)| {
        // In quotes it is a word, whatever it looks like.
        let value = value.parse().map_or_else(|_| Value::Word(value.trim_matches('"').to_owned()), Value::Int);
        (name.to_owned(), value)
    };
    let params = Params(params.split_whitespace().filter_map(|p| p.split_once('=')).map(param).collect());
    trace::traced(id, &params, on, limit_ms, options)
}

/// The calls of a round, whichever process made them.
fn traced_once(id: &str, params: &str, on: Option<u32>, limit_ms: u64) -> Option<Vec<String>> {
    Some(trace(id, params, on, limit_ms, &[])?.calls().map(str::to_owned).collect())
}

/// The same of a round that made `enough` calls, or of the longest one.
fn traced(id: &str, params: &str, on: Option<u32>, enough: impl Fn(&[String]) -> bool) -> Option<Vec<String>> {
    let mut last = None;
    for limit in LIMITS_MS {
        let calls = last.insert(traced_once(id, params, on, limit)?);
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

/// Asserts that the parameter values of these rows do what they say, and not what another value
/// says.
fn check(rows: &[Row]) {
    let mut wrong = Vec::new();
    for (id, params, does, never) in rows {
        let on = id.starts_with("ctx.").then(|| groma_sys::affinity::allowed().expect("CPUs")[0]);
        let made = |calls: &[String]| does.split('|').map(|what| count(calls, what)).max().unwrap_or(0);
        let Some(calls) = traced(id, params, on, |calls| made(calls) >= SOME) else { continue };
        let made = made(&calls);
        if made < SOME {
            wrong.push(format!("{id} {params}: {made} times {does}"));
        }
        if !never.is_empty() && count(&calls, never) >= SOME {
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
        ("file.durable", "kind=log", "fdatasync(", " fsync("),
        ("file.durable", "kind=overwrite", "fdatasync(", " fsync("),
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
        ("vm.advise", "advice=populate_write size=65536", "MADV_POPULATE_WRITE|0x17", "MADV_COLD"),
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
        let Some(calls) = traced("timer.sleep", &params, None, |calls| count(calls, does) >= SOME) else { continue };
        let count = |what: &str| count(&calls, what);
        assert!(count(does) >= SOME, "{way}: {} times {does}", count(does));
        for (_, other) in ways[..i].iter().chain(&ways[i + 1..]).filter(|(_, other)| !does.contains(other)) {
            // `clock_nanosleep` ends with `nanosleep`.
            assert!(count(other) < SOME || *other == "nanosleep(", "{way}: {} times {other}", count(other));
        }
    }
    check(&[
        ("ready.poll", "count=4 kind=pipe ready=last", "poll(", "select"),
        ("ready.select", "count=4 kind=pipe ready=last", "select", " poll("),
        ("ready.epoll", "count=4 kind=pipe ready=last", "epoll_", " poll("),
    ]);
}

/// The last change of the timer slack applies to the sleeps: the default of 50 us is more than many
/// of them are late by.
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
    // Of 256 blocks in random order, one in 256 follows the one before it.
    let in_order = offsets.windows(2).filter(|pair| pair[1] == pair[0] + 4096).count();
    assert!(in_order < offsets.len() / 8, "{in_order} of {} reads follow the one before", offsets.len());
}

/// Where a search ends at the first ready descriptor, its position decides the cost of the call.
#[test]
fn the_ready_descriptor_is_the_named_one() {
    for (ready, at) in [("first", 0), ("last", 3)] {
        // ppoll([{fd=3, ...}, ..., {fd=6, ...}], 4, ...) = 1 ([{fd=6, revents=POLLIN}], ...)
        let answered =
            |call: &&String| call.starts_with("ppoll(") && call.contains("], 4, ") && call.contains("revents");
        let params = format!("count=4 kind=pipe ready={ready}");
        let enough = |calls: &[String]| calls.iter().filter(answered).count() >= SOME;
        let Some(calls) = traced("ready.poll", &params, None, enough) else { return };
        let answers: Vec<Vec<&str>> = calls
            .iter()
            .filter(answered)
            .map(|call| call.split("fd=").skip(1).filter_map(|rest| rest.split([',', '}']).next()).collect())
            .collect();
        assert!(answers.len() >= SOME, "{ready}: {} answers", answers.len());
        assert!(answers.iter().all(|fds| fds.len() == 5 && fds[4] == fds[at]), "{ready}: {:?}", answers[0]);
    }
}

/// `select` looks at every number up to the largest: the other ends of pipes and connections have
/// larger ones.
#[test]
fn the_descriptors_asked_about_are_neighbours() {
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
        let Some(calls) = traced("ready.select", &params, None, |calls| sets(calls).len() >= SOME) else { return };
        let sets = sets(&calls);
        assert!(sets.len() >= SOME, "{kind}: {} calls", sets.len());
        assert!(sets.iter().all(|set| set[3] == set[0] + 3), "{kind}: {:?}", sets[0]);
    }
}

#[test]
fn lookups_take_one_name_after_the_other() {
    let params = "kind=hit entries=64 where=work_dir object=private";
    let names = |calls: &[String]| -> usize {
        let asked = calls.iter().filter(|call| call.starts_with("newfstatat(") || call.starts_with("statx("));
        let named = asked.filter_map(|call| call.split('"').nth(1)).filter(|name| name.starts_with("crowd-"));
        named.collect::<std::collections::BTreeSet<&str>>().len()
    };
    let Some(calls) = traced("file.lookup", params, None, |calls| names(calls) > SOME) else { return };
    assert!(names(&calls) > SOME, "{} different names", names(&calls));
}

/// A core that was not idle before has no ramp to show.
#[test]
fn the_core_rests_before_its_clock_is_watched() {
    let Some(calls) = traced("cpu.boost", "", None, |_| true) else { return };
    assert!(count(&calls, "TIMER_ABSTIME") > 0, "it has not slept");
}

/// A process that gave its memory back before it left would leave faster.
#[test]
fn a_process_leaves_with_its_memory() {
    check(&[("proc.exit", "resident=1048576", "wait4(", "munmap(")]);
}

/// The offsets of the direct reads of a benchmark, in order.
fn offsets(id: &str, params: &str) -> Option<Vec<u64>> {
    let offset = |call: &String| call.rsplit_once(", ")?.1.split(')').next()?.parse::<u64>().ok();
    let all = |calls: &[String]| -> Vec<u64> { calls.iter().filter(|call| is_read(call)).filter_map(offset).collect() };
    traced(id, params, None, |calls| all(calls).len() >= 4 * SOME).map(|calls| all(&calls))
}

#[test]
fn reads_of_a_disk_are_in_the_order_that_is_named() {
    let size = "on=file size=16777216";
    let Some(same) = offsets("disk.overhead", &format!("{size} block=4096 order=same")) else { return };
    let Some(next) = offsets("disk.overhead", &format!("{size} block=4096 order=next")) else { return };
    let steps = |all: &[u64], step: u64| all.windows(2).filter(|pair| pair[1] == pair[0] + step).count();
    assert!(same.len() >= SOME && steps(&same, 0) > same.len() / 2, "{same:?}");
    assert!(next.len() >= SOME && steps(&next, 4096) > next.len() / 2, "{next:?}");
    // Every second timed read is behind the one before it.
    let Some(seeks) = offsets("disk.seek", &format!("{size} distance=50")) else { return };
    // Half of the file apart, which is smaller where there was no time to fill all of it.
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

/// The kernel forgets what is asked of `/dev/cpu_dma_latency` as soon as the file is closed.
#[test]
fn idle_states_stay_shallow_until_the_last_sleep() {
    let sleep = "interface=clock_nanosleep_abs length=100000 slack=default policy=other cpu_dma_latency=\"0\"";
    // It is tasks of the second that sleep, and they are waited for.
    for (id, params, last) in [
        ("timer.sleep", sleep, "TIMER_ABSTIME"),
        ("sched.periodic", "policy=other cpus=one cpu_dma_latency=\"0\"", "wait4("),
    ] {
        let Some(trace) = trace(id, params, None, LIMITS_MS[0], &[]) else { continue };
        let calls: Vec<&str> = trace.own_calls().collect();
        let opened = calls.iter().position(|call| call.contains("cpu_dma_lat")).expect("it was asked for");
        if calls[opened].contains(" = -1 ") {
            println!("skipped: {}", calls[opened]);
            continue;
        }
        let descriptor = calls[opened].rsplit(' ').next().expect("a number");
        // What the harness asks for at the end is answered with an error.
        let ended = calls.iter().rposition(|call| call.contains(last) && !call.contains(" = -1 ")).expect("a sleep");
        let closes = format!("close({descriptor})");
        let early = calls[opened..ended].iter().any(|call| call.starts_with(&closes));
        assert!(opened < ended && !early, "{id}: {:?}", &calls[opened..ended]);
    }
}
