//! Requests to a file or device, many in flight at a time, each with a buffer of its own.
//!
//! # Safety
//! The buffers are one mapping, which is unmapped only after the last request has completed. A
//! buffer is handed out only while no request uses it, and always through the mapping's address, so
//! that no reference covers bytes that the kernel writes.
#![expect(unsafe_code, reason = "buffers that the kernel fills")]

use super::{READ, Ring, Submission, WRITE};
use crate::pages::{Map, Policy};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Up to a fixed number of requests in flight, by slots: each slot has a buffer and at most one
/// request.
#[derive(Debug)]
pub struct Requests {
    ring: Ring,
    file: File,
    /// The buffers. Held, and reached by `at` alone.
    _buffers: Map,
    at: *mut u8,
    /// Bytes of a request.
    length: usize,
    /// Which slots have a request.
    busy: Vec<bool>,
    /// The slots of requests that were not submitted to the kernel yet.
    new: Vec<usize>,
    in_flight: usize,
}

/// A request that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its slot, which is free again.
    pub slot: usize,
    /// The bytes transferred, or a negative error number.
    pub result: i32,
}

impl Requests {
    /// Slots for `depth` requests of `length` bytes, a multiple of the page size.
    ///
    /// # Errors
    /// Those of `mmap`.
    ///
    /// # Panics
    /// When the ring has fewer entries.
    pub fn new(ring: Ring, file: File, depth: usize, length: usize) -> io::Result<Requests> {
        assert!(depth <= ring.entries() as usize, "more requests than the ring holds");
        let mut buffers = Map::anonymous(depth * length, Policy::Base)?;
        buffers.populate();
        let at = buffers.as_mut_ptr();
        let (busy, new) = (vec![false; depth], Vec::with_capacity(depth));
        Ok(Requests { ring, file, _buffers: buffers, at, length, busy, new, in_flight: 0 })
    }

    /// The address of a slot's buffer.
    fn address(&self, slot: usize) -> *mut u8 {
        assert!(!self.busy[slot], "a request uses this buffer");
        // SAFETY: the mapping has `length` bytes for every slot.
        unsafe { self.at.add(slot * self.length) }
    }

    /// The buffer of a free slot.
    ///
    /// # Panics
    /// When a request uses it.
    pub fn buffer(&mut self, slot: usize) -> &mut [u8] {
        let at = self.address(slot);
        // SAFETY: `length` bytes of the mapping from there on; no request uses them, and the borrow
        // of `self` keeps it so.
        unsafe { std::slice::from_raw_parts_mut(at, self.length) }
    }

    fn push(&mut self, slot: usize, opcode: u8, offset: u64) {
        let address = self.address(slot) as u64;
        let (fd, length, data) = (self.file.as_raw_fd(), self.length as u32, slot as u64);
        self.ring.push(Submission { opcode, fd, offset, address, length, data, ..Submission::default() });
        self.busy[slot] = true;
        self.new.push(slot);
    }

    /// Asks to fill the buffer of a free slot from this offset.
    ///
    /// # Panics
    /// When a request uses it.
    pub fn read(&mut self, slot: usize, offset: u64) {
        self.push(slot, READ, offset);
    }

    /// Asks to write the buffer of a free slot to this offset.
    ///
    /// # Panics
    /// As [`Requests::read`].
    pub fn write(&mut self, slot: usize, offset: u64) {
        self.push(slot, WRITE, offset);
    }

    /// Hands the new requests to the kernel and waits for `wait` that have ended: one
    /// `io_uring_enter`.
    ///
    /// # Errors
    /// Those of `io_uring_enter`, but for an interruption; the slots of requests that the kernel
    /// did not take are free again.
    pub fn enter(&mut self, wait: u32) -> io::Result<()> {
        const EINTR: isize = -(libc::EINTR as isize);
        let took = self.ring.enter(wait);
        let taken = took.clamp(0, self.new.len() as isize) as usize;
        self.in_flight += taken;
        let all = taken == self.new.len();
        for slot in self.new.drain(taken..) {
            self.busy[slot] = false;
        }
        self.new.clear();
        match took {
            _ if !all && took >= 0 => Err(io::ErrorKind::WouldBlock.into()),
            0.. => Ok(()),
            EINTR if all => Ok(()),
            error => Err(io::Error::from_raw_os_error(-error as i32)),
        }
    }

