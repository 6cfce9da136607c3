//! Which CPUs a thread may run on.
//!
//! Masks are byte vectors of a length that the kernel accepts. lmbench's 32-bit shift over 64-bit
//! words was wrong from CPU 31 up, and a fixed 1024-bit set is wrong on the largest machines
//! (`docs/methods/pitfalls.md#placement-and-cpu-masks`).
//!
//! # Safety
//! Each call passes a buffer and its true length.
#![expect(unsafe_code, reason = "sched_getaffinity and sched_setaffinity with masks of any length")]

use crate::io::checked;
use std::io;

/// Masks start at this many bytes (8192 CPUs) and double until the kernel accepts them.
const FIRST_MASK_BYTES: usize = 1024;

/// The CPUs that the calling thread may run on, in ascending order.
///
/// # Errors
/// Those of `sched_getaffinity`.
pub fn allowed() -> io::Result<Vec<u32>> {
    allowed_to(0)
}

/// Whether an error says that a filter or a kernel without the call stands in the way.
pub(crate) fn is_refused(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::ENOSYS))
}

/// What `/proc` says of the CPUs that a thread may run on, for where the call is refused.
fn read_from_proc(thread: i32) -> Option<Vec<u32>> {
    let of = if thread == 0 { "thread-self".to_owned() } else { thread.to_string() };
    let status = std::fs::read_to_string(format!("/proc/{of}/status")).ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    crate::cpu_list::parse_cpus(list.trim()).ok().filter(|cpus| !cpus.is_empty())
}

/// The CPUs that another thread may run on, in ascending order; 0 is the calling one. Where the
/// call is refused, by `/proc`.
///
/// # Errors
/// Those of `sched_getaffinity`: `ESRCH` when there is no such thread.
pub fn allowed_to(thread: i32) -> io::Result<Vec<u32>> {
    ask(thread, FIRST_MASK_BYTES)
        .or_else(|error| is_refused(&error).then(|| read_from_proc(thread)).flatten().ok_or(error))
}

fn ask(thread: i32, first_mask_bytes: usize) -> io::Result<Vec<u32>> {
    let mut mask = vec![0u8; first_mask_bytes];
    loop {
        // SAFETY: the buffer is as long as it says and writable; the kernel writes whole words into
        // it.
        let got = unsafe { libc::syscall(libc::SYS_sched_getaffinity, thread, mask.len(), mask.as_mut_ptr()) };
        if got >= 0 {
            let bits = |(i, byte): (usize, &u8)| {
                let byte = *byte;
                (0..8u32).filter(move |b| byte & (1 << b) != 0).map(move |b| i as u32 * 8 + b)
            };
            return Ok(mask[..got as usize].iter().enumerate().flat_map(bits).collect());
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINVAL) || mask.len() > 1 << 20 {
            return Err(error);
        }
        mask = vec![0; mask.len() * 2];
    }
}

/// Restricts the calling thread to these CPUs.
///
/// # Errors
/// `InvalidInput` for an empty list; those of `sched_setaffinity` (a CPU that is offline or outside
/// the cpuset).
pub fn restrict(cpus: &[u32]) -> io::Result<()> {
    if cpus.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no CPU to run on"));
    }
    let mask = mask_of(cpus);
    // SAFETY: the buffer is as long as it says; the kernel only reads it.
    checked(unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, mask.len(), mask.as_ptr()) })
}

/// Why no task can be tied to CPUs here, if a filter or a kernel without the call refuses it. Asks
/// for the CPUs that the calling thread has anyway.
pub fn refused() -> Option<io::Error> {
    let cpus = allowed().ok()?;
    restrict(&cpus).err().filter(is_refused)
}

/// Whole 8-byte words: the kernel reads unsigned longs.
fn mask_of(cpus: &[u32]) -> Vec<u8> {
    let last = cpus.iter().max().map_or(0, |last| *last as usize);
    let mut mask = vec![0u8; (last / 64 + 1) * 8];
    for &cpu in cpus {
        mask[cpu as usize / 8] |= 1 << (cpu % 8);
    }
    mask
}

