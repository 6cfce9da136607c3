//! io_uring without a library: `io_uring_setup`, `io_uring_enter` and the mapped rings.
//!
//! One submission ring and one completion ring, for one thread at a time, in one of three modes
//! ([`Mode`]; `docs/methods/operating-system.md#io_uring`). [`missing`] says why there are no
//! rings, where there are none.
//!
//! # Safety
//! The mappings are those of a ring descriptor that is open as long as they exist, with the lengths
//! that the kernel's offsets imply. Entries are written before the tail that publishes them
//! (release) and completions read after the tail that publishes them (acquire), at indices below
//! the sizes that the kernel gave. The kernel only gets addresses of buffers that are borrowed
//! until all operations on them have completed.
#![expect(unsafe_code, reason = "io_uring_setup, io_uring_enter, shared rings")]

use crate::arch::syscall6;
use crate::pages::checked;
use rustix::io_uring::{
    IORING_OFF_CQ_RING, IORING_OFF_SQ_RING, IORING_OFF_SQES, IoringEnterFlags, IoringOp, IoringSetupFlags,
    IoringSqeFlags, io_uring_params, io_uring_setup,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering, fence};

mod acceptor;
mod cancel;
mod receiver;
mod registered;
mod requests;

pub use acceptor::{Accept, Acceptor};
pub use cancel::Awaited;
pub use receiver::{Event, Message, Receive, Receiver};
pub use registered::{Known, Registered};
pub use requests::{Ended, Requests};

/// `struct io_uring_sqe`: one operation. Not rustix's, whose unions would change how the timed
/// loops fill it in.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Submission {
    opcode: u8,
    flags: u8,
    priority: u16,
    fd: i32,
    offset: u64,
    address: u64,
    length: u32,
    operation_flags: u32,
    data: u64,
    _rest: [u64; 3],
}

const _: () = assert!(size_of::<Submission>() == 64);

/// `struct io_uring_cqe`: the result of one operation.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The data of its operation.
    pub data: u64,
    /// The operation's result, or a negative error number.
    pub result: i32,
    /// Flags of the operation.
    pub flags: u32,
}

// The operations, as the kernel's numbers.
const NOP: u8 = IoringOp::Nop as u8;
const POLL_ADD: u8 = IoringOp::PollAdd as u8;
const READ: u8 = IoringOp::Read as u8;
const WRITE: u8 = IoringOp::Write as u8;
const MSG_RING: u8 = IoringOp::MsgRing as u8;
/// No completion for an operation that succeeds (Linux 5.17).
const SKIP_SUCCESS: u8 = IoringSqeFlags::CQE_SKIP_SUCCESS.bits();
/// The next operation waits for the end of this one.
const LINK: u8 = IoringSqeFlags::IO_LINK.bits();
/// Wait for completions.
const GET_EVENTS: usize = IoringEnterFlags::GETEVENTS.bits() as usize;
/// The number of the call that creates rings, for those who filter it.
pub const SETUP: libc::c_long = libc::SYS_io_uring_setup;
/// One mapping of the ring's memory.
#[derive(Debug)]
struct Shared {
    at: *mut u8,
    len: usize,
}

impl Shared {
    fn map(fd: BorrowedFd<'_>, len: usize, offset: u64) -> io::Result<Shared> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
        // SAFETY: a new mapping at an address that the kernel chooses affects nothing that exists.
        let at =
            unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, fd.as_raw_fd(), offset as libc::off_t) };
        if at == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Shared { at: at.cast(), len }) }
    }

    /// The word at this offset, which the kernel gave.
    fn word(&self, offset: u32) -> &AtomicU32 {
        assert!(offset as usize + 4 <= self.len && offset.is_multiple_of(4), "an offset outside of the ring");
        // SAFETY: inside the mapping, aligned, and shared with the kernel as an atomic.
        unsafe { AtomicU32::from_ptr(self.at.add(offset as usize).cast()) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: mapped with this length, unmapped once.
        unsafe { libc::munmap(self.at.cast(), self.len) };
    }
}

/// Who does the work of operations, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The kernel's default: the submitting thread, and completions may interrupt it.
    Default,
    /// The submitting thread alone, and only when it waits (`IORING_SETUP_SINGLE_ISSUER` and
    /// `IORING_SETUP_DEFER_TASKRUN`, Linux 6.1).
    Deferred,
    /// A thread of the kernel on this CPU that polls the submission ring (`IORING_SETUP_SQPOLL`):
    /// no system call while it is awake, which it stays for a second. Without a CPU of its own it
    /// would have that of a pinned submitter, and each would wait for the other.
    Polled(u32),
}

