//! Several members at work at once, provably: the phases, the shared memory, and the proof of
//! overlap.
//!
//! A start barrier does not give overlap: with 16 members on two CPUs less than half of a
//! barrier-gated interval had all members inside it, and the cost came out a fifth too good
//! (docs/methods/timing.md#overlap-proof). Here every member works before, during and after the
//! measurement: PARKED (until all exist) → WARM → MEASURE → STOP, and each sample carries the
//! margin by which the whole worker group's work reached beyond it. Intervals end by the clock,
//! never by a count, so the run time does not grow with the worker group. Threads and forked
//! processes run the same code; a member costs one slot of shared memory and no descriptor.

use crate::benchmark::{Benchmark, Run};
use crate::board::{
    Board, DENIED, FAILED, MEASURE, MemberSample, REPORT_WORDS, STOP, Slot, SlotSample, UNSUPPORTED, WARM,
};
pub use crate::board::{MAX_MEMBERS, SLOT_BYTES};
use crate::ctx::Ctx;
use crate::error::{BenchError, panic_text};
use crate::evidence;
use crate::instruments::Instruments;
use crate::labels::label_host;
use crate::member::Member;
pub use crate::member::Timetable;
use crate::model::{Fact, Job, Label, Phase, Remark, RoundOutput, RoundResult, Sample, Series, Span, WorkerKind};
use crate::protocol;
use crate::sampler::Samples;
use crate::sys::clock::{Clock, Monotonic};
use crate::sys::shared::Word;
use crate::sys::{affinity, counters, fork, thread};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

/// The stack of a member that is a thread. 64 KiB suffice for release builds; debug builds want the
/// double.
const THREAD_STACK: usize = 128 << 10;

/// How long the coordinator waits for all members to get through a phase; the deadline of the round
/// is usually shorter, but knows no member.
const PATIENCE: Duration = Duration::from_secs(120);

/// The same for each member: in a crowded worker group they get their turns one after another.
const PATIENCE_EACH: Duration = Duration::from_millis(100);

/// What one member does, from its start to its end.
fn member(board: &Board, index: u32, bench: &Benchmark, job: &Job, timetable: Timetable) {
    let slot = &board.slots[index as usize];
    if !job.cpus.is_empty() {
        let cpu = job.cpus[index as usize % job.cpus.len()];
        if let Err(e) = affinity::pin(cpu) {
            board.fail(index, &format!("member {index} cannot be pinned to CPU {cpu}: {e}"));
            return;
        }
    }
    let Run::Here(run) = bench.run else { return };
    let member = Member { board, index, timetable, measured: false };
    let mut ctx = Ctx::new(job, &bench.info, Some(member));
    match catch_unwind(AssertUnwindSafe(|| run(&mut ctx))) {
        Ok(Ok(())) => {
            let broken = ctx.output.proofs.iter().find(|p| !p.holds);
            if let Some(proof) = broken {
                let reason = format!("member {index}: {} is {}, not {}", proof.name, proof.seen, proof.expected);
                board.fail(index, &reason);
                return;
            }
            if slot.count.load(SeqCst) == 0 {
                board.fail(index, &format!("member {index} took no samples"));
                return;
            }
            if index == 0 {
                let report = report(std::mem::take(&mut ctx.output));
                // A part of it could not be read.
                if report.len() > REPORT_WORDS * 8 {
                    let (bytes, most) = (report.len(), REPORT_WORDS * 8);
                    board.fail(index, &format!("member 0 reports {bytes} bytes beside its samples, more than {most}"));
                    return;
                }
                board.head().report.write(&report);
            }
            board.end(index, 1);
        }
        Ok(Err(stop)) => {
            let kind = match stop {
                BenchError::Unsupported(_) => UNSUPPORTED,
                BenchError::Denied(_) => DENIED,
                BenchError::Failed(_) => FAILED,
            };
            board.stop(index, kind, &format!("member {index}: {stop}"));
        }
        Err(panic) => board.fail(index, &format!("member {index} panicked: {}", panic_text(&*panic))),
    }
}

fn report(output: RoundOutput) -> String {
    protocol::write_result(&RoundResult::ok(output))
}

/// The members as the coordinator holds them; dropping them ends and reaps what is left.
enum Members {
    Processes(Vec<fork::Child>),
    Threads(Vec<std::thread::JoinHandle<()>>),
}

impl Members {
    /// The first member that has ended without saying so, and how.
    fn dead(&mut self, board: &Board) -> Option<(usize, String)> {
        match self {
            Members::Processes(children) => children.iter_mut().enumerate().find_map(|(i, child)| match child.poll() {
                Ok(Some(exit)) if board.slots[i].ended.load(SeqCst) == 0 => Some((i, exit.to_string())),
                _ => None,
            }),
            // A thread that panics has said so on the board.
            Members::Threads(_) => None,
        }
    }
}

