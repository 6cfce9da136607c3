//! Messages of sockets: many datagrams by one call, and descriptors that travel with a byte.
//!
//! Nothing is allocated once a batch is made, and the calls are raw, so that what is timed is the
//! kernel's work. Not here: single reads and writes (`io.rs`), which a connected socket takes too.
//!
//! # Safety
//! Headers point into vectors that live as long as they do, and that are neither resized nor moved
//! (a move of the structure leaves their heap memory where it is). The kernel writes no more than
//! the lengths that stand there, which are restored before each call. Received descriptors are
//! owned from the moment that they are read.
#![expect(unsafe_code, reason = "raw sendmmsg, recvmmsg, sendmsg, recvmsg; control messages")]

use crate::arch::{syscall3, syscall5};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

/// The most descriptors in one message (`SCM_MAX_FD` of the kernel).
pub const MAX_DESCRIPTORS: usize = 253;
/// The most segments of one send (`UDP_MAX_SEGMENTS` of the kernel before 6.6; 128 since).
pub const MAX_SEGMENTS: usize = 64;
/// The most bytes of a datagram over IPv4, and so of all segments of one send.
pub const MAX_BYTES: usize = 65_507;

/// Datagrams in one buffer, which are sent or received by one call.
#[derive(Debug)]
pub struct Datagrams {
    bytes: Vec<u8>,
    size: usize,
    /// Each points at its part of `bytes`.
    _parts: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

impl Datagrams {
    /// So many datagrams, or space for them, of so many bytes each.
    pub fn new(count: usize, size: usize) -> Datagrams {
        let mut bytes = vec![0; count * size];
        let mut parts: Vec<libc::iovec> = bytes
            .chunks_exact_mut(size)
            .map(|part| libc::iovec { iov_base: part.as_mut_ptr().cast(), iov_len: size })
            .collect();
        let headers = parts
            .iter_mut()
            .map(|part| {
                // SAFETY: all zero is a header without address, control message and flags.
                let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
                header.msg_hdr.msg_iov = part;
                header.msg_hdr.msg_iovlen = 1;
                header
            })
            .collect();
        Datagrams { bytes, size, _parts: parts, headers }
    }

    /// The datagrams.
    #[inline]
    pub fn each(&mut self) -> std::slice::ChunksExactMut<'_, u8> {
        self.bytes.chunks_exact_mut(self.size)
    }

