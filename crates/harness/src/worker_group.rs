//! Several members at work at once, provably: the phases, the shared memory, and the proof of overlap.
//!
//! A start barrier does not give overlap: with 16 members on two CPUs less than half of a barrier-gated interval had all
//! members inside it, and the cost came out a fifth too good (harness-methods.md finding 8). Here every member works
//! before, during and after the measurement: PARKED (until all exist) → WARM → MEASURE → STOP, and each sample carries
//! the margin by which the whole worker group's work reached beyond it. Intervals end by the clock, never by a count, so the run
//! time does not grow with the worker group. Threads and forked processes run the same code; a member costs one slot of shared
//! memory and no descriptor.
//!
//! # Safety
//! `Header` and `Slot` consist of atomics only, so all-zero bytes are valid values of them and shared references may
//! be held by several processes.
#![expect(unsafe_code, reason = "declares that the worker group's shared structures are valid as zeroes")]

use crate::benchmark::{BenchError, Benchmark, Run};
use crate::ctx::{Ctx, Variant};
use crate::evidence;
use crate::instruments::Instruments;
use crate::model::{Fact, Job, Label, Labels, Remark, RoundOutput, RoundResult, Sample, Series, WorkerKind};
use crate::protocol;
use crate::sampler::{self, Rules, Samples, Stopwatch};
use crate::sys::clock::{Clock, Monotonic};
use crate::sys::shared::{self, Shared, Zeroed};
use crate::sys::{affinity, counters, fork, thread};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::time::Duration;

/// The most members of a worker group (harness-methods.md 3.5).
pub const MOST_MEMBERS: u32 = 4096;

/// Samples that a slot holds; with its head it fills 512 bytes, the limit of V13.
const SLOT_SAMPLES: usize = 8;
/// Words for what the first member says beside its samples: 1 MiB, of which only what is written takes memory.
const REPORT_WORDS: usize = 128 << 10;
/// Words for the reason of the first failure.
const REASON_WORDS: usize = 256;
/// The stack of a member that is a thread. 64 KiB suffice for release builds; debug builds want the double.
const THREAD_STACK: usize = 128 << 10;
/// How long the coordinator sleeps at a time; it then looks whether a member has died.
const WATCH: Duration = Duration::from_millis(20);
/// How long the coordinator waits for all members to get through a phase; the deadline of the round
/// is usually shorter, but knows no member.
const PATIENCE: Duration = Duration::from_secs(120);
/// The same for each member: in a crowded crew they get their turns one after another.
const PATIENCE_EACH: Duration = Duration::from_millis(100);

const PARKED: u32 = 0;
const WARM: u32 = 1;
const MEASURE: u32 = 2;
const STOP: u32 = 3;

const FAILED: u32 = 0;
const UNSUPPORTED: u32 = 1;
const DENIED: u32 = 2;

/// A value on lines of its own, so that counting members do not slow down those that poll the phase.
#[repr(C, align(128))]
struct Line<T>(T);

#[repr(C)]
struct Header {
    phase: Line<AtomicU32>,
    ready: Line<AtomicU32>,
    started: Line<AtomicU32>,
    done: Line<AtomicU32>,
    /// Grows when a member has ended, one way or the other.
    ended: Line<AtomicU32>,
    /// The first member that failed, plus 1; 0 for nobody. It alone writes the reason.
    failure: Line<AtomicU32>,
    /// What kind of end the first failure is: [`FAILED`], [`UNSUPPORTED`], [`DENIED`].
    kind: Line<AtomicU32>,
    /// Two texts, and not one for both: a member that fails while the first one reports would write between its lines.
    report: Text<REPORT_WORDS>,
    reason: Text<REASON_WORDS>,
}

// SAFETY: atomics only (`Line` and `Text` add no other field).
unsafe impl Zeroed for Header {}

/// Text that one member writes and the coordinator reads.
#[repr(C)]
struct Text<const N: usize> {
    len: Line<AtomicU32>,
    words: [AtomicU64; N],
}

impl<const N: usize> Text<N> {
    /// Puts text on the board, cut to what fits.
    fn write(&self, text: &str) {
        let mut end = text.len().min(N * 8);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        for (word, bytes) in self.words.iter().zip(text.as_bytes()[..end].chunks(8)) {
            let mut raw = [0; 8];
            raw[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_le_bytes(raw), Relaxed);
        }
        self.len.0.store(end as u32, SeqCst);
    }

