//! Message queues and semaphores of System V.
//!
//! They are private (`IPC_PRIVATE`): no other process can find them by a key. Each belongs to a
//! [`Guardian`], which removes it.
//!
//! # Safety
//! A [`Message`] is a type word and as many bytes as its length says, in memory of its own.
//! Operations on semaphores are a valid structure that outlives the call. The kernel checks ids.
#![expect(unsafe_code, reason = "msgget, msgsnd, msgrcv, semget, semop")]

use crate::guardian::Guardian;
use std::io;

fn checked(answer: i32) -> io::Result<i32> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// For this user only.
const MODE: i32 = 0o600;

/// A message queue; removed when dropped, and however this process ends.
#[derive(Debug)]
pub struct Queue(Guardian);

impl Queue {
    /// An empty queue.
    ///
    /// # Errors
    /// Those of `msgget`: `ENOSPC` at the limit of queues, `ENOSYS` without System V in the kernel.
    pub fn new() -> io::Result<Queue> {
        let guardian = Guardian::new(
            // SAFETY: numbers only.
            || checked(unsafe { libc::msgget(libc::IPC_PRIVATE, MODE) }),
            // SAFETY: IPC_RMID takes no structure.
            |id| checked(unsafe { libc::msgctl(id, libc::IPC_RMID, std::ptr::null_mut()) }).map(drop),
        )?;
        Ok(Queue(guardian))
    }

    /// Its id, by which processes forked later use it.
    pub fn id(&self) -> i32 {
        self.0.object()
    }
}

/// Room for one message.
#[derive(Debug)]
pub struct Message {
    /// The type, and then the text.
    words: Vec<libc::c_long>,
    len: usize,
}

impl Message {
    /// Room for `len` bytes.
    pub fn new(len: usize) -> Message {
        Message { words: vec![0; 1 + len.div_ceil(size_of::<libc::c_long>())], len }
    }

    /// The text.
    pub fn text(&mut self) -> &mut [u8] {
        let text = &mut self.words[1..];
        // SAFETY: the buffer is at least that long and exclusively borrowed.
        unsafe { std::slice::from_raw_parts_mut(text.as_mut_ptr().cast(), self.len) }
    }

    /// Sends it with type `kind`, which is positive.
    ///
    /// # Errors
    /// Those of `msgsnd`.
    #[inline]
    pub fn send(&mut self, queue: i32, kind: libc::c_long) -> io::Result<()> {
        self.words[0] = kind;
        // SAFETY: a type word and `len` bytes.
        checked(unsafe { libc::msgsnd(queue, self.words.as_ptr().cast(), self.len, 0) }).map(drop)
    }

    /// Waits for a message of type `kind`; returns the length of its text.
    ///
    /// # Errors
    /// Those of `msgrcv`: `E2BIG` for one that is longer, `EIDRM` when the queue is removed.
    #[inline]
    pub fn receive(&mut self, queue: i32, kind: libc::c_long) -> io::Result<usize> {
        // SAFETY: a buffer for a type word and `len` bytes.
        let n = unsafe { libc::msgrcv(queue, self.words.as_mut_ptr().cast(), self.len, kind, 0) };
        if n < 0 { Err(io::Error::last_os_error()) } else { Ok(n as usize) }
    }
}

/// A set of two semaphores, both 0; removed when dropped, and however this process ends.
#[derive(Debug)]
pub struct Semaphores(Guardian);

impl Semaphores {
    /// A set of two. Linux initialises them to 0, which POSIX leaves open.
    ///
    /// # Errors
    /// Those of `semget`: `ENOSPC` at the limit of sets, `ENOSYS` without System V in the kernel.
    pub fn new() -> io::Result<Semaphores> {
        let guardian = Guardian::new(
            // SAFETY: numbers only.
            || checked(unsafe { libc::semget(libc::IPC_PRIVATE, 2, MODE) }),
            // SAFETY: IPC_RMID takes no structure.
            |id| checked(unsafe { libc::semctl(id, 0, libc::IPC_RMID) }).map(drop),
        )?;
        Ok(Semaphores(guardian))
    }

