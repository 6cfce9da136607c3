//! What the harness itself proves of every round, whatever the benchmark proves: that the times are
//! possible, and that both sides and all members ran on the CPUs that the job names.
//!
//! Both are read off the finished round, not off the code that made it: a benchmark whose loop was
//! optimised away, a worker that was not pinned and a job without its CPUs all gave plausible
//! values before, and were `ok`. The bounds are loose on purpose. They find what is wrong by a
//! factor, and must not fail on an unusual machine.

use crate::instruments::{ENTRY_CALLS, ENTRY_RUNS, Instruments};
use crate::model::{Host, Info, Interference, Job, Placement, Proof, Quantity, Remark, RoundOutput, Series};
use crate::sys::shared::Shared;
use crate::sys::{affinity, counters};
use groma_stats::order;
use std::cell::Cell;
use std::io;
use std::ops::RangeBounds;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};

/// What the times of a round are compared with.
pub(crate) const POSSIBLE: &str = "measured time / minimum possible time";
/// Where this side ran.
pub(crate) const ON_CPU: &str = "samples taken on another CPU than that of the placement";
/// Where this side was allowed to run.
pub(crate) const PINNED: &str = "CPUs outside the placement that this side may use";
/// Where the peer ran.
pub(crate) const PEER_ON_CPU: &str = "times the peer was seen on another CPU";
/// What the job output.
pub(crate) const NAMED: &str = "CPUs of the job that contradict its placement";

/// Families whose operations enter the kernel although they need not block or fault.
const KERNEL_FAMILIES: [&str; 3] = ["ready", "signal", "syscall"];
/// The share of the cheapest system call that an operation of the kernel takes at least. A quarter,
/// since a fault may enter the kernel more cheaply than a call does: user-mode kernels handle calls
/// themselves and leave faults to the host.
const ENTRY_SHARE: f64 = 0.25;
/// How long the cheapest system call is measured if an operation seems impossible, in nanoseconds
/// that the calls themselves take: 5000 times where a call takes 100 ns, 20 under a tracer that
/// makes it take 25 us (docs/methods/timing.md#evidence-floors).
const ENTRY_AT_MOST_NS: f64 = 5e7;
/// The shortest cycle of a core, in nanoseconds: the fastest clock ever reported was 9.1 GHz. Not
/// the clock that the frequency probes saw: a round of three intervals has one of them, which may
/// have been interrupted, and the bound would then be too high.
const SHORTEST_CYCLE_NS: f64 = 0.1;
/// Operations that no core completes in one cycle: the widest of 2026 retire 8 to 12 instructions,
/// and an operation on a vector counts as one.
const OPERATIONS_PER_CYCLE: f64 = 16.0;
/// Bytes that no core moves in one cycle: three vectors of 64 bytes (two loads and a store) are
/// 192.
const BYTES_PER_CYCLE: f64 = 256.0;
/// A timed stretch lasts several readings of the clock, or nothing was in it but a reading.
const READS: f64 = 4.0;
/// Where the clock is slow (a timer behind a bus takes 1 us and more), an operation may be as short
/// as a reading of it: beyond this many nanoseconds one reading and a half are enough.
const SLOW_CLOCK_NS: f64 = 200.0;
/// See [`SLOW_CLOCK_NS`].
const READS_OF_SLOW: f64 = 1.5;

/// Whether an iteration of the main series enters the kernel, and so takes about as long as the
/// cheapest entry or more.
fn enters_the_kernel(info: &Info) -> bool {
    info.interference != Interference::Cpu || KERNEL_FAMILIES.contains(&info.family())
}

/// What the numbers of a series are.
fn quantity(info: &Info, series: &str) -> Quantity {
    let output = info.outputs.iter().find(|o| *o.derivation.source() == series);
    output.map_or(info.quantity, |o| info.quantity_of(o))
}

/// The shortest timed stretch, in nanoseconds, given the cost of reading the clock.
fn shortest_stretch_ns(clock_cost_ns: f64) -> f64 {
    (READS * clock_cost_ns).min(SLOW_CLOCK_NS).max(READS_OF_SLOW * clock_cost_ns)
}

/// One bound: how many times the least a series took, and the least in words.
struct Bound {
    ratio: f64,
    least: String,
}

/// The time of the cheapest system call, in nanoseconds. It is measured again while it exceeds
/// `most_ns`: load can only lengthen a measurement, so the least is the best.
fn kernel_entry_ns(ins: &impl Instruments, most_ns: f64) -> f64 {
    let (mut least, mut spent) = (f64::INFINITY, 0.0);
    while least > most_ns && spent < ENTRY_AT_MOST_NS {
        let entry = ins.kernel_entry_ns();
        least = least.min(entry);
        spent += entry * f64::from(ENTRY_RUNS * ENTRY_CALLS);
    }
    least
}

