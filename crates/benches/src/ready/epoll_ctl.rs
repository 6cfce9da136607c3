//! Changing the set of an `epoll` instance: `epoll_ctl`, by number.
//!
//! **Measures:** With `op=add_del`, adding an eventfd and removing it again: two system calls, with
//! the search in the set and the entry into and removal from the eventfd's wait queue. With
//! `op=mod`, one system call that sets a member's events to what they are.
//!
//! **Does not measure:** Asking which are ready (`ready.epoll`).
//!
//! **Method:** Many changes in one short interval, in a set that holds `count` others; each answer
//! is checked. The proofs are the same loop in a child cut off from the kernel, and the set at the
//! end: the eventfd, which is readable, is still reported (`mod`) or is not (`add_del`).
//!
//! **Pitfalls:** An empty set has nothing to be searched.
//!
//! **Sources:** See docs/methods/operating-system.md#readiness.

use super::Objects;
use crate::entry;
use crate::work::Done;
use groma_harness::prelude::*;
use groma_harness::sys::ready::{Asking, Epoll};
use std::os::fd::AsFd;

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "System call: epoll_ctl, by number",
        about: about!("epoll_ctl.rs"),
        iteration: "one epoll_ctl that modifies, or one that adds and one that removes",
        params: &[
            super::COUNT.quick(&["100"]).full(&["1", "1000", "10000"]),
            Param::word("op", "adding and removing a descriptor, or modifying its events", &["add_del", "mod"])
                .quick(&["add_del"]),
        ],
        scaling: super::PROCESSES,
        tier: Tier::Standard,
        ..Info::new("ready.epoll_ctl")
    },
    run: Run::Here(run),
};

fn run(ctx: &mut Ctx) -> Outcome {
    let count = ctx.int("count") as usize;
    let adds = ctx.word("op") == "add_del";
    let objects = Objects::new("eventfd", count as u64 + 1)?;
    objects.make_ready("eventfd", count)?;
    let fds = objects.fds();
    let subject = objects.near[count].as_fd();
    let mut epoll = Epoll::over(if adds { &fds[..count] } else { &fds }).context("making an epoll")?;
    let done = Done::new();
    let mut body = |iters| {
        let (mut worst, mut right) = (0, 0);
        for _ in 0..iters {
            let change =
                if adds { epoll.add(subject, count) | epoll.remove(subject) } else { epoll.modify(subject, count) };
            worst |= change;
            right += u64::from(change == 0);
        }
        done.add(right);
        if worst == 0 { Ok(()) } else { Err(BenchError::Failed("epoll_ctl refused a change".to_owned())) }
    };
    ctx.measure(&mut body)?;
    done.prove(ctx, "changes that were made, per change credited");
    entry::asks_the_kernel(ctx, &mut body);
    let expected = if adds { vec![] } else { vec![count] };
    let ready = epoll.ask();
    let right = ready == expected.len() as isize && epoll.ready() == expected;
    ctx.prove("sets that were in the end as they should be", "1", f64::from(u8::from(right)), 1.0..=1.0);
    Ok(())
}
