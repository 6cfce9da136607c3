//! The one loop of all round trips: a message goes to another process, which sends back an answer that only it can
//! give.
//!
//! The two sides are the two [`End`]s of a channel. Each message carries a number in its first and its last byte; the
//! other side checks that both are there and answers with the next number. Channels that carry no bytes (a counter, a
//! semaphore, a lock) hand over a token instead. In the end the other side is told that it is the last message, and it
//! has to have answered exactly as many as there were iterations.
//!
//! On one CPU a round trip cannot happen without two context switches, and they are proven. Between two CPUs it can: an
//! answer that is there before this side has gone to sleep (1.73 switches a round trip over datagrams on a busy
//! machine).
//!
//! The other side ends by itself at an error, is killed when this side stops with one, and dies with the worker.

use crate::proofs;
use groma_harness::prelude::*;
use groma_harness::sys::affinity;
use groma_harness::sys::counters::{self, Usage};
use groma_harness::sys::shared::{self, Shared};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed, Ordering::SeqCst};
use std::time::Duration;

/// One end of a channel that goes both ways, with the message that is to be sent or was received.
pub(crate) trait End {
    /// The message; empty where a channel carries none.
    fn message(&mut self) -> &mut [u8];

    /// Sends the message.
    fn send(&mut self) -> io::Result<()>;

    /// Waits for a message as long as this one, which it replaces.
    fn receive(&mut self) -> io::Result<()>;
}

/// The words that the two sides share.
const READY: usize = 0;
const LAST: usize = 1;
const ANSWERED: usize = 2;

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

/// Whether the message carries the number in both places; one without bytes does.
#[inline]
fn carries(message: &[u8], number: u8) -> bool {
    message.first().is_none_or(|b| *b == number) && message.last().is_none_or(|b| *b == number)
}

/// Makes a message an answer to itself.
#[inline]
fn answer(message: &mut [u8]) -> io::Result<()> {
    let number = message.first().map_or(0, |b| *b);
    if !carries(message, number) {
        return Err(io::Error::other("the message did not arrive as a whole"));
    }
    stamp(message, number.wrapping_add(1));
    Ok(())
}

/// The life of the other side: answers until it is told that a message is the last; how many it has answered.
fn answer_all(end: &mut impl End, board: &Shared<AtomicU32>) -> io::Result<u32> {
    let mut answered = 0u32;
    loop {
        end.receive()?;
        if board[LAST].load(Relaxed) != 0 {
            return Ok(answered);
        }
        answer(end.message())?;
        end.send()?;
        answered = answered.wrapping_add(1);
    }
}

/// Whether both sides are on this CPU, by the placement or because there is no other.
pub(crate) fn on_one_cpu(ctx: &Ctx) -> bool {
    match ctx.peer_cpu() {
        Some(cpu) => cpu == counters::current_cpu(),
        None => affinity::allowed().is_ok_and(|cpus| cpus.len() == 1),
    }
}

/// Measures round trips between `here` and the end that `there` makes in another process.
///
/// `there` runs in that process, and the measurement waits until it has: what belongs to a process (a lock) is taken
/// there. What it owns is closed on this side, so that a channel with an end notices when the other side is gone.
pub(crate) fn measure<E: End>(ctx: &mut Ctx, here: &mut impl End, there: impl FnOnce() -> io::Result<E>) -> Outcome {
    let one_cpu = on_one_cpu(ctx);
    let board = Shared::<AtomicU32>::new(3).doing("sharing memory with the other side")?;
    let mut peer = ctx.fork_peer(&[], || {
        let life = || {
            let mut end = there()?;
            board[READY].store(1, SeqCst);
            shared::wake(&board[READY]);
            answer_all(&mut end, &board)
        };
        match life() {
            Ok(answered) => {
                board[ANSWERED].store(answered, SeqCst);
                0
            }
            Err(e) => {
                eprintln!("the other side: {e}");
                1
            }
        }
    })?;
    while board[READY].load(SeqCst) == 0 {
        shared::wait(&board[READY], 0, Some(Duration::from_millis(20)));
        if let Some(exit) = peer.poll().doing("looking after the other side")? {
            return Err(Stop::Failed(format!("the other side {exit} before the first message")));
        }
    }

    let here_before = Usage::thread();
    let mut number = 0u8;
    ctx.measure(|iters| {
        for _ in 0..iters {
            stamp(here.message(), number);
            here.send().doing("sending")?;
            here.receive().doing("receiving")?;
            number = number.wrapping_add(1);
            if !carries(here.message(), number) {
                return Err(Stop::Failed("the answer is not that to the last message".to_owned()));
            }
        }
        Ok(())
    })?;
    board[LAST].store(1, SeqCst);
    here.send().doing("sending the last message")?;
    let peer = peer.wait().doing("waiting for the other side")?;
    proofs::peer_ended_well(ctx, &peer);
    // Modulo 2^32, as the board counts.
    let missing = (ctx.iterations() as u32).wrapping_sub(board[ANSWERED].load(SeqCst)) as i32;
    ctx.prove("round trips that the other side did not answer", "0", f64::from(missing), 0.0..=0.0);
    if one_cpu {
        proofs::switches(ctx, &here_before, &peer);
    }
    Ok(())
}

/// What the tests of all round trips have in common.
#[cfg(test)]
pub(crate) mod testing {
    use groma_harness::prelude::*;
    use groma_harness::sys::{affinity, counters};
    use groma_harness::testing::try_out;
    use std::path::Path;

    /// Tries it on one CPU, where every round trip takes two context switches. `Unsupported` is said, and passes.
    pub(crate) fn every_round_trip_switches(bench: &Benchmark, chosen: &[(&str, &str)], dir: Option<&Path>) {
        let allowed = affinity::allowed().expect("the CPUs that are allowed");
        affinity::pin(counters::current_cpu()).expect("pinning to the own CPU");
        let tried = try_out(bench, chosen, dir);
        affinity::restrict(&allowed).expect("all CPUs again");
        let tried = match tried {
            Err(Stop::Unsupported(why)) => return eprintln!("skipped: {why}"),
            tried => tried.expect("a round trip"),
        };
        assert!(tried.samples("") >= 3);
        assert!(tried.proven("context switches per round trip, both sides") >= 1.8);
        answered(&tried);
    }

    /// The other side has answered all of them and left well.
    pub(crate) fn answered(tried: &groma_harness::testing::Tried) {
        assert_eq!(tried.proven("exit code of the other side"), 0.0);
        assert_eq!(tried.proven("round trips that the other side did not answer"), 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn half_a_message_is_noticed() {
        let mut message = [7, 7, 6];
        assert!(!carries(&message, 7));
        assert!(answer(&mut message).is_err());
    }
}
