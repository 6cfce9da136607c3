//! One round of a benchmark in C: its functions, in their order.
//!
//! # Safety
//! Functions and states come from a descriptor, for which its program vouches.
#![expect(unsafe_code, reason = "states and watches that pass through C")]

use crate::abi::{Bench, Loop, RunFn, StagedFn, StepFn, text};
use crate::call;
use crate::context::{Context, end_peers};
use crate::descriptor::{Described, leak_text};
use groma::harness::{BenchError, Benchmark, Ctx, Outcome, Run, Stopwatch, Variant};
use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;

/// A benchmark and its functions.
struct Registered {
    benchmark: &'static Benchmark,
    functions: Bench,
}

// SAFETY: its pointers are constants of the program, and its functions may be called by any thread.
unsafe impl Send for Registered {}
// SAFETY: as above.
unsafe impl Sync for Registered {}

/// Those of this program. A benchmark of the harness is a plain function, which finds its own here.
/// It also keeps what lives as long as the program in reach of a leak detector.
static REGISTERED: OnceLock<Vec<Registered>> = OnceLock::new();

/// Makes benchmarks of what was described.
pub(crate) fn register(all: Vec<Described>) -> Vec<&'static Benchmark> {
    let registered = |described: Described| {
        let benchmark = Box::leak(Box::new(Benchmark { info: described.info, run: Run::Here(run) }));
        Registered { benchmark, functions: described.bench }
    };
    let registered = REGISTERED.get_or_init(|| all.into_iter().map(registered).collect());
    registered.iter().map(|one| one.benchmark).collect()
}

/// The state of a round, which `cleanup` frees however the round ends.
struct State<'c, 'a, 'j> {
    context: &'c Context<'a, 'j>,
    at: *mut c_void,
    bench: Bench,
}

impl Drop for State<'_, '_, '_> {
    fn drop(&mut self) {
        if let Some(cleanup) = self.bench.cleanup {
            call::cleanup(cleanup, self.at);
        }
    }
}

fn run(ctx: &mut Ctx<'_>) -> Outcome {
    let all = REGISTERED.get().map_or(&[][..], Vec::as_slice);
    let own = all.iter().find(|one| one.benchmark.info.id == ctx.id());
    let Some(Registered { functions: bench, .. }) = own else {
        return Err(BenchError::Failed("the program does not hold this benchmark".to_owned()));
    };
    let context = Context::new(ctx);
    let outcome = steps(&context, bench);
    // After `cleanup`, which closes what they read from.
    outcome.and(end_peers(&context))
}

fn steps(context: &Context<'_, '_>, bench: &Bench) -> Outcome {
    let mut at = ptr::null_mut();
    if let Some(setup) = bench.setup {
        let outcome = context.outcome("setup", call::setup(setup, context.as_c(), &raw mut at));
        if outcome.is_err() && at.is_null() {
            return outcome;
        }
        let state = State { context, at, bench: *bench };
        outcome?;
        return state.measure();
    }
    State { context, at, bench: *bench }.measure()
}

impl State<'_, '_, '_> {
    fn measure(&self) -> Outcome {
        let (context, bench) = (self.context, &self.bench);
        let main = |run, run_staged| {
            let mut variant = variant(context, "", run, run_staged, self.at)?;
            variant = variant.per_iter(context.per_iter.get()).max_iters(context.max_iters.get());
            context.with(|ctx| ctx.measure_variants(&mut [variant]))
        };
        match bench.measure {
            Some(measure) => self.step("measure", measure)?,
            None => main(bench.run, bench.run_staged)?,
        }
        bench.check.map_or(Ok(()), |check| self.step("check", check))
    }

    fn step(&self, name: &str, function: StepFn) -> Outcome {
        self.context.outcome(name, call::step(function, self.context.as_c(), self.at))
    }
}

/// A loop of `groma_measure`.
pub(crate) fn loop_of<'v>(context: &'v Context<'_, '_>, one: &Loop) -> Result<Variant<'v>, BenchError> {
    // SAFETY: see the module.
    let name = leak_text(unsafe { text(one.name) });
    let variant = variant(context, name, one.run, one.run_staged, one.state)?;
    let per_iter = if one.per_iter == 0.0 { 1.0 } else { one.per_iter };
    if !(per_iter > 0.0 && per_iter.is_finite()) {
        return Err(BenchError::Failed(format!("the loop '{name}' has per_iter {per_iter}, which is not above 0")));
    }
    Ok(variant.per_iter(per_iter).max_iters(if one.max_iters == 0 { u64::MAX } else { one.max_iters }))
}

fn variant<'v>(
    context: &'v Context<'_, '_>,
    name: &'static str,
    run: Option<RunFn>,
    run_staged: Option<StagedFn>,
    state: *mut c_void,
) -> Result<Variant<'v>, BenchError> {
    match (run, run_staged) {
        (Some(run), None) => Ok(Variant::new(name, move |iters| context.outcome("run", call::run(run, iters, state)))),
        (None, Some(run)) => Ok(Variant::staged(name, move |iters, watch| {
            let watch = ptr::from_mut(watch).cast();
            context.outcome("run_staged", call::staged(run, iters, state, watch))
        })),
        _ => Err(BenchError::Failed(format!("the loop '{name}' needs one of run and run_staged"))),
    }
}

/// The watch that C was given.
///
/// # Safety
/// `at` is the watch of an interval that runs.
pub(crate) unsafe fn watch<'w>(at: *mut c_void) -> &'w mut Stopwatch<'w> {
    // SAFETY: the caller's duty.
    unsafe { &mut *at.cast::<Stopwatch<'w>>() }
}
