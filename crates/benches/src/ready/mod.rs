//! Asking which of many descriptors are ready. See docs/methods/operating-system.md#readiness.

use crate::peer::Family;
use crate::work::{self, ANSWERED};
use groma_harness::model::family::{Figure, Say, Select};
use groma_harness::prelude::*;
use groma_harness::sys::io::{pipe, readable, write_full};
use groma_harness::sys::kernel_objects;
use groma_harness::sys::ready::{self, Asking};
use groma_harness::sys::{net, socket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

mod select;
mod poll;
mod epoll;
mod epoll_ctl;

pub(crate) static ABOUT: groma_harness::model::Family = groma_harness::model::Family {
    name: "ready",
    summary: "Asking which of many descriptors are ready",
    says: Say::Text(
        "asking which descriptors are ready costs {}",
        &[Figure::Range(Select::AllBut(&["ready.epoll_ctl"]))],
    ),
    rows: &[],
};

pub(crate) const ALL: &[&Benchmark] = listed!("ready");

/// Why none of these runs as threads.
const PROCESSES: Scaling =
    Scaling::processes("threads share one table of descriptors: each would look through the numbers of the others");

/// How many descriptors are asked about. Each takes a pair of connected sockets, or a pipe with a
/// page in it, in the kernel.
const COUNT: Param = Param::count("count", "descriptors in the set").takes(Memory::PerMember(8 << 10));

/// What the descriptors are.
const KIND: Param =
    Param::word("kind", "what the descriptors are", &["pipe", "unix", "tcp", "eventfd", "timerfd"]).quick(&["pipe"]);

/// Which of them can be read.
const READY: Param = Param::word("ready", "which descriptors are readable", &["none", "first", "last", "all"]);

/// Separate objects, each with its own wait queue; duplicates of one descriptor would share one.
struct Objects {
    /// The descriptors asked about, with the lowest free numbers. Dropped first, so TCP sends a
    /// reset.
    near: Vec<OwnedFd>,
    /// The ends that make them readable, with higher numbers; empty for objects with one end.
    far: Vec<OwnedFd>,
}

/// Allowance for the descriptors that a process has anyway.
const OTHERS: u64 = 64;
/// The longest wait for a loopback packet or a timer of a nanosecond on a busy machine.
const SOON: Duration = Duration::from_secs(5);

impl Objects {
    fn new(kind: &str, count: u64) -> Result<Objects, BenchError> {
        if count == 0 {
            return Err(BenchError::Unsupported("one descriptor or more can be asked about".to_owned()));
        }
        let ends = if matches!(kind, "eventfd" | "timerfd") { 1 } else { 2 };
        let wanted = ends * count + 2 * OTHERS;
        ready::allow_descriptors(wanted).map_err(|most| {
            BenchError::Denied(format!(
                "{count} of kind {kind} need {wanted} descriptors; the hard limit (ulimit -Hn) is {most}"
            ))
        })?;
        let mut objects = Objects { near: Vec::new(), far: Vec::new() };
        match kind {
            "pipe" => objects.pairs(count, || pipe().context("making a pipe")),
            "unix" => objects.pairs(count, || {
                let (near, far) = UnixStream::pair().context("making a pair of sockets")?;
                Ok((near.into(), far.into()))
            }),
            "tcp" => objects.connections(count),
            "eventfd" => objects.singles(count, || kernel_objects::eventfd().context("making an eventfd")),
            _ => objects.singles(count, || ready::timer().context("making a timerfd")),
        }?;
        Ok(objects)
    }

    fn pairs(&mut self, count: u64, mut make: impl FnMut() -> Result<(OwnedFd, OwnedFd), BenchError>) -> Outcome {
        for _ in 0..count {
            let (near, far) = make()?;
            self.near.push(near);
            self.far.push(ready::move_up(far, (count + OTHERS) as usize).context("renumbering a descriptor")?);
        }
        Ok(())
    }

    fn connections(&mut self, count: u64) -> Outcome {
        // Not declared as a need: the other kinds do without.
        groma_harness::loopback::check(false)?;
        let listener = socket::listen(Family::V4.loopback(), 16).context("listening on the loopback")?;
        let address = listener.local_addr().context("asking for the port")?;
        self.pairs(count, || {
            let near = socket::tcp(address).context("making a socket")?;
            net::reset_on_close(near.as_fd()).context("setting SO_LINGER")?;
            socket::connect(near.as_fd(), &address).context("connecting on the loopback")?;
            let (far, _) = listener.accept().context("accepting")?;
            Ok((near, far.into()))
        })
    }

    fn singles(&mut self, count: u64, mut make: impl FnMut() -> Result<OwnedFd, BenchError>) -> Outcome {
        for _ in 0..count {
            self.near.push(make()?);
        }
        Ok(())
    }

    /// Makes object `i` readable, and waits until it is.
    fn make_ready(&self, kind: &str, i: usize) -> Outcome {
        let near = self.near[i].as_fd();
        match kind {
            "eventfd" => write_full(near, &1u64.to_ne_bytes()).context("writing to an eventfd")?,
            "timerfd" => ready::expire(near).context("setting a timer")?,
            _ => write_full(self.far[i].as_fd(), &[1]).context("writing to the other end")?,
        }
        if readable(&[near], SOON).is_empty() {
            return Err(BenchError::Failed(format!(
                "a descriptor of kind {kind} did not become ready within {SOON:?}"
            )));
        }
        Ok(())
    }

    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        self.near.iter().map(AsFd::as_fd).collect()
    }
}

