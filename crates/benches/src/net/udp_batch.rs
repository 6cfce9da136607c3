//! Many datagrams over the loopback by few system calls.
//!
//! **Measures:** The time to send and receive a datagram, in batches: each by calls of its own
//! (`way=call`), all by one `sendmmsg` and one `recvmmsg` (`mmsg`), sent as one piece that the
//! kernel cuts (`segments`: UDP_SEGMENT, called GSO), or also read as one piece (`joined`:
//! UDP_GRO).
//!
//! **Does not measure:** Two sides that wake each other (`net.udp_rtt`), a stream that overruns its
//! receiver (`net.udp_bandwidth`), or a network card, which may cut and join by itself.
//!
//! **Method:** One thread has both sockets. It numbers the datagrams of a batch, sends them, and
//! receives them; the loopback has delivered each before the send returns. So nothing waits, and
//! the value is CPU time alone: two crossings of the network stack, and the calls.
//!
//! **Calls:**
//! - no trace of `batch`: by `way=call`, more datagrams are more of the same calls
//!
//! **Proofs:** Every datagram arrives whole, once, in order, and with its number.
//!
//! **Pitfalls:**
//! - The receive buffer counts a datagram with its overhead, some 700 B for 100 B: batches beyond
//!   64 would overflow its usual size.
//! - What `mmsg` saves is only the entry into the kernel; `segments` saves a pass through the stack
//!   for each datagram.
//!
//! **Sources:** de Bruijn and Dumazet, "Optimizing UDP for content delivery" (2018); libMicro has
//! only `send`. See docs/methods/operating-system.md#datagrams-in-batches.

use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::sys::io::{read, write};
use groma_harness::sys::messages::{Datagrams, MAX_BYTES, MAX_SEGMENTS, receive_joined, send_in_segments};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Sending and receiving datagrams in batches, by one call or in one piece",
        about: about!("udp_batch.rs"),
        iteration: "a batch that is sent and received; the value is of one datagram",
        params: &[
            Param::word("way", "calls for each, one for all, or one piece", &["call", "mmsg", "segments", "joined"])
                .quick(&["call", "mmsg", "segments", "joined"]),
            Param::count("batch", "datagrams in a batch").quick(&["32"]).full(&["1", "8"]),
            Param::size("size", "bytes in a datagram").quick(&["100"]).full(&["1400"]),
        ],
        needs: &[Need::Loopback],
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("net.udp_batch")
    },
    run: Run::Here(run),
};

/// The shortest datagram: one that holds its number.
const SHORTEST_DATAGRAM: usize = size_of::<u64>();

/// Two sockets connected with each other.
fn sockets() -> io::Result<(UdpSocket, UdpSocket)> {
    let (near, far) = (UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?, UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?);
    near.connect(far.local_addr()?)?;
    far.connect(near.local_addr()?)?;
    far.set_nonblocking(true)?;
    Ok((near, far))
}

/// A batch on its way.
struct Batch {
    near: UdpSocket,
    far: UdpSocket,
    sent: Datagrams,
    got: Datagrams,
    count: usize,
    size: usize,
}

impl Batch {
    fn send(&mut self, way: &str) -> io::Result<usize> {
        let near = self.near.as_fd();
        match way {
            "call" => {
                for datagram in self.sent.each() {
                    write(near, datagram)?;
                }
                Ok(self.count)
            }
            "mmsg" => count_or_error(self.sent.send(near)),
            _ => Ok(write(near, self.sent.whole())? / self.size),
        }
    }

    fn receive(&mut self, way: &str) -> io::Result<usize> {
        let far = self.far.as_fd();
        match way {
            "call" => {
                let mut whole = 0;
                for space in self.got.each() {
                    whole += usize::from(read(far, space)? == self.size);
                }
                Ok(whole)
            }
            "joined" => Ok(read(far, self.got.whole())? / self.size),
            _ => {
                let n = count_or_error(self.got.receive(far, self.count))?;
                Ok((0..n).filter(|place| self.got.received(*place) == self.size).count())
            }
        }
    }
}

fn count_or_error(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result as i32))
}

fn run(ctx: &mut Ctx) -> Outcome {
    let (way, count, size) = (ctx.word("way"), ctx.int("batch") as usize, ctx.int("size") as usize);
    if size < SHORTEST_DATAGRAM || count > MAX_SEGMENTS || count * size > MAX_BYTES {
        return Err(BenchError::Unsupported(format!(
            "a batch has up to {MAX_SEGMENTS} datagrams of {SHORTEST_DATAGRAM} B and more, {MAX_BYTES} B in all"
        )));
    }
    let (near, far) = sockets().context("connecting on the loopback")?;
    if matches!(way, "segments" | "joined") {
        send_in_segments(near.as_fd(), size).context("setting UDP_SEGMENT")?;
    }
    if way == "joined" {
        receive_joined(far.as_fd()).context("setting UDP_GRO")?;
    }
    let mut batch =
        Batch { near, far, sent: Datagrams::new(count, size), got: Datagrams::new(count, size), count, size };
    if way == "joined" {
        batch.send(way).context("sending datagrams")?;
        if batch.receive(way).context("receiving datagrams")? < count {
            return Err(BenchError::Unsupported("this kernel cuts the piece on its loopback device".to_owned()));
        }
    }
    let (arrived, mut number, mut wrong) = (Done::new(), 0u64, 0u64);
    ctx.measure_per(count as f64, |iters| {
        for _ in 0..iters {
            for datagram in batch.sent.each() {
                datagram[..SHORTEST_DATAGRAM].copy_from_slice(&number.to_le_bytes());
                number += 1;
            }
            batch.send(way).context("sending datagrams")?;
            let whole = batch.receive(way).context("receiving datagrams")?;
            arrived.add(whole as u64);
            for (datagram, wanted) in batch.got.each().zip(number - count as u64..) {
                wrong += u64::from(datagram[..SHORTEST_DATAGRAM] != wanted.to_le_bytes());
            }
        }
        Ok(())
    })?;
    let credited = ctx.iterations() * count as u64;
    work::once_each(ctx, "whole datagrams received per datagram credited", arrived.count(), credited);
    ctx.prove("datagrams that hold another number", "0", wrong as f64, 0.0..=0.0);
    let more = read(batch.far.as_fd(), &mut [0; SHORTEST_DATAGRAM]).is_ok();
    ctx.prove("datagrams that are still to be read", "0", f64::from(u8::from(more)), 0.0..=0.0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::testing::try_out;

    #[test]
    fn a_batch_is_no_larger_than_the_buffer_and_than_a_datagram() {
        for (batch, size) in [("65", "100"), ("64", "1400"), ("1", "7"), ("1", "65508")] {
            let params = [("way", "segments"), ("batch", batch), ("size", size)];
            assert!(matches!(try_out(&BENCH, &params, None), Err(BenchError::Unsupported(_))), "{batch} {size}");
        }
    }

    #[test]
    fn the_largest_batch_fits_in_the_buffer() {
        for way in ["call", "mmsg", "segments", "joined"] {
            let tried = try_out(&BENCH, &[("way", way), ("batch", "64"), ("size", "1000")], None).expect("loopback");
            assert_eq!(tried.proven("whole datagrams received per datagram credited"), 1.0, "{way}");
        }
    }
}
