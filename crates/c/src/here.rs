//! `groma_measure_here`: one measurement in forks of a program with a `main` of its own.
//!
//! What kind of operation it is, the descriptor of a benchmark would say; here a fork of its own
//! tries it and looks at what the kernel counted: an operation that blocks, faults or makes tasks
//! must not have its samples dropped for that.
//!
//! # Safety
//! As the header says of the structures.
#![expect(unsafe_code, reason = "structures and functions of C")]

use crate::abi::{Found, Here, MAX_ROUNDS, Versioned, read, text};
use crate::call;
use crate::context::{Context, end_peers};
use crate::descriptor::leak_text;
use groma::harness::model::{Info, Interference, Placement, State};
use groma::harness::sys::counters::Usage;
use groma::harness::sys::shared::Shared;
use groma::harness::sys::{fork, io as sysio};
use groma::harness::{BenchError, Benchmark, Ctx, Outcome, Run, Stopwatch, Variant};
use groma::testing::try_failing;
use std::cell::Cell;
use std::ffi::c_int;
use std::os::fd::AsFd;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

thread_local! {
    /// What the forks of this thread measure.
    static CURRENT: Cell<Option<Here>> = const { Cell::new(None) };
    /// What the kernel counted in the intervals of a trial.
    static SEEN: Cell<Seen> = const { Cell::new(Seen { blocked: 0, faults: 0, children: 0 }) };
}

/// What was measured lives as long as the program, and here a leak detector reaches it.
static MEASURED: Mutex<Vec<&'static [&'static Benchmark]>> = Mutex::new(Vec::new());

/// Counts of the timed parts of a trial.
#[derive(Clone, Copy)]
struct Seen {
    /// How often the thread gave the CPU up, or a partner that it woke took it.
    blocked: u64,
    /// Its page faults.
    faults: u64,
    /// In how many of them it waited for a child.
    children: u64,
}

/// Rounds unless told: those of lmbench, whose interval lies between the second and the tenth.
const ROUNDS: u32 = 11;
/// How long a round samples unless told, in microseconds.
const SAMPLE_US: u64 = 25_000;

/// See `groma_measure_here` in the header.
///
/// # Safety
/// Both are null or structures of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn groma_measure_here(what: *const Here, found: *mut Found) -> c_int {
    // SAFETY: the caller's duty.
    let told = match unsafe { read(found.cast_const()) } {
        Ok(told) => told,
        Err(why) => {
            eprintln!("groma_measure_here: found: {why}");
            return EINVAL;
        }
    };
    // SAFETY: the caller's duty.
    let outcome = unsafe { read(what) }.and_then(|here| measure(&here));
    let mut answer = Found {
        size: told.size,
        ns: 0.0,
        low_ns: 0.0,
        high_ns: 0.0,
        rounds_ns: [0.0; MAX_ROUNDS],
        n_rounds: 0,
        imprecise: 0,
        not_parallel: 0,
        why: [0; 512],
    };
    let why = match outcome {
        Ok((measured, is_disturbed)) => answer.take(&measured, is_disturbed),
        Err(why) => why,
    };
    let most = answer.why.len() - 1;
    let end = (0..=why.len().min(most)).rev().find(|end| why.is_char_boundary(*end)).unwrap_or(0);
    answer.why[..end].copy_from_slice(&why.as_bytes()[..end]);
    // SAFETY: `found` has at least the bytes of the first version, which are those of `Found` now.
    unsafe { ptr::copy_nonoverlapping(ptr::from_ref(&answer).cast::<u8>(), found.cast(), Found::MIN_SIZE) };
    c_int::from(answer.ns <= 0.0)
}

/// As `<errno.h>` has it on Linux.
const EINVAL: c_int = 22;

impl Found {
    /// Takes over the values; returns why there are none, or what is wrong with them.
    fn take(&mut self, measured: &groma::Found, is_disturbed: bool) -> String {
        const NS: f64 = 1e9;
        let record = &measured.record;
        let Some(value) = record.measured_value() else {
            return format!("{}: {}", record.state.word(), record.reason);
        };
        self.ns = value * NS;
        if let Some([low, high]) = record.ci {
            (self.low_ns, self.high_ns) = (low * NS, high * NS);
        }
        for (at, value) in self.rounds_ns.iter_mut().zip(&record.round_values) {
            *at = value * NS;
            self.n_rounds += 1;
        }
        self.imprecise = c_int::from(record.flags.iter().any(|flag| flag.starts_with("imprecise")));
        self.not_parallel = c_int::from(measured.not_parallel);
        match record.state {
            _ if is_disturbed => {
                "disturbed: others had the CPU in every interval, and the time that they took is in it".to_owned()
            }
            State::Noisy => format!("noisy: {}", record.reason),
            State::Unresolved => format!("disturbed: {}", record.reason),
            _ => String::new(),
        }
    }
}

/// Measures; the second value says whether samples count in which others had the CPU.
fn measure(here: &Here) -> Result<(groma::Found, bool), String> {
    // SAFETY: the caller of `groma_measure_here` vouches for the texts.
    let (id, summary) = unsafe { (text(here.name), text(here.summary)) };
    if id.is_empty() {
        return Err("name is missing".to_owned());
    }
    if here.interval.is_none() {
        return Err("interval is missing".to_owned());
    }
    CURRENT.set(Some(*here));
    let (id, summary) = (leak_text(id), leak_text(summary));
    let found = measure_as(here, id, summary, kind()).and_then(|found| {
        let no_clean = found.record.state == State::Unresolved && found.record.samples > 0;
        if !no_clean {
            return Ok((found, false));
        }
        // Others took the CPU in every interval, or its iterations are longer than a time slice: a
        // value with their time in it, which says so, is more than none.
        let again = measure_as(here, id, summary, Interference::Blocking)?;
        Ok(if again.record.measured_value().is_some() { (again, true) } else { (found, false) })
    });
    CURRENT.set(None);
    found
}