/// Runs a benchmark as a worker group and collects what the members put on the board.
pub(crate) fn run(ins: &impl Instruments, bench: &Benchmark, job: &Job) -> Result<Samples, BenchError> {
    run_within(ins, bench, job, PATIENCE + PATIENCE_EACH * job.workers)
}

/// As [`run`]; no phase but the measurement itself may last longer than `patience`.
fn run_within(ins: &impl Instruments, bench: &Benchmark, job: &Job, patience: Duration) -> Result<Samples, BenchError> {
    let cpus = affinity::allowed().map_err(|e| BenchError::from_io("reading the allowed CPUs", &e))?.len() as u32;
    let pinned = !job.cpus.is_empty();
    if let Some(why) = affinity::refused().filter(|_| pinned) {
        return Err(BenchError::from_io("pinning the members to CPUs (sched_setaffinity)", &why));
    }
    let timetable = Timetable::new(job.workers, cpus, pinned, job.host.timeslice_ns, job.time_limit_ns);
    let board =
        Arc::new(Board::new(job.workers).map_err(|e| BenchError::from_io("shared memory for the worker group", &e))?);

    let host = ins.host();
    let spawned = Monotonic.now_ns();
    let mut group = start(&board, bench, job, timetable)?;
    let started = (Monotonic.now_ns(), counters::thread_cpu_ns());
    let outcome = coordinate(&board, &mut group, timetable, patience);
    let coordinator = (counters::thread_cpu_ns() - started.1) as f64 / (Monotonic.now_ns() - started.0).max(1) as f64;
    if let Members::Threads(threads) = &mut group {
        // Threads cannot be killed: those that are still at work are let go. One that did not come
        // in time is not waited for again; it ends with the process.
        board.set_phase(STOP);
        for (thread, slot) in threads.drain(..).zip(board.slots.iter()) {
            if !matches!(outcome, Err(Missing::Late(_))) || slot.ended.load(SeqCst) != 0 {
                // A panic is already on the board.
                drop(thread.join());
            }
        }
    }
    drop(group);
    match outcome {
        Err(Missing::Stopped(stop)) => return Err(stop),
        Err(Missing::Late(why)) => return Err(BenchError::Failed(why)),
        Ok(()) => {}
    }
    let wall_ns = Monotonic.now_ns() - spawned;
    let mut samples = collect(&board, job, cpus, timetable, wall_ns)?;
    let output = &mut samples.output;
    output.facts.push(Fact::new("group.coordinator_cpu", format!("{coordinator:.4}")));
    label_host(&host, &ins.host(), &mut output.series);
    evidence::of_time(ins, &bench.info, &job.host, output);
    evidence::of_place(job, output, None);
    Ok(samples)
}

fn start(board: &Arc<Board>, bench: &Benchmark, job: &Job, timetable: Timetable) -> Result<Members, BenchError> {
    let limit = |i: u32, e: std::io::Error| -> BenchError {
        BenchError::no_task(&format!("only {i} of {} members could be started", job.workers), &e)
    };
    match job.worker_kind {
        WorkerKind::Processes => {
            let mut children = Vec::with_capacity(job.workers as usize);
            for i in 0..job.workers {
                let child = fork::fork(|| {
                    member(board, i, bench, job, timetable);
                    0
                });
                children.push(child.map_err(|e| limit(i, e))?);
            }
            Ok(Members::Processes(children))
        }
        WorkerKind::Threads => {
            let mut threads = Vec::with_capacity(job.workers as usize);
            for i in 0..job.workers {
                let (board, bench, job) = (Arc::clone(board), *bench, job.clone());
                let body = move || member(&board, i, &bench, &job, timetable);
                match thread::spawn(THREAD_STACK, body) {
                    Ok(thread) => threads.push(thread),
                    // The threads that are parked end with the process, which has nothing else to
                    // do.
                    Err(e) => return Err(limit(i, e)),
                }
            }
            Ok(Members::Threads(threads))
        }
    }
}

/// Why a worker group did not come together.
enum Missing {
    /// A member failed or died.
    Stopped(BenchError),
    /// A member neither came nor ended in time.
    Late(String),
}

fn coordinate(board: &Board, group: &mut Members, timetable: Timetable, patience: Duration) -> Result<(), Missing> {
    let members = board.slots.len() as u32;
    // Waits until the word counts all members, for `extra_ns` longer than the general limit.
    let mut until = |word: &Word, phase: &str, extra_ns: u64| -> Result<(), Missing> {
        let start = Monotonic.now_ns();
        let limit = patience.as_nanos() as u64 + extra_ns;
        let failed = || board.head().failure.load(SeqCst) != 0;
        word.wait_until(
            |seen| failed() || seen >= members,
            || {
                if let Some((index, how)) = group.dead(board) {
                    let why = format!("member {index} of the worker group {how}");
                    return Err(Missing::Stopped(BenchError::Failed(why)));
                }
                if Monotonic.now_ns().saturating_sub(start) > limit {
                    let missing = members - word.load(SeqCst);
                    let why = format!("{missing} of {members} members of the worker group have not {phase} in time");
                    return Err(Missing::Late(why));
                }
                Ok(())
            },
        )?;
        if failed() { Err(Missing::Stopped(board.reason())) } else { Ok(()) }
    };
    // A measurement lasts as long as its intervals do, and more where members wait for a CPU.
    let measuring_ns = u64::from(timetable.intervals.max(1)) * timetable.interval_ns * 4;
    let head = board.head();
    until(&head.ready, "come", 0)?;
    board.set_phase(WARM);
    until(&head.started, "started", 0)?;
    std::thread::sleep(Duration::from_nanos(timetable.warm_ns));
    board.set_phase(MEASURE);
    until(&head.done, "taken their samples", measuring_ns)?;
    board.set_phase(STOP);
    until(&head.ended, "ended", 0)
}

