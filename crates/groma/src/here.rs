//! Measures one benchmark from within a program that has a `main` of its own: rounds are forks of
//! that program, and what was found is returned instead of printed.
//!
//! Not for programs of benchmarks, which hand their `main` over ([`crate::Program`]): their workers
//! are fresh and small, and forks of a large program are not.

use crate::args::StoreArgs;
use crate::measure::{Outputs, measure};
use crate::program::Program;
use anyhow::{Result, bail};
use groma_harness::model::{Label, Placement, Profile, Record, State};
use groma_harness::sys::topology::Topology;
use groma_harness::{Benchmark, sys};
use groma_runner::{Forked, Launcher, RunRequest, signals};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// What to measure, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Here {
    /// The benchmark, alone in its list: forks live as long as it does.
    pub benchmarks: &'static [&'static Benchmark],
    /// Members that work at once.
    pub members: u32,
    /// Fresh processes, one after the other.
    pub rounds: u32,
    /// The shortest time before anything counts.
    pub warm_up: Duration,
    /// How long a round samples.
    pub sampling: Duration,
}

/// What was found.
#[derive(Debug)]
pub struct Found {
    /// The record of the main metric.
    pub record: Record,
    /// Whether in most samples some member was not at work.
    pub not_parallel: bool,
}

/// The longest a measurement may take, unless rounds are longer than that: what a slow operation
/// takes is paid in rounds.
const LONGEST_MEASUREMENT: Duration = Duration::from_secs(60);

/// Measures; with `GROMA_STORE` in the environment the rounds are stored as a run.
///
/// # Errors
/// When nothing can be measured at all; a round that fails is a record that says so. A signal that
/// ends the measurement takes effect on the program, and is an error where that survives it.
pub fn measure_here(here: &Here) -> Result<Found> {
    let started = Instant::now();
    let store = StoreArgs::of_environment();
    let mut request = RunRequest::new(Profile::Standard);
    request.sides = vec![Launcher { forked: Some(Forked(here.benchmarks)), ..Launcher::default() }];
    request.rounds = Some(here.rounds);
    request.round_length = Some(here.sampling);
    request.warm_up = Some(here.warm_up);
    request.placement = Some(Placement::Free);
    request.parallel = if here.members > 1 { vec![here.members] } else { Vec::new() };
    request.deadline = Some(LONGEST_MEASUREMENT + here.warm_up * 2);
    // Warm-up, calibration and set-up are allowed as much again as the samples.
    let all_rounds = (here.warm_up + here.sampling) * here.rounds * 2;
    request.budget = Some((Duration::from_secs(2) + all_rounds).min(LONGEST_MEASUREMENT));
    let program = Program::new().benchmarks(here.benchmarks);
    let outputs = Outputs::silent(&store);
    loop {
        let plan = groma_runner::plan(here.benchmarks, &request, &Topology::for_plan())?;
        let measured = match measure(&program, &request, &outputs, &plan, started)? {
            ControlFlow::Continue(measured) => measured,
            ControlFlow::Break(code) => {
                // A signal that came before the first round ends the program as well.
                if let Some(signal) = signals::of_exit_code(code) {
                    sys::signals::pass_on(signal);
                }
                bail!("the measurement did not begin (exit code {code})");
            }
        };
        if let Some(signal) = measured.signal() {
            sys::signals::pass_on(signal);
            bail!("it was ended by signal {signal}");
        }
        let Some(record) = measured.records.into_iter().next() else { bail!("nothing was measured") };
        // The first round did not end within the budget: it may take all the time that there is.
        let is_cut = record.rounds == 0 && record.state == State::Unresolved;
        if is_cut && request.budget < Some(LONGEST_MEASUREMENT) {
            request.budget = Some(LONGEST_MEASUREMENT);
            continue;
        }
        let overlapped = record.labels.0.iter().find(|(label, _)| *label == Label::Overlap.letter());
        let not_parallel = here.members > 1 && overlapped.is_some_and(|(_, n)| n * 2 > record.samples);
        return Ok(Found { record, not_parallel });
    }
}
