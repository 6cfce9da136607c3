//! POSIX message queues by system call, because libraries have them in different places.
//!
//! A queue is a descriptor with a name. The name is removed as soon as the queue is open, so the
//! queue goes with the last descriptor. (SIGKILL between these two calls, a microsecond, would
//! leave the name.)
//!
//! # Safety
//! Names are NUL-terminated, buffers are passed with their true length, the attributes are a valid
//! structure.
#![expect(unsafe_code, reason = "mq_open, mq_unlink, mq_timedsend, mq_timedreceive")]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The kernel's `struct mq_attr`.
#[repr(C)]
struct Attributes {
    flags: libc::c_long,
    max_messages: libc::c_long,
    max_size: libc::c_long,
    messages: libc::c_long,
    reserved: [libc::c_long; 4],
}

/// A queue without a name for `messages` messages of up to `size` bytes.
///
/// # Errors
/// Those of `mq_open`: `EINVAL` for more than the system allows, `EMFILE` at the user's limit of
/// bytes in queues (RLIMIT_MSGQUEUE), `ENOSYS` without POSIX queues in the kernel.
pub fn queue(messages: usize, size: usize) -> io::Result<OwnedFd> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    // The kernel's names have no slash; the library removes the one that programs write.
    let name = format!("groma-{}-{}", crate::process::id(), MADE.fetch_add(1, Relaxed));
    let name = CString::new(name)?;
    let attributes = Attributes {
        flags: 0,
        max_messages: messages as libc::c_long,
        max_size: size as libc::c_long,
        messages: 0,
        reserved: [0; 4],
    };
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
    // SAFETY: a name with its NUL and a valid structure.
    let fd = unsafe { libc::syscall(libc::SYS_mq_open, name.as_ptr(), flags, 0o600, &raw const attributes) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above.
    let unlinked = unsafe { libc::syscall(libc::SYS_mq_unlink, name.as_ptr()) };
    // SAFETY: the descriptor is new and has no other owner.
    let queue = unsafe { OwnedFd::from_raw_fd(fd as i32) };
    if unlinked < 0 { Err(io::Error::last_os_error()) } else { Ok(queue) }
}

/// Sends one message; waits while the queue is full.
///
/// # Errors
/// Those of `mq_send`.
#[inline]
pub fn send(queue: BorrowedFd<'_>, message: &[u8]) -> io::Result<()> {
    let none = std::ptr::null::<libc::timespec>();
    // SAFETY: the buffer is as long as it says.
    let done = unsafe {
        libc::syscall(libc::SYS_mq_timedsend, queue.as_raw_fd(), message.as_ptr(), message.len(), 0u32, none)
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Waits for a message; returns its length. The buffer must be as long as the longest message of
/// the queue.
///
/// # Errors
/// Those of `mq_receive`.
#[inline]
pub fn receive(queue: BorrowedFd<'_>, message: &mut [u8]) -> io::Result<usize> {
    let (no_priority, none) = (std::ptr::null_mut::<u32>(), std::ptr::null::<libc::timespec>());
    // SAFETY: the buffer is exclusively borrowed and as long as it says.
    let n = unsafe {
        libc::syscall(
            libc::SYS_mq_timedreceive,
            queue.as_raw_fd(),
            message.as_mut_ptr(),
            message.len(),
            no_priority,
            none,
        )
    };
    if n < 0 { Err(io::Error::last_os_error()) } else { Ok(n as usize) }
}

/// Whether it is the error of a user at the limit of bytes in queues (`EMFILE`).
pub fn is_limit_of_user(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMFILE)
}

/// The largest message that the system allows an unprivileged user.
pub fn most_bytes() -> Option<u64> {
    std::fs::read_to_string("/proc/sys/fs/mqueue/msgsize_max").ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_queue_carries_messages_of_their_length_and_has_no_name() {
        let queue = match queue(2, 16) {
            Ok(queue) => queue,
            Err(e) => return assert_eq!(e.raw_os_error(), Some(libc::ENOSYS), "{e}"),
        };
        send(queue.as_fd(), b"one").expect("send");
        send(queue.as_fd(), b"").expect("send");
        let mut room = [0; 16];
        assert_eq!(receive(queue.as_fd(), &mut room).expect("receive"), 3);
        assert_eq!(&room[..3], b"one");
        assert_eq!(receive(queue.as_fd(), &mut room).expect("receive"), 0);
        // All have the same priority, by which the queue sorts.
        send(queue.as_fd(), b"last").expect("send");
        let (mut priority, none) = (9u32, std::ptr::null::<libc::timespec>());
        let (number, at) = (libc::SYS_mq_timedreceive, room.as_mut_ptr());
        // SAFETY: the buffer is as long as the queue's messages, and there is room for the
        // priority.
        let n = unsafe { libc::syscall(number, queue.as_raw_fd(), at, room.len(), &raw mut priority, none) };
        assert_eq!((n, priority), (4, 0));
        let link = std::fs::read_link(format!("/proc/self/fd/{}", queue.as_raw_fd())).expect("procfs");
        assert!(link.to_string_lossy().ends_with(" (deleted)"), "{link:?}");
    }

    #[test]
    fn a_queue_has_the_requested_capacity() {
        let Ok(queue) = queue(2, 16) else { return println!("skipped: no POSIX queues here") };
        let mut actual = Attributes { flags: 9, max_messages: 0, max_size: 0, messages: 9, reserved: [0; 4] };
        let (number, none) = (libc::SYS_mq_getsetattr, std::ptr::null::<Attributes>());
        // SAFETY: room for the answer; nothing is set.
        assert_eq!(unsafe { libc::syscall(number, queue.as_raw_fd(), none, &raw mut actual) }, 0);
        assert_eq!(
            (actual.max_messages, actual.max_size, actual.messages, actual.flags),
            (2, 16, 0, 0),
            "and it waits"
        );
        assert_eq!(send(queue.as_fd(), &[0; 17]).map_err(|e| e.raw_os_error()), Err(Some(libc::EMSGSIZE)));
        assert_eq!(receive(queue.as_fd(), &mut [0; 15]).map_err(|e| e.raw_os_error()), Err(Some(libc::EMSGSIZE)));
        // In the order in which they were sent.
        send(queue.as_fd(), b"a").expect("send");
        send(queue.as_fd(), b"bc").expect("send");
        let mut room = [0; 16];
        assert_eq!([(); 2].map(|()| receive(queue.as_fd(), &mut room).expect("receive")), [1, 2]);
    }

    /// An ordinary user may have this and not a byte more.
    #[test]
    fn the_longest_message_of_an_ordinary_user() {
        let (Ok(_), Some(most)) = (queue(1, 16), most_bytes()) else {
            return println!("skipped: no POSIX queues here");
        };
        let exit = crate::testing::in_child(|| {
            if !crate::testing::drop_root() {
                return 255;
            }
            let tried = |bytes| queue(1, bytes as usize).map(|_| ()).map_err(|e| e.raw_os_error());
            // The user's queues together have a limit of their own.
            if tried(most) == Err(Some(libc::EMFILE)) {
                return 255;
            }
            crate::testing::first_wrong(&[tried(most).is_ok(), tried(most + 1) == Err(Some(libc::EINVAL))])
        });
        assert!(matches!(exit, Some(0 | 255)), "{exit:?}");
        assert!(is_limit_of_user(&io::Error::from_raw_os_error(libc::EMFILE)));
        assert!(!is_limit_of_user(&io::Error::from_raw_os_error(libc::ENFILE)));
    }
}