/// How many descriptors were reported and should not be, or the reverse; `expected` is in order.
fn reported_wrongly(told: &[usize], expected: &[usize]) -> usize {
    let right = told.iter().filter(|i| expected.binary_search(i).is_ok()).count();
    told.len() + expected.len() - 2 * right
}

/// Measures the system call that `over` sets up for the objects that the parameters name, and
/// proves its answers.
fn measure<A: Asking>(ctx: &mut Ctx, over: impl FnOnce(&[BorrowedFd<'_>]) -> Result<A, BenchError>) -> Outcome {
    let (kind, count) = (ctx.word("kind"), ctx.int("count"));
    let objects = Objects::new(kind, count)?;
    let all = objects.near.len();
    let expected: Vec<usize> = match ctx.word("ready") {
        "none" => Vec::new(),
        "first" => vec![0],
        "last" => vec![all - 1],
        _ => (0..all).collect(),
    };
    for &i in &expected {
        objects.make_ready(kind, i)?;
    }
    let mut query = over(&objects.fds())?;
    let ready = expected.len() as isize;
    let what = format!("calls that should report {ready} of {all}");
    work::checked_calls(ctx, &what, ANSWERED, || query.ask() == ready)?;
    query.ask();
    let wrong = reported_wrongly(&query.ready(), &expected);
    ctx.prove("descriptors of which the last answer told the wrong thing", "0", wrong as f64, 0.0..=0.0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_become_ready_one_by_one() {
        for kind in ["pipe", "unix", "tcp", "eventfd", "timerfd"] {
            let objects = Objects::new(kind, 3).expect(kind);
            objects.make_ready(kind, 1).expect(kind);
            let ready: Vec<bool> =
                (0..3).map(|i| !readable(&[objects.near[i].as_fd()], Duration::ZERO).is_empty()).collect();
            assert_eq!(ready, [false, true, false], "{kind}");
        }
    }

    #[test]
    fn missing_and_superfluous_descriptors_are_counted() {
        let cases: [(&[usize], &[usize], usize); 5] =
            [(&[0, 3], &[0, 3], 0), (&[3], &[0, 3], 1), (&[0, 3], &[3], 1), (&[1], &[0], 2), (&[], &[0, 1, 2], 3)];
        for (told, expected, wrong) in cases {
            assert_eq!(reported_wrongly(told, expected), wrong, "{told:?} {expected:?}");
        }
    }

    #[test]
    fn too_many_are_denied_and_none_is_refused() {
        assert!(matches!(Objects::new("pipe", 1 << 40), Err(BenchError::Denied(why)) if why.contains("hard limit")));
        assert!(matches!(Objects::new("pipe", 0), Err(BenchError::Unsupported(_))));
    }
}