    fn read(&self) -> String {
        let len = self.len.0.load(SeqCst) as usize;
        let bytes: Vec<u8> = self.words.iter().flat_map(|w| w.load(Relaxed).to_le_bytes()).take(len).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[repr(C)]
struct SlotSample {
    t0: AtomicU64,
    t1: AtomicU64,
    elapsed: AtomicU64,
    iters: AtomicU64,
    cpu_ns: AtomicU64,
    /// CPU in the upper half, then labels, then the variant.
    tags: AtomicU64,
}

/// What one member shares: 64 bytes of head and the samples.
#[repr(C, align(128))]
struct Slot {
    /// The end of the first complete batch.
    first: AtomicU64,
    /// The end of one more complete batch after STOP was seen.
    last: AtomicU64,
    count: AtomicU32,
    /// 0 while it runs, 1 when it ended well, 2 when it did not.
    ended: AtomicU32,
    iterations: AtomicU64,
    reserved: [AtomicU64; 4],
    samples: [SlotSample; SLOT_SAMPLES],
}

// SAFETY: atomics only.
unsafe impl Zeroed for Slot {}

/// Bytes of shared memory for each member (V13: at most 512).
pub const SLOT_BYTES: usize = size_of::<Slot>();

/// The memory of a worker group.
pub(crate) struct Board {
    header: Shared<Header>,
    slots: Shared<Slot>,
}

impl Board {
    fn new(members: u32) -> std::io::Result<Board> {
        Ok(Board { header: Shared::new(1)?, slots: Shared::new(members as usize)? })
    }

    fn head(&self) -> &Header {
        &self.header[0]
    }

    /// Says why member `index` failed, if nobody has failed before.
    fn fail(&self, index: u32, reason: &str) {
        self.stop(index, FAILED, reason);
    }

    /// The same, for whatever kind of end.
    fn stop(&self, index: u32, kind: u32, reason: &str) {
        if self.head().failure.0.compare_exchange(0, index + 1, SeqCst, SeqCst).is_ok() {
            self.head().kind.0.store(kind, SeqCst);
            self.head().reason.write(reason);
        }
        self.end(index, 2);
    }

    /// Says that a member has ended, well (1) or not (2).
    fn end(&self, index: u32, how: u32) {
        self.slots[index as usize].ended.store(how, SeqCst);
        self.head().ended.0.fetch_add(1, SeqCst);
        shared::wake(&self.head().ended.0);
    }

    /// Why the worker group ended, as its first member to fail has said.
    fn reason(&self) -> BenchError {
        // A failure is announced before its words are there.
        let index = self.head().failure.0.load(SeqCst).saturating_sub(1) as usize;
        for _ in 0..1000 {
            if self.slots[index].ended.load(SeqCst) != 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let text = self.head().reason.read();
        match self.head().kind.0.load(SeqCst) {
            UNSUPPORTED => BenchError::Unsupported(text),
            DENIED => BenchError::Denied(text),
            _ => BenchError::Failed(text),
        }
    }

    fn phase(&self) -> u32 {
        self.head().phase.0.load(Relaxed)
    }

    fn set_phase(&self, phase: u32) {
        self.head().phase.0.store(phase, SeqCst);
        shared::wake(&self.head().phase.0);
    }
}

/// How a worker group of this size is timed (harness-methods.md 3.4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timetable {
    /// The length of an interval, in nanoseconds.
    pub interval_ns: u64,
    /// Intervals of each member.
    pub intervals: u32,
    /// The warm-up after everybody has started, in nanoseconds.
    pub warm_ns: u64,
    /// The interval is shorter than the rule wants.
    pub short: bool,
}

/// The longest interval (3.4).
const LONGEST_NS: u64 = 30_000_000_000;

impl Timetable {
    /// The timetable for `members` on `cpus` CPUs with at most `time_limit_ns` for all intervals.
    pub fn new(members: u32, cpus: u32, pinned: bool, timeslice_ns: f64, time_limit_ns: u64) -> Timetable {
        let turns = u64::from(members.div_ceil(cpus.max(1)));
        let (want, warm_ns) = if members > cpus {
            ((10 * turns * timeslice_ns as u64).max(1_000_000_000), 0)
        } else if pinned {
            (20_000_000, 10_000_000)
        } else {
            (100_000_000, 250_000_000)
        };
        let want = want.min(LONGEST_NS);
        // One interval at least, and never shorter than 20 ms, whatever the box says.
        let interval_ns = want.min(time_limit_ns.max(20_000_000));
        let intervals = (time_limit_ns / interval_ns).clamp(1, SLOT_SAMPLES as u64) as u32;
        Timetable { interval_ns, intervals, warm_ns, short: interval_ns < want }
    }
}

/// One member's side of a worker group.
pub(crate) struct Member<'b> {
    board: &'b Board,
    index: u32,
    timetable: Timetable,
    measured: bool,
}

impl Member<'_> {
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// Works through the phases and puts the samples on the board.
    pub(crate) fn measure(
        &mut self,
        ins: &impl Instruments,
        rules: &Rules,
        variants: &mut [Variant<'_>],
    ) -> Result<(Vec<Series>, u64), BenchError> {
        if self.measured {
            return Err(BenchError::Failed("a member of a worker group measures once a round".to_owned()));
        }
        self.measured = true;
        let slot = &self.board.slots[self.index as usize];
        let head = self.board.head();
        let mut total = 0;

        // A batch is at most a hundredth of the interval, so that the phase is polled often enough (3.5).
        let batch_ns = (self.timetable.interval_ns as f64 / 100.0).clamp(20_000.0, 500_000.0);
        let mut batches = Vec::with_capacity(variants.len());
        for variant in variants.iter_mut() {
            batches.push(sampler::batch(ins, variant, batch_ns, &mut total)?);
        }

        head.ready.0.fetch_add(1, SeqCst);
        shared::wake(&head.ready.0);
        while self.board.phase() == PARKED {
            shared::wait(&head.phase.0, PARKED, None);
        }

        let mut turn = 0;
        let mut run_batch = |variants: &mut [Variant<'_>], variant: usize| -> Result<(u64, u64), BenchError> {
            let mut watch = Stopwatch::new(ins);
            (variants[variant].body)(batches[variant], &mut watch)?;
            variants[variant].done += batches[variant];
            total += batches[variant];
            Ok((watch.elapsed(), batches[variant]))
        };
        run_batch(variants, 0)?;
        slot.first.store(ins.now_ns(), SeqCst);
        head.started.0.fetch_add(1, SeqCst);
        shared::wake(&head.started.0);
        while self.board.phase() == WARM {
            run_batch(variants, 0)?;
        }

        // Every variant has an interval, even where the box holds only one.
        let intervals = (self.timetable.intervals as usize).max(variants.len()).min(SLOT_SAMPLES);
        for k in 0..intervals {
            let variant = turn % variants.len();
            turn += 1;
            let before = ins.reading();
            let t0 = ins.now_ns();
            let (mut elapsed, mut iters) = (0, 0);
            let mut t1 = t0;
            while t1.saturating_sub(t0) < self.timetable.interval_ns && self.board.phase() < STOP {
                let (e, n) = run_batch(variants, variant)?;
                elapsed += e;
                iters += n;
                t1 = ins.now_ns();
            }
            let after = ins.reading();
            let labels = sampler::label(&before, &after, rules);
            let place = &slot.samples[k];
            place.t0.store(t0, Relaxed);
            place.t1.store(t1, Relaxed);
            place.elapsed.store(elapsed, Relaxed);
            place.iters.store(iters, Relaxed);
            place.cpu_ns.store(after.cpu_ns.saturating_sub(before.cpu_ns), Relaxed);
            place.tags.store(u64::from(after.cpu) << 32 | u64::from(labels.0) << 16 | variant as u64, Relaxed);
            slot.count.store(k as u32 + 1, SeqCst);
        }
        head.done.0.fetch_add(1, SeqCst);
        shared::wake(&head.done.0);
        while self.board.phase() < STOP {
            run_batch(variants, 0)?;
        }
        // One more complete batch after STOP was seen: leaving it out broke the proof for 19 of 2048 samples (3.5).
        run_batch(variants, 0)?;
        slot.last.store(ins.now_ns(), SeqCst);
        slot.iterations.store(total, SeqCst);

        let series = variants
            .iter()
            .zip(&batches)
            .map(|(variant, &iters)| Series {
                name: variant.name.to_owned(),
                iters,
                per_iter: variant.per_iter,
                samples: Vec::new(),
                values: Vec::new(),
            })
            .collect();
        Ok((series, total))
    }
}

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
        Err(panic) => board.fail(index, &format!("member {index} panicked: {}", crate::worker::panic_text(&*panic))),
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
    sampler::label_host(&host, &ins.host(), &mut output.series);
    evidence::of_time(ins, &bench.info, &job.host, output);
    evidence::of_place(job, output, None);
    Ok(samples)
}