    /// All datagrams as one piece, for a send in segments.
    #[inline]
    pub fn whole(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// `sendmmsg` of all of them over a connected socket: how many were sent, or a negative error
    /// number.
    #[inline]
    pub fn send(&mut self, socket: BorrowedFd<'_>) -> isize {
        let (fd, at) = (socket.as_raw_fd() as usize, self.headers.as_mut_ptr() as usize);
        // SAFETY: as many headers as are told, each with one part that is initialised.
        unsafe { syscall5(libc::SYS_sendmmsg as usize, fd, at, self.headers.len(), 0, 0) }
    }

    /// `recvmmsg` of the first `count`, all of which have to be there: how many were received, or a
    /// negative error number.
    #[inline]
    pub fn receive(&mut self, socket: BorrowedFd<'_>, count: usize) -> isize {
        let (fd, at) = (socket.as_raw_fd() as usize, self.headers.as_mut_ptr() as usize);
        let (count, flags) = (count.min(self.headers.len()), libc::MSG_DONTWAIT as usize);
        // SAFETY: no more headers than there are, each with a part that is as long as it says; the
        // kernel changes no lengths of parts, and there is no time-out.
        unsafe { syscall5(libc::SYS_recvmmsg as usize, fd, at, count, flags, 0) }
    }

    /// The bytes of the datagram at `place` when it was received last.
    pub fn received(&self, place: usize) -> usize {
        self.headers[place].msg_len as usize
    }
}

/// Sends of more than so many bytes over this UDP socket are cut into datagrams of that size by the
/// kernel (`UDP_SEGMENT`).
///
/// # Errors
/// Those of `setsockopt`: `ENOPROTOOPT` before Linux 4.18.
pub fn send_in_segments(socket: BorrowedFd<'_>, size: usize) -> io::Result<()> {
    set_udp(socket, libc::UDP_SEGMENT, size as i32)
}

/// One read of this UDP socket brings several datagrams of one sender and size (`UDP_GRO`).
///
/// # Errors
/// Those of `setsockopt`: `ENOPROTOOPT` before Linux 5.0.
pub fn receive_joined(socket: BorrowedFd<'_>) -> io::Result<()> {
    set_udp(socket, libc::UDP_GRO, 1)
}

fn set_udp(socket: BorrowedFd<'_>, option: i32, value: i32) -> io::Result<()> {
    let at = ptr::from_ref(&value).cast();
    // SAFETY: the value lives across the call and is as long as it says.
    let result =
        unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_UDP, option, at, size_of::<i32>() as libc::socklen_t) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A message of one byte that carries descriptors, or none.
#[derive(Debug)]
pub struct Carrier {
    byte: Box<u8>,
    _part: Box<libc::iovec>,
    /// The control message, in words so that it is aligned.
    _control: Vec<usize>,
    header: libc::msghdr,
    length: usize,
}

impl Carrier {
    /// A message that carries these descriptors, or that has space for as many.
    pub fn new(descriptors: &[BorrowedFd<'_>]) -> Carrier {
        let count = descriptors.len();
        let payload = (count * size_of::<RawFd>()) as u32;
        let (space, length) = match count {
            0 => (0, 0),
            // SAFETY: both only compute.
            _ => unsafe { (libc::CMSG_SPACE(payload) as usize, libc::CMSG_LEN(payload) as usize) },
        };
        let mut control = vec![0usize; space.div_ceil(size_of::<usize>())];
        let mut byte = Box::new(1u8);
        let mut part = Box::new(libc::iovec { iov_base: ptr::from_mut(&mut *byte).cast(), iov_len: 1 });
        // SAFETY: all zero is a header without address, control message and flags.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_iov = &mut *part;
        header.msg_iovlen = 1;
        if count > 0 {
            header.msg_control = control.as_mut_ptr().cast();
            header.msg_controllen = space as _;
            // SAFETY: the space holds a head and `count` numbers, and is aligned for the head.
            unsafe {
                let head = libc::CMSG_FIRSTHDR(&header);
                (*head).cmsg_level = libc::SOL_SOCKET;
                (*head).cmsg_type = libc::SCM_RIGHTS;
                (*head).cmsg_len = length as _;
                let numbers = libc::CMSG_DATA(head).cast::<RawFd>();
                for (i, descriptor) in descriptors.iter().enumerate() {
                    numbers.add(i).write_unaligned(descriptor.as_raw_fd());
                }
            }
        }
        Carrier { byte, _part: part, _control: control, header, length: space }
    }

    /// `sendmsg`: 1, or a negative error number.
    #[inline]
    pub fn send(&self, socket: BorrowedFd<'_>) -> isize {
        let at = ptr::from_ref(&self.header) as usize;
        // SAFETY: the header and what it points at are initialised, and are only read.
        unsafe { syscall3(libc::SYS_sendmsg as usize, socket.as_raw_fd() as usize, at, libc::MSG_NOSIGNAL as usize) }
    }

    /// `recvmsg`: 1, or a negative error number. [`Carrier::take`] has the descriptors, which stay
    /// open until then, and for ever if it is not called.
    #[inline]
    pub fn receive(&mut self, socket: BorrowedFd<'_>) -> isize {
        self.header.msg_controllen = self.length as _;
        let at = ptr::from_mut(&mut self.header) as usize;
        // SAFETY: the header points at a byte and at a control message as long as it says.
        unsafe {
            syscall3(libc::SYS_recvmsg as usize, socket.as_raw_fd() as usize, at, libc::MSG_CMSG_CLOEXEC as usize)
        }
    }

    /// Hands over each descriptor that the last call of [`Carrier::receive`] brought; returns how
    /// many. It must be called once for each such call.
    #[inline]
    pub fn take(&mut self, mut with: impl FnMut(OwnedFd)) -> usize {
        // SAFETY: the kernel has written a control message and its length. Its numbers are new
        // descriptors of this process that nothing else owns; the length is cleared, so that no
        // descriptor is handed over twice.
        unsafe {
            let head = libc::CMSG_FIRSTHDR(&self.header);
            if head.is_null() || (*head).cmsg_type != libc::SCM_RIGHTS {
                return 0;
            }
            let payload = (*head).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
            let (numbers, count) = (libc::CMSG_DATA(head).cast::<RawFd>(), payload / size_of::<RawFd>());
            for i in 0..count {
                with(OwnedFd::from_raw_fd(numbers.add(i).read_unaligned()));
            }
            self.header.msg_controllen = 0;
            count
        }
    }

    /// The byte that came with the descriptors.
    pub fn byte(&self) -> u8 {
        *self.byte
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unix::{Kind, pair};
    use rustix::fs::fstat;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    fn udp() -> (UdpSocket, UdpSocket) {
        let [near, far] = [0, 1].map(|_| UdpSocket::bind("127.0.0.1:0").expect("loopback"));
        near.connect(far.local_addr().expect("bound")).expect("connect");
        far.connect(near.local_addr().expect("bound")).expect("connect");
        (near, far)
    }

    #[test]
    fn a_batch_arrives_in_order_and_no_more_than_is_there() {
        let (near, far) = udp();
        let (mut sent, mut got) = (Datagrams::new(5, 100), Datagrams::new(8, 200));
        (1..).zip(sent.each()).for_each(|(i, datagram)| datagram.fill(i));
        assert_eq!(sent.send(near.as_fd()), 5);
        assert_eq!(got.receive(far.as_fd(), 3), 3);
        assert_eq!((got.received(0), got.received(2)), (100, 100));
        assert_eq!(got.each().take(3).map(|d| d[99]).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(got.receive(far.as_fd(), 100), 2);
        assert_eq!(got.receive(far.as_fd(), 8), -(libc::EAGAIN as isize));
    }

    #[test]
    fn segments_are_cut_by_the_kernel_and_may_be_read_as_one() {
        let (near, far) = udp();
        send_in_segments(near.as_fd(), 100).expect("since Linux 4.18");
        let mut sent = Datagrams::new(4, 100);
        (1..).zip(sent.each()).for_each(|(i, datagram)| datagram.fill(i));
        near.send(sent.whole()).expect("send");
        let mut got = [0; 1000];
        let mut sizes = || far.recv(&mut got).map(|n| (n, got[0], got[n - 1])).expect("one is there");
        assert_eq!([sizes(), sizes(), sizes(), sizes()], [(100, 1, 1), (100, 2, 2), (100, 3, 3), (100, 4, 4)]);
        receive_joined(far.as_fd()).expect("since Linux 5.0");
        near.send(sent.whole()).expect("send");
        assert_eq!(far.recv(&mut got).map(|n| (n, got[0], got[n - 1])).expect("one is there"), (400, 1, 4));
    }

    #[test]
    fn descriptors_arrive_as_others_of_the_same_file() {
        let (near, far) = pair(Kind::Stream).expect("a pair");
        let file = crate::splice::memory_file().expect("a file");
        for count in [0, 1, MAX_DESCRIPTORS] {
            let all = vec![file.as_fd(); count];
            let (sending, mut receiving) = (Carrier::new(&all), Carrier::new(&all));
            for _ in 0..2 {
                assert_eq!((sending.send(near.as_fd()), receiving.receive(far.as_fd())), (1, 1));
                let mut got = Vec::new();
                assert_eq!(receiving.take(|descriptor| got.push(descriptor)), count);
                assert_eq!((receiving.byte(), receiving.take(|_| panic!("taken twice"))), (1, 0));
                let inode = |fd: BorrowedFd<'_>| fstat(fd).expect("fstat").st_ino;
                assert!(got.iter().all(|one| inode(one.as_fd()) == inode(file.as_fd())));
                assert!(got.iter().all(|one| one.as_raw_fd() != file.as_raw_fd()));
            }
        }
        let too_many = vec![file.as_fd(); MAX_DESCRIPTORS + 1];
        assert_eq!(Carrier::new(&too_many).send(near.as_fd()), -(libc::EINVAL as isize));
    }
}