/// How long the thread of [`Mode::Polled`] looks in vain before it sleeps, in milliseconds.
const AWAKE_MS: u32 = 1000;
const SETUP_SQPOLL: u32 = 1 << 1;
const SETUP_SQ_AFF: u32 = 1 << 2;
const SETUP_SINGLE_ISSUER: u32 = 1 << 12;
const SETUP_DEFER_TASKRUN: u32 = 1 << 13;
/// A flag of the submission ring, and one of `io_uring_enter`: the polling thread sleeps and has to
/// be woken.
const NEED_WAKEUP: u32 = 1;
const WAKE_UP: usize = 1 << 1;

/// A pair of rings.
#[derive(Debug)]
pub struct Ring {
    submission_ring: Shared,
    completion_ring: Shared,
    submissions: Shared,
    fd: OwnedFd,
    at: Offsets,
    entries: u32,
    /// Behind the last operation written.
    tail: u32,
    /// Behind the last completion taken.
    head: u32,
}

/// The kernel's offsets of what every operation uses.
#[derive(Debug)]
struct Offsets {
    submission_tail: u32,
    submission_flags: u32,
    completion_head: u32,
    completion_tail: u32,
    completion_mask: u32,
    completions: u32,
}

impl Ring {
    /// Rings for `entries` operations at once, a power of two.
    ///
    /// # Errors
    /// Those of `io_uring_setup` and `mmap`.
    pub fn new(entries: u32) -> io::Result<Ring> {
        Ring::with(entries, Mode::Default)
    }

    /// As [`Ring::new`], in a mode.
    ///
    /// # Errors
    /// As [`Ring::new`]; `EINVAL` for a mode that the kernel does not have.
    pub fn with(entries: u32, mode: Mode) -> io::Result<Ring> {
        let mut params = io_uring_params::default();
        let flags = match mode {
            Mode::Default => 0,
            Mode::Deferred => SETUP_SINGLE_ISSUER | SETUP_DEFER_TASKRUN,
            Mode::Polled(_) => SETUP_SQPOLL | SETUP_SQ_AFF,
        };
        if let Mode::Polled(cpu) = mode {
            params.sq_thread_cpu = cpu;
        }
        params.flags = IoringSetupFlags::from_bits_retain(flags);
        params.sq_thread_idle = AWAKE_MS;
        // SAFETY: the parameters are plain: no flag makes the kernel take a descriptor or an
        // address from them.
        let fd = unsafe { io_uring_setup(entries, &mut params) }?;
        let (sq, cq) = (&params.sq_off, &params.cq_off);
        let submission_bytes = sq.array as usize + params.sq_entries as usize * size_of::<u32>();
        let completion_bytes = cq.cqes as usize + params.cq_entries as usize * size_of::<Completion>();
        let ring = Ring {
            submission_ring: Shared::map(fd.as_fd(), submission_bytes, IORING_OFF_SQ_RING)?,
            completion_ring: Shared::map(fd.as_fd(), completion_bytes, IORING_OFF_CQ_RING)?,
            submissions: Shared::map(
                fd.as_fd(),
                params.sq_entries as usize * size_of::<Submission>(),
                IORING_OFF_SQES,
            )?,
            fd,
            at: Offsets {
                submission_tail: sq.tail,
                submission_flags: sq.flags,
                completion_head: cq.head,
                completion_tail: cq.tail,
                completion_mask: params.cq_entries - 1,
                completions: cq.cqes,
            },
            entries: params.sq_entries,
            tail: 0,
            head: 0,
        };
        // The submission ring holds indices of entries: here each place always has its own.
        for i in 0..params.sq_entries {
            ring.submission_ring.word(sq.array + 4 * i).store(i, Ordering::Relaxed);
        }
        Ok(ring)
    }

    /// How many operations fit.
    pub fn entries(&self) -> u32 {
        self.entries
    }

    /// Writes an operation; the next [`Ring::enter`] publishes it. At most [`Ring::entries`]
    /// between two of those.
    #[inline]
    fn push(&mut self, operation: Submission) {
        let place = (self.tail & (self.entries - 1)) as usize;
        // SAFETY: the place is below the number of entries, which is a power of two. The kernel
        // reads no entry that was not published, and has copied the published ones when `enter`
        // returns.
        unsafe { self.submissions.at.cast::<Submission>().add(place).write(operation) };
        self.tail = self.tail.wrapping_add(1);
    }

