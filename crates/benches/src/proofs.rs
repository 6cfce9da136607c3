//! Proofs that several benchmarks share.

use groma_harness::Ctx;
use groma_harness::model::Placement;
use groma_harness::sys::affinity;
use groma_harness::sys::counters::{self, Usage};
use groma_harness::sys::process::Exit;

/// Whether both sides must be on this CPU: the placement says so (whatever CPU the peer was given,
/// even none), both were given the same CPU, or there is only one.
pub(crate) fn on_one_cpu(ctx: &Ctx) -> bool {
    match ctx.peer_cpu() {
        _ if *ctx.placement() == Placement::SameCpu => true,
        Some(cpu) => cpu == counters::current_cpu(),
        None => affinity::allowed().is_ok_and(|cpus| cpus.len() == 1),
    }
}

/// [`switches`] on one CPU, where it must hold. Between two CPUs an answer can arrive before this
/// side sleeps.
pub(crate) fn switches_on_one_cpu(ctx: &mut Ctx, before: &Usage, peer: &Exit) {
    if on_one_cpu(ctx) {
        switches(ctx, before, peer);
    }
}

/// Proves that each side of a round trip slept once and was woken once. A peer that never slept
/// received no messages.
pub(crate) fn switches(ctx: &mut Ctx, before: &Usage, peer: &Exit) {
    let each = switches_each(ctx, before, peer);
    ctx.prove("context switches per round trip, both sides", "1.8 or more", each, 1.8..);
}

/// States the switches as a fact, where there need not be any.
pub(crate) fn state_switches(ctx: &mut Ctx, before: &Usage, peer: &Exit) {
    let each = switches_each(ctx, before, peer);
    ctx.fact("switches_per_round_trip", format!("{each:.2}"));
}

/// The context switches of both sides, per iteration.
fn switches_each(ctx: &Ctx, before: &Usage, peer: &Exit) -> f64 {
    let here = Usage::thread().since(before);
    let both = (here.voluntary + here.involuntary + peer.usage.voluntary + peer.usage.involuntary) as f64;
    both / ctx.iterations().max(1) as f64
}

/// Proves that the peer exited by itself with code 0.
pub(crate) fn peer_ended_well(ctx: &mut Ctx, peer: &Exit) {
    ctx.prove("exit code of the peer", "0", f64::from(peer.code().unwrap_or(-1)), 0.0..=0.0);
}

/// Proves that all of these exited with code 0: "`whose` that did not leave well".
pub(crate) fn all_left_well(ctx: &mut Ctx, whose: &str, exits: &[Exit]) {
    let badly = exits.iter().filter(|exit| !exit.success()).count();
    ctx.prove(&format!("{whose} that did not leave well"), "0", badly as f64, 0.0..=0.0);
}

/// The name of the proof of [`tasks_created`].
pub(crate) const TASKS: &str = "tasks that the kernel made, per iteration";

/// Proves that the kernel has created at least one task per iteration since it counted `before`.
/// Other programs create tasks as well.
pub(crate) fn tasks_created(ctx: &mut Ctx, before: Option<u64>) {
    if let (Some(before), Some(after)) = (before, counters::tasks_created()) {
        let each = after.saturating_sub(before) as f64 / ctx.iterations().max(1) as f64;
        ctx.prove(TASKS, "1 or more", each, 1.0..);
    }
}

/// Shared by the tests of round trips.
#[cfg(test)]
pub(crate) mod testing {
    use groma_harness::prelude::*;
    use groma_harness::sys::{affinity, counters, fork};
    use groma_harness::testing::{Tried, try_out};

