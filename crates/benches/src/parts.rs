//! Primitives that several composed costs share (`Info::composed_of`); a part of one operation
//! alone stands beside its benchmark.

pub(crate) use groma_harness::model::page::{On, Shown};
pub(crate) use groma_harness::model::{Composition, Part, Times};

/// The cheapest system call.
pub(crate) const CALL: Shown = Shown::of("syscall.getppid", &[]);
/// A read of a byte, without waiting for it.
pub(crate) const READ: Shown = Shown::of("syscall.read", &[]);
/// A write of a byte that no task reads.
pub(crate) const WRITE: Shown = Shown::of("syscall.write", &[]);
/// Opening a file by its path, and closing it.
pub(crate) const OPEN_CLOSE: Shown = Shown::of("syscall.open_close", &[("depth", "1")]);
/// A switch between two threads that do not sleep.
const SWITCH: Shown = Shown::of("ctx.yield.net", &[]);
/// A switch from a thread that falls asleep to one that is woken, without the calls for it.
const SWITCH_ASLEEP: Shown = Shown::of("ctx.futex.net", &[("kind", "thread")]);
/// The same between processes.
const SWITCH_PROCESS: Shown = Shown::of("ctx.futex.net", &[("kind", "process")]);
/// A wake-up on another CPU that is idle, from the call until the woken task runs.
pub(crate) const WAKE_FAR: Shown = Shown::of("sched.wakeup", &[("load", "0")]).on(On::Two);
/// A round trip of a byte over two pipes.
const PIPE: Shown = Shown::of("ipc.pipe_rtt", &[("size", "1")]);
/// A round trip of a datagram on the loopback.
pub(crate) const UDP: Shown = Shown::of("net.udp_rtt", &[("size", "4"), ("family", "v4")]);
/// A round trip of a byte over TCP on the loopback.
pub(crate) const TCP: Shown = Shown::of("net.tcp_rtt", &[("size", "1"), ("nodelay", "on"), ("family", "v4")]);
/// A process without a copy of the memory, its end, and the wait for it.
pub(crate) const VFORK: Shown = Shown::of("proc.vfork_exit", &[]);
/// A process that runs the smallest program.
pub(crate) const BARE: Shown = Shown::of("proc.exec", &[("target", "bare"), ("by", "vfork"), ("from", "file")]);
/// A process that runs a program that is linked with libc.
pub(crate) const STATIC: Shown = Shown::of("proc.exec", &[("target", "static"), ("by", "vfork"), ("from", "file")]);
/// A process that runs a program with libc as a shared library.
pub(crate) const DYNAMIC: Shown = Shown::of("proc.exec", &[("target", "dynamic"), ("by", "vfork"), ("from", "file")]);
/// A fault that maps the page of zeroes, which is there already.
pub(crate) const FAULT: Shown = Shown::of("vm.fault", &[("kind", "zero_page"), ("object", "private")]);
/// A fault that maps a page of a cached file.
pub(crate) const FILE_FAULT: Shown = Shown::of("vm.fault", &[("kind", "file_minor"), ("object", "private")]);
/// Bandwidth of a copy that the first cache holds. A copied byte counts twice.
pub(crate) const COPY: Shown = Shown::of("mem.bandwidth", &[("op", "copy"), ("size", "16K"), ("kernel", "best")]);
/// Bandwidth of writing to about as much memory as `vm.fault` touches: 8 MiB, which a survey
/// measures.
pub(crate) const FILL: Shown = Shown::of("mem.bandwidth", &[("op", "write"), ("size", "8M"), ("kernel", "best")]);

/// The two switches of a round trip on one CPU, between threads.
pub(crate) const SWITCHES: Part = Part::of(2.0, "switches between two tasks", SWITCH);
/// What sleep and wake-up add to these two switches.
pub(crate) const SLEEPS: Part =
    Part::difference(2.0, "falling asleep and being woken, beyond the switch", SWITCH_ASLEEP, SWITCH);
/// What separate address spaces add to them.
pub(crate) const ADDRESS_SPACES: Part =
    Part::difference(2.0, "change of the address space", SWITCH_PROCESS, SWITCH_ASLEEP);
/// The calls of a round trip.
pub(crate) const WRITES: Part = Part::of(2.0, "writes of a byte", WRITE);
/// The calls that wait for the other side.
pub(crate) const READS: Part = Part::of(2.0, "reads of a byte", READ);
/// The wake-ups of a round trip between two CPUs, until the other side runs.
pub(crate) const WAKE_UPS_FAR: Part = Part::of(2.0, "wake-ups of a sleeping task on another CPU", WAKE_FAR);
/// The two cache lines of a round trip that move between CPUs.
pub(crate) const LINES: &[Part] = &[Part::of(2.0, "hand-overs of a cache line between the two CPUs", LINE)];
/// The hand-over of a cache line, one way.
const LINE: Shown = Shown::of("cpu.core_to_core", &[("protocol", "cas1")]).on(On::Two);
/// A round trip through sockets, IP and the loopback, without TCP and beyond what a pipe takes.
pub(crate) const DATAGRAMS: Part =
    Part::difference(1.0, "two datagrams through sockets, IP and the loopback", UDP, PIPE);
/// 10 KiB copied.
pub(crate) const COPY_10K: Part = Part::of(20480.0, "bytes read and written by the copy", COPY);
/// What any fault costs.
pub(crate) const FAULTED: Part = Part::of(1.0, "a fault that finds its page", FAULT);
/// A page of 4 KiB cleared.
pub(crate) const ZEROES: Part = Part::of(4096.0, "bytes zeroed", FILL);

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The sum of these parts, by metric and parameters.
    fn sum(parts: &[Part]) -> BTreeMap<(&'static str, String), f64> {
        let mut costs: BTreeMap<_, f64> = BTreeMap::new();
        for part in parts {
            let Times::Fixed(times) = part.times else { panic!("{}: a number that only a run knows", part.what) };
            for (shown, times) in [(Some(part.cost), times), (part.less, -times)] {
                let Some(shown) = shown else { continue };
                *costs.entry((shown.metric, format!("{:?}", shown.params))).or_default() += times;
            }
        }
        costs.retain(|_, times| *times != 0.0);
        costs
    }

    /// Steps from one cost to another add up to the last.
    #[test]
    fn differences_add_up_to_what_they_lead_to() {
        let between_processes = Part::of(2.0, "", SWITCH_PROCESS);
        assert_eq!(sum(&[SWITCHES, SLEEPS, ADDRESS_SPACES]), sum(&[between_processes]));
        assert_eq!(sum(&[Part::of(1.0, "", PIPE), DATAGRAMS]), sum(&[Part::of(1.0, "", UDP)]));
    }

    /// A byte that is copied is read and written.
    #[test]
    fn bytes_are_those_that_are_moved() {
        for (part, bytes) in [(COPY_10K, 2.0 * 10.0 * 1024.0), (ZEROES, 4096.0)] {
            assert_eq!(part.times, Times::Fixed(bytes), "{}", part.what);
        }
    }
}