    /// The next request that has ended, if there is one.
    pub fn pop(&mut self) -> Option<Ended> {
        let ended = self.ring.pop()?;
        let slot = ended.data as usize;
        self.busy[slot] = false;
        self.in_flight -= 1;
        Some(Ended { slot, result: ended.result })
    }

    /// How many requests are in flight.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }
}

impl Drop for Requests {
    /// Waits for the requests in flight, however long they take: the kernel owns their buffers.
    fn drop(&mut self) {
        while self.in_flight > 0 {
            if self.pop().is_none() {
                let _ = self.enter(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn what_is_written_by_one_slot_is_read_by_another() {
        let Ok(ring) = Ring::new(4) else { return eprintln!("no rings here") };
        let path = std::env::temp_dir().join(format!("groma-sys-requests-{}", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path).expect("a file");
        std::fs::remove_file(&path).expect("its name goes");
        let mut requests = Requests::new(ring, file, 3, 4096).expect("buffers");
        let present = requests._buffers.residency().expect("mincore");
        assert!(present.len() >= 3 && present.iter().all(|there| *there), "faults in what is timed: {present:?}");
        for slot in 0..3 {
            requests.buffer(slot).fill(slot as u8 + 1);
            requests.write(slot, slot as u64 * 4096);
        }
        let ended = |requests: &mut Requests, n: usize| {
            let mut ended = Vec::new();
            while ended.len() < n {
                requests.enter(1).expect("enter");
                ended.extend(std::iter::from_fn(|| requests.pop()));
            }
            ended.sort_by_key(|e| e.slot);
            ended
        };
        let whole = |slots: [usize; 3]| slots.map(|slot| Ended { slot, result: 4096 });
        assert_eq!(ended(&mut requests, 3), whole([0, 1, 2]));
        for slot in 0..3 {
            requests.read(slot, (2 - slot as u64) * 4096);
        }
        assert_eq!(ended(&mut requests, 3), whole([0, 1, 2]));
        assert_eq!(requests.in_flight(), 0);
        for slot in 0..3 {
            assert!(requests.buffer(slot).iter().all(|byte| *byte == 3 - slot as u8), "{slot}");
        }
        // Behind the end there is nothing; and what is in flight is waited for.
        requests.read(0, 1 << 20);
        assert_eq!(ended(&mut requests, 1), [Ended { slot: 0, result: 0 }]);
        requests.read(1, 0);
        requests.enter(0).expect("enter");
        drop(requests);
    }

    #[test]
    fn a_buffer_in_flight_is_not_handed_out() {
        let Ok(ring) = Ring::new(1) else { return println!("no rings here") };
        let zero = File::open("/dev/zero").expect("/dev/zero");
        let mut requests = Requests::new(ring, zero, 1, 4096).expect("a buffer");
        requests.read(0, 0);
        let handed = catch_unwind(AssertUnwindSafe(|| requests.buffer(0).len()));
        let panic = handed.expect_err("a buffer that the kernel writes to was handed out");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"a request uses this buffer"));
    }

    /// With all slots in use; a refused request frees its slot.
    #[test]
    fn a_failed_request_is_returned_with_its_slot() {
        let Ok(ring) = Ring::new(4) else { return println!("no rings here") };
        // Not open for writing.
        let zero = File::open("/dev/zero").expect("/dev/zero");
        let mut requests = Requests::new(ring, zero, 2, 4096).expect("buffers");
        requests.write(1, 0);
        requests.read(0, 0);
        assert_eq!(requests.in_flight(), 0, "not submitted yet");
        let mut ended = Vec::new();
        requests.enter(0).expect("enter");
        let submitted = requests.in_flight();
        while ended.len() < 2 {
            requests.enter(1).expect("enter");
            ended.extend(std::iter::from_fn(|| requests.pop()));
        }
        ended.sort_by_key(|e| e.slot);
        assert_eq!(ended, [Ended { slot: 0, result: 4096 }, Ended { slot: 1, result: -libc::EBADF }]);
        assert_eq!((submitted, requests.in_flight()), (2, 0));
        // Both slots are free again.
        assert!([0, 1].map(|slot| requests.buffer(slot).len()) == [4096; 2]);
    }
}
