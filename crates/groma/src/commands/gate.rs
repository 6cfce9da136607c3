//! `groma gate`: whether anything became slower than a baseline, or than the other side of an A/B
//! comparison; what looks so is measured again before it is said.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use groma_analysis::compare::environment::differences;
use groma_analysis::compare::{Gate, identities, identity};
use groma_analysis::gate::{Suite, Suspects, judge, reports_any, suspects};
use groma_harness::model::{Placement, Profile, Record, Tag, WorkerKind};
use groma_harness::sys::topology::Topology;
use groma_report::{self as report, CompareFormat, Compared, Relative};
use groma_runner::select::names_metric;
use groma_runner::{Planned, RunRequest, Setting, plan};

use super::compare::exit_code;
use super::earlier::GATE_FAILED;
use super::measure::{Measured, Outputs, measure};
use super::sides::{Runs, all_of};
use super::{ab, existing_store, print, style};
use crate::flags::GateArgs;
use crate::message::name;
use crate::program::Program;

/// The time for both measurements, unless another is asked for.
const BUDGET: Duration = Duration::from_secs(90);
/// The part of the budget that the first measurement of everything has.
const SCREENING: f64 = 2.0 / 3.0;
/// Rounds of each suspect at most: there are few of them, and the level is that of the whole suite
/// (docs/methods/statistics.md#gate).
const CONFIRMING: u32 = 40;

/// Measures, and fails if anything became slower.
pub(crate) fn gate(program: &Program, args: &GateArgs) -> Result<u8> {
    let sides = &args.measured;
    if !args.baseline.is_empty() {
        against_baseline(program, args)
    } else if !ab::has_sides(sides) {
        bail!("expected --baseline RUN, or two sides: groma gate ipc -- -- taskset -c 0 (the first is nothing)")
    } else {
        in_turns(program, args)
    }
}

/// How long a stage may take.
fn budget(args: &GateArgs, screening: bool) -> Duration {
    args.measured.budget.unwrap_or(BUDGET).mul_f64(if screening { SCREENING } else { 1.0 - SCREENING })
}

/// Those points that report a suspect.
fn of_suspects(plan: &[Planned], suspects: &Suspects) -> Vec<Planned> {
    plan.iter().filter(|planned| reports_any(&planned.point, suspects)).cloned().collect()
}

/// Two sides in turns.
fn in_turns(program: &Program, args: &GateArgs) -> Result<u8> {
    let tolerance = args.tolerance / 100.0;
    let started = Instant::now();
    let request = |screening| {
        Ok::<_, anyhow::Error>(RunRequest { budget: Some(budget(args, screening)), ..ab::request(&args.measured)? })
    };
    let screening = request(true)?;
    let plan = ab::planned(program, &args.measured, &screening)?;
    let of = |measured: &ab::InTurnsMeasured| Suite {
        sides: measured.records.clone().map(|all| shown(args, all)),
        paired: Some(measured.paired()),
    };
    let first = match ab::measure(program, &args.measured, &screening, &plan, started)? {
        ControlFlow::Continue(measured) => measured,
        ControlFlow::Break(code) => return Ok(code),
    };
    let mut code = first.report_end();
    if code >= SIGNALLED {
        return Ok(code);
    }
    let mut runs = first.heads.each_ref().map(|head| head.run.clone()).to_vec();
    let mut suite = of(&first);
    let suspected = suspects(&suite.compare(&|_| Vec::new()), tolerance);
    let again = of_suspects(&plan, &suspected);
    if !again.is_empty() {
        match ab::measure(program, &args.measured, &request(false)?, &again, Instant::now())? {
            ControlFlow::Continue(fresh) => {
                code = code.max(fresh.report_end());
                runs.extend(fresh.heads.each_ref().map(|head| head.run.clone()));
                suite.replace(of(&fresh));
            }
            ControlFlow::Break(code) => return Ok(code),
        }
    }
    let mut comparison = suite.compare(&|_| Vec::new());
    let verdict = judge(&mut comparison, &suspected, tolerance);
    show(program, args, (verdict, &suspected), first.side(0), first.beside(comparison))?;
    keep(args, verdict, &runs);
    Ok(worse_of(verdict, code))
}