/// The tightest of the bounds that hold for a series; `None` when it has no samples. `enters`:
/// measures the kernel's entry, where an iteration of the series is one.
fn tightest(series: &Series, info: &Info, host: &Host, enters: Option<&impl Instruments>) -> Option<Bound> {
    let of_samples = |value: fn(f64, f64) -> f64, scale: f64| {
        let values = series.samples.iter().filter(|s| s.iters > 0);
        let values: Vec<f64> = values.map(|s| value(s.elapsed_ns as f64, s.iters as f64) * scale).collect();
        order::median(&values)
    };
    let iteration_ns = of_samples(|ns, iters| ns / iters, 1.0)?;
    // A member of a worker group stops the watch after each batch, and a sample holds many.
    let batch = series.iters.max(1) as f64;
    let stretch_ns = of_samples(|ns, iters| ns / iters, batch)?;
    let per_cycle = match quantity(info, &series.name) {
        Quantity::Bandwidth => BYTES_PER_CYCLE,
        _ => OPERATIONS_PER_CYCLE,
    };
    let least_ns = shortest_stretch_ns(host.clock_cost_ns);
    let mut bounds = vec![
        Bound {
            ratio: stretch_ns / least_ns,
            least: format!("a stretch of {least_ns:.0} ns, with a clock that takes {:.0} ns", host.clock_cost_ns),
        },
        Bound {
            ratio: iteration_ns / (series.per_iter.max(f64::MIN_POSITIVE) / per_cycle * SHORTEST_CYCLE_NS),
            least: format!("{SHORTEST_CYCLE_NS} ns for {per_cycle} operations or bytes"),
        },
    ];
    if let Some(ins) = enters {
        let entry_ns = kernel_entry_ns(ins, iteration_ns / ENTRY_SHARE);
        bounds.push(Bound {
            ratio: iteration_ns / (ENTRY_SHARE * entry_ns),
            least: format!("{ENTRY_SHARE} of the cheapest system call, {:.1} ns", ENTRY_SHARE * entry_ns),
        });
    }
    bounds.into_iter().min_by(|a, b| a.ratio.total_cmp(&b.ratio))
}

/// Proves that no series was faster than the machine can be: than its clock, its core or its
/// kernel's entry.
pub(crate) fn of_time(ins: &impl Instruments, info: &Info, host: &Host, output: &mut RoundOutput) {
    if output.series.iter().all(|s| s.samples.is_empty()) {
        return;
    }
    let main = info.outputs.first().map_or("", |o| o.derivation.source());
    let bound = |series: &Series| {
        let enters = (enters_the_kernel(info) && series.name == main).then_some(ins);
        tightest(series, info, host, enters).map(|bound| (series.name.clone(), bound))
    };
    let worst = output.series.iter().filter_map(bound).min_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio));
    if let Some((name, bound)) = worst {
        let of = if name.is_empty() { String::new() } else { format!("{name}: ") };
        prove(output, POSSIBLE, &format!("1 or more ({of}{})", bound.least), bound.ratio, 1.0..);
    }
}

fn prove(output: &mut RoundOutput, name: &str, expected: &str, seen: f64, range: impl RangeBounds<f64>) {
    let holds = seen.is_finite() && range.contains(&seen);
    output.proofs.push(Proof { name: name.to_owned(), expected: expected.to_owned(), seen, holds });
}

/// How many CPUs a job of this placement has to name, and whether they have to differ; `None` where
/// it may name any.
fn demanded_cpus(placement: &Placement) -> Option<(usize, bool)> {
    match placement {
        Placement::SameCpu => Some((2, false)),
        Placement::Smt | Placement::SameLlc | Placement::CrossLlc | Placement::CrossNode => Some((2, true)),
        Placement::Nodes { .. } => Some((1, false)),
        _ => None,
    }
}

/// The CPUs of a job that its placement does not allow, counting those that are missing.
fn contradictions(job: &Job) -> usize {
    match (&job.placement, demanded_cpus(&job.placement)) {
        (Placement::List(cpus), _) => usize::from(*cpus != job.cpus),
        (Placement::Free, _) => job.cpus.len(),
        // The CPU that the run chose, which the worker cannot.
        (Placement::On(_), _) => usize::from(job.cpus.is_empty()),
        (_, Some((n, _))) if job.cpus.len() != n => job.cpus.len().abs_diff(n),
        (_, Some((2, differ))) => usize::from((job.cpus[0] != job.cpus[1]) != differ),
        _ => 0,
    }
}

