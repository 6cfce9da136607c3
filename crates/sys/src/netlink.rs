//! Pairs of virtual network interfaces, made and removed by messages to the kernel (rtnetlink).

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::io;
use std::os::fd::OwnedFd;

/// Types and flags of messages (`linux/rtnetlink.h`, `linux/netlink.h`).
const NEW_LINK: u16 = 16;
const REMOVE_LINK: u16 = 17;
const REQUEST: u16 = 1;
const ACKNOWLEDGE: u16 = 4;
const EXCLUSIVE: u16 = 0x200;
const CREATE: u16 = 0x400;
/// Attributes of a link, of its kind, and of a pair.
const NAME: u16 = 3;
const LINK_INFO: u16 = 18;
const INFO_KIND: u16 = 1;
const INFO_DATA: u16 = 2;
const PEER: u16 = 1;
/// Bytes of the header of a message, and of `struct ifinfomsg`, which is all zero here.
const HEADER: usize = 16;
const LINK: [u8; 16] = [0; 16];

/// A message that is sent again and again.
type Request = Vec<u8>;

/// A pair of interfaces that can be made and removed, in the network namespace of the caller.
#[derive(Debug)]
pub struct Pair {
    socket: OwnedFd,
    make: Request,
    remove: Request,
}

impl Pair {
    /// Nothing is made yet.
    ///
    /// # Errors
    /// Those of `socket`.
    pub fn new(near: &str, far: &str) -> io::Result<Pair> {
        let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        let name = |text: &str| attribute(NAME, &[text.as_bytes(), &[0]].concat());
        let peer = attribute(PEER, &[&LINK[..], &name(far)].concat());
        let info = [attribute(INFO_KIND, b"veth"), attribute(INFO_DATA, &peer)].concat();
        let make = [&LINK[..], &name(near), &attribute(LINK_INFO, &info)].concat();
        let remove = [&LINK[..], &name(near)].concat();
        Ok(Pair {
            socket,
            make: message(NEW_LINK, CREATE | EXCLUSIVE, &make),
            remove: message(REMOVE_LINK, 0, &remove),
        })
    }

    /// Makes both.
    ///
    /// # Errors
    /// The kernel's answer: `EPERM` without the right, `EEXIST`, `EOPNOTSUPP` where it has none.
    #[inline]
    pub fn make(&self) -> io::Result<()> {
        self.ask(&self.make)
    }

    /// Removes both.
    ///
    /// # Errors
    /// The kernel's answer: `ENODEV`.
    #[inline]
    pub fn remove(&self) -> io::Result<()> {
        self.ask(&self.remove)
    }

    #[inline]
    fn ask(&self, request: &Request) -> io::Result<()> {
        rustix::net::send(&self.socket, request, SendFlags::empty())?;
        let mut answer = [0; 1024];
        let (_, length) = rustix::net::recv(&self.socket, &mut answer, RecvFlags::empty())?;
        // A header, then an error number, which is 0 or negative.
        let Some(error) = answer[..length].get(HEADER..HEADER + 4) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        match i32::from_ne_bytes([error[0], error[1], error[2], error[3]]) {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(-error)),
        }
    }
}

/// A message of this type.
fn message(kind: u16, flags: u16, body: &[u8]) -> Request {
    let length = (HEADER + body.len()) as u32;
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(kind.to_ne_bytes());
    message.extend((REQUEST | ACKNOWLEDGE | flags).to_ne_bytes());
    // A number of no use here, and the sender, which the kernel knows.
    message.extend([0; 8]);
    message.extend(body);
    message
}

/// An attribute, padded to four bytes.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut attribute = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
    attribute.extend(kind.to_ne_bytes());
    attribute.extend(value);
    attribute.resize(attribute.len().next_multiple_of(4), 0);
    attribute
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::in_child;

    /// In a child with a network of its own.
    #[test]
    fn both_ends_come_and_go() {
        let code = in_child(|| {
            if crate::namespaces::leave_network().is_err() {
                return 2;
            }
            let names = || std::fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
            let Ok(pair) = Pair::new("groma0", "groma1") else { return 1 };
            match pair.make() {
                Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => return 2,
                Err(_) => return 3,
                Ok(()) => {}
            }
            let there = names().contains("groma0:") && names().contains("groma1:");
            let twice = pair.make().is_err();
            let removed = pair.remove().is_ok() && !names().contains("groma");
            if there && twice && removed && pair.remove().is_err() { 0 } else { 4 }
        });
        match code {
            Some(2) => println!("no network namespaces here, or no pairs"),
            code => assert_eq!(code, Some(0)),
        }
    }
}
