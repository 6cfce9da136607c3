//! The kernel's counters of a thread, a process or its children: evidence for labels and proofs.
//!
//! Read outside timed regions only: a read takes a third of a microsecond
//! (`docs/methods/timing.md#cost-of-reading`).
//!
//! # Safety
//! Each call passes a valid, owned out-parameter.
#![expect(unsafe_code, reason = "getrusage, clock_gettime of CPU clocks, sched_getcpu")]

use crate::io::checked;
use std::io;

/// Counters of one thread, process or set of children, from `getrusage`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Voluntary context switches.
    pub voluntary: u64,
    /// Involuntary context switches.
    pub involuntary: u64,
    /// Page faults served without I/O.
    pub minor_faults: u64,
    /// Page faults that waited for I/O.
    pub major_faults: u64,
    /// CPU time in user mode, in nanoseconds (microsecond steps).
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds (microsecond steps).
    pub system_ns: u64,
    /// Blocks read.
    pub blocks_in: u64,
    /// Blocks written.
    pub blocks_out: u64,
    /// Largest resident size, in bytes.
    pub max_resident: u64,
}

impl Usage {
    fn of(who: libc::c_int) -> Usage {
        let mut raw = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: `raw` is a valid, zeroed rusage, for which all-zero is a legal value, and lives
        // across the call.
        let raw = unsafe {
            libc::getrusage(who, raw.as_mut_ptr());
            raw.assume_init()
        };
        Usage::from_raw(&raw)
    }

    pub(crate) fn from_raw(raw: &libc::rusage) -> Usage {
        let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1000;
        Usage {
            voluntary: raw.ru_nvcsw as u64,
            involuntary: raw.ru_nivcsw as u64,
            minor_faults: raw.ru_minflt as u64,
            major_faults: raw.ru_majflt as u64,
            user_ns: ns(raw.ru_utime),
            system_ns: ns(raw.ru_stime),
            blocks_in: raw.ru_inblock as u64,
            blocks_out: raw.ru_oublock as u64,
            // Linux counts it in KiB.
            max_resident: raw.ru_maxrss as u64 * 1024,
        }
    }

    /// Of the calling thread.
    pub fn thread() -> Usage {
        Usage::of(libc::RUSAGE_THREAD)
    }

    /// Of the calling process.
    pub fn process() -> Usage {
        Usage::of(libc::RUSAGE_SELF)
    }

    /// Those of children that were waited for.
    pub fn children() -> Usage {
        Usage::of(libc::RUSAGE_CHILDREN)
    }

    /// The increase since `earlier` (`max_resident` stays as it is now).
    pub fn since(&self, earlier: &Usage) -> Usage {
        Usage {
            voluntary: self.voluntary.wrapping_sub(earlier.voluntary),
            involuntary: self.involuntary.wrapping_sub(earlier.involuntary),
            minor_faults: self.minor_faults.wrapping_sub(earlier.minor_faults),
            major_faults: self.major_faults.wrapping_sub(earlier.major_faults),
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            blocks_in: self.blocks_in.wrapping_sub(earlier.blocks_in),
            blocks_out: self.blocks_out.wrapping_sub(earlier.blocks_out),
            max_resident: self.max_resident,
        }
    }

    /// The share of CPU time spent in the kernel; `None` when no time was counted.
    pub fn system_share(&self) -> Option<f64> {
        let all = self.user_ns + self.system_ns;
        (all > 0).then(|| self.system_ns as f64 / all as f64)
    }
}

/// The CPU time of a process, in nanoseconds: one system call.
///
/// # Errors
/// `EINVAL` when there is no such process.
pub fn cpu_ns_of(pid: i32) -> io::Result<u64> {
    // The kernel's number of the clock of a process: its id inverted, and what is counted, which is
    // all of its time (`CPUCLOCK_SCHED`).
    clock_ns((!pid << 3) | 2)
}