    /// Its id, by which processes forked later use it.
    pub fn id(&self) -> i32 {
        self.0.object()
    }
}

/// Adds `n` to a semaphore of a set; waits while the result would be below 0.
///
/// # Errors
/// Those of `semop`: `EIDRM` when the set is removed.
#[inline]
pub fn add(set: i32, semaphore: u16, n: i16) -> io::Result<()> {
    let mut operation = libc::sembuf { sem_num: semaphore, sem_op: n, sem_flg: 0 };
    // SAFETY: one valid operation.
    checked(unsafe { libc::semop(set, &mut operation, 1) }).map(drop)
}

/// Takes 1 from a semaphore of a set and adds 1 to another, at once; waits while there is nothing
/// to take.
///
/// # Errors
/// As [`add`].
#[inline]
pub fn take_and_add(set: i32, take: u16, add: u16) -> io::Result<()> {
    let operation = |sem_num, sem_op| libc::sembuf { sem_num, sem_op, sem_flg: 0 };
    let mut operations = [operation(take, -1), operation(add, 1)];
    // SAFETY: two valid operations.
    checked(unsafe { libc::semop(set, operations.as_mut_ptr(), operations.len()) }).map(drop)
}

/// The current value of a semaphore of a set.
///
/// # Errors
/// Those of `semctl`.
pub fn value(set: i32, semaphore: u16) -> io::Result<i32> {
    // SAFETY: GETVAL takes no structure.
    checked(unsafe { libc::semctl(set, i32::from(semaphore), libc::GETVAL) })
}

