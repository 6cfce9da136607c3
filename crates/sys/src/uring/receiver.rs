//! Messages of sockets through one ring: received into buffers that the kernel chooses, and
//! answered from there.
//!
//! The kernel takes a buffer when data have arrived, not when the operation is submitted, so a
//! thousand silent connections hold none (`IORING_REGISTER_PBUF_RING`, Linux 5.19). One operation
//! may receive for ever (`IORING_RECV_MULTISHOT`, Linux 6.0).
//!
//! # Safety
//! The ring of buffers and the buffers are mappings that outlive the rings (fields drop in order).
//! A buffer is either the kernel's (in the ring of buffers, or being sent) or that of one
//! [`Message`], which gives it back when it is sent or released. The sockets are borrowed for as
//! long as the receiver exists.
#![expect(unsafe_code, reason = "io_uring_register, buffers that the kernel fills")]

use super::{Ring, Submission};
use crate::pages::{Map, Policy, checked};
use rustix::io_uring::{
    IoringCqeFlags, IoringOp, IoringRecvFlags, IoringRegisterOp, IoringSqeFlags, io_uring_buf_reg, io_uring_ptr,
    io_uring_register,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicU16, Ordering};

const RECEIVE: u8 = IoringOp::Recv as u8;
const SEND: u8 = IoringOp::Send as u8;
/// The kernel chooses a buffer of the group that the operation names: 0 here.
const BUFFER_SELECT: u8 = IoringSqeFlags::BUFFER_SELECT.bits();
const MULTISHOT: u16 = IoringRecvFlags::MULTISHOT.bits();
/// Of a completion: its operation goes on.
const MORE: u32 = IoringCqeFlags::MORE.bits();
/// Where a completion has the number of its buffer.
const BUFFER_SHIFT: u32 = 16;
/// `struct io_uring_buf`: address, length, number, and in the first one the ring's tail.
const ENTRY: usize = 16;
const TAIL: usize = 14;
/// The descriptor is readable (what [`Receiver::watch`] asked for).
const WATCHED: u64 = 1 << 62;
/// A buffer was sent; its number is in the lower bits.
const SENT: u64 = 1 << 63;

/// How many messages an operation receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receive {
    /// One.
    Single,
    /// All, until it fails.
    Multishot,
}

/// A ring that receives.
#[derive(Debug)]
pub struct Receiver<'fd> {
    ring: Ring,
    /// The ring of buffers, and the buffers.
    free: Map,
    buffers: Map,
    size: usize,
    /// Behind the last buffer given to the kernel.
    tail: u16,
    mask: u16,
    receive: Receive,
    sockets: Vec<BorrowedFd<'fd>>,
}

/// A message that has arrived, in a buffer that the kernel does not use.
#[derive(Debug)]
#[must_use = "its buffer is lost unless it is sent or released"]
pub struct Message {
    /// The place of its socket.
    pub place: usize,
    /// Its bytes: 0 at the end of a connection.
    pub length: usize,
    buffer: u16,
}

/// What has happened.
#[derive(Debug)]
pub enum Event {
    /// A message, or the end of a connection.
    Message(Message),
    /// A watched descriptor is readable; it is watched no longer.
    Readable(usize),
}