/// This machine, beside what a baseline holds.
fn against_baseline(program: &Program, args: &GateArgs) -> Result<u8> {
    let tolerance = args.tolerance / 100.0;
    let given = &args.measured;
    let selected = |id: &str| given.select.is_empty() || given.select.iter().any(|select| names_metric(select, id));
    let words = (args.baseline.join(","), all_of(&given.store, &args.baseline)?);
    let mut base = Runs::load(&given.store, &words, given.all, selected)?;
    if base.records.is_empty() {
        bail!("--baseline {}: it holds no metric that is selected", words.0);
    }
    let except = [base.head().run.clone()];
    let known = base.others(existing_store(&given.store).ok().as_ref(), &except);
    let earlier = |record: &Record| known.get(&identity(record)).cloned().unwrap_or_default();
    let plan = plan_of(program, &base.records)?;
    let started = Instant::now();
    let first = match again(program, args, &plan, started, true)? {
        ControlFlow::Continue(measured) => measured,
        ControlFlow::Break(code) => return Ok(code),
    };
    let mut code = first.report_end(true);
    if code >= SIGNALLED {
        return Ok(code);
    }
    let mut runs = vec![first.head.run.clone()];
    let head = first.head.clone();
    let mut suite = Suite { sides: [base.records.clone(), shown(args, first.records)], paired: None };
    let suspected = suspects(&suite.compare(&earlier), tolerance);
    let fresh = of_suspects(&plan, &suspected);
    if !fresh.is_empty() {
        match again(program, args, &fresh, Instant::now(), false)? {
            ControlFlow::Continue(fresh) => {
                code = code.max(fresh.report_end(true));
                runs.push(fresh.head.run.clone());
                suite.replace(Suite { sides: [Vec::new(), shown(args, fresh.records)], paired: None });
            }
            ControlFlow::Break(code) => return Ok(code),
        }
    }
    let mut comparison = suite.compare(&earlier);
    let verdict = judge(&mut comparison, &suspected, tolerance);
    let side = report::Side { name: &head.run, head: &head, runs: 1, like: 0 };
    let other = Compared { side, differences: differences(base.head(), &head), comparison, in_turns: false };
    show(program, args, (verdict, &suspected), base.side(), other)?;
    keep(args, verdict, &runs);
    Ok(worse_of(verdict, code))
}

/// Exit codes from here on are those of signals.
const SIGNALLED: u8 = 128;

/// A regression is said before anything else, but for a signal; what failed before what is unclear.
fn worse_of(verdict: Gate, code: u8) -> u8 {
    match (verdict, code) {
        (Gate::Fails, 0..SIGNALLED) => exit_code(verdict),
        (_, 0) => exit_code(verdict),
        _ => code,
    }
}

/// The records of the points, controls only where everything is wanted.
fn shown(args: &GateArgs, mut records: Vec<Record>) -> Vec<Record> {
    records.retain(|record| args.measured.all || !record.detail);
    records
}

/// Measures these points in many short rounds.
fn again(
    program: &Program,
    args: &GateArgs,
    plan: &[Planned],
    started: Instant,
    screening: bool,
) -> Result<ControlFlow<u8, Measured>> {
    let given = &args.measured;
    let request = RunRequest {
        survey: true,
        budget: Some(budget(args, screening)),
        rounds: given.rounds.or((!screening).then_some(CONFIRMING)),
        deadline: given.deadline,
        seed: given.seed,
        work_dir: given.work_dir.clone(),
        ..RunRequest::new(Profile::Standard)
    };
    let outputs = Outputs {
        json: false,
        out: None,
        samples: false,
        all: given.all,
        no_store: given.no_store,
        store: &given.store,
    };
    measure(program, &request, &outputs, plan, started)
}