fn measure_as(
    here: &Here,
    id: &'static str,
    summary: &'static str,
    interference: Interference,
) -> Result<groma::Found, String> {
    let info = Info {
        summary,
        iteration: "one iteration of the program's loop",
        placements: &[Placement::Free],
        interference,
        ..Info::new(id)
    };
    let benchmark: &'static Benchmark = Box::leak(Box::new(Benchmark { info, run: Run::Here(run) }));
    let benchmarks: &'static [&'static Benchmark] = Box::leak(Box::new([benchmark]));
    MEASURED.lock().unwrap_or_else(PoisonError::into_inner).push(benchmarks);
    let or = |told: u64, default: u64| if told == 0 { default } else { told };
    let wanted = groma::Here {
        benchmarks,
        members: here.members.max(1),
        rounds: or(here.rounds.into(), ROUNDS.into()).min(MAX_ROUNDS as u64) as u32,
        warm_up: Duration::from_micros(here.warm_us),
        sampling: Duration::from_micros(or(here.sample_us, SAMPLE_US)),
    };
    groma::measure_here(&wanted).map_err(|e| format!("{e:#}"))
}

/// A round: what a fork does.
fn run(ctx: &mut Ctx<'_>) -> Outcome {
    let context = Context::new(ctx);
    let outcome = steps(&context, |watch, interval| interval(watch));
    outcome.and(end_peers(&context))
}

/// The functions of the program in their order; `around` runs each interval.
fn steps(
    context: &Context<'_, '_>,
    mut around: impl FnMut(&mut Stopwatch<'_>, &dyn Fn(&mut Stopwatch<'_>) -> c_int) -> c_int,
) -> Outcome {
    let missing = || BenchError::Failed("nothing is measured here".to_owned());
    let here = CURRENT.get().ok_or_else(missing)?;
    let interval = here.interval.ok_or_else(missing)?;
    if let Some(begin) = here.begin {
        context.outcome("begin", call::step(begin, context.as_c(), here.state))?;
    }
    let mut variant = [Variant::staged("", |iters, watch| {
        let one = |watch: &mut Stopwatch<'_>| call::staged(interval, iters, here.state, ptr::from_mut(watch).cast());
        let returned = around(watch, &one);
        context.outcome("interval", returned)
    })];
    let measured = context.with(|ctx| ctx.measure_variants(&mut variant));
    // What `begin` made is undone whatever came of the intervals.
    let ended = here.end.map_or(Ok(()), |end| context.outcome("end", call::step(end, context.as_c(), here.state)));
    measured.and(ended)
}

/// Which disturbances belong to the operation, after a trial of some milliseconds in a fork. A
/// trial that fails tells nothing, and the rounds say why they fail.
fn kind() -> Interference {
    /// A fault or a switch in this share of iterations is not a disturbance.
    const OFTEN: u64 = 20;
    /// A trial takes milliseconds unless its operation takes longer.
    const PATIENCE: Duration = Duration::from_secs(5);
    static TRIAL: Benchmark = Benchmark {
        info: Info { placements: &[Placement::Free], interference: Interference::Tasks, ..Info::new("here.trial") },
        run: Run::Here(run_trial),
    };
    // Iterations, switches, faults, and intervals that waited for children.
    let Ok(told) = Shared::<AtomicU32>::new(4) else { return Interference::Tasks };
    let child = fork::fork(|| {
        // What goes wrong here goes wrong in the rounds as well, which say so.
        if let Ok(null) = std::fs::File::options().write(true).open("/dev/null") {
            let _ = [1, 2].map(|stream| sysio::redirect(null.as_fd(), stream));
        }
        let Ok(tried) = try_failing(&TRIAL, &[], None) else { return 1 };
        let seen = SEEN.get();
        let counts = [tried.iterations, seen.blocked, seen.faults, seen.children];
        told.iter().zip(counts).for_each(|(word, count)| word.store(count.min(u32::MAX.into()) as u32, SeqCst));
        0
    });
    let Ok(mut child) = child else { return Interference::Tasks };
    let begun = Instant::now();
    while matches!(child.poll(), Ok(None)) && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_micros(200));
    }
    drop(child);
    let [iterations, blocked, faults, children] = [0, 1, 2, 3].map(|i| u64::from(told[i].load(SeqCst)));
    if children > 0 || iterations == 0 {
        Interference::Tasks
    } else if blocked * OFTEN >= iterations {
        Interference::Blocking
    } else if faults * OFTEN >= iterations {
        Interference::Faults
    } else {
        Interference::Cpu
    }
}

/// A round that counts.
fn run_trial(ctx: &mut Ctx<'_>) -> Outcome {
    let context = Context::new(ctx);
    let outcome = steps(&context, |watch, interval| {
        watch.count_faults();
        // A partner on the same CPU may take it as soon as it is woken, so that this side never
        // blocks; any other task takes it for a time slice, which is a millisecond or more.
        let begun = Instant::now();
        let before = (Usage::thread(), Usage::children());
        let returned = interval(watch);
        let since = Usage::thread().since(&before.0);
        let ms = begun.elapsed().as_millis() as u64;
        let taken = if ms == 0 { since.involuntary.saturating_sub(1) } else { 0 };
        let (seen, faults) = (SEEN.get(), watch.faults());
        SEEN.set(Seen {
            blocked: seen.blocked + since.voluntary + taken,
            faults: seen.faults + faults.0 + faults.1,
            children: seen.children + u64::from(Usage::children() != before.1),
        });
        returned
    });
    outcome.and(end_peers(&context))
}