/// A System V limit of the kernel by its name in /proc/sys/kernel, such as `msgmax`.
pub fn limit(name: &str) -> Option<u64> {
    std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fork;
    use crate::io::{pipe, read_full, write_full};
    use std::os::fd::{AsFd, BorrowedFd};
    use std::time::{Duration, Instant};

    fn queue_exists(id: i32) -> bool {
        // SAFETY: room for the answer.
        let answer = unsafe {
            let mut room = std::mem::zeroed::<libc::msqid_ds>();
            libc::msgctl(id, libc::IPC_STAT, &mut room)
        };
        answer == 0
    }

    fn set_exists(id: i32) -> bool {
        value(id, 0).is_ok()
    }

    /// The object; `None` where the kernel has no System V IPC.
    fn object_or_none<T>(object: io::Result<T>) -> Option<T> {
        match object {
            Err(e) if e.raw_os_error() == Some(libc::ENOSYS) => None,
            object => Some(object.expect("a System V object")),
        }
    }

    #[test]
    fn a_queue_carries_a_message_and_is_gone_when_dropped() {
        let Some(queue) = object_or_none(Queue::new()) else { return };
        let id = queue.id();
        let mut message = Message::new(5);
        message.text().copy_from_slice(b"hello");
        message.send(id, 2).expect("send");
        let mut other = Message::new(5);
        assert_eq!(other.receive(id, 2).expect("receive"), 5);
        assert_eq!(other.text(), b"hello");
        assert!(queue_exists(id));
        drop(queue);
        assert!(!queue_exists(id));
    }

    #[test]
    fn a_semaphore_counts_and_is_gone_when_dropped() {
        let Some(set) = object_or_none(Semaphores::new()) else { return };
        let id = set.id();
        assert!(set_exists(id));
        add(id, 0, 1).expect("up");
        assert_eq!(value(id, 0).expect("a value"), 1);
        add(id, 0, -1).expect("down");
        drop(set);
        assert!(!set_exists(id));
    }

    #[test]
    fn one_is_taken_from_the_first_and_added_to_the_second() {
        let Some(set) = object_or_none(Semaphores::new()) else { return };
        let id = set.id();
        add(id, 0, 2).expect("up");
        add(id, 1, 5).expect("up");
        take_and_add(id, 0, 1).expect("both at once");
        assert_eq!([0, 1].map(|semaphore| value(id, semaphore).expect("a value")), [1, 6]);
        take_and_add(id, 1, 0).expect("and back");
        assert_eq!([0, 1].map(|semaphore| value(id, semaphore).expect("a value")), [2, 5]);
    }

    #[test]
    fn messages_are_taken_by_their_kind() {
        let Some(queue) = object_or_none(Queue::new()) else { return };
        let id = queue.id();
        for (kind, text) in [(1, b"one"), (2, b"two")] {
            let mut message = Message::new(3);
            message.text().copy_from_slice(text);
            message.send(id, kind).expect("send");
        }
        let mut other = Message::new(3);
        assert_eq!(other.receive(id, 2).expect("receive"), 3);
        assert_eq!(other.text(), b"two");
    }

    #[test]
    fn nothing_is_left_when_the_owner_and_its_group_are_killed() {
        fn life(sender: BorrowedFd<'_>) -> io::Result<()> {
            // Like a worker: the leader of its own process group.
            rustix::process::setpgid(None, None)?;
            let (queue, set) = (Queue::new()?, Semaphores::new()?);
            write_full(sender, &[queue.id().to_ne_bytes(), set.id().to_ne_bytes()].concat())?;
            loop {
                std::thread::park();
            }
        }
        let Some(_) = object_or_none(Queue::new()) else { return };
        let (receiver, sender) = pipe().expect("a pipe");
        let child = fork::fork(|| i32::from(life(sender.as_fd()).is_err())).expect("fork");
        let mut ids = [0; 8];
        read_full(receiver.as_fd(), &mut ids).expect("the child made them");
        let (queue, set) = ids.split_at(4);
        let queue = i32::from_ne_bytes(queue.try_into().expect("four bytes"));
        let set = i32::from_ne_bytes(set.try_into().expect("four bytes"));
        assert!(queue_exists(queue) && set_exists(set));
        crate::process::kill_group(child.pid());
        assert_eq!(child.wait().expect("wait").signal(), Some(libc::SIGKILL));
        // The guardians need the CPU for a moment, and children of other tests may hold copies of
        // the pipe.
        let patience = Instant::now() + Duration::from_secs(60);
        while queue_exists(queue) || set_exists(set) {
            assert!(Instant::now() < patience, "the guardians have not removed them");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Others could read messages, or take what is waited for.
    #[test]
    fn objects_are_for_this_user_only() {
        let (Some(queue), Some(set)) = (object_or_none(Queue::new()), object_or_none(Semaphores::new())) else {
            return;
        };
        // SAFETY: room for the answers.
        let modes = unsafe {
            let (mut of_queue, mut of_set) =
                (std::mem::zeroed::<libc::msqid_ds>(), std::mem::zeroed::<libc::semid_ds>());
            assert_eq!(libc::msgctl(queue.id(), libc::IPC_STAT, &mut of_queue), 0);
            assert_eq!(libc::semctl(set.id(), 0, libc::IPC_STAT, &raw mut of_set), 0);
            assert_eq!(of_set.sem_nsems, 2);
            [of_queue.msg_perm.mode, of_set.sem_perm.mode].map(|mode| u32::from(mode) & 0o777)
        };
        assert_eq!(modes, [0o600; 2]);
        assert_eq!([0, 1].map(|semaphore| value(set.id(), semaphore).expect("a value")), [0, 0]);
    }

    #[test]
    fn a_message_that_is_too_long_is_not_truncated() {
        let Some(queue) = object_or_none(Queue::new()) else { return };
        let mut message = Message::new(9);
        message.text().copy_from_slice(b"too long!");
        message.send(queue.id(), 1).expect("send");
        let refused = Message::new(8).receive(queue.id(), 1).map_err(|e| e.raw_os_error());
        assert_eq!(refused, Err(Some(libc::E2BIG)));
        assert_eq!(Message::new(20).receive(queue.id(), 1).expect("it is still there"), 9);
        assert!(limit("msgmax").is_none_or(|most| Message::new(most as usize + 1).send(queue.id(), 1).is_err()));
    }
}