fn start(board: &Arc<Board>, bench: &Benchmark, job: &Job, timetable: Timetable) -> Result<Members, BenchError> {
    let limit = |i: u32, e: std::io::Error| {
        let why = format!("only {i} of {} members could be started: {e} (a limit on tasks or memory)", job.workers);
        if e.raw_os_error() == Some(11) { BenchError::Denied(why) } else { BenchError::Failed(why) }
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
                    // The threads that are parked end with the process, which has nothing else to do.
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
    let mut until = |word: &AtomicU32, phase: &str, extra_ns: u64| -> Result<(), Missing> {
        let start = Monotonic.now_ns();
        let mut looked = 0;
        let limit = patience.as_nanos() as u64 + extra_ns;
        loop {
            let seen = word.load(SeqCst);
            if board.head().failure.0.load(SeqCst) != 0 {
                return Err(Missing::Stopped(board.reason()));
            }
            if seen >= members {
                return Ok(());
            }
            let now = Monotonic.now_ns();
            // Not at each wake-up: of N members each causes one, and asking after all of them takes N calls.
            if now.saturating_sub(looked) >= WATCH.as_nanos() as u64 {
                looked = now;
                if let Some((index, how)) = group.dead(board) {
                    return Err(Missing::Stopped(BenchError::Failed(format!(
                        "member {index} of the worker group {how}"
                    ))));
                }
            }
            if now.saturating_sub(start) > limit {
                let why =
                    format!("{} of {members} members of the worker group have not {phase} in time", members - seen);
                return Err(Missing::Late(why));
            }
            shared::wait(word, seen, Some(WATCH));
        }
    };
    // A measurement lasts as long as its intervals do, and more where members wait for a CPU.
    let measuring_ns = u64::from(timetable.intervals.max(1)) * timetable.interval_ns * 4;
    let head = board.head();
    until(&head.ready.0, "come", 0)?;
    board.set_phase(WARM);
    until(&head.started.0, "started", 0)?;
    std::thread::sleep(Duration::from_nanos(timetable.warm_ns));
    board.set_phase(MEASURE);
    until(&head.done.0, "taken their samples", measuring_ns)?;
    board.set_phase(STOP);
    until(&head.ended.0, "ended", 0)
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
    let (mut on_cpu, mut wall, mut worst_margin) = (0u64, 0u64, i64::MAX);
    for (index, slot) in board.slots.iter().enumerate() {
        samples.iterations += slot.iterations.load(SeqCst);
        for place in &slot.samples[..slot.count.load(SeqCst) as usize] {
            let (t0_ns, t1) = (place.t0.load(Relaxed), place.t1.load(Relaxed));
            let tags = place.tags.load(Relaxed);
            let margin = (t0_ns as i64 - first as i64).min(last as i64 - t1 as i64);
            let mut labels = Labels((tags >> 16) as u16);
            if margin < 0 {
                labels.add(Label::Overlap);
            }
            worst_margin = worst_margin.min(margin);
            let cpu_ns = place.cpu_ns.load(Relaxed);
            on_cpu += cpu_ns;
            wall += t1 - t0_ns;
            let sample = Sample {
                worker: index as u32,
                cpu: (tags >> 32) as u32,
                t0_ns,
                elapsed_ns: place.elapsed.load(Relaxed),
                iters: place.iters.load(Relaxed),
                cpu_ns,
                labels,
                margin_ns: Some(margin),
            };
            let variant = (tags & 0xffff) as usize;
            match output.series.get_mut(variant) {
                Some(series) => series.samples.push(sample),
                None => return Err(BenchError::Failed("the worker group's report names no series".to_owned())),
            }
        }
    }
    let share = on_cpu as f64 / wall.max(1) as f64 * f64::from(job.workers) / f64::from(job.workers.min(cpus));
    output.facts.extend([
        Fact::new("group.interval_ns", timetable.interval_ns),
        Fact::new("group.intervals", timetable.intervals),
        Fact::new("group.on_cpu", format!("{share:.3}")),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Host, Params, Placement};

    #[test]
    fn a_member_costs_one_slot_of_512_bytes() {
        const { assert!(SLOT_BYTES <= 512) };
        let (small, large) = (Board::new(2).expect("memory"), Board::new(MOST_MEMBERS).expect("memory"));
        assert!(large.slots.bytes() - small.slots.bytes() <= 512 * MOST_MEMBERS as usize);
        assert_eq!(small.header.bytes(), large.header.bytes());
    }

    #[test]
    fn intervals_follow_the_rule_of_the_worker_group() {
        let second = 1_000_000_000;
        // As many CPUs as members: pinned ones need less.
        assert_eq!(
            Timetable::new(2, 2, true, 4e6, second),
            Timetable { interval_ns: 20_000_000, intervals: 8, warm_ns: 10_000_000, short: false }
        );
        assert_eq!(Timetable::new(2, 2, false, 4e6, second).interval_ns, 100_000_000);
        // More members than CPUs: ten turns of the scheduler, a second at least, 30 s at most, and the box above all.
        assert_eq!(Timetable::new(4, 2, false, 4e6, 5 * second).interval_ns, second);
        assert_eq!(Timetable::new(64, 2, false, 4e6, 5 * second).interval_ns, 1_280_000_000);
        assert_eq!(Timetable::new(4096, 1, false, 4e6, 100 * second).interval_ns, LONGEST_NS);
        let cut = Timetable::new(64, 2, false, 4e6, second / 10);
        assert_eq!((cut.interval_ns, cut.intervals, cut.short), (100_000_000, 1, true));
        assert_eq!(Timetable::new(64, 2, false, 4e6, 0).interval_ns, 20_000_000);
    }

    fn job(workers: u32) -> Job {
        Job {
            id: String::new(),
            params: Params::default(),
            placement: Placement::Free,
            cpus: Vec::new(),
            workers,
            worker_kind: WorkerKind::Processes,
            round: 0,
            seed: 0,
            intervals: 1,
            time_limit_ns: 0,
            warm_ns: 0,
            frozen: Vec::new(),
            work_dir: None,
            remote: None,
            host: Host {
                clock_step_ns: 1.0,
                clock_cost_ns: 20.0,
                timeslice_ns: 4e6,
                timeslice_assumed: true,
                interval_ns: 2e5,
                proportionality: None,
                counter_hz: None,
            },
        }
    }

    /// What the first member reports where its one series has samples on the board.
    fn one_series() -> RoundOutput {
        let series = vec![Series { per_iter: 1.0, iters: 1, ..Series::default() }];
        RoundOutput { series, ..RoundOutput::default() }
    }

    /// V12: every breach of the overlap is labelled, and nothing else is.
    #[test]
    fn samples_outside_the_common_span_are_labelled() {
        let board = Board::new(2).expect("memory");
        board.head().report.write(&report(one_series()));
        for (slot, (first, last)) in board.slots.iter().zip([(100, 1000), (150, 900)]) {
            slot.first.store(first, SeqCst);
            slot.last.store(last, SeqCst);
            // Just inside, one step too early, one step too late.
            for (place, (t0, t1)) in slot.samples.iter().zip([(150, 900), (149, 500), (500, 901)]) {
                place.t0.store(t0, SeqCst);
                place.t1.store(t1, SeqCst);
                place.elapsed.store(t1 - t0, SeqCst);
                place.iters.store(1, SeqCst);
            }
            slot.count.store(3, SeqCst);
        }
        let said = collect(&board, &job(2), 2, Timetable::new(2, 2, true, 4e6, 0), 1).expect("a report");
        let seen: Vec<(i64, bool)> = said.output.series[0]
            .samples
            .iter()
            .map(|s| (s.margin_ns.expect("a worker group's sample"), s.labels.has(Label::Overlap)))
            .collect();
        assert_eq!(seen, [(0, false), (-1, true), (-1, true), (0, false), (-1, true), (-1, true)]);
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        let board = Board::new(1).expect("memory");
        let text = &board.head().reason;
        assert_eq!(text.read(), "");
        for said in ["x", "eight888", "nine99999", "zwölf"] {
            text.write(said);
            assert_eq!(text.read(), said);
        }
        let long = "ö".repeat(REASON_WORDS * 4 + 9);
        text.write(&long);
        assert_eq!(text.read(), "ö".repeat(REASON_WORDS * 4));
        text.write(&format!("x{long}"));
        assert_eq!(text.read(), format!("x{}", "ö".repeat(REASON_WORDS * 4 - 1)));
    }

    #[test]
    fn only_the_first_failure_is_told() {
        let board = Board::new(4).expect("memory");
        board.stop(2, DENIED, "no");
        board.stop(1, UNSUPPORTED, "not here");
        board.fail(3, "it broke");
        assert_eq!(board.reason(), BenchError::Denied("no".to_owned()));
        let ended: Vec<u32> = board.slots.iter().map(|s| s.ended.load(SeqCst)).collect();
        assert_eq!(ended, [0, 2, 2, 2]);
        assert_eq!(board.head().ended.0.load(SeqCst), 3);
        for (kind, stop) in
            [(UNSUPPORTED, BenchError::Unsupported("x".into())), (FAILED, BenchError::Failed("x".into()))]
        {
            let board = Board::new(1).expect("memory");
            board.stop(0, kind, "x");
            assert_eq!(board.reason(), stop);
        }
    }

    #[test]
    fn members_have_random_numbers_of_their_own() {
        static INFO: crate::model::Info = crate::model::Info::new("test.random");
        let board = Board::new(4).expect("memory");
        let first = |seed: u64, index: Option<u32>| {
            let job = Job { seed, ..job(4) };
            let timetable = Timetable::new(4, 4, true, 4e6, 0);
            let member = index.map(|index| Member { board: &board, index, timetable, measured: false });
            Ctx::new(&job, &INFO, member).rng().next_u64()
        };
        let mut all: Vec<u64> = [None, Some(0), Some(1), Some(2), Some(3)].map(|m| first(1, m)).to_vec();
        all.extend([None, Some(0), Some(1)].map(|m| first(2, m)));
        let distinct: std::collections::BTreeSet<u64> = all.iter().copied().collect();
        assert_eq!(distinct.len(), all.len(), "{all:?}");
        assert_eq!(all[2], first(1, Some(1)), "the same seed gives the same numbers");
    }

    /// Everything real but the host, which steals whenever it is looked at.
    struct Stealing(std::cell::Cell<u64>, u64);

    impl Clock for Stealing {
        fn now_ns(&self) -> u64 {
            Monotonic.now_ns()
        }
    }

    impl Instruments for Stealing {
        fn reading(&self) -> crate::instruments::Reading {
            crate::instruments::Real.reading()
        }

        fn chain_ns(&self, ops: u64) -> u64 {
            crate::instruments::Real.chain_ns(ops)
        }

        fn kernel_entry_ns(&self) -> f64 {
            crate::instruments::Real.kernel_entry_ns()
        }

        fn host(&self) -> crate::sys::facts::HostCounters {
            self.0.set(self.0.get() + self.1);
            crate::sys::facts::HostCounters { steal_ticks: Some(self.0.get()), ..Default::default() }
        }
    }

    static CHAIN: Benchmark = Benchmark {
        info: crate::model::Info::new("cpu.chain"),
        run: Run::Here(|ctx| {
            ctx.measure(|iters| {
                crate::sys::arch::add_chain(iters * 64);
                Ok(())
            })
        }),
    };

    #[test]
    fn steal_labels_the_samples_of_a_worker_group() {
        for (ticks, labelled) in [(1, true), (0, false)] {
            let ins = Stealing(std::cell::Cell::new(100), ticks);
            let said = run(&ins, &CHAIN, &job(2)).expect("a worker group");
            let samples = &said.output.series[0].samples;
            assert!(
                !samples.is_empty() && samples.iter().all(|s| s.labels.has(Label::Host) == labelled),
                "{samples:?}"
            );
        }
    }

    /// Its member 1 comes only after a minute, or not at all.
    static MISSING: Benchmark = Benchmark {
        info: crate::model::Info::new("cpu.missing"),
        run: Run::Here(|ctx| {
            if ctx.member() == 1 {
                std::thread::sleep(Duration::from_secs(60));
            }
            ctx.measure(|iters| {
                crate::sys::arch::add_chain(iters * 64);
                Ok(())
            })
        }),
    };

    #[test]
    fn a_member_that_does_not_come_is_not_waited_for_for_ever() {
        let began = std::time::Instant::now();
        for group in [WorkerKind::Processes, WorkerKind::Threads] {
            let job = Job { worker_kind: group, ..job(3) };
            let patience = Duration::from_millis(300);
            let ins = crate::instruments::Real;
            let late = run_within(&ins, &MISSING, &job, patience).err();
            let Some(BenchError::Failed(why)) = late else { panic!("{group:?}: {late:?}") };
            // How many had come by then is up to the machine; one never does.
            assert!(why.ends_with(" of 3 members of the worker group have not come in time"), "{why}");
        }
        assert!(began.elapsed() < Duration::from_secs(50), "it waited for the member");
    }

    /// Two loops, and everything that a member can say.
    static SAYS: Benchmark = Benchmark {
        info: crate::model::Info::new("cpu.says"),
        run: Run::Here(|ctx| {
            let did = std::cell::Cell::new(0);
            let chain = |iters: u64| {
                did.set(did.get() + iters);
                crate::sys::arch::add_chain(iters * 64);
                Ok(())
            };
            ctx.measure_variants(&mut [Variant::new("a", chain).per_iter(64.0), Variant::new("b", chain)])?;
            assert_eq!((ctx.iterations(), ctx.workers()), (did.get(), 3));
            ctx.prove("moons of the Earth", "1", 1.0, 1.0..=1.0);
            ctx.fact("member", ctx.member());
            ctx.note("said by one");
            ctx.state_as("stated", 7.0);
            Ok(())
        }),
    };

    #[test]
    fn a_worker_group_is_where_it_was_placed_at_work_throughout_and_speaks_by_its_first_member() {
        let cpus = affinity::allowed().expect("the CPUs that are allowed");
        for group in [WorkerKind::Processes, WorkerKind::Threads] {
            let job = Job { worker_kind: group, placement: Placement::Compact, cpus: cpus.clone(), ..job(3) };
            let said = run(&crate::instruments::Real, &SAYS, &job).expect("a worker group");
            let names: Vec<_> =
                said.output.series.iter().map(|s| (s.name.as_str(), s.per_iter, s.values.as_slice())).collect();
            assert_eq!(names, [("a", 64.0, &[][..]), ("b", 1.0, &[]), ("stated", 1.0, &[7.0])], "{group:?}");
            let mut all = 0;
            for series in &said.output.series[..2] {
                for member in 0..3 {
                    let own: Vec<_> = series.samples.iter().filter(|s| s.worker == member).collect();
                    assert!(!own.is_empty(), "{group:?}: member {member} of {}", series.name);
                    for sample in own {
                        assert_eq!(sample.cpu, cpus[member as usize % cpus.len()], "{group:?}");
                        assert!(sample.iters > 0 && sample.elapsed_ns > 0 && sample.t0_ns > 0);
                        assert!(
                            sample.margin_ns.is_some_and(|m| m >= 0) && !sample.labels.has(Label::Overlap),
                            "{sample:?}"
                        );
                        all += sample.iters;
                    }
                }
            }
            assert!(said.iterations > all, "the batches between the samples count as well");
            assert_eq!(
                said.output.facts.iter().filter(|f| f.key == "member").map(|f| f.value.as_str()).collect::<Vec<_>>(),
                ["0"]
            );
            assert!(said.output.remarks.contains(&Remark::Note("said by one".to_owned())));
            let holds = |name: &str| said.output.proofs.iter().filter(|p| p.name == name && p.holds).count();
            assert_eq!((holds("moons of the Earth"), holds(evidence::ON_CPU), holds(evidence::POSSIBLE)), (1, 1, 1));
            let coordinator =
                said.output.facts.iter().find(|f| f.key == "group.coordinator_cpu").and_then(|f| f.value.parse().ok());
            assert!(coordinator.is_some_and(|share: f64| (0.0..=1.0).contains(&share)), "{coordinator:?}");
        }
    }

    #[test]
    fn what_a_worker_group_had_of_its_cpus_is_told() {
        let shares = |workers: u32, cpus: u32, cpu_ns: u64| {
            let board = Board::new(workers).expect("memory");
            board.head().report.write(&report(one_series()));
            for slot in board.slots.iter() {
                slot.last.store(10_000, SeqCst);
                slot.iterations.store(11, SeqCst);
                slot.count.store(1, SeqCst);
                slot.samples[0].t0.store(1_000, SeqCst);
                slot.samples[0].t1.store(2_000, SeqCst);
                slot.samples[0].cpu_ns.store(cpu_ns, SeqCst);
            }
            let said = collect(&board, &job(workers), cpus, Timetable::new(workers, cpus, true, 4e6, 0), 55);
            let said = said.expect("a report");
            let fact = |key: &str| {
                said.output.facts.iter().find(|f| f.key == key).map(|f| f.value.clone()).unwrap_or_default()
            };
            assert_eq!((fact("group.wall_ns"), fact("group.margin_ns")), ("55".to_owned(), "1000".to_owned()));
            assert_eq!(said.iterations, 11 * u64::from(workers));
            (fact("group.on_cpu"), said.output.remarks.iter().any(|r| matches!(r, Remark::GroupCpuShare { .. })))
        };
        assert_eq!(shares(2, 2, 1_000), ("1.000".to_owned(), false));
        assert_eq!(shares(2, 2, 951), ("0.951".to_owned(), false));
        assert_eq!(shares(2, 2, 940), ("0.940".to_owned(), true));
        // Of four on two CPUs each has a half at best, and nobody is surprised at less.
        assert_eq!(shares(4, 2, 500), ("1.000".to_owned(), false));
        assert_eq!(shares(4, 2, 250), ("0.500".to_owned(), false));
    }

    /// Everything real but the counters: the kernel takes the CPU, which is the fifth, away from each interval.
    struct Preempting(std::cell::Cell<u64>);

    impl Clock for Preempting {
        fn now_ns(&self) -> u64 {
            Monotonic.now_ns()
        }
    }

    impl Instruments for Preempting {
        fn reading(&self) -> crate::instruments::Reading {
            self.0.set(self.0.get() + 1);
            let mut reading = crate::instruments::Reading { now_ns: self.now_ns(), cpu: 5, ..Default::default() };
            reading.usage.involuntary = self.0.get();
            reading
        }

        fn chain_ns(&self, ops: u64) -> u64 {
            crate::instruments::Real.chain_ns(ops)
        }

        fn kernel_entry_ns(&self) -> f64 {
            crate::instruments::Real.kernel_entry_ns()
        }

        fn host(&self) -> crate::sys::facts::HostCounters {
            Default::default()
        }
    }

    /// What a member sees of its samples comes out of the shared memory again: labels, CPU, variant, iterations.
    #[test]
    fn labels_of_a_member_reach_the_coordinator() {
        let board = Board::new(1).expect("memory");
        let timetable = Timetable { interval_ns: 200_000, intervals: 4, warm_ns: 0, short: false };
        let mut member = Member { board: &board, index: 0, timetable, measured: false };
        let rules = Rules {
            timing: crate::model::Timing::Batched,
            interval_ns: 2e5,
            intervals: 1,
            time_limit_ns: 0,
            warm_ns: 0,
            drops: Labels::NONE,
            faults_expected: false,
            blocks: false,
            tasks: false,
            counter_hz: None,
        };
        // Nobody else is there: the loop itself ends the measurement once its samples are taken.
        board.set_phase(MEASURE);
        let did = std::cell::Cell::new(0);
        let chain = |iters: u64| {
            did.set(did.get() + iters);
            if board.head().done.0.load(SeqCst) == 1 {
                board.set_phase(STOP);
            }
            crate::sys::arch::add_chain(iters * 64);
            Ok(())
        };
        let mut variants = [Variant::new("a", chain), Variant::new("b", chain)];
        let ins = Preempting(std::cell::Cell::new(0));
        let (series, total) = member.measure(&ins, &rules, &mut variants).expect("samples");
        let again = member.measure(&ins, &rules, &mut variants).map(|_| ());
        assert!(matches!(again, Err(BenchError::Failed(why)) if why.contains("once a round")));
        assert_eq!(total, did.get());

        board.head().report.write(&report(RoundOutput { series, ..RoundOutput::default() }));
        let said = collect(&board, &job(1), 1, timetable, 1).expect("a report");
        assert_eq!(said.iterations, total);
        assert_eq!(
            said.output.series.iter().map(|s| (s.name.as_str(), s.samples.len())).collect::<Vec<_>>(),
            [("a", 2), ("b", 2)]
        );
        for sample in said.output.series.iter().flat_map(|s| &s.samples) {
            assert_eq!((sample.labels, sample.cpu), (Labels::of(&[Label::Preempted]), 5), "{sample:?}");
            assert!(sample.iters > 0 && sample.elapsed_ns > 0 && sample.margin_ns.is_some_and(|m| m >= 0));
        }
    }

    #[test]
    fn the_words_of_a_failure_are_waited_for() {
        let board = Board::new(2).expect("memory");
        // Announced, and not yet said.
        board.head().failure.0.store(2, SeqCst);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // Time for a reader that does not wait to be wrong; one that waits cannot be.
                std::thread::sleep(Duration::from_millis(30));
                board.head().kind.0.store(DENIED, SeqCst);
                board.head().reason.write("no");
                board.end(1, 2);
            });
            assert_eq!(board.reason(), BenchError::Denied("no".to_owned()));
        });
        // Once it is said, nobody waits.
        let began = std::time::Instant::now();
        for _ in 0..20 {
            board.reason();
        }
        assert!(began.elapsed() < Duration::from_secs(10), "it waits a second each time");
    }

    /// What it says takes this many bytes.
    static LONG_FACT: AtomicU32 = AtomicU32::new(0);

    static TALKS: Benchmark = Benchmark {
        info: crate::model::Info::new("cpu.talks"),
        run: Run::Here(|ctx| {
            ctx.measure(|iters| {
                crate::sys::arch::add_chain(iters * 64);
                Ok(())
            })?;
            ctx.fact("long", "x".repeat(LONG_FACT.load(SeqCst) as usize));
            Ok(())
        }),
    };

    #[test]
    fn what_the_first_member_says_comes_whole_or_not_at_all() {
        let said = |bytes: u32| {
            LONG_FACT.store(bytes, SeqCst);
            run(&crate::instruments::Real, &TALKS, &job(2)).map(|samples| samples.output)
        };
        let long = said(40_000).expect("a report of 40 000 bytes");
        assert_eq!(long.fact("long").map(str::len), Some(40_000));
        let longer = said(2 << 20).map(|_| ());
        assert!(matches!(&longer, Err(BenchError::Failed(why)) if why.contains("beside its samples")), "{longer:?}");
    }

    static AT_WORK: AtomicU32 = AtomicU32::new(0);

    /// Its first member fails as soon as the others are at work, which then go on for a while.
    static ONE_FAILS: Benchmark = Benchmark {
        info: crate::model::Info::new("cpu.one_fails"),
        run: Run::Here(|ctx| {
            if ctx.member() == 0 {
                while AT_WORK.load(SeqCst) < 2 {
                    std::thread::yield_now();
                }
                return Err(BenchError::Failed("no".to_owned()));
            }
            AT_WORK.fetch_add(1, SeqCst);
            std::thread::sleep(Duration::from_millis(100));
            AT_WORK.fetch_sub(1, SeqCst);
            Ok(())
        }),
    };

    #[test]
    fn no_thread_is_at_work_any_more_when_a_failed_worker_group_is_told() {
        let job = Job { worker_kind: WorkerKind::Threads, ..job(3) };
        let failed = run(&crate::instruments::Real, &ONE_FAILS, &job).err();
        assert_eq!(failed, Some(BenchError::Failed("member 0: no".to_owned())));
        assert_eq!(AT_WORK.load(SeqCst), 0);
    }
}