/// The points that repeat what these records are of. What cannot be repeated is said.
fn plan_of(program: &Program, records: &[Record]) -> Result<Vec<Planned>> {
    let wanted: BTreeSet<String> = records.iter().map(identity).collect();
    let topology = Topology::for_plan();
    let mut points: Vec<Planned> = Vec::new();
    let mut found: BTreeSet<String> = BTreeSet::new();
    let is_of =
        |id: &str, bench: &str| id.strip_prefix(bench).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    for bench in program.all() {
        let own: Vec<&Record> = records.iter().filter(|record| is_of(&record.id, bench.info.id)).collect();
        let mut layouts: Vec<(Placement, u32, WorkerKind)> = Vec::new();
        for record in &own {
            let layout = (record.placement.clone(), record.workers, record.worker_kind);
            if !layouts.contains(&layout) {
                layouts.push(layout);
            }
        }
        // First where the benchmark itself says, then where the baseline was told to.
        let asked = layouts.into_iter().map(|(placement, workers, kind)| RunRequest {
            placement: Some(placement),
            parallel: vec![workers],
            threads: kind == WorkerKind::Threads,
            ..RunRequest::new(Profile::Standard)
        });
        for request in [RunRequest::new(Profile::Standard)].into_iter().chain(asked) {
            let params = settings(&own);
            let Ok(more) = plan(&[*bench], &RunRequest { full: true, params, ..request }, &topology) else { continue };
            for planned in more {
                let of_point: Vec<String> = identities(&planned.point).filter(|id| wanted.contains(id)).collect();
                if of_point.iter().any(|id| !found.contains(id)) {
                    found.extend(of_point);
                    points.push(planned);
                }
            }
        }
    }
    let missing = wanted.len() - found.len();
    if points.is_empty() {
        bail!("--baseline: nothing that it holds can be measured here");
    }
    if missing > 0 {
        warn!("{missing} of {} metrics of the baseline cannot be measured here", wanted.len());
    }
    Ok(points)
}

/// The values of each parameter in these records.
fn settings(records: &[&Record]) -> Vec<Setting> {
    let mut all: Vec<Setting> = Vec::new();
    for (name, value) in records.iter().flat_map(|record| &record.params.0) {
        let value = value.to_string();
        match all.iter_mut().find(|setting| setting.name == *name) {
            Some(known) if known.values.contains(&value) => {}
            Some(known) => known.values.push(value),
            None => all.push(Setting { of: None, name: name.clone(), values: vec![value] }),
        }
    }
    all
}

/// Prints the verdict and the comparison that it rests on; where a program reads the comparison, the
/// verdict goes to standard error.
fn show(
    program: &Program,
    args: &GateArgs,
    found: (Gate, &Suspects),
    first: report::Side<'_>,
    other: Compared<'_>,
) -> Result<()> {
    let (families, format, style) = (program.known_families(), args.measured.format, style(args.measured.all));
    if other.comparison.pairs.is_empty() {
        bail!("no metric has a value on both sides ({} show {} --states)", name(), other.side.head.run);
    }
    let verdict = report::gate(families, &other.comparison, found, args.tolerance / 100.0, format, &style);
    let others = [other];
    let compared = |format| report::compare(families, first, &others, Relative::Absolute, format, &style);
    if let Some(file) = &args.junit {
        std::fs::write(file, compared(CompareFormat::Junit)).with_context(|| format!("--junit {}", file.display()))?;
    }
    match format {
        CompareFormat::Table | CompareFormat::Markdown => print(&format!("{verdict}{}", compared(format))),
        _ => {
            warn!("{}", verdict.trim_end());
            print(&compared(format))
        }
    }
}

/// Keeps the verdict with the runs that it rests on, as a tag.
fn keep(args: &GateArgs, verdict: Gate, runs: &[String]) {
    let word = match verdict {
        Gate::Passes => "gate-passed",
        Gate::Fails => GATE_FAILED,
        Gate::Unclear => "gate-unclear",
    };
    let kept = word.parse::<Tag>().map_err(anyhow::Error::msg).and_then(|tag| {
        let store = existing_store(&args.measured.store)?;
        runs.iter().try_for_each(|run| Ok(store.tag(run, [&tag])?))
    });
    if let (Err(e), false) = (kept, args.measured.no_store) {
        warn!("the verdict is not kept: {e:#}");
    }
}