/// A CPU, as `sched_setaffinity` wants it.
#[derive(Debug)]
pub struct Target(Vec<u8>);

impl Target {
    /// This CPU alone.
    pub fn of(cpu: u32) -> Target {
        Target(mask_of(&[cpu]))
    }

    /// Leaves a task, or the calling thread if it is 0, this CPU and no other: one
    /// `sched_setaffinity` by number. 0, or a negative error number.
    #[inline]
    pub fn take(&self, task: i32) -> isize {
        // SAFETY: the mask is as long as it says; the kernel only reads it.
        unsafe {
            crate::arch::syscall3(
                libc::SYS_sched_setaffinity as usize,
                task as usize,
                self.0.len(),
                self.0.as_ptr().expose_provenance(),
            )
        }
    }
}

/// Pins the calling thread to one CPU and checks that it runs there.
///
/// # Errors
/// Those of [`restrict`]; `Other` when the thread runs elsewhere afterwards.
pub fn pin(cpu: u32) -> io::Result<()> {
    restrict(&[cpu])?;
    let seen = allowed()?;
    if seen != [cpu] {
        return Err(io::Error::other(format!("pinned to CPU {cpu}, but may run on {seen:?}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_to_each_allowed_cpu_and_back() {
        let before = allowed().expect("affinity can be read");
        assert!(!before.is_empty());
        for &cpu in &before {
            pin(cpu).expect("an allowed CPU takes us");
            assert_eq!(crate::counters::current_cpu(), cpu);
        }
        restrict(&before).expect("the old set is still allowed");
        assert_eq!(allowed().expect("affinity can be read"), before);
        assert!(restrict(&[]).is_err());
        assert!(restrict(&[1_000_000]).is_err());
    }

    /// Tested on the mask alone: no machine at hand has this many CPUs.
    #[test]
    fn a_mask_has_a_bit_for_each_cpu_and_whole_words() {
        let set = |cpus: &[u32]| {
            let mask = mask_of(cpus);
            let bits = (0..mask.len() * 8).filter(|bit| mask[bit / 8] >> (bit % 8) & 1 == 1).collect::<Vec<_>>();
            (mask.len(), bits)
        };
        assert_eq!(set(&[0]), (8, vec![0]));
        assert_eq!(set(&[31, 9, 63]), (8, vec![9, 31, 63]));
        assert_eq!(set(&[64, 3]), (16, vec![3, 64]));
        assert_eq!(set(&[8191, 127]), (1024, vec![127, 8191]));
    }

    /// As on a machine with more CPUs than the first mask has bits.
    #[test]
    fn a_mask_that_is_too_short_is_doubled() {
        assert_eq!(ask(0, 1).expect("longer ones are tried"), allowed().expect("affinity can be read"));
        assert_eq!(ask(i32::MAX, 1).map_err(|e| e.raw_os_error()), Err(Some(libc::ESRCH)), "and no other error hidden");
    }

    #[test]
    fn the_mask_of_another_thread_can_be_read() {
        let all = allowed().expect("affinity can be read");
        let (sender, receiver) = std::sync::mpsc::channel();
        let (stay, leave) = std::sync::mpsc::channel::<()>();
        let last = *all.last().expect("a CPU");
        let other = std::thread::spawn(move || {
            pin(last).expect("an allowed CPU");
            sender.send(rustix::thread::gettid().as_raw_nonzero().get()).expect("the receiver waits");
            leave.recv().expect_err("nothing is sent");
        });
        let number = receiver.recv().expect("the thread sends its id");
        assert_eq!(
            (allowed_to(number).expect("it is there"), allowed().expect("affinity can be read")),
            (vec![last], all)
        );
        drop(stay);
        other.join().expect("no panic");
    }
}
