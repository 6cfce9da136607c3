//! The loop shared by all round trips: a message to a peer process, and its answer.
//!
//! The two sides are the two [`End`]s of a channel. Each message carries a number in its first and
//! last byte; the peer checks both and answers with the next number, so an answer proves that the
//! peer received the message. Channels without bytes (a counter, a semaphore, a lock) hand over a
//! token instead. The last message is marked by its number, and the peer must have answered exactly
//! as many as there were iterations.
//!
//! On one CPU a round trip needs two context switches, and they are proven. Between two CPUs an
//! answer can arrive before this side has gone to sleep (1.73 switches per round trip over
//! datagrams on a busy machine), so nothing is proven there. See
//! docs/methods/operating-system.md#round-trips.
//!
//! The peer ends by itself at an error, is killed when this side fails, and dies with the worker.
//! When it is gone, this side stops: the end of a channel reports it where the channel has one, and
//! waiting on any other channel is interrupted ([`Partners::watch`]).

use crate::proofs;
use groma_harness::prelude::*;
use groma_harness::rendezvous::{Control, Partners};
use groma_harness::sys::counters::Usage;
use groma_harness::sys::shared::Shared;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed, Ordering::SeqCst};

/// One end of a two-way channel, with the buffer of the message to send or received.
pub(crate) trait End {
    /// The message; empty where a channel carries none.
    fn message(&mut self) -> &mut [u8];

    /// Sends the message.
    fn send(&mut self) -> io::Result<()>;

    /// Waits for a message of the same length, which replaces this one.
    fn receive(&mut self) -> io::Result<()>;

    /// Whether a side may send before it has the answer to its last message. Then several messages
    /// can pass in one turn, and how many switches there were is a fact and no proof.
    fn runs_ahead(&self) -> bool {
        false
    }
}

/// Puts a number into the first and the last byte of a message.
#[inline]
fn stamp(message: &mut [u8], number: u8) {
    if let Some(first) = message.first_mut() {
        *first = number;
    }
    if let Some(last) = message.last_mut() {
        *last = number;
    }
}

/// Whether the message carries the number in both places; true for a message without bytes.
#[inline]
fn carries(message: &[u8], number: u8) -> bool {
    message.first().is_none_or(|b| *b == number) && message.last().is_none_or(|b| *b == number)
}

/// Turns a message into its answer.
#[inline]
fn answer(message: &mut [u8]) -> io::Result<()> {
    let number = message.first().map_or(0, |b| *b);
    if !carries(message, number) {
        return Err(io::Error::other("the message did not arrive as a whole"));
    }
    stamp(message, number.wrapping_add(1));
    #[cfg(test)]
    testing::spoil(message);
    Ok(())
}

/// The peer: answers until a message is the last, and returns how many it has answered. The
/// command is the number of messages, since a channel may run ahead: by the time that this side
/// looks, the other one may have marked a message that is still to come.
fn answer_all(end: &mut impl End, control: &Control) -> io::Result<u32> {
    let mut answered = 0u32;
    loop {
        end.receive()?;
        let last = control.command().load(Relaxed);
        if last != 0 && last == answered.wrapping_add(1) {
            return Ok(answered);
        }
        answer(end.message())?;
        end.send()?;
        answered = answered.wrapping_add(1);
    }
}

