//! The core itself: its clock, its cheapest instructions, and cache lines shared by two CPUs.

use crate::work::{self, Done};
use groma_harness::model::Family;
use groma_harness::model::family::{Figure, Row, Say, Select, first, least};
use groma_harness::prelude::*;
use groma_harness::sys::arch::{CHAIN_UNROLL, add_chain, chain_added};
use groma_harness::sys::counters::current_cpu;
use groma_harness::sys::idle_states::{LATENCY_DEVICE, LatencyLimit};
use groma_harness::sys::{affinity, process, rates};
use std::io;

mod frequency;
mod frequencies;
mod boost;
mod call;
mod operation;
mod branch;
mod branch_targets;
mod return_stack;
mod code;
mod window;
mod energy;
mod idle_state;
mod store_forward;
mod split;
mod atomic;
mod random;
mod core_to_core;
mod contention;
mod false_sharing;

mod pair;

pub(crate) static ABOUT: Family = Family {
    name: "cpu",
    summary: "The core: its clock and its cheapest operations",
    says: Say::Led(&[
        Say::Text("the core runs at {}", &[Figure::Value(first("cpu.frequency"))]),
        Say::Text("; a call and its return cost {}", &[Figure::WithCycles(least("cpu.call"))]),
        Say::Text(
            "; a line goes from one core to another in {} (cas1)",
            &[Figure::Span(Select::With("cpu.core_to_core", &[("protocol", "cas1")]))],
        ),
    ]),
    rows: &[
        Row::CoreClock { rate: "cpu.frequency", lowest: "cpu.frequencies.lowest", highest: "cpu.frequencies.highest" },
        Row::SharedCache("cpu.core_to_core"),
        Row::Transfers("cpu.core_to_core"),
    ],
};

pub(crate) const ALL: &[&Benchmark] = listed!("cpu");

/// Records the declared clocks of a CPU as facts: the highest as `declared`, and each by its
/// source.
fn declare_clock(ctx: &mut Ctx, cpu: u32) {
    let declared = rates::declared_core(cpu);
    if let Some((_, hz)) = declared.first() {
        ctx.fact("declared", hz);
    }
    for (name, hz) in declared {
        ctx.fact(&format!("clock.{}", name.replace(' ', "_")), hz);
    }
}

/// The CPUs that the run may use, as its supervisor has them: by then the worker is pinned to one.
pub(crate) fn cpus_of_the_run() -> Result<Vec<u32>, BenchError> {
    affinity::allowed_to(process::parent_id()).or_else(|_| affinity::allowed()).context("reading the allowed CPUs")
}

/// As many other CPUs of the run as are wanted, beginning with that of the peer. This thread stays
/// where it is, whatever the placement.
pub(crate) fn other_cpus(ctx: &Ctx, wanted: usize) -> Result<Vec<u32>, BenchError> {
    let here = current_cpu();
    affinity::pin(here).context("pinning the thread that measures")?;
    if ctx.peer_cpu() == Some(here) {
        return Err(BenchError::Unsupported("no other CPU runs a thread of this process".to_owned()));
    }
    others_than(here, ctx.peer_cpu(), &cpus_of_the_run()?, wanted)
}

/// As many of the allowed CPUs as are wanted: that of the peer, and others than this one.
fn others_than(here: u32, peer: Option<u32>, allowed: &[u32], wanted: usize) -> Result<Vec<u32>, BenchError> {
    let mut cpus: Vec<u32> = peer.into_iter().collect();
    cpus.extend(allowed.iter().copied().filter(|cpu| *cpu != here && Some(*cpu) != peer));
    if cpus.len() < wanted {
        return Err(BenchError::Unsupported(format!("{wanted} other CPUs are not allowed, only {}", cpus.len())));
    }
    cpus.truncate(wanted);
    Ok(cpus)
}

