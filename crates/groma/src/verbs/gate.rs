//! `groma gate`: fails if anything is slower than in a baseline, or than on the other side of an
//! A/B comparison. Suspects are measured again before it fails.

use super::ab::{self, AbArgs};
use super::compare::gate_exit_code;
use crate::args::selects;
use crate::earlier::GATE_FAILED;
use crate::exit;
use crate::measure::{Measured, Outputs, measure, opened_or_told};
use crate::out_file::Named;
use crate::parse::parse_percent;
use crate::print::{name, print_measured, style};
use crate::program::Program;
use crate::sides::{Runs, all_of, require_same_version};
use crate::store::existing_store;
use crate::wanted::Wanted;
use anyhow::{Context, Result, bail};
use clap::Args;
use groma_analysis::compare::environment::differences;
use groma_analysis::compare::{Gate, identities, identity};
use groma_analysis::gate::{Suite, Suspects, judge, reports_any, suspects};
use groma_harness::model::{Placement, Profile, Record, RunHeader, Tag, WorkerKind, is_metric_of};
use groma_harness::sys::topology::Topology;
use groma_report::{self as report, Compared, Format, Relative};
use groma_runner::{Planned, RunRequest, Setting, plan};
use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const HELP: &str = "Examples:
  groma baseline set base.ndjson main      once: the runs with the tag 'main'
  groma gate --baseline base.ndjson        check this machine against that file
  groma gate syscall ipc --baseline main
      some groups, against runs with this tag
  groma gate --program-b new/groma -- --   two programs in turns, no baseline
  groma gate --tolerance 2 -- -- bwrap --bind / /
      a sandbox may cost 2 %

A gate measures twice: what looks slower the first time is measured again, and it fails only \
where these fresh rounds confirm it, beyond chance for all metrics together. Against a baseline \
a metric must also differ by more than runs of the baseline's machine do without any change: \
make it of several runs. Prefer two sides in turns where machines change from run to run, as in \
most clouds. Its runs are kept with the tag gate-passed, gate-failed or gate-unclear.

Exit codes:
  0  nothing became slower
  1  something became slower
  2  usage error
  3  more than half of the metrics are inconclusive, or one that looked
     slower both times
  4  something failed to be measured, or a file to be written";

/// Replaces the help of [`AbArgs::budget`], whose default is another.
const BUDGET_HELP: &str =
    "The time for all rounds of both sides [default: 90s, 4m30s with --profile standard]; a third is kept to confirm";

/// Fail if anything became slower, confirmed on fresh rounds: for continuous integration
#[derive(Debug, Args)]
#[command(after_help = HELP, mut_arg("budget", |budget| budget.help(BUDGET_HELP)))]
pub(crate) struct GateArgs {
    /// What this machine is compared with: a file of groma baseline, a tag (all of its runs), or a
    /// run. Without it two sides are measured in turns, as by groma ab
    #[arg(long, value_name = "RUN", value_delimiter = ',', conflicts_with_all = ["profile", "commands", "program_a", "program_b", "same", "set_a", "set_b", "before", "after"])]
    baseline: Vec<String>,
    /// By how many percent something may become slower
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, allow_negative_numbers = true, value_parser = parse_percent)]
    tolerance: f64,
    /// Also write a test case for each metric, for continuous integration
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    measured: AbArgs,
}

/// The default budget of both measurements of a quick survey.
const BUDGET: Duration = Duration::from_secs(90);
/// The share of the budget for the first measurement, which is of everything.
const SCREENING: f64 = 2.0 / 3.0;
/// At most this many rounds of each suspect. Suspects are few, and the confirmation has to hold for
/// all metrics together (docs/methods/statistics.md#gate).
const CONFIRMING: u32 = 40;

/// Measures, and fails if anything became slower.
pub(super) fn run(program: &Program, args: &GateArgs) -> Result<u8> {
    let sides = &args.measured;
    let mut lost = false;
    let junit = opened_or_told(Named::open_any("--junit", args.junit.as_deref()), &mut lost)?.flatten();
    let code = if !args.baseline.is_empty() {
        against_baseline(program, args, junit)?
    } else if !ab::has_sides(sides) {
        bail!("expected --baseline RUN, or two sides: groma gate ipc -- -- taskset -c 0 (the first is nothing)")
    } else {
        in_turns(program, args, junit)?
    };
    Ok(if code == 0 && lost { exit::FAILED } else { code })
}

/// The two measurements of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The first, of everything.
    Screening,
    /// The second, of the suspects, with new rounds.
    Confirming,
}

/// The time for one measurement.
fn budget(args: &GateArgs, part: Part) -> Duration {
    let share = if part == Part::Screening { SCREENING } else { 1.0 - SCREENING };
    args.measured.budget.unwrap_or_else(|| ab::default_budget(&args.measured, BUDGET)).mul_f64(share)
}