    /// The exit code of a process with one thread, like a worker. `None` where it did not end
    /// within a minute, or by a signal.
    pub(crate) fn in_a_worker(life: impl FnOnce() -> i32) -> Option<i32> {
        let mut worker = fork::fork(|| {
            fork::enforce_one_thread();
            life()
        })
        .expect("fork");
        let ended = (0..12_000).find_map(|_| {
            let exit = worker.poll().expect("wait");
            if exit.is_none() {
                // A round takes some milliseconds.
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            exit
        });
        ended.and_then(|exit| exit.code())
    }

    /// Asserts that a round fails with a reason that satisfies `says`. A benchmark that misses the
    /// end of its peer waits for ever.
    #[track_caller]
    pub(crate) fn assert_fails_within_a_minute(bench: &Benchmark, says: impl Fn(&str) -> bool) {
        let ended = in_a_worker(|| {
            let tried = try_out(bench, &[], None);
            i32::from(!matches!(tried, Err(BenchError::Failed(why)) if says(&why)))
        });
        assert_eq!(ended, Some(0), "1: it ended in another way; none: it waits for ever");
    }

    /// Hundredths of a switch per round trip (voluntary and involuntary, here and at the peer), and
    /// whether they are enough.
    const SWITCHES: [([u64; 4], bool); 4] =
        [([50, 40, 60, 40], true), ([50, 40, 60, 20], false), ([0, 0, 100, 0], false), ([190, 0, 0, 0], true)];

    #[test]
    fn all_switches_of_both_sides_count() {
        use groma_harness::sys::counters::Usage;
        use groma_harness::testing::{stating, try_failing};
        fn run(ctx: &mut Ctx) -> Outcome {
            ctx.probe(1, |iters| {
                (0..iters).for_each(|_| std::hint::spin_loop());
                Ok(())
            })?;
            let trips = ctx.iterations();
            let mut peer = sys::fork::fork(|| 0).context("forking a peer")?.wait().context("waiting for it")?;
            for (each, _) in SWITCHES {
                let [voluntary, involuntary, of_peer, involuntary_of_peer] = each.map(|part| part * trips / 100);
                let now = Usage::thread();
                let before = Usage {
                    voluntary: now.voluntary.wrapping_sub(voluntary),
                    involuntary: now.involuntary.wrapping_sub(involuntary),
                    ..now
                };
                peer.usage = Usage { voluntary: of_peer, involuntary: involuntary_of_peer, ..Usage::default() };
                super::switches(ctx, &before, &peer);
            }
            ctx.state(1.0);
            Ok(())
        }
        let tried = try_failing(&stating(run), &[], None).expect("a child");
        assert_eq!(tried.proofs_held(""), SWITCHES.map(|(_, enough)| enough));
    }

    #[test]
    fn the_placement_decides_on_the_proof_not_the_cpu_of_the_peer() {
        use groma_harness::testing::{try_failing_at, try_placed};
        /// A round trip without a peer.
        fn run(ctx: &mut Ctx) -> Outcome {
            let before = counters::Usage::thread();
            let peer = ctx.fork_peer(&[], || 0)?.wait().context("waiting for the peer")?;
            // Thousands of iterations, but only a few switches.
            ctx.measure(|iters| {
                sys::arch::add_chain(iters * 64);
                Ok(())
            })?;
            super::switches_on_one_cpu(ctx, &before, &peer);
            Ok(())
        }
        let bench = Benchmark { info: Info::new("cpu.trip"), run: Run::Here(run) };
        let cpus = affinity::allowed().expect("the CPUs that are allowed");
        let here = cpus[0];
        let broken = |tried: &Tried| {
            tried.result.output.proofs.iter().any(|p| p.name.starts_with("context switches") && !p.holds)
        };
        for named in [&[here, here][..], &[here], &[]] {
            let tried = try_failing_at(&bench, Placement::SameCpu, named).expect("a child");
            assert!(broken(&tried), "{named:?}: {:?}", tried.result.output.proofs);
        }
        // Between two CPUs an answer may arrive before either side sleeps.
        if let [here, there, ..] = *cpus {
            try_placed(&bench, &[], None, Placement::SameLlc, &[here, there]).expect("no proof of switches");
        }
    }
}