/// Asks for idle states that a CPU leaves within so many microseconds.
pub(crate) fn limit_idle_latency(ctx: &mut Ctx, us: i32) -> Result<LatencyLimit, BenchError> {
    let limit = LatencyLimit::new(us).map_err(|e| {
        let why = format!("asking for shallow idle states by {LATENCY_DEVICE}: {e}");
        match e.kind() {
            io::ErrorKind::PermissionDenied => BenchError::Denied(why),
            _ => BenchError::Unsupported(why),
        }
    })?;
    if limit.in_force() < us {
        return Err(BenchError::Unsupported(format!(
            "another program asks for idle states that a CPU leaves within {} us ({LATENCY_DEVICE})",
            limit.in_force()
        )));
    }
    let wanted = f64::from(us);
    ctx.prove(
        "microseconds that a CPU may take to leave an idle state",
        &us.to_string(),
        f64::from(limit.in_force()),
        wanted..=wanted,
    );
    Ok(limit)
}

/// At most `most` of these CPUs, spread evenly, including the first and the last.
pub(crate) fn evenly(cpus: &[u32], most: usize) -> Vec<u32> {
    if cpus.len() <= most || most < 2 {
        return cpus.iter().copied().take(most).collect();
    }
    (0..most).map(|i| cpus[i * (cpus.len() - 1) / (most - 1)]).collect()
}

/// Code that was written at run time, or why there is none.
fn require_code<T>(made: io::Result<T>) -> Result<T, BenchError> {
    made.map_err(|error| match error.kind() {
        io::ErrorKind::Unsupported => BenchError::Unsupported("no code can be written for this CPU yet".to_owned()),
        _ => BenchError::from_io("writing code", &error),
    })
}

/// Measures code that was written at run time, `per` instructions, jumps or calls a turn, beside
/// dependent additions, which take a cycle each. `body(turns)` returns what the code itself has
/// counted, `counted` a turn.
fn beside_cycles(
    ctx: &mut Ctx,
    series: &'static str,
    [per, counted]: [u64; 2],
    mut body: impl FnMut(u64) -> u64,
) -> Outcome {
    let (done, added) = (Done::new(), Done::new());
    ctx.measure_variants(&mut [
        Variant::new(series, |turns| {
            done.add(body(turns));
            Ok(())
        })
        .per_iter(per as f64),
        Variant::new("cycle", |turns| {
            added.add(chain_added(add_chain(turns * CHAIN_UNROLL)));
            Ok(())
        })
        .per_iter(CHAIN_UNROLL as f64),
    ])?;
    let [turns, cycles] = [series, "cycle"].map(|name| ctx.iterations_of(name));
    work::once_each(ctx, "what the code has counted, per turn credited", done.count(), turns * counted);
    work::once_each(ctx, "additions per addition credited", added.count(), cycles * CHAIN_UNROLL);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_cpus_are_told_once_each_from_that_of_the_peer_on() {
        let on = |peer, wanted| others_than(2, peer, &[0, 2, 3, 5, 7], wanted).ok();
        assert_eq!(on(Some(5), 1), Some(vec![5]));
        assert_eq!(on(Some(5), 3), Some(vec![5, 0, 3]));
        assert_eq!(on(None, 4), Some(vec![0, 3, 5, 7]));
        assert_eq!([on(Some(5), 5), on(None, 5)], [None, None]);
    }

    /// Interference only adds to the time of an instruction: the fastest tenth of the intervals
    /// excludes it, the median does not.
    #[test]
    fn instructions_are_timed_by_their_fastest_intervals() {
        for bench in ALL.iter().filter(|bench| bench.info.timing != Timing::Stated) {
            assert_eq!(bench.info.timing, Timing::Floor, "{}", bench.info.id);
        }
    }

    #[test]
    fn cpus_are_chosen_evenly() {
        let all: Vec<u32> = (0..100).collect();
        assert_eq!(evenly(&all[..3], 64), [0, 1, 2]);
        assert_eq!(evenly(&all, 2), [0, 99]);
        assert_eq!(evenly(&all, 4), [0, 33, 66, 99]);
        let many = evenly(&all, 64);
        assert_eq!((many.len(), many[0], many[63]), (64, 0, 99));
        assert!(many.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(evenly(&[], 8).is_empty());
        assert_eq!(evenly(&all, 1), [0]);
        assert!(!cpus_of_the_run().expect("an affinity").is_empty());
    }
}