    /// An operation that does nothing.
    #[inline]
    pub fn push_nop(&mut self, data: u64) {
        self.push(Submission { opcode: NOP, fd: -1, data, ..Submission::default() });
    }

    /// As [`Ring::push_nop`]; the operation pushed next begins when this one has ended.
    #[inline]
    pub fn push_nop_before(&mut self, data: u64) {
        self.push(Submission { opcode: NOP, flags: LINK, fd: -1, data, ..Submission::default() });
    }

    /// Waits once until the descriptor is readable.
    #[inline]
    pub fn push_poll(&mut self, fd: BorrowedFd<'_>, data: u64) {
        // The kernel expects the mask in 32-bit words of the CPU's byte order, the 16 bits of
        // `poll` first.
        let mask = u32::from(libc::POLLIN as u16);
        let operation_flags = if cfg!(target_endian = "big") { mask.rotate_left(16) } else { mask };
        self.push(Submission { opcode: POLL_ADD, fd: fd.as_raw_fd(), operation_flags, data, ..Submission::default() });
    }

    /// Posts a completion with this data and result to another ring; success causes no completion
    /// in this one.
    #[inline]
    pub fn push_message(&mut self, to: BorrowedFd<'_>, data: u64, result: u32) {
        self.push(Submission {
            opcode: MSG_RING,
            flags: SKIP_SUCCESS,
            fd: to.as_raw_fd(),
            offset: data,
            length: result,
            data: u64::MAX,
            ..Submission::default()
        });
    }

    /// Publishes what was written, and waits for `wait` completions: one `io_uring_enter`. Returns
    /// the number of operations that the kernel took, or a negative error number; what it did not
    /// take is dropped.
    #[inline]
    pub fn enter(&mut self, wait: u32) -> isize {
        let tail = self.submission_ring.word(self.at.submission_tail);
        let before = tail.load(Ordering::Relaxed);
        tail.store(self.tail, Ordering::Release);
        let (fd, new) = (self.fd.as_raw_fd() as usize, self.tail.wrapping_sub(before) as usize);
        // SAFETY: integers by value; those who pushed the operations borrow what they point to.
        let took = unsafe { syscall6(libc::SYS_io_uring_enter as usize, fd, new, wait as usize, GET_EVENTS, 0, 0) };
        if took < new as isize {
            self.tail = before.wrapping_add(took.max(0) as u32);
            tail.store(self.tail, Ordering::Release);
        }
        took
    }

    /// Publishes what was written to the polling thread of [`Mode::Polled`], and wakes it if it
    /// sleeps. Returns how often that took a system call: 0 or 1.
    ///
    /// # Errors
    /// Those of `io_uring_enter`.
    #[inline]
    pub fn publish(&mut self) -> io::Result<u32> {
        self.submission_ring.word(self.at.submission_tail).store(self.tail, Ordering::Release);
        // Before the flags are read: the thread sets the flag and then looks at the tail once more.
        fence(Ordering::SeqCst);
        if self.submission_ring.word(self.at.submission_flags).load(Ordering::Relaxed) & NEED_WAKEUP == 0 {
            return Ok(0);
        }
        let fd = self.fd.as_raw_fd() as usize;
        // SAFETY: as for `enter`.
        match unsafe { syscall6(libc::SYS_io_uring_enter as usize, fd, 0, 0, WAKE_UP, 0, 0) } {
            error @ ..0 => Err(io::Error::from_raw_os_error(-error as i32)),
            _ => Ok(1),
        }
    }

    /// How many completions can be taken.
    #[inline]
    pub fn ready(&self) -> u32 {
        self.completion_ring.word(self.at.completion_tail).load(Ordering::Acquire).wrapping_sub(self.head)
    }

    /// The next completion, if there is one.
    #[inline]
    pub fn pop(&mut self) -> Option<Completion> {
        if self.completion_ring.word(self.at.completion_tail).load(Ordering::Acquire) == self.head {
            return None;
        }
        let place = (self.head & self.at.completion_mask) as usize;
        // SAFETY: the place is below the number of completions; the kernel wrote it before it
        // advanced the tail.
        let completion =
            unsafe { self.completion_ring.at.add(self.at.completions as usize).cast::<Completion>().add(place).read() };
        self.head = self.head.wrapping_add(1);
        self.completion_ring.word(self.at.completion_head).store(self.head, Ordering::Release);
        Some(completion)
    }

