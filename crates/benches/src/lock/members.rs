//! The members of a benchmark that meet at one object: threads or processes, spread over the CPUs
//! of the placement. The thread that measures is the first of them.
//!
//! They are partners, not a worker group: how many there are is what is measured and belongs to the
//! metric, they share an object by its address, and what is measured (shares, waits, who came last)
//! is of all of them together. A worker group would add independent samples of one member each.
//!
//! Members take the two CPUs of a placement in turn, so more members than CPUs wait for the
//! scheduler, whatever the lock.

use crate::cpu::cpus_of_the_run;
use groma_harness::prelude::*;
use groma_harness::rendezvous::{Control, Partners};
use groma_harness::sys::affinity;
use groma_harness::sys::counters::current_cpu;
use groma_harness::sys::sync::Key;
use std::io;
use std::sync::Arc;

/// What the members are.
pub(super) const TASK: Param =
    Param::word("task", "what the members are: threads of one process, or processes", &["thread", "process"])
        .quick(&["thread"]);

/// How many members there are, the one that measures included.
pub(super) const THREADS: Param = Param::count("threads", "threads or processes that meet")
    .takes(Memory::PerMember(Memory::TASK))
    .quick(&["2"])
    .full(&["4", "8"]);

/// Where the members meet: within a cache first, since on one CPU they take turns.
pub(super) const PLACEMENTS: &[Placement] = &[
    Placement::SameLlc,
    Placement::SameCpu,
    Placement::Smt,
    Placement::CrossLlc,
    Placement::CrossNode,
    Placement::Free,
];

/// Who may wait at the object.
pub(super) fn key(ctx: &Ctx) -> Key {
    if ctx.word(TASK.name) == "thread" { Key::Private } else { Key::Shared }
}

/// The number of members.
pub(super) fn count(ctx: &Ctx) -> Result<u32, BenchError> {
    match u32::try_from(ctx.int(THREADS.name)) {
        Ok(count @ 2..) => Ok(count),
        _ => Err(BenchError::Unsupported("two members at least meet".to_owned())),
    }
}

/// Whether some members wait for a CPU while others run.
pub(super) fn are_crowded(ctx: &Ctx, members: u32) -> Result<bool, BenchError> {
    let cpus = match ctx.peer_cpu() {
        Some(there) => 1 + usize::from(there != current_cpu()),
        None => cpus_of_the_run()?.len(),
    };
    Ok(members as usize > cpus)
}

/// Starts the members from 1 to the last; those of odd numbers are on the CPU of the peer.
pub(super) fn start<B>(ctx: &Ctx, members: u32, key: Key, body: B) -> Result<Partners, BenchError>
where
    B: Fn(&Control, u32) -> io::Result<()> + Send + Sync + 'static,
{
    let mut partners = Partners::new()?;
    let here = ctx.peer_cpu().map(|_| current_cpu());
    let body = Arc::new(body);
    for number in 1..members {
        let at_the_peer = number % 2 == 1;
        let life = Arc::clone(&body);
        let beside_this_one = move |control: &Control| {
            here.map_or(Ok(()), affinity::pin)?;
            life(control, number)
        };
        let life = Arc::clone(&body);
        match key {
            Key::Shared if at_the_peer => partners.fork(ctx, name(number), |control| life(control, number))?,
            Key::Shared => partners.fork_unplaced(name(number), beside_this_one)?,
            // What a thread returns is lost: its body says by itself that it has failed.
            Key::Private if at_the_peer => {
                let place = ctx.peer_place()?;
                partners.spawn(move |control| drop(place.occupy(|| life(control, number))))?;
            }
            Key::Private => partners.spawn(move |control| drop(beside_this_one(control)))?,
        }
    }
    Ok(partners)
}

fn name(number: u32) -> String {
    format!("member {number}")
}

/// Ends the members, and proves that those that are processes ended well.
pub(super) fn end(ctx: &mut Ctx, partners: Partners) -> Outcome {
    let exits = partners.end()?;
    if !exits.is_empty() {
        let failed = exits.iter().filter(|exit| !exit.success()).count();
        ctx.prove("processes that did not end well", "0", failed as f64, 0.0..=0.0);
    }
    Ok(())
}