/// The tolerance as a fraction.
fn tolerance(args: &GateArgs) -> f64 {
    args.tolerance / 100.0
}

/// The points that report a suspect.
fn of_suspects(plan: &[Planned], suspects: &Suspects) -> Vec<Planned> {
    plan.iter().filter(|planned| reports_any(&planned.point, suspects)).cloned().collect()
}

/// One measurement of both sides.
struct Stage {
    suite: Suite,
    heads: [RunHeader; 2],
    /// The ids of the runs that it added to the store.
    runs: Vec<String>,
    code: u8,
}

/// Both measurements together.
struct Settled {
    stage: Stage,
    suspected: Suspects,
}

/// Measures a plan for one of the two measurements.
type Measure<'m> = dyn Fn(&[Planned], Part) -> Result<ControlFlow<u8, Stage>> + 'm;

/// Measures a plan, and its suspects again. Breaks with the exit code if a measurement does not
/// begin or is interrupted: then there is no verdict.
fn settle(
    plan: &[Planned],
    tolerance: f64,
    earlier: &dyn Fn(&Record) -> Vec<f64>,
    measure: &Measure<'_>,
) -> Result<ControlFlow<u8, Settled>> {
    let whole = |part, plan: &[Planned]| {
        Ok::<_, anyhow::Error>(match measure(plan, part)? {
            ControlFlow::Continue(stage) if stage.code >= SIGNALLED => ControlFlow::Break(stage.code),
            other => other,
        })
    };
    let mut stage = match whole(Part::Screening, plan)? {
        ControlFlow::Continue(stage) => stage,
        ControlFlow::Break(code) => return Ok(ControlFlow::Break(code)),
    };
    let suspected = suspects(&stage.suite.compare(earlier), tolerance);
    let again = of_suspects(plan, &suspected);
    if !again.is_empty() {
        let fresh = match whole(Part::Confirming, &again)? {
            ControlFlow::Continue(fresh) => fresh,
            ControlFlow::Break(code) => return Ok(ControlFlow::Break(code)),
        };
        stage.code = stage.code.max(fresh.code);
        stage.runs.extend(fresh.runs);
        stage.suite.replace(fresh.suite);
    }
    Ok(ControlFlow::Continue(Settled { stage, suspected }))
}

/// Prints and keeps the verdict; returns the exit code. An error of the file of `--junit` comes
/// after the verdict.
fn conclude(
    program: &Program,
    args: &GateArgs,
    junit: Option<Named>,
    settled: &Settled,
    earlier: &dyn Fn(&Record) -> Vec<f64>,
    baseline: Option<report::Side<'_>>,
) -> Result<u8> {
    let Settled { stage: Stage { suite, heads, runs, code }, suspected } = settled;
    let mut comparison = suite.compare(earlier);
    let verdict = judge(&mut comparison, suspected, tolerance(args));
    if comparison.pairs.is_empty() && !comparison.is_unresolved() {
        let why = format!("{} ({} show {} --states)", ab::no_values(&comparison), name(), heads[1].run);
        // A failed measurement is not a usage error; a baseline of other metrics is.
        if comparison.without_value.is_empty() {
            bail!(why);
        }
        warn!("{why}");
        return Ok((*code).max(exit::FAILED));
    }
    let [first, second] = heads.each_ref().map(|head| report::Side { name: &head.run, head, runs: 1, like: 0 });
    let in_turns = baseline.is_none();
    let other = Compared { side: second, differences: differences(&heads[0], &heads[1]), comparison, in_turns };
    keep(args, verdict, runs);
    let (cases, printed) = show(program, args, (verdict, suspected), baseline.unwrap_or(first), other);
    let written = junit.map_or(Ok(()), |file| file.write(cases.as_bytes()));
    let code = match written {
        Ok(()) if printed => *code,
        Ok(()) => (*code).max(exit::FAILED),
        Err(e) => {
            warn!("{e:#}");
            (*code).max(exit::FAILED)
        }
    };
    Ok(worse_of(verdict, code))
}

/// Compares two sides that are measured in turns.
fn in_turns(program: &Program, args: &GateArgs, junit: Option<Named>) -> Result<u8> {
    let request =
        |part| Ok::<_, anyhow::Error>(RunRequest { budget: Some(budget(args, part)), ..ab::request(&args.measured)? });
    let plan = ab::planned(program, &args.measured, &request(Part::Screening)?)?;
    let measure = |plan: &[Planned], part| {
        let measured = ab::measure(program, &args.measured, &request(part)?, plan, Instant::now())?;
        Ok(measured.map_continue(|measured| Stage {
            code: measured.report_end(),
            suite: Suite {
                paired: Some(measured.paired()),
                sides: measured.records.map(|records| shown(args, records)),
            },
            runs: measured.heads.each_ref().map(|head| head.run.clone()).to_vec(),
            heads: measured.heads,
        }))
    };
    match settle(&plan, tolerance(args), &|_| Vec::new(), &measure)? {
        ControlFlow::Continue(settled) => conclude(program, args, junit, &settled, &|_| Vec::new(), None),
        ControlFlow::Break(code) => Ok(code),
    }
}