/// The span in which every member was provably at work, as the members stamped it.
fn common_span(slots: &[Slot]) -> (u64, u64) {
    let first = slots.iter().map(|s| s.first.load(SeqCst)).max().unwrap_or(0);
    let last = slots.iter().map(|s| s.last.load(SeqCst)).min().unwrap_or(0);
    (first, last)
}

fn collect(board: &Board, job: &Job, cpus: u32, timetable: Timetable, wall_ns: u64) -> Result<Samples, BenchError> {
    let report = protocol::read_result(&board.head().report.read())
        .map_err(|e| BenchError::Failed(format!("the worker group's report cannot be read: {e}")))?;
    let mut samples = Samples { output: report.output, ..Samples::default() };
    let output = &mut samples.output;
    let (first, last) = common_span(&board.slots);
    // The rest of its time is set-up.
    output.phases.add(Phase::WarmUp, timetable.warm_ns);
    output.phases.add(Phase::Sampling, last.saturating_sub(first).saturating_sub(timetable.warm_ns));
    let mut worst_margin = i64::MAX;
    // The sample with its margin, and the label where that is negative.
    let mut bounded = |taken: &MemberSample| {
        let mut sample = taken.sample;
        let margin = (sample.t0_ns as i64 - first as i64).min(last as i64 - taken.t1_ns as i64);
        worst_margin = worst_margin.min(margin);
        sample.margin_ns = Some(margin);
        if margin < 0 {
            sample.labels.add(Label::Overlap);
        }
        sample
    };
    let (mut on_cpu, mut wall, mut timed) = (0u64, 0u64, 0u64);
    for (worker, slot) in (0..).zip(board.slots.iter()) {
        samples.iterations += slot.iterations.load(SeqCst);
        let read = |slots: &[SlotSample], n| slots[..n].iter().map(|slot| slot.read(worker)).collect::<Vec<_>>();
        let intervals = read(&slot.samples, slot.count.load(SeqCst) as usize);
        let mut singles = read(board.samples_of(worker), slot.kept.load(SeqCst) as usize);
        singles.sort_by_key(|taken| taken.sample.t0_ns);
        for taken in intervals {
            let sample = bounded(&taken);
            let wall_ns = taken.t1_ns.saturating_sub(sample.t0_ns);
            on_cpu += sample.cpu_ns;
            wall += wall_ns;
            timed += sample.elapsed_ns;
            let Sample { t0_ns, iters, elapsed_ns: timed_ns, labels, .. } = sample;
            let series = series(output, &taken)?;
            series.spans.push(Span { worker, t0_ns, wall_ns, timed_ns, iters, labels });
            if singles.is_empty() {
                series.samples.push(sample);
            }
        }
        for taken in singles {
            let sample = bounded(&taken);
            series(output, &taken)?.samples.push(sample);
        }
    }
    let share = on_cpu as f64 / wall.max(1) as f64 * f64::from(job.workers) / f64::from(job.workers.min(cpus));
    output.facts.extend([
        Fact::new("group.interval_ns", timetable.interval_ns),
        Fact::new("group.intervals", timetable.intervals),
        Fact::new("group.on_cpu", format!("{share:.3}")),
        Fact::new("group.timed", format!("{:.3}", timed as f64 / wall.max(1) as f64)),
        Fact::new("group.margin_ns", worst_margin),
        Fact::new("group.bytes_per_member", SLOT_BYTES),
        Fact::new("group.wall_ns", wall_ns),
    ]);
    if timetable.short {
        output.remarks.push(Remark::ShortInterval);
    }
    if job.workers <= cpus && share < 0.95 {
        output.remarks.push(Remark::GroupCpuShare { percent: (share * 100.0).round() as u32 });
    }
    Ok(samples)
}

/// The series that this was taken of. Those with values were stated, before the loops or after
/// them: the board numbers the loops alone.
fn series<'o>(output: &'o mut RoundOutput, taken: &MemberSample) -> Result<&'o mut Series, BenchError> {
    let missing = || BenchError::Failed("the worker group's report names no series".to_owned());
    let mut measured = output.series.iter_mut().filter(|series| series.values.is_empty());
    measured.nth(taken.variant).ok_or_else(missing)
}

#[cfg(test)]
mod tests;
