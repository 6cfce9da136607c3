//! Children that hide, are spared or do not end, and what the kernel reports about processes.

use super::*;
use crate::fork;
use std::time::{Duration, Instant};

#[test]
fn a_line_of_stat_is_parsed_with_any_process_name() {
    let seen = |pid, parent, ended| Some(Seen { pid, parent, ended });
    assert_eq!(parse_stat("12 (sleep) S 3 12 12 0 -1"), seen(12, 3, false));
    assert_eq!(parse_stat("12 (a) Z 99 (b)) Z 3 12 12 0"), seen(12, 3, true));
    assert_eq!(parse_stat("12 (x"), None);
    assert_eq!(look_at(id()), seen(id(), parent_id(), false));
}

#[test]
fn has_ended_is_true_until_the_child_is_reaped() {
    let (go, gone) = crate::io::pipe().expect("a pipe");
    use std::os::fd::AsFd;
    let child = fork::fork(|| {
        fork::close_copies(&[gone.as_fd()]);
        i32::from(crate::io::read(go.as_fd(), &mut [0]).is_err())
    });
    let child = child.expect("fork");
    assert!(!has_ended(child.pid()).expect("it is our child"));
    drop(gone);
    let patience = Instant::now() + Duration::from_secs(60);
    while !has_ended(child.pid()).expect("it is our child") {
        assert!(Instant::now() < patience, "it never ended");
        std::thread::yield_now();
    }
    // Asking does not reap: it still has its id and can be waited for.
    assert!(has_ended(child.pid()).expect("it is not reaped") && exists(child.pid()));
    let pid = child.pid();
    assert_eq!(child.wait().expect("its end").code(), Some(0));
    assert_eq!(has_ended(pid).map_err(|e| e.raw_os_error()), Err(Some(libc::ECHILD)));
    assert_eq!(has_ended(0).map_err(|e| e.kind()), Err(io::ErrorKind::InvalidInput));
}

#[test]
fn huge_pages_are_refused_until_they_are_allowed_again() {
    let child = fork::fork(|| {
        allow_huge_pages();
        let before = huge_pages_refused();
        refuse_huge_pages();
        let refused = huge_pages_refused();
        allow_huge_pages();
        // A kernel without them refuses nothing.
        i32::from(before || huge_pages_refused() || (crate::pages::huge_page_size().is_some() && !refused))
    });
    assert_eq!(child.expect("fork").wait().expect("wait").code(), Some(0));
}