/// Compares this machine with a baseline.
fn against_baseline(program: &Program, args: &GateArgs, junit: Option<Named>) -> Result<u8> {
    let given = &args.measured;
    let selected = |id: &str| selects(&given.select, id);
    let named = args.baseline.join(",");
    let runs = all_of(&given.store, &args.baseline).with_context(|| format!("--baseline {named}"))?;
    let words = (named, runs);
    let mut base = Runs::load(&given.store, &words, given.all, selected)?;
    if base.records.is_empty() {
        bail!("--baseline {}: it holds none of the selected metrics", words.0);
    }
    let except = [base.head().run.clone()];
    let known = base.others(existing_store(&given.store).ok().as_ref(), &except);
    let earlier = |record: &Record| known.get(&identity(record)).cloned().unwrap_or_default();
    let plan = plan_of(program, &base.records)?;
    require_same_version(&base, by_version(&base.records, &plan)).context("--baseline")?;
    // The second measurement replaces records of this machine only.
    let in_baseline = |part| if part == Part::Screening { base.records.clone() } else { Vec::new() };
    let measure = |plan: &[Planned], part| {
        let measured = again(program, args, plan, part)?;
        Ok(measured.map_continue(|measured| Stage {
            code: measured.report_end(true),
            suite: Suite { sides: [in_baseline(part), shown(args, measured.records)], paired: None },
            runs: vec![measured.head.run.clone()],
            heads: [base.head().clone(), measured.head],
        }))
    };
    match settle(&plan, tolerance(args), &earlier, &measure)? {
        ControlFlow::Continue(settled) => conclude(program, args, junit, &settled, &earlier, Some(base.side())),
        ControlFlow::Break(code) => Ok(code),
    }
}

/// Exit codes from here on are of signals.
const SIGNALLED: u8 = 128;

/// The exit code: a regression precedes a failure, and a failure an unclear verdict.
fn worse_of(verdict: Gate, code: u8) -> u8 {
    if verdict == Gate::Fails || code == 0 { gate_exit_code(verdict) } else { code }
}

/// The records to show: intermediate ones only with `--all`.
fn shown(args: &GateArgs, mut records: Vec<Record>) -> Vec<Record> {
    records.retain(|record| args.measured.all || !record.detail);
    records
}

/// Measures these points of this machine in many short rounds.
fn again(program: &Program, args: &GateArgs, plan: &[Planned], part: Part) -> Result<ControlFlow<u8, Measured>> {
    let given = &args.measured;
    let request = RunRequest {
        survey: true,
        budget: Some(budget(args, part)),
        rounds: given.rounds.or((part == Part::Confirming).then_some(CONFIRMING)),
        deadline: given.deadline,
        seed: given.seed,
        work_dir: given.work_dir.clone(),
        ..RunRequest::new(Profile::Standard)
    };
    let wanted = Wanted { select: given.select.clone(), strict: false };
    let outputs = Outputs { all: given.all, no_store: given.no_store, wanted, ..Outputs::to_store(&given.store) };
    measure(program, &request, &outputs, plan, Instant::now())
}

