//! Sizes, counts and addresses: what a parameter that is a number, or names one, hands to the
//! kernel.
//!
//! A number that is halved, replaced by another or forgotten on its way leads to the right system
//! call, as often as is credited, with another argument.

use super::{SOME, traced};
use groma_sys::pages::page_size;
use std::collections::BTreeSet;

#[test]
fn the_kernel_is_given_the_numbers_that_are_named() {
    let page = page_size();
    let grown = format!(", 65536, {}, 0)", 65536 + page);
    let file = "where=work_dir object=private";
    // An older `strace` does not know the name.
    let resident = [", 1048576, MADV_POPULATE_WRITE", ", 1048576, 0x17 "];
    // Of each: the arguments of a call, and how often at least it is made.
    let rows: &[(&str, String, &[&str], usize)] = &[
        ("file.truncate", "size=65536 where=work_dir".into(), &[", 65536)  "], SOME),
        ("file.mmap_reread", format!("mode=populate size=1048576 {file}"), &["MAP_SHARED|MAP_POPULATE"], SOME),
        ("http.get", "size=1024 connection=keep_alive from=file".into(), &["sendfile("], SOME),
        ("lock.file", "kind=record object=private".into(), &["F_SETLKW, {l_type=F_WRLCK"], SOME),
        ("lock.file", "kind=open-file object=private".into(), &["F_OFD_SETLKW, {l_type=F_WRLCK"], SOME),
        ("lock.posix_sem", "object=shared".into(), &["PROT_READ|PROT_WRITE, MAP_SHARED, "], 1),
        ("lock.file", "kind=flock object=private".into(), &["LOCK_EX"], SOME),
        ("net.udp_rtt", "size=4 family=v4".into(), &["it_value={tv_sec=0, tv_nsec=50000000}"], 1),
        ("proc.exit", "resident=1048576".into(), &resident, SOME),
        ("proc.fork_exit", "resident=1048576 pages=base".into(), &resident, 1),
        ("vm.advise", "advice=dontneed size=65536".into(), &[", 65536, MADV_DONTNEED"], SOME),
        ("vm.map", "size=65536 backing=anon touch=none".into(), &["mmap(NULL, 65536, "], SOME),
        ("vm.protect", "size=65536 pages=present".into(), &[", 65536, PROT_READ)"], SOME),
        ("vm.protect", "size=65536 pages=present".into(), &[", 65536, MADV_POPULATE_WRITE", ", 65536, 0x17 "], 1),
        ("vm.remap", "kind=grow size=65536 pages=present".into(), &[&grown], SOME),
        ("vm.remap", "kind=move size=65536 pages=present".into(), &[", 65536, 65536, "], SOME),
    ];
    let mut wrong = Vec::new();
    for (id, params, what, least) in rows {
        let made = |calls: &[String]| {
            let made = |what: &str| calls.iter().filter(|call| call.contains(what)).count();
            what.iter().map(|what| made(what)).sum::<usize>()
        };
        let Some(calls) = traced(id, params, None, |calls| made(calls) >= *least) else { continue };
        if made(&calls) < *least {
            wrong.push(format!("{id} {params}: {} times {what:?}", made(&calls)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Where an inode that was freed is not used again for minutes, what is created near it takes
/// longer the more of them there are: the directory is asked for a place of its own.
#[test]
fn what_creates_files_does_so_apart_from_those_that_were_removed() {
    for (id, params) in [
        ("file.create_delete", "size=0 entries=16 where=work_dir object=private order=turns"),
        ("file.create_write_read_delete", "size=0 where=work_dir"),
        ("file.durable", "kind=create"),
        ("file.link", "kind=hard entries=16 where=work_dir object=private"),
        ("file.rename", "kind=same_dir entries=16 where=work_dir"),
        ("mix.andrew", "tree=small jobs=1"),
    ] {
        let Some(calls) = traced(id, params, None, |_| true) else { return };
        assert!(calls.iter().any(|call| call.contains("FS_IOC_GETFLAGS")), "{id}");
    }
}

/// The connections of the named family, and no other.
#[test]
fn addresses_are_of_the_named_family() {
    for (id, others) in [
        ("net.tcp_rtt", "size=1 nodelay=on"),
        ("net.udp_rtt", "size=4"),
        ("net.tcp_connect", "acceptor=later"),
        ("net.tcp_accept", ""),
        ("net.tcp_crr", "close=reset"),
        ("net.tcp_bandwidth", "size=65536 buffers=default by=write touch=no"),
        ("net.udp_bandwidth", "size=1024"),
    ] {
        let Some(calls) = traced(id, &format!("{others} family=v6"), None, |_| true) else { continue };
        let connects: Vec<&String> = calls.iter().filter(|call| call.starts_with("connect(")).collect();
        assert!(!connects.is_empty() && connects.iter().all(|call| call.contains("AF_INET6")), "{id}: {connects:?}");
    }
}

/// The set holds as many descriptors as are named beside the one that comes and goes.
#[test]
fn a_set_of_descriptors_is_as_large_as_is_said() {
    let made = |calls: &[String], what: &str| {
        calls.iter().filter(|call| call.contains(what) && call.ends_with(" = 0")).count()
    };
    let Some(calls) = traced("ready.epoll_ctl", "count=7 op=add_del", None, |_| true) else { return };
    assert_eq!(made(&calls, "EPOLL_CTL_ADD"), 7 + made(&calls, "EPOLL_CTL_DEL"));
    // Beside the one that is modified.
    let Some(calls) = traced("ready.epoll_ctl", "count=7 op=mod", None, |_| true) else { return };
    assert_eq!(made(&calls, "EPOLL_CTL_ADD"), 7 + 1);
}

#[test]
fn the_heap_grows_by_the_named_size() {
    let end = |call: &String| -> Option<u64> {
        let told = call.starts_with("brk(").then_some(call)?.rsplit_once("= 0x")?.1;
        u64::from_str_radix(told, 16).ok()
    };
    let steps = |calls: &[String]| {
        let ends: Vec<u64> = calls.iter().filter_map(end).collect();
        ends.windows(2).filter(|pair| pair[1] == pair[0] + 65536).count()
    };
    for pages in ["absent", "present"] {
        let enough = |calls: &[String]| steps(calls) >= SOME;
        let Some(calls) = traced("vm.brk", &format!("size=65536 pages={pages}"), None, enough) else { return };
        assert!(steps(&calls) >= SOME, "{pages}: {} times", steps(&calls));
    }
}

#[test]
fn a_batch_has_as_many_names_as_are_said() {
    let names = |calls: &[String]| {
        let made = calls.iter().filter(|call| call.contains("O_CREAT") && call.contains(", \""));
        let name = |call: &String| call.split('"').nth(1).and_then(|name| name.parse::<u32>().ok());
        made.filter_map(name).collect::<BTreeSet<u32>>().len()
    };
    let params = "size=0 entries=33 where=work_dir object=private order=batch";
    let Some(calls) = traced("file.create_delete", params, None, |calls| names(calls) >= 33) else { return };
    assert_eq!(names(&calls), 33);
}

/// As many compilers at once as are named, and no more.
#[test]
fn as_many_compilers_run_at_once_as_are_said() {
    for jobs in [1, 3] {
        let Some(calls) = traced("mix.andrew", &format!("tree=small jobs={jobs}"), None, |_| true) else { return };
        let (mut running, mut most) = (0i32, 0);
        for call in &calls {
            // What is written in two parts has begun with its first.
            running += i32::from(call.starts_with("clone")) - i32::from(call.starts_with("wait4("));
            most = most.max(running);
        }
        assert_eq!(most, jobs);
    }
}

/// The second handler of the signal is that of the benchmark; Rust's is the first.
#[test]
fn a_handler_runs_on_the_named_stack() {
    for (stack, alternate) in [("thread", false), ("alternate", true)] {
        let Some(calls) = traced("signal.fault", &format!("kind=write stack={stack}"), None, |_| true) else { return };
        let handler = calls.iter().filter(|call| call.starts_with("rt_sigaction(SIGSEGV, {")).nth(1);
        // The new one is written first, the old one behind it.
        let flags = handler.and_then(|call| call.split("}, {").next()).unwrap_or_default();
        assert_eq!(flags.contains("SA_ONSTACK"), alternate, "{stack}: {handler:?}");
    }
}

/// Nagle's algorithm at one end only holds back that end's segments.
#[test]
fn both_ends_are_told_the_same_of_small_segments() {
    let switched_off = |nodelay: &str| {
        let calls = traced("net.tcp_rtt", &format!("size=4 nodelay={nodelay} family=v4"), None, |_| true)?;
        Some(calls.iter().filter(|call| call.contains("TCP_NODELAY, [1]")).count())
    };
    let (Some(on), Some(off)) = (switched_off("on"), switched_off("off")) else { return };
    assert!(on >= 2 && off == 0, "{on} times with nodelay=on, {off} with nodelay=off");
}