impl<'fd> Receiver<'fd> {
    /// A receiver with so many buffers, a power of two, of `size` bytes.
    ///
    /// # Errors
    /// Those of `mmap` and `io_uring_register`: `EINVAL` before Linux 5.19.
    ///
    /// # Panics
    /// When the number of buffers is no power of two.
    pub fn new(ring: Ring, buffers: u16, size: usize, receive: Receive) -> io::Result<Receiver<'fd>> {
        assert!(buffers.is_power_of_two(), "a ring has a power of two places");
        let mut free = Map::anonymous(usize::from(buffers) * ENTRY, Policy::Base)?;
        let mut memory = Map::anonymous(usize::from(buffers) * size, Policy::Base)?;
        free.populate();
        memory.populate();
        let mut group = io_uring_buf_reg::default();
        group.ring_addr = io_uring_ptr::new(free.as_mut_ptr().cast());
        group.ring_entries = buffers.into();
        // SAFETY: the kernel reads the description, and keeps the ring of buffers, which lives
        // longer than the rings.
        unsafe { io_uring_register(ring.as_fd(), IoringRegisterOp::RegisterPbufRing, (&raw const group).cast(), 1) }?;
        let mask = buffers - 1;
        let mut receiver = Receiver { ring, free, buffers: memory, size, tail: 0, mask, receive, sockets: Vec::new() };
        for buffer in 0..buffers {
            receiver.give(buffer);
        }
        Ok(receiver)
    }

    /// Gives a buffer to the kernel.
    #[inline]
    fn give(&mut self, buffer: u16) {
        let address = self.buffers.as_mut_ptr() as u64 + u64::from(buffer) * self.size as u64;
        let at = usize::from(self.tail & self.mask) * ENTRY;
        let entry = &mut self.free[at..at + TAIL];
        entry[..8].copy_from_slice(&address.to_ne_bytes());
        entry[8..12].copy_from_slice(&(self.size as u32).to_ne_bytes());
        entry[12..].copy_from_slice(&buffer.to_ne_bytes());
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: inside the mapping, aligned, and shared with the kernel as an atomic.
        let tail = unsafe { AtomicU16::from_ptr(self.free.as_mut_ptr().add(TAIL).cast()) };
        tail.store(self.tail, Ordering::Release);
    }

    /// Receives from a socket from the next [`Receiver::enter`] on. Returns its place.
    ///
    /// At most as many between two of those as the ring has entries.
    pub fn add(&mut self, socket: BorrowedFd<'fd>) -> usize {
        self.sockets.push(socket);
        self.ask(self.sockets.len() - 1);
        self.sockets.len() - 1
    }

    /// Tells once when a descriptor is readable. Returns its place.
    pub fn watch(&mut self, fd: BorrowedFd<'fd>) -> usize {
        self.sockets.push(fd);
        self.watch_again(self.sockets.len() - 1);
        self.sockets.len() - 1
    }

    /// As [`Receiver::watch`], of a descriptor that was readable.
    pub fn watch_again(&mut self, place: usize) {
        self.ring.push_poll(self.sockets[place], WATCHED | place as u64);
    }

    /// Asks for the messages, or the next one, of a socket.
    #[inline]
    fn ask(&mut self, place: usize) {
        let priority = if self.receive == Receive::Multishot { MULTISHOT } else { 0 };
        self.ring.push(Submission {
            opcode: RECEIVE,
            flags: BUFFER_SELECT,
            priority,
            fd: self.sockets[place].as_raw_fd(),
            data: place as u64,
            ..Submission::default()
        });
    }

    /// Hands what was asked for to the kernel and waits for an event: one `io_uring_enter`.
    ///
    /// # Errors
    /// Those of `io_uring_enter`.
    #[inline]
    pub fn enter(&mut self) -> io::Result<()> {
        self.hand_over(1)
    }

    /// As [`Receiver::enter`], without waiting: for more sockets than the ring has entries.
    ///
    /// # Errors
    /// As [`Receiver::enter`].
    pub fn submit(&mut self) -> io::Result<()> {
        self.hand_over(0)
    }

    #[inline]
    fn hand_over(&mut self, wait: u32) -> io::Result<()> {
        checked(self.ring.enter(wait))
    }

    /// The next event, if there is one. An operation that has ended is asked for again.
    ///
    /// # Errors
    /// Those of receiving and of sending; `EINVAL` before Linux 6.0.
    #[inline]
    pub fn next_event(&mut self) -> io::Result<Option<Event>> {
        while let Some(completion) = self.ring.pop() {
            if completion.result < 0 && -completion.result != libc::ENOBUFS {
                return Err(io::Error::from_raw_os_error(-completion.result));
            }
            if completion.data & SENT != 0 {
                if completion.result as usize != (completion.data & !SENT) as usize >> BUFFER_SHIFT {
                    return Err(io::ErrorKind::WriteZero.into());
                }
                self.give(completion.data as u16);
                continue;
            }
            if completion.data & WATCHED != 0 {
                return Ok(Some(Event::Readable((completion.data & !WATCHED) as usize)));
            }
            let place = completion.data as usize;
            if completion.flags & MORE == 0 && completion.result != 0 {
                self.ask(place);
            }
            // Else every buffer was in use: those that come back will do.
            if let Ok(length) = usize::try_from(completion.result) {
                let buffer = (completion.flags >> BUFFER_SHIFT) as u16;
                return Ok(Some(Event::Message(Message { place, length, buffer })));
            }
        }
        Ok(None)
    }

    /// The bytes of a message.
    #[inline]
    pub fn bytes(&mut self, message: &Message) -> &mut [u8] {
        let at = usize::from(message.buffer) * self.size;
        &mut self.buffers[at..at + message.length]
    }

    /// Sends a message back on its socket, from where it is, from the next [`Receiver::enter`] on.
    #[inline]
    pub fn send_back(&mut self, message: Message) {
        let address = self.buffers.as_mut_ptr() as u64 + u64::from(message.buffer) * self.size as u64;
        self.ring.push(Submission {
            opcode: SEND,
            fd: self.sockets[message.place].as_raw_fd(),
            address,
            length: message.length as u32,
            data: SENT | (message.length as u64) << BUFFER_SHIFT | u64::from(message.buffer),
            ..Submission::default()
        });
    }

    /// Gives the buffer of a message back.
    #[inline]
    pub fn release(&mut self, message: Message) {
        // The end of a connection takes none.
        if message.length > 0 {
            self.give(message.buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{read, write};
    use crate::unix::{Kind, pair};

    /// More messages than there are buffers, on two sockets, answered in the order of arrival.
    #[test]
    fn every_message_arrives_once_and_goes_back() {
        for receive in [Receive::Single, Receive::Multishot] {
            let Ok(ring) = Ring::new(8) else { return println!("no rings here") };
            let (near, far) = pair(Kind::Stream).expect("sockets");
            let (near2, far2) = pair(Kind::Stream).expect("sockets");
            let mut receiver = match Receiver::new(ring, 2, 16, receive) {
                Ok(receiver) => receiver,
                Err(e) => return println!("no rings of buffers here: {e}"),
            };
            assert_eq!([far.as_fd(), far2.as_fd()].map(|fd| receiver.add(fd)), [0, 1]);
            for round in 0..10u8 {
                write(near.as_fd(), &[round; 5]).expect("write");
                write(near2.as_fd(), &[round + 100; 7]).expect("write");
                let mut seen = Vec::new();
                while seen.len() < 2 {
                    receiver.enter().expect("enter");
                    while let Some(event) = receiver.next_event().expect("a receive") {
                        let Event::Message(message) = event else { panic!("{event:?}") };
                        let bytes = receiver.bytes(&message);
                        seen.push((message.place, bytes.to_vec()));
                        bytes[0] ^= 0xff;
                        receiver.send_back(message);
                    }
                }
                seen.sort();
                assert_eq!(seen, [(0, vec![round; 5]), (1, vec![round + 100; 7])], "{receive:?}");
                // Submits what is sent.
                receiver.watch(near.as_fd());
                receiver.enter().expect("enter");
                let mut answer = [0; 16];
                assert_eq!(read(near.as_fd(), &mut answer).expect("an answer"), 5);
                assert_eq!(answer[..2], [round ^ 0xff, round]);
                assert_eq!(read(near2.as_fd(), &mut answer).expect("an answer"), 7);
                while receiver.next_event().expect("a receive").is_some() {}
            }
            drop(near2);
            receiver.enter().expect("enter");
            let end = receiver.next_event().expect("the end");
            assert!(matches!(end, Some(Event::Message(Message { place: 1, length: 0, .. }))), "{end:?}");
        }
    }
}