/// The points that measure these records again. Warns of records that cannot be measured here.
fn plan_of(program: &Program, records: &[Record]) -> Result<Vec<Planned>> {
    let wanted: BTreeSet<String> = records.iter().map(identity).collect();
    let topology = Topology::for_plan();
    let mut points: Vec<Planned> = Vec::new();
    let mut found: BTreeSet<String> = BTreeSet::new();
    for bench in program.all() {
        let own: Vec<&Record> = records.iter().filter(|record| is_metric_of(&record.id, bench.info.id)).collect();
        let mut layouts: Vec<(Placement, u32, WorkerKind)> = Vec::new();
        for record in &own {
            let layout = (record.placement.clone(), record.workers, record.worker_kind);
            if !layouts.contains(&layout) {
                layouts.push(layout);
            }
        }
        // First in the benchmark's own placements, then in those of the baseline.
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

/// How many of these records the plan measures, and how many of those in the same version.
fn by_version(records: &[Record], plan: &[Planned]) -> [usize; 2] {
    let planned: HashMap<String, u32> = plan
        .iter()
        .flat_map(|planned| identities(&planned.point).map(|identity| (identity, planned.point.version)))
        .collect();
    let versions = records.iter().filter_map(|record| Some((record.version, planned.get(&identity(record))?)));
    versions.fold([0; 2], |[both, alike], (old, new)| [both + 1, alike + usize::from(old == *new)])
}

/// The parameters of these records, each with all its values.
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

/// Prints the verdict and the comparison, and returns the comparison as JUnit XML. In a format for
/// programs the verdict goes to standard error.
fn show(
    program: &Program,
    args: &GateArgs,
    found: (Gate, &Suspects),
    first: report::Side<'_>,
    other: Compared<'_>,
) -> (String, bool) {
    let (families, format) = (program.known_families(), args.measured.format);
    let style = style(args.measured.all).of(format);
    let verdict = report::gate(families, &other.comparison, found, tolerance(args));
    if !matches!(format, Format::Table | Format::Markdown | Format::Html) {
        warn!("{}", verdict.render(Format::Table, &style).trim_end());
    }
    let others = [other];
    let compared = report::compare(families, first, &others, Relative::Absolute, &style);
    let junit = compared.render(Format::Junit, &style);
    let printed = print_measured(&verdict.above(compared).render(format, &style));
    (junit, printed)
}

/// Tags the runs of the gate with the verdict.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;
    use groma_harness::model::{Derivation, Host, Metric, Quantity, Round, RoundOutput, RoundResult, Series, Tier};

    /// The records of a point in ten rounds of about this value.
    fn records(planned: &Planned, value: f64) -> Vec<Record> {
        let series = |i: u32| vec![Series::stated("", vec![value * (1.0 + f64::from(i % 3) * 1e-3)])];
        let output = |i| RoundOutput { series: series(i), ..RoundOutput::default() };
        let rounds: Vec<Round> = (0..10).map(|round| Round { round, result: RoundResult::ok(output(round)) }).collect();
        groma_analysis::summarise(&planned.point, &rounds, &Host::UNKNOWN)
    }

    fn planned() -> Planned {
        let program = Program::new().with_groma();
        let benches = program.select(&["syscall.getppid".to_owned()], Tier::Standard).expect("it is there");
        let plan = plan(&benches, &RunRequest::new(Profile::Standard), &Topology::for_plan()).expect("a plan");
        let mut planned = plan.into_iter().next().expect("a point");
        planned.point.metrics = vec![Metric {
            id: "syscall.getppid".to_owned(),
            summary: String::new(),
            quantity: Quantity::Latency,
            better: Quantity::Latency.better(),
            derivation: Derivation::Series(String::new()),
            detail: false,
        }];
        planned
    }

    #[test]
    fn a_regression_precedes_a_failure_and_a_failure_an_unclear_verdict() {
        let failed = 4;
        for (verdict, code, worse) in [
            (Gate::Passes, 0, 0),
            (Gate::Passes, failed, failed),
            (Gate::Fails, 0, gate_exit_code(Gate::Fails)),
            (Gate::Fails, failed, gate_exit_code(Gate::Fails)),
            (Gate::Unclear, 0, gate_exit_code(Gate::Unclear)),
            (Gate::Unclear, failed, failed),
        ] {
            assert_eq!(worse_of(verdict, code), worse, "{verdict:?} {code}");
        }
        assert_eq!([Gate::Passes, Gate::Fails, Gate::Unclear].map(gate_exit_code), [0, 1, 3]);
    }

    /// Runs a gate whose measurements return these codes; continues with the number of runs.
    fn end(screening: u8, confirming: u8) -> ControlFlow<u8, usize> {
        let planned = planned();
        let measure = |plan: &[Planned], part| {
            assert_eq!(plan.len(), 1);
            let code = if part == Part::Screening { screening } else { confirming };
            let sides = [records(&planned, 1e-6), records(&planned, 1.5e-6)];
            let suite = Suite { sides, paired: None };
            let reference = reference::find_reference("reference").expect("a name").expect("the newest");
            let head = reference.baseline().expect("it can be read").head;
            let heads = [head.clone(), head];
            Ok(ControlFlow::Continue(Stage { suite, heads, runs: vec![format!("{part:?}")], code }))
        };
        let settled = settle(std::slice::from_ref(&planned), 0.05, &|_| Vec::new(), &measure).expect("it was measured");
        settled.map_continue(|settled| settled.stage.runs.len())
    }

    #[test]
    fn a_signal_in_either_measurement_ends_the_gate_without_a_verdict() {
        assert_eq!(end(0, 0), ControlFlow::Continue(2));
        assert_eq!(end(4, 4), ControlFlow::Continue(2));
        assert_eq!(end(130, 0), ControlFlow::Break(130));
        assert_eq!(end(0, 143), ControlFlow::Break(143));
    }
}