    /// Publishes what was written, and waits until the `count` operations of it have completed: one
    /// `io_uring_enter`, unless a signal cuts it short. After it, also after an error, the kernel
    /// uses no memory that they point to.
    ///
    /// # Errors
    /// Those of `io_uring_enter`.
    #[inline]
    fn complete(&mut self, count: u32, mut each: impl FnMut(Completion)) -> io::Result<()> {
        let took = self.enter(count);
        checked(took)?;
        let mut ended = 0;
        // However long that takes: the kernel owns the memory until then.
        while ended < took {
            match self.pop() {
                Some(completion) => {
                    ended += 1;
                    each(completion);
                }
                None => drop(self.enter(1)),
            }
        }
        Ok(())
    }

    /// Reads the start of a file into each of the equal parts of a buffer, all with one
    /// `io_uring_enter`; returns the number of parts filled.
    ///
    /// # Errors
    /// Those of `io_uring_enter`.
    ///
    /// # Panics
    /// When the parts are more than [`Ring::entries`].
    #[inline]
    pub fn read(&mut self, fd: BorrowedFd<'_>, buffer: &mut [u8], part: usize) -> io::Result<usize> {
        let parts = buffer.len() / part;
        assert!(parts <= self.entries as usize, "more reads than the ring holds");
        for piece in buffer.chunks_exact_mut(part) {
            let (address, length) = (piece.as_mut_ptr() as u64, part as u32);
            let fd = fd.as_raw_fd();
            self.push(Submission { opcode: READ, fd, address, length, data: READ.into(), ..Submission::default() });
        }
        let mut filled = 0;
        self.complete(parts as u32, |completion| {
            filled += usize::from(completion.result == part as i32 && completion.data == READ.into());
        })?;
        Ok(filled)
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Why there are no rings, as far as a program can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The kernel was built without them.
    NotBuilt,
    /// A system call filter reports that the call does not exist.
    FilteredAway,
    /// A system call filter forbids the call.
    Forbidden,
    /// The setting `kernel.io_uring_disabled` has this value: 1 for all but some processes, 2 for
    /// all.
    Disabled(u32),
    /// Forbidden by something else, most likely a security module.
    Refused,
    /// No memory: before Linux 5.12 rings count as locked memory, which is limited for all but
    /// root.
    NoMemory,
    /// Some other error.
    Other,
}

/// Determines the reason from the error of `io_uring_setup` and from `/proc`.
pub fn missing(error: &io::Error) -> Missing {
    let disabled = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").ok();
    // Of this thread, because filters belong to threads.
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:")).map(str::trim);
    reason(error.raw_os_error(), disabled.and_then(|text| text.trim().parse().ok()), mode == Some("2"))
}

fn reason(error: Option<i32>, disabled: Option<u32>, filtered: bool) -> Missing {
    match (error, disabled) {
        (Some(libc::ENOSYS), _) if filtered => Missing::FilteredAway,
        (Some(libc::ENOSYS), _) => Missing::NotBuilt,
        (Some(libc::EPERM), Some(setting @ 1..)) => Missing::Disabled(setting),
        (Some(libc::EPERM | libc::EACCES), _) if filtered => Missing::Forbidden,
        (Some(libc::EPERM | libc::EACCES), _) => Missing::Refused,
        (Some(libc::ENOMEM), _) => Missing::NoMemory,
        _ => Missing::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{pipe, write_full};

    /// A ring, or `None` where this machine has none, for the reason that is printed.
    fn ring(entries: u32) -> Option<Ring> {
        match Ring::new(entries) {
            Ok(ring) => Some(ring),
            Err(e) => {
                eprintln!("no ring: {e}: {:?}", missing(&e));
                assert_ne!(missing(&e), Missing::Other, "{e}");
                None
            }
        }
    }

    #[test]
    fn operations_end_once_each_and_in_order() {
        let Some(mut ring) = ring(8) else { return };
        assert_eq!(ring.pop(), None);
        for lap in 0..10 {
            for n in 0..8 {
                ring.push_nop(lap * 8 + n);
            }
            assert_eq!(ring.enter(8), 8);
            for n in 0..8 {
                assert_eq!(ring.pop(), Some(Completion { data: lap * 8 + n, result: 0, flags: 0 }));
            }
            assert_eq!(ring.pop(), None);
        }
    }

    #[test]
    fn operations_end_in_every_mode() {
        let Some(mut deferred) = Ring::with(8, Mode::Deferred).ok() else { return };
        (0..8).for_each(|n| deferred.push_nop(n));
        assert_eq!(deferred.enter(8), 8);
        assert_eq!(
            std::iter::from_fn(|| deferred.pop()).map(|done| done.data).collect::<Vec<_>>(),
            [0, 1, 2, 3, 4, 5, 6, 7]
        );

        let cpu = *crate::affinity::allowed().expect("a mask").last().expect("a CPU");
        let mut polled = Ring::with(8, Mode::Polled(cpu)).expect("where there is the other mode");
        for lap in 0..100 {
            (0..8).for_each(|n| polled.push_nop(lap * 8 + n));
            assert!(polled.publish().expect("a ring") <= 1);
            for n in 0..8 {
                let done = std::iter::repeat_with(|| polled.pop()).find_map(|done| done).expect("one comes");
                assert_eq!((done.data, done.result), (lap * 8 + n, 0));
            }
        }
    }

    #[test]
    fn a_readable_pipe_is_polled_and_a_file_is_read() {
        let Some(mut ring) = ring(4) else { return };
        let (near, far) = pipe().expect("pipe");
        write_full(far.as_fd(), &[1]).expect("write");
        ring.push_poll(near.as_fd(), 5);
        assert_eq!(ring.enter(1), 1);
        let completion = ring.pop().expect("a completion");
        assert_eq!((completion.data, completion.result & i32::from(libc::POLLIN)), (5, i32::from(libc::POLLIN)));

        let path = std::env::temp_dir().join(format!("groma-uring-{}", crate::process::id()));
        std::fs::write(&path, [7; 100]).expect("a file");
        let file = std::fs::File::open(&path).expect("the file");
        std::fs::remove_file(&path).expect("its name");
        let mut buffer = [0; 12];
        assert_eq!(ring.read(file.as_fd(), &mut buffer, 4).expect("read"), 3);
        assert_eq!(buffer, [7; 12]);
        let mut too_long = [0; 200];
        assert_eq!(ring.read(file.as_fd(), &mut too_long, 200).expect("read"), 0);
    }

    #[test]
    fn a_message_arrives_in_the_other_ring_only() {
        let (Some(mut a), Some(mut b)) = (ring(4), ring(4)) else { return };
        a.push_message(b.as_fd(), 42, 7);
        assert_eq!(a.enter(0), 1);
        match a.pop() {
            None => assert_eq!(b.pop(), Some(Completion { data: 42, result: 7, flags: 0 })),
            // A kernel before 5.18.
            Some(refused) => assert_eq!(refused.result, -libc::EINVAL),
        }
    }

    #[test]
    fn each_error_has_its_reason() {
        let (enosys, eperm) = (Some(libc::ENOSYS), Some(libc::EPERM));
        assert_eq!(reason(enosys, None, false), Missing::NotBuilt);
        assert_eq!(reason(enosys, Some(0), true), Missing::FilteredAway);
        assert_eq!(reason(eperm, Some(2), true), Missing::Disabled(2));
        assert_eq!(reason(eperm, Some(1), false), Missing::Disabled(1));
        assert_eq!(reason(eperm, Some(0), true), Missing::Forbidden);
        assert_eq!(reason(eperm, None, false), Missing::Refused);
        assert_eq!(reason(Some(libc::ENOMEM), None, true), Missing::NoMemory);
        assert_eq!(reason(Some(libc::EMFILE), None, true), Missing::Other);
    }

    /// As under a container's profile: a filter belongs to its thread and ends with it.
    #[test]
    fn a_filter_is_recognised() {
        let off = |text: String| text.trim() != "0";
        if std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").is_ok_and(off) {
            return eprintln!("io_uring is disabled here: that is found first");
        }
        for (error, expected) in [(libc::ENOSYS, Missing::FilteredAway), (libc::EPERM, Missing::Forbidden)] {
            let thread = std::thread::spawn(move || {
                crate::filter::deny(&[libc::SYS_io_uring_setup], error)
                    .map(|()| Ring::new(4).map(|_| ()).map_err(|e| missing(&e)))
            });
            match thread.join().expect("no panic") {
                Ok(answer) => assert_eq!(answer, Err(expected)),
                Err(e) => eprintln!("no filters here: {e}"),
            }
        }
    }
}