/// A child that runs this as the subreaper of all its descendants, and must exit with 0.
fn as_a_parent(body: impl FnOnce() -> io::Result<bool>) {
    let mut child = fork::fork(|| match adopt_orphans().and_then(|()| body()) {
        Ok(true) => 0,
        Ok(false) => 1,
        Err(_) => 2,
    })
    .expect("fork");
    let patience = Instant::now() + Duration::from_secs(60);
    let exit = loop {
        match child.poll().expect("wait") {
            Some(exit) => break exit,
            None => assert!(Instant::now() < patience, "it never ended"),
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    assert_eq!(exit.code(), Some(0));
}

const PATIENCE: Duration = Duration::from_secs(30);

/// Becomes a daemon `depth` times over: a new session, and a parent that has ended. The
/// innermost writes its id.
fn hide(depth: u32, sender: std::os::fd::BorrowedFd<'_>) -> io::Result<()> {
    use std::os::fd::AsFd;
    rustix::process::setsid()?;
    let (ready, free) = crate::io::pipe()?;
    let deeper = fork::fork(|| {
        let go = || -> io::Result<()> {
            rustix::process::set_parent_process_death_signal(None)?;
            crate::io::write_full(free.as_fd(), b"x")?;
            if depth > 0 {
                return hide(depth - 1, sender);
            }
            rustix::process::setsid()?;
            crate::io::write_full(sender, &id().to_ne_bytes())?;
            loop {
                std::thread::park();
            }
        };
        i32::from(go().is_err())
    });
    // Neither killed nor waited for, but this parent must live until the child no longer dies with
    // it.
    std::mem::forget(deeper?);
    crate::io::read_full(ready.as_fd(), &mut [0])
}

#[test]
fn descendants_are_ended_wherever_they_hide() {
    use std::os::fd::AsFd;
    as_a_parent(|| {
        let (receiver, sender) = crate::io::pipe()?;
        for depth in 0..3 {
            std::mem::forget(fork::fork(|| i32::from(hide(depth, sender.as_fd()).is_err()))?);
        }
        let mut pids = [[0u8; 4]; 3];
        for pid in &mut pids {
            crate::io::read_full(receiver.as_fd(), pid)?;
        }
        let pids = pids.map(i32::from_ne_bytes);
        let there = pids.iter().all(|pid| exists(*pid));
        let strays = end_descendants(PATIENCE, |_| false);
        Ok(there
            && strays.left == 0
            && strays.running >= 3
            && pids.iter().all(|pid| !exists(*pid))
            && reap(-1).is_err())
    });
}

#[test]
fn spared_children_are_waited_for() {
    use std::os::fd::AsFd;
    as_a_parent(|| {
        let (receiver, sender) = crate::io::pipe()?;
        let spared = fork::fork(|| {
            std::thread::sleep(Duration::from_millis(100));
            i32::from(crate::io::write_full(sender.as_fd(), b"x").is_err())
        })?;
        let other = fork::fork(|| {
            loop {
                std::thread::park();
            }
        })?;
        let (pid, spared) = (spared.pid(), std::mem::ManuallyDrop::new(spared));
        std::mem::forget(other);
        let strays = end_descendants(PATIENCE, |p| p == pid);
        drop(sender);
        let mut said = [0];
        crate::io::read_full(receiver.as_fd(), &mut said)?;
        Ok(spared.pid() == pid && (strays.running, strays.left) == (1, 0) && said == *b"x")
    });
}

#[test]
fn waiting_ends_with_the_patience() {
    as_a_parent(|| {
        let child = fork::fork(|| {
            loop {
                std::thread::park();
            }
        })?;
        let strays = end_descendants(Duration::from_millis(50), |_| true);
        Ok(child.stop()?.signal() == Some(libc::SIGKILL)
            && strays == Strays { ended: 0, running: 0, left: 1 }
            && end_descendants(PATIENCE, |_| true) == Strays::default())
    });
}

/// A child that waits for ever, as a plain id, so that nothing kills it on drop.
fn forever() -> io::Result<i32> {
    let child = fork::fork(|| {
        loop {
            std::thread::park();
        }
    })?;
    let pid = child.pid();
    std::mem::forget(child);
    Ok(pid)
}

/// A child with a child: the numbers of both.
fn two_generations() -> io::Result<[i32; 2]> {
    use std::os::fd::AsFd;
    let (receiver, sender) = crate::io::pipe()?;
    let child = fork::fork(|| {
        let sent = forever().and_then(|pid| crate::io::write_full(sender.as_fd(), &pid.to_ne_bytes()));
        if sent.is_err() {
            return 1;
        }
        loop {
            std::thread::park();
        }
    })?;
    let pid = child.pid();
    std::mem::forget(child);
    let mut grandchild = [0; 4];
    crate::io::read_full(receiver.as_fd(), &mut grandchild)?;
    Ok([pid, i32::from_ne_bytes(grandchild)])
}

#[test]
fn grandchildren_are_descendants_and_ended_processes_are_not() {
    as_a_parent(|| {
        let ended = fork::fork(|| 0)?;
        while !has_ended(ended.pid())? {
            std::thread::yield_now();
        }
        let pids = two_generations()?;
        let seen = |pid, parent| Seen { pid, parent, ended: false };
        let is_right = |mut found: Vec<Seen>| {
            found.sort_by_key(|seen| seen.pid != pids[0]);
            found == [seen(pids[0], id()), seen(pids[1], pids[0])]
        };
        // A kernel without CONFIG_PROC_CHILDREN has no lists.
        let has_lists = std::path::Path::new("/proc/thread-self/children").exists();
        Ok(descendants_by_lists().map(is_right) == has_lists.then_some(true)
            && is_right(descendants_among_all())
            && is_right(descendants())
            && all_processes().is_some_and(|all| all.iter().any(|seen| seen.pid == ended.pid() && seen.ended))
            && children().is_some_and(|own| own.contains(&pids[0]) && !own.contains(&pids[1])))
    });
}

/// The id of an ended process may have been reused, under another parent.
#[test]
fn a_reused_id_is_not_signalled() {
    use rustix::process::Signal;
    as_a_parent(|| {
        let [child, grandchild] = two_generations()?;
        signal_seen(Seen { pid: grandchild, parent: i32::MAX, ended: false }, Signal::KILL);
        // A signal sent before the next one would have arrived before it.
        signal_seen(Seen { pid: grandchild, parent: child, ended: false }, Signal::STOP);
        let until = Instant::now() + Duration::from_secs(30);
        let state = |pid: i32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
        };
        while state(grandchild) != Some('T') && Instant::now() < until {
            std::thread::yield_now();
        }
        let stopped = state(grandchild) == Some('T');
        signal_seen(Seen { pid: grandchild, parent: child, ended: false }, Signal::KILL);
        while !matches!(state(grandchild), None | Some('Z')) && Instant::now() < until {
            std::thread::yield_now();
        }
        Ok(stopped && matches!(state(grandchild), None | Some('Z')) && exists(child))
    });
}

#[test]
fn ended_and_running_children_are_counted_apart() {
    as_a_parent(|| {
        for _ in 0..2 {
            let child = fork::fork(|| 0)?;
            while !has_ended(child.pid())? {
                std::thread::yield_now();
            }
            std::mem::forget(child);
        }
        two_generations()?;
        let strays = end_descendants(PATIENCE, |_| false);
        Ok(strays == Strays { ended: 2, running: 2, left: 0 } && children().is_some_and(|own| own.is_empty()))
    });
}

#[test]
fn a_child_that_runs_is_not_reaped_and_one_that_ended_is_reaped_once() {
    as_a_parent(|| {
        let pid = forever()?;
        let running = reap(pid)?.is_none() && reap(-1)?.is_none() && !has_ended(pid)? && exists(pid);
        kill(pid);
        let exit = wait(pid)?;
        let gone = reap(pid).is_err() && wait(pid).is_err() && !exists(pid);
        Ok(running && gone && (exit.pid, exit.signal(), exit.code()) == (pid, Some(libc::SIGKILL), None))
    });
}

#[test]
fn a_group_is_killed_as_a_whole_and_nothing_else() {
    as_a_parent(|| {
        let (first, second, other) = (forever()?, forever()?, forever()?);
        let number = |pid| rustix::process::Pid::from_raw(pid);
        rustix::process::setpgid(number(first), number(first))?;
        rustix::process::setpgid(number(second), number(first))?;
        kill_group(first);
        let killed = [first, second].map(|pid| wait(pid).is_ok_and(|exit| exit.signal() == Some(libc::SIGKILL)));
        kill_group(first);
        let left = reap(other)?.is_none();
        kill(other);
        Ok(killed == [true, true] && left && wait(other)?.signal() == Some(libc::SIGKILL))
    });
}

/// 0 and negative numbers are groups to the kernel.
#[test]
fn no_process_has_a_number_below_one() {
    assert!(!exists(0) && !exists(-1) && !exists(i32::MIN) && !exists(i32::MAX));
    assert!(exists(id()) && exists(parent_id()));
    // Also a process that may not be signalled.
    let exit = crate::testing::in_child(|| match crate::testing::drop_root() {
        true => i32::from(!exists(1)),
        false => 255,
    });
    assert!(matches!(exit, Some(0 | 255)), "{exit:?}");
}

/// The kernel ties it to the thread, not to the process.
#[test]
fn a_tied_process_ends_with_the_thread_that_started_it() {
    let start = || {
        let mut command = std::process::Command::new("sleep");
        command.arg("60");
        tie(&mut command);
        command.spawn().expect("sleep").id() as i32
    };
    let pid = std::thread::spawn(start).join().expect("no panic");
    let exit = wait(pid).expect("its end");
    assert_eq!((exit.signal(), exit.success()), (Some(libc::SIGKILL), false));
}

#[test]
fn die_with_parent_fails_under_another_parent() {
    let exit = crate::testing::in_child(|| {
        let right = die_with_parent(parent_id()).is_ok();
        let wrong = die_with_parent(parent_id() + 1).map_err(|e| e.kind());
        crate::testing::first_wrong(&[right, wrong == Err(io::ErrorKind::Other)])
    });
    assert_eq!(exit, Some(0));
}

#[test]
fn a_process_without_core_files_cannot_be_dumped() {
    let exit = crate::testing::in_child(|| {
        // SAFETY: no arguments.
        let dumpable = || unsafe { libc::prctl(libc::PR_GET_DUMPABLE) };
        let before = dumpable();
        no_core_file();
        crate::testing::first_wrong(&[before >= 0, dumpable() == 0])
    });
    assert_eq!(exit, Some(0));
}

/// The threads of the processes of this user, as `/proc/PID/status` counts them.
fn tasks_of_user() -> Option<u64> {
    let user = format!("Uid:\t{}\t", rustix::process::getuid().as_raw());
    let threads = |entry: std::fs::DirEntry| {
        let status = std::fs::read_to_string(entry.path().join("status")).ok().filter(|text| text.contains(&user))?;
        status.lines().find_map(|line| line.strip_prefix("Threads:"))?.trim().parse::<u64>().ok()
    };
    Some(std::fs::read_dir("/proc").ok()?.flatten().filter_map(threads).sum())
}

#[test]
fn a_task_limit_counts_what_is_there_and_is_never_raised() {
    use rustix::process::{Resource, getrlimit};
    const MORE: u64 = 10_000;
    let exit = crate::testing::in_child(|| {
        let (before, Some(counted)) = (getrlimit(Resource::Nproc), tasks_of_user()) else { return 255 };
        let Ok(bound) = limit_tasks(MORE) else { return 255 };
        let low = getrlimit(Resource::Nproc);
        let again = limit_tasks(100 * MORE).is_ok() && limit_tasks(MORE / 2).is_ok();
        // Others come and go in the meantime.
        let near = |more: u64, limit: Option<u64>| {
            limit.is_some_and(|most| {
                most.abs_diff(counted + more) < MORE / 4 || before.current.is_some_and(|b| b <= most)
            })
        };
        crate::testing::first_wrong(&[
            bound != is_root(),
            near(MORE, low.current),
            low.maximum == before.maximum,
            again && near(MORE / 2, getrlimit(Resource::Nproc).current),
        ])
    });
    assert!(matches!(exit, Some(0 | 255)), "{exit:?}");
}

/// Compared with the shell's list.
#[test]
fn names_of_signals_agree_with_the_shell() {
    let named: Vec<i32> = (1..=31).filter(|signal| signal_name(*signal) != "?").collect();
    assert_eq!(named.len(), 16);
    let script = named.iter().map(|signal| format!("kill -l {signal};")).collect::<String>();
    let listed = std::process::Command::new("/bin/sh").args(["-c", &script]).output().expect("a shell");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let names: Vec<&str> = named.iter().map(|signal| signal_name(*signal).trim_start_matches("SIG")).collect();
    assert_eq!(listed.split_whitespace().map(|name| name.trim_start_matches("SIG")).collect::<Vec<_>>(), names);
    assert_eq!(signal_name(0), "?");
}

#[test]
fn an_exit_has_a_code_or_a_signal() {
    let end = |status| Exit { pid: 1, status, usage: Usage::default() };
    assert_eq!(end(3 << 8).to_string(), "exited with code 3");
    assert_eq!(end(11).to_string(), "ended by signal 11 (SIGSEGV)");
    assert_eq!((end(3 << 8).code(), end(3 << 8).signal(), end(3 << 8).success()), (Some(3), None, false));
    assert_eq!((end(0).success(), end(9).success(), end(9).code()), (true, false, None));
}

/// Not those of the process that waits for it.
#[test]
fn a_child_has_counters_of_its_own() {
    const PAGES: usize = 3000;
    let child = |pages: usize| {
        let child = fork::fork(|| {
            let Ok(mut map) = crate::pages::Map::anonymous(PAGES << 12, crate::pages::Policy::Base) else { return 1 };
            map.iter_mut().step_by(1 << 12).take(pages).for_each(|byte| *byte = 1);
            0
        });
        child.expect("fork").wait().expect("wait").usage.minor_faults
    };
    let faults = [child(0), child(PAGES)];
    let pages = (PAGES << 12) / crate::pages::page_size();
    assert!(faults[1] >= faults[0] + pages as u64 / 2, "{faults:?}");
}