/// The time of a clock, in nanoseconds.
fn clock_ns(clock: libc::clockid_t) -> io::Result<u64> {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid timespec that lives across the call.
    checked(unsafe { libc::clock_gettime(clock, &mut t) })?;
    Ok(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// CPU time of the calling thread, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    // Every task has this clock, and the process's.
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// CPU time of this process and of the children that it waited for, in nanoseconds. The children's
/// part advances in microsecond steps, when they are waited for.
pub fn family_cpu_ns() -> u64 {
    let children = Usage::children();
    clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or(0) + children.user_ns + children.system_ns
}

/// The CPU that the calling thread runs on at this moment.
pub fn current_cpu() -> u32 {
    // SAFETY: no arguments; a negative answer (ENOSYS) becomes CPU 0.
    u32::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
}

/// Resident bytes of this process by kind, from `/proc/self/statm`: (total, shared); `None` without
/// `/proc`.
pub fn resident() -> Option<(u64, u64)> {
    resident_in(&std::fs::read_to_string("/proc/self/statm").ok()?, crate::pages::page_size() as u64)
}

/// The second and the third number of `size resident shared text lib data dirty`, in pages.
fn resident_in(statm: &str, page: u64) -> Option<(u64, u64)> {
    let mut fields = statm.split_ascii_whitespace().skip(1).map(|f| f.parse::<u64>().ok());
    Some((fields.next()?? * page, fields.next()?? * page))
}

/// Processes and threads that the kernel has created since boot, for everyone; `None` where
/// `/proc/stat` does not say (some sandboxes report 0).
pub fn tasks_created() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let count = text.lines().find_map(|line| line.strip_prefix("processes "))?;
    count.trim().parse().ok().filter(|n| *n > 0)
}

/// Calls of the `read` and of the `write` family that the kernel counted for the calling thread,
/// failed ones included; `None` where it does not count or `/proc` is missing. Reading it costs a
/// few reads itself.
pub fn io_calls() -> Option<(u64, u64)> {
    calls_in(&std::fs::read_to_string("/proc/thread-self/io").ok()?)
}

fn calls_in(text: &str) -> Option<(u64, u64)> {
    let count = |key| text.lines().find_map(|l| l.strip_prefix(key))?.trim().parse().ok();
    Some((count("syscr:")?, count("syscw:")?))
}

/// TLB shootdowns that these CPUs received, from `/proc/interrupts`; `None` where the kernel counts
/// none (on Arm they are not interrupts) or `/proc` is missing.
pub fn tlb_shootdowns(cpus: &[u32]) -> Option<u64> {
    interrupts_received("TLB:", cpus)
}

/// Interrupts by which other CPUs made these call a function, from `/proc/interrupts`; `None` as
/// for [`tlb_shootdowns`].
pub fn function_calls(cpus: &[u32]) -> Option<u64> {
    interrupts_received("CAL:", cpus)
}

/// Interrupts by which other CPUs made these look for what there is to do, such as a signal, from
/// `/proc/interrupts`; `None` where they have another name (Arm, RISC-V).
pub fn reschedules(cpus: &[u32]) -> Option<u64> {
    interrupts_received("RES:", cpus)
}

fn interrupts_received(kind: &str, cpus: &[u32]) -> Option<u64> {
    row_in(&std::fs::read_to_string("/proc/interrupts").ok()?, kind, cpus)
}

fn row_in(text: &str, name: &str, cpus: &[u32]) -> Option<u64> {
    let columns: Vec<u32> = text
        .lines()
        .next()?
        .split_ascii_whitespace()
        .filter_map(|name| name.strip_prefix("CPU")?.parse().ok())
        .collect();
    let row = text.lines().find_map(|line| line.trim_start().strip_prefix(name))?;
    let counts = columns.iter().zip(row.split_ascii_whitespace());
    Some(counts.filter(|(cpu, _)| cpus.contains(cpu)).filter_map(|(_, n)| n.parse::<u64>().ok()).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of this process more than of its thread, and of none an error.
    #[test]
    fn a_process_has_a_clock_of_its_own() {
        let own = thread_cpu_ns();
        let all = cpu_ns_of(crate::process::id()).expect("a clock");
        assert!(all >= own && own > 0, "{all} {own}");
        let child = crate::fork::fork(|| 0).expect("fork");
        let pid = child.pid();
        child.wait().expect("wait");
        assert!(cpu_ns_of(pid).is_err());
    }

    #[test]
    fn each_counter_comes_from_its_own_field() {
        // SAFETY: an rusage is integers only.
        let mut raw: libc::rusage = unsafe { std::mem::zeroed() };
        raw.ru_utime = libc::timeval { tv_sec: 1, tv_usec: 2 };
        raw.ru_stime = libc::timeval { tv_sec: 3, tv_usec: 4 };
        (raw.ru_nvcsw, raw.ru_nivcsw, raw.ru_minflt, raw.ru_majflt) = (5, 6, 7, 8);
        (raw.ru_inblock, raw.ru_oublock, raw.ru_maxrss) = (9, 10, 11);
        let usage = Usage {
            user_ns: 1_000_002_000,
            system_ns: 3_000_004_000,
            voluntary: 5,
            involuntary: 6,
            minor_faults: 7,
            major_faults: 8,
            blocks_in: 9,
            blocks_out: 10,
            max_resident: 11 << 10,
        };
        assert_eq!(Usage::from_raw(&raw), usage);
    }

    #[test]
    fn each_increase_belongs_to_its_own_counter() {
        let of = |n: u64| Usage {
            voluntary: n,
            involuntary: 2 * n,
            minor_faults: 3 * n,
            major_faults: 4 * n,
            user_ns: 5 * n,
            system_ns: 6 * n,
            blocks_in: 7 * n,
            blocks_out: 8 * n,
            max_resident: 9 * n,
        };
        assert_eq!(of(100).since(&of(30)), Usage { max_resident: 900, ..of(70) });
        let share = Usage { user_ns: 30, system_ns: 10, ..Usage::default() }.system_share();
        assert_eq!((share, Usage::default().system_share()), (Some(0.25), None));
    }

    /// Another thread takes page faults: they are its own and the process's, not ours.
    #[test]
    fn counters_of_a_thread_and_of_its_process_differ() {
        const PAGES: u64 = 1000;
        let touch = || {
            let before = Usage::thread();
            let len = PAGES as usize * crate::pages::page_size();
            let mut map = crate::pages::Map::anonymous(len, crate::pages::Policy::Base).expect("memory");
            map.iter_mut().step_by(crate::pages::page_size()).for_each(|byte| *byte = 1);
            Usage::thread().since(&before).minor_faults
        };
        let (own, all) = (Usage::thread(), Usage::process());
        let of_other = std::thread::spawn(touch).join().expect("no panic");
        let (own, all) = (Usage::thread().since(&own).minor_faults, Usage::process().since(&all).minor_faults);
        assert!(of_other >= PAGES && own < PAGES / 2 && all >= PAGES, "{of_other} of the other, {own}, {all}");
    }

    #[test]
    fn numbers_in_proc_are_found_by_position_and_name() {
        assert_eq!(resident_in("900 70 20 3 0 50 0\n", 4096), Some((70 * 4096, 20 * 4096)));
        assert_eq!(resident_in("900 70", 4096), None);
        let io = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n";
        assert_eq!((calls_in(io), calls_in("rchar: 1\n")), (Some((3, 4)), None));
    }

    #[test]
    fn family_time_includes_that_of_children() {
        const WORK_NS: u64 = 40_000_000;
        // In a child, because other tests run in this process.
        let child = crate::fork::fork(|| {
            let (family, own) = (family_cpu_ns(), thread_cpu_ns());
            let made = crate::fork::fork(|| {
                let from = thread_cpu_ns();
                while thread_cpu_ns() - from < WORK_NS {}
                0
            });
            if !made.and_then(crate::fork::Child::wait).is_ok_and(|exit| exit.success()) {
                return 2;
            }
            let (family, own) = (family_cpu_ns() - family, thread_cpu_ns() - own);
            // Kernels that account by ticks of 10 ms may miss some.
            i32::from(family < own + WORK_NS / 2)
        });
        let exit = child.expect("fork").wait().expect("wait");
        assert_eq!(exit.code(), Some(0), "1: the child's work is missing");
    }

    #[test]
    fn family_time_includes_what_children_spent_in_the_kernel() {
        // In a child, because other tests run in this process.
        let child = crate::fork::fork(|| {
            let family = family_cpu_ns();
            let made = crate::fork::fork(|| {
                let Ok(random) = std::fs::File::open("/dev/urandom") else { return 1 };
                let (from, mut block) = (thread_cpu_ns(), [0; 1 << 16]);
                while thread_cpu_ns() - from < 40_000_000 {
                    if std::io::Read::read(&mut &random, &mut block).is_err() {
                        return 1;
                    }
                }
                0
            });
            let Ok(exit) = made.and_then(crate::fork::Child::wait) else { return 2 };
            let usage = exit.usage;
            i32::from(!exit.success() || family_cpu_ns() - family < usage.user_ns + usage.system_ns)
        });
        let exit = child.expect("fork").wait().expect("wait");
        assert_eq!(exit.code(), Some(0), "1: the child's work is missing");
    }

    #[test]
    fn work_in_user_mode_is_counted() {
        let before = Usage::thread();
        let cpu = thread_cpu_ns();
        let mut x = 1u64;
        while thread_cpu_ns() - cpu < 20_000_000 {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        let after = Usage::thread().since(&before);
        assert!(after.user_ns + after.system_ns > 0);
        assert!(after.system_share().is_some());
    }

    #[test]
    fn threads_count_as_tasks() {
        let Some(before) = tasks_created() else { return };
        for _ in 0..10 {
            std::thread::spawn(|| {}).join().expect("a thread");
        }
        assert!(tasks_created().expect("as before") >= before + 10);
    }

    #[test]
    fn shootdowns_are_those_of_the_named_cpus() {
        let text =
            "            CPU0       CPU2       CPU10\n  24:   1  2  4   IO-APIC\n TLB:   8  16  32   TLB shootdowns\n";
        let of = |cpus: &[u32]| row_in(text, "TLB:", cpus);
        assert_eq!((of(&[0]), of(&[10, 2]), of(&[1])), (Some(8), Some(48), Some(0)));
        assert_eq!((row_in("CPU0\n", "TLB:", &[0]), row_in("", "TLB:", &[0])), (None, None));
    }

    /// The CPU clocks differ too: other threads advance that of the process.
    #[test]
    fn cpu_time_is_that_of_the_thread_and_of_the_whole_process() {
        use rustix::time::{ClockId, clock_gettime};
        let ns = |id| {
            let t = clock_gettime(id);
            t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
        };
        let work = move || {
            let from = ns(ClockId::ThreadCPUTime);
            while ns(ClockId::ThreadCPUTime) - from < 5_000_000 {}
        };
        std::thread::spawn(work).join().expect("no panic");
        let seen = [ns(ClockId::ThreadCPUTime), thread_cpu_ns(), ns(ClockId::ThreadCPUTime)];
        assert!(seen.is_sorted(), "{seen:?}");
        let (before, family) = (ns(ClockId::ProcessCPUTime), family_cpu_ns());
        assert!(family >= before && before >= seen[2] + 5_000_000, "{family} of the family, {before} before, {seen:?}");
    }

    /// Compared with the kernel's other file, roughly, because other tests map and unmap memory.
    #[test]
    fn resident_bytes_are_those_of_this_process() {
        let kib = |name: &str| {
            let status = std::fs::read_to_string("/proc/self/status").ok()?;
            let line =
                status.lines().find_map(|line| line.strip_prefix(name))?.trim().trim_end_matches(" kB").to_owned();
            line.parse::<u64>().ok()
        };
        let alike = |bytes: u64, kib: u64| (kib * 512..=kib * 2048).contains(&bytes);
        let seen = || Some((resident()?, kib("VmRSS:")?, kib("RssFile:")? + kib("RssShmem:")?));
        let Some(mut last) = seen() else { return println!("skipped: no /proc") };
        for _ in 0..1000 {
            if alike(last.0.0, last.1) && alike(last.0.1, last.2) {
                return;
            }
            last = seen().expect("as before");
        }
        panic!("{last:?}");
    }

    #[test]
    fn calls_are_those_of_the_calling_thread() {
        use std::io::{Read, Write};
        let Some(own) = io_calls() else { return println!("skipped: the kernel does not count calls") };
        let (mut zero, mut null) = (
            std::fs::File::open("/dev/zero").expect("/dev/zero"),
            std::fs::File::options().write(true).open("/dev/null").expect("/dev/null"),
        );
        let other = std::thread::spawn(move || {
            let before = io_calls().expect("as before");
            for n in 0..300 {
                assert_eq!(zero.read(&mut [0]).expect("a byte"), 1);
                if n % 3 == 0 {
                    assert_eq!(null.write(&[0]).expect("a byte"), 1);
                }
            }
            let after = io_calls().expect("as before");
            (after.0 - before.0, after.1 - before.1)
        });
        let (reads, writes) = other.join().expect("no panic");
        let after = io_calls().expect("as before");
        assert!((300..350).contains(&reads) && writes == 100, "{reads} reads, {writes} writes");
        assert!(after.0 - own.0 < 100 && after.1 - own.1 < 50, "{own:?} {after:?}");
    }
}
