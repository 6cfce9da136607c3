//! Sizes, counts and addresses: what the kernel gets of a parameter that is a number, or names one,
//! where a header cannot say it.
//!
//! A number that is halved, replaced or dropped on its way still leads to the right system call, as
//! often as credited, but with another argument.

use super::{CALLS_OF_OPERATION, count, traced};
use groma_sys::pages::page_size;
use std::collections::BTreeSet;

/// One page more than before, whatever the size of a page is.
#[test]
fn a_mapping_grows_by_a_page() {
    let grown = format!("mremap(.., 65536, {}, 0)", 65536 + page_size());
    let enough = |calls: &[String]| count(calls, &grown) >= CALLS_OF_OPERATION;
    let Some(calls) = traced("vm.remap", "kind=grow size=64K", None, enough) else { return };
    assert!(enough(&calls), "{} times {grown}", count(&calls, &grown));
}

/// Some file systems do not reuse a freed inode for minutes, and creating files near many of them
/// takes longer. So the directory is flagged to be placed apart.
#[test]
fn files_are_created_away_from_removed_ones() {
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

#[test]
fn connections_use_the_named_address_family() {
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

/// The set holds the named number of descriptors beside the one that is added and deleted.
#[test]
fn a_set_holds_the_named_number_of_descriptors() {
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
        let enough = |calls: &[String]| steps(calls) >= CALLS_OF_OPERATION;
        let Some(calls) = traced("vm.brk", &format!("size=65536 pages={pages}"), None, enough) else { return };
        assert!(steps(&calls) >= CALLS_OF_OPERATION, "{pages}: {} times", steps(&calls));
    }
}

#[test]
fn a_batch_has_the_named_number_of_files() {
    let names = |calls: &[String]| {
        let made = calls.iter().filter(|call| call.contains("O_CREAT") && call.contains(", \""));
        let name = |call: &String| call.split('"').nth(1).and_then(|name| name.parse::<u32>().ok());
        made.filter_map(name).collect::<BTreeSet<u32>>().len()
    };
    let params = "size=0 entries=33 where=work_dir object=private order=batch";
    let Some(calls) = traced("file.create_delete", params, None, |calls| names(calls) >= 33) else { return };
    assert_eq!(names(&calls), 33);
}

#[test]
fn the_named_number_of_compilers_runs_at_once() {
    for jobs in [1, 3] {
        let Some(calls) = traced("mix.andrew", &format!("tree=small jobs={jobs}"), None, |_| true) else { return };
        let (mut running, mut most) = (0i32, 0);
        for call in &calls {
            // A call that strace writes in two parts begins with the first one.
            running += i32::from(call.starts_with("clone")) - i32::from(call.starts_with("wait4("));
            most = most.max(running);
        }
        assert_eq!(most, jobs);
    }
}

/// Rust's runtime installs the first handler of the signal, the benchmark the second.
#[test]
fn a_handler_runs_on_the_named_stack() {
    for (stack, alternate) in [("thread", false), ("alternate", true)] {
        let Some(calls) = traced("signal.fault", &format!("kind=write stack={stack}"), None, |_| true) else { return };
        let handler = calls.iter().filter(|call| call.starts_with("rt_sigaction(SIGSEGV, {")).nth(1);
        // strace writes the new handler before the old one.
        let flags = handler.and_then(|call| call.split("}, {").next()).unwrap_or_default();
        assert_eq!(flags.contains("SA_ONSTACK"), alternate, "{stack}: {handler:?}");
    }
}

/// Nagle's algorithm at one end only holds back that end's segments.
#[test]
fn nodelay_is_set_at_both_ends() {
    let switched_off = |nodelay: &str| {
        let calls = traced("net.tcp_rtt", &format!("size=4 nodelay={nodelay} family=v4"), None, |_| true)?;
        Some(calls.iter().filter(|call| call.contains("TCP_NODELAY, [1]")).count())
    };
    let (Some(on), Some(off)) = (switched_off("on"), switched_off("off")) else { return };
    assert!(on >= 2 && off == 0, "{on} times with nodelay=on, {off} with nodelay=off");
}
