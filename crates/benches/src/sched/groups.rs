//! Messages within groups of tasks: how the scheduler does when many tasks wake each other.
//!
//! **Measures:** The time of a message of 100 bytes where, in each of `groups` groups, twenty
//! senders write to each of twenty receivers: all CPUs are busy, most tasks sleep, and each message
//! may wake one. It is the wall time of all messages divided by their number, so with more CPUs it
//! is less.
//!
//! **Does not measure:** How long a message is under way (`ipc.unix_rtt`, `sched.wakeup`).
//!
//! **Method:** The tasks are processes, made once and not pinned. In a turn every sender writes one
//! message to each receiver of its group; the tasks are told how many turns there are, and the
//! interval ends when the last receiver has read its last message.
//!
//! **Calls:**
//! - no trace of `groups`: more tasks make the same calls
//!
//! **Proofs:** The receivers count their messages and add up the numbers in them.
//!
//! **Pitfalls:**
//! - A receiver that is awake takes several messages for one wake-up. How many are under way is
//!   limited by the buffers of sockets and pipes, which differ between kernels.
//! - With few groups, the tasks that the machine runs beside count.
//!
//! **Sources:** hackbench and `perf bench sched messaging`, which time one burst with its `fork`s
//! included in early versions. See docs/methods/operating-system.md#groups-of-tasks.

use crate::{proofs, work};
use groma_harness::prelude::*;
use groma_harness::rendezvous::{Control, LEAVE, Partners};
use groma_harness::sys::io::{pipe, read_full, write_full};
use groma_harness::sys::shared::{Shared, Word};
use groma_harness::sys::unix::{Kind, pair};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "A message within groups of tasks that wake each other",
        about: about!("groups.rs"),
        iteration: "one message from each of 20 senders to each of 20 receivers, in each group; the value is of one message",
        timing: Timing::Stream,
        params: &[
            Param::count("groups", "groups of 20 senders and 20 receivers")
                .takes(Memory::PerMember(IN_GROUP as u64 * Memory::TASK))
                .quick(&["1"])
                .full(&["4", "10"]),
            Param::word("by", "what a message goes through", &["socket", "pipe"])
                .quick(&["socket"])
                .standard(&["pipe"]),
        ],
        scaling: Scaling::alone("it keeps all CPUs busy by itself"),
        placements: &[Placement::Free],
        interference: Interference::Blocking,
        target_half_width: 0.05,
        tier: Tier::Standard,
        ..Info::new("sched.groups")
    },
    run: Run::Here(run),
};

/// Senders of a group, and receivers.
const SENDERS: usize = 20;
/// Tasks of a group.
const IN_GROUP: usize = 2 * SENDERS;
/// Messages of a turn in a group.
const MESSAGES: u64 = (SENDERS * SENDERS) as u64;
/// Bytes of a message; the first eight are the number of its turn.
const SIZE: usize = 100;
/// The most groups: 40,000 tasks are more than most systems allow.
const MAX_GROUPS: u64 = 1000;

/// What all tasks see.
struct Board {
    /// How many turns there are in this interval.
    turns: Shared<AtomicU64>,
    /// How many receivers have read their last message of it.
    done: Shared<Word>,
    /// Messages received, and the sum of their numbers.
    received: Shared<AtomicU64>,
}

impl Board {
    fn new() -> Result<Board, BenchError> {
        let shared = "sharing memory with the tasks";
        Ok(Board {
            turns: Shared::new(1).context(shared)?,
            done: Shared::new(1).context(shared)?,
            received: Shared::new(2).context(shared)?,
        })
    }

    /// What a task does: `turn` for the number of each turn of each interval, and then `end`.
    fn work(
        &self,
        control: &Control,
        mut turn: impl FnMut(u64) -> io::Result<()>,
        mut end: impl FnMut(),
    ) -> io::Result<()> {
        let mut interval = 0;
        control.arrive();
        loop {
            interval = control.command().wait_while(interval);
            if interval == LEAVE {
                return Ok(());
            }
            for number in 1..=self.turns[0].load(SeqCst) {
                turn(number)?;
            }
            end();
        }
    }

    fn send(&self, control: &Control, to: &[OwnedFd]) -> io::Result<()> {
        let send = |number: u64| {
            let mut message = [0; SIZE];
            message[..8].copy_from_slice(&number.to_le_bytes());
            to.iter().try_for_each(|receiver| write_full(receiver.as_fd(), &message))
        };
        self.work(control, send, || ())
    }

    fn receive(&self, control: &Control, from: &OwnedFd) -> io::Result<()> {
        let seen = std::cell::Cell::new((0, 0u64));
        // One message of each sender; of which turn is not known, but all together are.
        let receive = |_| {
            for _ in 0..SENDERS {
                let mut message = [0; SIZE];
                read_full(from.as_fd(), &mut message)?;
                let number = message.first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
                let (messages, sum) = seen.get();
                seen.set((messages + 1, sum + number));
            }
            Ok(())
        };
        self.work(control, receive, || {
            let (messages, sum) = seen.take();
            self.received[0].fetch_add(messages, SeqCst);
            self.received[1].fetch_add(sum, SeqCst);
            self.done[0].count();
        })
    }
}

/// The two ends: of a socket, or of a pipe.
fn ends(by: &str) -> io::Result<(OwnedFd, OwnedFd)> {
    if by == "pipe" { pipe() } else { pair(Kind::Stream) }
}

fn run(ctx: &mut Ctx) -> Outcome {
    let groups = ctx.int("groups");
    if !(1..=MAX_GROUPS).contains(&groups) {
        return Err(BenchError::Unsupported(format!("1 to {MAX_GROUPS} groups")));
    }
    let board = Board::new()?;
    let mut tasks = Partners::new()?;
    for group in 0..groups {
        let (mut from, mut to) = (Vec::new(), Vec::new());
        for _ in 0..SENDERS {
            let (near, far) = ends(ctx.word("by")).context("making sockets or pipes")?;
            from.push(near);
            to.push(far);
        }
        for from in &from {
            tasks.fork_unplaced(format!("a receiver of group {group}"), |control| board.receive(control, from))?;
        }
        for sender in 0..SENDERS {
            tasks.fork_unplaced(format!("sender {sender} of group {group}"), |control| board.send(control, &to))?;
        }
    }
    tasks.all_ready()?;
    let (mut interval, mut sums) = (0u32, 0u64);
    let receivers = groups as u32 * SENDERS as u32;
    let each = groups * MESSAGES;
    ctx.measure_per(each as f64, |turns| {
        board.turns[0].store(turns, SeqCst);
        board.done[0].set(0);
        interval += 1;
        tasks.send_command(interval);
        tasks.wait_for(&board.done[0], |done| done == receivers)?;
        sums += each * (turns * (turns + 1) / 2);
        Ok(())
    })?;
    let [messages, sum] = [0, 1].map(|i| board.received[i].load(SeqCst));
    let exits = tasks.end()?;
    work::once_each(ctx, "messages received per message credited", messages, ctx.iterations() * each);
    ctx.prove("sum of the numbers received, of that sent", "1", sum as f64 / sums.max(1) as f64, 1.0..=1.0);
    proofs::all_left_well(ctx, "tasks", &exits);
    Ok(())
}