/// Proves where the samples were taken: those of this side on the first CPU of the job, those of
/// the member `i` of a worker group on its `i`-th, round and round. Alone, this side must also be
/// unable to leave: a worker that happens to stay where it should be is not pinned.
pub(crate) fn of_place(job: &Job, output: &mut RoundOutput, peers: Option<&Peers>) {
    if demanded_cpus(&job.placement).is_some() || matches!(job.placement, Placement::List(_) | Placement::On(_)) {
        prove(output, NAMED, "0", contradictions(job) as f64, 0.0..=0.0);
    }
    let alone = !job.group;
    let pinned = !job.cpus.is_empty() || (alone && matches!(job.placement, Placement::Pinned | Placement::Remote));
    if !pinned {
        return;
    }
    let mask = if alone { affinity::allowed().unwrap_or_default() } else { Vec::new() };
    // Where nothing but "pinned" was said, it is the one CPU that is left to this side.
    let here = job.cpus.first().or(mask.first()).copied().unwrap_or(0);
    let planned = |worker: u32| match job.cpus.as_slice() {
        cpus @ [_, ..] if !alone => cpus[worker as usize % cpus.len()],
        _ => here,
    };
    if alone {
        let astray = if mask.is_empty() { f64::NAN } else { mask.iter().filter(|cpu| **cpu != here).count() as f64 };
        prove(output, PINNED, "0", astray, 0.0..=0.0);
    }
    if kernel_tells_cpus(here) {
        let samples = output.series.iter().flat_map(|s| &s.samples);
        let astray = samples.filter(|s| planned(s.worker) != s.cpu).count();
        prove(output, ON_CPU, "0", astray as f64, 0.0..=0.0);
    } else {
        output.remarks.push(Remark::Note("the kernel does not tell on which CPU a task runs".to_owned()));
    }
    if let (Some(peers), true) = (peers, alone && job.cpus.len() > 1) {
        // On one CPU a peer, or a thread, is where this side is from the start.
        peers.prove(output, demanded_cpus(&job.placement) == Some((2, true)));
    }
}

/// Whether a task that is allowed on one CPU is reported to run there: some user-mode kernels
/// always say 0.
fn kernel_tells_cpus(cpu: u32) -> bool {
    let Ok(before) = affinity::allowed() else { return false };
    let told = affinity::pin(cpu).is_err() || counters::current_cpu() == cpu;
    drop(affinity::restrict(&before));
    told
}

/// What the helpers of this side were seen to do: in shared memory, since they may be killed before
/// they could exit.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    /// How many there are.
    made: Cell<u32>,
    /// How many looks were taken, and how many of them found the helper elsewhere; made with the
    /// first peer.
    board: OnceLock<Arc<Shared<AtomicU32>>>,
}

/// Words of [`Peers::board`].
const LOOKS: usize = 0;
const ASTRAY: usize = 1;

impl Peers {
    /// Counts a peer that is about to be made, and gives what it writes to.
    pub(crate) fn making(&self) -> io::Result<Arc<Shared<AtomicU32>>> {
        if self.board.get().is_none() {
            // Somebody else can only have set it to the same.
            let _ = self.board.set(Arc::new(Shared::new(2)?));
        }
        self.made.set(self.made.get() + 1);
        self.board.get().cloned().ok_or_else(|| io::Error::other("no memory to share with the peer"))
    }

    /// Proves that the peers were where they should be. Where one is `wanted`, the placement names
    /// a CPU for it: a round that made none has used another CPU, or none.
    fn prove(&self, output: &mut RoundOutput, wanted: bool) {
        let board = self.board.get().filter(|_| self.made.get() > 0);
        if board.is_none() && !wanted {
            return;
        }
        let seen = board.filter(|board| board[LOOKS].load(SeqCst) > 0).map(|board| board[ASTRAY].load(SeqCst));
        prove(output, PEER_ON_CPU, "0", seen.map_or(f64::NAN, f64::from), 0.0..=0.0);
    }
}

/// Where a peer that is a thread has to be: see [`crate::Ctx::peer_place`].
#[derive(Clone, Debug)]
pub struct PeerPlace {
    /// The CPU that it goes to; `None` where the scheduler chooses.
    pub(crate) cpu: Option<u32>,
    /// The CPU that it has to be on, and what it writes to when it looks.
    pub(crate) watched: Option<(Arc<Shared<AtomicU32>>, u32)>,
}

impl PeerPlace {
    /// Runs the body of the calling thread in its place.
    ///
    /// # Errors
    /// Those of pinning.
    pub fn occupy<T>(&self, body: impl FnOnce() -> T) -> io::Result<T> {
        self.cpu.map_or(Ok(()), affinity::pin)?;
        self.look();
        let value = body();
        self.look();
        Ok(value)
    }

    /// Looks whether the calling task is where it has to be.
    pub(crate) fn look(&self) {
        if let Some((board, cpu)) = &self.watched {
            look(board, *cpu);
        }
    }
}

/// A peer looks where it may run: with one CPU left to it, it is there.
fn look(board: &Shared<AtomicU32>, cpu: u32) {
    let there = affinity::allowed().is_ok_and(|may| may == [cpu]);
    board[ASTRAY].fetch_add(u32::from(!there), SeqCst);
    board[LOOKS].fetch_add(1, SeqCst);
}

#[cfg(test)]
mod tests;