/// Measures round trips between `here` and the end that `there` makes in another process.
///
/// `there` runs in the peer's process and acquires what belongs to that process (a lock); the
/// measurement waits until it has. What `there` owns is closed on this side, so the end of the
/// channel shows that the peer is gone.
pub(crate) fn measure<E: End>(ctx: &mut Ctx, here: &mut impl End, there: impl FnOnce() -> io::Result<E>) -> Outcome {
    let answered = Shared::<AtomicU32>::new(1).context("sharing memory with the peer")?;
    let mut peer = Partners::new()?;
    peer.fork(ctx, "the peer", |control| -> io::Result<()> {
        let mut end = there()?;
        control.arrive();
        answered[0].store(answer_all(&mut end, control)?, SeqCst);
        Ok(())
    })?;
    peer.all_ready()?;

    let peer_watch = peer.watch()?;
    let here_before = Usage::thread();
    let mut number = 0u8;
    let mut sent = 0u32;
    let measured = ctx.measure(|iters| {
        for _ in 0..iters {
            stamp(here.message(), number);
            here.send().context("sending")?;
            here.receive().context("receiving")?;
            number = number.wrapping_add(1);
            sent = sent.wrapping_add(1);
            if !carries(here.message(), number) {
                return Err(BenchError::Failed("the answer does not match the last message".to_owned()));
            }
        }
        Ok(())
    });
    drop(peer_watch);
    measured.map_err(|stop| peer.explain(stop))?;
    peer.send_command(sent.wrapping_add(1));
    here.send().context("sending the last message")?;
    let peer = peer.wait()?[0];
    proofs::peer_ended_well(ctx, &peer);
    // Modulo 2^32, like the counter in shared memory.
    let missing = (ctx.iterations() as u32).wrapping_sub(answered[0].load(SeqCst)) as i32;
    ctx.prove("round trips that the peer did not answer", "0", f64::from(missing), 0.0..=0.0);
    if here.runs_ahead() {
        proofs::state_switches(ctx, &here_before, &peer);
    } else {
        proofs::switches_on_one_cpu(ctx, &here_before, &peer);
    }
    Ok(())
}

/// Shared by the tests of the benchmarks: peers that answer wrongly.
#[cfg(test)]
pub(super) mod testing {
    use std::cell::Cell;

    thread_local! {
        /// The bits that are wrong in the first byte of each answer, and in the last one. A peer
        /// is forked, and finds here what the test has set.
        pub(in crate::ipc) static WRONG: Cell<[u8; 2]> = const { Cell::new([0; 2]) };
    }

    pub(super) fn spoil(message: &mut [u8]) {
        let [first, last] = WRONG.get();
        if let [head, .., tail] = message {
            *head ^= first;
            *tail ^= last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::sys::fork::PeerWatch;
    use groma_harness::sys::shared;

    #[test]
    fn an_answer_differs_from_its_message_in_both_places() {
        for len in [0, 1, 2, 64] {
            let mut message = vec![9; len];
            stamp(&mut message, 255);
            assert!(carries(&message, 255));
            answer(&mut message).expect("a whole message");
            assert!(carries(&message, 0));
            assert_eq!(carries(&message, 255), len == 0);
        }
    }

    /// Waits for a word that nobody changes, like the end of a channel that does not report a dead
    /// peer.
    struct Silent(Shared<AtomicU32>);

    impl End for Silent {
        fn message(&mut self) -> &mut [u8] {
            &mut []
        }

        fn send(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn receive(&mut self) -> io::Result<()> {
            while !PeerWatch::saw_an_end() {
                shared::wait(&self.0[0], 0, None);
            }
            Err(io::ErrorKind::Interrupted.into())
        }
    }

    /// An end whose receive fails.
    struct Broken;

    impl End for Broken {
        fn message(&mut self) -> &mut [u8] {
            &mut []
        }

        fn send(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn receive(&mut self) -> io::Result<()> {
            Err(io::Error::other("as the test wants it"))
        }
    }

    static ENDLESS: Benchmark = Benchmark {
        info: Info { timing: Timing::Each, ..Info::new("ipc.endless") },
        run: Run::Here(|ctx| measure(ctx, &mut Silent(Shared::new(1).context("sharing a word")?), || Ok(Broken))),
    };

    #[test]
    fn a_dead_peer_is_noticed_where_the_channel_has_no_end() {
        let says = |why: &str| why.starts_with("the peer exited with code 1");
        proofs::testing::assert_fails_within_a_minute(&ENDLESS, says);
    }

    #[test]
    fn half_a_message_is_noticed() {
        let mut message = [7, 7, 6];
        assert!(!carries(&message, 7));
        assert!(answer(&mut message).is_err());
    }
}
