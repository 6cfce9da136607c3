//! Handing over the CPU between two tasks in control groups, by how deep the groups are.
//!
//! **Measures:** One hand-over from a process to another, each in a control group of its own at
//! `depth` below that of the run, as the processes of two containers are. The scheduler divides the
//! CPU among groups, then among the groups in them: it takes a decision on each level. `.outside`
//! is the same between two processes that are in no group of their own, and `.net` what the groups
//! add.
//!
//! **Does not measure:** Quotas and weights at work, or groups on several CPUs.
//!
//! **Method:** A byte goes through two pipes on one CPU and back: two hand-overs. The worker enters
//! its group before an interval, leaves it afterwards, and has a partner in either place; the two
//! loops take turns within a round. The other process of a pair is in a group beside that of the
//! worker.
//!
//! **Proofs:** Every byte comes back from the partner that it was sent to; by the kernel's count
//! the partners have lost the CPU as often; the partner is the only process in its group, and the
//! worker in its own while an interval lasts.
//!
//! **Pitfalls:** It takes the right to make control groups in the hierarchy of the CPU controller.
//! In the unified one they are below the nearest group that enables the controller for its
//! children, often the root, and the depth is that below it.
//!
//! **Sources:** None of the earlier suites. See docs/methods/operating-system.md#context-switches.

use crate::control_groups::nested_group;
use crate::proofs;
use crate::work::{self, Done};
use groma_harness::prelude::*;
use groma_harness::rendezvous::{LEAVE, Partners};
use groma_harness::sys::control_group::ControlGroup;
use groma_harness::sys::io::{pipe, read, read_full, write_full};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

pub(crate) static BENCH: Benchmark = Benchmark {
    info: Info {
        summary: "Handing over the CPU between tasks in nested control groups",
        about: about!("group_depth.rs"),
        iteration: "a byte there and back: two hand-overs",
        outputs: &[
            Output::MAIN.series("inside"),
            Output::named("outside", "a hand-over between tasks in no group of their own"),
            Output::named("net", "what the groups add").difference("inside", "outside"),
        ],
        params: &[Param::count("depth", "levels of groups below that of the run").quick(&["4"]).full(&["1", "2", "8"])],
        scaling: Scaling::processes("a move is of the whole process"),
        placements: &[Placement::SameCpu],
        interference: Interference::Blocking,
        target_half_width: 0.02,
        tier: Tier::Standard,
        ..Info::new("sched.group_depth")
    },
    run: Run::Here(run),
};

/// The deepest groups: systems that nest deeper are hard to find.
const MAX_DEPTH: u64 = 32;
/// Hand-overs of an iteration.
const TURNS: f64 = 2.0;

/// The two pipes between this process and a partner.
struct Line {
    to: (OwnedFd, OwnedFd),
    back: (OwnedFd, OwnedFd),
}

impl Line {
    fn new() -> Result<Line, BenchError> {
        Ok(Line { to: pipe().context("making a pipe")?, back: pipe().context("making a pipe")? })
    }

    /// The body of a partner: sends each byte back, with its own mark. Ends with a byte of 0.
    fn echo(&self, mark: u8, group: Option<&ControlGroup>) -> io::Result<()> {
        if group.is_some_and(|group| group.enter() != 1) {
            return Err(io::Error::other("entering a control group"));
        }
        let mut byte = [0];
        while read(self.to.0.as_fd(), &mut byte)? == 1 && byte[0] != 0 {
            byte[0] ^= mark;
            write_full(self.back.1.as_fd(), &byte)?;
        }
        Ok(())
    }

    /// A byte there and back.
    #[inline]
    fn trip(&self, byte: u8, mark: u8) -> io::Result<bool> {
        write_full(self.to.1.as_fd(), &[byte])?;
        let mut answer = [0];
        read_full(self.back.0.as_fd(), &mut answer)?;
        Ok(answer[0] == byte ^ mark)
    }
}

/// What the partners put on a byte.
const INSIDE: u8 = 0x40;
const OUTSIDE: u8 = 0x20;
/// A byte that neither is nor becomes 0.
const BYTE: u8 = 1;

fn run(ctx: &mut Ctx) -> Outcome {
    let depth = ctx.int("depth");
    if !(1..=MAX_DEPTH).contains(&depth) {
        return Err(BenchError::Unsupported(format!("groups are 1 to {MAX_DEPTH} deep here")));
    }
    let own = nested_group(Some("cpu"), "-own", depth as usize)?;
    let others = nested_group(Some("cpu"), "-other", depth as usize)?;
    let (inside, outside) = (Line::new()?, Line::new()?);
    let mut partners = Partners::new()?;
    partners.fork(ctx, "the partner inside", |control| {
        control.arrive();
        inside.echo(INSIDE, Some(&others))
    })?;
    partners.fork(ctx, "the partner outside", |control| {
        control.arrive();
        outside.echo(OUTSIDE, None)
    })?;
    partners.all_ready()?;
    // By then the first one has entered its group.
    let mut right = inside.trip(BYTE, INSIDE).context("a trip")?;
    right &= others.members().context("asking for members")? == 1;
    let (by_inside, by_outside, mut there, mut intervals) = (Done::new(), Done::new(), 0, 0u64);
    let trips = |line: &Line, mark: u8, iters: u64, done: &Done| -> Outcome {
        for _ in 0..iters {
            done.add(u64::from(line.trip(BYTE, mark).context("a trip")?));
        }
        Ok(())
    };
    let in_groups = Variant::staged("inside", |iters, watch| {
        if own.enter() != 1 {
            return Err(BenchError::Denied("entering a control group".to_owned()));
        }
        watch.start();
        let done = trips(&inside, INSIDE, iters, &by_inside);
        watch.stop();
        there += own.members().context("asking for members")? as u64;
        intervals += 1;
        if own.leave() != 1 {
            return Err(BenchError::Denied("leaving a control group".to_owned()));
        }
        done
    });
    let without = Variant::staged("outside", |iters, watch| {
        watch.start();
        let done = trips(&outside, OUTSIDE, iters, &by_outside);
        watch.stop();
        done
    });
    ctx.measure_variants(&mut [in_groups.per_iter(TURNS), without.per_iter(TURNS)])?;
    for line in [&inside, &outside] {
        write_full(line.to.1.as_fd(), &[0]).context("ending a partner")?;
    }
    partners.send_command(LEAVE);
    let exits = partners.wait()?;
    for exit in &exits {
        proofs::peer_ended_well(ctx, exit);
    }
    work::once_each(
        ctx,
        "trips inside that were answered, per trip credited",
        by_inside.count(),
        ctx.iterations_of("inside"),
    );
    work::once_each(
        ctx,
        "trips outside that were answered, per trip credited",
        by_outside.count(),
        ctx.iterations_of("outside"),
    );
    work::once_each(ctx, "processes in the worker's group, per interval inside", there, intervals);
    ctx.prove("the partner is alone in its group", "1", f64::from(u8::from(right)), 1.0..=1.0);
    // A woken side may take the CPU before the other one sleeps: also a hand-over.
    let switched: u64 = exits.iter().map(|exit| exit.usage.voluntary + exit.usage.involuntary).sum();
    if switched > 0 {
        let trips = (by_inside.count() + by_outside.count()) as f64;
        ctx.prove("switches of the partners per trip", "1 (0.9 or more)", switched as f64 / trips, 0.9..);
    }
    Ok(())
}
